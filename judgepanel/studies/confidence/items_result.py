"""What :data:`ITEMS` finds: every item's probability, and how good they are stratum by stratum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.studies.codec import to_plain
from judgepanel.studies.confidence.probabilities import STAGES
from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
StratumGrouping = Literal["difficulty", "errors", "feature"]

FEW_ITEMS = 10
"""Below this many items a stratum's figures say little."""
STRATUM_FIGURES = ("accuracy", "nll", "ece")


@dataclass(frozen=True, slots=True, eq=False)
class Items(SplitResult):
    """Result of :data:`ITEMS`.

    Items are the labelled ones, in the file's order, and (n_items,): ``labels`` and ``p`` (mean
    probability of label 1 over an item's evaluations, between ``p_lo`` and ``p_hi`` in the central
    95 % of them) as the file has the two responses; ``nll`` the mean surprise; ``right`` the share
    of evaluations whose decision is right; ``times`` the evaluations, 0 where no split held the
    item out. ``for_1`` and ``for_0`` count votes, ``wrong`` those against the label;
    ``disagreement`` is 0 where votes are alike and 1 where they are half against half.
    ``feature_values`` are texts, one tuple a feature.

    Strata (n_strata,) are named ``strata`` by ``groupings``: ``difficulty`` (disagreement of the
    votes, no label used), ``errors`` (share of votes against the label: it only describes, since
    the label is in it) and a ``feature``. ``accuracy``, ``nll_by`` and ``ece`` (2, n_strata) are
    before and after calibration with 95 % intervals for new items; ``ece_null`` what a perfectly
    calibrated panel would show; ``null_by`` (n_strata,) the base rate's NLL.
    """

    aggregator: str
    calibrator: str
    k: int
    item_ids: tuple[str, ...]
    labels: Ints
    p: Floats
    p_lo: Floats
    p_hi: Floats
    nll: Floats
    right: Floats
    times: Ints
    for_1: Ints
    for_0: Ints
    wrong: Ints
    disagreement: Floats
    features: tuple[str, ...]
    feature_values: tuple[tuple[str, ...], ...]
    strata: tuple[str, ...]
    groupings: tuple[StratumGrouping, ...]
    stratum_items: Ints
    confidence: Floats
    accuracy: Floats
    accuracy_lo: Floats
    accuracy_hi: Floats
    nll_by: Floats
    nll_by_lo: Floats
    nll_by_hi: Floats
    ece: Floats
    ece_lo: Floats
    ece_hi: Floats
    ece_null: Floats
    null_by: Floats
    null_nll: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "item": "Id of the item.",
            "label": "Its label.",
            "p": "Mean probability of label 1 over the item's evaluations.",
            "p_lo": "Lower end of the central 95 % of these probabilities over evaluations.",
            "p_hi": "Upper end of the central 95 % of these probabilities over evaluations.",
            "nll": "Mean -log p(true label) of the item, in nats.",
            "right": "Share of the item's evaluations whose decision is right.",
            "evaluations": "Splits that held the item out.",
            "votes_for_1": "Votes for label 1.",
            "votes_for_0": "Votes for label 0.",
            "votes_against_label": "Votes against the item's label.",
            "disagreement": "How evenly the votes are divided: 0 all alike, 1 half against half.",
        }
    )

    def worst(self, n: int) -> Ints:
        """Positions of the items that cost most NLL, largest first."""
        order = np.argsort(-np.nan_to_num(self.nll, nan=-1.0), kind="stable")
        return np.asarray(order[self.times[order] > 0][:n])

    def contested(self, n: int) -> Ints:
        """Positions of the items whose votes are most evenly divided, most votes first in ties."""
        even = np.nan_to_num(self.disagreement, nan=-1.0)
        order = np.lexsort((-(self.for_1 + self.for_0), -even))
        return np.asarray(order[even[order] > 0][:n])

    def strata_of(self, grouping: StratumGrouping) -> list[int]:
        """Positions of the strata of one grouping."""
        return [i for i, name in enumerate(self.groupings) if name == grouping]

    def frame(self) -> pd.DataFrame:
        """One row per labelled item, in the file's order."""
        columns: dict[str, Any] = {
            "item": list(self.item_ids),
            "label": self.labels,
            "p": self.p,
            "p_lo": self.p_lo,
            "p_hi": self.p_hi,
            "nll": self.nll,
            "null_nll": self.null_nll,
            "right": self.right,
            "evaluations": self.times,
            "votes_for_1": self.for_1,
            "votes_for_0": self.for_0,
            "votes_against_label": self.wrong,
            "disagreement": self.disagreement,
        }
        for name, values in zip(self.features, self.feature_values, strict=True):
            columns[f"feat_{name}"] = list(values)
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """Figures by stratum, and what was run."""
        figures = [
            f"{name}{end}" for name in ("accuracy", "nll_by", "ece") for end in ("", "_lo", "_hi")
        ]
        return {
            "aggregator": self.aggregator,
            "calibrator": self.calibrator,
            "k": self.k,
            "strata": [
                {
                    "grouping": self.groupings[i],
                    "stratum": name,
                    "uses_label": self.groupings[i] == "errors",
                    "items": int(self.stratum_items[i]),
                    "null_nll": to_plain(self.null_by[i]),
                    "stages": [
                        {
                            "stage": stage,
                            **{
                                field.replace("_by", ""): to_plain(getattr(self, field)[s, i])
                                for field in (*figures, "ece_null", "confidence")
                            },
                        }
                        for s, stage in enumerate(STAGES)
                    ],
                }
                for i, name in enumerate(self.strata)
            ],
            "null_nll": self.null_nll,
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
