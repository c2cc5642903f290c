"""The value of every judge in one split: NLL of panels without it, and its Shapley value.

The comparisons of a value study: groups, numbers of removed judges, copies, slices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

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
from judgepanel.scoring.metrics import CLIP, item_nll, null_logit
from judgepanel.scoring.splits import Split
from judgepanel.studies.contract import Prepared
from judgepanel.studies.slices import Slices, slices_of
from judgepanel.studies.understand.judge_table import families_of
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.matrix import cached

REMOVED = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
COPIES = 4
QUANTILES = 3
MOST_ACCURATE, MEDIAN, MOST_CORRELATED, ASKED = (
    "most accurate",
    "median accuracy",
    "most correlated",
    "asked for",
)


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
    for why, ranked in (
        (MOST_ACCURATE, order),
        (MEDIAN, order[len(order) // 2 :]),
        (MOST_CORRELATED, alike),
    ):
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


@dataclass(frozen=True, slots=True)
class Rules:
    """How panels are built; see the spec of the study."""

    aggregator: Valued
    calibrator: Calibrator
    permutations: int
    seed: int

    @property
    def shapley(self) -> tuple[ClosedForm, Calibrator]:
        """The aggregator and calibrator of the coalitions of Shapley values."""
        if self.aggregator == "joint":
            return STAND_IN
        return self.aggregator, self.calibrator


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of values for K judges, F families, M numbers of removed judges and X copies.

    ``everyone``, ``null``, ``constant`` and ``shapley_everyone`` are losses, ``gain`` is a squared
    change of logits; all others are differences.
    """

    n_judges: int
    n_families: int
    n_removed: int
    n_copied: int

    @property
    def parts(self) -> dict[str, slice]:
        """Rows of the values by name."""
        k, f = self.n_judges, self.n_families
        sizes = {
            "everyone": 1,
            "null": 1,
            "constant": 1,
            "shapley_everyone": 1,
            "each": k,
            "gain": k,
            "family": f,
            "cluster": k,
            "removed": self.n_removed,
            "copied": self.n_copied,
            "shapley": k,
            "family_shapley": f,
        }
        parts, start = {}, 0
        for name, size in sizes.items():
            parts[name] = slice(start, start + size)
            start += size
        return parts

    @property
    def n_values(self) -> int:
        """Number of rows."""
        return sum(part.stop - part.start for part in self.parts.values())


def layout_of(plan: Plan) -> Layout:
    """Return the layout of a plan."""
    return Layout(len(plan.nearest), len(plan.family_names), len(plan.removed), len(plan.copied))


@dataclass(frozen=True, slots=True, eq=False)
class SplitValues:
    """Values of one split.

    Attributes
    ----------
    values : float (V, n_eval), as in :class:`Layout`.
    slices : float (K, n_slices), each judge's value in a slice minus its value elsewhere.
    noise, family_noise : float (K,), (F,), variance of Shapley values due to the sampling of
        orders.
    steady, family_steady : float (K,), (F,), mean Shapley values over orders shared by all splits,
        which differ between splits for other reasons only.
    correlation : float (K,), of errors with the nearest judge; NaN if unknown.
    fits : int (2,), number of calibrators, and of those that fell back to temperature.
    """

    values: Floats
    slices: Floats
    noise: Floats
    family_noise: Floats
    steady: Floats
    family_steady: Floats
    correlation: Floats
    fits: Ints


def values_of(prepared: Prepared, split: Split, plan: Plan, rules: Rules) -> SplitValues:
    """Return all values of one split, fitted and ranked on its calibration rows alone."""
    ballots = prepared.ballots
    panels = panels_of(ballots, split, rules.aggregator, rules.calibrator, seed=rules.seed)
    signs = ballots.signs[split.evaluation].astype(np.float64)
    whole, less = panels.everyone(), panels.without_each()
    base = item_nll(whole, signs)
    each = item_nll(less, signs) - base
    change = np.clip(less, -_LIMIT, _LIMIT) - np.clip(whole, -_LIMIT, _LIMIT)
    judges, families = _shapley(ballots, split, plan, rules)
    mates, correlation = errors_on(prepared, split.calibration, plan.nearest)
    null, constant = _constant(ballots, split, rules.calibrator)
    same = rules.shapley == (rules.aggregator, rules.calibrator)
    values = np.concatenate(
        [
            [base, null, constant, base if same else null - judges.items.sum(axis=0)],
            each,
            change**2,
            item_nll(panels.of(~plan.families), signs) - base,
            _without_clusters(panels, mates, each, signs, base),
            item_nll(_removed(panels, ballots, split, plan, rules), signs) - base,
            *[item_nll(panels.copied(j, COPIES), signs)[None] - base for j, _ in plan.copied],
            judges.items,
            families.items,
        ]
    )
    return SplitValues(
        values,
        _by_slice(each, split.evaluation, plan),
        judges.noise,
        families.noise,
        judges.steady,
        families.steady,
        correlation,
        np.array([panels.fits.made, panels.fits.replaced]) + judges.fits + families.fits,
    )


