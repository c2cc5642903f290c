"""Result of :data:`JURY`: the error of the k best judges, and the error under independence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.interval import Interval
from judgepanel.studies.frames import long_frame
from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Jury(SplitResult):
    """Result of :data:`JURY`; arrays are (n_k,), panels of the ``k`` best judges.

    Errors are shares of wrong decisions on evaluation items, with 95 % intervals for new items:
    ``majority`` and ``one_coin`` are observed, ``independent`` is the exact error of a majority of
    independent judges of these accuracies. ``gap`` = ``majority`` - ``independent`` is the cost of
    dependence. ``jury_bound``, ``hoeffding_weighted`` and ``hoeffding_majority`` are upper bounds
    for independent judges, means over items; ``jury_exponent`` (the sum of C_k),
    ``weighted_exponent`` and ``majority_exponent`` (E) are the means of the exponents. ``accuracy``
    is the mean over items of the share of right votes, one half without votes; ``effective`` is the
    number of independent judges of that accuracy with the same majority error. ``null_error`` is
    the error of deciding without votes.
    """

    k: Ints
    accuracy: Floats
    majority: Interval
    one_coin: Interval
    independent: Interval
    gap: Interval
    jury_bound: Floats
    hoeffding_weighted: Floats
    hoeffding_majority: Floats
    jury_exponent: Floats
    weighted_exponent: Floats
    majority_exponent: Floats
    effective: Interval
    null_error: float
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "accuracy": "Share of right votes, mean over items.",
            "majority": "Share of wrong decisions of the majority.",
            "one_coin": "Share of wrong decisions of the one-coin score.",
            "independent": "Share of wrong decisions of a majority of independent judges.",
            "gap": (
                "Error of the majority minus that of independent judges: the cost of dependence."
            ),
            "effective": "Number of independent judges with the same majority error.",
            "jury_bound": "Upper bound on the error of independent judges with the best weights.",
            "hoeffding_weighted": "Hoeffding's bound on the error of a weighted vote.",
            "hoeffding_majority": "Hoeffding's bound on the error of a majority.",
            "jury_exponent": "Exponent of jury_bound.",
            "weighted_exponent": "Exponent of hoeffding_weighted.",
            "majority_exponent": "Exponent of hoeffding_majority.",
            "null_error": "Share of wrong decisions without votes.",
        }
    )

    def frame(self) -> pd.DataFrame:
        """One row per panel size."""
        return long_frame(
            self.k.shape,
            {
                "k": self.k,
                "n_splits": self.n_splits,
                "seed": self.seed,
                "accuracy": self.accuracy,
                "majority": self.majority,
                "one_coin": self.one_coin,
                "independent": self.independent,
                "gap": self.gap,
                "effective": self.effective,
                "jury_bound": self.jury_bound,
                "hoeffding_weighted": self.hoeffding_weighted,
                "hoeffding_majority": self.hoeffding_majority,
                "jury_exponent": self.jury_exponent,
                "weighted_exponent": self.weighted_exponent,
                "majority_exponent": self.majority_exponent,
                "null_error": self.null_error,
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return the error of all judges, that under independence, and the effective number."""
        whole = self.frame().iloc[-1]
        return {
            "majority_error": whole["majority"],
            "one_coin_error": whole["one_coin"],
            "independent_error": whole["independent"],
            **whole[["gap", "gap_lo", "gap_hi", "jury_bound"]],
            **whole[["effective", "effective_lo", "effective_hi"]],
        }
