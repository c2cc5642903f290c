"""Strata of items by disagreement of the judges, by an item feature, or by judge errors.

Disagreement is known from the votes alone, so figures within its strata are not circular. The share
of judges that erred uses the item's own label. Accuracy within its strata is high or low by
construction, so it is only descriptive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.studies.settings import Prepared
from judgepanel.votes import InputError

EASY, MIDDLE, HARD = "judges agree", "in between", "judges disagree"
TERCILES = (EASY, MIDDLE, HARD)
ERRORS = ("few judges err", "some judges err", "many judges err")
SILENT = "no votes"
BLANK = "missing"
OTHER = "other values"
MOST_VALUES = 8


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """``codes`` (n_items,) are the strata of the labelled items, as positions in ``names``."""

    names: tuple[str, ...]
    codes: Ints

    @property
    def n(self) -> int:
        """Number of strata."""
        return len(self.names)


def disagreement(prepared: Prepared) -> Floats:
    """Disagreement of an item's votes, (n_items,): 0 unanimous, 1 evenly split.

    1 - |2 share - 1| over the votes of all judges of the analysis; a monotone function of the
    votes' entropy. NaN without votes.
    """
    votes = prepared.ballots.votes
    cast = np.count_nonzero(votes, axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(1.0 - np.abs(votes.sum(axis=1, dtype=np.int64)) / cast)


def share_wrong(prepared: Prepared) -> Floats:
    """Share of the votes on an item that contradict its label, (n_items,); NaN without votes."""
    ballots = prepared.ballots
    right = (ballots.votes == ballots.signs[:, None]).sum(axis=1)
    cast = np.count_nonzero(ballots.votes, axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(1.0 - right / cast)


def by_difficulty(prepared: Prepared) -> Strata:
    """Terciles of :func:`disagreement`."""
    return terciles(disagreement(prepared), TERCILES, SILENT)


def by_errors(prepared: Prepared) -> Strata:
    """Terciles of :func:`share_wrong`; circular, see above."""
    return terciles(share_wrong(prepared), ERRORS, SILENT)


def terciles(values: Floats, names: tuple[str, ...], blank: str) -> Strata:
    """Thirds of values (n,), equal values kept together; NaN are a separate stratum.

    If ties leave a third empty it is omitted, so there may be two strata or one.
    """
    known = ~np.isnan(values)
    codes = np.full(len(values), len(names), dtype=np.int64)
    if known.any():
        cuts = np.quantile(values[known], np.arange(1, len(names)) / len(names))
        codes[known] = np.searchsorted(cuts, values[known], side="left")
    return _compact((*names, blank), codes)


def by_feature(prepared: Prepared, feature: str) -> Strata:
    """Values of an item feature; terciles if it is numeric with many values.

    Values other than the ``MOST_VALUES`` most frequent are one stratum.

    Raises
    ------
    InputError
        A feature that the votes do not have.
    """
    table = prepared.oriented.votes.features
    known = () if table is None else tuple(str(name) for name in table.columns)
    if table is None or feature not in known:
        raise InputError(
            "no such item feature among the votes",
            value=feature,
            allowed=", ".join(known) or "none: the file has no columns feat_...",
        )
    values = table[feature]
    if pd.api.types.is_numeric_dtype(values) and values.nunique() > MOST_VALUES:
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return terciles(numbers, _thirds(numbers), BLANK)
    text = [BLANK if pd.isna(value) else str(value) for value in values]
    counts = pd.Series(text).value_counts()
    ranked = sorted(counts.index, key=lambda name: (-counts[name], name))
    names = tuple(ranked) if len(ranked) <= MOST_VALUES else (*ranked[: MOST_VALUES - 1], OTHER)
    place = {name: code for code, name in enumerate(names)}
    codes = [place.get(name, len(names) - 1) for name in text]
    return _compact(names, np.array(codes, dtype=np.int64))


def _thirds(numbers: Floats) -> tuple[str, ...]:
    low, high = np.nanquantile(numbers, (1.0 / 3.0, 2.0 / 3.0))
    return f"up to {low:.4g}", f"{low:.4g} to {high:.4g}", f"above {high:.4g}"


def _compact(names: tuple[str, ...], codes: Ints) -> Strata:
    """Return the strata without empty ones."""
    used, renumbered = np.unique(codes, return_inverse=True)
    return Strata(tuple(names[code] for code in used), renumbered.astype(np.int64))
