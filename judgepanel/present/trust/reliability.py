"""Presentation of reliability: can the probabilities of a panel be trusted?

Helpers shared by presentations of one panel's probabilities: name, shares, item counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from judgepanel.arrays import Floats
from judgepanel.figures.style import DOTTED, INCLUDE, NEUTRAL, error_bars, laid_out, with_opacity
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing, note, paragraphs
from judgepanel.present.study import Presentation, panel_spec
from judgepanel.scoring.interval import Interval
from judgepanel.studies.accumulate import arm_name
from judgepanel.studies.panel.recommended import AVERAGE
from judgepanel.studies.trust import reliability
from judgepanel.studies.trust.probabilities import CALIBRATED as AFTER
from judgepanel.studies.trust.probabilities import FEW_ITEMS, PanelResult
from judgepanel.studies.trust.probabilities import RAW as BEFORE
from judgepanel.words import text as txt
from judgepanel.words.sentences import AGGREGATOR_NAMES, with_coding
from judgepanel.words.tables import Column, numbers, text

NOT_YET = "Not enough splits yet to say."
ASKED = 0.9
"""The confidence that answers refer to."""
GROUPING_NAMES: dict[str, str] = {
    "class": "label",
    "difficulty": "difficulty",
    "errors": "judges that erred",
    "feature": "item feature",
}
"""Names of the groupings of items."""


def share_text(value: float) -> str:
    """``9.7 %``: a share without an interval."""
    return f"{100 * value:.1f} %" if math.isfinite(value) else "n/a"


def items_column(items: NDArray[np.float64]) -> Column:
    """Return a column of item counts (n,), possibly fractional; one decimal below ``FEW_ITEMS``."""
    few = {int(i): f"{items[i]:.1f}" for i in np.flatnonzero(items < FEW_ITEMS)}
    return Column(items, "whole", few)


def panel_name(result: PanelResult) -> str:
    """``all 65 judges``, ``top-5``, ``the one judge`` or ``the recommended panel``."""
    if result.aggregator == AVERAGE:
        return AGGREGATOR_NAMES[AVERAGE]
    if result.k == result.n_judges:
        return txt.all_judges(result.n_judges)
    return f"top-{result.k}"


def uncalibrated(result: PanelResult) -> str:
    """Return the text if there is no before and after."""
    return AGGREGATOR_NAMES[AVERAGE] if result.aggregator == AVERAGE else "uncalibrated"


def stages_shown(result: PanelResult) -> str:
    """Return ``before and after calibration``, or the text for a single stage."""
    return uncalibrated(result) if result.calibrator == "none" else "before and after calibration"


def fitted_on(result: PanelResult) -> str:
    """``In every split all 65 judges and the calibrator are fitted on``."""
    if result.aggregator == AVERAGE:
        return (
            "In every split the panel is chosen again: candidates are fitted and compared, and the "
            "weights of their average learned, on"
        )
    return f"In every split {panel_name(result)} and the calibrator are fitted on"


ALPHA = 0.05
_HEIGHTS = (0.74, 0.26)
_SHIFT = 0.004
_BAR_OPACITY = 0.75


@dataclass(frozen=True, slots=True)
class ReliabilityView:
    """Number of bins of the figure and the error; None uses the first number computed."""

    bins: int | None = None


def reliability_sentence(result: reliability.Reliability) -> str:
    """Return how often the panel is right when it states 90 %."""
    if result.n_splits < 2:
        return NOT_YET
    bins, b = result.binned(reliability.STATED_BINS), asked_bin(result)
    right = txt.share_level(*bins.accuracy[AFTER, b], digits=2)
    says = _says(bins, b)
    seldom = "" if _asked(bins) == b else f"It hardly ever says {txt.percent(ASKED)}. "
    text = f"{seldom}When it says {says}, it is right {right} of the time"
    if result.calibrator != "none":
        text += (
            f". Before calibration it said {txt.percent(result.confidence[BEFORE], 3)} on average, "
            f"and was right {txt.percent(result.accuracy.value[BEFORE], 3)}"
        )
    text += "."
    if not beats_null(result):
        text += (
            f" It is not shown to beat the base rate: NLL {_estimate(result.nll[AFTER], 3)}, "
            f"base rate {txt.fixed(result.null_nll, 3)}."
        )
    return with_coding(text, result.measures_coding)


def beats_null(result: reliability.Reliability) -> bool:
    """Whether the calibrated probabilities are shown to beat the base rate."""
    return bool(result.nll[AFTER].below(result.null_nll))


def believed(result: reliability.Reliability) -> bool:
    """Whether the answer's bin is consistent and the gaps are within chance."""
    bins, b = result.binned(reliability.STATED_BINS), asked_bin(result)
    _, lo, hi = bins.accuracy[AFTER, b]
    within = lo <= bins.confidence[AFTER, b] <= hi
    return bool(within and result.ece_p[AFTER, 0] >= ALPHA and beats_null(result))


