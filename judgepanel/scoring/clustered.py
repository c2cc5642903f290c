"""Proportions of clustered trials: the effective number of independent trials.

Trials of one unit may succeed together. A design effect measures how much that increases the
variance of the number of successes; dividing successes and trials by it leaves a binomial count to
test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.conformal import clopper_pearson
from judgepanel.scoring.splits import unit_codes

_HALF = 0.5
_UPPER = 0.975


@dataclass(frozen=True, slots=True, eq=False)
class UnitCounts:
    """``successes`` of ``trials`` in every unit, both (n_units, m), for m proportions."""

    successes: Floats
    trials: Floats

    @property
    def n_units(self) -> Ints:
        """Number of units with a trial, (m,)."""
        return np.asarray((self.trials > 0).sum(axis=0))

    @property
    def single(self) -> NDArray[np.bool_]:
        """Whether no unit has more than one trial, (m,); the counts are then binomial."""
        return np.asarray(self.trials.max(axis=0, initial=0.0) <= 1.0)

    def share(self) -> Floats:
        """Share of successes (m,); 0 without trials."""
        total = self.trials.sum(axis=0)
        return np.asarray(self.successes.sum(axis=0) / np.maximum(total, 1.0))


def unit_counts(right: NDArray[np.bool_], tried: NDArray[np.bool_], units: Ints) -> UnitCounts:
    """Counts of ``right`` and ``tried``, both (n, m), over the codes ``units`` (n,)."""
    codes, n_units = unit_codes(units)
    if n_units == len(units):
        return UnitCounts(right.astype(np.float64), tried.astype(np.float64))
    successes, trials = np.zeros((2, n_units, right.shape[1]))
    np.add.at(successes, codes, right)
    np.add.at(trials, codes, tried)
    return UnitCounts(successes, trials)


def design_effect(counts: UnitCounts, share: Floats | float) -> Floats:
    """Sum over units of (successes - share trials)^2 / its binomial expectation, (m,), at least 1.

    With ``share`` 0 or 1 it cannot be estimated: every unit then counts as one trial.
    """
    total = np.maximum(counts.trials.sum(axis=0), 1.0)
    spread = ((counts.successes - share * counts.trials) ** 2).sum(axis=0)
    expected = total * np.asarray(share * (1.0 - np.asarray(share)))
    as_one = (counts.trials**2).sum(axis=0) / total
    values = np.divide(spread, expected, out=as_one, where=expected > 0)
    return np.asarray(np.where(counts.single, 1.0, np.maximum(values, 1.0)))


def below_half_p(counts: UnitCounts) -> Floats:
    """One-sided p-values (m,) of H0: the share is at least 1/2; NaN without trials.

    The binomial tail at successes and trials divided by the design effect about 1/2, at
    non-integers by the incomplete beta function. The effect is taken about the null, not about the
    observed share, because the test is then self-normalised: units of 10 that all fail count as at
    most one trial each, so two such units cannot reject. Exact if no unit has two trials.
    """
    effect = design_effect(counts, _HALF)
    successes = counts.successes.sum(axis=0)
    failures = counts.trials.sum(axis=0) - successes
    p = np.ones(len(effect))
    some = failures > 0
    p[some] = distributions.beta_sf(
        _HALF, (successes / effect)[some] + 1.0, (failures / effect)[some]
    )
    return np.asarray(np.where(counts.trials.sum(axis=0) > 0, p, np.nan))


def share_limits(counts: UnitCounts) -> Floats:
    """Ends (2, m) of the 95 % intervals of the shares; 0 and 1 without trials.

    Clopper-Pearson at the effective number of trials: divided by the design effect about the
    observed share, times (t(trials - 1) / t(units - 1))^2 because that effect is itself estimated
    (Korn and Graubard 1998, Survey Methodology 24, 193-201). Exact if no unit has two trials.
    """
    share, n_units = counts.share(), np.maximum(counts.n_units, 1)
    total = counts.trials.sum(axis=0)
    effect = design_effect(counts, share)
    estimated = ~counts.single & (share > 0.0) & (share < 1.0)
    clustered = estimated & (n_units > 1)
    wide = (n_units / np.maximum(n_units - 1, 1)) * effect
    quantile = [distributions.t_ppf(_UPPER, np.maximum(n - 1, 1)) for n in (n_units, total)]
    effect = np.where(clustered, wide * (quantile[0] / quantile[1]) ** 2, effect)
    effect = np.where(estimated & (n_units == 1), np.maximum(total, 1.0), effect)
    pairs = zip(counts.successes.sum(axis=0) / effect, total / effect, strict=True)
    return np.array([clopper_pearson(c, n) for c, n in pairs]).reshape(-1, 2).T
