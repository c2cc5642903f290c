"""The sample data sets: what each shows, its files, and how it was made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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


SAMPLES: tuple[Sample, ...] = (
    Sample(
        "llmbar",
        "Real votes: LLMBar",
        "65 LLM evaluators (model and prompt) on the 419 pairs of the LLMBar benchmark: "
        "judges of one model err together, and all of them are worth about three.",
    ),
    Sample(
        "clean_pairwise",
        "A clean pairwise panel",
        "24 judges of similar, moderate skill from 6 families on 300 balanced pairs: "
        "keeping all of them beats the top five.",
        SimulationSpec(
            n_items=300,
            n_judges=24,
            seed=1,
            accuracy_low=0.68,
            accuracy_high=0.74,
            difficulty_sd=0.7,
            n_families=6,
            family_rho=0.2,
        ),
    ),
    Sample(
        "hard_panel",
        "A hard panel",
        "30 judges on 400 pairs, among them one model with six near-copies, one broken judge, "
        "one that gives a verdict on half of the items, and two below chance: a plain sum of "
        "votes is over-confident.",
        SimulationSpec(
            n_items=400,
            n_judges=30,
            seed=2,
            accuracy_low=0.58,
            accuracy_high=0.86,
            difficulty_sd=1.2,
            subsets=(("chat", -0.7), ("reasoning", 0.0), ("code", 0.7)),
            difficulty_noise=0.7,
            items_per_group=2,
            n_families=5,
            family_rho=0.4,
            copies=6,
            copy_of=2,
            copy_flip=0.04,
            anti_experts=2,
            anti_accuracy=0.35,
            broken=1,
            parse_rate=(0.99,) * 13 + (0.54,) + (0.99,) * 16,
            unlabelled_share=0.05,
        ),
    ),
    Sample(
        "one_class",
        "Every label is 1",
        "A sound panel written down as 'label 1, vote = the judge was right': "
        "this coding flatters every figure that is taken at face value.",
        SimulationSpec(
            n_items=200,
            n_judges=16,
            seed=3,
            accuracy_low=0.65,
            accuracy_high=0.82,
            difficulty_sd=0.8,
            n_families=4,
            family_rho=0.25,
            one_class=True,
        ),
    ),
    Sample(
        "sparse_humans",
        "Sparse human votes",
        "60 workers of whom five see each of 400 pairs, some far busier than others: "
        "no worker alone says much.",
        SimulationSpec(
            n_items=400,
            n_judges=60,
            seed=4,
            accuracy_low=0.6,
            accuracy_high=0.88,
            difficulty_sd=0.6,
            votes_per_item=5,
            activity_sd=0.8,
            costs=False,
            judge_word="worker",
        ),
    ),
)
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
