"""Delimited text: records and their lines, delimiters, and columns read from bytes."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgepanel.votes import delimited
from judgepanel.votes.delimited import delimiter_of, read_csv, scan, short_columns

cells = st.text(alphabet=st.sampled_from('ab,"\n\r '), min_size=1, max_size=4)
rows = st.integers(2, 4).flatmap(
    lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=2, max_size=6)
)


def text_of(table, line_end):
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows(table)
    return out.getvalue()


@pytest.mark.parametrize("block", [1, 7, 1 << 24])
@given(table=rows, line_end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_records_and_their_lines_are_found_whatever_is_quoted_or_cut(block, table, line_end):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_BLOCK", block)
        result = scan(text_of(table, line_end).encode(), ",")
    assert (list(result.header), result.n_records) == (table[0], len(table) - 1)
    lines = (
        result.lines if result.lines is not None else result.first_line + np.arange(len(table) - 1)
    )
    for index in range(len(table) - 1):
        before = text_of(table[: index + 1], line_end) + "x"
        assert lines[index] == len(re.findall("\r\n|\r|\n", before)) + 1


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [("a,b;c,d", ","), ("a;b,c;d", ";"), ("a\tb", "\t"), ('"a,b,c,d";e', ";"), ("a,b;c", ",")],
)
def test_the_delimiter_is_the_most_frequent_one_outside_quotes(header, delimiter):
    assert delimiter_of(header) == delimiter


CELL = st.sampled_from(["", "0", "1", "A", "B", "-", "tie", "é", "10"])
SHORT = st.sampled_from(["", "0", "1", "A"])


def parsed(data):
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
    short = short_columns(data, ",", scan(data, ","))
    assert list(short) == [1]
    assert bytes(short[1]) == b"01" * 45
    pd.testing.assert_frame_equal(read_csv(data, "v.csv").frame, parsed(data))


@pytest.mark.parametrize(
    "text", ['a,b\n"1",0\n', 'a,b\n1,"0\n1"\n', "a,b\n1,0\n\n1,1\n", "a,b\r\n1,\r\n"]
)
def test_quotes_carriage_returns_and_blank_lines_are_left_to_the_parser(text):
    data = text.encode()
    assert short_columns(data, ",", scan(data, ",")) == {}
    pd.testing.assert_frame_equal(read_csv(data, "v.csv").frame, parsed(data))
