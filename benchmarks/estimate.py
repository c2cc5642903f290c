"""Rates from votes and few labels: coverage, and how many times as many labels they are worth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.estimate_speed import speed_table
from benchmarks.estimate_worlds import (
    equal_table,
    inside,
    matches_table,
    rates_table,
    systems_table,
    win_rates_of,
)
from benchmarks.real import real_votes
from benchmarks.report import Report, Table, cores, say
from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.kernels.cross_proxies import best_judge, cross_proxies
from judgepanel.scoring.prediction_powered import (
    Matches,
    Rates,
    Sample,
    differences,
    estimate_rates,
    estimate_win_rates,
)

LABELS = (30, 50, 100, 200)
TARGETS = {"llmbar": 2.5, "rewardbench": 4.5, "sentpop": 5.0, "mozafari": 1.15}
"""What 100 labels and the panel are to be worth, in times as many labels."""
SPLIT_BY = {"llmbar": "subset", "rewardbench": "category"}
"""Features that cut the items into two halves; files without any are cut in the middle."""
METHODS = ("labels alone", "panel", "majority", "best judge")
_CHUNK = 50
N_MET = 4
"""Systems that are taken to have met in the items of a file."""
BUDGET, PILOT = 100, 40
"""Labels of a sampling design, and how many of them are drawn at random before the others."""
DESIGNS = ("at random", "Neyman strata", "two stages")


@dataclass(frozen=True, slots=True)
class Matrix:
    name: str
    votes: Votes
    truth: Floats
    halves: Ints
    first: Ints
    second: Ints

    @classmethod
    def real(cls, name: str) -> Matrix:
        given = real_votes(name)
        signs = np.where(given.votes < 0, 0, 2 * given.votes - 1).astype(np.int8)
        halves = np.arange(len(signs)) >= len(signs) / 2.0
        if name in SPLIT_BY and given.features is not None:
            levels, code = np.unique(
                given.features[SPLIT_BY[name]].astype(str), return_inverse=True
            )
            # The first levels that hold about half of the items.
            counts = np.cumsum(np.bincount(code, minlength=len(levels)))
            halves = code > np.argmin(np.abs(counts - len(code) / 2.0))
        # Two of a few systems for every item, drawn once: the first wins where the label is 1.
        rng = np.random.default_rng(5)
        first = rng.integers(0, N_MET, len(signs))
        second = (first + rng.integers(1, N_MET, len(signs))) % N_MET
        return cls(name, signs, given.labels.astype(float), halves.astype(np.int64), first, second)

    def matches(self, labels: Floats) -> Matches:
        """The items as matches of systems, with these labels."""
        return Matches(labels, self.first, self.second, N_MET, np.arange(len(labels)))

    @property
    def win_rates(self) -> Floats:
        """Win rates (N_MET,) with all labels."""
        return win_rates_of(self.truth, self.matches(self.truth))


def run(replays: int = 1000, worlds: int = 500) -> Report:
    started = time.monotonic()
    speed, fast = speed_table()
    worth, coverage, ranked, verdicts = replay_tables(replays)
    designs = designs_table(replays)
    equal, claims = equal_table(worlds)
    simulated = [table(replays) for table in (rates_table, systems_table, matches_table)]
    minutes = (time.monotonic() - started) / 60
    return Report(
        "Rates from few labels",
        f"Labelled files, of which all but some labels, drawn at random, are hidden; {replays:,} "
        "replays a cell. The estimand is the mean label of the file.",
        [worth, coverage, ranked, *(table for table, _ in simulated), equal, designs, speed],
        (
            *verdicts,
            *(verdict for _, verdict in simulated),
            *(claims, *fast),
            f"Ran for {minutes:.0f} minutes.",
        ),
    )


def parallel(work: Callable[[int], Floats], n: int) -> Floats:
    """Rows ``work(number)`` for n numbers, over all cores."""

    def piece(first: int) -> list[Floats]:
        with threadpool_limits(1):
            return [work(number) for number in range(first, min(n, first + _CHUNK))]

    with Parallel(n_jobs=cores()) as pool:
        pieces = pool(delayed(piece)(first) for first in range(0, n, _CHUNK))
    return np.array([row for rows in pieces for row in rows])


def replay(matrix: Matrix, n_labels: int, number: int) -> Floats:
    """Estimates and ends (4, 3) of every method, then those of the difference between halves.

    Then come the win rates of systems by Bradley-Terry, from labels alone and with the panel.
    """
    rng = np.random.default_rng([number, n_labels])
    n = len(matrix.truth)
    labels = np.full(n, np.nan)
    shown = rng.choice(n, n_labels, replace=False)
    labels[shown] = matrix.truth[shown]
    alone = np.arange(n)
    panel = cross_proxies(matrix.votes, labels, alone, seed=number)
    cast = np.maximum((matrix.votes != 0).sum(axis=1), 1)
    majority = (np.sign(matrix.votes.sum(axis=1) / cast) + 1.0) / 2.0
    best = best_judge(matrix.votes, labels, alone, seed=number)
    sample, halves = Sample.of(labels), Sample.of(labels, matrix.halves)
    every = [estimate_rates(panel, sample, tuned=False)]
    every += [estimate_rates(proxy, sample) for proxy in (panel, majority, best)]
    gaps = [gap_of(estimate_rates(panel, halves, tuned=tuned)) for tuned in (False, True)]
    rows = [[float(end[0]) for end in rates.rate] for rates in every]
    matches = matrix.matches(labels)
    ranked = [estimate_win_rates(panel, matches, tuned=tuned).rate for tuned in (False, True)]
    return np.array([*rows, *gaps, *(row for rate in ranked for row in zip(*rate, strict=True))])


def gap_of(rates: Rates) -> list[float]:
    gap, _ = differences(rates, np.array([[1, 0]]))
    return [float(end[0]) for end in gap]


def replay_tables(replays: int) -> tuple[Table, Table, Table, list[str]]:
    """What methods are worth, how often intervals hold, and what that says of the targets."""
    worth, coverage, ranked, missed, covered, wider = [], [], [], [], [], []
    won: list[float] = []
    behind = np.inf
    for name, target in TARGETS.items():
        matrix = Matrix.real(name)
        gap = np.diff([matrix.truth[matrix.halves == half].mean() for half in (0, 1)])[0]
        for n_labels in LABELS:
            if n_labels >= len(matrix.truth):
                continue
            rows = parallel(partial(replay, matrix, n_labels), replays)
            rates = matrix.win_rates
            truth = np.array([*[matrix.truth.mean()] * 4, gap, gap, *rates, *rates])
            error = np.nanmean((rows[..., 0] - truth) ** 2, axis=0)
            times = error[0] / error[1:4]
            holds = np.mean((rows[..., 1] <= truth) & (truth <= rows[..., 2]), axis=0)
            width = np.nanmean(rows[..., 2] - rows[..., 1], axis=0)
            alone, ours = holds[6 : 6 + N_MET], holds[6 + N_MET :]
            won += ours.tolist()
            spans = [width[6 : 6 + N_MET].mean(), width[6 + N_MET :].mean()]
            ranked.append(
                (
                    *(name, str(n_labels), f"{alone.mean():.1%}"),
                    *(f"{ours.mean():.1%}", f"{ours.min():.1%}", f"{spans[1] / spans[0]:.2f}"),
                )
            )
            behind = min(behind, times[0] / times[1:].max())
            covered += [holds[1], holds[5]]
            wider.append(width[1] / width[0])
            if n_labels == 100 and times[0] < target:
                missed.append(f"{name} {times[0]:.2f} of {target:g}")
            cell = (name, str(n_labels))
            worth.append((*cell, *(f"{x:.2f}" for x in times), f"{error[4] / error[5]:.2f}"))
            coverage.append(
                (*cell, *(f"{holds[i]:.1%}" for i in (0, 1, 4, 5)), f"{width[1] / width[0]:.2f}")
            )
            say(f"{name}, {n_labels} labels: worth {times[0]:.2f}, coverage {holds[1]:.1%}")
    verdicts = [
        "With 100 labels the panel is worth as much as it was to be: "
        f"{'met' if not missed else 'MISSED: ' + ', '.join(missed)}.",
        f"Against the better rival of a cell, the panel is worth {behind:.2f} times as much in the "
        "cell where it is worth least (wanted: .95 or more).",
        f"Coverage of the panel's intervals: {inside(np.array(covered))}.",
        f"Its intervals are {max(wider):.2f} times as wide as those of labels alone at most "
        "(wanted: 1.03 or less).",
        f"Coverage of win rates by Bradley-Terry with the panel: {inside(np.array(won))}.",
    ]
    return (
        Table(
            "Worth: how many times as many labels",
            ("file", "labels", *METHODS[1:], "panel, difference of halves"),
            worth,
            "Mean squared error of labels alone divided by that of the method. Majority and best "
            "judge are corrected by the same estimator; the best judge is the one who is right "
            "most often on the labels of other folds.",
        ),
        Table(
            "Coverage of 95 % intervals",
            (
                *("file", "labels", "labels alone", "panel", "difference: labels alone"),
                *("difference: panel", "width, panel over labels alone"),
            ),
            coverage,
            "Monte Carlo error of a coverage of 95 %: "
            f"{100 * np.sqrt(0.95 * 0.05 / replays):.1f} points.",
        ),
        Table(
            f"Coverage of win rates of {N_MET} systems by Bradley-Terry",
            (
                *("file", "labels", "labels alone", "panel", "panel, lowest of the systems"),
                "width, panel over labels alone",
            ),
            ranked,
            "The two systems of an item are drawn at random, once for each file. Win rates with "
            "all labels are the truth.",
        ),
        verdicts,
    )


def drawn(matrix: Matrix, number: int) -> Floats:
    """Estimates and ends (3, 3) with labels drawn by each of the designs.

    All begin with the same items, drawn at random; those of the second stage are chosen by what
    the labels of the first say of the others, and labels are weighted by how likely they were.
    """
    rng = np.random.default_rng([number, 1])
    n = len(matrix.truth)
    order = rng.permutation(n)
    pilot, free = order[:PILOT], order[PILOT:]

    def proxy_of(shown: Ints) -> tuple[Floats, Floats]:
        labels = np.full(n, np.nan)
        labels[shown] = matrix.truth[shown]
        return labels, cross_proxies(matrix.votes, labels, np.arange(n), seed=number)

    def estimate(shown: Ints, weights: Floats | None = None) -> list[float]:
        labels, proxy = proxy_of(shown)
        rate = estimate_rates(proxy, Sample.of(labels, weights=weights)).rate
        return [float(end[0]) for end in rate]

    chance = np.clip(proxy_of(pilot)[1], 0.02, 0.98)
    spread = np.sqrt(chance * (1.0 - chance))
    strata = np.searchsorted(np.quantile(chance, (0.25, 0.5, 0.75)), chance, side="right")
    sizes = np.bincount(strata, minlength=4)
    wanted = BUDGET * np.bincount(strata, spread, 4) / spread.sum()
    wanted = np.maximum(wanted - np.bincount(strata[pilot], minlength=4), 0.0)
    wanted *= (BUDGET - PILOT) / wanted.sum()
    counts = np.floor(wanted).astype(int)
    counts[np.argsort(counts - wanted)[: BUDGET - PILOT - counts.sum()]] += 1
    more = [free[strata[free] == h][: counts[h]] for h in range(4)]
    neyman = np.concatenate([pilot, *more])
    each = sizes / np.maximum(np.bincount(strata[neyman], minlength=4), 1)
    chosen = (BUDGET - PILOT) * spread / spread[free].sum()
    ends = np.cumsum(np.minimum(chosen[free], 1.0))
    staged = np.concatenate([pilot, free[np.searchsorted(ends, np.arange(rng.random(), ends[-1]))]])
    likely = PILOT / n + (1.0 - PILOT / n) * np.minimum(chosen, 1.0)
    return np.array(
        [
            estimate(order[:BUDGET]),
            estimate(neyman, each[strata]),
            estimate(staged, 1.0 / likely),
        ]
    )


def designs_table(replays: int) -> Table:
    """How wrong estimates are whose labels are drawn by a design, against those drawn at random."""
    rows = []
    for name in TARGETS:
        matrix = Matrix.real(name)
        ends = parallel(partial(drawn, matrix), replays)
        truth = matrix.truth.mean()
        error = (ends[..., 0] - truth) ** 2
        means = error.mean(axis=0)
        ratios = means / means[0]
        off = (error - ratios * error[:, :1]).std(axis=0) / means[0] / np.sqrt(replays)
        held = ((ends[..., 1] <= truth) & (truth <= ends[..., 2])).mean(axis=0)
        errors = (f"{ratios[k]:.2f} ± {off[k]:.2f}" for k in (1, 2))
        rows.append((name, *errors, *(f"{share:.1%}" for share in held)))
        say(f"designs on {name}: {ratios.round(2).tolist()}")
    return Table(
        "Sampling designs: mean squared error over that of random sampling",
        ("file", *DESIGNS[1:], *(f"coverage, {design}" for design in DESIGNS)),
        rows,
        f"{BUDGET} labels, of which {PILOT} are drawn at random first; {replays:,} replays, ± one "
        "standard error. Neyman strata: quarters of the predicted probability, allocation by its "
        "standard deviation. Two stages: inclusion in proportion to it.",
    )
