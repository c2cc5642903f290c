"""Partial sums over splits that are exact and independent of order.

Per-item losses are summed as 64-bit integers in units of 2^-40 (1e-12 of a nat), hits as 16-bit
numbers of halves, because integer addition is associative: any number of workers and any order of
chunks give identical results. A cell can hold over 10^5 splits of losses and 32,000 of hits before
it overflows.

Comparisons of panels: differences, intervals, verdicts, the paper's tests.

Most are with all judges; contrasts are any linear combinations of the arms of a tally.

Constant positions: does always choosing one position explain the panel's score?

If labels of pairs are lopsided and items are used together with their swaps, a judge that prefers
one position looks accurate: 'always 0' is right on 98 % of the items of a file with 2 % of ones.
Compared with a coin (NLL ln 2) such a panel seems excellent; compared with the base rate of the
file as given it is worthless. So a panel is compared with that base rate on the same items.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import Calibrated, SplitFit, SplitScores, baselines
from judgepanel.kernels.maps import column_blocks
from judgepanel.scoring import descriptive, inference
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.metrics import CLIP, ECE_BINS, ItemScores, blank_scores, gap_of, score_items
from judgepanel.scoring.splits import Sides, Split, split
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Prepared, Settings, same_verdicts
from judgepanel.studies.results import (
    SplitCounts,
    by_split,
    flat_row,
    frozen,
    joined,
    records_of,
    summed,
)
from judgepanel.votes.matrix import BALANCED_SHARE

T = TypeVar("T")
Halves = NDArray[np.uint16]
Bits = NDArray[np.uint8]

_SCORES = ("nll", "brier", "hit")
METRICS = ("nll", "brier", "accuracy", "ece")
ITEM_METRICS = ("nll", "brier", "accuracy")
_HIT = ITEM_METRICS.index("accuracy")
_UNIT = 2.0**40
_ROUND = 1.5 * 2.0**12
_ROUND_BITS = np.float64(_ROUND).view(np.int64)
_CELLS = 32_768


@dataclass(frozen=True, slots=True, eq=False)
class Arms:
    """Scores of one split under C pipelines and A arms (panels, or candidates).

    ``nll``, ``brier``, ``hit`` (0, .5 or 1) are C arrays (A, n_eval) and ``ece`` is (C, A), on
    evaluation rows; ``chosen_on`` (C, A) is the NLL from calibration rows on which a choice among
    the arms may be based; ``null_nll`` and ``constant_nll`` (C,) are its baselines; ``replaced``
    (C,) counts calibrators that fell back to temperature. If arms differ in their labels, these
    three have another axis for the numbers of labels. ``taken`` (C,) are positions of the chosen
    arms; if None, those of lowest ``chosen_on``.
    """

    nll: Sequence[Floats] | Floats
    brier: Sequence[Floats] | Floats
    hit: Sequence[Floats] | Floats
    ece: Floats
    chosen_on: Floats
    null_nll: float | Floats
    constant_nll: Floats
    replaced: Ints
    taken: Ints | None = None

    @classmethod
    def of(cls, scores: Sequence[SplitScores], **others: Any) -> Arms:
        """Return panels side by side, each under its one calibrator, without a choice among them.

        ``others`` are fields that are not those of the first, or a choice.
        """
        panels = [only(part.evaluation) for part in scores]
        common = {
            "null_nll": scores[0].null_nll,
            "constant_nll": np.array([only(scores[0].constant_nll)]),
            "replaced": np.array([sum(only(part.replaced) for part in scores)]),
        }
        return cls.gathered(
            lambda name: np.concatenate([getattr(panel, name) for panel in panels])[None],
            **{**common, **others},
        )

    @classmethod
    def gathered(cls, scores: Callable[[str], Sequence[Floats] | Floats], **others: Any) -> Arms:
        """Return arms without a choice among them; ``scores`` gives nll, brier, hit and ece.

        ``others`` are all other fields.
        """
        ece = np.asarray(scores("ece"))
        by_name: dict[str, Any] = {name: scores(name) for name in _SCORES}
        return cls(**by_name, **{"ece": ece, "chosen_on": np.zeros(ece.shape), **others})

    def in_order(self, places: Ints) -> Arms:
        """Return the arms at these positions, in that order."""
        names = (*_SCORES, "ece", "chosen_on")
        return replace(self, **{name: np.asarray(getattr(self, name))[:, places] for name in names})

    def parts(self, items: slice) -> Iterator[tuple[int, slice, Sequence[Floats]]]:
        """Yield pipeline, block of arms, and their scores of these evaluation rows.

        The scores follow ``ITEM_METRICS`` and hold until the next part is asked for.
        """
        for c, metrics in enumerate(zip(self.nll, self.brier, self.hit, strict=True)):
            for block in column_blocks(len(metrics[0]), items.stop - items.start):
                yield c, block, [values[block, items] for values in metrics]


@dataclass(frozen=True, slots=True, eq=False)
class FittedArms:
    """Panels of one split, one pipeline per calibrator, whose scores are never held together.

    Scores of all panels of a million items take more memory than everything else of a split, and
    longer to write and read again than to compute, so they are computed as they are added up.
    Fields are as in :class:`Arms`; ``above`` (C, ECE_BINS, A) are the sums for the ECE over the
    items read so far.
    """

    fitted: Calibrated
    symmetric: bool
    chosen_on: Floats
    null_nll: float
    constant_nll: Floats
    replaced: Ints
    above: Floats = field(repr=False)
    taken: Ints | None = None

    @classmethod
    def of(cls, ballots: Ballots, split: Split, fit: SplitFit) -> FittedArms:
        """Return the panels of a split, none of them scored."""
        maps = fit.fitted.maps
        null_nll, constant_nll = baselines(ballots, split, fit.fitted)
        return cls(
            fitted=fit.fitted,
            symmetric=ballots.symmetric,
            chosen_on=fit.chosen_on,
            null_nll=null_nll,
            constant_nll=np.array([constant_nll[name] for name in maps]),
            replaced=np.array([map_.replaced.sum() for map_ in maps.values()], dtype=np.int64),
            above=np.zeros((len(maps), ECE_BINS, len(fit.fitted.logits))),
        )

    @property
    def ece(self) -> Floats:
        """ECE (C, A) once all items are read."""
        return np.stack([gap_of(sums, len(self.fitted.signs)) for sums in self.above])

    def parts(self, items: slice) -> Iterator[tuple[int, slice, Sequence[Floats]]]:
        """Score some evaluation rows; ``items`` must not have been read before."""
        signs = self.fitted.signs[items]
        scores: ItemScores | None = None
        for c, block, logits in self.fitted.of_items(items):
            if scores is None or scores.nll.shape != logits.shape:
                scores = blank_scores(logits.shape)
            self.above[c, :, block] += score_items(logits, signs, scores, symmetric=self.symmetric)
            yield c, block, (scores.nll, scores.brier, scores.hit)


Scored = Arms | FittedArms
"""Scores of one split, read once and in parts; ``ece`` may become known as parts are read."""


@frozen
class Tally(SplitCounts):
    """Scores of S splits under C pipelines and A arms, followed by the chosen arm.

    ``compared`` (M,) and ``reference`` are positions of arms; ``sides`` uint8 (S, 2, N / 8) are the
    items that calibrate and those that evaluate, as packed bits; ``item_sums`` int64
    (2, C, A + 1, N) are of nll and brier in units of 2^-40, ``item_hits`` uint16 (C, A + 1, N) of
    hits in halves; ``evaluated`` (N,) counts evaluations; ``split_means`` (S, 4, C, A + 1) follows
    ``METRICS``; ``chosen_on`` (S, C, A) is the NLL for the choice and ``chosen`` (S, C) the chosen
    position. ``flip_t`` and ``flip_p`` (S, C, M + 1) are sign-flip tests of the compared arms and
    the chosen one against the reference, empty if not requested.
    """

    compared: Ints
    reference: int
    sides: Bits = by_split()
    split_means: Floats = by_split()
    chosen_on: Floats = by_split()
    chosen: Ints = by_split()
    null_nll: Floats = by_split()
    constant_nll: Floats = by_split()
    flip_t: Floats = by_split()
    flip_p: Floats = by_split()
    item_sums: Ints = summed()
    item_hits: Halves = summed()
    evaluated: Ints = summed()
    replaced: Ints = summed()

    @property
    def n_arms(self) -> int:
        """Number of arms without the chosen one."""
        return int(self.chosen_on.shape[-1])

    def item_means(self) -> tuple[ItemMeans, Bools]:
        """Mean score (3, C, A + 1, n) of every evaluated item, and the mask of these items."""
        seen = np.asarray(self.evaluated > 0)
        return ItemMeans(self.item_sums, self.item_hits, self.evaluated, seen), seen

    def nll(self, pipeline: int = 0, arms: slice | Ints = slice(-1)) -> tuple[Floats, Floats]:
        """NLL by item (n, n_items) and by split (S, n); by default of all arms but the chosen."""
        means, _ = self.item_means()
        return means[0, pipeline, arms], self.split_means[:, 0, pipeline, arms]

    def calibrated(self) -> Bools:
        """Whether each item calibrates in each split, (S, N)."""
        return unpacked(self.sides[:, 0], len(self.evaluated))

    def scored(self) -> Bools:
        """Whether each split evaluates each item of :meth:`item_means`, (S, n)."""
        return unpacked(self.sides[:, 1], len(self.evaluated))[:, self.evaluated > 0]


@dataclass(frozen=True, slots=True, eq=False)
class ItemMeans:
    """Mean scores (3, C, A + 1, n), computed only for the requested part.

    Computing all would copy the largest array of the study.
    """

    losses: Ints
    hits: Halves
    evaluated: Ints
    seen: Bools

    def __getitem__(self, place: int | slice | tuple[int | slice | Ints, ...]) -> Floats:
        """Return the scores at positions of metric, pipeline and arm."""
        metric, *rest = place if isinstance(place, tuple) else (place,)
        if isinstance(metric, slice):
            return np.stack([self[(m, *rest)] for m in range(len(ITEM_METRICS))[metric]])
        sums, unit = (self.hits, 2.0) if metric == _HIT else (self.losses[metric], _UNIT)
        wanted, often = sums[tuple(rest)], unit * self.evaluated[self.seen]
        means = np.empty((*wanted.shape[:-1], len(often)))
        # Row by row: all at once they would be copied twice, the second time with items first.
        for row in np.ndindex(*wanted.shape[:-1]):
            np.divide(wanted[row][self.seen], often, out=means[row])
        return means


def only(by_calibrator: Mapping[Calibrator, T]) -> T:
    """Return the value of a single calibrator: the average has another than panels beside it."""
    (value,) = by_calibrator.values()
    return value


def packed(rows: Ints, n_items: int) -> Bits:
    """Return a set of items as bits, (n_items / 8,) rounded up."""
    inside = np.zeros(n_items, dtype=bool)
    inside[rows] = True
    return np.packbits(inside)


def unpacked(bits: Bits, n_items: int) -> Bools:
    """Return sets of items (..., n_items) from their bits."""
    return np.unpackbits(bits, axis=-1, count=n_items).view(np.bool_)


def tally(
    scored: Iterable[tuple[Split, Scored]],
    *,
    n_items: int,
    seed: int,
    compared: Ints | None = None,
    reference: int = 0,
    into: Tally | None = None,
) -> Tally:
    """Sum scored splits; the chosen arm of a split is ``taken``, or that of lowest ``chosen_on``.

    Without ``compared`` arms, the paper's sign-flip tests are omitted. The splits are added to
    those of ``into``, whose memory is reused: it must not be used again.
    """
    rows: dict[str, list[object]] = defaultdict(list)
    evaluated = np.zeros(n_items, dtype=np.int64) if into is None else into.evaluated
    differences: list[Floats] = []
    sums = None if into is None else _ItemSums(into.item_sums, into.item_hits)
    replaced: Ints | int = 0 if into is None else into.replaced
    for drawn, arms in scored:
        n_c, n_a = arms.chosen_on.shape
        chosen = arms.chosen_on.argmin(axis=1) if arms.taken is None else arms.taken
        if sums is None:
            sums = _ItemSums.zeros(n_c, n_a, n_items)
        tested = np.zeros((n_c, 0), dtype=np.int64)
        if compared is not None:
            tested = np.column_stack([np.tile(compared, (n_c, 1)), chosen, np.full(n_c, reference)])
        totals, nll = sums.add(drawn.evaluation, arms, chosen, tested)
        evaluated[drawn.evaluation] += 1
        replaced = replaced + arms.replaced
        if compared is not None:
            differences.append(np.concatenate(nll[:, :-1] - nll[:, -1:]))
        means = (*(totals / len(drawn.evaluation)), arms.ece)
        for name, value in (
            ("numbers", drawn.number),
            ("n_calibration", len(drawn.calibration)),
            ("n_evaluation", len(drawn.evaluation)),
            ("sides", [packed(rows, n_items) for rows in (drawn.calibration, drawn.evaluation)]),
            ("split_means", [_with_chosen(values, chosen) for values in means]),
            ("chosen_on", arms.chosen_on),
            ("chosen", chosen),
            ("null_nll", arms.null_nll),
            ("constant_nll", arms.constant_nll),
        ):
            rows[name].append(value)
        del arms  # Free this split's large arrays before the next split's are computed.
    if sums is None:
        raise ValueError("no split to tally")
    n_c = len(sums.hits)
    flip_t, flip_p = np.zeros((2, len(rows["numbers"]), n_c, 0))
    if compared is not None:
        flip_t, flip_p = _flips(differences, n_c, seed)
    total = Tally(
        compared=np.array([], dtype=np.int64) if compared is None else compared,
        reference=reference,
        flip_t=flip_t,
        flip_p=flip_p,
        item_sums=sums.losses,
        item_hits=sums.hits,
        evaluated=evaluated,
        replaced=np.asarray(replaced),
        **{name: np.array(values) for name, values in rows.items()},
    )
    # The sums contain those of ``into``.
    return total if into is None else joined(into, total)


def _flips(differences: list[Floats], n_c: int, seed: int) -> Floats:
    """Sign-flip t and p of every split, (2, S, C, M + 1); those of equal size share their signs."""
    flips = np.empty((2, len(differences), n_c, len(differences[0]) // n_c))
    for size in {values.shape[1] for values in differences}:
        same = [i for i, values in enumerate(differences) if values.shape[1] == size]
        tests = descriptive.sign_flip(np.concatenate([differences[i] for i in same]), seed=seed)
        flips[:, same] = np.reshape(tests, (2, len(same), *flips.shape[2:]))
    return flips


def _with_chosen(values: Floats, chosen: Ints) -> Floats:
    """Return values (C, A) with that of the chosen arm appended: (C, A + 1)."""
    return np.append(values, np.take_along_axis(values, chosen[:, None], axis=1), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _ItemSums:
    """Exact sums of item scores, as in :class:`Tally`."""

    losses: Ints
    hits: Halves

    @classmethod
    def zeros(cls, n_c: int, n_a: int, n_items: int) -> _ItemSums:
        shape = (n_c, n_a + 1, n_items)
        return cls(np.zeros((2, *shape), dtype=np.int64), np.zeros(shape, dtype=np.uint16))

    def add(
        self, evaluation: Ints, arms: Scored, chosen: Ints, tested: Ints
    ) -> tuple[Floats, Floats]:
        """Add one split, in blocks that fit the cache; items that it does not evaluate get 0.

        Returns its sums over items (3, C, A), and the NLL (C, T, n_eval) of the arms at positions
        ``tested`` (C, T).
        """
        n_items = self.hits.shape[-1]
        totals = np.zeros((len(ITEM_METRICS), *arms.chosen_on.shape))
        nll = np.empty((*tested.shape, len(evaluation)))
        for start in range(0, n_items, _CELLS):
            here = slice(start, min(start + _CELLS, n_items))
            items = slice(*np.searchsorted(evaluation, (here.start, here.stop)).tolist())
            n = items.stop - items.start
            position = np.full(here.stop - here.start, n)
            position[evaluation[items] - start] = np.arange(n)
            for c, block, scores in arms.parts(items):
                for m, values in enumerate(scores):
                    totals[m, c, block] += values.sum(axis=-1, dtype=np.float64)
                    sums = (self.hits if m == _HIT else self.losses[m])[c, :, here]
                    exact = _exact(values, position, sums.dtype)
                    sums[block] += exact
                    if block.start <= chosen[c] < block.stop:
                        sums[-1] += exact[chosen[c] - block.start]
                for t in np.flatnonzero((tested[c] >= block.start) & (tested[c] < block.stop)):
                    nll[c, t, items] = scores[0][tested[c, t] - block.start]
        return totals, nll


def _exact(values: Floats, position: Ints, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Scores (a, n) as exact numbers (a, len(position)), 0 where the position is n."""
    exact = np.empty((len(values), values.shape[1] + 1), dtype)
    exact[:, -1] = 0
    convert = _in_halves if dtype == np.uint16 else _in_units
    convert(values, exact[:, :-1])
    return exact.take(position, axis=1, mode="clip")


