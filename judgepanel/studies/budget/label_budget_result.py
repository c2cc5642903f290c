"""Result of :data:`LABEL_BUDGET`: scores by number of labels, and how many labels are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.inference import MARGIN, Verdict, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contest.compared import (
    AGAINST_AVERAGE,
    by_aggregator,
    panel_names,
    pipeline_columns,
    verdicts_between,
)
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.studies.results import SplitResult, json_values, long_frame

NEXT = 100
"""Number of further labels whose price is computed."""

SETTLED_SPLITS = 100
"""With fewer splits, labels needed are too low by 7 % on average: the upper end is quoted."""

PAPER_NOTE = "invalid: it takes splits of one data set for independent samples"
"""Accompanies the paper's joint test wherever it is displayed."""
_BETWEEN = verdicts_between("the first", "the second")
"""Verdicts for all judges under the second aggregator against all under the first."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelsNeeded:
    """Number of labels that brings one panel's NLL to ``goal``.

    ``kind`` is ``plateau`` (within ``within`` of the NLL at the largest budget) or ``target``.
    ``n`` has a 95 % interval from joint draws of all budgets' levels; it is NaN if no number of
    labels is enough by the fitted curve, its upper end if there is no upper limit. ``at_start``:
    the smallest budget suffices, so ``n`` is an upper bound. ``extrapolated``: ``n`` lies beyond
    the largest budget, on the fitted curve.
    """

    calibrator: str
    panel: str
    kind: str
    goal: float
    n: Interval
    at_start: bool
    extrapolated: bool


@dataclass(frozen=True, slots=True, eq=False)
class LabelBudget(SplitResult):
    """Result of :data:`LABEL_BUDGET`.

    ``labels`` (n_budgets,) are the mean numbers of labels of the fits, ``budgets`` the requested
    ones; groups stay whole, so they may differ. ``panels`` (n_panels,) are sizes, the last is all
    judges; if ``beside`` names a second aggregator, all judges under it come first. If
    ``aggregator`` is ``average``, all judges are the recommended panel, and the other panels have
    the pipeline ``COMPARED``.

    ``nll`` (n_calibrators, n_panels, n_budgets) is in nats per item with 95 % intervals for new
    items, with ``level_se``, ``level_df`` and ``level_covariance`` (.., n_budgets, n_budgets);
    ``null_nll`` (n_budgets,) is the NLL of the base rate of the same labels, ``constant_nll``
    (n_calibrators, n_budgets) that of a constant score through the same calibrator.

    ``delta`` (n_calibrators, n_panels - 1, n_budgets) is NLL(panel) - NLL(all) on the same labels,
    with an interval for each budget; ``band`` is the same with intervals that hold at all budgets
    together. ``joint_p`` (n_calibrators, n_panels - 1) is the p-value of no difference at any
    budget. ``paper_t``, ``paper_critical`` and ``paper_p`` are the paper's joint test, which is
    invalid (see :func:`judgepanel.scoring.descriptive.paper_joint`) and decides nothing.

    ``curve_a``, ``curve_b``, ``curve_c`` (n_calibrators, n_panels) are fits of a + b (n / scale)^-c
    with the largest of ``labels`` as scale; NaN with too few budgets. ``next_from`` (n_budgets +
    1,) are the budgets and ``have``, the number of labels that the user has (default: all labelled
    items); ``gain`` (n_calibrators, n_panels, n_budgets + 1) is the decrease of the fitted NLL with
    the next 100 labels, NaN below the smallest budget. Everything beyond ``labels[-1]`` is
    extrapolated.
    """

    budgets: Ints
    labels: Floats
    panels: Ints
    calibrators: tuple[str, ...]
    aggregator: str
    beside: str | None
    within: float
    target: float | None
    have: int
    nll: Interval
    level_se: Floats
    level_df: Floats
    level_covariance: Floats
    null_nll: Floats
    constant_nll: Floats
    delta: Interval
    band: Interval
    joint_p: Floats
    paper_t: Floats
    paper_critical: Floats
    paper_p: Floats
    needed: tuple[LabelsNeeded, ...]
    curve_a: Floats
    curve_b: Floats
    curve_c: Floats
    next_from: Floats
    gain: Interval
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "budget": "Requested number of labels.",
            "delta": "NLL of the panel minus that of all judges on the same labels, in nats.",
            "band_lo": "Lower end of the 95 % interval of delta at all budgets together.",
            "band_hi": "Upper end of the 95 % interval of delta at all budgets together.",
            "joint_p": "p-value of no difference at any budget.",
            "paper_joint_t": "The paper's joint statistic, which is invalid and decides nothing.",
            "paper_joint_p": "The paper's joint p-value, which is invalid and decides nothing.",
            "next_100_gain": "Decrease of the fitted NLL with the next 100 labels, in nats.",
            "next_extrapolated": "Whether next_100_gain lies beyond the largest budget tried.",
        }
    )

    @property
    def extrapolates(self) -> bool:
        """Whether the next labels after ``have`` lie beyond the largest budget."""
        return bool(self.have + NEXT > self.labels[-1])

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the panels, see :func:`panel_names`, preceded by ``all 65 by joint``."""
        if self.beside is None:
            return panel_names(self.panels, self.aggregator)
        second = by_aggregator(f"all {self.n_judges:,}", self.beside)
        return (second, *panel_names(self.panels[1:], self.aggregator))

    def aggregator_of(self, panel: int) -> str:
        """Return the aggregator of a panel by its position."""
        if self.beside is not None and panel == 0:
            return self.beside
        aggregators, _ = pipeline_columns(self.aggregator, self.calibrators, len(self.panels))
        return str(aggregators[panel, 0])

    def row(self, calibrator: str) -> int:
        """Return the position of a calibrator in the arrays."""
        return self.calibrators.index(calibrator)

    def verdict(self, c: int, panel: int, budget: int) -> Verdict:
        """Return what the pointwise interval of ``delta`` decides, against 2 % of NLL(all)."""
        delta, lo, hi = self.delta[c, panel, budget]
        margin = MARGIN * float(self.nll.value[c, -1, budget])
        same = bool(lo == hi == delta == 0.0)
        return verdict(float(lo), float(hi), margin, identical=same)

    def decided(self, c: int, panel: int, budget: int) -> str:
        """Return the verdict in words that fit the panel: both may keep all judges."""
        result = self.verdict(c, panel, budget)
        if self.aggregator == AVERAGE:
            return AGAINST_AVERAGE[result]
        return result if self.aggregator_of(panel) == self.aggregator else _BETWEEN[result]

    def fitted(self, c: int, panel: int, n: float | Floats) -> Floats:
        """Return the fitted learning curve at ``n`` labels; NaN if there is none."""
        ratio = np.asarray(n, dtype=np.float64) / self.labels[-1]
        power = ratio ** -self.curve_c[c, panel]
        return np.asarray(self.curve_a[c, panel] + self.curve_b[c, panel] * power)

    def needed_for(self, calibrator: str, panel: str, kind: str = "plateau") -> LabelsNeeded | None:
        """Return how many labels one panel needs, None if unknown or not requested."""
        for need in self.needed:
            if (need.calibrator, need.panel, need.kind) == (calibrator, panel, kind):
                return need
        return None

    @property
    def settled(self) -> bool:
        """Whether there are enough splits to quote an estimate of the labels needed."""
        return self.n_splits >= SETTLED_SPLITS

    def quoted(self, needed: LabelsNeeded) -> float:
        """Return the number of labels to plan with: the estimate, or the upper end.

        The upper end is used below ``SETTLED_SPLITS`` splits; NaN if it has no limit.
        """
        return float(needed.n.value if self.settled else needed.n.hi)

    def frame(self) -> pd.DataFrame:
        """One row per calibrator, panel and budget."""
        n_c, n_p, n_b = self.nll.shape
        none = Interval.full((n_c, 1, n_b), np.nan)
        verdicts = [
            [[self.decided(c, p, b) for b in range(n_b)] for p in range(n_p - 1)]
            + [["reference"] * n_b]
            for c in range(n_c)
        ]
        joint, paper_t, paper_p = (
            np.concatenate([test, none.value[:, :, 0]], axis=1)[..., None]
            for test in (self.joint_p, self.paper_t, self.paper_p)
        )
        band = Interval.joined([self.band, none], axis=1)
        _, calibrators = pipeline_columns(self.aggregator, self.calibrators, n_p)
        return long_frame(
            self.nll.shape,
            {
                "aggregator": [[self.aggregator_of(p)] for p in range(n_p)],
                "calibrator": calibrators,
                "panel": np.array(self.arms)[:, None],
                "k": self.panels[:, None],
                "budget": self.budgets,
                "labels": self.labels,
                "n_splits": self.n_splits,
                "nll": self.nll,
                "null_nll": self.null_nll,
                "constant_nll": self.constant_nll[:, None],
                "skill": 1.0 - self.nll.value / self.null_nll,
                "delta": Interval.joined([self.delta, none], axis=1),
                "band_lo": band.lo,
                "band_hi": band.hi,
                "verdict": verdicts,
                "joint_p": joint,
                "paper_joint_t": paper_t,
                "paper_joint_p": paper_p,
                f"next_{NEXT}_gain": self.gain[..., :-1],
                "next_extrapolated": self.labels + NEXT > self.labels[-1],
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Labels needed, the joint tests, the fitted curves and the price of more labels."""
        cells = [
            (c, p, {"calibrator": name, "panel": arm})
            for c, name in enumerate(self.calibrators)
            for p, arm in enumerate(self.arms)
        ]
        return {
            "needed": [
                json_values({field.name: getattr(need, field.name) for field in fields(need)})
                | json_values({"quoted": self.quoted(need)})
                for need in self.needed
            ],
            "joint": [
                json_values(
                    {
                        **names,
                        "p": self.joint_p[c, p],
                        "paper_p": self.paper_p[c, p],
                        "paper_t": self.paper_t[c, p],
                        "paper_critical": self.paper_critical[c, p],
                        "paper_note": PAPER_NOTE,
                    }
                )
                for c, p, names in cells
                if p < len(self.panels) - 1
            ],
            "curves": [
                json_values(
                    {
                        **names,
                        "a": self.curve_a[c, p],
                        "b": self.curve_b[c, p],
                        "c": self.curve_c[c, p],
                        "scale": self.labels[-1],
                    }
                )
                for c, p, names in cells
            ],
            "next": [
                json_values(
                    {
                        **names,
                        "from": self.next_from[-1],
                        "more": NEXT,
                        "gain": self.gain[c, p, -1],
                        "extrapolated": self.extrapolates,
                    }
                )
                for c, p, names in cells
            ],
            "target": self.target,
            "beside": self.beside,
            "budgets": self.budgets.tolist(),
            "null_nll": self.null_nll.tolist(),
        }
