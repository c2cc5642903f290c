"""The shapes of calibrators: the right lines, distinguishable without colour."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from judgepanel.kernels.calibration import CALIBRATORS
from judgepanel.present.paper.calibrator_design import design_figure
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.calibrator_design import (
    CALIBRATOR_DESIGN,
    CalibratorDesign,
    CalibratorDesignSpec,
)
from judgepanel.studies.runner import run
from judgepanel.words.sentences import CALIBRATOR_NAMES
from tests.helpers import make_votes


@cache
def design(orientation: str = "auto") -> CalibratorDesign:
    settings = Settings(splits=2, orientation=orientation)  # type: ignore[arg-type]
    spec = CalibratorDesignSpec(settings=settings, panels=())
    return run(CALIBRATOR_DESIGN, make_votes(1, 90, 8), spec, jobs=1)


def test_lines_come_in_the_order_asked_for_and_unknown_ones_are_left_out() -> None:
    lines = design_figure(design(), ("beta", "no such", "none")).data
    assert [line.name for line in lines] == [CALIBRATOR_NAMES[name] for name in ("beta", "none")]
    row = design().calibrators.index("beta")
    assert list(lines[0].y) == design().shape[row].tolist()


def test_every_line_is_drawn_over_all_scores_in_order() -> None:
    figure = design_figure(design())
    assert [trace.name for trace in figure.data] == [CALIBRATOR_NAMES[n] for n in CALIBRATORS]
    for trace, p in zip(figure.data, design().shape, strict=True):
        assert list(trace.x) == design().shape_logit.tolist() == sorted(trace.x)
        assert list(trace.y) == p.tolist()
        assert 0.0 < min(trace.y) <= max(trace.y) < 1.0


def test_any_two_calibrators_are_told_apart_without_colour() -> None:
    figure = design_figure(design())
    looks = {trace.name: (trace.line.dash, trace.marker.symbol) for trace in figure.data}
    for first, other in combinations(looks, 2):
        assert looks[first] != looks[other], (first, other)


def test_lines_that_lie_on_each_other_are_marked_in_different_places() -> None:
    figure = design_figure(design("symmetric"), ("temperature", "platt"))
    first, other = figure.data
    np.testing.assert_allclose(first.y, other.y, atol=1e-6)
    places = [
        {x for x, size in zip(t.x, t.marker.size, strict=True) if size} for t in (first, other)
    ]
    assert min(len(place) for place in places) >= 5
    assert places[0].isdisjoint(places[1])


def test_the_raw_score_is_smooth_where_it_rises() -> None:
    (line,) = design_figure(design(), ("none",)).data
    assert np.abs(np.diff(line.y)).max() < 0.08


def test_nothing_chosen_is_an_empty_figure_with_its_axes() -> None:
    figure = design_figure(design(), ())
    assert len(figure.data) == 0
    assert figure.layout.xaxis.title.text == "raw score (logit)"


@pytest.mark.parametrize("points", [1, 2])
def test_few_distinct_scores_are_drawn(points: int) -> None:
    some = design()
    few = replace(some, shape_logit=some.shape_logit[:points], shape=some.shape[:, :points])
    figure = design_figure(few, ("none", "beta"))
    assert [len(trace.x) for trace in figure.data] == [points, points]
