"""Does the paper's reversal hold here? The paper's protocol beside the honest one, step by step.

The claim (arXiv 2605.09702, section 4.2): before calibration a few judges beat them all, after it
all beat the few. The study evaluates the same panels on the same splits under one-class coding
with the paper's recipe, and then changes one thing at a time until the recipe is honest
(docs/claim.md). The variants are pinned here; settings give judges, splits, share and seed.

Cost per split: one cumulative pass per coding and a batch of three-parameter fits a calibrator,
some 30 ms for 2985 items and 149 judges; ``joint`` adds six fits per panel, over a second there.

Result of the claim: every step at every panel size, and whether the reversal appears.

What the beta map learns from one-class labels: from the votes of all judges, and from nothing.

Fitted to all labelled items with scores that know their labels, as the paper's calibrators see
them; for drawing, never for a score.

From the paper's protocol to the honest one: the codings of the labels, and every step between.

One-class coding (docs/claim.md) writes every item as 'label 1, vote = the judge was right'. Any
labelled votes can be written that way: V becomes V s, and s becomes 1. Nothing about the judges is
lost, but every calibrator with an intercept is told what the label is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, Literal

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import aggregation, evaluation, prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import INPUT_CLIP, CalibrationFit, Calibrator, MapShape, fit
from judgepanel.scoring import inference, interval, metrics
from judgepanel.scoring.splits import Split
from judgepanel.studies import accumulate, codec, common, contract, options, results
from judgepanel.votes import VoteMatrix

Coding = Literal["one_class", "honest", "randomized"]


@dataclass(frozen=True, slots=True, eq=False)
class Codings:
    """Ballots by coding, all of the same items in the same order.

    ``one_class`` holds every judge that votes on them. ``honest`` is what the app does by default:
    labels as given where they are balanced, else each pair with its swap. ``randomized`` turns
    every pair by a coin; None where items have no order to turn, or where ``honest`` does just
    that.
    """

    one_class: Ballots
    honest: contract.Prepared
    randomized: contract.Prepared | None

    def ballots(self, coding: Coding) -> Ballots:
        """The ballots of a coding that there is."""
        if coding == "one_class":
            return self.one_class
        prepared = self.honest if coding == "honest" else self.randomized
        if prepared is None:
            raise ValueError(f"these votes have no coding {coding}")
        return prepared.ballots


def codings(votes: VoteMatrix, settings: contract.Settings) -> Codings:
    """Every coding of the labelled items.

    The protocol and an ``as_given`` orientation of the settings change nothing: what is honest
    here is pinned.

    Raises
    ------
    InputError
        As :func:`judgepanel.studies.contract.prepare`: no labels, or a pointwise task with one
        class only.
    """
    pairs = votes.task == "pairwise"
    policy = "auto" if settings.orientation == "as_given" else settings.orientation
    honest = contract.prepare(votes, replace(settings, orientation=policy, protocol="honest"))
    as_given = replace(settings, orientation="as_given", protocol="paper")
    coin = replace(settings, orientation="randomized", protocol="honest")
    turned = pairs and honest.oriented.policy != "randomized"
    given = one_class(contract.prepare(votes, as_given).ballots)
    return Codings(given, honest, contract.prepare(votes, coin) if turned else None)


def one_class(ballots: Ballots) -> Ballots:
    """The same votes as 'was the judge right', every label 1."""
    votes = ballots.votes * ballots.signs[:, None]
    return Ballots(votes=votes, signs=np.ones_like(ballots.signs), units=ballots.units)


CODING = "the coding, not the judges"
JUDGES = "the judges"


@dataclass(frozen=True, slots=True)
class Step:
    """One pipeline, and the step ``before`` it from which it differs in one thing.

    ``clipped`` clips raw probabilities to [.001, .999] before a map with bounded signs sees them;
    ``beta_clipped``, the paper's, does so by itself and leaves signs free.
    """

    name: str
    before: str | None
    coding: Coding
    calibrator: Calibrator
    own_label: prefixes.OwnLabel = "seen"
    clipped: bool = False
    aggregator: aggregation.Aggregator = "one_coin"

    @property
    def measures(self) -> str:
        """What its figures measure."""
        return CODING if self.coding == "one_class" else JUDGES

    @property
    def after(self) -> str:
        """The step before it; empty if there is none."""
        return self.before or ""

    @property
    def input_clipped(self) -> bool:
        """Whether raw probabilities are clipped before the calibrator's logs."""
        return self.clipped or self.calibrator == "beta_clipped"


