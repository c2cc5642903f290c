"""What each judge's vote weighs under every aggregator, fitted to all labelled items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregation import Aggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.prefixes import CLOSED_FORMS, ClosedForm, closed_form_weights, counts

Floats = NDArray[np.float64]


def _closed(kind: ClosedForm) -> Callable[[Ballots], Floats]:
    def weights(ballots: Ballots) -> Floats:
        return closed_form_weights(kind, *counts(ballots, np.arange(ballots.n_items)))

    return weights


WEIGHTS: Mapping[Aggregator, Callable[[Ballots], Floats]] = MappingProxyType(
    {kind: _closed(kind) for kind in CLOSED_FORMS}
)
"""Ballots to weights (n_judges,), by aggregator."""


def judge_weights(
    ballots: Ballots, names: Sequence[Aggregator] = tuple(WEIGHTS)
) -> dict[Aggregator, Floats]:
    """Weights (n_judges,) under each named aggregator that gives judges weights.

    Log-odds that a vote for label 1 adds; under ``majority`` and ``accuracy_weighted``, which take
    a fraction of votes, what a vote counts.
    """
    return {name: WEIGHTS[name](ballots) for name in names if name in WEIGHTS}
