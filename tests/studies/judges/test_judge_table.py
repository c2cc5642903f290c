"""Each judge by itself: counts by hand, Wilson's interval by its equation."""

import math
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
from judgepanel.studies.understand import judge_table
from judgepanel.votes import MISSING
from judgepanel.votes.table import LEVELS, REASONS, Coverage, JudgeCoverage
from judgepanel.words.outputs import coverage_sentence, position_sentence
from tests.helpers import flip_items, make_votes, with_grades


def test_without_trials_nothing_is_known():
    lo, hi = judge_table.wilson(np.array([0]), np.array([0]))
    assert (lo[0], hi[0]) == (0.0, 1.0)


def test_only_labelled_items_count_for_accuracy_and_all_for_coverage():
    cast = np.array([[1, -1], [0, -1], [1, -1], [-1, -1]], np.int8)
    votes = replace(make_votes(0, 4, 2), votes=cast, labels=np.array([1, 1, -1, 0], np.int8))
    table = judge_table.judge_table(votes)
    assert (table.correct.tolist(), table.voted.tolist()) == ([1, 0], [2, 0])
    assert table.accuracy.value[0] == 0.5
    assert math.isnan(table.accuracy.value[1])
    assert table.coverage.tolist() == [0.75, 0.0]


def test_constant_judges_are_marked_and_the_best_come_first():
    votes = make_votes(3, 40, 3, missing=0.0)
    cells = np.array(votes.votes)
    cells[:, 1] = 1
    frame = judge_table.judge_table(replace(votes, votes=cells)).frame()
    assert frame["accuracy"].is_monotonic_decreasing
    assert frame.loc[frame["constant"], "judge"].tolist() == ["judge001"]


def judge(name, read, unread=0, both=0, same=0, first=0):
    levels = (read, *[0] * (len(LEVELS) - 1))
    reasons = (*[0] * (len(REASONS) - 1), unread)
    return JudgeCoverage(name, read + unread, levels, reasons, 0, both, same, first)


def coverage(*judges):
    return Coverage(judges, ())


def test_consistency_and_lean_are_shares_of_items_in_both_orders():
    result = judge_table.positions(
        coverage(judge("x", 200, both=100, same=60, first=30), judge("y", 5))
    )
    assert result is not None
    assert result.judges == ("x",)
    consistent, lean = result.consistent[0], result.lean[0]
    assert (consistent.value, lean.value) == (0.6, 0.2)
    assert consistent.lo < 0.6 < consistent.hi
    assert 0 < lean.lo < 0.2 < lean.hi < 0.4


def test_without_both_orders_there_is_nothing_to_say():
    assert judge_table.positions(coverage(judge("x", 20))) is None


def test_lean_changes_its_sign_with_the_places():
    first, second, items = (np.array([n]) for n in (17, 4, 80))
    lo, hi = judge_table.lean_interval(first, second, items)
    other_lo, other_hi = judge_table.lean_interval(second, first, items)
    assert (lo, hi) == (pytest.approx(-other_hi), pytest.approx(-other_lo))


@pytest.mark.parametrize(("items", "shares"), [(30, (0.1, 0.1)), (100, (0.3, 0.05)), (400, (0, 0))])
def test_the_interval_of_the_lean_covers(items, shares):
    rng = np.random.default_rng(3)
    first, second, _ = rng.multinomial(items, [*shares, 1 - sum(shares)], size=4_000).T
    lo, hi = judge_table.lean_interval(first, second, np.full(4_000, items))
    true = shares[0] - shares[1]
    assert ((lo <= true) & (true <= hi)).mean() >= 0.93


def test_the_sentence_names_the_least_consistent_and_counts_who_leans():
    result = judge_table.positions(
        coverage(
            judge("steady", 200, both=100, same=99, first=1),
            judge("**first**", 200, both=100, same=40, first=60),
            judge("second", 200, both=100, same=70, first=2),
        )
    )
    assert result is not None
    sentence = position_sentence(result)
    least = "3 judges saw items in both orders. The least consistent by the upper limit, **first**"
    assert least in sentence
    assert sentence.endswith(
        "1 judge prefers what is shown first; 1 judge prefers what is shown second."
    )


@pytest.mark.parametrize(
    ("unread", "outcome"), [(10, "pass"), (11, "review"), (29, "review"), (30, "fail")]
)
def test_p1_on_outputs_follows_the_papers_thresholds(unread, outcome):
    outputs = judge_table.check_outputs(coverage(judge("x", 100), judge("y", 100 - unread, unread)))
    assert (outputs.code, outputs.outcome) == ("P1", outcome)
    assert f"'y': {100 - unread} %" in outputs.why


def test_the_answer_names_the_judge_that_is_read_least():
    some, all_read = coverage(judge("x", 100), judge("y", 54, 46)), coverage(judge("x", 10))
    rest = "outputs are read as a verdict"
    assert coverage_sentence(some) == f"77.0 % of 200 {rest}; y the least, 54 %."
    assert coverage_sentence(all_read) == f"100 % of 10 {rest}."


def test_one_item_makes_nobody_the_least_consistent():
    result = judge_table.positions(
        coverage(judge("once", 2, both=1, same=0, first=1), judge("often", 200, both=100, same=50))
    )
    assert result is not None
    assert "by the upper limit, often, says the same in both on 50 %" in position_sentence(result)


VOTES = with_grades(make_votes(0, 200, 6))


def curve_of(votes, judge, orientation="as_given"):
    return judge_table.grade_curve(prepare(votes, Settings(orientation=orientation)), judge)


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
    nine, ten = np.full(3, 9), np.full(3, 10)
    rate = {"correct": nine, "voted": ten, "accuracy": Interval(nine / 10, nine / 15, ten / 10)}
    curve = replace(curve_of(VOTES, "judge000"), nearest=near, farthest=far, **rate)
    ends = ["0.100 to 0.300", "0.49998 to 0.49999", "0.500"]
    assert grade_table(curve)["distance"].texts() == ends


def test_all_curves_are_those_of_the_judges_with_grades_most_accurate_first():
    prepared = prepare(VOTES, Settings(orientation="as_given"))
    curves = judge_table.grade_curves(prepared)
    assert sorted(curve.judge for curve in curves) == [
        name for name in VOTES.judges if judge_table.grade_curve(prepared, name) is not None
    ]
    rates = [curve.correct.sum() / curve.voted.sum() for curve in curves]
    assert rates == sorted(rates, reverse=True)
    for curve in curves:
        assert (np.diff(curve.nearer) > 0).all()
        assert 0 < curve.nearer[0] < curve.nearer[-1] < 1


def test_figure_table_and_sentence_of_all_judges_agree():
    curves = judge_table.grade_curves(prepare(VOTES, Settings(orientation="as_given")))
    traces = {trace.name: trace for trace in grades_figure(curves).data}
    assert {curve.judge for curve in curves} == set(traces)
    for curve in curves:
        assert list(traces[curve.judge].y) == curve.accuracy.value.tolist()
    tells = grades_table(curves)["tells more than votes"].texts()
    assert f"{tells.count('yes')} ha" in grades_sentence(curves)


def test_blocks_hold_one_figure_and_one_table_if_any_judge_gave_grades():
    curves = judge_table.grade_curves(prepare(VOTES, Settings(orientation="as_given")))
    for some in (curves, curves[:1]):
        blocks = grade_blocks(some)
        kinds = [type(block) for block in blocks if isinstance(block, Figure | Table)]
        assert kinds == [Figure, Table]
    assert grade_sentence(curves[0]) in [getattr(block, "text", "") for block in blocks]
    assert not grade_blocks(())
