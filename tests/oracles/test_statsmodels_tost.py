"""statsmodels' paired equivalence test as an oracle."""

import numpy as np
import pytest
from statsmodels.stats.weightstats import ttost_paired

from judgepanel.scoring.descriptive import equivalence
from judgepanel.scoring.inference import estimate
from judgepanel.studies.paper.reliability_weighting import plain_tost


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
