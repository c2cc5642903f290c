"""Whether the probabilities of a panel can be believed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.figures.confidence.reliability import reliability_figure
from judgepanel.present.blocks import (
    Answer,
    Block,
    Method,
    Paragraph,
    Table,
    drawing,
    paragraphs,
)
from judgepanel.present.trust.shares import (
    ASKED,
    NOT_YET,
    items_text,
    level_of,
    panel_name,
)
from judgepanel.studies.compare import arm_name
from judgepanel.studies.confidence.probabilities import CALIBRATED as AFTER
from judgepanel.studies.confidence.probabilities import RAW as BEFORE
from judgepanel.studies.confidence.reliability import ReliabilitySpec
from judgepanel.studies.confidence.reliability_result import (
    FEW_ITEMS,
    STATED_BINS,
    Bins,
    Reliability,
)
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import (
    fixed,
    interval,
    p_value,
    percent,
    share_interval,
    with_interval,
)
from judgepanel.words.sentences import CODING

Floats = NDArray[np.float64]

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class ReliabilityView:
    """How many bins the figure and the error have; None takes the first number computed."""

    bins: int | None = None


def reliability_sentence(result: Reliability) -> str:
    """How often it is right when it says 90 %."""
    if result.n_splits < 2:
        return NOT_YET
    bins, b = result.binned(STATED_BINS), asked_bin(result)
    right = _right(bins, AFTER, b, 2)
    says = _says(bins, b)
    seldom = "" if _asked(bins) == b else f"It hardly ever says {percent(ASKED)}. "
    text = f"{seldom}When it says {says}, it is right {right} of the time"
    if result.calibrator != "none":
        text += (
            f"; before calibration it said {percent(result.confidence[BEFORE], 3)} on average and "
            f"was right {percent(result.accuracy[BEFORE], 3)}"
        )
    text += "."
    if not beats_null(result):
        text += (
            f" It is not shown to beat the base rate: NLL {level_of(result, 'nll', (AFTER,))}, "
            f"base rate {fixed(result.null_nll, 3)}."
        )
    return f"{text} {CODING}" if result.measures_coding else text


def beats_null(result: Reliability) -> bool:
    """Whether the calibrated probabilities are shown to beat the base rate."""
    return bool(result.nll_hi[AFTER] < result.null_nll)


def believed(result: Reliability) -> bool:
    """Whether the answer's bin holds what it says, and the gaps are no more than chance."""
    bins, b = result.binned(STATED_BINS), asked_bin(result)
    within = bins.lo[AFTER, b] <= bins.confidence[AFTER, b] <= bins.hi[AFTER, b]
    return bool(within and result.ece_p[AFTER, 0] >= ALPHA and beats_null(result))


def asked_bin(result: Reliability) -> int:
    """The bin about 90 %, or the one with most items where hardly any are there."""
    bins = result.binned(STATED_BINS)
    b = _asked(bins)
    return b if bins.items[AFTER, b] >= FEW_ITEMS else int(bins.items[AFTER].argmax())


def _asked(bins: Bins) -> int:
    return int(np.searchsorted(bins.edges, ASKED) - 1)


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


def error_sentence(result: Reliability, bins: int) -> str:
    """The calibration error, and whether chance alone would explain it."""
    if result.n_splits < 2:
        return ""
    b = result.ece_bins.index(bins)
    ece = level_of(result, "ece", (AFTER, b), 2)
    chance = f"{fixed(float(result.ece_null[AFTER, b]), 3)} {_null_range(result, AFTER, b)}"
    p = float(result.ece_p[AFTER, b])
    verdict = "no more than chance" if p >= ALPHA else "more than chance explains"
    alone, luck = (float(part[AFTER, b]) for part in (result.ece_split, result.ece_split_null))
    start, before = "The", ""
    if result.calibrator != "none":
        start = "After calibration the"
        before = f"; before calibration it was {fixed(float(result.ece[BEFORE, b]), 3)}"
    return (
        f"{start} gap between stated and right averages {fixed(alone, 3)} within one "
        f"split (ECE, {bins} bins), where a panel whose every probability is right would show "
        f"{fixed(luck, 3)} by chance. The mean over the panels of all splits is off by {ece}, by "
        f"chance {chance}: {verdict} ({p_value(p)}). Corrected for the noise of items that is "
        f"{fixed(float(result.ece_corrected[AFTER, b]), 3)}{before}."
    )


