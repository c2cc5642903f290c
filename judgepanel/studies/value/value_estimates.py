"""Figures of judges, groups, removals and copies from the values of items and splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.inference import (
    MARGIN,
    Estimate,
    bonferroni_reach,
    estimate,
    holm,
    simultaneous_reach,
    verdict,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.compare import RANGES
from judgepanel.studies.robustness.value_tally import ValueTally
from judgepanel.studies.settings import Prepared
from judgepanel.studies.value.one_split import Layout
from judgepanel.studies.value.plan import COPIES, Plan
from judgepanel.studies.value.value_result import (
    COPY_BOUND,
    Copied,
    GroupValue,
    JudgeValue,
    Removal,
    Role,
)

SLICE_LEVEL = 0.05
_UNKNOWN = (float("nan"),) * 3


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """All splits in order: ``tally`` of the values, ``layout`` of its rows.

    ``units`` (N,) are those of the items; arrays (S, ...) are as in :class:`SplitValues`; ``inner``
    (K,) is NaN until all splits are in.
    """

    tally: ValueTally
    layout: Layout
    units: Ints
    slices: Floats
    noise: Floats
    family_noise: Floats
    steady: Floats
    family_steady: Floats
    correlation: Floats
    inner: Floats

    def items(self, name: str) -> Floats:
        """Mean value of every evaluated item, (n, N)."""
        return self.tally.item_means(self.layout.parts[name])

    def splits(self, name: str) -> Floats:
        """Mean value of every split, (S, n)."""
        return self.tally.split_means[:, self.layout.parts[name]]

    def estimated(self, name: str) -> Estimate:
        """Return estimates of one part of the layout."""
        return self.of(self.items(name), self.splits(name))

    def sampled(self, name: str, noise: Floats, steady: Floats) -> Estimate:
        """Return estimates of Shapley values, from ``noise`` and ``steady``, (S, n) each.

        The variation between splits is estimated from the orders that they share. The variance over
        splits of orders drawn for each is the sum of that and the noise; a direct estimate from a
        few dozen splits could not separate the two.
        """
        redrawn = noise.mean(axis=0)
        mean, spread = steady.mean(axis=0), steady.var(axis=0, ddof=min(1, len(steady) - 1))
        wider = np.sqrt(1.0 + redrawn / np.maximum(spread, 1e-300))
        splits = mean + (steady - mean) * np.where(spread > 0.0, wider, 1.0)
        return self.of(self.items(name), splits, redrawn)

    def of(
        self, items: Floats, splits: Floats, redrawn: Floats | float = 0.0, *, joint: bool = False
    ) -> Estimate:
        """Estimates from values (n, N) of items and (S, n) of splits; NaN ends from one split."""
        tally = self.tally
        if len(tally.numbers) < 2 or not len(items):
            return Estimate.of_one_split(items.mean(axis=1))
        seen = tally.seen > 0
        sizes = float(tally.n_calibration.mean()), float(tally.n_evaluation.mean())
        return estimate(items, splits, self.units[seen], *sizes, redrawn=redrawn, joint=joint)


def level(split_values: Gathered) -> Interval:
    """NLL of all judges."""
    return Interval.of(split_values.estimated("everyone"))[0].clip(*RANGES["nll"])


def mean_loss(split_values: Gathered, name: str) -> float:
    """Return the mean over items of one loss, averaged as in :func:`level`."""
    return float(split_values.items(name).mean())


def removal_figures(split_values: Gathered, plan: Plan, seed: int) -> tuple[Removal, ...]:
    """Return the curve over the number m of removed judges.

    Whether m judges can be removed is tested in a fixed order, stopping at the first failure, so
    every test may use the full level (Maurer, Hothorn and Lehmacher 1995).
    """
    if not plan.removed:
        return ()
    base, base_splits = split_values.items("everyone"), split_values.splits("everyone")
    items, splits = split_values.items("removed"), split_values.splits("removed")
    gap = split_values.of(items, splits, joint=True)
    levels = Interval.of(split_values.of(items + base, splits + base_splits))
    nll, delta = levels.clip(*RANGES["nll"]), Interval.of(gap)
    known = len(split_values.tally.numbers) > 1
    reach = (simultaneous_reach(gap, seed=seed) if known else float("nan")) * gap.se
    band = Interval(gap.value, gap.value - reach, gap.value + reach)
    margin = MARGIN * float(base.mean())
    free, rows = True, []
    for i, m in enumerate(plan.removed):
        same = not items[i].any()
        lo, hi = float(gap.lo[i]), float(gap.hi[i])
        free = free and (same or hi < margin)
        rows.append(
            Removal(
                m=m,
                nll=nll[i],
                delta=delta[i],
                p=float(gap.p[i]),
                band=band[i],
                verdict=verdict(lo, hi, margin, identical=same) if known or same else "undecided",
                free=free,
            )
        )
    return tuple(rows)


def copy_figures(split_values: Gathered, plan: Plan, names: tuple[str, ...]) -> tuple[Copied, ...]:
    """Return the effect of copies on the panel."""
    estimates = split_values.estimated("copied")
    delta = Interval.of(estimates)
    return tuple(
        Copied(names[j], why, COPIES, delta[i], float(estimates.p[i]))
        for i, (j, why) in enumerate(plan.copied)
    )


def group_figures(
    split_values: Gathered, plan: Plan, names: tuple[str, ...]
) -> tuple[GroupValue, ...]:
    """Return families, then clusters of at least two judges, largest first."""
    value = split_values.estimated("family")
    shapley = split_values.sampled(
        "family_shapley", split_values.family_noise, split_values.family_steady
    )
    rows = [
        _group("family", name, _named(members, names), value, i, shapley)
        for i, (name, members) in enumerate(zip(plan.family_names, plan.families, strict=True))
    ]
    labels = np.unique(plan.cluster[plan.cluster > 0])
    members = np.array([plan.cluster == label for label in labels], dtype=float)
    if len(labels):
        mean = members / members.sum(axis=1, keepdims=True)
        interval = split_values.of(
            mean @ split_values.items("cluster"), split_values.splits("cluster") @ mean.T
        )
        rows += [
            _group("cluster", str(label), _named(members[i] > 0, names), interval, i, None)
            for i, label in enumerate(labels)
        ]
    return tuple(rows)


def _named(members: NDArray[np.bool_], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(names[j] for j in np.flatnonzero(members))


def _group(
    kind: str,
    name: str,
    members: tuple[str, ...],
    value: Estimate,
    i: int,
    shapley: Estimate | None,
) -> GroupValue:
    return GroupValue(
        "family" if kind == "family" else "cluster",
        name,
        members,
        Interval.of(value)[i],
        float(value.p[i]),
        Interval.single(*_UNKNOWN) if shapley is None else Interval.of(shapley)[i],
    )


def judge_figures(
    split_values: Gathered, plan: Plan, prepared: Prepared, droppable: int
) -> tuple[JudgeValue, ...]:
    """Return every judge; the ``droppable`` judges with the lowest inner value can be removed."""
    estimates = split_values.estimated("each")
    value = Interval.of(estimates)
    shapley = Interval.of(split_values.sampled("shapley", split_values.noise, split_values.steady))
    gain = Interval.of(split_values.estimated("gain"), "").clip(0.0, np.inf)
    correlation = _correlations(split_values, plan)
    sliced = _slice_gaps(split_values, plan)
    names = prepared.judges
    rank = ranks(split_values.inner)
    rows = []
    for j, name in enumerate(names):
        at = int(sliced.best[j])
        slice_p = float(sliced.p[j, at]) if at >= 0 else float("nan")
        rows.append(
            JudgeValue(
                judge=name,
                family=plan.family[j],
                value=value[j],
                p=float(estimates.p[j]),
                shapley=shapley[j],
                gain=gain[j],
                nearest=names[plan.nearest[j]] if plan.nearest[j] >= 0 else "",
                correlation=correlation[j],
                slice=plan.slices.names[at] if at >= 0 else "",
                slice_gap=sliced.gap[j, at] if at >= 0 else Interval.single(*_UNKNOWN),
                slice_p=slice_p,
                inner=float(split_values.inner[j]),
                rank=int(rank[j]),
                droppable=bool(0 < rank[j] <= droppable),
                role=_role(value[j], correlation[j], slice_p),
            )
        )
    return tuple(rows)


def ranks(inner: Floats) -> Ints:
    """Rank (K,) of every judge, 1 for the lowest inner value; 0 if unknown."""
    if not np.isfinite(inner).all():
        return np.zeros(len(inner), dtype=np.int64)
    values = np.empty(len(inner), dtype=np.int64)
    values[np.argsort(inner, kind="stable")] = np.arange(1, len(inner) + 1)
    return values


def _role(value: Interval, correlation: Interval, slice_p: float) -> Role:
    if correlation.above(COPY_BOUND) and not value.above():
        return "copy"
    if slice_p < SLICE_LEVEL:
        return "specialist"
    return "complement" if value.above() else "ordinary"


def _correlations(split_values: Gathered, plan: Plan) -> Interval:
    """Error correlations (K,) with intervals from their spread over calibration sides.

    A calibration side is sampled without replacement: with n of N items its estimate has variance
    (N - n) / n of that on all of them, about the estimate on all.
    """
    tally, value = split_values.tally, plan.correlation
    known = np.isfinite(split_values.correlation)
    n_known = known.sum(axis=0)
    safe = np.where(known, split_values.correlation, 0.0)
    mean = safe.sum(axis=0) / np.maximum(n_known, 1)
    square = np.where(known, (split_values.correlation - mean) ** 2, 0.0).sum(axis=0)
    spread = np.sqrt(square / np.maximum(n_known - 1, 1))
    n_cal, n_eval = float(tally.n_calibration.mean()), float(tally.n_evaluation.mean())
    scale = np.sqrt(n_cal / n_eval)
    reach = distributions.t_ppf(0.975, np.maximum(n_known - 1, 1)) * spread * scale
    reach = np.where(n_known > 1, reach, np.nan)
    return Interval(value, value - reach, value + reach, unit="").clip(-1.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class _SliceGaps:
    """Value in a slice minus that elsewhere, (K, L).

    ``best`` (K,) is the slice with the smallest p, -1 without slices.
    """

    best: Ints
    gap: Interval
    p: Floats


def _slice_gaps(split_values: Gathered, plan: Plan) -> _SliceGaps:
    """One-sided tests of more value in a slice, Holm over judges and slices."""
    n_judges, n_slices = split_values.layout.n_judges, len(plan.slices.rows)
    shape = n_judges, n_slices
    if not n_slices or len(split_values.tally.numbers) < 2:
        none = Interval.full(shape, np.nan)
        return _SliceGaps(np.full(n_judges, -1), none, none.value)
    seen = np.flatnonzero(split_values.tally.seen > 0)
    each = split_values.items("each")
    gaps, p = [], np.empty(shape)
    for s, members in enumerate(plan.slices.rows):
        inside = np.isin(seen, members)
        gap = split_values.of(_contrast(each, inside), split_values.slices[:, :, s])
        reach = bonferroni_reach(gap, n_judges * n_slices)
        gaps.append(Interval(gap.value, gap.value - reach, gap.value + reach))
        p[:, s] = np.where(gap.value > 0, gap.p / 2.0, 1.0 - gap.p / 2.0)
    best = np.argmin(p, axis=1)
    return _SliceGaps(best, Interval.stacked(gaps, axis=1), holm(p.ravel()).reshape(shape))


def _contrast(each: Floats, inside: NDArray[np.bool_]) -> Floats:
    """Values (K, N) of items whose mean is that inside minus that outside, linearised."""
    share = float(inside.mean())
    if share in (0.0, 1.0):
        return np.zeros_like(each)
    here = each[:, inside].mean(axis=1, keepdims=True)
    rest = each[:, ~inside].mean(axis=1, keepdims=True)
    own = np.where(inside, (each - here) / share, -(each - rest) / (1.0 - share))
    return np.asarray(own + (here - rest))
