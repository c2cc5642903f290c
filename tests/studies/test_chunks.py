"""Chunks contain all splits once, in order, with a small first chunk where asked for."""

from hypothesis import given
from hypothesis import strategies as st

from judgepanel.studies.contract import Chunk, split_chunks


@given(st.integers(0, 300), st.integers(1, 20), st.none() | st.integers(1, 20))
def test_every_split_is_in_one_chunk(n, size, first):
    chunks = split_chunks(n, size, first)
    assert [k for c in chunks for k in range(c.first, c.first + c.count)] == list(range(n))
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    assert all(0 < chunk.count <= max(size, first or 0) for chunk in chunks)


def test_a_first_answer_may_come_from_fewer_splits():
    assert split_chunks(12, 5, 2) == (Chunk(0, 0, 2), Chunk(1, 2, 5), Chunk(2, 7, 5))
