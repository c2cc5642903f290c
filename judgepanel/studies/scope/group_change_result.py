"""Result of :data:`GROUP_CHANGE`: the panel with a group of judges and without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.inference import Verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.results import SplitResult, long_frame


@dataclass(frozen=True, slots=True, eq=False)
class GroupChange(SplitResult):
    """Result of :data:`GROUP_CHANGE`.

    ``members`` are the judges of the group, out of ``n_judges`` with it; for a filter, those it
    drops on all labelled items. ``added``: the group is not among the judges of the analysis.
    Arrays are (n_aggregators,): ``nll_with`` and ``nll_without`` in nats with 95 % intervals for
    new items, ``delta`` = NLL(without) - NLL(with), above 0 if the group helps, with its p-value
    ``p``. ``verdicts`` are against 2 % of NLL(with): ``keep all`` means include the group,
    ``curate`` leave it out. ``null_nll`` is the NLL of the base rate on the same splits,
    ``constant_nll`` that of a constant score through the same calibrator.
    """

    by: str
    name: str
    members: tuple[str, ...]
    added: bool
    aggregators: tuple[str, ...]
    nll_with: Interval
    nll_without: Interval
    delta: Interval
    p: NDArray[np.float64]
    verdicts: tuple[Verdict, ...]
    calibrator: str
    null_nll: float
    constant_nll: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "group": "The group of judges that is removed.",
            "judges": "Number of judges in the group.",
            "nll_with": "NLL with the group, in nats.",
            "nll_without": "NLL without the group, in nats.",
            "delta": "NLL without the group minus that with it, in nats; above 0 the group helps.",
        }
    )

    def frame(self) -> pd.DataFrame:
        """One row per aggregator."""
        return long_frame(
            (len(self.aggregators),),
            {
                "group": self.name,
                "judges": len(self.members),
                **self._arms(),
                "null_nll": self.null_nll,
                "n_splits": self.n_splits,
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return the members of the group, and every aggregator with it and without it."""
        arms = long_frame((len(self.aggregators),), self._arms())
        return {
            "group": self.name,
            "members": list(self.members),
            "arms": to_plain(arms.to_dict("records")),
        }

    def _arms(self) -> dict[str, object]:
        return {
            "aggregator": self.aggregators,
            "nll_with": self.nll_with,
            "nll_without": self.nll_without,
            "delta": self.delta,
            "p": self.p,
            "verdict": self.verdicts,
        }
