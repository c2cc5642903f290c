"""Coverage of conformal sets: do they hold the true label as often as promised, and for whom?

In every split a slice of the calibration items is held out of all other fits and sets the
thresholds. Plain split conformal promises coverage over all items; Mondrian sets promise it within
each label, each stratum of difficulty (known from votes alone) or each value of an item feature.

Cost per split: one evaluation of the panel. Memory: one byte per evaluation, method and level.

Result of :data:`CONFORMAL`: coverage and size of sets overall, by class, difficulty, feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.evaluation import SLICE
from judgepanel.kernels.maps import sigmoid
from judgepanel.scoring import conformal, metrics
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split, subsplit
from judgepanel.studies import results
from judgepanel.studies.common import splits_of
from judgepanel.studies.contract import Chunk, Prepared, Study, always, prepare
from judgepanel.studies.options import option
from judgepanel.studies.panel.recommended import recommended_on
from judgepanel.studies.slices import Strata, by_difficulty, by_feature
from judgepanel.studies.trust import probabilities
from judgepanel.studies.trust.probabilities import Repeats, binned_sums, joined, stacked
from judgepanel.votes import InputError, VoteMatrix

Grouping = Literal["all", "class", "difficulty", "feature"]
Kept = Literal["holds", "falls short", "open"]

KIND_FIELDS = ("neither", "only_0", "only_1", "both")


def _share(kind: int, words: str) -> results.Derived[Any]:
    return results.derived(f"Share of sets {words}.")(lambda result: result.kinds[..., kind])


@results.frozen
class Conformal(probabilities.PanelResult):
    """Result of :data:`CONFORMAL`.

    ``methods`` name the groups within which sets are calibrated: ``all`` is plain split conformal,
    the others are Mondrian within label, difficulty or feature. ``groups`` name the groups that are
    reported, by ``groupings``; ``items`` (n_groups,) counts their items. Arrays are (n_methods,
    n_levels, n_groups): ``coverage`` the share of sets that hold the true label, ``size`` in [0, 2]
    the number of labels they hold, ``one_right`` the share right among the sets with one label,
    each with a 95 % interval for new items, panels and slices; NaN for empty groups. ``kinds``
    (n_methods, n_levels, n_groups, 4) are shares of {}, {0}, {1} and {0, 1}; under ``symmetric`` a
    set of one label counts half for each. ``infinite`` (n_methods, n_levels) counts splits in which
    a threshold was infinite.
    """

    feature: str | None
    methods: tuple[Grouping, ...] = results.column(
        "Groups within which thresholds are set: all items, or groups of them.",
        name="sets_within",
        axis=-3,
        key=True,
    )
    levels: tuple[float, ...] = results.column(
        "Share of sets that are promised to hold the true label.", name="level", axis=-2, key=True
    )
    groupings: tuple[Grouping, ...] = results.column(
        "How the items are grouped for reporting coverage.", name="grouping", key=True
    )
    groups: tuple[str, ...] = results.column("Group of items.", name="group", key=True)
    items: Ints = results.column()
    coverage: Interval = results.column("Share of the sets that hold the true label.")
    size: Interval = results.column("Mean number of labels in a set, 0 to 2.")
    one_right: Interval = results.column("Share of the sets with one label that are right.")
    kinds: Floats
    infinite: Ints
    n_slice: float = results.column("Number of labels that set the thresholds, mean over splits.")

    @results.derived("Whether the level is promised within this group.", name="promised")
    def promises(self) -> Any:
        """Whether each method promises coverage within each group, (n_methods, 1, n_groups)."""
        shape = len(self.methods), 1, len(self.groups)
        return np.array([self.promised(m, g) for m, _, g in np.ndindex(shape)]).reshape(shape)

    share_neither = _share(0, "without a label")
    share_only_0 = _share(1, "with label 0 only")
    share_only_1 = _share(2, "with label 1 only")
    share_both = _share(3, "with both labels")

    @property
    def symmetric(self) -> bool:
        """Whether the label in a set of one label is arbitrary."""
        return self.orientation == "symmetric"

    def promised(self, method: int, group: int) -> bool:
        """Return whether the method promises coverage within that group, not only overall."""
        return self.groupings[group] in ("all", self.methods[method])

    def kept(self, method: int, level: int, group: int) -> Kept:
        """Return whether the interval of the coverage reaches the level."""
        coverage = self.coverage[method, level, group]
        if not np.isfinite(coverage.lo + coverage.hi):
            return "open"
        return "falls short" if coverage.below(self.levels[level]) else "holds"

    def decisions(self) -> dict[str, Any]:
        """Return coverage over all items by method and level, and whether classes are reported."""
        return {
            "feature": self.feature,
            "sets": [
                results.json_values(
                    {
                        "within": method,
                        "level": level,
                        "coverage": self.coverage[m, i, 0],
                        "size": self.size.value[m, i, 0],
                        "shares": dict(zip(KIND_FIELDS, self.kinds[m, i, 0], strict=True)),
                        "splits_with_infinite_threshold": self.infinite[m, i],
                    }
                )
                for m, method in enumerate(self.methods)
                for i, level in enumerate(self.levels)
            ],
            "class_conditional": None if self.symmetric else "class" in self.methods,
        }


CLASSES = ("label 0", "label 1")


def check_levels(levels: tuple[float, ...]) -> None:
    """Refuse levels outside (0, 1), and none at all."""
    if not levels:
        raise InputError("conformal sets need one level or more", allowed="for instance 0.9")
    for level in levels:
        conformal.check_level(level)


@dataclass(frozen=True, slots=True)
class ConformalSpec(probabilities.PanelSpec):
    """Options of conformal sets besides the panel: ``levels``, and an item ``feature`` to group by.

    Raises
    ------
    InputError
        As for the panel; no level, or one outside (0, 1).
    """

    levels: tuple[float, ...] = option(
        (0.8, 0.9), "share of sets that should hold the true label", check=check_levels
    )
    feature: str | None = option(None, "an item feature whose values are reported separately")


@results.frozen
class SetsDone(probabilities.Evaluated):
    """Sets of S splits, E evaluations in total.

    ``kinds`` int8 (n_methods, n_levels, E); ``behind`` (S, n_groups) counts the slice's items in
    every group, all items first.
    """

    behind: Ints = results.by_split()
    kinds: conformal.Kinds = results.by_row(-1)


def strata_of(prepared: Prepared, spec: ConformalSpec) -> dict[Grouping, Strata]:
    """Return all applicable groupings of the labelled items, all items together first.

    Raises
    ------
    InputError
        A feature that the votes do not have.
    """
    ballots = prepared.ballots
    strata: dict[Grouping, Strata] = {
        "all": Strata(("all items",), np.zeros(ballots.n_items, dtype=np.int64))
    }
    if not ballots.symmetric:
        strata["class"] = Strata(CLASSES, (ballots.signs > 0).astype(np.int64))
    strata["difficulty"] = by_difficulty(prepared)
    if spec.feature is not None:
        strata["feature"] = by_feature(prepared, spec.feature)
    return strata


def run_chunk(votes: VoteMatrix, spec: ConformalSpec, chunk: Chunk) -> SetsDone:
    """Compute the sets of the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    strata = strata_of(prepared, spec)
    splits = list(splits_of(prepared, spec.settings, chunk))
    by_split = [_of_split(votes, prepared, spec, strata, split) for split in splits]
    return SetsDone.of(
        splits,
        behind=np.array([behind for _, behind, _ in by_split]),
        rows=np.concatenate([split.evaluation for split in splits]),
        kinds=np.concatenate([kinds for kinds, _, _ in by_split], axis=-1),
        replaced=np.array([replaced for _, _, replaced in by_split]),
    )


