"""Parts of the items: slices by a feature, easy and hard items, strata.

Slices, on which panels are fitted or scored alone, are categories of a feature, or quantiles of its
numbers. Items are easy or hard by the judges' disagreement or by a feature.

Strata, within which figures are reported, are thirds of the items by disagreement, by an item
feature, or by judge errors. Disagreement is known from the votes alone, so figures within its
strata are not circular. The share of judges that erred uses the item's own label. Accuracy within
its strata is high or low by construction, so it is only descriptive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import residual
from judgepanel.kernels.ballots import Ballots
from judgepanel.studies.common import item_features
from judgepanel.studies.contract import Prepared
from judgepanel.votes import InputError
from judgepanel.votes.errors import quote_value

FEWEST_UNITS = 20
FEWEST_OF_A_CLASS = 10
MOST_SLICES = 12
_LISTED = 4
NO_FEATURES = (
    "These votes have no item features, so there are no slices to leave out. Columns whose names "
    "begin with feat_ are features."
)
BY_VOTES = "disagreement"


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """Slices large enough to fit on one part and score the other; ``rows`` are positions.

    ``feature`` is None if no feature is usable, ``offered`` are all features, and ``left_out`` has
    a sentence for everything that could not be used; ``n_slices`` is the total number.
    """

    feature: str | None
    offered: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[Ints, ...]
    left_out: tuple[str, ...]
    n_slices: int = 0


def slices_of(prepared: Prepared, feature: str | None, quantiles: int) -> Slices:
    """Return slices of the labelled items, by the named or the first usable feature.

    Categorical features come before numeric ones; one with more slices than can be scored is used
    only if there is no other.

    Raises
    ------
    InputError
        A named feature that the votes do not have.
    """
    columns = item_features(prepared, *([] if feature is None else [feature]))
    offered = tuple(columns)
    if not columns:
        return Slices(None, (), (), (), (NO_FEATURES,))
    wanted = sorted(offered, key=lambda name: columns[name].dtype.kind in "fiub")
    slices = [
        _sliced(prepared.ballots, name, columns[name], offered, quantiles)
        for name in (wanted if feature is None else [feature])
    ]
    usable = [group for group in slices if len(group.names) > 1]
    whole = [group for group in usable if group.n_slices <= MOST_SLICES]
    return (whole or usable or slices)[0]


def _sliced(
    ballots: Ballots, name: str, values: NDArray[Any], offered: tuple[str, ...], quantiles: int
) -> Slices:
    if values.dtype.kind in "fiub":
        parts = _quantiles(values.astype(np.float64), quantiles)
    else:
        texts = np.array(["" if value is None else str(value) for value in values.tolist()])
        kinds = [text for text in np.unique(texts).tolist() if text]
        parts = [(text, np.flatnonzero(texts == text)) for text in kinds]
    known = sum(len(rows) for _, rows in parts)
    left_out = []
    if known < len(values):
        left_out.append(
            f"{len(values) - known:,} items have no {quote_value(name)} and are in no slice."
        )
    named_rows: list[tuple[str, Ints]] = []
    small: list[tuple[str, Ints]] = []
    for text, rows in parts:
        (named_rows if _enough(ballots, rows) else small).append((text, rows))
    if small:
        left_out.append(_too_small(ballots, small))
    named_rows.sort(key=lambda part: -len(part[1]))
    if len(named_rows) > MOST_SLICES:
        left_out.append(
            f"{quote_value(name)} has {len(named_rows)} slices; the {MOST_SLICES} largest are "
            f"scored."
        )
    named_rows = named_rows[:MOST_SLICES]
    if values.dtype.kind in "fiub":
        named_rows.sort(key=lambda part: float(values[part[1]].min()))
    for text, rows in named_rows:
        if not _others(ballots, rows):
            left_out.append(
                f"Nearly all items are in slice {quote_value(text)}: the others are too few to "
                f"learn from."
            )
    named_rows = [(text, rows) for text, rows in named_rows if _others(ballots, rows)]
    return Slices(
        name,
        offered,
        tuple(text for text, _ in named_rows),
        tuple(rows for _, rows in named_rows),
        tuple(left_out),
        len(parts),
    )


def _quantiles(values: NDArray[np.float64], quantiles: int) -> list[tuple[str, Ints]]:
    """Parts between quantiles, equal values together; few distinct values are one part each."""
    known = values[np.isfinite(values)]
    levels = np.unique(known)
    if len(levels) <= quantiles:
        return [(f"{level:g}", np.flatnonzero(values == level)) for level in levels]
    inner = np.unique(np.quantile(known, np.arange(1, quantiles) / quantiles))
    place = np.searchsorted(inner, values, side="left")
    result = []
    for part in range(len(inner) + 1):
        rows = np.flatnonzero(np.isfinite(values) & (place == part))
        if len(rows):
            low, high = values[rows].min(), values[rows].max()
            text = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            result.append((text, rows))
    return result


def _enough(ballots: Ballots, rows: Ints) -> bool:
    if len(np.unique(ballots.units[rows])) < FEWEST_UNITS:
        return False
    if ballots.symmetric or len(np.unique(ballots.signs)) == 1:
        return True
    ones = int(np.count_nonzero(ballots.signs[rows] > 0))
    return min(ones, len(rows) - ones) >= FEWEST_OF_A_CLASS


def _others(ballots: Ballots, rows: Ints) -> bool:
    """Whether enough items lie outside a slice, including items without the feature's value."""
    outside = np.setdiff1d(np.arange(ballots.n_items), rows)
    return len(np.unique(ballots.units[outside])) >= FEWEST_UNITS


