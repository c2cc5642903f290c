"""P1 on the outputs themselves: the share of them that was read as a verdict, judge by judge."""

from __future__ import annotations

import numpy as np

from judgepanel.studies.judges.judge_table import wilson
from judgepanel.studies.scope.parse import FILTER_RATE, REVIEW_RATE
from judgepanel.votes.checks import Check, Outcome
from judgepanel.votes.coverage import Coverage
from judgepanel.votes.errors import listed, quote_value


def check_outputs(coverage: Coverage) -> Check:
    """Pass where every judge is read on 90 % of its outputs or more, fail at 70 % or less.

    The thresholds are those of arXiv 2605.09702 (appendix on scope). Outputs that were never
    asked for do not count, so votes may be sparse.
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
