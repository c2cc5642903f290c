"""Calibrators as scikit-learn style estimators: raw logits (n,) to calibrated probabilities.

Residual correction (step 2) as an estimator: raw logits and item features to logits.

Split conformal sets as an estimator, fitted to a held-out slice.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from judgepanel.arrays import Floats
from judgepanel.kernels import calibration, maps, residual
from judgepanel.scoring import conformal
from judgepanel.votes import InputError
from judgepanel.votes.errors import listed, quote_value


class _LogitMap(BaseEstimator):  # type: ignore[misc]
    """A map of raw logits; ``noun`` is what refusals call it."""

    noun: str

    def __init__(self, *, symmetric: bool = False) -> None:
        self.symmetric = symmetric

    def _logits(self, given: ArrayLike) -> Floats:
        values = np.asarray(given, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise InputError(f"a {self.noun} takes a flat list of finite logits")
        return values

    def _checked(self, logits: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
        """Return logits (n,), and labels (n,) as signs."""
        scores, labels = self._logits(logits), np.asarray(y)
        if labels.shape != scores.shape or len(scores) == 0:
            raise InputError(f"a {self.noun} needs as many labels as logits, and at least one")
        if not np.isin(labels, (0, 1)).all():
            raise InputError(f"labels of a {self.noun} must be 0 or 1")
        return scores, 2.0 * labels - 1.0


class _KernelCalibrator(_LogitMap):
    """One calibrator of :mod:`kernels.calibration` at batch size 1.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd: p(-l) = 1 - p(l).

    Attributes
    ----------
    shape_ : the fitted parameters: :class:`MapShape` or :class:`KnotShape`.
    replaced_ : whether it could not be fitted and fell back to temperature.
    """

    noun = "calibrator"
    kind: calibration.Calibrator
    shape_: calibration.Shape
    _fit: calibration.CalibrationFit

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
        scores, signs = self._checked(logits, y)
        weights = None if sample_weight is None else np.array(sample_weight, dtype=np.float64)[None]
        if weights is not None and not (
            weights.shape == (1, len(scores))
            and np.isfinite(weights).all()
            and (weights >= 0).all()
        ):
            raise InputError("weights of a calibrator must be finite and at least 0, one per item")
        self._fit = calibration.fit(
            (self.kind,), scores[None, :], signs, weights, symmetric=self.symmetric, fold=fold
        )[self.kind]
        self.shape_ = self._fit.shape(0)
        self.replaced_ = bool(self._fit.replaced[0])
        self._expose()
        return self

    def transform(self, logits: ArrayLike) -> Floats:
        """Return calibrated logits (n,)."""
        check_is_fitted(self)
        return np.asarray(self._fit(self._logits(logits)[None, :])[0])

    def predict_proba(self, logits: ArrayLike) -> Floats:
        """Return calibrated probabilities (n, 2) of labels 0 and 1."""
        p = maps.sigmoid(self.transform(logits))
        return np.column_stack([1.0 - p, p])

    def _expose(self) -> None:
        """Set the additional attributes of this calibrator."""


class _MapCalibrator(_KernelCalibrator):
    """A calibrator with three parameters.

    Attributes
    ----------
    params_ : float (3,), a, b and c of m = a log p + b log(1 - p) + c.
    """

    def _expose(self) -> None:
        if isinstance(self.shape_, calibration.MapShape):
            self.params_ = np.array([self.shape_.a, self.shape_.b, self.shape_.c])


class NoCalibrator(_MapCalibrator):
    """The identity: the raw logit is not changed.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: calibration.Calibrator = "none"


class TemperatureCalibrator(_MapCalibrator):
    """m = l / T with 1/T >= 0 (Guo et al. 2017, arXiv 1706.04599).

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: calibration.Calibrator = "temperature"


class PlattCalibrator(_MapCalibrator):
    """m = a l + c without penalty (Platt 1999).

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: calibration.Calibrator = "platt"


