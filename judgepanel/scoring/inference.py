"""Intervals, tests and verdicts for repeated splits, one or several at once.

The estimand is the expected value, on *new* items, for panels fitted on n_cal labels. Items are a
sample and so are calibration sets; repeated splits of one data set share both, so their spread
alone is far too narrow. With v/N the sampling variance of the mean of the items' mean evaluation
values (clustered on groups), s_tr^2 the variance over splits of what their calibration items do to
panels, n_cal + n_eval = N and c = n_cal/N,

    Var = v/N + s_tr^2/S + u + c^2/(1 - c^2) (s_tr^2 - u (1 - c)/c) + 2 g/N, at least v/N.

s_tr^2 enters once for the finite number of splits, and once because the items that can calibrate
are a sample themselves: u is the part of single items, which their sample mean keeps, and the rest
is due to pairs of items, which average out faster. g is the covariance of an item's two roles. All
three come from :mod:`scoring.roles`, with 0 <= u <= s_tr^2 c/(1 - c). The error of u would lower
Satterthwaite's degrees of freedom; instead the standard error grows by the ratio of the quantiles
of Student's t, at most to what it is with u at its upper limit.

Where it is not known which items calibrated, s_tr^2 is what drawing evaluation items does not
explain of the variance s^2 of the split means, max(0, s^2 - (v/N) (N/n_eval - 1)), g = 0 and u has
its upper limit, so that Var = v/N + s_tr^2 (1/S + n_cal/n_eval) (compare Nadeau and Bengio 2003,
doi:10.1023/A:1024068626366, whose correction over-covers here). Panels fitted on the first n labels
of the calibration side use n / (N - n) instead of n_cal / n_eval: there are more sets of n labels
to draw than of n_cal. Quantiles are Student's with Satterthwaite's degrees of freedom, which
matters when there are few splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats
from judgepanel.scoring.splits import Roles, Sides, stream, unit_codes

Verdict = Literal[
    "keep all", "curate", "no loss from keeping", "no loss from curating", "undecided", "tie"
]

LEVEL = 0.95
MARGIN = 0.02
_MAX_T_DRAWS = 20_000
_CELLS = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """``n`` estimates: each array is (n,); [``lo``, ``hi``] is the 95 % interval.

    ``p`` is the two-sided p-value of the value being 0; ``df`` are Satterthwaite's degrees of
    freedom; ``covariance`` (n, n) matches the standard errors, empty if it was not requested.
    ``monte_carlo`` is the part of ``se`` that more splits would remove. Standard errors, ends and
    ``p`` are NaN if all items are one cluster, and after a single split, whose spread is unknown.
    """

    value: Floats
    se: Floats
    df: Floats
    lo: Floats
    hi: Floats
    p: Floats
    covariance: Floats
    monte_carlo: Floats = field(default_factory=lambda: np.zeros(0))


def estimate(  # noqa: PLR0913 - each is a term of the variance
    item_means: Floats,
    split_means: Floats,
    units: NDArray[np.int64],
    n_calibration: float | Floats,
    n_evaluation: float | Floats,
    *,
    n_others: float | Floats | None = None,
    redrawn: float | Floats = 0.0,
    sides: Sides | Sequence[Sides] | None = None,
    joint: bool = True,
) -> Estimate:
    """Estimate means over new items from repeated splits.

    Parameters
    ----------
    item_means : float (n, N), mean over its evaluations of each item's value.
    split_means : float (S, n), mean over the evaluation items of each split; with S = 1
        everything but the values is NaN.
    units : int (N,), group codes on which variances cluster.
    n_calibration, n_evaluation : number of items on each side of a split (means if groups vary);
        ``n_calibration`` (n,) if every value comes from panels with their own number of labels,
        ``n_evaluation`` (n,) if each is scored on its own number of items. Evaluation sets of one
        split are then nested, and two values share the larger set's sampling of items: given that,
        the mean over the smaller set is on average the mean over the larger one.
    n_others : N - n_calibration, number of items that a panel was not fitted on, if not all of them
        evaluate; defaults to those that do.
    redrawn : part of the split means' variance, (n,), due to independent draws in every split
        (simulated damage, for example). It averages out over splits.
    sides : which items calibrated and which were scored, (S, N) as in ``item_means``; one for each
        of the n values if they have their own calibration sets. None gives wider intervals.
    joint : whether the covariance between the n values is needed.
    """
    n_splits = len(split_means)
    value = item_means.mean(axis=1)
    if n_splits < 2 or not len(value):
        none = np.full(value.shape, np.nan)
        return Estimate(value, none, none, none, none, none, np.zeros((0, 0)), none)
    if joint:
        centred, factor = _clustered(item_means - value[:, None], units)
        v = np.vecdot(centred, centred) * factor
    else:
        v = sampling_variance(item_means, units)
    odds = n_calibration / (n_evaluation if n_others is None else n_others)
    roles = _roles(item_means, split_means, sides)
    redraw = np.where(roles.separate, 0.0, item_means.shape[1] / np.asarray(n_evaluation) - 1.0)
    spread = np.vecdot(roles.panels, roles.panels) / (n_splits - 1)
    s_tr2 = np.maximum(spread - redraw * v - redrawn, 0.0)
    limit = odds * s_tr2
    single = np.clip(roles.single, 0.0, limit)
    pairs = odds / (1.0 + 2.0 * odds) * (limit - single)
    splits = (s_tr2 + redrawn) / n_splits + single + pairs + 2.0 * roles.covariance
    variance = v + np.maximum(splits, 0.0)
    most = v + np.maximum(splits + limit - single - pairs, 0.0)
    # A value of which only the limits are known has a standard error of limit / sqrt(12).
    error = np.minimum(roles.error, limit / np.sqrt(12.0)) * (1.0 + odds) / (1.0 + 2.0 * odds)
    terms = (v, unit_codes(units)[1] - 1), (variance - v, n_splits - 1)
    df = satterthwaite(*terms)
    wider = t_quantile(satterthwaite(*terms, error=error)) / t_quantile(df)
    variance = np.minimum(variance * wider**2, most)
    covariance = np.zeros((0, 0))
    if joint:
        items = (centred @ centred.T) * factor
        training = roles.panels @ roles.panels.T / (n_splits - 1)
        training -= np.minimum.outer(redraw, redraw) * items
        with np.errstate(divide="ignore", invalid="ignore"):
            reuse = 1.0 / n_splits + np.where(s_tr2 > 0.0, (single + pairs) / s_tr2, odds)
        shared = np.sqrt(np.outer(reuse, reuse))
        covariance = _with_diagonal(items + _positive_part(training) * shared, variance)
    se = np.sqrt(variance)
    reach = t_quantile(df) * se
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(se == 0, np.where(value == 0, 0.0, np.inf), np.abs(value) / se)
    p = np.asarray(2.0 * distributions.t_sf(t, df))
    monte_carlo = np.sqrt((s_tr2 + redrawn) / n_splits)
    return Estimate(value, se, df, value - reach, value + reach, p, covariance, monte_carlo)


def t_quantile(df: Floats) -> Floats:
    """Return the quantiles (n,) of Student's t that 95 % intervals reach to."""
    return np.asarray(distributions.t_ppf(0.5 + LEVEL / 2.0, df))


