"""Grades against the votes cut from them: NLL on held-out halves, and the time of a fit.

Shrinkage was tuned on splits of seed 0 and on the first draws of simulated judges; other splits and
other draws are measured here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from benchmarks.real import real_path
from benchmarks.report import Report, Table, say
from judgepanel.arrays import Floats
from judgepanel.kernels.aggregation import AnyAggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import Choice, Recipe, evaluate_split
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.panel.curator import JudgeAttributes, Rules
from judgepanel.studies.panel.recommended import (
    ChoiceSettings,
    average_losses,
    average_weights,
    bootstrap,
    candidates_of,
    compete,
)
from judgepanel.studies.runner import one_thread
from judgepanel.votes.load import load_votes

Pipeline = tuple[AnyAggregator, Calibrator]
VOTES: tuple[Pipeline, ...] = (("one_coin", "temperature"), ("joint", "none"))
GRADES: tuple[Pipeline, ...] = (("one_coin_graded", "temperature"), ("joint_graded", "none"))
N_FOLDS = 5
DRAWN = range(100, 103)
"""Seeds of simulated judges."""
SEED = 1
"""Seed of the splits."""
WORSE = 1.01
"""The most that the NLL of graded pipelines may be, of that of votes."""
SLOWER = 2.0
"""The most that a recommendation of grades may take, of one of votes."""


def run(splits: int = 20) -> Report:
    rows, lines = [], []
    averages, seconds_of = [], np.zeros(2)
    for name, worlds in matrices().items():
        with one_thread():
            nll, inner, seconds = _joined([measured(ballots, splits) for ballots in worlds])
        mean = nll.mean(axis=1)
        chosen = [_picked(nll[part], inner[part]) for part in (slice(0, 2), slice(0, 4))]
        gain = chosen[1] - chosen[0]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        ratio = chosen[1].mean() / chosen[0].mean()
        say(f"{name}: {ratio:.3f}")
        rows.append(
            (
                name,
                f"{worlds[0].n_items} x {worlds[0].n_judges}",
                *(f"{value:.4f}" for value in mean),
                *(f"{part.mean():.4f}" for part in chosen),
                f"{ratio:.3f}",
                f"{gain.mean():+.4f} ± {error:.4f}",
                f"{seconds[3] / seconds[1]:.1f}",
            )
        )
        met = "met" if ratio <= WORSE else "MISSED"
        lines.append(
            f"{name}: graded {min(mean[2:]) / min(mean[:2]):.3f} of votes, best pipeline each; "
            f"with the choice made on calibration rows {ratio:.3f} (at most {WORSE}: {met})."
        )
        with one_thread():
            averaged = [recommended(ballots, splits) for ballots in worlds]
        both, taken = _beside(averaged)
        seconds_of += taken
        gain = both[1] - both[0]
        ratio = both[1].mean() / both[0].mean()
        say(f"{name}, recommended: {ratio:.3f}")
        averages.append(
            (
                *rows[-1][:2],
                *(f"{part.mean():.4f}" for part in both),
                f"{ratio:.3f}",
                f"{gain.mean():+.4f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.4f}",
                f"{taken[1] / taken[0]:.1f}",
            )
        )
        met = "met" if ratio <= WORSE else "MISSED"
        lines.append(
            f"{name}: the recommended average with grades {ratio:.3f} of that of votes (at most "
            f"{WORSE}: {met})."
        )
    slower = seconds_of[1] / seconds_of[0]
    met = "met" if slower <= SLOWER else "MISSED"
    lines.append(
        f"Processor time of the recommendation, all together: {slower:.2f} of that of votes (at "
        f"most {SLOWER:g}: {met})."
    )
    headings = (
        *("votes", "shape", *(aggregator for aggregator, _ in (*VOTES, *GRADES))),
        *("chosen of votes", "chosen of all", "ratio", "difference", "joint: time"),
    )
    note = (
        f"Held-out NLL, mean over {splits} random halves, of simulated judges for each of "
        f"{len(DRAWN)} draws; one-coin with temperature. The choice is the pipeline of lowest "
        "cross-validated NLL on the calibration half, among those of votes, and among all four. "
        "The difference is of the choices, ± its standard error over splits, which share items. "
        "Time is that of joint on grades, of joint on votes."
    )
    return Report(
        "Grades against votes",
        "Does it pay to know how far a grade is from its threshold?",
        [
            Table("NLL on held-out halves", headings, rows, note),
            Table(
                "NLL of the recommended average on held-out halves",
                ("votes", "shape", "of votes", "of grades", "ratio", "difference", "time"),
                averages,
                "The average of the default candidates, weighed on the calibration half; of "
                "grades: with the candidates that read them. Time is processor time of grades, of "
                "votes.",
            ),
        ],
        lines,
    )


def matrices() -> Mapping[str, list[Ballots]]:
    """Real votes with grades, and several draws of simulated judges on five levels."""
    settings = Settings()
    real = {
        name: [prepare(load_votes(real_path(name), thresholds=cut).votes, settings).ballots]
        for name, cut in (("alpacaeval_probs", None), ("llmbar_graded", 0.0))
    }
    return real | {
        f"simulated, grades tell {words}": [ordinal(seed, telling=share, n=n) for seed in DRAWN]
        for words, share, n in (
            ("all they can", 1.0, 400),
            ("a little", 0.4, 400),
            ("nothing", 0.0, 400),
            ("all they can, few items", 1.0, 120),
            ("nothing, few items", 0.0, 120),
        )
    }


def ordinal(seed: int, *, telling: float, n: int = 400, k: int = 8) -> Ballots:
    """Judges who see the truth through a normal error and rate it -2 to 2; 0 is a tie.

    Their margins are those of their ratings with probability ``telling``, else of another item.
    """
    rng = np.random.default_rng(seed)
    signs = rng.choice(np.array([-1, 1], np.int8), n)
    shared = rng.normal(0.0, 0.3, (n, 1))
    seen = signs[:, None] * rng.uniform(0.3, 0.9, k) + shared + rng.normal(0.0, 1.0, (n, k))
    ratings = np.clip(np.round(seen), -2.0, 2.0)
    votes = np.sign(ratings).astype(np.int8)
    margins = np.abs(ratings)
    for judge in range(k):
        voted = np.flatnonzero(votes[:, judge])
        mixed = voted[rng.random(len(voted)) >= telling]
        margins[mixed, judge] = margins[rng.permutation(mixed), judge]
    return Ballots(votes, signs, np.arange(n), margins=margins)


def measured(ballots: Ballots, splits: int) -> tuple[Floats, Floats, Floats]:
    """Held-out and cross-validated NLL (4, splits) of the pipelines, and seconds of each (4,)."""
    pipelines = (*VOTES, *GRADES)
    nll, inner = np.empty((2, len(pipelines), splits))
    seconds = np.zeros(len(pipelines))
    every, everyone = np.array([ballots.n_judges]), np.array([True])
    for number in range(splits):
        drawn = split(ballots.units, number, seed=SEED)
        for place, (aggregator, calibrator) in enumerate(pipelines):
            started = time.perf_counter()
            recipe = Recipe(aggregator, (calibrator,))
            scores = evaluate_split(
                ballots, drawn, every, recipe, Choice(everyone, N_FOLDS, (number, 1))
            )
            seconds[place] += time.perf_counter() - started
            nll[place, number] = scores.evaluation[calibrator].nll.mean()
            inner[place, number] = np.mean(scores.inner) if scores.inner is not None else np.nan
    return nll, inner, seconds


def recommended(ballots: Ballots, splits: int) -> tuple[Floats, Floats]:
    """Held-out NLL (2, splits) of the recommended average, of votes and of grades, and seconds."""
    nll, seconds = np.empty((2, splits)), np.zeros(2)
    known = JudgeAttributes(("",) * ballots.n_judges, None)
    for number in range(splits):
        drawn = split(ballots.units, number, seed=SEED)
        units = ballots.units[drawn.calibration]
        for place, graded in enumerate((False, True)):
            started = time.process_time()
            choices = candidates_of(
                "default", ballots.n_judges, symmetric=ballots.symmetric, graded=graded
            )
            terms = ChoiceSettings(N_FOLDS, SEED, known, Rules(seed=SEED, tables=False))
            results = compete(ballots, drawn, choices, terms)
            rng = bootstrap(SEED, (number, 1))
            prior = choices.with_everyone(choices.prior())
            weights = average_weights(results.standing.losses, units, prior, rng)[0]
            seconds[place] += time.process_time() - started
            nll[place, number] = average_losses(results.items.nll, weights).mean()
    return nll, seconds


def _beside(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Splits of all draws side by side, and their seconds together."""
    return np.concatenate([nll for nll, _ in parts], axis=1), np.sum(
        [seconds for _, seconds in parts], axis=0
    )


def _joined(parts: list[tuple[Floats, Floats, Floats]]) -> tuple[Floats, Floats, Floats]:
    """Splits of all draws side by side, and their seconds together."""
    nll, inner, seconds = zip(*parts, strict=True)
    return np.concatenate(nll, axis=1), np.concatenate(inner, axis=1), np.sum(seconds, axis=0)


def _picked(nll: Floats, inner: Floats) -> Floats:
    """Held-out NLL (splits,) of the pipeline of lowest cross-validated NLL in each split."""
    return np.asarray(np.take_along_axis(nll, inner.argmin(axis=0)[None], axis=0)[0])
