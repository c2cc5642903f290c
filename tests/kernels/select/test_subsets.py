"""Scores of arbitrary subsets against loops, and against the prefixes they generalise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.kernels.evaluation import calibrate, summed_nll
from judgepanel.kernels.prefixes import CLOSED_FORMS, prefix_scores
from judgepanel.kernels.subsets import Comparison, by_folds, by_split, subset_trial
from judgepanel.scoring.splits import split
from tests.helpers import item_nll, make_ballots


def masks_of(n_judges, n=12, seed=3):
    masks = np.random.default_rng(seed).random((n, n_judges)) < 0.5
    masks[~masks.any(axis=1), 0] = True
    return masks


def restricted(ballots, mask):
    return replace(ballots, votes=ballots.votes[:, mask])


@pytest.mark.parametrize("aggregator", CLOSED_FORMS)
@pytest.mark.parametrize("groups", [0, 9])
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_subset_scores_as_the_panel_of_those_judges_alone(aggregator, groups, symmetric):
    ballots = make_ballots(5, 50, 7, missing=0.5, groups=groups, symmetric=symmetric)
    one_split = split(ballots.units, 0)
    masks = masks_of(7)
    scores = subset_trial(ballots, one_split, aggregator, "temperature").scores(masks)
    for b, mask in enumerate(masks):
        size = np.array([mask.sum()])
        own = restricted(ballots, mask)
        alone = prefix_scores(own, one_split, size, aggregator=aggregator)
        for name in ("calibration", "evaluation"):
            wanted = getattr(alone, name)[0]
            np.testing.assert_allclose(getattr(scores, name)[b], wanted, atol=1e-12)
            empty = f"{name}_empty"
            np.testing.assert_array_equal(getattr(scores, empty)[b], getattr(alone, empty)[0])
    assert scores.evaluation_empty.any()
    assert not scores.evaluation_empty.all()


def test_a_comparison_is_the_mean_nll_of_refits_on_every_fold():
    ballots, masks = make_ballots(2, 60, 6, missing=0.3), masks_of(6)
    rows = np.arange(0, 60, 2)
    compared = by_folds(ballots, rows, "one_coin", "beta", n_folds=4, seed=1, key=(5,))
    nll = compared(masks).nll
    for b, mask in enumerate(masks):
        seen, total = restricted(ballots, mask), 0.0
        for trial in compared.trials:
            one_split = trial.split
            scores = prefix_scores(seen, one_split, np.array([mask.sum()]))
            total += summed_nll(calibrate(seen, one_split, scores, ("beta",)))[0, 0]
        assert nll[b] == pytest.approx(total / len(rows), abs=1e-9)


def test_folds_and_splits_use_the_rows_they_are_given_and_keep_groups_whole():
    ballots = make_ballots(3, 60, 5, groups=12)
    rows = np.flatnonzero(ballots.units < 8)
    for compared in (
        by_folds(ballots, rows, "one_coin", "beta", n_folds=4, seed=0, key=(1,)),
        by_split(ballots, rows, "one_coin", "beta", seed=0, key=(1,)),
    ):
        for trial in compared.trials:
            learn, held = trial.split.calibration, trial.split.evaluation
            assert set(learn) | set(held) == set(rows)
            assert not set(ballots.units[learn]) & set(ballots.units[held])


def test_labels_of_held_out_rows_do_not_move_what_is_fitted_to_the_others():
    ballots, masks = make_ballots(4, 50, 6), masks_of(6)
    one_split = split(ballots.units, 0)
    signs = ballots.signs.copy()
    signs[one_split.evaluation] *= -1
    result = subset_trial(ballots, one_split, "one_coin", "beta")
    other = subset_trial(replace(ballots, signs=signs), one_split, "one_coin", "beta")
    np.testing.assert_array_equal(result.losses(masks)[1], other.losses(masks)[1])
    assert not np.allclose(result.losses(masks)[0], other.losses(masks)[0])


def test_blocks_bound_memory_and_change_nothing(monkeypatch):
    ballots, masks = make_ballots(6, 40, 6), masks_of(6, 30)
    compared = Comparison((subset_trial(ballots, split(ballots.units, 1), "one_coin", "beta"),))
    whole = compared(masks).nll
    monkeypatch.setattr("judgepanel.kernels.subsets.CELLS", 60)
    np.testing.assert_allclose(compared(masks).nll, whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("calibrator", ["temperature", "platt", "beta", "isotonic"])
def test_maps_of_near_panels_save_steps_and_move_only_rounding(calibrator):
    ballots, masks = make_ballots(7, 60, 8, missing=0.1), masks_of(8)
    compared = by_folds(ballots, np.arange(60), "one_coin", calibrator, n_folds=3, seed=0, key=(1,))
    cold = compared(masks)
    near = np.roll(cold.maps, 1, axis=0)
    if calibrator == "isotonic":
        near[:] = [1.0, -1.0, 0.0]
    np.testing.assert_allclose(compared(masks, near).nll, cold.nll, rtol=0, atol=1e-8)


@given(seed=st.integers(0, 50), data=st.data())
def test_permuting_judges_permutes_nothing_but_the_masks(seed, data):
    ballots, masks = make_ballots(seed, 30, 5), masks_of(5, 4, seed)
    order = np.array(data.draw(st.permutations(range(5))))
    result, other = (
        by_folds(b, np.arange(30), "one_coin", "temperature", n_folds=3, seed=0, key=(1,))(m).nll
        for b, m in ((ballots, masks), (restricted(ballots, order), masks[:, order]))
    )
    np.testing.assert_allclose(result, other, rtol=0, atol=1e-9)


def test_under_symmetric_swapping_items_changes_no_nll():
    ballots, masks = make_ballots(8, 40, 6, symmetric=True), masks_of(6)
    turn = np.where(np.random.default_rng(1).random(40) < 0.5, -1, 1).astype(np.int8)
    turned = replace(ballots, votes=ballots.votes * turn[:, None], signs=ballots.signs * turn)
    result, other = (
        by_folds(b, np.arange(40), "one_coin", "beta", n_folds=4, seed=0, key=(1,))(masks).nll
        for b in (ballots, turned)
    )
    np.testing.assert_allclose(result, other, rtol=0, atol=1e-9)


def test_one_class_labels_score_no_better_than_a_judge_deserves():
    ballots = make_ballots(9, 60, 3, missing=0.0, symmetric=True)
    ballots = replace(
        ballots, votes=ballots.votes * ballots.signs[:, None], signs=np.ones(60, "i1")
    )
    wrong = np.zeros_like(ballots.votes)
    wrong[:] = np.where(np.random.default_rng(2).random(wrong.shape) < 0.5, 1, -1)
    blank = replace(ballots, votes=wrong)
    compared = by_folds(blank, np.arange(60), "one_coin", "beta", n_folds=4, seed=0, key=(1,))
    assert compared(np.ones((1, 3), bool)).nll[0] > 0.6


def test_items_nobody_of_a_subset_saw_get_the_base_rate():
    ballots = make_ballots(1, 40, 3)
    votes = ballots.votes.copy()
    votes[:, 2] = 0
    ballots = replace(ballots, votes=votes)
    one_split = split(ballots.units, 0)
    total, _ = subset_trial(ballots, one_split, "one_coin", "beta").losses(
        np.array([[False, False, True]])
    )
    share = (ballots.signs[one_split.calibration] > 0).mean()
    null = item_nll(np.full(20, np.log(share / (1 - share))), ballots.signs[one_split.evaluation])
    assert total[0] == pytest.approx(20 * null)
