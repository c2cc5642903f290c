"""Simulated panels with known truth, for samples, tests and coverage studies.

A judge of ability a judges an item of difficulty d correctly with probability sigmoid(a - d)
(Rasch, 1960); errors within a family are correlated through a Gaussian copula.

The sample data sets: what each shows, its files, and how it was made (samples.toml).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from judgepanel.arrays import Bools, Floats, Ints, Votes
from judgepanel.votes.companions import write_judges, write_votes
from judgepanel.votes.errors import IN_CHECKOUT, SAMPLE_FOLDER, InputError
from judgepanel.votes.load import load_votes
from judgepanel.votes.matrix import MISSING, TASKS, Task, VoteMatrix, with_swapped

MAX_SD = 5
MAX_LEVELS = 100
CELLS_A_BLOCK = 2**18
QUADRATURE_NODES = 128
ABILITY_BOUND = 64.0


def _within(default: float | None, low: float, high: float = math.inf, **kind: bool) -> Any:
    """Return a field whose value is a number within these bounds, or None if that is the default.

    The bounds are those of :func:`_bounded`. With ``many`` it may be a tuple of such numbers.
    """
    return field(default=default, metadata={"low": low, "high": high, **kind})


@dataclass(frozen=True, slots=True)
class SimulationSpec:
    """A simulated panel. Every share, rate and correlation is in [0, 1].

    The columns are, in order: independent judges, ``copies`` of one of them, ``anti_experts`` and
    ``broken`` judges; together ``n_judges``.

    Attributes
    ----------
    n_items, n_judges, seed, task : size of the matrix, seed (>= 0), pairwise or pointwise.
    base_rate : P(label = 1).
    n_systems, system_gap : systems ``v1``, ``v2``, ... wrote the items in turn, the feature
        ``system``; each has a P(label = 1) that is larger by the gap than that of the one before,
        and base_rate is their mean. 0 systems means none.
    accuracy_low, accuracy_high : range of the independent judges' accuracies, which are uniform.
    accuracies : overrides the range: one accuracy in (0, 1) for each independent judge.
    difficulty_sd : sd of the items' difficulty on the logit scale, in [0, 5].
    subsets : (name, shift of the difficulty) of equally likely item subsets; adds the feature
        ``subset``. The target accuracies are marginal over all subsets.
    difficulty_noise : None, or the noise sd of the feature ``difficulty`` (a proxy of the true
        difficulty).
    items_per_group, group_rho : number of items that share a prompt, and the share of the
        difficulty's variance that they have in common; 1 item per group means no groups.
    n_families, family_rho : judges are assigned to the families in turn; family_rho is the Gaussian
        factor correlation of two judges of a family, given the item. 0 families means none.
    copies, copy_of, copy_flip : number of near-duplicates of one independent judge, its position,
        and the rate at which a copy's verdict differs from the original's.
    anti_experts, anti_accuracy : number of judges below chance, and their accuracy in (0, .5).
    broken, broken_verdict : number of judges that always give the same verdict, and that verdict.
    parse_rate : share of verdicts that are parsed, for all judges or per judge; missing at random.
    structural_judges, structural_share : number of judges that miss one slice of the items (the
        last subsets first), and the size of the slice.
    votes_per_item, activity_sd : None, or the number of random judges that see an item; sd of the
        log-activity of the judges (0: all equally active). The parse rate applies afterwards.
    levels : 0, or from 2 to 100: judges rate from -levels to levels without 0, and the sign is the
        vote. A judge observes the truth with a normal error; the rating is the distance from 0, in
        steps of 2 / levels standard deviations. Verdicts are the same as without ratings.
    unlabelled_share : share of items without a label, at random.
    costs : whether the judge table holds ``cost_usd`` (per item) and ``latency_s``.
    one_class : recode the result so that every label is 1 (pairwise only).
    judge_word : prefix of judge names: ``judge07``, or ``fam3-judge07``.

    Raises
    ------
    InputError
        A value outside its range, or values that are inconsistent.
    """

    n_items: int = _within(300, 1, whole=True)
    n_judges: int = _within(24, 1, whole=True)
    seed: int = _within(0, 0, whole=True)
    task: Task = "pairwise"
    base_rate: float = _within(0.5, 0, 1)
    n_systems: int = _within(0, 0, whole=True)
    system_gap: float = _within(0.0, 0, 1)
    accuracy_low: float = _within(0.6, 0, 1, inside=True)
    accuracy_high: float = _within(0.85, 0, 1, inside=True)
    accuracies: tuple[float, ...] | None = _within(None, 0, 1, inside=True, many=True)
    difficulty_sd: float = _within(0.0, 0, MAX_SD)
    subsets: tuple[tuple[str, float], ...] = ()
    difficulty_noise: float | None = _within(None, 0, MAX_SD)
    items_per_group: int = _within(1, 1, whole=True)
    group_rho: float = _within(0.5, 0, 1)
    n_families: int = _within(0, 0, whole=True)
    family_rho: float = _within(0.0, 0, 1)
    copies: int = _within(0, 0, whole=True)
    copy_of: int = _within(0, 0, whole=True)
    copy_flip: float = _within(0.03, 0, 1)
    anti_experts: int = _within(0, 0, whole=True)
    anti_accuracy: float = _within(0.4, 0, 0.5, inside=True)
    broken: int = _within(0, 0, whole=True)
    broken_verdict: int = _within(0, 0, 1, whole=True)
    parse_rate: float | tuple[float, ...] = _within(1.0, 0, 1, many=True)
    structural_judges: int = _within(0, 0, whole=True)
    structural_share: float = _within(0.0, 0, 1)
    votes_per_item: int | None = _within(None, 1, whole=True)
    activity_sd: float = _within(0.0, 0, MAX_SD)
    levels: int = _within(0, 0, MAX_LEVELS, whole=True)
    unlabelled_share: float = _within(0.0, 0, 1)
    costs: bool = True
    one_class: bool = False
    judge_word: str = "judge"

    def __post_init__(self) -> None:
        for name, value, is_right, allowed in self._checks():
            if not is_right:
                problem = f"the simulation cannot use this {name}"
                raise InputError(problem, value=value, allowed=allowed)

    def _checks(self) -> Iterator[tuple[str, object, bool, str]]:
        """Yield each setting, the value to show, whether it is right, and what is allowed.

        A check relies on those before it.
        """
        for setting in fields(self):
            value, kind = getattr(self, setting.name), dict(setting.metadata)
            many = kind.pop("many", False) and isinstance(value, tuple)
            if kind and (value is not None or setting.default is not None):
                for number in value if many else (value,):
                    yield setting.name, number, *_bounded(number, **kind)
        n, free, own, rates = self.n_judges, self.n_independent, self.accuracies, self.parse_rate
        one_each = own is None or (isinstance(own, tuple) and len(own) == free)
        spread = self.system_gap * max(0, self.n_systems - 1) / 2.0
        small_enough = "so small that the rates of all systems are from 0 to 1"
        relations = {
            "n_systems": (self.task == "pointwise" or not self.n_systems, "0 if pairwise"),
            "system_gap": (spread <= min(self.base_rate, 1.0 - self.base_rate), small_enough),
            "task": (self.task in TASKS, ", ".join(TASKS)),
            "one_class": (self.task == "pairwise" or not self.one_class, "False if pointwise"),
            "judge_word": (isinstance(self.judge_word, str) and self.judge_word, "non-empty text"),
            "accuracy_low": (self.accuracy_low <= self.accuracy_high, "at most accuracy_high"),
            "n_judges": (free >= 0, "at least copies + anti_experts + broken"),
            "copy_of": (not self.copies or self.copy_of < free, f"below {free} independent judges"),
            "levels": (self.levels != 1, f"0, or from 2 to {MAX_LEVELS}"),
            "structural_judges": (self.structural_judges <= n, f"at most {n}"),
            "votes_per_item": ((self.votes_per_item or 1) <= n, f"from 1 to {n}"),
            "accuracies": (one_each, f"a tuple of {free}, one per judge"),
            "parse_rate": (not isinstance(rates, tuple) or len(rates) == n, f"one or {n} numbers"),
        }
        for name, (is_right, allowed) in relations.items():
            yield name, getattr(self, name), bool(is_right), allowed
        names = {""}
        allowed = "a tuple of (different non-empty names, shift from -5 to 5)"
        for entry in self.subsets:
            name, shift = entry if isinstance(entry, tuple) and len(entry) == 2 else ("", 0)
            own_name = isinstance(name, str) and name not in names
            yield "subsets", entry, own_name and _bounded(shift, -MAX_SD, MAX_SD)[0], allowed
            names.add(name)

    @property
    def n_independent(self) -> int:
        """Number of judges that are neither copies nor anti-experts nor broken."""
        return self.n_judges - self.copies - self.anti_experts - self.broken


def _bounded(
    value: object, low: float, high: float, *, whole: bool = False, inside: bool = False
) -> tuple[bool, str]:
    """Whether this is a (whole) number from low to high or inside of the two, and what is."""
    kinds = int if whole else (int, float)
    number = isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high
    between = f"strictly between {low} and {high}" if inside else f"from {low} to {high}"
    allowed = f"{'a whole number' if whole else 'a number'} {between.removesuffix(' to inf')}"
    return number and not (inside and value in (low, high)), allowed


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """A simulated matrix and the truth behind it.

    Attributes
    ----------
    votes : the VoteMatrix that a user would upload.
    accuracies : float (n_judges,): expected accuracy of each judge's votes on new items.
    difficulty : float (n_items,): difficulty of each item on the logit scale.
    families : n_judges family names; a judge without a family is a family of one.
    truth : int8 (n_items,) in {0, 1}: labels, including those of unlabelled items.
    """

    votes: VoteMatrix
    accuracies: Floats
    difficulty: Floats
    families: tuple[str, ...]
    truth: Votes


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    truth: Votes
    labels: Votes
    difficulty: Floats
    subset: Ints
    groups: tuple[str, ...] | None
    features: pd.DataFrame | None


@dataclass(frozen=True, slots=True, eq=False)
class _Panel:
    names: tuple[str, ...]
    accuracies: Floats
    ability: Floats
    family: Ints
    is_copy: Bools
    table: pd.DataFrame


def simulate(spec: SimulationSpec) -> VoteMatrix:
    """Return the votes of a simulated panel; the same spec gives the same matrix."""
    return simulate_with_truth(spec).votes


def simulate_with_truth(spec: SimulationSpec) -> Simulated:
    """Return a simulated panel and the truth behind it; the same spec gives the same result.

    Items, panel, verdicts and missing votes use separate random streams, so that for example a
    different parse rate does not change the remaining verdicts.
    """
    streams = map(np.random.default_rng, np.random.SeedSequence(spec.seed).spawn(4))
    items = _draw_items(spec, next(streams))
    panel = _draw_panel(spec, next(streams))
    verdicts, ratings = _draw_votes(spec, items, panel, next(streams))
    _remove_unseen(verdicts, spec, items, next(streams))
    grades = None
    if ratings is not None:
        grades = np.where(verdicts == MISSING, np.nan, (2.0 * verdicts - 1.0) * ratings)
    votes = VoteMatrix(
        votes=verdicts,
        labels=items.labels,
        item_ids=_numbered("item", spec.n_items),
        judges=panel.names,
        task=spec.task,
        groups=items.groups,
        features=items.features,
        judge_table=panel.table,
        grades=grades,
        thresholds=None if grades is None else np.zeros(spec.n_judges),
    )
    families = tuple(panel.table["family"]) if spec.n_families else panel.names
    truth = items.truth
    if spec.one_class:
        votes = one_class(votes)
        truth = np.where(items.labels == MISSING, truth, np.int8(1))
    return Simulated(votes, panel.accuracies, items.difficulty, families, truth)


def one_class(votes: VoteMatrix) -> VoteMatrix:
    """Return the same pairs with the better response always first, so every label is 1.

    Items with label 0 are swapped, which flips their votes; a vote stays right or wrong. Unlabelled
    items are unchanged, since their better response is unknown.

    Raises
    ------
    InputError
        The task is not pairwise: a response that is judged alone cannot be swapped.
    """
    if votes.task != "pairwise":
        raise InputError("only pairs can be swapped", value=votes.task, allowed="pairwise")
    return with_swapped(votes, votes.labels == 0)


def _draw_items(spec: SimulationSpec, rng: np.random.Generator) -> _Items:
    n = spec.n_items
    group = np.arange(n) // spec.items_per_group
    n_groups = int(group[-1]) + 1
    system = np.arange(n) % max(1, spec.n_systems)
    ahead = spec.system_gap * (system - (max(1, spec.n_systems) - 1) / 2.0)
    truth = (rng.random(n) < spec.base_rate + ahead).astype(np.int8)
    # Items of one prompt belong to one subset.
    subset = rng.integers(max(1, len(spec.subsets)), size=n_groups)[group]
    shared = spec.group_rho if spec.items_per_group > 1 else 0.0
    common = rng.standard_normal(n_groups)[group]
    own = rng.standard_normal(n)
    difficulty = spec.difficulty_sd * (np.sqrt(shared) * common + np.sqrt(1 - shared) * own)
    difficulty = difficulty + _shifts(spec)[subset]
    noise = rng.standard_normal(n)
    labels = truth.copy()
    labels[rng.permutation(n)[: round(spec.unlabelled_share * n)]] = MISSING
    groups = None
    if spec.items_per_group > 1:
        groups = tuple(np.array(_numbered("prompt", n_groups), dtype=object)[group])
    features: dict[str, object] = {}
    if spec.n_systems:
        features["system"] = [f"v{code + 1}" for code in system]
    if spec.difficulty_noise is not None:
        features["difficulty"] = np.round(difficulty + spec.difficulty_noise * noise, 3)
    if spec.subsets:
        features["subset"] = [spec.subsets[i][0] for i in subset]
    table = pd.DataFrame(features) if features else None
    return _Items(truth, labels, difficulty, subset, groups, table)


def _shifts(spec: SimulationSpec) -> Floats:
    return np.array([shift for _, shift in spec.subsets] or [0.0], dtype=float)


def _numbered(word: str, n: int) -> tuple[str, ...]:
    width = max(2, len(str(n)))
    return tuple(f"{word}{i:0{width}d}" for i in range(1, n + 1))


def _draw_panel(spec: SimulationSpec, rng: np.random.Generator) -> _Panel:
    draws = rng.uniform(spec.accuracy_low, spec.accuracy_high, spec.n_independent)
    free = draws if spec.accuracies is None else np.array(spec.accuracies, dtype=float)
    parts = {
        "independent": free,
        "copy": np.repeat(free[spec.copy_of : spec.copy_of + 1], spec.copies),
        "anti-expert": np.full(spec.anti_experts, spec.anti_accuracy),
        # The ability of a broken judge has no effect: .5 is a placeholder.
        "broken": np.full(spec.broken, 0.5),
    }
    targets = np.concatenate(list(parts.values()))
    kind = np.repeat(list(parts), [len(part) for part in parts.values()])
    constant = spec.base_rate if spec.broken_verdict == 1 else 1 - spec.base_rate
    flipped = targets * (1 - spec.copy_flip) + (1 - targets) * spec.copy_flip
    accuracies = np.select([kind == "copy", kind == "broken"], [flipped, constant], targets)
    names = _numbered(spec.judge_word, spec.n_judges)
    family = np.arange(spec.n_judges) % max(1, spec.n_families)
    family[kind == "copy"] = spec.copy_of % max(1, spec.n_families)
    columns: dict[str, object] = {}
    if spec.n_families:
        columns["family"] = families = [f"fam{i + 1}" for i in family]
        names = tuple(f"{fam}-{name}" for fam, name in zip(families, names, strict=True))
    columns["kind"] = kind.tolist()
    if spec.costs:
        # More accurate judges tend to be larger: about ten times the price for .2 more accuracy.
        size = np.maximum(targets, 0.55) - 0.7
        log_cost = np.log(0.001) + 11.5 * size + 0.5 * rng.standard_normal(len(names))
        log_latency = np.log(1.5) + 4.0 * size + 0.4 * rng.standard_normal(len(names))
        columns["cost_usd"] = [float(f"{value:.3g}") for value in np.exp(log_cost)]
        columns["latency_s"] = [float(f"{value:.3g}") for value in np.exp(log_latency)]
    ability, table = _abilities(spec, targets), pd.DataFrame(columns)
    return _Panel(names, accuracies, ability, family, kind == "copy", table)


def _abilities(spec: SimulationSpec, targets: Floats) -> Floats:
    """Return abilities (n_judges,) with mean over items of sigmoid(ability - d) at the target."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE_NODES)
    shifts = _shifts(spec)
    difficulty = (spec.difficulty_sd * nodes[None, :] + shifts[:, None]).ravel()
    weight = np.tile(weights / weights.sum(), len(shifts)) / len(shifts)
    high = np.full(len(targets), ABILITY_BOUND)
    low = -high
    for _ in range(70):
        middle = (low + high) / 2
        too_low = scipy.special.expit(middle[:, None] - difficulty[None, :]) @ weight < targets
        low = np.where(too_low, middle, low)
        high = np.where(too_low, high, middle)
    return np.asarray((low + high) / 2, dtype=float)


