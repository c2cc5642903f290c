"""Ridge paths: every C reaches its optimum, whatever the batch and the design."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.kernels import compiled as ridge_steps
from judgepanel.kernels.compiled import PRODUCT_CELLS, ROWS, add_hessian
from judgepanel.kernels.maps import sigmoid
from judgepanel.kernels.ridge import (
    DenseDesign,
    Prior,
    Problem,
    solve_path,
    solve_paths,
)

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
    prior = Prior(
        n_weights,
        rng.uniform(1.0, 8.0, batch) if rate else None,
        rng.normal(size=batch) if level else None,
    )
    return DenseDesign.of(features), prior


def taken(design, prior, b):
    pick = slice(b, b + 1)
    return DenseDesign.of(design.features[pick]), Prior(
        prior.n_weights,
        None if prior.rate is None else prior.rate[pick],
        None if prior.level is None else prior.level[pick],
    )


def problem_of(design, prior):
    features = design.features[0]
    rate, level = float(prior.rate[0]), float(prior.level[0])
    return Problem(features, np.ones(len(features)), prior.n_weights, rate, level)


def distance(design, prior, C, theta):
    """How far the margins (B, n) are from the optimum's, by one exact Newton step."""
    wrong = sigmoid(-design.forward(theta))
    slope, bend = prior.slopes(theta, C)
    step = design.solve(wrong * (1.0 - wrong), bend, design.backward(wrong) - slope)
    return np.abs(design.forward(step)).max()


@pytest.mark.parametrize("rate", [True, False])
@pytest.mark.parametrize("level", [True, False])
@pytest.mark.parametrize("kind", ["noise", "separable", "alike"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), n_rows=st.integers(1, 60), n_weights=st.integers(1, 40))
def test_margins_end_within_1e_8_of_the_optimum(kind, level, rate, seed, n_rows, n_weights):
    design, prior = problems(seed, n_rows, n_weights, kind, rate=rate, level=level)
    for C, theta in zip(CS, solve_path(design, prior, CS, problems=3), strict=True):
        assert distance(design, prior, C, theta) < 1e-8


@pytest.mark.parametrize("kind", ["noise", "separable", "alike"])
@pytest.mark.parametrize("n_rows", [ROWS - 1, ROWS, 3 * ROWS + 1])
def test_rows_that_are_read_in_blocks_lead_to_the_same_optimum(n_rows, kind):
    design, prior = problems(5, n_rows, 12, kind)
    for C, theta in zip(CS, solve_path(design, prior, CS, problems=3), strict=True):
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
    together = solve_path(design, prior, CS, problems=3)
    for b in range(3):
        alone = solve_path(*taken(design, prior, b), CS)
        np.testing.assert_array_equal(together[:, b], alone[:, 0])


def test_most_ridges_reuse_the_curvature_of_another(monkeypatch):
    ridges, hessians = np.geomspace(1e-4, 1.0, 9).tolist(), []

    def counted(*arguments):
        hessians.append(add_hessian(*arguments))

    # Compiled code would not see the counter.
    monkeypatch.setattr(ridge_steps, "add_hessian", counted)
    for name in ("walk", "_descend"):
        monkeypatch.setattr(ridge_steps, name, getattr(ridge_steps, name).py_func)
    solve_paths([problem_of(*problems(0, 300, 30, "noise", batch=1))], ridges)
    assert 0 < len(hessians) <= 2 * len(ridges)


@pytest.mark.parametrize("kind", ["noise", "separable", "alike"])
def test_a_row_may_stand_for_several(kind):
    design, prior = problems(3, 30, 8, kind, batch=1)
    times = np.random.default_rng(0).integers(1, 6, 30)
    features = design.features[0]
    counted = replace(problem_of(design, prior), times=times.astype(float))
    repeated = problem_of(DenseDesign.of([np.repeat(features, times, axis=0)]), prior)
    few, many = solve_paths([counted, repeated], CS)
    np.testing.assert_allclose(few, many, rtol=0, atol=1e-7)


def test_what_is_kept_on_disk_names_no_class_of_ours():
    solve_paths([problem_of(*problems(0, 30, 4, "noise", batch=1))], CS)
    kept = ridge_steps.walk.signatures
    assert kept
    assert b"judgepanel" not in pickle.dumps(kept)


def test_problems_of_any_size_share_a_batch():
    several = [
        problem_of(*problems(seed, n_rows, size, "noise", batch=1))
        for seed, (n_rows, size) in enumerate([(50, 4), (1, 20), (0, 3), (200, 9)])
    ]
    for problem, path in zip(several, solve_paths(several, CS), strict=True):
        np.testing.assert_array_equal(path, solve_paths([problem], CS)[0])


def test_where_single_precision_is_too_little_for_a_hessian_it_is_taken_twice_over():
    """Columns that differ by one part in ten million, of large votes, under next to no ridge."""
    rng = np.random.default_rng(1)
    column = rng.normal(size=(400, 1)) * 1e3
    features = column + rng.normal(size=(400, 6)) * 1e-4
    design, prior = DenseDesign.of([features]), Prior(6, None, None)
    (theta,) = solve_path(design, prior, [1e6])
    assert distance(design, prior, 1e6, theta) < 1e-5
