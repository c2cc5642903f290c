"""Out-of-sample probabilities of one panel, before and after calibration.

The panel is some of the judges under one pipeline, or the recommended average, whose members have
their own calibrators: before and after are then the same.

Repeated evaluations of items: sums by item and by split, means and shares with intervals.

Every item is evaluated in about half of the splits, each time by a panel that was not fitted to its
label. An item still counts once: all means, shares and counts weight each evaluation by one over
the number of evaluations of its item.

A share of a subset of evaluations (accuracy in a bin, coverage in a stratum) is a ratio of two
means, A = sum(x) / sum(w), where w is the weight of an evaluation in the subset. Its number of
items is the sum over items of the mean w: an item with half of its evaluations in a bin is half an
item there, and no item counts more than once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import calibration, prefixes, threads
from judgepanel.kernels.evaluation import evaluate_split
from judgepanel.scoring.inference import Estimate, estimate, sampling_variance
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.metrics import CLIP, item_scores
from judgepanel.scoring.splits import Sides, Split
from judgepanel.studies import results
from judgepanel.studies.common import recipe_of, run_warnings, splits_of, stand_ins
from judgepanel.studies.contract import Chunk, Prepared, Settings, prepare
from judgepanel.studies.options import check_panels, option
from judgepanel.studies.panel import recommended
from judgepanel.studies.understand.judge_table import wilson
from judgepanel.votes import InputError, VoteMatrix

FEW_ITEMS = 10
"""Number of items below which figures of a bin or a stratum are uninformative."""


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Means over new items, from N items in S splits.

    ``units`` (N,) are the groups of the items, ``sizes`` (S,) counts the evaluations by split and
    ``n_calibration`` is the mean number of items that calibrate.
    """

    units: Ints
    sizes: Ints
    n_calibration: float

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.sizes)

    def estimated(
        self, items: Floats, splits: Floats, *, sides: Sides | None = None, joint: bool = False
    ) -> Estimate:
        """Means over new items from values by item (n, N) and by split (n, S).

        Without ``sides`` the interval also holds the figure of a single new panel
        (docs/confidence.md). With a single split the spread is unknown and ends are NaN. ``joint``
        as in :func:`~judgepanel.scoring.inference.estimate`.
        """
        sizes = self.n_calibration, float(self.sizes.mean())
        return estimate(items, splits.T, self.units, *sizes, sides=sides, joint=joint)


@dataclass(frozen=True, slots=True, eq=False)
class Repeats(Means):
    """E evaluations of N items in S splits, in the order of their splits.

    ``item`` (E,) numbers the items evaluated at least once and ``split`` (E,) the splits; ``times``
    (N,) counts an item's evaluations. ``seen`` (N,) are the items' positions among the labelled
    ones, ``signs`` (E,) labels as -1 or +1. All labelled items that a split does not evaluate
    calibrate it, as in ``sides``.
    """

    item: Ints
    split: Ints
    times: Ints
    seen: Ints
    sides: Sides
    signs: Floats
    symmetric: bool

    @property
    def n_items(self) -> int:
        """Number of items evaluated at least once."""
        return len(self.seen)

    @property
    def per_split(self) -> Floats:
        """Weight of an evaluation (E,) when averaging splits; the weights sum to 1."""
        return np.asarray(1.0 / (self.n_splits * self.sizes[self.split]))

    def by_item(self, values: Floats, codes: Ints | None = None, n_codes: int = 1) -> Floats:
        """Mean over its evaluations of each item's value, split by code: (n_codes, N).

        ``values`` (E,) count only for their own code in 0..n_codes - 1.
        """
        return _sums(self.item, self.n_items, codes, n_codes, values / self.times[self.item])

    def by_split(self, values: Floats, codes: Ints | None = None, n_codes: int = 1) -> Floats:
        """Mean over a split's evaluations, split by code: (n_codes, S)."""
        return _sums(self.split, self.n_splits, codes, n_codes, values / self.sizes[self.split])

    def mean(self, values: Floats, *, sides: Sides | None = None, joint: bool = False) -> Estimate:
        """Means over new items of values (n, E), as :meth:`estimated`."""
        items = np.concatenate([self.by_item(value) for value in values])
        splits = np.concatenate([self.by_split(value) for value in values])
        return self.estimated(items, splits, sides=sides, joint=joint)

    def score(self, values: Floats, *, joint: bool = False) -> Estimate:
        """Mean scores of panels, from values (n, E): with the intervals of the panel curve."""
        return self.mean(values, sides=self.sides, joint=joint)


