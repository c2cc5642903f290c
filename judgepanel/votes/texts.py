"""The texts of some items, for people who label them: what was asked and answered.

The vote matrix holds none, so they are taken from the file again. What judges voted or wrote is not
among them: it would lead those who label.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
import pandas as pd

from judgepanel.votes.attributes import Codes, first_given
from judgepanel.votes.cells import ID_NAMES, JUDGE_WORDS, LABEL_NAMES, tokens_of
from judgepanel.votes.choices import Choices
from judgepanel.votes.columns import facet_of
from judgepanel.votes.layouts import Reader, Verdicts
from judgepanel.votes.outputs import read_verdict

ID = "id"
MOST_TEXTS = 20
"""Columns of texts that are taken from a file, the first ones."""
_LONGEST, _MOST_CHARACTERS = 20_000, 20_000_000
_LOOKED_AT = 50
_BY_JUDGES = ("text", "failure")
"""What columns hold whose last word is, for example, reason or error: judges wrote them."""


def texts_of_items(
    reader: Reader, verdicts: Verdicts, choices: Choices, ids: Sequence[str]
) -> pd.DataFrame:
    """Return the columns of a file that hold texts about its items, one row per item of ``ids``.

    The first column is ``id``. Long texts are cut, so that all of them together have a bounded
    length. Ids that the file does not have are left out.
    """
    place = {name: number for number, name in enumerate(verdicts.item_ids)}
    items = np.array([place[name] for name in ids if name in place], dtype=np.intp)
    used = {*reader.roles.used, *choices.ignore}
    free = [own.column for own in reader.roles.columns if own.role in ("text", "ignore")]
    texts = (name for name in free if name not in used and _is_text(name, reader, verdicts))
    columns = [*islice(texts, MOST_TEXTS)]
    longest = min(_LONGEST, _MOST_CHARACTERS // max(len(items) * len(columns), 1))
    frame = pd.DataFrame({ID: [verdicts.item_ids[item] for item in items]})
    for name in columns:
        rows = items if verdicts.items is None else _first(name, reader, verdicts)[0][items]
        given = ("" if pd.isna(cell) else str(cell) for cell in reader.table.frame[name].iloc[rows])
        end = max(longest - 1, 0)
        frame[name] = [text if len(text) <= longest else f"{text[:end]}…" for text in given]
    return frame


def _is_text(name: str, reader: Reader, verdicts: Verdicts) -> bool:
    """Whether a column holds texts or many words, the same in all of an item's rows, which no judge
    gave.
    """
    lower, words = name.strip().lower(), tokens_of(name)
    of_judges = {*words} & JUDGE_WORDS or facet_of((words or ("",))[-1]) in _BY_JUDGES
    named = any(lower.startswith(judge.lower()) for judge in verdicts.judges)
    if of_judges or named or lower in (*ID_NAMES[:2], *LABEL_NAMES):
        return False
    column = reader.columns[name]
    many = column.kind == "words" and not column.is_few
    if not (column.kind == "texts" or many):
        return False
    sample = column.given[:_LOOKED_AT]
    said = sum(reader.vocabulary.knows(w) or read_verdict(w).side is not None for w in sample)
    if 2 * said >= len(sample):
        return False
    return verdicts.items is None or not len(_first(name, reader, verdicts)[1])


def _first(name: str, reader: Reader, verdicts: Verdicts) -> tuple[Codes, Codes]:
    """Return the row of each item that gives a column of a long file, and rows that differ."""
    column, items = reader.columns[name], verdicts.items
    items = np.arange(len(column.codes)) if items is None else items
    return first_given(column.codes, column.present, items, len(verdicts.item_ids))
