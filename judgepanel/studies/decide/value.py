"""Value: how much does each judge add to the panel, and how many judges can be removed?

In every split panels are fitted on the calibration rows with all judges, without each judge, each
family and each cluster, without the m judges with the lowest value by inner folds of the
calibration rows, and with copies; all are scored on the other rows (docs/value.md).

Cost per split under a closed form: a batch of K panels seven times, and a panel curve per order.
Under joint: one fit, K refits at its ridges six times, one fit per number of removed judges.

Result of :data:`VALUE`: the value of each judge to the panel, and how many can be removed.

Figures of judges, groups, removals and copies from the values of items and splits.

The value of every judge in one split: NLL of panels without it, and its Shapley value.

The comparisons of a value study: groups, numbers of removed judges, copies, slices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator, fit
from judgepanel.kernels.panels import (
    Panels,
    Valued,
    balanced_orders,
    choice_folds,
    panels_of,
    sampled_shapley,
)
from judgepanel.kernels.prefixes import ClosedForm, counts, posterior_mean
from judgepanel.kernels.redundancy import clusters, error_correlation, error_counts
from judgepanel.kernels.subsets import SubsetTrial, subset_trial
from judgepanel.scoring import inference
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.metrics import CLIP, item_nll
from judgepanel.scoring.splits import Split, stream
from judgepanel.studies import codec, common, results
from judgepanel.studies.accumulate import RANGES, ValueTally, band, tally_values, verdicts
from judgepanel.studies.contract import Chunk, Prepared, Study, prepare
from judgepanel.studies.options import StudySpec, option, valid
from judgepanel.studies.slices import Slices, slices_of
from judgepanel.studies.understand.judge_table import families_of
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.matrix import cached

REMOVED = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
COPIES = 4
QUANTILES = 3
MOST_ACCURATE, MEDIAN = "most accurate", "median accuracy"
MOST_CORRELATED, ASKED = "most correlated", "asked for"


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The comparisons, from all labelled rows; nothing here is fitted, ranked or chosen by NLL.

    ``families`` bool (F, K) are the given ones, ``family_names`` (F,) and ``family`` (K,) their
    names; ``players`` bool (P, K) adds judges without a family as players of one after the F
    families. ``cluster`` int (K,) numbers clusters, 0 for none. ``nearest`` int (K,) is the judge
    with the most similar errors, -1 if unknown, ``correlation`` (K,) their correlation. ``removed``
    are the numbers of removed judges. ``copied`` pairs judges with the reason for copying them.
    """

    families: Bools
    family_names: tuple[str, ...]
    family: tuple[str, ...]
    players: Bools
    cluster: Ints
    nearest: Ints
    correlation: Floats
    removed: tuple[int, ...]
    copied: tuple[tuple[int, str], ...]
    slices: Slices


@cached(4)
def plan_of(
    votes: VoteMatrix, prepared: Prepared, feature: str | None, copied: tuple[str, ...] | None
) -> Plan:
    """Return the plan for these votes; the last few are cached.

    Raises
    ------
    InputError
        An unknown feature or judge.
    """
    ballots, n = prepared.ballots, len(prepared.judges)
    family = families_of(votes.with_judges(prepared.judges))
    names = tuple(dict.fromkeys(name for name in family if name))
    families = np.array([[entry == name for entry in family] for name in names], dtype=bool)
    families = families.reshape(len(names), n)
    if names and families.sum(axis=1).max() == 1:
        names, families = (), families[:0]
    alone = np.eye(n, dtype=bool)[~families.any(axis=0)]
    correlation = error_correlation(error_counts(ballots.votes, ballots.signs))
    alike = np.where(correlation.known, correlation.value, -np.inf)
    nearest = alike.argmax(axis=1) if n else np.zeros(0, dtype=np.int64)
    near = alike[np.arange(n), nearest]
    label = clusters(correlation).label
    sizes = np.bincount(label, minlength=1)
    return Plan(
        families=families,
        family_names=names,
        family=family,
        players=np.concatenate([families, alone]),
        cluster=np.where(sizes[label] > 1, label, 0),
        nearest=np.where(np.isfinite(near), nearest, -1),
        correlation=np.where(np.isfinite(near), near, np.nan),
        removed=(*(m for m in REMOVED if m < n - 1), *([n - 1] if n > 1 else [])),
        copied=_copied(prepared, near, copied),
        slices=slices_of(prepared, feature, QUANTILES),
    )


