"""The price of a better panel: the best panels under fixed budgets, scored on new items.

Budgets are fixed in advance. In every split the panel for each budget is chosen on the calibration
rows alone and scored on the others, against all judges; no choice uses the reported NLL.

Result of :data:`COST`: the best panels by budget.

Panels under fixed budgets as curators, which are chosen and scored like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy

from judgepanel.arrays import Bools, Floats
from judgepanel.kernels.aggregation import Aggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.prefixes import CLOSED_FORMS, ClosedForm
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies import accumulate, codec, common, options, results
from judgepanel.studies.contract import Chunk, Deciding, Prepared, Study, prepare, steady
from judgepanel.studies.decide.curators import (
    CuratorFigures,
    CuratorTally,
    curator_arms,
    curator_figures,
)
from judgepanel.studies.panel.curated import (
    Curated,
    UnderBudgets,
    budget_grid,
    compared_under,
    curated,
    evidence_in,
    under_budgets,
)
from judgepanel.studies.panel.curator import (
    Chosen,
    Curator,
    Evidence,
    JudgeAttributes,
    JudgeCosts,
    Rules,
    affordable,
    check_budget,
    check_folds,
    check_price,
    check_steps,
    costs_of,
    evidence_of,
    known_judges,
    no_costs_note,
)
from judgepanel.studies.results import column
from judgepanel.votes import VoteMatrix
from judgepanel.votes.matrix import cached

_NEXT = ("gain", "lo", "hi", "extra", "price", "price_lo", "price_hi")


@results.frozen
class NextPoint:
    """The step from one budget to the next, both fixed in advance.

    ``gain`` is the NLL saved by the larger budget, in nats, above 0 if it saves any; ``extra`` is
    the additional cost of its panels; ``price`` the cost of saving 1 % of the NLL, NaN if nothing
    is saved, with infinite ends as NaN.
    """

    gain: Interval = column(
        "NLL that the next budget saves, in nats.", name="next_gain", bounds=("next_lo", "next_hi")
    )
    extra: float = column(
        "Additional cost per item of the next budget's panels.", name="next_extra"
    )
    price: Interval = column(
        "Cost of saving 1 % of the NLL with the next budget.", name="next_price"
    )

    def row(self) -> dict[str, Any]:
        """Return its numbers by column name."""
        return results.flat_row(self, gain="")


@results.frozen
class CostPoint:
    """The best panels found under one budget.

    ``figures`` are their scores on new items, see :class:`CuratorFigures`; ``delta`` there is
    against all judges. ``cost`` (per item) is the mean over splits with their central 95 %, which
    is not a confidence interval; ``share`` is relative to the cost of all judges. ``slowest`` is
    the latency of its slowest judge (all in parallel), ``in_turn`` that of all in sequence; NaN if
    unknown. ``judges`` is the panel chosen on all labelled rows, with ``panel_cost``,
    ``panel_slowest`` and ``panel_in_turn``. ``reading`` is the NLL of the best non-increasing curve
    through all points: like ``on_frontier`` it describes the observed figures, not a choice that
    was possible in advance.
    """

    budget: float = column("Maximum cost of the panel per item.")
    figures: CuratorFigures
    cost: Interval = column(central=True)
    share: float = column("Cost as a share of the cost of all judges.")
    slowest: float = column("Latency of the slowest judge of the panel, all asked in parallel.")
    in_turn: float = column("Latency of the panel's judges asked in sequence.")
    judges: tuple[str, ...] = column("Judges chosen on all labelled rows, separated by semicolons.")
    panel_cost: float = column("Cost of those judges per item.")
    panel_slowest: float = column("Latency of the slowest of those judges.")
    panel_in_turn: float = column("Latency of those judges asked in sequence.")
    reading: float = column("NLL of the best non-increasing curve through all points, in nats.")
    on_frontier: bool = column(
        "Whether the point lies on that curve: known in hindsight, not a choice."
    )
    next: NextPoint | None

    @results.derived("The point on the curve in words.")
    def panel(self) -> str:
        """The title of its figures."""
        return self.figures.title


@results.frozen
class Cost(results.PipelineResult):
    """Result of :data:`COST`.

    ``points`` are in order of ascending budgets fixed before any panel was scored; ``everyone`` is
    all judges, the reference. ``budget`` is the requested one, NaN without. ``counted``: costs are
    unknown, so every judge counts 1. ``judge_costs`` and ``chosen_share`` (n_points, n_judges)
    follow ``judges``.
    """

    points: tuple[CostPoint, ...]
    everyone: CostPoint
    budget: float
    unit: str
    counted: bool
    latency_unit: str
    full_cost: float
    judges: tuple[str, ...]
    judge_costs: Floats
    chosen_share: Floats
    constant_nll: float
    RECORDS: ClassVar = (CuratorFigures, CostPoint, NextPoint)
    HIDDEN: ClassVar = frozenset({"curator", "title", "deployable", "note", "looked_best_share"})

    @property
    def asked(self) -> CostPoint | None:
        """The point of the requested budget."""
        if np.isnan(self.budget):
            return None
        return [point for point in self.points if point.budget <= self.budget * (1.0 + 1e-9)][-1]

    @property
    def cheapest_without_loss(self) -> CostPoint | None:
        """The smallest budget shown to lose at most the margin, jointly over all budgets."""
        for point in self.points:
            band = point.figures.band.hi < point.figures.margin or point.figures.verdict == "tie"
            if point.cost.value < self.full_cost * (1.0 - 1e-9) and band:
                return point
        return None

    def frame(self) -> pd.DataFrame:
        """Return one row per ascending budget, then all judges."""
        repeated = ("null_nll", "constant_nll", "aggregator", "calibrator", "unit", "n_splits")
        return self.repeated(map(_row, (*self.points, self.everyone)), *repeated)

    def decisions(self) -> dict[str, Any]:
        """Return points and their panels."""
        return {
            "nll_all": float(self.everyone.figures.nll.value),
            "points": [
                codec.to_plain(
                    results.flat_row(point)
                    | {
                        "figures": results.flat_row(point.figures),
                        "next": None if point.next is None else point.next.row(),
                    }
                )
                for point in self.points
            ],
        }


def _row(point: CostPoint) -> dict[str, Any]:
    left_out = {*Cost.HIDDEN, "figures", "next"}
    names = {"judges": "; ".join(point.judges), "panel": point.panel}
    row = results.flat_row(point) | names | results.flat_row(point.figures)
    following = dict.fromkeys(_NEXT, np.nan) if point.next is None else point.next.row()
    return {name: value for name, value in row.items() if name not in left_out} | {
        f"next_{name}": value for name, value in following.items()
    }


STAND_IN: tuple[ClosedForm, Calibrator] = ("one_coin", "temperature")
"""Pipeline in which greedy steps compare panels if the scoring pipeline is not a closed form."""


def cost_rules(
    aggregator: Aggregator, calibrator: Calibrator, *, folds: int, steps: int, seed: int
) -> Rules:
    """Return how panels scored by ``aggregator`` and ``calibrator`` are compared."""
    closed, map_ = STAND_IN
    for name in CLOSED_FORMS:
        if name == aggregator:
            closed, map_ = name, calibrator
    return Rules(closed, map_, folds=folds, steps=steps, seed=seed)


def priced_judges(votes: VoteMatrix, prepared: Prepared) -> tuple[JudgeAttributes, JudgeCosts]:
    """Return what is known of the judges, with costs: their own, or 1 if there are none."""
    costs = costs_of(votes, prepared.judges)
    return replace(known_judges(votes, prepared), costs=tuple(costs.cost.tolist())), costs


def budget_curators(
    budgets: Floats, aggregator: Aggregator, *, reference: bool = True
) -> tuple[Curator, ...]:
    """Return the curators of all judges and of the best panel under each of ascending budgets.

    One search of the same evidence serves them all. ``reference``: whether the NLL of all judges is
    needed, too.
    """
    searched: dict[tuple[int, ...], UnderBudgets] = {}

    def search(evidence: Evidence) -> UnderBudgets:
        if evidence.key not in searched:
            panels = under_budgets(evidence, budgets, aggregator, reference=reference)
            searched[evidence.key] = panels
        return searched[evidence.key]

    def best(place: int, evidence: Evidence) -> Chosen:
        return search(evidence).panels[place]

    return (
        Curator("all", "all judges", lambda e: search(e).everyone, uses_labels=False),
        *(
            Curator(f"budget_{place}", f"under {budget:g}", partial(best, place))
            for place, budget in enumerate(budgets)
        ),
    )


def all_rows(prepared: Prepared, known: JudgeAttributes, rules: Rules) -> Evidence:
    """Return all labelled rows as evidence, for the final panels."""
    ballots = prepared.ballots
    return evidence_of(ballots, np.arange(ballots.n_items), known, rules, (0, 14))


MOST_POINTS = 30
SPARSE = 0.9
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class CostSpec(options.StudySpec):
    """Budgets, and the pipeline that compares and scores their panels.

    Raises
    ------
    InputError
        An unknown name, an invalid budget, points outside 2..30, fewer than 2 folds, steps below 0;
        the paper's protocol.
    """

    aggregator: Aggregator = options.option("joint")
    calibrator: Calibrator = options.option("none", "calibrator of every panel")
    budget: float | None = options.option(
        None, "a budget per item: the best panel whose cost is within it", check=check_price
    )
    points: int = options.option(
        7,
        "number of budgets on the curve, from the cheapest judge to all judges",
        check=options.check_count("number of budgets out of range", 2, MOST_POINTS),
    )
    folds: int = options.option(
        5, "number of inner folds on calibration rows, for closed forms", check=check_folds
    )
    steps: int = options.option(
        20, "number of judges that the greedy order adds; 0 turns it off", check=check_steps
    )

    chooses: ClassVar[str] = "panels are chosen"

    @property
    def rules(self) -> Rules:
        """How panels are compared."""
        folds, steps, seed = self.folds, self.steps, self.settings.seed
        return cost_rules(self.aggregator, self.calibrator, folds=folds, steps=steps, seed=seed)

    @property
    def comparable(self) -> bool:
        """Whether panels are compared by the same kind of NLL that scores them."""
        closed = self.aggregator in CLOSED_FORMS
        alike = compared_under(self.aggregator) == self.aggregator
        return closed or (alike and self.calibrator == "none")


@results.frozen
class CostTally:
    """Scores of the splits, and the panels ``chosen`` bool (S, n_arms, n_judges) in each.

    All judges come first; splits follow the order of ``scores.numbers``.
    """

    scores: accumulate.Tally
    chosen: Bools = results.by_split()


def budgets_of(spec: CostSpec, costs: JudgeCosts, judges: tuple[str, ...]) -> Floats:
    """Return ascending budgets: a grid from the cheapest judge to all, and the requested one."""
    grid = budget_grid(costs.cost, spec.points, costs.full, whole=costs.counted)
    if spec.budget is None:
        return grid
    check_budget(costs.cost, spec.budget, judges)
    asked = costs.full if affordable(costs.full, spec.budget) else spec.budget
    return np.sort(np.append(grid[~np.isclose(grid, asked, rtol=1e-9, atol=0.0)], asked))


def run_chunk(votes: VoteMatrix, spec: CostSpec, chunk: Chunk) -> CostTally:
    """Choose and evaluate panels in the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    known, costs = priced_judges(votes, prepared)
    budgets = budgets_of(spec, costs, prepared.judges)
    chosen: list[Bools] = []

    def arms(split: Split) -> accumulate.Arms:
        curators = budget_curators(budgets, spec.aggregator)
        evidence = evidence_in(ballots, split.calibration, known, spec.rules, split.number)
        panels = _scored(ballots, split, curators, evidence, spec)
        chosen.append(np.array([panel.chosen.judges for panel in panels]))
        return curator_arms(ballots, split, panels, spec.calibrator)

    return CostTally(common.tally_of(prepared, spec.settings, chunk, arms), np.array(chosen))


