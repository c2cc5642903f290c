"""What the recommendation loses against the best candidate in hindsight, on held-out halves."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.real import real_votes
from benchmarks.report import Report, Table
from judgepanel.decision.candidates import Candidate, Candidates, candidates_of
from judgepanel.decision.contest import Results, Terms, compete
from judgepanel.decision.preference import Preference, pick
from judgepanel.decision.recommend import REFERENCE
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.inference import sampling_variance
from judgepanel.scoring.splits import Split, split
from judgepanel.studies.panel.evidence import Rules, known_judges
from judgepanel.studies.settings import Settings, prepare

Floats = NDArray[np.float64]

MATRICES = ("llmbar", "rewardbench", "sentpop", "mozafari")
SEEDS = range(5)
TUNED = range(5, 20)
PREFERENCES: tuple[Preference, ...] = ("nll", "simplest", "fewest")
MEAN_REGRET, MOST_REGRET = 0.02, 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """Candidates on halves, one a seed; ``n_default`` of them come first and are the default list.

    ``nll`` (n_seeds, n_candidates) is that of the other half, ``items`` (n_candidates, n) its mean
    an item over the seeds that hold the item out. ``taken[prefer]`` (n_seeds,) are positions.
    ``items_of[prefer]`` (n,) are the mean losses of what was taken.
    """

    candidates: tuple[Candidate, ...]
    n_default: int
    nll: Floats
    items: Floats
    taken: dict[str, list[int]]
    items_of: dict[str, Floats]
    units: NDArray[np.int64]
    seconds: float


def run() -> Report:
    with threadpool_limits(1):
        wide = {name: _halves(name, SEEDS, "wide") for name in MATRICES}
        more = {name: _halves(name, TUNED, "default") for name in MATRICES}
    rows, lines, regrets = [], [], []
    for name, result in wide.items():
        row, regret, ratio = _row(name, result, "nll")
        rows.append(row)
        regrets.append(regret)
        lines.append(_target(f"{name}: NLL below one-coin + beta on all judges", ratio < 1.0))
    lines.insert(
        0, _target(f"average regret {np.mean(regrets):.1%}", np.mean(regrets) <= MEAN_REGRET)
    )
    lines.insert(1, _target(f"largest regret {max(regrets):.1%}", max(regrets) <= MOST_REGRET))
    others = [
        _row(f"{name}, {prefer}", outcome, prefer)[0]
        for name, outcome in wide.items()
        for prefer in PREFERENCES[1:]
    ]
    return Report(
        "The recommendation against the best candidate in hindsight",
        "Half of the labels choose and fit, the other half is scored; NLL is averaged over the "
        f"seeds {SEEDS.start} to {SEEDS.stop - 1} before the minimum over candidates is taken. "
        "That minimum flatters the candidate: it is the luckiest of many on these very items. The "
        "noise floor is one standard error of the difference, over items.",
        [
            Table(
                "The default list, held against the best of the wide list",
                _HEADINGS,
                rows,
                "Ratio: NLL over that of one-coin + beta on all judges.",
            ),
            Table("Other preferences", _HEADINGS, others),
            Table(
                f"Seeds {TUNED.start} to {TUNED.stop - 1}, on which the rule of choice was set",
                _HEADINGS,
                [_row(name, outcome, "nll")[0] for name, outcome in more.items()],
                "Held against the best of the default list.",
            ),
        ],
        lines,
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
    "ratio",
    "taken",
    "CPU s a seed",
)


def _halves(name: str, seeds: range, listed: str) -> Halves:
    votes = real_votes(name)
    prepared = prepare(votes, Settings())
    ballots = prepared.ballots
    choices = candidates_of(listed, ballots.n_judges, symmetric=ballots.symmetric)
    default = candidates_of("default", ballots.n_judges, symmetric=ballots.symmetric).all()
    candidates = choices.all()
    if candidates[: len(default)] != default:
        raise ValueError("the wide list begins with the default one")
    terms = Terms(5, 0, known_judges(votes, prepared), Rules())
    n_a, n = len(candidates), ballots.n_items
    nll = np.empty((len(seeds), n_a))
    sums, sums_of, times = np.zeros((n_a, n)), np.zeros((len(PREFERENCES), n)), np.zeros(n)
    taken: dict[str, list[int]] = {prefer: [] for prefer in PREFERENCES}
    started = time.process_time()
    for place, seed in enumerate(seeds):
        one_split = split(ballots.units, seed)
        results = compete(ballots, one_split, choices, terms)
        nll[place] = results.items.nll.mean(axis=1)
        sums[:, one_split.evaluation] += results.items.nll
        times[one_split.evaluation] += 1
        for row, prefer in enumerate(PREFERENCES):
            position = _taken(ballots, one_split, results, choices, len(default), prefer)
            taken[prefer].append(position)
            sums_of[row, one_split.evaluation] += results.items.nll[position]
    seen = times > 0
    return Halves(
        candidates,
        len(default),
        nll,
        sums[:, seen] / times[seen],
        taken,
        dict(zip(PREFERENCES, sums_of[:, seen] / times[seen], strict=True)),
        ballots.units[seen],
        (time.process_time() - started) / len(seeds),
    )


def _taken(
    ballots: Ballots,
    one_split: Split,
    results: Results,
    choices: Candidates,
    n_default: int,
    prefer: Preference,
) -> int:
    """What is taken from the default list alone."""
    return pick(
        results.standing.losses[:n_default],
        results.standing.panels[:n_default],
        ballots.units[one_split.calibration],
        choices.all()[:n_default],
        prefer,
    )


def _row(name: str, halves: Halves, prefer: str) -> tuple[tuple[str, ...], float, float]:
    mean = halves.nll.mean(axis=0)
    best = int(mean.argmin())
    rows = np.arange(len(halves.nll))
    ours = float(halves.nll[rows, halves.taken[prefer]].mean())
    names = [
        (candidate.name, candidate.aggregator, candidate.calibrator)
        for candidate in halves.candidates
    ]
    reference = float(mean[names.index(REFERENCE)])
    gap = halves.items_of[prefer] - halves.items[best]
    floor = float(np.sqrt(sampling_variance(gap[None], halves.units)[0])) / mean[best]
    regret = ours / float(mean[best]) - 1.0
    chosen = [", ".join(names[i]) for i in halves.taken[prefer]]
    often = max(set(chosen), key=chosen.count)
    return (
        (
            name,
            f"{ours:.4f}",
            f"{mean[best]:.4f}",
            ", ".join(names[best]),
            f"{regret:+.1%}",
            f"{floor:.1%}",
            f"{ours / reference:.3f}",
            f"{often} ({chosen.count(often)} of {len(chosen)})",
            f"{halves.seconds:.1f}",
        ),
        regret,
        ours / reference,
    )
