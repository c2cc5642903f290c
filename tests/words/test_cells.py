"""Columns keep their numbers and show them in their format."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.blocks import Table
from judgepanel.scoring.interval import Interval
from judgepanel.words.cells import Column, as_columns, differences, levels, numbers, text

NAN = float("nan")


def interval(*rows: tuple[float, float, float], unit: str = "nats") -> Interval:
    value, lo, hi = np.array(rows).T
    return Interval(value, lo, hi, unit=unit)


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (levels(interval((0.3312, 0.2151, 0.4479))), "0.331 [0.215, 0.448]"),
        (levels(interval((0.712, 0.64, 0.7812), unit="share")), "71.2 % [64.0, 78.1]"),
        (differences(interval((0.05, 0.02, 0.08))), "+0.050 [+0.020, +0.080]"),
        (Column(interval((0.0, 0.0, 0.0)), "compared"), "the same"),
        (Column(interval((0.54, 0.27, 0.81)), "estimate"), "0.54 [0.27, 0.81]"),
        (numbers([0.12345]), "0.123"),
        (numbers([0.5], "share"), "50.0 %"),
        (numbers([1234], "whole"), "1,234"),
        (numbers([0.0001], "p"), "< .001"),
        (numbers([-0.02], "signed"), "-0.020"),
        (text(["=1+1"]), "=1+1"),
    ],
)
def test_a_form_makes_the_text_of_a_cell(column: Column, shown: str) -> None:
    assert column.texts() == [shown]


def test_what_is_unknown_is_blank_and_words_may_stand_for_a_number() -> None:
    column = differences(interval((NAN, NAN, NAN), (0.0, 0.0, 0.0)), {1: "reference"})
    assert column.texts() == ["", "reference"]
    np.testing.assert_array_equal(column.numbers, [NAN, 0.0])
    assert text(["a"]).numbers is None


def test_a_table_shows_some_rows_and_counts_the_rest() -> None:
    table = Table({"judge": text(["a", "b", "c"]), "NLL": numbers([0.5, 0.25, NAN])}, most=2)
    assert table.rows() == [["a", "0.500"], ["b", "0.250"]]
    assert table.rows_left().startswith("1 more row is")
    assert table.texts()["NLL"].tolist() == ["0.500", "0.250", ""]


def test_columns_of_a_frame_get_the_form_of_their_type() -> None:
    frame = pd.DataFrame({"n": [1], "accuracy": [0.5], "x": [0.5], "name": ["a"], "none": [None]})
    columns = as_columns(frame, shares=["accuracy"])
    assert [column.texts()[0] for column in columns.values()] == ["1", "50.0 %", "0.500", "a", ""]
