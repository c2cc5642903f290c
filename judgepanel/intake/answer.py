"""What a reading process is asked about uploaded files, and its answer: data of bounded size.

The answer has the vote matrix, validated and packed, and a preview of the file; its texts stay in
that process, but for those of items that are asked for, which are cut. Its bytes are read by
annotation (:mod:`judgepanel.studies.codec`), so an attacker who takes over the process can at most
return other votes.
"""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice

from judgepanel.studies.codec import unpack
from judgepanel.votes import grades, layouts, limits, matrix, reading
from judgepanel.votes.cells import is_number
from judgepanel.votes.checks import Check, item_checks
from judgepanel.votes.choices import Choices, roles_text
from judgepanel.votes.errors import InputError
from judgepanel.votes.load import Loaded, build_votes, open_table, prepared
from judgepanel.votes.roles import ColumnRole, RoleName, Roles, guess_roles
from judgepanel.votes.table import Coverage, RawTable

MAX_ANSWER = limits.READER_MIB << 20
MOST_COLUMNS = 200
"""Columns in a preview; those of judges come last."""
_CELLS, _CELL_LENGTH = 8, 60
_MOST_JUDGES = 200
_MOST_NOTES, _NOTE_LENGTH = 100, 2_000
_MOST_CHOICES, _SENTENCE = 100, 4_000


@dataclass(frozen=True, slots=True)
class Ask:
    """Files by name with their sizes, and what is known about them.

    ``labels`` and ``judges`` are the tables beside the votes; without them None. ``texts_of`` are
    ids of items whose texts are wanted.
    """

    votes: str
    size: int
    labels: str | None = None
    labels_size: int = 0
    judges: str | None = None
    judges_size: int = 0
    choices: Choices = field(default_factory=Choices)
    need_labels: bool = True
    texts_of: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the files."""
        return tuple(name for name in (self.votes, self.labels, self.judges) if name is not None)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The parts of an :class:`InputError`."""

    problem: str
    file: str | None
    row: int | None
    column: str | None
    value: str | None
    allowed: str | None
    remedy: str | None
    choices: tuple[str, ...]

    @classmethod
    def of(cls, error: InputError) -> Refusal:
        """Return the parts of an error, texts of bounded length."""

        def text(part: object, longest: int = limits.MAX_NAME) -> str | None:
            return None if part is None else str(part)[:longest]

        names = (name for name in error.choices if len(name) <= limits.MAX_NAME)
        choices = (name for name in names if name.isprintable())
        file, column, value = map(text, (error.file, error.column, error.value))
        allowed, remedy = (text(part, _SENTENCE) for part in (error.allowed, error.remedy))
        problem, shown = error.problem[:_SENTENCE], tuple(islice(choices, _MOST_CHOICES))
        return cls(problem, file, error.row, column, value, allowed, remedy, shown)

    def error(self) -> InputError:
        """Return the error."""
        return InputError(**asdict(self))


@dataclass(frozen=True, slots=True)
class ColumnPreview:
    """A column of the file with its role, the reason and its first cells, shortened."""

    name: str
    role: RoleName
    reason: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a page shows of a file.

    Attributes
    ----------
    columns : at most ``MOST_COLUMNS`` of ``n_columns``.
    task, sure : what an item is, and whether the file or the user says so.
    label_file : the columns of the label table.
    words : verdicts and labels whose meaning is not known, with the number of cells of each.
    levels : the values of labels on a scale, with the number of labels of each.
    graded : judges whose numbers may be grades.
    coverage : what was read, if the file holds outputs of judges; votes have it themselves.
    """

    columns: tuple[ColumnPreview, ...]
    n_columns: int
    n_rows: int
    task: matrix.Task | None = None
    sure: bool = False
    label_file: tuple[str, ...] = ()
    words: tuple[tuple[str, int], ...] = ()
    levels: tuple[tuple[float, int], ...] = ()
    graded: tuple[grades.GradedJudge, ...] = ()
    coverage: Coverage | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The votes of a file with their checks and a file of its roles, or why there are none.

    ``preview`` is None if the file is no table.
    """

    refusal: Refusal | None = None
    preview: Preview | None = None
    loaded: Loaded | None = None
    checks: tuple[Check, ...] = ()
    roles_file: str = ""

    def read(self) -> Loaded:
        """Return what was read; InputError if it was refused."""
        if self.loaded is None:
            raise InputError("nothing was read") if self.refusal is None else self.refusal.error()
        return self.loaded


