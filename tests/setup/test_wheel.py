"""The wheel is complete: command line, dashboard and samples, in any environment."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from judgepanel import ENGINE, __version__
from judgepanel.votes.extras import EXTRAS
from tests.browser.conftest import Server, free_port, wait_until_healthy
from tests.setup.scripts import ROOT


def built(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist, built into this folder."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
        check=True,
        capture_output=True,
    )
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("dist"))[0]


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel; its dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:  # All that installing a wheel of pure Python does.
        archive.extractall(site)
    paths = {sysconfig.get_paths()[kind] for kind in ("purelib", "platlib")}
    (site / "dependencies.pth").write_text("\n".join(sorted(paths)) + "\n", encoding="utf-8")
    return folder / "bin" / "python"


@pytest.fixture
def clean_environ() -> dict[str, str]:
    left_out = ("PYTHONPATH", "JUDGEPANEL_HOME", "JUDGEPANEL_DATABASE_URL")
    return {name: value for name, value in os.environ.items() if name not in left_out}


def test_the_wheel_names_its_command_and_holds_no_leftovers(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (entry,) = (name for name in names if name.endswith("entry_points.txt"))
        assert "judgepanel = judgepanel.cli:main" in archive.read(entry).decode()
    shipped = {name.removeprefix("judgepanel/_app/") for name in names if "/_app/" in name}
    tracked = subprocess.run(
        ["git", "ls-files", "app.py", "pages", "sample_data", ".streamlit"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert shipped == set(tracked.stdout.split())
    assert not [name for name in names if "__pycache__" in name or "secrets" in name]


def test_what_few_features_need_is_an_extra(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        lines = archive.read(entry).decode().split("\n\n")[0].splitlines()
    wanted = [Requirement(line.partition(": ")[2]) for line in lines if "Requires-Dist" in line]

    def of(*extras: str) -> set[str]:
        return {
            requirement.name
            for requirement in wanted
            for extra in extras
            if requirement.marker is not None and requirement.marker.evaluate({"extra": extra})
        }

    core = {requirement.name for requirement in wanted if requirement.marker is None}
    assert {"streamlit", "numpy"} <= core
    for package, extra in EXTRAS.items():
        assert package.replace("_", "-") in of(extra) - core
    assert of("all") == of("postgres", "login", "collect", "excel", "dask")


def test_two_builds_are_identical(tmp_path: Path) -> None:
    first, second = built(tmp_path / "first"), built(tmp_path / "second")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_the_installed_command_recommends_on_a_shipped_sample(
    python: Path, tmp_path: Path, clean_environ: dict[str, str]
) -> None:
    def run(*arguments: str) -> str:
        return subprocess.run(
            [str(python), *arguments],
            cwd=tmp_path,
            env=clean_environ,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    assert run("-m", "judgepanel", "--version") == f"judgepanel {__version__} (engine {ENGINE})\n"
    code = "from judgepanel.votes.shipped import SAMPLE_FOLDER; print(SAMPLE_FOLDER)"
    samples = Path(run("-c", code).strip())
    assert samples.is_relative_to(python.parents[1])
    (tmp_path / "judges.txt").write_text("fam1-judge01\nfam5-judge11\n", encoding="utf-8")
    options = ("--judges", "judges.txt", "--splits", "2", "--jobs", "1", "--out", "panel.json")
    run("-m", "judgepanel", "recommend", str(samples / "clean_pairwise_votes.csv"), *options)
    assert (tmp_path / "panel.json").is_file()


def test_the_installed_dashboard_answers_from_any_folder(
    python: Path, tmp_path: Path, clean_environ: dict[str, str]
) -> None:
    port, log = free_port(), tmp_path / "log.txt"
    command = [str(python), "-m", "judgepanel", "app", f"--port={port}", "--home", "data"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=clean_environ, stdout=output, stderr=output
        )
    server = Server(f"http://localhost:{port}", tmp_path / "data", log, process)
    try:
        wait_until_healthy(server)
    finally:
        process.terminate()
        process.wait(timeout=30)
