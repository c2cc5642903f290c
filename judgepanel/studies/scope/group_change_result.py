"""What :data:`GROUP_CHANGE` finds: the panel with a group of judges and without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import pandas as pd

from judgepanel.scoring.inference import Verdict
from judgepanel.studies.codec import to_plain
from judgepanel.studies.split_result import SplitResult


@dataclass(frozen=True, slots=True)
class GroupArm:
    """One aggregator with the group and without it.

    NLL in nats with 95 % intervals for new items. ``delta`` = NLL(without) - NLL(with), above 0
    where the group is worth having; ``verdict`` against 2 % of NLL(with): ``keep all`` means have
    the group, ``curate`` leave it out.
    """

    aggregator: str
    nll_with: float
    nll_with_lo: float
    nll_with_hi: float
    nll_without: float
    nll_without_lo: float
    nll_without_hi: float
    delta: float
    delta_lo: float
    delta_hi: float
    p: float
    verdict: Verdict


@dataclass(frozen=True, slots=True, eq=False)
class GroupChange(SplitResult):
    """Result of :data:`GROUP_CHANGE`.

    ``members`` are the judges of the group, out of ``n_judges`` with it; of a filter, those it
    drops on all labelled items. ``added``: the group is not among the analysis' own judges.
    ``null_nll`` is the base rate on the same splits, ``constant_nll`` a constant score through the
    same calibrator.
    """

    by: str
    name: str
    members: tuple[str, ...]
    added: bool
    arms: tuple[GroupArm, ...]
    calibrator: str
    null_nll: float
    constant_nll: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "group": "The group of judges that is taken out.",
            "judges": "Number of judges in the group.",
            "nll_with": "NLL with the group, in nats.",
            "nll_without": "NLL without the group, in nats.",
            "delta": "NLL without the group less that with it, in nats; above 0 the group helps.",
        }
    )

    def arm(self, aggregator: str) -> GroupArm:
        """The arm of this aggregator."""
        (arm,) = (group_arm for group_arm in self.arms if group_arm.aggregator == aggregator)
        return arm

    def frame(self) -> pd.DataFrame:
        """One row per aggregator."""
        frame = pd.DataFrame([to_plain(arm) for arm in self.arms])
        frame.insert(0, "group", self.name)
        frame.insert(1, "judges", len(self.members))
        frame["null_nll"] = self.null_nll
        frame["n_splits"] = self.n_splits
        return frame

    def summary(self) -> dict[str, Any]:
        """Who is in the group, every arm, and what was run."""
        return {
            "by": self.by,
            "group": self.name,
            "members": list(self.members),
            "added": self.added,
            "arms": [to_plain(arm) for arm in self.arms],
            "calibrator": self.calibrator,
            "null_nll": self.null_nll,
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "partial": self.partial,
        }
