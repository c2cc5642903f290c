import numpy as np
import pandas as pd
import pytest

from judgepanel.votes.cells import TIE, UNKNOWN, Vocabulary, is_verdict, verdict_of
from judgepanel.votes.columns import Column


@pytest.mark.parametrize("word", ["1", "1.0", "true", "TRUE", " A ", "a>b", "A > B", "model_a"])
def test_the_first_is_better_is_one(word):
    assert verdict_of(word) == 1


@pytest.mark.parametrize("word", ["0", "0.0", "-0", "False", "b", "B>A", "MODEL_B"])
def test_the_second_is_better_is_zero(word):
    assert verdict_of(word) == 0


@pytest.mark.parametrize(
    "word",
    ["", "  ", "-1", "-1.0", "NA", "n/a", "NaN", "null", "None", "tie", "Tie (bothbad)", "both"],
)
def test_blank_and_ties_are_no_verdict(word):
    assert verdict_of(word) == -1


@pytest.mark.parametrize(
    "word", ["0.3", "2", "-2", "1e1", "excellent", "A=>B", "inf", "0x1", "1_0", "١"]
)
def test_any_other_word_is_unknown(word):
    assert verdict_of(word) == UNKNOWN
    assert not is_verdict(word)


@pytest.mark.parametrize("dtype", ["category", "str", "object"])
def test_a_column_is_read_word_by_word_whatever_its_type(dtype):
    cells = pd.Series(["A", "tie", "0", "", "maybe", "A"], dtype=dtype)
    meanings = Column("judge", cells).means(Vocabulary())
    assert meanings.tolist() == [1, TIE, 0, -1, UNKNOWN, 1]
    assert meanings.dtype == np.int8


def test_an_empty_column_has_no_verdicts():
    assert Column("judge", pd.Series([], dtype="str")).means(Vocabulary()).shape == (0,)
