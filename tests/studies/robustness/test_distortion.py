"""Distorted scores: what calibrators repair, and that no coding helps them."""

from functools import cache

import numpy as np
import pytest

from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.paper.distortion import DISTORTION, DistortionSpec
from judgepanel.studies.runner import run
from tests.helpers import flip_items, make_votes

SETTINGS = Settings(splits=6)
WIDE = {"n_items": 400, "n_judges": 15, "missing": 0.1, "low": 0.6, "high": 0.75}


@cache
def votes(**options):
    return make_votes(3, **{**WIDE, **options})


@cache
def result(orientation="auto"):
    return run(
        DISTORTION, votes(), DistortionSpec(Settings(splits=6, orientation=orientation)), jobs=1
    )


def cell(outcome, distortion, calibrator):
    row = outcome.distortions.index(distortion)
    return float(outcome.nll.value[row, outcome.calibrators.index(calibrator)])


@pytest.mark.parametrize("orientation", ["auto", "symmetric"])
def test_undistorted_scores_are_those_of_the_panel_curve(orientation):
    distortion = result(orientation)
    settings = Settings(splits=6, orientation=orientation)
    names = ("temperature", "beta", "isotonic")
    curve = run(PANEL_CURVE, votes(), PanelCurveSpec(settings, calibrators=names), jobs=1)
    for c, name in enumerate(names):
        # Items and their swaps are two rows here and one there; the optimum is the same.
        assert cell(distortion, "undistorted", name) == pytest.approx(
            curve.nll.value[c, -1], abs=2e-5
        )
    assert distortion.null_nll == pytest.approx(curve.null_nll)


@pytest.mark.parametrize("orientation", ["auto", "symmetric"])
def test_monotone_distortions_leave_isotonic_regression_as_it_was(orientation):
    distortion = result(orientation)
    for name in ("square", "square_root"):
        row = distortion.distortions.index(name)
        column = distortion.calibrators.index("isotonic")
        assert abs(distortion.change.value[row, column]) < 1e-3
        assert distortion.outcomes[row][column] == "repaired"
        assert abs(distortion.change.value[row, distortion.calibrators.index("beta")]) < 0.01


@pytest.mark.parametrize("orientation", ["auto", "symmetric"])
def test_a_turned_score_is_repaired_by_a_map_of_free_sign_alone(orientation):
    distortion = result(orientation)
    free = distortion.calibrators.index("beta_clipped")
    row = distortion.distortions.index("inversion")
    assert abs(distortion.change.value[row, free]) < 0.02
    assert distortion.outcomes[row][free] != "harmed"
    for name in ("temperature", "platt", "beta", "isotonic"):
        assert cell(distortion, "inversion", name) > 0.98 * distortion.null_nll
        turned = distortion.outcomes[distortion.distortions.index("inversion")]
        assert turned[distortion.calibrators.index(name)] == "harmed"
    assert cell(distortion, "inversion", "none") > distortion.null_nll


def test_nothing_can_be_learnt_from_shuffled_scores_whatever_the_coding():
    distortion = run(DISTORTION, votes(one_class=True), DistortionSpec(SETTINGS), jobs=1)
    for name in distortion.calibrators[1:]:
        assert cell(distortion, "shuffle", name) > 0.97 * np.log(2)
    assert distortion.null_nll == pytest.approx(np.log(2))
    assert (distortion.nll.value > 0.2).all()
    np.testing.assert_allclose(distortion.constant_nll, np.log(2))


def test_swapping_items_changes_no_distortion_but_by_its_own_draws():
    entry = votes(one_class=True)
    turned = flip_items(entry, np.arange(400) % 2 == 0)
    settings = Settings(splits=2, orientation="symmetric")
    left, right = (run(DISTORTION, v, DistortionSpec(settings), jobs=1) for v in (entry, turned))
    for name in ("undistorted", "square", "square_root", "inversion"):
        row = left.distortions.index(name)
        np.testing.assert_allclose(left.nll.value[row], right.nll.value[row], atol=1e-6)


def test_stronger_noise_costs_more_and_noise_is_never_repaired_for_free():
    distortion = result()
    for name in ("temperature", "beta"):
        assert cell(distortion, "noise_strong", name) > cell(distortion, "noise_weak", name)
        assert cell(distortion, "binary_noise", name) > cell(distortion, "undistorted", name) + 0.02
