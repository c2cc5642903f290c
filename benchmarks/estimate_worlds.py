"""Simulated files for rates from few labels: how often intervals hold, and false claims."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, logit

from benchmarks.report import Table, cores, say
from judgepanel.arrays import Floats
from judgepanel.distributions import t_ppf
from judgepanel.kernels.cross_proxies import cross_proxies
from judgepanel.scoring import prediction_powered
from judgepanel.scoring.prediction_powered import (
    Matches,
    Sample,
    all_pairs,
    differences,
    estimate_rates,
    estimate_win_rates,
    strengths_of,
    win_rates,
)

LOWEST, HIGHEST = 0.93, 0.97
RATES, FEW = (0.5, 0.9, 0.97), (10, 20, 30, 50, 100)
N_ITEMS = 1000
EXPLAINED = {"nothing": 0.0, "half": 0.5, "five sixths": 5.0 / 6.0}
"""Shares of the labels' variance that proxies explain."""
SURE = {"calibrated": 1.0, "too sure": 2.0, "too unsure": 0.5}
"""Factors of the proxies' logits."""
LEVELS = {"middle": (0.45, 0.7), "high": (0.75, 0.95)}
"""Lowest and highest rate of five systems."""
WRONG = (0.02, 0.06, 0.15)
"""Shares of negative items that proxies call positive, where they make no other error."""
SEVERAL = 2.0
"""With fewer errors on the labels an estimate takes so few values that coverage is above 95 %."""
MET = np.array([-0.8, -0.2, 0.2, 0.8])
"""Strengths of systems that meet in pairs, in logits."""
N_SYSTEMS, N_PROMPTS, N_JUDGES, N_SHOWN = 10, 150, 12, 300

Drawn = tuple[Floats, Floats]
"""Labels (n,) of all items, and their proxies."""


def graded(chances: Floats, explained: float, factor: float, rng: np.random.Generator) -> Drawn:
    """Labels of these mean chances (n,), and proxies that explain a share of their variance."""
    spread = 1.0 / (explained or 0.5) - 1.0
    own = rng.beta(chances * spread, (1.0 - chances) * spread).clip(1e-9, 1.0 - 1e-9)
    truth = (rng.random(len(own)) < (own if explained else chances)).astype(float)
    return truth, 1.0 / (1.0 + (1.0 / own - 1.0) ** factor)


def mistaken(chances: Floats, wrong: float, rng: np.random.Generator) -> Drawn:
    """Labels of these chances (n,), and proxies that are wrong for a share of the negatives."""
    truth = (rng.random(len(chances)) < chances).astype(float)
    return truth, np.where((truth == 0.0) & (rng.random(len(truth)) < wrong), 1.0, truth)


def few_of(truth: Floats, n_labels: int, rng: np.random.Generator) -> Floats:
    """All but some labels hidden, as NaN."""
    return np.where(rng.permutation(len(truth)) < n_labels, truth, np.nan)


def holds(interval: tuple[Floats, Floats, Floats], truth: Floats) -> Floats:
    """Which intervals hold the truth, as 0 and 1; NaN without an interval."""
    _, lo, hi = interval
    return np.where(np.isnan(lo), np.nan, (lo <= truth) & (truth <= hi))


def inside(shares: Floats) -> str:
    """From the lowest to the highest coverage, and how many are near 95 %."""
    near = np.count_nonzero((shares >= LOWEST) & (shares <= HIGHEST))
    return (
        f"{shares.min():.1%} to {shares.max():.1%}, {near} of {shares.size} between {LOWEST:.0%} "
        f"and {HIGHEST:.0%}"
    )


def ends(shares: Floats) -> tuple[str, str]:
    return f"{shares.min():.1%}", f"{shares.max():.1%}"


def covered(held: Callable[..., Floats], cells: list[tuple[object, ...]], n: int) -> Floats:
    """Mean of ``held(*cell, generator)`` over n files of every cell."""

    def mean(place: int) -> Floats:
        rng = np.random.default_rng([51, place])
        return np.asarray(np.nanmean([held(*cells[place], rng) for _ in range(n)], axis=0))

    with Parallel(n_jobs=cores()) as pool:
        return np.array(pool(delayed(mean)(place) for place in range(len(cells))))


