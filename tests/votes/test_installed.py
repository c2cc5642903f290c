"""Sentences name a page of the documentation as the reader can find it."""

import ast
from pathlib import Path

import yaml

import judgepanel
from judgepanel.votes import errors as installed
from judgepanel.votes.errors import TITLES, documentation

PACKAGE = Path(judgepanel.__file__).parent


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


def test_no_other_sentence_names_a_file_of_the_documentation():
    named = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        named += [
            f"{path.relative_to(PACKAGE)}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and "docs/" in str(node.value)
            if id(node) not in docstrings and path.name != "errors.py"
        ]
    assert named == []
