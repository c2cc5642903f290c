"""The candidates a recommendation chooses among, and how a choice is made on some rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.aggregate.prefixes import Ranking
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.evaluate.calibrated import SplitScores
from judgepanel.kernels.evaluate.evaluation import Choice, Recipe, evaluate_split, inner_nll
from judgepanel.scoring.metrics import ItemScores
from judgepanel.scoring.splits import Split

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Panels = tuple[tuple[str, int], ...]

TOP = (1, 3, 5, 10, 20)
MAPS: tuple[Calibrator, ...] = ("none", "temperature", "platt", "beta")
SCALES: tuple[Calibrator, ...] = ("none", "temperature")


@dataclass(frozen=True, slots=True)
class Candidate:
    """The ``k`` best of the judges under one pipeline; ``name`` says which panel it is."""

    name: str
    k: int
    aggregator: Aggregator
    calibrator: Calibrator
    ranking: Ranking = "accuracy"


@dataclass(frozen=True, slots=True)
class Family:
    """Panels of one aggregator under several calibrators; they share their raw scores."""

    aggregator: Aggregator
    panels: Panels
    calibrators: tuple[Calibrator, ...]
    ranking: Ranking = "accuracy"

    @property
    def sizes(self) -> Ints:
        """Distinct panel sizes, ascending."""
        return np.array(sorted({k for _, k in self.panels}), dtype=np.int64)

    def recipe(self, seed: int) -> Recipe:
        """How its panels are built."""
        return Recipe(self.aggregator, self.calibrators, self.ranking, seed=seed)

    def candidates(self) -> tuple[Candidate, ...]:
        """Its candidates; panels vary fastest."""
        return tuple(
            Candidate(name, k, self.aggregator, calibrator, self.ranking)
            for calibrator in self.calibrators
            for name, k in self.panels
        )


@dataclass(frozen=True, slots=True)
class Candidates:
    """Families in a fixed order."""

    families: tuple[Family, ...]

    def all(self) -> tuple[Candidate, ...]:
        """All candidates; positions follow :func:`score_candidates`."""
        return tuple(one for family in self.families for one in family.candidates())


def panels(n_judges: int, top: tuple[int, ...] = TOP) -> Panels:
    """{top-1, 3, 5, 10, 20, top half, all}, each size once, ascending."""
    sizes: dict[int, str] = {n_judges: "all"}
    for k in top:
        if k < n_judges:
            sizes.setdefault(k, f"top-{k}")
    half = (n_judges + 1) // 2
    if half < n_judges:
        sizes.setdefault(half, f"top half ({half})")
    return tuple((sizes[k], k) for k in sorted(sizes))


def _default(n_judges: int) -> tuple[Family, ...]:
    """Majority and one-coin at every size; joint at the larger ones, which it is for."""
    every = panels(n_judges)
    return (
        Family("majority", every, MAPS),
        Family("one_coin", every, MAPS),
        Family("joint", panels(n_judges, (20,)), SCALES),
    )


def _wide(n_judges: int) -> tuple[Family, ...]:
    """The default ones, every other aggregator, isotonic, and judges far from chance."""
    every, most = panels(n_judges), panels(n_judges, (20,))
    return (
        *_default(n_judges),
        Family("joint", panels(n_judges, (3, 5, 10)), ("beta",)),
        Family("accuracy_weighted", every, ("temperature", "beta")),
        Family("log_odds", every, ("temperature", "beta")),
        Family("one_coin", every, ("isotonic", "beta_cv")),
        Family("dawid_skene", most, SCALES),
        Family("dawid_skene_semi", most, SCALES),
        Family("stacking", most, SCALES),
        Family("one_coin", _far(n_judges), ("temperature", "beta"), "informativeness"),
        Family("joint", _far(n_judges), SCALES, "informativeness"),
    )


def _far(n_judges: int) -> Panels:
    """Panels of the judges farthest from chance, which anti-experts are too."""
    sizes = [k for k in (10, 20, 30) if k < n_judges]
    return tuple((f"{k} farthest from chance", k) for k in sizes)


LISTS: Mapping[str, Callable[[int], tuple[Family, ...]]] = MappingProxyType(
    {"default": _default, "wide": _wide}
)
"""Lists of candidates by name, from the number of judges."""


def candidates_of(name: str, n_judges: int, *, symmetric: bool) -> Candidates:
    """A list of candidates; under ``symmetric`` Platt coincides with temperature and is left out.

    Families without a panel (too few judges) are left out as well.
    """
    found = []
    for family in LISTS[name](n_judges):
        kept = tuple(c for c in family.calibrators if not (symmetric and c == "platt"))
        if family.panels:
            found.append(Family(family.aggregator, family.panels, kept, family.ranking))
    return Candidates(tuple(found))


@dataclass(frozen=True, slots=True, eq=False)
class CandidateScores:
    """Item scores (n_candidates, n_eval) and ECE (n_candidates,) on the rows held out; ``inner``
    (n_candidates,) is the cross-validated NLL on calibration rows, what a choice may look at.
    """

    items: ItemScores
    inner: Floats
    null_nll: float
    constant_nll: float
    replaced: int


def score_candidates(
    ballots: Ballots, split: Split, choices: Candidates, *, n_folds: int, seed: int
) -> CandidateScores:
    """Fit every candidate on the calibration rows of a split, score the others, and cross-validate
    on the calibration rows alone.
    """
    results: list[SplitScores] = [
        evaluate_split(
            ballots,
            split,
            family.sizes,
            family.recipe(seed),
            Choice(np.ones(len(family.sizes), dtype=bool), n_folds, (split.number, 1)),
        )
        for family in choices.families
    ]
    held = [
        result.evaluation[name]
        for result, family in zip(results, choices.families, strict=True)
        for name in family.calibrators
    ]

    def stacked(field: str) -> Floats:
        return np.concatenate([getattr(scores, field) for scores in held])

    return CandidateScores(
        ItemScores(stacked("nll"), stacked("brier"), stacked("hit"), stacked("ece")),
        inner=np.concatenate([result.chosen_on.ravel() for result in results]),
        null_nll=results[0].null_nll,
        constant_nll=results[0].constant_nll[choices.families[0].calibrators[-1]],
        replaced=sum(sum(result.replaced.values()) for result in results),
    )


def candidates_inner_nll(
    ballots: Ballots,
    rows: Ints,
    choices: Candidates,
    *,
    n_folds: int,
    seed: int,
    key: tuple[int, ...],
) -> Floats:
    """Cross-validated NLL (n_candidates,) on these rows alone."""
    found = [
        inner_nll(ballots, rows, family.sizes, family.recipe(seed), n_folds=n_folds, key=key)
        for family in choices.families
    ]
    return np.concatenate([nll.ravel() for nll in found])
