"""What each judge came to: cost and latency of an item, as the judge table wants them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from judgepanel.collect.journal import Journal
from judgepanel.collect.judges import Plan


@dataclass(slots=True)
class _Sums:
    seconds: array[float] = field(default_factory=lambda: array("d"))
    cost: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    served_by: set[str] = field(default_factory=set)


def judge_rows(journal: Journal, plan: Plan) -> pd.DataFrame:
    """One row a judge: family, model, ``cost_usd`` and ``latency_s`` (median) an output.

    ``served_by`` names the models that the servers say have answered.
    """
    sums = {judge.name: _Sums() for judge in plan.judges}
    for entry in journal.entries():
        one = sums.get(entry["judge"])
        if one is None:
            continue
        one.seconds.append(float(entry["seconds"]))
        one.cost += float(entry["cost"])
        one.tokens_in += int(entry["tokens_in"])
        one.tokens_out += int(entry["tokens_out"])
        one.served_by.add(str(entry["served_by"]))
    rows = []
    for judge in plan.judges:
        one = sums[judge.name]
        n = len(one.seconds)
        rows.append(
            {
                "judge": judge.name,
                "family": judge.family,
                "model": judge.model,
                "served_by": ", ".join(sorted(one.served_by)),
                "outputs": n,
                "cost_usd": one.cost / n if n else np.nan,
                "latency_s": float(np.median(one.seconds)) if n else np.nan,
                "tokens_in": one.tokens_in,
                "tokens_out": one.tokens_out,
            }
        )
    return pd.DataFrame(rows)