def _too_small(ballots: Ballots, small: list[tuple[str, Ints]]) -> str:
    needs = f"{FEWEST_UNITS} labelled items"
    if len(np.unique(ballots.units)) < ballots.n_items:
        needs = f"{FEWEST_UNITS} groups of labelled items"
    if not ballots.symmetric:
        needs += f", {FEWEST_OF_A_CLASS} of each label among them"
    sizes = ", ".join(
        f"{quote_value(text)} ({len(rows):,} items)" for text, rows in small[:_LISTED]
    )
    if len(small) > _LISTED:
        sizes += f" and {len(small) - _LISTED} more"
    return f"Too small to learn from one part and score the other: {sizes}. A slice needs {needs}."


@dataclass(frozen=True, slots=True, eq=False)
class EasyAndHard:
    """Sorted positions of the easy and of the hard items; the other items are neither.

    Items up to ``easy_to`` are easy and those from ``hard_from`` on hard, in units of the
    difficulty measure ``by``.
    """

    by: str
    easy: Ints
    hard: Ints
    easy_to: float
    hard_from: float


def difficulty_strata(prepared: Prepared, share: float, feature: str | None) -> EasyAndHard:
    """The easiest ``share`` of the items and the hardest share; ties stay together.

    Difficulty is the disagreement of the votes on an item, which uses no label, or a numeric item
    feature (larger is harder). Items without votes or without the feature are in neither.

    Raises
    ------
    InputError
        A feature that is absent or not numeric; items that are all equally difficult.
    """
    ballots = prepared.ballots
    if feature is None:
        measure = residual.disagreement(ballots)
        known = (ballots.votes != 0).any(axis=1)
    else:
        measure = _numeric(prepared, feature)
        known = np.isfinite(measure)
    rows = np.flatnonzero(known)
    levels, counts = np.unique(measure[rows], return_counts=True)
    if len(levels) < 2:
        raise InputError(
            "items cannot be told apart by difficulty: all have the same "
            + ("disagreement of votes" if feature is None else "value"),
            column=feature,
            remedy="choose a feature that differs between items",
        )
    wanted = share * len(rows)
    low = _nearest(np.cumsum(counts)[:-1], wanted)
    high = len(levels) - 1 - _nearest(np.cumsum(counts[::-1])[:-1], wanted)
    high = max(high, low + 1)
    return EasyAndHard(
        by=BY_VOTES if feature is None else feature,
        easy=rows[measure[rows] <= levels[low]],
        hard=rows[measure[rows] >= levels[high]],
        easy_to=float(levels[low]),
        hard_from=float(levels[high]),
    )


def _nearest(reached: Ints, wanted: float) -> int:
    return int(np.abs(reached - wanted).argmin())


def _numeric(prepared: Prepared, name: str) -> Floats:
    values = item_features(prepared, name)[name]
    if values.dtype.kind not in "fiub":
        raise InputError(
            "difficulty needs a feature of numbers",
            column=name,
            remedy="choose another feature, or none: then the disagreement of votes is used",
        )
    return values.astype(np.float64)


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
    voted = prepared.ballots.votes.any(axis=1)
    return np.where(voted, residual.disagreement(prepared.ballots), np.nan)


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
    item_features(prepared, feature)
    values = pd.DataFrame(prepared.oriented.votes.features)[feature]
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
