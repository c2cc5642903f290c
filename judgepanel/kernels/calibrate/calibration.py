"""Calibrators by name, fitted to many score columns at once.

Scores are (B, n), one column per panel. :mod:`kernels.calibrate.maps` fits maps,
:mod:`kernels.calibrate.isotonic` steps; :mod:`kernels.calibrate.selection` chooses a penalty or a
calibrator; :mod:`kernels.calibrate.fits` defines the results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.calibrate.fits import (
    CalibrationFit,
    Calibrator,
    ChosenFit,
    IsotonicFit,
    KnotShape,
    MapCalibrator,
    MapFit,
    MapShape,
    Shape,
    apply_map,
)
from judgepanel.kernels.calibrate.isotonic import fit_isotonic
from judgepanel.kernels.calibrate.maps import (
    ALPHA,
    IDENTITY,
    LAMBDA,
    MAX_SLOPE,
    column_blocks,
    fit_beta,
    fit_platt,
    fit_scale,
    item_blocks,
    sigmoid,
    softplus,
    tied,
)
from judgepanel.kernels.calibrate.selection import Columns, clearly_lowest, cross_validated, lowest
from judgepanel.votes.errors import InputError

__all__ = [
    "ALPHA",
    "AUTO",
    "CALIBRATORS",
    "CROSS_VALIDATED",
    "FEW_LABELS",
    "GRID",
    "INPUT_CLIP",
    "LAMBDA",
    "LAMBDA_L2",
    "MAPS",
    "CalibrationFit",
    "Calibrator",
    "ChosenFit",
    "IsotonicFit",
    "KnotShape",
    "MapCalibrator",
    "MapFit",
    "MapShape",
    "Shape",
    "apply_map",
    "column_blocks",
    "fit",
    "item_blocks",
    "sigmoid",
    "softplus",
]

MAPS: tuple[MapCalibrator, ...] = (
    "none",
    "temperature",
    "platt",
    "beta",
    "beta_clipped",
    "beta_l2",
    "beta_free",
    "beta_cv",
)
CALIBRATORS: tuple[Calibrator, ...] = (*MAPS, "isotonic", "auto")
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
    fold = _checked(fold, logits.shape[-1])
    columns = Columns(logits, np.asarray(signs, dtype=np.float64), weights, symmetric)
    start = np.tile(IDENTITY, (len(logits), 1))
    if set(names) != {"none"}:
        slope = None if near is None else near[:, 0]
        start = tied(fit_scale(logits, columns.signs, weights, start=slope))
    family = _Family(columns, start, fold, near)
    return {name: family(name) for name in names}


def _checked(fold: ArrayLike | None, n: int) -> Ints | None:
    if fold is None:
        return None
    given = np.asarray(fold)
    if given.shape != (n,) or not np.issubdtype(given.dtype, np.integer):
        raise InputError(
            "the folds of a calibrator must be whole numbers, one per item",
            value=f"{given.dtype} {given.shape}",
            allowed=f"int ({n},)",
        )
    return given.astype(np.int64)


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
    return family.map_fit("none", np.tile(IDENTITY, (len(family.temperature), 1)))


def _temperature(family: _Family) -> CalibrationFit:
    return family.map_fit("temperature", family.temperature)


def _platt(family: _Family) -> CalibrationFit:
    if family.columns.symmetric:
        return family.map_fit("platt", family.temperature)
    columns = family.columns
    params, fitted = fit_platt(columns.logits, columns.signs, columns.weights, start=family.start)
    return family.map_fit("platt", params, fitted)


def _beta(family: _Family) -> CalibrationFit:
    params, fitted = _penalised(family.columns, LAMBDA, ALPHA, family.start)
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
        params[able], converged = _penalised(columns.part(able), 0.0, ALPHA, start[able])
        fitted[able] = converged & (np.abs(params[able]).max(-1) < MAX_SLOPE)
    return family.map_fit("beta_free", params, fitted)


def _beta_clipped(family: _Family) -> CalibrationFit:
    columns = family.columns
    logits = np.clip(columns.logits, -INPUT_CLIP, INPUT_CLIP)
    if columns.symmetric:
        slope = fit_scale(logits, columns.signs, columns.weights, penalty=LAMBDA, lowest=-MAX_SLOPE)
        map_fit = family.map_fit("beta_clipped", tied(slope))
    else:
        params, fitted = fit_beta(
            logits, columns.signs, columns.weights, start=family.temperature, bounded=False
        )
        stands_in = family.temperature
        if not fitted.all():  # the fallback must see the clipped input, too
            stands_in = tied(fit_scale(logits, columns.signs, columns.weights))
        map_fit = replace(family, temperature=stands_in).map_fit("beta_clipped", params, fitted)
    return replace(map_fit, clip=INPUT_CLIP)


def _beta_cv(family: _Family) -> CalibrationFit:
    start = np.tile(family.temperature, (len(GRID), 1, 1))
    whole, fitted = np.empty_like(start), np.empty(start.shape[:2], dtype=bool)
    for block in family.columns.blocks():
        whole[:, block], fitted[:, block] = _path(family.columns.part(block), start[:, block])

    def fits(learn: Columns, own: Ints) -> list[CalibrationFit]:
        params, _ = _path(learn, whole[:, own])
        return [family.map_fit("beta_cv", maps) for maps in params]

    which = np.full(len(family.temperature), GRID.index(LAMBDA))
    if _has_folds(family):
        which = lowest(cross_validated(family.columns, family.fold, fits)[0])
    at = which, np.arange(len(which))
    map_fit = family.map_fit("beta_cv", whole[at], fitted[at])
    return replace(map_fit, penalty=np.array(GRID)[which])


def _path(columns: Columns, start: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return maps (L, B, 3) for all penalties of the grid, and which converged (L, B)."""
    shape = start.shape
    params, fitted = _penalised(
        columns.repeated(len(GRID)),
        np.repeat(np.array(GRID), shape[1]),
        ALPHA,
        start.reshape(-1, 3),
    )
    return params.reshape(shape), fitted.reshape(shape[:2])


