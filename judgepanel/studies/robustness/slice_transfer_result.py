"""What :data:`SLICE_TRANSFER` finds: every slice under labels of its own and from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.inference import MARGIN
from judgepanel.studies.codec import to_plain

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Outcome = Literal["fails", "helps", "holds", "undecided"]

ARMS = ("own", "elsewhere", "elsewhere, more")
"""Labels of the slice; as many of the other slices; the calibration share of the other slices."""
ALPHA = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class SliceTransfer:
    """Result of :data:`SLICE_TRANSFER`; without a feature that can be used there are no slices.

    ``slices`` of ``feature``, ``offered`` are all features. ``n_slice`` (n_slices,) counts items,
    ``labels`` (n_slices, n_arms) the labels each panel of ``ARMS`` was fitted on. ``nll``
    (n_slices, n_arms) is in nats per item of the slice, with 95 % intervals for new items of it;
    ``accuracy`` in [0, 1]; ``null_nll`` the base rate of the same labels, ``constant_nll`` a
    constant score through the calibrator.

    ``delta`` (n_slices, n_arms) is NLL(labels from elsewhere) - NLL(own labels), above 0 where the
    panel does not carry over; 0 for own labels. ``delta_lo`` and ``delta_hi`` bound it slice by
    slice, ``band_lo`` and ``band_hi`` in all slices together (Bonferroni); ``p_holm`` is ``p``
    after Holm over the slices.
    """

    feature: str | None
    offered: tuple[str, ...]
    slices: tuple[str, ...]
    aggregator: str
    calibrator: str
    n_slice: Ints
    labels: Floats
    nll: Floats
    nll_lo: Floats
    nll_hi: Floats
    accuracy: Floats
    null_nll: Floats
    constant_nll: Floats
    delta: Floats
    delta_lo: Floats
    delta_hi: Floats
    band_lo: Floats
    band_hi: Floats
    p: Floats
    p_holm: Floats
    orientation: str
    protocol: str
    one_class: bool
    measures_coding: bool
    n_items: int
    n_judges: int
    n_splits: int
    planned_splits: int
    seed: int
    warnings: tuple[str, ...]

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "slice": "Kind of items, by the feature.",
            "items": "Items of the slice.",
            "labels_from": "Where the labels that fit the panel come from.",
            "delta": "NLL with labels from elsewhere less that with the slice's own, in nats.",
            "band_lo": "Lower end of the 95 % interval of delta in all slices together.",
            "band_hi": "Upper end of the 95 % interval of delta in all slices together.",
            "outcome": "Whether the panel is shown to lose on the slice.",
        }
    )

    @property
    def partial(self) -> bool:
        """Whether splits are still missing."""
        return self.n_splits < self.planned_splits

    def outcome(self, g: int, arm: int = 1) -> Outcome:
        """What the band decides against 2 % of the NLL of own labels.

        ``fails`` and ``helps``: the difference is shown, after Holm; ``holds``: it costs less than
        the margin, in all slices together.
        """
        significant = float(self.p_holm[g, arm]) < ALPHA
        if significant:
            return "fails" if self.delta[g, arm] > 0 else "helps"
        within = self.band_hi[g, arm] < MARGIN * self.nll[g, 0]
        return "holds" if within else "undecided"

    def frame(self) -> pd.DataFrame:
        """One row per slice and panel."""
        n_g, n_a = len(self.slices), len(ARMS)
        columns: dict[str, Any] = {
            "feature": self.feature,
            "slice": np.repeat(np.array(self.slices, dtype=object), n_a),
            "items": np.repeat(self.n_slice, n_a),
            "labels_from": np.tile(np.array(ARMS, dtype=object), n_g),
        }
        for name in _FIGURES:
            columns[name] = getattr(self, name).ravel()
        columns["skill"] = 1.0 - columns["nll"] / columns["null_nll"]
        columns["outcome"] = [
            "reference" if a == 0 else self.outcome(g, a) for g in range(n_g) for a in range(n_a)
        ]
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """What labels from elsewhere cost in every slice, and what was run."""
        return {
            "feature": self.feature,
            "slices": [
                {
                    "slice": name,
                    "items": int(self.n_slice[g]),
                    "labels": float(self.labels[g, 0]),
                    "nll_own": to_plain(float(self.nll[g, 0])),
                    "nll_elsewhere": to_plain(float(self.nll[g, 1])),
                    "null_nll": to_plain(float(self.null_nll[g, 1])),
                    "delta": to_plain(float(self.delta[g, 1])),
                    "delta_lo": to_plain(float(self.delta_lo[g, 1])),
                    "delta_hi": to_plain(float(self.delta_hi[g, 1])),
                    "p_holm": to_plain(float(self.p_holm[g, 1])),
                    "outcome": self.outcome(g),
                }
                for g, name in enumerate(self.slices)
            ],
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "partial": self.partial,
        }


_FIGURES = (
    "labels",
    "nll",
    "nll_lo",
    "nll_hi",
    "accuracy",
    "null_nll",
    "constant_nll",
    "delta",
    "delta_lo",
    "delta_hi",
    "band_lo",
    "band_hi",
    "p",
    "p_holm",
)
