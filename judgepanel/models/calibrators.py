"""Calibrators as scikit-learn style estimators: raw logits (n,) to calibrated probabilities."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from judgepanel.arrays import Floats
from judgepanel.kernels.calibrate.calibration import (
    CALIBRATORS,
    CalibrationFit,
    Calibrator,
    ChosenFit,
    KnotShape,
    MapShape,
    Shape,
    fit,
    sigmoid,
)
from judgepanel.votes import InputError


class _KernelCalibrator(BaseEstimator):  # type: ignore[misc]
    """One calibrator of :mod:`kernels.calibrate.calibration` at batch size 1.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd: p(-l) = 1 - p(l).

    Attributes
    ----------
    shape_ : the fitted parameters: :class:`MapShape` or :class:`KnotShape`.
    replaced_ : whether it could not be fitted and fell back to temperature.
    """

    kind: Calibrator
    shape_: Shape
    _fit: CalibrationFit

    def __init__(self, *, symmetric: bool = False) -> None:
        self.symmetric = symmetric

    def fit(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        *,
        fold: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the map.

        Parameters
        ----------
        logits : float (n,), raw logits that were not fitted to their own label.
        y : int (n,), labels in {0, 1}.
        fold : int (n,), inner cross-validation folds of calibrators that choose; groups are whole.
        sample_weight : float (n,), at least 0; 0 leaves an item out.

        Returns
        -------
        The calibrator itself.

        Raises
        ------
        InputError
            Invalid shapes, infinite logits, invalid labels, weights or folds, or no items.
        """
        scores, labels = _column(logits), np.asarray(y)
        if labels.shape != scores.shape or len(scores) == 0:
            raise InputError("a calibrator needs as many labels as logits, and at least one")
        if not np.isin(labels, (0, 1)).all():
            raise InputError("labels of a calibrator must be 0 or 1")
        weights = None if sample_weight is None else _weights(sample_weight, len(scores))[None, :]
        fitted = fit(
            (self.kind,),
            scores[None, :],
            2.0 * labels - 1.0,
            weights,
            symmetric=self.symmetric,
            fold=fold,
        )[self.kind]
        self._fit = fitted
        self.shape_ = fitted.shape(0)
        self.replaced_ = bool(fitted.replaced[0])
        self._expose(fitted)
        return self

    def transform(self, logits: ArrayLike) -> Floats:
        """Return calibrated logits (n,)."""
        check_is_fitted(self)
        return np.asarray(self._fit(_column(logits)[None, :])[0])

    def predict_proba(self, logits: ArrayLike) -> Floats:
        """Return calibrated probabilities (n, 2) of labels 0 and 1."""
        p = sigmoid(self.transform(logits))
        return np.column_stack([1.0 - p, p])

    def _expose(self, fitted: CalibrationFit) -> None:
        """Set the additional attributes of this calibrator."""


class _MapCalibrator(_KernelCalibrator):
    """A calibrator with three parameters.

    Attributes
    ----------
    params_ : float (3,), a, b and c of m = a log p + b log(1 - p) + c.
    """

    def _expose(self, fitted: CalibrationFit) -> None:
        shape = fitted.shape(0)
        if isinstance(shape, MapShape):
            self.params_ = np.array([shape.a, shape.b, shape.c])


class NoCalibrator(_MapCalibrator):
    """The identity: the raw logit is not changed.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: Calibrator = "none"


class TemperatureCalibrator(_MapCalibrator):
    """m = l / T with 1/T >= 0 (Guo et al. 2017, arXiv 1706.04599).

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: Calibrator = "temperature"


class PlattCalibrator(_MapCalibrator):
    """m = a l + c without penalty (Platt 1999).

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: Calibrator = "platt"


class BetaCalibrator(_MapCalibrator):
    """Monotone beta calibration, shrunk to the identity by an elastic net (paper, section 2.3).

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: Calibrator = "beta"


class ClippedBetaCalibrator(_MapCalibrator):
    """The paper's beta: input clipped to [.001, .999] before the logs, signs of a and b free.

    Included to reproduce the paper. Clipping hides how confident a large panel is, and free signs
    allow a decreasing map: see the page on the claim.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: Calibrator = "beta_clipped"


class RidgeBetaCalibrator(_MapCalibrator):
    """Monotone beta calibration, shrunk to the identity by lambda |d|^2 with lambda = .1.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: Calibrator = "beta_l2"


class FreeBetaCalibrator(_MapCalibrator):
    """Monotone beta calibration without penalty (Kull et al. 2017, doi:10.1214/17-EJS1338SI).

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: Calibrator = "beta_free"


class CrossValidatedBetaCalibrator(_MapCalibrator):
    """Monotone beta calibration with the lambda of its elastic net chosen by cross-validation.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.

    Attributes
    ----------
    penalty_ : the chosen lambda, None after a fallback to temperature.
    """

    kind: Calibrator = "beta_cv"

    def _expose(self, fitted: CalibrationFit) -> None:
        super()._expose(fitted)
        shape = fitted.shape(0)
        self.penalty_ = shape.penalty if isinstance(shape, MapShape) else None


class IsotonicCalibrator(_KernelCalibrator):
    """The best non-decreasing probability, linear between its knots (Zadrozny and Elkan 2002).

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.

    Attributes
    ----------
    knots_ : float (K, 2), logits and probabilities; of |l| under ``symmetric``. None after a
    fallback to temperature.
    """

    kind: Calibrator = "isotonic"

    def _expose(self, fitted: CalibrationFit) -> None:
        shape = fitted.shape(0)
        self.knots_: Floats | None = None
        if isinstance(shape, KnotShape):
            self.knots_ = np.column_stack([np.array(shape.logits), np.array(shape.p)])


class AutoCalibrator(_KernelCalibrator):
    """Temperature, unless inner cross-validation finds a clearly lower NLL on a short list.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.

    Attributes
    ----------
    chosen_ : name of the chosen calibrator.
    """

    kind: Calibrator = "auto"

    def _expose(self, fitted: CalibrationFit) -> None:
        if isinstance(fitted, ChosenFit):
            self.chosen_ = fitted.chosen[0]


_CLASSES: dict[str, type[_KernelCalibrator]] = {
    model.kind: model
    for model in (
        NoCalibrator,
        TemperatureCalibrator,
        PlattCalibrator,
        BetaCalibrator,
        ClippedBetaCalibrator,
        RidgeBetaCalibrator,
        FreeBetaCalibrator,
        CrossValidatedBetaCalibrator,
        IsotonicCalibrator,
        AutoCalibrator,
    )
}


def calibrator(name: str, *, symmetric: bool = False) -> _KernelCalibrator:
    """Return a calibrator by name.

    Parameters
    ----------
    name : one of ``CALIBRATORS``, as in docs/calibrators.md.
    symmetric : fit on every item and its swap; the map is then odd.

    Returns
    -------
    The estimator, not yet fitted.

    Raises
    ------
    InputError
        An unknown name, with the known ones.
    """
    if name not in _CLASSES:
        raise InputError("unknown calibrator", value=name, allowed=", ".join(CALIBRATORS))
    return _CLASSES[name](symmetric=symmetric)


def _column(logits: ArrayLike) -> Floats:
    values = np.asarray(logits, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError("a calibrator takes a flat list of finite logits")
    return values


def _weights(given: ArrayLike, n: int) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (n,) or not (np.isfinite(values) & (values >= 0.0)).all():
        raise InputError("weights of a calibrator must be finite and at least 0, one per item")
    return values
