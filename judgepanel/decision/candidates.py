"""The candidates a recommendation chooses among, and how a choice is made on some rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.prefixes import ClosedForm, Ranking
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.evaluate.calibrated import SplitScores
from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split, inner_nll
from judgepanel.scoring.metrics import ItemScores
from judgepanel.scoring.splits import Split

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOP = (1, 3, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Candidate:
    """The ``k`` best of the judges under one pipeline; ``name`` says which panel it is."""

    name: str
    k: int
    aggregator: ClosedForm
    calibrator: Calibrator


@dataclass(frozen=True, slots=True)
class Grid:
    """Panels x aggregators x calibrators, in that nesting order (panels vary fastest)."""

    panels: tuple[tuple[str, int], ...]
    aggregators: tuple[ClosedForm, ...]
    calibrators: tuple[Calibrator, ...]

    def candidates(self) -> tuple[Candidate, ...]:
        """All candidates; positions follow :func:`scores`."""
        return tuple(
            Candidate(name, k, aggregator, calibrator)
            for aggregator in self.aggregators
            for calibrator in self.calibrators
            for name, k in self.panels
        )

    @property
    def sizes(self) -> Ints:
        """Distinct panel sizes, ascending."""
        return np.array(sorted({k for _, k in self.panels}), dtype=np.int64)


def grid(
    n_judges: int,
    aggregators: tuple[ClosedForm, ...],
    calibrators: tuple[Calibrator, ...],
    *,
    symmetric: bool,
) -> Grid:
    """{all, top-1, 3, 5, 10, 20, top half} x aggregators x calibrators, each size once.

    Under ``symmetric`` Platt coincides with temperature and is left out.
    """
    sizes: dict[int, str] = {n_judges: "all"}
    for k in TOP:
        if k < n_judges:
            sizes.setdefault(k, f"top-{k}")
    half = (n_judges + 1) // 2
    if half < n_judges:
        sizes.setdefault(half, f"top half ({half})")
    if symmetric:
        calibrators = tuple(name for name in calibrators if name != "platt")
    panels = tuple((sizes[k], k) for k in sorted(sizes))
    return Grid(panels, aggregators, calibrators)


@dataclass(frozen=True, slots=True, eq=False)
class CandidateScores:
    """Item scores (n_candidates, n_eval) and ECE (n_candidates,) on the rows held out."""

    items: ItemScores
    null_nll: float
    constant_nll: float
    replaced: int


def score_candidates(
    ballots: Ballots, split: Split, choices: Grid, ranking: Ranking
) -> CandidateScores:
    """Fit every candidate on the calibration rows of a split and score the others."""
    results: list[SplitScores] = [
        evaluate_split(
            ballots, split, choices.sizes, Recipe(aggregator, choices.calibrators, ranking)
        )
        for aggregator in choices.aggregators
    ]
    held = [result.evaluation[name] for result in results for name in choices.calibrators]

    def stacked(field: str) -> Floats:
        return np.concatenate([getattr(scores, field) for scores in held])

    return CandidateScores(
        ItemScores(stacked("nll"), stacked("brier"), stacked("hit"), stacked("ece")),
        null_nll=results[0].null_nll,
        constant_nll=results[0].constant_nll[choices.calibrators[-1]],
        replaced=sum(sum(result.replaced.values()) for result in results),
    )


def candidates_inner_nll(
    ballots: Ballots,
    rows: Ints,
    choices: Grid,
    *,
    ranking: Ranking,
    n_folds: int,
    seed: int,
    key: tuple[int, ...],
) -> Floats:
    """Cross-validated NLL (n_candidates,) on these rows alone: what a choice may look at."""
    found = [
        inner_nll(
            ballots,
            rows,
            choices.sizes,
            Recipe(aggregator, choices.calibrators, ranking, seed=seed),
            n_folds=n_folds,
            key=key,
        )
        for aggregator in choices.aggregators
    ]
    return np.concatenate([nll.ravel() for nll in found])
