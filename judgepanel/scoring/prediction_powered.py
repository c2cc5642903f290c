"""Rates of labels from many predictions and few labels: prediction-powered estimates.

Every item has a proxy f of its label, few have the label y itself. Predictions alone are biased,
labels alone are few. With weights w of the labelled items, which sum to 1, the estimate is

    theta = mean over all items of lambda f  +  sum over labelled items of w (y - lambda f),

unbiased for every lambda if the labelled items are a random sample and no proxy was fitted to its
own label (cross-prediction, Zrnic and Candes 2024, doi:10.1073/pnas.2322083121). lambda is the
slope of y on f over labelled items, clipped to [0, 1]: it makes the variance small, and a proxy
that does not help is not used (power tuning, Angelopoulos, Duchi and Zrnic 2023,
arXiv:2311.01453). A group has its own slope, shrunk to the one within all groups as if
``PRIOR_LABELS`` more labels had that one.

There are two targets. ``file`` is the mean label of the items at hand: only the choice of labelled
items is random, and nothing is uncertain once all are labelled. ``population`` is that of items
like these, of which the items at hand are a sample, too. With n of N items labelled, and rho the
share of the labels' variance that the proxy leaves, the variance is p (1 - p) times

    kappa = rho (1 - n/N) / n,  plus 1/N for the population,

times the design effect of units and weights: the sum of squared influences over units (prompts,
documents), with weights, divided by that of single items without weights.

Intervals are Wilson's (1927, doi:10.1080/01621459.1927.10502953) at 1 / kappa labels with Student's
quantile. rho is estimated as if ``PRIOR_CASES`` more labels had the variance that the proxies
themselves imply, and ``PRIOR_ERRORS`` more were errors as long as few were seen. Student's t on the
estimated variance and t on the logit scale cover less often, and a bootstrap has no errors to draw
where none was seen (docs/estimate.md).

Intervals of differences combine the arms of both intervals (Zou and Donner 2008,
doi:10.1002/sim.3095), with the correlation due to units in both groups.

Win rates of systems that met in pairs: Bradley-Terry through prediction-powered outcomes.

System a wins against b with probability sigma(beta_a - beta_b). Of every item the two systems are
known, and a proxy f of its label y (whether the first of them wins). With g(z) the gradient of the
log loss at outcome z and weights w of labelled items, which sum to 1, beta solves

    sum over labelled items of w (g(y) - lambda g(f))  +  mean over all items of lambda g(f)  =  0,

so that it is Bradley-Terry on the labels for lambda = 0, whatever the proxies are worth, and needs
no label of a pair whose systems met others (PPI++ for logistic regression, Angelopoulos, Duchi and
Zrnic 2023, arXiv:2311.01453). lambda is the slope of y - sigma on f - sigma over labelled items,
from 0 to 1. Strengths have the prior N(0, ``PRIOR_SD``^2): a system that won all its labelled
items has no largest likelihood.

What is reported is the win rate of a system against the others, each met equally often. Its
variance comes from the influences of units (the sandwich), its interval is Student's t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.distributions import t_ppf
from judgepanel.scoring import inference, splits
from judgepanel.scoring.interval import Interval

Target = Literal["file", "population"]
PRIOR_LABELS = 20.0
"""Labels that have the slope within all groups, beside a group's own."""
PRIOR_CASES = 2.0
"""Labels that have the variance which the proxies imply, beside those there are."""
PRIOR_ERRORS = 1.0
"""Labels that a proxy gets wrong, beside those there are, as far as it explains labels: errors of a
good panel are rare, and z^2 / 4 more is what the score interval of a rare count has. The more
errors were seen (squares in sum), the less it counts: divided by one more than those."""
PSEUDO_LABELS = 4.0
"""Labels, half of them 1, that are added to a rate before it implies a variance."""
_ROUNDING = 1e-12
"""Rates that differ by less are equal."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Labels of some items, the group of every item, and which items belong together.

    Attributes
    ----------
    labels : float (n,), 0 or 1, NaN where an item has none.
    groups : int (n,), 0 .. ``n_groups`` - 1, or -1 for an item of no group.
    units : int (n,), codes of what is independent; items of one unit share one.
    weights : float (n,), inverse probabilities with which labelled items were drawn, up to a
        factor; None if all are equal.
    """

    labels: Floats
    groups: Ints
    n_groups: int
    units: Ints
    weights: Floats | None

    @classmethod
    def of(
        cls,
        labels: ArrayLike,
        groups: Ints | None = None,
        units: Ints | None = None,
        weights: Floats | None = None,
        n_groups: int | None = None,
    ) -> Sample:
        """Return the sample; labels below 0 and NaN are missing, without groups there is one."""
        values = np.asarray(labels, dtype=np.float64)
        n = len(values)
        groups = np.zeros(n, dtype=np.int64) if groups is None else groups
        return cls(
            labels=np.where(values >= 0.0, values, np.nan),
            groups=groups,
            n_groups=int(groups.max(initial=-1)) + 1 if n_groups is None else n_groups,
            units=np.arange(n) if units is None else splits.unit_codes(units)[0],
            weights=weights,
        )

    @cached_property
    def rows(self) -> Ints:
        """Positions of the items with a label and a group."""
        return np.flatnonzero(np.isfinite(self.labels) & (self.groups >= 0))

    @cached_property
    def n_items(self) -> Floats:
        """Number of items (n_groups,)."""
        return self.sums(np.ones(len(self.labels)))

    @cached_property
    def n_labels(self) -> Floats:
        """Number of labelled items (n_groups,)."""
        return self.sums_labelled(np.ones(len(self.rows)))

    @cached_property
    def n_units(self) -> Floats:
        """Number of units with a labelled item (n_groups,)."""
        cells = np.unique(np.stack([self.groups[self.rows], self.units[self.rows]]), axis=1)
        return np.bincount(cells[0], minlength=self.n_groups).astype(np.float64)

    @cached_property
    def shares(self) -> Floats:
        """Weights of the labelled items, of sum 1 in every group."""
        weights = np.ones(len(self.rows)) if self.weights is None else self.weights[self.rows]
        return np.asarray(weights / self.sums_labelled(weights)[self.groups[self.rows]])

    def sums(self, values: Floats) -> Floats:
        """Sums (n_groups,) of values (n,) over the items of each group."""
        inside = self.groups >= 0
        return np.asarray(
            np.bincount(self.groups[inside], values[inside], self.n_groups), dtype=np.float64
        )

    def sums_labelled(self, values: Floats) -> Floats:
        """Sums (n_groups,) of values (n_labels in all,) over the labelled items of each group."""
        return np.asarray(
            np.bincount(self.groups[self.rows], values, self.n_groups), dtype=np.float64
        )

    def means(self, values: Floats) -> Floats:
        """Weighted means (n_groups,) of values (n_labels in all,); NaN without labels."""
        mean = self.sums_labelled(self.shares * values)
        return np.where(self.n_labels > 0, mean, np.nan)

    def gaps(self, values: Floats) -> Floats:
        """Values (n_labels in all,) minus the means of their groups."""
        return np.asarray(values - self.means(values)[self.groups[self.rows]])


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Estimated rates; arrays are (n_groups,), NaN for a group without labels.

    Attributes
    ----------
    rate : the estimates and their 95 % intervals.
    tuning : lambda, what the proxy counts, 0 to 1.
    left : rho, the share of the variance of the labels that the proxy leaves.
    kappa : variance as a share of p (1 - p), which that many labels, inverted, would have.
    df : degrees of freedom of the intervals.
    influence : sparse (n_units, n_groups), what each unit adds to the error.
    """

    rate: Interval
    tuning: Floats
    left: Floats
    kappa: Floats
    df: Floats
    influence: Any


def estimate_rates(
    proxy: Floats, sample: Sample, *, target: Target = "file", tuned: bool = True
) -> Rates:
    """Estimate the mean label of every group.

    Parameters
    ----------
    proxy : float (n,), predictions of the labels, about in [0, 1]; that of a labelled item must not
        have been fitted to its label.
    sample : labels, groups, units and weights.
    target : ``file`` for the items at hand, ``population`` for items like these.
    tuned : False sets lambda to 0: labels alone.
    """
    tuning = tunings(proxy, sample) if tuned else np.zeros(sample.n_groups)
    used = tuning[sample.groups] * proxy
    residual = sample.labels[sample.rows] - used[sample.rows]
    seen = sample.sums(used) / np.maximum(sample.n_items, 1.0)
    value = np.clip(seen + sample.means(residual), 0.0, 1.0)
    left = _left(proxy, tuning, residual, value, sample)
    n, n_items = np.maximum(sample.n_labels, 1.0), np.maximum(sample.n_items, 1.0)
    kappa = left * (1.0 - n / n_items) / n
    if target == "population":
        kappa = kappa + 1.0 / n_items
    added = _added(used, residual, seen, sample, target, sample.shares)
    inside = sample.groups >= 0
    cells = (added[inside], (sample.units[inside], sample.groups[inside]))
    shape = (int(sample.units.max(initial=-1)) + 1, sample.n_groups)
    influence = scipy.sparse.coo_array(cells, shape=shape).tocsr()
    even = 1.0 / np.maximum(sample.n_labels, 1.0)[sample.groups[sample.rows]]
    single = sample.sums(_added(used, residual, seen, sample, target, even) ** 2)
    kappa = kappa * _design_effect(influence, single, sample)
    df = np.maximum(sample.n_units - 1.0, 1.0)
    _, lo, hi = _wilson(value, kappa, df)
    # Proxies may lower a rate whose labels are all 1, but do not show that it is not 1.
    ones, some = sample.sums_labelled(sample.labels[sample.rows]), sample.n_labels > 0
    lo, hi = np.where(some & (ones == 0), 0.0, lo), np.where(some & (ones == n), 1.0, hi)
    rate = Interval(value, lo, hi, unit="share")
    return Rates(rate, tuning, left, kappa, df, influence)


def tunings(proxy: Floats, sample: Sample) -> Floats:
    """Return lambda (n_groups,): slopes of labels on proxies, shrunk to that within all groups."""
    weights = sample.shares * sample.n_labels[sample.groups[sample.rows]]
    away = sample.gaps(proxy[sample.rows])
    square = sample.sums_labelled(weights * away**2)
    product = sample.sums_labelled(weights * away * sample.gaps(sample.labels[sample.rows]))
    total, n = square.sum(), max(len(sample.rows), 1)
    if total <= 1e-12 * n:
        return np.zeros(sample.n_groups)
    prior = PRIOR_LABELS * total / n
    slopes = (product + prior * product.sum() / total) / (square + prior)
    return np.asarray(np.clip(slopes, 0.0, 1.0))


def differences(rates: Rates, pairs: Ints) -> tuple[Interval, Floats]:
    """Return the differences (m,) rate[a] - rate[b] of ``pairs`` (m, 2), and two-sided p-values.

    The p-value is below .05 if and only if the interval excludes 0.
    """
    first, second = pairs.T
    alike = np.clip(correlations(rates)[first, second], -1.0, 1.0)
    # Few labels may agree by chance: as if ``PRIOR_CASES`` more were unrelated.
    n = np.minimum(rates.df[first], rates.df[second]) + 1.0
    alike = np.where(alike > 0.0, alike * n / (n + PRIOR_CASES), alike)
    value, lo, hi = rates.rate
    down, up = value - lo, hi - value

    def reach(one: Floats, other: Floats) -> Floats:
        return np.asarray(np.sqrt(np.maximum(one**2 + other**2 - 2.0 * alike * one * other, 0.0)))

    gap = value[first] - value[second]
    gap = np.where(np.abs(gap) < _ROUNDING, 0.0, gap)
    below, above = reach(down[first], up[second]), reach(up[first], down[second])
    interval = Interval(gap, gap - below, gap + above, unit="share")
    spread = [((down + up) / inference.t_quantile(rates.df))[side] ** 2 for side in (first, second)]
    own = [rates.df[side] for side in (first, second)]
    with np.errstate(divide="ignore", invalid="ignore"):
        df = sum(spread) ** 2 / (spread[0] ** 2 / own[0] + spread[1] ** 2 / own[1])
        df = np.where(np.isfinite(df), df, np.minimum(*own))
        # The arms hold the quantiles of their own groups, as a p-value must.
        t = np.abs(gap) / np.where(gap > 0.0, below, above) * inference.t_quantile(df)
    p = np.where(gap == 0.0, 1.0, 2.0 * distributions.t_sf(t, df))
    return interval, np.asarray(np.where(np.isnan(gap), np.nan, p))


def correlations(rates: Rates) -> Floats:
    """Return the correlations (n_groups, n_groups) of the errors of the rates."""
    cross = (rates.influence.T @ rates.influence).toarray()
    size = np.sqrt(np.maximum(np.diagonal(cross), 1e-300))
    return np.asarray(cross / np.outer(size, size))


def all_pairs(rates: Rates) -> tuple[Ints, Interval, Floats]:
    """Return all pairs of groups (m, 2), their differences, and p-values adjusted by Holm."""
    pairs = np.stack(np.triu_indices(len(rates.tuning), 1), axis=1).astype(np.int64)
    interval, p = differences(rates, pairs)
    return pairs, interval, inference.holm(p)


def _left(proxy: Floats, tuning: Floats, residual: Floats, value: Floats, sample: Sample) -> Floats:
    """Return rho (n_groups,), 1 without a proxy, from residuals and what the proxies imply."""
    n = sample.n_labels
    rate = (n * np.nan_to_num(value) + PSEUDO_LABELS / 2.0) / (n + PSEUDO_LABELS)
    middle = sample.sums(proxy) / np.maximum(sample.n_items, 1.0)
    inside = np.maximum(sample.groups, 0)
    # Proxies that are tuned and moved to the rate, as if they were probabilities.
    implied = np.clip(rate[inside] + tuning[inside] * (proxy - middle[inside]), 0.0, 1.0)
    prior = sample.sums(implied * (1.0 - implied)) / np.maximum(sample.n_items, 1.0)
    errors = sample.sums_labelled(sample.gaps(residual) ** 2)
    after = errors + PRIOR_CASES * prior
    before = sample.gaps(sample.labels[sample.rows]) ** 2
    known = sample.sums_labelled(before) + PRIOR_CASES * rate * (1.0 - rate)
    alone = after / known
    if sample.n_groups > 1:
        # The few labels of a group may show no error by chance.
        common = np.nansum(after) / max(float(np.nansum(known)), 1e-300)
        spread = PRIOR_LABELS * rate * (1.0 - rate)
        after, known = after + common * spread, known + spread
    # A panel that fails in one group is not good there because it is elsewhere.
    share = np.maximum(after / known, alone)
    unseen = PRIOR_ERRORS / (1.0 + errors) * (1.0 - np.minimum(share, 1.0))
    return np.asarray(share + unseen / known)


def _added(
    used: Floats, residual: Floats, seen: Floats, sample: Sample, target: Target, shares: Floats
) -> Floats:
    """What every item adds to the error of its group (n,)."""
    added = np.zeros(len(used))
    of_group = sample.groups[sample.rows]
    own = shares * sample.gaps(residual)
    if target == "file":
        # An item that stands for itself alone leaves nothing unseen.
        own = own * np.sqrt(np.maximum(1.0 - 1.0 / (shares * sample.n_items[of_group]), 0.0))
    else:
        inside = sample.groups >= 0
        group = sample.groups[inside]
        added[inside] = (used[inside] - seen[group]) / sample.n_items[group]
    added[sample.rows] += own
    return added


def _design_effect(influence: Any, single: Floats, sample: Sample) -> Floats:
    """Variance over that of ``single`` items without weights, at least 1; NaN with one unit."""
    clustered = np.asarray(influence.multiply(influence).sum(axis=0)).ravel()
    n_units = sample.n_units
    n = sample.n_labels
    lost = np.where(n > 1, (n - 1.0) / np.maximum(n, 1), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = clustered / single * lost * n_units / (n_units - 1.0)
    effect = np.where(single > 0.0, np.maximum(effect, 1.0), 1.0)
    return np.asarray(np.where(n_units == 1, n, effect))


def _wilson(value: Floats, kappa: Floats, df: Floats) -> Interval:
    """Wilson's interval at 1 / kappa labels; one point where kappa is 0."""
    square = inference.t_quantile(df) ** 2 * kappa
    middle = (value + square / 2.0) / (1.0 + square)
    reach = np.sqrt(value * (1.0 - value) * square + square**2 / 4.0) / (1.0 + square)
    lo, hi = np.minimum(middle - reach, value), np.maximum(middle + reach, value)
    return Interval(value, np.clip(lo, 0.0, 1.0), np.clip(hi, 0.0, 1.0), unit="share")


