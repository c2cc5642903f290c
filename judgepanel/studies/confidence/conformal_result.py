"""Result of :data:`CONFORMAL`: coverage and size of sets overall, by class, difficulty, feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.interval import Interval
from judgepanel.studies.results import SplitResult, json_values, long_frame

Grouping = Literal["all", "class", "difficulty", "feature"]
Kept = Literal["holds", "falls short", "open"]

KIND_FIELDS = ("neither", "only_0", "only_1", "both")


@dataclass(frozen=True, slots=True, eq=False)
class Conformal(SplitResult):
    """Result of :data:`CONFORMAL`.

    ``methods`` name the groups within which sets are calibrated: ``all`` is plain split conformal,
    the others are Mondrian within label, difficulty or feature. ``groups`` name the groups that are
    reported, by ``groupings``; ``items`` (n_groups,) counts their items. Arrays are (n_methods,
    n_levels, n_groups): ``coverage`` the share of sets that hold the true label, ``size`` in [0, 2]
    the number of labels they hold, ``one_right`` the share right among the sets with one label,
    each with a 95 % interval for new items, panels and slices; NaN for empty groups. ``kinds``
    (n_methods, n_levels, n_groups, 4) are shares of {}, {0}, {1} and {0, 1}; under ``symmetric`` a
    set of one label counts half for each. ``infinite`` (n_methods, n_levels) counts splits in which
    a threshold was infinite.
    """

    aggregator: str
    calibrator: str
    k: int
    feature: str | None
    methods: tuple[Grouping, ...]
    levels: tuple[float, ...]
    groups: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    items: Ints
    coverage: Interval
    size: Interval
    one_right: Interval
    kinds: Floats
    infinite: Ints
    n_slice: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "sets_within": "Groups within which thresholds are set: all items, or groups of them.",
            "level": "Share of sets that are promised to hold the true label.",
            "grouping": "How the items are grouped for reporting coverage.",
            "group": "Group of items.",
            "promised": "Whether the level is promised within this group.",
            "n_slice": "Number of labels that set the thresholds, mean over splits.",
            "coverage": "Share of the sets that hold the true label.",
            "size": "Mean number of labels in a set, 0 to 2.",
            "one_right": "Share of the sets with one label that are right.",
            "share_neither": "Share of sets without a label.",
            "share_only_0": "Share of sets with label 0 only.",
            "share_only_1": "Share of sets with label 1 only.",
            "share_both": "Share of sets with both labels.",
        }
    )

    @property
    def symmetric(self) -> bool:
        """Whether the label in a set of one label is arbitrary."""
        return self.orientation == "symmetric"

    def promised(self, method: int, group: int) -> bool:
        """Return whether the method promises coverage within that group, not only overall."""
        return self.groupings[group] in ("all", self.methods[method])

    def kept(self, method: int, level: int, group: int) -> Kept:
        """Return whether the interval of the coverage reaches the level."""
        coverage = self.coverage[method, level, group]
        if not np.isfinite(coverage.lo + coverage.hi):
            return "open"
        return "falls short" if coverage.below(self.levels[level]) else "holds"

    def frame(self) -> pd.DataFrame:
        """One row per method, level and group."""
        n_groups = len(self.groups)
        promised = [
            [[self.promised(m, g) for g in range(n_groups)]] for m in range(len(self.methods))
        ]
        return long_frame(
            self.coverage.shape,
            {
                "aggregator": self.aggregator,
                "calibrator": self.calibrator,
                "k": self.k,
                "sets_within": np.array(self.methods)[:, None, None],
                "level": np.array(self.levels)[:, None],
                "grouping": self.groupings,
                "group": np.array(self.groups, dtype=object),
                "promised": promised,
                "items": self.items,
                "n_slice": self.n_slice,
                "n_splits": self.n_splits,
                "coverage": self.coverage,
                "size": self.size,
                "one_right": self.one_right,
                **{f"share_{name}": self.kinds[..., i] for i, name in enumerate(KIND_FIELDS)},
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return coverage over all items by method and level, and whether classes are reported."""
        return {
            "feature": self.feature,
            "sets": [
                json_values(
                    {
                        "within": method,
                        "level": level,
                        "coverage": self.coverage[m, i, 0],
                        "size": self.size.value[m, i, 0],
                        "shares": dict(zip(KIND_FIELDS, self.kinds[m, i, 0], strict=True)),
                        "splits_with_infinite_threshold": self.infinite[m, i],
                    }
                )
                for m, method in enumerate(self.methods)
                for i, level in enumerate(self.levels)
            ],
            "class_conditional": None if self.symmetric else "class" in self.methods,
        }
