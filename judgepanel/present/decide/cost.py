"""What a panel costs, in words and tables for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from judgepanel.figures.cost import cost
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing, paragraphs
from judgepanel.studies.cost.cost import CostSpec
from judgepanel.studies.cost.cost_result import Cost, CostPoint
from judgepanel.studies.panel.costs import WRITTEN
from judgepanel.words.cells import Column, as_columns
from judgepanel.words.numbers import (
    counted,
    fixed,
    level,
    listed,
    percent,
    sig,
    with_interval,
)
from judgepanel.words.sentences import CODING
from judgepanel.words.terminal import one_line

_NAMED = 6


def amount(value: float, unit: str) -> str:
    """``0.0123 USD``, ``12.9 judges``; a unit that is not known is shown on one line."""
    if not math.isfinite(value):
        return "n/a"
    if unit == "judges":
        return f"{sig(value)} {'judge' if value == 1.0 else 'judges'}"
    return f"{sig(value)} {WRITTEN.get(unit.lower(), one_line(unit, 20))}".rstrip()


def amounts(values: Sequence[float], unit: str) -> Column:
    """A column of amounts."""
    words = {row: amount(value, unit) for row, value in enumerate(values) if math.isfinite(value)}
    return Column(np.asarray(values), "significant", words)


def cost_sentence(result: Cost) -> str:
    """What the budget buys, or which budget is enough."""
    text = _answer(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: Cost) -> str:
    nothing = _nothing(result)
    if nothing:
        return nothing
    everyone = f"all {result.n_judges} judges ({amount(result.full_cost, result.unit)})"
    if result.asked is not None:
        return _asked(result, result.asked, everyone)
    together = "all budgets taken together"
    enough = result.cheapest_without_loss
    if enough is not None:
        budgets = counted(len(result.points), "budget")
        return (
            f"{_cost(result, enough)} an item is the least of {budgets} shown to lose at most 2 % "
            f"of NLL against {everyone}: {_change(enough, band=True)}, {together}."
        )
    cheaper = [point for point in result.points if point.cost < result.full_cost * (1.0 - 1e-9)]
    if not cheaper:
        return f"Every budget pays for {everyone}."
    nearest = min(cheaper, key=lambda point: point.found.band_hi - point.found.margin)
    return (
        f"No budget is shown to lose at most 2 % of NLL against {everyone}. The nearest to it, "
        f"{_cost(result, nearest)} an item, changes NLL by {_change(nearest, band=True)}, "
        f"{together}."
    )


def _nothing(result: Cost) -> str:
    """Why there is nothing to choose, empty where there is."""
    if result.n_judges == 1:
        return "There is one judge only, so there is nothing to choose."
    if result.full_cost == 0.0:
        return "No judge costs anything, so there is nothing to save."
    if not math.isfinite(result.everyone.found.nll_lo):
        return "Not enough splits yet to say."
    if min(point.found.nll_lo for point in (*result.points, result.everyone)) >= result.null_nll:
        return (
            f"No panel at any cost beats the base rate (NLL {fixed(result.null_nll, 3)}), so there "
            "is nothing to buy."
        )
    return ""


def _asked(result: Cost, point: CostPoint, everyone: str) -> str:
    outcome = {
        "keep all": "all judges are better",
        "curate": "it is better than all judges",
        "no loss from keeping": "all judges lose nothing against it",
        "no loss from curating": "at most 2 % is lost",
        "undecided": "undecided",
        "tie": "the same probabilities",
    }[point.found.verdict]
    scores, judges = point.found, counted(len(point.judges), "judge")
    return (
        f"Under {amount(result.budget, result.unit)} an item, {judges} "
        f"({amount(point.panel_cost, result.unit)}) have an expected NLL of "
        f"{level(scores.nll, scores.nll_lo, scores.nll_hi)}: {_change(point)} against {everyone}, "
        f"{outcome}."
    )


def _cost(result: Cost, point: CostPoint) -> str:
    return f"{amount(point.cost, result.unit)} ({percent(point.share)})"


def _change(point: CostPoint, *, band: bool = False) -> str:
    if point.found.verdict == "tie":
        return "no difference"
    lo, hi = (
        (point.found.band_lo, point.found.band_hi) if band else (point.found.lo, point.found.hi)
    )
    return with_interval(point.found.delta, lo, hi, sign=True)


def price_sentence(result: Cost) -> str:
    """What the next 1 % of NLL costs where the curve begins and where it ends; may be empty."""
    steps = [
        (point, after)
        for point, after in zip(result.points, result.points[1:], strict=False)
        if point.next is not None and math.isfinite(point.next.price)
    ]
    if not steps:
        return ""
    ends = steps if len(steps) < 2 else [steps[0], steps[-1]]
    return "The next 1 % of NLL costs " + listed([_step(result, *step) for step in ends]) + "."


def _step(result: Cost, point: CostPoint, after: CostPoint) -> str:
    if point.next is None:
        return ""
    unseen = "" if point.next.lo > 0.0 else " (where no gain is shown)"
    return (
        f"{amount(point.next.price, result.unit)} an item from {sig(point.cost)} to "
        f"{amount(after.cost, result.unit)}{unseen}"
    )


def panel_sentence(result: Cost, point: CostPoint) -> str:
    """Who is in the panel of a point, as all labelled items choose it."""
    names = [one_line(name) for name in point.judges[:_NAMED]]
    if len(point.judges) > _NAMED:
        names.append(f"{len(point.judges) - _NAMED} more")
    agree = point.found.stability
    stable = f" Stability over splits {fixed(agree, 2)}." if math.isfinite(agree) else ""
    slow = point.panel_slowest
    late = f"; slowest {amount(slow, result.latency_unit)}" if math.isfinite(slow) else ""
    return (
        f"Under {amount(point.budget, result.unit)}: {listed(names)} "
        f"({counted(len(point.judges), 'judge')}, {amount(point.panel_cost, result.unit)}{late})."
        f"{stable}"
    )


def cost_table(result: Cost) -> pd.DataFrame:
    """Every budget, ascending, then all judges."""
    rows = (*result.points, result.everyone)
    table: dict[str, list[str]] = {
        "budget": [*(amount(point.budget, result.unit) for point in result.points), "all judges"],
        "cost": [amount(point.cost, result.unit) for point in rows],
        "of all": [percent(point.share) for point in rows],
        "judges": [_size(point) for point in rows],
        "NLL": [level(point.found.nll, point.found.nll_lo, point.found.nll_hi) for point in rows],
        "skill": [percent(point.found.skill) for point in rows],
        "against all judges": [*(_change(point) for point in result.points), ""],
        "verdict": [*(point.found.verdict for point in result.points), "reference"],
        "next 1 % of NLL": [_next(result, point) for point in rows],
        "on the frontier": ["yes" if point.on_frontier else "" for point in rows],
        "stability": [fixed(point.found.stability, 2) for point in rows],
    }
    if any(math.isfinite(point.slowest) for point in rows):
        table["slowest"] = [amount(point.slowest, result.latency_unit) for point in rows]
        table["in turn"] = [amount(point.in_turn, result.latency_unit) for point in rows]
    return pd.DataFrame(table)


def panels_table(result: Cost) -> pd.DataFrame:
    """Who is in the panel of every budget, as all labelled items choose it."""
    rows = result.points
    return pd.DataFrame(
        {
            "budget": [amount(point.budget, result.unit) for point in rows],
            "cost": [amount(point.panel_cost, result.unit) for point in rows],
            "judges": [len(point.judges) for point in rows],
            "who": [", ".join(one_line(name) for name in point.judges) for point in rows],
        }
    )


def _size(point: CostPoint) -> str:
    low, high = point.found.size_lo, point.found.size_hi
    return f"{low}" if low == high else f"{sig(point.found.size, 2)} ({low}-{high})"


def _next(result: Cost, point: CostPoint) -> str:
    if point.next is None:
        return ""
    if not math.isfinite(point.next.price):
        return "none gained"
    least, most = point.next.price_lo, point.next.price_hi
    upper = sig(most, 2) if math.isfinite(most) else "no limit"
    return f"{amount(point.next.price, result.unit)} [{sig(least, 2)}, {upper}]"


def present(result: Cost, spec: CostSpec) -> list[Block]:
    """Every budget, and who is in its panel."""
    point = result.asked or result.cheapest_without_loss or result.points[-1]
    return [
        Answer(cost_sentence(result)),
        *paragraphs(price_sentence(result)),
        drawing(cost(result), "NLL of the best panel under every budget"),
        Paragraph(
            "The stepped curve is a reading of the figures (the closest curve that never rises), "
            "not a choice.",
            quiet=True,
        ),
        Table(as_columns(cost_table(result))),
        *paragraphs(panel_sentence(result, point)),
        Table(
            as_columns(panels_table(result)),
            "The panel of every budget, as all labelled items choose it.",
            height=250,
        ),
        Method(
            "Budgets were fixed in advance, and the panel of each was chosen on calibration items "
            "alone. A constant score through the same calibrator gives NLL "
            f"{fixed(result.constant_nll, 3)}."
        ),
    ]
