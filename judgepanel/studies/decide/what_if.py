"""What if: a panel picked by hand against another panel, on the same splits.

Both panels are given, so all of a split's calibration rows go into fitting. How they were picked is
unknown: figures of judges that were picked with the help of labels are too good. Under ``average``
each panel is what is recommended from its judges, weights learned on these rows alone; that of all
judges is the recommendation of the analysis.

Cost per split: one fit of each panel under calibrator ``none``, which fits nothing and needs no
leave-out scores, and a cross-fitting (6 fits) under any other if the aggregator is not a closed
form. Under ``average``, the members of a recommendation for each panel; for all judges all its
candidates, unless the recommendation was computed in this process. Fits and
averages are kept with the splits (:mod:`judgepanel.kernels.threads`), so the next panel compared
with the same one costs only its own.

Two analyses: what their data have in common, and the spec that measures their difference.

NLLs of different items are not comparable; on the same items, labels and splits the difference is
measured item by item (:data:`judgepanel.studies.decide.what_if.WHAT_IF`). The first is called
'before' and the second 'after'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import SplitScores
from judgepanel.scoring.descriptive import allow_difference, allow_level, between, one_more_error
from judgepanel.scoring.inference import MARGIN, Verdict, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies import accumulate, codec, common, contract, options, results
from judgepanel.studies.panel import curator, recommended
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.matrix import Oriented

SPLITS = 20
"""Maximum number of splits, since users wait for every result."""


@dataclass(frozen=True, slots=True)
class PanelFigures:
    """One panel out of sample; ``cost`` per item is None if costs are unknown."""

    judges: tuple[str, ...]
    nll: Interval
    brier: float
    accuracy: float
    ece: float
    cost: float | None


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf(results.PipelineResult):
    """``delta`` = NLL(``kept``) - NLL(``against``) on the same items, in nats, with interval and p.

    ``verdict`` compares it with ``margin`` as for panel sizes, with ``against`` in place of all.
    """

    kept: PanelFigures
    against: PanelFigures
    delta: Interval
    p: float
    margin: float
    verdict: Verdict
    constant_nll: float

    COLUMNS: ClassVar[dict[str, str]] = {"panel": "The panel kept, or the one it is compared with."}

    def frame(self) -> pd.DataFrame:
        """Return one row per panel, the kept one first."""
        both = (self.kept, self.against)
        nll = Interval.stacked(panel.nll for panel in both)
        return results.long_frame(
            {
                "panel": ("kept", "against"),
                "k": [len(panel.judges) for panel in both],
                "aggregator": self.aggregator,
                "calibrator": self.calibrator,
                "n_splits": self.n_splits,
                "nll": nll,
                "brier": [panel.brier for panel in both],
                "ece": [panel.ece for panel in both],
                "accuracy": [panel.accuracy for panel in both],
                "null_nll": self.null_nll,
                "skill": 1.0 - nll.value / self.null_nll,
                "cost": [panel.cost for panel in both],
            }
        )

    def decisions(self) -> dict[str, Any]:
        """Return both panels and their difference."""
        return {
            "kept": codec.to_plain(results.flat_row(self.kept, nll="")),
            "against": codec.to_plain(results.flat_row(self.against, nll="")),
            **results.json_values({"delta": self.delta}),
        }


def _check_any(judges: tuple[str, ...]) -> None:
    if not judges:
        raise InputError("a panel needs at least one judge", allowed="1 judge or more")


@dataclass(frozen=True, slots=True)
class WhatIfSpec(options.StudySpec):
    """The judges that are kept and those they are compared with; None means all judges.

    Under ``average``, ``calibrator`` is always none.

    Raises
    ------
    InputError
        An empty panel on either side, or an unknown name; the average under the paper's protocol.
    """

    keep: tuple[str, ...] | None = options.option(
        None, "judges to keep (default: all judges)", check=_check_any
    )
    against: tuple[str, ...] | None = options.option(
        None, "judges of the panel to compare with (default: all judges)", check=_check_any
    )
    aggregator: recommended.PanelAggregator = options.option(
        "joint", "how votes are summed; average: what is recommended from these judges"
    )
    calibrator: Calibrator = options.option("none", "calibrator of both panels (none for average)")

    def __post_init__(self) -> None:
        options.StudySpec.__post_init__(self)
        recommended.check_panel_aggregators((self.aggregator,), self.settings)
        if self.aggregator == recommended.AVERAGE:
            object.__setattr__(self, "calibrator", "none")


def _panels(votes: VoteMatrix, spec: WhatIfSpec) -> tuple[contract.Prepared, Bools]:
    """Return both panels (2, n_judges) without judges that were set aside: the one kept last.

    Raises
    ------
    InputError
        An unknown judge, or a panel whose judges were all set aside.
    """
    prepared = contract.prepare(votes, spec.settings)
    masks = []
    for judges in (spec.against, spec.keep):
        if judges is None:
            masks.append(np.ones(len(prepared.judges), dtype=bool))
            continue
        votes.with_judges(judges)
        mask = np.isin(np.array(prepared.judges, dtype=object), list(judges))
        if not mask.any():
            why = "none of these judges takes part in the analysis"
            allowed = "a judge of this analysis that was not set aside"
            raise InputError(why, value=", ".join(judges[:3]), allowed=allowed)
        masks.append(mask)
    return prepared, np.array(masks)


def run_chunk(votes: VoteMatrix, spec: WhatIfSpec, chunk: contract.Chunk) -> accumulate.Tally:
    """Score both panels on the splits of one chunk."""
    prepared, masks = _panels(votes, spec)
    ballots = prepared.ballots

    def arms(split: Split) -> accumulate.Arms:
        return accumulate.Arms.of([_scores(votes, spec, ballots, split, mask) for mask in masks])

    return common.tally_of(prepared, spec.settings, chunk, arms)


def _scores(
    votes: VoteMatrix, spec: WhatIfSpec, ballots: Ballots, split: Split, mask: Bools
) -> SplitScores:
    if spec.aggregator == recommended.AVERAGE and mask.all():
        return recommended.as_scores(
            ballots, split, recommended.recommended(votes, spec.settings, split)
        )
    panel = ballots.of_judges(mask)
    return recommended.all_judges(panel, split, spec.aggregator, spec.calibrator, spec.settings)


def merge(votes: VoteMatrix, spec: WhatIfSpec, partial: accumulate.Tally) -> WhatIf:
    """Return levels and the difference from the splits so far."""
    (prepared, masks), totals = _panels(votes, spec), partial
    known = curator.known_judges(votes, prepared)
    estimated = accumulate.Estimator.of(totals, prepared.ballots.units)
    items, splits = totals.nll()
    same = bool((masks[0] == masks[1]).all())
    extra = one_more_error(items, estimated.units) * common.errs_rarely(prepared)
    nll = Interval.of(allow_level(estimated(items, splits), extra)).clip(*accumulate.RANGES["nll"])
    doubt = between(extra[1:], extra[:1]) * (not same)
    gap = allow_difference(estimated(items[1:] - items[:1], splits[:, 1:] - splits[:, :1]), doubt)
    _, brier, accuracy, ece = totals.split_means[:, :, 0].mean(axis=0)[:, :-1]
    costs = None if known.costs is None else np.array(known.costs)
    against, kept = results.records_of(
        PanelFigures,
        judges=[prepared.named(mask) for mask in masks],
        nll=nll,
        brier=brier,
        accuracy=accuracy,
        ece=ece,
        cost=None if costs is None else [float(costs[mask].sum()) for mask in masks],
    )
    margin = MARGIN * float(nll.value[0])
    aside = set(prepared.oriented.set_aside)
    named = aside.intersection((*(spec.keep or ()), *(spec.against or ())))
    notes = common.replaced_fits((spec.calibrator,), totals)
    if named:
        notes.append("Judges that were set aside are in neither panel.")
    return WhatIf.from_splits(
        prepared,
        spec,
        totals,
        kept=kept,
        against=against,
        delta=Interval.of(gap)[0],
        p=float(gap.p[0]),
        margin=margin,
        verdict=verdict(float(gap.lo[0]), float(gap.hi[0]), margin, identical=same),
        planned_splits=rounds(spec),
        warnings=common.run_warnings(prepared, totals, *notes, allowed=True),
    )


def rounds(spec: WhatIfSpec) -> int:
    """Number of splits used: at most ``SPLITS``."""
    return min(spec.settings.most_splits, SPLITS)


WHAT_IF: contract.Study[WhatIfSpec, accumulate.Tally, WhatIf] = contract.Study(
    name="what_if",
    title="What if",
    question="What if only these judges were kept?",
    run_chunk=run_chunk,
    merge=merge,
    rounds=rounds,
    chunk=2,
    settled=contract.steady(merge, lambda result: [(result.delta, result.margin)]),
)

_SETTINGS = ("orientation", "protocol", "splits", "fraction", "seed", "group_duplicates")
"""Settings that two analyses must share for their splits to be the same."""
Rows = tuple[Ints, Ints]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two analyses: ``name`` and ``file`` are untrusted; ``created`` ISO 8601, UTC."""

    name: str
    file: str
    created: str
    votes: VoteMatrix
    settings: contract.Settings

    @property
    def judges(self) -> tuple[str, ...]:
        """All judges of the analysis, including those set aside."""
        return self.settings.judges or self.votes.judges

    @property
    def oriented(self) -> Oriented:
        """The votes as its studies take them."""
        return contract.prepare(self.votes, self.settings).oriented


