"""Win rates of systems that met in pairs: Bradley-Terry through corrected outcomes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from judgepanel.scoring.prediction_powered import (
    PRIOR_SD,
    Matches,
    estimate_win_rates,
    strengths_of,
    win_rates,
)


def matches_of(seed, n_systems=5, n_items=1000, n_labels=100, right=0.8):
    """Matches with labels of some items, a proxy that is right with this rate, and all outcomes."""
    rng = np.random.default_rng(seed)
    strengths = np.linspace(-1.0, 1.0, n_systems)
    first = rng.integers(0, n_systems, n_items)
    second = (first + rng.integers(1, n_systems, n_items)) % n_systems
    won = (rng.random(n_items) < expit(strengths[first] - strengths[second])).astype(np.float64)
    guess = np.where(rng.random(n_items) < right, won, 1.0 - won)
    labels = np.full(n_items, np.nan)
    shown = rng.choice(n_items, n_labels, replace=False)
    labels[shown] = won[shown]
    matches = Matches(labels, first, second, n_systems, np.arange(n_items))
    return matches, guess * (2.0 * right - 1.0) + 1.0 - right, won


def all_of(matches, won):
    """The win rates in the file if all labels were known."""
    every = matches.every
    return win_rates(strengths_of(every * won, matches, every, 1e12))


def test_labels_alone_are_a_penalised_logistic_regression():
    matches, proxy, _ = matches_of(1)
    rows = matches.rows
    design = np.zeros((len(rows), 5))
    design[np.arange(len(rows)), matches.first[rows]] = 1.0
    design[np.arange(len(rows)), matches.second[rows]] = -1.0
    oracle = LogisticRegression(C=PRIOR_SD**2, fit_intercept=False, tol=1e-12, max_iter=10_000)
    oracle.fit(design, matches.labels[rows])
    ours = estimate_win_rates(proxy, matches, tuned=False).rate.value
    np.testing.assert_allclose(ours, win_rates(oracle.coef_[0]), atol=1e-6)


def test_two_systems_have_the_share_of_their_wins():
    matches, _, won = matches_of(2, n_systems=2)
    wins = np.where(matches.first == 0, won, 1.0 - won).mean()
    np.testing.assert_allclose(all_of(matches, won), [wins, 1.0 - wins], atol=1e-9)


def test_the_order_of_the_two_responses_does_not_matter():
    matches, proxy, _ = matches_of(3)
    turned = replace(
        matches, labels=1.0 - matches.labels, first=matches.second, second=matches.first
    )
    ours, other = (
        estimate_win_rates(f, m).rate for f, m in ((proxy, matches), (1.0 - proxy, turned))
    )
    for end, same in zip(ours, other, strict=True):
        np.testing.assert_allclose(end, same, atol=1e-9)


def test_a_proxy_that_knows_the_labels_leaves_nothing_open():
    matches, _, won = matches_of(4)
    rates = estimate_win_rates(won, matches)
    assert rates.tuning[0] == pytest.approx(1.0)
    np.testing.assert_allclose(rates.rate.value, all_of(matches, won), atol=0.01)


def test_the_file_is_known_once_all_its_items_are_labelled():
    matches, proxy, won = matches_of(5)
    known = replace(matches, labels=won)
    of_file = estimate_win_rates(proxy, known).rate
    np.testing.assert_allclose(of_file.lo, of_file.hi, atol=1e-12)
    of_population = estimate_win_rates(proxy, known, target="population").rate
    assert (of_population.hi - of_population.lo > 0.02).all()


def test_a_system_that_won_every_label_has_an_interval():
    matches, proxy, _ = matches_of(6, n_labels=40)
    best = np.where(matches.first == 4, 1.0, np.where(matches.second == 4, 0.0, matches.labels))
    won = replace(matches, labels=np.where(np.isfinite(matches.labels), best, np.nan))
    rate = estimate_win_rates(np.full(len(proxy), 0.5), won).rate
    assert 0.8 < rate.value[4] < 1.0
    assert rate.hi[4] - rate.lo[4] > 0.02


def test_items_without_a_system_and_against_itself_do_not_count():
    matches, proxy, _ = matches_of(7)
    first, second = matches.first.copy(), matches.second.copy()
    first[:100], second[100:200] = -1, first[100:200]
    some = replace(matches, first=first, second=second)
    rest = Matches(matches.labels[200:], first[200:], second[200:], 5, np.arange(800))
    ours, other = (
        estimate_win_rates(f, m).rate.value for f, m in ((proxy, some), (proxy[200:], rest))
    )
    np.testing.assert_allclose(ours, other, atol=1e-9)


def test_a_system_without_labels_has_no_rate():
    matches, proxy, _ = matches_of(8)
    of_last = (matches.first == 4) | (matches.second == 4)
    rate = estimate_win_rates(
        proxy, replace(matches, labels=np.where(of_last, np.nan, matches.labels))
    ).rate
    assert np.isnan(rate.value[4])
    assert np.isfinite(rate.value[:4]).all()


@pytest.mark.simulation
@pytest.mark.parametrize("n_labels", [50, 150])
def test_intervals_hold_and_are_narrower_than_those_of_labels_alone(n_labels):
    """Of 1,250 intervals 93 % to 98 % hold: rates of one world depend on each other."""
    held, width = [], []
    for seed in range(250):
        matches, proxy, won = matches_of(10_000 + seed, n_labels=n_labels)
        truth = all_of(matches, won)
        ours, alone = (estimate_win_rates(proxy, matches, tuned=t).rate for t in (True, False))
        held.append((ours.lo <= truth) & (truth <= ours.hi))
        width.append([np.mean(rate.hi - rate.lo) for rate in (ours, alone)])
    assert 0.93 <= np.mean(held) <= 0.98
    narrow, wide = np.mean(width, axis=0)
    assert narrow < 0.9 * wide


def test_intervals_hold_where_one_stratum_is_labelled_and_the_other_hardly():
    held, weights, n = np.zeros(3), np.repeat([1.0, 10.0], 500), 1000
    for seed in range(100):
        rng = np.random.default_rng(seed)
        first = rng.integers(0, 3, n)
        second = (first + rng.integers(1, 3, n)) % 3
        won = (rng.random(n) < expit(0.5 * (first - second))).astype(float)
        shown = np.concatenate([np.ones(500, bool), rng.permutation(500) < 50])
        labels = np.where(shown, won, np.nan)
        matches = Matches(labels, first, second, 3, np.arange(n), weights)
        every = matches.every
        truth = win_rates(strengths_of(every * won, matches, every, 1e12))
        _, lo, hi = estimate_win_rates(np.zeros(n), matches).rate
        held += (lo <= truth) & (truth <= hi)
    assert held.mean() >= 90.0  # 85 % with the share of all items
