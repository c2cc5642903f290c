"""Items that are scored and that calibrate: what both roles add to the variance of a mean."""

from __future__ import annotations

import numpy as np
import pytest

from judgepanel.scoring.inference import estimate
from judgepanel.scoring.roles import FEWEST_SPLITS, Sides
from judgepanel.scoring.splits import split

N = 60


def evaluated_in(n_splits, n_items=N):
    """Halves; items that none of them scores are scored in the first."""
    values = np.zeros((n_splits, n_items), dtype=bool)
    for number, row in enumerate(values):
        row[split(np.arange(n_items), number).evaluation] = True
    values[0] |= ~values.any(axis=0)
    return values


def world(rng, evaluated, correlation=0.0, *, pairs=0.0, n_sets=300):
    """Item and split means where an item adds a when scored and b when it calibrates.

    Both have mean 0 and variance 1 and this correlation. If ``pairs``, pairs of calibration items
    have effects of that variance instead of b. The truth is 0.
    """
    n_items = evaluated.shape[1]
    a = rng.standard_normal((n_sets, n_items))
    b = correlation * a + np.sqrt(1 - correlation**2) * rng.standard_normal((n_sets, n_items))
    outside = (~evaluated).astype(float)
    n = outside.sum(axis=1)
    panels = b @ outside.T / n
    if pairs:
        effects = np.sqrt(pairs) * np.triu(rng.standard_normal((n_sets, n_items, n_items)), 1)
        sums = np.einsum("si,dij,sj->ds", outside, effects, outside, optimize=True)
        panels = sums / (n * (n - 1) / 2)
    inside = evaluated.astype(float)
    split_means = a @ inside.T / inside.sum(axis=1) + panels
    item_means = a + panels @ inside / inside.sum(axis=0)
    return item_means, split_means.T


def estimates(means, evaluated, *, known=True):
    n_items = evaluated.shape[1]
    sides = Sides.of(~evaluated, evaluated) if known else None
    half = n_items / 2
    return estimate(*means, np.arange(n_items), half, half, sides=sides, joint=False)


def coverage(interval):
    return float(((interval.lo <= 0) & (interval.hi >= 0)).mean())


@pytest.mark.parametrize("n_splits", [10, 40])
def test_intervals_hold_where_costly_items_make_panels_worse(n_splits):
    """Without the covariance they are far too narrow; that is what a rise under flips is like."""
    evaluated = evaluated_in(n_splits)
    means = world(np.random.default_rng(4), evaluated, 0.8)
    assert coverage(estimates(means, evaluated, known=False)) < 0.88
    assert coverage(estimates(means, evaluated)) > 0.93


@pytest.mark.parametrize("n_splits", [4, 20, 40])
@pytest.mark.parametrize("correlation", [0.0, -0.8])
def test_intervals_hold_where_the_roles_are_not_or_negatively_related(correlation, n_splits):
    evaluated = evaluated_in(n_splits)
    means = world(np.random.default_rng(4), evaluated, correlation)
    assert coverage(estimates(means, evaluated)) > 0.93


def test_effects_of_pairs_make_the_interval_narrower_and_it_still_holds():
    """Not by much: in a sample, two thirds of such effects look like those of single items."""
    evaluated = evaluated_in(100)
    means = world(np.random.default_rng(5), evaluated, pairs=50.0)
    narrow, wide = (estimates(means, evaluated, known=known) for known in (True, False))
    assert coverage(narrow) > 0.93
    assert narrow.se.mean() < 0.96 * wide.se.mean()


@pytest.mark.parametrize("correlation", [0.6, -0.6])
def test_many_splits_know_the_covariance(correlation):
    evaluated = evaluated_in(200)
    means = world(np.random.default_rng(1), evaluated, correlation)
    roles = Sides.of(~evaluated, evaluated).roles(*means)
    assert np.mean(roles.covariance) * N == pytest.approx(correlation + 1 / np.sqrt(199), abs=0.06)


