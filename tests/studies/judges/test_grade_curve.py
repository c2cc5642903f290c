"""The share of right votes of a judge by the distance of its grades from the threshold."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.present.blocks import Figure, Table
from judgepanel.present.understand.judges import (
    grade_blocks,
    grade_figure,
    grade_sentence,
    grade_table,
    grades_figure,
    grades_sentence,
    grades_table,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.understand.judge_table import grade_curve, grade_curves
from judgepanel.votes import MISSING
from tests.helpers import flip_items, make_votes, with_grades

VOTES = with_grades(make_votes(0, 200, 6))


def curve_of(votes, judge, orientation="as_given"):
    return grade_curve(prepare(votes, Settings(orientation=orientation)), judge)


@pytest.mark.parametrize("judge", ["judge000", "judge001"])
def test_shares_are_those_of_a_plain_count(judge):
    curve = curve_of(VOTES, judge)
    j = VOTES.judges.index(judge)
    margins = np.abs(VOTES.grades[:, j] - VOTES.thresholds[j])
    voted = VOTES.votes[:, j] != MISSING
    assert curve.voted.sum() == voted.sum()
    for band, (low, high) in enumerate(zip(curve.nearest, curve.farthest, strict=True)):
        rows = voted & (margins > low - 1e-9) & (margins < high + 1e-9)
        right = VOTES.votes[rows, j] == VOTES.labels[rows]
        assert (curve.voted[band], curve.correct[band]) == (rows.sum(), right.sum())
        assert curve.accuracy.value[band] == pytest.approx(right.mean())
        assert low <= curve.median[band] <= high
    assert (curve.nearest[1:] > curve.farthest[:-1]).all()


def test_a_judge_of_votes_has_no_curve():
    assert curve_of(VOTES, "judge002") is None
    assert curve_of(replace(VOTES, grades=None, thresholds=None), "judge000") is None
    assert curve_of(VOTES, "nobody") is None


def test_swapped_items_have_the_same_curve():
    swapped = flip_items(VOTES, np.arange(200) % 2 == 0)
    one, other = (curve_of(votes, "judge000", "symmetric") for votes in (VOTES, swapped))
    assert one.correct.tolist() == other.correct.tolist()
    assert one.voted.tolist() == other.voted.tolist()


def test_the_sentence_claims_no_more_than_the_intervals_show():
    curve = curve_of(VOTES, "judge000")
    apart = curve.accuracy.lo[-1] > curve.accuracy.hi[0]
    assert grade_sentence(curve).startswith("Grades tell more than votes") == apart
    grades = np.where(VOTES.votes < 0, np.nan, 0.2 + 0.6 * VOTES.votes)
    flat = replace(VOTES, grades=grades, thresholds=np.full(6, 0.5))
    assert "tell no more than its votes" in grade_sentence(curve_of(flat, "judge000"))


def test_figure_and_table_show_every_band():
    curve = curve_of(VOTES, "judge000")
    (trace,) = grade_figure(curve).data
    assert list(trace.y) == curve.accuracy.value.tolist()
    assert {len(column) for column in grade_table(curve).values()} == {len(curve.voted)}


def test_ends_of_a_band_have_the_digits_that_tell_them_apart():
    near, far = np.array([0.1, 0.49998, 0.5]), np.array([0.3, 0.49999, 0.5])
    curve = replace(
        curve_of(VOTES, "judge000"),
        nearest=near,
        farthest=far,
        correct=np.full(3, 9),
        voted=np.full(3, 10),
        accuracy=Interval(np.full(3, 0.9), np.full(3, 0.6), np.full(3, 1.0)),
    )
    assert grade_table(curve)["distance"].texts() == [
        "0.100 to 0.300",
        "0.49998 to 0.49999",
        "0.500",
    ]


def test_all_curves_are_those_of_the_judges_with_grades_most_accurate_first():
    prepared = prepare(VOTES, Settings(orientation="as_given"))
    curves = grade_curves(prepared)
    assert sorted(curve.judge for curve in curves) == [
        name for name in VOTES.judges if grade_curve(prepared, name) is not None
    ]
    rates = [curve.correct.sum() / curve.voted.sum() for curve in curves]
    assert rates == sorted(rates, reverse=True)
    for curve in curves:
        assert (np.diff(curve.nearer) > 0).all()
        assert 0 < curve.nearer[0] < curve.nearer[-1] < 1


def test_figure_table_and_sentence_of_all_judges_agree():
    curves = grade_curves(prepare(VOTES, Settings(orientation="as_given")))
    traces = {trace.name: trace for trace in grades_figure(curves).data}
    assert {curve.judge for curve in curves} == set(traces)
    for curve in curves:
        assert list(traces[curve.judge].y) == curve.accuracy.value.tolist()
    tells = grades_table(curves)["tells more than votes"].texts()
    assert f"{tells.count('yes')} ha" in grades_sentence(curves)


def test_blocks_hold_one_figure_and_one_table_if_any_judge_gave_grades():
    curves = grade_curves(prepare(VOTES, Settings(orientation="as_given")))
    for some in (curves, curves[:1]):
        blocks = grade_blocks(some)
        assert [type(block) for block in blocks if isinstance(block, Figure | Table)] == [
            Figure,
            Table,
        ]
    assert grade_sentence(curves[0]) in [getattr(block, "text", "") for block in blocks]
    assert not grade_blocks(())
