"""Arms of one split: all judges, or some of them, under each of several aggregators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluate.calibrated import SplitScores
from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def without(ballots: Ballots, drop: NDArray[np.bool_]) -> Ballots:
    """Return the same items without the judges in the mask."""
    unlabelled = None if ballots.unlabelled is None else ballots.unlabelled[:, ~drop]
    ties = None if ballots.ties is None else ballots.ties[:, ~drop]
    margins = None if ballots.margins is None else ballots.margins[:, ~drop]
    return replace(
        ballots,
        votes=ballots.votes[:, ~drop],
        unlabelled=unlabelled,
        ties=ties,
        margins=margins,
    )


def all_judges(ballots: Ballots, split: Split, recipe: Recipe) -> SplitScores:
    """Score all judges of the ballots under one recipe."""
    return evaluate_split(ballots, split, np.array([ballots.n_judges]), recipe)


def joined_arms(scored: Sequence[SplitScores]) -> Arms:
    """Return the arms of one split side by side; all scores share a single calibrator."""
    (name,) = scored[0].evaluation
    held = [scores.evaluation[name] for scores in scored]

    def stacked(field: str) -> Floats:
        return np.concatenate([getattr(scores, field) for scores in held])[None]

    n_arms = sum(len(scores.nll) for scores in held)
    return Arms(
        nll=stacked("nll"),
        brier=stacked("brier"),
        hit=stacked("hit"),
        ece=stacked("ece"),
        chosen_on=np.zeros((1, n_arms)),
        null_nll=scored[0].null_nll,
        constant_nll=np.array([scored[0].constant_nll[name]]),
        replaced=np.array([sum(scores.replaced[name] for scores in scored)]),
    )