def slope_sentence(result: Reliability) -> str:
    """Whether stated log-odds are too extreme or too timid."""
    slope, lo, hi = (
        float(part[AFTER]) for part in (result.slope, result.slope_lo, result.slope_hi)
    )
    if not (math.isfinite(slope) and math.isfinite(lo)):
        return ""
    if hi < 1.0:
        verdict = "its probabilities are too extreme"
    elif lo > 1.0:
        verdict = "its probabilities are too timid"
    else:
        verdict = "nothing shows that its probabilities are too extreme or too timid"
    text = f"Calibration slope {with_interval(slope, lo, hi, 3)}, where 1 is right: {verdict}."
    before = float(result.slope[BEFORE])
    if math.isfinite(before) and result.calibrator != "none":
        text += f" Before calibration it was {fixed(before, 2)}."
    level = float(result.intercept[AFTER])
    if math.isfinite(level):
        ends = float(result.intercept_lo[AFTER]), float(result.intercept_hi[AFTER])
        text += f" Intercept {with_interval(level, *ends, sign=True)}, where 0 is right."
    return text


def bins_table(result: Reliability, name: str) -> pd.DataFrame:
    """Every bin that is not empty: stated, right with interval and items, after and before."""
    bins = result.binned(name)
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


def measures_table(result: Reliability) -> pd.DataFrame:
    """Every figure of calibration before and after, and what it would be by chance."""
    rows = [
        _row("NLL", result, "nll", f"{fixed(result.null_nll, 3)} (base rate)"),
        _row("accuracy", result, "accuracy", ""),
        _plain_row("mean stated confidence", result.confidence, "the accuracy"),
        _row("slope", result, "slope", "1"),
    ]
    if result.orientation == "symmetric":
        blank = "does not apply"
        rows.append({"figure": "intercept", "before": blank, "after": blank, _IDEAL: ""})
    else:
        rows.append(_row("intercept", result, "intercept", "0"))
    for b, n in enumerate(result.ece_bins):
        name = f"ECE, {n} bins"
        null = f"{fixed(float(result.ece_null[AFTER, b]), 3)} {_null_range(result, AFTER, b)}"
        single = fixed(float(result.ece_split_null[AFTER, b]), 3)
        rows += [
            _row(name, result, "ece", null, (b,)),
            _plain_row(f"{name}, corrected for noise", result.ece_corrected[:, b], "0"),
            _plain_row(f"{name}, within single splits", result.ece_split[:, b], single),
        ]
    return pd.DataFrame(rows)


_IDEAL = "if every probability were right"


def _row(
    figure: str, result: Reliability, name: str, ideal: str, at: tuple[int, ...] = ()
) -> dict[str, str]:
    digits = 3 if name in ("nll", "accuracy", "slope") else 2
    texts = [level_of(result, name, (stage, *at), digits) for stage in (BEFORE, AFTER)]
    before, after = ("cannot be fitted" if text == "n/a" else text for text in texts)
    return {"figure": figure, "before": before, "after": after, _IDEAL: ideal}


def _plain_row(figure: str, values: Floats, ideal: str) -> dict[str, str]:
    before, after = (fixed(float(value), 3) for value in values)
    return {"figure": figure, "before": before, "after": after, _IDEAL: ideal}


def _null_range(result: Reliability, stage: int, b: int) -> str:
    return interval(float(result.ece_null_lo[stage, b]), float(result.ece_null_hi[stage, b]))


def present(
    result: Reliability, spec: ReliabilitySpec, view: ReliabilityView = ReliabilityView()
) -> list[Block]:
    """Stated and right by bins of confidence, and all figures of calibration."""
    bins = view.bins if view.bins in result.ece_bins else result.ece_bins[0]
    figure = reliability_figure(result, str(bins))
    shows = "share right against stated confidence, before and after calibration"
    return [
        Answer(reliability_sentence(result)),
        drawing(figure, shows + ", with counts of items beneath"),
        Paragraph(
            "On the dotted line stated and right agree; below it the panel is too sure. Open "
            f"marks: fewer than {FEW_ITEMS} items. Every item counts once.",
            quiet=True,
        ),
        *paragraphs(error_sentence(result, bins), slope_sentence(result)),
        Table(as_columns(bins_table(result, str(bins))), "Every bin."),
        Table(as_columns(measures_table(result)), "Before and after calibration."),
        _method(result),
    ]


def _method(result: Reliability) -> Method:
    return Method(
        f"In every split {panel_name(result)} and the calibrator are fitted on one part of the "
        "items, and the other items are given a probability. An item is held out in about half of "
        "the splits; it counts once all the same, in parts where its confidence falls into several "
        "bins. Intervals are Wilson's on an effective number of items, which groups and panels "
        "that differ from split to split lower. ECE is the mean gap between stated and right over "
        "the bins. By chance: labels drawn from the panel's own probabilities. Slope and "
        f"intercept: labels regressed on the stated log-odds. {arm_name(5)} and the like are "
        "ranked on the calibration items of each split."
    )