def _draw_votes(
    spec: SimulationSpec, items: _Items, panel: _Panel, rng: np.random.Generator
) -> tuple[Votes, Votes | None]:
    """Return all verdicts and absolute ratings, each int8 (n_items, n_judges), none missing.

    Ratings are in 1..levels, None without levels; drawn in blocks of rows.
    """
    votes = np.empty((spec.n_items, spec.n_judges), dtype=np.int8)
    ratings = np.empty(votes.shape, dtype=np.int8) if spec.levels else None
    rho = spec.family_rho if spec.n_families else 0.0
    for rows in _blocks(spec):
        shape = votes[rows].shape
        factor = rng.standard_normal((shape[0], max(1, spec.n_families)))
        noise = rng.standard_normal(shape)
        noise *= np.sqrt(1 - rho)
        noise += np.sqrt(rho) * factor[:, panel.family]
        chance = scipy.special.expit(panel.ability[None, :] - items.difficulty[rows, None])
        correct = scipy.special.ndtr(noise) < chance
        if ratings is not None:
            steps = np.ceil(np.abs(scipy.special.ndtri(chance) - noise) * spec.levels / 2.0)
            ratings[rows] = np.clip(steps, 1, spec.levels)
        if spec.copies:
            differs = rng.random((shape[0], spec.copies)) < spec.copy_flip
            correct[:, panel.is_copy] = correct[:, [spec.copy_of]] ^ differs
        votes[rows] = np.where(correct, items.truth[rows, None], 1 - items.truth[rows, None])
    if spec.broken:
        votes[:, -spec.broken :] = spec.broken_verdict
    return votes, ratings


