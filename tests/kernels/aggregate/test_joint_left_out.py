"""Joint panels without a judge, against exact refits at the same ridge and against Newton."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels import panels
from judgepanel.kernels.joint import joint
from judgepanel.kernels.panels import held_at, held_joints
from judgepanel.kernels.prefixes import Fit
from judgepanel.scoring.metrics import item_nll
from judgepanel.scoring.splits import fold_of, folds, split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.votes import load_votes
from tests.helpers import make_ballots

KINDS = {
    "plain": {},
    "sparse": {"missing": 0.8},
    "symmetric": {"symmetric": True},
    "groups": {"groups": 20},
}
RIDGE = 0.1


def world(kind, n_items=120, n_judges=6):
    ballots = make_ballots(3, n_items, n_judges, **KINDS[kind])
    one_split = split(ballots.units, 0)
    pieces = folds(ballots.units, one_split.calibration, 5, seed=0, key=(0, 4))
    fold = fold_of(pieces, ballots.n_items)[one_split.calibration]
    return ballots, Fit(one_split.calibration, one_split.evaluation, fold)


def held(ballots, fit):
    return held_at(ballots, fit.learn, np.array([RIDGE]), np.ones(1))


def exact(ballots, fit, judges):
    fewer = replace(ballots, votes=ballots.votes[:, judges])
    (panel,) = joint.panels(fewer, [fit], len(judges), Cs=(RIDGE,))
    return panel.logits(fewer.votes[fit.score])


@pytest.mark.parametrize("kind", KINDS)
def test_at_one_ridge_all_and_some_judges_are_the_exact_panels(kind):
    ballots, fit = world(kind)
    result = held(ballots, fit)
    everybody = np.arange(6)
    np.testing.assert_allclose(
        result.everyone(fit.score), exact(ballots, fit, everybody), atol=1e-6
    )
    some = np.array([0, 2, 5])
    np.testing.assert_allclose(result.of(some, fit.score), exact(ballots, fit, some), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_judge_of_weight_is_the_exact_refit(kind):
    ballots, fit = world(kind)
    result = held(ballots, fit)
    heavy = np.flatnonzero(result.whole.agreement.shares > panels.OWN_SHARE)
    assert len(heavy)
    less = result.without_each(fit.score)
    for j in heavy:
        refit = exact(ballots, fit, np.delete(np.arange(6), j))
        np.testing.assert_allclose(less[j], refit, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_light_judge_is_close_to_the_exact_refit(kind):
    ballots, fit = world(kind, 160, 30)
    result = held(ballots, fit)
    less, whole = result.without_each(fit.score), result.everyone(fit.score)
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
    ballots, fit = world(kind, 120, 12)
    steps = held(ballots, fit).without_each(fit.score)
    monkeypatch.setattr(panels, "_STEPS", 0)
    newton = held(ballots, fit).without_each(fit.score)
    np.testing.assert_allclose(steps, newton, atol=0.02)


def test_shares_are_those_of_the_full_panel_and_sum_to_one():
    ballots, fit = world("plain")
    (held,) = held_joints(ballots, [fit])
    (panel,) = joint.panels(ballots, [fit], 6)
    remaining = panel.C_weights >= panels.LEAST_SHARE
    np.testing.assert_allclose(held.Cs, panel.Cs[remaining])
    assert held.shares.sum() == pytest.approx(1.0)
    full = panel.logits(ballots.votes[fit.score])
    np.testing.assert_allclose(held.everyone(fit.score), full, atol=0.05)


def test_without_a_judge_that_never_voted_there_is_just_one_judge_less():
    ballots, fit = world("plain")
    silent = ballots.votes.copy()
    silent[:, 2] = 0
    quiet = replace(ballots, votes=silent)
    less = held(quiet, fit).without_each(fit.score)[2]
    np.testing.assert_allclose(less, exact(quiet, fit, np.delete(np.arange(6), 2)), atol=0.01)


def test_an_item_that_only_one_judge_voted_on_gets_nothing_without_it():
    ballots, fit = world("plain")
    votes = ballots.votes.copy()
    votes[fit.score[0]] = 0
    votes[fit.score[0], 4] = 1
    less = held(replace(ballots, votes=votes), fit).without_each(fit.score)
    assert less[4, 0] == 0.0
    assert (less[np.arange(6) != 4, 0] != 0.0).all()


def test_one_judge_leaves_nobody():
    ballots, fit = world("plain", n_judges=1)
    np.testing.assert_array_equal(held(ballots, fit).without_each(fit.score), 0.0)


def test_on_real_votes_values_are_near_those_of_refits_that_choose_their_ridges(real_votes):
    ballots = prepare(load_votes(real_votes("llmbar_votes.csv")).votes, Settings()).ballots
    one_split = split(ballots.units, 0)
    pieces = folds(ballots.units, one_split.calibration, 5, seed=0, key=(0, 4))
    fold = fold_of(pieces, ballots.n_items)[one_split.calibration]
    fit = Fit(one_split.calibration, one_split.evaluation, fold)
    signs = ballots.signs[fit.score].astype(float)
    (held,) = held_joints(ballots, [fit])
    whole, less = held.everyone(fit.score), held.without_each(fit.score)
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
