"""Prefix kernels against plain loops; calibration scores do not depend on their own label."""

import math
from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels import prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import fit
from judgepanel.scoring.splits import Split
from tests.helpers import counts_by_loop, item_nll, logit_by_loop, make_ballots, rank_by_loop

AGGREGATORS = ("one_coin", "majority", "accuracy_weighted", "log_odds")
RANKINGS = ("accuracy", "informativeness")


def halves(ballots, seed=0):
    order = np.random.default_rng(seed).permutation(ballots.n_items)
    cut = ballots.n_items // 2
    return np.sort(order[:cut]), np.sort(order[cut:])


def scores_by_loop(ballots, items, aggregator, ranking, fitted_without, calibration):
    """Logits and emptiness (K, n); ``fitted_without(item)`` are the rows an item is scored from."""
    logits, empty = [], []
    ones = sum(ballots.signs[calibration] > 0)
    prior = math.log((ones + 1) / (len(calibration) - ones + 1)) * (aggregator == "log_odds")
    for k in range(1, ballots.n_judges + 1):
        for item in items:
            correct, voted = counts_by_loop(ballots, fitted_without(item))
            panel = rank_by_loop(correct, voted, ranking)[:k]
            logit, blank = logit_by_loop(ballots, item, panel, correct, voted, aggregator)
            logits.append(0.0 if blank else logit + prior)
            empty.append(blank)
    shape = (ballots.n_judges, len(items))
    return np.reshape(logits, shape), np.reshape(empty, shape)


