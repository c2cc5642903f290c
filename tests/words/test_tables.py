"""Tables for people and spreadsheets."""

import csv
import io
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.studies.judges.judge_table import judge_table
from judgepanel.words.tables import accuracy_table, csv_text
from tests.helpers import make_votes


def test_judges_come_most_accurate_first_with_harmless_names():
    votes = make_votes(0, 30, 3)
    table = accuracy_table(judge_table(votes))
    shares = table["accuracy"].numbers.tolist()
    assert shares == sorted(shares, reverse=True)
    assert set(table["judge"].texts()) == set(votes.judges)


CELLS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=8)


@given(st.lists(st.tuples(CELLS, st.floats(allow_infinity=False), st.integers()), min_size=1))
def test_a_csv_reads_back_cell_by_cell(rows):
    frame = pd.DataFrame(rows, columns=["text", "number", "whole"]).astype({"whole": object})
    text = csv_text(frame)
    head, *read = csv.reader(io.StringIO(text, newline=""))
    assert head == ["text", "number", "whole"]
    assert len(read) == len(rows)
    for (name, number, whole), (cell, figure, count) in zip(rows, read, strict=True):
        assert cell in (name, f"'{name}")
        assert cell[:1] not in ("=", "@", "\t", "\r", "\n")
        assert figure == "" if math.isnan(number) else float(figure) == number
        assert int(count) == whole


@pytest.mark.parametrize("name", ["=cmd()", "+1+1", "-a", "@x", "\tx", "\rx"])
def test_formulas_get_an_apostrophe(name):
    ((cell,),) = list(csv.reader(io.StringIO(csv_text(pd.DataFrame({"a": [name]})), newline="")))[
        1:
    ]
    assert cell == "'" + name


def test_missing_values_are_blank_and_truth_is_a_word():
    frame = pd.DataFrame({"a": [None, "x"], "b": [np.nan, 0.1], "c": [True, False]})
    assert csv_text(frame) == "a,b,c\n,,True\nx,0.1,False\n"