def _scored(
    ballots: Ballots, split: Split, curators: Sequence[Curator], evidence: Evidence, spec: CostSpec
) -> list[Curated]:
    """Panels of one split with scores; without a calibrator, equal panels are scored once."""
    if spec.calibrator != "none":
        return [curated(ballots, split, c, evidence, spec.aggregator) for c in curators]
    made: list[Curated] = []
    for curator in curators:
        chosen = curator.chosen(evidence)
        alike = [result for result in made if (result.chosen.judges == chosen.judges).all()]
        made.append(
            Curated(chosen, alike[0].scores)
            if alike
            else curated(ballots, split, curator, evidence, spec.aggregator, calibrates=False)
        )
    return made


@cached(4)
def _panels(votes: VoteMatrix, spec: CostSpec) -> UnderBudgets:
    """Panels chosen on all labelled rows; the same for every partial result."""
    prepared = prepare(votes, spec.settings)
    known, costs = priced_judges(votes, prepared)
    budgets = budgets_of(spec, costs, prepared.judges)
    return under_budgets(all_rows(prepared, known, spec.rules), budgets, spec.aggregator)


def merge(votes: VoteMatrix, spec: CostSpec, partial: CostTally) -> Cost:
    """Return the panels and scores of every budget from the splits so far."""
    prepared = prepare(votes, spec.settings)
    totals = partial.scores
    _, costs = priced_judges(votes, prepared)
    everyone, points = cost_points(partial, spec, prepared, costs, _panels(votes, spec))
    notes = cost_notes(prepared, costs, totals) + common.replaced_fits((spec.calibrator,), totals)
    if spec.budget is not None and affordable(costs.full, spec.budget):
        notes.append("The budget pays for all judges.")
    return Cost.from_splits(
        prepared,
        spec,
        totals,
        costs,
        points=points,
        everyone=everyone,
        budget=float("nan") if spec.budget is None else spec.budget,
        full_cost=costs.full,
        judge_costs=costs.cost,
        chosen_share=partial.chosen[:, 1:].mean(axis=0),
        warnings=tuple(notes),
    )


