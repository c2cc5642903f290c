"""Runs of an application and the scores that each was given, as tools for tracing export them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from judgepanel.votes.imports.rows import (
    ImportedRows,
    LeftOut,
    Row,
    cut_shares,
    grade_of,
    graded_row,
    label_in,
    with_features,
)


@dataclass(frozen=True, slots=True)
class Run:
    """One output of an application: ``grades`` by the name of who gave them.

    ``group`` is what several runs share, such as the example they answer; ``about`` what else is
    known of it.
    """

    item: str
    group: str
    grades: Row
    about: Row = field(default_factory=dict)


def graded_runs(runs: Sequence[Run], left_out: LeftOut) -> ImportedRows:
    """An item for each run, with its label where a grade or a field is called as labels are.

    Grades that all lie in [0, 1] are cut at .5. Of runs of one id the last counts.
    """
    latest = {run.item: run for run in runs}
    left_out["runs that are there twice"] += len(runs) - len(latest)
    return ImportedRows(_rows(list(latest.values()), left_out), left_out, "pointwise")


def _rows(runs: list[Run], left_out: LeftOut) -> Iterator[Row]:
    cut_shares(run.grades for run in runs)
    grouped = len({run.group for run in runs}) < len(runs)
    rows: list[Row] = []
    for run in runs:
        given = label_in(run.grades, run.about)
        label = None if given is None else grade_of(given)
        judges = {name: grade for name, grade in run.grades.items() if label_in({name: 1}) is None}
        if not any(grade is not None for grade in judges.values()):
            left_out["runs without a grade"] += 1
            continue
        rows.append(graded_row(run.item, label, run.group if grouped else None, judges, left_out))
    yield from with_features(rows, {run.item: run.about for run in runs})
