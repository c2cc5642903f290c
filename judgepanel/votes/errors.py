"""The error that all bad input raises: one sentence that says where it is and what is allowed.

It ends with a remedy, which names the controls of pages and of the command line. A sentence is
stored, or written into a report, before it is known who reads it. It therefore names
a control as a :class:`Control` does, by its option and by its place on a page; the dashboard and
the terminal each leave only their own (:func:`on_page`, :func:`in_terminal`).

What is installed here: files that come with judgepanel, and optional packages.

The files lie elsewhere in an installed wheel than in a checkout.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from judgepanel.votes.table import RawTable

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
_COLUMN = "a column of the file"
_WHAT = {
    "id_column": "the id column",
    "label_column": "the label column",
    "group_column": "the group column",
    "judge_column": "the column with the names of the judges",
    "verdict_column": "the column with the verdicts",
    "order_column": "the column of the order shown",
    **dict.fromkeys(("judge_columns", "run_column", "system_column", "ignore"), _COLUMN),
}
"""What a choice names."""
CHOICE_CONTROLS: Mapping[str, Control] = MappingProxyType(
    {choice: Control(f"with --{choice.replace('_', '-')}", _COLUMNS) for choice in _WHAT}
    | {
        "features": Control("with --feature-column", _COLUMNS),
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
_MEANINGS = Control("with --words", "on Start under Words")
TURN = Control("with --turn-votes", "with 'Turn all votes around' on Start")
TRANSPOSE = Control("with --transpose", "with 'Rows are judges' on Start")
PAIRWISE = Control("with --task pairwise", "on Start under 'What is an item?'")
POINTWISE = Control("with --task pointwise", "on Start under 'What is an item?'")
RECORDS = Control("with --records", "on Start under List of records")
GROUP_DUPLICATES = Control("with --group-duplicates", "with 'Group them' on Start or Scope")
JUDGES = Control("with --judges", "on Start under Settings of this analysis")
SCHEDULER_ADDRESS = Control("with --scheduler", "in JUDGEPANEL_DASK_SCHEDULER")
_NAMED = [value for value in globals().values() if isinstance(value, Control)]
CONTROLS = tuple(dict.fromkeys((*CHOICE_CONTROLS.values(), *_NAMED)))

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
    named = f" (such as {', '.join(map(repr, candidates[:3]))})" if candidates else ""
    return f"name {_WHAT.get(choice, _COLUMN)}{named} {CHOICE_CONTROLS[choice]}"


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


@dataclass(eq=False, repr=False)
class InputError(ValueError):
    """A user's input cannot be used.

    The message is one sentence on one line: the ``problem``, what is ``allowed`` and the
    ``remedy``, which is what to do; every error about columns has a remedy. ``file``, ``row``
    (1-based line of the file, header included), ``column`` and ``value`` say where the problem is.
    ``choices`` are what the user can choose from where something has to be named.
    """

    problem: str
    allowed: str | None = None
    remedy: str | None = None
    _: KW_ONLY
    file: str | None = None
    row: int | None = None
    column: str | None = None
    value: object | None = None
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        texts = (self.file, self.column, self.value)
        file, column, value = (None if text is None else quote_value(text) for text in texts)
        places = {"{}": file and file[1:-1], "row {}": self.row, "column {}": column}
        details = {" (found {})": value, "; allowed: {}": self.allowed, "; {}": self.remedy}
        where, what = (
            [form.format(part) for form, part in parts.items() if part not in (None, "")]
            for parts in (places, details)
        )
        text = ": ".join(filter(None, (", ".join(where), "".join((self.problem, *what)))))
        super().__init__(" ".join(text.split()).rstrip(".") + ".")

    def in_file(self, file: str) -> InputError:
        """Return the same error with the file's name filled in."""
        return replace(self, file=file)

    def in_header(self, table: RawTable, column: str | None = None) -> InputError:
        """Return the same error about the columns of a table, or about one of them."""
        return replace(self, file=table.name, row=table.header_row, column=column)

    def in_record(self, table: RawTable, column: str, index: int) -> InputError:
        """Return the same error about a column of record ``index`` (from 0) of a table."""
        return replace(self, file=table.file(index), row=table.row(index), column=column)

    def in_cell(self, table: RawTable, column: str, index: int) -> InputError:
        """Return the same error about the text in a cell, which is quoted if there is one."""
        text = str(table.frame[column].iloc[index])
        return replace(self.in_record(table, column, index), value=text if text.strip() else None)


@contextmanager
def in_file(file: str) -> Iterator[None]:
    """Fill in the name of the file of errors that name none."""
    try:
        yield
    except InputError as error:
        raise (error if error.file is not None else error.in_file(file)) from None


def unopened(error: OSError, file: str) -> InputError:
    """Return the refusal of a file that the operating system does not open."""
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file", file=file, remedy=CHECK_PATH)
    remedy = "make it readable, or choose a copy of it"
    return InputError(f"cannot be read: {error.strerror}", file=file, remedy=remedy)


class TooLarge(InputError):
    """An archive unpacks to more than is allowed; the whole upload is refused, not one file."""


_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = _PACKAGE / "_app"
APP_FOLDER = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
"""Holds app.py, pages/, sample_data/ and .streamlit/config.toml."""
SAMPLE_FOLDER = APP_FOLDER / "sample_data"
IN_CHECKOUT = (_PACKAGE.parent / "run").is_file()
"""Whether this is a checkout of the repository, which has docs/ and ./run as well."""
TITLES = {
    "aggregators": "Aggregators",
    "claim": "The claim",
    "limits": "Limits of files",
    "scope": "Scope",
    "team": "Run it for a team",
    "transcripts": "From judges' outputs to votes",
}
"""Titles, as in mkdocs.yml, of the pages of the documentation that sentences refer to."""
EXTRAS = {
    "psycopg": "postgres",
    "authlib": "login",
    "httpx": "collect",
    "python_calamine": "excel",
    "distributed": "dask",
}
"""The extra that installs each package (requirements.txt)."""


def documentation(page: str) -> str:
    """Name a page of the documentation: its file in a checkout, its title where there is none."""
    return f"docs/{page}.md" if IN_CHECKOUT else f"'{TITLES[page]}' in the documentation"


def require(package: str, feature: str) -> Any:
    """Return the package; ``feature`` is what needs it, as the subject of a sentence.

    Raises
    ------
    InputError
        The package is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError:
        problem = f"{feature} needs the package {package}, which is not installed"
        remedy = f"install it with: pip install 'judgepanel[{EXTRAS[package]}]'"
        raise InputError(problem, remedy=remedy) from None
