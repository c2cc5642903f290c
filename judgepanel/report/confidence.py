"""Whether the probabilities can be believed, and what is gained by answering only where sure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.report.numbers import counted, fixed, interval, p_value, percent, with_interval
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.report.tables import printed
from judgepanel.studies.confidence.conformal_result import Conformal
from judgepanel.studies.confidence.items_result import Items
from judgepanel.studies.confidence.probabilities import CALIBRATED as AFTER
from judgepanel.studies.confidence.probabilities import RAW as BEFORE
from judgepanel.studies.confidence.probabilities import STAGES
from judgepanel.studies.confidence.reliability_result import (
    FEW_ITEMS,
    STATED_BINS,
    Bins,
    Reliability,
)
from judgepanel.studies.confidence.selective_result import Selective

Floats = NDArray[np.float64]

ALPHA = 0.05
NOT_YET = "Not enough splits yet to say."
_ASKED = 0.9


def share_interval(value: float, lo: float, hi: float, digits: int = 2) -> str:
    """``89 % [86, 92]``: a share in per cent with its interval, n/a without one."""
    if not math.isfinite(value):
        return "n/a"
    if not (math.isfinite(lo) and math.isfinite(hi)):
        return f"{percent(value, digits)} [n/a]"
    places = max(0, digits - 2)
    return f"{100 * value:.{places}f} % [{100 * lo:.{places}f}, {100 * hi:.{places}f}]"


def share_of(found: Any, name: str, at: tuple[int, ...], digits: int = 3) -> str:
    """``89 % [86, 92]``: a field of a result and its ``_lo`` and ``_hi``, at one place."""
    value, lo, hi = (float(getattr(found, name + end)[at]) for end in ("", "_lo", "_hi"))
    return share_interval(value, lo, hi, digits)


def level_of(found: Any, name: str, at: tuple[int, ...], digits: int = 3) -> str:
    """``0.23 [0.14, 0.31]``: the same for a score."""
    value, lo, hi = (float(getattr(found, name + end)[at]) for end in ("", "_lo", "_hi"))
    return with_interval(value, lo, hi, digits) if math.isfinite(value) else "n/a"


def share_text(value: float) -> str:
    """``9.7 %``: a share without an interval."""
    return f"{100 * value:.1f} %" if math.isfinite(value) else "n/a"


def reliability_sentence(found: Reliability) -> str:
    """How often it is right when it says 90 %."""
    if found.n_splits < 2:
        return NOT_YET
    bins, b = found.binned(STATED_BINS), asked_bin(found)
    right = _right(bins, AFTER, b, 2)
    says = _says(bins, b)
    seldom = "" if _asked(bins) == b else f"It hardly ever says {percent(_ASKED)}. "
    text = f"{seldom}When it says {says}, it is right {right} of the time"
    if found.calibrator != "none":
        text += (
            f"; before calibration it said {percent(found.confidence[BEFORE], 3)} on average and "
            f"was right {percent(found.accuracy[BEFORE], 3)}"
        )
    text += "."
    if not beats_null(found):
        text += (
            f" It is not shown to beat the base rate: NLL {level_of(found, 'nll', (AFTER,))}, base "
            f"rate {fixed(found.null_nll, 3)}."
        )
    return f"{text} {CODING}" if found.measures_coding else text


def beats_null(found: Reliability) -> bool:
    """Whether the calibrated probabilities are shown to beat the base rate."""
    return bool(found.nll_hi[AFTER] < found.null_nll)


def believed(found: Reliability) -> bool:
    """Whether the answer's bin holds what it says, and the gaps are no more than chance."""
    bins, b = found.binned(STATED_BINS), asked_bin(found)
    within = bins.lo[AFTER, b] <= bins.confidence[AFTER, b] <= bins.hi[AFTER, b]
    return bool(within and found.ece_p[AFTER, 0] >= ALPHA and beats_null(found))


def asked_bin(found: Reliability) -> int:
    """The bin about 90 %, or the one with most items where hardly any are there."""
    bins = found.binned(STATED_BINS)
    b = _asked(bins)
    return b if bins.items[AFTER, b] >= FEW_ITEMS else int(bins.items[AFTER].argmax())


def _asked(bins: Bins) -> int:
    return int(np.searchsorted(bins.edges, _ASKED) - 1)


def _says(bins: Bins, b: int) -> str:
    """What a bin of the confidences people say is called."""
    lo, hi = float(bins.edges[b]), float(bins.edges[b + 1])
    if b == 0:
        return f"{percent(lo)} to {percent(hi)}"
    return f"{percent(lo)} or more" if hi == 1.0 else percent((lo + hi) / 2.0)


def _right(bins: Bins, stage: int, b: int, digits: int) -> str:
    ends = (float(part[stage, b]) for part in (bins.accuracy, bins.lo, bins.hi))
    value, lo, hi = ends
    return share_interval(value, lo, hi, digits)