def asked_bin(result: reliability.Reliability) -> int:
    """Return the bin around 90 %, or the one with most items if that is nearly empty."""
    bins = result.binned(reliability.STATED_BINS)
    b = _asked(bins)
    return b if bins.items[AFTER, b] >= FEW_ITEMS else int(bins.items[AFTER].argmax())


def _asked(bins: reliability.Bins) -> int:
    return int(np.searchsorted(bins.edges, ASKED) - 1)


def _says(bins: reliability.Bins, b: int) -> str:
    """Return the name of a bin of stated confidences."""
    lo, hi = float(bins.edges[b]), float(bins.edges[b + 1])
    if b == 0:
        return f"{txt.percent(lo)} to {txt.percent(hi)}"
    return f"{txt.percent(lo)} or more" if hi == 1.0 else txt.percent((lo + hi) / 2.0)


def error_sentence(result: reliability.Reliability, bins: int) -> str:
    """Return the calibration error, and whether chance alone would explain it."""
    if result.n_splits < 2:
        return ""
    b = result.ece_bins.index(bins)
    ece = txt.with_interval(*result.ece[AFTER, b])
    p = float(result.ece_p[AFTER, b])
    verdict = "no more than chance" if p >= ALPHA else "more than chance explains"
    alone, luck = (float(part[AFTER, b]) for part in (result.ece_split, result.ece_split_null))
    start, before = "The", ""
    if result.calibrator != "none":
        start = "After calibration the"
        before = f"; before calibration it was {txt.fixed(result.ece.value[BEFORE, b], 3)}"
    return (
        f"{start} gap between stated and right averages {txt.fixed(alone, 3)} within one split "
        f"(ECE, {bins} bins). A perfectly calibrated panel would show {txt.fixed(luck, 3)} by "
        f"chance. The mean over the panels of all splits is off by {ece}, against "
        f"{_chance(result, b)} by chance: {verdict} ({txt.p_value(p)}). Corrected for the noise of "
        f"items it is {txt.fixed(float(result.ece_corrected[AFTER, b]), 3)}{before}."
    )


def slope_sentence(result: reliability.Reliability) -> str:
    """Say whether stated log-odds are overconfident or underconfident."""
    slope, lo, hi = result.slope[AFTER]
    if not (math.isfinite(slope) and math.isfinite(lo)):
        return ""
    if hi < 1.0:
        verdict = "its probabilities are too extreme"
    elif lo > 1.0:
        verdict = "its probabilities are too cautious"
    else:
        verdict = "nothing shows that its probabilities are too extreme or too cautious"
    text = f"Calibration slope {txt.with_interval(slope, lo, hi, 3)}, where 1 is right: {verdict}."
    before = result.slope.value[BEFORE]
    if math.isfinite(before) and result.calibrator != "none":
        text += f" Before calibration it was {txt.fixed(before, 2)}."
    intercept = result.intercept[AFTER]
    if math.isfinite(intercept.value):
        text += f" Intercept {txt.with_interval(*intercept, sign=True)}, where 0 is right."
    return text


