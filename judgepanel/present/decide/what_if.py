"""Presentation of a panel picked by hand."""

from __future__ import annotations

import plotly.graph_objects as go

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures.style import (
    CURATE_LINE,
    INCLUDE,
    add_base_rate,
    error_bars,
    laid_out,
)
from judgepanel.present.blocks import Answer, Block, Caveat, Method, Paragraph, Table, drawing
from judgepanel.scoring.interval import Interval
from judgepanel.studies.panel.what_if import WhatIfSpec
from judgepanel.studies.panel.what_if_result import WhatIf
from judgepanel.words.cells import Column, levels, numbers, text
from judgepanel.words.numbers import counted, fixed, interval, sig, with_interval
from judgepanel.words.sentences import CODING, panel_pipelines, so_far

BY_HAND = (
    "No interval here knows how the judges were picked. Where labels had a say in it (accuracy, "
    "worth, the recommendation, trying until it looks best) they look better here than they are "
    "on new items; only what `recommend` expects allows for choosing."
)
_NAMES = ("these judges", "compared with")
_FLATTERS = "if labels had a say in who they are, that flatters them."


def what_if_sentence(result: WhatIf) -> str:
    """Compare the panel that is kept with the other."""
    text = _answer(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: WhatIf) -> str:
    these, other = (counted(len(panel.judges), "judge") for panel in (result.kept, result.against))
    change = with_interval(*result.delta, sign=True)
    fewer = with_interval(*-result.delta)
    return {
        "keep all": f"These {these} are worse than the {other} compared with: NLL {change}.",
        "curate": f"With these {these}, NLL is lower by {fewer} than with the {other} compared "
        f"with; {_FLATTERS}",
        "no loss from keeping": f"The {other} compared with are shown to lose at most 2 % against "
        f"these {these}, and nothing more: NLL {change} with these.",
        "no loss from curating": f"These {these} are shown to lose at most 2 % against the {other} "
        f"compared with: NLL {change}; "
        f"{_FLATTERS}",
        "undecided": f"Undecided: with these {these}, NLL changes by {change}.",
        "tie": f"The same {these} on both sides.",
    }[result.verdict]


def picked_panel_sentence(result: Recommendation) -> str:
    """Return the NLL of the exported file of a panel picked by hand."""
    nll, lo, hi = result.nll
    text = (
        f"{so_far(result)}{counted(len(result.model.judges), 'judge')} picked by hand, with "
        f"{panel_pipelines(result.model)}: expected NLL {sig(nll)} {interval(lo, hi, 3)} on new "
        f"items (base rate {fixed(result.null_nll, 3)}); {_FLATTERS}"
    )
    return f"{text} {CODING}" if result.measures_coding else text


def what_if_table(result: WhatIf) -> dict[str, Column]:
    """Return both panels, the kept one first."""
    both = (result.kept, result.against)
    nll = Interval.stacked(panel.nll for panel in both)
    columns = {
        "panel": text(_NAMES),
        "judges": numbers([len(panel.judges) for panel in both], "whole"),
        "NLL": levels(nll),
        "skill": numbers(1.0 - nll.value / result.null_nll, "share"),
        "Brier": numbers([panel.brier for panel in both]),
        "accuracy": numbers([panel.accuracy for panel in both], "share"),
        "ECE": numbers([panel.ece for panel in both]),
    }
    costs = [panel.cost for panel in both if panel.cost is not None]
    return columns | ({"cost": numbers(costs, "significant")} if len(costs) == 2 else {})


def what_if_figure(result: WhatIf) -> go.Figure:
    """Draw NLL horizontally, the kept panel above the other, the base rate as a line."""
    figure = go.Figure()
    both = (result.kept, result.against)
    names = [f"{name} ({len(p.judges):,})" for name, p in zip(_NAMES, both, strict=True)]
    styles = ((CURATE_LINE, "diamond"), (INCLUDE, "circle"))
    for place, (panel, (colour, symbol)) in enumerate(zip(both, styles, strict=True)):
        nll, lo, hi = panel.nll
        figure.add_scatter(
            x=[nll],
            y=[place],
            mode="markers",
            name=names[place],
            marker={"color": colour, "symbol": symbol, "size": 11},
            error_x=error_bars(panel.nll[None], colour),
            hovertemplate=f"{names[place]}: {nll:.3f} [{lo:.3f}, {hi:.3f}]<extra></extra>",
            showlegend=False,
        )
    null = [result.null_nll, result.null_nll]
    add_base_rate(figure, null, [-0.6, 1.6], "base rate: %{x:.3f}")
    laid_out(figure, x="NLL (nats per item)", y="", height=190)
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(tickvals=[0, 1], ticktext=names, range=[1.6, -0.6], showgrid=False)
    return figure


def present(result: WhatIf, spec: WhatIfSpec) -> list[Block]:
    """Present a panel picked by hand next to the one it is compared with."""
    few = (
        f"From {result.planned_splits:,} splits, so that an answer is quick; what is computed from "
        f"{spec.settings.splits:,} differs a little."
    )
    return [
        Answer(what_if_sentence(result)),
        Caveat(BY_HAND),
        drawing("NLL of both panels, with intervals", what_if_figure, result),
        Table(what_if_table(result)),
        *([Paragraph(few, quiet=True)] if result.planned_splits < spec.settings.splits else []),
        Method(
            f"Both panels are fitted on the same {result.n_calibration:,.0f} labels of every split "
            f"and scored on the same {result.n_evaluation:,.0f} items. A constant score through "
            f"the same calibrator gives NLL {fixed(result.constant_nll, 3)}."
        ),
    ]
