"""Escalation: a cheap panel answers first, and all judges are asked only if it is not confident.

Thresholds are fixed in advance. The recommended one is chosen in every split on calibration rows,
whose scores come from panels that were chosen and fitted without them, and is evaluated on the
other rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.aggregate.crossfit import N_FOLDS
from judgepanel.kernels.aggregate.prefixes import PrefixScores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.evaluate.calibrated import calibrate, evaluate
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split, fold_of, folds
from judgepanel.studies.common import run_fields, splits_of
from judgepanel.studies.confidence.probabilities import OutOfSample, evaluations
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.cost.cost import check_choosing, cost_notes
from judgepanel.studies.cost.escalation_result import (
    Escalated,
    Escalation,
    escalated_nll,
    escalation_rows,
)
from judgepanel.studies.cost.plan import Plan, all_rows, cost_rules, priced_judges
from judgepanel.studies.looks import steady
from judgepanel.studies.notes import stand_ins
from judgepanel.studies.panel.costs import JudgeCosts
from judgepanel.studies.panel.curated import curated, evidence_in
from judgepanel.studies.panel.curator import Chosen, Curator, Evidence, Rules
from judgepanel.studies.panel.curators import stability
from judgepanel.studies.partials import combine
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.errors import listed
from judgepanel.votes.matrix import cached


@dataclass(frozen=True, slots=True)
class EscalationSpec:
    """The cheap panel, the thresholds, and the pipeline.

    The cheap panel consists of the judges named in ``cheap``, or of the ``cheapest`` judges of this
    number, or is the best panel for a ``share`` of the cost of all judges, chosen on calibration
    rows in every split.

    Raises
    ------
    InputError
        An unknown name; a threshold outside [.5, 1], a share outside (0, 1], a negative tolerance;
        both judges and a number of them; the paper's protocol.
    """

    settings: Settings = Settings()
    aggregator: Aggregator = field(default="joint", metadata={"help": "how votes are summed"})
    calibrator: Calibrator = field(default="none", metadata={"help": "calibrator of both panels"})
    cheap: tuple[str, ...] | None = field(
        default=None, metadata={"help": "judges of the cheap panel, by name"}
    )
    cheapest: int | None = field(
        default=None, metadata={"help": "or: number of cheapest judges that form the cheap panel"}
    )
    share: float = field(
        default=0.2,
        metadata={"help": "or: the best panel for this share of the cost of all judges"},
    )
    thresholds: tuple[float, ...] = field(
        default=(0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99),
        metadata={"help": "ask all judges below this confidence; 0.5 and 1 are always included"},
    )
    tolerance: float = field(
        default=0.02,
        metadata={
            "help": (
                "largest NLL increase of the recommended threshold, as a share of "
                "that of all judges"
            )
        },
    )
    steps: int = field(
        default=0,
        metadata={
            "help": "number of judges that a greedy order adds; 0 turns it off, which is faster"
        },
    )

    def __post_init__(self) -> None:
        check_choosing(self.settings, self.aggregator, self.calibrator)
        for limit in self.thresholds:
            if not 0.5 <= limit <= 1.0:
                raise InputError("a threshold is out of range", value=limit, allowed="[0.5, 1]")
        if not 0.0 < self.share <= 1.0:
            raise InputError("the share is out of range", value=self.share, allowed="(0, 1]")
        if not 0.0 <= self.tolerance < np.inf:
            raise InputError("the tolerance is out of range", value=self.tolerance, allowed="0 up")
        if self.cheapest is not None and self.cheapest < 1:
            raise InputError("a panel needs at least one judge", value=self.cheapest)
        if self.cheapest is not None and self.cheap:
            raise InputError(
                "the cheap panel is named judges or a number of them, not both",
                value=self.cheapest,
                allowed="cheap or cheapest",
            )
        if self.steps < 0:
            raise InputError("steps is too small", value=self.steps, allowed="0 or more")

    @property
    def limits(self) -> tuple[float, ...]:
        """All distinct thresholds, ascending, from .5 to 1."""
        return tuple(sorted({0.5, *self.thresholds, 1.0}))

    @property
    def rules(self) -> Rules:
        """How cheap panels are compared."""
        return cost_rules(
            self.aggregator, self.calibrator, folds=5, steps=self.steps, seed=self.settings.seed
        )


def cheap_curator(spec: EscalationSpec, judges: tuple[str, ...], costs: JudgeCosts) -> Curator:
    """Return the curator of the cheap panel; InputError names a judge that does not take part."""
    inside = np.zeros(len(judges), dtype=bool)
    if spec.cheap:
        for name in spec.cheap:
            if name not in judges:
                raise InputError(
                    "the cheap panel names a judge that does not take part",
                    value=name,
                    allowed=listed(judges),
                )
        inside[[judges.index(name) for name in spec.cheap]] = True
        return _given("the judges named", inside)
    if spec.cheapest is not None:
        inside[np.argsort(costs.cost, kind="stable")[: spec.cheapest]] = True
        return _given(f"the {int(inside.sum())} cheapest", inside)
    least = float(costs.cost.min())
    budget = np.array([max(spec.share * costs.full, least)])
    curator = Plan(budget, spec.aggregator, reference=False).curator(0)
    return replace(curator, title=f"the best found for {spec.share:.0%} of the full cost")


def _given(title: str, inside: Bools) -> Curator:
    def choose(_: Evidence) -> Chosen:
        return Chosen(inside, 0.0)

    return Curator("given", title, choose, uses_labels=False)


def everyone() -> Curator:
    """Return a curator of all judges, without inner estimates."""
    return Curator(
        "all",
        "all judges",
        lambda e: Chosen(np.ones(e.ballots.n_judges, dtype=bool), 0.0),
        uses_labels=False,
    )


def run_chunk(votes: VoteMatrix, spec: EscalationSpec, chunk: Chunk) -> Escalated:
    """Score both panels and choose a threshold in the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    known, costs = priced_judges(votes, prepared)
    escalations: list[Escalated] = []
    for split in splits_of(prepared, spec.settings, chunk):
        cheap = cheap_curator(spec, prepared.judges, costs)
        evidence = evidence_in(prepared.ballots, split.calibration, known, spec.rules, split.number)
        escalations.append(_of_split(prepared.ballots, split, (cheap, everyone()), evidence, spec))
    return reduce(combine, escalations)


