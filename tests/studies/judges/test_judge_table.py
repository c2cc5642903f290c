"""Each judge by itself: counts by hand, Wilson's interval by its equation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judgepanel.studies.understand.judge_table import judge_table, wilson
from tests.helpers import make_votes


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_bounds_solve_wilsons_equation(counts):
    """(p - share)^2 = z^2 p (1 - p) / n at both ends."""
    c, n = counts
    z = stats.norm.ppf(0.975)
    for bound in wilson(np.array([c]), np.array([n])):
        p = float(bound[0])
        assert (p - c / n) ** 2 == pytest.approx(z * z * p * (1 - p) / n, rel=1e-6, abs=1e-12)


@given(st.integers(0, 60), st.integers(0, 60))
def test_swapping_right_and_wrong_mirrors_the_interval(c, w):
    lo, hi = wilson(np.array([c, w]), np.array([c + w, c + w]))
    assert lo[0] == pytest.approx(1 - hi[1], abs=1e-12)
    assert 0 <= lo[0] <= hi[0] <= 1


def test_without_trials_nothing_is_known():
    lo, hi = wilson(np.array([0]), np.array([0]))
    assert (lo[0], hi[0]) == (0.0, 1.0)


def test_only_labelled_items_count_for_accuracy_and_all_for_coverage():
    votes = replace(
        make_votes(0, 4, 2),
        votes=np.array([[1, -1], [0, -1], [1, -1], [-1, -1]], np.int8),
        labels=np.array([1, 1, -1, 0], np.int8),
    )
    table = judge_table(votes)
    assert table.correct.tolist() == [1, 0]
    assert table.voted.tolist() == [2, 0]
    assert table.accuracy.value[0] == 0.5
    assert math.isnan(table.accuracy.value[1])
    assert table.coverage.tolist() == [0.75, 0.0]


def test_constant_judges_are_marked_and_the_best_come_first():
    votes = make_votes(3, 40, 3, missing=0.0)
    cells = np.array(votes.votes)
    cells[:, 1] = 1
    frame = judge_table(replace(votes, votes=cells)).frame()
    assert frame["accuracy"].is_monotonic_decreasing
    assert frame.loc[frame["constant"], "judge"].tolist() == ["judge001"]
