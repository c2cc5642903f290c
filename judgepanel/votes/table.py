"""RawTable: a file as text cells, before columns have roles.

Verdicts read from outputs of judges, and their coverage: how many outputs had a readable one.

A verdict on a pair is its side as shown; the order in which the two responses were shown turns the
side into a vote on the item (:func:`vote_of`).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from judgepanel.votes import cells, limits, matrix
from judgepanel.votes.errors import SHOWN_LENGTH, InputError, TooLarge, first_repeated, quote_value

Side = Literal["A", "B"]
Level = Literal["bracket", "field", "bold", "stated", "closing", "opening", "letter", "score"]

LEVELS: tuple[Level, ...] = get_args(Level)
REASONS = cells.ordered(
    "empty|only reasoning|tie|contradiction|no verdict|unusable|several scores|cut off|refused|"
    "another script"
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed output: a side and its form, or None and the reason, one of ``REASONS``."""

    side: Side | None
    level: Level | None = None
    reason: str | None = None


def read_scores(first: float, second: float) -> Parsed:
    """Return the verdict in two scores: the higher one; equal or missing scores have no verdict."""
    if first == second:
        return Parsed(None, "score", "tie")
    if not (math.isfinite(first) and math.isfinite(second)):
        return Parsed(None, "score", "empty")
    return Parsed("A" if first > second else "B", "score")


def vote_of(side: Side | None, first_shown_first: bool) -> int:
    """Return the vote on the item: 1 if its first output is better, 0 the second, -1 no verdict.

    ``first_shown_first`` tells whether the judge was shown the item's first output as A.
    """
    return matrix.MISSING if side is None else int((side == "A") == first_shown_first)


