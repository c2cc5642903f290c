"""Remedies of problems with a file: the end of an error message, and the controls that it names.

A sentence is stored, or written into a report, before it is known who reads it. It therefore names
a control as a :class:`Control` does, by its option and by its place on a page; the dashboard and
the terminal each leave only their own (:func:`on_page`, :func:`in_terminal`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
ROLE_COLUMN: dict[Role, Control] = {
    "id": Control("with --id-column", _COLUMNS),
    "label": Control("with --label-column", _COLUMNS),
    "group": Control("with --group-column", _COLUMNS),
}
JUDGE_COLUMNS = Control("with --judge-columns", _COLUMNS)
FEATURE_COLUMN = Control("with --feature-column", _COLUMNS)
IGNORE = Control("with --ignore", _COLUMNS)
COLUMN_LISTS = {
    "--judge-columns": JUDGE_COLUMNS,
    "--feature-column": FEATURE_COLUMN,
    "--ignore": IGNORE,
}
"""The options that make columns judges, features or ignored, with their controls."""
_EACH_ROLE = Control("with --id-column, --label-column and --group-column", _COLUMNS)
_ANY_ROLE = Control(
    "with --ignore, --feature-column, --id-column, --label-column or --group-column", _COLUMNS
)
_LABELS = Control("with --labels", "with a second upload on Start")
THRESHOLD = Control("with --threshold", _GRADES)
JUDGE_THRESHOLD = Control("with --threshold JUDGE=NUMBER", _GRADES)
PAIRWISE = Control("with --task pairwise", "on Start under Task")
RECORDS = Control("with --records", "on Start under List of records")
GROUP_DUPLICATES = Control("with --group-duplicates", "with 'Group them' on Start or Scope")
JUDGES = Control("with --judges", "on Start under Settings of this analysis")
SCHEDULER_ADDRESS = Control("with --scheduler", "in JUDGEPANEL_DASK_SCHEDULER")
CONTROLS = (
    *ROLE_COLUMN.values(),
    *COLUMN_LISTS.values(),
    *(_EACH_ROLE, _ANY_ROLE, _LABELS),
    *(THRESHOLD, JUDGE_THRESHOLD, PAIRWISE, RECORDS, GROUP_DUPLICATES, JUDGES, SCHEDULER_ADDRESS),
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


def name_column(role: Role) -> str:
    """Say which column has a role, or that labels may come from another file."""
    remedy = f"name the {role} column {ROLE_COLUMN[role]}"
    return f"{remedy}; give labels in another file {_LABELS}" if role == "label" else remedy


def correct_or_name(role: Role) -> str:
    """Say to correct the column's content, or to name another column for the role."""
    return f"correct it, or name another {role} column {ROLE_COLUMN[role]}"


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
