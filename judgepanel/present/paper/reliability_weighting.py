"""Presentation of reliability weighting: should some comparisons have more weight?"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import (
    BAND_OPACITY,
    DOTTED,
    INCLUDE,
    NEUTRAL,
    Look,
    add_series,
    escaped,
    laid_out,
    with_opacity,
)
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing, paragraphs
from judgepanel.present.study import Entry
from judgepanel.studies.paper.reliability_weighting import (
    AGREEMENT,
    COVERAGE,
    RANDOM,
    RELIABILITY_WEIGHTING,
    ReliabilityWeighting,
    ReliabilityWeightingSpec,
)
from judgepanel.words.sentences import CODING, pipeline_name
from judgepanel.words.tables import Column, differences, ends, numbers, text
from judgepanel.words.text import counted, fixed, level, one_line, sig, with_interval

_ROW = 32
_LABEL = 24
_SIGNAL_NAMES = {
    (AGREEMENT, "high"): "items judges agree on",
    (AGREEMENT, "low"): "items judges disagree on",
    (COVERAGE, "high"): "items with many votes",
    (COVERAGE, "low"): "items with few votes",
    (RANDOM, "high"): "random items (a placebo)",
}


def signal_name(result: ReliabilityWeighting, i: int) -> str:
    """Describe the comparisons to which a signal gives more weight; features are untrusted text."""
    name, favours = result.signals[i], result.favours[i]
    if result.features[i]:
        return f"{favours} {one_line(name)}"
    return _SIGNAL_NAMES[name, favours]


def weighting_sentence(result: ReliabilityWeighting) -> str:
    """Return the effect of weighting comparisons on the NLL."""
    n = len(result.signals)
    same = result.absolute.count("equivalent")
    parts = []
    helps, hurts = result.band.below(), result.band.above()
    for word, clear, size in (("lowers", helps, -result.band), ("raises", hurts, result.band)):
        places = np.flatnonzero(clear)
        if len(places):
            best = int(places[np.argmax(size.value[places])])
            effect = f"Giving more weight to {signal_name(result, best)} {word} NLL by "
            effect += with_interval(*size[best])
            parts.append(
                f"{effect}, more than {counted(len(places) - 1, 'other weighting')} that do so."
                if len(places) > 1
                else f"{effect}."
            )
    if not parts:
        parts.append("No weighting of the comparisons is shown to change the NLL.")
    parts.append(
        f"{same} of {counted(n, 'weighting')} {'is' if same == 1 else 'are'} shown to change it by "
        f"less than {result.margin:g}. Unweighted, NLL is {level(*result.base_nll)}, base rate "
        f"{fixed(result.null_nll, 3)}."
    )
    return " ".join([*parts, CODING] if result.measures_coding else parts)


def weighting_table(result: ReliabilityWeighting) -> dict[str, Column]:
    """One row per signal: effect, both equivalence tests and the plain paired one."""
    n = len(result.signals)
    return {
        "what counts for more": text([signal_name(result, i) for i in range(n)], of="favours"),
        "NLL": numbers(result.nll),
        "difference": differences(result.delta, of="delta"),
        "all rows together": ends(result.band, sign=True),
        "p of no effect": numbers(result.p, "p", of="p"),
        f"within {result.margin:g}": text(result.absolute),
        "TOST p": numbers(result.p_absolute, "p", of="tost_p"),
        f"within {sig(result.relative_margin, 2)}": text(result.relative),
        "its TOST p": numbers(result.p_relative, "p", of="relative_tost_p"),
        "paired TOST p, panels as given": numbers(result.p_plain, "p", of="plain_tost_p"),
        "base rate": numbers(np.full(n, result.null_nll), of="null_nll"),
    }


def weighting_figure(result: ReliabilityWeighting) -> go.Figure:
    """Draw effects of all signals with 95 % intervals; the band is the margin of no effect."""
    figure = go.Figure()
    n = len(result.signals)
    names = [signal_name(result, i) for i in range(n)]
    rows = np.arange(n)[::-1]
    figure.add_vrect(
        x0=-result.margin,
        x1=result.margin,
        fillcolor=with_opacity(NEUTRAL, BAND_OPACITY),
        line={"width": 0},
    )
    figure.add_vline(x=0.0, line=DOTTED)
    add_series(
        figure,
        result.delta,
        rows,
        Look(INCLUDE, INCLUDE, "circle", ""),
        "change",
        "%{text}: %{x:+.4f}",
        text=[escaped(name) for name in names],
        showlegend=False,
    )
    laid_out(figure, x="change of the NLL", y="", height=_ROW * n + 90)
    figure.update_yaxes(
        tickvals=rows,
        ticktext=[escaped(name, _LABEL) for name in names],
        range=[-0.6, n - 0.4],
    )
    return figure


def present(result: ReliabilityWeighting, spec: ReliabilityWeightingSpec) -> list[Block]:
    """Present the change of the NLL with each weighting of the comparisons."""
    missing = ""
    if not any(result.features):
        missing = (
            "These votes have no numeric item features, so only signals from the votes are tried."
        )
    return [
        Answer(weighting_sentence(result)),
        Paragraph(
            "All panels here are all judges under "
            f"{pipeline_name('one_coin', spec.calibrator)}: reweighted comparisons change what "
            "closed forms learn from.",
            quiet=True,
        ),
        *paragraphs(missing),
        drawing("change of the NLL by each weighting of the comparisons", weighting_figure, result),
        Paragraph(
            f"The grey band is the paper's margin of no effect, {result.margin:g} either way; a "
            f"margin of 1 % would be {sig(result.relative_margin, 2)}.",
            quiet=True,
        ),
        Table(weighting_table(result)),
        Method(
            "Each calibration item counts from 0 to 2 times, by the rank of the signal, in the "
            "counts that weigh judges and in the fit of the calibrator; evaluation items count "
            "alike. 'Equivalent' needs a test of its own: two one-sided t-tests at 5 %, the same "
            "as a 90 % interval inside the margin, on our variance, which knows that panels are "
            "refitted. The last p takes the fitted panels as given and is for comparison only. The "
            "paper finds all such effects equivalent to zero on preference data; items judges "
            "disagree on can matter more here, since they tell good judges from bad ones and a sum "
            "of votes that err together is too sure of the others."
        ),
    ]


ENTRY = Entry(RELIABILITY_WEIGHTING, present)
