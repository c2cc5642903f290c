"""Panels with judges removed or doubled, against ballots without or with those columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.kernels.panels import VALUED, choice_folds, panels_of
from judgepanel.scoring.metrics import item_nll
from judgepanel.scoring.splits import split
from tests.helpers import make_ballots

CLOSED = [name for name in VALUED if name != "joint"]


def world(n_items=60, **more):
    ballots = make_ballots(5, n_items, 5, missing=0.3, **more)
    return ballots, split(ballots.units, 1)


def signs_of(ballots, entry):
    return ballots.signs[entry.evaluation].astype(float)


def by_columns(ballots, entry, columns, aggregator, calibrator):
    """NLL (n_eval,) of ballots with these columns only."""
    some = replace(ballots, votes=ballots.votes[:, columns])
    recipe = Recipe(aggregator, (calibrator,))
    return (
        evaluate_split(some, entry, np.array([len(columns)]), recipe).evaluation[calibrator].nll[0]
    )


@pytest.mark.parametrize("calibrator", ["none", "temperature", "beta"])
@pytest.mark.parametrize("aggregator", CLOSED)
def test_closed_forms_are_exact(aggregator, calibrator):
    ballots, entry = world()
    panels = panels_of(ballots, entry, aggregator, calibrator, seed=0)
    signs, everybody = signs_of(ballots, entry), np.arange(5)
    nll = item_nll(panels.everyone(), signs)
    expected = by_columns(ballots, entry, everybody, aggregator, calibrator)
    np.testing.assert_allclose(nll, expected, atol=1e-9)
    less = item_nll(panels.without_each(), signs)
    for j in range(5):
        rest = by_columns(ballots, entry, np.delete(everybody, j), aggregator, calibrator)
        np.testing.assert_allclose(less[j], rest, atol=1e-9)
    twice = by_columns(ballots, entry, np.array([0, 1, 2, 3, 4, 2, 2]), aggregator, calibrator)
    np.testing.assert_allclose(item_nll(panels.copied(2, 2), signs), twice, atol=1e-9)


@pytest.mark.parametrize("calibrator", ["none", "temperature"])
def test_joint_panels_are_near_the_exact_ones(calibrator):
    ballots, entry = world(240)
    panels = panels_of(ballots, entry, "joint", calibrator, seed=0)
    signs, everybody = signs_of(ballots, entry), np.arange(5)
    expected = by_columns(ballots, entry, everybody, "joint", calibrator)
    assert item_nll(panels.everyone(), signs).mean() == pytest.approx(expected.mean(), abs=2e-3)
    less = item_nll(panels.without_each(), signs).mean(axis=1)
    rest = np.array(
        [
            by_columns(ballots, entry, np.delete(everybody, j), "joint", calibrator).mean()
            for j in range(5)
        ]
    )
    assert np.abs(less - rest).max() < 0.3 * np.abs(rest - expected.mean()).max() + 2e-3
    mask = np.array([[True, True, False, False, False]])
    inside = None if calibrator == "none" else np.tile(mask, (5, 1, 1))
    chosen = item_nll(panels.followed(mask, inside), signs)
    pair = by_columns(ballots, entry, np.array([0, 1]), "joint", calibrator)
    assert chosen.mean() == pytest.approx(pair.mean(), abs=5e-3)


@pytest.mark.parametrize("aggregator", ["one_coin", "joint"])
@pytest.mark.parametrize("calibrator", ["none", "beta"])
def test_a_panel_of_nobody_gives_the_null(aggregator, calibrator):
    ballots, entry = world()
    panels = panels_of(ballots, entry, aggregator, calibrator, seed=0)
    result = panels.of(np.zeros((1, 5), dtype=bool))
    ones = np.mean(ballots.signs[entry.calibration] > 0)
    np.testing.assert_allclose(result, np.log(ones / (1 - ones)))


def test_chosen_panels_are_the_given_ones_where_every_fold_chooses_the_same():
    ballots, entry = world()
    panels = panels_of(ballots, entry, "one_coin", "beta", seed=0)
    masks = ~np.eye(5, dtype=bool)
    inside = np.tile(masks, (5, 1, 1))
    np.testing.assert_allclose(panels.followed(masks, inside), panels.of(masks), atol=1e-9)


@pytest.mark.parametrize("aggregator", ["one_coin", "joint"])
def test_calibrators_see_a_row_under_the_panel_of_its_own_fold(aggregator):
    ballots, entry = world()
    panels = panels_of(ballots, entry, aggregator, "temperature", seed=0)
    assert len(choice_folds(ballots, entry, 0)) == 5
    masks = np.array([[True, True, True, True, False]])
    inside = np.tile(masks, (5, 1, 1))
    same = panels.followed(masks, inside)
    inside[2, 0] = [False, False, True, False, True]
    assert (panels.followed(masks, inside) != same).any()


@pytest.mark.parametrize("aggregator", ["one_coin", "joint"])
def test_labels_of_other_rows_move_nothing(aggregator):
    ballots, entry = world()
    signs = ballots.signs.copy()
    signs[entry.evaluation] *= -1
    result = []
    for given in (ballots, replace(ballots, signs=signs)):
        panels = panels_of(given, entry, aggregator, "none", seed=0)
        result.append((panels.without_each(), panels.inner_values(entry.calibration, (1, 31))))
    np.testing.assert_array_equal(result[0][0], result[1][0])
    np.testing.assert_array_equal(result[0][1], result[1][1])


def test_fits_are_counted():
    ballots, entry = world()
    panels = panels_of(ballots, entry, "one_coin", "beta_free", seed=0)
    panels.without_each()
    assert panels.fits.made == 5
    assert 0 <= panels.fits.replaced <= 5
