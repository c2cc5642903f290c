"""Partial sums over splits that are exact and independent of order.

Per-item losses are summed as 64-bit integers in units of 2^-40 (1e-12 of a nat), hits as 16-bit
numbers of halves, because integer addition is associative: any number of workers and any order of
chunks give identical results. A cell can hold over 10^5 splits of losses and 32,000 of hits before
it overflows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.descriptive import sign_flip
from judgepanel.scoring.splits import Split

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint16]

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


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Scores of S splits under C pipelines and A arms, followed by the chosen arm.

    ``compared`` (M,) and ``reference`` are positions of arms; ``item_sums`` int64 (2, C, A + 1, N)
    are of nll and brier in units of 2^-40, ``item_hits`` uint16 (C, A + 1, N) of hits in halves;
    ``evaluated`` (N,) counts evaluations; ``split_means`` (S, 4, C, A + 1)
    follows ``METRICS``; ``chosen_on`` (S, C, A) is the NLL for the choice and ``chosen`` (S, C) the
    chosen position. ``flip_t`` and ``flip_p`` (S, C, M + 1) are sign-flip tests of the compared
    arms and the chosen one against the reference, empty if not requested.
    """

    compared: Ints
    reference: int
    numbers: Ints
    n_calibration: Ints
    n_evaluation: Ints
    split_means: Floats
    chosen_on: Floats
    chosen: Ints
    null_nll: Floats
    constant_nll: Floats
    flip_t: Floats
    flip_p: Floats
    item_sums: Ints
    item_hits: Halves
    evaluated: Ints
    replaced: Ints

    @property
    def n_arms(self) -> int:
        """Number of arms without the chosen one."""
        return int(self.chosen_on.shape[-1])

    def in_order(self) -> Tally:
        """Return the same splits sorted by number, so that float means are reproducible."""
        order = np.argsort(self.numbers, kind="stable")
        return replace(self, **{name: getattr(self, name)[order] for name in _PER_SPLIT})

    def item_means(self) -> tuple[ItemMeans, NDArray[np.bool_]]:
        """Mean score (3, C, A + 1, n) of every evaluated item, and the mask of these items."""
        seen = np.asarray(self.evaluated > 0)
        return ItemMeans(self.item_sums, self.item_hits, self.evaluated, seen), seen


@dataclass(frozen=True, slots=True, eq=False)
class ItemMeans:
    """Mean scores (3, C, A + 1, n), computed only for the requested part.

    Computing all would copy the largest array of the study.
    """

    losses: Ints
    hits: Halves
    evaluated: Ints
    seen: NDArray[np.bool_]

    def __getitem__(self, place: int | slice | tuple[int | slice | Ints, ...]) -> Floats:
        """Return the scores at positions of metric, pipeline and arm."""
        metric, *rest = place if isinstance(place, tuple) else (place,)
        if isinstance(metric, slice):
            chosen = range(len(ITEM_METRICS))[metric]
            return np.stack([self[(m, *rest)] for m in chosen])
        sums, unit = (self.hits, 2.0) if metric == _HIT else (self.losses[metric], _UNIT)
        means: Floats = sums[tuple(rest)][..., self.seen] / (unit * self.evaluated[self.seen])
        return means


_PER_SPLIT = (
    "numbers",
    "n_calibration",
    "n_evaluation",
    "split_means",
    "chosen_on",
    "chosen",
    "null_nll",
    "constant_nll",
    "flip_t",
    "flip_p",
)
_SUMMED = ("item_sums", "item_hits", "evaluated", "replaced")


def combine(left: Tally, right: Tally) -> Tally:
    """Combine two sets of splits; exact and independent of order."""
    summed: dict[str, Any] = {n: getattr(left, n) + getattr(right, n) for n in _SUMMED}
    return replace(left, **_joined(left, right), **summed)


def absorb(left: Tally, right: Tally) -> Tally:
    """Like :func:`combine`, but reuses the memory of ``left``, which must not be used again."""
    for name in _SUMMED:
        np.add(getattr(left, name), getattr(right, name), out=getattr(left, name))
    return replace(left, **_joined(left, right))


def _joined(left: Tally, right: Tally) -> dict[str, Any]:
    return {n: np.concatenate([getattr(left, n), getattr(right, n)]) for n in _PER_SPLIT}