def bins_table(result: reliability.Reliability, name: str) -> dict[str, Column]:
    """Return every non-empty bin: stated, right with interval and items, after and before.

    Only once without a calibrator.
    """
    bins = result.binned(name)
    rows = np.flatnonzero(bins.items.any(axis=0))
    edges = 100 * np.maximum(0.5, bins.edges)
    says = {i: f"{edges[b]:.0f}-{edges[b + 1]:.0f} %" for i, b in enumerate(rows)}
    columns = {"says": Column(bins.edges[rows], "share", says)}
    stages = ((AFTER, "after: "), (BEFORE, "before: "))
    for stage, when in ((AFTER, ""),) if result.calibrator == "none" else stages:
        items = bins.items[stage, rows]
        columns |= {
            f"{when}right": Column(bins.accuracy[stage, rows], "share level"),
            f"{when}says on average": numbers(bins.confidence[stage, rows], "share"),
            f"{when}items": items_column(np.where(items > 0, items, np.nan)),
        }
    return columns


def measures_table(result: reliability.Reliability) -> dict[str, Column]:
    """Return every calibration figure before and after, and its size by chance."""
    rows = [
        ("NLL", _estimates(result.nll, 3), f"{txt.fixed(result.null_nll, 3)} (base rate)"),
        ("accuracy", _estimates(result.accuracy, 3), ""),
        ("mean stated confidence", _levels(result.confidence), "the accuracy"),
        ("slope", _estimates(result.slope, 3), "1"),
    ]
    if result.orientation == "symmetric":
        rows.append(("intercept", ["does not apply"] * 2, ""))
    else:
        rows.append(("intercept", _estimates(result.intercept), "0"))
    for b, n in enumerate(result.ece_bins):
        name = f"ECE, {n} bins"
        single = txt.fixed(float(result.ece_split_null[AFTER, b]), 3)
        rows += [
            (name, _estimates(result.ece[:, b]), _chance(result, b)),
            (f"{name}, corrected for noise", _levels(result.ece_corrected[:, b]), "0"),
            (f"{name}, within single splits", _levels(result.ece_split[:, b]), single),
        ]
    before, after = (text([stages[stage] for _, stages, _ in rows]) for stage in (BEFORE, AFTER))
    stages = {"before": before, "after": after}
    return {
        "figure": text([figure for figure, _, _ in rows]),
        **({uncalibrated(result): after} if result.calibrator == "none" else stages),
        "if every probability were right": text([ideal for _, _, ideal in rows]),
    }


def _estimates(stages: Interval, digits: int = 2) -> list[str]:
    return [_estimate(stages[i], digits) for i in (BEFORE, AFTER)]


def _estimate(stage: Interval, digits: int) -> str:
    value, lo, hi = stage
    return txt.with_interval(value, lo, hi, digits) if math.isfinite(value) else "cannot be fitted"


def _levels(stages: Floats) -> list[str]:
    return [txt.fixed(float(value), 3) for value in stages]


def _chance(result: reliability.Reliability, b: int) -> str:
    """Return the mean error and its central range for a perfectly calibrated panel."""
    mean, lo, hi = result.ece_null[AFTER, b]
    return f"{txt.fixed(mean, 3)} {txt.interval(lo, hi)}"


def reliability_figure(result: reliability.Reliability, name: str) -> go.Figure:
    """Draw stated confidence against the share right in these bins, with counts of items below.

    Without a calibrator there is one line.
    """
    bins = result.binned(name)
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=list(_HEIGHTS), vertical_spacing=0.06
    )
    ends = [0.5, 1.0]
    figure.add_scatter(
        x=ends, y=ends, mode="lines", line=DOTTED, name="as stated", hoverinfo="skip", row=1, col=1
    )
    if result.calibrator == "none":
        stages = [BEFORE]
        _add_stage(figure, bins, BEFORE, uncalibrated(result), INCLUDE, 0.0)
    else:
        stages = [BEFORE, AFTER]
        _add_stage(figure, bins, BEFORE, "before", NEUTRAL, -_SHIFT)
        _add_stage(figure, bins, AFTER, "after calibration", INCLUDE, _SHIFT)
    laid_out(figure, x="", y="share that is right", height=520)
    low = min(0.5, float(np.nanmin(bins.accuracy.value[stages])))
    figure.update_xaxes(range=[0.49, 1.01], tickformat=".0%", title=None)
    figure.update_xaxes(title="stated confidence", row=2, col=1)
    figure.update_yaxes(tickformat=".0%", range=[max(0.0, low - 0.2), 1.03], row=1, col=1)
    figure.update_yaxes(title="items", rangemode="tozero", nticks=4, row=2, col=1)
    figure.update_layout(barmode="overlay")
    return figure


