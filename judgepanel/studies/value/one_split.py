"""What one split says of every judge: losses of panels without it, and what it adds to others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.prefixes import ClosedForm
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import Calibrator, fit
from judgepanel.kernels.evaluate.panels import Panels, Valued, choice_folds, panels_of
from judgepanel.kernels.evaluate.shapley import balanced_orders, sampled_shapley
from judgepanel.kernels.select.subsets import SubsetTrial, subset_trial
from judgepanel.scoring.metrics import CLIP, item_nll, null_logit
from judgepanel.scoring.splits import Split
from judgepanel.studies.settings import Prepared
from judgepanel.studies.value.plan import COPIES, Plan, errors_on

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STAND_IN: tuple[ClosedForm, Calibrator] = ("one_coin", "temperature")
"""Under what Shapley values are taken where the aggregator itself would be too slow."""
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
        """Aggregator and calibrator of the coalitions of Shapley values."""
        if self.aggregator == "joint":
            return STAND_IN
        return self.aggregator, self.calibrator


@dataclass(frozen=True, slots=True)
class Layout:
    """Where values of K judges, F families, M numbers of judges that go and X copies stand.

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
        """All rows."""
        return sum(part.stop - part.start for part in self.parts.values())


def layout_of(plan: Plan) -> Layout:
    """The layout of a plan."""
    return Layout(len(plan.nearest), len(plan.family_names), len(plan.removed), len(plan.copied))


@dataclass(frozen=True, slots=True, eq=False)
class SplitValues:
    """One split.

    Attributes
    ----------
    values : float (V, n_eval), as in :class:`Layout`.
    slices : float (K, n_slices), how much more each judge is worth in a slice than elsewhere.
    noise, family_noise : float (K,), (F,), what drawing orders adds to the variance of Shapley
        values.
    steady, family_steady : float (K,), (F,), mean Shapley values over orders that are the same in
        every split: they differ between splits for other reasons alone.
    correlation : float (K,), of errors with the nearest judge; NaN where unknown.
    fits : int (2,), calibrators made, and those that temperature stands in for.
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
    """Everything of one split; fitted and ranked on its calibration rows alone."""
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
    """Value (K, n_eval) of the cluster of every judge, (K, K)."""
    values = each.copy()
    several = np.flatnonzero(result.sum(axis=1) > 1)
    if len(several):
        distinct, which = np.unique(result[several], axis=0, return_inverse=True)
        lost = item_nll(panels.of(~distinct), signs) - base
        values[several] = lost[which.ravel()]
    return values


def _removed(panels: Panels, ballots: Ballots, split: Split, plan: Plan, rules: Rules) -> Floats:
    """Logits (M, n_eval) without the m judges that are worth least by inner folds."""
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
    """Who is left (M, K) when the m judges with the least inner value (K,) go; ties in order."""
    rank = np.empty(len(inner), dtype=np.int64)
    rank[np.argsort(inner, kind="stable")] = np.arange(len(inner))
    return np.asarray(rank[None, :] >= np.array(removed)[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class _Shapley:
    """Shapley values of players: ``items`` (G, n_eval) over orders drawn for this split alone."""

    items: Floats
    noise: Floats
    steady: Floats
    fits: Ints


def _shapley(ballots: Ballots, split: Split, plan: Plan, rules: Rules) -> tuple[_Shapley, _Shapley]:
    """Shapley values of the judges, then of the families."""
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
    """Half of the orders are drawn for this split, half are those of every split."""
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
    """How much more each judge is worth in a slice than elsewhere, (K, n_slices)."""
    values = np.empty((len(each), len(plan.slices.rows)))
    for place, members in enumerate(plan.slices.rows):
        inside = np.isin(rows, members)
        here = each[:, inside] if inside.any() else each
        rest = each[:, ~inside] if not inside.all() else each
        values[:, place] = here.mean(axis=1) - rest.mean(axis=1)
    return values


def _constant(ballots: Ballots, split: Split, calibrator: Calibrator) -> tuple[Floats, Floats]:
    """Losses (n_eval,) of the base rate of the calibration rows, and of a constant score calibrated
    on them.
    """
    signs = ballots.signs[split.calibration].astype(np.float64)
    held = ballots.signs[split.evaluation].astype(np.float64)
    null = null_logit(float(np.mean(signs > 0)), symmetric=ballots.symmetric)
    blank = np.zeros((1, len(signs)))
    map_ = fit((calibrator,), blank, signs, symmetric=ballots.symmetric)[calibrator]
    constant = map_(np.zeros((1, len(held))))[0]
    return item_nll(np.full(len(held), null), held), item_nll(constant, held)


def inner_of_all(prepared: Prepared, last: Split, rules: Rules) -> Floats:
    """Value (K,) of every judge by inner folds of all labelled rows: who would go first.

    Joint panels take the ridge that the last split gives the largest share.
    """
    ballots = prepared.ballots
    panels = panels_of(ballots, last, rules.aggregator, rules.calibrator, seed=rules.seed)
    return panels.inner_values(np.arange(ballots.n_items), (last.number, 34))
