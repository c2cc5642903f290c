"""One split from ballots to scores: rank, aggregate, calibrate, evaluate, for every prefix k.

Studies, the recommendation and the benchmarks all use this path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregate.aggregation import AnyAggregator, cross_fits, panel_scores
from judgepanel.kernels.aggregate.prefixes import PrefixScores, Ranking
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.evaluate.calibrated import (
    Calibrated,
    SplitScores,
    calibrate,
    calibrate_each,
    evaluate,
    item_losses,
    losses_by_fold,
)
from judgepanel.kernels.threads import both
from judgepanel.scoring.splits import Split, folds


@dataclass(frozen=True, slots=True)
class Recipe:
    """How every panel of a split is built.

    ``in_sample`` is the paper's protocol: calibrators see scores fitted to their own label, and an
    item without votes has a logit of 0 before calibration. Otherwise own labels are removed, and an
    item without votes gets the null prediction. ``seed`` determines the cross-fitting folds.
    """

    aggregator: AnyAggregator = "one_coin"
    calibrators: tuple[Calibrator, ...] = ("none", "temperature", "beta")
    ranking: Ranking = "accuracy"
    in_sample: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """How panel sizes are compared on calibration rows alone.

    ``offered`` (n_k,) marks the sizes to choose from; closed forms are refitted in ``n_folds``
    folds, drawn by ``key``.
    """

    offered: NDArray[np.bool_]
    n_folds: int
    key: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SplitFit:
    """What a split learns from its calibration rows; fields as in :class:`SplitScores`."""

    fitted: Calibrated
    order: Ints
    chosen_on: Floats
    inner: Floats | None


def evaluate_split(
    ballots: Ballots, split: Split, ks: Ints, recipe: Recipe, choice: Choice | None = None
) -> SplitScores:
    """Fit on the calibration rows of a split and score its evaluation rows, for all ``ks``."""
    fit = fit_split(ballots, split, ks, recipe, choice)
    scores = evaluate(ballots, split, fit.fitted, fit.order, fit.chosen_on)
    return replace(scores, inner=fit.inner)


def fit_split(
    ballots: Ballots, split: Split, ks: Ints, recipe: Recipe, choice: Choice | None = None
) -> SplitFit:
    """Fit on the calibration rows of a split, for all ``ks``."""
    if choice is None:
        scores, fitted = _own(ballots, split, ks, recipe, compared=False)
        return SplitFit(fitted, scores.order, np.zeros((0, len(ks))), None)
    own = partial(_own, ballots, split, ks, recipe, compared=True)
    if cross_fits(recipe.aggregator) and not recipe.in_sample:
        scores, fitted = own()
        losses = losses_by_fold(ballots, split, scores, recipe.calibrators)[:, choice.offered]
    else:
        inner = partial(inner_losses, ballots, split.calibration, ks[choice.offered], recipe)
        (scores, fitted), losses = both(own, partial(inner, n_folds=choice.n_folds, key=choice.key))
    chosen_on = np.full((len(losses), len(ks)), np.inf)
    chosen_on[:, choice.offered] = losses.mean(axis=-1)
    return SplitFit(fitted, scores.order, chosen_on, losses)


def _own(
    ballots: Ballots, split: Split, ks: Ints, recipe: Recipe, *, compared: bool
) -> tuple[PrefixScores, Calibrated]:
    """The raw scores of a split, and calibrators fitted to them."""
    scores = _scores(ballots, split, ks, recipe, (split.number, 4), compared=compared)
    return scores, calibrate(ballots, split, scores, recipe.calibrators, in_sample=recipe.in_sample)


def evaluate_each(
    ballots: Ballots, splits: Sequence[Split], ks: Ints, recipe: Recipe
) -> list[SplitScores]:
    """Run :func:`evaluate_split` for several splits, whose calibrators are fitted together."""
    # Splits of like size share a batch, which is padded to the largest.
    order = sorted(range(len(splits)), key=lambda i: len(splits[i].calibration))
    scores_by_split = [
        (split, _scores(ballots, split, ks, recipe, (split.number, 4), compared=False))
        for split in (splits[i] for i in order)
    ]
    nothing = np.zeros((0, len(ks)))
    fits = calibrate_each(ballots, scores_by_split, recipe.calibrators, in_sample=recipe.in_sample)
    results = {
        i: evaluate(ballots, split, fitted, scores.order, nothing)
        for i, (split, scores), fitted in zip(order, scores_by_split, fits, strict=True)
    }
    return [results[i] for i in range(len(splits))]


def inner_nll(
    ballots: Ballots,
    rows: Ints,
    ks: Ints,
    recipe: Recipe,
    *,
    n_folds: int,
    key: tuple[int, ...],
) -> Floats:
    """Return the mean over the rows of :func:`inner_losses`, (n_calibrators, n_k)."""
    losses = inner_losses(ballots, rows, ks, recipe, n_folds=n_folds, key=key)
    return np.asarray(losses.mean(axis=-1))


def inner_losses(
    ballots: Ballots,
    rows: Ints,
    ks: Ints,
    recipe: Recipe,
    *,
    n_folds: int,
    key: tuple[int, ...],
) -> Floats:
    """Cross-validated NLL (n_calibrators, n_k, n_rows) on these rows alone, for making choices.

    Ranking, weights and calibrator are refitted in every fold, so selection is nested and no score
    is fitted to the label it is compared with. The folds come from ``SeedSequence(recipe.seed,
    spawn_key=key)``; cross-fitted aggregators use the same folds.
    """
    if cross_fits(recipe.aggregator) and not recipe.in_sample:
        split = Split(0, rows, rows[:0])
        scores = _scores(ballots, split, ks, recipe, key)
        return losses_by_fold(ballots, split, scores, recipe.calibrators)
    losses = np.empty((len(recipe.calibrators), len(ks), len(rows)))
    place = np.full(ballots.n_items, -1)
    place[rows] = np.arange(len(rows))
    splits = folds(ballots.units, rows, n_folds, seed=recipe.seed, key=key)
    scores_by_split = (
        (split, _scores(ballots, split, ks, recipe, (*key, split.number))) for split in splits
    )
    fits = calibrate_each(ballots, scores_by_split, recipe.calibrators, in_sample=recipe.in_sample)
    for split, fitted in zip(splits, fits, strict=True):
        losses[..., place[split.evaluation]] = item_losses(fitted)
    return losses


def _scores(
    ballots: Ballots,
    split: Split,
    ks: Ints,
    recipe: Recipe,
    key: tuple[int, ...],
    *,
    compared: bool = True,
) -> PrefixScores:
    """Return the raw scores of a split.

    Own labels are removed only if a calibrator sees the calibration rows or panels are compared.
    """
    unseen = not compared and recipe.calibrators == ("none",)
    return panel_scores(
        ballots,
        split,
        ks,
        aggregator=recipe.aggregator,
        ranking=recipe.ranking,
        own_label="seen" if recipe.in_sample or unseen else "removed",
        seed=recipe.seed,
        key=key,
    )
