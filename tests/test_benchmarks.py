"""The benchmarks, which are rarely run, still fit the library."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

MODULES = sorted(
    path.stem
    for path in (Path(__file__).resolve().parents[1] / "benchmarks").glob("*.py")
    if not path.stem.startswith("__")
)


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_finds_all_that_it_imports(name: str) -> None:
    assert import_module(f"benchmarks.{name}").__doc__
