"""What is public is documented in numpydoc sections whose examples run; so does the notebook."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

import judgepanel as jp

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = ("curve", "from_frame", "inspect", "load", "load_panel", "recommend", "study", "report")
MODULES = ("panels", "reports", "studies", "votes")
NOTEBOOK = ROOT / "docs" / "first_decision.ipynb"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the samples, in which examples run."""
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def quick(source: str) -> str:
    """The same with two splits of six judges."""
    return source.replace("splits=20", "splits=2").replace('.csv")', '.csv").iloc[:, :8]')


def function(name: str) -> Any:
    module = importlib.import_module("judgepanel.api.reports")
    return module.report if name == "report" else getattr(jp, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_has_its_sections(name):
    text = function(name).__doc__
    for section in ("Parameters", "Returns", "Raises"):
        assert re.search(rf"^    {section}\n    -+$", text, flags=re.MULTILINE), section
    assert "Examples\n" in text or "References\n" in text


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(folder, name):
    module = importlib.import_module(f"judgepanel.api.{name}")
    attempted = doctest.testmod(module, raise_on_error=True, optionflags=doctest.ELLIPSIS)
    assert attempted.attempted > 0
    assert attempted.failed == 0


def test_the_readme_goes_from_a_frame_to_scores_in_eight_lines(folder):
    (block,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"),
                          flags=re.MULTILINE | re.DOTALL)  # fmt: skip
    assert sum(1 for line in block.splitlines() if line) <= 8
    shared: dict[str, Any] = {}
    exec(compile(quick(block), "README.md", "exec"), shared)  # noqa: S102
    assert (folder / "panel.json").stat().st_size > 0
    assert len(shared["scores"]) == 100


def run_cell(source: str, shared: dict[str, Any]) -> Any:
    """What a notebook shows below a cell: the value of its last line, where that has one."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), shared)  # noqa: S102
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), shared)  # noqa: S307


def test_the_notebook_runs_from_top_to_bottom_and_shows_what_it_found(folder):
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert all(not cell["outputs"] for cell in cells if cell["cell_type"] == "code")
    shared: dict[str, Any] = {}
    values = [
        run_cell(quick("".join(cell["source"])), shared)
        for cell in cells
        if cell["cell_type"] == "code"
    ]
    assert sum(isinstance(value, go.Figure) for value in values) == 2
    displayed = [getattr(value, "_repr_html_", str)() for value in values]
    answers = [html for html in displayed if 'class="answer"' in html]
    assert len(answers) == 4
    assert re.fullmatch(r"\d+% of \d+ decisions are right\.", values[-1])
