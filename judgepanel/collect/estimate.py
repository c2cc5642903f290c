"""The cost and duration of a run, estimated before it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from judgepanel.collect.judges import Judge, Plan
from judgepanel.collect.pairs import Pairs

CHARACTERS_A_TOKEN = 4.0
"""A rule of thumb for English; other scripts take more tokens."""
SECONDS_A_CALL = 3.0
TOKENS_AROUND = 1_000


def dollars(amount: float | None) -> str:
    """Dollars as text: two decimals from a dollar on, three significant digits below."""
    if not amount or amount >= 1.0:
        return f"${amount or 0.0:,.2f}"
    return f"${amount:.{max(2, 2 - math.floor(math.log10(amount)))}f}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one judge: remaining calls, about how many tokens in, dollars, and seconds.

    ``dollars`` assumes answers as long as the judge's ``max_tokens``.

    ``seconds`` assumes ``SECONDS_A_CALL`` per call within the judge's limits.
    """

    judge: str
    calls: int
    tokens_in: float
    dollars: float
    seconds: float


def tokens_of(judge: Judge, characters: float) -> float:
    """Approximate number of tokens of a prompt whose texts have this many characters."""
    return (len(judge.template) + characters) / CHARACTERS_A_TOKEN


def price(judge: Judge, tokens_in: float, tokens_out: float) -> float:
    """Price in dollars of this many tokens."""
    return (tokens_in * judge.price_in + tokens_out * judge.price_out) / 1e6


def most_dollars(judge: Judge, prompt: str) -> float:
    """Upper bound in dollars on the cost of a call with this prompt.

    A token has at least one byte, a server adds at most ``TOKENS_AROUND`` tokens to the prompt, and
    the judge uses no more than its ``max_tokens``.
    """
    return price(judge, len(prompt.encode()) + TOKENS_AROUND, judge.max_tokens)


def estimate(pairs: Pairs, plan: Plan, by_name: dict[str, int]) -> tuple[Estimate, ...]:
    """One row per judge, for the calls left by those that are finished (``by_name``, counts)."""
    lengths = sum(
        np.array([len(text) for text in column.astype(str)], dtype=float)
        for column in (pairs.instruction, pairs.first, pairs.second)
    )
    mean = float(np.mean(lengths)) if len(pairs) else 0.0
    total = plan.calls(len(pairs))
    rows = []
    for judge in plan.judges:
        calls = max(0, total - by_name.get(judge.name, 0))
        pace = min(judge.per_minute / 60.0, judge.concurrency / SECONDS_A_CALL)
        rows.append(
            Estimate(
                judge.name,
                calls,
                calls * tokens_of(judge, mean),
                calls * price(judge, tokens_of(judge, mean), judge.max_tokens),
                calls / pace,
            )
        )
    return tuple(rows)
