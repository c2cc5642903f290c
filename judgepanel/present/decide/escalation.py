"""Presentation of escalation: can a cheap panel answer first?"""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures.style import INCLUDE, Look, add_series, laid_out, mark_chosen
from judgepanel.kernels.aggregation import of_votes
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing, paragraphs
from judgepanel.present.decide.cost import amount, amounts, cost_axis
from judgepanel.present.study import Entry
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide.escalation import (
    ESCALATION,
    Escalation,
    EscalationFigures,
    EscalationSpec,
)
from judgepanel.words.sentences import CODING
from judgepanel.words.tables import Column, differences, levels, numbers, text
from judgepanel.words.text import fixed, listed, one_line, percent, sig, signed, with_interval

_NAMED = 6
_OUTCOMES = {
    "keep all": "that is shown to be worse than asking all judges",
    "curate": "that is shown to be better than asking all judges",
    "no loss from keeping": "asking all judges loses nothing against it",
    "no loss from curating": "at most 2 % is lost",
    "undecided": "whether that loses NLL is undecided",
    "tie": "the same probabilities as asking all judges",
}
_VERDICTS = {
    "keep all": "ask all judges",
    "curate": "escalate",
    "no loss from keeping": "no loss from asking all judges",
    "no loss from curating": "no loss from escalating",
    "undecided": "undecided",
    "tie": "tie",
}


def escalation_sentence(result: Escalation) -> str:
    """Return the cost and NLL of the recommended threshold."""
    text = _answer(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: Escalation) -> str:
    if result.n_judges == 1:
        return "There is only one judge, so there is none to escalate to."
    if len(result.cheap) == result.n_judges:
        return "The cheap panel is all judges, so there is nothing to escalate to."
    row = result.recommended
    if not math.isfinite(row.nll.lo):
        return "Not enough splits yet to say."
    if min(row.nll.lo, result.full.nll.lo) >= result.null_nll:
        return (
            f"Neither all judges nor escalation beat the base rate (NLL "
            f"{fixed(result.null_nll, 3)}), so there is nothing to save."
        )
    if row.threshold == 1.0:
        return (
            f"Ask all {result.n_judges} judges about every item: no threshold below 1 kept "
            f"within {percent(result.tolerance)} of their NLL on calibration rows in most splits. "
            f"Choosing the threshold there costs {_cost(result, row)} an item and changes NLL by "
            f"{_change(row)}; {_OUTCOMES[row.verdict]}."
        )
    costs = [
        "" if result.unit == "judges" else f" ({amount(cost, result.unit)})"
        for cost in (result.cheap_cost, result.full_cost)
    ]
    cheap = f"{sig(result.cheap_size, 2)} {'judge' if result.cheap_size == 1.0 else 'judges'}"
    asked = percent(float(row.escalated.value))
    return (
        f"Ask {cheap}{costs[0]} first, and all {result.n_judges}{costs[1]} "
        f"where the confidence is below {sig(row.threshold)}. Then {asked} of the "
        f"items go to all, and an item costs {_cost(result, row)}. NLL changes by {_change(row)}: "
        f"{_OUTCOMES[row.verdict]}."
    )


def _cost(result: Escalation, row: EscalationFigures) -> str:
    cost = float(row.cost.value)
    share = cost / result.full_cost if result.full_cost > 0.0 else 1.0
    return f"{amount(cost, result.unit)} ({percent(share)})"


def _change(row: EscalationFigures) -> str:
    return with_interval(*row.delta, sign=True)


def promise_sentence(result: Escalation) -> str:
    """Compare the threshold's promised and achieved NLL; empty without splits."""
    row = result.recommended
    if not math.isfinite(row.nll.lo) or len(result.cheap) == result.n_judges:
        return ""
    delta = float(row.delta.value)
    return (
        f"The threshold was chosen on calibration rows in every split (mostly "
        f"{sig(float(result.threshold.lo))} to {sig(float(result.threshold.hi))}). There it lost "
        f"{signed(delta - result.optimism)} NLL against all judges, on new items "
        f"{signed(delta)}: a selection bias of {signed(result.optimism)}."
    )


