"""The figure of the calibration share draws the result, with label counts at the ticks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.present.paper.fraction_sweep import fraction_sweep
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.fraction_sweep import FRACTION_SWEEP, FractionSweepSpec
from judgepanel.studies.runner import run
from tests.helpers import make_votes


@pytest.fixture(scope="module")
def result():
    spec = FractionSweepSpec(Settings(splits=3), panels=(3,), shares=(0.2, 0.5))
    return run(FRACTION_SWEEP, make_votes(1, 120, 9), spec, jobs=1)


def test_lines_bands_and_null_are_the_result(result):
    figure = fraction_sweep(result, "beta", "top-3")
    by_name = {trace.name: trace for trace in figure.data}
    np.testing.assert_array_equal(by_name["all 9"].y, result.nll.value[0, 1])
    np.testing.assert_array_equal(by_name["top-3"].y, result.nll.value[0, 0])
    np.testing.assert_array_equal(by_name["base rate"].y, result.null_nll)
    np.testing.assert_array_equal(by_name["all 9: 95 % interval"].y[:2], result.nll.hi[0, 1])
    np.testing.assert_array_equal(by_name["all 9"].customdata, [[24, 96], [60, 60]])


def test_ticks_say_the_share_and_the_number_of_labels(result):
    figure = fraction_sweep(result, "temperature")
    assert list(figure.layout.xaxis.ticktext) == ["20 %<br>24", "50 %<br>60"]
    assert "top-3" not in {trace.name for trace in figure.data}
    crowded = replace(
        result,
        shares=np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.7]),
        labels=np.arange(6.0),
        evaluated=np.arange(6.0),
        null_nll=np.ones(6),
        nll=Interval.full((2, 2, 6), 0.5),
    )
    ticks = fraction_sweep(crowded, "beta").layout.xaxis.tickvals
    np.testing.assert_allclose(ticks, [10, 30, 50, 70])


def test_the_share_that_is_enough_is_marked_where_it_is_known(result):
    (line,) = fraction_sweep(result, "beta").layout.shapes
    assert 20 <= line.x0 <= 50
    assert not fraction_sweep(replace(result, needed=()), "beta").layout.shapes
