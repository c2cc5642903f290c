"""Importance weights: label-free, bounded, and close to the density ratio where there is one."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels.calibration import fit
from judgepanel.kernels.residual import disagreement, importance, vote_summaries
from tests.helpers import item_nll, make_ballots


def test_disagreement_counts_votes_and_knows_neither_labels_nor_order():
    ballots = make_ballots(3, 30, 5)
    result = disagreement(ballots)
    for row, value in zip(ballots.votes.tolist(), result, strict=True):
        ones, zeros = row.count(1), row.count(-1)
        cast = ones + zeros
        assert value == pytest.approx(1 - abs(ones - zeros) / cast if cast else 0.0)
    turned = replace(ballots, votes=-ballots.votes, signs=-ballots.signs)
    np.testing.assert_array_equal(disagreement(turned), result)
    np.testing.assert_array_equal(vote_summaries(turned), vote_summaries(ballots))
    other = replace(ballots, signs=-ballots.signs)
    np.testing.assert_array_equal(vote_summaries(other), vote_summaries(ballots))


def test_weights_come_near_the_true_ratio_of_two_normals():
    rng = np.random.default_rng(0)
    source, target = rng.normal(0, 1, (4000, 1)), rng.normal(0.5, 1, (4000, 1))
    result = importance(source, target, most=100.0)
    truth = np.exp(0.5 * source[:, 0] - 0.125)
    assert np.abs(result.weights / truth - 1).mean() < 0.1
    assert result.weights.mean() == pytest.approx(1)
    assert result.effective / 4000 == pytest.approx(np.exp(-0.25), abs=0.05)  # 1 / E w^2


def test_the_same_items_on_both_sides_weigh_the_same():
    rows = np.random.default_rng(1).normal(size=(50, 3))
    result = importance(rows, rows, most=10.0)
    np.testing.assert_allclose(result.weights, 1.0, atol=1e-6)
    assert result.effective == pytest.approx(50)
    assert result.clipped == 0


def test_sides_told_apart_without_error_still_get_finite_bounded_weights():
    source, target = np.arange(40.0)[:, None], np.arange(100.0, 140.0)[:, None]
    free = importance(source, target, most=1e9)
    bound = importance(source, target, most=1.5)
    assert np.isfinite(free.weights).all()
    assert free.effective < 30
    assert bound.clipped > 0
    assert bound.weights.mean() == pytest.approx(1)
    assert bound.weights.max() <= 1.5 * (1 + 1e-9)
    assert bound.weights.max() / bound.weights.mean() < free.weights.max()
    assert bound.effective > free.effective
    constant = importance(np.ones((5, 2)), np.ones((7, 2)), most=10.0)
    np.testing.assert_allclose(constant.weights, 1.0)


def test_weighting_repairs_a_map_that_is_wrong_elsewhere():
    """Label given score is the same on both sides, but no straight line: weights tell which part
    of it matters. Where nothing shifts, weighting changes nothing worth a nat.
    """
    rng = np.random.default_rng(2)

    def drawn(mean):
        score = rng.normal(mean, 1.0, 4000)
        truth = np.where(score > 0, 0.3 * score, 2.0 * score)
        return score, np.where(rng.random(4000) < 1 / (1 + np.exp(-truth)), 1.0, -1.0)

    (score, signs), (new, own) = drawn(-1.0), drawn(1.5)
    ratio = importance(score[:, None], new[:, None], most=50.0).weights
    plain, weighted, best = (
        item_nll(fit(("platt",), x[None], s, w)["platt"](new[None])[0], own)
        for x, s, w in (
            (score, signs, None),
            (score, signs, ratio[None]),
            (new, own, None),
        )
    )
    assert plain - best > 0.02
    assert weighted - best < 0.4 * (plain - best)
