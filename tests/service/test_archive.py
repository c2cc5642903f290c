"""Stored votes are restored completely, whichever version stored them."""

import base64

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.service.archive import votes_of
from judgepanel.studies.codec import pack
from judgepanel.votes import VoteMatrix

NAMED_ARRAYS = """
UEsDBC0AAAAIAAAAIQCpX7tJ//////////8JABQAdm90ZXMubnB5AQAQAIYAAAAAAAAASwAAAAAAAACb7BfqGxDJyFDGUK2e
klqcXKRupaBek2morqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RrGOgpGmjoKtQpkAy7G/wxABABQSwMELQAAAAgA
AAAhAHtNKuj//////////woAFABsYWJlbHMubnB5AQAQAIMAAAAAAAAARwAAAAAAAACb7BfqGxDJyFDGUK2eklqcXKRupaBe
k2morqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RrGOpo6CrUKFAAuRob/AFBLAwQtAAAACAAAACEAsgqzBv//////
////CAAUAHRleHQubnB5AQAQAPMCAAAAAAAASQEAAAAAAACdUctOwzAQLFe+wvIlIJkqTaEV/QBuIC4cEESRkziP4sTBXrdU
JV/BD+NNJCoXoUr4YO3Mekbrna+Hp/vH57PJZrIPcmEyHaxI8GlnASNBoTRo3iZK5wL5Oy6NcLypeCccvlhES3bJSE/+fc73
tAbRJHVu6Iq8UE4ZoSlerzYMxZLGrlzbvBRj/wNbu4EFbt4cRztVt7CtjcBWqZXtxqflgPGqhveF4GD14LOnbaLVFsu562RK
2qYdVK7DG4G2UrQlVCjPYdcNVCEVh8U1chsu7TjSbHrDSGulZOQqnIZxz8jBpPX0bs5fakYiRua+quI694SpUtLXgbYuiWIM
BIHvAKqrM8/CgPYdaIf4/WfVt/RodAXCc1DpWmTgm4z/Hr6JZdyjx5hXAjyVwl929NeyC97Ucndi4AJxcTRmpgycDinEkCJM
J+77b1BLAwQtAAAACAAAACEAjSK94f//////////CAAUAHRpZXMubnB5AQAQAIYAAAAAAAAASwAAAAAAAACb7BfqGxDJyFDG
UK2eklqcXKRupaBek2SorqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RrGOgpGmjoKtQpkAy4GRgYgAABQSwECLQMt
AAAACAAAACEAqV+7SUsAAACGAAAACQAAAAAAAAAAAAAAgAEAAAAAdm90ZXMubnB5UEsBAi0DLQAAAAgAAAAhAHtNKuhHAAAA
gwAAAAoAAAAAAAAAAAAAAIABhgAAAGxhYmVscy5ucHlQSwECLQMtAAAACAAAACEAsgqzBkkBAADzAgAACAAAAAAAAAAAAAAA
gAEJAQAAdGV4dC5ucHlQSwECLQMtAAAACAAAACEAjSK94UsAAACGAAAACAAAAAAAAAAAAAAAgAGMAgAAdGllcy5ucHlQSwUG
AAAAAAQABADbAAAAEQMAAAAA
"""
"""Votes as they were stored while arrays went by the names of their fields."""

TEXT = st.text(min_size=1, max_size=8)
NUMBER = st.floats(-1e9, 1e9, allow_subnormal=False) | st.just(float("nan"))


@st.composite
def tables(draw, n_rows):
    """None, or a table of n rows with columns of every type."""
    if draw(st.booleans()):
        return None
    kinds = {
        "float": (NUMBER, "float64"),
        "int": (st.integers(-(2**40), 2**40), "int64"),
        "bool": (st.booleans(), "bool"),
        "text": (st.text(max_size=5), "str"),
        "object": (st.none() | st.text(max_size=5), object),
    }
    columns = {}
    for name in draw(st.lists(TEXT, unique=True, max_size=3)):
        values, dtype = kinds[draw(st.sampled_from(sorted(kinds)))]
        cells = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
        columns[name] = pd.Series(cells, dtype=dtype)
    return pd.DataFrame(columns, index=range(n_rows))


@st.composite
def matrices(draw):
    n_items, n_judges = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    cell = st.sampled_from((-1, 0, 1))
    rows = st.lists(cell, min_size=n_judges, max_size=n_judges)
    names = [draw(st.lists(TEXT, min_size=n, max_size=n, unique=True)) for n in (n_items, n_judges)]
    groups = st.none() | st.lists(TEXT, min_size=n_items, max_size=n_items).map(tuple)
    return VoteMatrix(
        votes=np.array(draw(st.lists(rows, min_size=n_items, max_size=n_items)), np.int8),
        labels=np.array(draw(st.lists(cell, min_size=n_items, max_size=n_items)), np.int8),
        item_ids=tuple(names[0]),
        judges=tuple(names[1]),
        task=draw(st.sampled_from(("pairwise", "pointwise"))),
        groups=draw(groups),
        features=draw(tables(n_items)),
        judge_table=draw(tables(n_judges)),
    )


@settings(max_examples=60)
@given(matrices())
def test_any_votes_come_back_as_they_were(made):
    votes = votes_of(pack(made))
    assert votes.sha256 == made.sha256
    for first, other in ((votes.features, made.features), (votes.judge_table, made.judge_table)):
        assert (first is None) == (other is None)
        if first is not None:
            pd.testing.assert_frame_equal(first, other)


def test_votes_that_an_earlier_version_stored_are_still_read():
    votes = votes_of(base64.b64decode(NAMED_ARRAYS))
    assert votes.sha256 == "3a309f13a3684942ea8d03776ab07845ce5daef10d7fb8610bab72093dff9061"
    assert votes.votes.tolist() == [[1, -1], [0, 1], [-1, 0]]
    assert votes.labels.tolist() == [1, 0, -1]
    assert votes.ties.tolist() == [[False, True], [False, False], [False, False]]
    assert (votes.item_ids, votes.judges) == (("a", "b", "ç"), ("x", "y"))
    assert (votes.task, votes.groups) == ("pointwise", ("g", "g", "h"))
    features = {
        "length": [1.5, np.nan, -0.0],
        "n": [1, 2, 3],
        "hard": [True, False, True],
        "topic": pd.Series(["p", "q", "é"], dtype="str"),
        "note": pd.Series([None, "n", None], dtype=object),
    }
    pd.testing.assert_frame_equal(votes.features, pd.DataFrame(features))
    family = pd.Series(["f", "f"], dtype="str")
    pd.testing.assert_frame_equal(
        votes.judge_table, pd.DataFrame({"family": family, "cost": [0.5, 2.0]})
    )
    assert votes_of(pack(votes)).sha256 == votes.sha256
