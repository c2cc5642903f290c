"""Columns of raw scores, calibrated on one side of a split and evaluated on the other.

A column is a panel size or an aggregator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import CROSS_VALIDATED, CalibrationFit, Calibrator, fit
from judgepanel.kernels.maps import column_blocks, item_blocks
from judgepanel.kernels.prefixes import N_FOLDS, PrefixScores
from judgepanel.scoring.metrics import (
    ECE_BINS,
    ItemScores,
    blank_scores,
    gap_of,
    item_nll,
    mean_nll,
    null_logit,
    score_items,
)
from judgepanel.scoring.splits import Split, fold_of, folds, unit_codes

_CONSTANTS = 4_096
_TOGETHER = 32_768


@dataclass(frozen=True, slots=True, eq=False)
class SplitScores:
    """Scores of one split.

    ``evaluation[name]`` scores the evaluation rows (n_k, n_eval) under each calibrator; ``fitted``
    holds their maps and raw logits; ``null_nll`` and ``constant_nll[name]`` are the NLL of the base
    rate and of a constant score through the same calibrator. ``chosen_on`` (n_calibrators, n_k) is
    the NLL on which a choice may be based, infinite for columns not offered; ``inner``
    (n_calibrators, n_offered, n_cal) are the losses that it averages, if requested.
    """

    evaluation: Mapping[Calibrator, ItemScores]
    fitted: Calibrated
    order: Ints
    null_nll: float
    constant_nll: Mapping[Calibrator, float]
    chosen_on: Floats
    inner: Floats | None = None

    @property
    def replaced(self) -> dict[Calibrator, int]:
        """Number of columns that fall back to temperature, by calibrator."""
        return {name: int(map_.replaced.sum()) for name, map_ in self.fitted.maps.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """Calibrators fitted on one side of a split, and the raw logits (n_k, n) of the other side."""

    maps: Mapping[Calibrator, CalibrationFit]
    logits: Floats
    empty: NDArray[np.bool_] | None
    signs: Floats
    null: float

    def logits_of(self, name: Calibrator, block: slice, items: slice = slice(None)) -> Floats:
        """Return calibrated logits of a block; items without votes get the null prediction."""
        logits = self.maps[name].part(block)(self.logits[block, items])
        if self.empty is not None and self.empty[block, items].any():
            logits = np.where(self.empty[block, items], self.null, logits)
        return logits

    def of_items(self, items: slice) -> Iterator[tuple[int, slice, Floats]]:
        """Yield calibrator number, block of columns and their calibrated logits of some items.

        All calibrators of a block come in turn, so its raw logits stay in a core's cache.
        """
        for block in column_blocks(len(self.logits), items.stop - items.start):
            for c, name in enumerate(self.maps):
                yield c, block, self.logits_of(name, block, items)

    def by_block(self) -> Iterator[tuple[int, slice, slice, Floats]]:
        """Yield calibrator number, blocks of columns and of items, and calibrated logits."""
        for items in item_blocks(self.logits.shape[1]):
            for c, block, logits in self.of_items(items):
                yield c, block, items, logits


def calibrate(
    ballots: Ballots,
    split: Split,
    scores: PrefixScores,
    calibrators: tuple[Calibrator, ...],
    *,
    in_sample: bool = False,
    importance: Floats | None = None,
    near: Floats | None = None,
) -> Calibrated:
    """Fit calibrators to the calibration scores.

    Items without votes are left out of the fit and get the null prediction, except under
    ``in_sample``, the paper's protocol, where they have a logit of 0. ``importance`` (n_cal,), at
    least 0, weights the calibration rows in the fit; ``near`` (n_k, 3) are maps close to the fits,
    if known.
    """
    fold = calibration_folds(ballots, split, scores, calibrators)
    weights = None
    if not in_sample and scores.calibration_empty.any():
        weights = (~scores.calibration_empty).astype(np.float64)
    if importance is not None:
        weights = np.broadcast_to(importance, scores.calibration.shape) * (
            1.0 if weights is None else weights
        )
    maps = fit(
        calibrators,
        scores.calibration,
        ballots.signs[split.calibration].astype(np.float64),
        weights,
        symmetric=ballots.symmetric,
        fold=fold,
        near=near,
    )
    return _calibrated(ballots, split, scores, maps, in_sample)


def calibrate_each(
    ballots: Ballots,
    scored: Iterable[tuple[Split, PrefixScores]],
    calibrators: tuple[Calibrator, ...],
    *,
    in_sample: bool = False,
) -> Iterator[Calibrated]:
    """:func:`calibrate` for several splits of few columns each: fits of up to ``_TOGETHER`` scores
    are made together, which moves nothing but rounding. Scores are asked for as they are needed.
    """
    if set(calibrators) & set(CROSS_VALIDATED):
        for pair in scored:
            yield calibrate(ballots, *pair, calibrators, in_sample=in_sample)
        return
    for batch in _batches(scored):
        if len(batch) == 1:
            yield calibrate(ballots, *batch[0], calibrators, in_sample=in_sample)
        else:
            yield from _calibrate_together(ballots, batch, calibrators, in_sample)


def _batches(
    scored: Iterable[tuple[Split, PrefixScores]],
) -> Iterator[list[tuple[Split, PrefixScores]]]:
    """Yield runs of neighbours with at most ``_TOGETHER`` scores when padded, or a single split."""
    batch: list[tuple[Split, PrefixScores]] = []
    columns, longest = 0, 0
    for pair in scored:
        b, n = pair[1].calibration.shape
        if batch and (columns + b) * max(longest, n) > _TOGETHER:
            yield batch
            batch, columns, longest = [], 0, 0
        batch.append(pair)
        columns, longest = columns + b, max(longest, n)
    if batch:
        yield batch


def _calibrate_together(
    ballots: Ballots,
    scored: Sequence[tuple[Split, PrefixScores]],
    calibrators: tuple[Calibrator, ...],
    in_sample: bool,
) -> list[Calibrated]:
    """Calibrate in one batch, in which padding rows have weight 0."""
    shapes = np.array([scores.calibration.shape for _, scores in scored])
    ends = np.cumsum(shapes[:, 0])
    shape = (int(ends[-1]), int(shapes[:, 1].max()))
    logits, signs, weights = np.zeros(shape), np.ones(shape), np.zeros(shape)
    blocks = [slice(end - b, end) for end, b in zip(ends.tolist(), shapes[:, 0], strict=True)]
    for block, (split, scores), n in zip(blocks, scored, shapes[:, 1], strict=True):
        logits[block, :n] = scores.calibration
        signs[block, :n] = ballots.signs[split.calibration]
        weights[block, :n] = 1.0 if in_sample else ~scores.calibration_empty
    maps = fit(calibrators, logits, signs, weights, symmetric=ballots.symmetric)
    return [
        _calibrated(
            ballots,
            split,
            scores,
            {name: map_.part(block) for name, map_ in maps.items()},
            in_sample,
        )
        for block, (split, scores) in zip(blocks, scored, strict=True)
    ]


def _calibrated(
    ballots: Ballots,
    split: Split,
    scores: PrefixScores,
    maps: Mapping[Calibrator, CalibrationFit],
    in_sample: bool,
) -> Calibrated:
    ones = float(np.mean(ballots.signs[split.calibration] > 0))
    return Calibrated(
        maps=maps,
        logits=scores.evaluation,
        empty=None if in_sample else scores.evaluation_empty,
        signs=ballots.signs[split.evaluation].astype(np.float64),
        null=null_logit(ones, symmetric=ballots.symmetric),
    )


def calibration_folds(
    ballots: Ballots, split: Split, scores: PrefixScores, calibrators: tuple[Calibrator, ...]
) -> Ints | None:
    """Fold (n_cal,) for calibrators that cross-validate, which keeps units whole.

    None if every item is its own unit; the calibrator then assigns the folds.
    """
    if scores.fold is not None or not set(calibrators) & set(CROSS_VALIDATED):
        return scores.fold
    units = ballots.units[split.calibration]
    if unit_codes(units)[1] in (1, len(units)):
        return None
    key = (split.number, 8)
    inner_splits = folds(ballots.units, split.calibration, N_FOLDS, seed=0, key=key)
    return fold_of(inner_splits, ballots.n_items)[split.calibration]


def evaluate(
    ballots: Ballots, split: Split, fitted: Calibrated, order: Ints, chosen_on: Floats
) -> SplitScores:
    """Score the evaluation rows of every column under every calibrator, and the null scores."""
    scores = [blank_scores(fitted.logits.shape) for _ in fitted.maps]
    above = np.zeros((len(scores), ECE_BINS, len(fitted.logits)))
    for c, block, items, logits in fitted.by_block():
        part = scores[c].part(block).items(items)
        above[c, :, block] += score_items(
            logits, fitted.signs[items], part, symmetric=ballots.symmetric
        )
    for score, sums in zip(scores, above, strict=True):
        score.ece[:] = gap_of(sums, len(fitted.signs))
    null_nll, constant_nll = baselines(ballots, split, fitted)
    return SplitScores(
        evaluation=dict(zip(fitted.maps, scores, strict=True)),
        fitted=fitted,
        order=order,
        null_nll=null_nll,
        constant_nll=constant_nll,
        chosen_on=chosen_on,
    )


def baselines(
    ballots: Ballots, split: Split, fitted: Calibrated
) -> tuple[float, dict[Calibrator, float]]:
    """NLL of the base rate, and of a constant score through every calibrator."""
    signs = fitted.signs
    ones = np.count_nonzero(ballots.signs[split.calibration] > 0)
    maps = _constant(tuple(fitted.maps), ones, len(split.calibration), ballots.symmetric)
    constant = np.zeros((1, len(signs)))
    return float(mean_nll(np.full(len(signs), fitted.null), signs)), {
        name: float(mean_nll(map_(constant), signs)[0]) for name, map_ in maps.items()
    }


@lru_cache(_CONSTANTS)
def _constant(
    names: tuple[Calibrator, ...], ones: int, n: int, symmetric: bool
) -> Mapping[Calibrator, CalibrationFit]:
    """Calibrators fitted to a score of 0 on n labels, ``ones`` of which are 1."""
    signs = np.where(np.arange(n) < ones, 1.0, -1.0)
    return fit(names, np.zeros((1, n)), signs, symmetric=symmetric)


def nll_by_fold(
    ballots: Ballots,
    split: Split,
    scores: PrefixScores,
    calibrators: tuple[Calibrator, ...],
    fold: Ints,
) -> Floats:
    """Return the mean over the rows of :func:`losses_by_fold`, (n_calibrators, n_k)."""
    return np.asarray(losses_by_fold(ballots, split, scores, calibrators, fold).mean(axis=-1))


def losses_by_fold(
    ballots: Ballots,
    split: Split,
    scores: PrefixScores,
    calibrators: tuple[Calibrator, ...],
    fold: Ints | None = None,
) -> Floats:
    """NLL (n_calibrators, n_k, n_cal) of calibration rows, each fold calibrated on the others.

    ``fold`` (n_cal,) divides the calibration rows; None uses the folds of the cross-fitted scores.
    The scores must not be fitted to their own labels; they may be fitted to those of other folds,
    as every cross-fitted score is.
    """
    fold = scores.fold if fold is None else fold
    if fold is None:
        raise ValueError("these scores were not cross-fitted")
    scores = replace(scores, fold=fold)
    parts = [left_out(split, scores, fold, number) for number in np.unique(fold).tolist()]
    losses = np.empty((len(calibrators), *scores.calibration.shape))
    fits = calibrate_each(ballots, parts, calibrators)
    for number, fitted in zip(np.unique(fold), fits, strict=True):
        losses[..., fold == number] = item_losses(fitted)
    return losses


def left_out(
    split: Split, scores: PrefixScores, fold: Ints, number: int
) -> tuple[Split, PrefixScores]:
    """The calibration rows alone: those of one ``fold`` (n_cal,) are held out of the others."""
    own = fold == number
    part = replace(
        scores,
        calibration=scores.calibration[:, ~own],
        calibration_empty=scores.calibration_empty[:, ~own],
        evaluation=scores.calibration[:, own],
        evaluation_empty=scores.calibration_empty[:, own],
        fold=None if scores.fold is None else scores.fold[~own],
    )
    return Split(number, split.calibration[~own], split.calibration[own]), part


def item_losses(fitted: Calibrated) -> Floats:
    """Return the NLL of every evaluation row, (n_calibrators, n_k, n_eval)."""
    losses = np.empty((len(fitted.maps), *fitted.logits.shape))
    for c, block, items, logits in fitted.by_block():
        losses[c, block, items] = item_nll(logits, fitted.signs[items])
    return losses


def summed_nll(fitted: Calibrated) -> Floats:
    """Return the NLL summed over the evaluation rows, (n_calibrators, n_k)."""
    total = np.zeros((len(fitted.maps), len(fitted.logits)))
    for c, block, items, logits in fitted.by_block():
        signs = fitted.signs[items]
        total[c, block] += mean_nll(logits, signs) * len(signs)
    return total
