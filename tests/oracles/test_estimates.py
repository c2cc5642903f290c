"""Estimates from few labels, and agreement: PPI++, truescore, krippendorff and statsmodels.

Only what is the same estimator is compared: our intervals are Wilson's at an effective number of
labels, and our agreement has jackknife intervals, which no other package has.
"""

import krippendorff
import numpy as np
import pytest
import statsmodels.api as sm
import truescore.agreement
import truescore.compare
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint
from truescore.correct import gold_only_estimate, ppi_estimate

from judgepanel.scoring.descriptive import ac1, alpha, item_counts, kappa, pair_counts
from judgepanel.scoring.inference import holm
from judgepanel.scoring.prediction_powered import Matches, Sample, estimate_rates, strengths_of
from judgepanel.studies.understand.judge_table import wilson

SAME = {"rel": 1e-8, "abs": 1e-8}


def world(seed, n=400, n_labels=60):
    """Proxies of labels, which are too sure, and labels of which all but some are hidden."""
    rng = np.random.default_rng(seed)
    proxy = rng.beta(1.5, 1.0, n)
    labels = np.where(rng.random(n) < 0.2 + 0.6 * proxy, 1.0, 0.0)
    return proxy, np.where(rng.permutation(n) < n_labels, labels, np.nan)


def ppi_plus_plus(labels, proxy, unlabelled):
    """The mean of PPI++ with power tuning (Angelopoulos, Duchi and Zrnic 2023, arXiv:2311.01453).

    lambda = cov(y, f) / ((1 + n / N) var(f)) over n labelled items and N others; then the mean is
    lambda mean(f of the others) + mean(y - lambda f).
    """
    n, n_others = len(labels), len(unlabelled)
    mean_label, mean_proxy = sum(labels) / n, sum(proxy) / n
    covariance = sum((labels - mean_label) * (proxy - mean_proxy)) / n
    variance = sum((proxy - mean_proxy) ** 2) / n
    tuning = covariance / ((1.0 + n / n_others) * variance)
    return float(tuning * sum(unlabelled) / n_others + sum(labels - tuning * proxy) / n)


@pytest.mark.parametrize("seed", range(3))
def test_the_rate_is_the_power_tuned_mean_of_the_paper(seed):
    proxy, labels = world(seed)
    known = np.isfinite(labels)
    ours = estimate_rates(proxy, Sample.of(labels))
    assert 0.0 < ours.tuning[0] < 1.0
    theirs = ppi_plus_plus(labels[known], proxy[known], proxy[~known])
    assert float(ours.rate.value[0]) == pytest.approx(theirs, **SAME)


@pytest.mark.parametrize("seed", range(3))
def test_the_rate_is_that_of_truescore(seed):
    """It has the proxies of unlabelled items only, so its lambda is ours times their share."""
    proxy, labels = world(seed)
    known = np.isfinite(labels)
    ours = estimate_rates(proxy, Sample.of(labels))
    theirs = ppi_estimate(
        proxy, labels[known], np.flatnonzero(known), lambda_=float(ours.tuning[0] * np.mean(~known))
    )
    assert float(ours.rate.value[0]) == pytest.approx(theirs.point, **SAME)


def test_labels_alone_are_those_of_truescore():
    proxy, labels = world(5)
    alone = estimate_rates(proxy, Sample.of(labels), tuned=False)
    theirs = gold_only_estimate(labels[np.isfinite(labels)])
    assert float(alone.rate.value[0]) == pytest.approx(theirs.point, **SAME)


def test_the_influence_of_units_is_the_clustered_variance_of_statsmodels():
    _, labels = world(6)
    units = np.arange(len(labels)) // 5
    known = np.isfinite(labels)
    ours = estimate_rates(
        np.zeros(len(labels)), Sample.of(labels, units=units), target="population", tuned=False
    )
    fit = sm.OLS(labels[known], np.ones(known.sum())).fit(
        cov_type="cluster", cov_kwds={"groups": units[known], "use_correction": False}
    )
    assert np.sqrt((ours.influence.toarray() ** 2).sum()) == pytest.approx(fit.bse[0], **SAME)


def test_strengths_of_systems_are_the_coefficients_of_a_logistic_regression():
    rng = np.random.default_rng(7)
    first = rng.integers(0, 4, 500)
    second = (first + rng.integers(1, 4, 500)) % 4
    labels = (rng.random(500) < 1.0 / (1.0 + np.exp(0.5 * (first - second)))).astype(float)
    matches = Matches(labels, first, second, 4, np.arange(500))
    ours = strengths_of(matches.every * labels, matches, matches.every, 1e12)
    sides = np.eye(4)[first] - np.eye(4)[second]
    fit = sm.GLM(labels, sides[:, 1:], family=sm.families.Binomial()).fit(tol=1e-14)
    assert (ours - ours[0])[1:] == pytest.approx(fit.params, rel=1e-8)


def votes_of(seed):
    """Signed votes of five judges on 80 items, one in five missing."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], 80, p=[0.3, 0.7])
    votes = np.where(rng.random((80, 5)) < 0.75, truth[:, None], -truth[:, None])
    return np.where(rng.random((80, 5)) < 0.2, 0, votes).astype(np.int8)


@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_that_of_krippendorff_and_truescore(seed):
    votes = votes_of(seed)
    ratings = np.where(votes == 0, np.nan, votes).T
    ours = float(alpha(item_counts(votes, np.zeros(80, dtype=np.int64))[0]))
    theirs = krippendorff.alpha(reliability_data=ratings, level_of_measurement="nominal")
    assert ours == pytest.approx(theirs, **SAME)
    assert ours == pytest.approx(truescore.agreement.krippendorff_alpha(ratings), **SAME)


@pytest.mark.parametrize("seed", range(3))
def test_kappa_and_ac1_are_those_of_truescore_and_statsmodels(seed):
    votes = votes_of(seed)[:, :2]
    first, second = votes[(votes != 0).all(axis=1)].T
    counts = pair_counts(first[:, None], second[:, None], np.zeros(len(first), dtype=np.int64))[0]
    assert kappa(counts)[0] == pytest.approx(cohens_kappa(counts[0]).kappa, **SAME)
    assert kappa(counts)[0] == pytest.approx(truescore.agreement.cohen_kappa(first, second), **SAME)
    assert ac1(counts)[0] == pytest.approx(truescore.agreement.gwet_ac1(first, second), **SAME)


def test_wilson_and_holm_are_those_of_truescore_and_statsmodels():
    lo, hi = wilson(np.array([0, 7, 40]), np.array([12, 30, 40]))
    for ours, right, n in zip(zip(lo, hi, strict=True), (0, 7, 40), (12, 30, 40), strict=True):
        theirs = truescore.agreement.wilson_interval(right, n)
        assert ours == pytest.approx((theirs.low, theirs.high), **SAME)
        assert ours == pytest.approx(proportion_confint(right, n, method="wilson"), **SAME)
    p = np.random.default_rng(8).random(12) ** 3
    assert holm(p) == pytest.approx(truescore.compare.holm(p), **SAME)
