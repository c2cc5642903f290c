"""What :data:`LABEL_BUDGET` finds: scores by number of labels, and how many labels are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.inference import MARGIN, Verdict, verdict
from judgepanel.studies.codec import to_plain
from judgepanel.studies.compare import arm_name
from judgepanel.studies.split_result import SplitResult

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEXT = 100
"""Labels of which the price is given."""

SETTLED_SPLITS = 100
"""Below so many splits the labels needed are too few by 7 % on average: the upper end is quoted."""

PAPER_NOTE = "invalid: it takes splits of one data set for independent samples"
"""What stands beside the paper's joint test wherever it is shown."""

_BETWEEN: dict[Verdict, str] = {
    "keep all": "the first is better",
    "curate": "the second is better",
    "no loss from keeping": "no loss with the first",
    "no loss from curating": "no loss with the second",
    "undecided": "undecided",
    "tie": "tie",
}
"""Verdicts on all judges under a second aggregator against all under the first."""


@dataclass(frozen=True, slots=True)
class LabelsNeeded:
    """Labels that bring one panel's NLL to ``goal``.

    ``kind`` is ``plateau`` (within ``within`` of the NLL at the largest budget) or ``target``.
    [``n_lo``, ``n_hi``] is a 95 % interval from draws of all budgets' levels together. ``n`` is NaN
    where no number of labels is enough by the fitted curve, ``n_hi`` where there is no upper limit.
    ``at_start``: the smallest budget does it, so ``n`` is an upper bound. ``extrapolated``: ``n``
    lies beyond the largest budget, on the fitted curve.
    """

    calibrator: str
    panel: str
    kind: str
    goal: float
    n: float
    n_lo: float
    n_hi: float
    at_start: bool
    extrapolated: bool


