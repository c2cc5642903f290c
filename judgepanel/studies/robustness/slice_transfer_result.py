"""Result of :data:`SLICE_TRANSFER`: every slice with its own labels and labels from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.inference import MARGIN
from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.results import RunResult, long_frame

Outcome = Literal["fails", "helps", "holds", "undecided"]

ARMS = ("own", "elsewhere", "elsewhere, more")
"""Labels of the slice; as many of the other slices; the calibration share of the other slices."""
ALPHA = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class SliceTransfer(RunResult):
    """Result of :data:`SLICE_TRANSFER`; without a usable feature there are no slices.

    ``slices`` are those of ``feature``, ``offered`` are all features. ``n_slice`` (n_slices,)
    counts items, ``labels`` (n_slices, n_arms) the labels on which each panel of ``ARMS`` was
    fitted. ``nll`` (n_slices, n_arms) is in nats per item of the slice, with 95 % intervals for new
    items of it; ``accuracy`` in [0, 1]; ``null_nll`` is the NLL of the base rate of the same
    labels, ``constant_nll`` that of a constant score through the calibrator.

    ``delta`` (n_slices, n_arms) is NLL(labels from elsewhere) - NLL(own labels), above 0 if the
    panel does not transfer; 0 for own labels. Its 95 % interval is per slice, that of ``band``
    holds for all slices together (Bonferroni); ``p_holm`` is ``p`` after Holm over the slices.
    """

    feature: str | None
    offered: tuple[str, ...]
    slices: tuple[str, ...]
    aggregator: str
    calibrator: str
    n_slice: Ints
    labels: Floats
    nll: Interval
    accuracy: Floats
    null_nll: Floats
    constant_nll: Floats
    delta: Interval
    band: Interval
    p: Floats
    p_holm: Floats
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "slice": "Slice of the items by the feature.",
            "items": "Number of items in the slice.",
            "labels_from": "Source of the labels that the panel is fitted on.",
            "delta": "NLL with labels from elsewhere minus that with the slice's own, in nats.",
            "band_lo": "Lower end of the 95 % interval of delta in all slices together.",
            "band_hi": "Upper end of the 95 % interval of delta in all slices together.",
            "outcome": "Whether the panel is shown to lose on the slice.",
        }
    )

    def outcome(self, g: int, arm: int = 1) -> Outcome:
        """Return what the band decides against 2 % of the NLL of own labels.

        ``fails`` and ``helps``: the difference is significant after Holm; ``holds``: it costs less
        than the margin, in all slices together.
        """
        significant = float(self.p_holm[g, arm]) < ALPHA
        if significant:
            return "fails" if self.delta.value[g, arm] > 0 else "helps"
        within = self.band[g, arm].below(MARGIN * self.nll.value[g, 0])
        return "holds" if within else "undecided"

    def frame(self) -> pd.DataFrame:
        """One row per slice and panel."""
        shape = self.nll.shape
        outcomes = [
            "reference" if arm == 0 else self.outcome(g, arm) for g, arm in np.ndindex(*shape)
        ]
        return long_frame(
            shape,
            {
                "feature": self.feature,
                "slice": np.array(self.slices, dtype=object)[:, None],
                "items": self.n_slice[:, None],
                "labels_from": ARMS,
                "labels": self.labels,
                "nll": self.nll,
                "accuracy": self.accuracy,
                "null_nll": self.null_nll,
                "constant_nll": self.constant_nll,
                "delta": self.delta,
                "band_lo": self.band.lo,
                "band_hi": self.band.hi,
                "p": self.p,
                "p_holm": self.p_holm,
                "skill": 1.0 - self.nll.value / self.null_nll,
                "outcome": np.array(outcomes, dtype=object).reshape(shape),
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return the cost of labels from elsewhere in every slice."""
        return {
            "feature": self.feature,
            "slices": [
                {
                    "slice": name,
                    "items": int(self.n_slice[g]),
                    "labels": float(self.labels[g, 0]),
                    "nll_own": to_plain(self.nll.value[g, 0]),
                    "nll_elsewhere": to_plain(self.nll.value[g, 1]),
                    "null_nll": to_plain(self.null_nll[g, 1]),
                    "delta": to_plain(self.delta.value[g, 1]),
                    "delta_lo": to_plain(self.delta.lo[g, 1]),
                    "delta_hi": to_plain(self.delta.hi[g, 1]),
                    "p_holm": to_plain(self.p_holm[g, 1]),
                    "outcome": self.outcome(g),
                }
                for g, name in enumerate(self.slices)
            ],
        }
