"""The judges study: each judge alone, correlated errors, and the effective number of judges.

Point values use all labelled items. A round is one random half of the items, groups whole: the
spread of an estimate over halves drawn without replacement is its standard error on all items,
since a half has twice the variance and shares half of it with the whole. (A bootstrap repeats
items, and a repeated item is not new evidence on a pair of judges with five items in common:
docs/redundancy.md has the coverage of both.) Cost per round: three K x K matrix products.

Result of the judges study: each judge, the map, the clusters, the effective number of judges.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels import irt, redundancy
from judgepanel.models.panel import judge_weights
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import split
from judgepanel.studies import contract, options, results
from judgepanel.studies.results import Declared, by_split, column, frozen, scalars, summed
from judgepanel.studies.understand.judge_table import JudgeTable, families_of, judge_table
from judgepanel.votes import MISSING, VoteMatrix
from judgepanel.votes.errors import listed

MAP_JUDGES = 300
STABLE = 0.5


@frozen
class Judges(Declared):
    """Result of :data:`judgepanel.studies.understand.judges.JUDGES`.

    Arrays over judges are (n_judges,), in the order of ``judges``.

    ``judges`` are in name order, those set aside (constant, see orientation) last. ``accuracy`` has
    a Wilson interval from ``correct`` of ``voted`` labelled items; ``coverage`` is over all items;
    ``leaning`` is the share of votes for label 1 minus the share of label 1 on the same items, NaN
    if the order of items is arbitrary. ``weights`` (n_aggregators, n_judges), see
    :func:`judgepanel.models.panel.judge_weights`; empty until all halves are done, 0 for a judge
    set aside.

    ``ability`` and ``discrimination``, with 95 % intervals, are those of a 2PL model of correctness
    (:mod:`kernels.irt`), ability in standard deviations of item difficulty; NaN until all
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

    judges: tuple[str, ...] = column(name="judge")
    family: tuple[str, ...] = column()
    accuracy: Interval = column("Share of the judge's votes on labelled items that are right.")
    correct: Ints = column()
    voted: Ints = column()
    coverage: Floats = column()
    leaning: Floats = column(
        "Share of votes for label 1 minus the share of label 1 on the same items."
    )
    constant: Bools = column()
    set_aside: Bools = column("Whether the judge is left out as constant.")
    aggregators: tuple[str, ...]
    weights: Floats
    cluster: Ints = column(
        "Number of the judge's cluster by size, 1 the largest; its judges err together."
    )
    with_cluster: Floats = column("Mean error correlation with the judges of the same cluster.")
    with_rest: Floats = column("Mean error correlation with all other judges.")
    stability: Floats = column(
        "Mean share of halves in which the judge shares a cluster with each member of its cluster."
    )
    ability: Interval = column()
    discrimination: Interval = column()
    nearest: tuple[str, ...] = column()
    nearest_correlation: Floats = column("Error correlation with the nearest judge.")
    correlation: Interval
    effective: Interval
    dimensions: Interval
    spread: float
    cut: float
    families: redundancy.FamilyAgreement | None
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
        return _square(condensed, len(self.order))

    def frame(self) -> pd.DataFrame:
        """Return one row per judge, most accurate first."""
        frame = Declared.frame(self)
        for name, weights in zip(self.aggregators, self.weights, strict=True):
            frame[f"weight_{name}"] = weights
        return frame.sort_values("accuracy", ascending=False, kind="stable", ignore_index=True)

    def summary(self) -> dict[str, Any]:
        """Return redundancy, clusters and families as JSON values."""
        worth = ("correlation", "effective", "dimensions")
        content = scalars(self) | results.json_values({name: getattr(self, name) for name in worth})
        if self.families is not None:
            names = [field.name for field in fields(redundancy.FamilyAgreement)]
            content |= {f"family_{name}": getattr(self.families, name) for name in names}
        return content | {
            "n_judges": self.n_effective,
            "n_clusters": self.n_clusters,
            "stable_clusters": self.stable_clusters,
            "n_halves": self.n_rounds,
        }


FEW_LABELS = 50


