"""Result of the claim: every step at every panel size, and whether the reversal appears."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.inference import MARGIN, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.claim.steps import STEPS, Step
from judgepanel.studies.codec import to_plain
from judgepanel.studies.compare import arm_name
from judgepanel.studies.results import SplitResult, long_frame

Outcome = Literal["appears", "points that way", "does not appear", "undecided"]

PAIRS: tuple[tuple[str, str], ...] = (
    ("raw_one_class", "paper"),
    ("raw_honest", "honest_clipped"),
    ("raw_honest", "honest"),
    ("raw_honest", "joint"),
)
"""Raw and calibrated steps between which the reversal is looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Reversal:
    """Do all judges lose to the top k before calibration (step ``raw``) and win after it (step
    ``calibrated``)? Differences are NLL(top-k) - NLL(all), in nats, above 0 where all are better.

    It ``appears`` when the first interval lies below 0 and the second above; it ``does not
    appear`` when the first lies above or the second below. Else it ``points that way`` when the two
    differences do, and is ``undecided`` when they do not.
    """

    raw: str
    calibrated: str
    k: int
    raw_delta: Interval
    delta: Interval

    @property
    def outcome(self) -> Outcome:
        """What the two intervals say."""
        if self.raw_delta.below() and self.delta.above():
            return "appears"
        if self.raw_delta.above() or self.delta.below():
            return "does not appear"
        return "points that way" if self.raw_delta.value < 0.0 < self.delta.value else "undecided"