def _isotonic(family: _Family) -> CalibrationFit:
    columns = family.columns
    signs = np.broadcast_to(columns.signs, columns.logits.shape)
    steps = IsotonicFit(
        tuple(
            fit_isotonic(
                logits,
                signs[column],
                None if columns.weights is None else columns.weights[column],
                symmetric=columns.symmetric,
            )
            for column, logits in enumerate(columns.logits)
        )
    )
    lost = np.zeros(len(columns.logits), dtype=bool) if columns.symmetric else columns.one_class()
    if not lost.any():
        return steps
    names: tuple[Calibrator, ...] = ("isotonic", "temperature")
    return ChosenFit(names, (steps, family("temperature")), lost.astype(np.int64), lost)


def _auto(family: _Family) -> CalibrationFit:
    symmetric = family.columns.symmetric
    names = tuple(name for name in AUTO if not (symmetric and name == "platt"))

    def fits(learn: Columns, own: Ints) -> list[CalibrationFit]:
        start = fit_scale(
            learn.logits, learn.signs, learn.weights, start=family.temperature[own, 0]
        )
        inner = _Family(learn, tied(start))
        return [inner(name) for name in names]

    enough = family.columns.n_labels >= FEW_LABELS
    which = np.zeros(len(enough), dtype=np.int64)
    if enough.any() and _has_folds(family):
        nll, error = cross_validated(family.columns, family.fold, fits)
        which = np.where(enough, clearly_lowest(nll, error), which)
    all_fits = tuple(family(name) for name in names)
    replaced = np.stack([result.replaced for result in all_fits])[which, np.arange(len(which))]
    return ChosenFit(names, all_fits, which, replaced)


def _penalised(
    columns: Columns, penalty: float | Floats, alpha: float, start: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return monotone beta maps (B, 3) under a penalty, and which converged (B,)."""
    if columns.symmetric:
        slope = fit_scale(
            columns.logits,
            columns.signs,
            columns.weights,
            penalty=penalty,
            alpha=alpha,
            start=start[:, 0],
        )
        return tied(slope), np.ones(len(slope), dtype=bool)
    return fit_beta(
        columns.logits, columns.signs, columns.weights, start=start, penalty=penalty, alpha=alpha
    )


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
