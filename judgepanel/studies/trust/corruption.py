"""Corruption: all judges and the top k with flipped votes or absent judges.

Votes are flipped after the splits are drawn, either only where they are scored (a judge that broke
after calibration) or on both sides (one that was always broken). Labels never change. Absent judges
vote in calibration and are missing at scoring time.

Every split draws its damage ``DRAWS`` times. The variation between draws of one split is not shared
by the splits and averages out over them; intervals would be several times too wide if it were
attributed to the calibration items. Panels made confident by easy items lose most on easy items: an
item's effects in calibration and at scoring are correlated, and intervals include that
(:mod:`judgepanel.scoring.inference`).

Cost per split and draw: one evaluation of the panels for all damage at scoring time, and one more
for each level of damage on both sides.

Simulated damage to votes, and the scores of panels on damaged votes.

Votes are flipped at random or for some judges only; judges are absent. All conditions use the same
draw. Damage at a higher level therefore includes that at a lower one, and conditions and panels
differ only by definition (common random numbers).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import Recipe, SplitScores, calibrate, evaluate, evaluate_split
from judgepanel.kernels.prefixes import Ranking
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.splits import Split, stream
from judgepanel.studies import common, contract
from judgepanel.studies.accumulate import RANGES, Arms, Estimator, Tally, band, contrasts, only
from judgepanel.studies.options import check_panels, option
from judgepanel.studies.panel import recommended
from judgepanel.studies.results import NllResult, column, derived, frozen, summed
from judgepanel.votes import InputError, VoteMatrix

CLEAN = "clean"
ABSENT = "absent"
SCENARIOS = (
    *("random_evaluation", "random_both", "concentrated_evaluation", "concentrated_both"),
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
    rng = stream(seed, number, _STREAM, draw)
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
    scores = recipe.scores(*_stacked(ballots, split, late), ks, (split.number, 4))
    whole = calibrate(ballots, split, scores, recipe.calibrators, in_sample=recipe.in_sample)

    def part(number: int) -> SplitScores:
        rows = slice(number * n, (number + 1) * n)
        logits = np.ascontiguousarray(whole.logits[:, rows])
        empty = None if whole.empty is None else whole.empty[:, rows]
        return evaluate(ballots, split, replace(whole, logits=logits, empty=empty))

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
    stacked = recommended.average_on(*_stacked(ballots, split, late), seed)
    parts = iter(np.split(stacked.logits, len(late)))
    averages = (
        recommended.average_on(replace(version.ballots, margins=None), split, seed)
        if version.condition.both
        else replace(stacked, logits=next(parts))
        for version in versions
    )
    return [recommended.as_scores(ballots, split, average) for average in averages]


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
    return stacked, Split(split.number, split.calibration, ballots.n_items + np.arange(len(tiled)))


Slower = Literal["all judges", "the recommended panel", "the top k", "not told apart"]

FLIPS = (0.05, 0.1, 0.2, 0.3, 0.4)
ABSENCES = (0.1, 0.2, 0.3, 0.4, 0.5)
DRAWS = 2


@frozen
class Corruption(NllResult):
    """Result of :data:`CORRUPTION`: all judges and the top k as votes get worse.

    Conditions (n,) begin with the clean panel; ``panels`` (n_panels,) are sizes, the last is all
    judges. Figures (n_panels, n) have 95 % intervals for new items; ``gap`` and ``delta`` are NaN
    for all judges. If ``aggregator`` is ``average``, all judges are the recommended panel, and the
    other panels have the pipeline ``COMPARED``.
    """

    aggregator: str
    calibrator: str
    concentrated: float
    scenarios: tuple[str, ...] = column("Kind of damage to the votes.", name="scenario")
    levels: Floats = column("Amount of damage.", name="level")
    changed: Floats = column("Share of the evaluation votes that were flipped or removed.")
    panels: Ints = column(name="k", axis=-2)
    nll: Interval = column()
    accuracy: Interval = column()
    rise: Interval = column("NLL minus that of the same panel on clean votes, in nats.")
    drop: Interval = column("Accuracy lost relative to clean votes.")
    gap: Interval = column(
        "Rise of the top k minus that of all judges; above 0 all judges lose less.",
        ends=" at all levels of the scenario",
    )
    delta: Interval = column(
        "NLL of the top k minus that of all judges under the condition, in nats."
    )
    null_nll: float = column()
    n_judges: int

    @derived(name="panel", axis=-2)
    def arms(self) -> tuple[str, ...]:
        """Names of the panels: ``top-5``, ..., ``all 65``."""
        return recommended.panel_names(self.panels, self.aggregator)

    @derived(name="aggregator")
    def aggregators(self) -> Any:
        """Aggregator of every panel."""
        return recommended.pipeline_columns(self.aggregator, (), len(self.panels))[0]

    @derived(name="calibrator")
    def calibrators(self) -> Any:
        """Calibrator of every panel."""
        own = (self.calibrator,)
        return recommended.pipeline_columns(self.aggregator, own, len(self.panels))[1][0]

    @derived("Which of the two is shown to lose less.", name="degrades_slower")
    def outcomes(self) -> Any:
        """Outcome of every panel but all judges under damage; else empty."""
        n_panels, n = self.gap.shape
        outcomes = np.full((n_panels, n), "", dtype=object)
        for p, i in np.ndindex(n_panels - 1, n):
            outcomes[p, i] = self.slower(p, i) if self.scenarios[i] != CLEAN else ""
        return outcomes

    def of(self, scenario: str) -> Ints:
        """Return positions of the clean panel and a scenario's conditions by increasing level."""
        return np.flatnonzero(np.isin(self.scenarios, (scenario, CLEAN)))

    def slower(self, panel: int, condition: int) -> Slower:
        """Return which panel loses less, by the band of ``gap``."""
        gap = self.gap[panel, condition]
        if gap.above():
            average = self.aggregator == recommended.AVERAGE
            return recommended.RECOMMENDED if average else "all judges"
        return "the top k" if gap.below() else "not told apart"

    def decisions(self) -> dict[str, Any]:
        """Return which panel degrades more slowly under every condition."""
        table = self.frame()[["panel", "scenario", "level", "degrades_slower"]]
        table = table[table["degrades_slower"] != ""].rename(columns={"degrades_slower": "outcome"})
        return {"degrades_slower": table.to_dict("records")}


