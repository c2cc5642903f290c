"""Result of :data:`PERMUTATION`: the NLL of the real labels among those of permuted ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats
from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.results import RunResult, long_frame

LEAK = 0.005
"""Margin, as a share of the null NLL, by which a permuted panel must beat it to count as a leak."""


@dataclass(frozen=True, slots=True, eq=False)
class Permutation(RunResult):
    """Result of :data:`PERMUTATION`; NLLs are in nats per item, out of sample.

    ``nll``, with a 95 % interval, and ``accuracy`` are those of the real labels, ``null_nll`` is
    the NLL of their base rate and ``constant_nll`` that of a constant score through the same
    calibrator. ``permuted_nll``, ``permuted_null`` and ``permuted_accuracy`` (B,) are those of the
    permutations, which ``action`` describes; ``planned`` is the requested number. ``movable`` is
    the share of items whose labels can be exchanged; ``identical`` means that all labels are equal
    and used as given, so permuting them changes nothing. Real figures are NaN until they have been
    computed.
    """

    aggregator: str
    calibrator: str
    action: str
    nll: Interval
    accuracy: float
    null_nll: float
    constant_nll: float
    permuted_nll: Floats
    permuted_null: Floats
    permuted_accuracy: Floats
    planned: int
    movable: float
    identical: bool
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "permutation": "Number of the permutation; 0 has the real labels.",
            "labels": "Real, or how they were permuted.",
        }
    )

    @property
    def partial(self) -> bool:
        """Whether permutations are still missing."""
        return len(self.permuted_nll) < self.planned or not np.isfinite(self.nll.value)

    @property
    def p(self) -> float:
        """(1 + permutations at least as good as the real labels) / (1 + permutations), or NaN."""
        if not len(self.permuted_nll) or not np.isfinite(self.nll.value):
            return float("nan")
        as_good = np.count_nonzero(self.permuted_nll <= self.nll.value)
        return float((1 + as_good) / (1 + len(self.permuted_nll)))

    @property
    def spread(self) -> Interval:
        """Mean of the permuted NLLs, and their central 95 %."""
        if not len(self.permuted_nll):
            return Interval.full((), np.nan)
        return Interval.single(
            self.permuted_nll.mean(), *np.quantile(self.permuted_nll, (0.025, 0.975))
        )

    @property
    def excess(self) -> Interval:
        """Mean of permuted NLL - permuted null, with its 95 % Monte Carlo interval."""
        over = self.permuted_nll - self.permuted_null
        if len(over) < 2:
            return Interval.full((), np.nan)
        mean, reach = over.mean(), 1.96 * over.std(ddof=1) / len(over) ** 0.5
        return Interval.single(mean, mean - reach, mean + reach)

    @property
    def leaks(self) -> bool:
        """Whether permuted labels are predicted better than by their base rate: a leak."""
        return bool(self.excess.below(-LEAK * self.mean_null))

    @property
    def mean_null(self) -> float:
        """Mean base rate of the permuted labels; NaN without any."""
        return float(self.permuted_null.mean()) if len(self.permuted_null) else float("nan")

    def frame(self) -> pd.DataFrame:
        """The real labels in row 0, then one row per permutation."""
        n = len(self.permuted_nll)
        return long_frame(
            (n + 1,),
            {
                "permutation": np.arange(n + 1),
                "labels": ["real", *["permuted"] * n],
                "nll": np.append(self.nll.value, self.permuted_nll),
                "null_nll": np.append(self.null_nll, self.permuted_null),
                "accuracy": np.append(self.accuracy, self.permuted_accuracy),
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return the p-value, and the distance of permuted panels from their null."""
        nll, lo, hi = self.nll
        mean, *ends = self.spread
        return {
            **to_plain({"nll": nll, "nll_lo": lo, "nll_hi": hi, "p": self.p}),
            "leaks": self.leaks,
            "permuted_nll_mean": to_plain(mean),
            "permuted_nll_range": to_plain(ends),
            "permuted_null_mean": to_plain(self.mean_null),
            "excess": to_plain(tuple(self.excess)),
            "permutations": len(self.permuted_nll),
        }
