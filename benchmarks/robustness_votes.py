"""Damaged votes, weighting and juries: do intervals and tests hold, and what do real votes say?"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.real import real_votes
from benchmarks.report import Report, Table, cores, say
from judgepanel.arrays import Floats
from judgepanel.present.paper.pipeline import signal_name
from judgepanel.scoring.descriptive import equivalence
from judgepanel.scoring.inference import estimate
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.jury import JURY, Jury, JurySpec
from judgepanel.studies.paper.reliability_weighting import (
    RELIABILITY_WEIGHTING,
    ReliabilityWeighting,
    ReliabilityWeightingSpec,
)
from judgepanel.studies.runner import run as run_study
from judgepanel.studies.trust.corruption import CORRUPTION, Corruption, CorruptionSpec
from judgepanel.votes.simulate import SimulationSpec, simulate

SAMPLES = 20_000
BLOCK = 1_000
WORLDS = 100
MANY_SPLITS = 40
ACCURACIES = tuple(np.linspace(0.6, 0.85, 12).tolist())
MARGIN = 0.03
REAL = ("llmbar", "rewardbench", "rewardbench_correctness", "sentpop", "mozafari")
REAL_SPLITS = 20


def run() -> Report:
    test, lines = equivalence_table()
    damage, damage_lines = coverage_table()
    return Report(
        "Robustness: damaged votes, weighted comparisons, juries",
        "Whether equivalence is claimed too often, whether intervals hold what they should, and "
        "what is found on real votes.",
        [test, damage, real_table()],
        [*lines, *damage_lines],
    )


def equivalence_table() -> tuple[Table, list[str]]:
    """Share of samples that claim equivalence, by true difference and source of spread."""
    rows, worst = [], 0.0
    for name, spread, influence, n_splits in (
        ("items", 0.15, 0.0, 100),
        ("items and labels", 0.1, 0.1, 100),
        ("labels", 0.02, 0.15, 100),
        ("items and labels", 0.1, 0.1, 20),
    ):
        shares = [
            _claimed(shift, spread, influence, n_splits)
            for shift in (0.0, MARGIN / 2, MARGIN, -MARGIN)
        ]
        if n_splits == Settings().most_splits:
            worst = max(worst, *shares[2:])
        rows.append((name, str(n_splits), *(f"{share:.3f}" for share in shares)))
        say(f"equivalence, {n_splits} splits, spread by {name}: {shares}")
    slack = 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / SAMPLES)
    met = "met" if worst <= slack else "MISSED"
    note = (
        f"{SAMPLES:,} samples of 200 items. Labels act through the mean influence of "
        f"the calibration items; the margin is {MARGIN:g}."
    )
    headings = (
        "what spreads",
        "splits",
        "true 0",
        "half the margin",
        "the margin",
        "minus the margin",
    )
    return (
        Table("Equivalence claimed at 5 %", headings, rows, note),
        [
            f"Equivalence at the margin is claimed in at most {worst:.3f} of samples with 100 "
            f"splits (5 %: {met})."
        ],
    )


def _claimed(shift: float, spread: float, influence: float, n_splits: int) -> float:
    rng = np.random.default_rng(11)
    claimed, n = 0, 200
    for _ in range(SAMPLES // BLOCK):
        items = shift + spread * rng.standard_normal((BLOCK, n))
        pull = influence * rng.standard_normal((BLOCK, n))
        sides = np.array([rng.permutation(n) < n // 2 for _ in range(n_splits)])
        evaluated = (~sides).astype(float)
        learnt = pull @ sides.T / (n // 2)
        means = items @ evaluated.T / (n // 2) + learnt
        item_means = items + learnt @ evaluated / evaluated.sum(axis=0)
        fitted = estimate(item_means, means.T, np.arange(n), 100.0, 100.0, joint=False)
        claimed += equivalence(fitted, MARGIN).outcomes.count("equivalent")
    return claimed / SAMPLES


def coverage_table() -> tuple[Table, list[str]]:
    """Coverage of the expected value over simulated data sets, and width relative to the spread.

    Few and many splits are separate, since few make intervals wide enough for other reasons.
    """
    rows = [*_coverage_rows(10, WORLDS), *_coverage_rows(MANY_SPLITS, 2 * WORLDS, late=True)]
    lowest = min(rows, key=lambda row: float(row[3]))
    note = (
        f"{WORLDS} data sets of 240 items by the same 12 judges with 10 splits each, and twice as "
        f"many with {MANY_SPLITS}, damage at scoring time alone; the truth is the mean over data "
        "sets. Worst level of each scenario; the interval of a gap holds for all levels."
    )
    headings = (
        *("quantity", "splits", "truth", "covered", "mean half width"),
        "true spread x 1.96",
    )
    line = (
        f"Intervals of 95 % cover {lowest[3]} of the data sets or more; lowest: {lowest[0]}, "
        f"{lowest[1]} splits."
    )
    return Table("Coverage of intervals", headings, rows, note), [line]


def _coverage_rows(n_splits: int, n_worlds: int, *, late: bool = False) -> list[tuple[str, ...]]:
    """Rows of damaged votes and, unless only ``late`` damage is asked for, of the other studies."""
    settings = Settings(splits=n_splits)
    damage = CorruptionSpec(settings, panels=(4,), flips=(0.2, 0.4), absent=(0.5,))
    weights = ReliabilityWeightingSpec(settings)
    parts: dict[str, list[tuple[Floats, Floats, Floats]]] = {}
    gaps = []
    for world in range(n_worlds):
        votes = simulate(
            SimulationSpec(
                n_items=240,
                n_judges=12,
                accuracies=ACCURACIES,
                difficulty_sd=1.0,
                seed=world,
                costs=False,
            )
        )
        result: Corruption = run_study(CORRUPTION, votes, damage, jobs=1)
        for name in dict.fromkeys(result.scenarios[1:]):
            if late and name.endswith("_both"):
                continue
            at = result.of(name)[-1]
            for label, value, lo, hi in (
                ("rise of all", result.rise.value[-1], result.rise.lo[-1], result.rise.hi[-1]),
                ("rise of top-4", result.rise.value[0], result.rise.lo[0], result.rise.hi[0]),
                ("gap, top-4 - all", result.gap.value[0], result.gap.lo[0], result.gap.hi[0]),
            ):
                parts.setdefault(f"{name}: {label}", []).append((value[at], lo[at], hi[at]))
        if late:
            continue
        weighed: ReliabilityWeighting = run_study(RELIABILITY_WEIGHTING, votes, weights, jobs=1)
        for i in range(len(weighed.signals)):
            parts.setdefault(f"weighting: {signal_name(weighed, i)}", []).append(
                tuple(weighed.delta[i])
            )
        alone = simulate(
            SimulationSpec(n_items=240, n_judges=12, accuracies=ACCURACIES, seed=world, costs=False)
        )
        jury = run_study(JURY, alone, JurySpec(settings, panels=(5,)), jobs=1)
        gaps.append(tuple(jury.gap[-1]))
        if world % 20 == 19:
            say(f"coverage, {n_splits} splits: {world + 1} of {n_worlds}")
    rows = [_covered(name, np.array(values), None) for name, values in parts.items()]
    if gaps:
        rows.append(_covered("jury: gap of independent judges (truth 0)", np.array(gaps), 0.0))
    return [(row[0], str(n_splits), *row[1:]) for row in rows]


def _covered(name: str, values: Floats, known: float | None) -> tuple[str, ...]:
    truth = float(values[:, 0].mean()) if known is None else known
    inside = (values[:, 1] <= truth) & (truth <= values[:, 2])
    return (
        name,
        f"{truth:+.4f}",
        f"{inside.mean():.3f}",
        f"{(values[:, 2] - values[:, 1]).mean() / 2:.4f}",
        f"{1.96 * values[:, 0].std(ddof=1):.4f}",
    )


def real_table() -> Table:
    """Results on real votes, and the time they take."""
    rows = []
    for name in REAL:
        votes, settings = real_votes(name), Settings(splits=REAL_SPLITS)
        started = time.perf_counter()
        result: Corruption = run_study(CORRUPTION, votes, CorruptionSpec(settings))
        seconds = time.perf_counter() - started
        weighed: ReliabilityWeighting = run_study(
            RELIABILITY_WEIGHTING, votes, ReliabilityWeightingSpec(settings)
        )
        jury: Jury = run_study(JURY, votes, JurySpec(settings))
        at, both = (result.of(kind)[-1] for kind in ("random_evaluation", "concentrated_both"))
        contested = 1  # The weighting by low agreement.
        rows.append(
            (
                name,
                f"{result.nll.value[-1, 0]:.3f} -> {result.nll.value[-1, at]:.3f}",
                f"{result.nll.value[0, 0]:.3f} -> {result.nll.value[0, at]:.3f}",
                result.slower(0, at),
                f"{result.rise.value[-1, both]:+.3f}",
                "{:+.3f} [{:+.3f}, {:+.3f}]".format(*weighed.band[contested]),
                f"{100 * jury.majority.value[-1]:.1f} %, {100 * jury.independent.value[-1]:.2g} %",
                f"{jury.effective.value[-1]:.1f}",
                f"{seconds:.1f}",
            )
        )
        say(f"{name}: {seconds:.1f} s")
    headings = (
        *("votes", "all, 40 % flipped", "top-5", "degrades slower", "seen by the fit, half struck"),
        *("contested items count more", "majority errs, independent", "worth", "seconds"),
    )
    note = (
        f"{REAL_SPLITS} splits, one-coin and beta, {cores()} workers. NLL on clean votes -> with "
        "40 % flipped at scoring time; the rise for all judges where half of them carry the flips "
        "in calibration, too; the change of the NLL with its band; seconds of the corruption study."
    )
    return Table("Real votes", headings, rows, note)
