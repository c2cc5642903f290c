"""Presentation of cost: the best panel at each price, and asking all judges only where needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures import style
from judgepanel.kernels.aggregation import of_votes
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing, note, paragraphs
from judgepanel.present.study import Presentation
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide.cost import COST, Cost, CostPoint, CostSpec
from judgepanel.studies.decide.escalation import (
    ESCALATION,
    Escalation,
    EscalationFigures,
    EscalationSpec,
)
from judgepanel.studies.panel.curator import WRITTEN
from judgepanel.words import text as txt
from judgepanel.words.sentences import CODING
from judgepanel.words.tables import Column, differences, levels, numbers, text

_NAMED = 6
_LOG_FROM = 20.0
_MOST_POWERS = 4
_HOVERED = 5
_NAME = 30


def amount(value: float, unit: str) -> str:
    """Return ``0.0123 USD``, ``12.9 judges``; an unknown unit is shown on one line."""
    if not math.isfinite(value):
        return "n/a"
    if unit == "judges":
        return f"{txt.sig(value)} {'judge' if value == 1.0 else 'judges'}"
    return f"{txt.sig(value)} {WRITTEN.get(unit.lower(), txt.one_line(unit, 20))}".rstrip()


def amounts(values: Sequence[float], unit: str) -> Column:
    """A column of amounts."""
    words = {row: amount(value, unit) for row, value in enumerate(values) if math.isfinite(value)}
    return Column(np.asarray(values), "significant", words)


def cost_sentence(result: Cost) -> str:
    """Say what the budget buys, or which budget is enough."""
    text = _nothing(result) or _answer(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: Cost) -> str:
    whole = f"all {result.n_judges} judges ({amount(result.full_cost, result.unit)})"
    if result.asked is not None:
        outcome = {
            "keep all": "all judges are better",
            "curate": "it is better than all judges",
            "no loss from keeping": "all judges lose nothing against it",
            "no loss from curating": "at most 2 % is lost",
            "undecided": "undecided",
            "tie": "the same probabilities",
        }[result.asked.figures.verdict]
        scores, judges = result.asked.figures, txt.counted(len(result.asked.judges), "judge")
        return (
            f"Under {amount(result.budget, result.unit)} an item, {judges} "
            f"({amount(result.asked.panel_cost, result.unit)}) have an expected NLL of "
            f"{txt.level(*scores.nll)}: {_change(result.asked)} against {whole}, {outcome}."
        )
    together = "all budgets taken together"
    enough = result.cheapest_without_loss
    if enough is not None:
        less = txt.percent(1.0 - enough.share)
        return (
            f"{amount(float(enough.cost.value), result.unit)} an item is about as good as "
            f"{whole} at {less} less: NLL changes by {_change(enough, band=True)}, {together}."
        )
    cheaper = [
        point for point in result.points if point.cost.value < result.full_cost * (1.0 - 1e-9)
    ]
    if not cheaper:
        return f"Every budget pays for {whole}."
    nearest = min(cheaper, key=lambda point: point.figures.band.hi - point.figures.margin)
    cost = f"{amount(float(nearest.cost.value), result.unit)} ({txt.percent(nearest.share)})"
    return (
        f"No budget is shown to lose at most 2 % of NLL against {whole}. The nearest to it, "
        f"{cost} an item, changes NLL by {_change(nearest, band=True)}, {together}."
    )


def _nothing(result: Cost) -> str:
    """Say why there is nothing to choose; empty if there is."""
    if result.n_judges == 1:
        return "There is only one judge, so there is nothing to choose."
    if result.full_cost == 0.0:
        return "No judge costs anything, so there is nothing to save."
    if not math.isfinite(result.everyone.figures.nll.lo):
        return "Not enough splits yet to say."
    if min(point.figures.nll.lo for point in (*result.points, result.everyone)) >= result.null_nll:
        return (
            f"No panel at any cost beats the base rate (NLL {txt.fixed(result.null_nll, 3)}), so "
            "there is nothing to buy."
        )
    return ""


def _change(point: CostPoint, *, band: bool = False) -> str:
    if point.figures.verdict == "tie":
        return "no difference"
    return txt.with_interval(*(point.figures.band if band else point.figures.delta), sign=True)


def price_sentence(result: Cost) -> str:
    """Return the cost of the next 1 % of NLL at both ends of the curve; may be empty."""
    steps = [
        (point, after)
        for point, after in zip(result.points, result.points[1:], strict=False)
        if point.next is not None and math.isfinite(point.next.price.value)
    ]
    if not steps:
        return ""
    ends = steps if len(steps) < 2 else [steps[0], steps[-1]]
    names = ("the next percent of NLL", "it")
    return " ".join(_step(result, *step, name) for step, name in zip(ends, names, strict=False))


def _step(result: Cost, point: CostPoint, after: CostPoint, name: str) -> str:
    if point.next is None:
        return ""
    unseen = "" if point.next.gain.lo > 0.0 else ", where no gain is shown"
    price, here, there = (float(part.value) for part in (point.next.price, point.cost, after.cost))
    return (
        f"From {txt.sig(here)} to {amount(there, result.unit)}, {name} costs "
        f"{amount(price, result.unit)} per item{unseen}."
    )


def _named(judges: tuple[str, ...]) -> str:
    """Return the names of the first few judges, and how many more there are."""
    names = [txt.one_line(name) for name in judges[:_NAMED]]
    if len(judges) > _NAMED:
        names.append(f"{len(judges) - _NAMED} more")
    return txt.listed(names)


def _stable(stability: float) -> str:
    if not math.isfinite(stability):
        return ""
    return f" Stability over splits {txt.fixed(stability, 2)}."


def panel_sentence(result: Cost, point: CostPoint) -> str:
    """Name the judges in the panel of a point, as chosen on all labelled items."""
    slow = point.panel_slowest
    late = f"; slowest {amount(slow, result.latency_unit)}" if math.isfinite(slow) else ""
    return (
        f"Under {amount(point.budget, result.unit)}: {_named(point.judges)} "
        f"({txt.counted(len(point.judges), 'judge')}, "
        f"{amount(point.panel_cost, result.unit)}{late}).{_stable(point.figures.stability)}"
    )


def cost_table(result: Cost) -> dict[str, Column]:
    """Return every budget, ascending, then all judges."""
    rows, last = (*result.points, result.everyone), len(result.points)
    figures = [point.figures for point in rows]
    ties = {place: "no difference" for place, row in enumerate(figures) if row.verdict == "tie"}
    budgets = amounts([point.budget for point in rows], result.unit)
    table = {
        "budget": replace(budgets, words={**budgets.words, last: "all judges"}),
        "cost": amounts([float(point.cost.value) for point in rows], result.unit),
        "of all": numbers([point.share for point in rows], "share", of="share"),
        "judges": numbers([row.size for row in figures], words=map(_size, rows)),
        "NLL": levels(row.nll for row in figures),
        "skill": numbers([row.skill for row in figures], "share"),
        "against all judges": differences(
            [row.delta for row in figures], {**ties, last: ""}, of="delta"
        ),
        "verdict": text([*(row.verdict for row in figures[:-1]), "reference"]),
        "next 1 % of NLL": text([_next(result, point) for point in rows]),
        "on the frontier": text(
            ["yes" if point.on_frontier else "" for point in rows], of="on_frontier"
        ),
        "stability": numbers([row.stability for row in figures]),
    }
    if any(math.isfinite(point.slowest) for point in rows):
        table["slowest"] = amounts([point.slowest for point in rows], result.latency_unit)
        table["in turn"] = amounts([point.in_turn for point in rows], result.latency_unit)
    return table


def panels_table(result: Cost) -> dict[str, Column]:
    """Return the panel of every budget, as chosen on all labelled items."""
    rows = result.points
    return {
        "budget": amounts([point.budget for point in rows], result.unit),
        "cost": amounts([point.panel_cost for point in rows], result.unit),
        "judges": numbers([len(point.judges) for point in rows], "whole"),
        "who": text([", ".join(map(txt.one_line, point.judges)) for point in rows], of="panel"),
    }


def _size(point: CostPoint) -> str:
    low, high = point.figures.size_lo, point.figures.size_hi
    return f"{low}" if low == high else f"{txt.sig(point.figures.size, 2)} ({low}-{high})"


def _next(result: Cost, point: CostPoint) -> str:
    if point.next is None:
        return ""
    if not math.isfinite(point.next.price.value):
        return "none gained"
    price, least, most = point.next.price
    upper = txt.sig(most, 2) if math.isfinite(most) else "no limit"
    return f"{amount(price, result.unit)} [{txt.sig(least, 2)}, {upper}]"


def cost_figure(result: Cost) -> go.Figure:
    """Draw NLL against cost: points with intervals, reading as steps, all judges, base rate."""
    points, full = result.points, result.full_cost
    nll = Interval.stacked(point.figures.nll for point in points)
    cost = np.array([point.cost.value for point in points])
    reading = np.array([point.reading for point in points])
    order = np.argsort(cost, kind="stable")
    least, most = float(cost.min()), max(full, float(cost.max()))
    budget = None if np.isnan(result.budget) else min(result.budget, full)
    figure = go.Figure()
    stepped = [*reading[order], float(reading[order][-1])]
    look = style.stroke(style.NEUTRAL, "dash", 1.5)
    style.add_series(
        figure,
        [*cost[order], most],
        stepped,
        look,
        "monotone fit",
        "",
        line_shape="hv",
        hoverinfo="skip",
    )
    style.add_series(
        figure,
        cost,
        nll,
        style.spot(style.INCLUDE, "circle", 10),
        "best panel found, 95 %",
        "cost %{x:.3g}, NLL %{y:.3f}<br>%{text}",
        marker_color=[style.INCLUDE if point.on_frontier else style.WHITE for point in points],
        marker_line_width=2,
        text=[_hover_names(point) for point in points],
    )
    hover = "all judges: cost %{x:.3g}, NLL %{y:.3f}"
    style.mark_all_judges(
        figure, full, float(result.everyone.figures.nll.value), "all judges", hover
    )
    style.add_base_rate(figure, [least, most], [result.null_nll, result.null_nll])
    if budget is not None:
        heights = [float(np.nanmin([*nll.lo, *nll.value])), result.null_nll]
        look = style.stroke(style.CURATE_LINE, width=1.5)
        style.add_series(figure, [budget, budget], heights, look, "budget", "budget %{x:.3g}")
    style.laid_out(
        figure, x=cost_axis(result.unit, counted=result.counted), y="NLL (nats per item)"
    )
    if least > 0.0 and full > _LOG_FROM * least and (budget is None or budget > 0.0):
        ticks = _ticks(min(least, budget or least), most)
        figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:.10g}" for tick in ticks])
    return figure


def _hover_names(point: CostPoint) -> str:
    names = [style.escaped(name, _NAME) for name in point.judges[:_HOVERED]]
    more = len(point.judges) - len(names)
    return "<br>".join([*names, *([f"and {more} more"] if more else [])])


def cost_axis(unit: str, *, counted: bool) -> str:
    """Return the title of a cost axis."""
    if counted:
        return "judges asked per item (every judge costs 1)"
    written = WRITTEN.get(unit.lower(), style.escaped(unit, 20))
    return f"cost per item ({written})" if unit else "cost per item"


def _ticks(low: float, high: float) -> list[float]:
    """Return round ticks of a logarithmic axis: 1, 2, 5 per power of ten, fewer over many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= _MOST_POWERS else (1,)
    ticks = [float(f"{step}e{power}") for power in powers for step in steps]
    return [tick for tick in ticks if low * 0.9 <= tick <= high * 1.1]


