"""Groups of items by a feature, systems that met in pairs, and how labels are weighted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.residual import FeatureColumns, feature_columns
from judgepanel.scoring.bradley_terry import Matches
from judgepanel.scoring.prediction_powered import Sample
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.cells import PAIR_NAMES, SYSTEM_NAMES
from judgepanel.votes.errors import quote_value

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
        raise InputError(
            "no such feature among the votes",
            value=name,
            allowed=", ".join(columns) or "none: these votes have no item features",
        )
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