def cost_points(
    partial: CostTally, spec: CostSpec, prepared: Prepared, costs: JudgeCosts, final: UnderBudgets
) -> tuple[CostPoint, tuple[CostPoint, ...]]:
    """All judges, and one point per budget."""
    tally, chosen = partial.scores, partial.chosen
    budgets = budgets_of(spec, costs, prepared.judges)
    picked = chosen.sum(axis=0)
    picked = np.concatenate([picked, np.zeros_like(picked[:1])])
    curators = budget_curators(budgets, spec.aggregator)
    choices = CuratorTally(tally, chosen.sum(axis=2), picked, np.zeros((0, 5)))
    units, seed = prepared.ballots.units, spec.settings.seed
    figures = curator_figures(choices, units, curators, comparable=spec.comparable, seed=seed)[:-1]
    reading = readings(np.array([figure.nll.value for figure in figures[1:]]))
    spent = costs.of(chosen)
    panels = (final.everyone.judges, *(panel.judges for panel in final.panels))
    # Points whose reading no cheaper point (nor an earlier one of equal cost) attains.
    on_frontier, lowest = [False] * len(reading), np.inf
    for place in np.argsort(spent.mean(axis=0)[1:], kind="stable"):
        if reading[place] < lowest - _SAME:
            on_frontier[place], lowest = True, float(reading[place])
    of_panels = [_of_panels(prepared, costs, chosen[:, a], panel) for a, panel in enumerate(panels)]
    everyone, *points = results.records_of(
        CostPoint,
        budget=[costs.full, *budgets.tolist()],
        figures=figures,
        reading=[float(figures[0].nll.value), *reading.tolist()],
        on_frontier=[False, *on_frontier],
        next=[None, *_steps(tally, prepared, spent.mean(axis=0)[1:])],
        **{name: [entry[name] for entry in of_panels] for name in of_panels[0]},
    )
    return everyone, tuple(points)


