"""Individual judges: accuracy on all labelled items with an interval, and coverage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.interval import Interval
from judgepanel.votes import MISSING, VoteMatrix
from judgepanel.votes.orientation import constant_judges

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
