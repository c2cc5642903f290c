"""Panels with judges removed or doubled, against ballots of those columns; splits together."""

from dataclasses import replace
from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest

from judgepanel.kernels import calibration, evaluation, panels, prefixes, subsets
from judgepanel.kernels.evaluation import Recipe, evaluate_each, evaluate_split
from judgepanel.kernels.joint import joint
from judgepanel.kernels.panels import (
    VALUED,
    balanced_orders,
    choice_folds,
    held_at,
    held_joints,
    panels_of,
    sampled_shapley,
)
from judgepanel.scoring.metrics import item_nll
from judgepanel.scoring.splits import Split, fold_of, folds, split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.votes import load_votes
from tests.helpers import make_ballots

CLOSED = [name for name in VALUED if name != "joint"]


def world(n_items=60, **more):
    ballots = make_ballots(5, n_items, 5, missing=0.3, **more)
    return ballots, split(ballots.units, 1)


def signs_of(ballots, entry):
    return ballots.signs[entry.evaluation].astype(float)


def by_columns(ballots, entry, columns, aggregator, calibrator):
    """NLL (n_eval,) of ballots with these columns only."""
    some = replace(ballots, votes=ballots.votes[:, columns])
    recipe = Recipe(aggregator, (calibrator,))
    scores = evaluate_split(some, entry, np.array([len(columns)]), recipe)
    return scores.evaluation[calibrator].nll[0]


@pytest.mark.parametrize("calibrator", ["none", "temperature", "beta"])
@pytest.mark.parametrize("aggregator", CLOSED)
def test_closed_forms_are_exact(aggregator, calibrator):
    ballots, entry = world()
    panels = panels_of(ballots, entry, aggregator, calibrator, seed=0)
    signs, everybody = signs_of(ballots, entry), np.arange(5)
    nll = item_nll(panels.all_judges(), signs)
    expected = by_columns(ballots, entry, everybody, aggregator, calibrator)
    np.testing.assert_allclose(nll, expected, atol=1e-9)
    less = item_nll(panels.without_each(), signs)
    for j in range(5):
        rest = by_columns(ballots, entry, np.delete(everybody, j), aggregator, calibrator)
        np.testing.assert_allclose(less[j], rest, atol=1e-9)
    twice = by_columns(ballots, entry, np.array([0, 1, 2, 3, 4, 2, 2]), aggregator, calibrator)
    np.testing.assert_allclose(item_nll(panels.copied(2, 2), signs), twice, atol=1e-9)


@pytest.mark.parametrize("calibrator", ["none", "temperature"])
def test_joint_panels_are_near_the_exact_ones(calibrator):
    ballots, entry = world(240)
    panels = panels_of(ballots, entry, "joint", calibrator, seed=0)
    signs, everybody = signs_of(ballots, entry), np.arange(5)
    expected = by_columns(ballots, entry, everybody, "joint", calibrator)
    assert item_nll(panels.all_judges(), signs).mean() == pytest.approx(expected.mean(), abs=2e-3)
    less = item_nll(panels.without_each(), signs).mean(axis=1)
    fewer = [np.delete(everybody, j) for j in range(5)]
    rest = [by_columns(ballots, entry, some, "joint", calibrator).mean() for some in fewer]
    assert np.abs(less - rest).max() < 0.3 * np.abs(np.array(rest) - expected.mean()).max() + 2e-3
    mask = np.array([[True, True, False, False, False]])
    inside = None if calibrator == "none" else np.tile(mask, (5, 1, 1))
    chosen = item_nll(panels.followed(mask, inside), signs)
    pair = by_columns(ballots, entry, np.array([0, 1]), "joint", calibrator)
    assert chosen.mean() == pytest.approx(pair.mean(), abs=5e-3)


