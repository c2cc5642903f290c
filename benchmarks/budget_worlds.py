"""Simulated data sets with arms that are equal by construction or with known learning curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.scenarios import EVEN, N_JUDGES, SPREAD, Scenario, draw, part
from judgepanel.arrays import Floats
from judgepanel.kernels.aggregation import panel_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import fit
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.scoring.metrics import item_scores
from judgepanel.scoring.splits import Split, split
from judgepanel.studies.accumulate import Arms, tally
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.trust.label_budget import (
    LABEL_BUDGET,
    NEXT,
    LabelBudget,
    LabelBudgetSpec,
    budget_estimates,
    label_sets,
    read,
)
from judgepanel.votes.simulate import SimulationSpec, simulate

N_ITEMS = 160
BUDGETS = np.array([20, 32, 50, 80])
GRID = np.array([20, 23, 27, 32, 37, 43, 50, 58, 68, 80, N_ITEMS, N_ITEMS + NEXT])
TOP = 3
RECIPE = Recipe("one_coin", ("temperature",))
TRUTH_ITEMS = 400

_BASE = SimulationSpec(n_judges=N_JUDGES, costs=False)
_HARD = replace(_BASE, difficulty_sd=1.0)


def halves(name: str, gap: float = 0.0, **options: object) -> Scenario:
    """Two halves of judges that differ only by ``gap`` in accuracy; the arms are equal without it.

    The judges of a half are drawn alike but fitted to their own votes, so the arms differ on every
    data set, but not in expectation.
    """
    accuracies = tuple(a + gap * (j >= N_JUDGES // 2) for j, a in enumerate(EVEN))
    return Scenario(name, replace(_BASE, accuracies=accuracies, **options), halves=True)  # type: ignore[arg-type]


EQUAL = (
    halves("independent judges"),
    halves("hard items, one family", difficulty_sd=1.0, n_families=1, family_rho=0.3),
    halves("items in groups of 4", difficulty_sd=1.0, items_per_group=4, group_rho=0.5),
)
APART = tuple(halves(f"{gap:.0%} more accurate", gap) for gap in (0.02, 0.04, 0.08))
CURVES = (
    Scenario("independent judges", replace(_BASE, accuracies=SPREAD)),
    Scenario("hard items, families", replace(_HARD, accuracies=SPREAD, n_families=3)),
    Scenario("weak judges", replace(_BASE, accuracies=tuple(0.5 + (a - 0.5) / 2 for a in SPREAD))),
)


def data_sets(world: Scenario, n: int, seed: int) -> Iterator[Ballots]:
    """Yield ``n`` data sets of new items under the world's panel."""
    ballots = draw(world, n * N_ITEMS, seed)
    for start in range(0, n * N_ITEMS, N_ITEMS):
        yield part(ballots, slice(start, start + N_ITEMS))


def raw_scores(world: Scenario, ballots: Ballots, one_split: Split) -> tuple[Floats, Floats]:
    """Raw logits (2, n) of both arms on both sides: the halves, or the top 3 and all judges."""
    if not world.halves:
        scores = panel_scores(ballots, one_split, np.array([TOP, N_JUDGES]))
        return scores.calibration, scores.evaluation
    half = N_JUDGES // 2
    sides = [
        panel_scores(
            replace(ballots, votes=np.ascontiguousarray(votes)), one_split, np.array([half])
        )
        for votes in (ballots.votes[:, :half], ballots.votes[:, half:])
    ]
    calibration = np.concatenate([side.calibration for side in sides])
    return calibration, np.concatenate([side.evaluation for side in sides])


def item_nll(world: Scenario, ballots: Ballots, pieces: Sequence[Split]) -> Floats:
    """NLL (len(pieces), 2, m) of both arms on the evaluation rows of splits of equal size.

    The maps of all splits are fitted in one call; :func:`check` compares them with the study's.
    """
    raw = [raw_scores(world, ballots, piece) for piece in pieces]
    seen = [ballots.signs[piece.calibration].astype(np.float64) for piece in pieces]
    held = [ballots.signs[piece.evaluation].astype(np.float64) for piece in pieces]
    fitted = fit(
        ("temperature",), np.concatenate([entry for entry, _ in raw]), np.repeat(seen, 2, axis=0)
    )
    logits = fitted["temperature"](np.concatenate([other for _, other in raw]))
    nll = item_scores(logits, np.repeat(held, 2, axis=0)).nll
    return nll.reshape(len(pieces), 2, -1)