_ALL = (
    Step("raw_one_class", None, "one_class", "none"),
    Step("paper", "raw_one_class", "one_class", "beta_clipped"),
    Step("paper_monotone", "paper", "one_class", "beta", clipped=True),
    Step("paper_unclipped", "paper_monotone", "one_class", "beta"),
    Step("paper_temperature", "paper_unclipped", "one_class", "temperature"),
    Step("raw_honest", "raw_one_class", "honest", "none"),
    Step("honest_clipped", "paper", "honest", "beta_clipped"),
    Step("honest_random", "honest_clipped", "randomized", "beta_clipped"),
    Step("honest_monotone", "honest_clipped", "honest", "beta", clipped=True),
    Step("honest_beta", "honest_monotone", "honest", "beta"),
    Step("honest_temperature", "honest_beta", "honest", "temperature"),
    Step("honest", "honest_beta", "honest", "beta", own_label="removed"),
    Step("joint", "honest", "honest", "beta", own_label="removed", aggregator="joint"),
)
STEPS: Mapping[str, Step] = {step.name: step for step in _ALL}
"""Every step by name, in the order in which they are presented."""

LAST: tuple[str, str] = ("honest", "joint")
"""The steps that are compared on their own, because ``joint`` costs a fit for every panel."""


def one_coin_steps(*, randomized: bool) -> tuple[Step, ...]:
    """All steps with closed-form scores; ``randomized`` is whether items have an order to turn."""
    return tuple(
        step
        for step in _ALL
        if step.aggregator == "one_coin" and (randomized or step.coding != "randomized")
    )


Outcome = Literal["appears", "points that way", "does not appear", "undecided"]

