"""The sample data sets: what each shows, its files, and how it was made (samples.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgepanel.votes.errors import InputError
from judgepanel.votes.installed import IN_CHECKOUT, SAMPLE_FOLDER
from judgepanel.votes.load import load_votes
from judgepanel.votes.matrix import VoteMatrix
from judgepanel.votes.simulate import SimulationSpec, simulate
from judgepanel.votes.write import write_judges, write_votes


@dataclass(frozen=True, slots=True)
class Sample:
    """A built-in sample.

    Attributes
    ----------
    name : its name on the command line and in the app.
    title, what_it_shows : a short title, and one sentence.
    file, judge_file : file names in the sample folder: the votes, and one row per judge.
    spec : the simulation that produced it; None for real votes.
    """

    name: str
    title: str
    what_it_shows: str
    spec: SimulationSpec | None = None

    @property
    def file(self) -> str:
        return f"{self.name}_votes.csv"

    @property
    def judge_file(self) -> str:
        return f"{self.name}_judges.csv"

    @property
    def command(self) -> str:
        """The command that restores both files: by simulation, or from the repository."""
        if self.spec is None:
            return f"git checkout sample_data/{self.file} sample_data/{self.judge_file}"
        return f"./run cli simulate --sample {self.name} --out sample_data/{self.file}"


def _sample(name: str, about: dict[str, Any]) -> Sample:
    spec = about.get("spec")
    made = None if spec is None else SimulationSpec(**{k: _tuples(v) for k, v in spec.items()})
    return Sample(name, about["title"], about["what_it_shows"], made)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


_DESCRIBED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SAMPLES = tuple(_sample(name, about) for name, about in _DESCRIBED.items())
SIMULATED = tuple(sample for sample in SAMPLES if sample.spec is not None)


def find_sample(name: str) -> Sample:
    """Return the sample of that name.

    Raises
    ------
    InputError
        There is no such sample.
    """
    samples = {sample.name: sample for sample in SAMPLES}
    if name not in samples:
        raise InputError("there is no such sample", value=name, allowed=", ".join(samples))
    return samples[name]


def sample_bytes(name: str) -> bytes:
    """Return the votes file of a sample as stored in the sample folder (CSV, UTF-8).

    Raises
    ------
    InputError
        There is no such sample, or its file is missing.
    """
    return _read(find_sample(name))


def sample_judge_bytes(name: str) -> bytes:
    """Return the judge table of a sample as stored in the sample folder (CSV, UTF-8).

    Raises
    ------
    InputError
        There is no such sample, or its file is missing.
    """
    return _read(find_sample(name), judges=True)


def sample_votes(name: str) -> VoteMatrix:
    """Return the votes of a sample with its judge table: simulated, or read if they are real.

    Raises
    ------
    InputError
        There is no such sample, or the file of real votes is missing.
    """
    sample = find_sample(name)
    if sample.spec is not None:
        return simulate(sample.spec)
    table = sample_judge_bytes(name)
    return load_votes(sample_bytes(name), name=sample.file, judge_table=table).votes


def write_panel(votes: VoteMatrix, path: Path) -> Path:
    """Write simulated votes to ``path`` and their judge table to a second file in the same folder.

    Returns
    -------
    Path of the judge table: ``NAME_judges.csv`` for ``NAME_votes.csv`` (or ``NAME.csv``).

    Raises
    ------
    InputError
        An extension that ``write_votes`` does not support.
    """
    extension = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    name = path.name.removesuffix(extension).removesuffix("_votes")
    judges = path.with_name(f"{name}_judges{extension}")
    write_votes(votes, path)
    write_judges(votes, judges)
    return judges


def _read(sample: Sample, *, judges: bool = False) -> bytes:
    file = sample.judge_file if judges else sample.file
    path = SAMPLE_FOLDER / file
    if not path.is_file():
        remedy = f"get it with '{sample.command}'" if IN_CHECKOUT else "install judgepanel again"
        raise InputError(f"the sample's file is missing: {remedy}", file=file)
    return path.read_bytes()