@dataclass(frozen=True, slots=True, eq=False)
class Claim(SplitResult):
    """Result of :data:`CLAIM`.

    Arrays are (n_steps, n_sizes + 1) in the order of ``steps`` and ``sizes``, all judges last;
    NaN where a step was not tried at a size, as are ends from a single split. NLL is in nats
    per item. ``against_all`` is NLL(top-k) - NLL(all) of the same step and ``change`` the NLL less
    that of the step before (NaN where there is none), each with a 95 % interval for new items.
    ``panels`` are the sizes compared, ``n_judges`` (n_steps,) the judges of the step's coding.
    ``null_nll`` and ``constant_nll`` (n_steps,) are scores of the base rate and of a constant
    through the same calibrator, under the step's own labels. ``falling`` is the share of splits
    whose fitted map has a < 0. ``maps`` (4, 3) are a, b, c of ``MAP_NAMES``.
    """

    steps: tuple[str, ...]
    sizes: Ints
    panels: Ints
    n_judges: Ints
    nll: Interval
    accuracy: Floats
    against_all: Interval
    change: Interval
    null_nll: Floats
    constant_nll: Floats
    falling: Floats
    maps: Floats
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "step": "Step from the paper's protocol to the honest one.",
            "after": "The step that it is compared with.",
            "measures": "What the figures of the step measure.",
            "coding": "How the labels are coded.",
            "input_clipped": "Whether scores are clipped before calibration.",
            "own_label": "Whether an item's own label is seen by its score.",
            "against_all": "NLL of the top k less that of all judges of the step, in nats.",
            "change": "NLL less that of the step before, in nats.",
            "falling": "Share of the splits whose fitted map falls.",
            "null_nll": "NLL of the base rate under the step's own labels.",
            "constant_nll": "NLL of a constant score through the step's calibrator.",
        }
    )

    def row(self, step: str) -> int:
        """Position of a step in the arrays."""
        return self.steps.index(step)

    def has(self, step: str) -> bool:
        """Whether a step was tried."""
        return step in self.steps

    def steps_for(self, coding: str) -> tuple[Step, ...]:
        """The steps under one-class coding, or all others."""
        return tuple(
            STEPS[name]
            for name in self.steps
            if (STEPS[name].coding == "one_class") == (coding == "one_class")
        )

    def columns(self) -> list[int]:
        """Positions of the compared panels, then of all judges."""
        return [int(np.searchsorted(self.sizes, k)) for k in self.panels] + [len(self.sizes)]

    def arm(self, step: str, column: int) -> str:
        """``top-5``, or ``all 148``."""
        if column < len(self.sizes):
            return arm_name(int(self.sizes[column]))
        return f"all {self.n_judges[self.row(step)]:,}"

    def reversal(self, calibrated: str, k: int) -> Reversal | None:
        """The reversal at one panel size, if that was tried."""
        raw = {after: before for before, after in PAIRS}[calibrated]
        if k not in self.panels or not (self.has(raw) and self.has(calibrated)):
            return None
        at = int(np.searchsorted(self.sizes, k))
        before, after = (self.against_all[self.row(step), at] for step in (raw, calibrated))
        return Reversal(raw, calibrated, k, before, after)

    def reversals(self) -> tuple[Reversal, ...]:
        """Every pair of steps at every panel size."""
        reversals = [self.reversal(after, int(k)) for _, after in PAIRS for k in self.panels]
        return tuple(reversal for reversal in reversals if reversal is not None)

    def verdict(self, step: str, column: int) -> str:
        """What the interval of a panel against all judges decides; empty where it cannot."""
        at = self.row(step), column
        if column == len(self.sizes):
            return "reference"
        _, lo, hi = self.against_all[at]
        if not np.isfinite(lo):
            return ""
        margin = MARGIN * float(self.nll.value[self.row(step), -1])
        return verdict(lo, hi, margin, identical=lo == hi == 0.0)

    def frame(self) -> pd.DataFrame:
        """One row per step and panel size that was tried, with what its figures measure."""
        steps = [STEPS[name] for name in self.steps]
        shape = self.nll.shape

        def by_step(name: str) -> Any:
            return np.array([getattr(step, name) for step in steps])[:, None]

        sizes = np.broadcast_to(self.sizes, (len(steps), len(self.sizes)))
        frame = long_frame(
            shape,
            {
                "step": by_step("name"),
                "after": np.array([step.before or "" for step in steps])[:, None],
                "measures": by_step("measures"),
                "coding": by_step("coding"),
                "aggregator": by_step("aggregator"),
                "calibrator": by_step("calibrator"),
                "input_clipped": by_step("clips"),
                "own_label": by_step("own_label"),
                "panel": [*map(arm_name, self.sizes.tolist()), "all"],
                "k": np.column_stack([sizes, self.n_judges]),
                "n_splits": self.n_splits,
                "nll": self.nll,
                "accuracy": self.accuracy,
                "against_all": self.against_all,
                "change": self.change,
                "falling": self.falling,
                "null_nll": self.null_nll[:, None],
                "skill": 1.0 - self.nll.value / self.null_nll[:, None],
                "constant_nll": self.constant_nll[:, None],
                "verdict": [
                    [self.verdict(name, column) for column in range(shape[1])]
                    for name in self.steps
                ],
            },
        )
        return frame.dropna(subset=["nll"]).reset_index(drop=True)

    def decisions(self) -> dict[str, Any]:
        """All judges under every step, and the reversals."""
        ends = ("raw_delta", "raw_lo", "raw_hi", "delta", "lo", "hi")
        return {
            "all_judges": [
                {
                    "step": name,
                    "measures": STEPS[name].measures,
                    "nll": float(self.nll.value[s, -1]),
                    "null_nll": float(self.null_nll[s]),
                    "constant_nll": float(self.constant_nll[s]),
                }
                for s, name in enumerate(self.steps)
            ],
            "reversals": [
                {
                    "raw": reversal.raw,
                    "calibrated": reversal.calibrated,
                    "k": reversal.k,
                    **dict(
                        zip(ends, to_plain((*reversal.raw_delta, *reversal.delta)), strict=True)
                    ),
                    "outcome": reversal.outcome,
                    "measures": STEPS[reversal.calibrated].measures,
                }
                for reversal in self.reversals()
            ],
            "n_judges": int(self.n_judges.max()),
        }
