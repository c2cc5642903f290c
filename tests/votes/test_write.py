from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from judgepanel.votes import InputError, VoteMatrix, load_votes, write_votes
from judgepanel.votes.companions import write_judges
from tests.helpers import make_votes

FORMATS = ["v.csv", "v.csv.gz", "v.parquet", "v.jsonl"]
tricky = st.sampled_from(
    [
        *("=cmd()", "'=x", "label", "ID", "feat_x", "-5", "-x", "'", " pad ", "\ttab", "a,b;c"),
        *('q"q', "two\nlines", "\r\n", "<b>", "\N{SCALES}", "\u202ertl", "n" * 300, "judge"),
        *("vote", "0", "nan", "tie", "\x1f\x08", "difficulty", "majority", "prompt", "timestamp"),
        *("text", "Output", "score_a", "score_b", "order", "stage", "model", "answer", "rater"),
    ]
)
names = tricky | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5
)
floats = st.floats(allow_infinity=False)
SCORED = VoteMatrix(
    np.array([[0, 1]], np.int8), np.array([0], np.int8), ("q1",), ("score_a", "score_b")
)
"""Judges named as columns of scores are, of which each item has exactly one vote of 1."""


@st.composite
def matrices(draw):
    items = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    judges = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    n = len(items)
    cell = st.sampled_from([0, 1, -1])
    votes = [draw(st.lists(cell, min_size=len(judges), max_size=len(judges))) for _ in items]
    groups = draw(st.none() | st.lists(names | st.just(""), min_size=n, max_size=n).map(tuple))
    features = None
    if draw(st.booleans()):
        texts = draw(st.lists(names | st.just(""), min_size=n, max_size=n).filter(any))
        numbers = draw(st.lists(floats, min_size=n, max_size=n))
        features = pd.DataFrame({"text": pd.Series(texts, dtype="str"), "=x": numbers})
    labels = draw(st.lists(cell, min_size=n, max_size=n))
    cast = np.array(votes, dtype=np.int8)
    tied = draw(st.lists(st.booleans(), min_size=cast.size, max_size=cast.size))
    return VoteMatrix(
        votes=cast,
        labels=np.array(labels, dtype=np.int8),
        item_ids=tuple(items),
        judges=tuple(judges),
        groups=groups,
        features=features,
        ties=np.reshape(tied, cast.shape) & (cast == -1),
    )


@pytest.mark.parametrize("judge", ["State", "run status", "Unnamed: 0", "record"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_judge_named_like_what_is_ignored_is_read_back(name, judge, tmp_path):
    votes = small(judges=(judge, "other"))
    write_votes(votes, tmp_path / name)
    assert load_votes(tmp_path / name, need_labels=False).votes.sha256 == votes.sha256


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example(votes=SCORED)
@given(votes=matrices())
def test_what_is_written_is_read_back_bit_for_bit(name, votes, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / name
    write_votes(votes, path)
    assert load_votes(path, need_labels=False).votes.sha256 == votes.sha256


def small(**given):
    parts: dict[str, object] = {
        "votes": np.array([[1, 0], [0, -1]], dtype=np.int8),
        "labels": np.array([1, 0], dtype=np.int8),
        "item_ids": ("=1+1", "b"),
        "judges": ("@me", "j2"),
    }
    return VoteMatrix(**(parts | given))  # type: ignore[arg-type]


def test_no_cell_of_a_csv_starts_a_formula(tmp_path):
    write_votes(small(), tmp_path / "v.csv")
    assert (tmp_path / "v.csv").read_text() == "item_id,label,'@me,j2\n'=1+1,1,1,0\nb,0,0,\n"


def test_the_same_votes_give_the_same_zipped_bytes(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_votes(small(), tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_judges_are_written_to_a_file_of_their_own(tmp_path):
    votes = small(judge_table=pd.DataFrame({"family": ["=x", "7"], "cost": [1.5, np.nan]}))
    write_votes(votes, tmp_path / "v.csv")
    write_judges(votes, tmp_path / "j.csv")
    read = load_votes(tmp_path / "v.csv", judge_table=tmp_path / "j.csv", need_labels=False)
    assert read.votes.sha256 == votes.sha256
    with pytest.raises(InputError, match="no judge table"):
        write_judges(small(), tmp_path / "j.csv")


@pytest.mark.parametrize(
    ("given_parts", "problem"),
    [
        ({"judges": ("a\0", "b")}, "NUL"),
        ({"item_ids": ("\ud800", "b")}, "broken Unicode"),
        ({"features": pd.DataFrame({"x": [1.0, np.inf]})}, "column 'feat_x': an infinite number"),
        ({"features": pd.DataFrame({"x ": [1.0, 2.0]})}, "would not be read back"),
    ],
)
def test_what_no_file_can_hold_is_not_written(given_parts, problem, tmp_path):
    with pytest.raises(InputError, match=problem):
        write_votes(small(**given_parts), tmp_path / "v.csv")
    assert not (tmp_path / "v.csv").exists()


def test_another_extension_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"v.xlsx: cannot write .* allowed: \.csv, \.csv\.gz"):
        write_votes(small(), tmp_path / "v.xlsx")


def test_names_of_judges_with_bars_are_read_back(tmp_path):
    votes = make_votes(0, 20, 2)
    names = ("openai|gpt-4|v1", "openai|gpt-4|v2")
    votes = replace(votes, judges=names)
    write_votes(votes, tmp_path / "v.csv")
    assert load_votes(tmp_path / "v.csv").votes.judges == names
