"""What the grades of judges tell: the share of right votes by their distance from the threshold.

Votes are put into the bands of :mod:`kernels.aggregate.levels`, cut without labels on all labelled
items. Swapping the two responses of an item changes no distance, so the two sides of the threshold
count together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.levels import levels_on
from judgepanel.scoring.interval import Interval
from judgepanel.studies.judges.judge_table import share_right
from judgepanel.studies.settings import Prepared


@dataclass(frozen=True, slots=True, eq=False)
class GradeCurve:
    """All arrays are (n_bands,), nearest to the ``threshold`` first.

    ``nearest``, ``median`` and ``farthest`` are distances of grades from the threshold, in their
    units; ``correct`` of ``voted`` votes on labelled items are right; ``accuracy`` is their ratio
    with a 95 % Wilson interval.
    """

    judge: str
    threshold: float
    nearest: Floats
    median: Floats
    farthest: Floats
    correct: Ints
    voted: Ints
    accuracy: Interval

    @property
    def tells(self) -> bool:
        """Whether the interval of the farthest band is above that of the nearest."""
        return bool(self.accuracy.lo[-1] > self.accuracy.hi[0])

    @property
    def nearer(self) -> Floats:
        """Share of the judge's votes that are nearer to the threshold than a band's middle."""
        return np.asarray((np.cumsum(self.voted) - self.voted / 2.0) / self.voted.sum())


def grade_curves(prepared: Prepared) -> tuple[GradeCurve, ...]:
    """Return the curve of every judge with grades, most accurate first."""
    curves = _curves(prepared, prepared.judges)
    return tuple(sorted(curves, key=lambda curve: -curve.correct.sum() / curve.voted.sum()))


def grade_curve(prepared: Prepared, judge: str) -> GradeCurve | None:
    """Return the curve of a judge; None if it gave no grades, or was set aside."""
    return next(_curves(prepared, (judge,)), None)


def _curves(prepared: Prepared, judges: Sequence[str]) -> Iterator[GradeCurve]:
    """Yield the curves of those of these judges that gave grades."""
    votes, ballots = prepared.oriented.votes, prepared.ballots
    if votes.thresholds is None or ballots.margins is None:
        return
    levels = levels_on(ballots, np.arange(ballots.n_items))
    bands = levels.bands(ballots.margins, ballots.n_items)
    for j, judge in enumerate(votes.judges):
        voted = ballots.votes[:, j] != 0
        if judge in judges and voted.any() and not np.isnan(votes.thresholds[j]):
            right = (ballots.votes[:, j] == ballots.signs)[voted]
            margins = ballots.margins[voted, j]
            yield _curve(judge, float(votes.thresholds[j]), right, margins, bands[voted, j])


def _curve(
    judge: str, threshold: float, right: Bools, margins: Floats, bands: NDArray[np.int8]
) -> GradeCurve:
    """Return the curve of a judge from its votes, all (n_votes,)."""
    inside = [bands == band for band in np.unique(bands)]
    counts = np.array([rows.sum() for rows in inside], dtype=np.int64)
    correct = np.array([right[rows].sum() for rows in inside], dtype=np.int64)
    nearest, median, farthest = (
        np.array([of(margins[rows]) for rows in inside]) for of in (np.min, np.median, np.max)
    )
    return GradeCurve(
        judge,
        threshold,
        nearest,
        median,
        farthest,
        correct,
        counts,
        share_right(correct, counts),
    )
