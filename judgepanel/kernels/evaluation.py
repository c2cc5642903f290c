"""One split from ballots to scores: rank, aggregate, calibrate, evaluate, for every prefix k.

The single path that studies, the recommendation and the benchmarks go through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import CalibrationFit, Calibrator, column_blocks, fit
from judgepanel.kernels.prefixes import Aggregator, Floats, Index, Ranking, prefix_scores
from judgepanel.scoring.metrics import (
    ItemScores,
    blank_scores,
    item_scores,
    mean_nll,
    null_logit,
)
from judgepanel.scoring.splits import Split


@dataclass(frozen=True, slots=True)
class Recipe:
    """How every panel of a split is built.

    ``in_sample`` is the paper's protocol: calibrators see scores that know their own label, and an
    item without votes passes through the calibrator as a logit of 0. Otherwise own labels are
    removed, and an item without votes gets the null prediction.
    """

    aggregator: Aggregator = "one_coin"
    calibrators: tuple[Calibrator, ...] = ("none", "temperature", "beta")
    ranking: Ranking = "accuracy"
    in_sample: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SplitScores:
    """Scores of one split.

    ``evaluation[name]`` scores the evaluation rows (n_k, n_eval) under each calibrator;
    ``calibration_nll[name]`` (n_k,) is the mean NLL on the rows the calibrator was fitted to, from
    scores without their own label: what a choice of k may look at. ``replaced[name]`` counts the
    panel sizes for which temperature stands in. ``null_nll`` and ``constant_nll[name]`` score the
    base rate, and a constant score through the same calibrator.
    """

    evaluation: Mapping[Calibrator, ItemScores]
    calibration_nll: Mapping[Calibrator, Floats]
    replaced: Mapping[Calibrator, int]
    order: Index
    null_nll: float
    constant_nll: Mapping[Calibrator, float]


def evaluate_split(ballots: Ballots, split: Split, ks: Index, recipe: Recipe) -> SplitScores:
    """Fit on the calibration rows of a split and score its evaluation rows, for all ``ks``."""
    scores = prefix_scores(
        ballots,
        split.calibration,
        split.evaluation,
        ks,
        aggregator=recipe.aggregator,
        ranking=recipe.ranking,
        own_label="seen" if recipe.in_sample else "removed",
    )
    signs = ballots.signs.astype(np.float64)
    fit_signs, eval_signs = signs[split.calibration], signs[split.evaluation]
    null = null_logit(float(np.mean(fit_signs > 0)), symmetric=ballots.symmetric)
    fit_empty = None if recipe.in_sample else scores.calibration_empty
    eval_empty = None if recipe.in_sample else scores.evaluation_empty
    weights = None if fit_empty is None else (~fit_empty).astype(np.float64)
    names, symmetric = recipe.calibrators, ballots.symmetric
    maps = fit(names, scores.calibration, fit_signs, weights, symmetric=symmetric)
    held = {name: blank_scores(scores.evaluation.shape) for name in names}
    seen = {name: np.empty(len(ks)) for name in names}
    for block in column_blocks(len(ks), max(len(fit_signs), len(eval_signs))):
        for name, map_ in maps.items():
            part = CalibrationFit(map_.params[block], map_.replaced[block], map_.clip)
            logits = _mapped(part, scores.calibration[block], fit_empty, block, null)
            seen[name][block] = mean_nll(logits, fit_signs)
            logits = _mapped(part, scores.evaluation[block], eval_empty, block, null)
            item_scores(logits, eval_signs, symmetric=symmetric, out=_rows(held[name], block))
    constant = fit(names, np.zeros((1, len(fit_signs))), fit_signs, symmetric=symmetric)
    blank = np.zeros((1, len(eval_signs)))
    return SplitScores(
        evaluation=held,
        calibration_nll=seen,
        replaced={name: int(map_.replaced.sum()) for name, map_ in maps.items()},
        order=scores.order,
        null_nll=float(mean_nll(np.full(len(eval_signs), null), eval_signs)),
        constant_nll={
            name: float(mean_nll(map_(blank), eval_signs)[0]) for name, map_ in constant.items()
        },
    )


def _mapped(
    map_: CalibrationFit,
    logits: Floats,
    empty: NDArray[np.bool_] | None,
    block: slice,
    null: float,
) -> Floats:
    """Calibrated logits of a block of panels; items without votes get the null prediction."""
    calibrated = map_(logits)
    if empty is not None and empty[block].any():
        calibrated = np.where(empty[block], null, calibrated)
    return calibrated


def _rows(scores: ItemScores, block: slice) -> ItemScores:
    return ItemScores(*(getattr(scores, field.name)[block] for field in _FIELDS))


_FIELDS = fields(ItemScores)