@pytest.mark.parametrize("aggregator", ["one_coin", "joint"])
@pytest.mark.parametrize("calibrator", ["none", "beta"])
def test_a_panel_of_nobody_gives_the_null(aggregator, calibrator):
    ballots, entry = world()
    panels = panels_of(ballots, entry, aggregator, calibrator, seed=0)
    result = panels.of(np.zeros((1, 5), dtype=bool))
    ones = np.mean(ballots.signs[entry.calibration] > 0)
    np.testing.assert_allclose(result, np.log(ones / (1 - ones)))


def test_chosen_panels_are_the_given_ones_where_every_fold_chooses_the_same():
    ballots, entry = world()
    panels = panels_of(ballots, entry, "one_coin", "beta", seed=0)
    masks = ~np.eye(5, dtype=bool)
    inside = np.tile(masks, (5, 1, 1))
    np.testing.assert_allclose(panels.followed(masks, inside), panels.of(masks), atol=1e-9)


@pytest.mark.parametrize("aggregator", ["one_coin", "joint"])
def test_calibrators_see_a_row_under_the_panel_of_its_own_fold(aggregator):
    ballots, entry = world()
    panels = panels_of(ballots, entry, aggregator, "temperature", seed=0)
    assert len(choice_folds(ballots, entry, 0)) == 5
    masks = np.array([[True, True, True, True, False]])
    inside = np.tile(masks, (5, 1, 1))
    same = panels.followed(masks, inside)
    inside[2, 0] = [False, False, True, False, True]
    assert (panels.followed(masks, inside) != same).any()


@pytest.mark.parametrize("aggregator", ["one_coin", "joint"])
def test_labels_of_other_rows_move_nothing(aggregator):
    ballots, entry = world()
    signs = ballots.signs.copy()
    signs[entry.evaluation] *= -1
    result = []
    for given in (ballots, replace(ballots, signs=signs)):
        panels = panels_of(given, entry, aggregator, "none", seed=0)
        result.append((panels.without_each(), panels.inner_values(entry.calibration, (1, 31))))
    np.testing.assert_array_equal(result[0][0], result[1][0])
    np.testing.assert_array_equal(result[0][1], result[1][1])


def test_fits_are_counted():
    ballots, entry = world()
    panels = panels_of(ballots, entry, "one_coin", "beta_free", seed=0)
    panels.without_each()
    assert panels.fits.made == 5
    assert 0 <= panels.fits.replaced <= 5


KINDS = {
    "plain": {},
    "sparse": {"missing": 0.8},
    "symmetric": {"symmetric": True},
    "groups": {"groups": 20},
}


RIDGE = 0.1


def fit_of(ballots):
    one_split = split(ballots.units, 0)
    pieces = folds(ballots.units, one_split.calibration, 5, seed=0, key=(0, 4))
    fold = fold_of(pieces, ballots.n_items)[one_split.calibration]
    return prefixes.Fit(one_split.calibration, one_split.evaluation, fold)


def joint_world(kind, n_items=120, n_judges=6):
    ballots = make_ballots(3, n_items, n_judges, **KINDS[kind])
    return ballots, fit_of(ballots)


def held(ballots, fit):
    return held_at(ballots, fit.learn, np.array([RIDGE]), np.ones(1))


def exact(ballots, fit, judges):
    fewer = replace(ballots, votes=ballots.votes[:, judges])
    (panel,) = joint.panels(fewer, [fit], len(judges), Cs=(RIDGE,))
    return panel.logits(fewer.votes[fit.score])


