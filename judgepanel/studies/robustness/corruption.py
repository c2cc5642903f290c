"""Corruption: all judges and the top k with flipped votes or absent judges.

Votes are flipped after the splits are drawn, either only where they are scored (a judge that broke
after calibration) or on both sides (one that was always broken). Labels never change. Absent judges
vote in calibration and are missing at scoring time.

Every split draws its damage ``DRAWS`` times. The variation between draws of one split is not shared
by the splits and averages out over them; intervals would be several times too wide if it were
attributed to the calibration items. Panels made confident by easy items lose most on easy items: an
item's effects in calibration and at scoring are correlated, and intervals include that
(:mod:`judgepanel.scoring.inference`).

Cost per split and draw: one evaluation of the panels for all damage at scoring time, and one more
for each level of damage on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.prefixes import RANKINGS, Ranking
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluate.calibrated import SplitScores
from judgepanel.kernels.evaluate.evaluation import Recipe
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, combine, tally
from judgepanel.studies.common import (
    check_known,
    check_panels,
    run_fields,
    splits_of,
)
from judgepanel.studies.compare import RANGES, Estimator, band, contrasts
from judgepanel.studies.contest.compared import COMPARED
from judgepanel.studies.contest.recommended import (
    AVERAGE,
    PanelAggregator,
    check_panel_aggregators,
)
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.looks import steady
from judgepanel.studies.notes import few_labels, stand_ins
from judgepanel.studies.robustness.corruption_result import Corruption
from judgepanel.studies.robustness.damage import (
    ABSENT,
    SCENARIOS,
    Condition,
    Damage,
    Hurt,
    as_arms,
    conditions,
    damaged_average,
    damaged_scores,
    draw_damage,
)
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import InputError, VoteMatrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FLIPS = (0.05, 0.1, 0.2, 0.3, 0.4)
ABSENCES = (0.1, 0.2, 0.3, 0.4, 0.5)
DRAWS = 2


@dataclass(frozen=True, slots=True)
class CorruptionSpec:
    """The amount of damage, and which judges it affects.

    ``flips`` are shares of all votes; concentrated flips affect a share ``concentrated`` of the
    judges only. ``absent`` are shares of the judges that do not vote at scoring time. Beside the
    average, the top k have the pipeline ``COMPARED``.

    Raises
    ------
    InputError
        An unknown aggregator, calibrator or ranking; a panel below 1; levels that are not
        increasing within (0, 1); more flips than the affected judges have votes; the average under
        the paper's protocol.
    """

    settings: Settings = Settings()
    aggregator: PanelAggregator = field(
        default="one_coin",
        metadata={"help": "how votes are summed; average: the recommended panel"},
    )
    calibrator: Calibrator = field(
        default="beta", metadata={"help": "calibrator of all panels (none for average)"}
    )
    panels: tuple[int, ...] = field(
        default=(5,), metadata={"help": "panel sizes to compare with all judges"}
    )
    ranking: Ranking = field(default="accuracy", metadata={"help": "how judges are ranked"})
    flips: tuple[float, ...] = field(
        default=FLIPS, metadata={"help": "shares of the votes that are flipped"}
    )
    absent: tuple[float, ...] = field(
        default=ABSENCES, metadata={"help": "shares of the judges that are absent"}
    )
    concentrated: float = field(
        default=0.5, metadata={"help": "share of the judges that concentrated flips affect"}
    )

    def __post_init__(self) -> None:
        check_panel_aggregators((self.aggregator,), self.settings)
        check_known("calibrator", CALIBRATORS, (self.calibrator,))
        check_known("ranking", RANKINGS, (self.ranking,))
        check_panels(self.panels)
        for what, levels in (("flips", self.flips), ("absent", self.absent)):
            rising = all(a < b for a, b in zip((0.0, *levels), (*levels, 1.0), strict=True))
            if not levels or not rising:
                raise InputError(
                    f"the levels of {what} must rise",
                    value=", ".join(map(str, levels)),
                    allowed="shares between 0 and 1, smallest first",
                )
        if not max(self.flips) <= self.concentrated <= 1.0:
            raise InputError(
                "too few judges to carry that many flips",
                value=self.concentrated,
                allowed=f"a share from {max(self.flips):g} to 1",
            )
        if self.aggregator == AVERAGE:
            object.__setattr__(self, "calibrator", "none")

    @property
    def recipe(self) -> Recipe:
        """The recipe of all panels; beside the average, that of the top k."""
        aggregator, calibrator = self.aggregator, self.calibrator
        if aggregator == AVERAGE:
            aggregator, calibrator = COMPARED
        return Recipe(
            aggregator,
            (calibrator,),
            self.ranking,
            in_sample=self.settings.protocol == "paper",
            seed=self.settings.seed,
        )

    def conditions(self, n_judges: int) -> tuple[Condition, ...]:
        """Return the clean panel, then every scenario and level; a sole judge cannot be absent."""
        every = conditions(self.flips, self.absent)
        return tuple(
            condition for condition in every if n_judges > 1 or condition.scenario != ABSENT
        )

    def sizes(self, n_judges: int) -> Ints:
        """Return panel sizes (n_panels,), all judges last."""
        return np.array(sorted({k for k in self.panels if k < n_judges} | {n_judges}))


@dataclass(frozen=True, slots=True, eq=False)
class CorruptionTally:
    """Scores of the splits, draws by panels by conditions.

    ``changed`` (n,) of ``cast`` evaluation votes were changed.
    """

    scores: Tally
    changed: Ints
    cast: int


def run_chunk(votes: VoteMatrix, spec: CorruptionSpec, chunk: Chunk) -> CorruptionTally:
    """Evaluate every condition on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    plan = spec.conditions(ballots.n_judges)
    n_rows = ballots.n_items + (0 if ballots.unlabelled is None else len(ballots.unlabelled))
    changed, cast = np.zeros(len(plan), dtype=np.int64), 0

    def scored() -> Iterator[tuple[Split, Arms]]:
        nonlocal cast
        for split in splits_of(prepared, spec.settings, chunk):
            before = ballots.votes[split.evaluation]
            result = []
            for draw in range(DRAWS):
                damage = draw_damage(
                    n_rows,
                    ballots.n_judges,
                    seed=spec.settings.seed,
                    number=split.number,
                    concentrated=spec.concentrated,
                    draw=draw,
                )
                votes_by_condition = [
                    Hurt(condition, damage(ballots.votes, condition)) for condition in plan
                ]
                result.append(_panels(ballots, split, spec, votes_by_condition, damage))
                cast += int(np.count_nonzero(before))
                changed[:] += [
                    np.count_nonzero(after.votes[split.evaluation] != before)
                    for after in votes_by_condition
                ]
            yield split, as_arms(result)

    totals = tally(scored(), n_items=ballots.n_items, seed=spec.settings.seed)
    return CorruptionTally(totals, changed, cast)


