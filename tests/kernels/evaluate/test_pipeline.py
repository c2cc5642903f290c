"""One split through the four steps: each equals its parts, and no label leaks."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from judgepanel.kernels import aggregation, maps, prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import fit
from judgepanel.kernels.evaluation import STEPS, Recipe, _steps, evaluate_pipeline
from judgepanel.kernels.residual import fit_encoder, fit_residual, rows_of
from judgepanel.scoring.conformal import LEVELS, nonconformity, set_kinds, threshold
from judgepanel.scoring.splits import Split, split, subsplit
from tests.helpers import make_ballots

RECIPE = Recipe(calibrators=("beta",))
KS = np.array([2, 6])
RAW, CORRECTED, CALIBRATED, SLICED, ALONE = range(5)


def case(seed=0, n=120, *, groups=0, symmetric=False, missing=0.2):
    ballots = make_ballots(seed, n, 6, groups=groups, symmetric=symmetric, missing=missing)
    rng = np.random.default_rng(seed)
    features = {"length": rng.normal(size=n), "subset": rng.choice(["a", "b"], n).astype(object)}
    return ballots, features, split(ballots.units, 3)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("with_features", [False, True])
def test_the_first_steps_are_those_fitted_one_after_the_other(symmetric, with_features):
    ballots, features, drawn = case(symmetric=symmetric, missing=0.0)
    features = features if with_features else None
    pipeline_scores = evaluate_pipeline(
        ballots, features, drawn, KS, Recipe(calibrators=("temperature",))
    )
    scores = prefixes.prefix_scores(ballots, drawn, KS)
    signs = ballots.signs[drawn.calibration].astype(float)
    assert_array_equal(pipeline_scores.logits[:, RAW], scores.evaluation)
    own, new = (rows_of(features, rows) for rows in (drawn.calibration, drawn.evaluation))
    encoder = fit_encoder(own, len(signs))
    residual = fit_residual(
        scores.calibration, signs, encoder.encode(own, len(signs)), symmetric=symmetric
    )
    corrected = residual(scores.evaluation, encoder.encode(new, len(drawn.evaluation)))
    assert_allclose(pipeline_scores.logits[:, CORRECTED], corrected, rtol=0, atol=1e-9)
    alone = fit(("temperature",), scores.calibration, signs, symmetric=symmetric)["temperature"]
    assert_allclose(pipeline_scores.logits[:, ALONE], alone(scores.evaluation), rtol=0, atol=1e-9)
    behind = pipeline_scores.logits[:, CALIBRATED] / pipeline_scores.logits[:, CORRECTED]
    assert_allclose(behind, behind[:, :1] * np.ones_like(behind), rtol=1e-9)
    assert (behind != 1.0).any()


@pytest.mark.parametrize("groups", [0, 30])
def test_step_four_is_step_three_on_the_rows_without_the_slice(groups):
    ballots, features, drawn = case(1, groups=groups)
    scores = evaluate_pipeline(ballots, features, drawn, KS, RECIPE)
    learn, hold = subsplit(ballots.units, drawn.calibration, fraction=0.7, seed=0, key=(3, 9))
    assert scores.n_slice == len(hold)
    assert set(ballots.units[learn]).isdisjoint(ballots.units[hold])
    assert abs(len(hold) / len(drawn.calibration) - 0.3) < (0.02 if groups == 0 else 0.1)
    # Labels and votes of the slice must not reach the pipeline, and only they the thresholds.
    turned = ballots.signs.copy()
    turned[hold] *= -1
    other = evaluate_pipeline(replace(ballots, signs=turned), features, drawn, KS, RECIPE)
    assert_array_equal(scores.logits[:, SLICED], other.logits[:, SLICED])
    assert (scores.logits[:, CALIBRATED] != other.logits[:, CALIBRATED]).any()
    assert (scores.kinds != other.kinds).any()


def test_sets_are_those_of_the_shown_probability_and_the_slice():
    ballots, features, drawn = case(2)
    scores = evaluate_pipeline(ballots, features, drawn, KS, RECIPE)
    learn, hold = subsplit(ballots.units, drawn.calibration, fraction=0.7, seed=0, key=(3, 9))
    # The same fit, asked about the slice: its rows evaluated instead of the evaluation rows.
    asked = Split(3, learn, hold)
    logits = _steps(ballots, features, asked, KS, RECIPE, (3, 9, 1))[0][:-1, CALIBRATED]
    p_slice, p = (
        np.clip(maps.sigmoid(values), 1e-3, 1 - 1e-3)
        for values in (logits, scores.logits[:, SLICED])
    )
    labels = (ballots.signs[hold] > 0).astype(int)
    for row, level in enumerate(LEVELS):
        for panel in range(len(KS)):
            limit = threshold(nonconformity(p_slice[panel], labels), level)
            assert_array_equal(scores.kinds[row, panel], set_kinds(p[panel], limit, limit))


def test_no_label_of_an_evaluation_row_moves_a_bit():
    ballots, features, drawn = case(4)
    signs = ballots.signs.copy()
    signs[drawn.evaluation] *= -1
    scores = evaluate_pipeline(ballots, features, drawn, KS, RECIPE)
    other = evaluate_pipeline(replace(ballots, signs=signs), features, drawn, KS, RECIPE)
    assert_array_equal(scores.logits, other.logits)
    assert_array_equal(scores.kinds, other.kinds)


@pytest.mark.parametrize("in_sample", [False, True])
def test_only_the_papers_protocol_lets_features_without_meaning_flatter_the_calibrator(in_sample):
    rng = np.random.default_rng(5)
    n = 160
    coin = rng.choice(np.array([-1, 1], np.int8), (n, 6))
    ballots = Ballots(coin, rng.choice(np.array([-1, 1], np.int8), n), np.arange(n))
    features = {f"x{j}": rng.normal(size=n) for j in range(25)}
    pipeline = Recipe(calibrators=("platt",), in_sample=in_sample)
    scores = evaluate_pipeline(ballots, features, split(ballots.units, 0), KS, pipeline)
    spread = np.abs(scores.logits[:, CALIBRATED]).mean()
    before = np.abs(scores.logits[:, CORRECTED]).mean()
    # Honest: the calibrator has seen that the corrected score is worth little, and shrinks it.
    assert (spread < 0.6 * before) != in_sample


@pytest.mark.parametrize("calibrator", ["none", "temperature", "platt", "beta", "beta_clipped"])
def test_under_symmetric_swapping_items_mirrors_every_step(calibrator):
    ballots, features, drawn = case(6, symmetric=True)
    flip = np.where(np.random.default_rng(0).random(ballots.n_items) < 0.5, -1, 1).astype(np.int8)
    swapped = replace(ballots, votes=ballots.votes * flip[:, None], signs=ballots.signs * flip)
    pipeline = Recipe(calibrators=(calibrator,))
    scores = evaluate_pipeline(ballots, features, drawn, KS, pipeline)
    other = evaluate_pipeline(swapped, features, drawn, KS, pipeline)
    turned = flip[drawn.evaluation]
    assert_array_equal(scores.logits * turned, other.logits)
    mirrored = np.array([0, 2, 1, 3])[scores.kinds]
    assert_array_equal(np.where(turned > 0, scores.kinds, mirrored), other.kinds)
    assert scores.null_nll == other.null_nll
    assert_allclose(scores.constant_nll, np.log(2.0), atol=1e-12)


def test_items_without_votes_get_the_base_rate_and_weigh_nothing():
    ballots, features, drawn = case(7, missing=0.0)
    votes = ballots.votes.copy()
    blank = drawn.evaluation[:5]
    votes[blank] = 0
    scores = evaluate_pipeline(replace(ballots, votes=votes), features, drawn, KS, RECIPE)
    rate = np.mean(ballots.signs[drawn.calibration] > 0)
    at = np.searchsorted(drawn.evaluation, blank)
    for step in (RAW, CORRECTED, CALIBRATED, ALONE):
        assert_allclose(scores.logits[:, step, at], np.log(rate / (1 - rate)))
    assert np.isfinite(scores.logits).all()


def test_a_constant_with_features_shows_what_the_features_know():
    ballots, _, drawn = case(8, 400)
    telling = {"side": ballots.signs + 0.8 * np.random.default_rng(0).normal(size=400)}
    informed = evaluate_pipeline(ballots, telling, drawn, KS, RECIPE)
    blind = evaluate_pipeline(ballots, None, drawn, KS, RECIPE)
    assert informed.constant_nll.shape == (len(STEPS),)
    assert informed.constant_nll[RAW] == blind.constant_nll[RAW] == pytest.approx(np.log(2.0))
    assert informed.constant_nll[CALIBRATED] < 0.5
    assert blind.constant_nll[CALIBRATED] > 0.68


def test_an_aggregator_that_is_cross_fitted_goes_the_same_way(monkeypatch):
    def kernel(ballots, fits, ks, ranking):
        return [
            np.tile(ballots.votes[one_fit.score].sum(axis=1), (len(ks), 1)) * 1.0
            for one_fit in fits
        ]

    monkeypatch.setattr(aggregation, "KERNELS", {"stacking": kernel})
    ballots, features, drawn = case(9)
    scores = evaluate_pipeline(ballots, features, drawn, KS, Recipe("stacking", ("beta",)))
    voted = (ballots.votes[drawn.evaluation] != 0).any(axis=1)
    assert_array_equal(
        scores.logits[1, RAW, voted], ballots.votes[drawn.evaluation].sum(axis=1)[voted]
    )
    assert np.isfinite(scores.logits).all()
