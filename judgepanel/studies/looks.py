"""How many splits an answer needs: when to look, and when what is seen is enough.

Splits are run in their order and looked at after ``LOOKS`` of them. These places are fixed, so the
number of splits depends on votes, spec and seed, and not on workers or chunks. A look is enough
when no verdict could still change: shifted by ``REACH`` Monte Carlo errors to either side, every
headline difference has the same verdict. The Monte Carlo error is the part of a standard error that
more splits would remove; intervals contain it (:mod:`judgepanel.scoring.inference`), so they hold
at every look, and from ``FEWEST`` splits on they are at most a few percent wider than with any
number of splits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import MARGIN, Estimate, verdict
from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix

LOOKS = (4, 10, 20, 30, 50, 70, 100)
FEWEST = 20
FEWEST_OF_MANY = 4
"""Splits that are always run; fewer suffice where each of them scores ``MANY`` items."""
MANY = 20_000
REACH = 3.0


def is_open(settings: Settings) -> bool:
    """Return whether the number of splits is left to the answer; the paper's protocol fixes it."""
    return settings.splits is None and settings.protocol != "paper"


def looks(votes: VoteMatrix, settings: Settings, most: int) -> tuple[int, ...]:
    """Return the numbers of splits after which to look, the last of which is ``most``."""
    if not is_open(settings):
        return (most,)
    n_scored = (1.0 - settings.fraction) * int(np.count_nonzero(votes.labels >= 0))
    fewest = FEWEST_OF_MANY if n_scored >= MANY else FEWEST
    return (*(n for n in LOOKS if fewest <= n < most), most)


def always(*_: object) -> bool:
    """Settle a study without verdicts at the first look."""
    return True


def same_verdicts(differences: Estimate, levels: NDArray[np.float64] | float) -> bool:
    """Return whether more splits are unlikely to change the verdict of any difference.

    ``levels`` are the NLLs to which the margins are relative.
    """
    margins = np.broadcast_to(MARGIN * np.asarray(levels), differences.value.shape)
    reach = REACH * differences.monte_carlo
    return all(
        verdict(lo - shift, hi - shift, margin) == verdict(lo + shift, hi + shift, margin)
        for lo, hi, shift, margin in zip(
            differences.lo, differences.hi, reach, margins, strict=True
        )
    )
