"""Presentation of cost: the best panel at each price, and asking all judges only where needed.

Presentation of curators: does choosing judges pay?
"""

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
from judgepanel.present.study import Presentation, under_honest_protocol
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide import curators, escalation
from judgepanel.studies.decide.cost import COST, Cost, CostPoint, CostSpec
from judgepanel.studies.panel.curator import WRITTEN
from judgepanel.words import text as txt
from judgepanel.words.sentences import AGGREGATOR_NAMES, SAME_PANEL, tie_words, with_coding
from judgepanel.words.tables import Column, differences, levels, numbers, text

_MOST_OFTEN = 3


def curators_sentence(result: curators.Curators) -> str:
    """Say whether any curator is shown to beat all judges, jointly over all curators."""
    return with_coding(_curators_answer(result), result.measures_coding)


def _curators_answer(result: curators.Curators) -> str:
    rivals = _rivals(result)
    if not rivals:
        return "No curator was compared with all judges."
    if result.n_judges == 1:
        return "There is only one judge, so there is nothing to choose."
    if result.n_splits < 2:
        return "Not enough splits yet to say."
    best = _best(rivals)
    if result.everyone.nll.lo >= result.null_nll and best.nll.lo >= result.null_nll:
        return (
            f"Neither all judges nor any chosen ones beat the base rate (NLL "
            f"{txt.fixed(result.null_nll, 3)}), so there is nothing to choose from."
        )
    judges, band = txt.counted(result.n_judges, "judge"), txt.with_interval(*best.band, sign=True)
    change = f"keeps {txt.sig(best.size, 2)} of {judges} on average and changes NLL by {band}"
    if best.verdict == "tie":
        change = f"is the {SAME_PANEL} in every split"
    if best.band.hi < -best.margin:
        return f"Choosing pays: {best.title} {change}, all curators taken together."
    worse = sum(row.band.lo > row.margin for row in rivals)
    compared = txt.counted(len(rivals), "curator")
    rest = f" {worse} of {compared} are shown to cost NLL." if worse else ""
    return (
        f"No curator is shown to beat {txt.all_judges(result.n_judges)}. The best of them, "
        f"{best.title}, {change}.{rest}"
    )


def _rivals(result: curators.Curators) -> list[curators.CuratorFigures]:
    """Return the curators with which all judges are compared."""
    return [row for row in result.deployable if row.curator not in ("all", curators.LOOKED_BEST)]


def _best(rivals: list[curators.CuratorFigures]) -> curators.CuratorFigures:
    return min(rivals, key=lambda row: float(row.nll.value))


def looked_best_sentence(result: curators.Curators) -> str:
    """Return the cost of using the most promising curator; empty if nothing was chosen."""
    row = result.named(curators.LOOKED_BEST)
    if row is None or not math.isfinite(row.optimism.value) or len(result.curators) < 3:
        return ""
    rivals = [r for r in result.curators[:-1] if r.looked_best_share > 0]
    often = max(rivals, key=lambda r: r.looked_best_share)
    return (
        f"{txt.capital(often.title)} looked best in {txt.percent(often.looked_best_share)} of the "
        f"splits. What looked best promised NLL {txt.fixed(row.seen, 3)} where it was chosen and "
        f"has {txt.level(*row.nll)} on new items: a selection bias of "
        f"{txt.signed(float(row.optimism.value))}."
    )


def selector_sentence(result: curators.Curators) -> str:
    """Describe the choices of the finite-calibration selector; empty if it did not take part."""
    row = result.selector
    if row is None:
        return ""
    return (
        "The finite-calibration selector (our reading of arXiv:2606.01034) took "
        f"{txt.sig(row.judges, 2)} judges on average, and a table of vote patterns in "
        f"{txt.percent(row.table_share)} of the splits. Such a table has {row.occupied:.0f} "
        f"occupied cells ({txt.sig(row.labels_a_cell, 2)} labels per cell); "
        f"{txt.percent(row.expected_new)} of new items were expected in cells never seen "
        f"(Good-Turing), {txt.percent(row.new)} were."
    )


def chosen_sentence(result: curators.Curators, curator: str) -> str:
    """Name the judges a curator chooses most often, and the stability of its panels over splits."""
    row = result.named(curator)
    if row is None:
        return ""
    share = result.shares(curator)
    order = np.argsort(-share, kind="stable")
    if row.size == result.n_judges:
        return f"{txt.capital(row.title)} keeps every judge in every split."
    always = int(np.count_nonzero(share == 1.0))
    never = int(np.count_nonzero(share == 0.0))
    names = [
        f"{txt.one_line(result.judges[j])} ({txt.percent(float(share[j]), 3)})"
        for j in order[:_MOST_OFTEN]
    ]
    agree = f" Stability {row.stability:.2f}." if math.isfinite(row.stability) else ""
    return (
        f"{txt.capital(row.title)} chooses {always} of {txt.counted(result.n_judges, 'judge')} in "
        f"every split and {never} in none. Most often: {txt.listed(names)}.{agree}"
    )