@dataclass(frozen=True, slots=True)
class Relation:
    """What two analyses have in common; items are those with a label, identified by their ids.

    ``relabelled`` of the ``shared`` items have different labels; ``revoted`` are common judges with
    different votes on them; ``settings`` the names of settings that differ. ``host`` is the
    analysis whose votes contain the judges of both, so that their difference can be measured; else
    None.
    """

    same_task: bool
    shared: int
    only_before: int
    only_after: int
    relabelled: int
    regrouped: bool
    judges_both: tuple[str, ...]
    judges_before: tuple[str, ...]
    judges_after: tuple[str, ...]
    revoted: tuple[str, ...]
    settings: tuple[str, ...]
    host: Literal["before", "after"] | None

    @property
    def same_items(self) -> bool:
        """Whether both have the same items and labels."""
        different = self.only_before + self.only_after + self.relabelled
        return self.same_task and not different and not self.regrouped


def relation(before: Side, after: Side) -> Relation:
    """Compare the data of two analyses; O(items x judges)."""
    left, right = before.votes, after.votes
    # Positions in both of the items with a label in both, in the order of before.
    place = {right.item_ids[i]: i for i in np.flatnonzero(right.labelled).tolist()}
    own = [i for i in np.flatnonzero(left.labelled).tolist() if left.item_ids[i] in place]
    other = [place[left.item_ids[i]] for i in own]
    rows = np.array(own, dtype=np.int64), np.array(other, dtype=np.int64)
    sides = [set(side.judges) for side in (before, after)]
    both = tuple(sorted(sides[0] & sides[1]))
    overlap = Relation(
        same_task=left.task == right.task,
        shared=len(rows[0]),
        only_before=int(left.labelled.sum()) - len(rows[0]),
        only_after=int(right.labelled.sum()) - len(rows[1]),
        relabelled=int((left.labels[rows[0]] != right.labels[rows[1]]).sum()),
        regrouped=_groups(before, rows[0]) != _groups(after, rows[1]),
        judges_both=both,
        judges_before=tuple(sorted(sides[0] - sides[1])),
        judges_after=tuple(sorted(sides[1] - sides[0])),
        revoted=_revoted(left, right, rows, both),
        settings=tuple(
            name
            for name in _SETTINGS
            if getattr(before.settings, name) != getattr(after.settings, name)
        ),
        host=None,
    )
    same = overlap.same_items and not overlap.settings and before.settings.protocol == "honest"
    if not same or not (overlap.judges_before or overlap.judges_after):
        return overlap
    if _holds(right, left, rows[::-1], before.judges):
        return replace(overlap, host="after")
    if _holds(left, right, rows, after.judges):
        return replace(overlap, host="before")
    return overlap


