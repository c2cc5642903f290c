"""Residual correction (step 2) as an estimator: raw logits and item features to logits."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from judgepanel.arrays import Floats
from judgepanel.kernels.calibrate.calibration import sigmoid
from judgepanel.kernels.calibrate.features import (
    FeatureEncoder,
    Features,
    feature_columns,
    fit_encoder,
)
from judgepanel.kernels.calibrate.residual import ResidualFit, fit_residual
from judgepanel.votes import InputError


class ResidualCorrection(BaseEstimator):  # type: ignore[misc]
    """A logistic map of the raw logit, with optional item features (the paper's step 2).

    As given, l' = a l + x . gamma + b with a >= 0; under ``symmetric``, l' = l (a + x . gamma).
    Without features it is Platt scaling (temperature under ``symmetric``). It is the kernel
    :mod:`kernels.calibrate.residual` at batch size 1.

    It must be fitted to leave-out or cross-fitted logits. Its output on the training items depends
    on their own labels, so a calibrator after it is fitted to
    :func:`judgepanel.kernels.calibrate.residual.cross_fitted_residual` instead.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd, l'(-l) = -l'(l).

    Attributes
    ----------
    slope_, level_ : a and b; b is 0 under ``symmetric``.
    gamma_ : float (d,), one weight per column of ``encoder_.columns``.
    encoder_ : the encoding of features as columns, fitted to the training items.
    replaced_ : whether there was no finite fit and it fell back to temperature without features.
    """

    def __init__(self, *, symmetric: bool = False) -> None:
        self.symmetric = symmetric

    def fit(self, logits: ArrayLike, y: ArrayLike, features: Features | None = None) -> Self:
        """Fit to raw logits (n,), labels (n,) in {0, 1} and features of n rows.

        Raises
        ------
        InputError
            Invalid shapes, infinite logits or features, invalid labels, or no items.
        """
        scores, labels = _column(logits), np.asarray(y)
        if labels.shape != scores.shape or len(scores) == 0:
            raise InputError("a correction needs as many labels as logits, and at least one")
        if not np.isin(labels, (0, 1)).all():
            raise InputError("labels of a correction must be 0 or 1")
        columns = feature_columns(features)
        self.encoder_: FeatureEncoder = fit_encoder(columns, len(scores))
        fitted = fit_residual(
            scores[None],
            2.0 * labels - 1.0,
            self.encoder_.encode(columns, len(scores)),
            symmetric=self.symmetric,
        )
        self.slope_, self.level_ = float(fitted.slope[0]), float(fitted.level[0])
        self.gamma_ = fitted.gamma[0]
        self.replaced_ = bool(fitted.replaced[0])
        return self

    def transform(self, logits: ArrayLike, features: Features | None = None) -> Floats:
        """Return corrected logits (n,).

        Raises
        ------
        InputError
            A missing feature of the fit, or text instead of numbers.
        """
        check_is_fitted(self)
        scores = _column(logits)
        map_ = ResidualFit(
            np.array([self.slope_]),
            np.array([self.level_]),
            self.gamma_[None],
            np.array([self.replaced_]),
            self.symmetric,
        )
        encoded = self.encoder_.encode(feature_columns(features), len(scores))
        return np.asarray(map_(scores[None], encoded)[0])

    def predict_proba(self, logits: ArrayLike, features: Features | None = None) -> Floats:
        """Return corrected probabilities (n, 2) of labels 0 and 1."""
        p = sigmoid(self.transform(logits, features))
        return np.column_stack([1.0 - p, p])


def _column(logits: ArrayLike) -> Floats:
    values = np.asarray(logits, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError("a correction takes a flat list of finite logits")
    return values