PRIOR_SD = 5.0
"""Standard deviation of strengths before any label, in logits."""
_STEPS, _CLOSE = 100, 1e-10


@dataclass(frozen=True, eq=False)
class Matches:
    """Items that are pairs of systems, and the labels of some.

    Attributes
    ----------
    labels : float (n,), 1 where the first system wins, 0 where the second does, NaN where an item
        has no label.
    first, second : int (n,), the systems of every item, 0 .. ``n_groups`` - 1, or -1 if unknown.
    units : int (n,), codes of what is independent.
    weights : float (n,), inverse probabilities with which labelled items were drawn, up to a
        factor; None if all are equal.
    """

    labels: Floats
    first: Ints
    second: Ints
    n_groups: int
    units: Ints
    weights: Floats | None = None

    @cached_property
    def met(self) -> Ints:
        """Positions of the items whose two systems are known and differ."""
        return np.flatnonzero((self.first >= 0) & (self.second >= 0) & (self.first != self.second))

    @cached_property
    def rows(self) -> Ints:
        """Those of them with a label."""
        return self.met[np.isfinite(self.labels[self.met])]

    @cached_property
    def n_items(self) -> Floats:
        """Number of items of every system (n_groups,)."""
        return self._count(self.met)

    @cached_property
    def n_labels(self) -> Floats:
        """Number of labelled items of every system (n_groups,)."""
        return self._count(self.rows)

    @cached_property
    def shares(self) -> Floats:
        """Weights (n,) of the items, of sum 1 over labelled items and 0 for the others."""
        shares = np.zeros(len(self.labels))
        shares[self.rows] = 1.0 if self.weights is None else self.weights[self.rows]
        return shares / max(float(shares.sum()), 1e-300)

    @cached_property
    def every(self) -> Floats:
        """Weights (n,) of the items, equal and of sum 1 over those whose systems are known."""
        every = np.zeros(len(self.labels))
        every[self.met] = 1.0 / max(len(self.met), 1)
        return every

    def by_system(self, values: Floats) -> Floats:
        """Sums (n_groups,) of values (n,), added for the first and subtracted for the second."""
        first = np.bincount(self.first[self.met], values[self.met], self.n_groups)
        second = np.bincount(self.second[self.met], values[self.met], self.n_groups)
        return np.asarray(first - second)

    def wins(self, strengths: Floats) -> Floats:
        """Probabilities (n,) that the first system wins."""
        return np.asarray(scipy.special.expit(strengths[self.first] - strengths[self.second]))

    def _count(self, rows: Ints) -> Floats:
        both = np.concatenate([self.first[rows], self.second[rows]])
        return np.bincount(both, minlength=self.n_groups).astype(np.float64)