def _roles(item_means: Floats, split_means: Floats, sides: Sides | Sequence[Sides] | None) -> Roles:
    if sides is None:
        return Roles.unknown(split_means)
    if isinstance(sides, Sides):
        return sides.roles(item_means, split_means)
    each = zip(range(len(item_means)), sides, strict=True)
    return Roles.joined([own.roles(item_means[[j]], split_means[:, [j]]) for j, own in each])


def simultaneous_reach(fitted: Estimate, *, seed: int) -> float:
    """Multiplier c such that value +- c se covers all n values together in 95 % of samples.

    Quantile of the maximum of |t| under a multivariate t with the estimated correlation
    (Hothorn, Bretz and Westfall 2008, doi:10.1002/bimj.200810425), by ``_MAX_T_DRAWS`` draws.
    """
    if not (fitted.se > 0).any():
        return float(distributions.norm_ppf(0.5 + LEVEL / 2.0))
    return float(np.quantile(_max_t(fitted, seed), LEVEL))


def joint_p(fitted: Estimate, *, seed: int) -> float:
    """P-value of all n values being 0, from the largest |value / se|.

    As in :func:`simultaneous_reach`; below .05 if the simultaneous band excludes 0, NaN if a
    standard error is unknown.
    """
    live = fitted.se > 0
    if np.isnan(fitted.se).any():
        return float("nan")
    if (fitted.value[~live] != 0).any():
        return 0.0
    if not live.any():
        return 1.0
    largest = float(np.abs(fitted.value[live] / fitted.se[live]).max())
    hits = int(np.count_nonzero(_max_t(fitted, seed) >= largest))
    return (1.0 + hits) / (1.0 + _MAX_T_DRAWS)


def joint_draws(fitted: Estimate, *, seed: int, n_draws: int) -> Floats:
    """Draws (n_draws, n) from the multivariate t about the estimates."""
    live = fitted.se > 0
    draws = np.tile(fitted.value, (n_draws, 1))
    if live.any():
        draws[:, live] += _joint_t(fitted, seed, n_draws) * fitted.se[live]
    return draws


def _max_t(fitted: Estimate, seed: int) -> Floats:
    return np.asarray(np.abs(_joint_t(fitted, seed, _MAX_T_DRAWS)).max(axis=1))


