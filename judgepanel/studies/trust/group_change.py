"""Group change: the panel with a group of judges and without it, under several aggregators.

A group is a list of judges, a family of the judge table, a cluster of judges that err together, or
the judges that P1's filter drops. The filter is applied again in every split, to calibration rows
alone, so that its comparison is not flattered by labels on which it was chosen. Both arms share
splits, labels and calibrator. A group that is not among the judges of the analysis is added, one
that is among them is removed.

Cost per split: two fits per aggregator.

Result of :data:`GROUP_CHANGE`: the panel with a group of judges and without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from judgepanel.arrays import Bools, Floats
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import SplitScores
from judgepanel.kernels.redundancy import clusters, error_correlation, error_counts
from judgepanel.scoring.descriptive import allow_difference, allow_level, between, one_more_error
from judgepanel.scoring.inference import MARGIN, Verdict
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies import codec, common, contract, options, results
from judgepanel.studies.accumulate import RANGES, Arms, Estimator, Tally, verdicts
from judgepanel.studies.panel import recommended
from judgepanel.studies.understand.judge_table import families_of, legible, to_drop
from judgepanel.votes import InputError, VoteMatrix


@results.frozen
class GroupChange(results.SplitResult):
    """Result of :data:`GROUP_CHANGE`.

    ``members`` are the judges of the group, out of ``n_judges`` with it; for a filter, those it
    drops on all labelled items. ``added``: the group is not among the judges of the analysis.
    Arrays are (n_aggregators,): ``nll_with`` and ``nll_without`` in nats with 95 % intervals for
    new items, ``delta`` = NLL(without) - NLL(with), above 0 if the group helps, with its p-value
    ``p``. ``verdicts`` are against 2 % of NLL(with): ``keep all`` means include the group,
    ``curate`` leave it out. ``null_nll`` is the NLL of the base rate on the same splits,
    ``constant_nll`` that of a constant score through the same calibrator.
    """

    by: str
    name: str = results.column("The group of judges that is removed.", name="group", key=True)
    members: tuple[str, ...]
    added: bool
    aggregators: tuple[str, ...] = results.column(heading="aggregator", name="aggregator", key=True)
    nll_with: Interval = results.column("NLL with the group, in nats.", "NLL with")
    nll_without: Interval = results.column("NLL without the group, in nats.", "NLL without")
    delta: Interval = results.column(
        "NLL without the group minus that with it, in nats; above 0 the group helps.",
        *("leaving it out", "difference"),
    )
    p: Floats = results.column(heading="p", form="p")
    verdicts: tuple[Verdict, ...] = results.column(heading="verdict", name="verdict")
    calibrator: str
    null_nll: float = results.column(heading="base rate")
    constant_nll: float
    n_judges: int
    n_calibration: float

    @results.derived("Number of judges in the group.", key=True)
    def judges(self) -> int:
        """Size of the group."""
        return len(self.members)

    def decisions(self) -> dict[str, Any]:
        """Return the members of the group, and every aggregator with it and without it."""
        arms = self.frame().drop(columns=["group", "judges", "null_nll", "n_splits", "seed"])
        return {
            "group": self.name,
            "members": list(self.members),
            "arms": codec.to_plain(arms.to_dict("records")),
        }


By = Literal["filter", "judges", "family", "cluster"]
KINDS: tuple[By, ...] = get_args(By)
CHANGED_SPLITS = 20


@dataclass(frozen=True, slots=True)
class GroupChangeSpec(options.StudySpec):
    """A group and the aggregators under which it is compared.

    ``group`` holds names of judges or of families, or numbers of clusters; None uses the largest
    family or cluster, and is the only choice for the filter.

    Raises
    ------
    InputError
        An unknown name, or one given twice; ``judges`` without a list of judges; the average under
        the paper's protocol.
    """

    by: By = options.option("filter", "how the group is defined", noun="kind of group")
    group: tuple[str, ...] | None = options.option(
        None, "judges, families or clusters (default: the largest family or cluster)"
    )
    aggregators: tuple[recommended.PanelAggregator, ...] = options.option(
        ("one_coin", "dawid_skene", "joint"), recommended.AVERAGE_HELP, once=True
    )
    calibrator: Calibrator = options.option("beta", "the calibrator of all arms but the average")

    def __post_init__(self) -> None:
        options.StudySpec.__post_init__(self)
        recommended.check_panel_aggregators(self.aggregators, self.settings)
        if self.by == "judges" and not self.group:
            raise InputError("no judge is named", allowed="one judge or more in the group")
        if self.by == "filter" and self.group is not None:
            why = "the filter finds its judges itself"
            allowed = "no group, or by judges, family or cluster"
            raise InputError(why, value=", ".join(self.group), allowed=allowed)


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The votes of all judges involved, and the members of the group.

    ``members`` (n_judges,) marks the group; for the filter, as applied to all labelled items.
    ``added``: it is not among the judges of the analysis. ``name`` describes it.
    """

    prepared: contract.Prepared
    members: Bools
    added: bool
    name: str