def _of_split(
    ballots: Ballots,
    split: Split,
    curators: tuple[Curator, Curator],
    evidence: Evidence,
    spec: EscalationSpec,
) -> Escalated:
    """Logits of both panels on the evaluation rows, and the threshold chosen on the others."""
    rows, name = split.calibration, spec.calibrator
    pieces = folds(ballots.units, rows, N_FOLDS, seed=spec.settings.seed, key=(split.number, 4))
    fold = fold_of(pieces, ballots.n_items)[rows]
    panels = [curated(ballots, split, curator, evidence, spec.aggregator) for curator in curators]
    held, own = [], []
    for panel in panels:
        fitted = calibrate(ballots, split, panel.scores, (name,))
        held.append(evaluate(ballots, split, fitted, panel.scores.order, np.zeros((0, 1))))
        own.append(_own_logits(ballots, split, panel.scores, name, fold))
    if (panels[0].chosen.judges == panels[1].chosen.judges).all():
        own[0], held[0] = own[1], held[1]
    signs = ballots.signs[rows].astype(np.float64)
    promised = escalated_nll(np.stack(own), signs, np.array(spec.limits)).mean(axis=1)
    within = promised <= promised[-1] * (1.0 + spec.tolerance) + 1e-12
    logits = [one_side.fitted.logits_of(name, slice(0, 1))[0] for one_side in held]
    return Escalated(
        OutOfSample(
            numbers=np.array([split.number]),
            n_calibration=np.array([len(rows)]),
            n_evaluation=np.array([len(split.evaluation)]),
            rows=split.evaluation,
            logits=np.stack(logits),
            null=np.array([held[1].fitted.null]),
            constant_nll=np.array([held[1].constant_nll[name]]),
            replaced=np.array([sum(side.replaced[name] for side in held)]),
        ),
        promised=promised[None],
        picked=np.array([int(np.argmax(within))]),
        cheap=panels[0].chosen.judges[None],
    )