PAIRS: tuple[tuple[str, str], ...] = (
    ("raw_one_class", "paper"),
    ("raw_honest", "honest_clipped"),
    ("raw_honest", "honest"),
    ("raw_honest", "joint"),
)
"""Raw and calibrated steps between which the reversal is looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Reversal:
    """Do all judges lose to the top k before calibration (step ``raw``) and win after it (step
    ``calibrated``)? Differences are NLL(top-k) - NLL(all), in nats, above 0 where all are better.

    It ``appears`` when the first interval lies below 0 and the second above; it ``does not
    appear`` when the first lies above or the second below. Else it ``points that way`` when the two
    differences do, and is ``undecided`` when they do not.
    """

    raw: str
    calibrated: str
    k: int
    raw_delta: interval.Interval
    delta: interval.Interval

    @property
    def outcome(self) -> Outcome:
        """What the two intervals say."""
        if self.raw_delta.below() and self.delta.above():
            return "appears"
        if self.raw_delta.above() or self.delta.below():
            return "does not appear"
        return "points that way" if self.raw_delta.value < 0.0 < self.delta.value else "undecided"


def _of_steps(name: str, text: str = "") -> results.Derived[Any]:
    """Declare what the steps of a result are as a column."""
    return results.derived(text, name=name, axis=-2, key=True)(
        lambda claim: [getattr(STEPS[step], name) for step in claim.steps]
    )


@results.frozen
class Claim(results.SplitResult):
    """Result of :data:`CLAIM`.

    Arrays are (n_steps, n_sizes + 1) in the order of ``steps`` and ``sizes``, all judges last;
    NaN where a step was not tried at a size, as are ends from a single split. NLL is in nats
    per item. ``against_all`` is NLL(top-k) - NLL(all) of the same step and ``change`` the NLL less
    that of the step before (NaN where there is none), each with a 95 % interval for new items.
    ``panels`` are the sizes compared, ``n_judges`` (n_steps,) the judges of the step's coding.
    ``null_nll`` and ``constant_nll`` (n_steps,) are scores of the base rate and of a constant
    through the same calibrator, under the step's own labels. ``falling`` is the share of splits
    whose fitted map has a < 0. ``maps`` (4, 3) are a, b, c of ``MAP_NAMES``.
    """

    steps: tuple[str, ...] = results.column(
        "Step from the paper's protocol to the honest one.", name="step", axis=-2, key=True
    )
    sizes: Ints
    panels: Ints
    n_judges: Ints
    nll: interval.Interval = results.column()
    accuracy: Floats = results.column()
    against_all: interval.Interval = results.column(
        "NLL of the top k less that of all judges of the step, in nats."
    )
    change: interval.Interval = results.column("NLL less that of the step before, in nats.")
    null_nll: Floats = results.column("NLL of the base rate under the step's own labels.", axis=-2)
    constant_nll: Floats = results.column(
        "NLL of a constant score through the step's calibrator.", axis=-2
    )
    falling: Floats = results.column("Share of the splits whose fitted map falls.")
    maps: Floats
    n_calibration: float

    steps_before = _of_steps("after", "The step that it is compared with.")
    measures = _of_steps("measures", "What the figures of the step measure.")
    coding = _of_steps("coding", "How the labels are coded.")
    aggregators = _of_steps("aggregator")
    calibrators = _of_steps("calibrator")
    clips = _of_steps("input_clipped", "Whether scores are clipped before calibration.")
    own_label = _of_steps("own_label", "Whether an item's own label is seen by its score.")

    @results.derived(name="panel", key=True)
    def arms(self) -> list[str]:
        """Names of the panels."""
        return [*map(accumulate.arm_name, self.sizes.tolist()), "all"]

    @results.derived(name="k", key=True)
    def sizes_by_step(self) -> Ints:
        """Panel sizes (n_steps, n_sizes + 1)."""
        sizes = np.broadcast_to(self.sizes, (len(self.steps), len(self.sizes)))
        return np.column_stack([sizes, self.n_judges])

    @results.derived()
    def skill(self) -> Floats:
        """Share of the step's base rate that a panel removes."""
        return 1.0 - self.nll.value / self.null_nll[:, None]

    @results.derived(name="verdict")
    def verdicts(self) -> list[list[str]]:
        """The verdict on every panel of every step."""
        columns = range(len(self.sizes) + 1)
        return [[self.verdict(name, column) for column in columns] for name in self.steps]

    def row(self, step: str) -> int:
        """Position of a step in the arrays."""
        return self.steps.index(step)

    def has(self, step: str) -> bool:
        """Whether a step was tried."""
        return step in self.steps

    def steps_for(self, coding: str) -> tuple[Step, ...]:
        """The steps under one-class coding, or all others."""
        return tuple(
            STEPS[name]
            for name in self.steps
            if (STEPS[name].coding == "one_class") == (coding == "one_class")
        )

    def columns(self) -> list[int]:
        """Positions of the compared panels, then of all judges."""
        return [int(np.searchsorted(self.sizes, k)) for k in self.panels] + [len(self.sizes)]

    def arm(self, step: str, column: int) -> str:
        """``top-5``, or ``all 148``."""
        if column < len(self.sizes):
            return accumulate.arm_name(int(self.sizes[column]))
        return f"all {self.n_judges[self.row(step)]:,}"

    def reversal(self, calibrated: str, k: int) -> Reversal | None:
        """The reversal at one panel size, if that was tried."""
        raw = {after: before for before, after in PAIRS}[calibrated]
        if k not in self.panels or not (self.has(raw) and self.has(calibrated)):
            return None
        at = int(np.searchsorted(self.sizes, k))
        before, after = (self.against_all[self.row(step), at] for step in (raw, calibrated))
        return Reversal(raw, calibrated, k, before, after)

    def reversals(self) -> tuple[Reversal, ...]:
        """Every pair of steps at every panel size."""
        reversals = [self.reversal(after, int(k)) for _, after in PAIRS for k in self.panels]
        return tuple(reversal for reversal in reversals if reversal is not None)

    def verdict(self, step: str, column: int) -> str:
        """What the interval of a panel against all judges decides; empty where it cannot."""
        at = self.row(step), column
        if column == len(self.sizes):
            return "reference"
        _, lo, hi = self.against_all[at]
        if not np.isfinite(lo):
            return ""
        margin = inference.MARGIN * float(self.nll.value[self.row(step), -1])
        return inference.verdict(lo, hi, margin, identical=lo == hi == 0.0)

    def frame(self) -> pd.DataFrame:
        """One row per step and panel size that was tried, with what its figures measure."""
        return results.SplitResult.frame(self).dropna(subset=["nll"]).reset_index(drop=True)

    def decisions(self) -> dict[str, Any]:
        """All judges under every step, and the reversals."""
        all_judges = {"measures": self.measures, "nll": self.nll.value[:, -1]}
        nulls = {name: getattr(self, name) for name in ("null_nll", "constant_nll")}
        by_step = pd.DataFrame({"step": self.steps, **all_judges, **nulls})
        return {
            "all_judges": codec.to_plain(by_step.to_dict("records")),
            "reversals": [
                codec.to_plain(results.flat_row(reversal, raw_delta="raw_"))
                | {"outcome": reversal.outcome, "measures": STEPS[reversal.calibrated].measures}
                for reversal in self.reversals()
            ],
            "n_judges": int(self.n_judges.max()),
        }