def group_of(votes: VoteMatrix, spec: GroupChangeSpec) -> Group:
    """Return the members of the group.

    Raises
    ------
    InputError
        An unknown judge, family or cluster; no families; a group of all judges.
    """
    settings = spec.settings
    own = votes.judges if settings.judges is None else settings.judges
    named, name = _named(votes, spec)
    outside = [judge for judge in named if judge not in set(own)]
    if outside:
        settings = replace(settings, judges=(*own, *outside))
    prepared = contract.prepare(votes, settings)
    aside = set(prepared.oriented.set_aside)
    if spec.by == "filter":
        members = to_drop(legible(prepared.ballots, limits=False), spec.aggregators[0])
    else:
        members = np.isin(np.array(prepared.judges, dtype=object), list(set(named) - aside))
    if members.all():
        why = "the group is the whole panel, so nothing is left to compare it with"
        raise InputError(why, value=name, allowed="a group that leaves one judge or more")
    return Group(prepared, members, bool(named) and len(outside) == len(named), name)


def _named(votes: VoteMatrix, spec: GroupChangeSpec) -> tuple[tuple[str, ...], str]:
    """Return the judges in the group, empty for the filter, and the name of the group."""
    if spec.by == "filter":
        return (), "what the filter drops"
    if spec.by == "judges":
        asked = spec.group or ()
        votes.with_judges(asked)
        return asked, "the judges named" if len(asked) > 1 else asked[0]
    if spec.by == "family":
        label, allowed = _families(votes), "a judge table with a column family"
    else:
        label, allowed = _clusters(votes, spec.settings), "two judges that err together or more"
    known = [name for name in dict.fromkeys(label.values()) if name]
    if not known:
        raise InputError(f"there is no {spec.by} to take", allowed=allowed)
    sizes = {element: sum(name == element for name in label.values()) for element in known}
    chosen = spec.group or (max(known, key=lambda element: sizes[element]),)
    for entry in chosen:
        if entry not in sizes:
            first = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
            raise InputError(f"there is no such {spec.by}", value=entry, allowed=first)
    judges = tuple(judge for judge, name in label.items() if name in chosen)
    own = set(spec.settings.judges or votes.judges)
    inside = tuple(judge for judge in judges if judge in own)
    return inside or judges, f"{spec.by} {', '.join(chosen)}"


def _families(votes: VoteMatrix) -> dict[str, str]:
    return dict(zip(votes.judges, families_of(votes), strict=True))


def _clusters(votes: VoteMatrix, settings: contract.Settings) -> dict[str, str]:
    """Return clusters of the analysis' judges, by number; '' if alone."""
    prepared = contract.prepare(votes, settings)
    ballots = prepared.ballots
    label = clusters(error_correlation(error_counts(ballots.votes, ballots.signs))).label
    sizes = np.bincount(label, minlength=1)
    words = [str(name) if name and sizes[name] > 1 else "" for name in label]
    return dict(zip(prepared.judges, words, strict=True))


