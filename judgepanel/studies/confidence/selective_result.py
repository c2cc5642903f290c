"""Result of :data:`SELECTIVE`: accuracy when only confident items are answered."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Selective(SplitResult):
    """Result of :data:`SELECTIVE`; the first axis is ``STAGES``, before and after calibration.

    ``curve`` (2, n_shares) is the accuracy among the most confident ``shares`` of the items,
    ``auac`` (2,) the area under it and ``gain`` (2,) = AUAC - accuracy of answering everything, 0
    for an uninformative confidence. ``gain_most`` (2,) is the gain of a confidence that ranks every
    right decision above every wrong one. ``share`` (2, n_confidences) of the items have at least
    the confidence ``confidences``, ``right`` of those answers are right, ``stated`` is their mean
    confidence and ``items`` their number; NaN if there are none. ``accuracy`` (2,) is that of
    answering everything; ``null_accuracy`` that of the majority label of the calibration items, .5
    under ``symmetric``. Intervals are 95 % intervals for new items and panels.
    """

    aggregator: str
    calibrator: str
    k: int
    shares: Floats
    curve: Interval
    auac: Interval
    gain: Interval
    gain_most: Floats
    accuracy: Interval
    null_accuracy: float
    confidences: tuple[float, ...]
    share: Interval
    right: Interval
    stated: Floats
    items: Floats
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "by": "Whether the threshold is a confidence or a share of the items.",
            "limit": "Lowest confidence at which an item is answered, or share answered.",
            "share": "Share of the items that are answered.",
            "right": "Share of the answers that are right.",
            "stated": "Mean stated confidence of the answers.",
            "items": "Number of items answered, mean over splits.",
        }
    )

    def frame(self) -> pd.DataFrame:
        """Return one row per stage and threshold: ``by`` confidence (at least) or share (top)."""
        limits = (*self.confidences, *self.shares.tolist())
        by = ["confidence"] * len(self.confidences) + ["share"] * len(self.shares)
        asked = Interval.alone(np.broadcast_to(self.shares, self.curve.shape))
        return long_frame(
            (len(STAGES), len(limits)),
            {
                "stage": np.array(STAGES)[:, None],
                "aggregator": self.aggregator,
                "calibrator": [["none"], [self.calibrator]],
                "k": self.k,
                "n_splits": self.n_splits,
                "by": by,
                "limit": limits,
                "share": Interval.joined([self.share, asked], axis=1),
                "right": Interval.joined([self.right, self.curve], axis=1),
                "stated": np.concatenate([self.stated, asked.lo], axis=1),
                "items": np.concatenate([self.items, asked.value * self.n_items], axis=1),
            },
        )

    def decisions(self) -> dict[str, Any]:
        """AUAC, its gain and accuracy of both stages, with intervals."""
        return {
            "stages": [
                {"stage": stage}
                | json_values(
                    {
                        "auac": self.auac[i],
                        "gain": self.gain[i],
                        "accuracy": self.accuracy[i],
                        "gain_most": self.gain_most[i],
                    }
                )
                for i, stage in enumerate(STAGES)
            ]
        }