def test_many_splits_know_the_part_of_single_items():
    """A sample of pairs has a part of single items of its own, about 4 p / N."""
    evaluated = evaluated_in(200)
    sides = Sides.of(~evaluated, evaluated)
    single = sides.roles(*world(np.random.default_rng(2), evaluated)).single
    assert np.mean(single) * N == pytest.approx(1.0, rel=0.1)
    of_pairs = sides.roles(*world(np.random.default_rng(2), evaluated, pairs=50.0)).single
    assert np.mean(of_pairs) * N == pytest.approx(4 * 50 / N, rel=0.15)


def test_few_splits_count_all_effects_as_those_of_single_items():
    few = evaluated_in(FEWEST_SPLITS - 1)
    roles = Sides.of(~few, few).roles(*world(np.random.default_rng(3), few))
    assert np.isinf(roles.single).all()


def test_the_covariance_is_that_of_the_least_squares_fit():
    """Every score is a_i + B_s plus noise; the fit needs its margins alone."""
    rng, evaluated = np.random.default_rng(3), evaluated_in(6)
    rows, columns = np.nonzero(evaluated)
    scores = rng.normal(size=len(rows)) + 2.0 * rng.normal(size=N)[columns]
    design = np.zeros((len(rows), 6 + N))
    design[np.arange(len(rows)), rows] = design[np.arange(len(rows)), 6 + columns] = 1.0
    fit = np.linalg.lstsq(design, scores, rcond=None)[0]
    panels, items = fit[:6] - fit[:6].mean(), fit[6:]
    draws = np.array([items[row].mean() for row in evaluated])
    draws -= draws.mean()
    wanted = np.sqrt((draws @ draws) * (panels @ panels) / 5) / 5 - (draws @ panels) / 5
    item_means = np.bincount(columns, scores, N) / np.bincount(columns, minlength=N)
    split_means = np.bincount(rows, scores, 6) / np.bincount(rows)
    roles = Sides.of(~evaluated, evaluated).roles(item_means[None], split_means[:, None])
    assert roles.covariance[0] == pytest.approx(wanted, rel=1e-9)


def test_the_single_part_is_the_slope_on_shared_calibration_items():
    evaluated = evaluated_in(12)
    items, splits = world(np.random.default_rng(6), evaluated, n_sets=1)
    inside, outside = evaluated.astype(float), (~evaluated).astype(float)
    laplacian = np.diag(inside.sum(axis=1)) - (inside / inside.sum(axis=0)) @ inside.T
    sums = inside.sum(axis=1) * splits[:, 0] - inside @ items[0]
    panels = np.linalg.lstsq(laplacian, sums, rcond=None)[0]
    panels -= panels.mean()
    first, second = np.triu_indices(12, 1)
    shared = (outside @ outside.T)[first, second] / 30**2
    slope = np.polyfit(shared, panels[first] * panels[second], 1)[0]
    single = Sides.of(~evaluated, evaluated).roles(items, splits).single
    assert single[0] == pytest.approx(slope / N, rel=1e-9)


def test_each_value_can_have_its_own_calibration_sets():
    evaluated = evaluated_in(12)
    items, splits = world(np.random.default_rng(7), evaluated, n_sets=2)
    fewer = ~evaluated & (np.arange(N) % 3 > 0)
    sides = [Sides.of(~evaluated, evaluated), Sides.of(fewer, evaluated)]
    sizes = np.array([30.0, 20.0])
    both = estimate(items, splits, np.arange(N), sizes, 30, n_others=N - sizes, sides=sides)
    for j in range(2):
        alone = estimate(
            items[[j]], splits[:, [j]], np.arange(N), sizes[j], 30, n_others=N - sizes[j],
            sides=sides[j],
        )  # fmt: skip
        assert both.se[j] == pytest.approx(alone.se[0], rel=1e-12)


def test_splits_that_share_no_scored_item_have_no_covariance():
    evaluated = np.zeros((2, N), dtype=bool)
    evaluated[0, : N // 2] = evaluated[1, N // 2 :] = True
    roles = Sides.of(~evaluated, evaluated).roles(
        *world(np.random.default_rng(8), evaluated, n_sets=3)
    )
    assert roles.covariance == pytest.approx(np.zeros(3), abs=1e-12)