def _in_units(scores: Floats, out: Ints) -> None:
    """Round scores to multiples of 2^-40.

    ``_ROUND`` makes that the last bit of the float, so that bit patterns differ by the integer;
    this is several times faster than a conversion.
    """
    np.add(scores, _ROUND, out=out.view(np.float64))
    out -= _ROUND_BITS


def _in_halves(scores: Floats, out: Halves) -> None:
    np.multiply(scores, 2.0, out=out, casting="unsafe")


@frozen
class ValueTally(SplitCounts):
    """V values of the items of S splits.

    ``sums`` int64 (V, N) is in units of 2^-40, ``seen`` (N,) counts evaluations; ``split_means``
    (S, V) are in the order of ``numbers``. Not every item that does not calibrate has to be
    evaluated.
    """

    split_means: Floats = by_split()
    sums: Ints = summed()
    seen: Ints = summed()

    def item_means(self, values: slice = slice(None)) -> Floats:
        """Mean over its evaluations of every item that has any, (n, n_seen)."""
        seen = self.seen > 0
        return np.asarray(self.sums[values][:, seen] / (_UNIT * self.seen[seen]))

    def contrasts(self, weights: Floats, units: Ints) -> inference.Estimate:
        """Estimates of ``weights @ values``, weights (n, V); all but values NaN from one split."""
        seen = self.seen > 0
        items = weights @ self.item_means()
        splits = self.split_means @ weights.T
        sizes = mean_sizes(self)
        others = len(units) - sizes[0]
        return inference.estimate(items, splits, units[seen], *sizes, n_others=others, joint=False)


