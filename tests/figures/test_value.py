"""Figures of values draw the result; each status has its own colour and symbol."""

from dataclasses import replace
from functools import cache

import numpy as np

from judgepanel.decision.statuses import STATUSES, JudgeStatus, statuses
from judgepanel.figures.dots import LOOKS, removal_figure, value_figure
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.value import VALUE, ValueSpec
from judgepanel.studies.runner import run
from tests.helpers import drawn, make_votes

SPEC = ValueSpec(
    Settings(splits=3), aggregator="one_coin", calibrator="temperature", permutations=8
)


@cache
def result():
    return run(VALUE, make_votes(2, 80, 6), SPEC, jobs=1)


def test_no_status_is_told_by_colour_alone():
    assert set(LOOKS) == set(STATUSES)
    assert len({colour for colour, _ in LOOKS.values()}) == len(LOOKS)
    assert len({symbol for _, symbol in LOOKS.values()}) == len(LOOKS)


def test_every_judge_is_drawn_once_with_its_interval():
    figure = value_figure(result())
    ends = {}
    for trace in figure.data:
        ends |= zip(trace.text, zip(*drawn(trace), strict=True), strict=True)
    assert len(ends) == 6
    values = [ends[name][0] for name in figure.layout.yaxis.ticktext]
    assert values == sorted(values)
    for judge in result().judges:
        np.testing.assert_allclose(ends[judge.judge], tuple(judge.value))


def test_statuses_can_be_given_and_are_counted_in_the_legend():
    kinds = (*STATUSES, *STATUSES[:2], "fails a check")
    names = [*(judge.judge for judge in result().judges), "only the checks know it"]
    given = tuple(JudgeStatus(*pair, "why", None) for pair in zip(names, kinds, strict=True))
    for some in (given[:-1], given):
        assert {trace.name for trace in value_figure(result(), some).data if trace.name} == {
            *("helps (2)", "could go (2)", "fails a check (1)", "unsettled (1)")
        }
    assert len(statuses(result())) == 6


def test_the_curve_of_removal_starts_at_all_judges():
    points = [trace for trace in removal_figure(result()).data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in points) == len(result().removal) + 1
    assert len({trace.marker.symbol for trace in points}) == len(points)
    (first,) = (trace for trace in points if 0 in trace.x)
    assert first.y[0] == 0.0
    assert list(first.customdata[0][:2]) == [0, result().nll_all.value]


def test_a_last_step_that_dwarfs_the_others_is_named_beyond_the_axis():
    *rows, last = result().removal
    change = 50.0 * max(abs(row.band.hi) for row in rows)
    beyond = replace(last, delta=Interval.single(change, change, change))
    figure = removal_figure(replace(result(), removal=(*rows, beyond)))
    assert figure.layout.yaxis.range[1] < change
    assert f"without {last.m}" in figure.layout.annotations[0].text
    level = replace(last, delta=Interval.single(0.0, 0.0, 0.0))
    plain = removal_figure(replace(result(), removal=(*rows, level)))
    assert plain.layout.yaxis.range is None