@dataclass(frozen=True, slots=True)
class JudgesSpec(options.StudySpec):
    """Options of the study; ``settings.most_splits`` is the number of random halves."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgeFits:
    """Fits to all labelled items and all K judges.

    ``weights`` (n_aggregators, K); ``ability`` and ``discrimination`` (K,) as in :class:`Judges`,
    ``converged`` is whether their model converged.
    """

    aggregators: tuple[str, ...]
    weights: Floats
    ability: Interval
    discrimination: Interval
    converged: bool


@frozen
class Halves:
    """R random halves of the labelled items for K participating judges.

    ``mean`` and ``spread`` (R,) of the error correlations in each half, NaN if no pair is known;
    ``together`` int (K (K - 1) / 2,) counts halves in which two judges share a cluster, in the
    order of scipy's condensed matrices; ``fitted`` comes with the last half.
    """

    numbers: Ints = by_split()
    mean: Floats = by_split()
    spread: Floats = by_split()
    together: Ints = summed()
    fitted: JudgeFits | None


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """Point values on all labelled items."""

    correlation: redundancy.ErrorCorrelation
    joint: Floats
    clusters: redundancy.Clusters


@lru_cache(maxsize=2)
def _point(prepared: contract.Prepared) -> _Point:
    counts = redundancy.error_counts(prepared.ballots.votes, prepared.ballots.signs)
    correlation = redundancy.error_correlation(counts)
    return _Point(correlation, counts.joint, redundancy.clusters(correlation))


def run_chunk(votes: VoteMatrix, spec: JudgesSpec, chunk: contract.Chunk) -> Halves:
    """Correlations and clusters in the halves of one chunk; the last also fits aggregators."""
    ballots = contract.prepare(votes, spec.settings).ballots
    upper = np.triu_indices(ballots.n_judges, 1)
    together = np.zeros(len(upper[0]), dtype=np.int64)
    means, spreads = [], []
    numbers = np.arange(chunk.first, chunk.first + chunk.count)
    for number in numbers:
        rows = split(ballots.units, int(number), seed=spec.settings.seed).calibration
        counts = redundancy.error_counts(ballots.votes[rows], ballots.signs[rows])
        correlation = redundancy.error_correlation(counts)
        means.append(correlation.mean)
        spreads.append(correlation.spread)
        label = redundancy.clusters(correlation).label
        together += (label[upper[0]] == label[upper[1]]) & (label[upper[0]] > 0)
    fitted = None
    if chunk.first + chunk.count >= spec.settings.most_splits:
        weights = judge_weights(ballots)
        marks = (ballots.votes * ballots.signs[:, None]).astype(np.int8)
        ability = discrimination = Interval.full(ballots.n_judges, np.nan, "")
        converged = True
        if marks.any():
            fit = irt.fit_two_pl(marks)
            voted = fit.n_voted > 0
            ability = Interval(fit.theta, *fit.theta_interval(), unit="").where(voted)
            discrimination = Interval(fit.alpha, *fit.alpha_interval(), unit="").where(voted)
            converged = fit.converged
        fitted = JudgeFits(
            tuple(weights), np.stack(list(weights.values())), ability, discrimination, converged
        )
    return Halves(numbers, np.array(means), np.array(spreads), together, fitted)


def merge(votes: VoteMatrix, spec: JudgesSpec, partial: Halves) -> Judges:
    """Return point values on all labelled items, intervals and stability from the halves so far."""
    prepared = contract.prepare(votes, spec.settings)
    point = _point(prepared)
    names = prepared.judges + prepared.oriented.set_aside
    n_voting = int(np.count_nonzero(np.diag(point.joint)))
    together = _together(point, partial, names)
    table = judge_table(votes.with_judges(names))
    label = point.clusters.label
    families = families_of(votes.with_judges(names[: len(label)]))
    agreement = redundancy.family_agreement(point.correlation, label, families)
    # Mean correlation and effective numbers, monotone in the quantities with intervals.
    mean, spread = partial.mean, partial.spread
    rho = _interval(point.correlation.mean, mean)
    square = _interval(point.correlation.mean**2 + point.correlation.spread**2, mean**2 + spread**2)
    return Judges.from_run(
        prepared,
        spec,
        len(partial.numbers),
        table,
        judges=names,
        **_alone(votes.with_judges(names), table, prepared),
        **_fitted(partial.fitted, len(names)),
        **together,
        correlation=rho.clip(-1.0, 1.0),
        effective=_worth_of(n_voting, rho),
        dimensions=_worth_of(n_voting, square, least=0.0),
        **_map(point, partial),
        spread=point.correlation.spread,
        cut=point.clusters.cut if np.isfinite(point.clusters.cut) else float("nan"),
        families=agreement if agreement.n_families > 1 else None,
        n_effective=n_voting,
        n_pairs=n_voting * (n_voting - 1) // 2,
        known_pairs=int(point.correlation.known.sum()) // 2,
        n_rounds=len(partial.numbers),
        planned_rounds=spec.settings.most_splits,
        warnings=_warnings(prepared, point, together["stability"], partial.fitted),
    )


def _alone(votes: VoteMatrix, table: JudgeTable, prepared: contract.Prepared) -> dict[str, Any]:
    """Further fields of each judge that do not depend on the others."""
    n = len(table.judges)
    cast, labels = votes.votes[votes.labelled], votes.labels[votes.labelled, None]
    excess = np.where(cast == MISSING, 0, cast - labels).sum(axis=0)
    scored_alone = (table.voted > 0) & (prepared.oriented.policy == "as_given")
    return {
        "family": families_of(votes),
        "set_aside": np.arange(n) >= len(prepared.judges),
        "leaning": np.divide(excess, table.voted, out=np.full(n, np.nan), where=scored_alone),
    }


def _fitted(fitted: JudgeFits | None, n_judges: int) -> dict[str, Any]:
    """Fitted fields of all judges, blank until the last half is done and for judges set aside."""
    if fitted is None:
        unknown = Interval.full(n_judges, np.nan, "")
        fitted = JudgeFits((), np.zeros((0, n_judges)), unknown, unknown, converged=True)
    aside = n_judges - fitted.weights.shape[1]
    unknown = Interval.full(aside, np.nan, "")
    return {
        "aggregators": fitted.aggregators,
        "weights": _padded(fitted.weights, aside, 0.0),
        "ability": Interval.joined([fitted.ability, unknown]),
        "discrimination": Interval.joined([fitted.discrimination, unknown]),
    }


def _padded(values: NDArray[Any], n: int, filler: float) -> NDArray[Any]:
    """Return values with ``n`` fillers, for judges set aside, appended on the last axis."""
    shape = (*values.shape[:-1], n)
    return np.concatenate([values, np.full(shape, filler, dtype=values.dtype)], axis=-1)


def _together(point: _Point, partial: Halves, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the cluster, nearest judge and mean correlations of every judge."""
    correlation, label = point.correlation, point.clusters.label
    n = len(label)
    aside = len(names) - n
    own, rest = redundancy.mean_with(correlation, label)
    alike = np.where(correlation.known, correlation.value, -np.inf)
    nearest = alike.argmax(axis=1) if n else np.zeros(0, dtype=np.int64)
    near = alike[np.arange(n), nearest]
    mates = (label[:, None] == label) & (label > 0)
    np.fill_diagonal(mates, False)
    shared = (_square(partial.together, n) * mates).sum(axis=1)
    n_mates = mates.sum(axis=1) * len(partial.numbers)
    stable = np.divide(shared, n_mates, out=np.full(n, np.nan), where=n_mates > 0)
    nearest_names = [
        names[k] if np.isfinite(value) else "" for k, value in zip(nearest, near, strict=True)
    ]
    return {
        "cluster": _padded(label, aside, 0),
        "with_cluster": _padded(own, aside, np.nan),
        "with_rest": _padded(rest, aside, np.nan),
        "stability": _padded(stable, aside, np.nan),
        "nearest": (*nearest_names, *[""] * aside),
        "nearest_correlation": _padded(np.where(np.isfinite(near), near, np.nan), aside, np.nan),
    }