@dataclass(frozen=True, slots=True)
class Unread:
    """An output without a verdict: its location, the reason, and an excerpt (untrusted text)."""

    judge: str
    item: str
    row: int
    reason: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class JudgeCoverage:
    """Counts over the outputs of one judge that count as its verdict on an item.

    ``outputs`` is the total, ``levels`` counts verdicts by form (in the order of ``LEVELS``) and
    ``reasons`` counts outputs without one (in the order of ``REASONS``); ``shown_first`` counts
    verdicts for the response shown first. ``both`` items have a verdict in both orders: ``same`` of
    them for the same response, ``both_first`` twice for the response shown first, the rest twice
    for the one shown second.
    """

    judge: str
    outputs: int
    levels: tuple[int, ...]
    reasons: tuple[int, ...]
    shown_first: int
    both: int
    same: int
    both_first: int

    def __post_init__(self) -> None:
        # Counts stored before a reason was introduced have no outputs with that reason.
        newer = len(REASONS) - len(self.reasons)
        object.__setattr__(self, "reasons", (*self.reasons, *[0] * newer))

    @property
    def read(self) -> int:
        """Number of outputs with a verdict."""
        return sum(self.levels)

    @property
    def rate(self) -> float:
        """Share of outputs with a verdict, in [0, 1]; a tie is not a verdict."""
        return self.read / self.outputs


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of all outputs in a file by judge, with examples of outputs that were not read.

    ``notes`` are sentences about outputs and judges that do not count.
    """

    judges: tuple[JudgeCoverage, ...]
    unread: tuple[Unread, ...]
    notes: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        """Number of outputs that count."""
        return sum(judge.outputs for judge in self.judges)

    @property
    def rate(self) -> float:
        """Share of all outputs with a verdict, in [0, 1]."""
        return sum(judge.read for judge in self.judges) / self.outputs

    def frame(self) -> pd.DataFrame:
        """Return one row per judge, the lowest coverage first."""
        return pd.DataFrame(
            {"judge": judge.judge, "outputs": judge.outputs, "read": judge.read, "rate": judge.rate}
            | dict(zip(LEVELS, judge.levels, strict=True))
            | dict(zip(REASONS, judge.reasons, strict=True))
            for judge in sorted(self.judges, key=lambda judge: judge.rate)
        )


INDEX_COLUMN = "Unnamed: 0"
FILE_COLUMN = "file"
"""The column with the file of each row, in a table of several files."""
_PART = re.compile(r"(?<![a-z])part-?\d+.*|\d+-of-\d+")
MOST_TITLES = 10
"""Rows above a header that may be titles."""
Format = Literal["csv", "parquet", "arrow", "jsonl", "excel", "frame"]


@dataclass(frozen=True, slots=True)
class LabelSource:
    """The source of labels outside the votes file: a file, its id column and label column."""

    file: str
    id_column: str
    column: str


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """A file as a table of texts.

    Attributes
    ----------
    frame : one row per record; every column is categorical over the texts in it, and a missing cell
        is "".
    name : the file's name for messages.
    format : the format detected from the content (a .csv.gz is a ``csv``), or ``frame``.
    first_row : line of the file (from 1) with the first record; 1 for Parquet, Arrow and frames,
        which have no lines.
    lines : int32 (n_rows,), the line of each record, or None if record i is on line ``first_row +
        i``.
    header_row : line of the header; None if the format has no header line.
    coverage : coverage of the judges' outputs, if the file holds outputs.
    as_outputs : the columns of the file from which these were read, which are gone.
    notes : sentences about how the file was read.
    task : what an item is, if the file says so; otherwise None.
    labels : the source of its labels, if that is another file.
    records : the path of the list of records in a JSON document, if it was given.
    files, starts : the files that the table is made of, if there are several, and the first record
        of each.
    judges : the columns of the judges, if the file says so.
    """

    frame: pd.DataFrame
    name: str
    format: Format
    first_row: int
    lines: NDArray[np.int32] | None = None
    header_row: int | None = None
    coverage: Coverage | None = None
    as_outputs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    task: matrix.Task | None = None
    labels: LabelSource | None = None
    records: str | None = None
    files: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    judges: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.frame.columns)

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def row(self, index: int) -> int:
        """Return the line of the file with record ``index`` (from 0)."""
        return self.first_row + index if self.lines is None else int(self.lines[index])

    def file(self, index: int) -> str:
        """Return the name of the file with record ``index`` (from 0)."""
        if not self.files:
            return self.name
        return self.files[bisect_right(self.starts, index) - 1]

    def taken(self, rows: NDArray[np.intp]) -> RawTable:
        """Return some of the records, which keep their lines."""
        lines = np.array([self.row(int(row)) for row in rows], dtype=np.int32)
        starts = tuple(np.searchsorted(rows, self.starts).tolist())
        frame = self.frame.iloc[rows].reset_index(drop=True)
        return replace(self, frame=frame, lines=lines, starts=starts)


def column_names(raw: Sequence[str], header_row: int | None) -> list[str]:
    """Return the column names stripped of blanks.

    A name with a leading apostrophe is kept as it is: see ``judgepanel.votes.cells``. A first
    column without a name is the index that spreadsheets and data frames write.

    Raises InputError for an empty name, a duplicate name and too many columns.
    """
    check_columns(len(raw), header_row)
    for name in raw:
        check_length(name, limits.MAX_NAME, "the name of a column", row=header_row)
    names = [name if name.startswith("'") else name.strip() for name in raw]
    if len(names) > 1 and names[0] == "" and INDEX_COLUMN not in names:
        names[0] = INDEX_COLUMN
    if "" in names:
        problem = f"column {names.index('') + 1} has no name"
        remedy = "name it in the header, or remove it"
        raise InputError(problem, "a name for every column", remedy, row=header_row)
    repeated = first_repeated(names)
    if repeated is not None:
        problem, remedy = "this column is given twice", "rename or remove one of the two"
        raise InputError(problem, "every column name once", remedy, row=header_row, column=repeated)
    return names


def title_note(row: int, title: str) -> str:
    """Say that a title above the header is not read."""
    return f"Row {row} is left out, a title above the header: {quote_value(title)}."


def no_column(names: Sequence[str], column: str, remedy: str) -> InputError:
    """The refusal of a column that does not exist."""
    problem, known = "there is no such column", [quote_value(name)[1:-1] for name in names[:8]]
    allowed = ", ".join([*known, "…"] if len(names) > 8 else known)
    return InputError(problem, allowed, remedy, column=column)


def check_columns(n_columns: int, row: int | None = None) -> None:
    """Refuse a table with more than ``MAX_COLUMNS`` columns."""
    if n_columns > limits.MAX_COLUMNS:
        problem = f"{n_columns:,} columns are too many"
        remedy = "with more judges, write one row per vote with item, judge and verdict"
        raise InputError(problem, f"{limits.MAX_COLUMNS:,} columns", remedy, row=row)


def check_size(n_rows: int, n_columns: int) -> None:
    """Refuse a table with more than ``MAX_CELLS`` cells."""
    if n_rows * n_columns > limits.MAX_CELLS:
        problem = f"{n_rows:,} rows by {n_columns:,} columns are too many cells"
        remedy = "leave out columns or rows that are not needed"
        raise InputError(problem, f"{limits.MAX_CELLS:,} cells", remedy)


def too_large_unpacked() -> TooLarge:
    """The refusal of a compressed file or archive that holds too much."""
    most, remedy = limits.MAX_UNPACKED, "leave out columns or files that are not needed"
    return TooLarge("too large when unpacked", f"at most {most:,} bytes", remedy)


def check_length(
    text: str, most: int, what: str, *, row: int | None = None, column: str | None = None
) -> None:
    """Refuse a text with more than ``most`` characters."""
    if len(text) > most:
        problem, start = f"{what} has {len(text):,} characters", text[: SHOWN_LENGTH + 1]
        remedy = "shorten it in the file"
        raise InputError(problem, f"at most {most:,}", remedy, row=row, column=column, value=start)


def text_column(codes: NDArray[np.integer], texts: Sequence[str]) -> pd.Categorical:
    """Return a column from codes (n,) into ``texts``, which may have duplicate or unused texts."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    place: dict[str, int] = {}
    target = np.zeros(len(texts), dtype=np.min_scalar_type(-max(len(used), 1)))
    target[used] = [place.setdefault(texts[code], len(place)) for code in used.tolist()]
    return pd.Categorical.from_codes(
        target[codes], categories=pd.Index(list(place), dtype="str"), validate=False
    )