def curators_table(result: curators.Curators) -> dict[str, Column]:
    """Return every curator, in the requested order."""
    rows = result.curators
    ties = {
        place: tie_words(row.size_lo, result.n_judges)
        for place, row in enumerate(rows)
        if row.verdict == "tie"
    }
    seen = np.array([row.seen for row in rows])
    shares = [
        np.nan if row.curator == curators.LOOKED_BEST else row.looked_best_share for row in rows
    ]
    return {
        "curator": text([row.title for row in rows]),
        "judges": numbers([row.size for row in rows], words=map(_size, rows)),
        "NLL where it chose": Column(
            seen, "number", dict.fromkeys(np.flatnonzero(np.isnan(seen)).tolist(), "n/a")
        ),
        "NLL on new items": levels([row.nll for row in rows], of="nll"),
        "selection bias": numbers([row.optimism.value for row in rows], "signed"),
        "skill": numbers([row.skill for row in rows], "share"),
        "against all judges": differences(
            [row.delta for row in rows], {**ties, 0: "reference"}, of="delta"
        ),
        "verdict": text([_verdict(row) for row in rows]),
        "stability": numbers([row.stability for row in rows]),
        "looked best in": numbers(shares, "share", of="looked_best_share"),
    }


def chosen_table(result: curators.Curators) -> dict[str, Column]:
    """Return how often every curator chose each judge; one row per judge, a column per curator."""
    names = [row.title for row in result.curators]
    columns = (numbers(shares, "share") for shares in result.chosen_share)
    return {"judge": text(result.judges), **dict(zip(names, columns, strict=True))}


def _verdict(row: curators.CuratorFigures) -> str:
    if row.curator == "all":
        return "reference"
    return row.verdict if row.deployable else "not deployable"


def curators_figure(result: curators.Curators) -> go.Figure:
    """Draw each curator's NLL of choice (none for the oracle) and on new items, the best last."""
    ranked = sorted(result.curators, key=lambda row: -row.nll.value)
    names = [row.title if row.deployable else f"{row.title} (not deployable)" for row in ranked]
    nll = Interval.stacked(row.nll for row in ranked)
    seen = [row.seen for row in ranked]
    figure = go.Figure()
    pairs = zip(seen, nll.value, strict=True)
    x = [end for saw, value in pairs for end in (saw, value, math.nan)]
    y = [name for name in names for _ in range(3)]
    look, quiet = style.stroke(style.NEUTRAL, width=2.0), {"hoverinfo": "skip", "showlegend": False}
    style.add_series(figure, x, y, look, "", "", **quiet)
    look, hover = replace(style.CHOSEN, dash="", size=10), "%{y}<br>where it chose: %{x:.3f}"
    style.add_series(figure, seen, names, look, "where it chose", hover)
    look, hover = replace(style.ALL_JUDGES, dash="", size=10), "%{y}<br>on new items: %{x:.3f}"
    style.add_series(figure, nll, names, look, "on new items, 95 %", hover)
    ends, whole = [names[0], names[-1]], float(result.everyone.nll.value)
    look = style.stroke(style.INCLUDE, "dash", 1.5)
    style.add_series(figure, [whole, whole], ends, look, "all judges", "all judges: %{x:.3f}")
    style.add_base_rate(figure, [result.null_nll, result.null_nll], ends, "base rate: %{x:.3f}")
    style.laid_out(figure, x="NLL (nats per item)", y="", height=130 + 30 * len(names))
    figure.update_yaxes(categoryorder="array", categoryarray=names)
    return figure


def present_curators(result: curators.Curators, spec: curators.CuratorsSpec) -> list[Block]:
    """Present all curators, and the judges that the best one chooses."""
    notes = [f"{txt.capital(row.title)}: {row.note}." for row in result.curators if row.note]
    rivals = _rivals(result)
    chosen = chosen_sentence(result, _best(rivals).curator) if rivals else ""
    shows = "NLL of every way of choosing, where it chose and on new items, against all judges"
    caption = "Share of the splits in which every curator chose each judge."
    return [
        Answer(curators_sentence(result)),
        *paragraphs(looked_best_sentence(result), selector_sentence(result)),
        drawing(shows, curators_figure, result),
        Table(curators_table(result)),
        *paragraphs(*notes, chosen),
        Table(chosen_table(result), caption, height=320),
        Method(_method(result)),
    ]


def _method(result: curators.Curators) -> str:
    text = (
        "Every curator chooses on the calibration items of a split, its panel is refitted there "
        "and compared with all judges on the other items. Selection bias is the NLL on new items "
        "minus the NLL where the panel was chosen. A constant score "
        f"through the same calibrator gives NLL {txt.fixed(result.constant_nll, 3)}."
    )
    if result.refit == result.aggregator:
        return text
    compared, refit = (AGGREGATOR_NAMES[name] for name in (result.aggregator, result.refit))
    return f"{text} Panels are compared under {compared} and refitted under {refit}."


