"""What :data:`SELECTIVE` finds: accuracy when only the confident items are answered."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Selective(SplitResult):
    """Result of :data:`SELECTIVE`; the first axis is ``STAGES``, before and after calibration.

    ``curve`` (2, n_shares) is the accuracy among the most confident ``shares`` of the items,
    ``auac`` (2,) the area under it and ``gain`` (2,) = AUAC - accuracy of answering everything: 0
    where confidence says nothing. ``gain_most`` (2,) is the gain of a confidence that puts every
    right decision before every wrong one. ``share`` (2, n_confidences) of the items is answered
    where at least ``confidences`` is stated, ``right`` of those answers are right, ``stated`` is
    their mean confidence and ``items`` how many they are; NaN where none is. ``accuracy`` (2,)
    answers everything; ``null_accuracy`` the commoner label of the calibration items, .5 under
    ``symmetric``. ``lo`` and ``hi`` bound 95 % intervals for new items and panels.
    """

    aggregator: str
    calibrator: str
    k: int
    shares: Floats
    curve: Floats
    curve_lo: Floats
    curve_hi: Floats
    auac: Floats
    auac_lo: Floats
    auac_hi: Floats
    gain: Floats
    gain_lo: Floats
    gain_hi: Floats
    gain_most: Floats
    accuracy: Floats
    accuracy_lo: Floats
    accuracy_hi: Floats
    null_accuracy: float
    confidences: tuple[float, ...]
    share: Floats
    share_lo: Floats
    share_hi: Floats
    right: Floats
    right_lo: Floats
    right_hi: Floats
    stated: Floats
    items: Floats
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "by": "Whether the limit is a confidence or a share of the items.",
            "limit": "Least confidence at which an item is answered, or share answered.",
            "share": "Share of the items that is answered.",
            "right": "Share of the answers that is right.",
            "stated": "Mean confidence of the answers.",
            "items": "Items answered, mean over splits.",
        }
    )

    def frame(self) -> pd.DataFrame:
        """One row per stage and limit: ``by`` confidence (at least so sure) or share (so many)."""
        rows = []
        for stage, name in enumerate(STAGES):
            head = {
                "stage": name,
                "aggregator": self.aggregator,
                "calibrator": "none" if stage < CALIBRATED else self.calibrator,
                "k": self.k,
                "n_splits": self.n_splits,
            }
            for i, limit in enumerate(self.confidences):
                fields = {"by": "confidence", "limit": limit}
                for field in ("share", "right"):
                    for end in ("", "_lo", "_hi"):
                        fields[field + end] = float(getattr(self, field + end)[stage, i])
                for field in ("stated", "items"):
                    fields[field] = float(getattr(self, field)[stage, i])
                rows.append({**head, **fields})
            for i, limit in enumerate(self.shares.tolist()):
                fields = {"by": "share", "limit": limit, "share": limit}
                for end in ("", "_lo", "_hi"):
                    fields["right" + end] = float(getattr(self, "curve" + end)[stage, i])
                fields["items"] = limit * self.n_items
                rows.append({**head, **fields})
        return pd.DataFrame(rows)

    def summary(self) -> dict[str, Any]:
        """AUAC and accuracy with intervals, and what was run."""
        names = ("auac", "gain", "accuracy")
        return {
            "aggregator": self.aggregator,
            "calibrator": self.calibrator,
            "k": self.k,
            "stages": [
                {
                    "stage": stage,
                    **{
                        name + end: to_plain(getattr(self, name + end)[i])
                        for name in names
                        for end in ("", "_lo", "_hi")
                    },
                    "gain_most": to_plain(self.gain_most[i]),
                }
                for i, stage in enumerate(STAGES)
            ],
            "null_accuracy": self.null_accuracy,
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