def tally(
    scored: Iterable[tuple[Split, Arms]],
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
    rows: dict[str, list[object]] = {name: [] for name in _PER_SPLIT}
    evaluated = np.zeros(n_items, dtype=np.int64) if into is None else into.evaluated
    differences: list[Floats] = []
    sums = None if into is None else _ItemSums(into.item_sums, into.item_hits)
    replaced: Ints | int = 0 if into is None else into.replaced
    for split, arms in scored:
        n_c, n_a = arms.chosen_on.shape
        chosen = arms.chosen_on.argmin(axis=1) if arms.taken is None else arms.taken
        if sums is None:
            sums = _ItemSums.zeros(n_c, n_a, n_items)
        sums.add(split.evaluation, arms, chosen)
        evaluated[split.evaluation] += 1
        replaced = replaced + arms.replaced
        if compared is not None:
            tested = [
                nll[np.append(compared, arm)] - nll[reference]
                for nll, arm in zip(arms.nll, chosen, strict=True)
            ]
            differences.append(np.concatenate(tested))
        levels = [
            np.array([scores.mean(axis=-1) for scores in metric])
            for metric in (arms.nll, arms.brier, arms.hit)
        ]
        means = [_with_chosen(values, chosen) for values in (*levels, arms.ece)]
        for name, value in (
            ("numbers", split.number),
            ("n_calibration", len(split.calibration)),
            ("n_evaluation", len(split.evaluation)),
            ("split_means", means),
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
    if compared is not None:
        rows["flip_t"], rows["flip_p"] = _flips(differences, n_c, seed)
    else:
        rows["flip_t"] = rows["flip_p"] = [np.zeros((n_c, 0)) for _ in rows["numbers"]]
    stacked = {name: np.array(values) for name, values in rows.items()}
    total = Tally(
        compared=np.array([], dtype=np.int64) if compared is None else compared,
        reference=reference,
        item_sums=sums.losses,
        item_hits=sums.hits,
        evaluated=evaluated,
        replaced=np.asarray(replaced),
        **stacked,
    )
    return total if into is None else replace(total, **_joined(into, total))


def _flips(differences: list[Floats], n_c: int, seed: int) -> tuple[list[object], list[object]]:
    """Sign-flip t and p (C, M + 1) of every split; splits of equal size share one set of signs."""
    t: list[object] = [None] * len(differences)
    p: list[object] = [None] * len(differences)
    for size in {values.shape[1] for values in differences}:
        same = [i for i, values in enumerate(differences) if values.shape[1] == size]
        all_t, all_p = sign_flip(np.concatenate([differences[i] for i in same]), seed=seed)
        for i, one_t, one_p in zip(
            same, np.split(all_t, len(same)), np.split(all_p, len(same)), strict=True
        ):
            t[i], p[i] = one_t.reshape(n_c, -1), one_p.reshape(n_c, -1)
    return t, p


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

    def add(self, evaluation: Ints, arms: Arms, chosen: Ints) -> None:
        """Add one split."""
        for values, sums in zip((arms.nll, arms.brier), self.losses, strict=True):
            _add(evaluation, values, chosen, sums, _in_units)
        _add(evaluation, arms.hit, chosen, self.hits, _in_halves)


def _in_units(scores: Floats, out: Ints) -> None:
    """Round scores to multiples of 2^-40.

    ``_ROUND`` makes that the last bit of the float, so that bit patterns differ by the integer;
    this is several times faster than a conversion.
    """
    np.add(scores, _ROUND, out=out.view(np.float64))
    out -= _ROUND_BITS


def _in_halves(hits: Floats, out: Halves) -> None:
    np.multiply(hits, 2.0, out=out, casting="unsafe")


def _add(
    evaluation: Ints,
    scores: Sequence[Floats] | Floats,
    chosen: Ints,
    sums: NDArray[Any],
    exact: Callable[[Floats, NDArray[Any]], None],
) -> None:
    """Add C arrays of scores (A, n_eval) to sums (C, A + 1, N), in blocks that fit the cache.

    Items that were not evaluated get 0.
    """
    n_items = sums.shape[-1]
    for start in range(0, n_items, _CELLS):
        width = min(_CELLS, n_items - start)
        first, last = np.searchsorted(evaluation, (start, start + width)).tolist()
        n = last - first
        position = np.full(width, n)
        position[evaluation[first:last] - start] = np.arange(n)
        step = max(1, _CELLS // width)
        padded, wide = np.zeros((step, n + 1), sums.dtype), np.empty((step, width), sums.dtype)
        for value, rows, best in zip(scores, sums[..., start : start + width], chosen, strict=True):
            for arm in range(0, len(value), step):
                part = value[arm : arm + step, first:last]
                exact(part, padded[: len(part), :n])
                spread = wide[: len(part)]
                np.take(padded[: len(part)], position, axis=1, out=spread, mode="clip")
                rows[arm : arm + len(part)] += spread
                if arm <= best < arm + len(part):
                    rows[-1] += spread[best - arm]