_WAYS = "every way of choosing would need recommendations of its own"
_CURATORS = under_honest_protocol(curators.CuratorsSpec)


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
    return with_coding(_nothing(result) or _answer(result), result.measures_coding)


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
    limit = result.full_cost * (1.0 - 1e-9)
    cheaper = [point for point in result.points if point.cost.value < limit]
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
        (point, after, point.next)
        for point, after in zip(result.points, result.points[1:], strict=False)
        if point.next is not None and math.isfinite(point.next.price.value)
    ]
    if not steps:
        return ""
    ends = steps if len(steps) < 2 else [steps[0], steps[-1]]
    parts = []
    names = ("the next percent of NLL", "it")
    for (point, after, step), name in zip(ends, names, strict=False):
        unseen = "" if step.gain.lo > 0.0 else ", where no gain is shown"
        price, here, there = (float(part.value) for part in (step.price, point.cost, after.cost))
        parts.append(
            f"From {txt.sig(here)} to {amount(there, result.unit)}, {name} costs "
            f"{amount(price, result.unit)} per item{unseen}."
        )
    return " ".join(parts)


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
        "judges": numbers([row.size for row in figures], words=map(_size, figures)),
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


def _size(row: curators.CuratorFigures) -> str:
    if row.size_lo == row.size_hi:
        return f"{row.size_lo}"
    return f"{txt.sig(row.size, 2)} ({row.size_lo}-{row.size_hi})"


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
    as_steps = {"line_shape": "hv", "hoverinfo": "skip"}
    style.add_series(figure, [*cost[order], most], stepped, look, "monotone fit", "", **as_steps)
    look, hover = style.spot(style.INCLUDE, "circle", 10), "cost %{x:.3g}, NLL %{y:.3f}<br>%{text}"
    marks = {
        "marker_color": [style.INCLUDE if point.on_frontier else style.WHITE for point in points],
        "marker_line_width": 2,
        "text": [_hover_names(point) for point in points],
    }
    style.add_series(figure, cost, nll, look, "best panel found, 95 %", hover, **marks)
    hover = "all judges: cost %{x:.3g}, NLL %{y:.3f}"
    whole = float(result.everyone.figures.nll.value)
    style.mark_all_judges(figure, full, whole, "all judges", hover)
    style.add_base_rate(figure, [least, most], [result.null_nll, result.null_nll])
    if budget is not None:
        heights = [float(np.nanmin([*nll.lo, *nll.value])), result.null_nll]
        look = style.stroke(style.CURATE_LINE, width=1.5)
        style.add_series(figure, [budget, budget], heights, look, "budget", "budget %{x:.3g}")
    axis = cost_axis(result.unit, counted=result.counted)
    style.laid_out(figure, x=axis, y="NLL (nats per item)")
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


def escalation_sentence(result: escalation.Escalation) -> str:
    """Return the cost and NLL of the recommended threshold."""
    return with_coding(_escalation_answer(result), result.measures_coding)


def _escalation_answer(result: escalation.Escalation) -> str:
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


def _per_item(result: escalation.Escalation, row: escalation.EscalationFigures) -> str:
    cost = float(row.cost.value)
    share = cost / result.full_cost if result.full_cost > 0.0 else 1.0
    return f"{amount(cost, result.unit)} ({txt.percent(share)})"


def promise_sentence(result: escalation.Escalation) -> str:
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


def cheap_sentence(result: escalation.Escalation) -> str:
    """Name the judges in the cheap panel, as chosen on all labelled items."""
    names = _named(result.cheap)
    return f"The cheap panel is {result.cheap_how}: {names}.{_stable(result.stability)}"


def escalation_table(result: escalation.Escalation) -> dict[str, Column]:
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


def escalation_figure(result: escalation.Escalation) -> go.Figure:
    """Draw NLL above accuracy against cost, with the recommended threshold marked."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    chosen = result.recommended
    look = style.Look(style.INCLUDE, style.INCLUDE, "circle", "solid", 2.0, 8)
    cost = float(chosen.cost.value)
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


def present_escalation(
    result: escalation.Escalation, spec: escalation.EscalationSpec
) -> list[Block]:
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


def escalation_spec(
    spec: RecommendSpec, recommendation: Recommendation
) -> escalation.EscalationSpec:
    """Return the spec with the heaviest recommended pipeline for the cheap and the full panel."""
    model = recommendation.model.main
    return escalation.EscalationSpec(spec.settings, of_votes(model.aggregator), model.calibrator)


_BUDGETS = "every budget would need recommendations of its own"
_FOLDS = "every fold on which a threshold is chosen would need recommendations of its own"
PRESENTATIONS = (
    Presentation(COST, present, after=cost_spec, single=_BUDGETS),
    Presentation(escalation.ESCALATION, present_escalation, after=escalation_spec, single=_FOLDS),
    Presentation(curators.CURATORS_STUDY, present_curators, _CURATORS, single=_WAYS),
)
