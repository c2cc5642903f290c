"""Ridge paths: every C reaches its optimum, whatever the batch and the design."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.kernels.aggregate import ridge_path as module
from judgepanel.kernels.aggregate.ridge import Prior
from judgepanel.kernels.aggregate.ridge_design import DenseDesign
from judgepanel.kernels.aggregate.ridge_path import solve_path
from judgepanel.kernels.calibrate.maps import sigmoid

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
    return DenseDesign(features), prior


def taken(design, prior, b):
    pick = slice(b, b + 1)
    return DenseDesign(design.features[pick]), Prior(
        prior.n_weights,
        None if prior.rate is None else prior.rate[pick],
        None if prior.level is None else prior.level[pick],
    )


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


@given(seed=st.integers(0, 2**32), kind=st.sampled_from(["noise", "separable", "alike"]))
@settings(max_examples=15)
def test_nobody_in_a_batch_moves_a_bit_of_another(seed, kind):
    design, prior = problems(seed, 40, 12, kind)
    together = solve_path(design, prior, CS, problems=3)
    for b in range(3):
        alone = solve_path(*taken(design, prior, b), CS)
        np.testing.assert_array_equal(together[:, b], alone[:, 0])


def test_most_ridges_reuse_the_curvature_of_another(monkeypatch):
    renewed = []
    product = DenseDesign.product
    monkeypatch.setattr(
        module.DenseDesign,
        "product",
        lambda self, *a: renewed.append(len(a[1])) or product(self, *a),
    )
    design, prior = problems(0, 300, 30, "noise", batch=1)
    ridges = np.geomspace(1e-4, 1.0, 9).tolist()
    solve_path(design, prior, ridges)
    assert sum(renewed) <= 2 * len(ridges)