def _of_split(
    votes: VoteMatrix,
    prepared: Prepared,
    spec: ConformalSpec,
    strata: dict[Grouping, Strata],
    split: Split,
) -> tuple[conformal.Kinds, Ints, int]:
    """Sets (n_methods, n_levels, n_eval), the slice's items by group, and the fallback count."""
    ballots = prepared.ballots
    units, seed, key = ballots.units, spec.settings.seed, (split.number, 13)
    learn, hold = subsplit(units, split.calibration, fraction=1.0 - SLICE, seed=seed, key=key)
    apart = Split(split.number, learn, np.concatenate([hold, split.evaluation]))
    scores = probabilities.score_split(votes, prepared, spec, apart, recommended_on)
    p = np.clip(sigmoid(scores.logits[probabilities.CALIBRATED]), metrics.CLIP, 1.0 - metrics.CLIP)
    own = conformal.nonconformity(p[: len(hold)], (ballots.signs[hold] > 0).astype(np.int64))
    new, items = p[len(hold) :], (hold, split.evaluation)
    kinds = [
        [sets_within(own, new, part, items, level, way) for level in spec.levels]
        for way, part in strata.items()
    ]
    return np.array(kinds, dtype=np.int8), _counts(strata, hold), scores.replaced


def sets_within(
    own: Floats, new: Floats, part: Strata, items: tuple[Ints, Ints], level: float, way: Grouping
) -> conformal.Kinds:
    """Sets of the evaluation items, with thresholds from their own stratum of the slice."""
    hold, evaluation = items
    limits = conformal.group_thresholds(own, part.codes[hold], part.n, level)
    if way == "class":
        return conformal.set_kinds(new, limits[0], limits[1])
    limit = limits[part.codes[evaluation]]
    return conformal.set_kinds(new, limit, limit)


def _counts(strata: dict[Grouping, Strata], rows: Ints) -> Ints:
    """Number of these rows in every group of every grouping."""
    counts = [np.bincount(part.codes[rows], minlength=part.n) for part in strata.values()]
    return np.concatenate(counts)


