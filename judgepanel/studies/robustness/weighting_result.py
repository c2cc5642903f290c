"""What :data:`RELIABILITY_WEIGHTING` finds: does it matter which comparisons count for more?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.interval import Interval
from judgepanel.studies.frames import long_frame
from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityWeighting(SplitResult):
    """Result of :data:`RELIABILITY_WEIGHTING`.

    Arrays are (n_signals,): ``signals`` and ``favours`` (``high`` or ``low``) say which comparisons
    count for more, ``features`` which signals are item features. ``delta`` is NLL(weighted) -
    NLL(unweighted) in nats with a 95 % interval (``band`` for all signals together) and the
    two-sided ``p``; ``delta_90`` has the 90 % interval that two one-sided tests look at:
    ``p_absolute`` and ``absolute`` are for ``margin`` nats (the paper's
    .005), ``p_relative`` and ``relative`` for ``relative_margin`` nats, 1 % of the unweighted NLL.
    ``p_plain`` is the paired test over items with ``margin`` alone, which takes the fitted panels
    as given. ``base_nll`` is the unweighted NLL with a 95 % interval.
    """

    calibrator: str
    strength: float
    margin: float
    relative_margin: float
    signals: tuple[str, ...]
    favours: tuple[str, ...]
    features: tuple[bool, ...]
    nll: Floats
    delta: Interval
    band: Interval
    p: Floats
    delta_90: Interval
    p_absolute: Floats
    absolute: tuple[str, ...]
    p_relative: Floats
    relative: tuple[str, ...]
    p_plain: Floats
    base_nll: Interval
    null_nll: float
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "lo": "Lower end of the 95 % interval of delta.",
            "hi": "Upper end of the 95 % interval of delta.",
            "signal": "What says how much a comparison counts.",
            "favours": "Whether high or low values of the signal count for more.",
            "feature": "Whether the signal is an item feature.",
            "strength": "How strongly the signal weighs.",
            "unweighted_nll": "NLL without weights, in nats.",
            "nll": "NLL with weights, in nats.",
            "delta": "NLL with weights less that without, in nats.",
            "lo_90": "Lower end of the 90 % interval of delta.",
            "hi_90": "Upper end of the 90 % interval of delta.",
            "tost_p": "p-value of two one-sided tests that delta is within the margin.",
            "tost": "What those tests say.",
            "relative_margin": "1 % of the unweighted NLL, in nats.",
            "relative_tost_p": "The same p-value for the relative margin.",
            "relative_tost": "What the tests say for the relative margin.",
            "plain_tost_p": "The same p-value by a paired test that takes the panels as given.",
        }
    )

    def frame(self) -> pd.DataFrame:
        """One row per signal."""
        return long_frame(
            self.nll.shape,
            {
                "signal": self.signals,
                "favours": self.favours,
                "feature": self.features,
                "calibrator": self.calibrator,
                "strength": self.strength,
                "n_splits": self.n_splits,
                "seed": self.seed,
                "nll": self.nll,
                "unweighted_nll": self.base_nll.value,
                "null_nll": self.null_nll,
                "delta": self.delta.value,
                "lo": self.delta.lo,
                "hi": self.delta.hi,
                "p": self.p,
                "band_lo": self.band.lo,
                "band_hi": self.band.hi,
                "lo_90": self.delta_90.lo,
                "hi_90": self.delta_90.hi,
                "margin": self.margin,
                "tost_p": self.p_absolute,
                "tost": self.absolute,
                "relative_margin": self.relative_margin,
                "relative_tost_p": self.p_relative,
                "relative_tost": self.relative,
                "plain_tost_p": self.p_plain,
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Which effects are shown to be nil."""
        return {
            "equivalent": self.absolute.count("equivalent"),
            "equivalent_to_1_percent": self.relative.count("equivalent"),
            "signals": len(self.signals),
            "unweighted_nll": float(self.base_nll.value),
        }
