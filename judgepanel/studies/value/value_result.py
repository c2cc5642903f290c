"""Result of :data:`VALUE`: the value of each judge to the panel, and how many can be removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import pandas as pd

from judgepanel.scoring.inference import Verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.results import SplitResult, flat_row

Role = Literal["copy", "specialist", "complement", "ordinary"]
COPY_BOUND = 0.8
"""Error correlation above which a judge is a copy of another.

The correlation must be shown to exceed it, and the judge not be shown to be missed.
"""


@dataclass(frozen=True, slots=True)
class JudgeValue:
    """One judge; all figures in nats with 95 % intervals for new items, NaN if unknown.

    ``value`` = NLL(without it) - NLL(all), and ``shapley`` is its mean contribution over the orders
    in which judges may join: both positive if it helps. ``p`` belongs to ``value``. ``gain`` =
    E[(change of the panel's logit without it)^2]. ``nearest`` is the judge with the most correlated
    errors, ``correlation`` that correlation; '' and NaN if unknown. ``slice`` is the part of the
    items where its value most exceeds that elsewhere, ``slice_gap`` the excess, with an interval
    that holds for all judges and slices together, and ``slice_p`` one-sided, adjusted by Holm over
    both; '' and NaN without slices. ``inner`` is its value by inner folds of all labelled rows,
    which determines the order of removal (``rank`` 1 first); NaN and 0 until the last split is in.
    ``droppable``: among those that can be removed together without loss. ``role``: copy (see
    ``COPY_BOUND``); else specialist if ``slice_p`` < .05; else complement if ``value`` is shown to
    be above 0; else ordinary.
    """

    judge: str
    family: str
    value: Interval
    p: float
    shapley: Interval
    gain: Interval
    nearest: str
    correlation: Interval
    slice: str
    slice_gap: Interval
    slice_p: float
    inner: float
    rank: int
    droppable: bool
    role: Role


@dataclass(frozen=True, slots=True)
class GroupValue:
    """A family, or a cluster of judges that err together, with its ``members``.

    ``value`` = NLL(without all of them) - NLL(all). Clusters are determined again on the
    calibration rows of every split: the value is that of the clusters that contain the members
    there. ``shapley`` treats families as players, and judges without a family as players of one;
    NaN for clusters.
    """

    kind: Literal["family", "cluster"]
    name: str
    members: tuple[str, ...]
    value: Interval
    p: float
    shapley: Interval


@dataclass(frozen=True, slots=True)
class Removal:
    """The panel without the ``m`` judges with the lowest value on the calibration rows.

    ``delta`` = NLL(without them) - NLL(all), above 0 if they are missed; its interval is for this m
    alone and determines the ``verdict``, ``band`` holds for all m together. ``free``: the upper end
    of ``delta`` is below the margin, here and for every smaller m. Testing in that order and
    stopping at the first failure needs no adjustment for the number of m.
    """

    m: int
    nll: Interval
    delta: Interval
    p: float
    band: Interval
    verdict: Verdict
    free: bool


@dataclass(frozen=True, slots=True)
class Copied:
    """The panel with ``times`` more copies of a judge: ``delta`` = NLL(with them) - NLL(all).

    ``why`` says how the judge was selected.
    """

    judge: str
    why: str
    times: int
    delta: Interval
    p: float


@dataclass(frozen=True, slots=True, eq=False)
class Value(SplitResult):
    """Result of :data:`VALUE`.

    ``judges`` are in the order of the analysis; ``removal`` is by m. ``droppable`` is the largest m
    of ``removal`` that is free, and ``droppable_judges`` are the m judges with the lowest value on
    all labelled rows, lowest first, empty until the last split is in. ``margin`` is 2 % of
    ``nll_all`` in nats. ``null_nll`` is the NLL of the base rate on the same splits,
    ``constant_nll`` that of a constant score through the same calibrator. Shapley values are those
    of panels under ``shapley_aggregator`` and ``shapley_calibrator``, whose full panel has
    ``shapley_nll``, from ``permutations`` orders per split. They sum to ``null_nll`` -
    ``shapley_nll``. Every NLL is a mean over items of their means over splits. ``feature`` defines
    the slices of the items, '' without slices.
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
    nll_all: Interval
    margin: float
    null_nll: float
    constant_nll: float
    feature: str
    slices: tuple[str, ...]
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "value": "NLL without the judge minus that of all judges, in nats; above 0 it helps.",
            "lo": "Lower end of the 95 % interval of value.",
            "hi": "Upper end of the 95 % interval of value.",
            "p": "Two-sided p-value of a value of 0.",
            "shapley": "NLL that the judge saves, averaged over the orders of joining, in nats.",
            "gain": "Mean squared change of the panel's logit without the judge.",
            "correlation": "Error correlation with the nearest judge.",
            "slice": "Part of the items where its value most exceeds that elsewhere.",
            "slice_gap": "Its value in that slice minus its value elsewhere, in nats.",
            "slice_lo": "Lower end of the interval of slice_gap, for all judges and slices at "
            "once.",
            "slice_hi": "Upper end of the interval of slice_gap, for all judges and slices at "
            "once.",
            "slice_p": "One-sided p-value of slice_gap after Holm's correction.",
            "inner": "Value by inner folds of all labelled rows, in nats.",
            "rank": "Order in which judges would be removed, 1 first.",
            "droppable": (
                "Whether it is among the judges shown to be removable together without loss."
            ),
            "role": "Copy, specialist, complement or ordinary.",
            "nll_all": "NLL of all judges, in nats.",
        }
    )

    def judge(self, name: str) -> JudgeValue:
        """Return the figures of one judge."""
        return next(judge for judge in self.judges if judge.judge == name)

    def frame(self) -> pd.DataFrame:
        """One row per judge."""
        return pd.DataFrame([_judge_row(judge) for judge in self.judges]).assign(
            nll_all=self.nll_all.value,
            null_nll=self.null_nll,
            aggregator=self.aggregator,
            calibrator=self.calibrator,
            n_splits=self.n_splits,
        )

    def removal_frame(self) -> pd.DataFrame:
        """Return one row per number of removed judges."""
        return pd.DataFrame(map(flat_row, self.removal))

    def decisions(self) -> dict[str, Any]:
        """Return values, removable judges and the effect of copies."""
        plain: dict[str, Any] = to_plain(
            {
                "shapley": {
                    "aggregator": self.shapley_aggregator,
                    "calibrator": self.shapley_calibrator,
                    "nll": self.shapley_nll,
                    "permutations": self.permutations,
                },
                "nll_all": self.nll_all.value,
                "droppable_judges": self.droppable_judges,
                "judges": [_judge_row(judge) for judge in self.judges],
                "groups": [flat_row(group) for group in self.groups],
                "removal": [flat_row(removal) for removal in self.removal],
                "copies": [flat_row(copy) for copy in self.copies],
            }
        )
        return plain


def _judge_row(judge: JudgeValue) -> dict[str, Any]:
    return flat_row(judge, slice_gap="slice_")
