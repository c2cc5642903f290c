"""Weighted comparisons: importance, the unweighted panel, and tests that hold their level."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.scoring.descriptive import equivalence
from judgepanel.scoring.inference import estimate
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.paper.reliability_weighting import (
    RELIABILITY_WEIGHTING,
    ReliabilityWeightingSpec,
    Signal,
    signals,
)
from judgepanel.studies.runner import run
from tests.helpers import flip_items, make_votes

SETTINGS = Settings(splits=6)


@cache
def votes():
    plain = make_votes(1, 160, 9)
    rng = np.random.default_rng(0)
    features = pd.DataFrame(
        {"length": rng.random(160), "kind": ["a", "b"] * 80, "constant": np.ones(160)}
    )
    features.loc[::7, "length"] = np.nan
    return replace(plain, features=features)


@cache
def result():
    return run(RELIABILITY_WEIGHTING, votes(), ReliabilityWeightingSpec(SETTINGS), jobs=1)


def test_importance_has_mean_one_follows_ranks_and_ignores_what_is_unknown():
    values = np.array([3.0, np.nan, 1.0, 2.0, 2.0, 9e9])
    rows = np.arange(6)
    high = Signal("x", "high", values).importance(rows, 0.5)
    low = Signal("x", "low", values).importance(rows, 0.5)
    assert high.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(high + low, 2.0)
    assert high[1] == 1.0
    assert high[2] < high[3] == high[4] < high[0] < high[5] < 1.5
    assert (Signal("x", "high", values).importance(rows, 1.0) > 0).all()


def test_signals_are_label_free_and_the_same_for_swapped_items():
    ballots = prepare(votes(), SETTINGS).ballots
    turned = prepare(flip_items(votes(), np.arange(160) % 3 == 0), SETTINGS).ballots
    for left, right in zip(
        signals(ballots, votes().features, 0)[0],
        signals(turned, votes().features, 0)[0],
        strict=True,
    ):
        np.testing.assert_array_equal(left.values, right.values)
    wrong = replace(ballots, signs=-ballots.signs)
    for left, right in zip(signals(ballots, None, 0)[0], signals(wrong, None, 0)[0], strict=True):
        np.testing.assert_array_equal(left.values, right.values)


@pytest.mark.parametrize("n", [5, 6])
def test_the_first_five_numeric_features_are_signals(n):
    ballots = prepare(votes(), SETTINGS).ballots
    values = np.arange(ballots.n_items, dtype=float)
    features = pd.DataFrame({f"f{number}": values for number in range(n)})
    found, left_out = signals(ballots, features, 0)
    assert len({signal.name for signal in found if signal.name.startswith("f")}) == 5
    assert left_out == ("f5",) * (n > 5)


def test_numeric_features_that_vary_are_signals_both_ways_and_the_rest_is_named():
    weighting = result()
    named = list(zip(weighting.signals, weighting.favours, strict=True))
    assert ("length", "high") in named
    assert ("length", "low") in named
    assert {"kind", "constant"}.isdisjoint(weighting.signals)
    many = pd.DataFrame({f"f{i}": np.arange(160.0) for i in range(7)})
    wanted = ReliabilityWeightingSpec(Settings(splits=2))
    more = run(RELIABILITY_WEIGHTING, replace(votes(), features=many), wanted, jobs=1)
    assert any("'f5', 'f6'" in text for text in more.warnings)
    assert "f5" not in more.signals


def test_the_unweighted_panel_is_the_one_of_the_panel_curve():
    curve = run(PANEL_CURVE, votes(), PanelCurveSpec(SETTINGS, calibrators=("beta",)), jobs=1)
    weighting = result()
    assert weighting.base_nll.value == pytest.approx(curve.nll.value[0, -1], abs=1e-10)
    assert weighting.base_nll.lo == pytest.approx(curve.nll.lo[0, -1], abs=1e-8)
    assert weighting.null_nll == curve.null_nll
    np.testing.assert_allclose(
        weighting.nll - weighting.base_nll.value, weighting.delta.value, atol=1e-12
    )


def test_a_faint_weighting_of_simple_votes_is_equivalent_to_none():
    simple = make_votes(4, 400, 12, missing=0.0, low=0.6)
    wanted = ReliabilityWeightingSpec(Settings(splits=10), strength=0.05)
    weighting = run(RELIABILITY_WEIGHTING, simple, wanted, jobs=1)
    assert set(weighting.absolute) == {"equivalent"}
    assert (weighting.p_absolute < 0.05).all()
    assert weighting.delta_90.above(-weighting.margin).all()
    assert weighting.relative_margin == pytest.approx(0.01 * weighting.base_nll.value)


def simulated(rng, shift, repeats, n=200, n_splits=20, spread=0.02, influence=0.15):
    """Values of items and splits of arms that differ by ``shift`` on new items.

    Every calibration set adds the mean of its items' influences: what fitting does to first order.
    """
    items = shift + spread * rng.standard_normal((repeats, n))
    pull = influence * rng.standard_normal((repeats, n))
    sides = np.array([rng.permutation(n) < n // 2 for _ in range(n_splits)])
    learnt = pull @ sides.T / (n // 2)  # (repeats, splits)
    evaluated = (~sides).astype(float)
    means = (items @ evaluated.T) / (n // 2) + learnt
    item_means = items + (learnt @ evaluated) / evaluated.sum(axis=0)
    return item_means, means.T, np.arange(n)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_equivalence_is_claimed_in_one_of_twenty_samples_at_the_margin(side):
    rng = np.random.default_rng(7)
    margin = 0.03
    items, splits, units = simulated(rng, side * margin, 3000)
    fitted = estimate(items, splits, units, 100.0, 100.0, joint=False)
    claimed = equivalence(fitted, margin).outcomes.count("equivalent") / 3000
    assert claimed <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 3000)
    assert claimed > 0.01


def test_equivalence_is_found_where_there_is_no_difference():
    items, splits, units = simulated(np.random.default_rng(8), 0.0, 1000)
    fitted = estimate(items, splits, units, 100.0, 100.0, joint=False)
    shares = [
        equivalence(fitted, margin).outcomes.count("equivalent") / 1000
        for margin in (0.01, 0.03, 0.06)
    ]
    assert shares == sorted(shares)
    assert shares[-1] > 0.95


def test_draws_of_a_split_are_not_taken_for_doubt_about_its_labels():
    rng = np.random.default_rng(9)
    items, splits, units = simulated(rng, 0.0, 2000, spread=0.1, influence=0.0)
    noise = 0.2 * rng.standard_normal(splits.shape)
    wide = estimate(items, splits + noise, units, 100.0, 100.0, joint=False)
    interval = estimate(items, splits + noise, units, 100.0, 100.0, redrawn=0.04, joint=False)
    assert interval.se.mean() < 0.4 * wide.se.mean()
    # The truth is 0; item means do not hold the noise of splits here, values do.
    value = interval.value + noise.mean(axis=0)
    covered = np.mean(np.abs(value) <= interval.hi - interval.value)
    assert 0.93 < covered <= 0.995
