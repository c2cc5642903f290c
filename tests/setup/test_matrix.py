"""The CI matrix: BLAS kernels and other Python versions."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.setup.scripts import ROOT, script_module


@pytest.fixture(scope="module")
def matrix():
    return script_module("matrix_script", ROOT / ".ci" / "matrix.py")


def test_kernels_that_load_the_same_run_once_and_ones_that_cannot_run_are_named(
    matrix, monkeypatch
):
    loads = {"": "Haswell", "Haswell": "Haswell", "Zen": "Zen", "Prescott": "Katmai"}
    monkeypatch.setattr(matrix, "loaded_kernel", lambda _, asked, __: loads.get(asked, ""))
    legs = list(matrix.kernel_legs(Path("python")))
    ran = [leg.environment for leg in legs if isinstance(leg, matrix.Leg)]
    asked = [leg.get("OPENBLAS_CORETYPE") for leg in ran]
    assert asked == [None, None, "Zen", "Zen", "Prescott", "Prescott"]
    assert [leg["OPENBLAS_NUM_THREADS"] for leg in ran] == ["1", "2"] * 3
    assert [leg for leg in legs if isinstance(leg, str)] == [
        "OPENBLAS_CORETYPE=Haswell: loads Haswell, which has its turn",
        "OPENBLAS_CORETYPE=SkylakeX: this CPU cannot run that kernel",
    ]
    (least_alike,) = matrix.one_of(legs)
    assert least_alike.environment == ran[-1]


def test_the_kernel_is_asked_of_what_was_loaded(matrix):
    assert matrix.loaded_kernel(Path(sys.executable), "", "1")
    assert matrix.loaded_kernel(Path("/nowhere/python"), "", "1") == ""


def test_a_missing_second_python_is_named_and_no_failure(matrix, monkeypatch, capsys):
    codes = [0]

    def answer(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], codes.pop(0) if codes[1:] else codes[0])

    monkeypatch.setattr(matrix, "other_python", lambda: None)
    monkeypatch.setattr(matrix, "kernel_legs", lambda _: iter([matrix.Leg("a kernel", ())]))
    monkeypatch.setattr(matrix.subprocess, "run", answer)
    assert matrix.main() == 0
    printed = capsys.readouterr().out
    assert "not run another Python: none of 3.11 to 3.13 beside this one" in printed
    assert "ok     a kernel" in printed
    codes[:] = [0, 0, 1]
    assert matrix.main() == 1
    assert "FAILED a kernel" in capsys.readouterr().out
