"""Partial sums over splits that add up to the same bits in any order.

Per-item scores are summed as 64-bit integers in units of 2^-40 (1e-12 of a nat), because integer
addition is associative: 1 worker or 8, chunks in any order, give identical results. A cell holds
over 10^5 splits before it could overflow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import SplitScores
from judgepanel.scoring.descriptive import sign_flip
from judgepanel.scoring.metrics import ItemScores
from judgepanel.scoring.splits import Split

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

METRICS = ("nll", "brier", "accuracy", "ece")
ITEM_METRICS = ("nll", "brier", "accuracy")
_UNIT = 2.0**40


@dataclass(frozen=True, slots=True, eq=False)
class CurvePartial:
    """Scores of S splits under C calibrators and A arms (n_k panel sizes, then the chosen k).

    ``item_sums`` int64 (3, C, A, N) in units of 2^-40; ``evaluated`` (N,) counts evaluations;
    ``split_means`` (S, 4, C, A) follows ``METRICS``; ``calibration_nll`` (S, C, n_k) is what the
    choice of k saw, ``chosen`` (S, C) the k it took. ``flip_t`` and ``flip_p`` (S, C, M) are the
    sign-flip tests of M compared arms (``compared``, then the chosen k) against all judges.
    ``replaced`` (C,) counts calibrators that fell back to temperature.
    """

    ks: Ints
    compared: Ints
    numbers: Ints
    n_calibration: Ints
    n_evaluation: Ints
    split_means: Floats
    calibration_nll: Floats
    chosen: Ints
    null_nll: Floats
    constant_nll: Floats
    flip_t: Floats
    flip_p: Floats
    item_sums: Ints
    evaluated: Ints
    replaced: Ints

    def in_order(self) -> CurvePartial:
        """The same splits in the order of their numbers, so that float means are reproducible."""
        order = np.argsort(self.numbers, kind="stable")
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in _PER_SPLIT:
            values[name] = values[name][order]
        return CurvePartial(**values)

    def item_means(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Mean score (3, C, A, n) of every item evaluated at least once, and which those are."""
        seen = self.evaluated > 0
        return self.item_sums[..., seen] / (_UNIT * self.evaluated[seen]), seen


_PER_SPLIT = (
    "numbers",
    "n_calibration",
    "n_evaluation",
    "split_means",
    "calibration_nll",
    "chosen",
    "null_nll",
    "constant_nll",
    "flip_t",
    "flip_p",
)
_SUMMED = ("item_sums", "evaluated", "replaced")


def combine(left: CurvePartial, right: CurvePartial) -> CurvePartial:
    """Both sets of splits together; exact and in any order."""
    values = {name: getattr(left, name) for name in ("ks", "compared")}
    for name in _PER_SPLIT:
        values[name] = np.concatenate([getattr(left, name), getattr(right, name)])
    for name in _SUMMED:
        values[name] = getattr(left, name) + getattr(right, name)
    return CurvePartial(**values)


def collect(
    scored: Iterable[tuple[Split, SplitScores]],
    *,
    calibrators: tuple[Calibrator, ...],
    n_items: int,
    ks: Ints,
    compared: Ints,
    seed: int,
) -> CurvePartial:
    """Fold scored splits into one partial; ``compared`` are positions in ``ks``."""
    n_k, n_c = len(ks), len(calibrators)
    sums = np.zeros((len(ITEM_METRICS), n_c, n_k + 1, n_items), dtype=np.int64)
    evaluated = np.zeros(n_items, dtype=np.int64)
    replaced = np.zeros(n_c, dtype=np.int64)
    rows: dict[str, list[object]] = {name: [] for name in _PER_SPLIT}
    for split, scores in scored:
        evaluated[split.evaluation] += 1
        chosen_on = np.stack([scores.calibration_nll[name] for name in calibrators])
        best = chosen_on.argmin(axis=1)
        means = np.empty((len(METRICS), n_c, n_k + 1))
        flips = []
        for c, name in enumerate(calibrators):
            replaced[c] += int(scores.maps[name].replaced.sum())
            arms = _with_chosen(scores.evaluation[name], int(best[c]))
            for m, values in enumerate(arms):
                means[m, c] = values if values.ndim == 1 else values.mean(axis=-1)
            for m in range(len(ITEM_METRICS)):
                sums[m, c, :, split.evaluation] += np.rint(arms[m] * _UNIT).astype(np.int64).T
            tested = np.append(compared, n_k)
            flips.append(sign_flip(arms[0][tested] - arms[0][n_k - 1], seed=seed))
        for name, value in (
            ("numbers", split.number),
            ("n_calibration", len(split.calibration)),
            ("n_evaluation", len(split.evaluation)),
            ("split_means", means),
            ("calibration_nll", chosen_on),
            ("chosen", ks[best]),
            ("null_nll", scores.null_nll),
            ("constant_nll", [scores.constant_nll[name] for name in calibrators]),
            ("flip_t", [t for t, _ in flips]),
            ("flip_p", [p for _, p in flips]),
        ):
            rows[name].append(value)
    stacked = {name: np.array(values) for name, values in rows.items()}
    return CurvePartial(
        ks=ks, compared=compared, item_sums=sums, evaluated=evaluated, replaced=replaced, **stacked
    )


def _with_chosen(scores: ItemScores, best: int) -> tuple[Floats, Floats, Floats, Floats]:
    """NLL, Brier and hits (A, n) and ECE (A,), the chosen panel size appended as the last arm."""

    def extended(values: Floats) -> Floats:
        return np.concatenate([values, values[best : best + 1]])

    return (
        extended(scores.nll),
        extended(scores.brier),
        extended(scores.hit),
        extended(scores.ece),
    )
