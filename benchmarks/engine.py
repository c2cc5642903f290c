"""Every k of 100 splits, three calibrators, all metrics, against the loop a user would write."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.once import Cost, Job, measure
from benchmarks.peers import Lap, agreement, pairs, plain_loop
from benchmarks.real import real_votes
from benchmarks.report import Report, Table, cores, say
from judgepanel.kernels.ballots import Ballots
from judgepanel.studies.contract import Settings, prepare

SPLITS = 100
ROUNDS = 5
SAMPLE = 80
TARGET_RATIO = 15.0
TARGET_MIB = 1024.0
PEERS = ("betacal", "L-BFGS-B")
SAME_WORK = Job(real="rewardbench", splits=SPLITS, jobs=2, whole=False)
OURS = replace(SAME_WORK, whole=True)


def run() -> Report:
    ballots = prepare(real_votes("rewardbench"), Settings()).ballots
    compared, lines = _against_peers(ballots)
    return Report(
        "Engine: the panel curve against the plain route",
        f"Ours: every k = 1..{ballots.n_judges} of {SPLITS} splits of {ballots.n_items} items x "
        f"{ballots.n_judges} judges (rewardbench), calibrators none, temperature and beta, NLL, "
        "Brier, accuracy and ECE of each with intervals and comparisons, the best k chosen by "
        "folds inside the calibration rows, own labels removed from the scores that calibrate; 2 "
        "workers. The plain route: a loop over splits and k, beta "
        "alone, same metrics, no intervals, own labels left in.",
        [compared, _workers()],
        lines,
    )


def _against_peers(ballots: Ballots) -> tuple[Table, list[str]]:
    rounds, same = [], []
    for number in range(ROUNDS):
        sample = pairs(SAMPLE, SPLITS, ballots.n_judges, seed=number)
        before = _laps(ballots, sample)
        same.append(measure(SAME_WORK))
        ours = measure(OURS)
        after = _laps(ballots, sample)
        rounds.append((ours, [_mean(a, b) for a, b in zip(before, after, strict=True)]))
        say(f"round {number + 1} of {ROUNDS}: ours {ours.seconds:.1f} s")
    fits = SPLITS * ballots.n_judges
    rows = [
        _round_row(i, entry, ours, laps, fits)
        for i, (entry, (ours, laps)) in enumerate(zip(same, rounds, strict=True), start=1)
    ]
    costs = [ours for ours, _ in rounds]
    peak = max(cost.peak for cost in costs)
    result = agreement(ballots, pairs(SAMPLE, SPLITS, ballots.n_judges, seed=ROUNDS))
    lines = [
        f"{what}, against the {name} loop: "
        + _compared(name, measured, [laps[i] for _, laps in rounds], fits, target=target)
        for what, measured, target in (
            ("The same work (all k, raw + temperature + beta, all metrics)", same, True),
            ("The whole study (with the choice of k, intervals and tests)", costs, False),
        )
        for i, name in enumerate(PEERS)
    ]
    lines += [
        f"Peak memory of the whole process: {peak:.0f} MiB (target below {TARGET_MIB:.0f} MiB: "
        f"{_met(peak < TARGET_MIB)}).",
        f"Objective on {SAMPLE} sampled fits: L-BFGS-B ends at most {result.peer_above:.0e} above "
        f"ours, ours at most {max(result.ours_above, 0.0):.0e} above L-BFGS-B.",
    ]
    note = (
        f"The peers are extrapolated to all {fits:,} (split, k) from {2 * SAMPLE} sampled ones a "
        "round, half before and half after our run, BLAS held to one thread. 'Loop' scores, fits, "
        "predicts and computes the metrics; 'fits' counts the fits alone. Times in seconds. Other "
        "work on the machine slows some rounds. Ratios in the table are for the same work."
    )
    headings = (
        *(
            "round",
            "same work",
            "whole study",
            "its CPU",
            "MiB",
            "betacal loop",
            "its CPU",
            "its fits",
            "ratio",
        ),
        *("L-BFGS-B loop", "its CPU", "its fits", "ratio"),
    )
    return Table("Paired rounds", headings, rows, note), lines


def _laps(ballots: Ballots, sample: list[tuple[int, int]]) -> list[Lap]:
    return [plain_loop(ballots, sample, peer) for peer in PEERS]


def _mean(lap: Lap, other: Lap) -> Lap:
    return Lap((lap.fit + other.fit) / 2, (lap.whole + other.whole) / 2, (lap.cpu + other.cpu) / 2)


def _met(good: bool) -> str:
    return "met" if good else "MISSED"


def _compared(name: str, ours: list[Cost], peer: list[Lap], fits: int, *, target: bool) -> str:
    """Compare best times, since a round in which only the peer was disturbed would flatter us."""
    fastest = min(cost.seconds for cost in ours)
    ratio = fits * min(lap.whole for lap in peer) / fastest
    alone = fits * min(lap.fit for lap in peer) / fastest
    rounds = [fits * lap.whole / cost.seconds for cost, lap in zip(ours, peer, strict=True)]
    cpu = fits * min(lap.cpu for lap in peer) / min(cost.cpu for cost in ours)
    wanted = f" (target {TARGET_RATIO:.0f}: {_met(ratio >= TARGET_RATIO)})"
    wanted *= target and name == "betacal"
    return (
        f"{fastest:.2f} s, {ratio:.1f} times faster, best time against best time{wanted}; "
        f"median paired round {np.median(rounds):.1f}; against its fits alone {alone:.1f}; CPU "
        f"time against CPU time {cpu:.1f}."
    )


def _round_row(number: int, same: Cost, ours: Cost, laps: list[Lap], fits: int) -> tuple[str, ...]:
    row = [
        str(number),
        f"{same.seconds:.2f}",
        f"{ours.seconds:.2f}",
        f"{ours.cpu:.2f}",
        f"{ours.peak:.0f}",
    ]
    for lap in laps:
        row += [f"{fits * value:.1f}" for value in (lap.whole, lap.cpu, lap.fit)]
        row.append(f"{fits * lap.whole / same.seconds:.1f}")
    return tuple(row)


def _workers() -> Table:
    kinds = [("1 worker", replace(OURS, jobs=1))]
    kinds += [(f"2 workers, {b}", replace(OURS, backend=b)) for b in ("threading", "loky")]
    rows = []
    for name, job in kinds:
        cost = min((measure(job) for _ in range(3)), key=lambda c: c.seconds)
        say(f"{name}: {cost.seconds:.1f} s")
        rows.append((name, f"{cost.seconds:.2f}", f"{cost.peak:.0f}"))
    note = (
        f"rewardbench, {SPLITS} splits, best of 3, on {cores()} cores. MiB is the main process "
        "alone. loky starts its processes within the time and sends every partial result back."
    )
    return Table("Workers", ("workers", "seconds", "MiB"), rows, note)
