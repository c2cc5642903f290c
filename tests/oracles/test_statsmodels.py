"""statsmodels as a second opinion: intervals of proportions and logistic fits."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.proportion import proportion_confint

from judgepanel.models import PlattCalibrator, ResidualCorrection
from judgepanel.scoring.conformal import clopper_pearson
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
