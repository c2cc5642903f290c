"""The command line as the tests run it: in this process, with its output captured."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from judgepanel.cli import main
from judgepanel.votes.shipped import SAMPLE_FOLDER


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def error(self):
        """The one line of a refusal."""
        (line,) = self.err.splitlines()
        return line


@pytest.fixture
def cli(capsys):
    def run(*arguments):
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        out, err = capsys.readouterr()
        return Ran(status, out, err)

    return run


@pytest.fixture
def samples(tmp_path):
    """A copy of the samples, alone in a folder."""
    folder = tmp_path / "samples"
    shutil.copytree(SAMPLE_FOLDER, folder)
    return folder


@pytest.fixture
def clean(samples) -> Path:
    return samples / "clean_pairwise_votes.csv"
