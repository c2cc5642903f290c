"""Judge outputs (one per row) -> verdicts (one per row), in the long layout of votes files."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.attributes import first_given, given_rows, names_in
from judgepanel.votes.cells import is_number
from judgepanel.votes.columns import (
    FEATURE_PREFIX,
    GROUP_NAMES,
    LABEL_NAMES,
    LONG_ITEM_NAMES,
    LONG_JUDGE_NAMES,
    LONG_VERDICT_NAMES,
    TEXT_NAMES,
    holds_verdicts,
    is_role_name,
    judges_beside,
)
from judgepanel.votes.coverage import Coverage, JudgeCoverage, Unread
from judgepanel.votes.errors import InputError, listed, quote_value
from judgepanel.votes.matrix import MISSING
from judgepanel.votes.remedies import CORRECT_CELL, REMOVE_ROW
from judgepanel.votes.shown_order import first_shown, order_column
from judgepanel.votes.table import RawTable, find_column, text_column
from judgepanel.votes.verdicts import (
    LEVELS,
    REASONS,
    Reading,
    read_scores,
    vote_of,
)
from judgepanel.votes.words import MISSING_WORDS, UNKNOWN, distinct, is_missing, verdicts_of

Ints = NDArray[np.intp]

STAGE_NAMES = ("stage",)
SCORE_NAMES = ("score_a", "score_b")
VERDICT = "verdict"
MAX_EXAMPLES = 60
EXAMPLES_A_JUDGE = 3
_HEAD, _TAIL = 160, 400
UNUSABLE = "unusable"
PAIR = "pair_sha256"
NOT_TEXT = "not text"
UNWRITABLE = "a NUL or a broken Unicode character"
TOO_LONG = "too long"
_UNUSABLE_REASONS = frozenset((NOT_TEXT, UNWRITABLE, TOO_LONG))
OF_A_CALL = frozenset(
    (
        *("served_by", "finish", "tokens_in", "tokens_out", "cost", "most", "seconds", "attempts"),
        *("asked", PAIR, UNUSABLE),
    )
)
"""Fields that `collect` stores with an output; ``UNUSABLE`` says why an output is not read."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file of outputs: texts, scores of the responses shown as A and B, or both.

    Without ``order``, A is always the item's first output.
    """

    item: str
    judge: str
    text: str | None
    scores: tuple[str, str] | None
    order: str | None
    stage: str | None

    @property
    def dropped(self) -> tuple[str, ...]:
        """Columns that are not needed for the votes."""
        single = (self.text, *(self.scores or ()), self.order, self.stage)
        return tuple(name for name in single if name is not None)


def columns_of(table: RawTable) -> Columns | None:
    """Return the columns that hold outputs; None if there are none or the file has verdicts."""
    free = {name.lower(): name for name in reversed(table.columns)}

    def find(names: tuple[str, ...]) -> str | None:
        return find_column(table.columns, names)

    item, judge, text = find(LONG_ITEM_NAMES), find(LONG_JUDGE_NAMES), find(TEXT_NAMES)
    scores = tuple(free[name] for name in SCORE_NAMES if name in free)
    both = (scores[0], scores[1]) if len(scores) == len(SCORE_NAMES) else None
    if item is None or judge is None or find(LONG_VERDICT_NAMES) is not None:
        return None
    if text is None and both is None:
        return None
    columns = Columns(item, judge, text, both, order_column(table), find(STAGE_NAMES))
    written = (judge, *(name for name in (text, *(both or ())) if name is not None))
    if not table.frame[item].duplicated().any() and all(
        holds_verdicts(table.frame[name]) for name in written
    ):
        return None  # One row per item and only verdicts: these are judges with such names.
    others = {*columns.dropped, *(name for name in table.columns if name in OF_A_CALL)}
    # One response per row and a column per judge: the text is what was judged, not a verdict.
    return None if len(judges_beside(table, item, others)) > 1 else columns


@dataclass(frozen=True, slots=True, eq=False)
class _Outputs:
    """The outputs that count, (n,) each: table row, item, judge, order, reading, vote."""

    row: Ints
    item: Ints
    judge: Ints
    forward: NDArray[np.bool_]
    reading: NDArray[np.object_]
    vote: NDArray[np.int8]
    judges: tuple[str, ...]

    @property
    def cell(self) -> Ints:
        """(n,) one code for each combination of item and judge."""
        return self.item * len(self.judges) + self.judge


def transcribed(table: RawTable) -> RawTable:
    """Return the file with one verdict per item and judge if it holds outputs of judges.

    Each distinct output is parsed once. Of outputs in several stages the last counts. If a judge
    saw an item in both orders, its vote is the verdict that both give, or missing if they
    contradict each other; a verdict beside a tie or an unreadable output counts. Outputs with an
    unknown order are left out, with a note.

    Raises
    ------
    InputError
        An empty item or judge, a stage that is not a number, or two outputs of one judge on one
        item in the same order and stage.
    """
    columns = columns_of(table)
    if columns is None:
        return table
    try:
        return _transcribed(table, columns)
    except InputError as error:
        raise (error if error.file is not None else error.in_file(table.name)) from None


def _transcribed(table: RawTable, columns: Columns) -> RawTable:
    items, ids = names_in(table, columns.item, "item id")
    raters, judges = names_in(table, columns.judge, "judge name", is_role_name)
    forward, notes = first_shown(table, columns.order)
    rows = np.flatnonzero(forward >= 0)
    rows = rows[_last_stage(table, columns.stage, (items * len(judges) + raters)[rows], rows)]
    as_given = forward[rows] == 1
    reading = _readings(table, columns, rows)
    votes = [
        vote_of(verdict.side, bool(way)) for verdict, way in zip(reading, as_given, strict=True)
    ]
    present, judge = np.unique(raters[rows], return_inverse=True)
    outputs = _Outputs(
        row=rows,
        item=items[rows],
        judge=judge,
        forward=as_given,
        reading=reading,
        vote=np.array(votes, dtype=np.int8),
        judges=tuple(judges[j] for j in present),
    )
    _refuse_twice(table, columns, outputs)
    _, first, pair = np.unique(outputs.cell, return_index=True, return_inverse=True)
    merged = _merged(outputs.vote, pair, len(first))
    order = np.argsort(first, kind="stable")
    lines = np.array([table.row(int(row)) for row in rows[first[order]]], dtype=np.int32)
    dropped = [*columns.dropped, *(name for name in table.columns if name in OF_A_CALL)]
    frame = _with_attributes(table, items, len(ids)).drop(columns=dropped)
    frame = frame.iloc[rows[first[order]]].reset_index(drop=True)
    says_tie = np.array(
        [verdict is not None and verdict.reason == "tie" for verdict in reading], dtype=bool
    )
    tied = np.bincount(pair[says_tie], minlength=len(first)) == np.bincount(pair)
    codes = np.where(tied, 3, merged + 1)[order]
    frame[VERDICT] = text_column(codes, ("", "0", "1", "tie"))
    unread = _unread(table, outputs, ids, columns.text)
    gone = [name for j, name in enumerate(judges) if j not in set(present.tolist())]
    if gone:
        notes.append(f"No output of these judges counts, so they are left out: {listed(gone)}.")
    return replace(
        table,
        frame=frame,
        lines=lines,
        coverage=Coverage(_by_judge(outputs, pair, len(first)), unread, tuple(notes)),
    )


def _with_attributes(table: RawTable, items: Ints, n_items: int) -> pd.DataFrame:
    """Return the frame with each item's label, group and features also in rows that lack them.

    Only some rows are kept, and the others may be those that give them. Raises InputError if two
    rows of an item have another label: labels do not depend on the order that was shown.
    """
    label = find_column(table.columns, LABEL_NAMES)
    group = find_column(table.columns, GROUP_NAMES)
    named = {label, group, *(name for name in table.columns if name.startswith(FEATURE_PREFIX))}
    changed = {}
    for column in filter(None, named):
        codes, words = distinct(table.frame[column])
        given = np.array([not is_missing(word) for word in words] or [False], dtype=bool)[codes]
        values = verdicts_of(table.frame[column]) if column == label else codes
        if column == label and (values != UNKNOWN).all():
            rows = given_rows(table, "label", values, given & (values >= 0), items, n_items)
        else:
            rows, _ = first_given(codes, given, items, n_items)
        places = np.where(given, np.arange(len(codes)), rows[items])
        changed[column] = pd.Series(table.frame[column].array.take(places))
    return table.frame.assign(**changed)


def _readings(table: RawTable, columns: Columns, rows: Ints) -> NDArray[np.object_]:
    """Return the reading of each of these rows; each distinct text is parsed once, scores first."""
    readings = np.full(len(rows), None, dtype=object)
    if columns.text is not None:
        # Imported here because its expressions take long to compile, and most files hold votes.
        from judgepanel.votes.verdict_text import read_verdict  # noqa: PLC0415

        codes, texts = distinct(table.frame[columns.text])
        known = np.full(len(texts), None, dtype=object)
        for code in np.unique(codes[rows]):
            known[code] = read_verdict(texts[code])
        readings = known[codes[rows]]
    if columns.scores is not None:
        first, second = (_scores(table, name, rows) for name in columns.scores)
        for k in range(len(rows)):
            if columns.text is None or not (np.isnan(first[k]) and np.isnan(second[k])):
                readings[k] = read_scores(float(first[k]), float(second[k]))
    if UNUSABLE in table.columns:
        codes, words = distinct(table.frame[UNUSABLE])
        known_reason = np.array([word in _UNUSABLE_REASONS for word in words], dtype=bool)
        readings[known_reason[codes[rows]]] = Reading(None, reason="unusable")
    return readings


def _scores(table: RawTable, column: str, rows: Ints) -> NDArray[np.float64]:
    """(n_rows,) numbers, NaN where a cell is blank."""
    codes, words = distinct(table.frame[column])
    plain = [word.strip().lower() for word in words]
    known = np.array(
        [float(word) if is_number(word) else np.nan for word in plain] or [np.nan], dtype=float
    )
    for row in rows:
        word = plain[codes[row]]
        if word not in MISSING_WORDS and np.isnan(known[codes[row]]):
            raise InputError(
                "not a score",
                row=table.row(int(row)),
                column=column,
                value=words[codes[row]],
                allowed="a number, or blank",
                remedy=CORRECT_CELL,
            )
    return np.asarray(known[codes[rows]], dtype=float)


def _last_stage(table: RawTable, column: str | None, cells: Ints, rows: Ints) -> NDArray[np.bool_]:
    """Return which rows belong to the last stage of their item and judge."""
    if column is None:
        return np.ones(len(rows), dtype=bool)
    codes, words = distinct(table.frame[column])
    known = np.array([_stage_of(word) for word in words] or [0.0])
    stage = known[codes[rows]]
    if np.isnan(stage).any():
        bad = int(rows[int(np.argmax(np.isnan(stage)))])
        raise InputError(
            "not a stage",
            row=table.row(bad),
            column=column,
            value=words[codes[bad]],
            allowed="a number, or blank",
            remedy=CORRECT_CELL,
        )
    last = pd.Series(stage).groupby(cells).transform("max").to_numpy()
    return np.asarray(stage == last, dtype=bool)


def _stage_of(word: str) -> float:
    plain = word.strip().lower()
    if plain in MISSING_WORDS:
        return 0.0
    return float(plain) if is_number(plain) else math.nan


def _refuse_twice(table: RawTable, columns: Columns, outputs: _Outputs) -> None:
    key = outputs.cell * 2 + outputs.forward
    twice = pd.Series(key).duplicated().to_numpy()
    if not twice.any():
        return
    second = int(np.argmax(twice))
    first = int(np.argmax(key == key[second]))
    raise InputError(
        f"judge {quote_value(outputs.judges[outputs.judge[second]])} already has an output on this "
        f"item in this order in row {table.row(int(outputs.row[first]))}",
        row=table.row(int(outputs.row[second])),
        column=columns.item,
        value=table.frame[columns.item].iloc[int(outputs.row[second])],
        allowed="one output for each item, judge and order",
        remedy=f"{REMOVE_ROW}, or number the two in a column stage, where the last counts",
    )


def _merged(votes: NDArray[np.int8], pair: Ints, n_pairs: int) -> NDArray[np.int8]:
    """Return the vote of each item and judge: the verdict its outputs agree on, or missing."""
    ones = np.bincount(pair, votes == 1, n_pairs)
    zeros = np.bincount(pair, votes == 0, n_pairs)
    return np.where(
        ones > 0, np.where(zeros > 0, MISSING, 1), np.where(zeros > 0, 0, MISSING)
    ).astype(np.int8)


def _by_judge(outputs: _Outputs, pair: Ints, n_pairs: int) -> tuple[JudgeCoverage, ...]:
    n = len(outputs.judges)
    given = np.array([verdict.side is not None for verdict in outputs.reading], dtype=bool)
    says_first = np.array([verdict.side == "A" for verdict in outputs.reading], dtype=bool)
    level = np.array(
        [LEVELS.index(verdict.level) if verdict.side else 0 for verdict in outputs.reading]
    )
    reason = np.array(
        [REASONS.index(verdict.reason) if verdict.reason else 0 for verdict in outputs.reading]
    )
    owner = np.zeros(n_pairs, dtype=np.intp)
    owner[pair] = outputs.judge
    both = np.bincount(pair, given, n_pairs) == 2
    turned = np.bincount(pair, outputs.vote == 1, n_pairs) == 1
    twice_first = np.bincount(pair, says_first, n_pairs) == 2
    columns = (
        _counts(outputs.judge, n),
        _crossed(outputs.judge[given], level[given], n, len(LEVELS)),
        _crossed(outputs.judge[~given], reason[~given], n, len(REASONS)),
        _counts(outputs.judge[says_first], n),
        _counts(owner[both], n),
        _counts(owner[both & ~turned], n),
        _counts(owner[both & turned & twice_first], n),
    )
    rows = zip(outputs.judges, *columns, strict=True)
    return tuple(JudgeCoverage(*row) for row in rows)


def _counts(codes: Ints, n: int) -> list[int]:
    return [int(count) for count in np.bincount(codes, minlength=n)]


def _crossed(rows: Ints, columns: Ints, n_rows: int, n_columns: int) -> list[tuple[int, ...]]:
    counts = _counts(rows * n_columns + columns, n_rows * n_columns)
    return [tuple(counts[k : k + n_columns]) for k in range(0, len(counts), n_columns)]


def _unread(
    table: RawTable, outputs: _Outputs, ids: list[str], column: str | None
) -> tuple[Unread, ...]:
    """Return examples of outputs without a verdict: the first few non-empty ones of each judge."""
    n_examples = np.zeros(len(outputs.judges), dtype=int)
    unreads: list[Unread] = []
    for k in range(len(outputs.row)):
        reading, j = outputs.reading[k], outputs.judge[k]
        silent = reading.reason == "empty" or reading.level == "score"
        if reading.side is not None or silent or n_examples[j] == EXAMPLES_A_JUDGE:
            continue
        n_examples[j] += 1
        row = int(outputs.row[k])
        text = "" if column is None else _excerpt(str(table.frame[column].iloc[row]))
        unreads.append(
            Unread(outputs.judges[j], ids[outputs.item[k]], table.row(row), reading.reason, text)
        )
    return tuple(unreads[:MAX_EXAMPLES])


def _excerpt(text: str) -> str:
    """Return the start and a longer part of the end, where verdicts are."""
    text = text.strip()
    if len(text) <= _HEAD + _TAIL:
        return text
    return f"{text[:_HEAD].rstrip()} … {text[-_TAIL:].lstrip()}"
