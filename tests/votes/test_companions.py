"""Labels in a separate file, joined by item id."""

import numpy as np
import pytest

from judgepanel.votes import InputError, load_votes

WIDE = "item_id,a,b\nq1,1,0\nq2,0,1\nq3,1,1\nq4,0,0\n"
LONG = "item,worker,label\nq1,a,1\nq1,b,0\nq2,a,0\nq2,b,1\nq3,a,1\nq3,b,1\nq4,a,0\nq4,b,0\n"
GOLD = "item_id,label\nq1,1\nq2,0\nq3,1\nq4,0\n"


def read(votes, labels, **given):
    given = {"labels": labels.encode(), **given} if isinstance(labels, str) else given
    return load_votes(votes.encode(), name="votes.csv", **given)


def refusal(votes, labels, **given):
    with pytest.raises(InputError) as caught:
        read(votes, labels, **given)
    return str(caught.value)


def with_labels(labels):
    rows = [line.split(",") for line in WIDE.splitlines()]
    lines = [
        f"{row[0]},{label},{','.join(row[1:])}" for row, label in zip(rows, labels, strict=True)
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "labels",
    [
        GOLD,
        "label,item_id\n0,q4\n1,q3\n0,q2\n1,q1\n",
        "id;comment;gold\n q1 ;x;A\nq2;x;B\nq3;y;A\nq4;z;B\n",
        "item_id,label\nq1,1\nq1,true\nq1,\nq2,0\nq3,1\nq4,0\nq9,1\n",
        '[{"item": "q1", "truth": 1}, {"item": "q2", "truth": 0}, {"item": "q3", "truth": 1}, '
        '{"item": "q4", "truth": 0}]',
        "example,the answer\nq1,1\nq2,0\nq3,1\nq4,0\n",
        "this,label\nq1,1\nq2,0\nq3,1\nq4,0\n",
    ],
)
def test_labels_of_another_file_are_those_of_the_same_file(labels):
    beside = read(with_labels(["label", "1", "0", "1", "0"]), None).votes
    assert read(WIDE, labels).votes.sha256 == beside.sha256


def test_labels_of_another_file_fill_those_that_are_blank():
    """As when drawn items come back labelled; synonyms are the same label."""
    together = read(with_labels(["label", "1", "0", "1", "0"]), None).votes
    some = with_labels(["label", "A", "", "", "B"])
    assert read(some, GOLD).votes.labels.tolist() == together.labels.tolist()
    assert read(some, "item_id,label\nq2,0\nq3,1\n").votes.labels.tolist() == [1, 0, 1, 0]


def test_a_long_file_whose_label_is_the_verdict_takes_them_too():
    long = read(LONG, GOLD).votes
    assert long.labels.tolist() == [1, 0, 1, 0]
    np.testing.assert_array_equal(long.votes, read(WIDE, GOLD).votes.votes)


def test_items_without_a_label_are_not_labelled_and_a_note_counts_both_kinds():
    labels = "item_id,gold\nq1,1\nq2,0\nq3,1\nq4,\nq8,1\nq9,0\n"
    loaded = read(WIDE + "q5,1,1\nq6,0,1\n", labels + "q6,0\n")
    assert loaded.votes.labels.tolist() == [1, 0, 1, -1, -1, 0]
    assert (
        "Labels are read from 'the label table', column 'gold', by the ids in 'item_id': 4 of 6 "
        "items have one there." in loaded.warnings
    )
    strangers = "has labels for 2 items that are not among the votes: 'q8', 'q9'."
    assert f"'the label table' {strangers}" in loaded.warnings


def test_votes_that_differ_in_a_file_of_labels_are_counted_and_not_read():
    loaded = read(WIDE, "item_id,a,gold\nq4,0,0\nq2,1,0\nq1,1,1\nq3,1,1\nq9,1,0\n")
    np.testing.assert_array_equal(loaded.votes.votes, read(WIDE, GOLD).votes.votes)
    note = "1 vote differs in 'the label table' from those of 'votes.csv', which are read."
    assert note in loaded.warnings