def error_sentence(found: Reliability, bins: int) -> str:
    """The calibration error, and whether chance alone would explain it."""
    if found.n_splits < 2:
        return ""
    b = found.ece_bins.index(bins)
    ece = level_of(found, "ece", (AFTER, b), 2)
    chance = f"{fixed(float(found.ece_null[AFTER, b]), 3)} {_null_range(found, AFTER, b)}"
    p = float(found.ece_p[AFTER, b])
    verdict = "no more than chance" if p >= ALPHA else "more than chance explains"
    alone, luck = (float(part[AFTER, b]) for part in (found.ece_split, found.ece_split_null))
    start, before = "The", ""
    if found.calibrator != "none":
        start = "After calibration the"
        before = f"; before calibration it was {fixed(float(found.ece[BEFORE, b]), 3)}"
    return (
        f"{start} gap between stated and right averages {fixed(alone, 3)} within one "
        f"split (ECE, {bins} bins), where a panel whose every probability is right would show "
        f"{fixed(luck, 3)} by chance. The mean over the panels of all splits is off by {ece}, by "
        f"chance {chance}: {verdict} ({p_value(p)}). Corrected for the noise of items that is "
        f"{fixed(float(found.ece_corrected[AFTER, b]), 3)}{before}."
    )


def slope_sentence(found: Reliability) -> str:
    """Whether stated log-odds are too extreme or too timid."""
    slope, lo, hi = (float(part[AFTER]) for part in (found.slope, found.slope_lo, found.slope_hi))
    if not (math.isfinite(slope) and math.isfinite(lo)):
        return ""
    if hi < 1.0:
        verdict = "its probabilities are too extreme"
    elif lo > 1.0:
        verdict = "its probabilities are too timid"
    else:
        verdict = "nothing shows that its probabilities are too extreme or too timid"
    text = f"Calibration slope {with_interval(slope, lo, hi, 3)}, where 1 is right: {verdict}."
    before = float(found.slope[BEFORE])
    if math.isfinite(before) and found.calibrator != "none":
        text += f" Before calibration it was {fixed(before, 2)}."
    level = float(found.intercept[AFTER])
    if math.isfinite(level):
        ends = float(found.intercept_lo[AFTER]), float(found.intercept_hi[AFTER])
        text += f" Intercept {with_interval(level, *ends, sign=True)}, where 0 is right."
    return text


def bins_table(found: Reliability, name: str) -> pd.DataFrame:
    """Every bin that is not empty: stated, right with interval and items, after and before."""
    bins = found.binned(name)
    rows = []
    for b in range(bins.n_bins):
        if not bins.items[:, b].any():
            continue
        row = {"says": f"{100 * max(0.5, bins.edges[b]):.0f}-{100 * bins.edges[b + 1]:.0f} %"}
        for stage, when in ((AFTER, "after"), (BEFORE, "before")):
            full = bins.items[stage, b] > 0
            stated = float(bins.confidence[stage, b])
            row[f"{when}: says on average"] = percent(stated, 3) if full else ""
            row[f"{when}: right"] = _right(bins, stage, b, 3) if full else ""
            row[f"{when}: items"] = items_text(float(bins.items[stage, b])) if full else ""
        rows.append(row)
    return pd.DataFrame(rows)


def items_text(items: float) -> str:
    """A number of items that need not be whole."""
    return f"{items:.1f}" if items < FEW_ITEMS else f"{items:,.0f}"


def measures_table(found: Reliability) -> pd.DataFrame:
    """Every figure of calibration before and after, and what it would be by chance."""
    rows = [
        _row("NLL", found, "nll", f"{fixed(found.null_nll, 3)} (base rate)"),
        _row("accuracy", found, "accuracy", ""),
        _plain_row("mean stated confidence", found.confidence, "the accuracy"),
        _row("slope", found, "slope", "1"),
    ]
    if found.orientation == "symmetric":
        blank = "does not apply"
        rows.append({"figure": "intercept", "before": blank, "after": blank, _IDEAL: ""})
    else:
        rows.append(_row("intercept", found, "intercept", "0"))
    for b, n in enumerate(found.ece_bins):
        name = f"ECE, {n} bins"
        null = f"{fixed(float(found.ece_null[AFTER, b]), 3)} {_null_range(found, AFTER, b)}"
        single = fixed(float(found.ece_split_null[AFTER, b]), 3)
        rows += [
            _row(name, found, "ece", null, (b,)),
            _plain_row(f"{name}, corrected for noise", found.ece_corrected[:, b], "0"),
            _plain_row(f"{name}, within single splits", found.ece_split[:, b], single),
        ]
    return pd.DataFrame(rows)


_IDEAL = "if every probability were right"


