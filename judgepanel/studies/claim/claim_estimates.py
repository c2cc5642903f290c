"""From scores of (steps x sizes) to levels, and differences from all judges and the step before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import estimate
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.claim.steps import LAST, STEPS, Step
from judgepanel.studies.compare import grid_estimates, mean_sizes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_DIFFERENCES = tuple(
    f"{kind}{end}" for kind in ("against_all", "change") for end in ("", "_lo", "_hi")
)


def claim_estimates(
    tally: Tally,
    last: Tally | None,
    units: Ints,
    steps: tuple[Step, ...],
    sizes: Ints,
    panels: Ints,
) -> dict[str, Any]:
    """Fields of :class:`Claim` that rest on scores; ``steps`` are those of ``tally``.

    ``last`` holds the steps ``LAST`` at ``panels`` and all judges, of which the second is new.
    """
    names = [step.name for step in steps]
    before = [-1 if step.before is None else names.index(step.before) for step in steps]
    estimates = _of(tally, units, before)
    if last is None:
        return estimates
    extra = _of(last, units, [-1, 0])
    at = np.append(np.searchsorted(sizes, panels), len(sizes))
    new = LAST.index("joint")
    if STEPS["joint"].before != LAST[0]:
        raise ValueError("joint must be told after the step it is compared with")
    for name, values in extra.items():
        row = values[new]
        if values.ndim == 2:
            row = np.full(len(sizes) + 1, np.nan)
            row[at] = values[new]
        estimates[name] = np.concatenate([estimates[name], row[None]])
    return estimates


def _of(tally: Tally, units: Ints, before: list[int]) -> dict[str, Any]:
    """Levels and differences (C, A); ``before[c]`` is the row that row c changes, or -1."""
    n = tally.n_arms
    levels = grid_estimates(tally, units)
    item_means, seen = tally.item_means()
    items, splits = item_means[0, :, :n], tally.split_means[:, 0, :, :n]
    estimates: dict[str, Any] = {
        "nll": levels["nll"][0][:, :n],
        "nll_lo": levels["nll"][1][:, :n],
        "nll_hi": levels["nll"][2][:, :n],
        "accuracy": levels["accuracy"][0][:, :n],
        "null_nll": tally.null_nll.mean(axis=0),
        "constant_nll": tally.constant_nll.mean(axis=0),
        **{name: np.full((len(items), n), np.nan) for name in _DIFFERENCES},
    }

    def put(kind: str, c: int, columns: slice, item: Floats, split: Floats) -> None:
        estimates[kind][c, columns] = item.mean(axis=-1)
        if len(split) < 2 or not len(item):
            return
        fit = estimate(item, split, units[seen], *mean_sizes(tally), joint=False)
        estimates[f"{kind}_lo"][c, columns], estimates[f"{kind}_hi"][c, columns] = fit.lo, fit.hi

    for c, b in enumerate(before):
        smaller = slice(0, n - 1)
        put(
            "against_all",
            c,
            smaller,
            items[c, :-1] - items[c, [-1]],
            splits[:, c, :-1] - splits[:, c, [-1]],
        )
        if b >= 0:
            put("change", c, slice(0, n), items[c] - items[b], splits[:, c] - splits[:, b])
    return estimates
