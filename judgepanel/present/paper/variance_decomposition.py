"""Presentation of the variance decomposition: do judges or items vary more?"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import (
    CURATE_FILL,
    CURATE_LINE,
    DOTTED,
    INCLUDE,
    NEUTRAL,
    error_bars,
    escaped,
    laid_out,
    with_opacity,
)
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.present.study import Entry
from judgepanel.studies.paper.variance_decomposition import (
    VARIANCE_DECOMPOSITION,
    VarianceDecomposition,
    VarianceDecompositionSpec,
)
from judgepanel.words.tables import Column, result_table, text
from judgepanel.words.text import fixed, one_line

_POPULATION_ROW = "ability : difficulty"
_LOGIT_ROW = "fitted logits"
_WHISKERS = 30


def variance_sentence(result: VarianceDecomposition) -> str:
    """Say which varies more, with the judges' share and its interval."""
    judges, lo, hi = map(_whole, result.judge_share)
    share = (
        f"{judges} of the variance is between judges [{lo}, {hi}], "
        f"{_whole(result.item_share)} between items"
    )
    start = {
        "judges": "Judges vary more than items",
        "items": "Items vary more than judges",
        "undecided": "Whether judges or items vary more is undecided",
    }[result.verdict]
    if result.disagree:
        start = "Whether judges or items vary more depends on how it is counted"
        larger = "judges" if result.logit_judges > result.logit_items else "items"
        share += f", but in the fitted logits the {larger} vary more"
    return f"{start}: {share}."


def variance_words(result: VarianceDecomposition) -> str:
    """Return the components of the fitted logits, and whether they agree."""
    text = (
        "Of the variance of the fitted logits of these very judges and items, "
        f"{_whole(result.logit_judges)} is due to judges, {_whole(result.logit_items)} to items "
        f"and {_whole(result.logit_interaction)} to their interaction: for some judges difficulty "
        "matters much, for others little."
    )
    if result.disagree:
        text += " The two measures disagree; the shares above do not hold the interaction."
    return text


def ability_table(result: VarianceDecomposition) -> dict[str, Column]:
    """Return every judge, highest ability first."""
    order = np.argsort(-result.ability.value, kind="stable")
    names = text([one_line(result.judges[j], 40) for j in order])
    return result_table(result, order) | {"judge": names}


def ability_figure(result: VarianceDecomposition) -> go.Figure:
    """Draw ability and discrimination of every judge with their intervals."""
    figure = go.Figure()
    # The error bars of many judges overlap each other and the points.
    reach = with_opacity(INCLUDE, min(1.0, max(0.2, _WHISKERS / max(len(result.judges), 1))))
    thin = {"thickness": 1, "width": 0}
    figure.add_scatter(
        x=result.ability.value,
        y=result.discrimination.value,
        mode="markers",
        name="judge",
        marker={"color": INCLUDE, "size": 8},
        error_x=error_bars(result.ability, reach) | thin,
        error_y=error_bars(result.discrimination, reach) | thin,
        text=[escaped(name) for name in result.judges],
        customdata=result.accuracy,
        hovertemplate="%{text}<br>ability %{x:.2f}, discrimination %{y:.2f}<br>"
        "accuracy %{customdata:.1%}<extra></extra>",
        showlegend=False,
    )
    figure.add_vline(x=0.0, line=DOTTED)
    laid_out(figure, x="ability (0 = the mean item's difficulty)", y="discrimination, log scale")
    ticks = _log_ticks(result.discrimination.value)
    figure.update_yaxes(type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    return figure


def _log_ticks(values: NDArray[np.float64]) -> list[float]:
    """Return ticks at 1, 2 and 5 times powers of ten; only powers over many decades."""
    low, high = (int(np.floor(np.log10(end))) for end in (values.min(), values.max()))
    steps = (1, 2, 5) if high - low < 3 else (1,)
    return [step * 10.0**e for e in range(low - 1, high + 2) for step in steps]


def share_figure(result: VarianceDecomposition) -> go.Figure:
    """Draw Var(ability) : Var(difficulty) with its interval, and the fitted logits' components."""
    figure = go.Figure()
    share, lo, hi = map(float, result.judge_share)
    rows = [_LOGIT_ROW, _POPULATION_ROW]
    for name, colour, pattern, values in (
        ("judges", INCLUDE, "", (result.logit_judges, share)),
        ("items", CURATE_FILL, "/", (result.logit_items, result.item_share)),
        ("interaction", NEUTRAL, "x", (result.logit_interaction, 0.0)),
    ):
        figure.add_bar(
            x=values,
            y=rows,
            orientation="h",
            name=name,
            marker={
                "color": colour,
                "line": {"width": 0},
                "pattern": {
                    "shape": pattern,
                    "fillmode": "overlay",
                    "fgcolor": CURATE_LINE,
                    "size": 6,
                    "solidity": 0.3,
                },
            },
            hovertemplate="%{y}<br>" + name + ": %{x:.1%}<extra></extra>",
        )
    figure.add_scatter(
        x=[share],
        y=[_POPULATION_ROW],
        mode="markers",
        name="95 % interval",
        marker={"color": NEUTRAL, "symbol": "line-ns-open", "size": 12},
        error_x=error_bars(result.judge_share[None], "black") | {"thickness": 2, "width": 6},
        hovertemplate=f"judges {share:.1%} [{lo:.1%}, {hi:.1%}]<extra></extra>",
    )
    figure.update_layout(barmode="stack", bargap=0.35)
    laid_out(figure, x="share of variance", y="", height=260)
    figure.update_layout(legend_traceorder="normal", margin_r=28)  # Space for the last label.
    figure.update_xaxes(tickformat=".0%", range=[0, 1.002], dtick=0.25)
    return figure


def _whole(share: float) -> str:
    """Return a share as a whole percentage."""
    return f"{fixed(100.0 * share, 0)} %"


def present(result: VarianceDecomposition, spec: VarianceDecompositionSpec) -> list[Block]:
    """Present the shares of variance, and every judge's ability and discrimination."""
    return [
        Answer(variance_sentence(result)),
        drawing("shares of variance of judges and items", share_figure, result),
        Paragraph(variance_words(result)),
        drawing("every judge with its intervals", ability_figure, result),
        Table(ability_table(result), "Every judge, most able first.", most=200, height=320),
        Method(
            "A two-parameter logistic model: a judge is right on an item with probability "
            "σ(α (θ - β)), where θ is the ability and α the discrimination of the judge, and β "
            "the difficulty of the item. Missing votes are left out. Abilities are in standard "
            "deviations of difficulty; means and spreads of ability and log discrimination are "
            "estimated from the votes. The upper bar is Var(θ) : Var(β) for judges and items like "
            "these; the lower bar divides the variance of the fitted logits, interaction included."
        ),
    ]


ENTRY = Entry(VARIANCE_DECOMPOSITION, present)
