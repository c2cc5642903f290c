"""The error that all bad input raises: one sentence that says where it is and what is allowed.

It ends with a remedy, which names the controls of pages and of the command line. A sentence is
stored, or written into a report, before it is known who reads it. It therefore names
a control as a :class:`Control` does, by its option and by its place on a page; the dashboard and
the terminal each leave only their own (:func:`on_page`, :func:`in_terminal`).
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

Role = Literal["id", "label", "group"]


@dataclass(frozen=True, slots=True)
class Control:
    """Where a reader changes something: with an option, or with a control of a page.

    As text it names both. Every control that a message names is one of ``CONTROLS``.
    """

    option: str
    page: str

    def __str__(self) -> str:
        return f"{self.option}, or {self.page}"


_COLUMNS = "on Start under Columns"
_GRADES = "on Start under Grades"
_WORDS = "on Start under Words"
CHOICE_CONTROLS: Mapping[str, Control] = MappingProxyType(
    {
        "id_column": Control("with --id-column", _COLUMNS),
        "label_column": Control("with --label-column", _COLUMNS),
        "group_column": Control("with --group-column", _COLUMNS),
        "judge_columns": Control("with --judge-columns", _COLUMNS),
        "judge_column": Control("with --judge-column", _COLUMNS),
        "verdict_column": Control("with --verdict-column", _COLUMNS),
        "order_column": Control("with --order-column", _COLUMNS),
        "run_column": Control("with --run-column", _COLUMNS),
        "system_column": Control("with --system-column", _COLUMNS),
        "features": Control("with --feature-column", _COLUMNS),
        "ignore": Control("with --ignore", _COLUMNS),
        "thresholds": Control("with --threshold", _GRADES),
    }
)
"""The controls of choices about a file (``judgepanel.votes.choices``)."""
JUDGE_COLUMNS, IGNORE = CHOICE_CONTROLS["judge_columns"], CHOICE_CONTROLS["ignore"]
THRESHOLD = CHOICE_CONTROLS["thresholds"]
_EACH_ROLE = Control("with --id-column, --label-column and --group-column", _COLUMNS)
_ANY_ROLE = Control(
    "with --ignore, --feature-column, --id-column, --label-column or --group-column", _COLUMNS
)
_APART = Control("with --run-column, --judge-column, --id-column or --order-column", _COLUMNS)
_BY_PLACE = Control("with --order-column if they are by place, with --ignore if not", _COLUMNS)
_LABELS = Control("with --labels", "with a second upload on Start")
JUDGE_THRESHOLD = Control("with --threshold JUDGE=NUMBER", _GRADES)
LABEL_THRESHOLD = Control("with --label-threshold", _GRADES)
_MEANINGS = Control("with --words", _WORDS)
TURN = Control("with --turn-votes", "with 'Turn all votes around' on Start")
TRANSPOSE = Control("with --transpose", "with 'Rows are judges' on Start")
PAIRWISE = Control("with --task pairwise", "on Start under Task")
POINTWISE = Control("with --task pointwise", "on Start under Task")
RECORDS = Control("with --records", "on Start under List of records")
GROUP_DUPLICATES = Control("with --group-duplicates", "with 'Group them' on Start or Scope")
JUDGES = Control("with --judges", "on Start under Settings of this analysis")
SCHEDULER_ADDRESS = Control("with --scheduler", "in JUDGEPANEL_DASK_SCHEDULER")
CONTROLS = (
    *CHOICE_CONTROLS.values(),
    *(_EACH_ROLE, _ANY_ROLE, _APART, _BY_PLACE, _LABELS, JUDGE_THRESHOLD, LABEL_THRESHOLD),
    *(_MEANINGS, TURN, TRANSPOSE, PAIRWISE, POINTWISE, RECORDS, GROUP_DUPLICATES, JUDGES),
    SCHEDULER_ADDRESS,
)

CORRECT_CELL = "correct the cell, or leave it blank"
CORRECT_LINE = "correct this line, or export the file again"
EXPORT_AGAIN = "export it again with the tool that wrote it"
SAVE_AS_UTF8 = "save it again as UTF-8 text"
SAVE_WORKBOOK = "open it in the program that wrote it, and save it again as .xlsx or CSV"
CHECK_PATH = "check its name and folder"
RENAME_COLUMN = "rename the column in the file"
REMOVE_ROW = "remove one of the two rows"
JUDGE_OR_NOT = f"correct the cell; or, if this column is not a judge, name it {_ANY_ROLE}"
SCORES_OR_NOT = (
    f"if these are scores (higher means label 1), say where they are cut into votes {THRESHOLD}"
)
ONE_ROLE_EACH = f"name a different column for each role {_EACH_ROLE}"


MAP_WORDS = f"say what these words mean {_MEANINGS}"
TELL_APART = (
    "say what tells them apart: repeated runs (the majority counts), a part of the judge's name, a "
    f"part of the item, or the order shown, {_APART}"
)
BY_PLACE_OR_NOT = f"name it {_BY_PLACE}"


def choose_column(choice: str, candidates: Sequence[str] = ()) -> str:
    """Say which column to name for a choice, and which may be meant."""
    what = _WHAT.get(choice, "a column of the file")
    named = f" (such as {', '.join(repr(name) for name in candidates[:3])})" if candidates else ""
    return f"name {what}{named} {CHOICE_CONTROLS[choice]}"


_WHAT = {
    "id_column": "the id column",
    "label_column": "the label column",
    "group_column": "the group column",
    "judge_column": "the column with the names of the judges",
    "verdict_column": "the column with the verdicts",
    "order_column": "the column of the order shown",
}


def name_column(role: Role, candidates: Sequence[str] = ()) -> str:
    """Say which column has a role, or that labels may come from another file."""
    remedy = choose_column(f"{role}_column", candidates)
    return f"{remedy}; give labels in another file {_LABELS}" if role == "label" else remedy


def correct_or_name(role: Role) -> str:
    """Say to correct the column's content, or to name another column for the role."""
    return f"correct it, or name another {role} column {CHOICE_CONTROLS[f'{role}_column']}"


