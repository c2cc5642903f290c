"""Proxies by cross-fitting: no label shapes its own, and each ridge is scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from judgepanel.kernels.cross_proxies import (
    RIDGES,
    Features,
    cross_proxies,
    cross_proxies_of_best,
    fit_paths,
)


def panel(n=120, n_judges=8, seed=0):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.5).astype(float)
    right = rng.random((n, n_judges)) < np.linspace(0.55, 0.9, n_judges)
    votes = np.where(right, 2 * truth[:, None] - 1, 1 - 2 * truth[:, None])
    votes[rng.random(votes.shape) < 0.1] = 0
    return votes.astype(np.int8), truth


def hidden(truth, every=2):
    return np.where(np.arange(len(truth)) % every == 0, truth, np.nan)


@pytest.mark.parametrize("n", [6, 120], ids=["fewer labels than judges", "more"])
def test_each_ridge_is_an_ordinary_ridge_regression(n):
    votes, truth = panel(n)
    designs = Features.of(votes).designs(slice(None))
    paths = fit_paths(designs, truth)
    for design, slopes, levels in zip(designs, paths.slopes, paths.levels, strict=True):
        for ridge, slope, level in zip(RIDGES, slopes, levels, strict=True):
            fitted = Ridge(alpha=1.0 / ridge).fit(design, truth)
            np.testing.assert_allclose(slope, fitted.coef_, atol=1e-10)
            np.testing.assert_allclose(level, fitted.intercept_, atol=1e-10)


def test_weights_rest_on_errors_of_rows_left_out():
    votes, truth = panel(40)
    designs = Features.of(votes).designs(slice(None))
    paths = fit_paths(designs, truth)
    errors = []
    for design in designs:
        for ridge in RIDGES:
            wrong = []
            for i in range(40):
                rest = np.arange(40) != i
                fitted = Ridge(alpha=1.0 / ridge).fit(design[rest], truth[rest])
                wrong.append(np.clip(fitted.predict(design[[i]])[0], 0, 1) - truth[i])
            errors.append(np.mean(np.square(wrong)))
    expected = np.exp(-40 * (np.array(errors) - min(errors)) / (2 * min(errors)))
    np.testing.assert_allclose(
        np.concatenate(paths.weights), expected / expected.sum(), rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize("k", [1, 3, 8])
def test_no_label_shapes_the_proxy_of_its_own_unit(k):
    """Up to the level of the fold, which the labelled and unlabelled items of an estimate share."""
    votes, truth = panel()
    labels, units = hidden(truth), np.arange(120) // 4
    before = cross_proxies_of_best(votes, labels, units, k, seed=0)
    changed = labels.copy()
    changed[0] = 1.0 - changed[0]
    after = cross_proxies_of_best(votes, changed, units, k, seed=0)
    np.testing.assert_allclose(after[:4] - after[0], before[:4] - before[0], atol=1e-12)
    assert np.abs((after - after[0]) - (before - before[0])).max() > 1e-4


def test_the_best_of_all_judges_are_all_judges():
    votes, truth = panel()
    labels, units = hidden(truth), np.arange(120)
    every = cross_proxies(votes, labels, units, seed=0)
    assert cross_proxies_of_best(votes, labels, units, 8, seed=0).tolist() == every.tolist()


def test_the_best_judges_are_those_whose_votes_follow_the_labels():
    votes, truth = panel(400)
    labels, units = hidden(truth), np.arange(400)
    known = votes.copy()
    known[:, [2, 5]] = np.where(truth[:, None] > 0.5, 1, -1)
    known[::50, 5] = 0
    ours = cross_proxies_of_best(known, labels, units, 2, seed=0)
    assert ours.tolist() == cross_proxies(known[:, [2, 5]], labels, units, seed=0).tolist()


def test_labelled_and_unlabelled_items_have_proxies_of_one_level():
    votes, _ = panel(400)
    labels = hidden((np.random.default_rng(3).random(400) < 0.3).astype(float), 4)
    proxies = cross_proxies(votes, labels, np.arange(400), seed=0)
    known = np.isfinite(labels)
    assert abs(proxies[known].mean() - proxies[~known].mean()) < 0.05


def test_proxies_follow_the_labels():
    votes, truth = panel(400)
    proxies = cross_proxies(votes, hidden(truth, 4), np.arange(400), seed=0)
    assert np.mean((proxies > 0.5) == truth) > 0.9


def test_one_labelled_unit_gives_its_mean():
    votes = panel(20)[0]
    labels = np.where(np.arange(20) < 3, [1.0] * 20, np.nan)
    units = np.where(np.arange(20) < 3, 0, np.arange(20))
    assert cross_proxies(votes, labels, units, seed=0).tolist() == [1.0] * 20
    assert cross_proxies(votes, np.full(20, np.nan), units, seed=0).tolist() == [0.5] * 20


def test_the_verdict_of_a_majority_that_is_nearly_always_right_is_taken():
    rng = np.random.default_rng(5)
    truth = (rng.random(1000) < 0.6).astype(float)
    right = rng.random((1000, 25)) < 0.68
    votes = np.where(right, 2 * truth[:, None] - 1, 1 - 2 * truth[:, None]).astype(np.int8)
    proxies = cross_proxies(votes, hidden(truth, 5), np.arange(1000), seed=0)
    majority = (votes.sum(axis=1) > 0).astype(float)
    assert np.mean((proxies - truth) ** 2) < 1.2 * np.mean((majority - truth) ** 2)
