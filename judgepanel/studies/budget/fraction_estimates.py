"""From scores at every calibration share to levels, differences and the share that is enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from judgepanel.scoring.inference import Estimate, estimate, joint_draws
from judgepanel.scoring.learning_curve import first_reached
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.budget.fraction_sweep_result import ShareNeeded
from judgepanel.studies.compare import RANGES, mean_sizes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_DRAWS = 2_000
_ENDS = (0.025, 0.975)


def fraction_estimates(
    tallies: Sequence[Tally],
    units: Ints,
    shares: Floats,
    *,
    calibrators: tuple[str, ...],
    arms: tuple[str, ...],
    within: float,
    seed: int,
) -> dict[str, Any]:
    """Fields of :class:`FractionSweep` that rest on scores; bounds are NaN from a single split.

    Levels and differences of a share use every item that it evaluated. What compares shares uses
    the items that the largest one evaluated, which the others did, too.
    """
    n_c, n_panels, n_f = len(calibrators), len(arms), len(shares)
    levels, gaps = (n_c, n_panels, n_f), (n_c, n_panels - 1, n_f)
    shapes = {
        **dict.fromkeys(("nll", "nll_lo", "nll_hi"), levels),
        **dict.fromkeys(("against", "against_lo", "against_hi"), levels),
        **dict.fromkeys(("delta", "delta_lo", "delta_hi"), gaps),
    }
    estimates = {name: np.full(shape, np.nan) for name, shape in shapes.items()}
    for f, tally in enumerate(tallies):
        _of_share(estimates, f, tally, units)
    needed: list[ShareNeeded] = []
    common = tallies[-1].evaluated > 0
    if len(tallies[-1].numbers) >= 2 and len(np.unique(units[common])) >= 2:
        items = _common_items(tallies, common)
        for c, p in np.ndindex(n_c, n_panels):
            fitted = _across(tallies, items[:, c, p], units[common], c, p)
            _against_last(estimates, fitted, c, p)
            needed.append(_enough(fitted, shares, (calibrators[c], arms[p]), within, seed))
    return {**estimates, "needed": tuple(needed)}


def _of_share(estimates: dict[str, Floats], f: int, tally: Tally, units: Ints) -> None:
    """Levels of all panels at one share, and their differences from all judges."""
    item_means, seen = tally.item_means()
    for c in range(len(estimates["nll"])):
        items, splits = item_means[0, c, :-1], tally.split_means[:, 0, c, :-1]
        estimates["nll"][c, :, f] = items.mean(axis=-1)
        estimates["delta"][c, :, f] = (items[:-1] - items[[-1]]).mean(axis=-1)
        if len(splits) < 2:
            continue
        own = units[seen]
        level = estimate(items, splits, own, *mean_sizes(tally), joint=False)
        estimates["nll_lo"][c, :, f], estimates["nll_hi"][c, :, f] = (
            np.clip(end, *RANGES["nll"]) for end in (level.lo, level.hi)
        )
        if len(items) > 1:
            gap = estimate(
                items[:-1] - items[[-1]],
                splits[:, :-1] - splits[:, [-1]],
                own,
                *mean_sizes(tally),
                joint=False,
            )
            estimates["delta_lo"][c, :, f], estimates["delta_hi"][c, :, f] = gap.lo, gap.hi


def _common_items(tallies: Sequence[Tally], common: NDArray[np.bool_]) -> Floats:
    """Mean NLL (n_shares, C, n_panels, n) of the items that every share evaluated."""
    result = []
    for tally in tallies:
        means, seen = tally.item_means()
        result.append(means[0, :, :-1][..., common[seen]])
    return np.stack(result)


def _across(tallies: Sequence[Tally], items: Floats, units: Ints, c: int, p: int) -> Estimate:
    """The levels (n_shares,) of one panel with their covariance."""
    splits = np.stack([tally.split_means[:, 0, c, p] for tally in tallies], axis=1)
    n_calibration, n_evaluation = np.array([mean_sizes(tally) for tally in tallies]).T
    # The draw of n_evaluation of all N items, where the variance over items comes from fewer.
    draw = 1.0 / n_evaluation - 1.0 / (n_calibration + n_evaluation) + 1.0 / items.shape[-1]
    return estimate(items, splits, units, n_calibration, 1.0 / draw, n_others=n_evaluation)


def _against_last(estimates: dict[str, Floats], fitted: Estimate, c: int, p: int) -> None:
    """NLL at every share minus that at the largest, with its interval."""
    change = fitted.value - fitted.value[-1]
    spread = np.diagonal(fitted.covariance)
    variance = spread + spread[-1] - 2.0 * fitted.covariance[:, -1]
    reach = float(stats.t.ppf(0.975, fitted.df.min())) * np.sqrt(np.maximum(variance, 0.0))
    reach[-1] = 0.0
    estimates["against"][c, p] = change
    estimates["against_lo"][c, p], estimates["against_hi"][c, p] = change - reach, change + reach


def _enough(
    fitted: Estimate, shares: Floats, which: tuple[str, str], within: float, seed: int
) -> ShareNeeded:
    """The smallest share whose NLL is near that at the largest one."""
    drawn = np.maximum(joint_draws(fitted, seed=seed, n_draws=_DRAWS), 0.0)
    values = np.concatenate([fitted.value[None], drawn])
    goal = (1.0 + within) * values[:, -1]
    share = first_reached(shares, values, goal)
    lo, hi = np.quantile(share[1:], _ENDS, method="nearest")
    return ShareNeeded(
        calibrator=which[0],
        panel=which[1],
        goal=float(goal[0]),
        share=float(share[0]),
        lo=float(lo),
        hi=float(hi),
        at_start=bool(share[0] == shares[0]),
    )
