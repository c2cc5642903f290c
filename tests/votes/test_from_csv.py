"""Columns of one character per cell read from bytes are those that the parser reads."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.votes import delimited
from judgepanel.votes.delimited import read_csv, scan, short_columns

CELL = st.sampled_from(["", "0", "1", "A", "B", "-", "tie", "é", "10"])
SHORT = st.sampled_from(["", "0", "1", "A"])


def parsed(data: bytes) -> pd.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "short_columns", lambda *_: {})
        return read_csv(data, "v.csv").frame


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(SHORT, CELL, SHORT, CELL), min_size=1, max_size=30),
    end=st.sampled_from(["", "\n", "\n\n\n"]),
    line=st.sampled_from(["\n", "\r\n"]),
    blank=st.sampled_from([0, 0, 1, 2]),
    separator=st.sampled_from(",;\t"),
)
def test_every_column_is_as_the_parser_reads_it(rows, end, line, blank, separator):
    header, *lines = [separator.join(cells) for cells in [("w", "x", "y", "z"), *rows]]
    lines = [header, *[""] * blank, *lines]
    data = (line.join(lines) + end).encode()
    pd.testing.assert_frame_equal(read_csv(data, "v.csv").frame, parsed(data))


def test_large_files_are_read_block_by_block(monkeypatch):
    monkeypatch.setattr("judgepanel.votes.delimited._BLOCK", 64)
    text = "item,a,b\n" + "".join(
        f"q{n},{n % 2},{'tie' if n == 70 else n % 3}\n" for n in range(90)
    )
    data = text.encode()
    short = short_columns(data, ",", scan(data, ","), 3)
    assert list(short) == [1]
    assert bytes(short[1]) == b"01" * 45
    pd.testing.assert_frame_equal(read_csv(data, "v.csv").frame, parsed(data))


@pytest.mark.parametrize(
    "text", ['a,b\n"1",0\n', 'a,b\n1,"0\n1"\n', "a,b\n1,0\n\n1,1\n", "a,b\r\n1,\r\n"]
)
def test_quotes_carriage_returns_and_blank_lines_are_left_to_the_parser(text):
    data = text.encode()
    assert short_columns(data, ",", scan(data, ","), 2) == {}
    pd.testing.assert_frame_equal(read_csv(data, "v.csv").frame, parsed(data))