def merge(votes: VoteMatrix, spec: ConformalSpec, partial: SetsDone) -> Conformal:
    """Return coverage, size and kinds from the splits so far."""
    prepared = prepare(votes, spec.settings)
    sets, strata = partial, strata_of(prepared, spec)
    scored = Repeats(**probabilities.repeats(prepared, sets))

    def of_level(kinds: conformal.Kinds) -> dict[str, Any]:
        groups = strata.values()
        return joined([_of_groups(scored, kinds, part.codes[sets.rows], part.n) for part in groups])

    fields = stacked([stacked([of_level(kinds) for kinds in method]) for method in sets.kinds])
    groupings = [way for way, part in strata.items() for _ in part.names]
    infinite, notes = _infinite(spec, strata, sets)
    if prepared.ballots.symmetric:
        notes.append(
            "Each item is used together with its swap, which has the other label, so coverage by "
            "label does not apply. A set of one label counts half as {0} and half as {1}."
        )
    if spec.feature is None and prepared.oriented.votes.features is None:
        notes.append("The votes have no item features (columns feat_...), so none is looked into.")
    return Conformal.from_splits(
        prepared,
        spec,
        sets,
        k=spec.size(prepared.ballots.n_judges),
        methods=tuple(strata),
        groups=tuple(name for part in strata.values() for name in part.names),
        groupings=tuple(groupings),
        items=_counts(strata, scored.seen),
        **fields,
        infinite=infinite,
        n_slice=float(sets.behind[:, 0].mean()),
        warnings=(*probabilities.panel_notes(prepared, spec, sets), *notes),
    )


def _of_groups(scored: Repeats, kinds: conformal.Kinds, codes: Ints, n: int) -> dict[str, Any]:
    """Figures (n,) of the groups of one grouping; kinds (n, 4)."""
    held = conformal.covers(kinds, (scored.signs > 0).astype(np.int64)).astype(np.float64)
    single = ((kinds == conformal.ZERO) | (kinds == conformal.ONE)).astype(np.float64)
    right = binned_sums(scored, held * single, codes, n, single)
    n_labels = conformal.set_sizes(kinds).astype(np.float64)
    sizes, items = probabilities.ratios(scored, binned_sums(scored, n_labels, codes, n))
    size = Interval(np.clip(sizes.value, 0.0, 2.0), sizes.lo, sizes.hi, unit="count")
    each = [
        scored.by_item((kinds == kind).astype(float), codes, n).sum(axis=1) for kind in range(4)
    ]
    counts = np.stack(each, axis=-1)
    if scored.symmetric:
        singles = [conformal.ZERO, conformal.ONE]
        counts[:, singles] = counts[:, singles].mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        parts = np.where(items[:, None] == 0, np.nan, counts / items[:, None])
    return {
        "coverage": probabilities.shares(scored, binned_sums(scored, held, codes, n))[0],
        "one_right": probabilities.shares(scored, right)[0],
        "size": size.clip(0.0, 2.0).where(items > 0),
        "kinds": parts,
    }


def _infinite(
    spec: ConformalSpec, strata: dict[Grouping, Strata], sets: SetsDone
) -> tuple[Ints, list[str]]:
    """Splits with an infinite threshold (n_methods, n_levels), and sentences about the groups."""
    counts = np.zeros((len(strata), len(spec.levels)), dtype=np.int64)
    notes, first = [], 0
    for m, (way, part) in enumerate(strata.items()):
        behind = sets.behind[:, first : first + part.n]
        first += part.n
        for i, level in enumerate(spec.levels):
            short = conformal.quantile_rank(behind, level) > behind
            counts[m, i] = int(short.any(axis=1).sum())
            for g in np.flatnonzero(short.any(axis=0)):
                notes.append(_too_few(way, part.names[g], level, int(short[:, g].sum()), sets))
    return counts, notes


def _too_few(way: Grouping, name: str, level: float, splits: int, sets: SetsDone) -> str:
    whose = {
        "all": "the held-out slice has",
        "class": f"{name} has, in the held-out slice,",
        "difficulty": f"the stratum '{name}' has, in the held-out slice,",
        "feature": f"the value {name!r} has, in the held-out slice,",
    }[way]
    until = "That label is in every set" if way == "class" else "Every set is {0, 1}"
    return (
        f"In {splits} of {len(sets.numbers)} splits {whose} too few labels. Sets at {level:.0%} "
        f"need {conformal.labels_needed(level)}. {until} there."
    )


CONFORMAL: Study[ConformalSpec, SetsDone, Conformal] = Study(
    name="conformal",
    title="Conformal sets",
    question="Do conformal sets hold the label as often as they promise?",
    run_chunk=run_chunk,
    settled=always,
    merge=merge,
)
