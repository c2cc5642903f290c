"""Which share of the items should calibrate? All judges and the top k at shares from 5 to 70 %.

The paper's sweep of the calibration fraction (its appendix "Additional Scope Diagnostics"). In
every split the items are put in one random order: a share takes the first of them to calibrate,
and all others evaluate. A larger share fits panels on more labels and leaves fewer items to score.

Cost per split: one evaluation of the panels for every share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.aggregate.prefixes import RANKINGS, Ranking
from judgepanel.kernels.calibrate.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, combine, tally
from judgepanel.studies.budget.budget_plan import PlannedShares, planned_shares
from judgepanel.studies.budget.fraction_estimates import fraction_estimates
from judgepanel.studies.budget.fraction_sweep_result import FractionSweep, panel_names
from judgepanel.studies.budget.label_budget import budget_arms
from judgepanel.studies.budget.readings import check_goals
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

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


@dataclass(frozen=True, slots=True)
class FractionSweepSpec:
    """Which shares of the items calibrate; that of the settings plays no part.

    ``panels`` are sizes held against all judges. ``within`` is how near to the NLL at the largest
    share counts as there.

    Raises
    ------
    InputError
        An aggregator, calibrator or ranking that is not known; no calibrator, or one given twice;
        a panel below 1; fewer than two shares, one given twice or outside (0, 1); ``within``
        outside (0, 1).
    """

    settings: Settings = Settings()
    aggregator: Aggregator = field(default="one_coin", metadata={"help": "how votes are summed"})
    calibrators: tuple[Calibrator, ...] = field(
        default=("beta", "temperature"), metadata={"help": "calibrators of both arms"}
    )
    panels: tuple[int, ...] = field(
        default=(5,), metadata={"help": "panel sizes held against all judges"}
    )
    ranking: Ranking = field(default="accuracy", metadata={"help": "which judges come first"})
    shares: tuple[float, ...] = field(
        default=SHARES, metadata={"help": "shares of the items that calibrate"}
    )
    within: float = field(
        default=0.05, metadata={"help": "how near to the NLL at the largest share counts as there"}
    )

    def __post_init__(self) -> None:
        check_known("aggregator", AGGREGATORS, (self.aggregator,))
        check_known("calibrator", CALIBRATORS, self.calibrators)
        check_known("ranking", RANKINGS, (self.ranking,))
        check_each_once("a sweep", "calibrator", CALIBRATORS, self.calibrators)
        check_panels(self.panels)
        if len(set(self.shares)) < max(2, len(self.shares)):
            raise InputError(
                "a sweep needs two calibration shares or more, each once",
                value=", ".join(f"{share:g}" for share in self.shares),
            )
        for share in self.shares:
            if not 0.0 < share < 1.0:
                raise InputError(
                    "a calibration share is out of range", value=share, allowed="between 0 and 1"
                )
        check_goals(self.within, None, None)

    @property
    def recipe(self) -> Recipe:
        """The recipe every share of every split follows."""
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


def planned(prepared: Prepared, spec: FractionSweepSpec) -> PlannedShares:
    """The shares these votes allow."""
    return planned_shares(prepared, spec.shares)


Tallies = tuple[Tally, ...]
"""Scores of the splits, share by share."""


def run_chunk(votes: VoteMatrix, spec: FractionSweepSpec, chunk: Chunk) -> Tallies:
    """Evaluate every share on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    ks = spec.sizes(ballots.n_judges)

    def scored(share: float) -> Iterator[tuple[Split, Arms]]:
        for split in splits_of(prepared, replace(spec.settings, fraction=share), chunk):
            yield split, budget_arms([[evaluate_split(ballots, split, ks, spec.recipe)]])

    return tuple(
        tally(scored(share), n_items=ballots.n_items, seed=spec.settings.seed)
        for share in planned(prepared, spec).shares.tolist()
    )


def combine_tallies(left: Tallies, right: Tallies) -> Tallies:
    """Both sets of splits together; exact and in any order."""
    return tuple(combine(first, other) for first, other in zip(left, right, strict=True))


def merge(votes: VoteMatrix, spec: FractionSweepSpec, partial: Tallies) -> FractionSweep:
    """Levels, differences and the share that is enough, from whatever splits are in."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    plan = planned(prepared, spec)
    sizes = spec.sizes(ballots.n_judges)
    tallies = tuple(entry.in_order() for entry in partial)
    run = run_fields(prepared, spec.settings, tallies[-1])
    del run["n_evaluation"]
    return FractionSweep(
        shares=plan.shares,
        panels=sizes,
        calibrators=spec.calibrators,
        aggregator=spec.aggregator,
        within=spec.within,
        labels=np.array([one_tally.n_calibration.mean() for one_tally in tallies]),
        evaluated=np.array([one_tally.n_evaluation.mean() for one_tally in tallies]),
        **fraction_estimates(
            tallies,
            ballots.units,
            plan.shares,
            calibrators=spec.calibrators,
            arms=panel_names(sizes),
            within=spec.within,
            seed=spec.settings.seed,
        ),
        null_nll=np.array([one_tally.null_nll.mean() for one_tally in tallies]),
        constant_nll=np.stack(
            [one_tally.constant_nll.mean(axis=0)[:, 0] for one_tally in tallies], axis=1
        ),
        n_judges=ballots.n_judges,
        **run,
        warnings=_warnings(prepared, spec, plan, tallies),
    )


def _warnings(
    prepared: Prepared, spec: FractionSweepSpec, plan: PlannedShares, tallies: Tallies
) -> tuple[str, ...]:
    warnings = [*prepared.oriented.notices, *plan.left_out]
    warnings += few_labels(prepared, float(tallies[-1].n_calibration.mean()))
    fits = len(tallies[0].numbers) * len(spec.sizes(prepared.ballots.n_judges))
    for c, name in enumerate(spec.calibrators):
        cases = [
            f"{count} of {fits} with {100 * share:g} %"
            for share, one_tally in zip(plan.shares.tolist(), tallies, strict=True)
            if (count := int(one_tally.replaced[c].sum()))
        ]
        if cases:
            warnings.append(not_fitted(name, ", ".join(cases)))
    return tuple(warnings)


FRACTION_SWEEP: Study[FractionSweepSpec, Tallies, FractionSweep] = Study(
    name="fraction_sweep",
    title="Calibration share",
    question="Which share of the items should calibrate?",
    spec=FractionSweepSpec,
    result=FractionSweep,
    run_chunk=run_chunk,
    combine=combine_tallies,
    merge=merge,
)
