"""Proportions of clustered trials: the effective number of independent trials.

Trials of one unit may succeed together. A design effect measures how much that increases the
variance of the number of successes; dividing successes and trials by it leaves a binomial count to
test.

Tests of whether votes are missing at random: exact and rank tests of 'missing' against a value.

All tests are permutation tests of H0: whether an item's vote is missing is unrelated to its value.
For one judge that is missing completely at random, whatever the judges do together. Units of
different size are not exchangeable (the missing share of a small unit varies more), so they are
permuted only within ``classes`` of units of one size; without ``classes``, all together.

Are the labelled items a fair sample? Permutation tests of what is known of all items.

Had the labelled items been drawn at random, nothing that is known of an item would tell whether it
has a label. Numbers are compared by their ranks, categories one by one, with the permutation
distribution of units (:mod:`judgepanel.scoring.clustered`). Holm's correction covers all traits; a
trait of several categories has the smallest of their p-values times their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.scoring import conformal, inference, splits

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
        return np.asarray(self.successes.sum(axis=0) / np.maximum(self.trials.sum(axis=0), 1.0))


def unit_counts(right: NDArray[np.bool_], tried: NDArray[np.bool_], units: Ints) -> UnitCounts:
    """Counts of ``right`` and ``tried``, both (n, m), over the codes ``units`` (n,)."""
    codes, n_units = splits.unit_codes(units)
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
    return np.array([conformal.clopper_pearson(c, n) for c, n in pairs]).reshape(-1, 2).T


FEWEST_EXPECTED = 5.0


def fisher(both: Floats | float, row: Floats | float, column: Floats | float, n: float) -> Floats:
    """Two-sided p-values of 2 x 2 tables with fixed margins; arguments broadcast.

    ``both`` of ``n`` items are in a row of size ``row`` and a column of size ``column``. Twice the
    smaller tail of the hypergeometric distribution (Fisher 1935), at most 1: conservative.
    """
    low, high = distributions.hypergeometric_tails(both, row, column, n)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(low, high)))


def permutation_p(missing: Floats, values: Floats, classes: Ints | None = None) -> float:
    """Two-sided p-value of the correlation of ``missing`` (n,) and ``values`` (n,) in ``classes``.

    With a and b centred in each class s of n_s units, z = sum_s a_s.b_s / sqrt(sum_s |a_s|^2
    |b_s|^2 / (n_s - 1)), whose denominator is the exact permutation standard deviation; NaN without
    spread. ``classes`` is int (n,); a class of one unit adds nothing.

    With one class, 0/1 ``missing`` and ranks as ``values`` this is Wilcoxon's rank-sum test with
    ties.
    """
    if len(missing) < 2:
        return float("nan")
    codes = _codes(classes, len(missing))
    a, b = _centred(missing, codes), _centred(values, codes)
    spread = np.bincount(codes, a * a) * np.bincount(codes, b * b)
    variance = float((spread / np.maximum(np.bincount(codes) - 1.0, 1.0)).sum())
    if variance <= 0.0:
        return float("nan")
    return float(2.0 * distributions.norm_sf(abs(float(a @ b)) / np.sqrt(variance)))


def rank_p(missing: Floats, values: Floats, classes: Ints | None = None) -> float:
    """:func:`permutation_p` of the ranks of ``values``; items whose value is NaN are ignored."""
    known = np.isfinite(values)
    if known.sum() < 2:
        return float("nan")
    inside = None if classes is None else classes[known]
    return permutation_p(missing[known], distributions.ranks(values[known]), inside)


def share_p(missing: Floats, inside: Floats, classes: Ints | None = None) -> Floats:
    """P-values (J, L) of missing, (n, J), more or less often inside slices, (n, L), than outside.

    Exact if both are 0/1 and a single class has two or more units. Otherwise the permutation z; NaN
    if fewer than ``FEWEST_EXPECTED`` are expected on either side or nothing varies.
    """
    codes = _codes(classes, len(missing))
    shared = np.bincount(codes)[codes] > 1
    missing, inside, codes = missing[shared], inside[shared], codes[shared]
    n = float(len(missing))
    row, column = missing.sum(axis=0)[:, None], inside.sum(axis=0)[None, :]
    shape = (missing.shape[1], inside.shape[1])
    values = np.full(shape, np.nan)
    if not len(missing):
        return values
    varies = np.broadcast_to((row > 0) & (row < n) & (column > 0) & (column < n), shape)
    exact = varies & _is_binary(missing)[:, None] & _is_binary(inside)[None, :]
    exact &= bool((codes == codes[0]).all())
    both = missing.T @ inside
    rows, columns = np.broadcast_to(row, shape), np.broadcast_to(column, shape)
    values[exact] = fisher(both[exact], rows[exact], columns[exact], n)
    expected = _fewest_expected(missing, inside, codes)
    for j, level in np.argwhere(varies & ~exact & (expected >= FEWEST_EXPECTED)):
        values[j, level] = permutation_p(missing[:, j], inside[:, level], codes)
    return values


def unit_means(values: Floats, units: NDArray[np.int64]) -> Floats:
    """Mean of ``values`` (n,) or (n, m) over each unit, ignoring NaN; NaN if all are NaN."""
    codes = np.unique(units, return_inverse=True)[1]
    known = np.isfinite(values)
    shape = (int(codes.max()) + 1, *values.shape[1:])
    total, count = np.zeros(shape), np.zeros(shape)
    np.add.at(total, codes, np.where(known, values, 0.0))
    np.add.at(count, codes, known.astype(np.float64))
    return np.asarray(np.divide(total, count, out=np.full(shape, np.nan), where=count > 0))


def unit_sizes(units: Ints) -> Ints:
    """Number of items of each unit, in the order of :func:`unit_means`."""
    return np.asarray(np.unique(units, return_counts=True)[1], dtype=np.int64)


def _codes(classes: Ints | None, n: int) -> Ints:
    if classes is None:
        return np.zeros(n, dtype=np.int64)
    return np.asarray(np.unique(classes, return_inverse=True)[1], dtype=np.int64)


def _centred(values: Floats, codes: Ints) -> Floats:
    """Values minus the mean of their class; differences due to rounding become 0."""
    value = values - (np.bincount(codes, values) / np.maximum(np.bincount(codes), 1))[codes]
    slip = 1e-12 * float(np.abs(values).max(initial=0.0))
    return np.asarray(np.where(np.abs(value) > slip, value, 0.0))


def _fewest_expected(missing: Floats, inside: Floats, codes: Ints) -> Floats:
    """Expected missing count inside or outside, (J, L), the smaller one, by class shares."""
    row = unit_means(missing, codes) * unit_sizes(codes)[:, None]
    column = unit_means(inside, codes)
    return np.asarray(np.minimum(row.T @ column, row.T @ (1.0 - column)))


def _is_binary(values: Floats) -> Bools:
    """Which columns hold only 0 and 1."""
    return np.asarray(((values == 0.0) | (values == 1.0)).all(axis=0))


ALPHA = 0.05
MOST_CATEGORIES = 200
"""A trait of more categories is a name or an id, and not tested."""


@dataclass(frozen=True, slots=True)
class FairSample:
    """Traits that were compared, and their p-values after Holm's correction; NaN if untestable."""

    traits: tuple[str, ...]
    p: tuple[float, ...]

    @property
    def differing(self) -> tuple[str, ...]:
        """Traits in which labelled items differ from the others."""
        return tuple(name for name, p in zip(self.traits, self.p, strict=True) if p < ALPHA)


