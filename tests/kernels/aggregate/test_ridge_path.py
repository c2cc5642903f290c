"""Ridge paths: every C reaches its optimum, whatever the batch, the design and the bounds."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from judgepanel.kernels import compiled as ridge_steps
from judgepanel.kernels import maps, prefixes, ridge
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.compiled import PRODUCT_CELLS, ROWS, add_hessian
from judgepanel.kernels.joint import (
    below_chance,
    features,
    joint_monotone,
    stacking,
    stacking_monotone,
)
from tests.helpers import make_ballots, softplus

CS = [1e-4, 1e-3, 1e-2, 0.1, 1.0]


def problems(seed, n_rows, n_weights, kind, *, batch=3, rate=True, level=True):
    """Signed features and the prior of a batch: noise, separable, or all columns alike."""
    rng = np.random.default_rng(seed)
    size = n_weights + rate + level
    features = rng.choice([-1.0, 0.0, 1.0], (batch, n_rows, size), p=[0.3, 0.2, 0.5])
    if kind == "separable":
        features = np.abs(features)
    elif kind == "alike":
        features[:] = features[:, :, :1]
    if rate:
        features[:, :, n_weights] = 0.7 * features[:, :, :n_weights].sum(axis=-1)
    prior = ridge.Prior(
        n_weights,
        rng.uniform(1.0, 8.0, batch) if rate else None,
        rng.normal(size=batch) if level else None,
    )
    return ridge.DenseDesign.of(features), prior


def taken(design, prior, b):
    pick = slice(b, b + 1)
    return ridge.DenseDesign.of(design.features[pick]), ridge.Prior(
        prior.n_weights,
        None if prior.rate is None else prior.rate[pick],
        None if prior.level is None else prior.level[pick],
    )


def problem_of(design, prior):
    features = design.features[0]
    rate, level = float(prior.rate[0]), float(prior.level[0])
    return ridge.Problem(features, np.ones(len(features)), prior.n_weights, rate, level)


def distance(design, prior, C, theta):
    """How far the margins (B, n) are from the optimum's, by one exact Newton step."""
    wrong = maps.sigmoid(-design.forward(theta))
    slope, bend = prior.slopes(theta, C)
    step = design.solve(wrong * (1.0 - wrong), bend, design.backward(wrong) - slope)
    return np.abs(design.forward(step)).max()


