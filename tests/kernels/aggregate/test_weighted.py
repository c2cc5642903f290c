"""Weighted counts: unit weights change nothing, and no score depends on its own label."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels.prefixes import counts, one_coin_weight, prefix_scores, weighted_one_coin
from judgepanel.scoring.splits import Split, split
from tests.helpers import make_ballots


@pytest.mark.parametrize("groups", [0, 12])
@pytest.mark.parametrize("own_label", ["removed", "seen"])
def test_weights_of_one_give_the_full_panel(groups, own_label):
    ballots = make_ballots(4, 60, 7, groups=groups)
    one_split = split(ballots.units, 1)
    scores = weighted_one_coin(
        ballots, one_split, np.ones(len(one_split.calibration)), own_label=own_label
    )
    wanted = prefix_scores(
        ballots, one_split.calibration, one_split.evaluation, np.array([7]), own_label=own_label
    )
    np.testing.assert_allclose(scores.calibration, wanted.calibration, atol=1e-12)
    np.testing.assert_allclose(scores.evaluation, wanted.evaluation, atol=1e-12)
    np.testing.assert_array_equal(scores.calibration_empty, wanted.calibration_empty)
    np.testing.assert_array_equal(scores.evaluation_empty, wanted.evaluation_empty)
    np.testing.assert_array_equal(scores.order, wanted.order)


def test_a_weight_of_two_is_an_item_seen_twice_and_one_of_zero_an_item_not_seen():
    ballots = make_ballots(5, 40, 5)
    one_split = split(ballots.units, 0)
    importance = np.ones(len(one_split.calibration))
    importance[[0, 1]] = 2.0, 0.0
    rows = np.append(np.delete(one_split.calibration, 1), one_split.calibration[0])
    weights = one_coin_weight(*counts(ballots, rows))
    scores = weighted_one_coin(ballots, one_split, importance)
    np.testing.assert_allclose(
        scores.evaluation[0], ballots.votes[one_split.evaluation] @ weights, atol=1e-12
    )


@pytest.mark.parametrize("groups", [0, 9])
def test_a_left_out_score_does_not_know_the_label_of_its_unit(groups):
    ballots = make_ballots(6, 50, 6, groups=groups)
    one_split = split(ballots.units, 2)
    importance = np.random.default_rng(0).uniform(0.2, 1.8, len(one_split.calibration))
    before = weighted_one_coin(ballots, one_split, importance).calibration[0]
    unit = ballots.units[one_split.calibration[3]]
    signs = np.where(ballots.units == unit, -ballots.signs, ballots.signs).astype(np.int8)
    after = weighted_one_coin(replace(ballots, signs=signs), one_split, importance).calibration[0]
    same = ballots.units[one_split.calibration] == unit
    np.testing.assert_allclose(after[same], before[same], atol=1e-12)
    assert not np.allclose(after[~same], before[~same])


def test_blocks_do_not_change_a_score(monkeypatch):
    ballots = make_ballots(7, 60, 5, groups=15)
    one_split = Split(0, np.arange(40), np.arange(40, 60))
    importance = np.linspace(0.1, 1.9, 40)
    whole = weighted_one_coin(ballots, one_split, importance)
    monkeypatch.setattr("judgepanel.kernels.prefixes._CELLS", 20)
    parts = weighted_one_coin(ballots, one_split, importance)
    np.testing.assert_allclose(parts.calibration, whole.calibration, atol=1e-12)
