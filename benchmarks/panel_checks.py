"""The warnings of `score`: size and power of the drift test, chance matches of training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.real import real_votes
from benchmarks.report import Report, Table, say
from judgepanel.decision.training_items import drift_of, profile_content, rows_content, seen_items
from judgepanel.votes import MISSING, VoteMatrix

FILES = 400
HALVES = 40
MATRICES = ("llmbar", "rewardbench", "mozafari", "sentpop")
SIZES = (5, 10, 20, 30, 60)


@dataclass(frozen=True, slots=True)
class World:
    """The best ``n_panel`` of ``judges`` on ``past`` and ``new`` items; range of ``accuracy``."""

    name: str
    judges: int
    n_panel: int
    past: int
    new: int
    as_given: bool
    accuracy: tuple[float, float] = (0.55, 0.75)


WORLDS = (
    World("8 judges", 8, 8, 200, 200, True),
    World("8 judges, order arbitrary", 8, 8, 200, 200, False),
    World("8 better judges, order arbitrary", 8, 8, 200, 200, False, (0.8, 0.9)),
    World("40 judges", 40, 40, 300, 300, True),
    World("best 10 of 60", 60, 10, 200, 400, True),
    World("best 10 of 60, order arbitrary", 60, 10, 200, 400, False),
    World("best 5 of 60, few items", 60, 5, 100, 1000, False),
    World("best 3 of 200 alike, few items", 200, 3, 100, 1000, False, (0.6, 0.6)),
)


def run() -> Report:
    drift = [_drift(world) for world in WORLDS]
    seen = [row for name in MATRICES for row in _seen(name)]
    worst = max(float(row[1].rstrip(" %")) for row in drift)
    false = sum(int(row[2].split()[0]) for row in seen)
    runs = HALVES * len(seen)
    return Report(
        "Warnings of scoring",
        "Does `score` warn without reason, and does it warn with one?",
        (
            Table(
                "Drift",
                ("panel", "no drift", "a judge becomes random", "a judge misses 20 % more"),
                drift,
                f"Share of {FILES} simulated files that warn (standard error at 5 %: 1.1 %); "
                "beside it that of files in which the changed judge is named. Items differ in "
                "difficulty, so judges err together.",
            ),
            Table(
                "Training rows",
                ("votes", "judges", "new items", "10 % reused, ids kept", "10 % reused, new ids"),
                seen,
                f"Files that warn, of {HALVES} random halves of real votes under random judges. "
                "New items carry row numbers as their ids, as the training rows do, and both "
                "files are in the order of the source.",
            ),
        ),
        (
            f"without drift at most {worst:.1f} % of the files warn (wanted: 5 %)",
            f"{false} of {runs} files without a seen item warn of one",
        ),
    )


def _world_votes(rng: np.random.Generator, n_items: int, accuracy: np.ndarray) -> VoteMatrix:
    labels = rng.integers(0, 2, n_items)
    logit = np.log(accuracy / (1 - accuracy)) + 0.8 * rng.normal(size=(n_items, 1))
    right = rng.random((n_items, len(accuracy))) < 1 / (1 + np.exp(-logit))
    votes = np.where(right, labels[:, None], 1 - labels[:, None])
    votes = np.where(rng.random(votes.shape) < 0.1, MISSING, votes)
    return VoteMatrix(
        votes.astype(np.int8),
        labels.astype(np.int8),
        tuple(f"i{i}" for i in range(n_items)),
        tuple(f"j{j}" for j in range(len(accuracy))),
    )


def _drift(world: World) -> tuple[str, ...]:
    say(world.name)
    rng = np.random.default_rng(0)
    warned = np.zeros(3)
    for _ in range(FILES):
        accuracy = rng.uniform(*world.accuracy, world.judges)
        past = _world_votes(rng, world.past, accuracy)
        right = (past.votes == past.labels[:, None]).sum(axis=0) / (past.votes >= 0).sum(axis=0)
        best = [past.judges[j] for j in np.argsort(-right, kind="stable")[: world.n_panel]]
        profile = profile_content(past, best)
        new = _world_votes(rng, world.new, accuracy).with_judges(best)
        for number, column in enumerate(_columns(rng, new)):
            votes = new.votes.copy()
            votes[:, 0] = column
            drift = drift_of(
                profile,
                best,
                replace(new, votes=votes),
                as_given=world.as_given,
                chosen=world.n_panel < world.judges,
            )
            named = [change.judge for change in drift.significant]
            warned[number] += best[0] in named if number else bool(named)
    return (world.name, *(f"{100 * share:.1f} %" for share in warned / FILES))


def _columns(rng: np.random.Generator, votes: VoteMatrix) -> tuple[np.ndarray, ...]:
    """Votes of the first judge: unchanged, random, and with another fifth missing."""
    first = votes.votes[:, 0]
    random = np.where(first == MISSING, MISSING, rng.integers(0, 2, len(first)))
    return first, random, np.where(rng.random(len(first)) < 0.2, MISSING, first)


def _seen(name: str) -> list[tuple[str, ...]]:
    say(name)
    votes = real_votes(name)
    rows = []
    for size in (*(k for k in SIZES if k < votes.n_judges), votes.n_judges):
        rng = np.random.default_rng(size)
        warned = np.sum([_warns(votes, size, rng) for _ in range(HALVES)], axis=0)
        rows.append((name, str(size), *(f"{int(n)} of {HALVES}" for n in warned)))
    return rows


def _warns(votes: VoteMatrix, size: int, rng: np.random.Generator) -> np.ndarray:
    judges = [votes.judges[j] for j in rng.choice(votes.n_judges, size, replace=False)]
    order, half = rng.permutation(votes.n_items), votes.n_items // 2
    past, new = np.sort(order[:half]), np.sort(order[half:])
    again = np.concatenate([order[: len(new) // 10], new])
    numbered = _numbered(votes.with_items(past))
    vote_matrixes = (
        (numbered, _numbered(votes.with_items(new))),
        (votes.with_items(past), votes.with_items(again)),
        (numbered, _numbered(votes.with_items(again), "new")),
    )
    return np.array([_any_seen(first, other, judges) for first, other in vote_matrixes])


def _any_seen(past: VoteMatrix, new: VoteMatrix, judges: list[str]) -> bool:
    rows = rows_content(past, judges, judges, past.sha256)
    return bool(seen_items(rows, new, judges, judges, past.sha256).rows.any())


def _numbered(votes: VoteMatrix, prefix: str = "") -> VoteMatrix:
    return replace(votes, item_ids=tuple(f"{prefix}{i}" for i in range(votes.n_items)))
