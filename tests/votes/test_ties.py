"""Coded ties: missing votes in every score, but distinct from votes that nobody gave."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.studies import codec, contract
from judgepanel.votes import InputError, VoteMatrix, load_votes
from tests.helpers import make_votes

WIDE = """item_id,label,zoe,ann
i1,A,A,tie
i2,B,Both,B
i3,A,,A
i4,B,B,draw
"""


def by_row(column, zoe, ann):
    """The same in a file with one row per vote: what zoe said of each item, then ann."""
    rows = [
        f"i{k},{judge},{word},{label}\n"
        for judge, words in (("zoe", zoe), ("ann", ann))
        for k, (word, label) in enumerate(zip(words, "ABAB", strict=True), 1)
    ]
    return "".join([f"item_id,judge,{column},label\n", *rows])


LONG = by_row("verdict", ("A", "tie", "NA", "B"), ("tie", "B", "A", "tie"))
OUTPUTS = by_row(
    "output", ("[[A]]", "[[C]]", "I cannot say", "[[B]]"), ("[[tie]]", "[[B]]", "[[A]]", "[[C]]")
)


def loaded(text):
    return load_votes(text.encode(), name="votes.csv").votes


@pytest.mark.parametrize("text", [WIDE, LONG, OUTPUTS], ids=["wide", "long", "outputs"])
def test_every_reader_tells_ties_from_blanks(text):
    votes = loaded(text)
    assert votes.judges == ("zoe", "ann")
    assert votes.ties.tolist() == [[False, True], [True, False], [False, False], [False, True]]
    assert (votes.votes[votes.ties] == -1).all()


def test_votes_that_differ_in_their_ties_alone_are_told_apart():
    texts = (WIDE, WIDE.replace("draw", ""), WIDE.replace("tie", "").replace("Both", "tie"))
    coded = [loaded(text) for text in texts]
    blank = replace(coded[0], ties=None)
    for votes in coded:
        assert votes.votes.tolist() == blank.votes.tolist()
    assert len({votes.sha256 for votes in (blank, *coded)}) == 4
    assert replace(blank, ties=np.zeros(blank.votes.shape, dtype=bool)).sha256 == blank.sha256


def test_ties_follow_items_judges_and_storage():
    votes = loaded(WIDE)
    assert votes.with_judges(["ann"]).ties.tolist() == [[True], [False], [False], [True]]
    assert votes.with_items(np.array([1, 2])).ties.tolist() == [[True, False], [False, False]]
    assert np.array_equal(codec.unpack(VoteMatrix, codec.pack(votes)).ties, votes.ties)
    assert codec.unpack(VoteMatrix, codec.pack(make_votes(1, 10, 3))).ties is None


def test_ties_reach_the_checks_in_the_order_of_names():
    settings = contract.Settings(orientation="as_given")
    votes = loaded(WIDE)
    prepared = contract.prepare(votes, settings)
    assert (prepared.judges, prepared.ballots.ties.sum(axis=0).tolist()) == (("ann", "zoe"), [2, 1])
    assert contract.prepare(replace(votes, ties=None), settings).ballots.ties is None


def test_a_tie_cannot_be_a_vote():
    votes = make_votes(1, 10, 3)
    with pytest.raises(InputError, match="as a tie and as a verdict"):
        replace(votes, ties=votes.votes == 1)
    with pytest.raises(InputError, match="ties have shape"):
        replace(votes, ties=np.zeros((2, 2), dtype=bool))
