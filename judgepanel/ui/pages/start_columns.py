"""Start, after an upload: the task, the role of every column and the thresholds of grades.

Each has a guess, and each can be changed.
"""

from __future__ import annotations

from collections.abc import Mapping as Named
from contextlib import suppress
from math import isnan

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgepanel.present.blocks import Table
from judgepanel.ui.uploads import read_upload
from judgepanel.ui.widgets import ROW
from judgepanel.ui.widgets import table as draw_table
from judgepanel.votes import TASKS, InputError, Mapping, RawTable, guess_mapping
from judgepanel.votes.companions import label_columns
from judgepanel.votes.grades import GradedJudge, Thresholds
from judgepanel.votes.load import map_columns
from judgepanel.votes.matrix import Task
from judgepanel.words.tables import Column, text
from judgepanel.words.text import plain

NONE = "(none)"
_SEVERAL = {
    "judge": ("Judges", "as guessed"),
    "feature": ("Item features", "as guessed"),
    "ignore": ("Columns to leave out", "none"),
}
_PREVIEWED = 3
_TASK_NAMES = {
    "pairwise": "Pairwise: which of two responses is better",
    "pointwise": "Pointwise: is this one response good",
}
_MOST_ROWS = 10
_NAME_WIDTH = 180


def choose_records(data: bytes, name: str) -> RawTable:
    """The table in an upload; of a JSON document with several lists, the one that is chosen.

    Raises InputError until a list is chosen, or for what is wrong with the file.
    """
    try:
        return read_upload(data, name)
    except InputError as error:
        if not error.choices:
            raise
        chosen = st.selectbox(
            "List of records",
            error.choices,
            index=None,
            key="records",
            placeholder="choose the list with the votes",
            format_func=lambda path: plain(path, 60),
        )
        if chosen is None:
            raise
    return read_upload(data, name, records=chosen)


def guessed_columns(raw: RawTable) -> Mapping | None:
    """The columns guessed from names and content; None if they cannot be guessed."""
    try:
        return guess_mapping(raw, need_label=False)
    except InputError:
        return None


def choose_task(where: DeltaGenerator, implied: Task | None) -> Task:
    """The task that the file or its verdicts imply, unless the user chooses another."""
    return where.radio(
        "Task",
        TASKS,
        index=TASKS.index(implied or "pairwise"),
        format_func=lambda name: _TASK_NAMES[name],
        key="task" if implied is None else f"task-{implied}",
        horizontal=True,
        help="The order of the two responses of a pair is arbitrary.",
    )


def choose_columns(
    raw: RawTable, guessed: Mapping | None, labels: RawTable | None
) -> tuple[RawTable, Mapping, DeltaGenerator]:
    """The table of votes, with labels from another file if there is one, and its columns.

    The user can change each guess. The third value is the container that shows the columns.
    """
    label_column = guessed and guessed.label_column
    if guessed is not None and labels is not None:
        with suppress(InputError):  # Reported below, once all columns are chosen.
            item = guessed.item_column or guessed.id_column or ""
            _, label_column = label_columns(labels, item)
    with st.expander("Columns", expanded=guessed is None or label_column is None):
        if guessed is None:
            st.caption("The columns could not be guessed: choose them here.")
        choices = {
            "id": (raw, guessed and (guessed.item_column or guessed.id_column)),
            "label": (labels or raw, label_column),
            "group": (raw, guessed and guessed.group_column),
        }
        picked: dict[str, str | None] = {}
        for column, (role, (file, choice)) in zip(st.columns(3), choices.items(), strict=True):
            options = [NONE, *file.columns]
            chosen = column.selectbox(
                f"{role.capitalize()} column",
                options,
                index=options.index(choice) if choice in options else 0,
                key=f"column-{role}" if file is raw else "column-of-labels",
                help=None if file is raw else "A column of the file with the labels.",
                format_func=lambda value: plain(value, 60),
            )
            picked[role] = None if chosen == NONE else chosen
        several = {
            role: column.multiselect(
                title,
                raw.columns,
                key=f"columns-{role}",
                format_func=lambda value: plain(value, 60),
                placeholder=placeholder,
            )
            for column, (role, (title, placeholder)) in zip(
                st.columns(3), _SEVERAL.items(), strict=True
            )
        }
        container = st.container()
    table, mapping = map_columns(
        raw,
        labels,
        id_column=picked["id"],
        label_column=picked["label"],
        group_column=picked["group"],
        judge_columns=several["judge"],
        features=several["feature"],
        ignore=several["ignore"],
    )
    with container:
        draw_table(Table(_preview(table, mapping)), key="roles")
    return table, mapping, container