def _panels(
    ballots: Ballots, split: Split, spec: CorruptionSpec, hurt: list[Hurt], damage: Damage
) -> list[list[SplitScores]]:
    """Scores of all panels under every condition: the top k, then the average apart from them."""
    ks = spec.sizes(ballots.n_judges)
    if spec.aggregator != AVERAGE:
        parts = [damaged_scores(ballots, split, ks, spec.recipe, hurt, damage)]
    else:
        parts = [damaged_average(ballots, split, spec.settings.seed, hurt, damage)]
        if len(ks) > 1:
            parts.insert(0, damaged_scores(ballots, split, ks[:-1], spec.recipe, hurt, damage))
    return [list(scores) for scores in zip(*parts, strict=True)]


def combine_tallies(left: CorruptionTally, right: CorruptionTally) -> CorruptionTally:
    """Combine two sets of splits; exact and independent of order."""
    return CorruptionTally(
        combine(left.scores, right.scores), left.changed + right.changed, left.cast + right.cast
    )


def merge(votes: VoteMatrix, spec: CorruptionSpec, partial: CorruptionTally) -> Corruption:
    """Return levels, rises and differences from the splits so far."""
    prepared = prepare(votes, spec.settings)
    ballots, totals = prepared.ballots, partial.scores.in_order()
    plan, sizes = spec.conditions(ballots.n_judges), spec.sizes(ballots.n_judges)
    shape = (len(sizes), len(plan))
    names = tuple(condition.scenario for condition in plan)
    return Corruption(
        aggregator=spec.aggregator,
        calibrator=spec.calibrator,
        concentrated=spec.concentrated,
        scenarios=names,
        levels=np.array([condition.level for condition in plan]),
        changed=partial.changed / max(partial.cast, 1),
        panels=sizes,
        **_estimates(
            totals,
            Estimator.of(totals, ballots.units),
            names,
            shape,
            seed=spec.settings.seed,
        ),
        null_nll=float(totals.null_nll.mean()),
        n_judges=ballots.n_judges,
        **run_fields(prepared, spec.settings, totals),
        warnings=_warnings(prepared, spec, totals, shape),
    )


