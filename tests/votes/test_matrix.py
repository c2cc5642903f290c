"""VoteMatrix: groups as codes, and equality by content."""

from dataclasses import replace

import numpy as np

from judgepanel.votes import VoteMatrix
from judgepanel.votes.matrix import cached

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
