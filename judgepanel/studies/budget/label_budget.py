"""How many labels do we need? All judges and the top k, fitted on fewer and fewer labels.

In every split the calibration half is put in a random order, units whole, and budget n takes its
first n labels: ranking, weights and calibrators see only those. The evaluation half stays the
same, so budgets differ in nothing but their labels.

Cost per split: one evaluation of the panels for every budget; memory is that of the scores of
(panels x budgets) arms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.aggregate.prefixes import RANKINGS, Ranking
from judgepanel.kernels.calibrate.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluate.calibrated import SplitScores
from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split
from judgepanel.scoring.splits import Split, nested_rows
from judgepanel.studies.accumulate import Arms, Tally, combine, tally
from judgepanel.studies.budget.label_budget_estimates import budget_estimates
from judgepanel.studies.budget.label_budget_result import LabelBudget
from judgepanel.studies.common import (
    check_each_once,
    check_known,
    check_panels,
    run_fields,
    splits_of,
)
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.notes import few_labels, not_fitted
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import InputError, VoteMatrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SMALLEST = 20
N_BUDGETS = 9
FEWEST_OF_A_CLASS = 5
FEWEST_UNITS = 10
WITHIN_RANGE = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class LabelBudgetSpec:
    """What the label budget needs.

    ``budgets`` None takes nine on a log scale from 20 to the whole calibration half, which is
    always the last one. ``panels`` are sizes held against all judges. ``within`` is how near to the
    NLL of the largest budget counts as there; ``target`` is an NLL that is to be reached.

    Raises
    ------
    InputError
        An aggregator, calibrator or ranking that is not known; no calibrator, or one given twice;
        a budget below 2, a panel below 1; ``within`` outside (0, 1), a target that is not above 0.
    """

    settings: Settings = Settings()
    aggregator: Aggregator = "one_coin"
    calibrators: tuple[Calibrator, ...] = ("beta", "temperature")
    panels: tuple[int, ...] = (5,)
    ranking: Ranking = "accuracy"
    budgets: tuple[int, ...] | None = None
    within: float = 0.05
    target: float | None = None

    def __post_init__(self) -> None:
        check_known("aggregator", AGGREGATORS, (self.aggregator,))
        check_known("calibrator", CALIBRATORS, self.calibrators)
        check_known("ranking", RANKINGS, (self.ranking,))
        check_each_once("a label budget", "calibrator", CALIBRATORS, self.calibrators)
        check_panels(self.panels)
        for n in self.budgets or ():
            if n < 2:
                raise InputError("a budget needs at least 2 labels", value=n, allowed="2 or more")
        if not WITHIN_RANGE[0] < self.within < WITHIN_RANGE[1]:
            raise InputError(
                "how near to the plateau is out of range",
                value=self.within,
                allowed="between 0 and 1",
            )
        if self.target is not None and not 0.0 < self.target < math.inf:
            raise InputError("the target NLL must be above 0", value=self.target)

    @property
    def recipe(self) -> Recipe:
        """The recipe every budget of every split follows."""
        return Recipe(
            self.aggregator,
            self.calibrators,
            self.ranking,
            in_sample=self.settings.protocol == "paper",
            seed=self.settings.seed,
        )

    def sizes(self, n_judges: int) -> Ints:
        """Panel sizes (n_panels,), all judges last."""
        return np.array(sorted({k for k in self.panels if k < n_judges} | {n_judges}))


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """Budgets (n_budgets,), rising, and a sentence for each that had to be left out."""

    budgets: Ints
    left_out: tuple[str, ...]


def planned(prepared: Prepared, spec: LabelBudgetSpec) -> Planned:
    """The budgets these votes allow; the last is the whole calibration half, whatever it is."""
    ballots = prepared.ballots
    half = max(2, math.floor(ballots.n_items * spec.settings.fraction))
    if spec.budgets is None:
        asked = np.geomspace(min(SMALLEST, half), half, N_BUDGETS).round().astype(int).tolist()
    else:
        asked = list(spec.budgets)
    kept, left_out = {half}, []
    least, why = _least(prepared)
    for n in sorted(set(asked) - {half}):
        if n > half:
            items = math.ceil(n / spec.settings.fraction)
            left_out.append(
                f"A budget of {n:,} labels is left out: {half:,} labels calibrate here; it needs "
                f"{items:,} labelled items."
            )
        elif n < least:
            left_out.append(
                f"A budget of {n:,} labels is left out: {why}, which takes about {least:,} labels."
            )
        else:
            kept.add(n)
    return Planned(np.array(sorted(kept), dtype=np.int64), tuple(left_out))


def _least(prepared: Prepared) -> tuple[int, str]:
    """The fewest labels that can be fitted to, and what they are for."""
    ballots = prepared.ballots
    n_units = len(np.unique(ballots.units))
    by_units = math.ceil(FEWEST_UNITS * ballots.n_items / n_units)
    found = (by_units, f"it needs {FEWEST_UNITS} labelled items")
    if n_units < ballots.n_items:
        found = (by_units, f"it needs {FEWEST_UNITS} groups of items")
    if not ballots.symmetric:
        share = float(np.mean(ballots.signs > 0))
        rarer = min(share, 1.0 - share)
        by_class = math.ceil(FEWEST_OF_A_CLASS / rarer) if rarer > 0 else ballots.n_items
        found = max(found, (by_class, f"it needs {FEWEST_OF_A_CLASS} labels of the rarer class"))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class BudgetTally:
    """Scores of the splits; ``labels`` (n_budgets,) is the total number of labels fitted to."""

    scores: Tally
    labels: Ints


def run_chunk(votes: VoteMatrix, spec: LabelBudgetSpec, chunk: Chunk) -> BudgetTally:
    """Evaluate all budgets on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots, settings = prepared.ballots, spec.settings
    budgets = planned(prepared, spec).budgets
    ks = spec.sizes(ballots.n_judges)
    labels = np.zeros(len(budgets), dtype=np.int64)

    def scored() -> Iterator[tuple[Split, Arms]]:
        for one in splits_of(prepared, settings, chunk):
            parts = label_sets(one, ballots.units, budgets, settings.seed)
            labels[:] += [len(rows) for rows in parts]
            yield (
                one,
                _arms(
                    [
                        evaluate_split(
                            ballots, Split(one.number, rows, one.evaluation), ks, spec.recipe
                        )
                        for rows in parts
                    ]
                ),
            )

    done = tally(
        scored(),
        n_items=ballots.n_items,
        seed=settings.seed,
    )
    return BudgetTally(done, labels)


