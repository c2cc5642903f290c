"""Metrics against plain loops."""

import math

import numpy as np
import pytest
import scipy
from numpy.testing import assert_array_equal
from scipy.special import expit

from judgepanel.scoring import metrics


def ece_by_loop(confidence, hit, bins):
    total = 0.0
    for b in range(bins):
        inside = [i for i, c in enumerate(confidence) if b == min(math.floor(c * bins), bins - 1)]
        if inside:
            accuracy = sum(hit[i] for i in inside) / len(inside)
            mean = sum(confidence[i] for i in inside) / len(inside)
            total += len(inside) / len(confidence) * abs(accuracy - mean)
    return total


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("scale", [1.0, 5.0, 400.0])
def test_scores_are_those_of_a_loop(symmetric, scale):
    rng = np.random.default_rng(0)
    logits = scale * rng.normal(size=(3, 60))
    signs = np.where(rng.random(60) < expit(logits[0]), 1.0, -1.0)
    logits[:, :4] = 0.0
    scores = metrics.item_scores(logits, signs, symmetric=symmetric)
    for row in range(3):
        hits, confidences = [], []
        for i, (m, s) in enumerate(zip(logits[row], signs, strict=True)):
            p = 1 / (1 + math.exp(-m)) if m >= 0 else 1 - 1 / (1 + math.exp(m))
            p = min(max(p, metrics.CLIP), 1 - metrics.CLIP)
            own = p if s > 0 else 1 - p
            hit = 0.5 if symmetric and m == 0 else float((p >= 0.5) == (s > 0))
            hits.append(hit)
            confidences.append(max(p, 1 - p))
            assert scores.nll[row, i] == pytest.approx(-math.log(own), abs=1e-12)
            assert scores.brier[row, i] == pytest.approx((p - (s > 0)) ** 2, abs=1e-12)
            assert scores.hit[row, i] == hit
        assert scores.ece[row] == pytest.approx(ece_by_loop(confidences, hits, 10), abs=1e-12)


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_the_binned_gap_is_the_loop_at_any_number_of_bins_and_adds_up_over_items(bins):
    rng = np.random.default_rng(2)
    confidence, hit = rng.uniform(0.5, 1.0, (2, 200)), rng.integers(0, 2, (2, 200)).astype(float)
    confidence[:, :2] = 1.0, 0.5
    wanted = [ece_by_loop(c, h, bins) for c, h in zip(confidence, hit, strict=True)]
    np.testing.assert_allclose(
        metrics.gap_of(metrics.gaps_above(confidence, hit, bins), 200), wanted, atol=1e-12
    )
    rows = np.split(np.arange(200), [70])
    parts = [metrics.gaps_above(confidence[:, part], hit[:, part], bins) for part in rows]
    np.testing.assert_allclose(metrics.gap_of(sum(parts), 200), wanted, atol=1e-12)


def test_the_null_is_the_base_rate_or_one_half_when_order_means_nothing():
    assert metrics.null_logit(0.8, symmetric=False) == pytest.approx(math.log(4.0))
    assert metrics.null_logit(0.8, symmetric=True) == 0.0
    assert metrics.null_logit(1.0, symmetric=False) == pytest.approx(
        math.log((1 - metrics.CLIP) / metrics.CLIP)
    )


def test_counts_are_exact_dense_and_sparse():
    rng = np.random.default_rng(3)
    left, right = rng.random((7, 400)) < 0.4, rng.random((400, 9)) < 0.6
    exact = left.astype(int) @ right.astype(int)
    assert_array_equal(metrics.single_product(left, right), exact)
    assert_array_equal(metrics.single_product(scipy.sparse.csr_array(left), right), exact)
    both = metrics.single_product(scipy.sparse.csr_array(left), scipy.sparse.csr_array(right))
    assert both.dtype == np.float32
    assert_array_equal(both.toarray(), exact)