def _without_clusters(
    panels: Panels, result: Bools, each: Floats, signs: Floats, base: Floats
) -> Floats:
    """Return the value (K, n_eval) of every judge's cluster, (K, K)."""
    values = each.copy()
    several = np.flatnonzero(result.sum(axis=1) > 1)
    if len(several):
        distinct, which = np.unique(result[several], axis=0, return_inverse=True)
        lost = item_nll(panels.of(~distinct), signs) - base
        values[several] = lost[which.ravel()]
    return values


def _removed(panels: Panels, ballots: Ballots, split: Split, plan: Plan, rules: Rules) -> Floats:
    """Logits (M, n_eval) without the m judges with the lowest value by inner folds."""
    if not plan.removed:
        return np.zeros((0, len(split.evaluation)))
    key = (split.number, 31)
    masks = left_after(panels.inner_values(split.calibration, key), plan.removed)
    inside = None
    if rules.calibrator != "none":
        pieces = choice_folds(ballots, split, rules.seed)
        chosen = [
            left_after(
                panels.inner_values(piece.calibration, (*key, piece.number), piece.number),
                plan.removed,
            )
            for piece in pieces
        ]
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


def _shapley(ballots: Ballots, split: Split, plan: Plan, rules: Rules) -> tuple[_Shapley, _Shapley]:
    """Return Shapley values of the judges, then of the families."""
    trial = subset_trial(ballots, split, *rules.shapley)
    judges = _sampled(trial, np.eye(ballots.n_judges, dtype=bool), rules, 32)
    n = len(plan.family_names)
    if not n:
        none = np.zeros(0)
        blank = np.zeros((0, len(split.evaluation)))
        return judges, _Shapley(blank, none, none, np.zeros(2, dtype=np.int64))
    groups = _sampled(trial, plan.players, rules, 33)
    return judges, replace(
        groups, items=groups.items[:n], noise=groups.noise[:n], steady=groups.steady[:n]
    )


def _sampled(trial: SubsetTrial, players: Bools, rules: Rules, stream: int) -> _Shapley:
    """Half of the orders are drawn for this split, half are shared by all splits."""
    keys = (trial.split.number, stream), (stream, 35)
    drawn, always = (
        sampled_shapley(
            trial,
            players,
            balanced_orders(
                len(players),
                rules.permutations // 2,
                np.random.default_rng(np.random.SeedSequence(rules.seed, spawn_key=key)),
            ),
        )
        for key in keys
    )
    return _Shapley(
        drawn.items,
        drawn.noise,
        always.items.mean(axis=1),
        np.array([drawn.made + always.made, drawn.replaced + always.replaced]),
    )


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
    null = null_logit(float(np.mean(signs > 0)), symmetric=ballots.symmetric)
    blank = np.zeros((1, len(signs)))
    map_ = fit((calibrator,), blank, signs, symmetric=ballots.symmetric)[calibrator]
    constant = map_(np.zeros((1, len(held))))[0]
    return item_nll(np.full(len(held), null), held), item_nll(constant, held)


def inner_of_all(prepared: Prepared, last: Split, rules: Rules) -> Floats:
    """Value (K,) of every judge by inner folds of all labelled rows: the order of removal.

    Joint panels use the ridge that has the largest share in the last split.
    """
    ballots = prepared.ballots
    panels = panels_of(ballots, last, rules.aggregator, rules.calibrator, seed=rules.seed)
    return panels.inner_values(np.arange(ballots.n_items), (last.number, 34))
