"""What :data:`SCOPE` finds: four checks, the figures behind them, and whom a filter would drop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.studies.codec import to_plain
from judgepanel.studies.scope.compatibility import SwitchArm
from judgepanel.studies.scope.missingness import Missingness
from judgepanel.studies.scope.saturation import Saturation
from judgepanel.studies.split_result import SplitResult
from judgepanel.votes.checks import Check

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

OUTCOMES = ("pass", "review", "fail", "not applicable")


@dataclass(frozen=True, slots=True)
class Dropped:
    """A judge the filter drops, and why in a few words."""

    judge: str
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Scope(SplitResult):
    """Result of :data:`SCOPE`.

    ``checks`` are P0 to P3 in order. ``judges`` name the arrays of P1, (n_judges,): ``parsed`` is
    the share of labelled items with a verdict, ``tied`` the share with a coded tie (which is a
    verdict, and no vote), ``accuracy`` [``accuracy_lo``, ``accuracy_hi``]
    that of right verdicts with a Clopper-Pearson 95 % interval, ``p_below`` Holm's p-value of
    being no worse than a coin (both by groups where there are any), ``below`` and ``wald_below``
    the verdicts of ours and of the paper's rule. ``saturation`` is P2's curve (None below five
    judges), ``missing`` and ``switch`` are P3's tests and arms, the first arm being the aggregator
    in use; ``partly`` are the judges that miss 5 % of the items or more, whom the arms without them
    leave out where two others remain. ``suggested`` is the
    filter.
    """

    checks: tuple[Check, ...]
    judges: tuple[str, ...]
    parsed: Floats
    tied: Floats
    accuracy: Floats
    accuracy_lo: Floats
    accuracy_hi: Floats
    p_below: Floats
    below: Bools
    wald_below: Bools
    sparse: bool
    saturation: Saturation | None
    missing: Missingness
    switch: tuple[SwitchArm, ...]
    partly: tuple[str, ...]
    suggested: tuple[Dropped, ...]
    aggregator: str
    calibrator: str
    null_nll: float
    constant_nll: float
    n_compared: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "check": "P0 to P3.",
            "outcome": "Outcome of the check.",
            "subject": "Judge, panel or aggregator that the figure is about.",
            "quantity": "What the figure is.",
            "value": "The figure, in the unit of its quantity.",
            "lo": "Lower end of its interval.",
            "hi": "Upper end of its interval.",
            "p": "p-value that goes with it.",
            "flag": "What it says, such as 'below chance'.",
        }
    )

    @property
    def n_judges(self) -> int:
        """Judges that take part."""
        return len(self.judges)

    def check(self, code: str) -> Check:
        """The check of this code."""
        (match,) = (entry for entry in self.checks if entry.code == code)
        return match

    def counted(self, outcome: str) -> int:
        """How many checks came out so."""
        return sum(entry.outcome == outcome for entry in self.checks)

    def frame(self) -> pd.DataFrame:
        """One row per figure: check, its outcome, subject, quantity, value, lower, upper, p,
        flag.
        """
        rows = [*self._judge_rows(), *self._curve_rows(), *self._arm_rows(), *self._test_rows()]
        outcomes = {entry.code: entry.outcome for entry in self.checks}
        for code in outcomes:
            if not any(row["check"] == code for row in rows):
                rows.append(_row(code, "all", "outcome", float("nan")))
        rows.sort(key=lambda row: str(row["check"]))
        for row in rows:
            row["outcome"] = outcomes[str(row["check"])]
            row["null_nll"] = self.null_nll
            row["n_splits"] = self.n_splits
        return pd.DataFrame(rows)

    def _judge_rows(self) -> list[dict[str, Any]]:
        rows = []
        for j, judge in enumerate(self.judges):
            rows.append(_row("P1", judge, "parse rate", float(self.parsed[j])))
            if self.tied[j]:
                rows.append(_row("P1", judge, "tie rate", float(self.tied[j])))
            lo, hi = float(self.accuracy_lo[j]), float(self.accuracy_hi[j])
            flag = "below chance" if self.below[j] else ""
            p = float(self.p_below[j])
            rows.append(_row("P1", judge, "accuracy", float(self.accuracy[j]), lo, hi, p, flag))
        return rows

    def _curve_rows(self) -> list[dict[str, Any]]:
        saturation = self.saturation
        if saturation is None:
            return []
        rows = []
        for i, k in enumerate(saturation.sizes):
            name = f"best {k}"
            nll, lo, hi = (
                float(part[i]) for part in (saturation.nll, saturation.nll_lo, saturation.nll_hi)
            )
            rows.append(_row("P2", name, "NLL", nll, lo, hi))
            gap, lo, hi = (
                float(part[i]) for part in (saturation.delta, saturation.lo, saturation.hi)
            )
            what, p = "NLL(all) - NLL(kept), 90 %", float(saturation.p[i])
            rows.append(_row("P2", name, what, gap, lo, hi, p, saturation.outcome[i]))
        return rows

    def _arm_rows(self) -> list[dict[str, Any]]:
        rows = []
        nan = float("nan")
        for arm in self.switch:
            rows.append(_row("P3", arm.aggregator, "NLL", arm.nll, arm.lo, arm.hi))
            pays = "pays" if arm.pays else ""
            gap = (arm.switch, arm.switch_lo, arm.switch_hi)
            rows.append(_row("P3", arm.aggregator, "switch to it", *gap, nan, pays))
            gap = (arm.partly, arm.partly_lo, arm.partly_hi)
            decided = arm.partly_verdict
            if np.isfinite(arm.partly):
                rows.append(_row("P3", arm.aggregator, "without", *gap, nan, decided))
        return rows

    def _test_rows(self) -> list[dict[str, Any]]:
        rows = []
        for test in self.missing.tests:
            what = " ".join(filter(None, (test.kind, test.feature, test.level)))
            flag = "related" if test.related else ""
            gap = (test.inside - test.outside, float("nan"), float("nan"), test.p_adjusted)
            rows.append(_row("P3", test.judge or "all", f"missing by {what}", *gap, flag))
        return rows

    def summary(self) -> dict[str, Any]:
        """The checks, the filter and what was run."""
        return {
            "checks": [to_plain(entry) for entry in self.checks],
            "passed": self.counted("pass"),
            "suggested": [to_plain(dropped) for dropped in self.suggested],
            "switch": [to_plain(switch_arm) for switch_arm in self.switch],
            "partly_missing": list(self.partly),
            "missing_tests": self.missing.n_tests,
            "missing_related": self.missing.n_related,
            "aggregator": self.aggregator,
            "calibrator": self.calibrator,
            "null_nll": self.null_nll,
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "n_compared": self.n_compared,
            "partial": self.partial,
        }


def _row(
    check: str,
    subject: str,
    quantity: str,
    value: float,
    lo: float = float("nan"),
    hi: float = float("nan"),
    p: float = float("nan"),
    flag: str = "",
) -> dict[str, Any]:
    return {
        "check": check,
        "outcome": "",
        "subject": subject,
        "quantity": quantity,
        "value": value,
        "lo": lo,
        "hi": hi,
        "p": p,
        "flag": flag,
    }
