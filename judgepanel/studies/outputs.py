"""Judge outputs: how many were readable, and does the order shown affect the verdicts?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.interval import Interval
from judgepanel.studies.results import long_frame
from judgepanel.studies.understand.judge_table import FILTER_RATE, REVIEW_RATE, wilson
from judgepanel.votes.checks import Check, Outcome
from judgepanel.votes.errors import listed, quote_value
from judgepanel.votes.table import Coverage


def check_outputs(coverage: Coverage) -> Check:
    """Pass if every judge is readable on at least 90 % of its outputs, fail at 70 % or less.

    The thresholds are those of arXiv 2605.09702 (appendix on scope). Outputs that were never
    requested do not count, so votes may be sparse.
    """
    rate = np.array([judge.rate for judge in coverage.judges])
    names = [judge.judge for judge in coverage.judges]
    bad = [names[j] for j in np.flatnonzero(rate <= FILTER_RATE)]
    patchy = [names[j] for j in np.flatnonzero((rate > FILTER_RATE) & (rate < REVIEW_RATE))]
    least = coverage.judges[int(rate.argmin())]
    lo, hi = wilson(np.array([least.read]), np.array([least.outputs]))
    numbers: dict[str, float | int | str] = {
        "outputs": coverage.outputs,
        "read": f"{100 * coverage.rate:.1f} %",
        "judges at 70 % or less": len(bad),
        "judges at 70 to 90 %": len(patchy),
    }
    why = (
        f"The least read judge is {quote_value(least.judge)}: {100 * least.rate:.0f} % "
        f"[{100 * lo[0]:.0f}, {100 * hi[0]:.0f}] of its {least.outputs:,} "
        f"output{'s' * (least.outputs != 1)}."
    )
    outcome: Outcome = "fail" if bad else "review" if patchy else "pass"
    advice = "Nothing to do."
    if bad or patchy:
        advice = (
            f"Look at what {listed(bad or patchy, 3)} wrote: ask for a strict form such as [[A]], "
            "give more tokens, or leave the judge out."
        )
    return Check("P1", "P1 Parse rate of the outputs", outcome, numbers, why, advice)


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Order effects of judges with verdicts in both orders on some item, least consistent first.

    All arrays are (n_judges,). ``both`` is the number of these items; ``consistent`` the share in
    [0, 1] with the same verdict in both orders, with a 95 % Wilson interval; ``lean`` in [-1, 1]
    the share with both verdicts for the response shown first minus the share with both for the one
    shown second, with a 95 % interval. Each interval is for a single judge.
    """

    judges: tuple[str, ...]
    both: Ints
    consistent: Interval
    lean: Interval

    def frame(self) -> pd.DataFrame:
        """Return one row per judge."""
        return long_frame(
            self.both.shape,
            {
                "judge": np.array(self.judges, dtype=object),
                "items": self.both,
                "consistent": self.consistent,
                "lean": self.lean,
            },
        )


def positions(coverage: Coverage) -> Positions | None:
    """Return consistency and lean of every judge; None if no item was read in both orders."""
    judges = [judge for judge in coverage.judges if judge.both]
    judges.sort(key=lambda judge: judge.same / judge.both)
    if not judges:
        return None
    both, same, first = (
        np.array([getattr(judge, name) for judge in judges], dtype=np.int64)
        for name in ("both", "same", "both_first")
    )
    consistent = Interval(same / both, *wilson(same, both), unit="share")
    second = both - same - first
    lean = Interval((first - second) / both, *lean_interval(first, second, both), unit="share")
    return Positions(tuple(judge.judge for judge in judges), both, consistent, lean)


def lean_interval(first: Ints, second: Ints, items: Ints) -> tuple[Floats, Floats]:
    """95 % interval of the difference of two shares of the same items.

    Agresti and Min 2005 (doi:10.1002/sim.1781): Wald's interval after adding half an item to each
    of the four cells of the 2 x 2 table.
    """
    z = distributions.Z_95
    n = items + 2.0
    first_share, other = (first + 0.5) / n, (second + 0.5) / n
    reach = z * np.sqrt((first_share + other - (first_share - other) ** 2) / n)
    return np.maximum(first_share - other - reach, -1.0), np.minimum(
        first_share - other + reach, 1.0
    )
