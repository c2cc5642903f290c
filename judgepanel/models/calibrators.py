"""Calibrators: raw logits (n,) to calibrated probabilities, as scikit-learn style estimators."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from judgepanel.kernels.calibration import CALIBRATORS, INPUT_CLIP, Calibrator, apply_map, fit
from judgepanel.kernels.calibration import sigmoid as _sigmoid
from judgepanel.votes import InputError

Floats = NDArray[np.float64]


class _KernelCalibrator(BaseEstimator):  # type: ignore[misc]
    """One calibrator of :mod:`judgepanel.kernels.calibration` at batch size 1.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd: p(-l) = 1 - p(l).

    Attributes
    ----------
    params_ : float (3,), a, b and c of m = a log p + b log(1 - p) + c.
    replaced_ : whether it could not be fitted and temperature stands in.
    """

    kind: Calibrator

    def __init__(self, *, symmetric: bool = False) -> None:
        self.symmetric = symmetric

    def fit(self, logits: ArrayLike, y: ArrayLike) -> Self:
        """Fit to raw logits (n,) that do not know their own label, and labels (n,) in {0, 1}.

        Raises
        ------
        InputError
            Other shapes, infinite logits, other labels, or no item at all.
        """
        scores, labels = _column(logits), np.asarray(y)
        if labels.shape != scores.shape or len(scores) == 0:
            raise InputError("a calibrator needs as many labels as logits, and at least one")
        if not np.isin(labels, (0, 1)).all():
            raise InputError("labels of a calibrator must be 0 or 1")
        fitted = fit((self.kind,), scores[None, :], 2.0 * labels - 1.0, symmetric=self.symmetric)
        self.params_ = fitted[self.kind].params[0]
        self.replaced_ = bool(fitted[self.kind].replaced[0])
        return self

    def transform(self, logits: ArrayLike) -> Floats:
        """Calibrated logits (n,)."""
        check_is_fitted(self)
        clip = INPUT_CLIP if self.kind == "beta_clipped" else None
        return np.asarray(apply_map(self.params_[None, :], _column(logits)[None, :], clip)[0])

    def predict_proba(self, logits: ArrayLike) -> Floats:
        """Calibrated probabilities (n, 2) of labels 0 and 1."""
        p = _sigmoid(self.transform(logits))
        return np.column_stack([1.0 - p, p])


class NoCalibrator(_KernelCalibrator):
    """The identity: the raw logit is taken at its word."""

    kind: Calibrator = "none"


class TemperatureCalibrator(_KernelCalibrator):
    """m = l / T with 1/T >= 0 (Guo et al. 2017, arXiv 1706.04599)."""

    kind: Calibrator = "temperature"


class PlattCalibrator(_KernelCalibrator):
    """m = a l + c without penalty (Platt 1999)."""

    kind: Calibrator = "platt"


class BetaCalibrator(_KernelCalibrator):
    """Monotone beta calibration, shrunk to the identity by an elastic net (paper, section 2.3)."""

    kind: Calibrator = "beta"


class ClippedBetaCalibrator(_KernelCalibrator):
    """The paper's beta: input clipped to [.001, .999] before the logs, signs of a and b free.

    Kept to reproduce the paper. Clipping hides how sure a large panel is, and a free sign lets the
    map turn round: see the page on the claim.
    """

    kind: Calibrator = "beta_clipped"


_CLASSES: dict[str, type[_KernelCalibrator]] = {
    found.kind: found
    for found in (
        NoCalibrator,
        TemperatureCalibrator,
        PlattCalibrator,
        BetaCalibrator,
        ClippedBetaCalibrator,
    )
}


def calibrator(name: str, *, symmetric: bool = False) -> _KernelCalibrator:
    """A calibrator by name; InputError lists the known ones."""
    if name not in _CLASSES:
        raise InputError("unknown calibrator", value=name, allowed=", ".join(CALIBRATORS))
    return _CLASSES[name](symmetric=symmetric)


def _column(logits: ArrayLike) -> Floats:
    values = np.asarray(logits, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError("a calibrator takes a flat list of finite logits")
    return values
