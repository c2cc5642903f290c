"""Coded ties: missing votes in every score, but distinct from votes that nobody gave."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.studies.codec import pack, unpack
from judgepanel.studies.contract import Settings, prepare
from judgepanel.votes import InputError, VoteMatrix, load_votes
from tests.helpers import make_votes

WIDE = """item_id,label,zoe,ann
i1,A,A,tie
i2,B,Both,B
i3,A,,A
i4,B,B,draw
"""
LONG = """item_id,judge,verdict,label
i1,zoe,A,A
i2,zoe,tie,B
i3,zoe,NA,A
i4,zoe,B,B
i1,ann,tie,A
i2,ann,B,B
i3,ann,A,A
i4,ann,tie,B
"""
OUTPUTS = """item_id,judge,output,label
i1,zoe,[[A]],A
i2,zoe,[[C]],B
i3,zoe,I cannot say,A
i4,zoe,[[B]],B
i1,ann,[[tie]],A
i2,ann,[[B]],B
i3,ann,[[A]],A
i4,ann,[[C]],B
"""


def loaded(tmp_path, text):
    path = tmp_path / "votes.csv"
    path.write_text(text)
    return load_votes(path).votes


@pytest.mark.parametrize("text", [WIDE, LONG, OUTPUTS], ids=["wide", "long", "outputs"])
def test_every_reader_tells_ties_from_blanks(tmp_path, text):
    votes = loaded(tmp_path, text)
    assert votes.judges == ("zoe", "ann")
    assert votes.ties.tolist() == [[False, True], [True, False], [False, False], [False, True]]
    assert (votes.votes[votes.ties] == -1).all()


def test_votes_that_differ_in_their_ties_alone_are_told_apart(tmp_path):
    texts = (WIDE, WIDE.replace("draw", ""), WIDE.replace("tie", "").replace("Both", "tie"))
    coded = [loaded(tmp_path, text) for text in texts]
    blank = replace(coded[0], ties=None)
    for votes in coded:
        assert votes.votes.tolist() == blank.votes.tolist()
    assert len({votes.sha256 for votes in (blank, *coded)}) == 4
    none = replace(blank, ties=np.zeros(blank.votes.shape, dtype=bool))
    assert none.sha256 == blank.sha256


def test_ties_follow_items_judges_and_storage(tmp_path):
    votes = loaded(tmp_path, WIDE)
    assert votes.with_judges(["ann"]).ties.tolist() == [[True], [False], [False], [True]]
    assert votes.with_items(np.array([1, 2])).ties.tolist() == [[True, False], [False, False]]
    assert np.array_equal(unpack(VoteMatrix, pack(votes)).ties, votes.ties)
    assert unpack(VoteMatrix, pack(make_votes(1, 10, 3))).ties is None


def test_ties_reach_the_checks_in_the_order_of_names(tmp_path):
    settings = Settings(orientation="as_given")
    votes = loaded(tmp_path, WIDE)
    prepared = prepare(votes, settings)
    assert prepared.judges == ("ann", "zoe")
    assert prepared.ballots.ties.sum(axis=0).tolist() == [2, 1]
    assert prepare(replace(votes, ties=None), settings).ballots.ties is None


def test_a_tie_cannot_be_a_vote():
    votes = make_votes(1, 10, 3)
    with pytest.raises(InputError, match="as a tie and as a verdict"):
        replace(votes, ties=votes.votes == 1)
    with pytest.raises(InputError, match="ties have shape"):
        replace(votes, ties=np.zeros((2, 2), dtype=bool))
