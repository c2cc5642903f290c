"""Tables for people and spreadsheets."""

import csv
import io
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.present.blocks import Table
from judgepanel.scoring.interval import Interval
from judgepanel.studies.understand.judge_table import judge_table
from judgepanel.words import tables
from tests.helpers import make_votes

CELLS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=8)
NAN = float("nan")


def test_judges_come_most_accurate_first_with_harmless_names():
    votes = make_votes(0, 30, 3)
    judges = judge_table(votes).frame()
    measured = dict.fromkeys(
        ("kappa", "kappa_lo", "kappa_hi", "ac1", "ac1_lo", "ac1_hi"), np.zeros(3)
    )
    table = tables.accuracy_table(judges.assign(**measured))
    shares = table["accuracy"].numbers.tolist()
    assert shares == sorted(shares, reverse=True)
    assert set(table["judge"].texts()) == set(votes.judges)


@given(st.lists(st.tuples(CELLS, st.floats(allow_infinity=False), st.integers()), min_size=1))
def test_a_csv_reads_back_cell_by_cell(rows):
    frame = pd.DataFrame(rows, columns=["text", "number", "whole"]).astype({"whole": object})
    head, *read = csv.reader(io.StringIO(tables.csv_text(frame), newline=""))
    assert head == ["text", "number", "whole"]
    assert len(read) == len(rows)
    for (name, number, whole), (cell, figure, count) in zip(rows, read, strict=True):
        assert cell in (name, f"'{name}")
        assert cell[:1] not in ("=", "@", "\t", "\r", "\n")
        assert figure == "" if math.isnan(number) else float(figure) == number
        assert int(count) == whole


@pytest.mark.parametrize("name", ["=cmd()", "+1+1", "-a", "@x", "\tx", "\rx"])
def test_formulas_get_an_apostrophe(name):
    content = tables.csv_text(pd.DataFrame({"a": [name]}))
    _, (cell,) = csv.reader(io.StringIO(content, newline=""))
    assert cell == "'" + name


def test_missing_values_are_blank_and_truth_is_a_word():
    frame = pd.DataFrame({"a": [None, "x"], "b": [np.nan, 0.1], "c": [True, False]})
    assert tables.csv_text(frame) == "a,b,c\n,,True\nx,0.1,False\n"


def interval(*rows, unit="nats"):
    value, lo, hi = np.array(rows).T
    return Interval(value, lo, hi, unit=unit)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (tables.levels(interval((0.3312, 0.2151, 0.4479))), "0.331 [0.215, 0.448]"),
        (tables.levels(interval((0.712, 0.64, 0.7812), unit="share")), "71.2 % [64.0, 78.1]"),
        (tables.differences(interval((0.05, 0.02, 0.08))), "+0.050 [+0.020, +0.080]"),
        (tables.Column(interval((0.0, 0.0, 0.0)), "compared"), "the same"),
        (tables.Column(interval((0.54, 0.27, 0.81)), "estimate"), "0.54 [0.27, 0.81]"),
        (tables.numbers([0.12345]), "0.123"),
        (tables.numbers([0.5], "share"), "50.0 %"),
        (tables.numbers([1234], "whole"), "1,234"),
        (tables.numbers([0.0001], "p"), "< .001"),
        (tables.numbers([-0.02], "signed"), "-0.020"),
        (tables.text(["=1+1"]), "=1+1"),
    ],
)
def test_a_form_makes_the_text_of_a_cell(column, shown):
    assert column.texts() == [shown]


def test_what_is_unknown_is_blank_and_words_may_stand_for_a_number():
    column = tables.differences(interval((NAN, NAN, NAN), (0.0, 0.0, 0.0)), {1: "reference"})
    assert column.texts() == ["", "reference"]
    np.testing.assert_array_equal(column.numbers, [NAN, 0.0])
    assert tables.text(["a"]).numbers is None


def test_a_table_shows_some_rows_and_counts_the_rest():
    table = Table(
        {"judge": tables.text(["a", "b", "c"]), "NLL": tables.numbers([0.5, 0.25, NAN])}, most=2
    )
    assert table.rows() == [["a", "0.500"], ["b", "0.250"]]
    assert table.rows_left().startswith("1 more row is")
    assert table.texts()["NLL"].tolist() == ["0.500", "0.250", ""]


def test_columns_of_a_frame_get_the_form_of_their_type():
    frame = pd.DataFrame({"n": [1], "accuracy": [0.5], "x": [0.5], "name": ["a"], "none": [None]})
    columns = tables.as_columns(frame, shares=["accuracy"])
    assert [column.texts()[0] for column in columns.values()] == ["1", "50.0 %", "0.500", "a", ""]
