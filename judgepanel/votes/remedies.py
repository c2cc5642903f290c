"""Remedies for column problems, as the end of an error message."""

from __future__ import annotations

from typing import Literal

Role = Literal["id", "label", "group"]

_IN_THE_APP = "or on Start under Columns"
CORRECT_CELL = "correct the cell, or leave it blank"
RENAME_COLUMN = "rename the column in the file"
REMOVE_ROW = "remove one of the two rows"
JUDGE_OR_NOT = (
    "correct the cell; or, if this column is not a judge, name it with --ignore, --feature-column, "
    f"--id-column, --label-column or --group-column, {_IN_THE_APP}"
)
SCORES_OR_NOT = (
    "if these are scores, the higher for label 1, say where they are cut into "
    "votes with --threshold, or on Start under Grades"
)
ONE_ROLE_EACH = (
    "name a different column with each of --id-column, --label-column and --group-column, "
    f"{_IN_THE_APP}"
)


def name_column(role: Role) -> str:
    """Say which column has a role, or that labels may come from another file."""
    remedy = f"name the {role} column with --{role}-column, {_IN_THE_APP}"
    return (
        f"{remedy}; labels in another file come with --labels, or with a second upload on Start"
        if role == "label"
        else remedy
    )


def correct_or_name(role: Role) -> str:
    """Say to correct the column's content, or to name another column for the role."""
    return f"correct it, or name another {role} column with --{role}-column, {_IN_THE_APP}"