def fair_sample(
    labelled: Bools, traits: Mapping[str, NDArray[Any]], units: Ints, strata: Ints | None = None
) -> FairSample:
    """Compare labelled items with the others, units with units and items within each unit.

    Parameters
    ----------
    labelled : bool (n,), which items have a label.
    traits : numbers (n,), NaN if unknown, or categories (n,), None if unknown, by name.
    units : int (n,), codes of items that are drawn together.
    strata : int (n,), codes of items that are compared with each other only; None for all.

    Notes
    -----
    Items that are units of their own are permuted within their stratum. A larger unit may have
    items of several strata: units are then compared by labels that are standardised within strata,
    which have the same mean and variance in all of them.
    """
    missing = labelled.astype(np.float64)
    single = len(np.unique(units)) == len(units)
    crossed = strata is not None and not single
    codes = _codes(strata, len(missing))
    kept = np.ones(len(missing), dtype=bool)
    shown = missing
    if crossed:
        share = unit_means(missing, codes)[codes]
        kept = (share > 0.0) & (share < 1.0)
        if not kept.any():
            return FairSample(tuple(traits), (float("nan"),) * len(traits))
        missing, codes, units, share = missing[kept], codes[kept], units[kept], share[kept]
        shown = (missing - share) / np.sqrt(share * (1.0 - share))
    shown = unit_means(shown, units)
    cells = codes if single else units * (int(codes.max()) + 1) + codes

    def numbers_p(values: Floats) -> list[float]:
        p = [rank_p(missing, values, cells)]
        if not single:
            away = _away(values, codes) if crossed else values
            p.append(rank_p(shown, unit_means(away, units)))
        return p

    def categories_p(inside: Floats) -> list[float]:
        p: list[float] = share_p(missing[:, None], inside, cells)[0].tolist()
        if crossed:
            together = np.zeros(len(shown), dtype=np.int64)
            both = unit_means(missing, units)[:, None], unit_means(inside, units)
            enough = _fewest_expected(*both, together)[0] >= FEWEST_EXPECTED
            away = unit_means(_away(inside[:, enough], codes), units)
            p += [permutation_p(shown, level) for level in away.T]
        elif not single:
            p += share_p(shown[:, None], unit_means(inside, units))[0].tolist()
        return p

    def p_value(values: NDArray[Any]) -> float:
        values = values[kept]
        if values.dtype.kind in "fiub":
            p = numbers_p(values.astype(np.float64))
        else:
            texts = np.array(["" if value is None else str(value) for value in values.tolist()])
            names = np.unique(texts)
            if len(names) > MOST_CATEGORIES:
                return float("nan")
            p = categories_p((texts[:, None] == names).astype(np.float64))
        known = [each for each in p if np.isfinite(each)]
        return min(1.0, min(known) * len(known)) if known else float("nan")

    p = inference.holm([p_value(values) for values in traits.values()])
    return FairSample(tuple(traits), tuple(p.tolist()))


def _away(values: Floats, codes: Ints) -> Floats:
    """Values (n,) or (n, m) minus the means of their strata; differences by rounding become 0."""
    away = values - unit_means(values, codes)[_codes(codes, len(values))]
    slip = 1e-12 * float(np.nanmax(np.abs(values), initial=0.0))
    return np.asarray(np.where(np.abs(away) <= slip, 0.0, away))
