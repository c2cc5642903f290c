"""Split conformal sets as an estimator, fitted to a held-out slice."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from judgepanel.arrays import Floats
from judgepanel.scoring.conformal import (
    SetReport,
    check_level,
    group_thresholds,
    nonconformity,
    report_sets,
    set_kinds,
    too_few,
)
from judgepanel.votes import InputError
from judgepanel.votes.errors import listed, quote_value

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
        scores = nonconformity(probabilities, labels)
        limits = group_thresholds(scores, codes, n_groups, self.level)
        counts = np.bincount(codes, minlength=n_groups)
        by_class = self.mondrian == "class"
        seen_by = np.array([[0], [1]]) if by_class else np.tile(np.arange(n_groups), (2, 1))
        self.thresholds_, self.n_ = limits[seen_by], counts[seen_by]
        self.warnings_ = tuple(
            too_few(int(counts[group]), self.level, *self._whose(int(group)))
            for group in np.flatnonzero(np.isinf(limits))
        )
        return self

    def predict_kinds(self, p: ArrayLike, strata: ArrayLike | None = None) -> NDArray[np.int8]:
        """Return set kinds (n,): indices of ``judgepanel.scoring.conformal.SET_NAMES``."""
        check_is_fitted(self)
        probabilities = _probabilities(p)
        keys = self._keys(strata, len(probabilities))
        if keys is None:
            return set_kinds(probabilities, *self.thresholds_[:, 0])
        # Strata without labels share one additional column of infinite thresholds.
        open_ended = np.column_stack([self.thresholds_, [np.inf, np.inf]])
        return set_kinds(probabilities, *open_ended[:, self._codes(keys)])

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

    def report(self, p: ArrayLike, y: ArrayLike, strata: ArrayLike | None = None) -> SetReport:
        """Return coverage, sizes and counts of the sets of labelled items."""
        kinds, labels = self.predict_kinds(p, strata), _labels(y, p)
        warnings = self.warnings_
        if self.mondrian == "stratum" and strata is not None and (new := self.unseen(strata)):
            warnings += (
                f"No label of the held-out slice belongs to {listed([str(key) for key in new], 3)}:"
                " the sets there are {0, 1}.",
            )
        n_slice = int(self.n_[:, 0].sum() if self.mondrian == "class" else self.n_[0].sum())
        return report_sets(kinds, labels, self.level, n_slice, warnings)

    def _check_parameters(self) -> None:
        check_level(self.level)
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
