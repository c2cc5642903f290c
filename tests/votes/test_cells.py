"""Cells: texts that are no formulas, and words that are verdicts."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.votes.cells import (
    TIE,
    UNKNOWN,
    Vocabulary,
    csv_safe,
    is_number,
    is_role_name,
    is_verdict,
    shield,
    unshield,
    verdict_of,
)
from judgepanel.votes.columns import Column

tricky = st.text(alphabet=st.sampled_from("'=+-@\t\r\n a1l.e"), max_size=8)


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1", "--1"]
)
def test_a_formula_gets_an_apostrophe(text):
    assert csv_safe(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "-5", "+0.5", "-1e-3", "gpt-4", "'=x", "a=b", "judge"])
def test_numbers_and_plain_texts_are_left_alone(text):
    assert csv_safe(text) == text


@given(tricky | st.text(max_size=6) | st.just("label") | st.just("'feat_x"))
def test_what_is_shielded_is_no_formula_and_comes_back(text):
    held = shield(text, is_role_name)
    assert held in (text, f"'{text}")
    assert held[:1] not in set("=+-@\t\r\n") or is_number(held)
    assert not is_role_name(held)
    assert unshield(held, is_role_name) == text


def test_the_reader_takes_away_one_apostrophe_of_a_formula_and_no_other():
    assert unshield("'=x") == "=x"
    assert unshield("''=x") == "'=x"
    assert unshield("'tis") == "'tis"
    assert unshield("  x ") == "x"


MISSING_WORDS = ("", "  ", "-1", "-1.0", "NA", "n/a", "NaN", "null", "None", "tie", "both")
OTHER_WORDS = ("0.3", "2", "-2", "1e1", "excellent", "A=>B", "inf", "0x1", "1_0", "١")


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (1, ("1", "1.0", "true", "TRUE", " A ", "a>b", "A > B", "model_a")),
        (0, ("0", "0.0", "-0", "False", "b", "B>A", "MODEL_B")),
        (-1, (*MISSING_WORDS, "Tie (bothbad)")),
        (UNKNOWN, OTHER_WORDS),
    ],
)
def test_a_word_has_its_verdict(verdict, words):
    assert {word: verdict_of(word) for word in words} == dict.fromkeys(words, verdict)
    assert verdict != UNKNOWN or not any(map(is_verdict, words))


@pytest.mark.parametrize("dtype", ["category", "str", "object"])
def test_a_column_is_read_word_by_word_whatever_its_type(dtype):
    cells = pd.Series(["A", "tie", "0", "", "maybe", "A"], dtype=dtype)
    meanings = Column("judge", cells).means(Vocabulary())
    assert (meanings.tolist(), meanings.dtype) == ([1, TIE, 0, -1, UNKNOWN, 1], np.int8)
