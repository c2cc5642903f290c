"""NLL against labels: the figures draw the result and mark what is extrapolated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.present.trust.label_budget import budget_difference, label_budget
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.trust.label_budget import LABEL_BUDGET, LabelBudgetSpec
from tests.helpers import make_votes


@pytest.fixture(scope="module")
def result():
    spec = LabelBudgetSpec(Settings(splits=4), panels=(3,), budgets=(20, 30, 45))
    return run(LABEL_BUDGET, make_votes(1, 120, 9), spec, jobs=1)


def trace(figure, name):
    (line,) = [one_trace for one_trace in figure.data if one_trace.name == name]
    return line


def test_both_panels_and_the_null_are_lines_over_the_labels(result):
    figure = label_budget(result, "beta", ("top-3",))
    for name, values in (
        ("all 9", result.nll.value[0, 1]),
        ("top-3", result.nll.value[0, 0]),
        ("base rate", result.null_nll),
    ):
        line = trace(figure, name)
        np.testing.assert_array_equal(line.x, result.labels)
        np.testing.assert_array_equal(line.y, values)
    assert figure.layout.xaxis.type == "log"


def test_what_lies_beyond_the_data_is_another_line_that_says_so(result):
    figure = label_budget(result, "temperature", ("top-3",))
    for arm in result.arms:
        tail = trace(figure, f"{arm}: extrapolated")
        assert tail.x.min() >= result.labels[-1] - 1e-9
        assert tail.x.max() == pytest.approx(220)
        assert tail.line.dash == "dot"
    assert tail.y[0] == pytest.approx(float(result.fitted(1, 1, 60.0)))


def test_a_curve_that_misses_the_last_level_is_not_drawn_beyond_it(result):
    """A curve cannot rise, a panel fitted on more labels can get worse."""
    nll = result.nll.value.copy()
    nll[0, :, -1] *= 1.2
    off = label_budget(replace(result, nll=Interval.alone(nll)), "beta", ("top-3",))
    assert not [line for line in off.data if line.name.endswith("extrapolated")]
    assert trace(label_budget(result, "beta"), "all 9: extrapolated").showlegend


def test_bands_hold_their_lines(result):
    figure = label_budget(result, "beta", ("top-3",))
    band = trace(figure, "all 9: 95 % interval")
    np.testing.assert_array_equal(band.y[:4], result.nll.hi[0, 1])
    np.testing.assert_array_equal(band.y[4:], result.nll.lo[0, 1][::-1])


def test_the_legend_names_each_kind_of_line_once(result):
    displayed = [
        line.name for line in label_budget(result, "beta", ("top-3",)).data if line.showlegend
    ]
    assert displayed == ["all 9: 95 % interval", "all 9: extrapolated"]


def test_colour_is_not_the_only_difference_between_the_panels(result):
    figure = label_budget(result, "beta", ("top-3",))
    first, other = trace(figure, "all 9"), trace(figure, "top-3")
    assert first.line.dash != other.line.dash
    assert first.marker.symbol != other.marker.symbol


def test_the_difference_has_its_band_and_its_intervals(result):
    figure = budget_difference(result, "beta", "top-3")
    line = trace(figure, "top-3, with 95 % at each budget")
    np.testing.assert_array_equal(line.y, result.delta.value[0, 0])
    np.testing.assert_allclose(line.y + line.error_y.array, result.delta.hi[0, 0])
    band = trace(figure, "95 % at all budgets together")
    np.testing.assert_array_equal(band.y[:4], result.band.hi[0, 0])


def test_without_intervals_or_another_panel_there_are_lines_alone(result):
    bare = replace(result, nll=Interval.alone(result.nll.value), curve_a=np.full((2, 2), np.nan))
    assert [line.name for line in label_budget(bare, "beta").data] == [
        "base rate",
        "all 9",
    ]
