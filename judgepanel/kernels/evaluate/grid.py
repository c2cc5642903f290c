"""All judges under several aggregators at once: one column of raw scores per aggregator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.aggregation import Aggregator, cross_fits, panel_scores
from judgepanel.kernels.aggregate.crossfit import N_FOLDS
from judgepanel.kernels.aggregate.prefixes import OwnLabel, PrefixScores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import CROSS_VALIDATED, Calibrator
from judgepanel.kernels.evaluate.calibrated import (
    SplitScores,
    calibrate,
    calibrate_each,
    evaluate,
    nll_by_fold,
    summed_nll,
)
from judgepanel.scoring.metrics import null_logit
from judgepanel.scoring.splits import Split, fold_of, folds, subsplit

Form = Literal["cross_fitted", "nested"]
FORMS: tuple[Form, ...] = ("cross_fitted", "nested")
LEARNS = 0.7


@dataclass(frozen=True, slots=True)
class Pipelines:
    """Aggregators x calibrators of all judges.

    ``form`` cross_fitted fits both on all calibration rows, calibrators to scores not fitted to
    their own labels; nested (the paper's) gives ``LEARNS`` of the rows to the aggregator and the
    rest to the calibrator. ``in_sample`` is the paper's protocol.
    """

    aggregators: tuple[Aggregator, ...]
    calibrators: tuple[Calibrator, ...]
    form: Form = "cross_fitted"
    in_sample: bool = False
    seed: int = 0


def evaluate_grid(ballots: Ballots, split: Split, pipelines: Pipelines) -> SplitScores:
    """Score every cell of the grid; columns follow ``aggregators``.

    ``chosen_on`` is the cross-validated NLL of every cell on the calibration rows alone, infinite
    if the calibrator itself makes a choice, which would need another level of nesting.
    """
    names = pipelines.calibrators
    null = null_logit(
        float(np.mean(ballots.signs[split.calibration] > 0)), symmetric=ballots.symmetric
    )
    if pipelines.form == "nested":
        split, scores = _nested(ballots, split, pipelines)
    else:
        seen: OwnLabel = "seen" if pipelines.in_sample else "removed"
        scores = _columns(ballots, split, pipelines, seen)
    chosen_on = _chosen_on(ballots, split, scores, pipelines)
    fitted = calibrate(ballots, split, scores, names, in_sample=pipelines.in_sample)
    return evaluate(ballots, split, replace(fitted, null=null), scores.order, chosen_on)


def _chosen_on(
    ballots: Ballots, split: Split, scores: PrefixScores, pipelines: Pipelines
) -> Floats:
    """Cross-validated NLL (n_calibrators, n_aggregators) of the cells a choice may take.

    Cross-fitted scores of the calibration rows are calibrated on the other folds. Leave-out counts
    cannot be used that way: they contain the labels of all other rows, so closed forms are refitted
    in every fold.
    """
    names = pipelines.calibrators
    offered = tuple(name for name in names if name not in CROSS_VALIDATED)
    values = np.full((len(names), len(pipelines.aggregators)), np.inf)
    if not offered:
        return values
    place = [names.index(name) for name in offered]
    pieces = folds(ballots.units, split.calibration, N_FOLDS, seed=pipelines.seed, key=_key(split))
    again = [
        column
        for column, name in enumerate(pipelines.aggregators)
        if pipelines.form == "cross_fitted" and (pipelines.in_sample or not cross_fits(name))
    ]
    if len(again) < len(pipelines.aggregators):
        fold = fold_of(pieces, ballots.n_items)[split.calibration]
        values[place] = nll_by_fold(ballots, split, scores, offered, fold)
    if again:
        seen: OwnLabel = "seen" if pipelines.in_sample else "removed"
        part = replace(
            pipelines, aggregators=tuple(pipelines.aggregators[column] for column in again)
        )
        scores_by_piece = [(piece, _columns(ballots, piece, part, seen)) for piece in pieces]
        fitted = calibrate_each(ballots, scores_by_piece, offered, in_sample=pipelines.in_sample)
        total = np.sum([summed_nll(maps) for maps in fitted], axis=0)
        values[np.ix_(place, again)] = total / len(split.calibration)
    return values


def _columns(
    ballots: Ballots, split: Split, pipelines: Pipelines, own_label: OwnLabel
) -> PrefixScores:
    """One column of scores per aggregator, for all judges."""
    prefix_scores = [
        panel_scores(
            ballots,
            split,
            np.array([ballots.n_judges]),
            aggregator=aggregator,
            own_label=own_label,
            seed=pipelines.seed,
            key=_key(split),
        )
        for aggregator in pipelines.aggregators
    ]
    first = prefix_scores[0]
    return PrefixScores(
        np.full(len(prefix_scores), ballots.n_judges),
        first.order,
        np.concatenate([scores.calibration for scores in prefix_scores]),
        np.concatenate([scores.calibration_empty for scores in prefix_scores]),
        np.concatenate([scores.evaluation for scores in prefix_scores]),
        np.concatenate([scores.evaluation_empty for scores in prefix_scores]),
    )


def _nested(ballots: Ballots, split: Split, pipelines: Pipelines) -> tuple[Split, PrefixScores]:
    """Return the split that holds out rows for the calibrator, and its scores."""
    learn, hold = subsplit(
        ballots.units,
        split.calibration,
        fraction=LEARNS,
        seed=pipelines.seed,
        key=(split.number, 6),
    )
    both = Split(split.number, learn, np.concatenate([hold, split.evaluation]))
    scores = _columns(ballots, both, pipelines, "seen")
    cut = len(hold)
    apart = replace(
        scores,
        calibration=scores.evaluation[:, :cut],
        calibration_empty=scores.evaluation_empty[:, :cut],
        evaluation=scores.evaluation[:, cut:],
        evaluation_empty=scores.evaluation_empty[:, cut:],
    )
    return Split(split.number, hold, split.evaluation), apart


def _key(split: Split) -> tuple[int, ...]:
    return split.number, 4
