"""Stacking and joint: the same optimum by every route, no leaks, finite results."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.kernels import ballots as vote_cells
from judgepanel.kernels import joint as joint_kernel
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.prefixes import Fit, counts, one_coin_weight
from judgepanel.scoring.splits import folds
from tests.helpers import counts_by_loop, item_nll, make_ballots

NAMES = ("joint", "stacking", "joint_monotone", "stacking_monotone")
KERNELS = [getattr(joint_kernel, name) for name in NAMES]


def fold_numbers(ballots, rows, n_folds=5):
    fold = np.empty(ballots.n_items, dtype=np.int64)
    for piece in folds(ballots.units, rows, n_folds, seed=0, key=(1,)):
        fold[piece.evaluation] = piece.number
    return fold


def cross_fits(ballots, rows, new, n_folds=5):
    """The fits of one cross-fitting: all of ``rows``, and all but each fold."""
    fold = fold_numbers(ballots, rows, n_folds)
    fits = [Fit(rows, new, fold[rows])]
    for number in np.unique(fold[rows]):
        rest, own = rows[fold[rows] != number], rows[fold[rows] == number]
        fits.append(Fit(rest, own, fold[rest]))
    return fits


@pytest.mark.parametrize("groups", [0, 8])
def test_left_out_scores_are_those_of_a_loop(groups):
    ballots = make_ballots(2, 30, 5, missing=0.4, groups=groups)
    rows = np.arange(30)
    right = ballots.votes * ballots.signs[:, None]
    margins = joint_kernel.left_out_margins(
        right, ballots.units, *counts(ballots, rows), np.ones(5)
    )
    for i in rows:
        others = [o for o in rows if ballots.units[o] != ballots.units[i]]
        correct, voted = counts_by_loop(ballots, others)
        weights = [math.log((c + 1) / (n - c + 1)) for c, n in zip(correct, voted, strict=True)]
        assert margins[i] == pytest.approx(right[i] @ np.array(weights), abs=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("symmetric", [False, True])
def test_models_fitted_together_are_those_fitted_one_by_one(kernel, symmetric):
    ballots = make_ballots(3, 90, 7, symmetric=symmetric)
    fits = cross_fits(ballots, np.arange(60), np.arange(60, 90))
    ks = np.array([1, 4, 7])
    together = kernel(ballots, fits, ks, "accuracy")
    assert [len(entry) for entry in together] == [3] * 6
    for place in (0, 2):
        (alone,) = kernel(ballots, [fits[place]], ks, "accuracy")
        np.testing.assert_allclose(alone, together[place], rtol=0, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("symmetric", [False, True])
def test_sparse_and_dense_features_give_the_same_panel(monkeypatch, kernel, symmetric):
    ballots = make_ballots(4, 120, 20, missing=0.7, symmetric=symmetric)
    fits = cross_fits(ballots, np.arange(80), np.arange(80, 120))
    ks = np.array([5, 20])
    dense = kernel(ballots, fits, ks, "accuracy")
    monkeypatch.setattr(joint_kernel, "BATCH_CELLS", 0)
    monkeypatch.setattr(vote_cells, "SPARSE_CELLS", 0)
    monkeypatch.setattr(vote_cells, "SPARSE_DENSITY", 2.0)
    sparse = kernel(ballots, fits, ks, "accuracy")
    for first, other in zip(dense, sparse, strict=True):
        np.testing.assert_allclose(first, other, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kernel", [joint_kernel.joint, joint_kernel.stacking])
@pytest.mark.parametrize("symmetric", [False, True])
def test_rows_that_are_alike_are_learnt_from_as_one(monkeypatch, kernel, symmetric):
    ballots = make_ballots(18, 160, 4, missing=0.1, symmetric=symmetric)
    fits = cross_fits(ballots, np.arange(120), np.arange(120, 160))
    ks = np.array([2, 4])
    together = kernel(ballots, fits, ks, "accuracy")
    monkeypatch.setattr(joint_kernel, "CODED", 0)
    for scores, each in zip(together, kernel(ballots, fits, ks, "accuracy"), strict=True):
        np.testing.assert_allclose(scores, each, rtol=0, atol=1e-7)


def test_a_hundred_alike_rows_are_one_that_counts_a_hundred_times():
    ballots = make_ballots(19, 12, 3, missing=0.0)
    rows = np.repeat(np.arange(12), 100)
    many = Ballots(ballots.votes[rows], ballots.signs[rows], np.arange(1200))
    given = (many, np.arange(1200), np.arange(3))
    form = {"one_coin": True, "agreement": True}
    example = joint_kernel.features(*given, **form, distinct=True)
    assert len(example.votes) <= 12
    assert example.times.sum() == 1200.0
    whole = joint_kernel.features(*given, **form)
    assert example.shrink == pytest.approx(whole.shrink, abs=1e-12)
    assert example.rate == pytest.approx(whole.rate, rel=1e-12)
    np.testing.assert_allclose(example.centre(), whole.centre(), rtol=0, atol=1e-12)


def test_a_path_ends_where_a_fit_from_nothing_ends():
    ballots = make_ballots(5, 80, 8)
    rows = np.arange(80)
    fit = Fit(rows, rows[:0], np.zeros(80, dtype=np.int64))
    learnt = [joint_kernel.features(ballots, rows, np.arange(8), one_coin=True, agreement=True)]
    (path,) = joint_kernel._fit(learnt, joint_kernel.CS)  # each from the one before
    for place in (0, 4, 8):
        (alone,) = joint_kernel.joint.panels(ballots, [fit], 8, Cs=joint_kernel.CS[place:][:1])
        order = np.argsort(alone.judges)
        np.testing.assert_allclose(alone.weights[order], path.weights[place], rtol=0, atol=1e-5)
        assert alone.intercept == pytest.approx(path.intercept[place], abs=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_choice_of_c_sees_no_label_of_the_fold_left_out(kernel):
    ballots = make_ballots(6, 80, 6, groups=20)
    rows = np.arange(80)
    fits = cross_fits(ballots, rows, rows[:0])
    before = kernel.panels(ballots, fits, 6)
    signs = ballots.signs.copy()
    signs[fits[2].score] *= -1
    after = kernel.panels(replace(ballots, signs=signs), fits, 6)
    np.testing.assert_array_equal(after[2].C_weights, before[2].C_weights)
    np.testing.assert_array_equal(after[2].weights, before[2].weights)
    assert (after[3].C_weights != before[3].C_weights).any()


@settings(max_examples=10)
@given(st.permutations(range(6)), st.booleans())
def test_the_order_of_judges_does_not_matter(order, symmetric):
    ballots = make_ballots(8, 60, 6, missing=0.1, symmetric=symmetric)
    moved = replace(ballots, votes=np.ascontiguousarray(ballots.votes[:, order]))
    fits = cross_fits(ballots, np.arange(40), np.arange(40, 60))
    for kernel in KERNELS:
        one_kernel = kernel(ballots, fits[:1], np.array([6]), "accuracy")[0]
        other = kernel(moved, fits[:1], np.array([6]), "accuracy")[0]
        np.testing.assert_allclose(one_kernel, other, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_under_symmetric_scores_are_exactly_odd_and_no_label_prior_is_learnt(kernel):
    ballots = replace(make_ballots(9, 70, 5), symmetric=True)
    signs = np.where(np.arange(70) < 60, 1, -1).astype(np.int8)  # lopsided
    ballots = replace(ballots, signs=signs)
    fits = cross_fits(ballots, np.arange(50), np.arange(50, 70))
    (result,) = kernel(ballots, fits[:1], np.array([5]), "accuracy")
    opposite = np.concatenate([ballots.votes[:50], -ballots.votes[50:]])
    (swapped,) = kernel(replace(ballots, votes=opposite), fits[:1], np.array([5]), "accuracy")
    np.testing.assert_array_equal(result, -swapped)
    (panel,) = kernel.panels(ballots, fits[:1], 5)
    assert panel.intercept == 0.0


def test_rows_nobody_voted_on_score_zero_and_move_nothing():
    ballots = make_ballots(10, 60, 5)
    votes = ballots.votes.copy()
    votes[::6] = 0
    ballots = replace(ballots, votes=votes)
    rows = np.arange(60)
    some = np.flatnonzero(votes.any(axis=1))
    fold = fold_numbers(ballots, rows)
    for kernel in KERNELS:
        (result,) = kernel(ballots, [Fit(rows, rows, fold)], np.array([5]), "accuracy")
        (fewer,) = kernel(ballots, [Fit(some, rows, fold[some])], np.array([5]), "accuracy")
        assert (result[0, ::6] == 0.0).all()
        np.testing.assert_allclose(result, fewer, rtol=0, atol=1e-6)


def test_without_evidence_of_more_joint_is_a_scaled_one_coin_sum():
    ballots = make_ballots(11, 200, 6, symmetric=True)
    rows = np.arange(200)
    fit = Fit(rows, rows, np.zeros(200, dtype=np.int64))  # one fold: the smallest C
    (panel,) = joint_kernel.joint.panels(ballots, [fit], 6)
    base = one_coin_weight(*counts(ballots, rows))[panel.judges]
    assert panel.cv_nll is None
    assert panel.C_weights.tolist() == [1.0] + [0.0] * (len(joint_kernel.CS) - 1)
    np.testing.assert_allclose(panel.weights, panel.tau * base, rtol=0, atol=0.02)


def test_a_family_that_repeats_itself_counts_once():
    rng = np.random.default_rng(12)
    labels = rng.choice([-1, 1], 1600).astype(np.int8)
    votes = np.repeat(np.where(rng.random((1600, 2)) < 0.8, 1, -1), 6, axis=1)
    votes = np.where(rng.random(votes.shape) < 0.05, -votes, votes) * labels[:, None]
    ballots = Ballots(votes.astype(np.int8), labels, np.arange(1600))
    rows, new = np.arange(400), np.arange(400, 1600)
    fits = cross_fits(ballots, rows, new)[:1]
    (panel,) = joint_kernel.Form(one_coin=True).panels(ballots, fits, 12)
    one_coin = ballots.votes[new] @ one_coin_weight(*counts(ballots, rows))
    signs = ballots.signs[new].astype(float)
    assert panel.tau < 0.5
    assert item_nll(panel.logits(ballots.votes[new]), signs) < item_nll(one_coin, signs) - 0.1


def test_agreement_finds_what_no_weights_can():
    """Three judges are surer of a label when one dissents than when all agree."""
    rng = np.random.default_rng(13)
    votes = rng.choice(np.array([-1, 1], np.int8), (2000, 3))
    logits = 0.75 * votes.sum(axis=1) - 1.75 * np.prod(votes, axis=1)
    signs = np.where(rng.random(2000) < 1.0 / (1.0 + np.exp(-logits)), 1, -1).astype(np.int8)
    ballots = Ballots(votes, signs, np.arange(2000), symmetric=True)
    rows, new = np.arange(500), np.arange(500, 2000)
    nll = {}
    for agreement in (False, True):
        fits = cross_fits(ballots, rows, new)[:1]
        (panel,) = joint_kernel.Form(one_coin=True, agreement=agreement).panels(ballots, fits, 3)
        nll[agreement] = item_nll(panel.logits(votes[new]), signs[new].astype(float))
    assert nll[True] < item_nll(logits[new], signs[new].astype(float)) + 0.01
    assert nll[True] < nll[False] - 0.03


def test_lenient_judges_are_not_taken_for_a_label_prior():
    """Votes for 1 on 95 % of good and half of the bad items: the intercept must make up for it."""
    rng = np.random.default_rng(14)
    signs = np.where(rng.random(2100) < 0.5, 1, -1).astype(np.int8)
    yes = rng.random((2100, 10)) < np.where(signs > 0, 0.95, 0.5)[:, None]
    ballots = Ballots(np.where(yes, 1, -1).astype(np.int8), signs, np.arange(2100))
    rows, new = np.arange(100), np.arange(100, 2100)
    fits = cross_fits(ballots, rows, new)[:1]
    (panel,) = joint_kernel.Form(one_coin=True).panels(ballots, fits, 10)
    logits, truth = panel.logits(ballots.votes[new]), signs[new].astype(float)
    best = np.log(0.95 / 0.5) * yes[new].sum(1) + np.log(0.05 / 0.5) * (~yes[new]).sum(1)
    assert panel.intercept < -1.0
    assert item_nll(logits, truth) < item_nll(best, truth) + 0.06


def test_a_difference_within_noise_is_no_difference():
    signs = np.array([1.0, -1.0] * 50)
    assert joint_kernel.prior_level(signs) == 0.0
    assert joint_kernel.prior_level(np.append(signs, [1.0, 1.0])) == 0.0
    assert joint_kernel.prior_level(np.ones(100)) == pytest.approx(
        np.log(101.0) * (1 - 1.0099 / np.log(101) ** 2), rel=1e-3
    )
    score = np.random.default_rng(0).normal(size=100)
    assert joint_kernel.centring(score + 3.0 + signs, signs) > 0.98
    assert joint_kernel.centring(signs, np.ones(100)) == 0.0


@pytest.mark.parametrize("block", [7, 100])
def test_directions_span_the_kernel_when_prototypes_are_all_items(block, monkeypatch):
    monkeypatch.setattr(joint_kernel, "_BLOCK", block)
    rng = np.random.default_rng(15)
    votes = rng.choice(np.array([-1, 0, 1], np.int8), (40, 6))
    weights = rng.normal(size=6)
    agreement, directions = joint_kernel.agreement_among(votes, weights)
    span = agreement.along(votes, directions)
    shares = weights**2 / np.sum(weights**2)
    d = (votes * shares) @ votes.T
    np.testing.assert_allclose(span @ span.T, (d**3 + d**5) / 2.0, rtol=0, atol=1e-3)
    assert 0 < directions.shape[1] <= joint_kernel.DIRECTIONS
    np.testing.assert_array_equal(agreement.similarity(-votes), -agreement.similarity(votes))


def bad_inputs():
    """Ballots by what makes every fit on them degenerate."""
    rng, n = np.random.default_rng(16), 40
    signs = rng.choice([-1, 1], n)
    votes = np.where(rng.random((n, 5)) < 0.7, 1, -1) * signs[:, None]
    cases = {
        "one class": (votes * signs[:, None], np.ones(n)),
        "three of a class": (votes, np.where(np.arange(n) < 3, -1, 1)),
        "perfect separation": (np.tile(signs[:, None], (1, 5)), signs),
        "right, wrong, constant": (np.c_[signs, -signs, np.ones(n), votes[:, 3:]], signs),
        "no votes": (0 * votes, signs),
        "a judge without votes": (votes * [1, 1, 1, 0, 1], signs),
        "few votes": (votes * (rng.random((n, 5)) >= 0.95), signs),
    }
    return {
        name: Ballots(cast.astype(np.int8), labels.astype(np.int8), np.arange(n))
        for name, (cast, labels) in cases.items()
    }


BAD = bad_inputs()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("name", BAD)
def test_bad_input_gives_finite_scores(name, symmetric, kernel):
    ballots = replace(BAD[name], symmetric=symmetric)
    fits = cross_fits(ballots, np.arange(25), np.arange(25, 40))
    for result in kernel(ballots, fits, np.array([1, 3, 5]), "accuracy"):
        assert np.isfinite(result).all()
        assert np.abs(result).max(initial=0.0) < 50.0


@pytest.mark.parametrize("kernel", KERNELS)
def test_perfect_separation_is_believed_and_anti_experts_are_used(kernel):
    right = BAD["perfect separation"]
    rows = np.arange(40)
    for sign in (1, -1):
        ballots = replace(right, votes=(right.votes * sign).astype(np.int8))
        fits = cross_fits(ballots, rows, rows)[:1]
        (result,) = kernel(ballots, fits, np.array([5]), "accuracy")
        assert (result[0] * ballots.signs > 1.0).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_items", [2, 3, 4])
def test_fewer_items_than_folds_are_enough_for_a_finite_panel(kernel, n_items):
    ballots = make_ballots(17, n_items, 3, missing=0.0)
    rows = np.arange(n_items)
    for result in kernel(ballots, cross_fits(ballots, rows, rows), np.array([3]), "accuracy"):
        assert np.isfinite(result).all()


def verdicts_of(right, times=None):
    right = np.asarray(right, dtype=np.int8)
    times = np.ones(len(right)) if times is None else np.asarray(times, dtype=np.float64)
    return joint_kernel.Verdicts(right, times, times @ (right > 0), times @ (right != 0))


def design_effect_by_loop(right, weights):
    """The definition, item by item and judge by judge."""
    n_items, n_judges = right.shape
    together = alone = 0.0
    for i in range(n_items):
        parts = []
        for j in range(n_judges):
            if right[i, j]:
                column = right[:, j].astype(float)
                mean = column.sum() / (np.count_nonzero(column) + 2.0)
                parts.append(weights[j] * (right[i, j] - mean))
        together += sum(parts) ** 2
        alone += sum(part**2 for part in parts)
    return max(together / alone, 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_design_effect_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    hard = np.where(rng.random(40) < 0.3, -1, 1)
    votes = np.where(rng.random((40, 6)) < 0.3, -1, 1) * hard[:, None]
    votes[rng.random(votes.shape) < 0.2] = 0
    weights = rng.normal(size=6)
    expected = design_effect_by_loop(votes, weights)
    assert verdicts_of(votes).design_effect(weights) == pytest.approx(expected, rel=1e-12)


def test_m_judges_who_always_agree_have_a_design_effect_of_m():
    column = np.random.default_rng(0).choice([-1, 1], (50, 1), p=[0.3, 0.7])
    for m in (1, 4, 9):
        effect = verdicts_of(np.repeat(column, m, axis=1)).design_effect(np.full(m, 0.7))
        assert effect == pytest.approx(m, rel=1e-12)


def test_a_shared_correlation_rho_gives_one_plus_rho_times_the_others():
    """Each judge repeats a common draw with probability 1/2, so that rho is 1/4."""
    rng = np.random.default_rng(1)
    n, m = 20_000, 9
    own = np.where(rng.random((n, m)) < 0.3, -1, 1)
    common = np.where(rng.random((n, 1)) < 0.3, -1, 1)
    votes = np.where(rng.random((n, m)) < 0.5, common, own)
    assert verdicts_of(votes).design_effect(np.ones(m)) == pytest.approx(1 + 0.25 * 8, abs=0.1)
    assert verdicts_of(own).design_effect(np.ones(m)) == pytest.approx(1.0, abs=0.05)


def test_a_design_effect_is_at_least_one_and_one_without_votes():
    opposite = np.array([[1, -1], [-1, 1]] * 10)
    assert verdicts_of(opposite).design_effect(np.ones(2)) == 1.0
    assert verdicts_of(np.zeros((5, 3))).design_effect(np.ones(3)) == 1.0
    assert verdicts_of(opposite).design_effect(np.zeros(2)) == 1.0


def test_rows_that_stand_for_many_count_as_often():
    rng = np.random.default_rng(2)
    votes, times = rng.choice([-1, 0, 1], (12, 4)), rng.integers(1, 9, 12)
    weights = np.array([1.0, 0.4, 0.0, -0.6])
    every = verdicts_of(np.repeat(votes, times, axis=0)).design_effect(weights)
    assert verdicts_of(votes, times).design_effect(weights) == pytest.approx(every, rel=1e-12)


def test_the_prior_of_tau_follows_the_design_effect_and_swaps_change_no_bit():
    ballots = make_ballots(3, 60, 5, missing=0.1)
    rows = np.arange(60)
    sides = np.where(np.arange(60) % 2, -1, 1).astype(np.int8)
    swapped = Ballots(ballots.votes * sides[:, None], ballots.signs * sides, ballots.units)
    one, other = (
        joint_kernel.features(votes, rows, np.arange(5), one_coin=True, agreement=False)
        for votes in (ballots, swapped)
    )
    right = ballots.votes * ballots.signs[:, None]
    assert one.rate == pytest.approx(
        joint_kernel.CAUTION * design_effect_by_loop(right, one.base), rel=1e-12
    )
    assert math.isclose(one.rate, other.rate, rel_tol=0.0)
