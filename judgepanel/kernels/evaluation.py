"""One split from ballots to scores: rank, aggregate, calibrate, evaluate, for every prefix k.

The single path that studies, the recommendation and the benchmarks go through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregation import Aggregator, cross_fits, panel_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import CalibrationFit, Calibrator, column_blocks, fit
from judgepanel.kernels.prefixes import Floats, Index, PrefixScores, Ranking
from judgepanel.scoring.metrics import (
    ItemScores,
    blank_scores,
    item_scores,
    mean_nll,
    null_logit,
)
from judgepanel.scoring.splits import Split, folds, subsplit


@dataclass(frozen=True, slots=True)
class Recipe:
    """How every panel of a split is built.

    ``in_sample`` is the paper's protocol: calibrators see scores that know their own label, and an
    item without votes passes through the calibrator as a logit of 0. Otherwise own labels are
    removed, and an item without votes gets the null prediction. ``seed`` draws the folds of what
    is cross-fitted.
    """

    aggregator: Aggregator = "one_coin"
    calibrators: tuple[Calibrator, ...] = ("none", "temperature", "beta")
    ranking: Ranking = "accuracy"
    in_sample: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """How panel sizes are compared on calibration rows alone: ``offered`` (n_k,) marks those a
    choice may take; closed forms are refitted in ``n_folds`` folds, drawn by ``key``.
    """

    offered: NDArray[np.bool_]
    n_folds: int
    key: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SplitScores:
    """Scores of one split.

    ``evaluation[name]`` scores the evaluation rows (n_k, n_eval) under each calibrator;
    ``replaced[name]`` counts the panel sizes for which temperature stands in. ``null_nll`` and
    ``constant_nll[name]`` score the base rate, and a constant score through the same calibrator.
    ``chosen_on`` (n_calibrators, n_k) is the NLL a choice of the size may look at, infinite for
    sizes not offered; empty where no choice was asked for.
    """

    evaluation: Mapping[Calibrator, ItemScores]
    replaced: Mapping[Calibrator, int]
    order: Index
    null_nll: float
    constant_nll: Mapping[Calibrator, float]
    chosen_on: Floats


def evaluate_split(
    ballots: Ballots, split: Split, ks: Index, recipe: Recipe, choice: Choice | None = None
) -> SplitScores:
    """Fit on the calibration rows of a split and score its evaluation rows, for all ``ks``."""
    scores = _scores(ballots, split, ks, recipe, (split.number, 4))
    fitted = _fitted(ballots, split, scores, recipe)
    chosen_on = np.full((len(recipe.calibrators) if choice else 0, len(ks)), np.inf)
    if choice is not None:
        chosen_on[:, choice.offered] = _compared(ballots, split, ks, recipe, choice, scores)
    return _evaluated(ballots, split, fitted, recipe, chosen_on)


def evaluate_nested(
    ballots: Ballots, split: Split, ks: Index, recipe: Recipe, *, fraction: float = 0.7
) -> SplitScores:
    """The paper's nested form: ``fraction`` of the calibration rows fits the aggregator and the
    rest the calibrator, so that no score knows its own label.
    """
    key = (split.number, 6)
    learn, hold = subsplit(
        ballots.units, split.calibration, fraction=fraction, seed=recipe.seed, key=key
    )
    scores = panel_scores(
        ballots,
        Split(split.number, learn, np.concatenate([hold, split.evaluation])),
        ks,
        aggregator=recipe.aggregator,
        ranking=recipe.ranking,
        own_label="seen",
        seed=recipe.seed,
        key=(*key, 1),
    )
    cut = len(hold)
    apart = replace(
        scores,
        calibration=scores.evaluation[:, :cut],
        calibration_empty=scores.evaluation_empty[:, :cut],
        evaluation=scores.evaluation[:, cut:],
        evaluation_empty=scores.evaluation_empty[:, cut:],
        fold=None,
    )
    held = Split(split.number, hold, split.evaluation)
    return _evaluated(
        ballots, held, _fitted(ballots, held, apart, recipe), recipe, np.zeros((0, len(ks)))
    )


def _evaluated(
    ballots: Ballots, split: Split, fitted: _Fitted, recipe: Recipe, chosen_on: Floats
) -> SplitScores:
    names, symmetric = recipe.calibrators, ballots.symmetric
    n_k = len(fitted.logits)
    n_eval = len(fitted.signs)
    held = {name: blank_scores((n_k, n_eval)) for name in names}
    for block in column_blocks(n_k, n_eval):
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
        chosen_on=chosen_on,
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
    if cross_fits(recipe.aggregator):
        whole = Split(0, rows, rows[:0])
        return _nll_by_fold(ballots, whole, _scores(ballots, whole, ks, recipe, key), recipe)
    total = {name: np.zeros(len(ks)) for name in recipe.calibrators}
    for inner in folds(ballots.units, rows, n_folds, seed=seed, key=key):
        scores = _scores(ballots, inner, ks, recipe, (*key, inner.number))
        _add_nll(total, _fitted(ballots, inner, scores, recipe), recipe)
    return {name: nll / len(rows) for name, nll in total.items()}


def _compared(
    ballots: Ballots,
    split: Split,
    ks: Index,
    recipe: Recipe,
    choice: Choice,
    scores: PrefixScores,
) -> Floats:
    """NLL (n_calibrators, n_offered) on calibration rows alone."""
    if scores.fold is not None:
        found = _nll_by_fold(ballots, split, scores, recipe)
        return np.stack([found[name][choice.offered] for name in recipe.calibrators])
    found = inner_nll(
        ballots,
        split.calibration,
        ks[choice.offered],
        recipe,
        n_folds=choice.n_folds,
        seed=recipe.seed,
        key=choice.key,
    )
    return np.stack([found[name] for name in recipe.calibrators])


def _nll_by_fold(
    ballots: Ballots, split: Split, scores: PrefixScores, recipe: Recipe
) -> dict[Calibrator, Floats]:
    """NLL (n_k,) of cross-fitted calibration scores, each fold under calibrators of the others."""
    fold = scores.fold
    if fold is None:
        raise ValueError("these scores were not cross-fitted")
    total = {name: np.zeros(len(scores.ks)) for name in recipe.calibrators}
    for number in np.unique(fold):
        own = fold == number
        part = replace(
            scores,
            calibration=scores.calibration[:, ~own],
            calibration_empty=scores.calibration_empty[:, ~own],
            evaluation=scores.calibration[:, own],
            evaluation_empty=scores.calibration_empty[:, own],
            fold=fold[~own],
        )
        inner = Split(int(number), split.calibration[~own], split.calibration[own])
        _add_nll(total, _fitted(ballots, inner, part, recipe), recipe)
    return {name: nll / len(fold) for name, nll in total.items()}


def _add_nll(total: dict[Calibrator, Floats], fitted: _Fitted, recipe: Recipe) -> None:
    for block in column_blocks(len(fitted.logits), len(fitted.signs)):
        for name in recipe.calibrators:
            nll = mean_nll(fitted.calibrated(name, block), fitted.signs)
            total[name][block] += nll * len(fitted.signs)


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


def _scores(
    ballots: Ballots, split: Split, ks: Index, recipe: Recipe, key: tuple[int, ...]
) -> PrefixScores:
    return panel_scores(
        ballots,
        split,
        ks,
        aggregator=recipe.aggregator,
        ranking=recipe.ranking,
        own_label="seen" if recipe.in_sample else "removed",
        seed=recipe.seed,
        key=key,
    )


def _fitted(ballots: Ballots, split: Split, scores: PrefixScores, recipe: Recipe) -> _Fitted:
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
