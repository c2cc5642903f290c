"""Result of :data:`ITEMS`: every item's probability, and its quality by stratum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.interval import Interval
from judgepanel.studies.confidence.probabilities import STAGES
from judgepanel.studies.results import SplitResult, json_values, long_frame

StratumGrouping = Literal["difficulty", "errors", "feature"]


@dataclass(frozen=True, slots=True, eq=False)
class Items(SplitResult):
    """Result of :data:`ITEMS`.

    Items are the labelled ones, in the file's order, and (n_items,): ``labels`` and ``p`` (mean
    probability of label 1 over an item's evaluations, with their central 95 %, which is not a
    confidence interval) in the file's order of the two responses; ``nll`` the mean NLL; ``right``
    the share of evaluations whose decision is right; ``times`` the number of evaluations, 0 if no
    split held the item out. ``for_1`` and ``for_0`` count votes, ``wrong`` those against the label;
    ``disagreement`` is 0 if votes agree and 1 if they are evenly split. ``feature_values`` are
    texts, one tuple per feature.

    Strata (n_strata,) are named ``strata`` by ``groupings``: ``difficulty`` (disagreement of the
    votes, no label used), ``errors`` (share of votes against the label: only descriptive, since it
    uses the label) and a ``feature``. ``accuracy``, ``nll_by`` and ``ece`` (2, n_strata) are before
    and after calibration with 95 % intervals for new items; ``ece_null`` is the expected ECE of a
    perfectly calibrated panel; ``null_by`` (n_strata,) the NLL of the base rate.
    """

    aggregator: str
    calibrator: str
    k: int
    item_ids: tuple[str, ...]
    labels: Ints
    p: Interval
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
    accuracy: Interval
    nll_by: Interval
    ece: Interval
    ece_null: Floats
    null_by: Floats
    null_nll: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "item": "Id of the item.",
            "label": "Label of the item.",
            "p": "Mean probability of label 1 over the item's evaluations.",
            "p_lo": "Lower end of the central 95 % of these probabilities over evaluations.",
            "p_hi": "Upper end of the central 95 % of these probabilities over evaluations.",
            "nll": "Mean -log p(true label) of the item, in nats.",
            "right": "Share of the item's evaluations whose decision is right.",
            "evaluations": "Number of splits that held the item out.",
            "votes_for_1": "Number of votes for label 1.",
            "votes_for_0": "Number of votes for label 0.",
            "votes_against_label": "Number of votes against the item's label.",
            "disagreement": "How evenly the votes are divided: 0 unanimous, 1 evenly split.",
        }
    )

    def worst(self, n: int) -> Ints:
        """Return the positions of the items with the largest NLL, largest first."""
        order = np.argsort(-np.nan_to_num(self.nll, nan=-1.0), kind="stable")
        return np.asarray(order[self.times[order] > 0][:n])

    def contested(self, n: int) -> Ints:
        """Positions of the items with the most evenly divided votes; ties by most votes."""
        even = np.nan_to_num(self.disagreement, nan=-1.0)
        order = np.lexsort((-(self.for_1 + self.for_0), -even))
        return np.asarray(order[even[order] > 0][:n])

    def strata_of(self, grouping: StratumGrouping) -> list[int]:
        """Return the positions of the strata of one grouping."""
        return [i for i, name in enumerate(self.groupings) if name == grouping]

    def frame(self) -> pd.DataFrame:
        """One row per labelled item, in the file's order."""
        features = zip(self.features, self.feature_values, strict=True)
        return long_frame(
            (len(self.item_ids),),
            {
                "item": np.array(self.item_ids, dtype=object),
                "label": self.labels,
                "p": self.p,
                "nll": self.nll,
                "null_nll": self.null_nll,
                "right": self.right,
                "evaluations": self.times,
                "votes_for_1": self.for_1,
                "votes_for_0": self.for_0,
                "votes_against_label": self.wrong,
                "disagreement": self.disagreement,
                **{f"feat_{name}": np.array(values, dtype=object) for name, values in features},
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Figures by stratum."""
        return {
            "strata": [
                {
                    "grouping": self.groupings[i],
                    "stratum": name,
                    "uses_label": self.groupings[i] == "errors",
                    **json_values({"items": self.stratum_items[i], "null_nll": self.null_by[i]}),
                    "stages": [
                        {"stage": stage}
                        | json_values(
                            {
                                "accuracy": self.accuracy[s, i],
                                "nll": self.nll_by[s, i],
                                "ece": self.ece[s, i],
                                "ece_null": self.ece_null[s, i],
                                "confidence": self.confidence[s, i],
                            }
                        )
                        for s, stage in enumerate(STAGES)
                    ],
                }
                for i, name in enumerate(self.strata)
            ]
        }
