"""Tails and quantiles equal those of scipy.stats, to the bit where the code is the same."""

import numpy as np
import pytest
from scipy import stats

from judgepanel import distributions

RNG = np.random.default_rng(0)
P = np.concatenate([RNG.random(500), [0.0, 0.025, 0.5, 0.975, 1.0]])
Z = np.concatenate([RNG.normal(size=500) * 5.0, [-np.inf, 0.0, np.inf, np.nan, 38.0]])
DF = np.concatenate([RNG.random(503) * 300.0 + 0.5, [np.nan, 1.0]])
A, B = RNG.random((2, 505)) * 300.0 + 1e-3
COUNTS = RNG.integers(-1, 30, 300), RNG.integers(1, 500, 300), RNG.random(300)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (distributions.norm_sf(Z), stats.norm.sf(Z)),
        (distributions.norm_ppf(P), stats.norm.ppf(P)),
        (distributions.norm_pdf(Z), stats.norm.pdf(Z)),
        (distributions.t_sf(Z, DF), stats.t.sf(Z, DF)),
        (distributions.t_ppf(P[:500], DF[:500]), stats.t.ppf(P[:500], DF[:500])),
        (distributions.beta_sf(P, A, B), stats.beta.sf(P, A, B)),
        (distributions.beta_ppf(P, A, B), stats.beta.ppf(P, A, B)),
    ],
    ids=["norm_sf", "norm_ppf", "norm_pdf", "t_sf", "t_ppf", "beta_sf", "beta_ppf"],
)
def test_a_continuous_law_has_the_values_of_scipy(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=0.0)


def test_the_constant_of_95_per_cent_intervals_is_the_quantile_to_the_bit():
    assert stats.norm.ppf(0.975) == distributions.Z_95


def test_a_binomial_tail_has_the_values_of_scipy():
    tails = [
        distributions.binom_sf(int(k), int(n), float(p)) for k, n, p in zip(*COUNTS, strict=True)
    ]
    np.testing.assert_allclose(tails, stats.binom.sf(*COUNTS), rtol=1e-14, atol=0.0)


def test_poisson_tails_have_the_values_of_scipy():
    k, mean = COUNTS[0], A[:300]
    above = [distributions.poisson_sf(int(i), float(m)) for i, m in zip(k, mean, strict=True)]
    below = [distributions.poisson_cdf(int(i), float(m)) for i, m in zip(k, mean, strict=True)]
    np.testing.assert_allclose(above, stats.poisson.sf(k, mean), rtol=1e-14, atol=0.0)
    np.testing.assert_allclose(below, stats.poisson.cdf(k, mean), rtol=1e-14, atol=0.0)


def test_hypergeometric_tails_agree_with_scipy():
    n = RNG.integers(1, 10_000, 300)
    row, column = RNG.integers(0, n + 1), RNG.integers(0, n + 1)
    both = RNG.integers(np.maximum(0, row + column - n), np.minimum(row, column) + 1)
    low, high = distributions.hypergeometric_tails(both, row, column, n)
    law = stats.hypergeom(n, row, column)
    np.testing.assert_allclose(low, law.cdf(both), rtol=1e-9, atol=1e-250)
    np.testing.assert_allclose(high, law.sf(both - 1.0), rtol=1e-9, atol=1e-250)
    assert max(low.max(), high.max()) <= 1.0


def test_a_table_that_cannot_be_has_no_tail():
    low, high = distributions.hypergeometric_tails([1.0, np.nan], 9.0, 3.0, 5.0)
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_ranks_are_those_of_scipy():
    values = RNG.integers(0, 9, (20, 50))
    np.testing.assert_array_equal(distributions.ranks(values), stats.rankdata(values, axis=1))
    np.testing.assert_array_equal(distributions.ranks(values[0]), stats.rankdata(values[0]))