def on_page(sentence: str) -> str:
    """Return a sentence that names controls as a reader in the browser sees them."""
    for control in CONTROLS:
        sentence = sentence.replace(str(control), control.page)
    return sentence


def in_terminal(sentence: str) -> str:
    """Return a sentence that names controls by their options alone."""
    for control in CONTROLS:
        sentence = sentence.replace(str(control), control.option)
    return sentence


SHOWN_LENGTH = 60


def quote_value(value: object, length: int = SHOWN_LENGTH) -> str:
    """Quote an untrusted value for a one-line message: no control characters, bounded length."""
    start = str(value)[: length + 1]
    text = "".join(char if unicodedata.category(char)[0] != "C" else " " for char in start)
    if len(text) > length:
        text = text[: length - 1] + "…"
    return f"'{text}'"


def listed(names: Sequence[str], limit: int = 5, *, length: int = SHOWN_LENGTH) -> str:
    """Return the first few names, quoted, and how many more there are."""
    text = ", ".join(quote_value(name, length) for name in names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def first_repeated(names: Sequence[str]) -> str | None:
    """Return the first name that occurs again, None if all differ; linear time."""
    if len(set(names)) == len(names):
        return None
    counts = Counter(names)
    return next(name for name in names if counts[name] > 1)


class InputError(ValueError):
    """A user's input cannot be used.

    The message is one sentence on one line. ``file``, ``row`` (1-based line of the file, header
    included), ``column`` and ``value`` say where the problem is; ``allowed`` says what is accepted,
    and ``remedy`` what to do; every error about columns has a remedy. ``choices`` are what the user
    can choose from where something has to be named.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
        value: object | None = None,
        allowed: str | None = None,
        remedy: str | None = None,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.problem = problem
        self.file = file
        self.row = row
        self.column = column
        self.value = value
        self.allowed = allowed
        self.remedy = remedy
        self.choices = choices
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        where = []
        if self.file is not None:
            where.append(quote_value(self.file)[1:-1])
        if self.row is not None:
            where.append(f"row {self.row}")
        if self.column is not None:
            where.append(f"column {quote_value(self.column)}")
        text = ", ".join(where)
        text = f"{text}: {self.problem}" if text else self.problem
        if self.value is not None:
            text += f" (found {quote_value(self.value)})"
        if self.allowed is not None:
            text += f"; allowed: {self.allowed}"
        if self.remedy is not None:
            text += f"; {self.remedy}"
        return " ".join(text.split()).rstrip(".") + "."

    def in_file(self, file: str) -> InputError:
        """Return the same error with the file's name filled in."""
        return self._with(file=file)

    def in_row(self, row: int) -> InputError:
        """Return the same error with its line filled in."""
        return self._with(row=row)

    def _with(self, **changed: Any) -> InputError:
        parts = ("file", "row", "column", "value", "allowed", "remedy", "choices")
        given = {name: getattr(self, name) for name in parts}
        return type(self)(self.problem, **(given | changed))


def unopened(error: OSError, file: str) -> InputError:
    """Return the refusal of a file that the operating system does not open."""
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file", file=file, remedy=CHECK_PATH)
    return InputError(
        f"cannot be read: {error.strerror}",
        file=file,
        remedy="make it readable, or choose a copy of it",
    )


class TooLarge(InputError):
    """An archive unpacks to more than is allowed; the whole upload is refused, not one file."""
