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
from judgepanel.scoring.splits import Split, folds


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
    ``replaced[name]`` counts the panel sizes for which temperature stands in. ``null_nll`` and
    ``constant_nll[name]`` score the base rate, and a constant score through the same calibrator.
    """

    evaluation: Mapping[Calibrator, ItemScores]
    replaced: Mapping[Calibrator, int]
    order: Index
    null_nll: float
    constant_nll: Mapping[Calibrator, float]


def evaluate_split(ballots: Ballots, split: Split, ks: Index, recipe: Recipe) -> SplitScores:
    """Fit on the calibration rows of a split and score its evaluation rows, for all ``ks``."""
    fitted = _fitted(ballots, split, ks, recipe)
    names, symmetric = recipe.calibrators, ballots.symmetric
    n_eval = len(fitted.signs)
    held = {name: blank_scores((len(ks), n_eval)) for name in names}
    for block in column_blocks(len(ks), n_eval):
        for name in names:
            out = _rows(held[name], block)
            item_scores(fitted.calibrated(name, block), fitted.signs, symmetric=symmetric, out=out)
    fit_signs = ballots.signs[split.calibration].astype(np.float64)
    constant = fit(names, np.zeros((1, len(fit_signs))), fit_signs, symmetric=symmetric)
    blank = np.zeros((1, n_eval))
    return SplitScores(
        evaluation=held,
        replaced={name: int(map_.replaced.sum()) for name, map_ in fitted.maps.items()},
        order=fitted.order,
        null_nll=float(mean_nll(np.full(n_eval, fitted.null), fitted.signs)),
        constant_nll={
            name: float(mean_nll(map_(blank), fitted.signs)[0]) for name, map_ in constant.items()
        },
    )


def inner_nll(
    ballots: Ballots,
    rows: Index,
    ks: Index,
    recipe: Recipe,
    *,
    n_folds: int,
    seed: int,
    key: tuple[int, ...],
) -> dict[Calibrator, Floats]:
    """Cross-validated NLL (n_k,) of every panel size on these rows alone: what a choice may see.

    Ranking, weights and calibrator are refitted in every fold, so selection is inside and no score
    knows the label it is held against. The folds come from ``SeedSequence(seed, spawn_key=key)``.
    """
    total = {name: np.zeros(len(ks)) for name in recipe.calibrators}
    for inner in folds(ballots.units, rows, n_folds, seed=seed, key=key):
        fitted = _fitted(ballots, inner, ks, recipe)
        for block in column_blocks(len(ks), len(fitted.signs)):
            for name in recipe.calibrators:
                nll = mean_nll(fitted.calibrated(name, block), fitted.signs)
                total[name][block] += nll * len(fitted.signs)
    return {name: nll / len(rows) for name, nll in total.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """Panels fitted on one side of a split, and the raw scores of the other side."""

    maps: Mapping[Calibrator, CalibrationFit]
    order: Index
    logits: Floats
    empty: NDArray[np.bool_] | None
    signs: Floats
    null: float

    def calibrated(self, name: Calibrator, block: slice) -> Floats:
        """Calibrated logits of a block of panels; items without votes get the null prediction."""
        whole = self.maps[name]
        part = CalibrationFit(whole.params[block], whole.replaced[block], whole.clip)
        calibrated = part(self.logits[block])
        if self.empty is not None and self.empty[block].any():
            calibrated = np.where(self.empty[block], self.null, calibrated)
        return calibrated


def _fitted(ballots: Ballots, split: Split, ks: Index, recipe: Recipe) -> _Fitted:
    scores = prefix_scores(
        ballots,
        split.calibration,
        split.evaluation,
        ks,
        aggregator=recipe.aggregator,
        ranking=recipe.ranking,
        own_label="seen" if recipe.in_sample else "removed",
    )
    fit_signs = ballots.signs[split.calibration].astype(np.float64)
    weights = None if recipe.in_sample else (~scores.calibration_empty).astype(np.float64)
    return _Fitted(
        maps=fit(
            recipe.calibrators,
            scores.calibration,
            fit_signs,
            weights,
            symmetric=ballots.symmetric,
        ),
        order=scores.order,
        logits=scores.evaluation,
        empty=None if recipe.in_sample else scores.evaluation_empty,
        signs=ballots.signs[split.evaluation].astype(np.float64),
        null=null_logit(float(np.mean(fit_signs > 0)), symmetric=ballots.symmetric),
    )


def _rows(scores: ItemScores, block: slice) -> ItemScores:
    return ItemScores(*(getattr(scores, field.name)[block] for field in _FIELDS))


_FIELDS = fields(ItemScores)
