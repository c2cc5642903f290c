"""Figures of confidence draw the result, leave out empty bins, and escape names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.blocks import Paragraph
from judgepanel.present.trust.conformal import coverage_figure
from judgepanel.present.trust.items import strata_figure
from judgepanel.present.trust.reliability import reliability_figure
from judgepanel.present.trust.selective import present, selective_figure
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.trust.conformal import CONFORMAL, ConformalSpec
from judgepanel.studies.trust.items import ITEMS, ItemsSpec
from judgepanel.studies.trust.probabilities import FEW_ITEMS
from judgepanel.studies.trust.reliability import RELIABILITY, ReliabilitySpec
from judgepanel.studies.trust.selective import SELECTIVE, SelectiveSpec
from tests.helpers import make_votes

SETTINGS = Settings(splits=4)
VOTES = replace(make_votes(1, 120, 9), features=pd.DataFrame({"tag": ["<b>x</b>", "y"] * 60}))


def trace(figure, name):
    return next(line for line in figure.data if line.name == name)


@pytest.fixture(scope="module")
def reliability():
    return run(RELIABILITY, VOTES, ReliabilitySpec(SETTINGS), jobs=1)


@pytest.mark.parametrize("bins", ["10", "15", "stated"])
def test_bins_that_hold_items_are_drawn_with_their_counts_beneath(reliability, bins):
    figure = reliability_figure(reliability, bins)
    given = reliability.binned(bins)
    full = given.items[1] > 0
    line = trace(figure, "after calibration")
    np.testing.assert_array_equal(line.y, given.accuracy.value[1, full])
    (bars,) = [
        one_trace
        for one_trace in figure.data
        if one_trace.type == "bar" and one_trace.name == line.name
    ]
    np.testing.assert_array_equal(bars.y, given.items[1, full])
    assert len(line.y) < given.n_bins or full.all()


def test_bins_with_few_items_have_open_marks_and_thin_intervals(reliability):
    figure = reliability_figure(reliability, "10")
    line = trace(figure, "before")
    few = line.customdata[:, 3] < FEW_ITEMS
    assert few.any()
    assert [symbol.endswith("-open") for symbol in line.marker.symbol] == few.tolist()
    thin = [bars for bars in figure.data if bars.error_y.thickness == 0.5]
    assert len(thin[0].x) == np.count_nonzero(few)


def test_without_a_calibrator_there_is_one_line_and_it_is_the_raw_one():
    result = run(RELIABILITY, VOTES, ReliabilitySpec(SETTINGS, calibrator="none"), jobs=1)
    figure = reliability_figure(result, "10")
    assert {line.name for line in figure.data if line.name} == {"as stated", "uncalibrated"}
    (bars,) = [line for line in figure.data if line.type == "bar"]
    np.testing.assert_array_equal(trace(figure, "uncalibrated").customdata[:, 3], bars.y)


def test_the_curve_ends_where_everything_is_answered():
    result = run(SELECTIVE, VOTES, SelectiveSpec(SETTINGS), jobs=1)
    figure = selective_figure(result)
    everything = result.accuracy.value[1]
    assert trace(figure, "after calibration").y[-1] == pytest.approx(everything)
    assert figure.layout.shapes[0].y0 == pytest.approx(everything)
    assert (np.diff(trace(figure, "stated confidence").x) < 0).all()
    assert "95 % interval" in [line.name for line in figure.data]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"calibrator": "none"}, "uncalibrated"),
        ({"aggregator": "average"}, "the recommended panel"),
    ],
)
def test_without_a_calibrator_there_is_one_curve(options, name):
    spec = SelectiveSpec(SETTINGS, **options)
    result = run(SELECTIVE, VOTES, spec, jobs=1)
    names = [line.name for line in selective_figure(result).data]
    assert names == ["95 % interval", name, "stated confidence"]
    words = [block.text for block in present(result, spec) if isinstance(block, Paragraph)]
    assert not any("calibrator" in text for text in words)


def test_names_of_marks_stay_clear_of_the_axis():
    result = run(SELECTIVE, VOTES, SelectiveSpec(SETTINGS), jobs=1)
    share = np.broadcast_to(np.linspace(0.9, 0.1, len(result.confidences)), result.share.shape)
    apart = replace(result, share=Interval(share, share, share), items=np.full(share.shape, 50.0))
    marks = trace(selective_figure(apart), "stated confidence")
    assert marks.text[0] == "60 %"
    assert marks.textposition[0] == "bottom left"
    assert marks.textposition[-1] == "bottom right"


def test_groups_start_with_all_items_and_names_are_inert():
    result = run(CONFORMAL, VOTES, ConformalSpec(SETTINGS, feature="tag"), jobs=1)
    figure = coverage_figure(result, 1, "feature")
    assert figure.layout.yaxis.ticktext[0] == "all items"
    assert figure.layout.shapes[0].x0 == 0.9
    assert trace(figure, "plain sets").x[0] == result.coverage.value[0, 1, 0]
    text = figure.to_json()
    assert "\\u003cb\\u003ex" not in text
    assert "<b>x" not in text
    assert "&lt;b&gt;x" in "".join(figure.layout.yaxis.ticktext[1:3])


def test_strata_show_stated_beside_right():
    result = run(ITEMS, VOTES, ItemsSpec(SETTINGS), jobs=1)
    figure = strata_figure(result, "difficulty")
    rows = result.strata_of("difficulty")
    np.testing.assert_array_equal(trace(figure, "share right").x, result.accuracy.value[1, rows])
    np.testing.assert_array_equal(trace(figure, "stated confidence").x, result.confidence[1, rows])