def of_one_rate(
    explained: str, sure: str, rate: float, n_labels: int, rng: np.random.Generator
) -> Floats:
    """Whether intervals of the file's rate hold: ours, and Student's t on two scales.

    Then the widths of the first and the last, and the errors of proxies on labels, squares in sum.
    """
    chances = np.full(N_ITEMS, rate)
    truth, proxy = graded(chances, EXPLAINED[explained], SURE[sure], rng)
    labels = few_of(truth, n_labels, rng)
    ours = estimate_rates(proxy, Sample.of(labels))
    value, mean = ours.rate.value, truth.mean()
    residual = (labels - float(ours.tuning[0]) * proxy)[np.isfinite(labels)]
    quantile = float(t_ppf(0.975, n_labels - 1.0))
    reach = quantile * residual.std(ddof=1) * np.sqrt((1.0 - n_labels / N_ITEMS) / n_labels)
    # t of logits with our variance, and half a label of each kind: the logit of 1 is infinite.
    rate = (n_labels * value + 0.5) / (n_labels + 1.0)
    wide = quantile * np.sqrt(ours.kappa / (rate * (1.0 - rate)))
    logits = (rate, expit(logit(rate) - wide), expit(logit(rate) + wide))
    intervals = [ours.rate, (value, value - reach, value + reach), logits]
    widths = [hi - lo for _, lo, hi in (ours.rate, logits)]
    errors = [(n_labels - 1) * residual.var(ddof=1)]
    return np.concatenate([*(holds(interval, mean) for interval in intervals), *widths, errors])


def rates_table(n: int) -> tuple[Table, str]:
    """Coverage of one rate: ours, and Student's t."""
    cells = list(product(EXPLAINED, SURE, RATES, FEW))
    held = covered(of_one_rate, cells, n).reshape(len(EXPLAINED) * len(SURE), len(RATES), -1, 6)
    rows = [
        (*names, *(end for k in range(3) for end in ends(mine[..., k])))
        for names, mine in zip(product(EXPLAINED, SURE), held, strict=True)
    ]
    wider = (held[..., 4].mean(axis=(0, 2)) / held[..., 3].mean(axis=(0, 2))).round(2)
    several = held[..., 5] >= SEVERAL
    say(f"simulated: coverage {inside(held[..., 0])}")
    return (
        Table(
            "Coverage in simulations: rates",
            (
                *("proxies explain", "and are", "panel, lowest", "panel, highest"),
                *("Student's t, lowest", "Student's t, highest"),
                *("t of logits, lowest", "t of logits, highest"),
            ),
            rows,
            f"{n:,} files of {N_ITEMS:,} items a cell; each row is over rates of "
            f"{', '.join(map(str, RATES))} and {', '.join(map(str, FEW))} labels. t of logits has "
            "the variance of ours.",
        ),
        f"Coverage in simulations, rates: {inside(held[..., 0])}; where proxies make {SEVERAL:g} "
        f"errors or more on the labels, {inside(held[..., 0][several])}; Student's t "
        f"{' to '.join(ends(held[..., 1]))}; t of logits {' to '.join(ends(held[..., 2]))}, "
        f"{', '.join(map(str, wider))} times as wide as ours at rates of "
        f"{', '.join(map(str, RATES))}.",
    )


def of_systems(kind: str, level: str, n_labels: int, rng: np.random.Generator) -> Floats:
    """Whether intervals of five systems hold: rates, differences, rates without the added error."""
    groups = np.repeat(np.arange(5), 400)
    chances = np.linspace(*LEVELS[level], 5)[groups]
    if kind in EXPLAINED:
        truth, proxy = graded(chances, EXPLAINED[kind], 1.0, rng)
    else:
        truth, proxy = mistaken(chances, float(kind), rng)
    sample = Sample.of(few_of(truth, n_labels, rng), groups)
    means = np.bincount(groups, truth) / 400.0
    pairs = np.stack(np.triu_indices(5, 1), axis=1)
    ours = estimate_rates(proxy, sample)
    with patch.object(prediction_powered, "PRIOR_ERRORS", 0.0):
        bare = estimate_rates(proxy, sample).rate
    gaps = holds(differences(ours, pairs)[0], means[pairs[:, 0]] - means[pairs[:, 1]])
    return np.concatenate([holds(ours.rate, means), gaps, holds(bare, means)])


