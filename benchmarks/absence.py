"""Absent judges: does `score` predict what an absent family costs, and which fallback is best?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.real import real_path
from benchmarks.report import Report, Table, say
from judgepanel.api.panels import recommend
from judgepanel.arrays import Bools, Floats
from judgepanel.decision.absence import FOLDS, Absence, measure_absence
from judgepanel.decision.panel_file import absence_content
from judgepanel.decision.score import absence_sentence, nearest_absence, on_items
from judgepanel.kernels.aggregation import Aggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.models.panel import (
    Fallback,
    Mixture,
    PanelModel,
    fit_fallback,
    fit_panel,
    in_order,
    mixture_of,
)
from judgepanel.studies.contract import Prepared, Settings, prepare
from judgepanel.studies.understand.judge_table import families_of
from judgepanel.votes import MISSING, VoteMatrix
from judgepanel.votes.load import load_votes
from judgepanel.votes.simulate import SimulationSpec, simulate

LLMBAR_HALVES, REWARDBENCH_SAMPLES, REWARDBENCH_LABELS = 6, 2, 500
PAIRS = 3
WORLDS = tuple((rho, n, sd) for rho in (0.2, 0.5, 0.8) for n in (200, 500) for sd in (0.0, 1.0))
PIPELINES: tuple[tuple[str, Aggregator, Calibrator, int], ...] = (
    ("joint + temperature, all", "joint", "temperature", 0),
    ("one-coin + beta, all", "one_coin", "beta", 0),
    ("one-coin + beta, best 10", "one_coin", "beta", 10),
)
RANDOM = (0.25, 0.5, 0.75)


@dataclass(slots=True)
class Count:
    """Outcomes of the absences for one kind of votes."""

    cases: int = 0
    inside: int = 0
    above: int = 0
    silent: int = 0
    main_above: int = 0
    fell_back: int = 0
    worst: list[float] = field(default_factory=lambda: [0.0, 0.0])


def run() -> Report:
    """Run everything; about a quarter of an hour on one core."""
    families: dict[str, Count] = {}
    pairs: dict[str, Count] = {}
    for source, name, votes, n_labels, seed in worlds():
        started = time.perf_counter()
        past, new = halves(votes, n_labels, seed)
        for label, fitted in panels(past, source):
            key = f"{source}: {label}"
            first, two = families.setdefault(key, Count()), pairs.setdefault(key, Count())
            absences(fitted, new, first, two)
        say(f"{name}: {time.perf_counter() - started:.0f} s")
    cases, inside = (sum(getattr(c, key) for c in families.values()) for key in ("cases", "inside"))
    everything = [*families.values(), *pairs.values()]
    above, silent = (sum(getattr(c, key) for c in everything) for key in ("above", "silent"))
    share = inside / cases
    return Report(
        "Absent judges",
        "A family of judges is absent on the untouched half: does the rise of the NLL lie in the "
        "interval that `score` prints, is a panel worse than the base rate ever used without a "
        "word, and which fallback scores best?",
        (
            _counted("One family absent", families, intervals=True),
            _counted("Two families absent", pairs, intervals=False),
            _fallbacks("llmbar", 209, 3),
            _fallbacks("rewardbench", REWARDBENCH_LABELS, 1),
        ),
        (
            f"the rise lies in the printed interval in {inside} of {cases} absences of one family, "
            f"{100 * share:.1f} % (wanted: 93 %: {'met' if share >= 0.93 else 'MISSED'})",
            f"{above} absences of one or two families leave the panel above the base rate, "
            f"{silent} of them without a word (wanted: 0: {'met' if silent == 0 else 'MISSED'})",
        ),
    )


def with_judges(name: str) -> VoteMatrix:
    path = real_path(name)
    return load_votes(path, judge_table=path.with_name(f"{name}_judges.csv")).votes


def worlds() -> Iterator[tuple[str, str, VoteMatrix, int, int]]:
    """Yield source, name, votes, number of labels to fit on, and seed."""
    for number, (rho, n, sd) in enumerate(WORLDS):
        spec = SimulationSpec(
            n_items=2 * n,
            n_judges=20,
            n_families=5,
            family_rho=rho,
            difficulty_sd=sd,
            accuracy_low=0.55,
            seed=number + 1,
            costs=False,
        )
        yield "simulated", f"world {number + 1}", simulate(spec), n, number
    votes = with_judges("llmbar")
    for seed in range(LLMBAR_HALVES):
        yield "llmbar", f"llmbar {seed + 1}", votes, votes.n_items // 2, seed
    votes = with_judges("rewardbench")
    for seed in range(REWARDBENCH_SAMPLES):
        yield "rewardbench", f"rewardbench {seed + 1}", votes, REWARDBENCH_LABELS, seed


def panels(past: VoteMatrix, source: str) -> Iterator[tuple[str, tuple[Mixture, Absence]]]:
    """Panels fitted on ``past`` with their measured absences: the average, and fixed pipelines."""
    result = recommend(past, splits=FOLDS, jobs=1).result
    yield "recommended", (result.model, _measured(result.absence))
    prepared = prepare(past, Settings())
    families = families_of(past.with_judges(prepared.judges))
    for label, aggregator, calibrator, k in PIPELINES:
        if source == "rewardbench" and k:
            continue
        fitted = fit_panel(
            prepared.ballots,
            prepared.judges,
            k or len(prepared.judges),
            aggregator=aggregator,
            calibrator=calibrator,
        )
        model = mixture_of([fitted], [1.0])
        absence = _measured(measure_absence(prepared, Settings(), model, families))
        yield label, (replace(model, fallback=absence.fallback), absence)


def _measured(absence: Absence | None) -> Absence:
    if absence is None:
        raise ValueError("a panel of several judges is measured")
    return absence


def absences(fitted: tuple[Mixture, Absence], new: VoteMatrix, result: Count, two: Count) -> None:
    """Count absences of each family, and of some pairs of families, for one panel."""
    model, absence = fitted
    world = _World(model, absence, new)
    measured = [group.judges for group in absence.groups if group.kind == "family"]
    for positions in measured:
        world.count(positions, result)
    for first, second in islice(combinations(measured, 2), PAIRS):
        if len(first) + len(second) < len(model.judges):
            world.count((*first, *second), two)


def halves(votes: VoteMatrix, n_labels: int, seed: int) -> tuple[VoteMatrix, VoteMatrix]:
    order = np.random.default_rng(1000 + seed).permutation(votes.n_items)
    return votes.with_items(np.sort(order[:n_labels])), votes.with_items(np.sort(order[n_labels:]))


class _World:
    """A panel, its measured absences, and items it has not seen."""

    def __init__(self, model: Mixture, absence: Absence, new: VoteMatrix) -> None:
        self.model = model
        self.votes = new.with_judges(model.judges)
        self.usual = self.nll(self.votes.votes, model)
        prior = np.full(new.n_items, model.prior)
        self.base = float(_nll(prior, new.labels).mean())
        # The NLL's level is treated as known, so that only the interval of the rise can warn.
        figures = {"nll": absence.nll, "nll_hi": absence.nll, "null_nll": self.base}
        self.content: dict[str, Any] = {
            "judges": list(model.judges),
            "absence": absence_content(absence, absence.judges),
            "figures": figures,
        }

    def nll(self, cast: NDArray[np.int8], model: Mixture) -> float:
        return float(_nll(model.score(cast), self.votes.labels).mean())

    def count(self, positions: tuple[int, ...], count: Count) -> None:
        cast = self.votes.votes.copy()
        cast[:, list(positions)] = MISSING
        names = [self.model.judges[j] for j in positions]
        nearest = nearest_absence(self.content, names)
        if nearest is None:
            raise ValueError("absences were measured")
        lo, hi = on_items(nearest.figures, len(cast))
        nll = self.nll(cast, self.model)
        own = self.nll(cast, replace(self.model, fallback=None))
        sentence = absence_sentence(self.content, names, len(cast))
        count.cases += 1
        count.inside += bool(lo <= nll - self.usual <= hi)
        count.above += nll > self.base
        count.silent += nll > self.base and "worse than the base rate" not in sentence
        count.main_above += own > self.base
        count.fell_back += bool(self.model.falls_back(cast).mean() > 0.5)
        if own - self.usual > count.worst[0]:
            count.worst = [own - self.usual, nll - self.usual]


def _nll(p: Floats, labels: NDArray[np.int8]) -> Floats:
    return np.asarray(-np.log(np.where(labels == 1, p, 1.0 - p)))


def _counted(title: str, table: dict[str, Count], *, intervals: bool) -> Table:
    rows = [
        (
            name,
            str(count.cases),
            *([f"{count.inside} ({100 * count.inside / count.cases:.1f} %)"] if intervals else []),
            str(count.fell_back),
            f"{count.worst[0]:+.3f}, {count.worst[1]:+.3f}",
            str(count.main_above),
            str(count.above),
            str(count.silent),
        )
        for name, count in table.items()
        if count.cases
    ]
    headings = (
        "votes: panel",
        "cases",
        *(["rise in the interval"] if intervals else []),
        "fallback used",
        "worst rise without, with it",
        "above base rate without it",
        "with it",
        "without a word",
    )
    note = (
        f"12 simulated worlds of 20 judges in 5 families, {LLMBAR_HALVES} halves of LLMBar and "
        f"{REWARDBENCH_SAMPLES} samples of {REWARDBENCH_LABELS} items of RewardBench; the rise is "
        "that on all other items. All but the recommended average are fixed pipelines."
        if intervals
        else f"At most {PAIRS} pairs a panel. Such absences are not measured, and `score` says so."
    )
    return Table(title, headings, rows, note)


def _fallbacks(name: str, n_labels: int, repeats: int) -> Table:
    """Mean NLL on new items of four ways to score items with absent judges."""
    votes = with_judges(name)
    sums: dict[str, list[Floats]] = {}
    for seed in range(repeats):
        past, new = halves(votes, n_labels, seed)
        prepared = prepare(past, Settings())
        ways = _Ways(prepared, families_of(past.with_judges(prepared.judges)), seed)
        cast, labels = new.with_judges(prepared.judges).votes, new.labels
        for what, gone in ways.absences.items():
            with_gaps = cast.copy()
            with_gaps[:, gone] = MISSING
            nll = [_nll(p, labels).mean() for p in ways.scores(with_gaps)]
            sums.setdefault(what, []).append(np.array(nll))
        say(f"fallbacks on {name}: {seed + 1} of {repeats}")
    rows = [(what, *(f"{x:.3f}" for x in np.mean(values, axis=0))) for what, values in sums.items()]
    headings = (
        "absent",
        "joint, as the panel is",
        "one-coin, one temperature",
        "one-coin, temperature of those there",
        "joint, trained with absences",
    )
    note = (
        f"NLL on new items, panels of all judges fitted on {n_labels} labels, {repeats} times. "
        "The last is fitted to every row twice, whole and without a random one of these very "
        "absences, which flatters its rows at random."
    )
    return Table(f"Which fallback: {name}", headings, rows, note)


class _Ways:
    """Four ways to score, fitted to the same rows; judges are in the order of their names."""

    def __init__(self, prepared: Prepared, families: tuple[str, ...], seed: int) -> None:
        ballots, names = prepared.ballots, prepared.judges
        rng = np.random.default_rng(seed)
        self.names = names
        given = np.array(families, dtype=object)
        counts = {name: int((given == name).sum()) for name in sorted(set(families)) if name}
        largest = sorted(counts, key=lambda name: -counts[name])[:6]
        self.absences: dict[str, Bools] = {"nobody": np.zeros(len(names), dtype=bool)}
        self.absences |= {f"{name} ({counts[name]} judges)": given == name for name in largest}
        for share in RANDOM:
            gone = rng.permutation(len(names)) < round(share * len(names))
            self.absences[f"{100 * share:.0f} % at random"] = gone
        masks = np.array(list(self.absences.values()))
        all_rows = np.arange(ballots.n_items)
        fitted = fit_fallback(ballots, masks, all_rows)
        if fitted is None:
            raise ValueError("no judge weighs anything")
        self.fallback = fitted
        self.models = [
            fit_panel(ballots, names, len(names), aggregator=kind, calibrator="temperature")
            for kind in ("joint", "one_coin")
        ]
        twice = _twice(ballots, masks, rng)
        self.dropped = fit_panel(
            twice, names, len(names), aggregator="joint", calibrator="temperature"
        )

    def scores(self, cast: NDArray[np.int8]) -> Iterator[Floats]:
        place = {name: j for j, name in enumerate(self.names)}

        def of(model: PanelModel | Mixture) -> Floats:
            return model.score(cast[:, [place[name] for name in model.judges]])

        joint, one_coin = self.models
        order = np.array([place[name] for name in one_coin.judges])
        always: Fallback = in_order(self.fallback, order, 0.0)
        yield of(joint)
        yield of(one_coin)
        guarded = mixture_of([one_coin], [1.0])
        yield of(replace(guarded, fallback=replace(always, beyond=-1.0)))
        yield of(self.dropped)


def _twice(ballots: Ballots, masks: Bools, rng: np.random.Generator) -> Ballots:
    """Every row twice: whole, and with the judges of a random absence removed."""
    gone = masks[rng.integers(1, len(masks), ballots.n_items)]
    return replace(
        ballots,
        votes=np.concatenate([ballots.votes, np.where(gone, 0, ballots.votes).astype(np.int8)]),
        signs=np.tile(ballots.signs, 2),
        units=np.tile(ballots.units, 2),
    )
