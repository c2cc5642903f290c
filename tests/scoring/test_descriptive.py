"""The paper's inference: sign flips against all 2^m of them, bootstrap over splits."""

from itertools import product

import numpy as np
import pytest

from judgepanel.scoring.descriptive import FLIPS, RESAMPLES, paper_inference, sign_flip


def exact_p(values):
    """Share of all sign patterns whose sum is at least as far from 0 as the observed one."""
    observed = abs(values.sum())
    sums = [abs(np.dot(signs, values)) for signs in product((1, -1), repeat=len(values))]
    return np.mean(np.array(sums) >= observed - 1e-12)


@pytest.mark.parametrize("m", [1, 2, 5, 8, 10])
def test_p_is_that_of_all_flips_within_monte_carlo_error(m):
    rng = np.random.default_rng(m)
    differences = rng.normal(0.3, 1.0, (6, m))
    differences[1] = rng.choice([-0.1, 0.1], m)  # many flips tie with what was observed
    differences[2] = rng.choice([-0.1, 0.1, 0.3], m)
    _, p = sign_flip(differences, seed=0)
    for row, found in zip(differences, p, strict=True):
        wanted = exact_p(row)
        assert abs(found - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / FLIPS) + 2 / FLIPS


def test_p_is_uniform_where_nothing_differs():
    rng = np.random.default_rng(1)
    _, p = sign_flip(rng.normal(size=(2000, 60)), seed=3, flips=1000)
    for level in (0.05, 0.25, 0.5, 0.75):
        assert abs(np.mean(p <= level) - level) < 4 * np.sqrt(level * (1 - level) / 2000)


def test_t_is_the_studentised_mean():
    differences = np.random.default_rng(2).normal(0.2, 1.0, (3, 25))
    t, _ = sign_flip(differences, seed=0, flips=10)
    wanted = differences.mean(axis=1) / (differences.std(axis=1, ddof=1) / 5.0)
    np.testing.assert_allclose(t, wanted, rtol=1e-12)


def test_no_difference_at_all_is_p_one_and_t_zero():
    t, p = sign_flip(np.zeros((2, 12)), seed=0, flips=50)
    assert t.tolist() == [0.0, 0.0]
    assert p.tolist() == [1.0, 1.0]


def test_a_comparison_does_not_depend_on_its_neighbours():
    differences = np.random.default_rng(3).normal(0.1, 1.0, (5, 40))
    _, together = sign_flip(differences, seed=4, flips=2000)
    _, alone = sign_flip(differences[[2]], seed=4, flips=2000)
    assert together[2] == alone[0]


def test_paper_inference_is_medians_and_a_bootstrap_of_the_mean():
    rng = np.random.default_rng(5)
    differences, t, p = rng.normal(0.2, 1.0, (50, 2)), rng.normal(size=(50, 2)), rng.random((50, 2))
    found = paper_inference(differences, t, p, seed=0)
    for name, values in (("median", differences), ("t", t), ("p", p)):
        np.testing.assert_array_equal(getattr(found, name), np.median(values, axis=0))
    mean, se = differences.mean(axis=0), differences.std(axis=0) / np.sqrt(50)
    loose = 5.0 * se / np.sqrt(RESAMPLES) * 2.7  # quantiles of a bootstrap have this error
    assert (np.abs(found.lo - (mean - 1.96 * se)) < loose + 0.15 * se).all()
    assert (np.abs(found.hi - (mean + 1.96 * se)) < loose + 0.15 * se).all()