def check(world: Scenario, ballots: Ballots) -> None:
    """Check that a split scored in a batch has the study's scores."""
    pieces = [Split(0, rows, np.arange(80, N_ITEMS)) for rows in (np.arange(40), np.arange(20, 60))]
    batched = item_nll(world, ballots, pieces)
    ks = np.array([TOP, N_JUDGES])
    for piece, result in zip(pieces, batched, strict=True):
        alone = evaluate_split(ballots, piece, ks, RECIPE).evaluation["temperature"].nll
        np.testing.assert_allclose(result, alone, atol=1e-9)


@dataclass(frozen=True, slots=True, eq=False)
class Analyst:
    """The study applied to a data set: ``splits`` random halves and all of :data:`BUDGETS`."""

    splits: int
    blank: LabelBudget

    @classmethod
    def with_splits(cls, splits: int) -> Analyst:
        """An analyst for data sets of this size; the blank result only provides the shapes."""
        votes = simulate(replace(_BASE, n_items=N_ITEMS, accuracies=SPREAD))
        spec = LabelBudgetSpec(
            Settings(splits=2, orientation="as_given"),
            calibrators=RECIPE.calibrators,
            panels=(TOP,),
            budgets=tuple(BUDGETS[:-1].tolist()),
        )
        return cls(splits, run(LABEL_BUDGET, votes, spec, jobs=1))

    def scores(self, world: Scenario, ballots: Ballots) -> LabelBudget:
        """Levels, differences and tests of one data set, computed by the study's code."""
        drawn = [split(ballots.units, number) for number in range(self.splits)]
        sets = [label_sets(one_split, ballots.units, BUDGETS, 0) for one_split in drawn]
        nll = np.stack(
            [
                item_nll(
                    world,
                    ballots,
                    [
                        Split(one_split.number, rows[b], one_split.evaluation)
                        for one_split, rows in zip(drawn, sets, strict=True)
                    ],
                )
                for b in range(len(BUDGETS))
            ],
            axis=2,
        )
        scored = ((one_split, _arms(values)) for one_split, values in zip(drawn, nll, strict=True))
        calibrated = np.zeros((len(BUDGETS), len(sets), ballots.n_items), dtype=bool)
        for s, rows in enumerate(sets):
            for b, inside in enumerate(rows):
                calibrated[b, s, inside] = True
        estimates = budget_estimates(
            tally(scored, n_items=ballots.n_items, seed=0),
            ballots.units,
            calibrated,
            n_calibrators=1,
            n_panels=2,
            seed=0,
        )
        labels = calibrated.sum(axis=2).mean(axis=1)
        return replace(self.blank, **estimates, labels=labels, n_splits=self.splits)

    def reading(self, world: Scenario, ballots: Ballots, target: float) -> LabelBudget:
        """The same, with labels needed and the price of more labels."""
        return read(self.scores(world, ballots), target=target, have=N_ITEMS)


def _arms(nll: Floats) -> Arms:
    """Arms of one split from their NLL (2, n_budgets, m) only; budgets vary fastest."""
    values = nll.reshape(-1, nll.shape[-1])
    blank = np.zeros((1, len(values)))
    return Arms(
        nll=[values],
        brier=[values],
        hit=[values],
        ece=blank,
        chosen_on=blank,
        null_nll=np.zeros(nll.shape[1]),
        constant_nll=np.zeros((1, nll.shape[1])),
        replaced=np.zeros((1, nll.shape[1]), dtype=np.int64),
    )


def expected_levels(world: Scenario, repeats: int, seed: int) -> Floats:
    """NLL (repeats, 2, len(GRID)) of both arms, fitted on fresh labels, on fresh items."""
    size = int(GRID[-1]) + TRUTH_ITEMS
    ballots = draw(world, repeats * size, seed)
    rows = np.arange(repeats * size).reshape(repeats, size)
    held = rows[:, GRID[-1] :]
    levels = np.empty((repeats, 2, len(GRID)))
    for g, n in enumerate(GRID.tolist()):
        pieces = [Split(0, own[:n], own_held) for own, own_held in zip(rows, held, strict=True)]
        levels[:, :, g] = item_nll(world, ballots, pieces).mean(axis=-1)
    return levels
