"""Simulated damage to votes, and the scores of panels on damaged votes.

Votes are flipped at random or for some judges only; judges are absent. All conditions use the same
draw. Damage at a higher level therefore includes that at a lower one, and conditions and panels
differ only by definition (common random numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.kernels.aggregate.aggregation import panel_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluate.calibrated import SplitScores, calibrate, evaluate
from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split
from judgepanel.scoring.splits import Split
from judgepanel.studies.contest.recommended import as_scores, average_on

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
class Damaged:
    """Ballots with all votes damaged under a condition, those on unlabelled items too."""

    condition: Condition
    ballots: Ballots

    @classmethod
    def of(cls, ballots: Ballots, damage: Damage, condition: Condition) -> Damaged:
        """Return the ballots after the damage of a condition."""
        votes, unlabelled = damage(ballots.votes, condition), ballots.unlabelled
        if unlabelled is not None and len(unlabelled) and condition.both:
            own = replace(damage, uniform=damage.uniform[ballots.n_items :])
            unlabelled = own(unlabelled, condition)
        return cls(condition, replace(ballots, votes=votes, unlabelled=unlabelled))


def damaged_scores(
    ballots: Ballots, split: Split, ks: Ints, recipe: Recipe, versions: Sequence[Damaged]
) -> list[SplitScores]:
    """Return scores (n_k, n_eval) of the ``ks`` best judges under every condition, in order.

    Panels are fitted once on clean votes for all damage at scoring time.
    """
    late = [version.ballots.votes for version in versions if not version.condition.both]
    n = len(split.evaluation)
    scores = panel_scores(
        *_stacked(ballots, split, late),
        ks,
        aggregator=recipe.aggregator,
        ranking=recipe.ranking,
        own_label="seen" if recipe.in_sample else "removed",
        seed=recipe.seed,
        key=(split.number, 4),
    )
    whole = calibrate(ballots, split, scores, recipe.calibrators, in_sample=recipe.in_sample)

    def part(number: int) -> SplitScores:
        rows = slice(number * n, (number + 1) * n)
        logits = np.ascontiguousarray(whole.logits[:, rows])
        empty = None if whole.empty is None else whole.empty[:, rows]
        fitted = replace(whole, logits=logits, empty=empty)
        return evaluate(ballots, split, fitted, scores.order, np.zeros((0, len(ks))))

    parts = map(part, range(len(late)))
    return [
        evaluate_split(version.ballots, split, ks, recipe)
        if version.condition.both
        else next(parts)
        for version in versions
    ]


def damaged_average(
    ballots: Ballots, split: Split, seed: int, versions: Sequence[Damaged]
) -> list[SplitScores]:
    """Return scores (1, n_eval) of the recommended average under every condition, in order.

    Only votes are damaged, so grades are not read.
    """
    ballots = replace(ballots, margins=None)
    late = [version.ballots.votes for version in versions if not version.condition.both]
    stacked = average_on(*_stacked(ballots, split, late), seed)
    parts = iter(np.split(stacked.logits, len(late)))
    averages = (
        average_on(replace(version.ballots, margins=None), split, seed)
        if version.condition.both
        else replace(stacked, logits=next(parts))
        for version in versions
    )
    return [as_scores(ballots, split, average) for average in averages]


def _stacked(ballots: Ballots, split: Split, versions: list[Votes]) -> tuple[Ballots, Split]:
    """Return ballots with each version of the evaluation votes below them, and where they are."""
    evaluation = split.evaluation
    more = [votes[evaluation] for votes in versions]
    tiled = np.tile(evaluation, len(versions))
    stacked = replace(
        ballots,
        votes=np.concatenate([ballots.votes, *more]),
        signs=np.concatenate([ballots.signs, ballots.signs[tiled]]),
        units=np.concatenate([ballots.units, ballots.units[tiled]]),
        margins=None,
    )
    rows = ballots.n_items + np.arange(len(tiled))
    return stacked, Split(split.number, split.calibration, rows)
