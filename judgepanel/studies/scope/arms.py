"""Arms of one split side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.evaluate.calibrated import SplitScores
from judgepanel.studies.accumulate import Arms
from judgepanel.studies.contest.recommended import only

Floats = NDArray[np.float64]


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
