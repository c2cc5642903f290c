"""Individual judges: accuracy on all labelled items with an interval, and coverage.

What the grades of judges tell: the share of right votes by their distance from the threshold.

Votes are put into the bands of :mod:`kernels.graded`, cut without labels on all labelled
items. Swapping the two responses of an item changes no distance, so the two sides of the threshold
count together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.graded import levels_on
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Prepared
from judgepanel.votes import MISSING, VoteMatrix
from judgepanel.votes.matrix import constant_judges

FAMILY = "family"


@dataclass(frozen=True, slots=True, eq=False)
class JudgeTable:
    """All arrays are (n_judges,), in the order of the file.

    ``correct`` of ``voted`` labelled items; ``accuracy`` their ratio (NaN without votes) with a 95
    % Wilson interval; ``coverage`` in [0, 1] over all items; ``constant`` marks judges with the
    same verdict on every item.
    """

    judges: tuple[str, ...]
    correct: Ints
    voted: Ints
    accuracy: Interval
    coverage: Floats
    constant: NDArray[np.bool_]

    def frame(self) -> pd.DataFrame:
        """One row per judge, most accurate first."""
        frame = pd.DataFrame(
            {
                "judge": list(self.judges),
                "accuracy": self.accuracy.value,
                "lo": self.accuracy.lo,
                "hi": self.accuracy.hi,
                "correct": self.correct,
                "voted": self.voted,
                "coverage": self.coverage,
                "constant": self.constant,
            }
        )
        return frame.sort_values("accuracy", ascending=False, kind="stable", ignore_index=True)


def judge_table(votes: VoteMatrix) -> JudgeTable:
    """Return the accuracy and coverage of every judge."""
    cast = votes.votes[votes.labelled]
    voted = (cast != MISSING).sum(axis=0)
    correct = (cast == votes.labels[votes.labelled, None]).sum(axis=0)
    return JudgeTable(
        judges=votes.judges,
        correct=correct,
        voted=voted,
        accuracy=share_right(correct, voted),
        coverage=votes.coverage,
        constant=constant_judges(votes),
    )


def share_right(correct: Ints, voted: Ints) -> Interval:
    """Return accuracies with Wilson intervals; NaN without votes."""
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = correct / voted
    lo, hi = wilson(correct, voted)
    return Interval(accuracy, lo, hi, unit="share")


def families_of(votes: VoteMatrix) -> tuple[str, ...]:
    """Return every judge's family in the judge table, '' if it gives none."""
    if votes.judge_table is None or FAMILY not in votes.judge_table:
        return ("",) * votes.n_judges
    given = votes.judge_table[FAMILY]
    return tuple("" if pd.isna(name) else str(name) for name in given)


def wilson(successes: Ints | Floats, trials: Ints | Floats) -> tuple[Floats, Floats]:
    """95 % Wilson score interval of a share (1927, doi:10.2307/2276774); [0, 1] without trials.

    Trials need not be integers: an effective number is valid.
    """
    z = distributions.Z_95
    n = np.where(trials > 0, trials, 1).astype(float)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    none = trials == 0
    lo = np.where(none, 0.0, np.clip(centre - reach, 0.0, 1.0))
    hi = np.where(none, 1.0, np.clip(centre + reach, 0.0, 1.0))
    return lo, hi


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
