"""What :data:`JURY` finds: the error of the k best judges, beside what independence would give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Jury(SplitResult):
    """Result of :data:`JURY`; arrays are (n_k,), panels of the ``k`` best judges.

    Errors are shares of wrong decisions on evaluation items, with 95 % intervals for new items:
    ``majority`` and ``one_coin`` as observed, ``independent`` exactly what a majority of
    independent judges of these accuracies would have. ``gap`` = ``majority`` - ``independent`` is
    what dependence costs. ``jury_bound``, ``hoeffding_weighted`` and ``hoeffding_majority`` are
    upper bounds for independent judges, means over items; ``jury_exponent`` (the sum of C_k),
    ``weighted_exponent`` and ``majority_exponent`` (E) are the means of what is in the exponents.
    ``accuracy`` is the mean over items of the share of votes that are right, half where there is
    none; ``effective`` [``effective_lo``,
    ``effective_hi``] how many independent judges of that accuracy err as often as the majority
    does. ``null_error`` is that of deciding without votes.
    """

    k: Ints
    accuracy: Floats
    majority: Floats
    majority_lo: Floats
    majority_hi: Floats
    one_coin: Floats
    one_coin_lo: Floats
    one_coin_hi: Floats
    independent: Floats
    independent_lo: Floats
    independent_hi: Floats
    gap: Floats
    gap_lo: Floats
    gap_hi: Floats
    jury_bound: Floats
    hoeffding_weighted: Floats
    hoeffding_majority: Floats
    jury_exponent: Floats
    weighted_exponent: Floats
    majority_exponent: Floats
    effective: Floats
    effective_lo: Floats
    effective_hi: Floats
    null_error: float
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "accuracy": "Share of votes that are right, mean over items.",
            "majority": "Share of wrong decisions by majority.",
            "one_coin": "Share of wrong decisions by the one-coin score.",
            "independent": "Share of wrong decisions of a majority of independent judges.",
            "gap": "Error of the majority less that of independent judges: what dependence costs.",
            "effective": "Independent judges that err as often as the majority does.",
            "jury_bound": "Upper bound of the error of independent judges, weighted at best.",
            "hoeffding_weighted": "Hoeffding's bound of the error under a weighted vote.",
            "hoeffding_majority": "Hoeffding's bound of the error under a majority.",
            "jury_exponent": "What stands in the exponent of jury_bound.",
            "weighted_exponent": "What stands in the exponent of hoeffding_weighted.",
            "majority_exponent": "What stands in the exponent of hoeffding_majority.",
            "null_error": "Share of wrong decisions without votes.",
        }
    )

    def frame(self) -> pd.DataFrame:
        """One row per panel size."""
        columns: dict[str, Any] = {"k": self.k, "n_splits": self.n_splits, "seed": self.seed}
        columns["accuracy"] = self.accuracy
        for name in ("majority", "one_coin", "independent", "gap", "effective"):
            for suffix in ("", "_lo", "_hi"):
                columns[name + suffix] = getattr(self, name + suffix)
        for name in (
            *("jury_bound", "hoeffding_weighted", "hoeffding_majority"),
            *("jury_exponent", "weighted_exponent", "majority_exponent"),
        ):
            columns[name] = getattr(self, name)
        columns["null_error"] = self.null_error
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """All judges: the error, what independence would give, and the number that implies."""
        return {
            "majority_error": float(self.majority[-1]),
            "one_coin_error": float(self.one_coin[-1]),
            "independent_error": float(self.independent[-1]),
            "gap": float(self.gap[-1]),
            "gap_lo": float(self.gap_lo[-1]),
            "gap_hi": float(self.gap_hi[-1]),
            "jury_bound": float(self.jury_bound[-1]),
            "effective": float(self.effective[-1]),
            "effective_lo": float(self.effective_lo[-1]),
            "effective_hi": float(self.effective_hi[-1]),
            "null_error": self.null_error,
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "n_evaluation": self.n_evaluation,
            "seed": self.seed,
            "partial": self.partial,
        }