def _joint_t(fitted: Estimate, seed: int, n_draws: int) -> Floats:
    """Draws (n_draws, m) of t for the m values with a spread."""
    live = fitted.se > 0
    scale = fitted.se[live]
    correlation = fitted.covariance[np.ix_(live, live)] / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = stream(seed, 7, 1)
    normal = rng.standard_normal((n_draws, len(scale))) @ root.T
    df = float(fitted.df[live].min())
    shared = np.sqrt(rng.chisquare(df, n_draws) / df)
    return np.asarray(normal / shared[:, None])


def verdict(lo: float, hi: float, margin: float, *, identical: bool = False) -> Verdict:
    """Return what an interval of delta = NLL(top-k) - NLL(all) decides against a margin in nats."""
    if identical:
        return "tie"
    if lo > margin:
        return "keep all"
    if hi < -margin:
        return "curate"
    if lo > -margin:
        return "no loss from keeping"
    if hi < margin:
        return "no loss from curating"
    return "undecided"


def labels_to_settle(value: float, reach: float, margin: float, n_labels: int) -> int:
    """Number of labels at which an interval ``value`` +- ``reach`` from ``n_labels`` would decide.

    An interval decides once it excludes the margin on one side or the other, at the latest when its
    reach is below ``margin`` + |``value``|; reach falls with the square root of the number of
    labels. Valid if the difference stays the same as labels are added.
    """
    distance = margin + abs(value)
    if not np.isfinite(reach) or distance <= 0.0:
        return n_labels
    return int(max(n_labels, np.ceil(n_labels * (reach / distance) ** 2)))


def sampling_variance(item_means: Floats, units: NDArray[np.int64]) -> Floats:
    """Variance (n,) of the means of ``item_means`` (n, N) over new items, clustered on ``units``.

    This is v/N alone: it is conditional on the panels and ignores the sampling of their labels. NaN
    if there is only one cluster.
    """
    variance = np.empty(len(item_means))
    rows = max(1, _CELLS // max(1, item_means.shape[1]))
    for start in range(0, len(item_means), rows):
        some = item_means[start : start + rows]
        centred, factor = _clustered(some - some.mean(axis=1)[:, None], units)
        variance[start : start + rows] = np.vecdot(centred, centred) * factor
    return variance


def _clustered(centred: Floats, units: NDArray[np.int64]) -> tuple[Floats, float]:
    """Sums over clusters (n, G), and the factor from their squares to the variance of a mean."""
    codes, n_clusters = unit_codes(units)
    n_items = centred.shape[1]
    if n_clusters < n_items:
        sums = np.zeros((n_clusters, len(centred)))
        np.add.at(sums, codes, centred.T)
        centred = sums.T
    spread = n_clusters / (n_clusters - 1) if n_clusters > 1 else np.nan
    return centred, spread / n_items**2


def _positive_part(matrix: Floats) -> Floats:
    if np.isnan(matrix).any():
        return np.full_like(matrix, np.nan)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _with_diagonal(matrix: Floats, diagonal: Floats) -> Floats:
    """Return the matrix scaled to this diagonal with the same correlations."""
    old = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    scale = np.sqrt(diagonal) / old
    return matrix * np.outer(scale, scale)


def satterthwaite(
    first: tuple[Floats, int], *others: tuple[Floats, int | float], error: float | Floats = 0.0
) -> Floats:
    """Degrees of freedom of a sum of variances with their own, at most those of the first.

    Satterthwaite 1946, doi:10.2307/3002019. A variance that is known has infinite ones. ``error``
    is another standard error of the sum, independent of theirs.
    """
    most = max(first[1], 1)
    terms = (first, *others)
    total = sum(variance for variance, _ in terms)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = sum(variance**2 / max(own, 1) for variance, own in terms)
        df = total**2 / (squares + np.square(error) / 2.0)
    return np.asarray(np.where(np.isfinite(df), np.minimum(df, most), most))


def holm(p: ArrayLike) -> Floats:
    """Adjusted p-values (m,): below alpha if Holm's step-down test rejects at alpha.

    Holm 1979 (Scandinavian Journal of Statistics 6, 65-70): the probability of any false rejection
    is at most alpha under any dependence. NaN (no test) is ignored and stays NaN.
    """
    given = np.asarray(p, dtype=np.float64)
    values = np.full(given.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(given))
    order = tested[np.argsort(given[tested], kind="stable")]
    steps = given[order] * np.arange(len(order), 0, -1)
    values[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return values


def bonferroni_reach(fitted: Estimate, m: int) -> Floats:
    """Half-widths (n,) of intervals that together cover m values with at least 95 %."""
    quantile = distributions.t_ppf(1.0 - (1.0 - LEVEL) / (2.0 * max(m, 1)), fitted.df)
    return np.asarray(quantile * fitted.se)