def systems_table(n: int) -> tuple[Table, str]:
    """Coverage of systems and of their differences."""
    kinds = {name: f"explain {name}" for name in EXPLAINED}
    kinds |= {str(share): f"err for {share:.0%} of the negatives" for share in WRONG}
    cells = list(product(kinds, LEVELS, (50, 150, 500)))
    held = covered(of_systems, cells, n)
    rates, gaps, bare = held[:, :5], held[:, 5:15], held[:, 15:]
    rows = [
        (
            *(kinds[kind], "{:.0%} to {:.0%}".format(*LEVELS[level]), str(n_labels)),
            *(*ends(rates[i]), *ends(gaps[i]), f"{bare[i].min():.1%}"),
        )
        for i, (kind, level, n_labels) in enumerate(cells)
    ]
    say(f"systems: {inside(rates)}; differences: {inside(gaps)}")
    return (
        Table(
            "Coverage in simulations: systems and their differences",
            (
                *("proxies", "rates", "labels", "systems, lowest", "systems, highest"),
                *("differences, lowest", "differences, highest", "without the error, lowest"),
            ),
            rows,
            f"{n:,} files a cell of five systems x 400 items, their 5 rates and 10 differences. "
            "Without the error: rates, if the interval did not allow for an error not yet seen.",
        ),
        f"Coverage in simulations, five systems: rates {inside(rates)}; differences "
        f"{inside(gaps)}; rates without the added error from {bare.min():.1%}.",
    )


def win_rates_of(truth: Floats, matches: Matches) -> Floats:
    """Win rates (n_groups,) with all labels."""
    every = matches.every
    return win_rates(strengths_of(every * truth, matches, every, 1e12))


def of_matches(kind: str, sure: str, n_labels: int, rng: np.random.Generator) -> Floats:
    """Whether intervals of the win rates of four systems by Bradley-Terry hold."""
    n = len(MET)
    first = rng.integers(0, n, N_ITEMS)
    second = (first + rng.integers(1, n, N_ITEMS)) % n
    chances = expit(MET[first] - MET[second])
    truth, proxy = graded(chances, EXPLAINED[kind], SURE[sure], rng)
    matches = Matches(few_of(truth, n_labels, rng), first, second, n, np.arange(N_ITEMS))
    return holds(estimate_win_rates(proxy, matches).rate, win_rates_of(truth, matches))


def matches_table(n: int) -> tuple[Table, str]:
    """Coverage of win rates."""
    cells = list(product(EXPLAINED, SURE, (30, 50, 100, 200)))
    held = covered(of_matches, cells, n)
    rows = [(*map(str, cell), *ends(mine)) for cell, mine in zip(cells, held, strict=True)]
    say(f"Bradley-Terry: {inside(held)}")
    return (
        Table(
            "Coverage in simulations: Bradley-Terry",
            ("proxies explain", "and are", "labels", "lowest of the systems", "highest"),
            rows,
            f"{n:,} files a cell of {N_ITEMS:,} matches between {len(MET)} systems.",
        ),
        f"Coverage in simulations, win rates: {inside(held)}.",
    )


def of_equals(rng: np.random.Generator) -> Floats:
    """False claims among ten equal systems: for items like these, for the file, judges alone.

    Judges favour some systems, so that votes alone rank systems that are equal.
    """
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
    labels = few_of(truth, N_SHOWN, rng)
    proxy = cross_proxies(votes, labels, prompt, seed=0)
    rates = np.array([truth[system == s].mean() for s in range(N_SYSTEMS)])
    sample = Sample.of(labels, system, prompt)
    claims = []
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
    false = covered(of_equals, [()] * worlds, 1).mean(axis=0)
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
