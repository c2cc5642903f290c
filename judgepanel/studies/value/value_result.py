"""What :data:`VALUE` finds: what each judge is worth to the panel, and how many can go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import pandas as pd

from judgepanel.scoring.inference import Verdict
from judgepanel.studies.codec import to_plain
from judgepanel.studies.split_result import SplitResult

Role = Literal["copy", "specialist", "complement", "ordinary"]
ROLES: tuple[Role, ...] = get_args(Role)
COPY_BOUND = 0.8
"""A judge is a copy where its error correlation with another is shown to be above this, and that
the panel misses it is not shown.
"""


@dataclass(frozen=True, slots=True)
class JudgeValue:
    """One judge; all figures in nats with 95 % intervals for new items, NaN where not known.

    ``value`` = NLL(without it) - NLL(all) and ``shapley``, what it adds on average over the orders
    in which judges may join: both positive where it helps. ``p`` goes with ``value``.
    ``gain`` = E[(change of the panel's logit without it)^2]. ``nearest`` is the judge its errors
    correlate with most, ``correlation`` that correlation; '' and NaN where none is known.
    ``slice`` is the part of the items where its value exceeds that elsewhere by most,
    ``slice_gap`` by how much, with an interval that holds for all judges and slices together, and
    ``slice_p`` one-sided, adjusted by Holm over both; '' and NaN without slices.
    ``inner`` is its value by inner folds of all labelled rows, which says who would go first
    (``rank`` 1); NaN and 0 until the last split is in. ``droppable``: among those shown to cost
    nothing together. ``role``: copy (see ``COPY_BOUND``); else specialist where ``slice_p`` < .05;
    else complement where ``lo`` > 0; else ordinary.
    """

    judge: str
    family: str
    value: float
    lo: float
    hi: float
    p: float
    shapley: float
    shapley_lo: float
    shapley_hi: float
    gain: float
    gain_lo: float
    gain_hi: float
    nearest: str
    correlation: float
    correlation_lo: float
    correlation_hi: float
    slice: str
    slice_gap: float
    slice_lo: float
    slice_hi: float
    slice_p: float
    inner: float
    rank: int
    droppable: bool
    role: Role


@dataclass(frozen=True, slots=True)
class GroupValue:
    """A family, or a cluster of judges that err together, of ``members``.

    ``value`` = NLL(without all of them) - NLL(all). A cluster is found again on the calibration
    rows of every split: its value is that of the clusters its members are in there. ``shapley``
    takes families as players, and judges without one alone; NaN for clusters.
    """

    kind: Literal["family", "cluster"]
    name: str
    members: tuple[str, ...]
    value: float
    lo: float
    hi: float
    p: float
    shapley: float
    shapley_lo: float
    shapley_hi: float


@dataclass(frozen=True, slots=True)
class Removal:
    """The panel without the ``m`` judges that were worth least on the calibration rows.

    ``delta`` = NLL(without them) - NLL(all), above 0 where they are missed; ``lo`` and ``hi`` bound
    it alone and carry the ``verdict``, ``band_lo`` and ``band_hi`` hold for every m together.
    ``free``: ``hi`` is below the margin, here and for every smaller m. Asked in that order and no
    further than the first no, this takes no adjustment for the number of m.
    """

    m: int
    nll: float
    nll_lo: float
    nll_hi: float
    delta: float
    lo: float
    hi: float
    p: float
    band_lo: float
    band_hi: float
    verdict: Verdict
    free: bool


@dataclass(frozen=True, slots=True)
class Copied:
    """The panel with ``times`` more copies of a judge: ``delta`` = NLL(with them) - NLL(all).

    ``why`` says how the judge was picked.
    """

    judge: str
    why: str
    times: int
    delta: float
    lo: float
    hi: float
    p: float


@dataclass(frozen=True, slots=True, eq=False)
class Value(SplitResult):
    """Result of :data:`VALUE`.

    ``judges`` in the order of the analysis; ``removal`` by m. ``droppable`` is the largest m of
    ``removal`` that is free, and ``droppable_judges`` are the m judges worth least on all labelled
    rows, least first, empty until the last split is in. ``margin`` is 2 % of ``nll_all`` in nats.
    ``null_nll`` is the base rate on the same splits, ``constant_nll`` a constant score through the
    same calibrator. Shapley values are of panels under ``shapley_aggregator`` and
    ``shapley_calibrator``, whose full panel has ``shapley_nll``; ``permutations`` a split. They add
    up to ``null_nll`` - ``shapley_nll``. Every NLL is a mean over items of their means over splits.
    ``feature`` is what the items are sliced by, '' without slices.
    """

    judges: tuple[JudgeValue, ...]
    groups: tuple[GroupValue, ...]
    removal: tuple[Removal, ...]
    droppable: int
    droppable_judges: tuple[str, ...]
    copies: tuple[Copied, ...]
    aggregator: str
    calibrator: str
    shapley_aggregator: str
    shapley_calibrator: str
    shapley_nll: float
    permutations: int
    nll_all: float
    nll_all_lo: float
    nll_all_hi: float
    margin: float
    null_nll: float
    constant_nll: float
    feature: str
    slices: tuple[str, ...]
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "value": "NLL without the judge less that of all judges, in nats; above 0 it helps.",
            "lo": "Lower end of the 95 % interval of value.",
            "hi": "Upper end of the 95 % interval of value.",
            "p": "Two-sided p-value of a value of 0.",
            "shapley": "NLL that the judge saves on average over the orders of joining, in nats.",
            "gain": "Mean square of the change of the panel's logit without the judge.",
            "correlation": "Correlation of errors with the nearest judge.",
            "slice": "Part of the items where its value exceeds that elsewhere by most.",
            "slice_gap": "By how much its value is larger in that slice, in nats.",
            "slice_lo": "Lower end of the interval of slice_gap, for all judges and slices at "
            "once.",
            "slice_hi": "Upper end of the interval of slice_gap, for all judges and slices at "
            "once.",
            "slice_p": "One-sided p-value of slice_gap after Holm's correction.",
            "inner": "Value by inner folds of all labelled rows, in nats.",
            "rank": "Order in which judges would go, 1 the first.",
            "droppable": "Whether it is among the judges shown to cost nothing together.",
            "role": "Copy, specialist, complement or ordinary.",
            "nll_all": "NLL of all judges, in nats.",
        }
    )

    def judge(self, name: str) -> JudgeValue:
        """The figures of one judge."""
        (judge,) = (judge_value for judge_value in self.judges if judge_value.judge == name)
        return judge

    def frame(self) -> pd.DataFrame:
        """One row per judge."""
        frame = pd.DataFrame([to_plain(judge) for judge in self.judges])
        frame["nll_all"], frame["null_nll"] = self.nll_all, self.null_nll
        frame["aggregator"], frame["calibrator"] = self.aggregator, self.calibrator
        frame["n_splits"] = self.n_splits
        return _numbers(frame, JudgeValue)

    def removal_frame(self) -> pd.DataFrame:
        """One row per number of judges that go."""
        return _numbers(pd.DataFrame([to_plain(removal) for removal in self.removal]), Removal)

    def group_frame(self) -> pd.DataFrame:
        """One row per family or cluster."""
        rows = [{**to_plain(group), "members": len(group.members)} for group in self.groups]
        return _numbers(pd.DataFrame(rows), GroupValue)

    def copy_frame(self) -> pd.DataFrame:
        """One row per judge that was copied."""
        return _numbers(pd.DataFrame([to_plain(copy) for copy in self.copies]), Copied)

    def summary(self) -> dict[str, Any]:
        """Values, what can go and what copies do, as JSON values."""
        return {
            "aggregator": self.aggregator,
            "calibrator": self.calibrator,
            "shapley": {
                "aggregator": self.shapley_aggregator,
                "calibrator": self.shapley_calibrator,
                "nll": self.shapley_nll,
                "permutations": self.permutations,
            },
            "nll_all": self.nll_all,
            "null_nll": self.null_nll,
            "constant_nll": self.constant_nll,
            "margin": self.margin,
            "droppable": self.droppable,
            "droppable_judges": list(self.droppable_judges),
            "judges": [to_plain(judge) for judge in self.judges],
            "groups": [to_plain(group) for group in self.groups],
            "removal": [to_plain(removal) for removal in self.removal],
            "copies": [to_plain(copy) for copy in self.copies],
            "n_splits": self.n_splits,
            "orientation": self.orientation,
        }


def _numbers(frame: pd.DataFrame, kind: type[Any]) -> pd.DataFrame:
    """Figures that are not known as NaN and not as None."""
    numbers = [field.name for field in fields(kind) if field.type == "float"]
    return frame.astype({name: float for name in numbers if name in frame})
