"""Costs and latencies of judges from the judge table.

A column is ``cost``, or ``cost_`` and a unit (``cost_usd``), per item; likewise for latency
(``latency``, ``latency_s``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.errors import JUDGES, listed, quote_value

COST, LATENCY = "cost", "latency"
TABLE = "the judge table"
WRITTEN = {"usd": "USD", "eur": "EUR", "gbp": "GBP", "jpy": "JPY", "cny": "CNY", "chf": "CHF"}
"""Display names of units that differ from the column suffix."""
SLACK = 1e-9
"""Relative tolerance: costs are sums of decimals, and a panel may cost exactly its budget."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgeCosts:
    """Costs (n_judges,) per item and their unit.

    ``counted``: no costs are known, so every judge counts 1 and a cost is a number of judges.
    ``latency`` (n_judges,) per item, NaN if unknown.
    """

    cost: Floats
    unit: str
    counted: bool
    latency: Floats
    latency_unit: str

    @property
    def full(self) -> float:
        """Cost of all judges."""
        return float(self.cost.sum())

    def of(self, judges: NDArray[np.bool_]) -> Floats:
        """Return the cost of panels (..., n_judges)."""
        return np.asarray(judges.astype(np.float64) @ self.cost)

    def slowest(self, judges: NDArray[np.bool_]) -> Floats:
        """Latency of panels (..., n_judges) asked in parallel; 0 if empty, NaN if unknown."""
        return np.asarray(np.where(judges, self.latency, 0.0).max(axis=-1))

    def in_turn(self, judges: NDArray[np.bool_]) -> Floats:
        """Latency of panels (..., n_judges) asked in sequence."""
        return np.asarray(np.where(judges, self.latency, 0.0).sum(axis=-1))


def column_of(votes: VoteMatrix, name: str) -> str | None:
    """Return the column of the judge table called ``name``, or ``name_`` and a unit.

    None if there is no such column, or several with a unit.
    """
    if votes.judge_table is None:
        return None
    columns = [str(column) for column in votes.judge_table.columns]
    if name in columns:
        return name
    with_unit = [column for column in columns if column.startswith(f"{name}_")]
    return with_unit[0] if len(with_unit) == 1 else None


def numbers_of(votes: VoteMatrix, name: str, noun: str) -> Floats | None:
    """Return values (n_judges,) in the order of the votes, NaN if blank; None without a column.

    Raises
    ------
    InputError
        A value below 0, or one that is not a number.
    """
    column = column_of(votes, name)
    if column is None or votes.judge_table is None:
        return None
    given = votes.judge_table[column]
    values = np.array(pd.to_numeric(given, errors="coerce"), dtype=np.float64)
    for judge, text, value in zip(votes.judges, given, values, strict=True):
        blank = pd.isna(text) or str(text).strip() == ""
        if not blank and not 0.0 <= value < np.inf:
            raise InputError(
                f"the {name} of judge {judge} is not a {noun}",
                file=TABLE,
                column=column,
                value=text,
                allowed="a number, 0 or more",
                remedy="correct it in the judge table",
            )
    return values


def costs_of(votes: VoteMatrix, judges: Sequence[str]) -> JudgeCosts:
    """Return the costs of these judges, in their order; 1 for every judge if no cost is given.

    Raises
    ------
    InputError
        A cost that is not a number of at least 0, or a missing cost.
    """
    place = {name: j for j, name in enumerate(votes.judges)}
    columns = np.array([place[name] for name in judges], dtype=np.int64)
    cost, latency = numbers_of(votes, COST, "price"), _latency(votes)
    slow = np.full(len(judges), np.nan) if latency is None else latency[columns]
    unit, second = (_unit(column_of(votes, name), name) for name in (COST, LATENCY))
    if cost is None:
        return JudgeCosts(np.ones(len(judges)), "judges", True, slow, second)
    cost = cost[columns]
    unknown = [name for name, value in zip(judges, cost, strict=True) if np.isnan(value)]
    if unknown:
        raise InputError(
            f"what a panel costs needs a cost of every judge that takes part, and there is none of "
            f"{listed(unknown)}",
            file=TABLE,
            column=column_of(votes, COST),
            allowed="a number of 0 or more for every judge",
            remedy=f"add them to the judge table, or leave those judges out {JUDGES}",
        )
    return JudgeCosts(cost, unit, False, slow, second)


def _latency(votes: VoteMatrix) -> Floats | None:
    """Return latencies, None if unknown or not all numeric: no decision depends on them."""
    try:
        return numbers_of(votes, LATENCY, "time")
    except InputError:
        return None


def _unit(column: str | None, name: str) -> str:
    return "" if column is None else column.removeprefix(name).removeprefix("_")


def affordable(cost: Floats | float, budget: float) -> NDArray[np.bool_]:
    """Return which costs are within a budget."""
    return np.asarray(np.asarray(cost) <= budget * (1.0 + SLACK))


def check_price(budget: float | None) -> None:
    """Refuse an invalid budget; None is no budget."""
    if budget is not None and not 0.0 <= budget < np.inf:
        raise InputError("the budget is not a price", value=budget, allowed="a number, 0 or more")


def check_budget(cost: Floats, budget: float, judges: Sequence[str] = ()) -> None:
    """Refuse a budget below the cost of every judge; name the cheapest and its cost."""
    cheapest = int(np.argmin(cost))
    if not affordable(cost[cheapest], budget):
        least = f"{cost[cheapest]:.6g}"
        who = f", {quote_value(judges[cheapest])}," if len(judges) else ""
        raise InputError(
            f"no judge can be asked for this budget: the cheapest{who} costs {least} an item",
            value=f"{budget:g}",
            allowed=f"{least} or more",
        )


def no_costs_note(costs: JudgeCosts) -> list[str]:
    """Return a sentence on missing costs and how to provide them."""
    if not costs.counted:
        return []
    return [
        "The judge table gives no costs, so every judge counts 1 and 'cost' is the number of "
        "judges. Costs take one column of it named cost, or cost_ and a unit (cost_usd), with what "
        "each judge costs for one item."
    ]
