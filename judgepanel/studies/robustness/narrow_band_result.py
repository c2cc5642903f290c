"""What :data:`NARROW_BAND` finds: keep all or prune, in simulated panels shaped like this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Winner = Literal["all", "pruned", "undecided"]


@dataclass(frozen=True, slots=True, eq=False)
class NarrowBand:
    """Result of :data:`NARROW_BAND`. Every figure of it but the ``own_`` ones is simulated.

    Arrays are (n_widths, n_rhos, n_sizes, n_shares): ``widths`` of the band of accuracies about
    ``mean_accuracy``, ``rhos`` of the latent correlation of votes, ``sizes`` of the panel, and
    ``shares`` of it that pruning keeps. ``delta`` is NLL(pruned) - NLL(all) in nats, above 0 where
    keeping everyone is better, with a 95 % interval over replicates; ``band_lo`` and ``band_hi``
    hold for all cells together (Bonferroni). ``loss`` is the accuracy that pruning gives away.
    ``nll`` and ``accuracy`` are those of all judges; ``error_rho`` (n_widths, n_rhos) is the mean
    correlation of errors that came out. ``own_width`` and ``own_rho`` place the panel at hand: the
    width of a uniform band with its spread of accuracies, sampling noise taken out, and the mean
    correlation of its errors; NaN where unknown.
    """

    aggregator: str
    calibrator: str
    widths: Floats
    rhos: Floats
    sizes: Ints
    shares: Floats
    delta: Floats
    lo: Floats
    hi: Floats
    band_lo: Floats
    band_hi: Floats
    loss: Floats
    loss_lo: Floats
    loss_hi: Floats
    nll: Floats
    accuracy: Floats
    error_rho: Floats
    null_nll: float
    mean_accuracy: float
    coverage: float
    own_width: float
    own_rho: float
    n_calibration: int
    n_evaluation: int
    orientation: str
    n_items: int
    n_judges: int
    n_replicates: int
    planned_replicates: int
    seed: int
    warnings: tuple[str, ...]

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "lo": "Lower end of the 95 % interval of delta.",
            "hi": "Upper end of the 95 % interval of delta.",
            "simulated": "Always true: the figures are of simulated panels.",
            "width": "Width of the band of the judges' accuracies.",
            "rho": "Latent correlation of the votes.",
            "error_rho": "Mean correlation of errors that came out.",
            "share": "Share of the panel that pruning keeps.",
            "n_replicates": "Simulated panels in the figures.",
            "nll": "NLL of all judges, in nats.",
            "accuracy": "Share of right decisions of all judges.",
            "delta": "NLL after pruning less that of all judges, in nats.",
            "loss": "Accuracy that pruning gives away.",
            "winner": "Which is shown to be better.",
            "seed": "Seed of the simulation.",
        }
    )

    @property
    def partial(self) -> bool:
        """Whether replicates are still missing."""
        return self.n_replicates < self.planned_replicates

    def winner(self, cell: tuple[int, ...]) -> Winner:
        """Who has the lower NLL in a cell, by the band for all cells."""
        if self.band_lo[cell] > 0:
            return "all"
        return "pruned" if self.band_hi[cell] < 0 else "undecided"

    def winners(self) -> dict[str, int]:
        """In how many cells each wins."""
        winners_by_cell = [self.winner(cell) for cell in np.ndindex(self.delta.shape)]
        return {name: winners_by_cell.count(name) for name in ("all", "pruned", "undecided")}

    def frame(self) -> pd.DataFrame:
        """One row per cell."""
        shape = self.delta.shape
        width, rho, size, share = (part.ravel() for part in np.indices(shape))
        columns: dict[str, Any] = {
            "simulated": True,
            "width": self.widths[width],
            "rho": self.rhos[rho],
            "error_rho": self.error_rho[width, rho],
            "judges": self.sizes[size],
            "share": self.shares[share],
            "n_replicates": self.n_replicates,
            "seed": self.seed,
            "nll": self.nll.ravel(),
            "null_nll": self.null_nll,
            "accuracy": self.accuracy.ravel(),
        }
        for name in ("delta", "lo", "hi", "band_lo", "band_hi", "loss", "loss_lo", "loss_hi"):
            columns[name] = getattr(self, name).ravel()
        columns["winner"] = [self.winner(cell) for cell in np.ndindex(shape)]
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """In how many cells each wins, and what was simulated."""
        return {
            "simulated": True,
            "winners": self.winners(),
            "mean_accuracy": self.mean_accuracy,
            "coverage": self.coverage,
            "own_width": self.own_width if np.isfinite(self.own_width) else None,
            "own_rho": self.own_rho if np.isfinite(self.own_rho) else None,
            "aggregator": self.aggregator,
            "calibrator": self.calibrator,
            "null_nll": self.null_nll,
            "orientation": self.orientation,
            "n_calibration": self.n_calibration,
            "n_evaluation": self.n_evaluation,
            "n_replicates": self.n_replicates,
            "seed": self.seed,
            "partial": self.partial,
        }
