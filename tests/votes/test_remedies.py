"""Errors say what to do: with which option, where in the dashboard, and where to read more."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

import judgepanel
from judgepanel.votes import InputError, load_votes
from judgepanel.votes import errors as installed
from judgepanel.votes.errors import CONTROLS, TITLES, documentation, in_terminal, on_page

PACKAGE = Path(judgepanel.__file__).parent
PARTS = ("problem", "allowed", "remedy")
"""What a refusal is given without names, in this order."""
IN_A_COLUMN = ("in_record", "in_cell")
KEYS_OF_A_PANEL_FILE = ("panel_file.py", "panel_parts.py")
READERS = (
    *("delimited.py", "formats.py", "load.py", "records.py", "sources.py", "table.py"),
    "imports/*.py",
)
"""Modules that read a file of unknown content."""
OPTION = re.compile(r"(?<![\w-])--[a-z-]+\b(?!:)")
ROOMS_OF_SENTENCES = ("votes", "studies", "decision", "present", "words", "service", "ui")
"""Packages whose sentences the dashboard shows as well as the terminal."""
NO_SENTENCE = re.compile(r"(?s)--[a-z-]+|.*jp-.*|.*command line.*|.*promptfoo eval.*")
"""The name of an option alone, a style sheet, and what is about a command line."""


def refused(text, name="v.csv", **given):
    with pytest.raises(InputError) as caught:
        load_votes(text.encode(), name=name, **given)
    return str(caught.value)


def test_the_dashboard_names_the_place_on_the_page_and_the_terminal_the_option():
    sentence = refused("id,label,a,b\nq1,1,1,dunno\nq2,0,0,1\n")
    assert on_page(sentence).endswith(
        "; correct the cell; or, if this column is not a judge, name it on Start under Columns."
    )
    assert in_terminal(sentence).endswith(
        "name it with --ignore, --feature-column, --id-column, --label-column or --group-column."
    )


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.option)
def test_each_reader_sees_one_of_the_two_controls(control):
    assert on_page(f"Say so {control}.") == f"Say so {control.page}."
    assert in_terminal(f"Say so {control}.") == f"Say so {control.option}."


def test_the_remedy_outlives_the_name_of_the_file_and_a_copy():
    error = InputError("no", column="a", remedy="rename it").in_file("v.csv")
    assert str(error) == "v.csv, column 'a': no; rename it."


@cache
def nodes_of(path):
    """All nodes of a module's syntax."""
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


def errors_in(path):
    """Every refusal of a module with its place, and what is given of it."""
    attributes = [node for node in nodes_of(path) if isinstance(node, ast.Attribute)]
    about_columns = {id(node.value) for node in attributes if node.attr in IN_A_COLUMN}
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "InputError":
            place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
            given = {*PARTS[: len(node.args)], *(keyword.arg for keyword in node.keywords)}
            yield place, given | ({"column"} if id(node) in about_columns else set())


def test_no_error_about_a_column_is_without_a_remedy():
    modules = (path for path in PACKAGE.rglob("*.py") if path.name not in KEYS_OF_A_PANEL_FILE)
    errors = [error for path in sorted(modules) for error in errors_in(path)]
    about_columns = [(place, given) for place, given in errors if "column" in given]
    assert len(about_columns) > 20
    assert [place for place, given in about_columns if "remedy" not in given] == []


def test_no_file_is_refused_without_a_remedy():
    modules = [path for name in READERS for path in (PACKAGE / "votes").glob(name)]
    errors = [error for path in modules for error in errors_in(path)]
    assert len(errors) > 30
    assert [place for place, given in errors if "remedy" not in given] == []


def texts(path):
    """Every text of a module that is not a docstring, with its line."""
    alone = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.lineno, node.value


def test_no_sentence_names_an_option_but_by_a_control():
    named = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for room in ROOMS_OF_SENTENCES
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if path.name not in ("choices.py", "errors.py", "registry.py", "simulate.py")
        for line, text in texts(path)
        if OPTION.search(text) and not NO_SENTENCE.fullmatch(text)
    ]
    assert named == []


def test_no_other_sentence_names_a_file_of_the_documentation():
    modules = (path for path in PACKAGE.rglob("*.py") if path.name != "errors.py")
    named = [(path, line) for path in modules for line, text in texts(path) if "docs/" in text]
    assert named == []


def test_a_page_is_named_by_its_file_in_a_checkout():
    assert documentation("team") == "docs/team.md"
    assert all((PACKAGE.parent / documentation(page)).is_file() for page in TITLES)


def test_a_page_is_named_by_its_title_where_judgepanel_is_installed(monkeypatch):
    monkeypatch.setattr(installed, "IN_CHECKOUT", False)
    assert documentation("team") == "'Run it for a team' in the documentation"


def test_titles_are_those_of_the_site():
    menu = yaml.safe_load((PACKAGE.parent / "mkdocs.yml").read_text("utf-8"))["nav"]
    pages = [page for section in menu for entry in section.values() for page in entry]
    titles = {
        name: title for page in pages if isinstance(page, dict) for title, name in page.items()
    }
    assert {page: titles[f"{page}.md"] for page in TITLES} == TITLES