def check_levels(levels: tuple[float, ...]) -> None:
    """Refuse levels of damage that do not rise between 0 and 1."""
    if not levels or not (np.diff([0.0, *levels, 1.0]) > 0.0).all():
        why = "the levels of damage must rise"
        allowed = "shares between 0 and 1, smallest first"
        raise InputError(why, value=", ".join(map(str, levels)), allowed=allowed)


@dataclass(frozen=True, slots=True)
class CorruptionSpec(recommended.AverageSpec, recommended.BestPanels):
    """The amount of damage, and which judges it affects.

    Beside the average, the top k have the pipeline ``COMPARED``.

    Raises
    ------
    InputError
        As for :class:`AverageSpec`; a panel below 1; levels that are not increasing within (0, 1);
        more flips than the affected judges have votes.
    """

    calibrator: Calibrator = option("beta", "calibrator of all panels (none for average)")
    panels: tuple[int, ...] = option((5,), check=check_panels)
    ranking: Ranking = option("accuracy")
    flips: tuple[float, ...] = option(
        FLIPS, "shares of the votes that are flipped", check=check_levels
    )
    absent: tuple[float, ...] = option(
        ABSENCES, "shares of the judges that are absent", check=check_levels
    )
    concentrated: float = option(0.5, "share of the judges that concentrated flips affect")

    def __post_init__(self) -> None:
        recommended.AverageSpec.__post_init__(self)
        if not max(self.flips) <= self.concentrated <= 1.0:
            why = "too few judges to carry that many flips"
            allowed = f"a share from {max(self.flips):g} to 1"
            raise InputError(why, value=self.concentrated, allowed=allowed)

    def conditions(self, n_judges: int) -> tuple[Condition, ...]:
        """Return the clean panel, then every scenario and level; a sole judge cannot be absent."""
        every = conditions(self.flips, self.absent)
        return tuple(c for c in every if n_judges > 1 or c.scenario != ABSENT)


@frozen
class CorruptionTally:
    """Scores of the splits, draws by panels by conditions.

    ``changed`` (n,) of ``cast`` evaluation votes were changed.
    """

    scores: Tally
    changed: Ints = summed()
    cast: int = summed()