def _square(condensed: NDArray[Any], n: int) -> NDArray[Any]:
    if n < 2:
        return np.zeros((n, n), dtype=condensed.dtype)
    return np.asarray(scipy.spatial.distance.squareform(condensed, checks=False))


def _worth_of(n: int, rho: Interval, least: float = -np.inf) -> Interval:
    """The effective number of n judges; it falls as their mean correlation rises."""

    def worth(mean: float) -> float:
        if n < 2:
            return float(n)
        return redundancy.effective_number(n, max(mean, least)) if np.isfinite(mean) else np.nan

    value, lo, hi = map(float, rho)
    return Interval.single(worth(value), worth(hi), worth(lo), "count")


def _interval(value: float, halves: Floats) -> Interval:
    """Return a value with a 95 % t interval from its standard deviation over halves."""
    known = halves[np.isfinite(halves)]
    reach = np.nan
    if len(known) >= 2:
        reach = float(distributions.t_ppf(0.975, len(known) - 1) * known.std(ddof=1))
    return Interval.single(value, value - reach, value + reach, "")


def _map(point: _Point, partial: Halves) -> dict[str, Any]:
    order = point.clusters.order
    if len(order) > MAP_JUDGES:
        most = np.argsort(-np.diag(point.joint)[order], kind="stable")[:MAP_JUDGES]
        order = order[np.sort(most)]
    rows, columns = (order[side] for side in np.triu_indices(len(order), 1))
    known = point.correlation.known[rows, columns]
    n = len(point.joint)
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    condensed = n * low - low * (low + 1) // 2 + high - low - 1
    return {
        "order": order,
        "map_correlation": point.correlation.value[rows, columns].round(4),
        "map_joint": np.where(known, point.joint[rows, columns], 0).astype(np.int64),
        "map_together": partial.together[condensed],
    }