def group_names(votes: VoteMatrix, settings: contract.Settings, by: By) -> tuple[str, ...]:
    """Return families, or clusters of at least two judges, largest first; empty for other kinds."""
    if by not in ("family", "cluster"):
        return ()
    label = _families(votes) if by == "family" else _clusters(votes, settings)
    known = [name for name in label.values() if name]
    return tuple(sorted(set(known), key=lambda entry: (-known.count(entry), entry)))


def run_chunk(votes: VoteMatrix, spec: GroupChangeSpec, chunk: contract.Chunk) -> Tally:
    """Score both arms under every aggregator on the splits of one chunk."""
    group = group_of(votes, spec)

    def arms(split: Split) -> Arms:
        return _arms(group.prepared.ballots, _members(group, spec, split), spec, split)

    return common.tally_of(group.prepared, spec.settings, chunk, arms)


def _members(group: Group, spec: GroupChangeSpec, split: Split) -> Bools:
    """Return the judges left out in this split: the filter sees only its calibration rows."""
    if spec.by != "filter":
        return group.members
    legibility = legible(group.prepared.ballots, split.calibration, limits=False)
    drop = to_drop(legibility, spec.aggregators[0])
    return np.zeros_like(drop) if drop.all() else drop


def _arms(ballots: Ballots, members: Bools, spec: GroupChangeSpec, split: Split) -> Arms:
    """Return arms of every aggregator with all judges, then without the group."""

    def under_each(panel: Ballots) -> list[SplitScores]:
        rest = spec.calibrator, spec.settings
        return [recommended.all_judges(panel, split, name, *rest) for name in spec.aggregators]

    whole = under_each(ballots)
    rest = under_each(ballots.of_judges(~members)) if members.any() else whole
    return Arms.of([*whole, *rest])


def merge(votes: VoteMatrix, spec: GroupChangeSpec, partial: Tally) -> GroupChange:
    """Return levels and differences from the splits so far."""
    group = group_of(votes, spec)
    totals, prepared = partial, group.prepared
    empty = spec.by == "filter" and not group.members.any()
    notes = ["On all labelled items the filter drops no judge."] if empty else []
    notes += common.replaced_fits((spec.calibrator,), totals)
    # From a single split there are no intervals, and nothing is decided.
    n = len(spec.aggregators)
    items, splits = totals.nll()
    differences = items[n:] - items[:n]
    estimated = Estimator.of(totals, prepared.ballots.units)
    extra = one_more_error(items, estimated.units) * common.errs_rarely(prepared)
    doubt = between(extra[n:], extra[:n])
    gaps = allow_difference(estimated(differences, splits[:, n:] - splits[:, :n]), doubt)
    nll = Interval.of(allow_level(estimated(items, splits), extra)).clip(*RANGES["nll"])
    delta = replace(Interval.of(gaps), value=nll.value[n:] - nll.value[:n])
    same = ~differences.any(axis=1) & np.isfinite(delta.lo)
    return GroupChange.from_splits(
        prepared,
        spec,
        totals,
        group,
        members=prepared.named(group.members),
        nll_with=nll[:n],
        nll_without=nll[n:],
        delta=delta,
        p=gaps.p,
        verdicts=tuple(verdicts(delta, MARGIN * nll.value[:n], same)),
        planned_splits=rounds(spec),
        warnings=common.run_warnings(prepared, totals, *notes, allowed=True),
    )


def rounds(spec: GroupChangeSpec) -> int:
    """Number of splits used: at most ``CHANGED_SPLITS``, since each takes many fits."""
    return min(spec.settings.most_splits, CHANGED_SPLITS)


GROUP_CHANGE: contract.Study[GroupChangeSpec, Tally, GroupChange] = contract.Study(
    name="group_change",
    title="With and without some judges",
    question="What does a group of judges add?",
    run_chunk=run_chunk,
    merge=merge,
    rounds=rounds,
    settled=contract.steady(merge, lambda change: [(change.delta, MARGIN * change.nll_with.value)]),
)
