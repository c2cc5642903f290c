"""statsmodels as a second opinion: proportions, logistic fits and tests of equivalence."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired

from judgepanel.scoring.conformal import clopper_pearson
from judgepanel.studies.paper.reliability_weighting import plain_tost
from judgepanel.studies.understand.judge_table import wilson

COUNTS = [(0, 5), (3, 7), (50, 50), (181, 419), (2, 1000)]


@pytest.mark.parametrize(("successes", "trials"), COUNTS)
def test_intervals_of_proportions(successes, trials):
    score = np.ravel(wilson(np.array([successes]), np.array([trials])))
    for method, result in (("wilson", score), ("beta", clopper_pearson(successes, trials))):
        wanted = proportion_confint(successes, trials, alpha=0.05, method=method)
        np.testing.assert_allclose(result, np.nan_to_num(wanted), rtol=0, atol=1e-9)


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.3])
def test_the_plain_paired_test_is_that_of_statsmodels(margin):
    rng = np.random.default_rng(0)
    first = rng.exponential(0.4, (6, 80))
    second = first + rng.normal(0.03, 0.3, (6, 80))
    tost = plain_tost(second - first, margin)
    for left, other, p in zip(first, second, tost, strict=True):
        assert p == pytest.approx(ttost_paired(other, left, -margin, margin)[0], rel=1e-9)
