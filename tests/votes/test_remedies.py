"""Errors about columns say what to do: which option, and where it is in the app."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import judgepanel
from judgepanel.votes import InputError, load_votes

PACKAGE = Path(judgepanel.__file__).parent
KEYS_OF_A_PANEL_FILE = ("panel_file.py", "panel_blocks.py")


def refused(text: str, name: str = "v.csv", **given: str) -> str:
    with pytest.raises(InputError) as caught:
        load_votes(text.encode(), name=name, **given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "given", "remedy"),
    [
        (
            "id,a,b\nq1,1,0\nq2,0,1\n",
            {},
            "name the label column with --label-column, or on Start under Columns; labels in "
            "another file come with --labels, or with a second upload on Start.",
        ),
        (
            "id,label,a\nq1,1,0\n",
            {"group_column": "topic"},
            "name the group column with --group-column, or on Start under Columns.",
        ),
        (
            "id,label,a\nq1,1,0\n",
            {"id_column": "label", "label_column": "label"},
            "name a different column with each of --id-column, --label-column and --group-column, "
            "or on Start under Columns.",
        ),
        (
            "id,label,a,b\nq1,1,1,good\nq2,0,0,1\n",
            {},
            "correct the cell; or, if this column is not a judge, name it with --ignore, "
            "--feature-column, --id-column, --label-column or --group-column, or on Start "
            "under Columns.",
        ),
        (
            "id,label,a,b\nq1,good,1,1\nq2,0,0,1\n",
            {},
            "correct it, or name another label column with --label-column, "
            "or on Start under Columns.",
        ),
        (
            "id,label,a,b\nq1,1,1,1\nq1,0,0,1\n",
            {},
            "correct it, or name another id column with --id-column, or on Start under Columns; a "
            "file with one row per vote needs the columns item, judge and verdict.",
        ),
        (
            "id,label,a,b\nq1,,1,1\nq2,,0,1\n",
            {},
            "correct it, or name another label column with --label-column, "
            "or on Start under Columns.",
        ),
        (
            "item,judge,label\nq1,m,1\nq1,n,0\nq2,m,1\n",
            {},
            "name the label column with --label-column, or on Start under Columns; labels in "
            "another file come with --labels, or with a second upload on Start.",
        ),
        (
            "item,judge,verdict,label\nq1,m,1,1\nq1,m,0,1\n",
            {},
            "remove one of the two rows, or name a column that tells the items apart with "
            "--id-column, or on Start under Columns.",
        ),
        (
            "id,label,a,b\nq1,1,1,1\nq2,1,0,1\n",
            {"task": "pointwise"},
            "if the items are pairs, say so with --task pairwise, on Start under Task.",
        ),
        ("id,label,a,a\nq1,1,1,1\n", {}, "rename or remove one of the two."),
    ],
)
def test_an_error_about_a_column_ends_with_what_to_do(
    text: str, given: dict[str, str], remedy: str
) -> None:
    assert refused(text, **given).endswith(f"; {remedy}")


def test_the_remedy_outlives_the_name_of_the_file_and_a_copy() -> None:
    error = InputError("no", column="a", remedy="rename it").in_file("v.csv")
    assert str(error) == "v.csv, column 'a': no; rename it."


def errors_about_columns() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name in KEYS_OF_A_PANEL_FILE:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "InputError"):
                continue
            if any(keyword.arg == "column" for keyword in node.keywords):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def test_no_error_about_a_column_is_without_a_remedy() -> None:
    places = dict(errors_about_columns())
    assert len(places) > 20
    without = [
        place
        for place, call in places.items()
        if not any(keyword.arg == "remedy" for keyword in call.keywords)
    ]
    assert without == []
