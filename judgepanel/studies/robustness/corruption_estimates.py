"""Levels, rises and differences of rises of a tally of damaged votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.studies.accumulate import Tally
from judgepanel.studies.compare import RANGES
from judgepanel.studies.robustness.contrasts import band, contrasts
from judgepanel.studies.robustness.vote_damage import SCENARIOS

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def corruption_estimates(
    done: Tally,
    units: Ints,
    names: tuple[str, ...],
    shape: tuple[int, int],
    *,
    evaluated: Bools,
    seed: int,
    draws: int,
) -> dict[str, Any]:
    """Fields ``nll``, ``accuracy``, ``rise``, ``drop``, ``delta``, ``gap`` with their bounds.

    ``evaluated`` (S, N) says which items each split evaluates. Clean panels are those of the panel
    curve, and so are their intervals.
    """
    n_p, n = shape
    one = np.eye(n_p * n).reshape(n_p, n, n_p * n)
    rise = one - one[:, :1]
    found: dict[str, Any] = {}
    for name, weights, metric in (
        ("nll", one, "nll"),
        ("accuracy", one, "accuracy"),
        ("rise", rise, "nll"),
        ("drop", -rise, "accuracy"),
        ("delta", one[:-1] - one[-1:], "nll"),
    ):
        clean = contrasts(done, units, weights[:, 0], metric=metric, draws=draws)
        rows = weights[:, 1:].reshape(-1, n_p * n)
        hurt = contrasts(done, units, rows, metric=metric, draws=draws, evaluated=evaluated)
        bounds = RANGES[metric] if name in RANGES else (-np.inf, np.inf)
        for end, part in (("", "value"), ("_lo", "lo"), ("_hi", "hi")):
            first, rest = getattr(clean, part), getattr(hurt, part)
            values = np.column_stack([first, rest.reshape(len(weights), n - 1)])
            found[name + end] = np.clip(values, *bounds) if end else values
    gaps = rise[:-1] - rise[-1:]
    found |= {"gap" + end: np.zeros((n_p - 1, n)) for end in ("", "_lo", "_hi")}
    for scenario in (name for name in SCENARIOS if name in names):
        places = np.flatnonzero(np.array(names) == scenario)
        for p in range(n_p - 1):
            fitted = contrasts(done, units, gaps[p, places], draws=draws, evaluated=evaluated)
            for end, values in zip(
                ("", "_lo", "_hi"), (fitted.value, *band(fitted, seed)), strict=True
            ):
                found["gap" + end][p, places] = values
    return found
