"""Choices between calibrators by inner cross-validation, for all columns together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.calibrate.fits import CalibrationFit
from judgepanel.kernels.calibrate.maps import softplus
from judgepanel.scoring.metrics import CLIP

N_FOLDS = 5
_LOGIT_CLIP = float(np.log1p(-CLIP) - np.log(CLIP))
CELLS = 1_000_000
_TIE = 1e-9
_SEED = 20_260_510


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The data that calibrators are fitted to.

    ``logits`` float (B, n), ``signs`` float (n,) or (B, n) in {-1, +1}, ``weights`` float (B, n) at
    least 0 or None for ones, and whether every item is used with its swap.
    """

    logits: Floats
    signs: Floats
    weights: Floats | None
    symmetric: bool

    @property
    def n_labels(self) -> Ints:
        """Number of items with a weight above 0, (B,)."""
        columns, n = self.logits.shape
        if self.weights is None:
            return np.full(columns, n, dtype=np.int64)
        return np.asarray(np.count_nonzero(self.weights > 0.0, axis=-1))

    def part(self, block: slice | Ints) -> Columns:
        """Return some of the columns."""
        signs = self.signs if self.signs.ndim == 1 else self.signs[block]
        weights = None if self.weights is None else self.weights[block]
        return Columns(self.logits[block], signs, weights, self.symmetric)

    def repeated(self, times: int) -> Columns:
        """Return the columns repeated ``times`` times."""
        signs = self.signs if self.signs.ndim == 1 else np.tile(self.signs, (times, 1))
        weights = None if self.weights is None else np.tile(self.weights, (times, 1))
        return Columns(np.tile(self.logits, (times, 1)), signs, weights, self.symmetric)

    def blocks(self, copies: int = 1) -> list[slice]:
        """Slices of the columns that bound the memory needed to process so many copies of them."""
        columns, n = self.logits.shape
        step = max(1, CELLS // max(n * copies, 1))
        return [slice(start, start + step) for start in range(0, columns, step)]

    def items(self, at: Ints) -> Columns:
        """Return some of the items: positions (m,), or (B, m) by column."""
        return Columns(
            _taken(self.logits, at),
            _taken(self.signs, at),
            None if self.weights is None else _taken(self.weights, at),
            self.symmetric,
        )

    def extremes(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Lowest and highest logit of label 1, then of label 0, each (B,); infinite if none."""
        seen = np.ones_like(self.logits, dtype=bool) if self.weights is None else self.weights > 0.0
        result = []
        for own in (seen & (self.signs > 0.0), seen & (self.signs < 0.0)):
            result.append(np.where(own, self.logits, np.inf).min(-1, initial=np.inf))
            result.append(np.where(own, self.logits, -np.inf).max(-1, initial=-np.inf))
        return result[0], result[1], result[2], result[3]

    def one_class(self) -> NDArray[np.bool_]:
        """Columns whose labels are of one class, or that have none, (B,)."""
        low_one, _, low_zero, _ = self.extremes()
        return np.isinf(low_one) | np.isinf(low_zero)

    def separable(self) -> NDArray[np.bool_]:
        """Columns of one class, or in which no label 1 scores below a label 0, (B,).

        An increasing map without penalty has no finite optimum there. A column with the same score
        for both labels is not separable.
        """
        low_one, high_one, low_zero, high_zero = self.extremes()
        constant = (low_one == high_zero) & (high_one == low_zero)
        return np.asarray(self.one_class() | ((low_one >= high_zero) & ~constant))


def cross_validated(
    columns: Columns,
    fold: Ints | None,
    fits: Callable[[Columns, Ints], Sequence[CalibrationFit]],
) -> tuple[Floats, Floats]:
    """Cross-validated NLL (C, B) of C calibrators, p clipped to [.001, .999].

    The second array (C, B) is the standard error over items of the difference from the first
    calibrator.

    Parameters
    ----------
    fold : int (n,), the fold of each item. None sorts the items of each column by label, logit and
        weight and assigns them at random, from a fixed seed, to :data:`N_FOLDS` folds. Neither the
        order of the items nor, under ``symmetric``, their orientation then affects the folds.
    fits : ``fits(learn, own)`` returns the C fits to the training items of all folds at once:
        column i of ``learn`` is column ``own[i]`` without the items of one fold.
    """
    number_of = np.arange(columns.logits.shape[-1]) % N_FOLDS if fold is None else fold
    held_out = [number_of == number for number in np.unique(number_of)]
    means: list[Floats] = []
    errors: list[Floats] = []
    for block in columns.blocks(len(held_out)):
        part = columns.part(block)
        weight = np.full(len(part.logits), float(part.logits.shape[-1]))
        if part.weights is not None:
            weight = part.weights.sum(-1)
        weight = np.where(weight > 0.0, weight, 1.0)
        order = _shuffled(part) if fold is None else np.arange(len(fold))
        learn = _stacked([part.items(order[..., ~held]) for held in held_out])
        test = _stacked([part.items(order[..., held]) for held in held_out])
        own = np.tile(np.arange(len(columns.logits))[block], len(held_out))
        sums = _summed([_losses(fit, test) for fit in fits(learn, own)])
        nll, square = sums.reshape(*sums.shape[:2], len(held_out), -1).sum(axis=2)
        mean = nll / weight
        spread = square / weight - (mean - mean[0]) ** 2
        means.append(mean)
        errors.append(np.sqrt(np.maximum(spread, 0.0) / weight))
    return np.concatenate(means, axis=-1), np.concatenate(errors, axis=-1)


def lowest(nll: Floats) -> Ints:
    """First of the C calibrators whose NLL (C, B) is the lowest up to rounding, (B,)."""
    return np.asarray(np.argmax(nll <= nll.min(0) + _TIE, axis=0))


def clearly_lowest(nll: Floats, error: Floats) -> Ints:
    """The lowest of those that beat the first calibrator by a standard error, else the first, (B,).

    Without that margin, choosing among a handful of calibrators costs more on few labels than it
    gains.
    """
    clear = nll + error < nll[0]
    clear[0] = True
    return lowest(np.where(clear, nll, np.inf))


def _stacked(parts: Sequence[Columns]) -> Columns:
    """Columns of all parts, one part after the other; padding has weight 0."""
    shape = (sum(len(part.logits) for part in parts), max(part.logits.shape[1] for part in parts))
    logits, signs, weights = np.zeros(shape), np.ones(shape), np.zeros(shape)
    end = 0
    for part in parts:
        start, end = end, end + len(part.logits)
        place = np.s_[start:end, : part.logits.shape[1]]
        logits[place], signs[place] = part.logits, part.signs
        weights[place] = 1.0 if part.weights is None else part.weights
    return Columns(logits, signs, None if weights.all() else weights, parts[0].symmetric)


def _shuffled(columns: Columns) -> Ints:
    """Positions (B, n), sorted by label, logit and weight, then shuffled; weights of 0 come last.

    Under ``symmetric`` they are sorted by whether the sign of l is right, and by |l|. Assigning
    sorted items in turn would balance every range of scores between the sides, and so favour steps
    that follow the noise.
    """
    logits, signs = columns.logits, columns.signs
    stratum = (logits * signs if columns.symmetric else np.broadcast_to(signs, logits.shape)) > 0.0
    score = np.abs(logits) if columns.symmetric else logits
    weights = np.ones_like(logits) if columns.weights is None else columns.weights
    out = weights <= 0.0
    order = np.lexsort((weights, score, stratum, out), axis=-1)
    # Counts in the seed keep one unlucky shuffle from affecting every data set of this size.
    ones, totals = np.count_nonzero(stratum & ~out, axis=-1), np.count_nonzero(~out, axis=-1)
    for row, count, n in zip(order, ones, totals, strict=True):
        np.random.default_rng((_SEED, int(count))).shuffle(row[:n])
    return np.asarray(order)


def _losses(fit: CalibrationFit, held: Columns) -> Floats:
    """Weighted NLL (B, n) of the held-out items."""
    calibrated = np.clip(fit(held.logits), -_LOGIT_CLIP, _LOGIT_CLIP)
    loss = softplus(-held.signs * calibrated)
    return np.asarray(loss if held.weights is None else held.weights * loss)


def _summed(losses: list[Floats]) -> Floats:
    """Sums over items of the losses and of their squared differences from the first, (2, C, B)."""
    return np.stack(
        [
            np.stack([loss.sum(-1) for loss in losses]),
            np.stack([((loss - losses[0]) ** 2).sum(-1) for loss in losses]),
        ]
    )


def _taken(values: Floats, at: Ints) -> Floats:
    if at.ndim == 1 or values.ndim == 1:
        return values[..., at]
    return np.take_along_axis(values, at, axis=-1)