def cheap_sentence(result: Escalation) -> str:
    """Name the judges in the cheap panel, as chosen on all labelled items."""
    names = [one_line(name) for name in result.cheap[:_NAMED]]
    if len(result.cheap) > _NAMED:
        names.append(f"{len(result.cheap) - _NAMED} more")
    stable = (
        f" Stability over splits {fixed(result.stability, 2)}."
        if math.isfinite(result.stability)
        else ""
    )
    return f"The cheap panel is {result.cheap_how}: {listed(names)}.{stable}"


def escalation_table(result: Escalation) -> dict[str, Column]:
    """Return every threshold, ascending, then the recommended one."""
    rows = (*result.rows, result.recommended)
    last = len(result.rows) - 1
    names = [sig(row.threshold) for row in result.rows]
    names[0], names[last] = "never (0.5)", "always (1)"
    nll = Interval.stacked(row.nll for row in rows)
    table = {
        "ask all below": text([*names, "chosen"]),
        "asked": levels(Interval.stacked(row.escalated for row in rows), of="escalated"),
        "cost": Column(
            np.array([row.cost.value for row in rows]),
            "significant",
            {place: _cost(result, row) for place, row in enumerate(rows)},
        ),
        "accuracy": levels(Interval.stacked(row.accuracy for row in rows)),
        "NLL": levels(nll),
        "skill": numbers(1.0 - nll.value / result.null_nll, "share"),
        "against all judges": differences(
            Interval.stacked(row.delta for row in rows), {last: "reference"}, of="delta"
        ),
        "verdict": text(
            [
                "reference" if place == last else _VERDICTS[row.verdict]
                for place, row in enumerate(rows)
            ]
        ),
        "chosen in": numbers(
            [*(row.chosen_share for row in result.rows), np.nan], "share", of="chosen_share"
        ),
    }
    if any(math.isfinite(row.latency) for row in rows):
        table["latency"] = amounts([row.latency for row in rows], result.latency_unit)
    return table


def escalation_figure(result: Escalation) -> go.Figure:
    """Draw NLL above accuracy against cost, with the recommended threshold marked."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    chosen = result.recommended
    look, cost = Look(INCLUDE, INCLUDE, "circle", "solid", 2.0, 8), float(chosen.cost.value)
    for row, metric in enumerate(("nll", "accuracy"), start=1):
        place = {"showlegend": row == 1, "row": row, "col": 1}
        add_series(
            figure,
            [figures.cost.value for figures in result.rows],
            Interval.stacked(getattr(figures, metric) for figures in result.rows),
            look,
            "ask all below a threshold, 95 %",
            "below %{text}: cost %{x:.3g}, %{y:.3f}<br>%{customdata:.0%} of items",
            text=[f"{figures.threshold:g}" for figures in result.rows],
            customdata=[figures.escalated.value for figures in result.rows],
            **place,
        )
        name, hover = "threshold chosen on calibration rows", "chosen: cost %{x:.3g}, %{y:.3f}"
        mark_chosen(figure, cost, float(getattr(chosen, metric).value), name, hover, **place)
    laid_out(figure, x="", y="NLL (nats per item)", height=560)
    figure.update_yaxes(title="accuracy", automargin=True, zeroline=False, row=2, col=1)
    axis = cost_axis(result.unit, counted=result.counted)
    figure.update_xaxes(title=axis, automargin=True, showgrid=False, row=2, col=1)
    figure.update_xaxes(title="", row=1, col=1)
    return figure


def present(result: Escalation, spec: EscalationSpec) -> list[Block]:
    """Present every confidence threshold, and the cheap panel."""
    return [
        Answer(escalation_sentence(result)),
        *paragraphs(promise_sentence(result), cheap_sentence(result)),
        drawing("NLL for every threshold of confidence", escalation_figure, result),
        Table(escalation_table(result)),
        Method(
            "Thresholds were fixed in advance; in every split the recommended one is chosen on the "
            "calibration items."
        ),
    ]


def escalation_spec(spec: RecommendSpec, recommendation: Recommendation) -> EscalationSpec:
    """Return the spec with the heaviest recommended pipeline for the cheap and the full panel."""
    model = recommendation.model.main
    return EscalationSpec(spec.settings, of_votes(model.aggregator), model.calibrator)


ENTRY = Entry(
    ESCALATION,
    present,
    after=escalation_spec,
    single="every fold on which a threshold is chosen would need recommendations of its own",
)