def test_names_of_models_and_ones_and_twos_are_labels():
    votes = "item_id,model_a,model_b,x,z1\nq1,m,n,m,n\nq2,n,m,m,m\nq3,m,n,n,n\nq4,n,m,n,m\n"
    labels = "item_id,winner\nq1,m\nq2,m\nq3,n\nq4,n\n"
    assert read(votes, labels, label_column="winner").votes.labels.tolist() == [1, 0, 0, 1]
    ones_and_twos = read(WIDE.replace("0", "2"), GOLD.replace("0", "2")).votes
    assert ones_and_twos.labels.tolist() == [1, 0, 1, 0]


ONLY = {
    "another word": ("item_id,label\nq1,1\nq2,maybe\n",
        ", row 3, column 'label': not a label; unknown: 'maybe' (1)"),
    "two labels": ("item_id,label\nq1,1\nq2,0\nq1,0\n",
        ", row 4, column 'label': this item has another label in row 2"),
    "other ids": ("item_id,label\n1,1\n2,0\n",
        ", column 'item_id': none of these item ids is in 'votes.csv' (found '1'); allowed: ids as "
        "there in column 'item_id', such as 'q1'; write the same ids in both files"),
    "no ids": ("code,label,note\nq1,1,x\n", ", row 1: the label table has no column of item ids"),
    "no labels": ("item_id,one,two\nq1,1,1\n",
        ", row 1: there is no label column; allowed: a column named label"),
    "an empty id": ("item_id,label\n,1\n", ", row 2, column 'item_id': the item id is"),
    "empty labels": ("item_id,label\nq1,\nq2,\n", "column 'label': all labels are missing"),
}  # fmt: skip
"""Files of labels that are refused whatever the votes."""


@pytest.mark.parametrize("case", ONLY)
def test_labels_that_cannot_be_joined_are_refused_where_they_stand(case):
    labels, sentence = ONLY[case]
    sentence = f"the label table{sentence}" if sentence.startswith(",") else sentence
    assert sentence in refusal(WIDE, labels)


def test_votes_that_labels_cannot_be_joined_to_are_refused_where_they_stand():
    assert refusal(with_labels(["gold", "1", "", "0", "0"]), GOLD).startswith(
        "votes.csv, row 4, column 'gold': this item has another label in 'the label table': '1' "
        "(found '0'); allowed: the same label in both files; correct one of them, or leave one "
        "blank"
    )
    assert refusal("a,b\n1,0\n0,1\n", GOLD).startswith(
        "votes.csv, row 1: there is no column of item ids to find labels by in 'the label table'; "
        "allowed: a column with the same ids in both files; name the id column with"
    )
    assert refusal(WIDE, GOLD, label_column="verified").startswith(
        "the label table, row 1, column 'verified': there is no such column; allowed: item_id, "
        "label; name the label column"
    )


def test_labels_of_the_votes_can_be_left_out_for_those_of_the_other_file():
    loaded = read(with_labels(["label", "0", "1", "0", "1"]), GOLD, ignore=["label"])
    assert (loaded.votes.labels.tolist(), loaded.votes.judges) == ([1, 0, 1, 0], ("a", "b"))


def test_ids_that_are_columns_of_the_votes_suggest_to_turn_these():
    votes = "person,apple,river,stone,cloud\np0,1,0,1,0\np1,1,1,0,0\n"
    labels = "item_id,label\napple,1\nriver,0\nstone,1\ncloud,0\n"
    for rows in (votes, votes + "p2,1,0,1,1\np3,0,0,1,0\n"):
        assert "if its rows are judges, turn it with --transpose" in refusal(rows, labels)
    turned = read(votes, labels, transpose=True).votes
    assert (turned.judges, turned.item_ids) == (("p0", "p1"), ("apple", "river", "stone", "cloud"))
