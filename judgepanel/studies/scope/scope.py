"""Scope: is the recommendation safe here? Four checks P0 to P3 on labelled items.

The default keeps every judge, sums their votes with one aggregator and calibrates. P0, P1 and the
tests of P3 use all labelled items at once. Quantities based on NLL (the curve of P2, the arms of
P3) are scored on the evaluation rows of random splits, with everything fitted on the others.

Cost per split: one evaluation of the curve, or one recommendation for each of its sizes; in
``COMPARED_SPLITS`` of them also up to two fits per aggregator, where joint costs many times as much
as the curve. If there are more splits, those are not in the first chunk, so that a first result
appears early.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from judgepanel.arrays import Ints
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.aggregate.prefixes import rank
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluate.calibrated import SplitScores
from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split
from judgepanel.scoring.inference import MARGIN
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, tally
from judgepanel.studies.common import check_each_once, check_known, run_fields, splits_of
from judgepanel.studies.contest.recommended import (
    AVERAGE,
    PanelAggregator,
    all_judges,
    check_panel_aggregators,
    scored_average,
)
from judgepanel.studies.contract import CHUNK_SPLITS, Chunk, Study
from judgepanel.studies.looks import Deciding, inside, steady
from judgepanel.studies.notes import few_labels, stand_ins
from judgepanel.studies.partials import frozen
from judgepanel.studies.scope.compatibility import (
    can_leave_out,
    check_compatibility,
    partly_missing,
    switch_arms,
)
from judgepanel.studies.scope.missingness import missingness
from judgepanel.studies.scope.parse import (
    check_parse_rate,
    drop_reason,
    legible,
    to_drop,
)
from judgepanel.studies.scope.saturation import (
    FEWEST_JUDGES,
    check_saturation,
    curve_sizes,
    saturation,
)
from judgepanel.studies.scope.scope_result import Dropped, Scope
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import check_orientation

COMPARED_SPLITS = 20


@dataclass(frozen=True, slots=True)
class ScopeSpec:
    """Options of the checks; ``others`` are the alternative aggregators of P3.

    Raises
    ------
    InputError
        An unknown name, or one given twice; the average under the paper's protocol.
    """

    settings: Settings = Settings()
    aggregator: PanelAggregator = field(
        default="one_coin",
        metadata={"help": "the aggregator in use; average: the recommended panel"},
    )
    calibrator: Calibrator = field(
        default="beta", metadata={"help": "the calibrator of all arms but the average"}
    )
    others: tuple[Aggregator, ...] = field(
        default=("dawid_skene", "joint"), metadata={"help": "aggregators to compare it with"}
    )

    def __post_init__(self) -> None:
        check_panel_aggregators((self.aggregator,), self.settings)
        check_known("aggregator", AGGREGATORS, self.others)
        check_known("calibrator", CALIBRATORS, (self.calibrator,))
        if self.others:
            check_each_once("the comparison", "aggregator", AGGREGATORS, self.others)

    @property
    def compared(self) -> tuple[PanelAggregator, ...]:
        """The aggregator in use, followed by the others."""
        return (self.aggregator, *(name for name in self.others if name != self.aggregator))

    def recipe(self, aggregator: Aggregator) -> Recipe:
        """Return how every panel under this aggregator is built."""
        return Recipe(
            aggregator,
            (self.calibrator,),
            in_sample=self.settings.protocol == "paper",
            seed=self.settings.seed,
        )


@frozen
class ScopeTally:
    """Scores of the splits: the curve of all splits, and the compared arms of some."""

    curve: Tally
    arms: Tally | None


def run_chunk(votes: VoteMatrix, spec: ScopeSpec, chunk: Chunk) -> ScopeTally:
    """Score the curve on the splits of a chunk, and the arms on those that compare aggregators."""
    prepared = prepare(votes, spec.settings)
    ballots, seed = prepared.ballots, spec.settings.seed
    sizes = curve_sizes(ballots.n_judges)
    splits = list(splits_of(prepared, spec.settings, chunk))
    curve = tally(
        ((split, Arms.of(_curve(ballots, split, sizes, spec))) for split in splits),
        n_items=ballots.n_items,
        seed=seed,
    )
    chosen = compared_splits(spec.settings.most_splits)
    some = [split for split in splits if split.number in chosen]
    if not some:
        return ScopeTally(curve, None)
    arms = tally(_compared(prepared, spec, some), n_items=ballots.n_items, seed=seed)
    return ScopeTally(curve, arms)


def _curve(ballots: Ballots, split: Split, sizes: Ints, spec: ScopeSpec) -> list[SplitScores]:
    """Scores of the best judges of every size; the average is recommended again from them."""
    if spec.aggregator != AVERAGE:
        return [evaluate_split(ballots, split, sizes, spec.recipe(spec.aggregator))]
    place = np.argsort(rank(ballots, split.calibration, "accuracy"))
    return [
        scored_average(ballots.of_judges(place < size), split, spec.settings.seed) for size in sizes
    ]


def compared_splits(n_splits: int) -> range:
    """Return splits that compare aggregators: ``COMPARED_SPLITS`` after the first chunk, if any."""
    first = min(CHUNK_SPLITS, max(0, n_splits - COMPARED_SPLITS))
    return range(first, min(first + COMPARED_SPLITS, n_splits))


def _compared(
    prepared: Prepared, spec: ScopeSpec, splits: list[Split]
) -> Iterator[tuple[Split, Arms]]:
    """Yield all aggregators with all judges, then (if any) without the partly missing ones."""
    ballots = prepared.ballots
    panels = [ballots]
    partly = partly_missing(legible(ballots, limits=False).covered)
    if can_leave_out(partly):
        panels.append(ballots.of_judges(~partly))
    for split in splits:
        scores = [
            all_judges(panel, split, name, spec.calibrator, spec.settings)
            for panel in panels
            for name in spec.compared
        ]
        yield split, Arms.of(scores)


def merge(votes: VoteMatrix, spec: ScopeSpec, partial: ScopeTally) -> Scope:
    """Return all four checks from the splits so far."""
    prepared = prepare(votes, spec.settings)
    ballots, names = prepared.ballots, prepared.judges
    curve = partial.curve
    arms = None if partial.arms is None else partial.arms
    legibility = legible(ballots)
    missing = missingness(prepared)
    partly = tuple(np.array(names, dtype=object)[partly_missing(legibility.covered)])
    line = saturation(curve, ballots.units, curve_sizes(ballots.n_judges))
    switch = (
        () if arms is None else switch_arms(arms, ballots.units, spec.compared, spec.settings.seed)
    )
    drop = to_drop(legibility, spec.aggregator)
    if drop.all():
        drop = np.zeros_like(drop)
    return Scope(
        checks=(
            check_orientation(_taking_part(votes, spec.settings)),
            check_parse_rate(legibility, names, spec.aggregator, prepared.oriented.aside),
            check_saturation(line, ballots.n_items),
            check_compatibility(switch, missing, partly, n_judges=len(names)),
        ),
        judges=names,
        parsed=legibility.parsed,
        tied=legibility.tied / max(legibility.n_items, 1),
        accuracy=legibility.accuracy,
        p_below=legibility.p_below,
        below=legibility.below,
        wald_below=legibility.wald_below,
        sparse=legibility.sparse,
        saturation=line if ballots.n_judges >= FEWEST_JUDGES else None,
        missing=missing,
        switch=switch,
        partly=partly,
        suggested=tuple(
            Dropped(names[j], drop_reason(legibility, j)) for j in np.flatnonzero(drop).tolist()
        ),
        aggregator=spec.aggregator,
        calibrator=spec.calibrator,
        null_nll=float(curve.null_nll.mean()),
        constant_nll=float(curve.constant_nll.mean()),
        n_compared=0 if arms is None else len(arms.numbers),
        **run_fields(prepared, spec.settings, curve),
        warnings=_warnings(prepared, spec, curve, missing.left_out),
    )


def _taking_part(votes: VoteMatrix, settings: Settings) -> VoteMatrix:
    return votes if settings.judges is None else votes.with_judges(settings.judges)


def _warnings(
    prepared: Prepared, spec: ScopeSpec, curve: Tally, left_out: tuple[str, ...]
) -> tuple[str, ...]:
    warnings = [*prepared.notices]
    warnings += few_labels(prepared, float(curve.n_calibration.mean()))
    if prepared.ballots.votes.size and (prepared.ballots.votes == 0).any():
        warnings += left_out
    fits = len(curve.numbers) * len(curve_sizes(prepared.ballots.n_judges))
    return (*warnings, *stand_ins((spec.calibrator,), np.ravel(curve.replaced).tolist(), fits))


def _deciding(result: Scope) -> Deciding:
    line = result.saturation
    if line is not None:
        yield from inside(line.delta[line.last], line.margin)
        yield from ((line.delta[line.half], line.margin), (line.delta[line.fifth], 0.0))
    for arm in result.switch:
        yield arm.switch, MARGIN * float(result.switch[0].nll.value)
        yield arm.partly, MARGIN * float(arm.nll.value)


_decided = steady(merge, _deciding)


def _settled(votes: VoteMatrix, spec: ScopeSpec, partial: ScopeTally) -> bool:
    """Whether no check could change; not before all splits that compare aggregators are in."""
    compared = compared_splits(spec.settings.most_splits)
    return len(partial.curve.numbers) >= compared.stop and _decided(votes, spec, partial)


SCOPE: Study[ScopeSpec, ScopeTally, Scope] = Study(
    name="scope",
    title="Scope",
    question="Is the recommendation safe here?",
    spec=ScopeSpec,
    result=Scope,
    partial=ScopeTally,
    run_chunk=run_chunk,
    merge=merge,
    first=2,
    settled=_settled,
)
