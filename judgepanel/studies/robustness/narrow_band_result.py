"""Result of :data:`NARROW_BAND`: keep all or prune, in simulated panels similar to this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.interval import Interval
from judgepanel.studies.results import long_frame, scalars


@dataclass(frozen=True, slots=True, eq=False)
class NarrowBand:
    """Result of :data:`NARROW_BAND`. All figures except the ``own_`` ones are simulated.

    Arrays are (n_widths, n_rhos, n_sizes, n_shares): ``widths`` of the band of accuracies about
    ``mean_accuracy``, ``rhos`` of the latent correlation of votes, ``sizes`` of the panel, and
    ``shares`` of it that pruning keeps. ``delta`` is NLL(pruned) - NLL(all) in nats, above 0 if
    keeping all judges is better, with a 95 % interval over replicates; ``band`` holds for all cells
    together (Bonferroni). ``loss`` is the accuracy lost by pruning, with a 95 % interval. ``nll``
    and ``accuracy`` are those of all judges; ``error_rho`` (n_widths, n_rhos) is the resulting mean
    correlation of errors. ``own_width`` and ``own_rho`` locate the given panel: the width of a
    uniform band with its spread of accuracies, without sampling noise, and the mean correlation of
    its errors; NaN if unknown.
    """

    aggregator: str
    calibrator: str
    widths: Floats
    rhos: Floats
    sizes: Ints
    shares: Floats
    delta: Interval
    band: Interval
    loss: Interval
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
            "simulated": "Always true: the figures are from simulated panels.",
            "width": "Width of the band of the judges' accuracies.",
            "rho": "Latent correlation of the votes.",
            "error_rho": "Resulting mean correlation of errors.",
            "share": "Share of the panel that pruning keeps.",
            "n_replicates": "Number of simulated panels behind the figures.",
            "nll": "NLL of all judges, in nats.",
            "accuracy": "Share of right decisions of all judges.",
            "delta": "NLL after pruning minus that of all judges, in nats.",
            "loss": "Accuracy lost by pruning.",
            "winner": "Which is shown to be better.",
            "seed": "Seed of the simulation.",
        }
    )

    @property
    def partial(self) -> bool:
        """Whether replicates are still missing."""
        return self.n_replicates < self.planned_replicates

    @property
    def winner(self) -> NDArray[np.str_]:
        """Which side has the lower NLL in every cell, by the band: all, pruned, or undecided."""
        return np.select([self.band.above(), self.band.below()], ["all", "pruned"], "undecided")

    def winners(self) -> dict[str, int]:
        """Number of cells that each side wins."""
        names = ("all", "pruned", "undecided")
        return {name: int(np.count_nonzero(self.winner == name)) for name in names}

    def frame(self) -> pd.DataFrame:
        """One row per cell."""
        return long_frame(
            self.delta.shape,
            {
                "simulated": True,
                "width": self.widths[:, None, None, None],
                "rho": self.rhos[:, None, None],
                "error_rho": self.error_rho[:, :, None, None],
                "judges": self.sizes[:, None],
                "share": self.shares,
                "n_replicates": self.n_replicates,
                "seed": self.seed,
                "nll": self.nll,
                "null_nll": self.null_nll,
                "accuracy": self.accuracy,
                "delta": self.delta.value,
                "lo": self.delta.lo,
                "hi": self.delta.hi,
                "band_lo": self.band.lo,
                "band_hi": self.band.hi,
                "loss": self.loss,
                "winner": self.winner,
            },
        )

    def summary(self) -> dict[str, Any]:
        """Return how many cells each side wins, and what was simulated."""
        return {
            "simulated": True,
            "winners": self.winners(),
            **scalars(self),
            "partial": self.partial,
        }
