"""Fitted calibrators: maps, isotonic steps, and a choice between fits, with one protocol.

A fit holds B columns (panels). It calibrates logits (B, n), selects columns, and describes one
column by its parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.kernels.calibrate.isotonic import Knots
from judgepanel.kernels.calibrate.maps import Rows, softplus

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


class CalibrationFit(Protocol):
    """A calibrator fitted to B columns.

    ``replaced`` (B,) marks columns that could not be fitted and fall back to temperature.
    """

    @property
    def replaced(self) -> Flags:
        """Columns that fall back to temperature, (B,)."""

    def __call__(self, logits: Floats) -> Floats:
        """Return calibrated logits of raw logits (B, n)."""

    def part(self, block: Rows) -> CalibrationFit:
        """Return the fit of some of the columns, in that order."""

    def shape(self, column: int) -> Shape:
        """Return the parameters fitted to one column."""


def apply_map(params: Floats, logits: Floats, clip: float | None = None) -> Floats:
    """m = a log p + b log(1 - p) + c; exactly a l + c if the slopes are tied."""
    if clip is not None:
        logits = np.clip(logits, -clip, clip)
    a, b, c = (params[..., i, None] for i in range(3))
    if np.array_equal(params[..., 0], -params[..., 1]):
        return np.asarray(a * logits + c)
    log_p = -softplus(-logits)
    return np.asarray((a + b) * log_p - b * logits + c)


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

    def part(self, block: Rows) -> MapFit:
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

    knots: tuple[Knots, ...]

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

    def part(self, block: Rows) -> IsotonicFit:
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

    def part(self, block: Rows) -> ChosenFit:
        """Return the fit of some of the columns, in that order."""
        fits = tuple(fit.part(block) for fit in self.fits)
        return ChosenFit(self.names, fits, self.which[block], self.replaced[block])

    def shape(self, column: int) -> Shape:
        """Return the parameters of the chosen fit of one column."""
        return self.fits[int(self.which[column])].shape(column)
