"""The budgets and calibration shares that the votes allow, and what the others would need."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.studies.settings import Prepared
from judgepanel.votes import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SMALLEST = 20
N_BUDGETS = 9
FEWEST_OF_A_CLASS = 5
FEWEST_UNITS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """Budgets (n_budgets,), increasing, and a sentence for each one that was left out."""

    budgets: Ints
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PlannedShares:
    """Calibration shares of the items (n_shares,), increasing, and sentences on those left out."""

    shares: Floats
    left_out: tuple[str, ...]


def planned_budgets(
    prepared: Prepared, budgets: tuple[int, ...] | None, fraction: float
) -> Planned:
    """Return the budgets that these votes allow; the last is always the whole calibration half."""
    half = max(2, math.floor(prepared.ballots.n_items * fraction))
    if budgets is None:
        asked = np.geomspace(min(SMALLEST, half), half, N_BUDGETS).round().astype(int).tolist()
    else:
        asked = list(budgets)
    sizes, left_out = {half}, []
    least, why = fewest_labels(prepared)
    for n in sorted(set(asked) - {half}):
        if n > half:
            items = math.ceil(n / fraction)
            left_out.append(
                f"A budget of {n:,} labels is left out: {half:,} labels calibrate here; it needs "
                f"{items:,} labelled items."
            )
        elif n < least:
            left_out.append(
                f"A budget of {n:,} labels is left out: {why}, which takes about {least:,} labels."
            )
        else:
            sizes.add(n)
    return Planned(np.array(sorted(sizes), dtype=np.int64), tuple(left_out))


def planned_shares(prepared: Prepared, shares: tuple[float, ...]) -> PlannedShares:
    """Return the shares that leave enough labels for the fit, and enough items to score.

    Raises
    ------
    InputError
        No share does.
    """
    n_items = prepared.ballots.n_items
    least, why = fewest_labels(prepared)
    planned, left_out = [], []
    for share in sorted(shares):
        labels = math.floor(n_items * share)
        if labels >= least and n_items - labels >= least:
            planned.append(share)
            continue
        side, n, part = "labels calibrate", labels, share
        if labels >= least:
            side, n, part = "items evaluate", n_items - labels, 1.0 - share
        left_out.append(
            f"A share of {100 * share:g} % is left out: {n:,} {side} there; {why}, which takes "
            f"about {least:,}, or {math.ceil(least / part):,} labelled items in all."
        )
    if not planned:
        raise InputError(
            "too few labelled items for any of these calibration shares: " + why,
            value=n_items,
            allowed=f"about {2 * least:,} labelled items or more",
        )
    return PlannedShares(np.array(planned), tuple(left_out))


def fewest_labels(prepared: Prepared) -> tuple[int, str]:
    """Return the smallest number of labels for a fit, and the reason."""
    ballots = prepared.ballots
    n_units = len(np.unique(ballots.units))
    by_units = math.ceil(FEWEST_UNITS * ballots.n_items / n_units)
    labels = (by_units, f"it needs {FEWEST_UNITS} labelled items")
    if n_units < ballots.n_items:
        labels = (by_units, f"it needs {FEWEST_UNITS} groups of items")
    if not ballots.symmetric:
        share = float(np.mean(ballots.signs > 0))
        rarer = min(share, 1.0 - share)
        by_class = math.ceil(FEWEST_OF_A_CLASS / rarer) if rarer > 0 else ballots.n_items
        labels = max(labels, (by_class, f"it needs {FEWEST_OF_A_CLASS} labels of the rarer class"))
    return labels