def strengths_of(outcomes: Floats, matches: Matches, weights: Floats, n_labels: float) -> Floats:
    """Fit strengths (n_groups,) to outcomes.

    Parameters
    ----------
    outcomes : float (n,), what is summed for the first system, weights included.
    weights : float (n,), of the items.
    n_labels : how many labels the outcomes are worth beside the prior.
    """
    strengths, won = np.zeros(matches.n_groups), matches.by_system(outcomes)
    prior = _prior(n_labels)
    for _ in range(_STEPS):
        wins = matches.wins(strengths)
        slope = matches.by_system(weights * wins) - won + prior * strengths
        step = np.linalg.solve(_curvature(matches, weights, wins, prior), slope)
        # A step of one unit of logits at most: the loss is flat where outcomes are one-sided.
        strengths = strengths - step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < _CLOSE:
            break
    return strengths


def win_rates(strengths: Floats) -> Floats:
    """Mean probabilities (n_groups,) of winning against each of the others."""
    wins = scipy.special.expit(strengths[:, None] - strengths)
    np.fill_diagonal(wins, 0.0)
    return np.asarray(wins.sum(axis=1) / max(len(strengths) - 1, 1))


def estimate_win_rates(
    proxy: Floats, matches: Matches, *, target: Target = "file", tuned: bool = True
) -> Rates:
    """Estimate the win rate of every system against the others.

    Parameters
    ----------
    proxy : float (n,), predictions of the labels; that of a labelled item must not have been fitted
        to its label.
    target : ``file`` for the items at hand, ``population`` for items like these.
    tuned : False sets lambda to 0: Bradley-Terry on the labels alone.

    Returns
    -------
    Rates
        NaN for a system without a label.
    """
    labels, n = np.nan_to_num(matches.labels), len(matches.rows)
    shares, every = matches.shares, matches.every

    def fitted(tuning: float) -> tuple[Floats, Floats, Floats]:
        weights = (1.0 - tuning) * shares + tuning * every
        outcomes = shares * (labels - tuning * proxy) + tuning * every * proxy
        strengths = strengths_of(outcomes, matches, weights, n)
        return strengths, weights, matches.wins(strengths)

    tuning = 0.0
    for _ in range(2 if tuned else 0):
        wins = fitted(tuning)[2]
        tuning = _slope(labels - wins, proxy - wins, shares)
    strengths, weights, wins = fitted(tuning)
    bread = np.asarray(np.linalg.inv(_curvature(matches, weights, wins, _prior(n))))
    gap, panel = wins - labels, tuning * (wins - proxy)
    influence = _gradients(gap, panel, wins, bread, matches, target)
    influence = influence @ -(_gradient(strengths) @ bread).T
    rates = np.where(matches.n_labels > 0, win_rates(strengths), np.nan)
    df = max(len(np.unique(matches.units[matches.rows])) - matches.n_groups + 1.0, 1.0)
    variance = (influence**2).sum(axis=0)
    reach = float(t_ppf(0.5 + inference.LEVEL / 2.0, df)) * np.sqrt(variance)
    lo, hi = np.clip([rates - reach, rates + reach], 0.0, 1.0)
    kappa = variance / np.maximum(rates * (1.0 - rates), 1e-12)
    return Rates(
        Interval(rates, lo, hi, unit="share"),
        np.full(matches.n_groups, tuning),
        kappa * matches.n_labels,
        kappa,
        np.full(matches.n_groups, df),
        scipy.sparse.csr_array(influence),
    )


