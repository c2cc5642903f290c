"""Calibrators by name, fitted to many score columns at once.

Scores are (B, n), one column per panel. :mod:`kernels.maps` fits maps,
:mod:`kernels.maps` steps; :mod:`kernels.calibration` chooses a penalty or a
calibrator; :mod:`kernels.calibration` defines the results.

Fitted calibrators: maps, isotonic steps, and a choice between fits, with one protocol.

A fit holds B columns (panels). It calibrates logits (B, n), selects columns, and describes one
column by its parameters.

Choices between calibrators by inner cross-validation, for all columns together.

A :data:`CalibrationFit` is a calibrator fitted to B columns.

It returns calibrated logits of raw logits (B, n); ``replaced`` (B,) marks columns that could not be
fitted and fall back to temperature. ``part`` is the fit of some of the columns, in that order, and
``shape`` the parameters fitted to one column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import maps
from judgepanel.scoring.metrics import CLIP
from judgepanel.votes.errors import InputError

MapCalibrator = Literal[
    "none", "temperature", "platt", "beta", "beta_clipped", "beta_l2", "beta_free", "beta_cv"
]
Calibrator = Literal[MapCalibrator, "isotonic", "auto"]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class MapShape:
    """One fitted map: m = a log p + b log(1 - p) + c of raw logits clipped to [-clip, clip].

    ``kind`` is the calibrator of this map: temperature if it is the fallback. ``penalty`` is the
    chosen lambda, None if none was chosen.
    """

    kind: MapCalibrator
    a: float
    b: float
    c: float
    clip: float | None = None
    penalty: float | None = None


@dataclass(frozen=True, slots=True)
class KnotShape:
    """One isotonic fit: probabilities ``p`` at ``logits``, linear in between, constant beyond.

    Under ``odd`` the knots are those of |l|, and p(-l) = 1 - p(l).
    """

    kind: Literal["isotonic"]
    logits: tuple[float, ...]
    p: tuple[float, ...]
    odd: bool


Shape = MapShape | KnotShape


def apply_map(params: Floats, logits: Floats, clip: float | None = None) -> Floats:
    """m = a log p + b log(1 - p) + c; exactly a l + c if the slopes are tied."""
    if clip is not None:
        logits = np.clip(logits, -clip, clip)
    a, b, c = (params[..., i, None] for i in range(3))
    if np.array_equal(params[..., 0], -params[..., 1]):
        return np.asarray(a * logits + c)
    log_p = -maps.softplus(-logits)
    return np.asarray((a + b) * log_p - b * logits + c)


CalibrationFit: TypeAlias = "MapFit | IsotonicFit | ChosenFit"


@dataclass(frozen=True, slots=True, eq=False)
class MapFit:
    """Fitted maps: ``params`` (B, 3) holds a, b, c.

    ``clip`` bounds the raw logits before the map; ``penalty`` (B,) is the lambda chosen for a
    column, None if there was no choice.
    """

    kind: MapCalibrator
    params: Floats
    replaced: Flags
    clip: float | None = None
    penalty: Floats | None = None

    def __call__(self, logits: Floats) -> Floats:
        """Return calibrated logits of raw logits (B, n)."""
        return apply_map(self.params, logits, self.clip)

    def part(self, block: maps.Rows) -> MapFit:
        """Return the fit of some of the columns, in that order."""
        penalty = None if self.penalty is None else self.penalty[block]
        return MapFit(self.kind, self.params[block], self.replaced[block], self.clip, penalty)

    def shape(self, column: int) -> MapShape:
        """Return the parameters fitted to one column."""
        replaced = bool(self.replaced[column])
        kind: MapCalibrator = "temperature" if replaced else self.kind
        a, b, c = (float(value) for value in self.params[column])
        chosen = None if replaced or self.penalty is None else float(self.penalty[column])
        return MapShape(kind, a, b, c, self.clip, chosen)


@dataclass(frozen=True, slots=True, eq=False)
class IsotonicFit:
    """Fitted isotonic steps, one :class:`Knots` per column, which always succeed."""

    knots: tuple[maps.Knots, ...]

    @property
    def replaced(self) -> Flags:
        """All False, (B,)."""
        return np.zeros(len(self.knots), dtype=bool)

    def __call__(self, logits: Floats) -> Floats:
        """Return calibrated logits of raw logits (B, n)."""
        out = np.empty_like(logits)
        for row, knots, column in zip(out, self.knots, logits, strict=True):
            row[:] = knots(column)
        return out

    def part(self, block: maps.Rows) -> IsotonicFit:
        """Return the fit of some of the columns, in that order."""
        if isinstance(block, slice):
            return IsotonicFit(self.knots[block])
        return IsotonicFit(tuple(self.knots[column] for column in block))

    def shape(self, column: int) -> KnotShape:
        """Return the knots fitted to one column."""
        knots = self.knots[column]
        return KnotShape(
            "isotonic", tuple(knots.logits.tolist()), tuple(knots.p.tolist()), knots.odd
        )


@dataclass(frozen=True, slots=True, eq=False)
class ChosenFit:
    """One of several fits to the same columns: column b is that of ``fits[which[b]]``.

    ``names`` are those of the fits, ``which`` int (B,) is the choice.
    """

    names: tuple[Calibrator, ...]
    fits: tuple[CalibrationFit, ...]
    which: NDArray[np.int64]
    replaced: Flags

    @property
    def chosen(self) -> tuple[Calibrator, ...]:
        """Name of the fit chosen for each column, (B,)."""
        return tuple(self.names[i] for i in self.which)

    def __call__(self, logits: Floats) -> Floats:
        """Return calibrated logits of raw logits (B, n)."""
        out = np.empty_like(logits)
        for i, fit in enumerate(self.fits):
            rows = np.flatnonzero(self.which == i)
            if len(rows):
                out[rows] = fit.part(rows)(logits[rows])
        return out

    def part(self, block: maps.Rows) -> ChosenFit:
        """Return the fit of some of the columns, in that order."""
        fits = tuple(fit.part(block) for fit in self.fits)
        return ChosenFit(self.names, fits, self.which[block], self.replaced[block])

    def shape(self, column: int) -> Shape:
        """Return the parameters of the chosen fit of one column."""
        return self.fits[int(self.which[column])].shape(column)


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
    def data(self) -> tuple[Floats, Floats, Floats | None]:
        """Logits, signs and weights, which every fit of a map begins with."""
        return self.logits, self.signs, self.weights

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
        return maps.column_blocks(columns, n * copies, CELLS)

    def items(self, at: Ints) -> Columns:
        """Return some of the items: positions (m,), or (B, m) by column."""
        weights = None if self.weights is None else _taken(self.weights, at)
        return Columns(_taken(self.logits, at), _taken(self.signs, at), weights, self.symmetric)

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
    columns: Columns, fold: Ints | None, fits: Callable[[Columns, Ints], Sequence[CalibrationFit]]
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
    loss = maps.softplus(-held.signs * calibrated)
    return np.asarray(loss if held.weights is None else held.weights * loss)


def _summed(losses: list[Floats]) -> Floats:
    """Sums over items of the losses and of their squared differences from the first, (2, C, B)."""
    squares = [((loss - losses[0]) ** 2).sum(-1) for loss in losses]
    return np.stack([np.stack([loss.sum(-1) for loss in losses]), np.stack(squares)])


def _taken(values: Floats, at: Ints) -> Floats:
    if at.ndim == 1 or values.ndim == 1:
        return values[..., at]
    return np.take_along_axis(values, at, axis=-1)


MAPS: tuple[MapCalibrator, ...] = get_args(MapCalibrator)
CALIBRATORS: tuple[Calibrator, ...] = get_args(Calibrator)
CROSS_VALIDATED: tuple[Calibrator, ...] = ("beta_cv", "auto")
AUTO: tuple[Calibrator, ...] = ("temperature", "platt", "beta", "isotonic")
FEW_LABELS = 30
GRID = (1.0, 0.1, 0.01, 0.001, 0.0001)
LAMBDA_L2 = 0.1
INPUT_CLIP = float(np.log(0.999 / 0.001))


def fit(
    names: tuple[Calibrator, ...],
    logits: Floats,
    signs: Floats,
    weights: Floats | None = None,
    *,
    symmetric: bool = False,
    fold: ArrayLike | None = None,
    near: Floats | None = None,
) -> dict[Calibrator, CalibrationFit]:
    """Fit calibrators to every column of raw logits; the temperature fit starts the others.

    Parameters
    ----------
    logits : float (B, n), raw logits not fitted to the item's own label.
    signs : float (n,) or (B, n), +1 for label 1 and -1 for label 0.
    weights : float (B, n), at least 0, or None for ones; 0 leaves an item out.
    symmetric : fit on every item and its swap; p(-l) = 1 - p(l) then holds for every calibrator,
        and c = 0 and a = -b for every map.
    fold : int (n,), folds of the inner cross-validation of ``beta_cv`` and ``auto``, which keep
        groups whole; without it items are stratified by label and score.
    near : float (B, 3), maps close to these fits, such as those of similar panels; saves Newton
        steps and changes results only by rounding.

    Raises
    ------
    InputError
        An unknown calibrator, or folds of the wrong shape or type.
    """
    for name in names:
        if name not in CALIBRATORS:
            raise InputError("unknown calibrator", value=name, allowed=", ".join(CALIBRATORS))
    inner_fold: Ints | None = None
    if fold is not None:
        given, n = np.asarray(fold), logits.shape[-1]
        if given.shape != (n,) or not np.issubdtype(given.dtype, np.integer):
            why = "the folds of a calibrator must be whole numbers, one per item"
            raise InputError(why, value=f"{given.dtype} {given.shape}", allowed=f"int ({n},)")
        inner_fold = given.astype(np.int64)
    columns = Columns(logits, np.asarray(signs, dtype=np.float64), weights, symmetric)
    start = np.tile(maps.IDENTITY, (len(logits), 1))
    if set(names) != {"none"}:
        slope = None if near is None else near[:, 0]
        start = maps.tied(maps.fit_scale(*columns.data, start=slope))
    family = _Family(columns, start, inner_fold, near)
    return {name: family(name) for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class _Family:
    """Fits of several calibrators to the same columns, each computed once.

    ``temperature`` (B, 3) is the starting point of the other fits and their fallback; if maps
    ``near`` are given, Platt and beta start there.
    """

    columns: Columns
    temperature: Floats
    fold: Ints | None = None
    near: Floats | None = None
    made: dict[Calibrator, CalibrationFit] = field(default_factory=dict)

    @property
    def start(self) -> Floats:
        return self.temperature if self.near is None else self.near

    def __call__(self, name: Calibrator) -> CalibrationFit:
        if name not in self.made:
            self.made[name] = _FITTERS[name](self)
        return self.made[name]

    def map_fit(
        self, kind: MapCalibrator, params: Floats, fitted: NDArray[np.bool_] | None = None
    ) -> MapFit:
        """Maps, with temperature where they are not ``fitted``; None if all are."""
        if fitted is None:
            return MapFit(kind, params, np.zeros(len(params), dtype=bool))
        return MapFit(kind, np.where(fitted[:, None], params, self.temperature), ~fitted)


def _none(family: _Family) -> CalibrationFit:
    return family.map_fit("none", np.tile(maps.IDENTITY, (len(family.temperature), 1)))


def _temperature(family: _Family) -> CalibrationFit:
    return family.map_fit("temperature", family.temperature)


def _platt(family: _Family) -> CalibrationFit:
    if family.columns.symmetric:
        return family.map_fit("platt", family.temperature)
    params, fitted = maps.fit_platt(*family.columns.data, start=family.start)
    return family.map_fit("platt", params, fitted)


def _beta(family: _Family) -> CalibrationFit:
    params, fitted = _penalised(family.columns, maps.LAMBDA, maps.ALPHA, family.start)
    return family.map_fit("beta", params, fitted)


def _beta_l2(family: _Family) -> CalibrationFit:
    params, fitted = _penalised(family.columns, LAMBDA_L2, 0.0, family.temperature)
    return family.map_fit("beta_l2", params, fitted)


def _beta_free(family: _Family) -> CalibrationFit:
    columns, start = family.columns, family.temperature
    if columns.symmetric:
        return family.map_fit("beta_free", start)
    params, fitted = start.copy(), ~columns.separable()
    if fitted.any():
        able = np.flatnonzero(fitted)
        params[able], converged = _penalised(columns.part(able), 0.0, maps.ALPHA, start[able])
        fitted[able] = converged & (np.abs(params[able]).max(-1) < maps.MAX_SLOPE)
    return family.map_fit("beta_free", params, fitted)


def _beta_clipped(family: _Family) -> CalibrationFit:
    clipped = np.clip(family.columns.logits, -INPUT_CLIP, INPUT_CLIP)
    columns = replace(family.columns, logits=clipped)
    if columns.symmetric:
        slope = maps.fit_scale(*columns.data, penalty=maps.LAMBDA, lowest=-maps.MAX_SLOPE)
        map_fit = family.map_fit("beta_clipped", maps.tied(slope))
    else:
        params, fitted = maps.fit_beta(*columns.data, start=family.temperature, bounded=False)
        stands_in = family.temperature
        if not fitted.all():  # the fallback must see the clipped input, too
            stands_in = maps.tied(maps.fit_scale(*columns.data))
        map_fit = replace(family, temperature=stands_in).map_fit("beta_clipped", params, fitted)
    return replace(map_fit, clip=INPUT_CLIP)


def _beta_cv(family: _Family) -> CalibrationFit:
    start = np.tile(family.temperature, (len(GRID), 1, 1))
    whole, fitted = np.empty_like(start), np.empty(start.shape[:2], dtype=bool)
    for block in family.columns.blocks():
        whole[:, block], fitted[:, block] = _path(family.columns.part(block), start[:, block])

    def fits(learn: Columns, own: Ints) -> list[CalibrationFit]:
        params, _ = _path(learn, whole[:, own])
        return [family.map_fit("beta_cv", shape) for shape in params]

    which = np.full(len(family.temperature), GRID.index(maps.LAMBDA))
    if _has_folds(family):
        which = lowest(cross_validated(family.columns, family.fold, fits)[0])
    at = which, np.arange(len(which))
    map_fit = family.map_fit("beta_cv", whole[at], fitted[at])
    return replace(map_fit, penalty=np.array(GRID)[which])


def _path(columns: Columns, start: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return maps (L, B, 3) for all penalties of the grid, and which converged (L, B)."""
    shape, penalties = start.shape, np.repeat(np.array(GRID), start.shape[1])
    repeated, starts = columns.repeated(len(GRID)), start.reshape(-1, 3)
    params, fitted = _penalised(repeated, penalties, maps.ALPHA, starts)
    return params.reshape(shape), fitted.reshape(shape[:2])