def _of_panels(
    prepared: Prepared, costs: JudgeCosts, chosen: Bools, panel: Bools
) -> dict[str, Any]:
    """Costs and latencies of the panels (S, n_judges) of the splits, and of the final panel."""
    spent = costs.of(chosen)
    low, high = np.quantile(spent, (0.025, 0.975), method="nearest")
    mean = spent.mean()
    return {
        "cost": Interval.single(mean, low, high, unit="cost"),
        "share": float(mean) / costs.full if costs.full > 0.0 else 1.0,
        "slowest": float(costs.slowest(chosen).mean()),
        "in_turn": float(costs.in_turn(chosen).mean()),
        "judges": prepared.named(panel),
        "panel_cost": float(costs.of(panel)),
        "panel_slowest": float(costs.slowest(panel)),
        "panel_in_turn": float(costs.in_turn(panel)),
    }


def readings(nll: Floats) -> Floats:
    """The non-increasing curve (n,) closest to NLLs (n,) in the order of their budgets."""
    return np.asarray(scipy.optimize.isotonic_regression(nll, increasing=False).x)


def _steps(tally: accumulate.Tally, prepared: Prepared, cost: Floats) -> list[NextPoint | None]:
    """NLL saved and cost added by each next budget; None for the last, and from one split."""
    n_points = len(cost)
    if len(tally.numbers) < 2 or n_points < 2:
        return [None] * n_points
    items, splits = tally.nll(arms=slice(1, n_points + 1))
    estimated = accumulate.Estimator.of(tally, prepared.ballots.units)
    gains = estimated(items[:-1] - items[1:], splits[:, :-1] - splits[:, 1:])
    nll = items.mean(axis=1)
    next_points: list[NextPoint | None] = []
    for p, extra in enumerate(np.diff(cost).tolist()):
        gain = Interval.of(gains)[p]
        price, most, least = (_price(extra, saved, float(nll[p])) for saved in gain)
        next_points.append(NextPoint(gain, extra, Interval.single(price, least, most, "cost")))
    return [*next_points, None]


