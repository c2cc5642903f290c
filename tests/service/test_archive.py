"""Stored votes are restored completely."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.studies.codec import pack, unpack
from judgepanel.votes import VoteMatrix

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
    votes = unpack(VoteMatrix, pack(made))
    assert votes.sha256 == made.sha256
    for first, other in ((votes.features, made.features), (votes.judge_table, made.judge_table)):
        assert (first is None) == (other is None)
        if first is not None:
            pd.testing.assert_frame_equal(first, other)
