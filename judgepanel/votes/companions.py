"""Files beside the votes: true labels by item id, and what is known about the judges.

VoteMatrix -> a wide file that loads with the same SHA-256.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from judgepanel.votes import attributes, cells, errors, matrix
from judgepanel.votes.cells import TWOS, UNKNOWN
from judgepanel.votes.choices import Choices
from judgepanel.votes.columns import Column, Columns
from judgepanel.votes.errors import InputError, listed, quote_value
from judgepanel.votes.grades import refuse_label_scale
from judgepanel.votes.roles import Roles
from judgepanel.votes.table import LabelSource, RawTable, no_column, text_column

JUDGE_COLUMN = "judge"


def label_columns(labels: RawTable, id_column: str, label_column: str | None) -> tuple[str, str]:
    """Return the id column and the label column of a label table.

    The id column has the same name as in the votes (``id_column``) or a common name for ids; the
    label column is ``label_column`` or has a common name for labels. If one of two columns has a
    role, the other column has the other role.

    Raises InputError if a column cannot be determined or ``label_column`` does not exist.
    """
    if label_column is not None and label_column not in labels.columns:
        error = no_column(labels.columns, label_column, errors.name_column("label"))
        raise error.in_header(labels, label_column)
    rest = [name for name in labels.columns if name != label_column]
    item = cells.find_column(rest, (id_column.lower(), *cells.LONG_ITEM_NAMES))
    rest = [name for name in labels.columns if name != item]
    label = label_column or cells.find_column(rest, cells.LABEL_NAMES)
    if len(labels.columns) == 2 and (item is None) != (label is None):
        other = next(name for name in labels.columns if name not in (item, label))
        item, label = item or other, label or other
    if item is None:
        problem = "the label table has no column of item ids"
        names = f"{quote_value(id_column)} as in the votes, or {', '.join(cells.ID_NAMES[:3])}"
        error = InputError(problem, f"a column named {names}", errors.RENAME_COLUMN)
        raise error.in_header(labels)
    if label is None:
        allowed = "a column named label, gold, truth, target or y"
        error = InputError("there is no label column", allowed, errors.name_column("label"))
        raise error.in_header(labels)
    return item, label


def with_labels(
    table: RawTable, roles: Roles, labels: RawTable, choices: Choices
) -> tuple[RawTable, str]:
    """Return the votes table with the labels of another file as a new column, and its name.

    Parameters
    ----------
    table : RawTable
        The votes, wide or long.
    roles : Roles
        The roles of their columns. Labels that they have are kept, and the others added.
    labels : RawTable
        One row per item with its id and its label; rows that repeat an item must agree.
    choices : Choices
        Its ``label_column`` is one of ``labels``, guessed by name if not given; words and a
        threshold of labels may be given.

    Raises
    ------
    InputError
        Votes without an id column, a word that is not a label, an item with two labels, in the
        table or with that of the votes, and ids none of which is among the votes.
    """
    file, turn = quote_value(labels.name), f"if its rows are judges, turn it {errors.TRANSPOSE}"
    if not roles.id_column:
        problem = f"there is no column of item ids to find labels by in {file}"
        allowed = "a column with the same ids in both files"
        remedy = f"{errors.name_column('id')}; or, {turn}"
        raise InputError(problem, allowed, remedy).in_header(table)
    id_column = roles.id_column[0]
    source = LabelSource(labels.name, *label_columns(labels, id_column, choices.label_column))
    column = Column(source.column, labels.frame[source.column])
    if choices.label_threshold is None:
        vocabulary = cells.Vocabulary.of([column.given], pairwise=False, given=choices.words)
        check_label_words(labels, source.column, Columns(table).models(), vocabulary)
    items, ids = attributes.names_in(table, roles.id_column, "item id")
    rows_items, row_ids = attributes.names_in(labels, (source.id_column,), "item id")
    meanings = pd.factorize(_same_words(column))[0][column.codes]
    rows = attributes.given_rows(
        labels, source.column, meanings, column.present, rows_items, len(row_ids)
    )
    places, unused = _matched(row_ids, ids)
    there = places >= 0
    if not there.any():
        example = quote_value(next(iter(ids), ""))
        remedy = f"write the same ids in both files, or {errors.name_column('id')}"
        if not set(table.columns).isdisjoint(row_ids):
            remedy = f"these are columns there: {turn}"
        problem = f"none of these item ids is in {quote_value(table.name)}"
        allowed = f"ids as there in column {quote_value(id_column)}, such as {example}"
        error = InputError(problem, allowed, remedy, value=next(iter(row_ids), ""))
        raise replace(error, file=labels.name, column=source.id_column)
    row_of_item = rows[places]
    of_item = np.where(there, column.codes[row_of_item], len(column.words))
    given = text_column(of_item[items], [*column.words, ""])
    if roles.label_column is not None:
        name = roles.label_column
        given = _filled(table, name, Column(name, pd.Series(given)), labels.name)
    else:
        name, is_taken = source.column, source.column in table.columns
        name = f"{name} ({labels.name})" if is_taken else name
    frame = table.frame.assign(**{name: given})
    n_labelled = int((there & column.present[row_of_item]).sum())
    have = "items have" if n_labelled != 1 else "item has"
    more = ""
    if roles.label_column is not None:
        n_all = len(np.unique(items[Column(name, pd.Series(given)).present]))
        more = f" With those of the votes, {n_all:,} have a label."
    notes = [
        f"Labels are read from {file}, column {quote_value(source.column)}, by the ids in "
        f"{quote_value(source.id_column)}: {n_labelled:,} of {len(ids):,} {have} one there.{more}"
    ]
    if unused:
        what = "items that are" if len(unused) > 1 else "item that is"
        among = f"{len(unused):,} {what} not among the votes: {listed(unused)}."
        notes.append(f"{file} has labels for {among}")
    notes += _other_votes(table, roles, labels, (items, places, rows_items))
    return replace(table, frame=frame, notes=(*table.notes, *notes), labels=source), name


def _other_votes(
    table: RawTable, roles: Roles, labels: RawTable, rows: tuple[NDArray[Any], ...]
) -> list[str]:
    """Return a note on votes in a file of labels that are not those of the votes' file.

    ``rows`` are the item of each row of the table, its place among the items of the labels, and the
    item of each row of the labels.
    """
    items, places, own = rows
    row_of = np.full(int(own.max(initial=-1)) + 2, -1, dtype=np.intp)
    row_of[own[::-1]] = np.arange(len(own) - 1, -1, -1)
    there = row_of[places[items]]
    n_other = 0
    for name in set(roles.judge_columns) & set(labels.columns):
        texts = [frame[name].astype(str).to_numpy() for frame in (table.frame, labels.frame)]
        n_other += int(((texts[0] != texts[1][there]) & (there >= 0)).sum())
    if not n_other:
        return []
    many = "votes differ" if n_other > 1 else "vote differs"
    file, own_file = quote_value(labels.name), quote_value(table.name)
    return [f"{n_other:,} {many} in {file} from those of {own_file}, which are read."]


def _same_words(column: Column) -> NDArray[Any]:
    """Return the distinct words (n_words,) of a column of labels, one for all synonyms."""
    texts = zip(map(cells.verdict_of, column.words), column.words, strict=True)
    words = [word.strip() if code == UNKNOWN else str(code) for code, word in texts]
    return np.array(words, dtype=object)


def _filled(table: RawTable, name: str, more: Column, file: str) -> pd.Categorical:
    """Return a column of labels with those of another file where it is blank.

    Raises InputError for the first label that contradicts the one in the other file.
    """
    own = Column(name, table.frame[name])
    differs = own.present & more.present
    differs &= _same_words(own)[own.codes] != _same_words(more)[more.codes]
    if differs.any():
        row = int(np.argmax(differs))
        other = quote_value(str(more.words[more.codes[row]]))
        problem = f"this item has another label in {quote_value(file)}: {other}"
        remedy = "correct one of them, or leave one blank"
        raise InputError(problem, "the same label in both files", remedy).in_cell(table, name, row)
    codes = np.where(own.present, own.codes, len(own.words) + more.codes)
    return text_column(codes, [*own.words, *more.words])


def _matched(names: Sequence[str], wanted: Sequence[str]) -> tuple[NDArray[np.intp], list[str]]:
    """Return the place of each wanted name among the names, -1 if none, and the names not wanted.

    Both are distinct.
    """
    index, known = pd.Index(list(names), dtype="object"), pd.Index(list(wanted), dtype="object")
    return index.get_indexer(known), list(index.difference(known, sort=False))


def check_label_words(
    labels: RawTable, name: str, models: Collection[str], vocabulary: cells.Vocabulary
) -> None:
    """Refuse a word in a column of labels that is not one, with its location.

    ``models`` are names of models, which are labels too where the votes name them.
    """
    column = Column(name, labels.frame[name])
    known = [vocabulary.knows(w) or w.strip() in TWOS or w.strip() in models for w in column.words]
    refuse_unknown_labels(labels, column, ~np.array(known, dtype=bool)[column.codes], vocabulary)


def refuse_unknown_labels(
    table: RawTable, column: Column, unknown: NDArray[np.bool_], vocabulary: cells.Vocabulary
) -> None:
    """Refuse the first cell (n_rows,) of a column whose label is not known."""
    if not unknown.any():
        return
    if column.is_numeric:
        raise refuse_label_scale(table, column, int(np.argmax(unknown)))
    problem = f"not a label; unknown: {cells.counted_unknown(column.cells, vocabulary)}"
    remedy = f"{errors.MAP_WORDS}; {errors.correct_or_name('label')}"
    error = InputError(problem, cells.ALLOWED_LABELS, remedy)
    attributes.refuse_first(error, unknown, table, column.name)


def match_judges(table: RawTable, judges: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the table's rows for these judges, in their order, and warnings.

    A judge without a row gets nan and empty texts; the ``judge`` column is left out.

    Raises InputError if there is no ``judge`` column, for an empty name and for a duplicate judge.
    """
    if JUDGE_COLUMN not in table.columns:
        allowed = "a column named judge with the judges' names, and one row per judge"
        remedy = "rename the column that has their names to judge"
        raise InputError("there is no judge column", allowed, remedy).in_header(table)
    codes, names = attributes.names_in(table, (JUDGE_COLUMN,), "judge name", cells.is_role_name)
    if (again := attributes.repeated(codes)) is not None:
        error = InputError("this judge has two rows", "one row per judge", errors.REMOVE_ROW)
        raise error.in_cell(table, JUDGE_COLUMN, again[1])
    rows, unused = _matched([names[code] for code in codes], judges)
    there = np.flatnonzero(rows >= 0)
    # A judge without a row gets nan where the index has no place.
    columns = {
        cells.unshield(name): attributes.typed_column(table, name, rows[there]).set_axis(there)
        for name in table.columns
        if name != JUDGE_COLUMN
    }
    frame = pd.DataFrame(columns, index=range(len(judges)))
    texts = [name for name, values in columns.items() if values.dtype != np.float64]
    frame[texts] = frame[texts].fillna("")
    file = f"The judge table {quote_value(table.name)}"
    without = [judge for judge, row in zip(judges, rows, strict=True) if row < 0]
    warnings = [f"{file} has no row for {listed(without)}."] if without else []
    if unused:
        warnings.append(f"{file} has rows for judges without a column of votes: {listed(unused)}.")
    return frame, warnings


