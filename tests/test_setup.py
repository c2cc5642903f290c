"""The set-up: what `./run` does, what the lock files promise, what a fresh checkout contains."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
LOCKS = {
    "requirements.lock": "requirements.txt",
    "requirements-dev.lock": "requirements-dev.txt",
    "requirements-oracles.lock": "requirements-oracles.txt",
}
LOWEST = "requirements-lowest.lock"


def script_module(name: str, path: Path) -> ModuleType:
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Dataclasses look their module up.
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def run() -> ModuleType:
    return script_module("run_script", ROOT / "run")


@pytest.fixture(scope="module")
def matrix() -> ModuleType:
    return script_module("matrix_script", ROOT / ".ci" / "matrix.py")


@pytest.fixture(autouse=True)
def usual_venv(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may themselves run in another environment than .venv."""
    monkeypatch.delenv("JUDGEPANEL_VENV", raising=False)


def pins(lock: str) -> dict[str, list[tuple[Requirement, str]]]:
    """Every pin of a lock file by package, with the lines (hashes) that follow it."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE | re.IGNORECASE)
    by_name: dict[str, list[tuple[Requirement, str]]] = {}
    for block in blocks:
        if "==" not in block:
            continue
        requirement = Requirement(block.splitlines()[0].rstrip(" \\"))
        by_name.setdefault(canonicalize_name(requirement.name), []).append((requirement, block))
    return by_name


def version(requirement: Requirement) -> str:
    (pin,) = requirement.specifier
    assert pin.operator == "=="
    return pin.version


def bounds(path: str) -> list[Requirement]:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [Requirement(line.partition("#")[0]) for line in lines if line.partition("#")[0]]


def script(path: Path, exit_code: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {exit_code}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def no_fetch() -> None:
    """Stand in for apt-get, which finds nothing."""


# --- ./run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"]])
def test_help_names_every_command_and_needs_no_environment(
    run: ModuleType, arguments: list[str]
) -> None:
    answer = subprocess.run(
        [sys.executable, ROOT / "run", *arguments], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    for name in run.COMMANDS:
        assert f"./run {name}" in answer.stdout


def test_an_unknown_command_is_refused_in_one_line_that_names_the_known_ones() -> None:
    answer = subprocess.run(
        [sys.executable, ROOT / "run", "tets"], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stdout) == (2, "")
    assert len(answer.stderr.splitlines()) == 1
    assert "'tets'" in answer.stderr
    assert "test" in answer.stderr


def test_an_older_python_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    source = (ROOT / "run").read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match=r"needs Python 3.11 or newer, this is 3\.10"):
        exec(compile(source, "run", "exec"), {"__file__": str(ROOT / "run")})  # noqa: S102


def test_a_new_lock_makes_an_installed_one_stale(run: ModuleType, tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("a==1\n", encoding="utf-8")
    script(run.python_of(tmp_path))
    assert not run.is_installed(tmp_path, lock.name)
    run.stamp_of(tmp_path, lock.name).write_text(run.digest(lock), encoding="utf-8")
    assert run.is_installed(tmp_path, lock.name)
    lock.write_text("a==2\n", encoding="utf-8")
    assert not run.is_installed(tmp_path, lock.name)


def test_a_prepared_environment_is_used_without_starting_anything(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("a==1\n", encoding="utf-8")
    python = script(run.python_of(tmp_path))
    run.stamp_of(tmp_path, lock.name).write_text(run.digest(lock), encoding="utf-8")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("started a process")

    monkeypatch.setattr(run.subprocess, "run", refuse)
    assert run.prepare(tmp_path, lock.name) == python


def test_a_failed_install_is_not_stamped_and_the_next_installer_is_tried(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("a==1\n", encoding="utf-8")
    script(run.python_of(tmp_path))
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


def test_a_second_start_waits_for_the_first(run: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / ".venv.lock"
    with run.held(path):
        second = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(ROOT / "run"), str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert second.stderr is not None
        assert "Waiting for another ./run" in second.stderr.readline()
        assert second.poll() is None
    output, _ = second.communicate(timeout=60)
    assert (second.returncode, output) == (0, "held\n")


# --- Chromium ---------------------------------------------------------------------------------


def test_the_chromium_in_the_environment_comes_before_one_on_path(
    run: ModuleType, tmp_path: Path
) -> None:
    chosen, on_path = script(tmp_path / "mine"), script(tmp_path / "bin" / "chromium")
    environ = {"PATH": str(on_path.parent), "HOME": str(tmp_path)}
    assert run.find_chromium(environ, fetch=no_fetch) == str(on_path)
    environ["JUDGEPANEL_CHROMIUM"] = str(chosen)
    assert run.find_chromium(environ, fetch=no_fetch) == str(chosen)


def test_a_chosen_chromium_that_does_not_start_is_refused(run: ModuleType, tmp_path: Path) -> None:
    broken = script(tmp_path / "mine", exit_code=1)
    on_path = script(tmp_path / "bin" / "chromium")
    environ = {"JUDGEPANEL_CHROMIUM": str(broken), "PATH": str(on_path.parent)}
    with pytest.raises(run.SetupError, match=r"JUDGEPANEL_CHROMIUM names .* does not start"):
        run.find_chromium(environ, fetch=no_fetch)


def test_a_browser_on_path_that_does_not_start_gives_way_to_the_newest_of_playwright(
    run: ModuleType, tmp_path: Path
) -> None:
    script(tmp_path / "bin" / "chromium", exit_code=1)
    cache = tmp_path / ".cache" / "ms-playwright"
    script(cache / "chromium-999" / "chrome-linux" / "chrome")
    newest = script(cache / "chromium-1200" / "chrome-linux64" / "chrome")
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    assert run.find_chromium(environ, fetch=no_fetch) == str(newest)


def test_a_chromium_is_fetched_only_when_none_is_found(run: ModuleType, tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    fetched = []

    def fetch() -> None:
        fetched.append(script(tmp_path / "bin" / "chromium"))

    assert run.find_chromium(environ, fetch=fetch) == str(tmp_path / "bin" / "chromium")
    assert run.find_chromium(environ, fetch=fetch) == str(tmp_path / "bin" / "chromium")
    assert len(fetched) == 1


def test_without_any_chromium_one_sentence_says_how_to_get_one(
    run: ModuleType, tmp_path: Path
) -> None:
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    with pytest.raises(run.SetupError, match=r"install one .* or name one in JUDGEPANEL_CHROMIUM"):
        run.find_chromium(environ, fetch=no_fetch)


# --- PostgreSQL -------------------------------------------------------------------------------


def test_a_postgresql_is_fetched_only_when_none_is_found(run: ModuleType, tmp_path: Path) -> None:
    debian, environ = tmp_path / "postgresql", {"PATH": str(tmp_path / "bin")}
    fetched: list[Path] = []

    def fetch() -> None:
        fetched.append(script(debian / "15" / "bin" / "initdb"))

    for _ in range(2):
        run.prepare_postgresql(environ, debian, fetch)
    assert len(fetched) == 1
    fetched[0].unlink()
    script(tmp_path / "bin" / "initdb")
    run.prepare_postgresql(environ, debian, fetch)
    assert len(fetched) == 1


def test_packages_are_only_asked_for_as_root(
    run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


# --- requirements -----------------------------------------------------------------------------


@pytest.mark.parametrize("lock", [*LOCKS, LOWEST])
def test_every_pin_of_a_lock_has_hashes_and_no_address(lock: str) -> None:
    assert pins(lock)
    for name, entries in pins(lock).items():
        for requirement, block in entries:
            version(requirement)
            assert "--hash=sha256:" in block, name
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


@pytest.mark.parametrize(("lock", "source"), LOCKS.items())
def test_every_requirement_is_locked_within_its_bounds(lock: str, source: str) -> None:
    locked = pins(lock)
    assert bounds(source)
    for requirement in bounds(source):
        entries = locked[canonicalize_name(requirement.name)]
        assert all(version(entry) in requirement.specifier for entry, _ in entries), requirement


def test_the_locks_agree_on_what_they_share() -> None:
    agreed: dict[tuple[str, str], str] = {}
    for lock in LOCKS:
        for name, entries in pins(lock).items():
            for requirement, _ in entries:
                key = (name, str(requirement.marker or ""))
                assert agreed.setdefault(key, version(requirement)) == version(requirement), name


def test_the_lowest_lock_pins_the_lower_bound_of_every_runtime_requirement() -> None:
    locked = pins(LOWEST)
    for requirement in bounds("requirements.txt"):
        (floor,) = (part.version for part in requirement.specifier if part.operator == ">=")
        versions = {version(entry) for entry, _ in locked[canonicalize_name(requirement.name)]}
        assert {Version(pin) for pin in versions} == {Version(floor)}, requirement.name
    for source in ("requirements-dev.txt", "requirements-oracles.txt"):
        assert {canonicalize_name(needed.name) for needed in bounds(source)} <= set(locked)


# --- the matrix -------------------------------------------------------------------------------


def test_kernels_that_load_the_same_run_once_and_ones_that_cannot_run_are_named(
    matrix: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_the_kernel_is_asked_of_what_was_loaded(matrix: ModuleType) -> None:
    assert matrix.loaded_kernel(Path(sys.executable), "", "1")
    assert matrix.loaded_kernel(Path("/nowhere/python"), "", "1") == ""


def test_a_missing_second_python_is_named_and_no_failure(
    matrix: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


# --- the checkout -----------------------------------------------------------------------------


def committed_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_committed_file_names_a_machine_path_or_a_package_registry() -> None:
    # Written in pieces, so that this file does not name them either.
    paths = "|".join(("wo" + "rk", "ro" + "ot", "tm" + "p", "home/[a-z]+", "Users/[A-Za-z]+"))
    hosts = "|".join(("pypi" + r"\.org", "python" + r"hosted\.org", "files" + r"\.python"))
    forbidden = re.compile(r"(?<![\w.~})\]*-])/(?:" + paths + r")/[\w.]|" + hosts)
    assert committed_files()
    result = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in committed_files()
        for number, line in enumerate(
            path.read_bytes().decode("utf-8", errors="replace").splitlines(), start=1
        )
        if forbidden.search(line)
    ]
    assert result == []


def test_streamlit_is_configured_to_keep_everything_on_this_machine() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["browser"]["gatherUsageStats"] is False
    assert config["server"]["address"] == "localhost"
    assert config["server"]["enableXsrfProtection"] is True
    assert config["server"]["enableCORS"] is True
    assert "http" not in str(config)


def test_streamlit_knows_every_setting_of_the_repository() -> None:
    command = [sys.executable, "-m", "streamlit", "config", "show"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "not a valid config option" not in answer.stdout + answer.stderr
    assert re.search(r"^maxUploadSize = 200$", answer.stdout, flags=re.MULTILINE)
    assert re.search(r"^showSidebarNavigation = false$", answer.stdout, flags=re.MULTILINE)


# --- the guards of the tests themselves -------------------------------------------------------


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80)])
def test_a_test_cannot_reach_another_machine(address: tuple[str, int]) -> None:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as connection:
        connection.setblocking(False)
        with pytest.raises(RuntimeError, match="nothing beyond loopback"):
            connection.connect(address)
    with pytest.raises(RuntimeError, match="nothing beyond loopback"):
        socket.getaddrinfo("example.invalid", 80)


def test_a_test_can_reach_its_own_machine() -> None:
    with (
        socket.create_server(("localhost", 0)) as listening,
        socket.create_connection(("localhost", listening.getsockname()[1])) as connection,
    ):
        assert connection.getpeername()[0] == "127.0.0.1"


SKIPPING = """
import pytest

def test_that_skips():
    pytest.skip("no reason at all")

@pytest.mark.xfail(reason="known")
def test_that_is_known_to_fail():
    assert False
"""


@pytest.mark.parametrize("spread", [[], ["-n", "1"]], ids=["alone", "spread"])
@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_a_skip_is_a_failure_in_ci_only(
    tmp_path: Path, spread: list[str], ci: str, code: int
) -> None:
    conftest = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "test_skipping.py").write_text(SKIPPING, encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *spread, "."],
        cwd=tmp_path,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == code, answer.stdout
    assert ("a skip is a failure in CI" in answer.stdout) is bool(code)
    assert "1 xfailed" in answer.stdout
    assert "no reason at all" in answer.stdout or not code
