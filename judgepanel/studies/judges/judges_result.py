"""Result of the judges study: each judge, the map, the clusters, the effective number of judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.judges.clusters import FamilyAgreement
from judgepanel.scoring.interval import Interval
from judgepanel.studies.results import json_values, long_frame, scalars

MAP_JUDGES = 300
STABLE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Judges:
    """Result of :data:`judgepanel.studies.judges.judges.JUDGES`.

    Arrays over judges are (n_judges,), in the order of ``judges``.

    ``judges`` are in name order, those set aside (constant, see orientation) last. ``accuracy`` has
    a Wilson interval from ``correct`` of ``voted`` labelled items; ``coverage`` is over all items;
    ``leaning`` is the share of votes for label 1 minus the share of label 1 on the same items, NaN
    if the order of items is arbitrary. ``weights`` (n_aggregators, n_judges), see
    :func:`judgepanel.models.weights.judge_weights`; empty until all halves are done, 0 for a judge
    set aside.

    ``ability`` and ``discrimination``, with 95 % intervals, are those of a 2PL model of correctness
    (:mod:`kernels.judges.irt`), ability in standard deviations of item difficulty; NaN until all
    halves are done, for judges set aside and for those without votes.

    ``cluster`` numbers clusters by size from 1, 0 for a judge without a known pair;
    ``with_cluster`` and ``with_rest`` are mean error correlations with the judges of the same
    cluster and with all others, ``stability`` the mean share of halves in which a judge shares a
    cluster with each member of its cluster; NaN if there is no such judge. ``nearest`` is the judge
    with the most similar errors (``nearest_correlation``); empty without a known pair. ``cut`` is
    the mean correlation at which clusters stop merging, NaN if none merge.

    ``correlation`` is the mean error correlation over pairs, ``effective`` the effective number of
    judges, ``dimensions`` its form that ignores signs; ``spread`` the standard deviation of pairs
    about the mean. ``n_pairs`` pairs of judges with votes, ``known_pairs`` of them known.

    The map has ``order`` int (m,), positions of at most ``MAP_JUDGES`` judges, cluster by cluster;
    ``map_correlation``, ``map_joint`` (items both voted on, 0 if a pair is unknown) and
    ``map_together`` (halves in one cluster) are condensed, (m (m - 1) / 2,), see :meth:`square`.
    """

    judges: tuple[str, ...]
    family: tuple[str, ...]
    set_aside: Bools
    constant: Bools
    correct: Ints
    voted: Ints
    accuracy: Interval
    coverage: Floats
    leaning: Floats
    aggregators: tuple[str, ...]
    weights: Floats
    ability: Interval
    discrimination: Interval
    cluster: Ints
    with_cluster: Floats
    with_rest: Floats
    stability: Floats
    nearest: tuple[str, ...]
    nearest_correlation: Floats
    correlation: Interval
    effective: Interval
    dimensions: Interval
    spread: float
    cut: float
    families: FamilyAgreement | None
    order: Ints
    map_correlation: Floats
    map_joint: Ints
    map_together: Ints
    n_effective: int
    n_pairs: int
    known_pairs: int
    n_items: int
    orientation: str
    protocol: str
    n_rounds: int
    planned_rounds: int
    seed: int
    warnings: tuple[str, ...]

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "accuracy": "Share of the judge's votes on labelled items that are right.",
            "leaning": "Share of votes for label 1 minus the share of label 1 on the same items.",
            "set_aside": "Whether the judge is left out as constant.",
            "cluster": (
                "Number of the judge's cluster by size, 1 the largest; its judges err together."
            ),
            "with_cluster": "Mean error correlation with the judges of the same cluster.",
            "with_rest": "Mean error correlation with all other judges.",
            "stability": (
                "Mean share of halves in which the judge shares a cluster with each member "
                "of its cluster."
            ),
            "nearest_correlation": "Error correlation with the nearest judge.",
        }
    )

    @property
    def partial(self) -> bool:
        """Whether halves are still missing."""
        return self.n_rounds < self.planned_rounds

    @property
    def cluster_sizes(self) -> Ints:
        """Sizes of the clusters 1, 2, ... with at least two judges, (n_clusters,)."""
        sizes = np.bincount(self.cluster)[1:]
        return sizes[sizes > 1].astype(np.int64)

    @property
    def n_clusters(self) -> int:
        """Number of clusters with at least two judges."""
        return len(self.cluster_sizes)

    @property
    def cluster_stability(self) -> Floats:
        """Mean share of halves in which two judges of a cluster are together, (n_clusters,)."""
        numbers = range(1, self.n_clusters + 1)
        return np.array([self.stability[self.cluster == c].mean() for c in numbers])

    @property
    def stable_clusters(self) -> int:
        """Number of clusters reproduced in at least half of the halves.

        0 if most judges' clusters are due to chance, since then some of many clusters are
        reproduced by chance as well.
        """
        known = self.stability[np.isfinite(self.stability)]
        if len(known) and np.median(known) < STABLE:
            return 0
        return int(np.count_nonzero(self.cluster_stability >= STABLE))

    def square(self, condensed: NDArray[Any]) -> NDArray[Any]:
        """Return a condensed array of the map as (m, m), 0 on the diagonal."""
        if len(self.order) < 2:
            return np.zeros((len(self.order), len(self.order)), dtype=condensed.dtype)
        return np.asarray(scipy.spatial.distance.squareform(condensed, checks=False))

    def frame(self) -> pd.DataFrame:
        """Return one row per judge, most accurate first."""
        weights = dict(zip(self.aggregators, self.weights, strict=True))
        columns = {
            "judge": self.judges,
            "family": self.family,
            **{name: getattr(self, name) for name in _COLUMNS},
            **{f"weight_{name}": values for name, values in weights.items()},
        }
        frame = long_frame((len(self.judges),), columns)
        return frame.sort_values("accuracy", ascending=False, kind="stable", ignore_index=True)

    def summary(self) -> dict[str, Any]:
        """Return redundancy, clusters and families as JSON values."""
        worth = ("correlation", "effective", "dimensions")
        content = scalars(self) | json_values({name: getattr(self, name) for name in worth})
        if self.families is not None:
            content |= {
                f"family_{field.name}": getattr(self.families, field.name)
                for field in fields(FamilyAgreement)
            }
        return content | {
            "n_judges": self.n_effective,
            "n_clusters": self.n_clusters,
            "stable_clusters": self.stable_clusters,
            "n_halves": self.n_rounds,
        }


_COLUMNS = (
    *("accuracy", "correct", "voted", "coverage", "leaning", "constant", "set_aside"),
    *("cluster", "with_cluster", "with_rest", "stability", "ability", "discrimination"),
    *("nearest", "nearest_correlation"),
)
