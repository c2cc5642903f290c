"""Arms of one split side by side, and the panel without some judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluate.calibrated import SplitScores
from judgepanel.studies.accumulate import Arms
from judgepanel.studies.contest.averaged import only

Floats = NDArray[np.float64]


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


def joined_arms(scored: Sequence[SplitScores]) -> Arms:
    """Return the arms of one split side by side; all scores have a single calibrator."""
    held = [only(scores.evaluation) for scores in scored]

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
        constant_nll=np.array([only(scored[0].constant_nll)]),
        replaced=np.array([sum(only(scores.replaced) for scores in scored)]),
    )
