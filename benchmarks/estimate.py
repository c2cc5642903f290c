"""Rates from votes and few labels: coverage, and how many times as many labels they are worth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.real import real_votes
from benchmarks.report import Report, Table, cores, say
from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.distributions import t_ppf
from judgepanel.kernels.cross_proxies import best_judge, cross_proxies
from judgepanel.scoring.bradley_terry import (
    Matches,
    estimate_win_rates,
    strengths_of,
    win_rates,
)
from judgepanel.scoring.prediction_powered import (
    Rates,
    Sample,
    all_pairs,
    differences,
    estimate_rates,
)

LABELS = (30, 50, 100, 200)
TARGETS = {"llmbar": 2.5, "rewardbench": 4.5, "sentpop": 5.0, "mozafari": 1.15}
"""What 100 labels and the panel are to be worth, in times as many labels."""
SPLIT_BY = {"llmbar": "subset", "rewardbench": "category"}
"""Features that cut the items into two halves; files without any are cut in the middle."""
METHODS = ("labels alone", "panel", "majority", "best judge")
LOWEST, HIGHEST = 0.93, 0.97
_CHUNK = 50
N_MET = 4
"""Systems that are taken to have met in the items of a file."""


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
        matches = self.matches(self.truth)
        every = matches.every
        return win_rates(strengths_of(every * self.truth, matches, every, 1e12))


def run(replays: int = 1000, worlds: int = 500) -> Report:
    started = time.monotonic()
    worth, coverage, ranked, verdicts = replay_tables(replays)
    equal, more = equal_table(worlds)
    simulated, lowest = simulated_table(replays)
    minutes = (time.monotonic() - started) / 60
    return Report(
        "Rates from few labels",
        f"Labelled files, of which all but some labels, drawn at random, are hidden; {replays:,} "
        "replays a cell. The estimand is the mean label of the file.",
        [worth, coverage, ranked, equal, simulated],
        (*verdicts, more, lowest, f"Ran for {minutes:.0f} minutes."),
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
    inside = sum(LOWEST <= share <= HIGHEST for share in covered)
    verdicts = [
        "With 100 labels the panel is worth as much as it was to be: "
        f"{'met' if not missed else 'MISSED: ' + ', '.join(missed)}.",
        f"Against the better rival of a cell, the panel is worth {behind:.2f} times as much in the "
        "cell where it is worth least (wanted: .95 or more).",
        f"Coverage of the panel's intervals: {min(covered):.1%} to {max(covered):.1%}, {inside} of "
        f"{len(covered)} cells between {LOWEST:.0%} and {HIGHEST:.0%}.",
        f"Its intervals are {max(wider):.2f} times as wide as those of labels alone at most "
        "(wanted: 1.03 or less).",
        f"Coverage of win rates by Bradley-Terry with the panel: {min(won):.1%} to {max(won):.1%}, "
        f"{sum(LOWEST <= share <= HIGHEST for share in won)} of {len(won)} between {LOWEST:.0%} "
        f"and {HIGHEST:.0%}.",
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


N_SYSTEMS, N_PROMPTS, N_JUDGES, N_SHOWN = 10, 150, 12, 300


def equal_world(number: int) -> Floats:
    """False claims among ten equal systems: for items like these, for the file, judges alone.

    Judges favour some systems, so that votes alone rank systems that are equal.
    """
    rng = np.random.default_rng([number, 11])
    n = N_SYSTEMS * N_PROMPTS
    system, prompt = (
        np.repeat(np.arange(N_SYSTEMS), N_PROMPTS),
        np.tile(np.arange(N_PROMPTS), N_SYSTEMS),
    )
    hard = rng.normal(0.0, 0.8, N_PROMPTS)[prompt]
    truth = (rng.random(n) < 1.0 / (1.0 + np.exp(-0.8 - hard))).astype(float)
    seen = np.where(truth > 0, 1.0, -1.0) + rng.normal(0.0, 0.7, n)
    favour = rng.normal(0.0, 0.4, (N_SYSTEMS, 1)) + rng.normal(0.0, 0.3, (N_SYSTEMS, N_JUDGES))
    latent = seen[:, None] + favour[system] + rng.normal(0.0, 1.0, (n, N_JUDGES))
    votes = np.where(latent > 0.0, 1, -1).astype(np.int8)
    labels = np.full(n, np.nan)
    shown = rng.choice(n, N_SHOWN, replace=False)
    labels[shown] = truth[shown]
    proxy = cross_proxies(votes, labels, prompt, seed=number)
    claims = []
    rates = np.array([truth[system == s].mean() for s in range(N_SYSTEMS)])
    sample = Sample.of(labels, system, prompt)
    for target in ("population", "file"):
        pairs, gap, p = all_pairs(estimate_rates(proxy, sample, target=target))
        apart = np.zeros(len(pairs)) if target == "population" else -np.diff(rates[pairs])[:, 0]
        wrong = (gap.value > 0) & (apart <= 0) | (gap.value < 0) & (apart >= 0)
        claims.append(bool((wrong & (p < 0.05)).any()))
    share = np.array([(votes[system == s].sum(axis=1) > 0).mean() for s in range(N_SYSTEMS)])
    spread = np.sqrt(share * (1.0 - share) * 2.0 / N_PROMPTS)
    # The widest pair at the level of all 45.
    return np.array([*claims, np.ptp(share) > 3.26 * spread.max()], dtype=float)


def equal_table(worlds: int) -> tuple[Table, str]:
    """How often a system of ten equal ones is called better."""
    false = parallel(equal_world, worlds).mean(axis=0)
    say(f"equal systems: {false[0]:.1%} false claims")
    rows = [
        ("items like these", f"{false[0]:.1%}"),
        ("the file's own items, in the wrong direction", f"{false[1]:.1%}"),
        ("majority of the judges alone, without correction", f"{false[2]:.1%}"),
    ]
    return (
        Table(
            "False claims that one of ten equal systems is better",
            ("about", "simulations with a false claim"),
            rows,
            f"{worlds} simulations of {N_SYSTEMS} systems x {N_PROMPTS} shared prompts, {N_JUDGES} "
            f"judges who favour some systems, {N_SHOWN} labels; Holm over all pairs at 5 %.",
        ),
        f"False claims with equal systems: {false[0]:.1%} (wanted: 5 % or less).",
    )


N_ITEMS = 1000
RATES, FEW = (0.5, 0.9, 0.97), (10, 20, 30, 50, 100)
EXPLAINED = {"nothing": 0.0, "half": 0.5, "five sixths": 5.0 / 6.0}
"""Shares of the labels' variance that proxies explain."""
SURE = {"calibrated": 1.0, "too sure": 2.0, "too unsure": 0.5}
"""Factors of the proxies' logits."""


