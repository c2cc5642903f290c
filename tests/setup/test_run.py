"""`./run`: its commands, the environment it makes, the programs it finds; the CI matrix."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.setup.scripts import ROOT, script_module


@pytest.fixture(scope="module")
def run():
    return script_module("run_script", ROOT / "run")


@pytest.fixture(autouse=True)
def usual_venv(monkeypatch):
    """These tests may themselves run in another environment than .venv."""
    monkeypatch.delenv("JUDGEPANEL_VENV", raising=False)


def script(path, exit_code=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {exit_code}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def lock(run, tmp_path):
    """A lock in a folder with a Python, where nothing is installed yet."""
    script(run.python_of(tmp_path))
    path = tmp_path / "requirements.lock"
    path.write_text("a==1\n", encoding="utf-8")
    return path


def call(*arguments):
    """What `./run` says and how it ends."""
    command = [sys.executable, ROOT / "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def no_fetch():
    """Stand in for apt-get, which finds nothing."""


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_help_names_every_command_and_needs_no_environment(run, arguments):
    answer = call(*arguments)
    assert (answer.returncode, answer.stderr) == (0, "")
    for name in run.COMMANDS:
        assert f"./run {name}" in answer.stdout


def test_an_unknown_command_is_refused_in_one_line_that_names_the_known_ones():
    answer = call("tets")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert len(answer.stderr.splitlines()) == 1
    assert "'tets'" in answer.stderr
    assert "test" in answer.stderr


def test_an_older_python_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    source = (ROOT / "run").read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match=r"needs Python 3.11 or newer, this is 3\.10"):
        exec(compile(source, "run", "exec"), {"__file__": str(ROOT / "run")})  # noqa: S102


def test_a_new_lock_makes_an_installed_one_stale(run, lock, tmp_path):
    assert not run.is_installed(tmp_path, lock.name)
    run.stamp_of(tmp_path, lock.name).write_text(run.digest(lock), encoding="utf-8")
    assert run.is_installed(tmp_path, lock.name)
    lock.write_text("a==2\n", encoding="utf-8")
    assert not run.is_installed(tmp_path, lock.name)


def test_a_prepared_environment_is_used_without_starting_anything(run, lock, tmp_path, monkeypatch):
    run.stamp_of(tmp_path, lock.name).write_text(run.digest(lock), encoding="utf-8")

    def refuse(*_, **__):
        raise AssertionError("started a process")

    monkeypatch.setattr(run.subprocess, "run", refuse)
    assert run.prepare(tmp_path, lock.name) == run.python_of(tmp_path)


def test_a_failed_install_is_not_stamped_and_the_next_installer_is_tried(
    run, lock, tmp_path, monkeypatch
):
    broken, working = script(tmp_path / "broken", 1), script(tmp_path / "working")
    monkeypatch.setattr(run, "installers", lambda _: iter([("uv", [str(broken)])]))
    with pytest.raises(run.SetupError, match=r"requirements\.lock is not installed"):
        run.install(tmp_path, lock.name)
    assert not run.is_installed(tmp_path, lock.name)
    both = [("uv", [str(broken)]), ("pip", [str(working)])]
    monkeypatch.setattr(run, "installers", lambda _: iter(both))
    run.install(tmp_path, lock.name)
    assert run.is_installed(tmp_path, lock.name)


HOLD = """
import importlib.machinery, importlib.util, pathlib, sys
loader = importlib.machinery.SourceFileLoader("run", sys.argv[1])
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
loader.exec_module(run)
with run.held(pathlib.Path(sys.argv[2])):
    print("held")
"""


def test_a_second_start_waits_for_the_first(run, tmp_path):
    path = tmp_path / ".venv.lock"
    with run.held(path):
        second = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(ROOT / "run"), str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert "Waiting for another ./run" in second.stderr.readline()
        assert second.poll() is None
    output, _ = second.communicate(timeout=60)
    assert (second.returncode, output) == (0, "held\n")


# --- Chromium ------------------------------------------------------------------------------------


def test_the_chromium_in_the_environment_comes_before_one_on_path(run, tmp_path):
    chosen, on_path = script(tmp_path / "mine"), script(tmp_path / "bin" / "chromium")
    environ = {"PATH": str(on_path.parent), "HOME": str(tmp_path)}
    assert run.find_chromium(environ, fetch=no_fetch) == str(on_path)
    environ["JUDGEPANEL_CHROMIUM"] = str(chosen)
    assert run.find_chromium(environ, fetch=no_fetch) == str(chosen)


def test_a_chosen_chromium_that_does_not_start_is_refused(run, tmp_path):
    broken = script(tmp_path / "mine", exit_code=1)
    on_path = script(tmp_path / "bin" / "chromium")
    environ = {"JUDGEPANEL_CHROMIUM": str(broken), "PATH": str(on_path.parent)}
    with pytest.raises(run.SetupError, match=r"JUDGEPANEL_CHROMIUM names .* does not start"):
        run.find_chromium(environ, fetch=no_fetch)


def test_a_browser_on_path_that_does_not_start_gives_way_to_the_newest_of_playwright(run, tmp_path):
    script(tmp_path / "bin" / "chromium", exit_code=1)
    cache = tmp_path / ".cache" / "ms-playwright"
    script(cache / "chromium-999" / "chrome-linux" / "chrome")
    newest = script(cache / "chromium-1200" / "chrome-linux64" / "chrome")
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    assert run.find_chromium(environ, fetch=no_fetch) == str(newest)


def test_a_chromium_is_fetched_only_when_none_is_found(run, tmp_path):
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    fetched = []

    def fetch():
        fetched.append(script(tmp_path / "bin" / "chromium"))

    assert run.find_chromium(environ, fetch=fetch) == str(tmp_path / "bin" / "chromium")
    assert run.find_chromium(environ, fetch=fetch) == str(tmp_path / "bin" / "chromium")
    assert len(fetched) == 1


def test_without_any_chromium_one_sentence_says_how_to_get_one(run, tmp_path):
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    with pytest.raises(run.SetupError, match=r"install one .* or name one in JUDGEPANEL_CHROMIUM"):
        run.find_chromium(environ, fetch=no_fetch)


# --- PostgreSQL ----------------------------------------------------------------------------------


def test_a_postgresql_is_fetched_only_when_none_is_found(run, tmp_path):
    debian, environ = tmp_path / "postgresql", {"PATH": str(tmp_path / "bin")}
    fetched: list[Path] = []

    def fetch():
        fetched.append(script(debian / "15" / "bin" / "initdb"))

    for _ in range(2):
        run.prepare_postgresql(environ, debian, fetch)
    assert len(fetched) == 1
    fetched[0].unlink()
    script(tmp_path / "bin" / "initdb")
    run.prepare_postgresql(environ, debian, fetch)
    assert len(fetched) == 1


def test_packages_are_only_asked_for_as_root(run, tmp_path, monkeypatch):
    asked: list[tuple[str, ...]] = []
    apt = str(script(tmp_path / "apt-get"))
    monkeypatch.setattr(run.shutil, "which", lambda _: apt)
    monkeypatch.setattr(run.subprocess, "run", lambda command, **_: asked.append(command[1:]))
    monkeypatch.setattr(run.os, "geteuid", lambda: 1000)
    run.fetch_postgresql()
    assert asked == []
    monkeypatch.setattr(run.os, "geteuid", lambda: 0)
    run.fetch_postgresql()
    assert [command[0] for command in asked] == ["update", "install"]
    assert asked[1][-1] == "postgresql"


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

    def answer(*_, **__):
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
