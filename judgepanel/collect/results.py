"""The results of a run: votes read from its journal, and each judge's cost and latency."""

from __future__ import annotations

import json
from array import array
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.collect.journal import FILE, Journal
from judgepanel.collect.judges import Plan
from judgepanel.collect.pairs import Pairs
from judgepanel.votes.build import Loaded, build_votes
from judgepanel.votes.cells import unshield
from judgepanel.votes.columns import guess_mapping
from judgepanel.votes.from_jsonl import read_jsonl
from judgepanel.votes.transcripts import OF_A_CALL, UNUSABLE, transcribed

NAMES = 20
_OUTPUT = ("item_id", "judge", "order", "text")


def votes_of(journal: Journal, pairs: Pairs) -> Loaded:
    """Votes read from a journal; an output that cannot be read is a missing vote with a reason.

    Labels, groups and features are those of the pairs as they are now. Items stand in the order of
    the pairs and judges in that of their names, whichever call ended first.

    Unlike an upload, a journal may have any length: a verbose judge must not prevent the others'
    votes from being read. Peak memory is a few times the size of the outputs.

    Raises
    ------
    InputError
        A line that is not a finished call.
    """
    place = {name: item for item, name in enumerate(pairs.ids)}
    data = b"".join(
        _line(entry, pairs, place.get(unshield(entry["item_id"]))) for entry in journal.entries()
    )
    table = transcribed(read_jsonl(data, FILE))
    loaded = build_votes(table, guess_mapping(table, need_label=False), need_labels=False)
    votes = loaded.votes
    places = [place.get(name, len(place)) for name in votes.item_ids]
    order = sorted(range(votes.n_items), key=lambda row: (places[row], votes.item_ids[row]))
    sorted_votes = votes.with_items(np.array(order)).with_judges(sorted(votes.judges))
    return replace(loaded, votes=sorted_votes)


def _line(entry: dict[str, Any], pairs: Pairs, item: int | None) -> bytes:
    row = {name: value for name, value in entry.items() if name not in OF_A_CALL}
    if item is not None:
        row = {name: row[name] for name in _OUTPUT} | pairs.known(item)
    if UNUSABLE in entry:
        row[UNUSABLE] = entry[UNUSABLE]
    return json.dumps(row).encode() + b"\n"


@dataclass(slots=True)
class _Sums:
    outputs: int = 0
    seconds: array[float] = field(default_factory=lambda: array("d"))
    costs: array[float] = field(default_factory=lambda: array("d"))
    tokens_in: int = 0
    tokens_out: int = 0
    served_by: set[str] = field(default_factory=set)


def judge_rows(journal: Journal, plan: Plan) -> pd.DataFrame:
    """One row per judge: family, model, mean ``cost_usd`` and median ``latency_s`` per output.

    ``served_by`` lists up to ``NAMES`` models that the servers say answered. Token totals count
    only credible reports.
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
