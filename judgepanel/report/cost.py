"""What a panel costs, in words and tables for people."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.report.numbers import (
    counted,
    fixed,
    interval,
    listed,
    percent,
    sig,
    with_interval,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.report.terminal import one_line
from judgepanel.studies.cost.cost_result import Cost, CostPoint
from judgepanel.studies.panel.costs import WRITTEN

_NAMED = 6
READING = (
    "Budgets were fixed in advance, and the panel of each was chosen on calibration rows alone. "
    "The stepped curve is a reading of the figures (the closest curve that never rises), not a "
    "choice."
)


def amount(value: float, unit: str) -> str:
    """``0.0123 USD``, ``12.9 judges``; a unit that is not known is shown on one line."""
    if not math.isfinite(value):
        return "n/a"
    if unit == "judges":
        return f"{sig(value)} {'judge' if value == 1.0 else 'judges'}"
    return f"{sig(value)} {WRITTEN.get(unit.lower(), one_line(unit, 20))}".rstrip()


def cost_sentence(found: Cost) -> str:
    """What the budget buys, or which budget is enough."""
    text = _answer(found)
    return f"{text} {CODING}" if found.measures_coding else text


def _answer(found: Cost) -> str:
    nothing = _nothing(found)
    if nothing:
        return nothing
    everyone = f"all {found.n_judges} judges ({amount(found.full_cost, found.unit)})"
    if found.asked is not None:
        return _asked(found, found.asked, everyone)
    together = "all budgets taken together"
    enough = found.cheapest_without_loss
    if enough is not None:
        budgets = counted(len(found.points), "budget")
        return (
            f"{_cost(found, enough)} an item is the least of {budgets} shown to lose at most 2 % "
            f"of NLL against {everyone}: {_change(enough, band=True)}, {together}."
        )
    cheaper = [one for one in found.points if one.cost < found.full_cost * (1.0 - 1e-9)]
    if not cheaper:
        return f"Every budget pays for {everyone}."
    nearest = min(cheaper, key=lambda one: one.found.band_hi - one.found.margin)
    return (
        f"No budget is shown to lose at most 2 % of NLL against {everyone}. The nearest to it, "
        f"{_cost(found, nearest)} an item, changes NLL by {_change(nearest, band=True)}, "
        f"{together}."
    )


def _nothing(found: Cost) -> str:
    """Why there is nothing to choose, empty where there is."""
    if found.n_judges == 1:
        return "There is one judge only, so there is nothing to choose."
    if found.full_cost == 0.0:
        return "No judge costs anything, so there is nothing to save."
    if not math.isfinite(found.everyone.found.nll_lo):
        return "Not enough splits yet to say."
    if min(one.found.nll_lo for one in (*found.points, found.everyone)) >= found.null_nll:
        return (
            f"No panel at any cost beats the base rate (NLL {fixed(found.null_nll, 3)}), so there "
            "is nothing to buy."
        )
    return ""


def _asked(found: Cost, one: CostPoint, everyone: str) -> str:
    outcome = {
        "keep all": "all judges are better",
        "curate": "it is better than all judges",
        "no loss from keeping": "all judges lose nothing against it",
        "no loss from curating": "at most 2 % is lost",
        "undecided": "undecided",
        "tie": "the same probabilities",
    }[one.found.verdict]
    return (
        f"Under {amount(found.budget, found.unit)} an item, {counted(len(one.judges), 'judge')} "
        f"({amount(one.panel_cost, found.unit)}) have an expected NLL of {fixed(one.found.nll, 3)} "
        f"{interval(one.found.nll_lo, one.found.nll_hi, 3)}: {_change(one)} against {everyone}, "
        f"{outcome}."
    )


def _cost(found: Cost, one: CostPoint) -> str:
    return f"{amount(one.cost, found.unit)} ({percent(one.share)})"


def _change(one: CostPoint, *, band: bool = False) -> str:
    if one.found.verdict == "tie":
        return "no difference"
    lo, hi = (one.found.band_lo, one.found.band_hi) if band else (one.found.lo, one.found.hi)
    return with_interval(one.found.delta, lo, hi, sign=True)


def price_sentence(found: Cost) -> str:
    """What the next 1 % of NLL costs where the curve begins and where it ends; may be empty."""
    steps = [
        (one, after)
        for one, after in zip(found.points, found.points[1:], strict=False)
        if one.next is not None and math.isfinite(one.next.price)
    ]
    if not steps:
        return ""
    ends = steps if len(steps) < 2 else [steps[0], steps[-1]]
    return "The next 1 % of NLL costs " + listed([_step(found, *step) for step in ends]) + "."


def _step(found: Cost, one: CostPoint, after: CostPoint) -> str:
    if one.next is None:
        return ""
    shown = "" if one.next.lo > 0.0 else " (where no gain is shown)"
    return (
        f"{amount(one.next.price, found.unit)} an item from {sig(one.cost)} to "
        f"{amount(after.cost, found.unit)}{shown}"
    )


def panel_sentence(found: Cost, one: CostPoint) -> str:
    """Who is in the panel of a point, as all labelled items choose it."""
    names = [one_line(name) for name in one.judges[:_NAMED]]
    if len(one.judges) > _NAMED:
        names.append(f"{len(one.judges) - _NAMED} more")
    agree = one.found.stability
    stable = f" Stability over splits {fixed(agree, 2)}." if math.isfinite(agree) else ""
    slow = one.panel_slowest
    late = f"; slowest {amount(slow, found.latency_unit)}" if math.isfinite(slow) else ""
    return (
        f"Under {amount(one.budget, found.unit)}: {listed(names)} "
        f"({counted(len(one.judges), 'judge')}, {amount(one.panel_cost, found.unit)}{late})."
        f"{stable}"
    )


def cost_table(found: Cost) -> pd.DataFrame:
    """Every budget, ascending, then all judges."""
    rows = (*found.points, found.everyone)
    table: dict[str, list[str]] = {
        "budget": [*(amount(one.budget, found.unit) for one in found.points), "all judges"],
        "cost": [amount(one.cost, found.unit) for one in rows],
        "of all": [percent(one.share) for one in rows],
        "judges": [_size(one) for one in rows],
        "NLL": [
            f"{fixed(one.found.nll, 3)} {interval(one.found.nll_lo, one.found.nll_hi, 3)}"
            for one in rows
        ],
        "skill": [percent(one.found.skill) for one in rows],
        "against all judges": [*(_change(one) for one in found.points), ""],
        "verdict": [*(one.found.verdict for one in found.points), "reference"],
        "next 1 % of NLL": [_next(found, one) for one in rows],
        "on the frontier": ["yes" if one.on_frontier else "" for one in rows],
        "stability": [fixed(one.found.stability, 2) for one in rows],
    }
    if any(math.isfinite(one.slowest) for one in rows):
        table["slowest"] = [amount(one.slowest, found.latency_unit) for one in rows]
        table["in turn"] = [amount(one.in_turn, found.latency_unit) for one in rows]
    return pd.DataFrame(table)


def panels_table(found: Cost) -> pd.DataFrame:
    """Who is in the panel of every budget, as all labelled items choose it."""
    rows = found.points
    return pd.DataFrame(
        {
            "budget": [amount(one.budget, found.unit) for one in rows],
            "cost": [amount(one.panel_cost, found.unit) for one in rows],
            "judges": [len(one.judges) for one in rows],
            "who": [", ".join(one_line(name) for name in one.judges) for one in rows],
        }
    )


def _size(one: CostPoint) -> str:
    low, high = one.found.size_lo, one.found.size_hi
    return f"{low}" if low == high else f"{sig(one.found.size, 2)} ({low}-{high})"


def _next(found: Cost, one: CostPoint) -> str:
    if one.next is None:
        return ""
    if not math.isfinite(one.next.price):
        return "none gained"
    least, most = one.next.price_lo, one.next.price_hi
    upper = sig(most, 2) if math.isfinite(most) else "no limit"
    return f"{amount(one.next.price, found.unit)} [{sig(least, 2)}, {upper}]"


def cost_text(found: Cost) -> str:
    """The answer, the prices, every budget, and the panel of the one that matters."""
    lines = [
        f"{found.n_splits} splits, {found.n_calibration:.0f} labels calibrate and "
        f"{found.n_evaluation:.0f} evaluate, {AGGREGATOR_NAMES[found.aggregator]}, "
        f"{CALIBRATED[found.calibrator]}, orientation {found.orientation}, seed {found.seed}; null "
        f"NLL {found.null_nll:.4f}.",
        cost_sentence(found),
    ]
    lines += [text for text in (price_sentence(found),) if text]
    lines.append("\n" + cost_table(found).to_string(index=False) + "\n")
    point = found.asked or found.cheapest_without_loss or found.points[-1]
    lines += [READING, panel_sentence(found, point)]
    return "\n".join(lines)
