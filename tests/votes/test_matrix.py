"""VoteMatrix: groups as codes, equality by content, and two matrices as one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.votes import MISSING, InputError, VoteMatrix
from judgepanel.votes.matrix import cached, joined
from tests.helpers import make_votes

VOTES = VoteMatrix(
    votes=np.array([[0, 1], [1, -1], [1, 1]]),
    labels=np.array([0, 1, 1]),
    item_ids=("first", "second", "third"),
    judges=("a", "b"),
)


def test_units_number_groups_as_they_appear_and_are_positions_without_groups():
    assert replace(VOTES, groups=("b", "a", "b")).units.tolist() == [0, 1, 0]
    assert VOTES.units.tolist() == [0, 1, 2]


def test_a_cached_function_tells_votes_apart_by_one_vote_only():
    calls = []

    @cached(4)
    def labels_of(votes):
        calls.append(votes)
        return votes.labels

    changed = VOTES.votes.copy()
    changed[0, 0] = 1
    labels_of(VOTES)
    labels_of(replace(VOTES, votes=VOTES.votes.copy()))
    assert len(calls) == 1
    labels_of(replace(VOTES, votes=changed))
    assert len(calls) == 2


def renamed(seed, n_items, n_judges, prefix):
    votes = make_votes(seed, n_items, n_judges)
    return replace(votes, item_ids=tuple(f"{prefix}{name}" for name in votes.item_ids))


def test_items_and_judges_of_both_are_there_and_nothing_else_changes():
    first, second = renamed(1, 30, 4, "a"), renamed(2, 20, 5, "b")
    both = joined(first, second)
    assert (both.item_ids, both.judges) == ((*first.item_ids, *second.item_ids), second.judges)
    assert (both.votes[:30, 4] == MISSING).all()
    assert both.with_items(np.arange(30)).with_judges(first.judges) == first
    assert both.with_items(np.arange(30, 50)) == second


def test_features_that_both_have_groups_and_grades_stay():
    first, second = renamed(1, 6, 2, "a"), renamed(2, 4, 2, "b")
    first = replace(first, features=pd.DataFrame({"x": list("abcdef"), "y": range(6)}))
    second = replace(second, features=pd.DataFrame({"x": list("uvwz")}), groups=tuple("ggkk"))
    both = joined(first, second)
    assert both.features.columns.tolist() == ["x"]
    assert both.features["x"].tolist() == list("abcdefuvwz")
    assert both.groups == (*first.item_ids, *"ggkk")


def graded(prefix, cut):
    grades = np.array([[0.2, np.nan], [0.9, np.nan], [0.7, np.nan], [0.1, np.nan]])
    votes = np.where(np.isnan(grades), 1, grades > cut).astype(np.int8)
    plain = renamed(3, 4, 2, prefix)
    return replace(plain, votes=votes, grades=grades, thresholds=np.array([cut, np.nan]))


def test_grades_cut_alike_are_joined_and_others_refused():
    both = joined(graded("a", 0.5), graded("b", 0.5))
    assert both.grades[:, 0].tolist() == [0.2, 0.9, 0.7, 0.1] * 2
    with pytest.raises(InputError, match="cut elsewhere than before"):
        joined(graded("a", 0.5), graded("b", 0.6))


def test_an_item_in_both_and_another_task_are_refused():
    first = renamed(1, 6, 2, "a")
    with pytest.raises(InputError, match="6 items are in both files"):
        joined(first, first)
    with pytest.raises(InputError, match="another task"):
        joined(first, replace(renamed(2, 4, 2, "b"), task="pointwise"))
