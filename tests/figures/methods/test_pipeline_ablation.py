"""The steps of the pipeline as dots: every step and panel at its place."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from judgepanel.present.paper.pipeline_ablation import ablation_figure
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.pipeline_ablation import (
    PIPELINE_ABLATION,
    PipelineAblation,
    PipelineAblationSpec,
)
from judgepanel.studies.runner import run
from tests.helpers import make_votes


@cache
def result(panels: tuple[int, ...] = (3, 5)) -> PipelineAblation:
    spec = PipelineAblationSpec(settings=Settings(splits=4), panels=panels)
    return run(PIPELINE_ABLATION, make_votes(1, 90, 8), spec, jobs=1)


def named(figure: Any, name: str) -> Any:
    (trace,) = [trace for trace in figure.data if trace.name == name]
    return trace


def test_all_judges_come_first_and_every_dot_is_where_the_result_says() -> None:
    figure = ablation_figure(result())
    assert [trace.name for trace in figure.data] == [
        "all 8",
        "top-5",
        "top-3",
        "base rate",
    ]
    for row, name in ((-1, "all 8"), (1, "top-5"), (0, "top-3")):
        trace = named(figure, name)
        assert list(trace.x) == result().nll.value[row].tolist()
        np.testing.assert_allclose(
            np.array(trace.x) + trace.error_x.array, result().nll.hi[row], rtol=1e-12
        )
        np.testing.assert_allclose(
            np.array(trace.x) - trace.error_x.arrayminus, result().nll.lo[row], rtol=1e-12
        )


def test_panels_of_a_step_lie_beside_each_other_near_its_label() -> None:
    figure = ablation_figure(result())
    rows = np.array([named(figure, name).y for name in ("all 8", "top-5", "top-3")])
    assert (np.diff(rows, axis=0) > 0.1).all()
    assert (np.abs(rows - np.array(figure.layout.yaxis.tickvals)) < 0.5).all()
    assert len(figure.layout.yaxis.ticktext) == len(result().steps)


def test_the_base_rate_is_a_line_across_all_steps() -> None:
    line = named(ablation_figure(result()), "base rate")
    assert list(line.x) == [result().null_nll] * 2
    assert line.y[0] <= -0.5
    assert line.y[1] >= len(result().steps) - 0.5


def test_panels_differ_in_symbol_and_not_in_colour_alone() -> None:
    figure = ablation_figure(result())
    assert len({trace.marker.symbol for trace in figure.data[:3]}) == 3


def test_more_panels_than_can_be_told_apart_leave_out_the_smallest() -> None:
    *dots, _ = ablation_figure(result((2, 3, 4, 5))).data
    assert [trace.name for trace in dots] == ["all 8", "top-5", "top-4"]