class BadAnswer(ValueError):
    """The bytes are not a valid answer."""


def answer_to(ask: Ask, files: list[bytes]) -> Answer:
    """Return what is in files; ``files`` are the contents of those that ``ask`` names.

    Each is taken out of the list once it is a table, which frees its memory.
    """
    seen: list[Preview] = []
    try:
        loaded = _loaded(ask, files, seen)
    except InputError as error:
        return Answer(Refusal.of(error), seen[-1] if seen else None)
    checks = item_checks(loaded.votes) if ask.need_labels else ()
    notes = tuple(note[:_NOTE_LENGTH] for note in loaded.warnings[:_MOST_NOTES])
    shortened = replace(loaded, warnings=notes, roles=replace(loaded.roles, columns=()))
    return Answer(None, seen[-1], shortened, checks, roles_text(loaded))


def _loaded(ask: Ask, files: list[bytes], seen: list[Preview]) -> Loaded:
    """Return the votes of files; previews are added to ``seen`` as more is known."""
    choices = ask.choices
    table = open_table(files.pop(0), ask.votes, task=choices.task, records=choices.records)
    beside = (ask.labels, ask.judges)
    labels, judges = (None if name is None else open_table(files.pop(0), name) for name in beside)
    seen.append(_preview(table, None, labels))
    table, choices = prepared(table, choices, labels)
    seen.append(_preview(table, None, labels))
    try:
        roles = guess_roles(table, choices, need_label=ask.need_labels)
    except InputError:
        with suppress(InputError):
            roles = guess_roles(table, choices, need_label=False)
            seen.append(_read(table, roles, choices, labels))
        raise
    seen.append(_preview(table, roles, labels))
    table, roles = layouts.settled(table, roles)
    seen.append(_read(table, roles, choices, labels))
    need, ids = ask.need_labels, ask.texts_of
    return build_votes(table, roles, choices, judge_table=judges, need_labels=need, texts_of=ids)


def _preview(table: RawTable, roles: Roles | None, labels: RawTable | None) -> Preview:
    known = {} if roles is None else {role.column: role for role in roles.columns}
    names = sorted(table.columns, key=lambda n: n in known and known[n].role == "judge")
    first = table.frame.head(_CELLS)
    columns = []
    for name in names[:MOST_COLUMNS]:
        own = known.get(name, ColumnRole(name, "ignore", "not known yet"))
        start = tuple(str(cell)[:_CELL_LENGTH] for cell in first[name])
        columns.append(ColumnPreview(name, own.role, own.reason, start))
    others = () if labels is None else labels.columns[:MOST_COLUMNS]
    size = len(table.columns), table.n_rows
    return Preview(tuple(columns), *size, label_file=others, coverage=table.coverage)


def _read(table: RawTable, roles: Roles, choices: Choices, labels: RawTable | None) -> Preview:
    """Return a preview with what is asked about words, grades and the task."""
    preview = _preview(table, roles, labels)
    with suppress(InputError):
        reader = layouts.Reader.of(table, roles, choices)
        task, unsaid = reading.task_of(reader, choices)
        meant = {float(word) for word in reader.vocabulary.given if is_number(word)}
        judges = grades.graded_judges(table, roles, task)[:_MOST_JUDGES]
        graded = tuple(judge for judge in judges if not meant.issuperset(dict(judge.values)))
        unknown = reading.unknown_words(reader, but={judge.judge for judge in graded})
        words = tuple((word, n) for word, n in unknown if len(word) <= limits.MAX_NAME)
        sure, levels = unsaid != reading.TASK_NOT_SAID, reading.label_levels(reader)
        return replace(preview, task=task, sure=sure, words=words, levels=levels, graded=graded)
    return preview


def unpacked(data: bytes) -> Answer:
    """Return the answer in bytes; BadAnswer for anything else, or for what is too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            if sum(entry.file_size for entry in parts.infolist()) > MAX_ANSWER:
                raise BadAnswer("too large")
        return unpack(Answer, data)
    except (ValueError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise BadAnswer(str(error)) from None