@pytest.mark.parametrize("rate", [True, False])
@pytest.mark.parametrize("level", [True, False])
@pytest.mark.parametrize("kind", ["noise", "separable", "alike"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), n_rows=st.integers(1, 60), n_weights=st.integers(1, 40))
@example(seed=5, n_rows=ROWS - 1, n_weights=12)  # Rows are read in blocks.
@example(seed=5, n_rows=ROWS, n_weights=12)
@example(seed=5, n_rows=3 * ROWS + 1, n_weights=12)
def test_margins_end_within_1e_8_of_the_optimum(kind, level, rate, seed, n_rows, n_weights):
    design, prior = problems(seed, n_rows, n_weights, kind, rate=rate, level=level)
    for C, theta in zip(CS, ridge.solve_path(design, prior, CS, problems=3), strict=True):
        assert distance(design, prior, C, theta) < 1e-8


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_hessian_is_summed_over_blocks_of_rows(precision):
    """Counts, of which every sum is exact."""
    rng = np.random.default_rng(0)
    size = 400
    features = rng.integers(-2, 3, (2 * (PRODUCT_CELLS // size) + 7, size)).astype(float)
    product = np.empty((size, size), dtype=precision)
    half = np.full(len(features), 0.5)
    add_hessian(2.0 * features, half, np.ones(len(features)), product)
    lower = np.tril_indices(size)
    np.testing.assert_array_equal(product.T[lower], (features.T @ features)[lower])


@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["noise", "separable", "alike"]))
@settings(max_examples=15)
def test_nobody_in_a_batch_moves_a_bit_of_another(seed, kind):
    design, prior = problems(seed, 40, 12, kind)
    together = ridge.solve_path(design, prior, CS, problems=3)
    for b in range(3):
        alone = ridge.solve_path(*taken(design, prior, b), CS)
        np.testing.assert_array_equal(together[:, b], alone[:, 0])


def test_most_ridges_reuse_the_curvature_of_another(monkeypatch):
    ridges, hessians = np.geomspace(1e-4, 1.0, 9).tolist(), []

    def counted(*arguments):
        hessians.append(add_hessian(*arguments))

    # Compiled code would not see the counter.
    monkeypatch.setattr(ridge_steps, "add_hessian", counted)
    for name in ("walk", "_descend"):
        monkeypatch.setattr(ridge_steps, name, getattr(ridge_steps, name).py_func)
    ridge.solve_paths([problem_of(*problems(0, 300, 30, "noise", batch=1))], ridges)
    assert 0 < len(hessians) <= 2 * len(ridges)


@pytest.mark.parametrize("kind", ["noise", "separable", "alike"])
def test_a_row_may_stand_for_several(kind):
    design, prior = problems(3, 30, 8, kind, batch=1)
    times = np.random.default_rng(0).integers(1, 6, 30)
    features = design.features[0]
    counted = replace(problem_of(design, prior), times=times.astype(float))
    repeated = problem_of(ridge.DenseDesign.of([np.repeat(features, times, axis=0)]), prior)
    few, many = ridge.solve_paths([counted, repeated], CS)
    np.testing.assert_allclose(few, many, rtol=0, atol=1e-7)


def test_what_is_kept_on_disk_names_no_class_of_ours():
    ridge.solve_paths([problem_of(*problems(0, 30, 4, "noise", batch=1))], CS)
    kept = ridge_steps.walk.signatures
    assert kept
    assert b"judgepanel" not in pickle.dumps(kept)


def test_problems_of_any_size_share_a_batch():
    several = [
        problem_of(*problems(seed, n_rows, size, "noise", batch=1))
        for seed, (n_rows, size) in enumerate([(50, 4), (1, 20), (0, 3), (200, 9)])
    ]
    for problem, path in zip(several, ridge.solve_paths(several, CS), strict=True):
        np.testing.assert_array_equal(path, ridge.solve_paths([problem], CS)[0])


def test_where_single_precision_is_too_little_for_a_hessian_it_is_taken_twice_over():
    """Columns that differ by one part in ten million, of large votes, under next to no ridge."""
    rng = np.random.default_rng(1)
    column = rng.normal(size=(400, 1)) * 1e3
    features = column + rng.normal(size=(400, 6)) * 1e-4
    design, prior = ridge.DenseDesign.of([features]), ridge.Prior(6, None, None)
    (theta,) = ridge.solve_path(design, prior, [1e6])
    assert distance(design, prior, 1e6, theta) < 1e-5


MONOTONE = (joint_monotone, stacking_monotone)
linear_joint = replace(joint_monotone, monotone=False)


def one_fit(ballots):
    rows = np.arange(ballots.n_items)
    return [prefixes.Fit(rows, rows[:0], np.zeros(len(rows), dtype=np.int64))]


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
        self.order = prefixes.rank(ballots, np.arange(ballots.n_items))
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
        total += ridge.PRECISION * (level - self.f.level) ** 2 / 2.0
        return total + (self.f.rate * tau - ridge.SHAPE * np.log(tau)) * self.form.one_coin

    def slope(self, x):
        w, tau, level = x[:-2], x[-2], x[-1]
        delta = w - tau * self.f.base
        s = self.f.signs
        slope = -(s / (1.0 + np.exp(s * (self.design @ x)))) @ self.design
        slope[:-2] += delta / self.C
        slope[-2] += -self.f.base @ delta / self.C
        slope[-2] += (self.f.rate - ridge.SHAPE / tau) * self.form.one_coin
        slope[-1] += ridge.PRECISION * (level - self.f.level)
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
    fit = prefixes.Fit(rows, rows[:0], rows % 5)
    (free,) = replace(form, monotone=False).panels(ballots, [fit], 8)
    (panel,) = form.panels(ballots, [fit], 8)
    assert (free.weights < -0.05).any()
    others = np.random.default_rng(0).choice(np.array([-1, 0, 1], np.int8), (500, 8))
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
    face = ridge.Face(ridge.Floor(np.ones((3, 5), dtype=bool), base, 5), rng.random((3, 5)) < 0.5)
    free, slope = rng.normal(size=(2, 3, 7))
    np.testing.assert_allclose(
        np.vecdot(face.lift(free), slope), np.vecdot(free, face.drop(slope)), rtol=1e-12
    )
    moved = face.floor.weights(face.lift(free))
    np.testing.assert_allclose(moved[face.held], 0.0, atol=1e-15)
    assert (moved[~face.held] != 0.0).all()