def tally_values(scored: Iterable[tuple[Split, Floats]], n_items: int, n_values: int) -> ValueTally:
    """Sum values (V, n_evaluation) of the evaluated items of splits."""
    sums = np.zeros((n_values, n_items), dtype=np.int64)
    seen = np.zeros(n_items, dtype=np.int64)
    splits, means = [], []
    for drawn, values in scored:
        sums[:, drawn.evaluation] += np.round(values * _UNIT).astype(np.int64)
        seen[drawn.evaluation] += 1
        splits.append(drawn)
        means.append(values.mean(axis=1))
    split_means = np.array(means).reshape(-1, n_values)
    return ValueTally.of(splits, split_means=split_means, sums=sums, seen=seen)


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
    verdict: inference.Verdict
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

    units: Ints
    sizes: tuple[float, float]
    sides: Sides | None

    @classmethod
    def of(cls, tally: Tally, units: Ints) -> Estimator:
        """Return the estimator of a tally; ``units`` (N,) are the groups of all its items."""
        several = len(tally.numbers) > 1
        sides = Sides.of(tally.calibrated(), tally.scored(), units) if several else None
        return cls(units[tally.evaluated > 0], mean_sizes(tally), sides)

    def __call__(
        self, items: Floats, splits: Floats, *, redrawn: float | Floats = 0.0, joint: bool = False
    ) -> inference.Estimate:
        """Return estimates from values by item (m, n) and by split (S, m), as :func:`estimate`."""
        return inference.estimate(
            items, splits, self.units, *self.sizes, redrawn=redrawn, sides=self.sides, joint=joint
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
                    level = descriptive.allow_level(
                        level, descriptive.one_more_error(items, estimated.units)
                    )
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
    sizes: Ints,
    seed: int,
    *,
    rare: bool = False,
) -> tuple[Comparison, ...]:
    """Return all compared arms under every calibrator, in that order; none from a single split.

    ``sizes`` (A,) is the panel size of every arm; ``rare`` as in :func:`grid_estimates`.
    """
    if len(tally.numbers) < 2:
        return ()
    results: list[Comparison] = []
    for c, calibrator in enumerate(calibrators):
        results += _of_calibrator(tally, estimated, c, calibrator, sizes, seed, rare)
    return tuple(results)


