"""The wheel, and an environment where nothing is installed but the wheel and what it requires."""

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import distribution
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

from tests.setup.scripts import ROOT

LEFT_OUT = ("PYTHONPATH", "JUDGEPANEL_HOME", "JUDGEPANEL_DATABASE_URL")


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


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment, and a user's folder from which its programs are started."""

    folder: Path
    work: Path

    def command(self, name: str, *arguments: str) -> list[str]:
        return [str(self.folder / "bin" / name), *arguments]

    def environ(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name not in LEFT_OUT}

    def run(self, name: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs to its end; what it writes is text."""
        command, env = self.command(name, *arguments), self.environ() | environ
        options = {"capture_output": True, "text": True}
        return subprocess.run(command, cwd=self.work, env=env, check=False, **options)

    def output(self, name: str, *arguments: str) -> str:
        """What one of its programs writes, which must not fail."""
        ran = self.run(name, *arguments)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def sample(self, file: str) -> Path:
        """A sample of the installed package."""
        code = "from judgepanel.votes.errors import SAMPLE_FOLDER; print(SAMPLE_FOLDER)"
        samples = Path(self.output("python", "-c", code).strip())
        assert samples.is_relative_to(self.folder)
        return samples / file


def installed(folder: Path) -> Environment:
    """An environment with the wheel of this checkout, and a folder beside it to work in.

    Its packages are those of the tests' own environment, linked; pip, which is given no index,
    confirms that they are all that the wheel without extras requires.
    """
    wheel, _ = built(folder / "dist")
    made = Environment(folder / "venv", folder / "work")
    made.work.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(made.folder)], check=True)
    (site,) = made.folder.glob("lib/python*/site-packages")
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    core = [line.partition("#")[0] for line in lines if "# [" not in line and line[:1] != "#"]
    for name in sorted(required(core)):
        link(name, site)
    options = ("--disable-pip-version-check", "--no-index", "--quiet")
    made.output("python", "-m", "pip", "install", *options, str(wheel))
    return made


def empty_workbook() -> bytes:
    """The least that is taken for a workbook of Excel."""
    content = BytesIO()
    with ZipFile(content, "w") as workbook:
        workbook.writestr("xl/workbook.xml", "<workbook/>")
    return content.getvalue()


def required(lines: Iterable[str]) -> set[str]:
    """The names of these requirements, and of all that these require in turn."""
    todo = [(Requirement(line), "") for line in lines]
    done: set[tuple[str, str]] = set()
    while todo:
        requirement, of = todo.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": of}):
            continue
        for extra in ("", *requirement.extras):
            if (requirement.name, extra) not in done:
                done.add((requirement.name, extra))
                inner = distribution(requirement.name).requires or ()
                todo += [(Requirement(line), extra) for line in inner]
    return {name for name, _ in done}


def link(name: str, site: Path) -> None:
    """Link what a distribution has installed, except programs, into a folder of packages."""
    source = distribution(name)
    tops = {file.parts[0] for file in source.files or ()} - {"..", "__pycache__"}
    for top in tops:
        if not (site / top).exists():
            (site / top).symlink_to(Path(str(source.locate_file(top))))