def present(result: Cost, spec: CostSpec) -> list[Block]:
    """Present every budget and its panel."""
    point = result.asked or result.cheapest_without_loss or result.points[-1]
    caption = "The panel for each budget, chosen on all labelled items."
    return [
        Answer(cost_sentence(result)),
        *paragraphs(price_sentence(result)),
        drawing("NLL of the best panel under every budget", cost_figure, result),
        note(
            "The stepped curve is a monotone fit to the figures (the closest curve that never "
            "rises); nothing is chosen from it."
        ),
        Table(cost_table(result)),
        *paragraphs(panel_sentence(result, point)),
        Table(panels_table(result), caption, height=250),
        Method(
            "Budgets were fixed in advance, and the panel of each was chosen on calibration items "
            "alone. A constant score through the same calibrator gives NLL "
            f"{txt.fixed(result.constant_nll, 3)}."
        ),
    ]


def cost_spec(spec: RecommendSpec, recommendation: Recommendation) -> CostSpec:
    """Return the spec that prices panels under the heaviest recommended pipeline."""
    model = recommendation.model.main
    aggregator = of_votes(model.aggregator)
    return CostSpec(spec.settings, aggregator, model.calibrator, budget=spec.budget)


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
    text = _escalation_answer(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _escalation_answer(result: Escalation) -> str:
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
            f"{txt.fixed(result.null_nll, 3)}), so there is nothing to save."
        )
    change = txt.with_interval(*row.delta, sign=True)
    if row.threshold == 1.0:
        return (
            f"Ask all {result.n_judges} judges about every item: no threshold below 1 kept within "
            f"{txt.percent(result.tolerance)} of their NLL on calibration rows in most splits. "
            f"Choosing the threshold there costs {_per_item(result, row)} an item and changes NLL "
            f"by {change}; {_OUTCOMES[row.verdict]}."
        )
    costs = [
        "" if result.unit == "judges" else f" ({amount(cost, result.unit)})"
        for cost in (result.cheap_cost, result.full_cost)
    ]
    cheap = f"{txt.sig(result.cheap_size, 2)} {'judge' if result.cheap_size == 1.0 else 'judges'}"
    asked = txt.percent(float(row.escalated.value))
    return (
        f"Ask {cheap}{costs[0]} first, and all {result.n_judges}{costs[1]} where the confidence is "
        f"below {txt.sig(row.threshold)}. Then {asked} of the items go to all, and an item costs "
        f"{_per_item(result, row)}. NLL changes by {change}: {_OUTCOMES[row.verdict]}."
    )