def _isotonic(family: _Family) -> CalibrationFit:
    columns, symmetric = family.columns, family.columns.symmetric
    signs = np.broadcast_to(columns.signs, columns.logits.shape)
    knots = []
    for column, logits in enumerate(columns.logits):
        weights = None if columns.weights is None else columns.weights[column]
        knots.append(maps.fit_isotonic(logits, signs[column], weights, symmetric=symmetric))
    steps = IsotonicFit(tuple(knots))
    lost = np.zeros(len(columns.logits), dtype=bool) if symmetric else columns.one_class()
    if not lost.any():
        return steps
    names: tuple[Calibrator, ...] = ("isotonic", "temperature")
    return ChosenFit(names, (steps, family("temperature")), lost.astype(np.int64), lost)


def _auto(family: _Family) -> CalibrationFit:
    symmetric = family.columns.symmetric
    names = tuple(name for name in AUTO if not (symmetric and name == "platt"))

    def fits(learn: Columns, own: Ints) -> list[CalibrationFit]:
        start = maps.fit_scale(*learn.data, start=family.temperature[own, 0])
        inner = _Family(learn, maps.tied(start))
        return [inner(name) for name in names]

    enough = family.columns.n_labels >= FEW_LABELS
    which = np.zeros(len(enough), dtype=np.int64)
    if enough.any() and _has_folds(family):
        nll, error = cross_validated(family.columns, family.fold, fits)
        # Without the margin of a standard error over the first, choosing among a handful of
        # calibrators costs more on few labels than it gains.
        clear = nll + error < nll[0]
        clear[0] = True
        which = np.where(enough, lowest(np.where(clear, nll, np.inf)), which)
    all_fits = tuple(family(name) for name in names)
    replaced = np.stack([result.replaced for result in all_fits])[which, np.arange(len(which))]
    return ChosenFit(names, all_fits, which, replaced)


def _penalised(
    columns: Columns, penalty: float | Floats, alpha: float, start: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return monotone beta maps (B, 3) under a penalty, and which converged (B,)."""
    if columns.symmetric:
        slope = maps.fit_scale(*columns.data, penalty=penalty, alpha=alpha, start=start[:, 0])
        return maps.tied(slope), np.ones(len(slope), dtype=bool)
    return maps.fit_beta(*columns.data, start=start, penalty=penalty, alpha=alpha)


def _has_folds(family: _Family) -> bool:
    n = family.columns.logits.shape[-1]
    return n > 1 if family.fold is None else len(np.unique(family.fold)) > 1


_FITTERS: Mapping[Calibrator, Callable[[_Family], CalibrationFit]] = {
    "none": _none,
    "temperature": _temperature,
    "platt": _platt,
    "beta": _beta,
    "beta_clipped": _beta_clipped,
    "beta_l2": _beta_l2,
    "beta_free": _beta_free,
    "beta_cv": _beta_cv,
    "isotonic": _isotonic,
    "auto": _auto,
}