def _prior(n_labels: float) -> float:
    """Second derivative of the prior, per label."""
    return float(1.0 / (PRIOR_SD**2 * max(n_labels, 1.0)))


def _leverage(wins: Floats, bread: Floats, matches: Matches) -> Floats:
    """How much the label of an item moves its own probability (n,), at most one half."""
    first, second = matches.first, matches.second
    own = np.diagonal(bread)
    far = own[first] + own[second] - 2.0 * bread[first, second]
    return np.asarray(np.minimum(matches.shares * wins * (1.0 - wins) * far, 0.5))


def _gradients(
    gap: Floats, panel: Floats, wins: Floats, bread: Floats, matches: Matches, target: Target
) -> Floats:
    """Gradients (n_units, n_groups) of units, beyond the mean of all, at outcomes of all items.

    A label pulls its own probability, so what is left of it is divided by one minus its leverage
    (HC3). It is as if ``PRIOR_CASES`` more labels erred as much as the strengths imply: a variance
    from few labels, or from labels that agree with all strengths, is too small too often. As far as
    the proxy explains the labels, it is also as if it were wrong about ``PRIOR_ERRORS`` more items
    of every system, less the more errors were seen there: errors of a good panel are rare, and may
    be those of one system.
    """
    rows, n = matches.rows, len(matches.rows)
    left = matches.shares * (gap - panel) / (1.0 - _leverage(wins, bread, matches))
    rate = (n * wins[rows] + PSEUDO_LABELS / 2.0) / (n + PSEUDO_LABELS)
    unexplained = (((gap - panel)[rows] ** 2).sum() + 1.0) / ((gap[rows] ** 2).sum() + 1.0)
    implied = float(np.mean(rate * (1.0 - rate))) * unexplained if n else 0.0
    assumed = matches.shares * np.sqrt(PRIOR_CASES * implied / max(n, 1))
    # An item that is wrong counts for both of its systems.
    both = np.concatenate([matches.first[rows], matches.second[rows]])
    errors = np.bincount(both, np.tile((gap - panel)[rows] ** 2, 2), matches.n_groups)
    rare = np.sqrt(PRIOR_ERRORS / 2.0 * max(0.0, 1.0 - unexplained) / (1.0 + errors)) / max(n, 1)
    if target == "file":
        # An item that stands for itself alone leaves nothing unseen.
        unseen = np.sqrt(np.maximum(1.0 - matches.every / np.maximum(matches.shares, 1e-300), 0.0))
        rare = rare * math.sqrt(1.0 - n / max(len(matches.met), 1))
        left, assumed = unseen * left, unseen * assumed
    else:
        left = left + matches.every * panel
    alone, n_groups = np.arange(len(gap)), matches.n_groups
    others = (1.0 - np.eye(n_groups)) / max(n_groups - 1, 1)
    labelled = _gradients_by_unit(left, matches, matches.units)
    prior = _gradients_by_unit(assumed, matches, alone)
    return np.concatenate([labelled, prior, rare[:, None] * (np.eye(n_groups) - others)])