def _preview(raw: RawTable, mapping: Mapping) -> dict[str, Column]:
    """One row per column of the file: its role, the reason, and its first cells."""
    first = raw.frame.head(_PREVIEWED)
    roles = mapping.roles
    cells = [" | ".join(str(cell)[:40] for cell in first[role.column]) for role in roles]
    return {
        "column": text([plain(role.column, 60) for role in roles]),
        "role": text([role.role for role in roles]),
        "why": text([role.reason for role in roles]),
        "first cells": text([plain(joined, 80) for joined in cells]),
    }


def choose_thresholds(graded: tuple[GradedJudge, ...]) -> Thresholds:
    """Where grades are cut into votes: for all judges, and for each that differs.

    Without judges that give grades nothing is drawn.
    """
    if not graded:
        return Thresholds()
    is_open = any(judge.scale is None for judge in graded)
    with st.expander("Grades", expanded=is_open):
        of_all: float | None = st.number_input(
            "Threshold of all grades",
            value=None,
            key="threshold",
            placeholder="needed" if is_open else "guessed",
            help="Where grades are cut into votes; higher grades are for label 1.",
        )
        names = tuple(judge.judge for judge in graded)
        edited = st.data_editor(
            _grade_rows(graded, of_all),
            key=f"thresholds-{hash(names)}",
            hide_index=True,
            height=ROW * (1 + min(len(graded), _MOST_ROWS)) + 3,
            disabled=["judge", "grades", "if blank"],
            placeholder="–",
            column_config={
                "judge": st.column_config.Column(width=_NAME_WIDTH),
                "threshold": st.column_config.NumberColumn(
                    help="For this judge only: double-click to type a number."
                ),
                "if blank": st.column_config.Column(help="The threshold used if you type none."),
                "grades": st.column_config.Column(help="The judge's lowest and highest grade."),
            },
        )
    return thresholds_of(of_all, dict(zip(names, edited["threshold"].tolist(), strict=True)))


def thresholds_of(of_all: float | None, of_judges: Named[str, float | None]) -> Thresholds:
    """Return the thresholds that were typed."""
    typed = {judge: cut for judge, cut in of_judges.items() if cut is not None and not isnan(cut)}
    return Thresholds(of_all, typed)


def _grade_rows(graded: tuple[GradedJudge, ...], of_all: float | None) -> pd.DataFrame:
    """One row per judge: a threshold to type, the one without it, and the range of its grades."""
    return pd.DataFrame(
        {
            "judge": [plain(judge.judge, 60) for judge in graded],
            "threshold": np.full(len(graded), np.nan),
            "if blank": [_if_blank(judge, of_all) for judge in graded],
            "grades": [f"{judge.lowest:.3g} to {judge.highest:.3g}" for judge in graded],
        }
    )


def _if_blank(judge: GradedJudge, of_all: float | None) -> str:
    """How a judge's numbers are read without a threshold of its own."""
    if of_all is not None and judge.has_grades:
        return f"{of_all:g}"
    if of_all is None and judge.scale is not None:
        return f"{judge.scale.threshold:g}"
    unclear = judge.has_grades or (of_all is not None and judge.lowest < 0.0)
    return "needed" if unclear else "votes"
