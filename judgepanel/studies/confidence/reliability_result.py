"""What :data:`RELIABILITY` finds: stated confidence against the share that is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.studies.codec import to_plain
from judgepanel.studies.confidence.probabilities import CALIBRATED, STAGES
from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]

STATED_BINS = "stated"
"""Name of the bins around the confidences people say: 60 %, 70 %, 80 %, 90 %."""
FEW_ITEMS = 10.0
"""Below this many items a bin's share is hardly worth its name."""


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of confidence, arrays (2, n_bins) over ``STAGES``; NaN where ``items`` is 0.

    ``edges`` (n_bins + 1,) lie in [.5, 1], or just below .5; ``items`` counts items, not
    evaluations, each once at most. ``confidence`` is the mean that was stated, ``accuracy`` the
    share that was right, with a 95 % interval [``lo``, ``hi``] for new items and new panels.
    """

    name: str
    edges: Floats
    items: Floats
    confidence: Floats
    accuracy: Floats
    lo: Floats
    hi: Floats

    @property
    def n_bins(self) -> int:
        """Bins, empty ones included."""
        return len(self.edges) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Reliability(SplitResult):
    """Result of :data:`RELIABILITY`; arrays over (2,) stages are before and after calibration.

    ``slope`` and ``intercept`` (2,) are those of labels regressed on the stated logit, 1 and 0
    where it means what it says; NaN where there is no finite fit, the intercept also under
    ``symmetric``. Expected calibration errors are (2, n_ece_bins): ``ece`` over all items, with an
    interval, ``ece_corrected`` less what the draw of items adds, ``ece_null`` [``lo``,
    ``hi``] the mean and central 95 % of a panel whose every probability is right, ``ece_p`` how
    often such a panel shows as much. ``ece_split`` is the mean of single splits, with far fewer
    items each, and ``ece_split_null`` its chance level. ``nll`` and ``accuracy`` (2,) have 95 %
    intervals; ``null_nll`` is the base rate's, ``constant_nll`` that of a constant score.
    """

    bins: tuple[Bins, ...]
    aggregator: str
    calibrator: str
    k: int
    ece_bins: tuple[int, ...]
    ece: Floats
    ece_lo: Floats
    ece_hi: Floats
    ece_corrected: Floats
    ece_null: Floats
    ece_null_lo: Floats
    ece_null_hi: Floats
    ece_p: Floats
    ece_split: Floats
    ece_split_null: Floats
    slope: Floats
    slope_lo: Floats
    slope_hi: Floats
    intercept: Floats
    intercept_lo: Floats
    intercept_hi: Floats
    confidence: Floats
    accuracy: Floats
    accuracy_lo: Floats
    accuracy_hi: Floats
    nll: Floats
    nll_lo: Floats
    nll_hi: Floats
    null_nll: float
    constant_nll: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "bins": "The way of binning.",
            "from": "Lower edge of the bin of stated confidence.",
            "to": "Upper edge of the bin of stated confidence.",
            "items": "Items in the bin, mean over splits.",
            "confidence": "Mean confidence stated in the bin.",
            "accuracy": "Share of right decisions in the bin.",
        }
    )

    def binned(self, name: str) -> Bins:
        """The bins of this name: ``10``, ``15``, ``stated``."""
        return next(bins for bins in self.bins if bins.name == name)

    def frame(self) -> pd.DataFrame:
        """One row per stage and bin that is not empty, for every way of binning."""
        rows = []
        for bins in self.bins:
            for stage, name in enumerate(STAGES):
                for b in np.flatnonzero(bins.items[stage] > 0).tolist():
                    value = float(bins.accuracy[stage, b])
                    stated = float(bins.confidence[stage, b])
                    rows.append(
                        {
                            "stage": name,
                            "aggregator": self.aggregator,
                            "calibrator": "none" if stage < CALIBRATED else self.calibrator,
                            "k": self.k,
                            "bins": bins.name,
                            "from": max(0.5, float(bins.edges[b])),
                            "to": float(bins.edges[b + 1]),
                            "n_splits": self.n_splits,
                            "items": float(bins.items[stage, b]),
                            "confidence": stated,
                            "accuracy": value,
                            "accuracy_lo": float(bins.lo[stage, b]),
                            "accuracy_hi": float(bins.hi[stage, b]),
                            "gap": value - stated,
                        }
                    )
        return pd.DataFrame(rows)

    def summary(self) -> dict[str, Any]:
        """Errors of calibration with their null, slope and intercept, and what was run."""
        names = (
            *("slope", "slope_lo", "slope_hi", "intercept", "intercept_lo", "intercept_hi"),
            *("confidence", "accuracy", "accuracy_lo", "accuracy_hi", "nll", "nll_lo", "nll_hi"),
        )
        errors = (
            *("ece", "ece_lo", "ece_hi", "ece_corrected", "ece_null", "ece_null_lo"),
            *("ece_null_hi", "ece_p", "ece_split", "ece_split_null"),
        )
        return {
            "aggregator": self.aggregator,
            "calibrator": self.calibrator,
            "k": self.k,
            "stages": [
                {
                    "stage": stage,
                    **{name: to_plain(getattr(self, name)[i]) for name in names},
                    "ece_by_bins": [
                        {
                            "bins": bins,
                            **{name: to_plain(getattr(self, name)[i, b]) for name in errors},
                        }
                        for b, bins in enumerate(self.ece_bins)
                    ],
                }
                for i, stage in enumerate(STAGES)
            ],
            "null_nll": self.null_nll,
            "constant_nll": self.constant_nll,
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_calibration": self.n_calibration,
            "n_evaluation": self.n_evaluation,
            "n_splits": self.n_splits,
            "seed": self.seed,
            "partial": self.partial,
        }
