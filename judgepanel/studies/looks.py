"""How many splits an answer needs: when to look, and when what is seen is enough.

Splits are run in their order and looked at after ``LOOKS`` of them. These places are fixed, so the
number of splits depends on votes, spec and seed, and not on workers or chunks. A look is enough
when no verdict could still change: shifted by ``REACH`` Monte Carlo errors to either side, every
headline difference has the same verdict. The Monte Carlo error is the part of a standard error that
more splits would remove; intervals contain it (:mod:`judgepanel.scoring.inference`), so they hold
at every look, and from ``FEWEST`` splits on they are at most a few percent wider than with any
number of splits.

A study says which intervals of its result decide, and against which margins (:func:`steady`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.distributions import norm_ppf
from judgepanel.scoring.inference import MARGIN, Estimate, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix

LOOKS = (4, 10, 20, 30, 50, 70, 100)
FEWEST = 20
FEWEST_OF_MANY = 4
"""Splits that are always run; fewer suffice where each of them scores ``MANY`` items."""
MANY = 20_000
REACH = 3.0
MOST_OF_REACH = 0.2
"""Largest Monte Carlo error of a figure that decides, as a share of the half width of its interval.

One of two standard errors to either side is then at most 9 % wider than with any number of splits.
"""

Deciding = Iterable[tuple[Interval, float | NDArray[np.float64]]]
"""Figures that decide, each with the margins that it is compared with; 0 where its sign decides."""


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
    return _same(differences.lo, differences.hi, differences.monte_carlo, margins)


def steady(
    merge: Callable[[VoteMatrix, Any, Any], Any], deciding: Callable[[Any], Deciding]
) -> Callable[[VoteMatrix, Any, Any], bool]:
    """Return a ``settled`` that looks at those figures of the merged result that decide."""

    def settled(votes: VoteMatrix, spec: Any, partial: Any) -> bool:
        return all(holds(*entry) for entry in deciding(merge(votes, spec, partial)))

    return settled


def inside(figure: Interval, margin: float | NDArray[np.float64]) -> Deciding:
    """Return what decides whether a figure lies inside its margins by two one-sided tests."""
    within = at_level(figure, 0.9)
    return [(within, margin), (-within, margin)]


def at_level(figure: Interval, level: float) -> Interval:
    """Return about the interval of another level, by quantiles of the normal distribution."""
    ours, theirs = norm_ppf(0.5 + np.array([level, figure.level]) / 2.0)
    down, up = (ours / theirs * (end - figure.value) for end in (figure.lo, figure.hi))
    return replace(figure, lo=figure.value + down, hi=figure.value + up, level=level)


def holds(figure: Interval, margin: float | NDArray[np.float64]) -> bool:
    """Return whether more splits would neither narrow these intervals nor change their verdicts."""
    if figure.monte_carlo is None:
        return False
    lo, hi, error = (np.ravel(part) for part in (figure.lo, figure.hi, figure.monte_carlo))
    # Without an interval nothing was estimated; an interval of one point is known.
    open_ = np.isfinite(lo) & np.isfinite(hi) & (hi > lo)
    lo, hi, error = lo[open_], hi[open_], error[open_]
    margins = np.ravel(np.broadcast_to(margin, figure.shape))[open_]
    narrow = error <= MOST_OF_REACH * (hi - lo) / 2.0
    return bool(narrow.all()) and _same(lo, hi, error, margins)


def _same(
    lo: NDArray[np.float64],
    hi: NDArray[np.float64],
    error: NDArray[np.float64],
    margins: NDArray[np.float64],
) -> bool:
    """Return whether verdicts stay the same if intervals move by ``REACH`` errors either way."""
    ends = zip(lo, hi, REACH * error, margins, strict=True)
    return all(
        verdict(low - shift, high - shift, margin) == verdict(low + shift, high + shift, margin)
        for low, high, shift, margin in ends
    )