def _row(
    figure: str, found: Reliability, name: str, ideal: str, at: tuple[int, ...] = ()
) -> dict[str, str]:
    digits = 3 if name in ("nll", "accuracy", "slope") else 2
    texts = [level_of(found, name, (stage, *at), digits) for stage in (BEFORE, AFTER)]
    before, after = ("cannot be fitted" if text == "n/a" else text for text in texts)
    return {"figure": figure, "before": before, "after": after, _IDEAL: ideal}


def _plain_row(figure: str, values: Floats, ideal: str) -> dict[str, str]:
    before, after = (fixed(float(value), 3) for value in values)
    return {"figure": figure, "before": before, "after": after, _IDEAL: ideal}


def _null_range(found: Reliability, stage: int, b: int) -> str:
    return interval(float(found.ece_null_lo[stage, b]), float(found.ece_null_hi[stage, b]))


def selective_sentence(found: Selective) -> str:
    """What is answered where it is 90 % sure, and how much of that is right."""
    if found.n_splits < 2:
        return NOT_YET
    everything = share_of(found, "accuracy", (AFTER,))
    i = _limit(found)
    if i is None:
        return f"It is hardly ever sure. Answering everything, it is right {everything}."
    share, right = (share_of(found, name, (AFTER, i)) for name in ("share", "right"))
    text = (
        f"Answering only where it is at least {percent(found.confidences[i])} sure: {share} of the "
        f"items, {right} of them right. Answering everything: {everything} right. "
    )
    gain = with_interval(
        float(found.gain[AFTER]), float(found.gain_lo[AFTER]), float(found.gain_hi[AFTER])
    )
    text += (
        f"Answering the surest first, the area under the curve (AUAC) is "
        f"{fixed(float(found.auac[AFTER]), 3)}, {gain} above an order that says nothing; a perfect "
        f"order would gain {fixed(float(found.gain_most[AFTER]), 3)}."
    )
    return f"{text} {CODING}" if found.measures_coding else text


def _limit(found: Selective) -> int | None:
    """The limit nearest to 90 % that enough items reach."""
    enough = np.flatnonzero(found.items[AFTER] >= FEW_ITEMS)
    if not len(enough):
        return None
    return int(enough[np.argmin(np.abs(np.array(found.confidences)[enough] - _ASKED))])


def selective_table(found: Selective) -> pd.DataFrame:
    """Share answered and share right at every stated confidence, after and before."""
    rows = []
    for i, limit in enumerate(found.confidences):
        row = {"at least": percent(limit)}
        for stage, when in ((AFTER, "after"), (BEFORE, "before")):
            none = found.items[stage, i] == 0
            row[f"{when}: answered"] = share_of(found, "share", (stage, i))
            right = "never so sure" if none else share_of(found, "right", (stage, i))
            row[f"{when}: right"] = right
            row[f"{when}: items"] = items_text(float(found.items[stage, i]))
        rows.append(row)
    everything = {"at least": "everything"}
    for stage, when in ((AFTER, "after"), (BEFORE, "before")):
        everything |= {
            f"{when}: answered": "100 %",
            f"{when}: right": share_of(found, "accuracy", (stage,)),
            f"{when}: items": f"{found.n_items:,}",
        }
    return pd.DataFrame([everything, *rows])


def panel_words(found: Reliability | Selective | Conformal | Items) -> str:
    """``all 65 judges, one-coin, the beta calibrator``."""
    who = f"all {found.n_judges:,} judges" if found.k == found.n_judges else f"top-{found.k}"
    if found.n_judges == 1:
        who = "the one judge"
    return f"{who}, {AGGREGATOR_NAMES[found.aggregator]}, {CALIBRATED[found.calibrator]}"


def run_words(found: Reliability | Selective | Conformal | Items) -> str:
    """On what figures rest, for a terminal."""
    return (
        f"{panel_words(found)}; {found.n_splits} splits, {found.n_calibration:.0f} labels "
        f"calibrate and {found.n_evaluation:.0f} evaluate, {counted(found.n_items, 'item')}, "
        f"orientation {found.orientation}, protocol {found.protocol}, seed {found.seed}."
    )


def reliability_text(found: Reliability) -> str:
    """The answer, the figures and the bins, for a terminal."""
    said = [reliability_sentence(found), error_sentence(found, 10), slope_sentence(found)]
    return "\n".join(
        [
            run_words(found) + "\n",
            *(sentence for sentence in said if sentence),
            "",
            printed(measures_table(found)),
            "",
            printed(bins_table(found, "10")),
        ]
    )


def selective_text(found: Selective) -> str:
    """The answer and the table, for a terminal."""
    return "\n".join(
        [
            run_words(found) + "\n",
            selective_sentence(found) + "\n",
            f"'before' and 'after' are {STAGES[BEFORE]} and {STAGES[AFTER]}.",
            printed(selective_table(found)),
        ]
    )
