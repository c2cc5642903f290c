"""Result of :data:`RELIABILITY`: stated confidence against the share that is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.interval import Interval
from judgepanel.studies.confidence.probabilities import STAGES
from judgepanel.studies.frames import json_values, long_frame
from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]

STATED_BINS = "stated"
"""Name of the bins centred on commonly stated confidences: 60 %, 70 %, 80 %, 90 %."""
FEW_ITEMS = 10.0
"""Number of items below which a bin's share is uninformative."""


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of confidence, arrays (2, n_bins) over ``STAGES``; NaN where ``items`` is 0.

    ``edges`` (n_bins + 1,) lie in [.5, 1], or just below .5; ``items`` counts items, not
    evaluations, each once at most. ``confidence`` is the mean stated confidence, ``accuracy`` the
    share right, with 95 % intervals for new items and new panels.
    """

    name: str
    edges: Floats
    items: Floats
    confidence: Floats
    accuracy: Interval

    @property
    def n_bins(self) -> int:
        """Number of bins, including empty ones."""
        return len(self.edges) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Reliability(SplitResult):
    """Result of :data:`RELIABILITY`; arrays over (2,) stages are before and after calibration.

    ``slope`` and ``intercept`` (2,) are from the regression of labels on the stated logit, 1 and 0
    under calibration; NaN without a finite fit, the intercept also under ``symmetric``. Expected
    calibration errors are (2, n_ece_bins): ``ece`` over all items, with an interval,
    ``ece_corrected`` without the excess due to sampling of items, ``ece_null`` the mean and central
    95 % (not a confidence interval) for a perfectly calibrated panel, ``ece_p`` how often such a
    panel has at least this error. ``ece_split`` is the mean over single splits, with far fewer
    items each, and ``ece_split_null`` its chance level. ``nll`` and ``accuracy`` (2,) have 95 %
    intervals; ``null_nll`` is that of the base rate, ``constant_nll`` that of a constant score.
    """

    bins: tuple[Bins, ...]
    aggregator: str
    calibrator: str
    k: int
    ece_bins: tuple[int, ...]
    ece: Interval
    ece_corrected: Floats
    ece_null: Interval
    ece_p: Floats
    ece_split: Floats
    ece_split_null: Floats
    slope: Interval
    intercept: Interval
    confidence: Floats
    accuracy: Interval
    nll: Interval
    null_nll: float
    constant_nll: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "bins": "Definition of the bins.",
            "from": "Lower edge of the bin of stated confidence.",
            "to": "Upper edge of the bin of stated confidence.",
            "items": "Number of items in the bin, mean over splits.",
            "confidence": "Mean stated confidence in the bin.",
            "accuracy": "Share of right decisions in the bin.",
        }
    )

    def binned(self, name: str) -> Bins:
        """Return the bins with this name: ``10``, ``15``, ``stated``."""
        return next(bins for bins in self.bins if bins.name == name)

    def frame(self) -> pd.DataFrame:
        """Return one row per stage and non-empty bin, for every binning."""
        frames = [
            long_frame(
                bins.items.shape,
                {
                    "stage": np.array(STAGES)[:, None],
                    "aggregator": self.aggregator,
                    "calibrator": [["none"], [self.calibrator]],
                    "k": self.k,
                    "bins": bins.name,
                    "from": np.maximum(0.5, bins.edges[:-1]),
                    "to": bins.edges[1:],
                    "n_splits": self.n_splits,
                    "items": bins.items,
                    "confidence": bins.confidence,
                    "accuracy": bins.accuracy,
                    "gap": bins.accuracy.value - bins.confidence,
                },
            )
            for bins in self.bins
        ]
        frame = pd.concat(frames)
        return frame[frame["items"] > 0].reset_index(drop=True)

    def decisions(self) -> dict[str, Any]:
        """Return slope, intercept and calibration errors of both stages, with their null."""
        levels = ("slope", "intercept", "confidence", "accuracy", "nll")
        errors = ("ece", "ece_corrected", "ece_null", "ece_p", "ece_split", "ece_split_null")
        return {
            "stages": [
                {
                    "stage": stage,
                    **json_values({name: getattr(self, name)[i] for name in levels}),
                    "ece_by_bins": [
                        {
                            "bins": bins,
                            **json_values({name: getattr(self, name)[i, b] for name in errors}),
                        }
                        for b, bins in enumerate(self.ece_bins)
                    ],
                }
                for i, stage in enumerate(STAGES)
            ]
        }