MAP_NAMES: tuple[str, ...] = ("constant", "paper", "paper_monotone", "honest_clipped")
"""A constant score and all judges under the paper's map; signs bound; honest labels."""


def fitted_maps(codings: Codings) -> Floats:
    """Parameters a, b, c of every map of ``MAP_NAMES``, (4, 3); inputs are clipped to [.001, .999].

    ``constant`` is fitted to the score 0 (probability one half) on every item.
    """
    one_class, honest = codings.one_class, codings.honest.ballots
    seen = _all_judges(one_class)
    return np.stack(
        [
            _params(np.zeros_like(seen), one_class, "beta_clipped"),
            _params(seen, one_class, "beta_clipped"),
            _params(seen, one_class, "beta"),
            _params(_all_judges(honest), honest, "beta_clipped"),
        ]
    )


def apply(params: Floats, p: Floats) -> Floats:
    """Calibrated probabilities of raw ones, clipped to [.001, .999] before the logs."""
    odds = np.clip(np.log(p / (1.0 - p)), -INPUT_CLIP, INPUT_CLIP)
    a, b, c = params
    m = -a * np.logaddexp(0.0, -odds) - b * np.logaddexp(0.0, odds) + c
    return np.asarray(1.0 / (1.0 + np.exp(-m)))


def _all_judges(ballots: Ballots) -> Floats:
    """Clipped one-coin logits (1, n_items) of all judges on the items they were weighted on."""
    rows = np.arange(ballots.n_items)
    scores = aggregation.panel_scores(
        ballots, Split(0, rows, rows[:1]), np.array([ballots.n_judges]), own_label="seen"
    )
    return np.clip(scores.calibration, -INPUT_CLIP, INPUT_CLIP)


def _params(logits: Floats, ballots: Ballots, calibrator: Calibrator) -> Floats:
    signs = ballots.signs.astype(np.float64)
    shape = fit((calibrator,), logits, signs, symmetric=ballots.symmetric)[calibrator].shape(0)
    if not isinstance(shape, MapShape):
        raise TypeError(f"{calibrator} is no map of three parameters")
    return np.array([shape.a, shape.b, shape.c])


@dataclass(frozen=True, slots=True)
class ClaimSpec(options.StudySpec):
    """What the claim needs: panels that are held against all judges, and whether to add ``joint``.

    Raises
    ------
    InputError
        A panel below 1.
    """

    panels: tuple[int, ...] = options.option(
        (3, 5, 10), "panel sizes held against all judges", check=options.check_panels
    )
    joint: bool = options.option(True, "add the joint aggregator, which sees votes jointly")