def repeats(prepared: Prepared, evaluated: Evaluated) -> dict[str, Any]:
    """Fields of :class:`Repeats` from evaluations in the order of their splits."""
    ballots, rows, n_evaluation = prepared.ballots, evaluated.rows, evaluated.n_evaluation
    seen, item, times = np.unique(rows, return_inverse=True, return_counts=True)
    split = np.repeat(np.arange(len(n_evaluation)), n_evaluation)
    inside = np.zeros((len(n_evaluation), ballots.n_items), dtype=bool)
    inside[split, rows] = True
    return {
        "item": item,
        "split": split,
        "times": times,
        "sizes": n_evaluation,
        "seen": seen,
        "units": ballots.units[seen],
        "n_calibration": float(evaluated.n_calibration.mean()),
        "sides": Sides.of(~inside, inside[:, seen], ballots.units),
        "signs": ballots.signs[rows].astype(np.float64),
        "symmetric": ballots.symmetric,
    }


def _sums(owner: Ints, n_owners: int, codes: Ints | None, n_codes: int, weights: Floats) -> Floats:
    place = owner if codes is None else codes * n_owners + owner
    sums = np.bincount(place, weights, n_codes * n_owners)
    return np.asarray(sums.reshape(n_codes, n_owners), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Means by item (n, N) and by split (n, S) of the weight ``w`` and the weighted value ``x``."""

    x_items: Floats
    x_splits: Floats
    w_items: Floats
    w_splits: Floats


def binned_sums(scored: Repeats, x: Floats, codes: Ints, n: int, w: Floats | None = None) -> Sums:
    """Sums of x (E,) by code (E,) in 0..n - 1; ``w`` (E,) are weights inside x, 1 if None."""
    parts = (x, np.ones(len(x)) if w is None else w)
    return Sums(
        *(sums(part, codes, n) for part in parts for sums in (scored.by_item, scored.by_split))
    )


def weighted_sums(scored: Repeats, x: Floats, w: Floats) -> Sums:
    """Sums of w x for x (E,) and weights (n, E)."""
    pairs = [(parts, sums) for parts in (w * x, w) for sums in (scored.by_item, scored.by_split)]
    return Sums(*(np.concatenate([sums(part) for part in parts]) for parts, sums in pairs))


def ratios(scored: Means, sums: Sums) -> tuple[Estimate, Floats]:
    """Ratios of means (n,), by linearisation, and the number of items; 0 if it is 0.

    The value of an item is A + (x - A w) / mean(w): its mean is A, its variance that of A to first
    order (the delta method).
    """
    return scored.estimated(*_linearised(sums)), sums.w_items.sum(axis=1)


def item_errors(scored: Repeats, sums: Sums) -> Floats:
    """Standard errors (n,) of the same ratios due to the sampling of items alone.

    A ratio pooled over splits is a mean over their panels: the error of one panel is part of the
    ratio, not noise.
    """
    return np.sqrt(sampling_variance(_linearised(sums)[0], scored.units))


def _linearised(sums: Sums) -> tuple[Floats, Floats]:
    weight = sums.w_items.mean(axis=1)
    live = weight > 0
    scale = np.where(live, weight, 1.0)
    ratio = np.where(live, sums.x_items.mean(axis=1) / scale, 0.0)
    pairs = (sums.x_items, sums.w_items), (sums.x_splits, sums.w_splits)
    items, splits = (ratio[:, None] + (x - ratio[:, None] * w) / scale[:, None] for x, w in pairs)
    return items, splits


def shares(scored: Means, sums: Sums) -> tuple[Interval, Floats]:
    """Shares (n,), NaN if no item counts, and the number of items.

    Their intervals are those of :func:`share_intervals`. If all or none are right, whole groups are
    counted.
    """
    fitted, items = ratios(scored, sums)
    # Effective number of groups (n,): (sum W)^2 / sum W^2 over the weight W of each.
    _, codes = np.unique(scored.units, return_inverse=True)
    by_group = np.zeros((int(codes.max()) + 1, len(sums.w_items)))
    np.add.at(by_group, codes, sums.w_items.T)
    total = by_group.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = total**2 / (by_group**2).sum(axis=0)
    at_ends = np.minimum(items, np.asarray(np.where(total > 0, values, 0.0)))
    return share_intervals(scored, fitted.value, fitted.se, at_ends, items).where(items > 0), items


def share_intervals(
    scored: Means, value: Floats, se: Floats, at_ends: Floats, items: Floats
) -> Interval:
    """Shares (n,) with 95 % intervals for new items and new panels; NaN ends from a single split.

    The intervals are Wilson's on A (1 - A) / se^2 items, at most the number ``items`` (Franco et
    al. 2019, doi:10.1093/jssam/smy019): groups, and panels that differ between splits, lower that
    number. If all or none are right there is no such variance, and ``at_ends`` is used.
    """
    value = np.clip(value, 0.0, 1.0)
    spread = value * (1.0 - value)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(spread > 1e-12, spread / se**2, at_ends)
    effective = np.minimum(np.where(np.isnan(effective), items, effective), items)
    if scored.n_splits < 2:
        return Interval.alone(value, "share")
    return Interval(value, *wilson(value * effective, effective), unit="share")


def stacked(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Stack records of arrays and intervals along a new first axis."""
    return _repeats_together(records, Interval.stacked, np.stack)


