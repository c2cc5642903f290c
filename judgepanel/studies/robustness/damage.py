"""Simulated damage to votes, and the scores of panels on damaged votes.

Votes are flipped at random or for some judges only; judges are absent. All conditions use the same
draw. Damage at a higher level therefore includes that at a lower one, and conditions and panels
differ only by definition (common random numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.aggregation import panel_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluate.calibrated import SplitScores, calibrate, evaluate
from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms
from judgepanel.studies.contest.recommended import as_scores, average_on, only

Votes = NDArray[np.int8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLEAN = "clean"
ABSENT = "absent"
SCENARIOS = (
    "random_evaluation",
    "random_both",
    "concentrated_evaluation",
    "concentrated_both",
    ABSENT,
)
_STREAM = 21


@dataclass(frozen=True, slots=True)
class Condition:
    """A scenario of ``SCENARIOS`` (or ``CLEAN``) at a level.

    The level is the share of votes that are flipped, or of judges that are absent.
    """

    scenario: str
    level: float

    @property
    def both(self) -> bool:
        """Whether the votes for the fit are damaged as well."""
        return self.scenario.endswith("_both")


def conditions(flips: Sequence[float], absent: Sequence[float]) -> tuple[Condition, ...]:
    """Return the clean panel first, then every scenario at every level."""
    return (
        Condition(CLEAN, 0.0),
        *(
            Condition(scenario, level)
            for scenario in SCENARIOS
            for level in (absent if scenario == ABSENT else flips)
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Damage:
    """One random draw of damage.

    ``uniform`` (n_items, n_judges) decides which votes flip, those of unlabelled items last;
    ``struck`` and ``leaving`` (n_judges,) are the orders in which judges get concentrated flips or
    are absent.
    """

    uniform: Floats
    struck: Ints
    leaving: Ints
    concentrated: float

    def __call__(self, votes: Votes, condition: Condition) -> Votes:
        """Return signed votes (n_items, n_judges) under a condition; missing votes stay missing."""
        n_judges = votes.shape[1]
        if condition.scenario == CLEAN:
            return votes
        if condition.scenario == ABSENT:
            gone = min(max(1, round(condition.level * n_judges)), n_judges - 1)
            remaining = votes.copy()
            remaining[:, self.leaving[:gone]] = 0
            return remaining
        chance = np.full(n_judges, condition.level)
        if condition.scenario.startswith("concentrated"):
            n_struck = max(1, round(self.concentrated * n_judges))
            chance = np.zeros(n_judges)
            chance[self.struck[:n_struck]] = min(1.0, condition.level * n_judges / n_struck)
        return np.where(self.uniform[: len(votes)] < chance, -votes, votes)


def draw_damage(
    n_items: int, n_judges: int, *, seed: int, number: int, concentrated: float, draw: int = 0
) -> Damage:
    """Draw ``draw`` of split ``number``: ``SeedSequence(seed, spawn_key=(number, 21, draw))``."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, _STREAM, draw)))
    struck, leaving = rng.permutation(n_judges), rng.permutation(n_judges)
    return Damage(rng.random((n_items, n_judges)), struck, leaving, concentrated)


@dataclass(frozen=True, slots=True, eq=False)
class Hurt:
    """Signed votes int8 (n_items, n_judges) after damage under a condition."""

    condition: Condition
    votes: NDArray[np.int8]


def damaged_scores(
    ballots: Ballots,
    split: Split,
    ks: Ints,
    recipe: Recipe,
    hurt: Sequence[Hurt],
    damage: Damage,
) -> list[SplitScores]:
    """Return scores (n_k, n_eval) of the ``ks`` best judges under every condition, in order."""
    late = [i for i, after in enumerate(hurt) if not after.condition.both]
    late_scores = dict(
        zip(
            late,
            _at_scoring_time(ballots, split, ks, recipe, [hurt[i].votes for i in late]),
            strict=True,
        )
    )
    for i, after in enumerate(hurt):
        if after.condition.both:
            late_scores[i] = evaluate_split(everywhere(ballots, after, damage), split, ks, recipe)
    return [late_scores[i] for i in range(len(hurt))]


