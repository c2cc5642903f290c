"""Escalation: a cheap panel answers first, and all judges are asked only if it is not confident.

Thresholds are fixed in advance. The recommended one is chosen in every split on calibration rows,
whose scores come from panels that were chosen and fitted without them, and is evaluated on the
other rows.

Result of :data:`ESCALATION`: cost and NLL of every threshold of a cheap panel's confidence.

They are estimated from the logits of the cheap panel and of all judges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregation import Aggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import calibrate, evaluate, left_out
from judgepanel.kernels.prefixes import N_FOLDS
from judgepanel.scoring import inference, metrics
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.splits import Split, fold_of, folds
from judgepanel.studies import codec, common, results
from judgepanel.studies.accumulate import RANGES, band, verdicts
from judgepanel.studies.contract import Chunk, Study, prepare, steady
from judgepanel.studies.decide.cost import (
    all_rows,
    budget_curators,
    cost_notes,
    cost_rules,
    priced_judges,
)
from judgepanel.studies.decide.curators import stability
from judgepanel.studies.options import StudySpec, check_panels, option, valid
from judgepanel.studies.panel.curated import curated, evidence_in
from judgepanel.studies.panel.curator import (
    Chosen,
    Curator,
    Evidence,
    JudgeCosts,
    Rules,
    check_steps,
)
from judgepanel.studies.results import by_split, column, flat_row, frozen
from judgepanel.studies.trust.probabilities import Evaluations, OutOfSample, evaluations
from judgepanel.votes import InputError, VoteMatrix, errors, matrix

_UNITS: dict[str, Unit] = {"escalated": "share", "cost": "cost", "nll": "nats", "accuracy": "share"}


@frozen
class EscalationFigures:
    """One threshold out of sample; means over new items with 95 % intervals.

    The cheap panel answers if its confidence max(p, 1 - p) is at least ``threshold``, otherwise all
    judges: .5 never asks them and 1 always does. ``escalated`` is the share of items that go to all
    judges, ``cost`` the cost per item (the cost of all judges if escalated: the cheap ones are not
    asked twice), ``latency`` that of the slowest cheap judge plus, if escalated, the slowest of the
    others. ``delta`` = NLL - NLL(all judges): above 0 asking all judges is better; its verdict is
    against ``margin``, and ``band`` covers all thresholds together. ``promised`` is the NLL on
    calibration rows, cross-fitted, and ``chosen_share`` the share of splits in which the threshold
    was chosen.
    """

    threshold: float = column("Confidence from which the cheap panel answers alone.")
    escalated: Interval = column("Share of the items that are passed on to all judges.")
    cost: Interval
    latency: float = column(
        "Latency of the slowest cheap judge plus, if escalated, the slowest of the others."
    )
    nll: Interval
    accuracy: Interval
    brier: float
    delta: Interval = column(
        "NLL minus that of asking all judges on every item, in nats.", bounds=("lo", "hi")
    )
    p: float
    band: Interval
    margin: float
    verdict: inference.Verdict
    promised: float = column("Cross-fitted NLL on the calibration rows, in nats.")
    chosen_share: float


@frozen
class Escalation(results.PipelineResult):
    """Result of :data:`ESCALATION`.

    ``rows`` are in order of ascending thresholds, fixed in advance, from .5 (the cheap panel alone)
    to 1 (all judges). ``recommended`` uses, in every split, the lowest threshold whose cross-fitted
    NLL on calibration rows is at most ``tolerance`` above that of all judges. ``threshold`` is the
    median of these and the central 95 % of the splits, ``optimism`` the part of the promised
    difference that was lost on new items. ``cheap`` is the cheap panel on all labelled rows,
    ``cheap_how`` says how it is chosen and ``stability`` how well the splits agree on it.
    """

    rows: tuple[EscalationFigures, ...]
    recommended: EscalationFigures
    threshold: Interval
    optimism: float
    tolerance: float
    cheap: tuple[str, ...]
    cheap_how: str
    cheap_cost: float
    cheap_size: float
    full_cost: float = column("Cost of all judges per item.")
    stability: float
    unit: str
    counted: bool
    latency_unit: str
    arm = results.constant("", "A threshold fixed in advance, or the recommended one.")
    RECORDS: ClassVar = (EscalationFigures,)

    @property
    def alone(self) -> EscalationFigures:
        """The cheap panel on every item."""
        return self.rows[0]

    @property
    def full(self) -> EscalationFigures:
        """All judges on every item, the reference."""
        return self.rows[-1]

    def frame(self) -> pd.DataFrame:
        """Return one row per threshold, then the recommended one."""
        names = [*("fixed" for _ in self.rows), "recommended"]
        rows = [
            {"arm": name, **flat_row(row), "skill": 1.0 - float(row.nll.value) / self.null_nll}
            for name, row in zip(names, (*self.rows, self.recommended), strict=True)
        ]
        repeated = ("null_nll", "full_cost", "unit", "aggregator", "calibrator", "n_splits")
        return self.repeated(rows, *repeated)

    def decisions(self) -> dict[str, Any]:
        """Return the cheap panel, the recommended threshold and all thresholds."""
        return {
            "cheap": list(self.cheap),
            "recommended": codec.to_plain(flat_row(self.recommended)),
            "thresholds": [codec.to_plain(flat_row(row)) for row in self.rows],
        }


@frozen
class Escalated:
    """Logits of both panels in S splits, and the choices in each split.

    ``scores`` holds the logits (2, E) of the cheap panel and of all judges. ``promised`` (S,
    n_limits) is the cross-fitted NLL of each threshold on calibration rows, ``picked`` (S,) the
    position of the chosen one, ``cheap`` bool (S, n_judges) the cheap panels; these three follow
    the order of ``scores.numbers``.
    """

    scores: OutOfSample
    promised: Floats = by_split()
    picked: Ints = by_split()
    cheap: Bools = by_split()


def confidence_of(logits: Floats) -> Floats:
    """max(p, 1 - p) of clipped probabilities, in [.5, .999]."""
    return np.asarray(np.minimum(1.0 / (1.0 + np.exp(-np.abs(logits))), 1.0 - metrics.CLIP))


def escalated_nll(logits: Floats, signs: Floats, limits: Floats) -> Floats:
    """NLL (n_limits, n) of items answered by two panels (2, n) under thresholds (n_limits,).

    The first panel answers if its confidence reaches the threshold, otherwise the second.
    """
    asked = confidence_of(logits[0]) < limits[:, None]
    nll = metrics.item_scores(logits, signs).nll
    return np.asarray(np.where(asked, nll[1], nll[0]))


def escalation_rows(
    escalation: Escalated, scored: Evaluations, costs: JudgeCosts, limits: Floats, *, seed: int
) -> tuple[tuple[EscalationFigures, ...], EscalationFigures]:
    """Return figures of every threshold (n_limits,), and of the one chosen in each split."""
    own = limits[escalation.picked][scored.split]
    asked = confidence_of(scored.logits[0]) < np.vstack(
        [np.broadcast_to(limits[:, None], (len(limits), len(own))), own]
    )
    nll = metrics.item_scores(scored.logits, scored.signs).nll
    cheap, full = costs.of(escalation.cheap)[scored.split], costs.full
    first = costs.slowest(escalation.cheap)[scored.split]
    then = costs.slowest(~escalation.cheap)[scored.split]
    values = {
        "escalated": asked.astype(np.float64),
        "cost": np.where(asked, full, cheap),
        "nll": np.where(asked, nll[1], nll[0]),
        "accuracy": np.where(asked, scored.hit[1], scored.hit[0]),
    }
    ranges = {**RANGES, "escalated": (0.0, 1.0), "cost": (float(cheap.min()), full)}
    intervals: dict[str, Any] = {
        name: Interval.of(scored.score(part), _UNITS[name]).clip(*ranges[name])
        for name, part in values.items()
    }
    margin = inference.MARGIN * float(intervals["nll"].value[len(limits) - 1])
    gaps = values["nll"] - nll[1]
    ours = scored.score(gaps, joint=True)
    signs01 = (scored.signs > 0).astype(np.float64)
    brier = np.where(asked, (scored.p[1] - signs01) ** 2, (scored.p[0] - signs01) ** 2)
    picked = escalation.picked
    chosen = np.take_along_axis(escalation.promised, picked[:, None], axis=1).mean()
    delta = Interval.of(ours)
    rows = results.records_of(
        EscalationFigures,
        threshold=np.append(limits, np.quantile(limits[picked], 0.5, method="higher")),
        **intervals,
        brier=scored.mean(brier).value,
        latency=scored.mean(first + np.where(asked, then, 0.0)).value,
        delta=delta,
        p=ours.p,
        band=band(ours, seed),
        margin=margin,
        verdict=verdicts(delta, margin, ~gaps.any(axis=1)),
        promised=np.append(escalation.promised.mean(axis=0), chosen),
        chosen_share=np.append(np.bincount(picked, minlength=len(limits)) / len(picked), 1.0),
    )
    return rows[:-1], rows[-1]


@dataclass(frozen=True, slots=True)
class EscalationSpec(StudySpec):
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

    aggregator: Aggregator = option("joint")
    calibrator: Calibrator = option("none", "calibrator of both panels")
    cheap: tuple[str, ...] | None = option(None, "judges of the cheap panel, by name")
    cheapest: int | None = option(
        None, "or: number of cheapest judges that form the cheap panel", check=check_panels
    )
    share: float = option(
        0.2,
        "or: the best panel for this share of the cost of all judges",
        check=valid("the share is out of range", lambda share: 0.0 < share <= 1.0, "(0, 1]"),
    )
    thresholds: tuple[float, ...] = option(
        (0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99),
        "ask all judges below this confidence; 0.5 and 1 are always included",
        check=valid("a threshold is out of range", lambda p: 0.5 <= p <= 1.0, "[0.5, 1]"),
    )
    tolerance: float = option(
        0.02,
        "largest NLL increase of the recommended threshold, as a share of that of all judges",
        check=valid("the tolerance is out of range", lambda t: 0.0 <= t < np.inf, "0 up"),
    )
    steps: int = option(
        0,
        "number of judges that a greedy order adds; 0 turns it off, which is faster",
        check=check_steps,
    )
    chooses: ClassVar[str] = "panels are chosen"

    def __post_init__(self) -> None:
        StudySpec.__post_init__(self)
        if self.cheapest is not None and self.cheap:
            why = "the cheap panel is named judges or a number of them, not both"
            raise InputError(why, value=self.cheapest, allowed="cheap or cheapest")

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
                why = "the cheap panel names a judge that does not take part"
                raise InputError(why, value=name, allowed=errors.listed(judges))
        inside[[judges.index(name) for name in spec.cheap]] = True
        return _given("the judges named", inside)
    if spec.cheapest is not None:
        inside[np.argsort(costs.cost, kind="stable")[: spec.cheapest]] = True
        return _given(f"the {int(inside.sum())} cheapest", inside)
    least = float(costs.cost.min())
    budget = np.array([max(spec.share * costs.full, least)])
    _, curator = budget_curators(budget, spec.aggregator, reference=False)
    return replace(curator, title=f"the best found for {spec.share:.0%} of the full cost")


def _given(title: str, inside: Bools) -> Curator:
    return Curator("given", title, lambda _: Chosen(inside, 0.0), uses_labels=False)


def run_chunk(votes: VoteMatrix, spec: EscalationSpec, chunk: Chunk) -> Escalated:
    """Score both panels and choose a threshold in the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    known, costs = priced_judges(votes, prepared)
    escalations: list[Escalated] = []
    for split in common.splits_of(prepared, spec.settings, chunk):
        cheap = cheap_curator(spec, prepared.judges, costs)
        evidence = evidence_in(prepared.ballots, split.calibration, known, spec.rules, split.number)
        escalations.append(_of_split(prepared.ballots, split, cheap, evidence, spec))
    return reduce(results.combine, escalations)