def together(tables: Sequence[RawTable], name: str) -> RawTable:
    """Return tables with the same columns, one below the other.

    Unless they are numbered parts of one table, two more columns tell where a row is from: the
    file, and its folder if there are several.
    """
    paths = [PurePosixPath(table.name) for table in tables]
    columns = list(tables[0].columns)
    sizes = [table.n_rows for table in tables]
    check_size(sum(sizes), len(columns) + 2)
    frame = {own: union_categoricals([table.frame[own] for table in tables]) for own in columns}
    stems = [path.name.partition(".")[0] or path.name for path in paths]
    folders = [str(path.parent) for path in paths]
    places = {FILE_COLUMN: stems if len(set(stems)) > 1 else [str(path) for path in paths]}
    if len({_PART.sub("", stem) for stem in stems}) == 1 < len(set(stems)):
        places = {}
    if len(set(folders)) > 1 and len(set(stems)) < len(stems):
        places["folder"] = [path.parent.name for path in paths]
    for column, own in places.items():
        title = column if column not in columns else f"{column} read"
        frame[title] = text_column(np.repeat(np.arange(len(own)), sizes), own)
    lines = np.array([table.row(k) for table in tables for k in range(table.n_rows)], np.int32)
    files, starts = tuple(map(str, paths)), tuple(np.cumsum([0, *sizes[:-1]]).tolist())
    whole = pd.DataFrame(frame, copy=False)
    return RawTable(whole, name, tables[0].format, 1, lines, files=files, starts=starts)
