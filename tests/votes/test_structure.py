import csv
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.votes import delimited
from judgepanel.votes.delimited import delimiter_of, scan

cells = st.text(alphabet=st.sampled_from('ab,"\n\r '), min_size=1, max_size=4)
rows = st.integers(2, 4).flatmap(
    lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=2, max_size=6)
)


def text_of(table: list[list[str]], line_end: str) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows(table)
    return out.getvalue()


@pytest.mark.parametrize("block", [1, 7, 1 << 24])
@given(table=rows, line_end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_records_and_their_lines_are_found_whatever_is_quoted_and_however_it_is_cut(
    block, table, line_end
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_BLOCK", block)
        result = scan(text_of(table, line_end).encode(), ",")
    assert list(result.header) == table[0]
    assert result.n_records == len(table) - 1
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
