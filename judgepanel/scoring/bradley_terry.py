"""Win rates of systems that met in pairs: Bradley-Terry through prediction-powered outcomes.

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

import numpy as np
import scipy

from judgepanel.arrays import Floats, Ints
from judgepanel.distributions import t_ppf
from judgepanel.scoring.inference import LEVEL
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.prediction_powered import (
    PRIOR_CASES,
    PRIOR_ERRORS,
    PSEUDO_LABELS,
    Rates,
    Target,
)

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
    reach = float(t_ppf(0.5 + LEVEL / 2.0, df)) * np.sqrt(variance)
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
    return np.concatenate(
        [
            _by_unit(left, matches, matches.units),
            _by_unit(assumed, matches, alone),
            rare[:, None] * (np.eye(n_groups) - others),
        ]
    )


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


def _by_unit(added: Floats, matches: Matches, units: Ints) -> Floats:
    """Sums (n_units, n_groups) over the items of units: added to the first system of an item."""
    rows = matches.met[added[matches.met] != 0.0]
    units = np.unique(units[rows], return_inverse=True)[1]
    gradients = np.zeros((int(units.max(initial=-1)) + 1, matches.n_groups))
    np.add.at(gradients, (units, matches.first[rows]), added[rows])
    np.add.at(gradients, (units, matches.second[rows]), -added[rows])
    return gradients