@pytest.mark.parametrize("kind", KINDS)
def test_at_one_ridge_all_and_some_judges_are_the_exact_panels(kind):
    ballots, fit = joint_world(kind)
    result = held(ballots, fit)
    everybody = np.arange(6)
    np.testing.assert_allclose(
        result.all_judges(fit.score), exact(ballots, fit, everybody), atol=1e-6
    )
    some = np.array([0, 2, 5])
    np.testing.assert_allclose(result.of(some, fit.score), exact(ballots, fit, some), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_judge_of_weight_is_the_exact_refit(kind):
    ballots, fit = joint_world(kind)
    result = held(ballots, fit)
    heavy = np.flatnonzero(result.whole.agreement.shares > panels.OWN_SHARE)
    assert len(heavy)
    less = result.without_each(fit.score)
    for j in heavy:
        refit = exact(ballots, fit, np.delete(np.arange(6), j))
        np.testing.assert_allclose(less[j], refit, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_light_judge_is_close_to_the_exact_refit(kind):
    ballots, fit = joint_world(kind, 160, 30)
    result = held(ballots, fit)
    less, whole = result.without_each(fit.score), result.all_judges(fit.score)
    light = np.flatnonzero(result.whole.agreement.shares <= panels.OWN_SHARE)[:8]
    everybody = np.arange(30)
    refits = np.array([exact(ballots, fit, np.delete(everybody, j)) for j in light])
    error = np.sqrt(((less[light] - refits) ** 2).mean(axis=1))
    moved = np.sqrt(((refits - whole) ** 2).mean(axis=1))
    assert error.max() < 0.35 * moved.max()
    assert np.median(error) < 0.2 * np.median(moved)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_with_the_full_hessian_come_to_rest_where_newton_does(kind, monkeypatch):
    monkeypatch.setattr(panels, "OWN_SHARE", 1.0)
    ballots, fit = joint_world(kind, 120, 12)
    steps = held(ballots, fit).without_each(fit.score)
    monkeypatch.setattr(panels, "_STEPS", 0)
    np.testing.assert_allclose(steps, held(ballots, fit).without_each(fit.score), atol=0.02)


def test_shares_are_those_of_the_full_panel_and_sum_to_one():
    ballots, fit = joint_world("plain")
    (held,) = held_joints(ballots, [fit])
    (panel,) = joint.panels(ballots, [fit], 6)
    remaining = panel.C_weights >= panels.LEAST_SHARE
    np.testing.assert_allclose(held.Cs, panel.Cs[remaining])
    assert held.shares.sum() == pytest.approx(1.0)
    full = panel.logits(ballots.votes[fit.score])
    np.testing.assert_allclose(held.all_judges(fit.score), full, atol=0.05)


def test_without_a_judge_that_never_voted_there_is_just_one_judge_less():
    ballots, fit = joint_world("plain")
    silent = ballots.votes.copy()
    silent[:, 2] = 0
    quiet = replace(ballots, votes=silent)
    less = held(quiet, fit).without_each(fit.score)[2]
    np.testing.assert_allclose(less, exact(quiet, fit, np.delete(np.arange(6), 2)), atol=0.01)


def test_an_item_that_only_one_judge_voted_on_gets_nothing_without_it():
    ballots, fit = joint_world("plain")
    votes = ballots.votes.copy()
    votes[fit.score[0]] = 0
    votes[fit.score[0], 4] = 1
    less = held(replace(ballots, votes=votes), fit).without_each(fit.score)
    assert less[4, 0] == 0.0
    assert (less[np.arange(6) != 4, 0] != 0.0).all()


def test_one_judge_leaves_nobody():
    ballots, fit = joint_world("plain", n_judges=1)
    np.testing.assert_array_equal(held(ballots, fit).without_each(fit.score), 0.0)


def test_on_real_votes_values_are_near_those_of_refits_that_choose_their_ridges(real_votes):
    ballots = prepare(load_votes(real_votes("llmbar_votes.csv")).votes, Settings()).ballots
    fit = fit_of(ballots)
    signs = ballots.signs[fit.score].astype(float)
    (held,) = held_joints(ballots, [fit])
    whole, less = held.all_judges(fit.score), held.without_each(fit.score)
    quick = (item_nll(less, signs) - item_nll(whole, signs)).mean(axis=1)
    judges = np.argsort(quick)[[0, 1, 20, 40, -2, -1]]

    def exactly(columns):
        fewer = replace(ballots, votes=ballots.votes[:, columns])
        (panel,) = joint.panels(fewer, [fit], len(columns))
        return item_nll(panel.logits(fewer.votes[fit.score]), signs).mean()

    everybody = np.arange(ballots.n_judges)
    full = exactly(everybody)
    exact_values = np.array([exactly(np.delete(everybody, j)) - full for j in judges])
    assert np.corrcoef(quick[judges], exact_values)[0, 1] > 0.95
    assert np.abs(quick[judges] - exact_values).max() < 0.01 * full


K = 4


JUDGES = np.eye(K, dtype=bool)


PAIRS = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=bool)


def shapley_world(aggregator="one_coin", calibrator="temperature", **more):
    ballots = make_ballots(7, 60, K, missing=0.4, **more)
    one_split = split(ballots.units, 2)
    return ballots, one_split, subsets.subset_trial(ballots, one_split, aggregator, calibrator)


def by_coalitions(ballots, entry, players, aggregator, calibrator):
    """Shapley's weighted sum over all coalitions, NLLs of which are fitted one by one."""
    panels = panels_of(ballots, entry, aggregator, calibrator, seed=0)
    signs, n = ballots.signs[entry.evaluation].astype(float), len(players)

    def saved(coalition):
        mask = players[list(coalition)].any(axis=0) if coalition else np.zeros(K, dtype=bool)
        return -item_nll(panels.of(mask[None]), signs).mean()

    values = np.zeros(n)
    for j in range(n):
        others = [i for i in range(n) if i != j]
        for size in range(n):
            for some in combinations(others, size):
                gain = saved((*some, j)) - saved(some)
                values[j] += gain / (n * comb(n - 1, size))
    return values


@pytest.mark.parametrize("calibrator", ["none", "temperature", "beta"])
@pytest.mark.parametrize("players", [JUDGES, PAIRS], ids=["judges", "groups"])
@pytest.mark.parametrize("aggregator", ["one_coin", "majority"])
def test_over_all_orders_they_are_exact(aggregator, players, calibrator):
    ballots, entry, trial = shapley_world(aggregator, calibrator)
    orders = np.array(list(permutations(range(len(players)))))
    sampled = sampled_shapley(trial, players, orders)
    expected = by_coalitions(ballots, entry, players, aggregator, calibrator)
    np.testing.assert_allclose(sampled.items.mean(axis=1), expected, atol=1e-7)


def test_sampled_orders_come_near():
    ballots, entry, trial = shapley_world()
    drawn = [
        sampled_shapley(trial, JUDGES, balanced_orders(K, 20, np.random.default_rng(seed)))
        for seed in range(30)
    ]
    means = np.array([sampled.items.mean(axis=1) for sampled in drawn])
    expected = by_coalitions(ballots, entry, JUDGES, "one_coin", "temperature")
    noise = np.mean([sampled.noise for sampled in drawn], axis=0)
    assert (np.abs(means.mean(axis=0) - expected) < 4.0 * np.sqrt(noise / 30) + 1e-6).all()
    assert noise.sum() == pytest.approx(means.var(axis=0, ddof=1).sum(), rel=0.6)


@pytest.mark.parametrize("symmetric", [False, True])
def test_along_every_order_gains_add_up_to_what_all_save(symmetric):
    _, _, trial = shapley_world(symmetric=symmetric)
    for order in balanced_orders(K, 8, np.random.default_rng(1)):
        sampled = sampled_shapley(trial, JUDGES, np.array([order, order]))
        total = sampled.items.mean(axis=1).sum()
        assert total == pytest.approx(sampled.null - sampled.all_judges, abs=1e-12)


def test_orders_are_permutations_balanced_by_place():
    orders = balanced_orders(12, 24, np.random.default_rng(0))
    assert orders.shape == (24, 12)
    assert (np.sort(orders, axis=1) == np.arange(12)).all()
    np.testing.assert_array_equal(orders[0::2], orders[1::2, ::-1])
    place = np.argsort(orders, axis=1)
    np.testing.assert_allclose(place[:12].mean(axis=0), 5.5)
    assert balanced_orders(1, 8, np.random.default_rng(0)).shape == (8, 1)


def test_a_judge_that_never_votes_is_worth_nothing():
    ballots, entry, _ = shapley_world()
    ballots.votes[:, 3] = 0
    trial = subsets.subset_trial(ballots, entry, "one_coin", "beta")
    sampled = sampled_shapley(trial, JUDGES, balanced_orders(K, 8, np.random.default_rng(0)))
    np.testing.assert_allclose(sampled.items[3], 0.0, atol=1e-9)
    assert sampled.made == 8 * K


EVALUATION = np.arange(90, 140)
SPLITS = [Split(n, np.arange(n, n + size), EVALUATION) for n, size in enumerate((20, 35, 80))]
KS = np.array([2, 5, 9])


def assert_same(together, alone, names):
    assert together.null_nll == alone.null_nll
    for name in names:
        assert together.replaced[name] == alone.replaced[name]
        assert together.constant_nll[name] == alone.constant_nll[name]
        for field in ("nll", "brier", "hit", "ece"):
            first, other = (getattr(part.evaluation[name], field) for part in (together, alone))
            np.testing.assert_allclose(first, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (("none", "temperature", "platt", "beta", "beta_l2", "beta_free", "beta_clipped"), {}),
        (("temperature", "beta"), {"symmetric": True}),
        (("isotonic",), {}),
        (calibration.CALIBRATORS, {}),
        (("none",), {}),
    ],
)
@pytest.mark.parametrize("in_sample", [False, True])
def test_each_split_has_its_own_scores(names, options, in_sample):
    ballots = make_ballots(3, 140, 9, missing=0.5, **options)
    recipe = Recipe(calibrators=names, in_sample=in_sample)
    for drawn, together in zip(SPLITS, evaluate_each(ballots, SPLITS, KS, recipe), strict=True):
        assert_same(together, evaluate_split(ballots, drawn, KS, recipe), names)