@dataclass(frozen=True, slots=True, eq=False)
class LabelBudget(SplitResult):
    """Result of :data:`LABEL_BUDGET`.

    ``labels`` (n_budgets,) are the mean numbers of labels the panels were fitted on, ``budgets``
    those asked for; groups stay whole, so they may differ. ``panels`` (n_panels,) are sizes, the
    last is all judges; where ``beside`` names a second aggregator, all judges under it come first.
    ``nll`` (n_calibrators, n_panels, n_budgets) is in nats per item with 95 %
    intervals for new items; ``level_se``, ``level_df`` and ``level_covariance`` (.., n_budgets,
    n_budgets) go with it; ``null_nll`` (n_budgets,) is the base rate of the same labels,
    ``constant_nll`` (n_calibrators, n_budgets) a constant score through the same calibrator.

    ``delta`` (n_calibrators, n_panels - 1, n_budgets) is NLL(panel) - NLL(all) on the same labels:
    ``delta_lo`` and ``delta_hi`` bound it budget by budget, ``band_lo`` and ``band_hi`` at all
    budgets together. ``joint_p`` (n_calibrators, n_panels - 1) is the p-value of no difference at
    any budget. ``paper_t``, ``paper_critical`` and ``paper_p`` are the paper's joint test, which is
    invalid (see :func:`judgepanel.scoring.descriptive.paper_joint`) and decides nothing.

    ``curve_a``, ``curve_b``, ``curve_c`` (n_calibrators, n_panels) are fits of
    a + b (n / scale)^-c with the largest of ``labels`` as scale; NaN where budgets are too few.
    ``next_from`` (n_budgets + 1,) are the budgets and ``have``, the labels that the reader has (all
    labelled items if not said); ``gain`` (n_calibrators, n_panels, n_budgets + 1) is what the next
    100 labels take off the fitted NLL, NaN below the smallest budget. All that lies beyond
    ``labels[-1]`` is extrapolated.
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
    nll: Floats
    nll_lo: Floats
    nll_hi: Floats
    level_se: Floats
    level_df: Floats
    level_covariance: Floats
    null_nll: Floats
    constant_nll: Floats
    delta: Floats
    delta_lo: Floats
    delta_hi: Floats
    band_lo: Floats
    band_hi: Floats
    joint_p: Floats
    paper_t: Floats
    paper_critical: Floats
    paper_p: Floats
    needed: tuple[LabelsNeeded, ...]
    curve_a: Floats
    curve_b: Floats
    curve_c: Floats
    next_from: Floats
    gain: Floats
    gain_lo: Floats
    gain_hi: Floats
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "budget": "Labels asked for.",
            "delta": "NLL of the panel less that of all judges on the same labels, in nats.",
            "band_lo": "Lower end of the 95 % interval of delta at all budgets together.",
            "band_hi": "Upper end of the 95 % interval of delta at all budgets together.",
            "joint_p": "p-value of no difference at any budget.",
            "paper_joint_t": "The paper's joint statistic, which is invalid and decides nothing.",
            "paper_joint_p": "The paper's joint p-value, which is invalid and decides nothing.",
            "next_100_gain": "What the next 100 labels take off the fitted NLL, in nats.",
            "next_extrapolated": "Whether that lies beyond the largest budget tried.",
        }
    )

    @property
    def extrapolates(self) -> bool:
        """Whether the next labels after ``have`` lie beyond the largest budget."""
        return bool(self.have + NEXT > self.labels[-1])

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the panels: ``top-5``, ..., ``all 65``; ``all 65 by joint`` before them."""
        everyone = f"all {self.n_judges:,}"
        first = 0 if self.beside is None else 1
        second = [f"{everyone} by {name.replace('_', '-')}" for name in (self.beside,) if name]
        return (*second, *(arm_name(int(k)) for k in self.panels[first:-1]), everyone)

    def aggregator_of(self, panel: int) -> str:
        """The aggregator of a panel by its position."""
        return self.aggregator if self.beside is None or panel else self.beside

    def row(self, calibrator: str) -> int:
        """Position of a calibrator in the arrays."""
        return self.calibrators.index(calibrator)

    def verdict(self, c: int, panel: int, budget: int) -> Verdict:
        """What the pointwise interval of ``delta`` decides, against 2 % of NLL(all) there."""
        lo, hi = self.delta_lo[c, panel, budget], self.delta_hi[c, panel, budget]
        margin = MARGIN * float(self.nll[c, -1, budget])
        same = bool(lo == hi == self.delta[c, panel, budget] == 0.0)
        return verdict(float(lo), float(hi), margin, identical=same)

    def decided(self, c: int, panel: int, budget: int) -> str:
        """The verdict in words that fit the panel: two aggregators keep all judges both."""
        result = self.verdict(c, panel, budget)
        return result if self.aggregator_of(panel) == self.aggregator else _BETWEEN[result]

    def fitted(self, c: int, panel: int, n: float | Floats) -> Floats:
        """The fitted learning curve at ``n`` labels; NaN where there is none."""
        ratio = np.asarray(n, dtype=np.float64) / self.labels[-1]
        power = ratio ** -self.curve_c[c, panel]
        return np.asarray(self.curve_a[c, panel] + self.curve_b[c, panel] * power)

    def needed_for(self, calibrator: str, panel: str, kind: str = "plateau") -> LabelsNeeded | None:
        """How many labels one panel needs, if that was asked and can be said."""
        for need in self.needed:
            if (need.calibrator, need.panel, need.kind) == (calibrator, panel, kind):
                return need
        return None

    @property
    def settled(self) -> bool:
        """Whether there are splits enough to quote an estimate of the labels needed."""
        return self.n_splits >= SETTLED_SPLITS

    def quoted(self, needed: LabelsNeeded) -> float:
        """The number of labels to plan with: the estimate, below ``SETTLED_SPLITS`` the upper end.

        NaN where that has no limit.
        """
        return needed.n if self.settled else needed.n_hi

    def frame(self) -> pd.DataFrame:
        """One row per calibrator, panel and budget."""
        n_c, n_p, n_b = self.nll.shape

        def spread(values: Floats, blank: Floats) -> Floats:
            """Differences of the panels; none for all judges."""
            return np.concatenate([values, blank], axis=1).ravel()

        none = np.full((n_c, 1, n_b), np.nan)
        columns: dict[str, Any] = {
            "aggregator": np.tile(
                np.repeat(np.array([self.aggregator_of(p) for p in range(n_p)], dtype=object), n_b),
                n_c,
            ),
            "calibrator": np.repeat(np.array(self.calibrators, dtype=object), n_p * n_b),
            "panel": np.tile(np.repeat(np.array(self.arms, dtype=object), n_b), n_c),
            "k": np.tile(np.repeat(self.panels, n_b), n_c),
            "budget": np.tile(self.budgets, n_c * n_p),
            "labels": np.tile(self.labels, n_c * n_p),
            "n_splits": self.n_splits,
            "nll": self.nll.ravel(),
            "nll_lo": self.nll_lo.ravel(),
            "nll_hi": self.nll_hi.ravel(),
            "null_nll": np.tile(self.null_nll, n_c * n_p),
            "constant_nll": np.repeat(self.constant_nll, n_p, axis=0).ravel(),
        }
        columns["skill"] = 1.0 - columns["nll"] / columns["null_nll"]
        for name in ("delta", "delta_lo", "delta_hi", "band_lo", "band_hi"):
            columns[name] = spread(getattr(self, name), none)
        columns["verdict"] = [
            self.decided(c, p, b) if p < n_p - 1 else "reference"
            for c in range(n_c)
            for p in range(n_p)
            for b in range(n_b)
        ]
        for name, test in (
            ("joint_p", self.joint_p),
            ("paper_joint_t", self.paper_t),
            ("paper_joint_p", self.paper_p),
        ):
            columns[name] = np.repeat(spread(test, none[:, :, 0]), n_b)
        for name in ("gain", "gain_lo", "gain_hi"):
            columns[f"next_{NEXT}_{name}"] = getattr(self, name)[:, :, :-1].ravel()
        columns["next_extrapolated"] = columns["labels"] + NEXT > self.labels[-1]
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """Labels needed, the joint tests, the fitted curves and what was run."""
        cells = [
            (c, p, name, arm)
            for c, name in enumerate(self.calibrators)
            for p, arm in enumerate(self.arms)
        ]
        return {
            "needed": [
                {**to_plain(need), "quoted": _plain(self.quoted(need))} for need in self.needed
            ],
            "joint": [
                {
                    "calibrator": name,
                    "panel": arm,
                    "p": _plain(self.joint_p[c, p]),
                    "paper_p": _plain(self.paper_p[c, p]),
                    "paper_t": _plain(self.paper_t[c, p]),
                    "paper_critical": _plain(self.paper_critical[c, p]),
                    "paper_note": PAPER_NOTE,
                }
                for c, p, name, arm in cells
                if p < len(self.panels) - 1
            ],
            "curves": [
                {
                    "calibrator": name,
                    "panel": arm,
                    "a": _plain(self.curve_a[c, p]),
                    "b": _plain(self.curve_b[c, p]),
                    "c": _plain(self.curve_c[c, p]),
                    "scale": float(self.labels[-1]),
                }
                for c, p, name, arm in cells
            ],
            "next": [
                {
                    "calibrator": name,
                    "panel": arm,
                    "from": float(self.next_from[-1]),
                    "more": NEXT,
                    "gain": _plain(self.gain[c, p, -1]),
                    "gain_lo": _plain(self.gain_lo[c, p, -1]),
                    "gain_hi": _plain(self.gain_hi[c, p, -1]),
                    "extrapolated": self.extrapolates,
                }
                for c, p, name, arm in cells
            ],
            "within": self.within,
            "target": self.target,
            "have": self.have,
            "beside": self.beside,
            "budgets": self.budgets.tolist(),
            "null_nll": self.null_nll.tolist(),
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "n_evaluation": self.n_evaluation,
            "partial": self.partial,
        }


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
