"""Comparisons of panels: differences, intervals, verdicts, the paper's tests.

Most are with all judges; contrasts are any linear combinations of the arms of a tally.

Constant positions: does always choosing one position explain the panel's score?

If labels of pairs are lopsided and items are used together with their swaps, a judge that prefers
one position looks accurate: 'always 0' is right on 98 % of the items of a file with 2 % of ones.
Compared with a coin (NLL ln 2) such a panel seems excellent; compared with the base rate of the
file as given it is worthless. So a panel is compared with that base rate on the same items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats
from judgepanel.kernels.maps import column_blocks
from judgepanel.scoring.descriptive import (
    allow_difference,
    allow_level,
    between,
    one_more_error,
    paper_inference,
)
from judgepanel.scoring.inference import (
    MARGIN,
    Estimate,
    Verdict,
    estimate,
    simultaneous_reach,
    verdict,
)
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.metrics import CLIP
from judgepanel.scoring.splits import Sides, split
from judgepanel.studies.accumulate import ITEM_METRICS, METRICS, Tally
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Prepared, Settings, same_verdicts
from judgepanel.studies.results import flat_row, records_of
from judgepanel.votes.matrix import BALANCED_SHARE

UNITS: dict[str, Unit] = {"nll": "nats", "brier": "", "accuracy": "share", "ece": "share"}
RANGES: dict[str, tuple[float, float]] = {
    "nll": (-math.log(1.0 - CLIP), -math.log(CLIP)),
    "brier": (CLIP**2, (1.0 - CLIP) ** 2),
    "accuracy": (0.0, 1.0),
}
"""Ranges of scores of clipped probabilities, to which intervals of levels are clipped."""
CHOSEN = "best k"
CELLS = 16_000_000
"""Values by item that are computed at once."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One arm against the reference (all judges) under one calibrator.

    ``nll`` is the arm's own level on new items; ``delta`` = NLL(arm) - NLL(all) in nats, above 0 if
    keeping all judges is better; its interval and ``p`` are this package's (docs/inference.md) and
    determine the ``verdict`` against ``margin``; ``band`` covers all arms of the calibrator
    together. The ``paper_`` fields are descriptive: the median over splits with its bootstrap
    interval, t and p. ``k`` is the panel size; for the arm ``best k``, chosen in each split on
    calibration rows, it is the median, with the central 95 % from ``k_lo`` to ``k_hi``.
    ``chosen_on`` is the NLL on which it was chosen and ``optimism`` = ``nll`` - ``chosen_on``; both
    NaN for fixed k.

    An arm that never differs from all judges is a ``tie`` (if wrong decisions are rare, only if it
    is the same panel): nothing was estimated, so all ends, ``p`` and the paper's test are NaN (null
    in JSON).
    """

    arm: str
    calibrator: str
    k: int
    k_lo: int
    k_hi: int
    nll: Interval
    nll_all: float
    delta: Interval
    p: float
    band: Interval
    margin: float
    verdict: Verdict
    chosen_on: float
    optimism: float
    paper_median: Interval
    paper_t: float
    paper_p: float

    def plain(self) -> dict[str, Any]:
        """Return all fields as JSON values, and the difference as a share of NLL(all)."""
        row: dict[str, Any] = to_plain(flat_row(self, paper_median="paper_"))
        return {**row, "relative": row["delta"] / self.nll_all}


@dataclass(frozen=True, slots=True, eq=False)
class Estimator:
    """Estimates of means over the items and splits of a tally.

    ``units`` (n,) are the groups of its evaluated items; ``sizes`` are the mean numbers of
    calibration and evaluation items; ``sides`` is None for a single split, whose spread is unknown:
    everything but the values is then NaN.
    """

    units: NDArray[np.int64]
    sizes: tuple[float, float]
    sides: Sides | None

    @classmethod
    def of(cls, tally: Tally, units: NDArray[np.int64]) -> Estimator:
        """Return the estimator of a tally; ``units`` (N,) are the groups of all its items."""
        several = len(tally.numbers) > 1
        sides = Sides.of(tally.calibrated(), tally.scored(), units) if several else None
        return cls(units[tally.evaluated > 0], mean_sizes(tally), sides)

    def __call__(
        self, items: Floats, splits: Floats, *, redrawn: float | Floats = 0.0, joint: bool = False
    ) -> Estimate:
        """Return estimates from values by item (m, n) and by split (S, m), as :func:`estimate`."""
        return estimate(
            items,
            splits,
            self.units,
            *self.sizes,
            redrawn=redrawn,
            sides=self.sides,
            joint=joint,
        )


def grid_estimates(
    tally: Tally, estimated: Estimator, *, rare: bool = False
) -> dict[str, Interval]:
    """Return levels (C, A + 1) of every metric.

    If wrong decisions are ``rare``, intervals of NLL allow for one more
    (:mod:`scoring.rare_errors`).
    """
    item_means, _ = tally.item_means()
    estimates: dict[str, Interval] = {}
    for m, metric in enumerate(METRICS):
        split_means, unit = tally.split_means[:, m], UNITS[metric]
        if metric not in ITEM_METRICS:
            lo, hi = np.quantile(split_means, (0.025, 0.975), axis=0)
            estimates[metric] = Interval(split_means.mean(axis=0), lo, hi, unit=unit)
            continue
        levels = []
        for c in range(split_means.shape[1]):
            parts = []
            for block in arm_blocks(tally):
                items = item_means[m, c, block]
                level = estimated(items, split_means[:, c, block])
                if rare and metric == "nll":
                    level = allow_level(level, one_more_error(items, estimated.units))
                parts.append(Interval.of(level, unit))
            levels.append(Interval.joined(parts))
        estimates[metric] = Interval.stacked(levels).clip(*RANGES[metric])
    return estimates


def arm_blocks(tally: Tally) -> list[slice]:
    """Arms, the chosen one last, in blocks: all at once for most files."""
    return column_blocks(tally.n_arms + 1, len(tally.evaluated), CELLS)


def arm_name(k: int) -> str:
    """Return the name of a panel of the k best judges."""
    return f"top-{k}"


def comparisons(
    tally: Tally,
    estimated: Estimator,
    calibrators: tuple[str, ...],
    sizes: NDArray[np.int64],
    seed: int,
    *,
    rare: bool = False,
) -> tuple[Comparison, ...]:
    """Return all compared arms under every calibrator, in that order; none from a single split.

    ``sizes`` (A,) is the panel size of every arm; ``rare`` as in :func:`grid_estimates`.
    """
    if len(tally.numbers) < 2:
        return ()
    item_means, _ = tally.item_means()
    results: list[Comparison] = []
    for c, calibrator in enumerate(calibrators):
        nll = item_means[0, c]
        extra = one_more_error(nll, estimated.units) * rare
        results += _of_calibrator(tally, nll, estimated, c, calibrator, sizes, seed, extra)
    return tuple(results)


def _of_calibrator(
    tally: Tally,
    nll: Floats,
    estimated: Estimator,
    c: int,
    calibrator: str,
    sizes: NDArray[np.int64],
    seed: int,
    extra: Floats,
) -> tuple[Comparison, ...]:
    arms = np.append(tally.compared, tally.n_arms)
    split_nll = tally.split_means[:, 0, c]
    item_differences = nll[arms] - nll[tally.reference]
    split_differences = split_nll[:, arms] - split_nll[:, [tally.reference]]
    levels = allow_level(estimated(nll[arms], split_nll[:, arms]), extra[arms])
    # A choice that is always all judges is the same panel, and has no error of its own.
    other = np.append(
        tally.compared != tally.reference, (tally.chosen[:, c] != tally.reference).any()
    )
    doubt = between(extra[arms], extra[tally.reference]) * other
    ours = allow_difference(estimated(item_differences, split_differences, joint=True), doubt)
    paper = paper_inference(split_differences, tally.flip_t[:, c], tally.flip_p[:, c], seed=seed)
    nll_all = float(nll[tally.reference].mean())
    chosen_on = float(tally.chosen_on[:, c].min(axis=-1).mean())
    same = ~item_differences.any(axis=-1) & (doubt == 0.0)
    level = Interval.of(levels).clip(*RANGES["nll"])
    delta = unknown_where(same, Interval.of(ours))
    ks = [*sizes[tally.compared][:, None], sizes[tally.chosen[:, c]]]
    central = [np.quantile(k, (0.025, 0.5, 0.975), method="nearest").astype(int) for k in ks]
    k_lo, k, k_hi = np.transpose(central)
    is_choice = arms == tally.n_arms
    return records_of(
        Comparison,
        arm=[*map(arm_name, k[:-1].tolist()), CHOSEN],
        calibrator=calibrator,
        k=k,
        k_lo=k_lo,
        k_hi=k_hi,
        nll=level,
        nll_all=nll_all,
        delta=delta,
        p=np.where(same, np.nan, ours.p),
        band=unknown_where(same, band(ours, seed)),
        margin=MARGIN * nll_all,
        verdict=verdicts(delta, MARGIN * nll_all, same),
        chosen_on=np.where(is_choice, chosen_on, np.nan),
        optimism=np.where(is_choice, level.value - chosen_on, np.nan),
        paper_median=unknown_where(same, Interval(paper.median, paper.lo, paper.hi)),
        paper_t=np.where(same, np.nan, paper.t),
        paper_p=np.where(same, np.nan, paper.p),
    )


def unknown_where(same: Bools, figures: Interval) -> Interval:
    """Return the figures without ends where panels are the same, so that nothing is estimated."""
    lo, hi = (np.where(same, np.nan, end) for end in (figures.lo, figures.hi))
    return replace(figures, lo=lo, hi=hi)


def verdicts(deltas: Interval, margin: float | Floats, same: Bools) -> list[Verdict]:
    """Return the verdict on every difference; ``same`` marks panels that are the same."""
    margins = np.broadcast_to(margin, deltas.shape)
    rows = zip(deltas.lo, deltas.hi, margins, same, strict=True)
    return [verdict(lo, hi, margin, identical=bool(tie)) for lo, hi, margin, tie in rows]


def settled(
    tally: Tally, estimated: Estimator, arms: NDArray[np.int64], *, reference: int | None = None
) -> bool:
    """Return whether more splits are unlikely to change a verdict on these arms of any pipeline.

    They are compared with the ``reference``, by default that of the tally.
    """
    against = tally.reference if reference is None else reference
    means, splits = tally.item_means()[0], tally.split_means[:, 0]
    for c in range(splits.shape[1]):
        own = means[0, c, against]
        differences = estimated(
            means[0, c, arms] - own, splits[:, c, arms] - splits[:, c, [against]]
        )
        if not same_verdicts(differences, float(own.mean())):
            return False
    return True


def mean_sizes(tally: Tally) -> tuple[float, float]:
    """Return the mean numbers of calibration and evaluation items over the splits."""
    return float(tally.n_calibration.mean()), float(tally.n_evaluation.mean())


def contrasts(
    tally: Tally,
    estimated: Estimator,
    weights: Floats,
    *,
    metric: str = "nll",
    pipeline: int = 0,
    draws: int = 1,
) -> Estimate:
    """Estimates of ``weights @ arms``; ``weights`` (n, A) are over the arms without the chosen one.

    With ``draws`` > 1 the arms are ``draws`` sets of A, each with its own random draw in that
    split: values are means over the sets, and their variation within splits gives the part of the
    spread over splits that is due to the draws.
    """
    m = ITEM_METRICS.index(metric)
    item_means, _ = tally.item_means()
    items = np.tile(weights / draws, draws) @ item_means[m, pipeline, :-1]
    per_split = tally.split_means[:, m, pipeline, :-1]
    per_draw = per_split.reshape(len(per_split), draws, -1) @ weights.T
    splits = per_draw.mean(axis=1)
    within = per_draw.var(axis=1, ddof=1).mean(axis=0) / draws if draws > 1 else 0.0
    return estimated(items, splits, redrawn=within, joint=True)


def band(fitted: Estimate, seed: int) -> Interval:
    """Return the estimates with a simultaneous 95 % band; its ends are NaN without spreads."""
    known = not np.isnan(fitted.se).any()
    factor = simultaneous_reach(fitted, seed=seed) if known else np.nan
    return Interval.of(fitted, reach=factor * fitted.se)


@dataclass(frozen=True, slots=True, eq=False)
class ConstantPosition:
    """The base rate of the file as given, and a panel compared with it.

    ``label`` is the majority label and ``nll`` the NLL of its share; ``gap`` = NLL(panel) - that,
    with its 95 % interval for new items. Estimating the share from the items it is scored on
    favours the constant by about 1 / (2 n).
    """

    label: int
    nll: float
    gap: Interval

    @property
    def explains(self) -> bool:
        """Whether the panel is not shown to be better than the constant."""
        return not self.gap.below()

    def plain(self) -> dict[str, Any]:
        """Return all fields as JSON values, with separate ends of the gap."""
        gap, lo, hi = to_plain(tuple(self.gap))
        return {"label": self.label, "nll": self.nll, "gap": gap, "lo": lo, "hi": hi}


def against_position(
    prepared: Prepared,
    settings: Settings,
    tally: Tally,
    arms: Sequence[tuple[int, int]],
) -> tuple[ConstantPosition, ...]:
    """Compare every arm (calibrator, arm of the tally) with the base rate as given, in that order.

    Empty if a constant position has no advantage that swapping hides: pointwise items, items used
    as given, balanced labels, labels of one class (which describe only their coding) and a single
    split.
    """
    oriented = prepared.oriented
    votes = oriented.given
    labels = votes.labels[votes.labelled]
    lopsided = 0.0 < votes.minority_share < BALANCED_SHARE
    if oriented.policy == "as_given" or not lopsided or len(tally.numbers) < 2:
        return ()
    share = float(np.mean(labels == 1))
    loss = -np.log(np.where(labels == 1, share, 1.0 - share))
    units = prepared.ballots.units
    constant = np.array(
        [
            loss[split(units, n, fraction=settings.fraction, seed=settings.seed).evaluation].mean()
            for n in tally.numbers.tolist()
        ]
    )
    means, seen = tally.item_means()
    estimated, rows, columns = Estimator.of(tally, units), *np.transpose(arms)
    gap = Interval.joined(
        Interval.of(
            estimated(
                means[0, rows[block], columns[block]] - loss[seen],
                tally.split_means[:, 0, rows[block], columns[block]] - constant[:, None],
            )
        )
        for block in column_blocks(len(arms), len(seen), CELLS)
    )
    label, nll = int(share > 0.5), float(loss.mean())
    return tuple(ConstantPosition(label, nll, gap[place]) for place in range(len(rows)))
