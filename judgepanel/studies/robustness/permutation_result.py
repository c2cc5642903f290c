"""What :data:`PERMUTATION` finds: the NLL of real labels among those of permuted ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.studies.codec import to_plain

Floats = NDArray[np.float64]

LEAK = 0.005
"""Share of the null's NLL that a permuted panel must beat it by to be called a leak."""


@dataclass(frozen=True, slots=True, eq=False)
class Permutation:
    """Result of :data:`PERMUTATION`; NLLs are in nats per item, out of sample.

    ``nll`` [``nll_lo``, ``nll_hi``] and ``accuracy`` are those of the real labels, ``null_nll`` is
    their base rate and ``constant_nll`` a constant score through the same calibrator.
    ``permuted_nll``, ``permuted_null`` and ``permuted_accuracy`` (B,) are of the permutations,
    which ``action`` describes; ``planned`` are asked for. ``movable`` is the share of items whose
    labels can change places; ``identical`` says that all labels are the same and taken as given, so
    that permuting them changes nothing. Real figures are NaN until their part of the work is in.
    """

    aggregator: str
    calibrator: str
    action: str
    nll: float
    nll_lo: float
    nll_hi: float
    accuracy: float
    null_nll: float
    constant_nll: float
    permuted_nll: Floats
    permuted_null: Floats
    permuted_accuracy: Floats
    planned: int
    movable: float
    identical: bool
    orientation: str
    protocol: str
    one_class: bool
    measures_coding: bool
    n_items: int
    n_judges: int
    n_splits: int
    planned_splits: int
    seed: int
    warnings: tuple[str, ...]

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "permutation": "Number of the permutation; 0 holds the real labels.",
            "labels": "Real, or how they were permuted.",
        }
    )

    @property
    def partial(self) -> bool:
        """Whether permutations are still missing."""
        return len(self.permuted_nll) < self.planned or not np.isfinite(self.nll)

    @property
    def p(self) -> float:
        """(1 + permutations as good as the real labels) / (1 + permutations); NaN without any."""
        if not len(self.permuted_nll) or not np.isfinite(self.nll):
            return float("nan")
        as_good = np.count_nonzero(self.permuted_nll <= self.nll)
        return float((1 + as_good) / (1 + len(self.permuted_nll)))

    @property
    def spread(self) -> tuple[float, float]:
        """Where 95 % of the permuted NLLs lie."""
        if not len(self.permuted_nll):
            return float("nan"), float("nan")
        lo, hi = np.quantile(self.permuted_nll, (0.025, 0.975))
        return float(lo), float(hi)

    @property
    def excess(self) -> tuple[float, float, float]:
        """Mean of permuted NLL - permuted null, with its 95 % Monte Carlo interval."""
        over = self.permuted_nll - self.permuted_null
        if len(over) < 2:
            return float("nan"), float("nan"), float("nan")
        mean, reach = float(over.mean()), 1.96 * float(over.std(ddof=1)) / len(over) ** 0.5
        return mean, mean - reach, mean + reach

    @property
    def leaks(self) -> bool:
        """Whether permuted labels are predicted better than their base rate: labels leak then."""
        return bool(self.excess[2] < -LEAK * _mean(self.permuted_null))

    def frame(self) -> pd.DataFrame:
        """The real labels in row 0, then one row per permutation."""
        return pd.DataFrame(
            {
                "permutation": np.arange(len(self.permuted_nll) + 1),
                "labels": ["real", *["permuted"] * len(self.permuted_nll)],
                "nll": [self.nll, *self.permuted_nll.tolist()],
                "null_nll": [self.null_nll, *self.permuted_null.tolist()],
                "accuracy": [self.accuracy, *self.permuted_accuracy.tolist()],
            }
        )

    def summary(self) -> dict[str, Any]:
        """The p-value, how far permuted panels are from their null, and what was run."""
        names = ("nll", "nll_lo", "nll_hi", "accuracy", "null_nll", "constant_nll", "p", "leaks")
        return {
            **{name: to_plain(getattr(self, name)) for name in names},
            "permuted_nll_mean": to_plain(_mean(self.permuted_nll)),
            "permuted_nll_range": to_plain(self.spread),
            "permuted_null_mean": to_plain(_mean(self.permuted_null)),
            "excess": to_plain(self.excess),
            "permutations": len(self.permuted_nll),
            "action": self.action,
            "movable": self.movable,
            "identical": self.identical,
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "partial": self.partial,
        }


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
