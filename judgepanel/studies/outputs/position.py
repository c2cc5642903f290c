"""Does a judge say the same when the order is turned around, and which place does it prefer?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from judgepanel.studies.judges.judge_table import wilson
from judgepanel.votes.coverage import Coverage

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """All arrays are (n_judges,), of the judges with a verdict in both orders on some item.

    ``both`` items each; ``consistent`` the share in [0, 1] with the same verdict in both orders,
    with a 95 % Wilson interval; ``lean`` in [-1, 1] the share with both verdicts for what was shown
    first less the share with both for what was shown second, with a 95 % interval. Each interval
    is for one judge alone.
    """

    judges: tuple[str, ...]
    both: Ints
    consistent: Floats
    consistent_lo: Floats
    consistent_hi: Floats
    lean: Floats
    lean_lo: Floats
    lean_hi: Floats

    def frame(self) -> pd.DataFrame:
        """One row per judge, the least consistent first."""
        frame = pd.DataFrame(
            {
                "judge": list(self.judges),
                "items": self.both,
                "consistent": self.consistent,
                "consistent_lo": self.consistent_lo,
                "consistent_hi": self.consistent_hi,
                "lean": self.lean,
                "lean_lo": self.lean_lo,
                "lean_hi": self.lean_hi,
            }
        )
        return frame.sort_values("consistent", kind="stable", ignore_index=True)


def positions(coverage: Coverage) -> Positions | None:
    """Self-consistency and lean of every judge; None where no item was read in both orders."""
    seen = [judge for judge in coverage.judges if judge.both]
    if not seen:
        return None
    both, same, first = (
        np.array([getattr(judge_coverage, name) for judge_coverage in seen], dtype=np.int64)
        for name in ("both", "same", "both_first")
    )
    lo, hi = wilson(same, both)
    lean_lo, lean_hi = lean_interval(first, both - same - first, both)
    return Positions(
        judges=tuple(judge_coverage.judge for judge_coverage in seen),
        both=both,
        consistent=same / both,
        consistent_lo=lo,
        consistent_hi=hi,
        lean=(2 * first - (both - same)) / both,
        lean_lo=lean_lo,
        lean_hi=lean_hi,
    )


def lean_interval(
    first: Ints, second: Ints, items: Ints, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Interval of the difference of two shares of the same items.

    Agresti and Min 2005 (doi:10.1002/sim.1781): Wald's interval after half an item was added to
    each of the four cells of the 2 x 2 table.
    """
    z = float(stats.norm.ppf(0.5 + level / 2.0))
    n = items + 2.0
    first_share, other = (first + 0.5) / n, (second + 0.5) / n
    reach = z * np.sqrt((first_share + other - (first_share - other) ** 2) / n)
    return np.maximum(first_share - other - reach, -1.0), np.minimum(
        first_share - other + reach, 1.0
    )