def run_chunk(votes: VoteMatrix, spec: CorruptionSpec, chunk: contract.Chunk) -> CorruptionTally:
    """Evaluate every condition on the splits of one chunk."""
    prepared = contract.prepare(votes, spec.settings)
    ballots = prepared.ballots
    plan, n_panels = spec.conditions(ballots.n_judges), len(spec.sizes(ballots.n_judges))
    order = np.arange(DRAWS * len(plan) * n_panels).reshape(DRAWS, len(plan), n_panels)
    n_rows = ballots.n_items + (0 if ballots.unlabelled is None else len(ballots.unlabelled))
    changed, cast = np.zeros(len(plan), dtype=np.int64), 0

    def arms(split: Split) -> Arms:
        nonlocal cast
        before = ballots.votes[split.evaluation]
        seed, number, share = spec.settings.seed, split.number, spec.concentrated
        scores: list[SplitScores] = []
        for draw in range(DRAWS):
            damage = draw_damage(
                n_rows, ballots.n_judges, seed=seed, number=number, concentrated=share, draw=draw
            )
            versions = [Damaged.of(ballots, damage, condition) for condition in plan]
            scores += _panels(ballots, split, spec, versions)
            cast += int(np.count_nonzero(before))
            after = (version.ballots.votes[split.evaluation] for version in versions)
            changed[:] += [np.count_nonzero(damaged != before) for damaged in after]
        reference = scores[len(scores) // (DRAWS * len(plan)) - 1]
        null_nll, constant_nll = reference.null_nll, [only(reference.constant_nll)]
        together = Arms.of(scores, null_nll=null_nll, constant_nll=np.array(constant_nll))
        return together.in_order(order.swapaxes(1, 2).ravel())

    return CorruptionTally(common.tally_of(prepared, spec.settings, chunk, arms), changed, cast)


def _panels(
    ballots: Ballots, split: Split, spec: CorruptionSpec, versions: list[Damaged]
) -> list[SplitScores]:
    """Scores of all panels under every condition: the top k, then the average apart from them."""
    ks = spec.sizes(ballots.n_judges)
    if spec.aggregator != recommended.AVERAGE:
        return damaged_scores(ballots, split, ks, spec.recipe, versions)
    average = damaged_average(ballots, split, spec.settings.seed, versions)
    if len(ks) == 1:
        return average
    top = damaged_scores(ballots, split, ks[:-1], spec.recipe, versions)
    return [scores for pair in zip(top, average, strict=True) for scores in pair]


def merge(votes: VoteMatrix, spec: CorruptionSpec, partial: CorruptionTally) -> Corruption:
    """Return levels, rises and differences from the splits so far."""
    prepared = contract.prepare(votes, spec.settings)
    ballots, totals = prepared.ballots, partial.scores
    plan, sizes = spec.conditions(ballots.n_judges), spec.sizes(ballots.n_judges)
    scenarios = np.array([condition.scenario for condition in plan])
    estimated = Estimator.of(totals, ballots.units)
    n_p, n = len(sizes), len(plan)
    arms = np.eye(n_p * n).reshape(n_p, n, n_p * n)
    rise = arms - arms[:, :1]
    gaps = rise[:-1] - rise[-1:]

    def measured(weights: Floats, metric: str, unit: Unit = "nats") -> Interval:
        rows = weights.reshape(-1, n_p * n)
        estimates = contrasts(totals, estimated, rows, metric=metric, draws=DRAWS)
        return Interval.of(estimates, unit).reshape(len(weights), n)

    def together(rows: Floats) -> Interval:
        return band(contrasts(totals, estimated, rows, draws=DRAWS), spec.settings.seed)

    gap, delta = (Interval.full((n_p, n), np.nan) for _ in range(2))
    for p in range(n_p - 1):
        gap.put((p, 0), (0.0, 0.0, 0.0))
        for scenario in dict.fromkeys(scenarios[1:]):
            places = np.flatnonzero(scenarios == scenario)
            gap.put((p, places), together(gaps[p, places]))
    if n_p > 1:
        delta.put(slice(-1), measured(arms[:-1] - arms[-1:], "nll"))
    alone = "There is only one judge: no other can be absent or take its place."
    notes = [alone] if ballots.n_judges == 1 else []
    notes += common.replaced_fits((spec.calibrator,), totals)
    return Corruption.from_splits(
        prepared,
        spec,
        totals,
        scenarios=tuple(scenarios.tolist()),
        levels=np.array([condition.level for condition in plan]),
        changed=partial.changed / max(partial.cast, 1),
        panels=sizes,
        nll=measured(arms, "nll").clip(*RANGES["nll"]),
        accuracy=measured(arms, "accuracy", "share").clip(*RANGES["accuracy"]),
        rise=measured(rise, "nll"),
        drop=measured(-rise, "accuracy", "share"),
        gap=gap,
        delta=delta,
        warnings=common.run_warnings(prepared, totals, *notes),
    )


CORRUPTION: contract.Study[CorruptionSpec, CorruptionTally, Corruption] = contract.Study(
    name="corruption",
    title="Corrupted votes",
    question="What if votes are wrong, or judges absent?",
    run_chunk=run_chunk,
    merge=merge,
    first=2,
    settled=contract.steady(merge, lambda result: [(result.gap, 0.0)]),
)