class BetaCalibrator(_MapCalibrator):
    """Monotone beta calibration, shrunk to the identity by an elastic net (paper, section 2.3).

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: calibration.Calibrator = "beta"


class ClippedBetaCalibrator(_MapCalibrator):
    """The paper's beta: input clipped to [.001, .999] before the logs, signs of a and b free.

    Included to reproduce the paper. Clipping hides how confident a large panel is, and free signs
    allow a decreasing map: see the page on the claim.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: calibration.Calibrator = "beta_clipped"


class RidgeBetaCalibrator(_MapCalibrator):
    """Monotone beta calibration, shrunk to the identity by lambda |d|^2 with lambda = .1.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: calibration.Calibrator = "beta_l2"


class FreeBetaCalibrator(_MapCalibrator):
    """Monotone beta calibration without penalty (Kull et al. 2017, doi:10.1214/17-EJS1338SI).

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.
    """

    kind: calibration.Calibrator = "beta_free"


class CrossValidatedBetaCalibrator(_MapCalibrator):
    """Monotone beta calibration with the lambda of its elastic net chosen by cross-validation.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.

    Attributes
    ----------
    penalty_ : the chosen lambda, None after a fallback to temperature.
    """

    kind: calibration.Calibrator = "beta_cv"

    def _expose(self) -> None:
        super()._expose()
        shape = self.shape_
        self.penalty_ = shape.penalty if isinstance(shape, calibration.MapShape) else None


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

    kind: calibration.Calibrator = "isotonic"

    def _expose(self) -> None:
        self.knots_: Floats | None = None
        if isinstance(self.shape_, calibration.KnotShape):
            self.knots_ = np.column_stack([self.shape_.logits, self.shape_.p])


class AutoCalibrator(_KernelCalibrator):
    """Temperature, unless inner cross-validation finds a clearly lower NLL on a short list.

    Parameters
    ----------
    symmetric : fit on every item and its swap; the map is then odd.

    Attributes
    ----------
    chosen_ : name of the chosen calibrator.
    """

    kind: calibration.Calibrator = "auto"

    def _expose(self) -> None:
        if isinstance(self._fit, calibration.ChosenFit):
            self.chosen_ = self._fit.chosen[0]


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
        raise InputError(
            "unknown calibrator", value=name, allowed=", ".join(calibration.CALIBRATORS)
        )
    return _CLASSES[name](symmetric=symmetric)


class ResidualCorrection(_LogitMap):
    """A logistic map of the raw logit, with optional item features (the paper's step 2).

    As given, l' = a l + x . gamma + b with a >= 0; under ``symmetric``, l' = l (a + x . gamma).
    Without features it is Platt scaling (temperature under ``symmetric``). It is the kernel
    :mod:`kernels.residual` at batch size 1.

    It must be fitted to leave-out or cross-fitted logits. Its output on the training items depends
    on their own labels, so a calibrator after it is fitted to
    :func:`judgepanel.kernels.residual.cross_fitted_residual` instead.

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

    noun = "correction"

    def fit(
        self, logits: ArrayLike, y: ArrayLike, features: residual.Features | None = None
    ) -> Self:
        """Fit to raw logits (n,), labels (n,) in {0, 1} and features of n rows.

        Raises
        ------
        InputError
            Invalid shapes, infinite logits or features, invalid labels, or no items.
        """
        scores, signs = self._checked(logits, y)
        columns = residual.feature_columns(features)
        self.encoder_: residual.FeatureEncoder = residual.fit_encoder(columns, len(scores))
        encoded = self.encoder_.encode(columns, len(scores))
        fitted = residual.fit_residual(scores[None], signs, encoded, symmetric=self.symmetric)
        self.slope_, self.level_ = float(fitted.slope[0]), float(fitted.level[0])
        self.gamma_ = fitted.gamma[0]
        self.replaced_ = bool(fitted.replaced[0])
        return self

    def transform(self, logits: ArrayLike, features: residual.Features | None = None) -> Floats:
        """Return corrected logits (n,).

        Raises
        ------
        InputError
            A missing feature of the fit, or text instead of numbers.
        """
        check_is_fitted(self)
        scores = self._logits(logits)
        slope, level = np.array([self.slope_]), np.array([self.level_])
        replaced = np.array([self.replaced_])
        map_ = residual.ResidualFit(slope, level, self.gamma_[None], replaced, self.symmetric)
        encoded = self.encoder_.encode(residual.feature_columns(features), len(scores))
        return np.asarray(map_(scores[None], encoded)[0])

    def predict_proba(self, logits: ArrayLike, features: residual.Features | None = None) -> Floats:
        """Return corrected probabilities (n, 2) of labels 0 and 1."""
        p = maps.sigmoid(self.transform(logits, features))
        return np.column_stack([1.0 - p, p])


Mondrian = Literal["class", "stratum"]
_MONDRIAN = (None, "class", "stratum")


class SplitConformal(BaseEstimator):  # type: ignore[misc]
    """Sets that hold the true label with probability ``level`` (the paper's step 4).

    It must be fitted to items that no other fit has used: aggregator, residual correction or
    calibrator. It cannot check that.

    Parameters
    ----------
    level : in (0, 1), the probability that a set holds the true label.
    mondrian : None (over all items), ``"class"`` (within each label) or ``"stratum"`` (within
        each group of ``strata``); Vovk, Gammerman and Shafer 2005, doi:10.1007/b106715.
    symmetric : pairs without an order. Each item counts once, since it and its swap have the same
        score; classes are then arbitrary and ``mondrian="class"`` is refused.

    Attributes
    ----------
    thresholds_ : float (2, n_strata), of label 0 and of label 1; one stratum unless
        ``mondrian="stratum"``. Infinite with too few labels: every set is then {0, 1}.
    n_ : int (2, n_strata), number of scores behind each threshold.
    strata_ : the strata in order of appearance, empty unless ``mondrian="stratum"``.
    warnings_ : full sentences about thresholds with too few labels.
    """

    def __init__(
        self, level: float = 0.9, *, mondrian: Mondrian | None = None, symmetric: bool = False
    ) -> None:
        self.level = level
        self.mondrian = mondrian
        self.symmetric = symmetric

    def fit(self, p: ArrayLike, y: ArrayLike, strata: ArrayLike | None = None) -> Self:
        """Set thresholds from P(label 1) (n,) in [0, 1], labels (n,) in {0, 1}, strata (n,).

        Raises
        ------
        InputError
            An invalid level or ``mondrian``, invalid shapes, probabilities or labels, strata that
            are missing or not used.
        """
        self._check_parameters()
        probabilities, labels = _probabilities(p), _labels(y, p)
        keys = self._keys(strata, len(probabilities))
        self.strata_ = tuple(dict.fromkeys(keys)) if keys is not None else ()
        codes, n_groups = np.zeros(len(labels), dtype=np.int64), 1
        if keys is not None:
            codes, n_groups = self._codes(keys), len(self.strata_)
        elif self.mondrian == "class":
            codes, n_groups = labels, 2
        scores = conformal.nonconformity(probabilities, labels)
        limits = conformal.group_thresholds(scores, codes, n_groups, self.level)
        counts = np.bincount(codes, minlength=n_groups)
        by_class = self.mondrian == "class"
        seen_by = np.array([[0], [1]]) if by_class else np.tile(np.arange(n_groups), (2, 1))
        self.thresholds_, self.n_ = limits[seen_by], counts[seen_by]
        self.warnings_ = tuple(
            conformal.too_few(int(counts[group]), self.level, *self._whose(int(group)))
            for group in np.flatnonzero(np.isinf(limits))
        )
        return self

    def predict_kinds(self, p: ArrayLike, strata: ArrayLike | None = None) -> NDArray[np.int8]:
        """Return set kinds (n,): indices of ``judgepanel.scoring.conformal.SET_NAMES``."""
        check_is_fitted(self)
        probabilities = _probabilities(p)
        keys = self._keys(strata, len(probabilities))
        if keys is None:
            return conformal.set_kinds(probabilities, *self.thresholds_[:, 0])
        # Strata without labels share one additional column of infinite thresholds.
        open_ended = np.column_stack([self.thresholds_, [np.inf, np.inf]])
        return conformal.set_kinds(probabilities, *open_ended[:, self._codes(keys)])

    def predict_sets(self, p: ArrayLike, strata: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Return whether label 0 and label 1 are in each set, (n, 2).

        A stratum that was not in the fit gets {0, 1}; :meth:`unseen` lists such strata.
        """
        kinds = self.predict_kinds(p, strata)
        return np.column_stack([kinds % 2 == 1, kinds >= 2])

    def unseen(self, strata: ArrayLike) -> tuple[Any, ...]:
        """Return strata without labels in the slice, in order of appearance."""
        check_is_fitted(self)
        known = set(self.strata_)
        return tuple(key for key in dict.fromkeys(_values(strata)) if key not in known)

    def report(
        self, p: ArrayLike, y: ArrayLike, strata: ArrayLike | None = None
    ) -> conformal.SetReport:
        """Return coverage, sizes and counts of the sets of labelled items."""
        kinds, labels = self.predict_kinds(p, strata), _labels(y, p)
        warnings = self.warnings_
        if self.mondrian == "stratum" and strata is not None and (new := self.unseen(strata)):
            warnings += (
                f"No label of the held-out slice belongs to {listed([str(key) for key in new], 3)}:"
                " the sets there are {0, 1}.",
            )
        n_slice = int(self.n_[:, 0].sum() if self.mondrian == "class" else self.n_[0].sum())
        return conformal.report_sets(kinds, labels, self.level, n_slice, warnings)

    def _check_parameters(self) -> None:
        conformal.check_level(self.level)
        if self.mondrian not in _MONDRIAN:
            raise InputError(
                "unknown kind of Mondrian sets", value=self.mondrian, allowed="None, class, stratum"
            )
        if self.symmetric and self.mondrian == "class":
            raise InputError(
                "under symmetric an item and its swap have opposite labels, so there is no class "
                "to be conditional on",
                value=self.mondrian,
                allowed="None, stratum",
            )

    def _keys(self, strata: ArrayLike | None, n: int) -> list[Any] | None:
        if self.mondrian != "stratum":
            if strata is not None:
                raise InputError("strata are used by mondrian='stratum' only")
            return None
        if strata is None:
            raise InputError("mondrian='stratum' needs the stratum of every item")
        keys = _values(strata)
        if len(keys) != n:
            raise InputError(f"strata has {len(keys)} entries where {n} are needed")
        return keys

    def _whose(self, group: int) -> tuple[str, str]:
        """Return the name of a group of scores, and what holds while it is too small."""
        if self.mondrian == "class":
            return f"Label {group} of the held-out slice", f"label {group} is in every set"
        if self.mondrian == "stratum":
            return f"Stratum {quote_value(self.strata_[group])}", "every set there is {0, 1}"
        return "The held-out slice", "every set is {0, 1}"

    def _codes(self, keys: list[Any]) -> NDArray[np.int64]:
        place = {key: code for code, key in enumerate(self.strata_)}
        return np.array([place.get(key, len(place)) for key in keys], dtype=np.int64)


def _values(strata: ArrayLike) -> list[Any]:
    """Return strata as a list; every missing value becomes None."""
    values = np.asarray(strata, dtype=object)
    if values.ndim != 1:
        raise InputError("strata must be a flat list")
    return [None if pd.isna(value) else value for value in values.tolist()]


def _probabilities(p: ArrayLike) -> Floats:
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise InputError("conformal sets need a flat list of at least one probability")
    wrong = ~((values >= 0.0) & (values <= 1.0))
    if wrong.any():
        raise InputError(
            "not a probability", value=float(values[wrong][0]), allowed="between 0 and 1"
        )
    return values


def _labels(y: ArrayLike, p: ArrayLike) -> NDArray[np.int64]:
    labels = np.asarray(y)
    if labels.shape != np.shape(p):
        raise InputError("conformal sets need as many labels as probabilities")
    if not np.isin(labels, (0, 1)).all():
        raise InputError("labels of conformal sets must be 0 or 1")
    return labels.astype(np.int64)
