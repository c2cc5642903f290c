"""Columns of formatted numbers sort by their numbers, and are shown as they were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import fixed, interval, level, percent, sig, signed, with_interval
from judgepanel.words.sort_keys import sort_key, sort_keys

FINITE = st.floats(-1e6, 1e6)


@given(FINITE, FINITE, FINITE)
def test_every_way_to_write_a_number_sorts_by_that_number(value, lo, hi) -> None:
    for text, exact in (
        (sig(value), value),
        (signed(value), value),
        (fixed(value, 3), value),
        (percent(value), value),
        (interval(lo, hi), lo),
        (level(value, lo, hi), value),
        (with_interval(value, lo, hi, sign=True), value),
    ):
        key = sort_key(text)
        assert key is not None, text
        shown_with = max(abs(exact), abs(lo), abs(hi), 1e-2)
        assert abs(key - exact) <= 0.05 * shown_with + 0.01


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("0.331 [0.215, 0.448]", 0.331),
        ("< .001", 0.001),
        ("p = .042", 0.042),
        ("1,234 labels", 1234),
        ("0.0123 USD", 0.0123),
        ("5-8", 5),
        ("12 of 30", 12),
        ("12 %", 0.12),
        ("0.3 [n/a]", 0.3),
        ("the same", 0),
        ("n/a", None),
        ("4o-mini", None),
        ("405b", None),
        ("2026-01-01", None),
        ("=1+1", None),
        ("1" * 200, None),
    ],
)
def test_what_a_cell_sorts_by(text: str, key: float | None) -> None:
    assert sort_key(text) == key


def test_a_column_of_formatted_numbers_keeps_its_numbers_and_prints_as_it_was() -> None:
    shares = ["9 %", "12 %", "", "100 %", "n/a"]
    frame = pd.DataFrame(
        {"share": shares, "judge": ["a", "b", "7", "d", "e"], "k": [1, 2, 3, 4, 5]}
    )
    columns = as_columns(frame)
    assert columns["share"].texts() == shares
    np.testing.assert_array_equal(columns["share"].numbers, [0.09, 0.12, np.nan, 1, np.nan])
    assert columns["judge"].numbers is None
    assert columns["judge"].texts() == frame["judge"].tolist()
    assert columns["k"].texts() == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("words", [["a", "b", "1 c"], ["", ""], ["reference", "kept"], ["", "x"]])
def test_a_column_of_words_stays_one(words: list[str]) -> None:
    assert sort_keys(words) is None
