"""Optimality conditions that every fitted calibrator satisfies, for any data."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.kernels.calibration import CALIBRATORS, MAPS, fit
from judgepanel.kernels.maps import MAX_SLOPE
from tests.kernels.calibrate.calibration_oracle import IDENTITY, PENALTY, smooth_gradient

FITTED = ("temperature", "platt", "beta", "beta_clipped", "beta_l2", "beta_free")
SLACK = 1e-6
VALUES = st.floats(-500.0, 500.0, allow_subnormal=False).map(lambda x: round(x, 3))


@st.composite
def columns(draw):
    rows = draw(st.lists(st.tuples(VALUES, st.booleans(), st.integers(0, 2)), min_size=2))
    logits, labels, weights = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    scale = draw(st.sampled_from([1e-2, 1.0]))
    return logits * scale, 2.0 * labels - 1.0, np.maximum(weights, 0.5)


def residual(slope, distance, lasso, low, high, value):
    """How far 0 is from slope + the subdifferential of lasso |.| + the normal cone of the box."""
    near, far = slope - lasso, slope + lasso
    if distance > 0:
        near = far
    elif distance < 0:
        far = near
    if value <= low:
        near = -np.inf
    if value >= high:
        far = np.inf
    return max(near, -far, 0.0)


@settings(max_examples=150)
@given(columns())
def test_zero_is_a_subgradient_of_the_objective_at_every_fit(column):
    logits, signs, weights = column
    scale = 1.0 + np.abs(logits).max()
    for name, fitted in fit(FITTED, logits[None], signs, weights[None]).items():
        params = fitted.params[0]
        assert np.isfinite(params).all()
        if name == "temperature":
            continue
        if fitted.replaced[0]:
            assert name in ("platt", "beta_free")
            continue
        gradient = smooth_gradient(params, name, logits, signs, weights)
        if name == "platt":
            along = (gradient[0] - gradient[1]) / scale
            assert along > -SLACK if params[0] == 0.0 else abs(along) < SLACK
            assert abs(gradient[2]) < SLACK
            continue
        bounds = [(0, np.inf), (-np.inf, 0), (-np.inf, np.inf)]
        if name == "beta_clipped":
            bounds = [(-np.inf, np.inf)] * 3
        for i, (low, high) in enumerate(bounds):
            away = params[i] - IDENTITY[i]
            off = residual(gradient[i], away, PENALTY[name][0], low, high, params[i])
            assert off / scale < SLACK, (name, i)


@settings(max_examples=150)
@given(columns())
def test_no_slope_beats_the_temperature(column):
    logits, signs, weights = column
    result = fit(("temperature",), logits[None], signs, weights[None])["temperature"].params[0, 0]

    def nll(a):
        return weights @ np.logaddexp(0.0, -a * signs * logits) / weights.sum()

    assert 0.0 <= result <= MAX_SLOPE
    for rival in (
        *(0.0, 1e-3, 0.1, 1.0, 10.0, MAX_SLOPE, 0.99 * result, min(1.01 * result, MAX_SLOPE)),
    ):
        assert nll(result) <= nll(rival) + 1e-8


@settings(max_examples=80)
@given(columns())
def test_reversing_scores_and_labels_reverses_the_symmetric_map(column):
    logits, signs, weights = column
    fits = fit(CALIBRATORS, logits[None], signs, weights[None], symmetric=True)
    reversed_ = fit(CALIBRATORS, -logits[None], -signs, weights[None], symmetric=True)
    for name in CALIBRATORS:
        first, other = fits[name](logits[None]), reversed_[name](logits[None])
        np.testing.assert_array_equal(first, other)
        np.testing.assert_array_equal(first, -fits[name](-logits[None]))


@settings(max_examples=80)
@given(columns(), st.booleans())
def test_every_map_but_the_papers_is_finite_and_never_falls(column, symmetric):
    logits, signs, weights = column
    new = np.sort(np.r_[logits, np.linspace(-700.0, 700.0, 101)])[None]
    fits = fit(CALIBRATORS, logits[None], signs, weights[None], symmetric=symmetric)
    for name, fitted in fits.items():
        calibrated = fitted(new)
        assert np.isfinite(calibrated).all(), name
        if name not in ("platt", "beta_clipped"):
            steps = np.diff(calibrated[0])
            assert (steps >= -1e-9 * (1.0 + np.abs(calibrated[0, 1:]))).all(), name
        if name in MAPS and symmetric:
            assert fitted.params[0, 0] == -fitted.params[0, 1]
            assert fitted.params[0, 2] == 0.0
