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
from judgepanel.scoring.metrics import ItemScores, item_scores, null_logit
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
    names = recipe.calibrators
    pieces: dict[Calibrator, list[_Piece]] = {name: [] for name in names}
    for block in column_blocks(len(ks), max(len(fit_signs), len(eval_signs))):
        fit_empty = None if recipe.in_sample else scores.calibration_empty[block]
        eval_empty = None if recipe.in_sample else scores.evaluation_empty[block]
        weights = None if fit_empty is None else (~fit_empty).astype(np.float64)
        fit_logits, eval_logits = scores.calibration[block], scores.evaluation[block]
        maps = fit(names, fit_logits, fit_signs, weights, symmetric=ballots.symmetric)
        for name, map_ in maps.items():
            seen = _score(map_, fit_logits, fit_empty, fit_signs, null, ballots.symmetric)
            held = _score(map_, eval_logits, eval_empty, eval_signs, null, ballots.symmetric)
            pieces[name].append(_Piece(map_, held, seen.nll.mean(axis=-1)))
    constant = fit(names, np.zeros((1, len(fit_signs))), fit_signs, symmetric=ballots.symmetric)
    blank = np.zeros((1, len(eval_signs)))
    return SplitScores(
        evaluation={name: _joined([piece.held for piece in pieces[name]]) for name in names},
        calibration_nll={
            name: np.concatenate([piece.seen_nll for piece in pieces[name]]) for name in names
        },
        replaced={name: sum(int(p.map_.replaced.sum()) for p in pieces[name]) for name in names},
        order=scores.order,
        null_nll=float(item_scores(np.full(len(eval_signs), null), eval_signs).nll.mean()),
        constant_nll={
            name: float(item_scores(map_(blank), eval_signs).nll.mean())
            for name, map_ in constant.items()
        },
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """One calibrator on one block of panel sizes."""

    map_: CalibrationFit
    held: ItemScores
    seen_nll: Floats


def _score(
    map_: CalibrationFit,
    logits: Floats,
    empty: NDArray[np.bool_] | None,
    signs: Floats,
    null: float,
    symmetric: bool,
) -> ItemScores:
    calibrated = map_(logits)
    if empty is not None and empty.any():
        calibrated = np.where(empty, null, calibrated)
    return item_scores(calibrated, signs, symmetric=symmetric)


def _joined(blocks: list[ItemScores]) -> ItemScores:
    return ItemScores(
        *(np.concatenate([getattr(block, field.name) for block in blocks]) for field in _FIELDS)
    )


_FIELDS = fields(ItemScores)
