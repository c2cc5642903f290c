"""Does the paper's reversal hold here? The paper's protocol beside the honest one, step by step.

The claim (arXiv 2605.09702, section 4.2): before calibration a few judges beat them all, after it
all beat the few. The study evaluates the same panels on the same splits under one-class coding
with the paper's recipe, and then changes one thing at a time until the recipe is honest
(docs/claim.md). The variants are pinned here; settings give judges, splits, share and seed.

Cost per split: one cumulative pass per coding and a batch of three-parameter fits a calibrator,
some 30 ms for 2985 items and 149 judges; ``joint`` adds six fits per panel, over a second there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregate.aggregation import panel_scores
from judgepanel.kernels.aggregate.prefixes import PrefixScores
from judgepanel.kernels.calibrate.calibration import INPUT_CLIP, CalibrationFit, MapShape
from judgepanel.kernels.evaluate.calibrated import calibrate, evaluate
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.metrics import ItemScores
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, tally
from judgepanel.studies.claim.claim_result import Claim
from judgepanel.studies.claim.maps import fitted_maps
from judgepanel.studies.claim.steps import LAST, STEPS, Codings, Step, codings, one_coin_steps
from judgepanel.studies.common import check_panels, run_fields, splits_of
from judgepanel.studies.compare import Estimator, grid_estimates
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.looks import Deciding, steady
from judgepanel.studies.notes import few_labels, stand_ins
from judgepanel.studies.partials import frozen, summed
from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    """What the claim needs: panels that are held against all judges, and whether to add ``joint``.

    Raises
    ------
    InputError
        A panel below 1.
    """

    settings: Settings = Settings()
    panels: tuple[int, ...] = field(
        default=(3, 5, 10), metadata={"help": "panel sizes held against all judges"}
    )
    joint: bool = field(
        default=True, metadata={"help": "add the joint aggregator, which sees votes jointly"}
    )

    def __post_init__(self) -> None:
        check_panels(self.panels)


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """Panel sizes: ``drawn`` (n_sizes,) for the figure, ``compared`` (n_panels,) for the tables;
    neither holds all judges, whose number differs between codings.
    """

    drawn: Ints
    compared: Ints


def sizes_of(result: Codings, panels: tuple[int, ...]) -> Sizes:
    """Sizes below the smallest number of judges; drawn ones are 1, 2, 5, 10, ... and those asked
    for.
    """
    n = min(result.one_class.n_judges, result.honest.ballots.n_judges)
    round_ones = [m * 10**e for e in range(5) for m in (1, 2, 5)]
    sizes = sorted({k for k in (*round_ones, *panels) if k < n})
    return Sizes(
        np.array(sizes, dtype=np.int64),
        np.array(sorted({k for k in panels if k < n}), dtype=np.int64),
    )


@frozen
class ClaimTally:
    """Scores of the splits: ``steps`` of the one-coin steps at every drawn size and all judges,
    ``last`` of the steps in ``LAST`` at the compared sizes and all judges, None without joint;
    ``falling`` (n_steps, n_sizes + 1) counts fitted maps with a < 0.
    """

    steps: Tally
    last: Tally | None
    falling: Ints = summed()


def run_chunk(votes: VoteMatrix, spec: ClaimSpec, chunk: Chunk) -> ClaimTally:
    """Evaluate every step on the splits of one chunk."""
    result = codings(votes, spec.settings)
    sizes = sizes_of(result, spec.panels)
    steps = one_coin_steps(randomized=result.randomized is not None)
    falling = np.zeros((len(steps), len(sizes.drawn) + 1), dtype=np.int64)

    def scored(steps: Sequence[Step], ks: Ints, falling: Ints) -> Iterator[tuple[Split, Arms]]:
        for split in splits_of(result.honest, spec.settings, chunk):
            yield split, _arms(result, split, steps, ks, spec.settings.seed, falling)

    n_items, seed = result.one_class.n_items, spec.settings.seed
    last = None
    totals = tally(scored(steps, sizes.drawn, falling), n_items=n_items, seed=seed)
    if spec.joint:
        pair = [STEPS[name] for name in LAST]
        uncounted = np.zeros((len(pair), len(sizes.compared) + 1), dtype=np.int64)
        last = tally(scored(pair, sizes.compared, uncounted), n_items=n_items, seed=seed)
    return ClaimTally(totals, last, falling)


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    scores: ItemScores
    null: float
    constant: float
    fit: CalibrationFit


def _arms(
    result: Codings, split: Split, steps: Sequence[Step], smaller: Ints, seed: int, falling: Ints
) -> Arms:
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
    return Arms(
        nll=tuple(row.scores.nll for row in rows),
        brier=tuple(row.scores.brier for row in rows),
        hit=tuple(row.scores.hit for row in rows),
        ece=np.stack([row.scores.ece for row in rows]),
        chosen_on=np.zeros((len(rows), len(smaller) + 1)),
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
    raw = panel_scores(
        ballots,
        split,
        np.append(smaller, ballots.n_judges),
        aggregator=first.aggregator,
        own_label=first.own_label,
        seed=seed,
        key=(split.number, 4),
    )
    in_sample = first.own_label == "seen"
    source: dict[str, _Scored] = {}
    for clipped in sorted({step.clipped for step in steps}):
        own = [step for step in steps if step.clipped == clipped]
        names = tuple(step.calibrator for step in own)
        scores = _clipped(raw) if clipped else raw
        fitted = calibrate(ballots, split, scores, names, in_sample=in_sample)
        out = evaluate(ballots, split, fitted, scores.order, np.zeros((len(names), len(raw.ks))))
        for step in own:
            source[step.name] = _Scored(
                out.evaluation[step.calibrator],
                out.null_nll,
                out.constant_nll[step.calibrator],
                fitted.maps[step.calibrator],
            )
    return source


def _clipped(scores: PrefixScores) -> PrefixScores:
    """The same scores from probabilities clipped to [.001, .999]."""
    return replace(
        scores,
        calibration=np.clip(scores.calibration, -INPUT_CLIP, INPUT_CLIP),
        evaluation=np.clip(scores.evaluation, -INPUT_CLIP, INPUT_CLIP),
    )


def merge(votes: VoteMatrix, spec: ClaimSpec, partial: ClaimTally) -> Claim:
    """Levels, changes from step to step and the reversal, from whatever splits are in."""
    result = codings(votes, spec.settings)
    sizes = sizes_of(result, spec.panels)
    steps = one_coin_steps(randomized=result.randomized is not None)
    totals = partial.steps
    last = None if partial.last is None else partial.last
    named_steps = (*steps, STEPS["joint"]) if last is not None else steps
    units = result.honest.ballots.units
    falling = partial.falling / len(totals.numbers)
    return Claim(
        steps=tuple(step.name for step in named_steps),
        sizes=sizes.drawn,
        panels=sizes.compared,
        n_judges=np.array([result.ballots(step.coding).n_judges for step in named_steps]),
        **_estimates(totals, last, units, steps, sizes.drawn, sizes.compared),
        falling=np.vstack([falling, np.zeros((len(named_steps) - len(steps), falling.shape[1]))]),
        maps=fitted_maps(result),
        n_calibration=float(totals.n_calibration.mean()),
        **run_fields(result.honest, spec.settings, totals),
        warnings=_warnings(result, steps, totals),
    )


def _estimates(
    tally: Tally,
    last: Tally | None,
    units: Ints,
    steps: tuple[Step, ...],
    sizes: Ints,
    panels: Ints,
) -> dict[str, Any]:
    """Fields of :class:`Claim` that rest on scores; ``steps`` are those of ``tally``.

    ``last`` holds the steps ``LAST`` at ``panels`` and all judges, of which the second is new.
    """
    names = [step.name for step in steps]
    before = [-1 if step.before is None else names.index(step.before) for step in steps]
    estimates = _levels_and_changes(tally, units, before)
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
        estimates[name] = Interval.joined([estimates[name], row[None]])
    row = np.where(tried, extra["accuracy"][new][places], np.nan)
    estimates["accuracy"] = np.vstack([estimates["accuracy"], row])
    for name in ("null_nll", "constant_nll"):
        estimates[name] = np.append(estimates[name], extra[name][new])
    return estimates


def _levels_and_changes(tally: Tally, units: Ints, before: list[int]) -> dict[str, Any]:
    """Levels and differences (C, A); ``before[c]`` is the row that row c changes, or -1."""
    n, estimated = tally.n_arms, Estimator.of(tally, units)
    levels = grid_estimates(tally, estimated)
    item_means, _ = tally.item_means()
    items, splits = item_means[0, :, :n], tally.split_means[:, 0, :, :n]
    unknown = Interval.full(n, np.nan)

    def difference(item: Floats, split: Floats) -> Interval:
        if len(split) < 2 or not len(item):
            return replace(unknown[: len(item)], value=item.mean(axis=-1))
        return Interval.of(estimated(item, split))

    against_all, change = [], []
    for c, b in enumerate(before):
        smaller = difference(items[c, :-1] - items[c, [-1]], splits[:, c, :-1] - splits[:, c, [-1]])
        against_all.append(Interval.joined([smaller, unknown[:1]]))
        moved = unknown if b < 0 else difference(items[c] - items[b], splits[:, c] - splits[:, b])
        change.append(moved)
    return {
        "nll": levels["nll"][:, :n],
        "accuracy": levels["accuracy"].value[:, :n],
        "null_nll": tally.null_nll.mean(axis=0),
        "constant_nll": tally.constant_nll.mean(axis=0),
        "against_all": Interval.stacked(against_all),
        "change": Interval.stacked(change),
    }


def _warnings(result: Codings, steps: Sequence[Step], totals: Tally) -> tuple[str, ...]:
    warnings = list(result.honest.notices)
    aside = result.one_class.n_judges - result.honest.ballots.n_judges
    if aside:
        them = "it votes" if aside == 1 else "they vote"
        warnings.append(f"Under one-class coding {them} all the same: nothing is dropped there.")
    warnings += few_labels(result.honest, float(totals.n_calibration.mean()))
    labels = [f"{step.calibrator} ({step.coding.replace('_', ' ')} labels)" for step in steps]
    fits = len(totals.numbers) * totals.n_arms
    return tuple(warnings + stand_ins(labels, totals.replaced.tolist(), fits))


def _deciding(result: Claim) -> Deciding:
    for reversal in result.reversals():
        yield from ((reversal.raw_delta, 0.0), (reversal.delta, 0.0))


CLAIM: Study[ClaimSpec, ClaimTally, Claim] = Study(
    name="claim",
    title="The paper's claim",
    question="Does the paper's reversal hold here?",
    spec=ClaimSpec,
    result=Claim,
    partial=ClaimTally,
    run_chunk=run_chunk,
    merge=merge,
    settled=steady(merge, _deciding),
)