def every_k(ballots):
    return np.arange(1, ballots.n_judges + 1)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize("groups", [0, 9])
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_every_prefix_is_what_a_loop_over_k_and_items_finds(aggregator, ranking, groups, missing):
    ballots = make_ballots(3, 36, 7, missing=missing, groups=groups)
    if groups:  # groups never straddle a split
        calibrates = ballots.units % 2 == 0
        calibration, evaluation = np.flatnonzero(calibrates), np.flatnonzero(~calibrates)
    else:
        calibration, evaluation = halves(ballots)
    drawn, options = Split(0, calibration, evaluation), {"ranking": ranking}
    scores = prefixes.prefix_scores(
        ballots, drawn, every_k(ballots), aggregator=aggregator, **options
    )

    def without_own_unit(item):
        return [i for i in calibration if ballots.units[i] != ballots.units[item]]

    held, held_empty = scores_by_loop(
        ballots, evaluation, aggregator, ranking, lambda _: calibration, calibration
    )
    own, own_empty = scores_by_loop(
        ballots, calibration, aggregator, ranking, without_own_unit, calibration
    )
    np.testing.assert_allclose(scores.evaluation, held, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(scores.evaluation_empty, held_empty)
    np.testing.assert_allclose(scores.calibration, own, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(scores.calibration_empty, own_empty)


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_in_sample_scores_use_all_calibration_rows(aggregator):
    ballots = make_ballots(4, 30, 5)
    calibration, evaluation = halves(ballots)
    drawn = Split(0, calibration, evaluation)
    scores = prefixes.prefix_scores(
        ballots, drawn, every_k(ballots), aggregator=aggregator, own_label="seen"
    )
    seen, _ = scores_by_loop(
        ballots, calibration, aggregator, "accuracy", lambda _: calibration, calibration
    )
    np.testing.assert_allclose(scores.calibration, seen, rtol=0, atol=1e-12)


@pytest.mark.parametrize("groups", [0, 8])
def test_removing_an_own_label_is_deleting_the_rows_and_starting_again(groups):
    ballots = make_ballots(5, 24, 6, groups=groups)
    all_rows = np.arange(ballots.n_items)
    scores = prefixes.prefix_scores(ballots, Split(0, all_rows, all_rows[:0]), every_k(ballots))
    for item in all_rows:
        others = np.flatnonzero(ballots.units != ballots.units[item])
        deleted = prefixes.prefix_scores(
            ballots, Split(0, others, np.array([item])), every_k(ballots)
        )
        np.testing.assert_array_equal(scores.calibration[:, item], deleted.evaluation[:, 0])


def test_one_of_four_and_two_of_seven_tie_exactly():
    # (1 + 1) / (4 + 2) = (2 + 1) / (7 + 2): the same fraction from different counts.
    assert prefixes.posterior_mean(np.array([1.0]), np.array([4.0])) == prefixes.posterior_mean(
        np.array([2.0]), np.array([7.0])
    )


def test_informativeness_puts_an_anti_expert_before_a_guesser():
    signs = np.array([1, -1] * 10, dtype=np.int8)
    guesser = np.array([1, 1, -1, -1] * 5, dtype=np.int8)
    ballots = Ballots(np.column_stack([guesser, -signs, signs]), signs, np.arange(20))
    rows = np.arange(20)
    assert prefixes.rank(ballots, rows, "accuracy").tolist() == [2, 0, 1]
    assert prefixes.rank(ballots, rows, "informativeness").tolist() == [1, 2, 0]


def test_the_label_prior_is_left_out_where_order_means_nothing():
    ballots = replace(make_ballots(2, 40, 5), signs=np.repeat([1, -1], [32, 8]).astype(np.int8))
    rows = np.arange(40)
    assert prefixes.prior_logit(ballots, rows) > 0.5
    assert prefixes.prior_logit(replace(ballots, symmetric=True), rows) == 0.0


def test_a_judge_without_votes_weighs_nothing_and_has_mean_one_half():
    none = np.zeros(1)
    assert prefixes.one_coin_weight(none, none).tolist() == [0.0]
    assert prefixes.posterior_mean(none, none).tolist() == [0.5]


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize("ks", [[1, 4, 5, 12], [1, 3], [12], [2, 12], [7, 11]])
@pytest.mark.parametrize("groups", [0, 9])
def test_a_grid_of_sizes_is_a_slice_of_all_sizes(aggregator, ranking, ks, groups):
    ballots = make_ballots(6, 50, 12, missing=0.6, groups=groups)
    calibration, evaluation = halves(ballots)
    if groups:
        calibration, evaluation = (np.flatnonzero(ballots.units % 2 == side) for side in (0, 1))
    drawn = Split(0, calibration, evaluation)
    full, some = (
        prefixes.prefix_scores(ballots, drawn, sizes, aggregator=aggregator, ranking=ranking)
        for sizes in (every_k(ballots), np.array(ks))
    )
    for side in ("calibration", "evaluation"):
        empty = f"{side}_empty"
        np.testing.assert_array_equal(getattr(some, empty), getattr(full, empty)[np.array(ks) - 1])
        # All judges are summed in another order where few others are asked for.
        np.testing.assert_allclose(
            getattr(some, side), getattr(full, side)[np.array(ks) - 1], rtol=0, atol=1e-13
        )


@pytest.mark.parametrize("depth", [1, 3, 8])
def test_whoever_is_among_the_first_of_some_case_is_a_leader(depth):
    rng = np.random.default_rng(depth)
    for _ in range(40):
        # Few different keys, so that many judges tie.
        keys = rng.integers(0, 12, 9) + rng.integers(-1, 2, (3, 9)) / 2.0
        near = prefixes.leaders(keys, depth)
        for cases in rng.integers(0, 3, (30, 9)):
            own = keys[cases, np.arange(9)]
            first = np.argsort(own, kind="stable")[:depth]
            assert near[np.argsort(own[near], kind="stable")[:depth]].tolist() == first.tolist()


def test_most_judges_are_not_leaders_once_labels_tell_them_apart():
    ballots = make_ballots(1, 600, 40)
    right = np.random.default_rng(0).random((600, 40)) < np.linspace(0.5, 0.95, 40)
    own, all_rows = ballots.signs[:, None], np.arange(600)
    ballots = replace(ballots, votes=np.where(right, own, -own))
    whole = prefixes.counts(ballots, all_rows)
    correct, voted, _ = prefixes.counts_without_own(ballots, all_rows, *whole)
    keys = -prefixes.ranking_key(correct, voted, "accuracy")
    assert len(prefixes.leaders(keys, 5)) < 10


@pytest.mark.parametrize("block", [1, 7 * 3, 7 * 18 - 1])
@pytest.mark.parametrize("groups", [0, 10])
def test_the_block_size_moves_no_bit(monkeypatch, block, groups):
    ballots = make_ballots(7, 36, 7, groups=groups)
    all_rows = np.arange(36)
    whole = prefixes.prefix_scores(ballots, Split(0, all_rows, all_rows), every_k(ballots))
    monkeypatch.setattr(prefixes, "BLOCK", block)
    pieces = prefixes.prefix_scores(ballots, Split(0, all_rows, all_rows), every_k(ballots))
    for name in ("calibration", "calibration_empty", "evaluation", "evaluation_empty"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))


def test_random_judges_look_skilled_in_sample_and_worthless_without_their_own_label():
    rng = np.random.default_rng(11)
    n, n_judges = 100, 80
    cast, labels = (rng.choice([-1, 1], shape).astype(np.int8) for shape in ((n, n_judges), n))
    ballots = Ballots(cast, labels, np.arange(n))
    rows, ks = np.arange(n), np.array([10])
    signs = ballots.signs.astype(float)
    nll = {}
    for own_label in ("removed", "seen"):
        scores = prefixes.prefix_scores(ballots, Split(0, rows, rows[:0]), ks, own_label=own_label)
        fitted = fit(("temperature",), scores.calibration, signs)["temperature"]
        nll[own_label] = item_nll(fitted(scores.calibration)[0], signs)
    null = np.log(2.0)
    assert abs(nll["removed"] - null) < 0.02
    assert nll["seen"] < null - 0.10
