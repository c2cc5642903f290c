"""Items that score badly and make panels worse: the covariance, and intervals that include it."""

from __future__ import annotations

import numpy as np
import pytest

from judgepanel.scoring.inference import coupling, estimate
from judgepanel.scoring.splits import split

N = 60


def sides(n_splits):
    values = np.zeros((n_splits, N), dtype=bool)
    for number, row in enumerate(values):
        row[split(np.arange(N), number).evaluation] = True
    return values


def world(rng, evaluated, correlation, n_sets=300):
    """Item and split means where an item adds a when scored and b when it calibrates.

    Both have mean 0 and variance 1, so the truth is 0 and the covariance is the correlation.
    """
    a = rng.standard_normal((n_sets, N))
    b = correlation * a + np.sqrt(1 - correlation**2) * rng.standard_normal((n_sets, N))
    out = (~evaluated).astype(float)
    panels = b @ out.T / out.sum(axis=1)
    inside = evaluated.astype(float)
    split_means = a @ inside.T / inside.sum(axis=1) + panels
    item_means = a + panels @ inside / inside.sum(axis=0)
    return item_means, split_means.T


def held(correlation, n_splits, *, counted):
    evaluated = sides(n_splits)
    items, splits = world(np.random.default_rng(4), evaluated, correlation)
    both = coupling(items, splits, evaluated) if counted else 0.0
    interval = estimate(items, splits, np.arange(N), 30, 30, coupled=both, joint=False)
    return float(((interval.lo <= 0) & (interval.hi >= 0)).mean())


@pytest.mark.parametrize("n_splits", [10, 40])
def test_intervals_hold_where_costly_items_make_panels_worse(n_splits):
    """Without the covariance they are far too narrow; that is what a rise under flips is like."""
    assert held(0.8, n_splits, counted=False) < 0.88
    assert held(0.8, n_splits, counted=True) > 0.93


@pytest.mark.parametrize("correlation", [0.0, -0.8])
def test_intervals_of_other_worlds_still_hold(correlation):
    assert held(correlation, 40, counted=True) > 0.93


def test_many_splits_know_the_covariance():
    evaluated = sides(200)
    items, splits = world(np.random.default_rng(1), evaluated, 0.6)
    known = np.mean(coupling(items, splits, evaluated)) * N
    assert known == pytest.approx(0.6 + 1 / np.sqrt(199), abs=0.06)


def test_a_negative_covariance_narrows_nothing():
    evaluated = sides(200)
    items, splits = world(np.random.default_rng(2), evaluated, -0.6)
    assert not coupling(items, splits, evaluated).any()


def test_it_is_the_covariance_of_the_least_squares_fit():
    """Every score is a_i + B_s plus noise; the fit needs its margins alone."""
    rng, evaluated = np.random.default_rng(3), sides(6)
    evaluated[0] |= ~evaluated.any(axis=0)
    rows, columns = np.nonzero(evaluated)
    scores = rng.normal(size=len(rows)) + 2.0 * rng.normal(size=N)[columns]
    design = np.zeros((len(rows), 6 + N))
    design[np.arange(len(rows)), rows] = design[np.arange(len(rows)), 6 + columns] = 1.0
    fit = np.linalg.lstsq(design, scores, rcond=None)[0]
    panels, items = fit[:6] - fit[:6].mean(), fit[6:]
    draws = np.array([items[row].mean() for row in evaluated])
    draws -= draws.mean()
    spread = np.sqrt((draws @ draws) * (panels @ panels) / 5) / 5
    wanted = max(0.0, -(draws @ panels) / 5 + spread)
    item_means = np.bincount(columns, scores, N) / np.bincount(columns, minlength=N)
    split_means = np.bincount(rows, scores, 6) / np.bincount(rows)
    result = coupling(item_means[None], split_means[:, None], evaluated)
    assert wanted > 0
    assert result[0] == pytest.approx(wanted, rel=1e-6)