def joined(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Concatenate records of arrays and intervals along their first axis."""
    return _repeats_together(records, Interval.joined, np.concatenate)


def _repeats_together(
    records: Sequence[Mapping[str, Any]],
    intervals: Callable[[list[Interval]], Interval],
    arrays: Callable[[list[Any]], Floats],
) -> dict[str, Any]:
    columns = {name: [record[name] for record in records] for name in records[0]}
    return {
        name: intervals(parts) if isinstance(parts[0], Interval) else arrays(parts)
        for name, parts in columns.items()
    }


STAGES = ("raw", "calibrated")
"""Before and after the calibrator; the first axis of arrays here."""
RAW, CALIBRATED = range(len(STAGES))


@dataclass(frozen=True, slots=True)
class PanelSpec(recommended.AverageSpec):
    """One panel and its pipeline, shared by the studies of confidence.

    ``panel`` is the number of judges, the best by ``ranking``; None uses all. Under ``average``,
    ``calibrator`` is always none.

    Raises
    ------
    InputError
        As for :class:`AverageSpec`; a panel below 1; a panel size with the average.
    """

    calibrator: calibration.Calibrator = option(
        "beta", "how the raw score becomes a probability (none for average)"
    )
    panel: int | None = option(
        None, "number of judges in the panel, best first (default: all)", check=check_panels
    )
    ranking: prefixes.Ranking = option("accuracy")

    def __post_init__(self) -> None:
        recommended.AverageSpec.__post_init__(self)
        if self.aggregator == recommended.AVERAGE and self.panel is not None:
            why = "the average chooses its judges itself"
            remedy = "leave the panel out or take another aggregator"
            raise InputError(why, value=self.panel, allowed="no panel", remedy=remedy)

    @property
    def shared(self) -> PanelSpec:
        """The part of the spec that determines the probabilities, common to all studies."""
        return PanelSpec(self.settings, self.aggregator, self.calibrator, self.panel, self.ranking)

    def size(self, n_judges: int) -> int:
        """Return the number of judges in the panel."""
        return n_judges if self.panel is None else min(self.panel, n_judges)


@results.frozen
class PanelResult(results.SplitResult):
    """A result about one panel of the ``k`` best of ``n_judges`` judges under one pipeline."""

    aggregator: str = results.column(key=True)
    calibrator: str = results.column(key=True)
    k: int = results.column(key=True)
    n_judges: int
    n_calibration: float


@results.frozen
class Evaluated(results.SplitCounts):
    """Evaluations of S splits, E in total, grouped by split.

    ``rows`` (E,) is the item of an evaluation, ``replaced`` (S,) whether the calibrator fell back
    to temperature; for members of the average the recommendation reports this.
    """

    rows: Ints = results.by_row()
    replaced: Ints = results.by_split()


@results.frozen
class OutOfSample(Evaluated):
    """Logits (2, E) of all evaluations in the order of ``STAGES``.

    ``null`` (S,) is the logit of the base rate, ``constant_nll`` (S,) the NLL of a constant score
    through the same calibrator.
    """

    logits: Floats = results.by_row(1)
    null: Floats = results.by_split()
    constant_nll: Floats = results.by_split()

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return int(sum(getattr(self, array.name).nbytes for array in fields(self)))


def run_chunk(votes: VoteMatrix, spec: PanelSpec, chunk: Chunk) -> OutOfSample:
    """Evaluate the splits of one chunk, but for those that another study of the panel evaluated."""
    prepared = prepare(votes, spec.settings)
    splits = list(splits_of(prepared, spec.settings, chunk))
    return _together(splits, [_scored(votes, prepared, spec, split) for split in splits])


def _scored(votes: VoteMatrix, prepared: Prepared, spec: PanelSpec, split: Split) -> ScoredSplit:
    if spec.aggregator == recommended.AVERAGE:  # It is kept as such.
        return score_split(votes, prepared, spec, split)
    key = replace(spec.shared, settings=spec.settings.of_splits)
    scored: ScoredSplit | None = threads.SHARED.find(split.number, key, votes.sha256)
    if scored is None:
        scored = score_split(votes, prepared, spec, split)
        threads.SHARED.keep(split.number, key, scored, scored.logits.nbytes, votes.sha256)
    return scored


def known_splits(
    votes: VoteMatrix, settings: Settings, numbers: Iterable[int]
) -> OutOfSample | None:
    """Return the average in those of these splits that a recommendation cached; None if none."""
    averages = recommended.remembered(votes, settings, numbers)
    if not averages:
        return None
    prepared = prepare(votes, settings)
    splits = [
        split for number in averages for split in splits_of(prepared, settings, Chunk(0, number, 1))
    ]
    return _together(splits, [_of_average(averages[split.number]) for split in splits])


def _together(splits: list[Split], scored: list[ScoredSplit]) -> OutOfSample:
    return OutOfSample.of(
        splits,
        rows=np.concatenate([split.evaluation for split in splits]),
        logits=np.concatenate([panel.logits for panel in scored], axis=1),
        null=np.array([panel.null for panel in scored]),
        constant_nll=np.array([panel.constant_nll for panel in scored]),
        replaced=np.array([panel.replaced for panel in scored]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSplit:
    """A panel on the held-out rows of a split: ``logits`` (2, n_eval) in the order of ``STAGES``.

    See :class:`OutOfSample` for the other fields.
    """

    logits: Floats
    null: float
    constant_nll: float
    replaced: int


def score_split(
    votes: VoteMatrix,
    prepared: Prepared,
    spec: PanelSpec,
    split: Split,
    average_on: Callable[
        [VoteMatrix, Settings, Split], recommended.Averaged
    ] = recommended.recommended,
) -> ScoredSplit:
    """Fit the panel on the calibration rows of a split, and score the other rows.

    ``average_on`` fits the average; replace it if the split is not one of the analysis.
    """
    ballots, settings = prepared.ballots, spec.settings
    if spec.aggregator == recommended.AVERAGE:
        return _of_average(average_on(votes, settings, split))
    names: tuple[calibration.Calibrator, ...] = tuple(dict.fromkeys(("none", spec.calibrator)))
    recipe = recipe_of(settings, spec.aggregator, names, spec.ranking)
    scores = evaluate_split(ballots, split, np.array([spec.size(ballots.n_judges)]), recipe)
    both = np.stack([scores.fitted.logits_of(names[i], slice(0, 1))[0] for i in (0, -1)])
    last = names[-1]
    return ScoredSplit(both, scores.fitted.null, scores.constant_nll[last], scores.replaced[last])


def _of_average(average: recommended.Averaged) -> ScoredSplit:
    return ScoredSplit(np.stack([average.logits] * len(STAGES)), average.null, average.null_nll, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Evaluations(Repeats):
    """Repeats with the panel's predictions, (2, E) in the order of ``STAGES``.

    ``logits``, ``p`` (clipped probability of label 1), ``confidence`` max(p, 1 - p) and ``hit`` (1
    if the decision p >= .5 is right; a tie counts one half under ``symmetric``); ``null_nll`` (E,)
    is the NLL of the base rate.
    """

    logits: Floats
    p: Floats
    confidence: Floats
    hit: Floats
    null_nll: Floats


def evaluations(predictions: OutOfSample, prepared: Prepared) -> Evaluations:
    """Return the evaluations of these splits in a canonical order."""
    fields = repeats(prepared, predictions)
    null = np.repeat(predictions.null, predictions.n_evaluation)
    ones = fields["signs"] > 0
    with np.errstate(over="ignore"):
        p = np.clip(1.0 / (1.0 + np.exp(-predictions.logits)), CLIP, 1.0 - CLIP)
    tie = 0.5 if prepared.ballots.symmetric else ones.astype(np.float64)
    return Evaluations(
        **fields,
        logits=predictions.logits,
        p=p,
        confidence=np.maximum(p, 1.0 - p),
        hit=np.where(p == 0.5, tie, (p > 0.5) == ones).astype(np.float64),
        null_nll=item_scores(null, fields["signs"]).nll,
    )


def panel_notes(prepared: Prepared, spec: PanelSpec, fit: Evaluated) -> list[str]:
    """Return the warnings common to all studies of one panel's probabilities."""
    warnings = [*run_warnings(prepared, fit)]
    n_judges = prepared.ballots.n_judges
    if spec.panel is not None and spec.panel > n_judges:
        warnings.append(f"There are {n_judges} judges, so a panel of {spec.panel} is all of them.")
    silent = int((~prepared.ballots.votes.any(axis=1)).sum())
    if silent:
        warnings.append(
            f"{silent:,} labelled items have no vote: they get the base rate as their probability."
        )
    return warnings + stand_ins((spec.calibrator,), (int(fit.replaced.sum()),), len(fit.replaced))