def label_sets(one: Split, units: Ints, budgets: Ints, seed: int) -> list[Ints]:
    """The calibration rows of every budget, nested; the last budget takes them all."""
    parts = nested_rows(
        units, one.calibration, budgets[:-1].tolist(), seed=seed, key=(one.number, 11)
    )
    return [*parts, one.calibration]


def _arms(scored: list[SplitScores]) -> Arms:
    """Arms of one split: panels by budgets, budgets vary fastest."""
    names = tuple(scored[0].evaluation)
    n_arms = len(scored) * len(scored[0].evaluation[names[0]].nll)

    def stacked(field: str) -> tuple[Floats, ...]:
        found = []
        for name in names:
            values = np.stack([getattr(one.evaluation[name], field) for one in scored], axis=1)
            found.append(values.reshape(n_arms, *values.shape[2:]))
        return tuple(found)

    return Arms(
        nll=stacked("nll"),
        brier=stacked("brier"),
        hit=stacked("hit"),
        ece=np.stack(stacked("ece")),
        chosen_on=np.zeros((len(names), n_arms)),
        null_nll=np.array([one.null_nll for one in scored]),
        constant_nll=np.array([[one.constant_nll[name] for one in scored] for name in names]),
        replaced=np.array([[one.replaced[name] for one in scored] for name in names]),
    )


def combine_tallies(left: BudgetTally, right: BudgetTally) -> BudgetTally:
    """Both sets of splits together; exact and in any order."""
    return BudgetTally(combine(left.scores, right.scores), left.labels + right.labels)


def merge(votes: VoteMatrix, spec: LabelBudgetSpec, partial: BudgetTally) -> LabelBudget:
    """Levels, differences, labels needed and learning curves from whatever splits are in."""
    prepared = prepare(votes, spec.settings)
    ballots, done = prepared.ballots, partial.scores.in_order()
    plan = planned(prepared, spec)
    sizes = spec.sizes(ballots.n_judges)
    labels = partial.labels / len(done.numbers)
    found = budget_estimates(
        done,
        ballots.units,
        labels,
        calibrators=spec.calibrators,
        panels=sizes,
        within=spec.within,
        target=spec.target,
        seed=spec.settings.seed,
    )
    return LabelBudget(
        budgets=plan.budgets,
        labels=labels,
        panels=sizes,
        calibrators=spec.calibrators,
        aggregator=spec.aggregator,
        within=spec.within,
        target=spec.target,
        **found,
        null_nll=done.null_nll.mean(axis=0),
        constant_nll=done.constant_nll.mean(axis=0),
        n_judges=ballots.n_judges,
        **run_fields(prepared, spec.settings, done),
        warnings=_warnings(prepared, spec, plan, done),
    )


def _warnings(
    prepared: Prepared, spec: LabelBudgetSpec, plan: Planned, done: Tally
) -> tuple[str, ...]:
    found = [*prepared.oriented.notices, *plan.left_out]
    found += few_labels(prepared, float(done.n_calibration.mean()))
    fits = len(done.numbers) * len(spec.sizes(prepared.ballots.n_judges))
    for name, replaced in zip(spec.calibrators, done.replaced, strict=True):
        if replaced.any():
            cases = ", ".join(
                f"{count} of {fits} at {n:,} labels"
                for n, count in zip(plan.budgets.tolist(), replaced.tolist(), strict=True)
                if count
            )
            found.append(not_fitted(name, cases))
    return tuple(found)


LABEL_BUDGET: Study[LabelBudgetSpec, BudgetTally, LabelBudget] = Study(
    name="label_budget",
    title="Label budget",
    question="How many labels do we need?",
    spec=LabelBudgetSpec,
    result=LabelBudget,
    run_chunk=run_chunk,
    combine=combine_tallies,
    merge=merge,
    figure="label_budget",
    page="label_budget",
)