def _of_calibrator(
    tally: Tally, estimated: Estimator, c: int, calibrator: str, sizes: Ints, seed: int, rare: bool
) -> tuple[Comparison, ...]:
    nll = tally.item_means()[0][0, c]
    extra = descriptive.one_more_error(nll, estimated.units) * rare
    arms, reference = np.append(tally.compared, tally.n_arms), tally.reference
    split_nll = tally.split_means[:, 0, c]
    item_differences = nll[arms] - nll[reference]
    split_differences = split_nll[:, arms] - split_nll[:, [reference]]
    levels = descriptive.allow_level(estimated(nll[arms], split_nll[:, arms]), extra[arms])
    # A choice that is always all judges is the same panel, and has no error of its own.
    other = np.append(tally.compared != reference, (tally.chosen[:, c] != reference).any())
    doubt = descriptive.between(extra[arms], extra[reference]) * other
    ours = descriptive.allow_difference(
        estimated(item_differences, split_differences, joint=True), doubt
    )
    paper = descriptive.paper_inference(
        split_differences, tally.flip_t[:, c], tally.flip_p[:, c], seed=seed
    )
    nll_all = float(nll[reference].mean())
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
        margin=inference.MARGIN * nll_all,
        verdict=verdicts(delta, inference.MARGIN * nll_all, same),
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


