"""Public names have numpydoc docstrings whose examples run."""

import doctest
import importlib
import inspect
import re
import shutil
from pathlib import Path

import pytest

import judgepanel as jp

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = (
    *("curve", "estimate", "from_frame", "inspect", "load", "load_panel", "recommend", "study"),
    "report",
)
CLASSES = ("Inspection", "Panel", "RecommendedPanel", "StudyResult", "Thresholds", "Votes")
MODULES = ("panels", "reports", "studies", "votes")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the samples, in which examples run."""
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_has_its_sections(name):
    module = importlib.import_module("judgepanel.api.reports") if name == "report" else jp
    text = inspect.getdoc(getattr(module, name))
    for section in ("Parameters", "Returns", "Raises"):
        assert re.search(rf"^{section}\n-+$", text, flags=re.MULTILINE), section
    assert "Examples\n" in text or "References\n" in text


def documented(text, *sections):
    """Names before the colon, or alone on a line, in these sections of a docstring."""
    parts = re.split(r"^(\w+)\n-{3,}$", text, flags=re.MULTILINE)
    lines = [
        line.split(" : ")[0]
        for title, body in zip(parts[1::2], parts[2::2], strict=True)
        if title in sections
        for line in body.splitlines()
        if line and not line[0].isspace()
    ]
    return {name.strip(" *") for line in lines for name in line.split(",")}


def parameters(call):
    return set(inspect.signature(call).parameters) - {"self", "cls"}


@pytest.mark.parametrize("name", sorted(jp.models.__all__))
def test_every_parameter_of_a_model_is_documented(name):
    model = getattr(jp.models, name)
    text = inspect.getdoc(model)
    assert parameters(model) <= documented(text, "Parameters", "Attributes")
    assert inspect.isclass(model) or re.search(r"^Returns\n-+$", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", CLASSES)
def test_every_method_with_parameters_has_its_sections(name):
    for method in vars(getattr(jp, name)).values():
        call = getattr(method, "__func__", method)
        if inspect.isfunction(call) and not call.__name__.startswith("_") and parameters(call):
            text = inspect.getdoc(call)
            assert parameters(call) <= documented(text, "Parameters"), call.__name__
            assert re.search(r"^Returns\n-+$", text, flags=re.MULTILINE), call.__name__


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(folder, name):
    module = importlib.import_module(f"judgepanel.api.{name}")
    attempted = doctest.testmod(module, raise_on_error=True, optionflags=doctest.ELLIPSIS)
    assert attempted.attempted > 0
    assert attempted.failed == 0
