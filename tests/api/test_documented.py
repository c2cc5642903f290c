"""Public names have numpydoc docstrings whose examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import judgepanel as jp

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = ("curve", "from_frame", "inspect", "load", "load_panel", "recommend", "study", "report")
MODULES = ("panels", "reports", "studies", "votes")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the samples, in which examples run."""
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def function(name: str) -> Any:
    module = importlib.import_module("judgepanel.api.reports")
    return module.report if name == "report" else getattr(jp, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_has_its_sections(name):
    text = inspect.getdoc(function(name))
    for section in ("Parameters", "Returns", "Raises"):
        assert re.search(rf"^{section}\n-+$", text, flags=re.MULTILINE), section
    assert "Examples\n" in text or "References\n" in text


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(folder, name):
    module = importlib.import_module(f"judgepanel.api.{name}")
    attempted = doctest.testmod(module, raise_on_error=True, optionflags=doctest.ELLIPSIS)
    assert attempted.attempted > 0
    assert attempted.failed == 0