Value = str | float | int | None
_TIE = "tie"


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column of texts or numbers, None if blank, with its name in the file and its type."""

    name: str
    values: Sequence[Value]
    kind: pa.DataType


def write_votes(votes: matrix.VoteMatrix, path: str | Path) -> None:
    """Write a wide file: item_id, label, group_id, feat_*, one column per judge.

    The extension sets the format: .csv, .csv.gz, .parquet or .jsonl. ``load_votes`` with the same
    task and, if they would not be guessed, the thresholds of grades by judge gives the same
    SHA-256, ties and grades included, if features are floats (nan for missing) or texts, as the
    readers produce them; ``write_judges`` writes the judge table to a separate file. Names and
    texts that a spreadsheet would run as a formula, or that would be read as something else, get a
    leading apostrophe, which the readers remove (``judgepanel.votes.cells``).

    Raises
    ------
    InputError
        An unsupported extension, or a text or number that no file can hold (NUL, infinity).
    """
    _write(_all_columns(votes), Path(path))


def votes_csv(votes: matrix.VoteMatrix) -> bytes:
    """Return the .csv file of :func:`write_votes`."""
    return _csv(_all_columns(votes))


def _all_columns(votes: matrix.VoteMatrix) -> list[_Column]:
    labels = [None if label == matrix.MISSING else label for label in votes.labels.tolist()]
    columns = [_texts("item_id", votes.item_ids), _Column("label", labels, pa.int8())]
    if votes.groups is not None:
        columns.append(_texts("group_id", votes.groups, cells.is_verdict))
    if votes.features is not None:
        named = votes.features.add_prefix(cells.FEATURE_PREFIX)
        columns += [_typed(str(name), values) for name, values in named.items()]
    return [*columns, *(_judge_column(votes, position) for position in range(votes.n_judges))]


def _judge_column(votes: matrix.VoteMatrix, position: int) -> _Column:
    """Return a judge's grades, and its votes and ties where it has none.

    They are texts in typed files if there are ties among the votes, or if other judges have grades.
    """
    values = votes.votes[:, position].astype(object)
    values[values == matrix.MISSING] = None
    if votes.ties is not None:
        values[votes.ties[:, position]] = _TIE
    kind = pa.int8() if votes.grades is None else pa.string()
    if votes.grades is not None:
        grades = votes.grades[:, position]
        graded = ~np.isnan(grades)
        values[graded] = grades[graded]
        kind = pa.float64() if graded.any() else kind
    name = _checked(cells.shield(votes.judges[position], cells.is_role_name))
    return _Column(name, values.tolist(), pa.string() if (values == _TIE).any() else kind)


def _texts(
    name: str, texts: Iterable[str], reserved: Callable[[str], bool] = cells.not_reserved
) -> _Column:
    return _Column(name, [_checked(cells.shield(text, reserved)) for text in texts], pa.string())


def write_judges(votes: matrix.VoteMatrix, path: str | Path) -> None:
    """Write the judge table with its ``judge`` column, in the formats of ``write_votes``."""
    _write(_about_judges(votes), Path(path))


def judges_csv(votes: matrix.VoteMatrix) -> bytes:
    """Return the .csv file of :func:`write_judges`."""
    return _csv(_about_judges(votes))


def _about_judges(votes: matrix.VoteMatrix) -> list[_Column]:
    if votes.judge_table is None:
        raise InputError("the votes have no judge table")
    about = votes.judge_table.drop(columns=JUDGE_COLUMN, errors="ignore")
    columns = [_typed(cells.shield(str(name)), values) for name, values in about.items()]
    return [_texts(JUDGE_COLUMN, votes.judges, cells.is_role_name), *columns]


def _typed(name: str, values: pd.Series) -> _Column:
    _checked(name)
    if name != name.strip() or name == cells.FEATURE_PREFIX:
        raise InputError("a name that would not be read back", column=name, remedy="rename it")
    if pd.api.types.is_numeric_dtype(values.dtype):
        numbers = [float(value) for value in values]
        if any(np.isinf(number) for number in numbers):
            remedy = "set it to a finite number, or to nan"
            raise InputError("an infinite number", "finite numbers", remedy, column=name)
        return _Column(name, [None if np.isnan(x) else x for x in numbers], pa.float64())
    texts = ("" if pd.isna(value) else str(value) for value in values)
    return _texts(name, texts, attributes.is_numeric_word)


def _checked(text: str) -> str:
    if cells.UNSTORABLE.search(text):
        raise InputError("a NUL or a broken Unicode character cannot be written")
    return text


def _write(columns: list[_Column], path: Path) -> None:
    extension = next(filter(path.name.lower().endswith, _WRITERS), None)
    if extension is None:
        raise InputError("cannot write this kind of file", ", ".join(_WRITERS), file=path.name)
    path.write_bytes(_WRITERS[extension](columns))


def _text(value: Value) -> str:
    """Return the text of a value; grades are floats, even if equal to a vote."""
    if value is None:
        return ""
    return value if isinstance(value, str) else repr(value)


def _csv(columns: list[_Column]) -> bytes:
    lines = zip(*([column.name, *column.values] for column in columns), strict=True)
    rows = (",".join(cells.csv_quoted(_text(value)) for value in line) for line in lines)
    return "".join(f"{row}\n" for row in rows).encode()


def _array(column: _Column) -> pa.Array:
    values = map(_text, column.values) if column.kind == pa.string() else column.values
    return pa.array(values, column.kind)


def _parquet(columns: list[_Column]) -> bytes:
    sink = pa.BufferOutputStream()
    names = [column.name for column in columns]
    pa.parquet.write_table(pa.Table.from_arrays(list(map(_array, columns)), names=names), sink)
    return bytes(sink.getvalue())


def _jsonl(columns: list[_Column]) -> bytes:
    names = [column.name for column in columns]
    rows = zip(*(column.values for column in columns), strict=True)
    records = (dict(zip(names, row, strict=True)) for row in rows)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


_WRITERS: dict[str, Callable[[list[_Column]], bytes]] = {
    ".csv": _csv,
    ".csv.gz": lambda columns: gzip.compress(_csv(columns), mtime=0),
    ".parquet": _parquet,
    ".jsonl": _jsonl,
}
