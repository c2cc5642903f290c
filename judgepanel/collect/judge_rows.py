"""What each judge came to: cost and latency of an item, as the judge table wants them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from judgepanel.collect.journal import Journal
from judgepanel.collect.judges import Plan

NAMES = 20


@dataclass(slots=True)
class _Sums:
    outputs: int = 0
    seconds: array[float] = field(default_factory=lambda: array("d"))
    costs: array[float] = field(default_factory=lambda: array("d"))
    tokens_in: int = 0
    tokens_out: int = 0
    served_by: set[str] = field(default_factory=set)


def judge_rows(journal: Journal, plan: Plan) -> pd.DataFrame:
    """One row per judge: family, model, ``cost_usd`` and ``latency_s`` (median) per output.

    ``served_by`` names the models that the servers say have answered, at most ``NAMES`` of them;
    tokens are those that were counted credibly.
    """
    sums = {judge.name: _Sums() for judge in plan.judges}
    for entry in journal.entries():
        sums_of_judge = sums.get(entry["judge"])
        if sums_of_judge is None:
            continue
        sums_of_judge.outputs += 1
        if entry["seconds"] is not None:
            sums_of_judge.seconds.append(entry["seconds"])
        if entry["cost"] is not None:
            sums_of_judge.costs.append(entry["cost"])
        sums_of_judge.tokens_in += entry["tokens_in"] or 0
        sums_of_judge.tokens_out += entry["tokens_out"] or 0
        if len(sums_of_judge.served_by) <= NAMES:
            sums_of_judge.served_by.add(entry["served_by"])
    rows = []
    for judge in plan.judges:
        sums_of_judge = sums[judge.name]
        names = sorted(sums_of_judge.served_by - {""})
        more = ", …" if len(sums_of_judge.served_by) > NAMES else ""
        rows.append(
            {
                "judge": judge.name,
                "family": judge.family,
                "model": judge.model,
                "served_by": ", ".join(names[:NAMES]) + more,
                "outputs": sums_of_judge.outputs,
                "cost_usd": float(np.mean(sums_of_judge.costs)) if sums_of_judge.costs else np.nan,
                "latency_s": float(np.median(sums_of_judge.seconds))
                if sums_of_judge.seconds
                else np.nan,
                "tokens_in": sums_of_judge.tokens_in,
                "tokens_out": sums_of_judge.tokens_out,
            }
        )
    return pd.DataFrame(rows)
