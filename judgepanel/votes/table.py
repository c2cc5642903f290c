"""RawTable: a file as text cells, before anything is known about what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes.coverage import Coverage
from judgepanel.votes.errors import InputError
from judgepanel.votes.matrix import Task

Format = Literal["csv", "parquet", "jsonl"]
MAX_CELLS = 500_000_000
MAX_COLUMNS = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """A file as a table of texts.

    Attributes
    ----------
    frame : one row a record; every column is categorical over the texts in it, and a missing
        cell is "".
    name : the file's name, as messages show it.
    format : what the content turned out to be (a .csv.gz is a ``csv``).
    first_row : line of the file (from 1) with the first record; 1 for Parquet, which has no lines.
    lines : int32 (n_rows,), the line of each record, or None when record i is on line
        ``first_row + i``.
    header_row : line of the header; None where the format has no header line.
    coverage : what was read of the judges' outputs, where the file holds those.
    notes : sentences about how the file was read.
    task : what an item is, where the file tells; None where it does not.
    """

    frame: pd.DataFrame
    name: str
    format: Format
    first_row: int
    lines: NDArray[np.int32] | None = None
    header_row: int | None = None
    coverage: Coverage | None = None
    notes: tuple[str, ...] = ()
    task: Task | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.frame.columns)

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def row(self, index: int) -> int:
        """Line of the file with record ``index`` (from 0)."""
        return self.first_row + index if self.lines is None else int(self.lines[index])


def column_names(raw: Sequence[str], header_row: int | None) -> list[str]:
    """The names of the columns without the blanks around them.

    A name with an apostrophe in front is left as it is: see ``judgepanel.votes.cells``.

    Raises InputError for an empty name, a name given twice and too many columns.
    """
    if len(raw) > MAX_COLUMNS:
        raise InputError(
            f"{len(raw):,} columns are too many",
            row=header_row,
            allowed=f"{MAX_COLUMNS:,}",
            remedy="keep the item, the label and one column a judge",
        )
    names = [name if name.startswith("'") else name.strip() for name in raw]
    seen: set[str] = set()
    for position, name in enumerate(names, start=1):
        if name == "":
            raise InputError(
                f"column {position} has no name",
                row=header_row,
                allowed="a name for every column",
                remedy="name it in the header, or remove it",
            )
        if name in seen:
            raise InputError(
                "this column is given twice",
                row=header_row,
                column=name,
                allowed="every column name once",
                remedy="rename or remove one of the two",
            )
        seen.add(name)
    return names


def check_size(n_rows: int, n_columns: int) -> None:
    """Refuse a table with more than ``MAX_CELLS`` cells."""
    if n_rows * n_columns > MAX_CELLS:
        raise InputError(
            f"{n_rows:,} rows by {n_columns:,} columns are too many cells",
            allowed=f"{MAX_CELLS:,} cells",
            remedy="keep the item, the label and one column a judge, or fewer items",
        )


def text_column(codes: NDArray[np.integer], texts: Sequence[str]) -> pd.Categorical:
    """A column from codes (n,) into ``texts``, in which a text may occur twice or not be used."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    place: dict[str, int] = {}
    target = np.zeros(len(texts), dtype=np.int32)
    target[used] = [place.setdefault(texts[code], len(place)) for code in used.tolist()]
    return pd.Categorical.from_codes(
        target[codes], categories=pd.Index(list(place), dtype="str"), validate=False
    )
