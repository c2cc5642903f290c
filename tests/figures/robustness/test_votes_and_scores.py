"""Figures of damaged votes, distortions, weighting, narrow bands and juries draw the result."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from judgepanel.present.paper.distortion import DISTORTION_NAMES, distortion_figure
from judgepanel.present.paper.jury import FLOOR, jury_figure
from judgepanel.present.paper.narrow_band import band_figure
from judgepanel.present.paper.reliability_weighting import weighting_figure
from judgepanel.present.robustness.corruption import corruption_figure
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.distortion import DISTORTION, DistortionSpec
from judgepanel.studies.paper.jury import JURY, JurySpec
from judgepanel.studies.paper.narrow_band import NARROW_BAND, NarrowBandSpec
from judgepanel.studies.paper.reliability_weighting import (
    RELIABILITY_WEIGHTING,
    ReliabilityWeightingSpec,
)
from judgepanel.studies.robustness.corruption import CORRUPTION, CorruptionSpec
from judgepanel.studies.runner import run
from tests.helpers import make_votes

SETTINGS = Settings(splits=4)


@cache
def votes():
    return make_votes(1, 100, 7)


def trace(figure, name):
    (line,) = [one_trace for one_trace in figure.data if one_trace.name == name]
    return line


def test_both_panels_are_lines_from_the_clean_votes_to_the_worst():
    spec = CorruptionSpec(SETTINGS, panels=(3,), flips=(0.2, 0.4))
    result = run(CORRUPTION, votes(), spec, jobs=1)
    places = result.of("random_both")
    figure = corruption_figure(result, "random_both")
    for p, name in enumerate(result.arms):
        line = trace(figure, name)
        np.testing.assert_array_equal(line.y, result.nll.value[p, places])
        np.testing.assert_allclose(line.customdata, [0, 20, 40])
        np.testing.assert_allclose(
            line.error_y.array, (result.nll.hi - result.nll.value)[p, places]
        )
    assert trace(figure, result.arms[0]).line.dash != trace(figure, result.arms[1]).line.dash
    assert set(trace(figure, "base rate").y) == {result.null_nll}


def test_every_calibrator_is_a_mark_in_every_row_and_none_may_be_drawn():
    spec = DistortionSpec(SETTINGS, calibrators=("temperature", "isotonic"))
    result = run(DISTORTION, votes(), spec, jobs=1)
    figure = distortion_figure(result, ("temperature", "isotonic"))
    np.testing.assert_array_equal(trace(figure, "isotonic").x, result.nll.value[:, 1])
    assert trace(figure, "isotonic").marker.symbol != trace(figure, "temperature").marker.symbol
    assert list(figure.layout.yaxis.ticktext) == list(DISTORTION_NAMES.values())
    empty = distortion_figure(result, ())
    assert [line.name for line in empty.data] == ["base rate"]


def test_effects_lie_beside_the_margin_and_names_are_inert():
    result = run(RELIABILITY_WEIGHTING, votes(), ReliabilityWeightingSpec(SETTINGS), jobs=1)
    bold = replace(result, signals=("<b>", *result.signals[1:]), features=(True,) * len(result.p))
    figure = weighting_figure(bold)
    np.testing.assert_array_equal(figure.data[0].x, result.delta.value)
    assert figure.layout.yaxis.ticktext[0] == "high &lt;b&gt;"
    (margin,) = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert (margin.x0, margin.x1) == (-0.005, 0.005)


def test_every_correlation_is_a_line_and_the_panel_at_hand_is_placed():
    spec = NarrowBandSpec(SETTINGS, widths=(0.1, 0.2), rhos=(0.0, 0.3), sizes=(4,), replicates=2)
    result = run(NARROW_BAND, votes(), spec, jobs=1)
    figure = band_figure(result, 0, 1)
    np.testing.assert_array_equal(
        trace(figure, "latent correlation 0.3").y, result.delta.value[:, 1, 0, 1]
    )
    assert any(shape.x0 == result.own_width for shape in figure.layout.shapes)
    unknown = band_figure(replace(result, own_width=float("nan")), 0, 1)
    assert len(unknown.layout.shapes) == len(figure.layout.shapes) - 1


def test_errors_too_small_for_the_axis_are_left_out():
    result = run(JURY, votes(), JurySpec(SETTINGS), jobs=1)
    tiny = replace(result, independent=Interval.full(len(result.k), FLOOR / 10, "share"))
    alone = trace(jury_figure(tiny), "majority, if independent")
    assert np.isnan(alone.y).all()
    figure = jury_figure(result)
    np.testing.assert_array_equal(trace(figure, "majority, observed").y, result.majority.value)
    np.testing.assert_array_equal(trace(figure, "one-coin, observed").x, result.k)
    assert figure.layout.yaxis.type == "log"
