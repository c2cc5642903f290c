"""Verdict words: how people write "the first is better", "the second" and "no verdict"."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.cells import is_number
from judgepanel.votes.matrix import MISSING

UNKNOWN = -2
ALLOWED_VERDICTS = (
    "0, 1, true, false, yes, no, correct, incorrect, pass, fail, A, B, [[A]], [[B]], A>B, B>A, "
    "model_a, model_b, tie, or blank, NA, -1 for no verdict"
)
ALLOWED_LABELS = (
    "0, 1, true, false, yes, no, correct, incorrect, pass, fail, A, B, [[A]], [[B]], A>B, B>A, "
    "model_a, model_b, or blank for no label"
)

MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none", "<na>"})
_TIES = frozenset({"tie", "tie (bothbad)", "tie(bothbad)", "both", "draw", "[[c]]"})
_ABSTENTIONS = frozenset(
    ("unsure", "undecided", "abstain", "abstained", "skipped", "no answer", "cannot tell", "-", "?")
)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?", re.ASCII)
_GOOD = ("yes", "correct", "pass", "passed")
_BAD = ("no", "incorrect", "fail", "failed")
_FIRST = ("a", "a>b", "a > b", "model_a", "[[a]]")
_SECOND = ("b", "b>a", "b > a", "model_b", "[[b]]")
_CODES: dict[str, int] = {
    "true": 1,
    "false": 0,
    **dict.fromkeys(_GOOD + _FIRST, 1),
    **dict.fromkeys(_BAD + _SECOND, 0),
    **dict.fromkeys(MISSING_WORDS | _TIES | _ABSTENTIONS, MISSING),
}
TWOS = frozenset(("2", "2.0", "2,0"))
_FORMS: dict[str, frozenset[str]] = {
    "0/1": frozenset(("0", "1", "0.0", "1.0", "0,0", "1,0")),
    "true/false": frozenset(("true", "false")),
    "yes/no": frozenset(("yes", "no")),
    "correct/incorrect": frozenset(("correct", "incorrect")),
    "pass/fail": frozenset(("pass", "passed", "fail", "failed")),
    "A/B": frozenset(("a", "b")),
    "[[A]]/[[B]]": frozenset(("[[a]]", "[[b]]", "[[c]]")),
    "A>B/B>A": frozenset(("a>b", "a > b", "b>a", "b > a")),
    "model_a/model_b": frozenset(("model_a", "model_b")),
}


def verdict_of(word: str) -> int:
    """Return 1 (the first, A, or true), 0, -1 (no verdict: missing or a tie) or ``UNKNOWN`` (-2).

    Case and surrounding blanks are ignored.
    """
    plain = word.strip().lower()
    code = _CODES.get(plain)
    if code is not None:
        return code
    plain = decimal_of(plain)
    if is_number(plain):
        number = float(plain)
        if number in (0.0, 1.0, -1.0):
            return int(number)
    return UNKNOWN


def decimal_of(text: str) -> str:
    """Return the text with a decimal point if it is a number with a decimal comma."""
    return text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text


def is_verdict(word: str) -> bool:
    """Whether the word is a verdict, a tie or a missing-value word."""
    return verdict_of(word) != UNKNOWN


def is_missing(word: str) -> bool:
    """Whether the word stands for an empty cell."""
    return word.strip().lower() in MISSING_WORDS


def mixed_words(words: Iterable[str]) -> tuple[str, str] | None:
    """Return a better-or-worse word and a good-or-bad word, if both occur."""
    plain = sorted({word.strip().lower() for word in words})
    better = next((word for word in plain if word in _FIRST + _SECOND), None)
    good = next((word for word in plain if word in _GOOD + _BAD), None)
    return None if better is None or good is None else (better, good)


def is_good_or_bad(word: str) -> bool:
    """Whether a word says that a single response is good or bad."""
    return word.strip().lower() in _GOOD + _BAD


def form_of(words: Iterable[str]) -> str:
    """Return how verdicts are written, for people: ``0/1``, ``A/B``, ``yes/no``, ..."""
    plain = {word.strip().lower() for word in words}
    if plain & TWOS:
        return "1/2"
    unknown = [word for word in plain if verdict_of(word) == UNKNOWN]
    if any(not is_number(decimal_of(word)) for word in unknown):
        return "names of models"
    forms = [name for name, members in _FORMS.items() if plain & members]
    return ", ".join(forms) or "0/1"


def verdicts_of(cells: pd.Series) -> NDArray[np.int8]:
    """Return int8 (n,) in {0, 1, -1 missing, -2 unknown word}; parses each distinct word once."""
    codes, words = distinct(cells)
    table = np.array([verdict_of(word) for word in words] or [MISSING], dtype=np.int8)
    return np.asarray(table[codes], dtype=np.int8)


def ties_in(cells: pd.Series) -> NDArray[np.bool_]:
    """Return which cells say tie, both or draw."""
    codes, words = distinct(cells)
    table = np.array([word.strip().lower() in _TIES for word in words] or [False], dtype=bool)
    return np.asarray(table[codes], dtype=bool)


def abstentions_in(cells: pd.Series) -> int:
    """Return how many cells say that there is no verdict (unsure, abstained, skipped, ...)."""
    codes, words = distinct(cells)
    table = np.array([word.strip().lower() in _ABSTENTIONS for word in words] or [False])
    return int(table[codes].sum())


def distinct(cells: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    """Return codes (n,) into the list of distinct words in the cells."""
    if isinstance(cells.array, pd.Categorical):  # ``cells.cat`` would take ten times as long.
        return np.asarray(cells.array.codes), list(map(str, cells.array.categories.tolist()))
    codes, words = pd.factorize(cells)
    return np.asarray(codes), [str(word) for word in words]
