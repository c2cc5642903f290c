"""One-coin and joint on levels: what they know of grades, and what they must not know."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels import aggregation, prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.graded import (
    LEAST,
    MOST_BANDS,
    band_counts,
    graded_panels,
    left_out_evidence,
    level_weights,
    levels_on,
)
from judgepanel.scoring.splits import split
from tests.helpers import make_ballots

GRADED = ("one_coin_graded", "joint_graded")
PLAIN = {"one_coin_graded": "one_coin", "joint_graded": "joint"}
KS = np.array([1, 3, 6])


def with_grades(seed, n=90, k=6, groups=0):
    """Ballots in which judges 0 to 3 give grades that tell: .5 to 3 in halves, or any number."""
    ballots = make_ballots(seed, n, k, groups=groups)
    rng = np.random.default_rng(seed)
    right = ballots.votes * ballots.signs[:, None] > 0
    margins = np.abs(rng.normal(1.0 + right, 0.8, (n, k))) + 0.01
    margins[:, :2] = np.ceil(2.0 * margins[:, :2]) / 2.0
    margins[:, 4:] = 0.0
    return replace(ballots, margins=margins * (ballots.votes != 0))


def all_rows(ballots):
    return np.arange(ballots.n_items)


@pytest.mark.parametrize("name", GRADED)
@pytest.mark.parametrize("groups", [0, 20])
def test_without_grades_the_bits_are_those_of_votes(name, groups):
    ballots = make_ballots(3, 80, 6, groups=groups)
    one_margin = replace(ballots, margins=0.7 * (ballots.votes != 0))
    drawn = split(ballots.units, 0)
    wanted = aggregation.panel_scores(ballots, drawn, KS, aggregator=PLAIN[name])
    for given in (ballots, one_margin):
        scores = aggregation.panel_scores(given, drawn, KS, aggregator=name)
        for field in ("order", "calibration", "calibration_empty", "evaluation"):
            assert np.array_equal(getattr(scores, field), getattr(wanted, field))


def test_few_margins_have_a_band_each_and_many_a_quarter_of_the_votes():
    few = np.tile([2.0, 1.0, 3.0, 2.0], 6)[:, None]
    many = np.arange(1.0, 25.0)[:, None]
    votes = np.ones((24, 2), dtype=np.int8)
    votes[-1] = 0
    margins = np.hstack([few, many]) * (votes != 0)
    ballots = Ballots(votes, np.ones(24, np.int8), np.arange(24), margins=margins)
    levels = levels_on(ballots, np.arange(24))
    assert levels.n_bands.tolist() == [3, 4]
    bands = levels.bands(margins, 24)
    assert bands[:4, 0].tolist() == [1, 0, 2, 1]
    assert np.bincount(bands[:23, 1]).tolist() == [5, 6, 6, 6]
    other = levels_on(replace(ballots, signs=-ballots.signs), np.arange(24))
    assert [edges.tolist() for edges in other.edges] == [edges.tolist() for edges in levels.edges]


def test_a_weight_is_a_share_right_shrunk_to_the_judges():
    correct = np.array([[20.0], [28.0], [39.0], [0.0]])
    voted = np.array([[40.0], [40.0], [40.0], [0.0]])
    weights = level_weights(correct, voted, np.array([3]))[:3, 0]
    p = 88 / 122
    rho = (sum((c - 40 * p) ** 2 for c in (20, 28, 39)) / (40 * p * (1 - p)) - 4) / 80
    m = max(1 / rho - 1, LEAST)
    wanted = [np.log((c + m * p) / (40 - c + m * (1 - p))) for c in (20, 28, 39)]
    np.testing.assert_allclose(weights, wanted, rtol=1e-12)


@pytest.mark.parametrize("turn", [1, -1])
def test_weights_rise_with_the_margin_and_fall_below_chance(turn):
    rng = np.random.default_rng(0)
    voted = rng.integers(1, 30, (200, MOST_BANDS, 3)).astype(float)
    correct = np.floor(voted * rng.random(voted.shape))
    if turn < 0:
        correct = voted - correct
    weights = level_weights(correct, voted, np.full(3, MOST_BANDS))
    above = np.sign(correct.sum(axis=1) * 2 - voted.sum(axis=1))
    side = np.where(above < 0, -1.0, 1.0)[:, None]
    assert (np.diff(weights, axis=1) * side >= -1e-12).all()
    opposite = level_weights(voted - correct, voted, np.full(3, MOST_BANDS))
    wanted = np.where(above[:, None] == 0, opposite, -weights)
    np.testing.assert_allclose(opposite, wanted, rtol=1e-9, atol=1e-9)


def test_bands_that_differ_by_chance_alone_weigh_alike():
    voted = np.full((MOST_BANDS, 1), 25.0)
    correct = np.array([[18.0], [17.0], [19.0], [18.0]])
    assert np.ptp(level_weights(correct, voted, np.array([MOST_BANDS]))) < 1e-4


@pytest.mark.parametrize("groups", [0, 12])
def test_evidence_is_that_of_counts_without_the_own_unit(groups):
    ballots = with_grades(5, 40, groups=groups)
    levels = levels_on(ballots, all_rows(ballots))
    bands = levels.bands(ballots.margins, 40)
    rows = (ballots.votes, ballots.signs, bands)
    evidence = left_out_evidence(*rows, ballots.units, levels.n_bands)
    for item in range(40):
        rest = ballots.units != ballots.units[item]
        weights = level_weights(*band_counts(*(part[rest] for part in rows)), levels.n_bands)
        wanted = ballots.votes[item] * weights[bands[item], np.arange(6)]
        np.testing.assert_allclose(evidence[item], wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", GRADED)
@pytest.mark.parametrize("groups", [0, 20])
def test_no_calibration_score_knows_its_own_label(name, groups):
    ballots = with_grades(2, groups=groups)
    drawn = split(ballots.units, 0)
    unit = ballots.units[drawn.calibration[3]]
    signs = np.where(ballots.units == unit, -ballots.signs, ballots.signs)
    own = ballots.units[drawn.calibration] == unit
    before = aggregation.panel_scores(ballots, drawn, KS, aggregator=name)
    after = aggregation.panel_scores(replace(ballots, signs=signs), drawn, KS, aggregator=name)
    tolerance = 0.0 if name == "one_coin_graded" else 1e-9
    changed = np.abs(after.calibration[:, own] - before.calibration[:, own])
    assert changed.max() <= tolerance
    assert np.abs(after.evaluation - before.evaluation).max() > 1e-3


@pytest.mark.parametrize("name", GRADED)
def test_swapping_the_responses_of_items_turns_their_logits(name):
    ballots = replace(with_grades(4), symmetric=True)
    flip = np.where(np.arange(90) % 3, -1, 1).astype(np.int8)
    swapped = replace(ballots, votes=ballots.votes * flip[:, None], signs=ballots.signs * flip)
    drawn = split(ballots.units, 1)
    before = aggregation.panel_scores(ballots, drawn, KS, aggregator=name)
    after = aggregation.panel_scores(swapped, drawn, KS, aggregator=name)
    turned = before.evaluation * flip[drawn.evaluation]
    np.testing.assert_allclose(after.evaluation, turned, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", GRADED)
def test_judges_may_come_in_any_order(name):
    ballots = with_grades(6)
    order = np.array([4, 2, 0, 5, 1, 3])
    votes, margins = (
        np.ascontiguousarray(cells[:, order]) for cells in (ballots.votes, ballots.margins)
    )
    moved = replace(ballots, votes=votes, margins=margins)
    drawn = split(ballots.units, 2)
    before = aggregation.panel_scores(ballots, drawn, KS[-1:], aggregator=name)
    after = aggregation.panel_scores(moved, drawn, KS[-1:], aggregator=name)
    np.testing.assert_allclose(after.evaluation, before.evaluation, rtol=0, atol=1e-6)


def test_the_panel_of_all_judges_scores_as_the_kernel_does():
    ballots = with_grades(7)
    rows = all_rows(ballots)
    (panel,) = graded_panels(ballots, [prefixes.Fit(rows, rows, rows % 5)], 6)
    assert panel.weights.shape == (MOST_BANDS, 6)
    ungraded = np.isin(panel.judges, (4, 5))
    assert np.ptp(panel.weights[:, ungraded], axis=0).max() == 0.0
    graded = panel.weights[:, ~ungraded]
    assert (graded[2] > graded[0]).all()
    assert panel.logits(np.zeros((1, 6), np.int8), np.zeros((1, 6))).tolist() == [0.0]


@pytest.mark.simulation
@pytest.mark.parametrize(("name", "seeds"), [("one_coin_graded", 6), ("joint_graded", 1)])
def test_grades_that_tell_lower_the_loss_on_new_items(name, seeds):
    """Seeds are fixed: the loss falls by a tenth or more in each."""
    losses = np.zeros(2)
    for seed in range(seeds):
        ballots = with_grades(seed, 240)
        drawn = split(ballots.units, 0)
        for place, aggregator in enumerate((PLAIN[name], name)):
            scores = aggregation.panel_scores(ballots, drawn, KS[-1:], aggregator=aggregator)
            margins = scores.evaluation[0] * ballots.signs[drawn.evaluation]
            losses[place] += np.logaddexp(0.0, -margins).mean()
    assert losses[1] < 0.95 * losses[0]