def _slope(labels: Floats, proxies: Floats, shares: Floats) -> float:
    """Slope of what is left of labels on what is left of proxies, from 0 to 1."""
    square = float(shares @ proxies**2)
    return min(1.0, max(0.0, float(shares @ (labels * proxies)) / square)) if square > 0.0 else 0.0


def _curvature(matches: Matches, weights: Floats, wins: Floats, prior: float) -> Floats:
    """Second derivatives (n_groups, n_groups) of the loss at probabilities of the first system."""
    rows, n = matches.met, matches.n_groups
    spread = (weights * wins * (1.0 - wins))[rows]
    cells = matches.first[rows] * n + matches.second[rows]
    cross = np.bincount(cells, spread, n * n).reshape(n, n)
    cross = cross + cross.T
    return np.asarray(np.diag(cross.sum(axis=1) + prior) - cross)


def _gradient(strengths: Floats) -> Floats:
    """Derivatives (n_groups, n_groups) of win rates by strengths."""
    wins = scipy.special.expit(strengths[:, None] - strengths)
    slopes = wins * (1.0 - wins)
    np.fill_diagonal(slopes, 0.0)
    return np.asarray((np.diag(slopes.sum(axis=1)) - slopes) / max(len(strengths) - 1, 1))


def _gradients_by_unit(added: Floats, matches: Matches, units: Ints) -> Floats:
    """Sums (n_units, n_groups) over the items of units: added to the first system of an item."""
    rows = matches.met[added[matches.met] != 0.0]
    units = np.unique(units[rows], return_inverse=True)[1]
    gradients = np.zeros((int(units.max(initial=-1)) + 1, matches.n_groups))
    np.add.at(gradients, (units, matches.first[rows]), added[rows])
    np.add.at(gradients, (units, matches.second[rows]), -added[rows])
    return gradients
