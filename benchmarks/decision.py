"""How much the recommendation loses against the best candidate in hindsight, on held-out halves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from statistics import mode

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.real import real_votes
from benchmarks.report import Report, Table
from judgepanel.arrays import Floats
from judgepanel.decision.recommend import REFERENCE
from judgepanel.decision.recommend_result import Preference, choose
from judgepanel.scoring.inference import sampling_variance
from judgepanel.scoring.splits import Split, split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.panel.curator import Rules, known_judges
from judgepanel.studies.panel.recommended import (
    ALL_JUDGES,
    FAVOURITES,
    FEW,
    Candidate,
    Candidates,
    ChoiceSettings,
    average_losses,
    average_weights,
    candidates_of,
    compete,
)
from judgepanel.votes import VoteMatrix
from judgepanel.votes.simulate import SimulationSpec, simulate

MATRICES = ("llmbar", "rewardbench", "sentpop", "mozafari")
SEEDS = range(20)
FEW_LABELS, FEW_SEEDS = 60, range(8)
PREFERENCES: tuple[Preference, ...] = ("nll", "single", "everyone", "simplest", "fewest")
MEAN_REGRET, MOST_REGRET, MOST_EXCESS = 0.01, 0.03, 0.02
WORLD_SEEDS, WORLD_ITEMS = range(20), 400
NEW_ITEMS = 4_000

_BASE = SimulationSpec(n_judges=15, n_items=WORLD_ITEMS + NEW_ITEMS, costs=False)
WORLDS: dict[str, tuple[SimulationSpec, int]] = {
    "independent": (_BASE, 400),
    "families": (replace(_BASE, n_families=3, family_rho=0.6, difficulty_sd=1.0), 400),
    "copies": (replace(_BASE, copies=8, copy_flip=0.05), 400),
    "noise": (replace(_BASE, accuracy_low=0.5, accuracy_high=0.75, broken=6), 400),
    "anti-experts": (replace(_BASE, anti_experts=5), 400),
    "one expert": (replace(_BASE, accuracies=(0.93, *(0.58,) * 14)), 400),
    "two experts": (replace(_BASE, accuracies=(0.9, 0.88, *(0.55,) * 13)), 400),
    "specialists": (replace(_BASE, subsets=(("a", -1.5), ("b", 1.5)), n_families=2), 400),
    "sparse crowd": (replace(_BASE, n_judges=40, activity_sd=1.5, parse_rate=0.3), 400),
    "rare label": (replace(_BASE, base_rate=0.06, task="pointwise"), 400),
    "60 labels": (replace(_BASE, n_families=3, family_rho=0.5), 60),
    "120 labels": (replace(_BASE, n_families=3, family_rho=0.5), 120),
}
"""Simulated panels, and the number of labels available to choose and fit with."""


def _leads(candidate: Candidate) -> bool:
    return (candidate.name, candidate.aggregator, candidate.calibrator) in FAVOURITES


KINDS: dict[str, Callable[[Candidate], bool]] = {
    "joint on all": _leads,
    "joint, others": lambda panel: panel.aggregator == "joint" and not _leads(panel),
    "accuracy-weighted": lambda panel: panel.aggregator == "accuracy_weighted",
    "one-coin, all and half": lambda panel: panel.aggregator == "one_coin" and panel.k not in FEW,
    "one-coin, top 3, 5, 10": lambda panel: panel.aggregator == "one_coin" and panel.k in FEW,
    "majority": lambda panel: panel.aggregator == "majority",
    "stacking": lambda panel: panel.aggregator == "stacking",
    "Dawid-Skene": lambda panel: panel.aggregator == "dawid_skene_semi",
    "judges left out": lambda panel: panel.name != ALL_JUDGES,
}
"""Kinds of candidates that are members of the average, to see what each adds."""


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """Candidates on rows that nothing was fitted to, with one set of rows per seed.

    The first ``n_default`` candidates are the default list. ``nll`` (n_seeds, n_candidates) is on
    these rows, ``items`` (n_candidates, n) the mean per item over the seeds that hold it out.
    ``chosen[prefer]`` (n_seeds,) has the NLL of the choices, ``items_of[prefer]`` (n,) their mean
    losses, and ``names[prefer]`` their names. ``without[kind]`` (n_seeds,) is the NLL of the
    average if no candidate of a kind is a member.
    """

    candidates: tuple[Candidate, ...]
    n_default: int
    nll: Floats
    items: Floats
    chosen: dict[str, Floats]
    items_of: dict[str, Floats]
    names: dict[str, list[str]]
    without: dict[str, Floats]
    units: NDArray[np.int64]
    seconds: float


def run() -> Report:
    with threadpool_limits(1):
        wide = {name: _real(name, SEEDS, "wide", None) for name in MATRICES}
        few = {name: _real(name, FEW_SEEDS, "default", FEW_LABELS) for name in MATRICES}
        worlds = {name: _world(*world) for name, world in WORLDS.items()}
    rows = {name: _row(name, halves, "nll") for name, halves in wide.items()}
    regrets = [row.regret for row in rows.values()]
    mean_regret = float(np.mean(regrets))
    all_rows = [
        *rows.values(),
        *(_row(name, halves, "nll") for name, halves in worlds.items()),
    ]
    worst = max(all_rows, key=lambda row: row.excess)
    return Report(
        "The recommendation against the best candidate in hindsight",
        "Half of the labels choose and fit, the other half is scored; NLL is averaged over the "
        f"seeds {SEEDS.start} to {SEEDS.stop - 1} before the minimum over candidates is taken. "
        "That minimum flatters the candidate: it is the luckiest of many on these very items. The "
        "noise floor is one standard error of the difference, over items. Members and prior of the "
        "average, and joint's prior of tau, were set on seeds from 100 on, which are not among "
        "these.",
        [
            Table(
                "The default list, held against the best of the wide list",
                _HEADINGS,
                [row.cells for row in list(rows.values())],
                _RATIOS,
            ),
            Table(
                "What each kind of member adds to the average",
                ("votes", *KINDS),
                [
                    *(_added(name, halves) for name, halves in wide.items()),
                    *(
                        _added(f"{name}, {FEW_LABELS} labels", halves)
                        for name, halves in few.items()
                    ),
                    *(_added(name, halves) for name, halves in worlds.items()),
                ],
                "By how much the NLL of the average rises if no candidate of the kind is a member.",
            ),
            Table(
                f"{FEW_LABELS} labels to choose and fit with, held against the best of the default "
                "list",
                _HEADINGS,
                [_row(name, halves, "nll").cells for name, halves in few.items()],
            ),
            Table(
                f"Simulated worlds, {len(WORLD_SEEDS)} seeds, {NEW_ITEMS:,} new items, held "
                "against the best of the default list",
                _HEADINGS,
                [_row(name, halves, "nll").cells for name, halves in worlds.items()],
            ),
            Table(
                "Other preferences",
                _HEADINGS,
                [
                    _row(f"{name}, {prefer}", halves, prefer).cells
                    for name, halves in wide.items()
                    for prefer in PREFERENCES[1:]
                ],
            ),
        ],
        [
            _target(f"average regret {mean_regret:.1%}", mean_regret <= MEAN_REGRET),
            _target(f"largest regret {max(regrets):.1%}", max(regrets) <= MOST_REGRET),
            _target(
                f"most behind one-coin + temperature on all or the best k: {worst.excess:+.1%} "
                f"({worst.cells[0]})",
                worst.excess <= MOST_EXCESS,
            ),
            *(
                _target(f"{name}: NLL below one-coin + beta on all judges", row.ratio < 1.0)
                for name, row in rows.items()
            ),
        ],
    )


def _target(what: str, met: bool) -> str:
    return f"{what}: {'met' if met else 'missed'}"


_HEADINGS = (
    "votes",
    "NLL",
    "best in hindsight",
    "which",
    "regret",
    "noise floor",
    "to one-coin",
    "ratio",
    "what was chosen",
    "CPU s per seed",
)
_RATIOS = (
    "To one-coin: against one-coin + temperature on all judges or on the best k, whichever is "
    "better in hindsight. Ratio: NLL over that of one-coin + beta on all judges, which is the "
    "paper's default."
)


def _real(name: str, seeds: range, listed: str, n_labels: int | None) -> Halves:
    votes = real_votes(name)
    return _halves(((votes, seed) for seed in seeds), listed, n_labels, None)


def _world(spec: SimulationSpec, n_labels: int) -> Halves:
    drawn = ((simulate(replace(spec, seed=seed)), seed) for seed in WORLD_SEEDS)
    return _halves(drawn, "default", n_labels, WORLD_ITEMS)


def _drawn(units: NDArray[np.int64], seed: int, n_labels: int | None, first: int | None) -> Split:
    """A random split into halves; optionally with fewer labels, or fitted on the first items."""
    if first is not None:
        rows = np.arange(len(units))
        return Split(seed, rows[: n_labels or first], rows[first:])
    halves = split(units, seed)
    if n_labels is None:
        return halves
    some = np.random.default_rng(seed).choice(halves.calibration, n_labels, replace=False)
    return Split(seed, np.sort(some), halves.evaluation)


def _halves(
    drawn: Iterable[tuple[VoteMatrix, int]], listed: str, n_labels: int | None, first: int | None
) -> Halves:
    """``drawn`` yields votes and seed of each repetition; real votes are always the same."""
    nll, sums, sums_of, times = [], [], [], []
    chosen: dict[str, list[float]] = {prefer: [] for prefer in PREFERENCES}
    names: dict[str, list[str]] = {prefer: [] for prefer in PREFERENCES}
    without: dict[str, list[float]] = {kind: [] for kind in KINDS}
    started = time.process_time()
    for votes, seed in drawn:
        prepared = prepare(votes, Settings())
        ballots = prepared.ballots
        choices = candidates_of(listed, ballots.n_judges, symmetric=ballots.symmetric)
        default = candidates_of("default", ballots.n_judges, symmetric=ballots.symmetric)
        n_default = len(default.all())
        if choices.all()[:n_default] != default.all():
            raise ValueError("the wide list begins with the default one")
        rows = _drawn(ballots.units, seed, n_labels, first)
        terms = ChoiceSettings(5, 0, known_judges(votes, prepared), Rules())
        results = compete(ballots, rows, choices, terms)
        nll.append(results.items.nll.mean(axis=1))
        losses = np.zeros((len(choices.all()), ballots.n_items))
        losses[:, rows.evaluation] = results.items.nll
        held, losses_of = np.zeros(ballots.n_items), np.zeros((len(PREFERENCES), ballots.n_items))
        held[rows.evaluation] = 1.0
        choices_made = choose(
            results.standing.losses[:n_default],
            results.standing.panels[:n_default],
            ballots.units[rows.calibration],
            default,
            np.random.default_rng(seed),
        ).by_preference
        members = default.all()
        priors = np.stack(
            [
                default.prior(np.array([not is_kind(candidate) for candidate in members]))
                for is_kind in KINDS.values()
            ]
        )
        weights = average_weights(
            results.standing.losses[:n_default],
            ballots.units[rows.calibration],
            priors,
            np.random.default_rng(seed),
        )
        for kind, of_others in zip(KINDS, weights, strict=True):
            outcome = average_losses(results.items.nll[:n_default], of_others)
            without[kind].append(float(outcome.mean()))
        for place, prefer in enumerate(PREFERENCES):
            choice = choices_made[prefer]
            outcome = average_losses(results.items.nll[:n_default], choice.used)
            chosen[prefer].append(float(outcome.mean()))
            losses_of[place, rows.evaluation] = outcome
            names[prefer].append(_described(default, choice.used))
        sums.append(losses)
        sums_of.append(losses_of)
        times.append(held)
    seconds = (time.process_time() - started) / len(nll)
    return _joined(
        choices,
        n_default,
        (nll, sums, sums_of, times),
        chosen,
        names,
        without,
        ballots.units,
        seconds,
    )


def _joined(
    choices: Candidates,
    n_default: int,
    parts: tuple[list[Floats], list[Floats], list[Floats], list[Floats]],
    chosen: dict[str, list[float]],
    names: dict[str, list[str]],
    without: dict[str, list[float]],
    units: NDArray[np.int64],
    seconds: float,
) -> Halves:
    nll, sums, sums_of, times = (np.array(part) for part in parts)
    total = times.sum(axis=0)
    seen = total > 0
    items_of = sums_of.sum(axis=0)[:, seen] / total[seen]
    return Halves(
        choices.all(),
        n_default,
        nll,
        sums.sum(axis=0)[:, seen] / total[seen],
        {prefer: np.array(values) for prefer, values in chosen.items()},
        dict(zip(PREFERENCES, items_of, strict=True)),
        names,
        {kind: np.array(values) for kind, values in without.items()},
        units[seen],
        seconds,
    )


def _described(choices: Candidates, weights: Floats) -> str:
    """The heaviest pipeline, marked if it is not the only one."""
    heaviest = int(weights.argmax())
    candidate = choices.all()[heaviest]
    name = f"{candidate.name}, {candidate.aggregator}, {candidate.calibrator}"
    return name if weights[heaviest] == 1.0 else f"{name} among others"


def _added(name: str, halves: Halves) -> tuple[str, ...]:
    ours = float(halves.chosen["nll"].mean())
    return (name, *(f"{halves.without[kind].mean() / ours - 1.0:+.1%}" for kind in KINDS))


@dataclass(frozen=True, slots=True)
class _Row:
    cells: tuple[str, ...]
    regret: float
    excess: float
    ratio: float


def _row(name: str, halves: Halves, prefer: str) -> _Row:
    mean = halves.nll.mean(axis=0)
    best = int(mean.argmin())
    ours = float(halves.chosen[prefer].mean())
    names = [
        (candidate.name, candidate.aggregator, candidate.calibrator)
        for candidate in halves.candidates
    ]
    reference = float(mean[names.index(REFERENCE)])
    simple = [
        i for i, (_, *pipeline) in enumerate(names) if pipeline == ["one_coin", "temperature"]
    ]
    one_coin = float(mean[simple].min())
    gap = halves.items_of[prefer] - halves.items[best]
    floor = float(np.sqrt(sampling_variance(gap[None], halves.units)[0])) / float(mean[best])
    regret, excess = ours / float(mean[best]) - 1.0, ours / one_coin - 1.0
    often = mode(halves.names[prefer])
    cells = (
        name,
        f"{ours:.4f}",
        f"{mean[best]:.4f}",
        ", ".join(names[best]),
        f"{regret:+.1%}",
        f"{floor:.1%}",
        f"{excess:+.1%}",
        f"{ours / reference:.3f}",
        f"{often} ({halves.names[prefer].count(often)} of {len(halves.names[prefer])})",
        f"{halves.seconds:.1f}",
    )
    return _Row(cells, regret, excess, ours / reference)
