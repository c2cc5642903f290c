"""What dependence between judges costs, beside what independent judges would do."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.figures.robustness.jury import jury
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.studies.robustness.jury import PRIOR_VOTES, JurySpec
from judgepanel.studies.robustness.jury_result import Jury
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import interval, percent, sig, with_interval
from judgepanel.words.sentences import CODING

Floats = NDArray[np.float64]

_TINY = 1e-4


def jury_sentence(result: Jury) -> str:
    """What dependence costs the majority of all judges, and what they are worth."""
    if result.n_judges == 1:
        return "There is one judge only: no jury to compare with."
    error = _share(result.majority, result.majority_lo, result.majority_hi, -1)
    alone = _share(result.independent, result.independent_lo, result.independent_hi, -1)
    text = (
        f"A majority of all {result.n_judges:,} errs on {error} of new items; independent judges "
        f"of the same accuracies would on {alone}."
    )
    if result.gap_lo[-1] > 0:
        gap = _share(result.gap, result.gap_lo, result.gap_hi, -1)
        text += f" Dependence costs {gap} of the items."
    else:
        text += " No cost of dependence is shown."
    text += _worth(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _worth(result: Jury) -> str:
    n, lo, hi = (
        float(part[-1]) for part in (result.effective, result.effective_lo, result.effective_hi)
    )
    if not np.isfinite(n):
        return ""
    ends = f" {interval(lo, hi, 2)}" if np.isfinite(lo) and np.isfinite(hi) else ""
    return f" By its majority the panel is worth {sig(n, 2)}{ends} independent judges."


def bound_sentence(result: Jury) -> str:
    """What the paper's bound promises and what weighted votes do."""
    bound = float(result.jury_bound[-1])
    allowed = f"at most {percent(bound)}" if bound >= _TINY else "under 0.01 %"
    error = _share(result.one_coin, result.one_coin_lo, result.one_coin_hi, -1)
    text = (
        f"The jury bound lets the best weighting of {result.n_judges:,} independent judges err on "
        f"{allowed}; the one-coin vote errs on {error}."
    )
    if float(result.one_coin_lo[-1]) > bound:
        text += " The bound is right about independent judges, and these are not."
    return text


def jury_table(result: Jury) -> pd.DataFrame:
    """Errors, bounds and worth by panel size."""
    rows = range(len(result.k))
    return pd.DataFrame(
        {
            "judges": result.k,
            "right votes (half where none)": [
                percent(float(share), 3) for share in result.accuracy
            ],
            "majority errs": [
                _share(result.majority, result.majority_lo, result.majority_hi, i) for i in rows
            ],
            "one-coin errs": [
                _share(result.one_coin, result.one_coin_lo, result.one_coin_hi, i) for i in rows
            ],
            "independent judges would": [
                _share(result.independent, result.independent_lo, result.independent_hi, i)
                for i in rows
            ],
            "dependence costs": [
                _share(result.gap, result.gap_lo, result.gap_hi, i) if result.k[i] > 1 else ""
                for i in rows
            ],
            "worth": [
                f"{sig(float(n), 2)} {interval(float(lo), float(hi), 2)}"
                for n, lo, hi in zip(
                    result.effective, result.effective_lo, result.effective_hi, strict=True
                )
            ],
            "jury bound": [percent(float(part)) for part in result.jury_bound],
            "Hoeffding, weighted": [percent(float(part)) for part in result.hoeffding_weighted],
            "Hoeffding, majority": [percent(float(part)) for part in result.hoeffding_majority],
            "sum of C_k": result.jury_exponent,
            "E, weighted": result.weighted_exponent,
            "E, majority": result.majority_exponent,
            "no votes": percent(result.null_error),
        }
    )


def _share(value: Floats, lo: Floats, hi: Floats, i: int) -> str:
    """A share of the items in per cent, with its interval."""
    if float(value[i]) >= 0.0 and float(hi[i]) < _TINY:
        return "under 0.01 %"
    share, least, most = (100.0 * float(part[i]) for part in (value, lo, hi))
    ends = with_interval(share, least, most)
    number, _, rest = ends.partition(" ")
    return f"{number} % {rest}" if rest else f"{number} %"


def present(result: Jury, spec: JurySpec) -> list[Block]:
    """Measured errors by panel size, those of independent judges, and the bounds."""
    return [
        Answer(jury_sentence(result)),
        drawing(jury(result), "share of wrong decisions against the number of judges"),
        Paragraph(bound_sentence(result)),
        Paragraph(
            "Errors below 0.01 % are not drawn; the dotted line is deciding without votes.",
            quiet=True,
        ),
        Table(as_columns(jury_table(result))),
        Method(
            "Judges are ranked, and one-coin weights learned, on calibration items. Errors are "
            "those on the other items, and the accuracies that the theory is given are measured "
            f"there as well, pulled to the panel's mean by {PRIOR_VOTES:g} votes: what differs is "
            "how judges err together. The error of independent judges is exact, from the "
            "distribution of the number of right votes. The jury bound is half of exp(-sum C_k), "
            "C_k = -log(1 - (2p - 1)²)/2; Hoeffding's is exp(-E). 'Worth' is how many independent "
            "judges of the mean accuracy a majority would need to err as often."
        ),
    ]
