"""Forms of verdicts that depend on more than one cell: 1 and 2, and model names."""

from __future__ import annotations

from collections.abc import Mapping as Named
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pandas as pd

from judgepanel.votes.cells import unshield
from judgepanel.votes.columns import Mapping, is_role_name
from judgepanel.votes.errors import InputError, listed
from judgepanel.votes.grades import Scale
from judgepanel.votes.matrix import Task
from judgepanel.votes.remedies import IGNORE
from judgepanel.votes.roles import model_columns
from judgepanel.votes.table import RawTable, text_column
from judgepanel.votes.words import (
    TWOS,
    decimal_of,
    distinct,
    form_of,
    is_good_or_bad,
    is_verdict,
    mixed_words,
    verdict_of,
)

Scales = Named[str, Scale]
_NO_SCALES: Scales = MappingProxyType({})
_HALVES = frozenset(("0.5", ".5", "0.50", "0.500"))


def verdict_columns(mapping: Mapping) -> tuple[str, ...]:
    """Return the columns whose cells are verdicts: the label and the judges."""
    label = () if mapping.label_column is None else (mapping.label_column,)
    if mapping.layout == "long":
        return (*label, *(() if mapping.verdict_column is None else (mapping.verdict_column,)))
    return (*label, *mapping.judge_columns)


def in_plain_words(
    table: RawTable, mapping: Mapping, task: Task, scales: Scales = _NO_SCALES
) -> tuple[RawTable, list[str]]:
    """Return the table with every verdict as an unambiguous word, and notes on what was rewritten.

    Model names become A and B according to the columns that name the authors of the first and
    second response. 1 and 2 become A and B if no label or verdict is 0. .5 next to 0 and 1 becomes
    a tie. Columns with grades (``scales``) are unchanged.

    Raises
    ------
    InputError
        Words for which response is better mixed with words for whether a response is good.
    """
    columns = tuple(name for name in verdict_columns(mapping) if not _graded(name, mapping, scales))
    table, named = _without_models(table, columns)
    table, halves = _without_halves(table, columns, mapping.label_column)
    table, numbered = _without_twos(table, columns) if task == "pairwise" else (table, [])
    _refuse_mixed(table, columns)
    notes = []
    if named:
        notes.append(
            f"Names of models are read as the first or the second response: {listed(named)}."
        )
    if numbered:
        notes.append(f"1 is read as the first response and 2 as the second: {listed(numbered)}.")
    if halves:
        notes.append(f"0.5 is read as a tie: {listed(halves)}.")
    return table, notes


def is_label_word(word: str) -> bool:
    """Whether the word is a valid label, model names aside."""
    return is_verdict(word) or word.strip() in TWOS


def implied_task(table: RawTable, mapping: Mapping) -> Task | None:
    """Return ``pointwise`` if verdicts are written yes and no, pass and fail, ...; else None."""
    columns = verdict_columns(mapping)
    words = (word for column in columns for word in distinct(table.frame[column])[1])
    return "pointwise" if any(map(is_good_or_bad, words)) else None


def forms_sentence(table: RawTable, mapping: Mapping, scales: Scales = _NO_SCALES) -> str:
    """Return how the verdicts of a file are written, by groups of columns with the same form.

    Grades are left out: notes say how they are read.
    """
    columns = verdict_columns(mapping)
    by_form: dict[str, list[str]] = {}
    for column in columns:
        if not _graded(column, mapping, scales):
            form = form_of(distinct(table.frame[column])[1])
            by_form.setdefault(form, []).append(column)
    if set(by_form) <= {"0/1"}:
        return "0/1"
    return "; ".join(
        form if len(named) == len(columns) else f"{form} in {listed(named)}"
        for form, named in by_form.items()
    )


def _graded(column: str, mapping: Mapping, scales: Scales) -> bool:
    """Return whether a column holds grades."""
    if mapping.layout == "long":
        return bool(scales) and column == mapping.verdict_column
    return column != mapping.label_column and unshield(column, is_role_name) in scales


def _without_models(table: RawTable, columns: tuple[str, ...]) -> tuple[RawTable, list[str]]:
    pair = model_columns(table)
    changed: dict[str, pd.Categorical] = {}
    if pair is not None:
        first, second = (table.frame[name].astype("str").str.strip().to_numpy() for name in pair)
        for column in columns:
            words = [word.strip() for word in distinct(table.frame[column])[1]]
            if all(map(is_verdict, words)):
                continue
            cells = table.frame[column].astype("str").str.strip().to_numpy()
            is_first, is_second = cells == first, cells == second
            texts = [*words, "A", "B"]
            place = {word: code for code, word in enumerate(words)}
            codes = np.array([place[cell] for cell in cells])
            codes = np.where(is_first & ~is_second, len(words), codes)
            codes = np.where(is_second & ~is_first, len(words) + 1, codes)
            changed[column] = text_column(codes, texts)
    return _replaced(table, changed), list(changed)


def _without_twos(table: RawTable, columns: tuple[str, ...]) -> tuple[RawTable, list[str]]:
    ones_and_twos = []
    for column in columns:
        words = {word.strip() for word in distinct(table.frame[column])[1]}
        if any(verdict_of(word) == 0 and word[:1].isdigit() for word in words):
            return table, []
        if words & TWOS:
            ones_and_twos.append(column)
    changed: dict[str, pd.Categorical] = {}
    for column in ones_and_twos:
        codes, words_of = distinct(table.frame[column])
        if not all(is_verdict(word) or word.strip() in TWOS for word in words_of):
            return table, []
        texts = ["B" if word.strip() in TWOS else word for word in words_of]
        changed[column] = text_column(np.asarray(codes), texts)
    return _replaced(table, changed), list(changed)


def _without_halves(
    table: RawTable, columns: tuple[str, ...], label: str | None
) -> tuple[RawTable, list[str]]:
    """Return the columns of 0, 1 and .5 with .5 as a tie."""
    changed: dict[str, pd.Categorical] = {}
    for column in columns:
        codes, words = distinct(table.frame[column])
        half = [decimal_of(word.strip()) in _HALVES for word in words]
        plain = [word for word, is_half in zip(words, half, strict=True) if not is_half]
        if column == label or not any(half) or form_of(plain) != "0/1":
            continue
        texts = ["tie" if is_half else word for word, is_half in zip(words, half, strict=True)]
        changed[column] = text_column(np.asarray(codes), texts)
    return _replaced(table, changed), list(changed)


def _replaced(table: RawTable, changed: dict[str, pd.Categorical]) -> RawTable:
    if not changed:
        return table
    frame = pd.DataFrame(
        {name: changed.get(name, table.frame[name]) for name in table.columns}, copy=False
    )
    return replace(table, frame=frame)


def _refuse_mixed(table: RawTable, columns: tuple[str, ...]) -> None:
    words: set[str] = set()
    for column in columns:
        words.update(distinct(table.frame[column])[1])
        mixed = mixed_words(words)
        if mixed is not None:
            raise InputError(
                f"{mixed[0]!r} says which response is better and {mixed[1]!r} whether one is good",
                file=table.name,
                column=column,
                allowed="one kind of words in the label and in all judges",
                remedy=f"write all of them as 0 and 1, or leave this column out {IGNORE}",
            )
