"""Weights equal those of the fitted estimators, in any order of judges."""

import numpy as np
import pytest

from judgepanel.kernels.aggregation import AGGREGATORS
from judgepanel.models import AccuracyWeighted, LogOdds, MajorityVote, OneCoin
from judgepanel.models.aggregators import DawidSkene
from judgepanel.models.panel import judge_weights
from tests.helpers import make_ballots

CLOSED = {
    "majority": MajorityVote,
    "accuracy_weighted": AccuracyWeighted,
    "log_odds": LogOdds,
    "one_coin": OneCoin,
}


def table(ballots):
    X = np.where(ballots.votes == 0, np.nan, (ballots.votes + 1) / 2)
    return X, (ballots.signs + 1) // 2


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_weigh_as_their_estimators(name):
    ballots = make_ballots(1)
    expected = CLOSED[name]().fit(*table(ballots)).weights_
    np.testing.assert_array_equal(judge_weights(ballots)[name], expected)


@pytest.mark.parametrize("supervised", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_dawid_skene_weighs_half_the_step_between_its_two_votes(supervised, symmetric):
    ballots = make_ballots(2, 80, 6, symmetric=symmetric)
    fitted = DawidSkene(supervised=supervised, symmetric=symmetric).fit(*table(ballots))
    step = fitted.vote_logits_[:, 1] - fitted.vote_logits_[:, 0]
    name = "dawid_skene_semi" if supervised else "dawid_skene"
    np.testing.assert_allclose(judge_weights(ballots, [name])[name], step / 2)


@pytest.mark.parametrize("name", AGGREGATORS)
def test_a_judge_keeps_its_weight_wherever_it_stands(name):
    ballots = make_ballots(3, 60, 5)
    order = np.array([3, 0, 4, 1, 2])
    moved = type(ballots)(ballots.votes[:, order], ballots.signs, ballots.units)
    np.testing.assert_allclose(
        judge_weights(moved, [name])[name], judge_weights(ballots, [name])[name][order], atol=1e-6
    )


@pytest.mark.parametrize("name", AGGREGATORS)
def test_weights_are_finite_for_judges_always_right_always_wrong_and_silent(name):
    ballots = make_ballots(4, 50, 6)
    votes = ballots.votes.copy()
    votes[:, 0], votes[:, 1], votes[:, 2] = ballots.signs, -ballots.signs, 0
    odd = type(ballots)(votes, ballots.signs, ballots.units)
    assert np.isfinite(judge_weights(odd, [name])[name]).all()