def simulated_cell(explained: float, factor: float, rate: float, n_labels: int, n: int) -> Floats:
    """How often (2,) our interval and Student's t on the same estimate hold the file's rate."""
    rng = np.random.default_rng([int(6 * explained), int(2 * factor), int(100 * rate), n_labels])
    spread = 1.0 / (explained or 0.5) - 1.0
    held = np.zeros(2)
    for _ in range(n):
        chance = rng.beta(rate * spread, (1.0 - rate) * spread, N_ITEMS).clip(1e-9, 1.0 - 1e-9)
        truth = (rng.random(N_ITEMS) < (chance if explained else rate)).astype(float)
        proxy = 1.0 / (1.0 + (1.0 / chance - 1.0) ** factor)
        labels = np.where(rng.permutation(N_ITEMS) < n_labels, truth, np.nan)
        ours = estimate_rates(proxy, Sample.of(labels))
        value, lo, hi = (float(end[0]) for end in ours.rate)
        residual = (labels - float(ours.tuning[0]) * proxy)[np.isfinite(labels)]
        error = residual.std(ddof=1) * np.sqrt((1.0 - n_labels / N_ITEMS) / n_labels)
        reach = float(t_ppf(0.975, n_labels - 1.0)) * error
        held += [lo <= truth.mean() <= hi, abs(value - truth.mean()) <= reach]
    return held / n


def simulated_table(n: int) -> tuple[Table, str]:
    """How often intervals of the file hold in simulations: ours, and Student's t."""
    cells = [(r, k, e, s) for e in EXPLAINED for s in SURE for r in RATES for k in FEW]

    def work(cell: tuple[float, int, str, str]) -> Floats:
        rate, n_labels, explained, sure = cell
        return simulated_cell(EXPLAINED[explained], SURE[sure], rate, n_labels, n)

    with Parallel(n_jobs=cores()) as pool:
        held = np.array(pool(delayed(work)(cell) for cell in cells))
    rows = []
    for explained in EXPLAINED:
        for sure in SURE:
            mine = [i for i, cell in enumerate(cells) if cell[2:] == (explained, sure)]
            ends = (f"{end(held[mine, k]):.1%}" for k in (0, 1) for end in (np.min, np.max))
            rows.append((explained, sure, *ends))
    say(f"simulated: coverage {held[:, 0].min():.1%} to {held[:, 0].max():.1%}")
    inside = sum(LOWEST <= share <= HIGHEST for share in held[:, 0])
    return (
        Table(
            "Coverage in simulations",
            (
                *("proxies explain", "and are", "panel, lowest", "panel, highest"),
                *("Student's t, lowest", "Student's t, highest"),
            ),
            rows,
            f"{n:,} files of {N_ITEMS:,} items a cell; each row is over rates of "
            f"{', '.join(map(str, RATES))} and {', '.join(map(str, FEW))} labels.",
        ),
        f"Coverage in simulations: {held[:, 0].min():.1%} to {held[:, 0].max():.1%}, {inside} of "
        f"{len(cells)} cells between {LOWEST:.0%} and {HIGHEST:.0%}; Student's t "
        f"{held[:, 1].min():.1%} to {held[:, 1].max():.1%}.",
    )
