"""Reliability: bins of items, slope and calibration error, each beside its value by chance."""

from functools import cache

import numpy as np
import pytest

from judgepanel.scoring.metrics import recalibrate
from judgepanel.studies.contract import Settings, split_chunks
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from judgepanel.studies.trust import reliability
from judgepanel.studies.trust.reliability import RELIABILITY, ReliabilitySpec
from judgepanel.votes.simulate import SimulationSpec, simulate
from tests.helpers import make_votes
from tests.studies.confidence.stated import stated

SETTINGS = Settings(splits=6)


@cache
def votes():
    return make_votes(1, 120, 9)


@cache
def result(**options):
    return run(RELIABILITY, votes(), ReliabilitySpec(SETTINGS, **options), jobs=1)


def test_bins_hold_every_item_once_and_empty_ones_are_blank():
    outcome = result()
    for bins in outcome.bins:
        assert bins.items.sum(axis=1) == pytest.approx([119, 119])  # one item in no half yet
        np.testing.assert_array_equal(np.isnan(bins.accuracy.value), bins.items == 0)
        full = bins.items > 0
        assert (bins.confidence[full] >= 0.5).all()
    assert (outcome.frame()["items"] > 0).all()
    assert {"10", "15", "stated"} == {bins.name for bins in outcome.bins}


def test_bins_average_to_the_accuracy_and_their_gaps_to_the_error():
    outcome = result()
    for column, n in enumerate(outcome.ece_bins):
        bins = outcome.binned(str(n))
        weight = bins.items / 119
        right = np.nansum(weight * bins.accuracy.value, axis=1)
        np.testing.assert_allclose(right, outcome.accuracy.value)
        gaps = np.nansum(weight * np.abs(bins.accuracy.value - bins.confidence), axis=1)
        np.testing.assert_allclose(gaps, outcome.ece.value[:, column])


def test_calibration_brings_the_slope_to_one_and_the_error_down():
    outcome = result()
    assert outcome.slope.value[0] < 0.8
    assert outcome.slope.lo[1] < 1.0 < outcome.slope.hi[1]
    assert outcome.ece_corrected[1, 0] <= outcome.ece.value[1, 0]


def test_the_base_rate_is_that_of_all_other_studies_of_these_splits():
    curve = run(PANEL_CURVE, votes(), PanelCurveSpec(SETTINGS, ks=(3,), compare=(3,)), jobs=1)
    assert result().null_nll == pytest.approx(curve.null_nll, abs=1e-12)


def test_under_symmetric_there_is_no_intercept_and_that_is_said():
    settings = Settings(splits=4, orientation="symmetric")
    outcome = run(RELIABILITY, votes(), ReliabilitySpec(settings), jobs=1)
    assert np.isnan(outcome.intercept.value).all()
    assert any("intercept is 0 by construction" in note for note in outcome.warnings)


def test_a_slope_that_cannot_be_fitted_is_said():
    coded = make_votes(2, 100, 8, one_class=True)
    outcome = run(RELIABILITY, coded, ReliabilitySpec(Settings(splits=4, protocol="paper")), jobs=1)
    assert np.isnan(outcome.slope.value).all()
    assert any("No slope of the calibrated probabilities" in note for note in outcome.warnings)
    assert outcome.measures_coding


def test_bins_with_few_items_and_one_split_are_said_or_blank():
    small = make_votes(4, 24, 5)
    spec = ReliabilitySpec(Settings(splits=4))
    outcome = run(RELIABILITY, small, spec, jobs=1)
    assert any("some bins have fewer than 10 items" in note for note in outcome.warnings)
    merge = reliability.merge(small, spec, RELIABILITY.run_chunk(small, spec, split_chunks(1)[0]))
    assert np.isnan(merge.bins[0].accuracy.lo).all()
    assert merge.partial


@cache
def simulated():
    return [stated(seed, 200, 8) for seed in range(60)]


def test_calibrated_scores_have_slope_one_and_intercept_zero():
    fits = [recalibrate(of.logits[1], of.signs, 1.0 / of.times[of.item]) for of in simulated()]
    slopes, levels = np.array([(fit.slope, fit.intercept) for fit in fits]).T
    assert abs(slopes.mean() - 1.0) < 3 * slopes.std() / np.sqrt(60) + 0.02
    assert abs(levels.mean()) < 3 * levels.std() / np.sqrt(60)


def test_the_interval_of_the_slope_covers_one():
    slopes = [reliability.slopes(of)["slope"] for of in simulated()]
    covered = np.mean([slope.lo[1] <= 1.0 <= slope.hi[1] for slope in slopes])
    assert covered >= 0.88
    far = np.mean([slope.hi[0] < 1.0 for slope in slopes])
    assert far == 1.0  # three times too extreme is seen every time


@pytest.mark.simulation
def test_a_calibrated_panel_is_rarely_called_worse_than_chance():
    p = np.array([reliability.errors(of, 0)["ece_p"][1, 0] for of in simulated()[:40]])
    assert np.mean(p < 0.05) <= 0.15
    assert np.mean(p < 0.5) >= 0.25
    assert reliability.errors(simulated()[0], 0)["ece_p"][0, 0] < 0.05


def test_the_corrected_error_is_nearer_to_the_truth_of_none():
    outcome = [reliability.errors(of, 0) for of in simulated()[:20]]
    plain = np.mean([entry["ece"].value[1, 0] for entry in outcome])
    corrected = np.mean([entry["ece_corrected"][1, 0] for entry in outcome])
    null = np.mean([entry["ece_null"].value[1, 0] for entry in outcome])
    assert corrected < 0.7 * plain
    assert plain == pytest.approx(null, rel=0.25)


@pytest.mark.simulation
def test_the_corrected_error_of_fitted_panels_is_not_pulled_to_zero():
    """Panels of dependent judges, fitted on 60 labels, are off on new items; so few say so, too."""

    def outcome(seed, n):
        made = simulate(
            SimulationSpec(
                n, 9, n_families=1, family_rho=0.4, accuracy_low=0.55, accuracy_high=0.8, seed=seed
            )
        )
        spec = ReliabilitySpec(Settings(splits=6, fraction=60 / n), calibrator="beta")
        return run(RELIABILITY, made, spec, jobs=1)

    truth = outcome(500, 3000)
    small = [outcome(seed, 120) for seed in range(12)]
    corrected = np.array([entry.ece_corrected[1, 0] for entry in small])
    plain = np.mean([entry.ece.value[1, 0] for entry in small])
    assert truth.ece_corrected[1, 0] > 0.01
    assert truth.ece_corrected[1, 0] < corrected.mean() < 0.85 * plain
    assert np.count_nonzero(corrected) >= 9


@pytest.mark.simulation
def test_groups_that_share_their_label_are_not_called_worse_than_chance_for_it():
    p = [
        reliability.errors(stated(seed, 200, 8, per_unit=4), 0)["ece_p"][1, 0] for seed in range(30)
    ]
    assert np.mean(np.array(p) < 0.05) <= 0.17