def paired_spec(before: Side, after: Side, overlap: Relation) -> WhatIfSpec:
    """Return the spec of what is recommended from the judges of after against those of before.

    It runs on the votes of the host.

    Raises
    ------
    ValueError
        Neither analysis has the votes of both.
    """
    if overlap.host is None:
        raise ValueError("no votes hold the judges of both")
    host = after if overlap.host == "after" else before
    involved = tuple(sorted({*before.judges, *after.judges}))
    whole = len(involved) == host.votes.n_judges
    return WhatIfSpec(
        settings=replace(host.settings, judges=None if whole else involved),
        keep=tuple(sorted(after.judges)),
        against=tuple(sorted(before.judges)),
        aggregator=recommended.AVERAGE,
    )


def _groups(side: Side, rows: Ints) -> tuple[str, ...] | None:
    votes = contract.grouped_votes(side.votes, side.settings)
    return None if votes.groups is None else tuple(votes.groups[i] for i in rows)


def _revoted(
    left: VoteMatrix, right: VoteMatrix, rows: Rows, judges: Sequence[str]
) -> tuple[str, ...]:
    """Return judges whose votes differ on the same items."""
    first, other = (
        votes.votes[which][:, np.array([votes.judges.index(n) for n in judges], dtype=np.int64)]
        for votes, which in zip((left, right), rows, strict=True)
    )
    different = (first != other).any(axis=0)
    return tuple(name for name, differs in zip(judges, different, strict=True) if differs)


def _holds(host: VoteMatrix, other: VoteMatrix, rows: Rows, judges: Sequence[str]) -> bool:
    """Whether the host has the same votes of all these judges of the other; rows of host first."""
    return set(judges) <= set(host.judges) and not _revoted(host, other, rows, judges)
