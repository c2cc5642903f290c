"""Parts of the items: slices by a feature, easy and hard items, strata.

Slices, on which panels are fitted or scored alone, are categories of a feature, or quantiles of its
numbers. Items are easy or hard by the judges' disagreement or by a feature.

Strata, within which figures are reported, are thirds of the items by disagreement, by an item
feature, or by judge errors. Disagreement is known from the votes alone, so figures within its
strata are not circular. The share of judges that erred uses the item's own label. Accuracy within
its strata is high or low by construction, so it is only descriptive.

Groups of items by a feature, systems that met in pairs, and how labels are weighted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import residual
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.residual import FeatureColumns, feature_columns
from judgepanel.scoring.prediction_powered import Matches, Sample
from judgepanel.studies.common import item_features
from judgepanel.studies.contract import Prepared
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.cells import PAIR_NAMES, SYSTEM_NAMES
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
    names = wanted if feature is None else [feature]
    slices = [_sliced(prepared.ballots, name, columns[name], offered, quantiles) for name in names]
    usable = [group for group in slices if len(group.names) > 1]
    whole = [group for group in usable if group.n_slices <= MOST_SLICES]
    return (whole or usable or slices)[0]


def _sliced(
    ballots: Ballots, name: str, values: NDArray[Any], offered: tuple[str, ...], quantiles: int
) -> Slices:
    if values.dtype.kind in "fiub":
        parts = _quantiles(values.astype(np.float64), quantiles)
    else:
        texts = _texts(values)
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
    names, own = tuple(text for text, _ in named_rows), tuple(rows for _, rows in named_rows)
    return Slices(name, offered, names, own, tuple(left_out), len(parts))


def _quantiles(values: Floats, quantiles: int) -> list[tuple[str, Ints]]:
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
        values = item_features(prepared, feature)[feature]
        if values.dtype.kind not in "fiub":
            remedy = "choose another feature, or none: then the disagreement of votes is used"
            raise InputError("difficulty needs a feature of numbers", column=feature, remedy=remedy)
        measure = values.astype(np.float64)
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


def by_difficulty(prepared: Prepared) -> Strata:
    """Terciles of :func:`disagreement`."""
    return terciles(disagreement(prepared), TERCILES, SILENT)


def by_errors(prepared: Prepared) -> Strata:
    """Terciles of the share of the votes on an item that contradict its label, NaN without votes.

    Circular, see above.
    """
    ballots = prepared.ballots
    right = (ballots.votes == ballots.signs[:, None]).sum(axis=1)
    with np.errstate(invalid="ignore"):
        wrong = np.asarray(1.0 - right / np.count_nonzero(ballots.votes, axis=1))
    return terciles(wrong, ERRORS, SILENT)


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


QUANTILES = 4
MOST_GROUPS = 50
SYSTEM = "system"
"""Stands for the feature that names the system, or for the two that name those of a pair."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of items: names, and the group of each item (n,), -1 for none.

    Items that are pairs of systems are in two groups: ``codes`` is that of the first system, and
    ``others`` (n,) that of the second.
    """

    names: tuple[str, ...]
    codes: Ints
    others: Ints | None = None

    def sample(self, labels: Floats, units: Ints, weights: Floats | None) -> Sample | Matches:
        """Return labels and groups as the estimators take them."""
        n_groups = len(self.names)
        if self.others is None:
            return Sample.of(labels, self.codes, units, weights, n_groups)
        return Matches(labels, self.codes, self.others, n_groups, units, weights)


def groups_of(votes: VoteMatrix, by: str | None) -> Groups:
    """Return the groups by a feature: its values, or quantiles of many numbers.

    Raises
    ------
    InputError
        A feature that the votes do not have, or one of too many values.
    """
    if by is None:
        return Groups((), np.full(votes.n_items, -1, dtype=np.int64))
    columns = [feature(votes, name) for name in grouping_features(votes, by)]
    if len(columns) == 2:
        names, codes = _coded(np.concatenate([_texts(column) for column in columns]), by)
        return Groups(names, codes[: votes.n_items], codes[votes.n_items :])
    (values,) = columns
    if values.dtype.kind in "fiub":
        return _by_number(values.astype(np.float64))
    return Groups(*_coded(_texts(values), by))


def grouping_features(votes: VoteMatrix, by: str) -> tuple[str, ...]:
    """Return the feature that ``by`` stands for, or the two that name the systems of a pair.

    These are two names separated by a comma, or those of usual names. They may not exist.
    """
    columns = features_of(votes)
    if by not in columns and by == SYSTEM:
        return pair_of_systems(votes) or (_system_of(columns),)
    if by not in columns and "," in by:
        first, _, second = by.partition(",")
        return first.strip(), second.strip()
    return (by,)


def pair_of_systems(votes: VoteMatrix) -> tuple[str, str] | None:
    """Return the features with the systems of the first and the second response, None if none."""
    if votes.task != "pairwise":
        return None
    names = {name.lower(): name for name in features_of(votes)}
    stems = ((f"{stem}_a", f"{stem}_b") for stem in SYSTEM_NAMES)
    for first, second in (*PAIR_NAMES, *stems):
        if first in names and second in names:
            return names[first], names[second]
    return None


def names_systems(votes: VoteMatrix) -> bool:
    """Whether a feature names the systems that wrote the responses."""
    columns = features_of(votes)
    return pair_of_systems(votes) is not None or _system_of(columns) in columns


def _system_of(columns: FeatureColumns) -> str:
    """Return the feature that names the system; ``system`` itself if none does."""
    names = {name.lower(): name for name in columns}
    return next((names[name] for name in SYSTEM_NAMES if name in names), SYSTEM)


def _texts(values: NDArray[Any]) -> NDArray[Any]:
    return np.array(["" if value is None else str(value) for value in values.tolist()])


def _coded(texts: NDArray[Any], by: str) -> tuple[tuple[str, ...], Ints]:
    """Return the names, and codes with -1 for blanks; InputError for too many names."""
    names, codes = np.unique(texts, return_inverse=True)
    blank = names == ""
    place = np.where(blank, -1, np.cumsum(~blank) - 1)
    if np.count_nonzero(~blank) > MOST_GROUPS:
        raise InputError(
            f"the feature {quote_value(by)} has too many values to compare",
            value=int(np.count_nonzero(~blank)),
            allowed=f"at most {MOST_GROUPS} groups",
            remedy="choose another feature, or give its values fewer names",
        )
    return tuple(names[~blank].tolist()), np.asarray(place[codes], dtype=np.int64)


def _by_number(values: Floats) -> Groups:
    known = np.isfinite(values)
    levels = np.unique(values[known])
    if len(levels) > 2 * QUANTILES:
        ends = np.unique(np.quantile(values[known], np.arange(1, QUANTILES) / QUANTILES))
        place = np.searchsorted(ends, values, side="left")
        present, codes = np.unique(place[known], return_inverse=True)
        names = []
        for part in present:
            inside = values[known & (place == part)]
            names.append(f"{inside.min():g} to {inside.max():g}")
    else:
        codes = np.searchsorted(levels, values[known])
        names = [f"{level:g}" for level in levels]
    every = np.full(len(values), -1, dtype=np.int64)
    every[known] = codes
    return Groups(tuple(names), every)


def features_of(votes: VoteMatrix) -> FeatureColumns:
    """Return the features of the items by name."""
    return feature_columns(votes.features) or {}


def feature(votes: VoteMatrix, name: str) -> NDArray[Any]:
    """Return a feature (n,); InputError if there is none of that name."""
    columns = features_of(votes)
    if name not in columns:
        allowed = ", ".join(columns) or "none: these votes have no item features"
        raise InputError("no such feature among the votes", value=name, allowed=allowed)
    return columns[name]


def offered_features(votes: VoteMatrix) -> tuple[str, ...]:
    """Return the features whose values can be groups, those that name systems first."""
    columns = features_of(votes)
    kinds = {name: len(set(map(str, values.tolist()))) for name, values in columns.items()}
    numeric = {name: values.dtype.kind in "fiub" for name, values in columns.items()}
    few = [name for name, n in kinds.items() if n >= 2 and (numeric[name] or n <= MOST_GROUPS)]
    places = {name: place for place, name in enumerate(SYSTEM_NAMES)}
    ordered = sorted(few, key=lambda name: (places.get(name.lower(), len(places)), numeric[name]))
    pair = pair_of_systems(votes)
    if pair is None or SYSTEM in columns:
        return tuple(ordered)
    systems = {*map(str, columns[pair[0]].tolist()), *map(str, columns[pair[1]].tolist())}
    return (SYSTEM, *ordered) if len(systems) <= MOST_GROUPS else tuple(ordered)


def usual_feature(votes: VoteMatrix) -> str | None:
    """Return the feature that pages group by at first: systems, else a few categories."""
    offered = offered_features(votes)
    if not offered:
        return None
    first = offered[0]
    is_system = first.lower() in SYSTEM_NAMES
    return first if is_system or features_of(votes)[first].dtype.kind not in "fiub" else None


def weights_of(votes: VoteMatrix, name: str) -> Floats:
    """Sampling weights (n,); InputError if one of a labelled item is missing or not above 0."""
    values = feature(votes, name)
    if values.dtype.kind not in "fiub":
        raise InputError("sampling weights must be numbers", value=name)
    weights = values.astype(np.float64)
    wrong = votes.labelled & ~(np.isfinite(weights) & (weights > 0.0))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(
            f"item {quote_value(votes.item_ids[place])} has no usable sampling weight",
            "a number above 0 for every labelled item",
            value=float(weights[place]),
        )
    return np.where(np.isfinite(weights), weights, 1.0)


def strata_codes(votes: VoteMatrix, by: str) -> Ints:
    """Return the stratum of each item (n,), 0 without a group; of pairs, both systems in order."""
    strata = groups_of(votes, by)
    codes = strata.codes + 1
    return codes if strata.others is None else codes * (len(strata.names) + 1) + strata.others + 1


def stratified(votes: VoteMatrix, by: str) -> Floats:
    """Weights (n,): items per label in the stratum of each item.

    Raises
    ------
    InputError
        A stratum with items and without a label.
    """
    codes = strata_codes(votes, by)
    n_items = np.bincount(codes)
    n_labels = np.bincount(codes[votes.labelled], minlength=len(n_items))
    bare = (n_items > 0) & (n_labels == 0)
    if bare.any():
        item = int(np.argmax(bare[codes]))
        raise InputError(
            f"no item of a stratum by {quote_value(by)} has a label, such as item "
            f"{quote_value(votes.item_ids[item])}",
            "labels in every stratum",
            "label some of its items, or choose fewer strata",
        )
    return np.asarray(n_items / np.maximum(n_labels, 1))[codes]


def system_families(systems: Sequence[str], families: Mapping[str, str]) -> tuple[str, ...]:
    """Return the family of each system: that of the judge of its name, else one in its name.

    ``families`` are those of judges, by name; a system of none has an empty text.
    """
    known = sorted({family for family in families.values() if family}, key=len, reverse=True)

    def family_of(system: str) -> str:
        name = system.lower()
        starts = (family for family in known if name.startswith(family.lower()))
        return families.get(system, "") or next(starts, "")

    return tuple(map(family_of, systems))
