"""statsmodels as a second opinion: proportions, logistic fits and tests of equivalence."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired

from judgepanel.models import PlattCalibrator, ResidualCorrection
from judgepanel.scoring.conformal import clopper_pearson
from judgepanel.scoring.descriptive import equivalence
from judgepanel.scoring.inference import estimate
from judgepanel.studies.paper.reliability_weighting import plain_tost
from judgepanel.studies.understand.judge_table import wilson

COUNTS = [(0, 5), (3, 7), (50, 50), (181, 419), (2, 1000)]


@pytest.mark.parametrize(("successes", "trials"), COUNTS)
def test_intervals_of_proportions(successes, trials):
    score = np.ravel(wilson(np.array([successes]), np.array([trials])))
    for method, result in (("wilson", score), ("beta", clopper_pearson(successes, trials))):
        wanted = proportion_confint(successes, trials, alpha=0.05, method=method)
        np.testing.assert_allclose(result, np.nan_to_num(wanted), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_platt_is_logistic_regression_by_maximum_likelihood(seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 3.0, 300)
    labels = (rng.random(300) < 1 / (1 + np.exp(-(0.4 * logits - 0.6)))).astype(int)
    level, slope = sm.Logit(labels, sm.add_constant(logits)).fit(disp=0).params
    a, b, c = PlattCalibrator().fit(logits, labels).params_
    np.testing.assert_allclose((a, -b, c), (slope, slope, level), rtol=0, atol=1e-6)


def test_the_residual_correction_nears_logistic_regression_with_the_feature_as_labels_grow():
    rng = np.random.default_rng(4)
    n = 20_000
    logits, length = rng.normal(0.0, 2.0, n), rng.normal(50.0, 10.0, n)
    truth = 0.6 * logits + 0.5 * (length - 50.0) / 10.0 - 0.2
    labels = (rng.random(n) < 1 / (1 + np.exp(-truth))).astype(int)
    design = sm.add_constant(np.column_stack([logits, (length - length.mean()) / length.std()]))
    fitted = sm.Logit(labels, design).fit(disp=0)
    model = ResidualCorrection().fit(logits, labels, features={"length": length})
    transform = model.transform(logits, features={"length": length})
    error = np.abs(transform - design @ fitted.params)
    assert error.max() < 0.01  # the prior of variance 1 on the slope of the feature is still there


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.3])
def test_the_plain_paired_test_is_that_of_statsmodels(margin):
    rng = np.random.default_rng(0)
    first = rng.exponential(0.4, (6, 80))
    second = first + rng.normal(0.03, 0.3, (6, 80))
    tost = plain_tost(second - first, margin)
    for left, other, p in zip(first, second, tost, strict=True):
        assert p == pytest.approx(ttost_paired(other, left, -margin, margin)[0], rel=1e-9)


def test_our_statistic_is_the_paired_one_where_all_splits_agree():
    rng = np.random.default_rng(1)
    difference = rng.normal(0.01, 0.2, (3, 60))
    same = np.tile(difference.mean(axis=1), (5, 1))
    fitted = estimate(difference, same, np.arange(60), 30.0, 60.0)
    for row, p in zip(difference, equivalence(fitted, 0.05).p, strict=True):
        assert p == pytest.approx(ttost_paired(row, np.zeros(60), -0.05, 0.05)[0], rel=1e-9)
