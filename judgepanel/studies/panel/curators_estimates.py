"""From scores of splits to figures of curators: levels, optimism, differences, stability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.inference import MARGIN, Estimate, estimate, simultaneous_reach, verdict
from judgepanel.studies.accumulate import METRICS, Tally
from judgepanel.studies.compare import grid_estimates, mean_sizes
from judgepanel.studies.panel.curator import Curator
from judgepanel.studies.panel.curator_list import ORACLE, SELECTOR
from judgepanel.studies.panel.curators_result import (
    LOOKED_BEST,
    ORACLE_NOTE,
    SELECTOR_NOTE,
    CuratorFigures,
    SelectorFigures,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NOTES = {ORACLE: ORACLE_NOTE, SELECTOR: SELECTOR_NOTE}


def curator_figures(
    tally: Tally,
    units: Ints,
    curators: tuple[Curator, ...],
    sizes: Ints,
    picked: Ints,
    *,
    comparable: bool,
    seed: int,
) -> tuple[CuratorFigures, ...]:
    """Figures of every curator, then of the one that looked best; all judges are the reference.

    ``sizes`` (S, n_curators) and ``picked`` (n_curators + 1, n_judges), see
    :class:`judgepanel.studies.panel.curators.CuratorTally`. Bounds are NaN from a single split.
    ``comparable``: what was seen and what was got are NLLs of the same aggregator; otherwise their
    difference says nothing and is NaN.
    """
    table = grid_estimates(tally, units)
    best = tally.chosen[:, 0]
    rows = np.arange(len(best))
    all_sizes = np.concatenate([sizes, sizes[rows, best][:, None]], axis=1)
    saw = np.concatenate([tally.chosen_on[:, 0], tally.chosen_on[rows, 0, best][:, None]], axis=1)
    optimism = tally.split_means[:, 0, 0] - saw
    gaps, same = _gaps(tally, units)
    reach = simultaneous_reach(gaps, seed=seed) if gaps is not None else float("nan")
    shares = np.bincount(best, minlength=len(curators)) / len(best)
    null, margin = float(tally.null_nll.mean()), MARGIN * float(table["nll"][0][0, 0])
    named = [(curator.name, curator.title, curator.deployable) for curator in curators]
    named.append((LOOKED_BEST, "whichever looked best", True))
    figures = []
    for a, (name, title, deployable) in enumerate(named):
        tie = bool(same[a])
        value, lo, hi, p, se = _gap(None if tie else gaps, table["nll"][0][0], a)
        levels = {metric: [float(end[0, a]) for end in table[metric]] for metric in METRICS}
        low, high = np.quantile(all_sizes[:, a], (0.025, 0.975), method="nearest")
        seen = float(saw[:, a].mean()) if np.isfinite(saw[:, a]).all() else float("nan")
        known = comparable and np.isfinite(seen)
        bounds = np.quantile(optimism[:, a], (0.025, 0.975)) if known else (np.nan, np.nan)
        figures.append(
            CuratorFigures(
                curator=name,
                title=title,
                deployable=deployable,
                size=float(all_sizes[:, a].mean()),
                size_lo=int(low),
                size_hi=int(high),
                nll=levels["nll"][0],
                nll_lo=levels["nll"][1],
                nll_hi=levels["nll"][2],
                brier=levels["brier"][0],
                accuracy=levels["accuracy"][0],
                ece=levels["ece"][0],
                skill=1.0 - levels["nll"][0] / null,
                seen=seen,
                optimism=levels["nll"][0] - seen if known else float("nan"),
                optimism_lo=float(bounds[0]),
                optimism_hi=float(bounds[1]),
                delta=value,
                lo=lo,
                hi=hi,
                p=p,
                band_lo=value - reach * se,
                band_hi=value + reach * se,
                margin=margin,
                verdict=verdict(lo, hi, margin, identical=tie),
                stability=stability(picked[a], len(best)),
                looked_best_share=float(shares[a]) if a < len(shares) else 1.0,
                note=_NOTES.get(name, ""),
            )
        )
    return tuple(figures)


def _gaps(tally: Tally, units: Ints) -> tuple[Estimate | None, NDArray[np.bool_]]:
    """Differences from all judges (A + 1,), None from a single split; where there never is any."""
    means, seen = tally.item_means()
    items = means[0, 0] - means[0, 0, tally.reference]
    same = ~items.any(axis=1)
    if len(tally.numbers) < 2:
        return None, same
    splits = tally.split_means[:, 0, 0]
    splits = splits - splits[:, [tally.reference]]
    return estimate(items, splits, units[seen], *mean_sizes(tally)), same


def _gap(gaps: Estimate | None, nll: Floats, a: int) -> tuple[float, float, float, float, float]:
    """Value, bounds, p and standard error of one difference; NaN where nothing is estimated."""
    if gaps is None:
        unknown = float("nan")
        return float(nll[a] - nll[0]), unknown, unknown, unknown, unknown
    value, lo, hi, p, se = (
        float(part[a]) for part in (gaps.value, gaps.lo, gaps.hi, gaps.p, gaps.se)
    )
    return value, lo, hi, p, se


def stability(picked: Ints, n_splits: int) -> float:
    """How much the panels of ``n_splits`` splits agree, from how often each judge was picked.

    1 - mean_j s_j^2 / (q (1 - q)), s_j^2 the unbiased variance of judge j's choice over splits and
    q the mean share of judges chosen (Nogueira, Sechidis and Brown 2018, JMLR 18:174): 1 for equal
    panels, 0 for panels drawn at random. NaN for a single split, or where everybody is always in.
    """
    share = picked / n_splits
    q = float(share.mean())
    if n_splits < 2 or q in (0.0, 1.0):
        return float("nan")
    spread = n_splits / (n_splits - 1.0) * share * (1.0 - share)
    return 1.0 - float(spread.mean()) / (q * (1.0 - q))


def selector_figures(looks: Floats, n_calibration: float) -> SelectorFigures | None:
    """Means over splits (S, 5), None where the selector did not take part."""
    if looks.size == 0:
        return None
    judges, table, occupied, expected, new = (float(v) for v in looks.mean(axis=0))
    return SelectorFigures(judges, table, occupied, expected, new, n_calibration / occupied)