def _copied(
    prepared: Prepared, near: Floats, asked: tuple[str, ...] | None
) -> tuple[tuple[int, str], ...]:
    names = prepared.judges
    if asked is not None:
        unknown = [name for name in asked if name not in names]
        if unknown:
            raise InputError(
                "there is no such judge to copy", value=unknown[0], allowed=", ".join(names[:10])
            )
        return tuple((names.index(name), ASKED) for name in asked)
    correct, voted = counts(prepared.ballots, np.arange(prepared.ballots.n_items))
    order = np.argsort(-posterior_mean(correct, voted), kind="stable")
    alike = np.argsort(-near, kind="stable")[: int(np.isfinite(near).sum())]
    picked: dict[int, str] = {}
    from_median = order[len(order) // 2 :]
    for why, ranked in ((MOST_ACCURATE, order), (MEDIAN, from_median), (MOST_CORRELATED, alike)):
        remaining = [int(j) for j in ranked if int(j) not in picked]
        if remaining:
            picked[remaining[0]] = why
    return tuple(picked.items())


def errors_on(prepared: Prepared, rows: Ints, nearest: Ints) -> tuple[Bools, Floats]:
    """Clusters and error correlations on these rows alone.

    Returns every judge's cluster, (K, K), alone if it has none, and its error correlation (K,) with
    its nearest judge, NaN if unknown.
    """
    ballots = prepared.ballots
    result = error_correlation(error_counts(ballots.votes[rows], ballots.signs[rows]))
    label = clusters(result).label
    same = (label[:, None] == label) & (label > 0)
    own = np.arange(len(nearest))
    known = (nearest >= 0) & result.known[own, nearest]
    correlation = np.where(known, result.value[own, nearest], np.nan)
    return np.asarray(same | np.eye(len(label), dtype=bool)), correlation


STAND_IN: tuple[ClosedForm, Calibrator] = ("one_coin", "temperature")
"""Pipeline for Shapley values if the aggregator itself would be too slow."""
_LIMIT = float(np.log((1.0 - CLIP) / CLIP))


def parts_of(plan: Plan) -> dict[str, slice]:
    """Return the rows of the values by name.

    ``everyone``, ``null``, ``constant`` and ``shapley_everyone`` are losses, ``gain`` is a squared
    change of logits; all others are differences, by judge, family, number of removed judges or
    copied judge.
    """
    judges, families = len(plan.nearest), len(plan.family_names)
    sizes = {
        **dict.fromkeys(("everyone", "null", "constant", "shapley_everyone"), 1),
        **dict.fromkeys(("each", "gain"), judges),
        "family": families,
        "cluster": judges,
        "removed": len(plan.removed),
        "copied": len(plan.copied),
        "shapley": judges,
        "family_shapley": families,
    }
    ends = np.cumsum([*sizes.values()]).tolist()
    return {name: slice(end - sizes[name], end) for name, end in zip(sizes, ends, strict=True)}


def values_of(
    prepared: Prepared, split: Split, plan: Plan, spec: ValueSpec
) -> tuple[Floats, dict[str, Any]]:
    """Return all values of one split, fitted and ranked on its calibration rows alone.

    The values are (V, n_eval), as in :func:`parts_of`; then come what :class:`ValuePartial` has of
    each split, by field.
    """
    ballots = prepared.ballots
    panels = panels_of(ballots, split, spec.aggregator, spec.calibrator, seed=spec.settings.seed)
    signs = ballots.signs[split.evaluation].astype(np.float64)
    whole, less = panels.all_judges(), panels.without_each()
    base = item_nll(whole, signs)
    each = item_nll(less, signs) - base
    change = np.clip(less, -_LIMIT, _LIMIT) - np.clip(whole, -_LIMIT, _LIMIT)
    judges, families = _shapley(ballots, split, plan, spec)
    mates, correlation = errors_on(prepared, split.calibration, plan.nearest)
    null, constant = _constant(ballots, split, spec.calibrator)
    same = spec.shapley == (spec.aggregator, spec.calibrator)
    # Value (K, n_eval) of every judge's cluster, (K, K).
    by_cluster = each.copy()
    several = np.flatnonzero(mates.sum(axis=1) > 1)
    if len(several):
        distinct, which = np.unique(mates[several], axis=0, return_inverse=True)
        lost = item_nll(panels.of(~distinct), signs) - base
        by_cluster[several] = lost[which.ravel()]
    values = np.concatenate(
        [
            [base, null, constant, base if same else null - judges.items.sum(axis=0)],
            each,
            change**2,
            item_nll(panels.of(~plan.families), signs) - base,
            by_cluster,
            item_nll(_removed(panels, ballots, split, plan, spec), signs) - base,
            *[item_nll(panels.copied(j, COPIES), signs)[None] - base for j, _ in plan.copied],
            judges.items,
            families.items,
        ]
    )
    return values, {
        "slices": _by_slice(each, split.evaluation, plan),
        "noise": judges.noise,
        "family_noise": families.noise,
        "steady": judges.steady,
        "family_steady": families.steady,
        "correlation": correlation,
        "fits": np.array([panels.fits.made, panels.fits.replaced]) + judges.fits + families.fits,
    }


def _removed(panels: Panels, ballots: Ballots, split: Split, plan: Plan, spec: ValueSpec) -> Floats:
    """Logits (M, n_eval) without the m judges with the lowest value by inner folds."""
    if not plan.removed:
        return np.zeros((0, len(split.evaluation)))
    key = (split.number, 31)
    masks = left_after(panels.inner_values(split.calibration, key), plan.removed)
    inside = None
    if spec.calibrator != "none":
        pieces = choice_folds(ballots, split, spec.settings.seed)
        chosen = []
        for piece in pieces:
            values = panels.inner_values(piece.calibration, (*key, piece.number), piece.number)
            chosen.append(left_after(values, plan.removed))
        inside = np.array(chosen)
    return panels.followed(masks, inside)


def left_after(inner: Floats, removed: tuple[int, ...]) -> Bools:
    """The judges left (M, K) after removing the m with the lowest inner value; ties in order."""
    rank = np.empty(len(inner), dtype=np.int64)
    rank[np.argsort(inner, kind="stable")] = np.arange(len(inner))
    return np.asarray(rank[None, :] >= np.array(removed)[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class _Shapley:
    """Shapley values of players: ``items`` (G, n_eval) over orders drawn for this split only."""

    items: Floats
    noise: Floats
    steady: Floats
    fits: Ints


def _shapley(
    ballots: Ballots, split: Split, plan: Plan, spec: ValueSpec
) -> tuple[_Shapley, _Shapley]:
    """Return Shapley values of the judges, then of the families."""
    trial = subset_trial(ballots, split, *spec.shapley)
    judges = _sampled(trial, np.eye(ballots.n_judges, dtype=bool), spec, 32)
    n = len(plan.family_names)
    if not n:
        none = np.zeros(0)
        blank = np.zeros((0, len(split.evaluation)))
        return judges, _Shapley(blank, none, none, np.zeros(2, dtype=np.int64))
    groups = _sampled(trial, plan.players, spec, 33)
    return judges, replace(
        groups, items=groups.items[:n], noise=groups.noise[:n], steady=groups.steady[:n]
    )


def _sampled(trial: SubsetTrial, players: Bools, spec: ValueSpec, number: int) -> _Shapley:
    """Half of the orders are drawn for this split, half are shared by all splits."""
    streams = [
        stream(spec.settings.seed, *key) for key in ((trial.split.number, number), (number, 35))
    ]
    orders = [balanced_orders(len(players), spec.permutations // 2, rng) for rng in streams]
    drawn, always = (sampled_shapley(trial, players, half) for half in orders)
    fits = np.array([drawn.made + always.made, drawn.replaced + always.replaced])
    return _Shapley(drawn.items, drawn.noise, always.items.mean(axis=1), fits)


def _by_slice(each: Floats, rows: Ints, plan: Plan) -> Floats:
    """Each judge's value in a slice minus its value elsewhere, (K, n_slices)."""
    values = np.empty((len(each), len(plan.slices.rows)))
    for place, members in enumerate(plan.slices.rows):
        inside = np.isin(rows, members)
        here = each[:, inside] if inside.any() else each
        rest = each[:, ~inside] if not inside.all() else each
        values[:, place] = here.mean(axis=1) - rest.mean(axis=1)
    return values


def _constant(ballots: Ballots, split: Split, calibrator: Calibrator) -> tuple[Floats, Floats]:
    """Losses (n_eval,) of the calibration rows' base rate, and of a calibrated constant score."""
    signs = ballots.signs[split.calibration].astype(np.float64)
    held = ballots.signs[split.evaluation].astype(np.float64)
    null = ballots.null_logit(split.calibration)
    blank = np.zeros((1, len(signs)))
    map_ = fit((calibrator,), blank, signs, symmetric=ballots.symmetric)[calibrator]
    constant = map_(np.zeros((1, len(held))))[0]
    return item_nll(np.full(len(held), null), held), item_nll(constant, held)


Role = Literal["copy", "specialist", "complement", "ordinary"]
COPY_BOUND = 0.8
"""Error correlation above which a judge is a copy of another.

The correlation must be shown to exceed it, and the judge not be shown to be missed.
"""


@results.frozen
class JudgeValue:
    """One judge; all figures in nats with 95 % intervals for new items, NaN if unknown.

    ``value`` = NLL(without it) - NLL(all), and ``shapley`` is its mean contribution over the orders
    in which judges may join: both positive if it helps. ``p`` belongs to ``value``. ``gain`` =
    E[(change of the panel's logit without it)^2]. ``nearest`` is the judge with the most correlated
    errors, ``correlation`` that correlation; '' and NaN if unknown. ``slice`` is the part of the
    items where its value most exceeds that elsewhere, ``slice_gap`` the excess, with an interval
    that holds for all judges and slices together, and ``slice_p`` one-sided, adjusted by Holm over
    both; '' and NaN without slices. ``inner`` is its value by inner folds of all labelled rows,
    which determines the order of removal (``rank`` 1 first); NaN and 0 until the last split is in.
    ``droppable``: among those that can be removed together without loss. ``role``: copy (see
    ``COPY_BOUND``); else specialist if ``slice_p`` < .05; else complement if ``value`` is shown to
    be above 0; else ordinary.
    """

    judge: str
    family: str
    value: Interval = results.column(
        "NLL without the judge minus that of all judges, in nats; above 0 it helps.",
        bounds=("lo", "hi"),
    )
    p: float = results.column("Two-sided p-value of a value of 0.")
    shapley: Interval = results.column(
        "NLL that the judge saves, averaged over the orders of joining, in nats."
    )
    gain: Interval = results.column("Mean squared change of the panel's logit without the judge.")
    nearest: str
    correlation: Interval = results.column("Error correlation with the nearest judge.")
    slice: str = results.column("Part of the items where its value most exceeds that elsewhere.")
    slice_gap: Interval = results.column(
        "Its value in that slice minus its value elsewhere, in nats.",
        bounds=("slice_lo", "slice_hi"),
        ends=", for all judges and slices at once",
    )
    slice_p: float = results.column("One-sided p-value of slice_gap after Holm's correction.")
    inner: float = results.column("Value by inner folds of all labelled rows, in nats.")
    rank: int = results.column("Order in which judges would be removed, 1 first.")
    droppable: bool = results.column(
        "Whether it is among the judges shown to be removable together without loss."
    )
    role: Role = results.column("Copy, specialist, complement or ordinary.")


@dataclass(frozen=True, slots=True)
class GroupValue:
    """A family, or a cluster of judges that err together, with its ``members``.

    ``value`` = NLL(without all of them) - NLL(all). Clusters are determined again on the
    calibration rows of every split: the value is that of the clusters that contain the members
    there. ``shapley`` treats families as players, and judges without a family as players of one;
    NaN for clusters.
    """

    kind: Literal["family", "cluster"]
    name: str
    members: tuple[str, ...]
    value: Interval
    p: float
    shapley: Interval


@dataclass(frozen=True, slots=True)
class Removal:
    """The panel without the ``m`` judges with the lowest value on the calibration rows.

    ``delta`` = NLL(without them) - NLL(all), above 0 if they are missed; its interval is for this m
    alone and determines the ``verdict``, ``band`` holds for all m together. ``free``: the upper end
    of ``delta`` is below the margin, here and for every smaller m. Testing in that order and
    stopping at the first failure needs no adjustment for the number of m.
    """

    m: int
    nll: Interval
    delta: Interval
    p: float
    band: Interval
    verdict: inference.Verdict
    free: bool


@dataclass(frozen=True, slots=True)
class Copied:
    """The panel with ``times`` more copies of a judge: ``delta`` = NLL(with them) - NLL(all).

    ``why`` says how the judge was selected.
    """

    judge: str
    why: str
    times: int
    delta: Interval
    p: float


@results.frozen
class Value(results.PipelineResult):
    """Result of :data:`VALUE`.

    ``judges`` are in the order of the analysis; ``removal`` is by m. ``droppable`` is the largest m
    of ``removal`` that is free, and ``droppable_judges`` are the m judges with the lowest value on
    all labelled rows, lowest first, empty until the last split is in. ``margin`` is 2 % of
    ``nll_all`` in nats. ``null_nll`` is the NLL of the base rate on the same splits,
    ``constant_nll`` that of a constant score through the same calibrator. Shapley values are those
    of panels under ``shapley_aggregator`` and ``shapley_calibrator``, whose full panel has
    ``shapley_nll``, from ``permutations`` orders per split. They sum to ``null_nll`` -
    ``shapley_nll``. Every NLL is a mean over items of their means over splits. ``feature`` defines
    the slices of the items, '' without slices.
    """

    judges: tuple[JudgeValue, ...]
    groups: tuple[GroupValue, ...]
    removal: tuple[Removal, ...]
    droppable: int
    droppable_judges: tuple[str, ...]
    copies: tuple[Copied, ...]
    shapley_aggregator: str
    shapley_calibrator: str
    shapley_nll: float
    permutations: int
    nll_all: Interval = results.column("NLL of all judges, in nats.")
    margin: float
    constant_nll: float
    feature: str
    slices: tuple[str, ...]
    RECORDS: ClassVar = (JudgeValue,)

    def judge(self, name: str) -> JudgeValue:
        """Return the figures of one judge."""
        return next(judge for judge in self.judges if judge.judge == name)

    def frame(self) -> pd.DataFrame:
        """One row per judge."""
        rows = [{**_judge_row(judge), "nll_all": self.nll_all.value} for judge in self.judges]
        return self.repeated(rows, "null_nll", "aggregator", "calibrator", "n_splits")

    def removal_frame(self) -> pd.DataFrame:
        """Return one row per number of removed judges."""
        return pd.DataFrame(map(results.flat_row, self.removal))

    def decisions(self) -> dict[str, Any]:
        """Return values, removable judges and the effect of copies."""
        plain: dict[str, Any] = codec.to_plain(
            {
                "shapley": {
                    "aggregator": self.shapley_aggregator,
                    "calibrator": self.shapley_calibrator,
                    "nll": self.shapley_nll,
                    "permutations": self.permutations,
                },
                "nll_all": self.nll_all.value,
                "droppable_judges": self.droppable_judges,
                "judges": [_judge_row(judge) for judge in self.judges],
                "groups": [results.flat_row(group) for group in self.groups],
                "removal": [results.flat_row(removal) for removal in self.removal],
                "copies": [results.flat_row(copy) for copy in self.copies],
            }
        )
        return plain


def _judge_row(judge: JudgeValue) -> dict[str, Any]:
    return results.flat_row(judge, slice_gap="slice_")


SLICE_LEVEL = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """All splits in order, and their plan; ``units`` (N,) are those of the items."""

    partial: ValuePartial
    plan: Plan
    units: Ints

    @property
    def tally(self) -> ValueTally:
        """The values of all splits, by the rows of :func:`parts_of`."""
        return self.partial.tally

    @property
    def inner(self) -> Floats:
        """Values (K,) by inner folds of all labelled rows, NaN until all splits are in."""
        inner = self.partial.inner
        return inner if len(inner) else np.full(len(self.plan.nearest), np.nan)

    def items(self, name: str) -> Floats:
        """Mean value of every evaluated item, (n, N)."""
        return self.tally.item_means(parts_of(self.plan)[name])

    def splits(self, name: str) -> Floats:
        """Mean value of every split, (S, n)."""
        return self.tally.split_means[:, parts_of(self.plan)[name]]

    def estimated(self, name: str) -> inference.Estimate:
        """Return estimates of one part of the layout."""
        return self.of(self.items(name), self.splits(name))

    def sampled(self, name: str, noise: Floats, steady: Floats) -> inference.Estimate:
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
    ) -> inference.Estimate:
        """Estimates from values (n, N) of items and (S, n) of splits; NaN ends from one split."""
        tally, units = self.tally, self.units[self.tally.seen > 0]
        sizes = float(tally.n_calibration.mean()), float(tally.n_evaluation.mean())
        return inference.estimate(items, splits, units, *sizes, redrawn=redrawn, joint=joint)


def mean_loss(split_values: Gathered, name: str) -> float:
    """Return the mean over items of one loss, averaged as that of all judges is."""
    return float(split_values.items(name).mean())


def removal_figures(split_values: Gathered, seed: int) -> tuple[Removal, ...]:
    """Return the curve over the number m of removed judges.

    Whether m judges can be removed is tested in a fixed order, stopping at the first failure, so
    every test may use the full level (Maurer, Hothorn and Lehmacher 1995).
    """
    removed = split_values.plan.removed
    if not removed:
        return ()
    base, base_splits = split_values.items("everyone"), split_values.splits("everyone")
    items, splits = split_values.items("removed"), split_values.splits("removed")
    gap = split_values.of(items, splits, joint=True)
    levels = Interval.of(split_values.of(items + base, splits + base_splits))
    nll, delta = levels.clip(*RANGES["nll"]), Interval.of(gap)
    known = len(split_values.tally.numbers) > 1
    margin = inference.MARGIN * float(base.mean())
    same = np.asarray(~items.any(axis=1))
    return results.records_of(
        Removal,
        m=removed,
        nll=nll,
        delta=delta,
        p=gap.p,
        band=band(gap, seed),
        verdict=verdicts(delta, margin, same) if known else np.where(same, "tie", "undecided"),
        free=np.logical_and.accumulate(same | (gap.hi < margin)),
    )


def copy_figures(split_values: Gathered, names: tuple[str, ...]) -> tuple[Copied, ...]:
    """Return the effect of copies on the panel."""
    estimates, copied = split_values.estimated("copied"), split_values.plan.copied
    return results.records_of(
        Copied,
        judge=[names[j] for j, _ in copied],
        why=[why for _, why in copied],
        times=COPIES,
        delta=Interval.of(estimates),
        p=estimates.p,
    )


def group_figures(split_values: Gathered, prepared: Prepared) -> tuple[GroupValue, ...]:
    """Return families, then clusters of at least two judges, largest first."""
    plan, partial = split_values.plan, split_values.partial
    estimates = split_values.estimated("family")
    rows = results.records_of(
        GroupValue,
        kind="family",
        name=plan.family_names,
        members=[prepared.named(members) for members in plan.families],
        value=Interval.of(estimates),
        p=estimates.p,
        shapley=Interval.of(
            split_values.sampled("family_shapley", partial.family_noise, partial.family_steady)
        ),
    )
    labels = np.unique(plan.cluster[plan.cluster > 0])
    if not len(labels):
        return rows
    inside = np.array([plan.cluster == label for label in labels])
    mean = inside / inside.sum(axis=1, keepdims=True)
    estimates = split_values.of(
        mean @ split_values.items("cluster"), split_values.splits("cluster") @ mean.T
    )
    return rows + results.records_of(
        GroupValue,
        kind="cluster",
        name=[*map(str, labels)],
        members=[prepared.named(members) for members in inside],
        value=Interval.of(estimates),
        p=estimates.p,
        shapley=Interval.full(len(labels), np.nan),
    )


def judge_figures(
    split_values: Gathered, names: tuple[str, ...], droppable: int
) -> tuple[JudgeValue, ...]:
    """Return every judge; the ``droppable`` judges with the lowest inner value can be removed."""
    plan, partial = split_values.plan, split_values.partial
    estimates = split_values.estimated("each")
    value = Interval.of(estimates)
    correlation = _correlations(split_values)
    sliced = _slice_gaps(split_values)
    rank = ranks(split_values.inner)
    copies = correlation.above(COPY_BOUND) & ~value.above()
    roles = [copies, sliced["slice_p"] < SLICE_LEVEL, value.above()]
    return results.records_of(
        JudgeValue,
        judge=names,
        family=plan.family,
        value=value,
        p=estimates.p,
        shapley=Interval.of(split_values.sampled("shapley", partial.noise, partial.steady)),
        gain=Interval.of(split_values.estimated("gain"), "").clip(0.0, np.inf),
        nearest=[names[k] if k >= 0 else "" for k in plan.nearest],
        correlation=correlation,
        **sliced,
        inner=split_values.inner,
        rank=rank,
        droppable=(rank > 0) & (rank <= droppable),
        role=np.select(roles, ["copy", "specialist", "complement"], "ordinary"),
    )


def ranks(inner: Floats) -> Ints:
    """Rank (K,) of every judge, 1 for the lowest inner value; 0 if unknown."""
    if not np.isfinite(inner).all():
        return np.zeros(len(inner), dtype=np.int64)
    values = np.empty(len(inner), dtype=np.int64)
    values[np.argsort(inner, kind="stable")] = np.arange(1, len(inner) + 1)
    return values


def _correlations(split_values: Gathered) -> Interval:
    """Error correlations (K,) with intervals from their spread over calibration sides.

    A calibration side is sampled without replacement: with n of N items its estimate has variance
    (N - n) / n of that on all of them, about the estimate on all.
    """
    tally, value = split_values.tally, split_values.plan.correlation
    in_splits = split_values.partial.correlation
    known = np.isfinite(in_splits)
    n_known = known.sum(axis=0)
    mean = np.where(known, in_splits, 0.0).sum(axis=0) / np.maximum(n_known, 1)
    square = np.where(known, (in_splits - mean) ** 2, 0.0).sum(axis=0)
    spread = np.sqrt(square / np.maximum(n_known - 1, 1))
    n_cal, n_eval = float(tally.n_calibration.mean()), float(tally.n_evaluation.mean())
    scale = np.sqrt(n_cal / n_eval)
    reach = distributions.t_ppf(0.975, np.maximum(n_known - 1, 1)) * spread * scale
    reach = np.where(n_known > 1, reach, np.nan)
    return Interval(value, value - reach, value + reach, unit="").clip(-1.0, 1.0)


def _slice_gaps(split_values: Gathered) -> dict[str, Any]:
    """Fields of every judge about the slice in which its value most exceeds that elsewhere.

    Tests are one-sided, Holm over judges and slices.
    """
    slices, n_judges = split_values.plan.slices, len(split_values.plan.nearest)
    n_slices = len(slices.rows)
    if not n_slices or len(split_values.tally.numbers) < 2:
        none = Interval.full(n_judges, np.nan)
        return {"slice": [""] * n_judges, "slice_gap": none, "slice_p": none.value}
    seen = np.flatnonzero(split_values.tally.seen > 0)
    each = split_values.items("each")
    gaps, p = [], np.empty((n_judges, n_slices))
    for s, members in enumerate(slices.rows):
        inside = np.isin(seen, members)
        gap = split_values.of(_contrast(each, inside), split_values.partial.slices[:, :, s])
        gaps.append(Interval.of(gap, reach=inference.bonferroni_reach(gap, n_judges * n_slices)))
        p[:, s] = np.where(gap.value > 0, gap.p / 2.0, 1.0 - gap.p / 2.0)
    best = np.argmin(p, axis=1)
    at = np.arange(n_judges), best
    return {
        "slice": [slices.names[s] for s in best],
        "slice_gap": Interval.stacked(gaps, axis=1)[at],
        "slice_p": inference.holm(p.ravel()).reshape(p.shape)[at],
    }


def _contrast(each: Floats, inside: Bools) -> Floats:
    """Values (K, N) of items whose mean is that inside minus that outside, linearised."""
    share = float(inside.mean())
    if share in (0.0, 1.0):
        return np.zeros_like(each)
    here = each[:, inside].mean(axis=1, keepdims=True)
    rest = each[:, ~inside].mean(axis=1, keepdims=True)
    own = np.where(inside, (each - here) / share, -(each - rest) / (1.0 - share))
    return np.asarray(own + (here - rest))


VALUE_SPLITS = 20
MOST_JUDGES = 1000
MOST_ORDERS = 1000


@dataclass(frozen=True, slots=True)
class ValueSpec(StudySpec):
    """The pipeline and options for valuing judges.

    ``permutations`` orders of joining give Shapley values in each split: half of them are drawn for
    it, half are shared by all splits. ``feature`` slices the items, None uses the first usable one;
    ``copied`` are judges to copy, None uses the most accurate, the median and the most correlated.

    Raises
    ------
    InputError
        An unknown or duplicate name, a number of orders that is not a multiple of 8 or outside
        8..1000; the paper's protocol, under which judges would be ranked by in-sample scores.
    """

    aggregator: Valued = option("joint")
    calibrator: Calibrator = option("none", "the calibrator of all panels")
    permutations: int = option(
        40,
        "orders per split for Shapley values, a multiple of 8",
        check=valid(
            "orders come in four designs of pairs",
            lambda n: 8 <= n <= MOST_ORDERS and n % 8 == 0,
            f"a multiple of 8 from 8 to {MOST_ORDERS}",
        ),
    )
    feature: str | None = option(
        None, "item feature that defines slices (default: the first usable one)"
    )
    copied: tuple[str, ...] | None = option(
        None, "judges to copy (default: the most accurate, median and most correlated)"
    )
    chooses: ClassVar[str] = "judges are ranked"

    def __post_init__(self) -> None:
        StudySpec.__post_init__(self)
        if self.copied is not None and len(set(self.copied)) < len(self.copied):
            raise InputError("a judge to copy is given twice", value=", ".join(self.copied))

    @property
    def shapley(self) -> tuple[ClosedForm, Calibrator]:
        """The aggregator and calibrator of the coalitions of Shapley values."""
        if self.aggregator == "joint":
            return STAND_IN
        return self.aggregator, self.calibrator


@results.frozen
class ValuePartial:
    """Values of the splits so far, in the order of ``tally.numbers``.

    Attributes
    ----------
    slices : float (S, K, n_slices), each judge's value in a slice minus its value elsewhere.
    noise, family_noise : float (S, K), (S, F), variance of Shapley values due to the sampling of
        orders.
    steady, family_steady : float (S, K), (S, F), mean Shapley values over orders shared by all
        splits, which differ between splits for other reasons only.
    correlation : float (S, K), of errors with the nearest judge; NaN if unknown.
    fits : int (S, 2), number of calibrators, and of those that fell back to temperature.
    inner : float (K,), comes with the last split, empty until then.
    """

    tally: ValueTally
    slices: Floats = results.by_split()
    noise: Floats = results.by_split()
    family_noise: Floats = results.by_split()
    steady: Floats = results.by_split()
    family_steady: Floats = results.by_split()
    correlation: Floats = results.by_split()
    fits: Ints = results.by_split()
    inner: Floats


def run_chunk(votes: VoteMatrix, spec: ValueSpec, chunk: Chunk) -> ValuePartial:
    """Score all panels of the splits of one chunk; the last one also ranks judges on all rows."""
    prepared, plan = _prepared(votes, spec)
    rows, others = [], []
    for split in common.splits_of(prepared, spec.settings, chunk):
        values, of_split = values_of(prepared, split, plan, spec)
        rows.append((split, values))
        others.append(of_split)
    inner = np.zeros(0)
    if chunk.first + chunk.count >= rounds(spec):
        # The order of removal: joint panels use the ridge with the largest share in this split.
        pipeline, seed = (spec.aggregator, spec.calibrator), spec.settings.seed
        panels = panels_of(prepared.ballots, split, *pipeline, seed=seed)
        inner = panels.inner_values(np.arange(prepared.ballots.n_items), (split.number, 34))
    tally = tally_values(rows, prepared.ballots.n_items, parts_of(plan)["family_shapley"].stop)
    by_split = {name: np.array([of_split[name] for of_split in others]) for name in others[0]}
    return ValuePartial(tally, **by_split, inner=inner)


def _prepared(votes: VoteMatrix, spec: ValueSpec) -> tuple[Prepared, Plan]:
    prepared = prepare(votes, spec.settings)
    n_judges = prepared.ballots.n_judges
    if n_judges > MOST_JUDGES and spec.aggregator == "joint":
        why = "there are too many judges to refit the joint panel without each of them"
        allowed = f"{MOST_JUDGES} or fewer, or the aggregator one_coin"
        raise InputError(why, value=n_judges, allowed=allowed)
    return prepared, plan_of(votes, prepared, spec.feature, spec.copied)


def merge(votes: VoteMatrix, spec: ValueSpec, partial: ValuePartial) -> Value:
    """Return values, roles and removable judges from the splits so far."""
    prepared, plan = _prepared(votes, spec)
    split_values = Gathered(partial, plan, prepared.ballots.units)
    removal = removal_figures(split_values, spec.settings.seed)
    droppable = max((row.m for row in removal if row.free), default=0)
    order = np.argsort(ranks(split_values.inner), kind="stable")
    first = order[:droppable] if len(partial.inner) else order[:0]
    nll_all = Interval.of(split_values.estimated("everyone"))[0].clip(*RANGES["nll"])
    aggregator, calibrator = spec.shapley
    made, replaced = (int(n) for n in partial.fits.sum(axis=0))
    name = spec.shapley[1] if spec.calibrator == "none" else spec.calibrator
    notes = common.stand_ins((name,), (replaced,), made)
    if prepared.ballots.n_judges == 1:
        notes.append("There is only one judge, so its value is that against the base rate.")
    return Value.from_splits(
        prepared,
        spec,
        split_values.tally,
        judges=judge_figures(split_values, prepared.judges, droppable),
        groups=group_figures(split_values, prepared),
        removal=removal,
        droppable=droppable,
        droppable_judges=tuple(prepared.judges[j] for j in first),
        copies=copy_figures(split_values, prepared.judges),
        shapley_aggregator=aggregator,
        shapley_calibrator=calibrator,
        shapley_nll=mean_loss(split_values, "shapley_everyone"),
        nll_all=nll_all,
        margin=inference.MARGIN * float(nll_all.value),
        null_nll=mean_loss(split_values, "null"),
        constant_nll=mean_loss(split_values, "constant"),
        feature=plan.slices.feature or "",
        slices=plan.slices.names,
        planned_splits=rounds(spec),
        warnings=common.run_warnings(prepared, partial.tally, *notes),
    )


def rounds(spec: ValueSpec) -> int:
    """Number of splits used: at most ``VALUE_SPLITS``, since each takes many panels."""
    return min(spec.settings.most_splits, VALUE_SPLITS)


# All splits are run, since the last one ranks the judges.
VALUE: Study[ValueSpec, ValuePartial, Value] = Study(
    name="value",
    title="What each judge is worth",
    question="What is each judge worth, and how many can go?",
    run_chunk=run_chunk,
    merge=merge,
    rounds=rounds,
)