def sizes_of(result: Codings, panels: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Sizes below the smallest number of judges, as all judges differ in number between codings.

    Those drawn in the figure are 1, 2, 5, 10, ... and those asked for, which tables compare.
    """
    n = min(result.one_class.n_judges, result.honest.ballots.n_judges)
    round_ones = [m * 10**e for e in range(5) for m in (1, 2, 5)]
    drawn, compared = (
        np.array(sorted({k for k in sizes if k < n}), dtype=np.int64)
        for sizes in ((*round_ones, *panels), panels)
    )
    return drawn, compared


@results.frozen
class ClaimTally:
    """Scores of the splits: ``steps`` of the one-coin steps at every drawn size and all judges,
    ``last`` of the steps in ``LAST`` at the compared sizes and all judges, None without joint;
    ``falling`` (n_steps, n_sizes + 1) counts fitted maps with a < 0.
    """

    steps: accumulate.Tally
    last: accumulate.Tally | None
    falling: Ints = results.summed()


def run_chunk(votes: VoteMatrix, spec: ClaimSpec, chunk: contract.Chunk) -> ClaimTally:
    """Evaluate every step on the splits of one chunk."""
    result = codings(votes, spec.settings)
    drawn, compared = sizes_of(result, spec.panels)
    steps = one_coin_steps(randomized=result.randomized is not None)
    falling = np.zeros((len(steps), len(drawn) + 1), dtype=np.int64)

    def scored(steps: Sequence[Step], ks: Ints, falling: Ints) -> accumulate.Tally:
        seed = spec.settings.seed
        arms = partial(_arms, result, steps=steps, smaller=ks, seed=seed, falling=falling)
        return common.tally_of(result.honest, spec.settings, chunk, arms)

    last = None
    totals = scored(steps, drawn, falling)
    if spec.joint:
        pair = [STEPS[name] for name in LAST]
        last = scored(pair, compared, np.zeros((len(pair), len(compared) + 1), dtype=np.int64))
    return ClaimTally(totals, last, falling)


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    scores: metrics.ItemScores
    null: float
    constant: float
    fit: CalibrationFit


def _arms(
    result: Codings, split: Split, steps: Sequence[Step], smaller: Ints, seed: int, falling: Ints
) -> accumulate.Arms:
    """Arms of one split, one row per step; steps that share raw scores stand side by side or
    not.
    """
    by_name: dict[str, _Scored] = {}

    def source(step: Step) -> tuple[str, str, str]:
        return step.coding, step.aggregator, step.own_label

    for _, group in groupby(sorted(steps, key=source), key=source):
        by_name.update(_from_one_source(result, split, list(group), smaller, seed))
    rows = [by_name[step.name] for step in steps]
    for count, row in zip(falling, rows, strict=True):
        shapes = [row.fit.shape(column) for column in range(len(smaller) + 1)]
        count += [isinstance(shape, MapShape) and shape.a < 0.0 for shape in shapes]
    return accumulate.Arms.gathered(
        lambda name: [getattr(row.scores, name) for row in rows],
        null_nll=np.array([row.null for row in rows]),
        constant_nll=np.array([row.constant for row in rows]),
        replaced=np.array([row.fit.replaced.sum() for row in rows], dtype=np.int64),
    )


def _from_one_source(
    result: Codings, split: Split, steps: Sequence[Step], smaller: Ints, seed: int
) -> dict[str, _Scored]:
    """Steps that see the same raw scores, clipped or not."""
    first = steps[0]
    ballots = result.ballots(first.coding)
    sizes, key = np.append(smaller, ballots.n_judges), (split.number, 4)
    aggregator, own_label = first.aggregator, first.own_label
    raw = aggregation.panel_scores(
        ballots, split, sizes, aggregator=aggregator, own_label=own_label, seed=seed, key=key
    )
    in_sample = own_label == "seen"
    source: dict[str, _Scored] = {}
    for clipped in sorted({step.clipped for step in steps}):
        own = [step for step in steps if step.clipped == clipped]
        names = tuple(step.calibrator for step in own)
        scores = _clipped(raw) if clipped else raw
        fitted = evaluation.calibrate(ballots, split, scores, names, in_sample=in_sample)
        out = evaluation.evaluate(ballots, split, fitted)
        for step in own:
            name = step.calibrator
            source[step.name] = _Scored(
                out.evaluation[name], out.null_nll, out.constant_nll[name], fitted.maps[name]
            )
    return source


def _clipped(scores: prefixes.PrefixScores) -> prefixes.PrefixScores:
    """The same scores from probabilities clipped to [.001, .999]."""
    sides = scores.calibration, scores.evaluation
    calibrated, evaluated = (np.clip(side, -INPUT_CLIP, INPUT_CLIP) for side in sides)
    return replace(scores, calibration=calibrated, evaluation=evaluated)


def merge(votes: VoteMatrix, spec: ClaimSpec, partial: ClaimTally) -> Claim:
    """Levels, changes from step to step and the reversal, from whatever splits are in."""
    result = codings(votes, spec.settings)
    drawn, compared = sizes_of(result, spec.panels)
    steps = one_coin_steps(randomized=result.randomized is not None)
    totals = partial.steps
    named_steps = steps if partial.last is None else (*steps, STEPS["joint"])
    falling = partial.falling / len(totals.numbers)
    return Claim.from_splits(
        result.honest,
        spec,
        totals,
        steps=tuple(step.name for step in named_steps),
        sizes=drawn,
        panels=compared,
        n_judges=np.array([result.ballots(step.coding).n_judges for step in named_steps]),
        **_estimates(partial, result.honest.ballots.units, steps, drawn, compared),
        falling=np.vstack([falling, np.zeros((len(named_steps) - len(steps), falling.shape[1]))]),
        maps=fitted_maps(result),
        warnings=_warnings(result, steps, totals),
    )


def _estimates(
    partial: ClaimTally, units: Ints, steps: tuple[Step, ...], sizes: Ints, panels: Ints
) -> dict[str, Any]:
    """Fields of :class:`Claim` that rest on scores; ``steps`` are those of ``partial.steps``.

    ``partial.last`` holds the steps ``LAST`` at ``panels`` and all judges; the second is new.
    """
    last = partial.last
    names = [step.name for step in steps]
    before = [-1 if step.before is None else names.index(step.before) for step in steps]
    estimates = _levels_and_changes(partial.steps, units, before)
    if last is None:
        return estimates
    if STEPS["joint"].before != LAST[0]:
        raise ValueError("joint must come after the step it is compared with")
    new = LAST.index("joint")
    extra = _levels_and_changes(last, units, [-1, 0])
    tried = np.isin(np.append(sizes, 0), np.append(panels, 0))  # 0 stands for all judges
    places = np.cumsum(tried) - 1
    for name in ("nll", "against_all", "change"):
        row = extra[name][new][places].where(tried)
        estimates[name] = interval.Interval.joined([estimates[name], row[None]])
    row = np.where(tried, extra["accuracy"][new][places], np.nan)
    estimates["accuracy"] = np.vstack([estimates["accuracy"], row])
    for name in ("null_nll", "constant_nll"):
        estimates[name] = np.append(estimates[name], extra[name][new])
    return estimates


def _levels_and_changes(tally: accumulate.Tally, units: Ints, before: list[int]) -> dict[str, Any]:
    """Levels and differences (C, A); ``before[c]`` is the row that row c changes, or -1."""
    n, estimated = tally.n_arms, accumulate.Estimator.of(tally, units)
    levels = accumulate.grid_estimates(tally, estimated)
    item_means, _ = tally.item_means()
    items, splits = item_means[0, :, :n], tally.split_means[:, 0, :, :n]
    unknown = interval.Interval.full(n, np.nan)

    def difference(item: Floats, split: Floats) -> interval.Interval:
        return interval.Interval.of(estimated(item, split)) if len(item) else unknown[:0]

    against_all, change = [], []
    for c, b in enumerate(before):
        smaller = difference(items[c, :-1] - items[c, [-1]], splits[:, c, :-1] - splits[:, c, [-1]])
        against_all.append(interval.Interval.joined([smaller, unknown[:1]]))
        moved = unknown if b < 0 else difference(items[c] - items[b], splits[:, c] - splits[:, b])
        change.append(moved)
    return {
        "nll": levels["nll"][:, :n],
        "accuracy": levels["accuracy"].value[:, :n],
        "null_nll": tally.null_nll.mean(axis=0),
        "constant_nll": tally.constant_nll.mean(axis=0),
        "against_all": interval.Interval.stacked(against_all),
        "change": interval.Interval.stacked(change),
    }


def _warnings(result: Codings, steps: Sequence[Step], totals: accumulate.Tally) -> tuple[str, ...]:
    voting = ""
    aside = result.one_class.n_judges - result.honest.ballots.n_judges
    if aside:
        them = "it votes" if aside == 1 else "they vote"
        voting = f"Under one-class coding {them} all the same: nothing is dropped there."
    labels = [f"{step.calibrator} ({step.coding.replace('_', ' ')} labels)" for step in steps]
    return common.run_warnings(
        result.honest, totals, *common.replaced_fits(labels, totals), first=[voting]
    )


def _deciding(result: Claim) -> contract.Deciding:
    for reversal in result.reversals():
        yield from ((reversal.raw_delta, 0.0), (reversal.delta, 0.0))


CLAIM: contract.Study[ClaimSpec, ClaimTally, Claim] = contract.Study(
    name="claim",
    title="The paper's claim",
    question="Does the paper's reversal hold here?",
    run_chunk=run_chunk,
    merge=merge,
    settled=contract.steady(merge, _deciding),
)
