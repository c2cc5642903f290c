"""Label budget: all judges and the top k, fitted on decreasing numbers of labels.

In every split the calibration half is put in a random order, units whole, and budget n uses its
first n labels: ranking, weights and calibrators use only those. The evaluation half stays the same,
so budgets differ only in their labels.

All judges can also be evaluated under a second aggregator, with the same labels and calibrators.
Under ``average`` the recommendation is made again on the labels of every budget alone, weights of
its members included.

Cost per split: one evaluation of the panels for every budget, or one recommendation; calibrators of
all budgets and of several splits are fitted together. Memory is that of the scores of (panels x
budgets) arms of these splits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluate.calibrated import SplitScores
from judgepanel.kernels.evaluate.evaluation import evaluate_each
from judgepanel.scoring.descriptive import paper_joint
from judgepanel.scoring.inference import Estimate, estimate, joint_p, simultaneous_reach
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.roles import Sides
from judgepanel.scoring.splits import Split, nested_rows
from judgepanel.studies.accumulate import Arms, Bits, Tally, packed, tally, unpacked
from judgepanel.studies.budget.budget_plan import PanelsSpec, Planned, budget_arms, planned_budgets
from judgepanel.studies.budget.label_budget_result import LabelBudget
from judgepanel.studies.budget.readings import check_goals, read, unread
from judgepanel.studies.common import check_known, run_fields, splits_of
from judgepanel.studies.compare import RANGES
from judgepanel.studies.contest.recommended import AVERAGE, scored_average
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.notes import few_labels, not_fitted
from judgepanel.studies.partials import by_split, frozen
from judgepanel.studies.settings import Prepared, prepare
from judgepanel.votes import InputError, VoteMatrix

_CELLS = 2_000_000
"""Arms times items of the splits that are evaluated together."""


@dataclass(frozen=True, slots=True)
class LabelBudgetSpec(PanelsSpec):
    """Options of the label budget.

    ``budgets`` None uses nine on a log scale from 20 to the whole calibration half, which is always
    the last one. ``panels`` are sizes compared with all judges, as are all judges under the
    aggregator ``beside``. ``within`` is the tolerance, relative to the NLL of the largest budget,
    for a budget that is enough; ``target`` is an NLL to reach; ``have`` is the number of labels
    from which the price of more is computed, all labelled items if None.

    Raises
    ------
    InputError
        As for :class:`PanelsSpec`; a second aggregator that is unknown or equal to the first; a
        budget below 2; ``within``, ``target`` or ``have`` out of range.
    """

    budgets: tuple[int, ...] | None = field(
        default=None,
        metadata={"help": "numbers of labels, besides all that calibrate (default: nine from 20)"},
    )
    within: float = field(
        default=0.05,
        metadata={"help": "NLL excess over the largest budget that is still enough, as a fraction"},
    )
    target: float | None = field(default=None, metadata={"help": "an NLL to reach"})
    have: int | None = field(
        default=None,
        metadata={"help": "labels from which the next 100 are priced (default: all labelled)"},
    )
    beside: Aggregator | None = field(
        default=None,
        metadata={"help": "a second aggregator of all judges, compared with the first"},
    )

    SUBJECT: ClassVar[str] = "a label budget"

    def __post_init__(self) -> None:
        PanelsSpec.__post_init__(self)
        for n in self.budgets or ():
            if n < 2:
                raise InputError("a budget needs at least 2 labels", value=n, allowed="2 or more")
        check_goals(self.within, self.target, self.have)
        if self.beside is not None:
            check_known("aggregator", AGGREGATORS, (self.beside,))
        if self.beside == self.aggregator:
            raise InputError("both aggregators are the same", value=self.beside)

    def panel_sizes(self, n_judges: int) -> Ints:
        """Return all panel sizes (n_panels,); all judges of the second aggregator come first."""
        sizes = self.sizes(n_judges)
        return sizes if self.beside is None else np.insert(sizes, 0, n_judges)


def planned(prepared: Prepared, spec: LabelBudgetSpec) -> Planned:
    """Return the budgets that these votes allow; the last is always the whole calibration half."""
    return planned_budgets(prepared, spec.budgets, spec.settings.fraction)


@frozen
class BudgetTally:
    """Scores of the splits; ``labels`` uint8 (S, n_budgets, n_items / 8) are the labelled items to
    which panels of every budget were fitted, as packed bits.
    """

    scores: Tally
    labels: Bits = by_split()


def run_chunk(votes: VoteMatrix, spec: LabelBudgetSpec, chunk: Chunk) -> BudgetTally:
    """Evaluate all budgets on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots, settings = prepared.ballots, spec.settings
    budgets = planned(prepared, spec).budgets
    labels: list[list[Bits]] = []

    def scored() -> Iterator[tuple[Split, Arms]]:
        arms = len(budgets) * len(spec.panel_sizes(ballots.n_judges)) * len(spec.calibrators)
        step = max(1, _CELLS // (arms * ballots.n_items))
        splits = list(splits_of(prepared, settings, chunk))
        for together in (splits[start : start + step] for start in range(0, len(splits), step)):
            parts = [label_sets(split, ballots.units, budgets, settings.seed) for split in together]
            labels.extend([packed(rows, ballots.n_items) for rows in nested] for nested in parts)
            pieces = [
                Split(split.number, rows, split.evaluation)
                for split, nested in zip(together, parts, strict=True)
                for rows in nested
            ]
            panels = iter(_panels(ballots, pieces, spec))
            for split in together:
                yield split, budget_arms(list(islice(panels, len(budgets))))

    totals = tally(scored(), n_items=ballots.n_items, seed=settings.seed)
    return BudgetTally(totals, np.array(labels))


def _panels(
    ballots: Ballots, pieces: Sequence[Split], spec: LabelBudgetSpec
) -> list[list[SplitScores]]:
    """Scores of every budget: all judges under the second aggregator, then the first's panels."""
    ks = spec.sizes(ballots.n_judges)
    parts = [] if spec.beside is None else [_beside(ballots, pieces, spec, spec.beside)]
    if spec.aggregator != AVERAGE:
        parts.append(evaluate_each(ballots, pieces, ks, spec.recipe))
    else:
        if len(ks) > 1:
            parts.append(evaluate_each(ballots, pieces, ks[:-1], spec.recipe))
        parts.append([scored_average(ballots, piece, spec.settings.seed) for piece in pieces])
    return [list(scores) for scores in zip(*parts, strict=True)]


def _beside(
    ballots: Ballots, pieces: Sequence[Split], spec: LabelBudgetSpec, aggregator: Aggregator
) -> list[SplitScores]:
    recipe = replace(spec.recipe, aggregator=aggregator)
    return evaluate_each(ballots, pieces, np.array([ballots.n_judges]), recipe)


def label_sets(split: Split, units: Ints, budgets: Ints, seed: int) -> list[Ints]:
    """Return the nested calibration rows of every budget; the last budget has them all."""
    parts = nested_rows(
        units, split.calibration, budgets[:-1].tolist(), seed=seed, key=(split.number, 11)
    )
    return [*parts, split.calibration]


def merge(votes: VoteMatrix, spec: LabelBudgetSpec, partial: BudgetTally) -> LabelBudget:
    """Return levels, differences, labels needed and learning curves from the splits so far."""
    prepared = prepare(votes, spec.settings)
    ballots, totals = prepared.ballots, partial.scores
    plan = planned(prepared, spec)
    sizes = spec.panel_sizes(ballots.n_judges)
    calibrated = _calibrated(partial, ballots.n_items)
    labels = calibrated.sum(axis=2).mean(axis=1)
    result = LabelBudget(
        budgets=plan.budgets,
        labels=labels,
        panels=sizes,
        calibrators=spec.calibrators,
        aggregator=spec.aggregator,
        beside=spec.beside,
        **budget_estimates(
            totals,
            ballots.units,
            calibrated,
            n_calibrators=len(spec.calibrators),
            n_panels=len(sizes),
            seed=spec.settings.seed,
        ),
        **unread(len(spec.calibrators), len(sizes), labels, ballots.n_items),
        null_nll=totals.null_nll.mean(axis=0),
        constant_nll=totals.constant_nll.mean(axis=0),
        n_judges=ballots.n_judges,
        **run_fields(prepared, spec.settings, totals),
        warnings=_warnings(prepared, spec, plan, totals),
    )
    return read(result, within=spec.within, target=spec.target, have=spec.have)


def _calibrated(partial: BudgetTally, n_items: int) -> Bools:
    """Return which items calibrate (n_budgets, S, n_items), in the order of the splits."""
    return unpacked(partial.labels.swapaxes(0, 1), n_items)


def budget_estimates(
    tally: Tally,
    units: Ints,
    calibrated: Bools,
    *,
    n_calibrators: int,
    n_panels: int,
    seed: int,
) -> dict[str, Any]:
    """Return the score-based fields of :class:`LabelBudget`; NaN ends from a single split.

    ``calibrated`` (n_budgets, S, N) are the items to which panels of every budget were fitted. Arms
    are panels by budgets; budgets vary fastest; the last panel is the reference.
    """
    n_c, n_p, n_b = n_calibrators, n_panels, len(calibrated)
    labels = calibrated.sum(axis=2).mean(axis=1)
    sides = [Sides.of(inside, tally.scored(), units) for inside in calibrated]
    item_means, seen = tally.item_means()
    items = item_means[0, :, :-1].reshape(n_c, n_p, n_b, -1)
    splits = tally.split_means[:, 0, :, :-1].reshape(-1, n_c, n_p, n_b)
    levels, gaps = (n_c, n_p, n_b), (n_c, n_p - 1)
    nll = Interval.alone(items.mean(axis=-1))
    delta = Interval.alone((items[:, :-1] - items[:, [-1]]).mean(axis=-1))
    band = Interval.alone(delta.value)
    rest = {
        **{name: np.full(levels, np.nan) for name in ("level_se", "level_df")},
        "level_covariance": np.full((*levels, n_b), np.nan),
        **{
            name: np.full(gaps, np.nan)
            for name in ("joint_p", "paper_t", "paper_critical", "paper_p")
        },
    }

    def estimated(item_values: Floats, split_values: Floats) -> Estimate:
        return estimate(
            item_values,
            split_values,
            units[seen],
            labels,
            float(tally.n_evaluation.mean()),
            n_others=len(units) - labels,
            sides=sides,
        )

    for c, p in np.ndindex(levels[:2]) if len(splits) > 1 else ():
        level = estimated(items[c, p], splits[:, c, p])
        nll.lo[c, p], nll.hi[c, p] = (np.clip(end, *RANGES["nll"]) for end in (level.lo, level.hi))
        rest["level_se"][c, p], rest["level_df"][c, p] = level.se, level.df
        rest["level_covariance"][c, p] = level.covariance
    for c, p in np.ndindex(gaps) if len(splits) > 1 else ():
        apart = splits[:, c, p] - splits[:, c, -1]
        gap = estimated(items[c, p] - items[c, -1], apart)
        reach = simultaneous_reach(gap, seed=seed) * gap.se
        delta.lo[c, p], delta.hi[c, p] = gap.lo, gap.hi
        band.lo[c, p], band.hi[c, p] = gap.value - reach, gap.value + reach
        paper = paper_joint(apart, seed=seed)
        rest["joint_p"][c, p] = joint_p(gap, seed=seed)
        rest["paper_t"][c, p], rest["paper_critical"][c, p] = paper.t, paper.critical
        rest["paper_p"][c, p] = paper.p
    return {"nll": nll, "delta": delta, "band": band, **rest}


def _warnings(
    prepared: Prepared, spec: LabelBudgetSpec, plan: Planned, totals: Tally
) -> tuple[str, ...]:
    warnings = [*prepared.notices, *plan.left_out]
    warnings += few_labels(prepared, float(totals.n_calibration.mean()))
    fits = len(totals.numbers) * len(spec.panel_sizes(prepared.ballots.n_judges))
    for name, replaced in zip(spec.calibrators, totals.replaced, strict=True):
        if replaced.any():
            cases = ", ".join(
                f"{count} of {fits} at {n:,} labels"
                for n, count in zip(plan.budgets.tolist(), replaced.tolist(), strict=True)
                if count
            )
            warnings.append(not_fitted(name, cases))
    return tuple(warnings)


# All splits are run: from 20 of them the labels needed are too few.
LABEL_BUDGET: Study[LabelBudgetSpec, BudgetTally, LabelBudget] = Study(
    name="label_budget",
    title="Label budget",
    question="How many labels do we need?",
    spec=LabelBudgetSpec,
    result=LabelBudget,
    partial=BudgetTally,
    run_chunk=run_chunk,
    merge=merge,
    first=2,
)