def _per_item(result: Escalation, row: EscalationFigures) -> str:
    cost = float(row.cost.value)
    share = cost / result.full_cost if result.full_cost > 0.0 else 1.0
    return f"{amount(cost, result.unit)} ({txt.percent(share)})"


def promise_sentence(result: Escalation) -> str:
    """Compare the threshold's promised and achieved NLL; empty without splits."""
    row = result.recommended
    if not math.isfinite(row.nll.lo) or len(result.cheap) == result.n_judges:
        return ""
    delta = float(row.delta.value)
    return (
        "The threshold was chosen on calibration rows in every split (mostly "
        f"{txt.sig(float(result.threshold.lo))} to {txt.sig(float(result.threshold.hi))}). There "
        f"it lost {txt.signed(delta - result.optimism)} NLL against all judges, on new items "
        f"{txt.signed(delta)}: a selection bias of {txt.signed(result.optimism)}."
    )


def cheap_sentence(result: Escalation) -> str:
    """Name the judges in the cheap panel, as chosen on all labelled items."""
    return (
        f"The cheap panel is {result.cheap_how}: {_named(result.cheap)}.{_stable(result.stability)}"
    )


def escalation_table(result: Escalation) -> dict[str, Column]:
    """Return every threshold, ascending, then the recommended one."""
    rows = (*result.rows, result.recommended)
    last = len(result.rows) - 1
    names = [txt.sig(row.threshold) for row in result.rows]
    names[0], names[last] = "never (0.5)", "always (1)"
    nll = Interval.stacked(row.nll for row in rows)
    costs = [row.cost.value for row in rows]
    per_item = [_per_item(result, row) for row in rows]
    verdicts = [_VERDICTS[row.verdict] for row in rows]
    verdicts[last] = "reference"
    table = {
        "ask all below": text([*names, "chosen"]),
        "asked": levels([row.escalated for row in rows], of="escalated"),
        "cost": numbers(costs, "significant", words=per_item),
        "accuracy": levels(row.accuracy for row in rows),
        "NLL": levels(nll),
        "skill": numbers(1.0 - nll.value / result.null_nll, "share"),
        "against all judges": differences(
            [row.delta for row in rows], {last: "reference"}, of="delta"
        ),
        "verdict": text(verdicts),
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
    look, cost = (
        style.Look(style.INCLUDE, style.INCLUDE, "circle", "solid", 2.0, 8),
        float(chosen.cost.value),
    )
    for row, metric in enumerate(("nll", "accuracy"), start=1):
        place = {"showlegend": row == 1, "row": row, "col": 1}
        style.add_series(
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
        style.mark_chosen(figure, cost, float(getattr(chosen, metric).value), name, hover, **place)
    style.laid_out(figure, x="", y="NLL (nats per item)", height=560)
    figure.update_yaxes(title="accuracy", automargin=True, zeroline=False, row=2, col=1)
    axis = cost_axis(result.unit, counted=result.counted)
    figure.update_xaxes(title=axis, automargin=True, showgrid=False, row=2, col=1)
    figure.update_xaxes(title="", row=1, col=1)
    return figure


def present_escalation(result: Escalation, spec: EscalationSpec) -> list[Block]:
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


_BUDGETS = "every budget would need recommendations of its own"
_FOLDS = "every fold on which a threshold is chosen would need recommendations of its own"
PRESENTATIONS = (
    Presentation(COST, present, after=cost_spec, single=_BUDGETS),
    Presentation(ESCALATION, present_escalation, after=escalation_spec, single=_FOLDS),
)