def verdicts(deltas: Interval, margin: float | Floats, same: Bools) -> list[inference.Verdict]:
    """Return the verdict on every difference; ``same`` marks panels that are the same."""
    rows = zip(deltas.lo, deltas.hi, np.broadcast_to(margin, deltas.shape), same, strict=True)
    return [inference.verdict(lo, hi, margin, identical=bool(tie)) for lo, hi, margin, tie in rows]


def settled(
    tally: Tally, estimated: Estimator, arms: Ints, *, reference: int | None = None
) -> bool:
    """Return whether more splits are unlikely to change a verdict on these arms of any pipeline.

    They are compared with the ``reference``, by default that of the tally.
    """
    against = tally.reference if reference is None else reference
    means, splits = tally.item_means()[0], tally.split_means[:, 0]
    for c in range(splits.shape[1]):
        own = means[0, c, against]
        gaps = estimated(means[0, c, arms] - own, splits[:, c, arms] - splits[:, c, [against]])
        if not same_verdicts(gaps, float(own.mean())):
            return False
    return True


def mean_sizes(tally: SplitCounts) -> tuple[float, float]:
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
) -> inference.Estimate:
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
    within = per_draw.var(axis=1, ddof=1).mean(axis=0) / draws if draws > 1 else 0.0
    return estimated(items, per_draw.mean(axis=1), redrawn=within, joint=True)


def band(fitted: inference.Estimate, seed: int) -> Interval:
    """Return the estimates with a simultaneous 95 % band; its ends are NaN without spreads."""
    known = not np.isnan(fitted.se).any()
    factor = inference.simultaneous_reach(fitted, seed=seed) if known else np.nan
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
    prepared: Prepared, settings: Settings, tally: Tally, arms: Sequence[tuple[int, int]]
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
    fraction, seed = settings.fraction, settings.seed
    drawn = (split(units, n, fraction=fraction, seed=seed) for n in tally.numbers.tolist())
    constant = np.array([loss[part.evaluation].mean() for part in drawn])
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
