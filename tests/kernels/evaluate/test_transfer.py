"""A panel applied to other items: no label of the target is used; importance weights."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels import evaluation as transfer
from judgepanel.kernels.calibration import fit
from judgepanel.kernels.residual import disagreement, importance, vote_summaries
from judgepanel.scoring.splits import Split
from tests.helpers import item_nll, make_ballots

RECIPE = transfer.TransferRecipe(calibrators=("beta", "platt"))
SOURCE, LEFT, RIGHT = np.arange(60), np.arange(60, 80), np.arange(80, 120)
WHOLE = Split(0, SOURCE, np.concatenate([LEFT, RIGHT]))


def ballots(seed=5, **options):
    return make_ballots(seed, 120, 9, missing=0.1, **options)


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_plain_way_is_the_one_path_of_all_studies(symmetric):
    given = ballots(symmetric=symmetric)
    scores = transfer.transferred(given, WHOLE, (LEFT, RIGHT), RECIPE, (0, 1))
    wanted = transfer.evaluate_split(
        given, WHOLE, np.array([9]), transfer.Recipe(calibrators=("beta", "platt"))
    )
    for c, name in enumerate(RECIPE.calibrators):
        both = np.concatenate([score.scores.nll[c, 0] for score in scores])
        np.testing.assert_array_equal(both, wanted.evaluation[name].nll[0])
        mean = (
            sum(score.constant_nll[c] * n for score, n in zip(scores, (20, 40), strict=True)) / 60
        )
        assert mean == pytest.approx(wanted.constant_nll[name])
    mean = sum(score.null_nll * n for score, n in zip(scores, (20, 40), strict=True)) / 60
    assert mean == pytest.approx(wanted.null_nll)


def test_labels_of_the_target_are_held_against_and_never_learnt_from():
    given = ballots()
    turned = replace(given, signs=given.signs.copy())
    turned.signs[60:] *= -1
    for first, other in zip(
        transfer.transferred(given, WHOLE, (LEFT, RIGHT), RECIPE, (0, 1)),
        transfer.transferred(turned, WHOLE, (LEFT, RIGHT), RECIPE, (0, 1)),
        strict=True,
    ):
        np.testing.assert_allclose(np.exp(-first.scores.nll) + np.exp(-other.scores.nll), 1.0)
        assert first.effective == other.effective


def test_a_target_is_scored_alike_whatever_the_other_target_is():
    given = ballots()
    both = transfer.transferred(given, WHOLE, (LEFT, RIGHT), RECIPE, (0, 1))
    alone = transfer.transferred(given, Split(0, SOURCE, RIGHT), (RIGHT,), RECIPE, (0, 1))
    np.testing.assert_array_equal(both[1].scores.nll, alone[0].scores.nll)


def test_strata_are_quantiles_of_the_source_and_hold_whatever_lies_beyond():
    values = np.array([0.0, 0.1, 0.2, 0.3, 0.9, -1.0])
    assert transfer.strata_of(values, np.arange(4), 2).tolist() == [0, 0, 1, 1, 1, 0]
    assert transfer.strata_of(np.zeros(6), np.arange(4), 3).max() == 0


def test_a_stratum_has_a_calibrator_of_its_own_unless_it_is_small(monkeypatch):
    given = ballots()
    whole = transfer.transferred(given, WHOLE, (RIGHT,), RECIPE, (0, 1))[0]
    nll = whole.scores.nll
    assert not np.array_equal(nll[:, 1], nll[:, 0])
    assert (whole.fits, whole.kept, whole.strata) == (4, 0, 2)
    monkeypatch.setattr(transfer, "FEWEST_IN_STRATUM", 1000)
    small = transfer.transferred(given, WHOLE, (RIGHT,), RECIPE, (0, 1))[0]
    np.testing.assert_array_equal(small.scores.nll[:, 1], small.scores.nll[:, 0])
    assert (small.fits, small.kept, small.strata) == (2, 2, 2)


def test_a_stand_in_within_a_stratum_is_counted():
    given = ballots()
    calm = disagreement(given)[SOURCE] <= np.median(disagreement(given)[SOURCE])
    signs = given.signs.copy()
    signs[SOURCE[calm]] = 1
    scores = transfer.transferred(replace(given, signs=signs), WHOLE, (RIGHT,), RECIPE, (0, 1))[0]
    assert scores.replaced.tolist() == [0, 1]  # beta takes one class, Platt scaling does not


def test_a_target_like_the_source_gets_even_weights_and_another_does_not():
    given = ballots(7)
    order = np.argsort(disagreement(given), kind="stable")
    easy, hard = order[:60], order[60:]
    home, abroad = (
        transfer.transferred(given, Split(0, easy[::2], rows), (rows,), RECIPE, (0, 1))[0]
        for rows in (easy[1::2], hard)
    )
    assert home.effective > 25
    assert abroad.effective < home.effective
    assert home.scores.nll.shape == (2, len(transfer.METHODS), 30)


@pytest.mark.parametrize("aggregator", ["majority", "dawid_skene", "joint"])
def test_any_aggregator_is_carried_over(aggregator):
    scores = transfer.transferred(
        ballots(), WHOLE, (RIGHT,), replace(RECIPE, aggregator=aggregator), (0, 1)
    )
    assert np.isfinite(scores[0].scores.nll).all()


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
    assert (result.effective, result.clipped) == (pytest.approx(50), 0)


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
        for x, s, w in ((score, signs, None), (score, signs, ratio[None]), (new, own, None))
    )
    assert plain - best > 0.02
    assert weighted - best < 0.4 * (plain - best)
