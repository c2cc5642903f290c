"""The calibrator table: the curve's own figures, rank correlations, shapes to draw."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from judgepanel.kernels.calibration import CALIBRATORS
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.present.paper.pipeline import (
    CALIBRATOR_DESIGN,
    CalibratorDesignSpec,
    design_chunk,
    merge_design,
)
from judgepanel.scoring.splits import split
from judgepanel.studies import contract, results
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from tests.helpers import make_votes

SETTINGS = contract.Settings(splits=8)


VOTES = make_votes(1, 140, 12, low=0.5, high=0.8)


@pytest.fixture(scope="module")
def parts():
    spec = CalibratorDesignSpec(SETTINGS)
    return [design_chunk(VOTES, spec, chunk) for chunk in CALIBRATOR_DESIGN.plan(spec)]


@pytest.fixture(scope="module")
def result(parts):
    return merge_design(VOTES, CalibratorDesignSpec(SETTINGS), results.combine(*parts))


def test_figures_are_those_of_the_panel_curve(result):
    names = ("none", "temperature", "beta")
    curve = run(PANEL_CURVE, VOTES, PanelCurveSpec(SETTINGS, calibrators=names), jobs=1)
    for name in names:
        for column, k in enumerate(result.k):
            wanted = curve.nll.value[curve.row(name), k - 1]
            assert result.nll.value[result.calibrators.index(name), column] == pytest.approx(wanted)
    assert result.k.tolist() == [5, 10, 12]


def test_rank_correlation_is_spearman_s():
    spec = CalibratorDesignSpec(SETTINGS, calibrators=("isotonic", "temperature"), panels=(3,))
    part = design_chunk(VOTES, spec, CALIBRATOR_DESIGN.plan(spec)[0])
    ballots = contract.prepare(VOTES, SETTINGS).ballots
    one_split = split(ballots.units, 2)
    scores = evaluate_split(
        ballots, one_split, np.array([3, 12]), Recipe(calibrators=spec.calibrators)
    )
    for c, name in enumerate(spec.calibrators):
        for p in range(2):
            raw = scores.fitted.logits[p]
            calibrated = scores.fitted.logits_of(name, slice(p, p + 1))[0]
            wanted = spearmanr(raw, calibrated).statistic
            assert part.rho[2, c, p] == pytest.approx(wanted, abs=1e-12)


def test_maps_that_keep_the_order_correlate_fully_and_steps_do_not(result):
    for name in ("none", "temperature", "platt", "beta"):
        assert result.rho.value[result.calibrators.index(name)] == pytest.approx(1.0)
    assert (result.rho.value[result.calibrators.index("isotonic")] < 1.0).all()


def test_shapes_rise_and_the_raw_score_is_its_own(result):
    assert result.calibrators == CALIBRATORS
    raw = np.clip(result.shape_raw, 0.001, 0.999)
    np.testing.assert_allclose(result.shape[result.calibrators.index("none")], raw)
    for name, shape in zip(result.calibrators, result.shape, strict=True):
        if name != "beta_clipped":  # its signs are free
            assert (np.diff(shape) >= -1e-12).all(), name
    auto = result.taken[result.calibrators.index("auto")]
    assert auto in ("temperature", "platt", "beta", "isotonic")


def test_the_table_has_a_row_for_every_panel_and_calibrator(result):
    frame = result.frame()
    assert len(frame) == 3 * len(CALIBRATORS)
    assert not frame.drop(columns=["panel", "aggregator", "calibrator"]).isna().any().any()
    assert result.summary()["best"] in CALIBRATORS
