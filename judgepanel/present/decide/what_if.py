"""Presentation of a panel picked by hand."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go

from judgepanel.decision.recommend_result import Recommendation, RecommendSpec, contest_of
from judgepanel.figures.style import CURATE_LINE, INCLUDE, Look, add_base_rate, add_series, laid_out
from judgepanel.kernels.aggregation import of_votes
from judgepanel.present.blocks import Answer, Block, Caveat, Method, Paragraph, Table, drawing
from judgepanel.present.study import Entry
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide.what_if import WHAT_IF, WhatIf, WhatIfSpec
from judgepanel.studies.panel.recommended import AVERAGE, EVERYONE, Candidate
from judgepanel.votes import VoteMatrix
from judgepanel.words.sentences import CODING, panel_pipelines, pipeline_name, so_far
from judgepanel.words.tables import Column, levels, numbers, text
from judgepanel.words.text import counted, fixed, interval, sig, with_interval

BY_HAND = (
    "No interval here allows for how the judges were picked. If labels influenced the choice "
    "(accuracy, worth, the recommendation, several attempts), the judges look better here than on "
    "new items. Only what `recommend` expects allows for choosing."
)
_NAMES = ("these judges", "compared with")
_FLATTERS = "if labels influenced the choice of judges, this figure flatters them."


def what_if_sentence(result: WhatIf) -> str:
    """Compare the panel that is kept with the other."""
    text = _answer(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: WhatIf) -> str:
    these, other = (counted(len(panel.judges), "judge") for panel in (result.kept, result.against))
    change = with_interval(*result.delta, sign=True)
    fewer = with_interval(*-result.delta)
    return {
        "keep all": f"These {these} are worse than the comparison panel ({other}): NLL {change}.",
        "curate": f"With these {these}, NLL is lower by {fewer} than with the comparison panel "
        f"({other}); {_FLATTERS}",
        "no loss from keeping": f"The comparison panel ({other}) is shown to lose at most 2 % "
        f"against these {these}, and nothing more: NLL {change} with these.",
        "no loss from curating": f"These {these} are shown to lose at most 2 % against the "
        f"comparison panel ({other}): NLL {change}; {_FLATTERS}",
        "undecided": f"Undecided: with these {these}, NLL changes by {change}.",
        "tie": f"The same {these} on both sides.",
    }[result.verdict]


def compared_sentence(result: WhatIf) -> str:
    """Name the pipeline of both panels."""
    if result.aggregator == AVERAGE:
        return (
            "Each panel is what is recommended from its judges, an average of pipelines: it is "
            "recommended again in every split."
        )
    return f"Both panels are under {pipeline_name(result.aggregator, result.calibrator)}."


def editor_sentence(spec: RecommendSpec, asked: WhatIfSpec) -> str:
    """Say what is compared on the page, and how that relates to the panel above."""
    start = "Untick judges to leave them out."
    if asked.aggregator != AVERAGE:
        name = pipeline_name(asked.aggregator, asked.calibrator)
        return (
            f"{start} The remaining judges, and all judges, are refitted in every split under "
            f"{name}, since one pipeline is chosen above."
        )
    text = (
        f"{start} What is recommended from the remaining judges is compared with what is "
        "recommended from all judges, in the same splits."
    )
    if spec == RecommendSpec(settings=spec.settings):
        return text
    return f"{text} Both are averages of the default candidates, whatever the options above."


def what_if_spec(
    spec: RecommendSpec, recommendation: Recommendation, judges: tuple[str, ...]
) -> WhatIfSpec:
    """Return the spec of these judges on both sides, from which some are to be left out.

    Its pipeline is the recommended average, or the one that was chosen instead.
    """
    main = recommendation.model.main
    averages = recommendation.chosen.panel == AVERAGE
    return WhatIfSpec(
        settings=spec.settings,
        keep=judges,
        against=judges,
        aggregator=AVERAGE if averages else of_votes(main.aggregator),
        calibrator="none" if averages else main.calibrator,
    )


def picked_spec(votes: VoteMatrix, spec: RecommendSpec, asked: WhatIfSpec) -> RecommendSpec:
    """Return the recommendation that measures the kept panel in all splits, and exports it.

    Labels held out for sets stay held out. A pipeline that is not a candidate over all judges
    gives way to the average.
    """
    settings = replace(asked.settings, judges=asked.keep)
    if asked.aggregator == AVERAGE:
        return RecommendSpec(settings, conformal=spec.conformal)
    general = RecommendSpec(settings, spec.candidates, conformal=spec.conformal)
    title = Candidate(EVERYONE, 0, asked.aggregator, asked.calibrator).title
    known = {candidate.title for candidate in contest_of(votes, general).choices.all()}
    return replace(general, candidate=title if title in known else "")


def picked_panel_sentence(result: Recommendation) -> str:
    """Return the NLL of the exported file of a panel picked by hand."""
    nll, lo, hi = result.nll
    used, picked = len(result.model.judges), counted(result.n_judges, "judge")
    who = picked if used == result.n_judges else f"{used} of {picked}"
    text = (
        f"{so_far(result)}{who} picked by hand, with "
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
        hover = f"{names[place]}: {nll:.3f} [{lo:.3f}, {hi:.3f}]"
        look = Look(colour, colour, symbol, "", size=11)
        add_series(figure, panel.nll[None], [place], look, names[place], hover, showlegend=False)
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
        f"{spec.settings.most_splits:,} differs a little."
    )
    return [
        Answer(what_if_sentence(result)),
        Caveat(BY_HAND),
        Paragraph(compared_sentence(result)),
        drawing("NLL of both panels, with intervals", what_if_figure, result),
        Table(what_if_table(result)),
        *(
            [Paragraph(few, quiet=True)]
            if result.planned_splits < spec.settings.most_splits
            else []
        ),
        Method(
            f"Both panels are fitted on the same {result.n_calibration:,.0f} labels of every split "
            f"and scored on the same {result.n_evaluation:,.0f} items. {_fit_sentence(result)}"
        ),
    ]


def _fit_sentence(result: WhatIf) -> str:
    if result.aggregator == AVERAGE:
        return (
            "Candidates are compared, and the weights of their average learned, on those labels "
            "alone."
        )
    return (
        f"A constant score through the same calibrator gives NLL {fixed(result.constant_nll, 3)}."
    )


ENTRY = Entry(WHAT_IF, present, by_hand=True)
