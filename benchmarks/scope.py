"""Do the scope checks pass sound panels, and do they detect what is wrong?"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits

from benchmarks.report import Report, Table, cores, say
from judgepanel.scoring.descriptive import ALPHA as TOST_ALPHA
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.runner import run as run_study
from judgepanel.studies.trust.missingness import missingness
from judgepanel.studies.trust.scope import SATURATED, SCOPE, Scope, ScopeSpec
from judgepanel.studies.understand.judge_table import ALPHA, legible
from judgepanel.votes import MISSING, VoteMatrix
from judgepanel.votes.simulate import (
    Simulated,
    SimulationSpec,
    find_sample,
    simulate,
    simulate_with_truth,
)

N_PANELS = 100
FIRST_SEED = 1_000
SPLITS = 20
N_DATA_SETS = 1_000
N_HARD = 20
CLEAN = find_sample("clean_pairwise").spec
HARD = find_sample("hard_panel").spec
GAPPY = replace(CLEAN, parse_rate=0.95, subsets=(("chat", -0.7), ("reasoning", 0.0), ("code", 0.7)))

Chance = Callable[[Simulated], NDArray[np.float64]]


def with_gaps(seed: int, chance: Chance, spec: SimulationSpec = CLEAN) -> VoteMatrix:
    """A clean panel in which each vote is missing with its own probability (n_items, n_judges)."""
    made = simulate_with_truth(replace(spec, seed=seed))
    gone = np.random.default_rng(seed + 7).random(made.votes.votes.shape) < chance(made)
    return replace(made.votes, votes=np.where(gone, MISSING, made.votes.votes).astype(np.int8))


def by_difficulty(slope: float, judges: int) -> Chance:
    """10 % missing on average, more on hard items, for the first ``judges`` judges."""

    def chance(made: Simulated) -> NDArray[np.float64]:
        hard = (made.difficulty - made.difficulty.mean()) / made.difficulty.std()
        entry = expit(np.log(0.1 / 0.9) + slope * hard)
        return np.where(np.arange(made.votes.n_judges) < judges, entry[:, None], 0.0)

    return chance


def by_label(ratio: float, judges: int) -> Chance:
    """5 % missing where the label is 0, ``ratio`` times as many where it is 1."""

    def chance(made: Simulated) -> NDArray[np.float64]:
        entry = np.where(made.truth == 1, 0.05 * ratio, 0.05)
        return np.where(np.arange(made.votes.n_judges) < judges, entry[:, None], 0.0)

    return chance


def _alarm(votes: VoteMatrix) -> bool:
    return missingness(prepare(votes, Settings())).n_related > 0


def _scope(spec: SimulationSpec, seed: int) -> Scope:
    votes = simulate(replace(spec, seed=seed))
    return run_study(SCOPE, votes, ScopeSpec(Settings(splits=SPLITS)), jobs=1)


def _parallel(jobs: list[tuple[Callable[..., object], tuple[object, ...]]]) -> list[object]:
    with threadpool_limits(1):
        parallel: list[object] = Parallel(n_jobs=cores())(delayed(f)(*args) for f, args in jobs)
    return parallel


def _rate(hits: int, n: int) -> str:
    return f"{100 * hits / n:.1f} % ({hits} of {n})"


def clean_table() -> tuple[Table, int]:
    seeds = range(FIRST_SEED, FIRST_SEED + N_PANELS)
    started = time.monotonic()
    parallel = _parallel([(_scope, (CLEAN, seed)) for seed in seeds])
    say(f"clean panels: {time.monotonic() - started:.0f} s")
    results = [entry for entry in parallel if isinstance(entry, Scope)]
    sound = sum(result.counted("pass") == 4 for result in results)
    rows = []
    for code in ("P0", "P1", "P2", "P3"):
        outcomes = Counter(result.check(code).outcome for result in results)
        rows.append((code, *(str(outcomes[name]) for name in ("pass", "review", "fail"))))
    tenth = Counter(
        result.saturation.outcome[result.saturation.last] for result in results if result.saturation
    )
    moved = np.array(
        [
            [
                result.saturation.change.value[place]
                for place in (result.saturation.last, result.saturation.fifth)
            ]
            for result in results
            if result.saturation
        ]
    )
    mean, spread = moved.mean(axis=0), moved.std(axis=0, ddof=1)
    note = (
        f"All four pass in {sound} of {N_PANELS}. The last tenth changes NLL by {mean[0]:+.1f} % "
        f"(standard deviation over panels {spread[0]:.1f} %), all but the best fifth by "
        f"{mean[1]:+.0f} % ({spread[1]:.0f} %). By the test of the last tenth against "
        f"+-{SATURATED:.0%} alone: " + ", ".join(f"{n} {name}" for name, n in tenth.items()) + "."
    )
    return Table("Clean panels", ("check", "pass", "review", "fail"), rows, note), sound


def hard_table() -> Table:
    parallel = _parallel([(_scope, (HARD, HARD.seed + i)) for i in range(N_HARD)])
    results = [entry for entry in parallel if isinstance(entry, Scope)]
    rows = []
    for code in ("P0", "P1", "P2", "P3"):
        outcomes = Counter(result.check(code).outcome for result in results)
        rows.append((code, *(str(outcomes[name]) for name in ("pass", "review", "fail"))))
    note = f"The hard sample and {N_HARD - 1} more panels of its kind (other seeds)."
    return Table("Hard panels", ("check", "pass", "review", "fail"), rows, note)


def missing_table() -> tuple[Table, float]:
    flat = {
        "no relation: 5 % of all votes": replace(GAPPY, difficulty_noise=0.7),
        "no relation: 5 votes per item of 24": replace(CLEAN, votes_per_item=5, activity_sd=0.8),
        "no relation: groups of 2, 5 % of votes": replace(GAPPY, items_per_group=2),
        "no relation: one judge at 54 %": replace(
            GAPPY, parse_rate=(0.54, *([1.0] * (CLEAN.n_judges - 1)))
        ),
    }
    rows, worst = [], 0.0
    for name, spec in flat.items():
        hits = sum(_alarm(simulate(replace(spec, seed=s))) for s in range(N_DATA_SETS))
        worst = max(worst, hits / N_DATA_SETS)
        rows.append((name, _rate(hits, N_DATA_SETS)))
    cells = {
        "difficulty, slope 0.5, 4 judges": by_difficulty(0.5, 4),
        "difficulty, slope 1, 4 judges": by_difficulty(1.0, 4),
        "difficulty, slope 1, 1 judge": by_difficulty(1.0, 1),
        "label, twice as often, 4 judges": by_label(2.0, 4),
        "label, four times as often, 4 judges": by_label(4.0, 4),
        "label, four times as often, 1 judge": by_label(4.0, 1),
    }
    n = N_DATA_SETS // 5
    for name, chance in cells.items():
        hits = sum(_alarm(with_gaps(s, chance)) for s in range(n))
        rows.append((name, _rate(hits, n)))
    slices = replace(GAPPY, parse_rate=0.95, structural_judges=2, structural_share=0.15)
    hits = sum(_alarm(simulate(replace(slices, seed=s))) for s in range(n))
    rows.append(("a slice of 15 % missing, 2 judges", _rate(hits, n)))
    note = f"300 items, 24 judges. Level of the family of tests: {ALPHA:.1%}."
    return Table("P3: alarms about missing votes", ("missing votes", "alarms"), rows, note), worst


def chance_table() -> Table:
    rows = []
    for n in (5, 20, 100):
        for accuracy in (0.5, 0.4, 0.3):
            spec = replace(
                CLEAN, n_items=n, accuracies=(accuracy,) * 24, difficulty_sd=0.0, family_rho=0.0
            )
            ours = wald = 0
            for seed in range(N_DATA_SETS):
                votes = simulate(replace(spec, seed=seed))
                if votes.minority_share == 0.0:
                    continue
                legibility = legible(prepare(votes, Settings(orientation="as_given")).ballots)
                ours += bool(legibility.below.any())
                wald += bool(legibility.wald_below.any())
            rows.append(
                (str(n), f"{accuracy:g}", _rate(ours, N_DATA_SETS), _rate(wald, N_DATA_SETS))
            )
    note = "24 judges, all of one accuracy: how often any of them is called below chance."
    return Table(
        "P1: below chance", ("labels", "accuracy", "ours", "paper's Wald rule"), rows, note
    )


def run() -> Report:
    clean, sound = clean_table()
    say(clean.note)
    hard = hard_table()
    missing, worst = missing_table()
    verdicts = [
        f"Clean panels that pass all four checks: {sound} of {N_PANELS} (wanted: 95 or more).",
        f"False alarms of P3 about missing votes: {worst:.1%} at most, for a level of {ALPHA:.1%}.",
        f"The equivalence test is made at {TOST_ALPHA:.0%}, with {SPLITS} splits.",
    ]
    return Report(
        "Scope checks",
        "Do the checks leave sound panels alone, and do they see what is wrong?",
        (clean, hard, missing, chance_table()),
        verdicts,
    )
