"""Bounded weights: the optimum of a general optimiser, and the guarantees of the bounds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.joint import (
    below_chance,
    features,
    joint_monotone,
    stacking,
    stacking_monotone,
)
from judgepanel.kernels.prefixes import Fit, rank
from judgepanel.kernels.ridge import PRECISION, SHAPE, Face, Floor
from tests.helpers import make_ballots, softplus

MONOTONE = (joint_monotone, stacking_monotone)
linear_joint = replace(joint_monotone, monotone=False)


def one_fit(ballots):
    rows = np.arange(ballots.n_items)
    return [Fit(rows, rows[:0], np.zeros(len(rows), dtype=np.int64))]


def suppressors(seed=0, n_items=120, *, missing=0.0, symmetric=False, groups=0):
    """Eight judges better than chance, of whom some share the errors of others: a free fit takes
    the errors away by negative weights.
    """
    rng = np.random.default_rng(seed)
    signs = rng.choice(np.array([-1, 1], np.int8), n_items)
    error = rng.random((n_items, 4)) < 0.4
    noisy = rng.random((n_items, 4)) < 0.15
    wrong = np.concatenate([error & noisy, error ^ (noisy & ~error)], axis=1)
    votes = np.where(wrong, -signs[:, None], signs[:, None]).astype(np.int8)
    votes[rng.random(votes.shape) < missing] = 0
    units = np.arange(n_items) if not groups else rng.integers(0, groups, n_items)
    return Ballots(votes, signs, units, symmetric=symmetric)


class Objective:
    """The objective and its slope in (weights, tau, level), written down once more."""

    def __init__(self, ballots, form, C):
        self.order = rank(ballots, np.arange(ballots.n_items))
        rows = np.arange(ballots.n_items)
        self.f = features(
            ballots, rows, self.order, one_coin=form.one_coin, agreement=False, monotone=True
        )
        self.C, self.form, self.level = C, form, not ballots.symmetric
        self.k = len(self.order)
        f = self.f
        score = f.score if form.one_coin else np.zeros(len(f.score))
        middle = f.middle(np.column_stack([f.votes, score]))
        self.middle = middle
        votes = f.votes - middle[:-1]
        own = score - middle[-1] - votes @ f.base
        self.design = np.column_stack([votes, own, np.full(len(votes), float(self.level))])

    def value(self, x):
        w, tau, level = x[:-2], x[-2], x[-1]
        delta = w - tau * self.f.base
        used = self.f.signs != 0
        total = softplus(-self.f.signs * (self.design @ x))[used].sum() + delta @ delta / (
            2.0 * self.C
        )
        total += PRECISION * (level - self.f.level) ** 2 / 2.0
        return total + (self.f.rate * tau - SHAPE * np.log(tau)) * self.form.one_coin

    def slope(self, x):
        w, tau, level = x[:-2], x[-2], x[-1]
        delta = w - tau * self.f.base
        s = self.f.signs
        slope = -(s / (1.0 + np.exp(s * (self.design @ x)))) @ self.design
        slope[:-2] += delta / self.C
        slope[-2] += -self.f.base @ delta / self.C
        slope[-2] += (self.f.rate - SHAPE / tau) * self.form.one_coin
        slope[-1] += PRECISION * (level - self.f.level)
        return slope

    def of_panel(self, panel):
        """What a panel has for x."""
        delta = panel.weights - panel.tau * self.f.base
        level = panel.intercept + self.middle[:-1] @ delta + panel.tau * self.middle[-1]
        tau = panel.tau if self.form.one_coin else 1.0
        return np.array([*panel.weights, tau, level if self.level else 0.0])

    def optimum(self):
        low = np.where(self.f.bounded, 0.0, None)
        tau = (1e-9, None) if self.form.one_coin else (1.0, 1.0)
        bounds = [*((bound, None) for bound in low), tau, (None, None) if self.level else (0, 0)]
        options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-8}
        start = np.array([*np.maximum(self.f.base, 0.0), 1.0, 0.0])
        result = minimize(
            self.value, start, jac=self.slope, bounds=bounds, method="L-BFGS-B", options=options
        )
        return result.x


@pytest.mark.parametrize("form", MONOTONE, ids=("joint", "stacking"))
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("missing", "groups"), [(0.0, 0), (0.4, 0), (0.2, 20)])
def test_a_panel_is_the_bounded_optimum_of_its_objective(form, C, symmetric, missing, groups):
    ballots = suppressors(1, missing=missing, symmetric=symmetric, groups=groups)
    objective = Objective(ballots, form, C)
    (panel,) = form.panels(ballots, one_fit(ballots), 8, Cs=(C,))
    assert panel.judges.tolist() == objective.order.tolist()
    own, theirs = objective.of_panel(panel), objective.optimum()
    assert objective.value(own) == pytest.approx(objective.value(theirs), abs=1e-6)
    np.testing.assert_allclose(own[:-2], theirs[:-2], rtol=0, atol=2e-3)


@pytest.mark.parametrize("form", MONOTONE, ids=("joint", "stacking"))
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_left_to_gain_and_every_bound_that_binds_is_pressed_on(form, seed):
    ballots = suppressors(seed, missing=0.1)
    (panel,) = form.panels(ballots, one_fit(ballots), 8, Cs=(1.0,))
    objective = Objective(ballots, form, 1.0)
    slope = objective.slope(objective.of_panel(panel))
    at_bound = objective.f.bounded & (panel.weights == 0.0)
    assert at_bound.any()
    assert (panel.weights[objective.f.bounded] >= 0.0).all()
    assert (slope[:-2][at_bound] > -1e-4).all()
    np.testing.assert_allclose(slope[:-2][~at_bound], 0.0, atol=1e-4)
    assert slope[-1] == pytest.approx(0.0, abs=1e-4)
    assert not form.one_coin or slope[-2] == pytest.approx(0.0, abs=1e-4)


def test_where_no_bound_binds_the_panel_is_the_free_one():
    rng = np.random.default_rng(3)
    signs = rng.choice(np.array([-1, 1], np.int8), 150)
    votes = np.where(rng.random((150, 5)) < 0.75, 1, -1).astype(np.int8) * signs[:, None]
    ballots = Ballots(votes, signs, np.arange(150))
    for free, bounded in ((linear_joint, joint_monotone), (stacking, stacking_monotone)):
        (wanted,) = free.panels(ballots, one_fit(ballots), 5, Cs=(0.1,))
        (panel,) = bounded.panels(ballots, one_fit(ballots), 5, Cs=(0.1,))
        assert (wanted.weights > 0.0).all()
        np.testing.assert_allclose(panel.weights, wanted.weights, rtol=0, atol=1e-6)
        assert panel.intercept == pytest.approx(wanted.intercept, abs=1e-6)


@pytest.mark.parametrize("form", MONOTONE, ids=("joint", "stacking"))
def test_no_vote_counts_against_what_it_says_whoever_else_is_there(form):
    ballots = suppressors(4, n_items=200)
    rows = np.arange(200)
    fit = Fit(rows, rows[:0], rows % 5)
    (free,) = replace(form, monotone=False).panels(ballots, [fit], 8)
    (panel,) = form.panels(ballots, [fit], 8)
    assert (free.weights < -0.05).any()
    rng = np.random.default_rng(0)
    others = rng.choice(np.array([-1, 0, 1], np.int8), (500, 8))
    for judge in range(8):
        yes, no = others.copy(), others.copy()
        yes[:, judge], no[:, judge] = 1, -1
        assert (panel.logits(yes) >= panel.logits(no)).all()


@pytest.mark.parametrize("form", MONOTONE, ids=("joint", "stacking"))
def test_only_a_judge_that_is_shown_below_chance_counts_against_what_it_says(form):
    rng = np.random.default_rng(5)
    signs = rng.choice(np.array([-1, 1], np.int8), 60)
    right = rng.random((60, 4)) < 0.7
    right[:, 2] = rng.permutation(60) < 20  # 33 %: the interval ends at 47 %
    right[:, 3] = rng.permutation(60) < 26  # 43 %: it ends at 57 %
    votes = np.where(right, signs[:, None], -signs[:, None]).astype(np.int8)
    ballots = Ballots(votes, signs, np.arange(60))
    (panel,) = form.panels(ballots, one_fit(ballots), 4, Cs=(1.0,))
    weights = panel.weights[np.argsort(panel.judges)]
    assert weights[2] < -0.1
    assert weights[3] == 0.0


def test_a_judge_is_below_chance_when_its_groups_show_it():
    right = np.full((40, 2), -1, dtype=np.int8)
    right[:, 1] = 0
    assert below_chance(right, np.arange(40)).tolist() == [True, False]
    assert below_chance(right, np.arange(40) // 20).tolist() == [False, False]


@settings(max_examples=10)
@given(st.permutations(range(8)), st.booleans())
def test_the_order_of_judges_does_not_matter(order, symmetric):
    ballots = suppressors(6, symmetric=symmetric, missing=0.1)
    moved = replace(ballots, votes=np.ascontiguousarray(ballots.votes[:, order]))
    for form in MONOTONE:
        (panel,) = form.panels(ballots, one_fit(ballots), 8, Cs=(1.0,))
        (other,) = form.panels(moved, one_fit(moved), 8, Cs=(1.0,))
        weights, theirs = np.empty((2, 8))
        weights[panel.judges], theirs[np.array(order)[other.judges]] = panel.weights, other.weights
        np.testing.assert_allclose(weights, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("form", MONOTONE, ids=("joint", "stacking"))
def test_swapping_all_items_leaves_symmetric_panels_as_they_are(form):
    ballots = suppressors(7, symmetric=True)
    turned = replace(ballots, votes=-ballots.votes, signs=-ballots.signs)
    (panel,) = form.panels(ballots, one_fit(ballots), 8, Cs=(1.0,))
    (other,) = form.panels(turned, one_fit(turned), 8, Cs=(1.0,))
    np.testing.assert_array_equal(panel.weights, other.weights)
    assert panel.intercept == other.intercept == 0.0


@pytest.mark.parametrize("C", [1e-4, 1.0, 100.0])
def test_many_random_panels_reach_their_optimum(C):
    for seed in range(8):
        ballots = make_ballots(seed, 25, 18, missing=0.3)
        for form in MONOTONE:
            objective = Objective(ballots, form, C)
            (panel,) = form.panels(ballots, one_fit(ballots), 18, Cs=(C,))
            own = objective.value(objective.of_panel(panel))
            assert own <= objective.value(objective.optimum()) + 1e-6


def test_slopes_are_dropped_as_moves_are_lifted():
    rng = np.random.default_rng(8)
    base = rng.normal(size=(3, 5))
    face = Face(Floor(np.ones((3, 5), dtype=bool), base, 5), rng.random((3, 5)) < 0.5)
    free, slope = rng.normal(size=(2, 3, 7))
    np.testing.assert_allclose(
        np.vecdot(face.lift(free), slope), np.vecdot(free, face.drop(slope)), rtol=1e-12
    )
    moved = face.floor.weights(face.lift(free))
    np.testing.assert_allclose(moved[face.held], 0.0, atol=1e-15)
    assert (moved[~face.held] != 0.0).all()