def _warnings(
    prepared: contract.Prepared, point: _Point, stability: Floats, fitted: JudgeFits | None
) -> tuple[str, ...]:
    warnings = list(prepared.notices)
    correlation, joint = point.correlation, point.joint
    n_items, n = prepared.ballots.n_items, len(joint)
    if n_items < FEW_LABELS:
        warnings.append(
            f"Only {n_items} items are labelled: correlations of errors are rough, and clusters "
            "may be chance."
        )
    silent = np.diag(joint) == 0
    alone = ~correlation.known.any(axis=1) & ~silent
    if alone.any() and n > 1:
        names = prepared.named(alone)
        warnings.append(
            f"In no cluster, for want of errors or of labelled items in common: {listed(names, 3)}."
        )
    pairs = int((~silent).sum()) * (int((~silent).sum()) - 1) // 2
    known = int(correlation.known.sum()) // 2
    if 0 < known < 0.5 * pairs:
        warnings.append(
            f"Only {known:,} of {pairs:,} pairs of judges have two labelled items in common. The "
            "others are taken to be like them."
        )
    if known > 1 and not np.isfinite(point.clusters.cut):
        warnings.append(
            "Pairs of judges differ in shared errors by no more than chance: there are no clusters "
            "to tell apart."
        )
    if len(point.clusters.order) > MAP_JUDGES:
        warnings.append(
            f"The map shows the {MAP_JUDGES} judges with the most labelled votes, of "
            f"{len(point.clusters.order):,}; all figures rest on everyone."
        )
    stable = stability[np.isfinite(stability)]
    if len(stable) and np.median(stable) < STABLE:
        warnings.append(
            "Most judges are seldom with the same others when clusters are made from half of the "
            f"items (median {100 * np.median(stable):.0f} % of halves): take the clusters as "
            "chance."
        )
    if fitted is not None and not fitted.converged:
        warnings.append(
            "The model of ability and discrimination did not come to rest: take them as rough."
        )
    return tuple(warnings)


# All halves are run: their spread is what is measured, and the last one brings the fits.
JUDGES: contract.Study[JudgesSpec, Halves, Judges] = contract.Study(
    name="judges",
    title="Who errs together",
    question="Who adds what?",
    run_chunk=run_chunk,
    merge=merge,
)

__all__ = ["JUDGES", "Judges", "JudgesSpec", "merge"]