def _warnings(
    prepared: Prepared, spec: CorruptionSpec, totals: Tally, shape: tuple[int, int]
) -> tuple[str, ...]:
    warnings = list(prepared.notices)
    warnings += few_labels(prepared, float(totals.n_calibration.mean()))
    if prepared.ballots.n_judges == 1:
        warnings.append("There is only one judge: no other can be absent or take its place.")
    replaced = np.ravel(totals.replaced).tolist()
    warnings += stand_ins(
        (spec.calibrator,), replaced, len(totals.numbers) * DRAWS * shape[0] * shape[1]
    )
    return tuple(warnings)


def _estimates(
    tallies: Tally,
    estimated: Estimator,
    names: tuple[str, ...],
    shape: tuple[int, int],
    *,
    seed: int,
) -> dict[str, Any]:
    """Fields ``nll``, ``accuracy``, ``rise``, ``drop``, ``delta`` and ``gap``."""
    n_p, n = shape
    arms = np.eye(n_p * n).reshape(n_p, n, n_p * n)
    rise = arms - arms[:, :1]

    def measured(weights: Floats, metric: str, unit: Unit) -> Interval:
        rows = weights.reshape(-1, n_p * n)
        estimates = contrasts(tallies, estimated, rows, metric=metric, draws=DRAWS)
        return Interval.of(estimates, unit).reshape(len(weights), n)

    gaps = rise[:-1] - rise[-1:]
    bands = [
        [Interval.full(1, 0.0)]
        + [
            _band(tallies, estimated, gaps[p, places], seed=seed)
            for scenario in SCENARIOS
            if len(places := np.flatnonzero(np.array(names) == scenario))
        ]
        for p in range(n_p - 1)
    ]
    return {
        "nll": measured(arms, "nll", "nats").clip(*RANGES["nll"]),
        "accuracy": measured(arms, "accuracy", "share").clip(*RANGES["accuracy"]),
        "rise": measured(rise, "nll", "nats"),
        "drop": measured(-rise, "accuracy", "share"),
        "delta": measured(arms[:-1] - arms[-1:], "nll", "nats"),
        "gap": (
            Interval.stacked([Interval.joined(parts) for parts in bands])
            if bands
            else Interval.full((0, n), np.nan)
        ),
    }


def _band(tallies: Tally, estimated: Estimator, weights: Floats, *, seed: int) -> Interval:
    fitted = contrasts(tallies, estimated, weights, draws=DRAWS)
    return band(fitted, seed)


CORRUPTION: Study[CorruptionSpec, CorruptionTally, Corruption] = Study(
    name="corruption",
    title="Corrupted votes",
    question="What if votes are wrong, or judges absent?",
    spec=CorruptionSpec,
    result=Corruption,
    partial=CorruptionTally,
    run_chunk=run_chunk,
    combine=combine_tallies,
    merge=merge,
    first=2,
    settled=steady(merge, lambda result: [(result.gap, 0.0)]),
)