def _add_stage(
    figure: go.Figure, bins: reliability.Bins, stage: int, name: str, colour: str, shift: float
) -> None:
    """Add a stage's line with intervals, and its bars; bins with few items have open markers."""
    full = bins.items[stage] > 0
    items, stated = bins.items[stage, full], bins.confidence[stage, full]
    right, few = bins.accuracy[stage, full], items < FEW_ITEMS
    emphasis = colour == INCLUDE
    symbol = "circle" if emphasis else "diamond"
    line = {"width": 3, "dash": "solid"} if emphasis else {"width": 1.5, "dash": "dash"}
    for some, bar in ((few, {"thickness": 0.5, "width": 0}), (~few, {"thickness": 1.4})):
        figure.add_scatter(
            x=stated[some] + shift,
            y=right.value[some],
            mode="markers",
            marker={"size": 1, "color": colour},
            error_y=error_bars(right[some], colour) | bar,
            showlegend=False,
            hoverinfo="skip",
            row=1,
            col=1,
        )
    figure.add_scatter(
        x=stated + shift,
        y=right.value,
        mode="lines+markers",
        line={"color": colour, **line},
        marker={
            "symbol": [symbol + "-open" if open_ else symbol for open_ in few],
            "size": 9,
            "color": colour,
            "line": {"color": colour, "width": 1.5},
        },
        customdata=np.stack([stated, right.lo, right.hi, items], axis=-1),
        name=name,
        hovertemplate=(
            name + ": says %{customdata[0]:.1%}, right %{y:.1%} [%{customdata[1]:.1%}, "
            "%{customdata[2]:.1%}], %{customdata[3]:.0f} items<extra></extra>"
        ),
        row=1,
        col=1,
    )
    edges = np.maximum(bins.edges, 0.5)
    middle, width = ((edges[1:] + edges[:-1]) / 2.0)[full], np.diff(edges)[full]
    figure.add_bar(
        x=middle + 0.25 * float(np.sign(shift)) * width,
        y=items,
        width=0.42 * width,
        marker={"color": with_opacity(colour, _BAR_OPACITY), "line": {"width": 0}},
        name=name,
        showlegend=False,
        hovertemplate=name + ": %{y:.0f} items<extra></extra>",
        row=2,
        col=1,
    )


def present(
    result: reliability.Reliability,
    spec: reliability.ReliabilitySpec,
    view: ReliabilityView = ReliabilityView(),
) -> list[Block]:
    """Present stated and right by bins of confidence, and all calibration figures."""
    bins = view.bins if view.bins in result.ece_bins else result.ece_bins[0]
    stages = stages_shown(result)
    shows = f"share right against stated confidence, {stages}"
    return [
        Answer(reliability_sentence(result)),
        drawing(shows + ", with counts of items beneath", reliability_figure, result, str(bins)),
        note(
            "On the dotted line stated and right agree; below it the panel is too sure. Open "
            f"marks: fewer than {FEW_ITEMS} items. Every item counts once."
        ),
        *paragraphs(error_sentence(result, bins), slope_sentence(result)),
        Table(bins_table(result, str(bins)), "Every bin."),
        Table(measures_table(result), f"{txt.capital(stages)}."),
        Method(
            f"{fitted_on(result)} one part of the items, and the other items are given a "
            "probability. An item is held out in about half of the splits; it counts once all the "
            "same, in parts where its confidence falls into several bins. Intervals are Wilson's "
            "on an effective number of items, which is lower with groups and with panels that "
            "differ from split to split. ECE is the mean gap between stated and right over the "
            "bins. By chance: labels drawn from the panel's own probabilities. Slope and "
            f"intercept: labels regressed on the stated log-odds. {arm_name(5)} and the like are "
            "ranked on the calibration items of each split."
        ),
    ]


_SPECS = panel_spec(reliability.RELIABILITY.spec)
PRESENTATION = Presentation(reliability.RELIABILITY, present, _SPECS)