def _own_logits(
    ballots: Ballots, split: Split, scores: PrefixScores, name: Calibrator, fold: Ints
) -> Floats:
    """Calibrated logits (n_cal,) of calibration rows, each fold by a map fitted to the others."""
    rows = split.calibration
    logits = np.empty(len(rows))
    for number in np.unique(fold):
        own = fold == number
        part = replace(
            scores,
            calibration=scores.calibration[:, ~own],
            calibration_empty=scores.calibration_empty[:, ~own],
            evaluation=scores.calibration[:, own],
            evaluation_empty=scores.calibration_empty[:, own],
            fold=None if scores.fold is None else scores.fold[~own],
        )
        fitted = calibrate(ballots, Split(int(number), rows[~own], rows[own]), part, (name,))
        logits[own] = fitted.logits_of(name, slice(0, 1))[0]
    return logits


@cached(4)
def _cheap(votes: VoteMatrix, spec: EscalationSpec) -> Bools:
    """The cheap panel chosen on all labelled rows; the same for every partial result."""
    prepared = prepare(votes, spec.settings)
    known, costs = priced_judges(votes, prepared)
    return (
        cheap_curator(spec, prepared.judges, costs)
        .chosen(all_rows(prepared, known, spec.rules))
        .judges
    )


def merge(votes: VoteMatrix, spec: EscalationSpec, partial: Escalated) -> Escalation:
    """Return cost and NLL of every threshold from the splits so far."""
    prepared = prepare(votes, spec.settings)
    _, costs = priced_judges(votes, prepared)
    limits = np.array(spec.limits)
    rows, recommended = escalation_rows(
        partial, evaluations(partial.scores, prepared), costs, limits, seed=spec.settings.seed
    )
    low, high = np.quantile(limits[partial.picked], (0.025, 0.975), method="nearest")
    panel = _cheap(votes, spec)
    n_splits = len(partial.scores.numbers)
    promised = recommended.promised - float(partial.promised[:, -1].mean())
    return Escalation(
        rows=rows,
        recommended=recommended,
        threshold=Interval.single(recommended.threshold, low, high, "share"),
        optimism=float(recommended.delta.value - promised),
        tolerance=spec.tolerance,
        cheap=tuple(n for n, inside in zip(prepared.judges, panel, strict=True) if inside),
        cheap_how=cheap_curator(spec, prepared.judges, costs).title,
        cheap_cost=float(costs.of(partial.cheap).mean()),
        cheap_size=float(partial.cheap.sum(axis=1).mean()),
        full_cost=costs.full,
        stability=stability(partial.cheap.sum(axis=0), n_splits),
        unit=costs.unit,
        counted=costs.counted,
        latency_unit=costs.latency_unit,
        aggregator=spec.aggregator,
        calibrator=spec.calibrator,
        null_nll=_null_nll(partial, prepared),
        n_judges=prepared.ballots.n_judges,
        n_calibration=float(partial.scores.n_calibration.mean()),
        **run_fields(prepared, spec.settings, partial.scores),
        warnings=_warnings(prepared, spec, partial, costs),
    )


def _null_nll(escalation: Escalated, prepared: Prepared) -> float:
    """NLL of the base rate, averaged over splits."""
    of = evaluations(escalation.scores, prepared)
    return float(of.by_split(of.null_nll).mean())


def _warnings(
    prepared: Prepared, spec: EscalationSpec, escalation: Escalated, costs: JudgeCosts
) -> tuple[str, ...]:
    notes = cost_notes(prepared, costs, float(escalation.scores.n_calibration.mean()))
    fits = 2 * len(escalation.scores.numbers)
    notes += stand_ins((spec.calibrator,), (int(escalation.scores.replaced.sum()),), fits)
    if not spec.cheap and spec.cheapest is None and spec.share * costs.full < costs.cost.min():
        notes.append(
            f"{spec.share:.0%} of the full cost asks no judge, so the cheap panel is the best "
            "judge of those that cost least."
        )
    if escalation.cheap.all():
        notes.append("The cheap panel is all judges, so there is nothing to escalate to.")
    return tuple(notes)


ESCALATION: Study[EscalationSpec, Escalated, Escalation] = Study(
    name="escalation",
    title="Escalation",
    question="Can a cheap panel answer first?",
    spec=EscalationSpec,
    result=Escalation,
    partial=Escalated,
    run_chunk=run_chunk,
    merge=merge,
    settled=steady(merge, lambda r: [(row.delta, row.margin) for row in (*r.rows, r.recommended)]),
)