def test_large_splits_are_fitted_apart_with_the_same_scores(monkeypatch):
    ballots = make_ballots(4, 140, 9, missing=0.3)
    recipe = Recipe(calibrators=("beta",))
    whole = evaluate_each(ballots, SPLITS, KS, recipe)
    sizes = []
    fit = evaluation.fit

    def counted(names, logits, *rest, **options):
        sizes.append(logits.shape)
        return fit(names, logits, *rest, **options)

    monkeypatch.setattr(evaluation, "fit", counted)
    monkeypatch.setattr(evaluation, "_TOGETHER", 6 * 35)
    apart = evaluate_each(ballots, SPLITS, KS, recipe)
    assert sizes == [(6, 35), (3, 80)]
    for first, second in zip(whole, apart, strict=True):
        assert_same(first, second, ("beta",))


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_constant_score_is_calibrated_on_the_labels_alone(symmetric):
    ballots = make_ballots(6, 140, 9, symmetric=symmetric)
    recipe = Recipe(calibrators=("none", "temperature", "platt", "beta"))
    for drawn in SPLITS:
        scores = evaluate_split(ballots, drawn, KS, recipe)
        signs = ballots.signs[drawn.calibration].astype(np.float64)
        maps = evaluation.fit(
            recipe.calibrators, np.zeros((1, len(signs))), signs, symmetric=symmetric
        )
        margins = ballots.signs[EVALUATION]
        for name, map_ in maps.items():
            logit = map_(np.zeros((1, 1)))[0, 0]
            wanted = np.logaddexp(0.0, -logit * margins).mean()
            assert scores.constant_nll[name] == pytest.approx(wanted, abs=1e-9)