def _at_scoring_time(
    ballots: Ballots,
    split: Split,
    ks: Ints,
    recipe: Recipe,
    hurt: list[NDArray[np.int8]],
) -> list[SplitScores]:
    """Fit panels once, on clean votes, and score them on each version of the evaluation votes."""
    n = len(split.evaluation)
    scores = panel_scores(
        *_stacked(ballots, split, hurt),
        ks,
        aggregator=recipe.aggregator,
        ranking=recipe.ranking,
        own_label="seen" if recipe.in_sample else "removed",
        seed=recipe.seed,
        key=(split.number, 4),
    )
    whole = calibrate(ballots, split, scores, recipe.calibrators, in_sample=recipe.in_sample)
    parts = [slice(i * n, (i + 1) * n) for i in range(len(hurt))]
    return [
        evaluate(
            ballots,
            split,
            replace(
                whole,
                logits=np.ascontiguousarray(whole.logits[:, part]),
                empty=None if whole.empty is None else whole.empty[:, part],
            ),
            scores.order,
            np.zeros((0, len(ks))),
        )
        for part in parts
    ]


def damaged_average(
    ballots: Ballots, split: Split, seed: int, hurt: Sequence[Hurt], damage: Damage
) -> list[SplitScores]:
    """Return scores (1, n_eval) of the recommended average under every condition, in order.

    Only votes are damaged, so grades are not read.
    """
    ballots = replace(ballots, margins=None)
    late = [i for i, after in enumerate(hurt) if not after.condition.both]
    stacked = average_on(*_stacked(ballots, split, [hurt[i].votes for i in late]), seed)
    averages = {
        i: replace(stacked, logits=logits)
        for i, logits in zip(late, np.split(stacked.logits, len(late)), strict=True)
    }
    for i, after in enumerate(hurt):
        if after.condition.both:
            averages[i] = average_on(everywhere(ballots, after, damage), split, seed)
    return [as_scores(ballots, split, averages[i]) for i in range(len(hurt))]


def _stacked(ballots: Ballots, split: Split, hurt: list[NDArray[np.int8]]) -> tuple[Ballots, Split]:
    """Return ballots with each version of the evaluation votes below them, and where they are."""
    evaluation = split.evaluation
    more = [after[evaluation] for after in hurt]
    tiled = np.tile(evaluation, len(hurt))
    stacked = replace(
        ballots,
        votes=np.concatenate([ballots.votes, *more]),
        signs=np.concatenate([ballots.signs, ballots.signs[tiled]]),
        units=np.concatenate([ballots.units, ballots.units[tiled]]),
        margins=None,
    )
    rows = ballots.n_items + np.arange(len(tiled))
    return stacked, Split(split.number, split.calibration, rows)


def everywhere(ballots: Ballots, hurt: Hurt, damage: Damage) -> Ballots:
    """Return ballots with all votes damaged, including those on unlabelled items."""
    unlabelled = ballots.unlabelled
    if unlabelled is not None and len(unlabelled):
        own = replace(damage, uniform=damage.uniform[ballots.n_items :])
        unlabelled = own(unlabelled, hurt.condition)
    return replace(ballots, votes=hurt.votes, unlabelled=unlabelled)


def as_arms(scores: Sequence[Sequence[Sequence[SplitScores]]]) -> Arms:
    """Return arms of draws by panels by conditions; conditions vary fastest.

    ``scores`` are draws of conditions of pieces, which have a single calibrator each; the last
    piece has the reference.
    """
    first = scores[0][0][-1]

    def stacked(name: str) -> Floats:
        draws = [
            [
                np.concatenate([getattr(only(piece.evaluation), name) for piece in pieces])
                for pieces in conditions
            ]
            for conditions in scores
        ]
        values = np.concatenate([np.stack(conditions, axis=1) for conditions in draws])
        return np.asarray(values.reshape(1, -1, *values.shape[2:]))

    nll = stacked("nll")
    every = [piece for draw in scores for pieces in draw for piece in pieces]
    return Arms(
        nll=nll,
        brier=stacked("brier"),
        hit=stacked("hit"),
        ece=stacked("ece"),
        chosen_on=np.zeros(nll.shape[:2]),
        null_nll=first.null_nll,
        constant_nll=np.array([only(first.constant_nll)]),
        replaced=np.array([sum(only(piece.replaced) for piece in every)]),
    )
