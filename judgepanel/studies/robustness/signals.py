"""Signals that may say how reliable a comparison is, without its label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats
from judgepanel.kernels.ballots import Ballots

MOST_FEATURES = 5
AGREEMENT, COVERAGE, RANDOM = "agreement", "votes", "random"
HIGH, LOW = "high", "low"
_STREAM = (7, 23)


@dataclass(frozen=True, slots=True, eq=False)
class Signal:
    """``values`` (n_items,) of a signal, NaN where unknown; where it is high (or low) a comparison
    counts for more. ``feature`` marks item features, whose names are the user's.
    """

    name: str
    favours: str
    values: Floats
    feature: bool = False

    def importance(self, rows: NDArray[np.int64], strength: float) -> Floats:
        """How much every row counts, (n,), from 1 - strength to 1 + strength with mean 1.

        Linear in the rank among the rows, so that only the order of the signal matters; unknown
        values count 1.
        """
        seen = self.values[rows]
        known = np.isfinite(seen)
        importance = np.ones(len(rows))
        if known.any():
            centred = (2.0 * distributions.ranks(seen[known]) - 1.0) / known.sum() - 1.0
            importance[known] += strength * (centred if self.favours == HIGH else -centred)
        return importance


def signals(
    ballots: Ballots, features: pd.DataFrame | None, seed: int
) -> tuple[tuple[Signal, ...], tuple[str, ...]]:
    """Signals of the labelled items, both ways round, and numeric features that were left out.

    Agreement is |sum of votes| / votes on the item; ``votes`` how many there are, where that
    differs; ``random`` is a placebo. Swapping the responses of an item changes none of them.
    """
    cast = np.count_nonzero(ballots.votes, axis=1)
    sums = np.abs(ballots.votes.sum(axis=1, dtype=np.int64))
    agreement = np.where(cast > 0, sums / np.maximum(cast, 1), np.nan)
    raw = [(AGREEMENT, agreement, False), (COVERAGE, cast.astype(np.float64), False)]
    numeric: list[str] = []
    if features is not None:
        numeric = [str(name) for name in features.select_dtypes("number").columns]
        raw += [
            (name, features[name].to_numpy(dtype=np.float64, na_value=np.nan), True)
            for name in numeric[:MOST_FEATURES]
        ]
    result = [
        Signal(name, favours, values, feature)
        for name, values, feature in raw
        if len(np.unique(values[np.isfinite(values)])) > 1
        for favours in (HIGH, LOW)
    ]
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_STREAM))
    placebo = Signal(RANDOM, HIGH, rng.random(ballots.n_items))
    return (*result, placebo), tuple(numeric[MOST_FEATURES:])
