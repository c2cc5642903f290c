"""The pipeline ablation in words."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.present.paper.pipeline import ablation_figure, ablation_sentence, ablation_table
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.pipeline_ablation import PIPELINE_ABLATION, PipelineAblationSpec
from judgepanel.studies.runner import run
from tests.helpers import drawn, make_votes, named


@cache
def result(panels=(3,)):
    spec = PipelineAblationSpec(settings=Settings(splits=4), panels=panels)
    return run(PIPELINE_ABLATION, make_votes(1, 90, 8), spec, jobs=1)


def moved(step, value, lo, hi):
    """The result with another change of NLL by a step."""
    changed, i = result(), result().steps.index(step)
    ends = [end.copy() for end in changed.delta]
    for end, number in zip(ends, (value, lo, hi), strict=True):
        end[-1, i] = number
    return replace(changed, delta=Interval(*ends))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((-0.54, -0.81, -0.27), "The residual correction lowers it by 0.54 [0.27, 0.81]"),
        ((0.2, 0.1, 0.3), "The residual correction raises it by 0.20 [0.10, 0.30]"),
        ((0.00001, -0.01, 0.01), "The residual correction changes little: 0.000 [-0.010, +0.010]"),
    ],
)
def test_a_step_lowers_or_raises_nll_only_where_its_interval_says_so(change, words):
    assert words in ablation_sentence(moved("1-2", *change))


def test_the_raw_score_stands_beside_the_base_rate_and_sets_beside_their_level():
    sentence = ablation_sentence(result())
    assert f"the raw score has NLL {result().nll.value[-1, 0]:.3f}" in sentence
    assert f"(base rate: {result().null_nll:.3f})" in sentence
    assert "sets at the 80 % level hold " in sentence
    assert "sets at the 90 % level hold " in sentence


def test_item_features_are_counted_and_their_gain_is_told_where_it_is_sure():
    ones = np.ones(2)
    sure = Interval(-0.15 * ones, -0.2 * ones, -0.1 * ones)
    changed = replace(result(), features=("length",), residual_delta=sure)
    sentence = ablation_sentence(changed)
    assert "Correcting with 1 item feature" in sentence
    assert "Without the correction the beta calibrator alone gets" in sentence
    unsure = ablation_sentence(replace(changed, residual_delta=replace(sure, hi=0.1 * ones)))
    assert "Without the correction" not in unsure


def test_one_split_says_nothing():
    assert ablation_sentence(replace(result(), n_splits=1)) == "Not enough splits yet to say."


def test_the_table_has_every_step_of_every_panel_and_sets_where_they_are():
    table = ablation_table(result())
    assert table["panel"].texts() == ["all 8"] * 5 + ["top-3"] * 5
    assert table["steps"].texts() == list(result().steps) * 2
    assert table["NLL"].numbers.tolist() == [*result().nll.value[-1], *result().nll.value[0]]
    steps = np.array(table["steps"].texts())
    assert set(steps[np.isfinite(table["covered at 80 %"].numbers)]) == {"1-4"}
    blank = [text == "" for text in table["against what it builds on"].texts()]
    assert blank == (steps == "1").tolist()


def test_all_judges_come_first_and_every_dot_is_where_the_result_says():
    *dots, base_rate = ablation_figure(result((3, 5))).data
    assert [trace.name for trace in dots] == ["all 8", "top-5", "top-3"]
    for row, trace in zip((-1, 1, 0), dots, strict=True):
        np.testing.assert_allclose(drawn(trace), tuple(result((3, 5)).nll[row]), rtol=1e-12)
    assert len({trace.marker.symbol for trace in dots}) == 3, "they differ without colour too"
    assert base_rate.name == "base rate"


def test_panels_of_a_step_lie_beside_each_other_near_its_label():
    figure = ablation_figure(result((3, 5)))
    rows = np.array([named(figure, name).y for name in ("all 8", "top-5", "top-3")])
    assert (np.diff(rows, axis=0) > 0.1).all()
    assert (np.abs(rows - np.array(figure.layout.yaxis.tickvals)) < 0.5).all()
    assert len(figure.layout.yaxis.ticktext) == len(result((3, 5)).steps)


def test_the_base_rate_is_a_line_across_all_steps():
    line = named(ablation_figure(result((3, 5))), "base rate")
    assert list(line.x) == [result((3, 5)).null_nll] * 2
    assert line.y[0] <= -0.5
    assert line.y[1] >= len(result((3, 5)).steps) - 0.5


def test_more_panels_than_can_be_told_apart_leave_out_the_smallest():
    *dots, _ = ablation_figure(result((2, 3, 4, 5))).data
    assert [trace.name for trace in dots] == ["all 8", "top-5", "top-4"]