def _of_split(
    ballots: Ballots, split: Split, cheap: Curator, evidence: Evidence, spec: EscalationSpec
) -> Escalated:
    """Logits of both panels on the evaluation rows, and the threshold chosen on the others."""
    curators = cheap, _given("all judges", np.ones(ballots.n_judges, dtype=bool))
    rows, name = split.calibration, spec.calibrator
    pieces = folds(ballots.units, rows, N_FOLDS, seed=spec.settings.seed, key=(split.number, 4))
    fold = fold_of(pieces, ballots.n_items)[rows]
    panels = [curated(ballots, split, curator, evidence, spec.aggregator) for curator in curators]
    held, own = [], np.empty((len(panels), len(rows)))
    for panel, own_logits in zip(panels, own, strict=True):
        held.append(evaluate(ballots, split, calibrate(ballots, split, panel.scores, (name,))))
        # Each fold of the calibration rows by a map fitted to the others.
        for number in np.unique(fold).tolist():
            fitted = calibrate(ballots, *left_out(split, panel.scores, fold, number), (name,))
            own_logits[fold == number] = fitted.logits_of(name, slice(0, 1))[0]
    if (panels[0].chosen.judges == panels[1].chosen.judges).all():
        own[0], held[0] = own[1], held[1]
    signs = ballots.signs[rows].astype(np.float64)
    promised = escalated_nll(own, signs, np.array(spec.limits)).mean(axis=1)
    within = promised <= promised[-1] * (1.0 + spec.tolerance) + 1e-12
    logits = [one_side.fitted.logits_of(name, slice(0, 1))[0] for one_side in held]
    return Escalated(
        OutOfSample.of(
            [split],
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


@matrix.cached(4)
def _cheap(votes: VoteMatrix, spec: EscalationSpec) -> Bools:
    """The cheap panel chosen on all labelled rows; the same for every partial result."""
    prepared = prepare(votes, spec.settings)
    known, costs = priced_judges(votes, prepared)
    curator = cheap_curator(spec, prepared.judges, costs)
    return curator.chosen(all_rows(prepared, known, spec.rules)).judges


def merge(votes: VoteMatrix, spec: EscalationSpec, partial: Escalated) -> Escalation:
    """Return cost and NLL of every threshold from the splits so far."""
    prepared = prepare(votes, spec.settings)
    _, costs = priced_judges(votes, prepared)
    limits = np.array(spec.limits)
    scored = evaluations(partial.scores, prepared)
    rows, recommended = escalation_rows(partial, scored, costs, limits, seed=spec.settings.seed)
    low, high = np.quantile(limits[partial.picked], (0.025, 0.975), method="nearest")
    promised = recommended.promised - float(partial.promised[:, -1].mean())
    notes = cost_notes(prepared, costs, partial.scores)
    fits = 2 * len(partial.scores.numbers)
    notes += common.stand_ins((spec.calibrator,), (int(partial.scores.replaced.sum()),), fits)
    if not spec.cheap and spec.cheapest is None and spec.share * costs.full < costs.cost.min():
        notes.append(
            f"{spec.share:.0%} of the full cost asks no judge, so the cheap panel is the best "
            "judge of those that cost least."
        )
    if partial.cheap.all():
        notes.append("The cheap panel is all judges, so there is nothing to escalate to.")
    return Escalation.from_splits(
        prepared,
        spec,
        partial.scores,
        costs,
        rows=rows,
        recommended=recommended,
        threshold=Interval.single(recommended.threshold, low, high, "share"),
        optimism=float(recommended.delta.value - promised),
        cheap=prepared.named(_cheap(votes, spec)),
        cheap_how=cheap_curator(spec, prepared.judges, costs).title,
        cheap_cost=float(costs.of(partial.cheap).mean()),
        cheap_size=float(partial.cheap.sum(axis=1).mean()),
        full_cost=costs.full,
        stability=stability(partial.cheap.sum(axis=0), len(partial.scores.numbers)),
        null_nll=float(scored.by_split(scored.null_nll).mean()),
        warnings=tuple(notes),
    )


ESCALATION: Study[EscalationSpec, Escalated, Escalation] = Study(
    name="escalation",
    title="Escalation",
    question="Can a cheap panel answer first?",
    run_chunk=run_chunk,
    merge=merge,
    settled=steady(merge, lambda r: [(row.delta, row.margin) for row in (*r.rows, r.recommended)]),
)