def _blocks(spec: SimulationSpec) -> list[slice]:
    step = max(1, CELLS_A_BLOCK // spec.n_judges)
    return [slice(i, i + step) for i in range(0, spec.n_items, step)]


def _remove_unseen(
    votes: Votes, spec: SimulationSpec, items: _Items, rng: np.random.Generator
) -> None:
    """Blank, in place, votes that were not requested, not possible or not parsed."""
    m = spec.votes_per_item
    activity = spec.activity_sd * rng.standard_normal(spec.n_judges)
    absent = rng.permutation(spec.n_judges)[: spec.structural_judges]
    slice_size = round(spec.structural_share * spec.n_items)
    in_slice = np.argsort(items.subset, kind="stable")[spec.n_items - slice_size :]
    parse_rate = np.broadcast_to(np.asarray(spec.parse_rate, dtype=float), (spec.n_judges,))
    for rows in _blocks(spec):
        block = votes[rows]
        if m is not None and m < spec.n_judges:
            # The m largest of log-activity + Gumbel noise: sampling without replacement.
            key = activity[None, :] + rng.gumbel(size=block.shape)
            unseen = np.argpartition(key, spec.n_judges - m, axis=1)[:, : spec.n_judges - m]
            np.put_along_axis(block, unseen, np.int8(MISSING), axis=1)
        if (parse_rate < 1).any():
            block[rng.random(block.shape) >= parse_rate[None, :]] = MISSING
    votes[np.ix_(in_slice, absent)] = MISSING


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


_DESCRIBED = tomllib.loads(Path(__file__).with_name("samples.toml").read_text("utf-8"))
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
