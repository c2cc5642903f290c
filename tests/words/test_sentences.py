"""The votes in one sentence."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.votes.simulate import sample_votes
from judgepanel.words.sentences import votes_sentence
from tests.helpers import make_votes


def labelled(*labels, task="pairwise"):
    votes = make_votes(0, len(labels), 2, task=task)
    return replace(votes, labels=np.array(labels, np.int8))


def repeated(votes, times):
    rows = np.tile(np.arange(votes.n_items), times)
    ids = tuple(f"{n}th" for n in range(len(rows)))
    copies = {"votes": votes.votes[rows], "labels": votes.labels[rows], "item_ids": ids}
    return replace(votes, **copies, features=None, groups=None)


@pytest.mark.parametrize(
    ("votes", "sentence"),
    [
        (labelled(0, 1, 0, 1), "4 items, 2 judges, all labelled, balanced: ready."),
        (labelled(0, 1, -1), "3 items, 2 judges, 2 labelled, balanced: ready."),
        (
            labelled(1, 1),
            "2 items, 2 judges, all labelled, every label is the same: see item order.",
        ),
        (labelled(-1, -1), "2 items, 2 judges, no labels."),
        (
            labelled(*[0] * 9, 1),
            "10 items, 2 judges, all labelled, lopsided (10 % of the rarer label): see item order.",
        ),
        (
            labelled(*[0] * 9, 1, task="pointwise"),
            "10 items, 2 judges, all labelled, lopsided (10 % of the rarer label): ready.",
        ),
    ],
)
def test_what_was_brought_in_one_sentence(votes, sentence):
    assert votes_sentence(votes) == sentence


def test_votes_with_copies_of_items_are_ready_once_they_are_grouped():
    votes = repeated(sample_votes("clean_pairwise"), 2)
    assert votes_sentence(votes) == "600 items, 24 judges, all labelled, balanced: items repeat."
    assert votes_sentence(votes, group_duplicates=True).endswith("balanced: ready.")
