"""Near-copies of judges are detected, and a joint panel counts them once."""

import numpy as np
import pytest

from judgepanel.kernels.aggregation import panel_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.joint import copies, copy_shares, groups_among
from judgepanel.kernels.panels import held_joints
from judgepanel.kernels.prefixes import Fit
from judgepanel.scoring.metrics import item_nll
from judgepanel.scoring.splits import fold_of, folds, split


def votes_of(seed, accuracies, n_items=200, *, copies=0, flips=0.0):
    """Signed votes and labels of independent judges, then copies of the last with some flips."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], n_items).astype(np.int8)
    right = rng.random((n_items, len(accuracies))) < np.array(accuracies)
    votes = np.where(right, signs[:, None], -signs[:, None])
    more = np.repeat(votes[:, -1:], copies, axis=1)
    more = np.where(rng.random(more.shape) < flips, -more, more)
    return np.concatenate([votes, more], axis=1).astype(np.int8), signs


def groups_of(votes, signs):
    return groups_among(copies(votes, signs), votes.shape[1])


def ballots_of(*arguments, **options):
    votes, signs = votes_of(*arguments, **options)
    return Ballots(votes, signs, np.arange(len(signs)), False)


def test_copies_share_a_group_and_independent_judges_do_not():
    votes, signs = votes_of(0, [0.7] * 6, copies=3, flips=0.01)
    groups = groups_of(votes, signs)
    assert len(set(groups[:5])) == 5
    assert len(set(groups[5:])) == 1
    np.testing.assert_allclose(copy_shares(groups), [1.0] * 5 + [0.25] * 4)


@pytest.mark.parametrize("seed", range(10))
def test_judges_of_moderate_correlation_are_no_copies(seed):
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], 300)
    hard = rng.normal(size=(300, 1)) + 0.7 * rng.normal(size=(300, 20))
    votes = np.where(hard < 0.8, signs[:, None], -signs[:, None]).astype(np.int8)
    assert len(set(groups_of(votes, signs.astype(np.int8)))) == 20


@pytest.mark.parametrize("n_items", [10, 29])
def test_too_few_items_show_nothing(n_items):
    votes, signs = votes_of(1, [0.7] * 3, n_items, copies=2)
    assert len(set(groups_of(votes, signs))) == 5


def test_judges_that_hardly_err_show_nothing():
    votes, signs = votes_of(2, [0.7, 0.7, 0.99], 100, copies=2)
    assert len(set(groups_of(votes, signs))) == 5


def evaluation_nll(ballots, number=0):
    one_split = split(ballots.units, number)
    scores = panel_scores(ballots, one_split, np.array([ballots.n_judges]), aggregator="joint")
    return float(item_nll(scores.evaluation[0], ballots.signs[one_split.evaluation]).mean())


def test_copies_leave_a_joint_panel_where_it_was():
    alone = [evaluation_nll(ballots_of(seed, [0.7] * 7 + [0.8])) for seed in range(4)]
    among = [evaluation_nll(ballots_of(seed, [0.7] * 7 + [0.8], copies=6)) for seed in range(4)]
    assert np.mean(among) == pytest.approx(np.mean(alone), abs=0.006)


def test_above_the_most_judges_nobody_is_compared_and_smaller_panels_stay_the_same(monkeypatch):
    """Panels of all sizes of a fit share what is known of pairs of judges."""
    monkeypatch.setattr("judgepanel.kernels.joint.MOST_JUDGES", 8)
    ballots = ballots_of(4, [0.7] * 4, 120, copies=5)
    one_split = split(ballots.units, 0)

    def scores(*sizes):
        panels = panel_scores(ballots, one_split, np.array(sizes), aggregator="joint")
        return panels.evaluation

    most, above = scores(8, 9)
    np.testing.assert_allclose(most, scores(8)[0], atol=1e-9)
    np.testing.assert_allclose(above, scores(9)[0], atol=1e-9)
    assert len(set(groups_of(ballots.votes[:, :8], ballots.signs))) == 4
    assert len(set(groups_of(ballots.votes, ballots.signs))) == 9


def test_taking_one_copy_out_of_a_held_panel_changes_next_to_nothing():
    ballots = ballots_of(3, [0.7] * 6, copies=3)
    one_split = split(ballots.units, 0)
    fold = fold_of(folds(ballots.units, one_split.calibration, 5, seed=0, key=(0,)), 200)
    fit = Fit(one_split.calibration, one_split.evaluation, fold[one_split.calibration])
    (held,) = held_joints(ballots, [fit])
    whole = held.of(np.arange(9), one_split.evaluation)
    less = held.without_each(one_split.evaluation)
    assert np.abs(less[5:] - whole).max() < 0.5 * np.abs(less[:5] - whole).max(axis=1).min()
    refitted = held.of(np.arange(8), one_split.evaluation)
    np.testing.assert_allclose(less[8], refitted, atol=0.05)
