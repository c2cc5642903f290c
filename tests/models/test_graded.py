"""Aggregators of grades as scikit-learn classifiers that are their kernels."""

import numpy as np
import pytest

from judgepanel.kernels.aggregation import panel_scores
from judgepanel.models import GradedJoint, GradedOneCoin, OneCoin
from judgepanel.scoring.splits import Split
from judgepanel.votes import MISSING
from tests.helpers import make_ballots


def grades(seed=0, n=60, k=5, groups=0):
    ballots = make_ballots(seed, n, k, groups=groups)
    rng = np.random.default_rng(seed)
    X = 3.0 + ballots.votes * (rng.integers(1, 4, (n, k)) / 2.0)
    X[rng.random((n, k)) < 0.1] = np.nan
    return X, (ballots.signs > 0).astype(int), ballots.units


@pytest.mark.parametrize(
    ("model", "name"), [(GradedOneCoin, "one_coin_graded"), (GradedJoint, "joint_graded")]
)
@pytest.mark.parametrize("groups", [0, 12])
def test_an_estimator_is_its_kernel(model, name, groups):
    X, y, units = grades(groups=groups)
    fitted = model(threshold=3.0).fit(X[:40], y[:40], *([units[:40]] if name[0] == "j" else []))
    ballots = fitted._ballots(X, y, units)
    whole = Split(0, np.arange(40), np.arange(40, 60))
    wanted = panel_scores(ballots, whole, np.array([5]), aggregator=name, key=(0,))
    voted = ~wanted.evaluation_empty[0]
    given = fitted.decision_function(X[40:])
    np.testing.assert_allclose(given[voted], wanted.evaluation[0][voted], rtol=0, atol=1e-9)
    own = fitted.left_out_scores(X[:40], y[:40], units[:40])
    some = ~wanted.calibration_empty[0]
    np.testing.assert_allclose(own[some], wanted.calibration[0][some], rtol=0, atol=1e-9)


def test_a_grade_on_the_threshold_is_no_vote_and_0_and_1_are_votes():
    X, y, _ = grades()
    fitted = GradedOneCoin(threshold=np.full(5, 3.0)).fit(X, y)
    assert fitted.decision_function(np.full((1, 5), 3.0))[0] == fitted.prior_logit_
    votes = np.where(np.isnan(X), np.nan, X > 3.0)
    plain = OneCoin().fit(votes, y)
    binary = GradedOneCoin().fit(votes, y)
    assert np.array_equal(binary.weights_[0], plain.weights_)
    assert (binary._verdicts(votes) == MISSING).sum() == np.isnan(votes).sum()


def test_farther_grades_that_are_right_more_often_weigh_more():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    far = rng.integers(0, 2, 400)
    right = rng.random(400) < np.where(far, 0.95, 0.6)
    X = (2 * np.where(right, y, 1 - y) - 1) * np.where(far, 2.0, 1.0)
    for model in (GradedOneCoin(threshold=0.0), GradedJoint(threshold=0.0, Cs=(0.1,))):
        weights = model.fit(X[:, None], y).weights_[:, 0]
        assert 0.0 < weights[0] < weights[1]