def _price(extra: float, gain: float, nll: float) -> float:
    """Cost of 1 % of the NLL; NaN if nothing is saved."""
    return extra * 0.01 * nll / gain if gain > _SAME else float("nan")


def cost_notes(prepared: Prepared, costs: JudgeCosts, splits: results.SplitCounts) -> list[str]:
    """Return the warnings common to all studies of costs."""
    notes = [*common.run_warnings(prepared, splits, first=no_costs_note(costs))]
    cast = float(np.mean(prepared.ballots.votes != 0))
    if cast < SPARSE:
        notes.append(
            f"{100.0 * cast:.0f} % of the votes are there, but a panel's cost is that of asking "
            "each of its judges about every item."
        )
    if costs.full == 0.0:
        notes.append("No judge costs anything, so there is nothing to save.")
    if prepared.ballots.n_judges == 1:
        notes.append("There is only one judge, so there is nothing to choose.")
    return notes


def _deciding(result: Cost) -> Deciding:
    for point in result.points:
        figures = point.figures
        yield from ((figures.delta, figures.margin), (-figures.band, figures.margin))


COST: Study[CostSpec, CostTally, Cost] = Study(
    name="cost",
    title="Cost",
    question="What does a better panel cost?",
    run_chunk=run_chunk,
    merge=merge,
    settled=steady(merge, _deciding),
)
