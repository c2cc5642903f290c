"""Result of the pipeline ablation: figures by panel and step, and sets by level and panel.

Sets of many splits are summed exactly, and their shares have intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluate.pipeline import PipelineScores
from judgepanel.scoring.conformal import ONE, SET_NAMES, ZERO, Kinds, covers
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import METRICS, Tally
from judgepanel.studies.codec import to_plain
from judgepanel.studies.compare import Estimator
from judgepanel.studies.partials import by_split, frozen, summed
from judgepanel.studies.results import SplitResult, long_frame

STEP_WORDS = {
    "1": "aggregator",
    "1-2": "+ residual correction",
    "1-3": "+ calibrator",
    "1-4": "+ conformal sets",
    "1+3": "calibrator without step 2",
}
SHARE_NAMES = ("neither", "only_0", "only_1", "both")
BEFORE = {"1": "1", "1-2": "1", "1-3": "1-2", "1-4": "1-3", "1+3": "1"}
"""The step with which each one is compared."""
_WHOLE = 2
_COVERED = 4


@dataclass(frozen=True, slots=True, eq=False)
class PipelineAblation(SplitResult):
    """Result of the study ``pipeline_ablation``.

    Arrays are (n_panels, n_steps) in the order of ``k`` and ``steps``. NLL is in nats per item,
    Brier, ECE and accuracy in [0, 1], with 95 % intervals for new items (of ECE: the central 95 %
    of splits). ``delta`` is NLL(step) - NLL(the step it builds on), below 0 if it helps;
    ``residual_delta`` (n_panels,) is NLL(1-3) - NLL(1+3), the effect of step 2 before the same
    calibrator. Sets are (n_levels, n_panels): ``coverage`` and ``size`` in [0, 2] with intervals,
    and ``shares`` (n_levels, n_panels, 4) of ``SET_NAMES``. ``constant_nll`` (n_steps,) is the NLL
    of a constant score instead of votes, with the same features.
    """

    k: Ints
    steps: tuple[str, ...]
    aggregator: str
    calibrator: str
    features: tuple[str, ...]
    nll: Interval
    brier: Interval
    accuracy: Interval
    ece: Interval
    delta: Interval
    residual_delta: Interval
    levels: tuple[float, ...]
    coverage: Interval
    size: Interval
    shares: Floats
    n_slice: float
    null_nll: float
    constant_nll: Floats
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "step": "Step of the pipeline.",
            "delta": "NLL of the step minus that of the step it builds on; below 0 it helps.",
        }
    )

    def frame(self) -> pd.DataFrame:
        """Return one row per panel and step; sets are in the rows of step 1-4."""
        raw = ("1", "1-2")
        return long_frame(
            self.nll.shape,
            {
                "k": self.k[:, None],
                "step": self.steps,
                "aggregator": self.aggregator,
                "calibrator": ["none" if step in raw else self.calibrator for step in self.steps],
                "n_splits": self.n_splits,
                **{metric: getattr(self, metric) for metric in METRICS},
                "null_nll": self.null_nll,
                "skill": 1.0 - self.nll.value / self.null_nll,
                "constant_nll": self.constant_nll,
                "delta": self.delta,
                **self._sets(),
            },
        )

    def _sets(self) -> dict[str, Any]:
        """Return figures of the sets (n_panels, n_steps), named by level."""
        with_sets = np.array(self.steps) == "1-4"
        sets: dict[str, Any] = {}
        for row, level in enumerate(self.levels):
            percent = round(100 * level)
            sets[f"coverage_{percent}"] = self.coverage[row, :, None].where(with_sets)
            sets[f"size_{percent}"] = self.size[row, :, None].where(with_sets)
            for name, share in zip(SHARE_NAMES, self.shares[row].T, strict=True):
                sets[f"share_{percent}_{name}"] = np.where(with_sets, share[:, None], np.nan)
        return sets

    def decisions(self) -> dict[str, Any]:
        """Return the effect of each step for all judges, and the sets of step 4."""
        steps = [
            {
                "step": step,
                "nll": nll,
                "skill": 1.0 - nll / self.null_nll,
                "delta": delta,
                "delta_lo": lo,
                "delta_hi": hi,
            }
            for step, nll, delta, lo, hi in zip(
                self.steps, self.nll.value[-1], *self.delta[-1], strict=True
            )
        ]
        sets = [
            {
                "level": level,
                "coverage": coverage,
                "coverage_lo": lo,
                "coverage_hi": hi,
                "size": size,
                "shares": dict(zip(SET_NAMES, shares, strict=True)),
            }
            for level, coverage, lo, hi, size, shares in zip(
                self.levels,
                *self.coverage[:, -1],
                self.size.value[:, -1],
                self.shares[:, -1],
                strict=True,
            )
        ]
        return {"features": list(self.features), "steps": to_plain(steps), "sets": to_plain(sets)}


@frozen
class SetTally:
    """Sets of S splits at L levels under C panels.

    ``item_sums`` int64 (L, C, 5, N) counts, for every item, its sets of each kind and those that
    hold its label, in halves; ``split_sums`` (S, L, C, 5) are the same over the items of a split.
    Under ``symmetric`` a set of one label counts as half {0} and half {1}: one for the item and one
    for its swap.
    """

    numbers: Ints = by_split()
    n_slice: Ints = by_split()
    split_sums: Ints = by_split()
    item_sums: Ints = summed()


def tally_sets(scored: Iterable[tuple[Split, PipelineScores]], ballots: Ballots) -> SetTally:
    """Count the sets of these splits, at least one."""
    numbers, n_slice, split_sums = [], [], []
    item_sums: Ints = np.zeros(0, dtype=np.int64)
    for split, scores in scored:
        labels = (ballots.signs[split.evaluation] > 0).astype(np.int64)
        counts = _halves(scores.kinds, labels, symmetric=ballots.symmetric)
        if not item_sums.size:
            item_sums = np.zeros((*counts.shape[:-1], ballots.n_items), dtype=np.int64)
        item_sums[..., split.evaluation] += counts
        numbers.append(split.number)
        n_slice.append(scores.n_slice)
        split_sums.append(counts.sum(axis=-1))
    return SetTally(np.array(numbers), np.array(n_slice), np.array(split_sums), item_sums)


def set_estimates(sets: SetTally, estimated: Estimator, tally: Tally) -> dict[str, Any]:
    """Fields ``coverage`` and ``size``, intervals (L, C), and ``shares`` (L, C, 4).

    Intervals are for new items (docs/inference.md), NaN from a single split.
    """
    seen = tally.evaluated > 0
    items = sets.item_sums[..., seen] / (_WHOLE * tally.evaluated[seen])
    splits = sets.split_sums / (_WHOLE * tally.n_evaluation[:, None, None, None])
    shares = items.mean(axis=-1)[..., :_COVERED]

    def measured(weight: Floats, unit: Unit) -> Interval:
        per_item = np.einsum("lckn,k->lcn", items, weight)
        per_split = splits @ weight
        fitted = estimated(
            per_item.reshape(-1, per_item.shape[-1]), per_split.reshape(len(splits), -1)
        )
        figure = Interval.of(fitted, unit).reshape(*per_item.shape[:2])
        return figure.clip(0.0, weight.max())

    return {
        "coverage": measured(np.array([0, 0, 0, 0, 1.0]), "share"),
        "size": measured(np.array([0, 1.0, 1.0, 2.0, 0]), "count"),
        "shares": shares,
    }


def _halves(kinds: Kinds, labels: Ints, *, symmetric: bool) -> Ints:
    """(L, C, 5, n): the kind of every set and whether it covers, in units of one half."""
    counts = np.stack([_WHOLE * (kinds == kind) for kind in range(_COVERED)], axis=2)
    if symmetric:
        single = (counts[:, :, ZERO] + counts[:, :, ONE]) // 2
        counts[:, :, ZERO] = counts[:, :, ONE] = single
    held = _WHOLE * covers(kinds, labels)
    return np.concatenate([counts, held[:, :, None]], axis=2).astype(np.int64)
