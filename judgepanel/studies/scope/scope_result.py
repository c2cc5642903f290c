"""Result of :data:`SCOPE`: four checks, their figures, and the judges that a filter would drop."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Floats
from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.results import SplitResult, flat_row
from judgepanel.studies.scope.compatibility import SwitchArm
from judgepanel.studies.scope.missingness import Missingness
from judgepanel.studies.scope.saturation import Saturation
from judgepanel.votes.checks import Check

_Row = tuple[str, str, str, Interval, float, str]
_UNKNOWN = Interval.full((), math.nan, "")


@dataclass(frozen=True, slots=True)
class Dropped:
    """A judge that the filter drops, and the reason in a few words."""

    judge: str
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Scope(SplitResult):
    """Result of :data:`SCOPE`.

    ``checks`` are P0 to P3 in order. ``judges`` name the arrays of P1, (n_judges,): ``parsed`` is
    the share of labelled items with a verdict, ``tied`` the share with a coded tie (a verdict, but
    not a vote), ``accuracy`` that of right verdicts with a Clopper-Pearson 95 % interval,
    ``p_below`` Holm's p-value of accuracy >= .5 (both by groups if there are any), ``below`` and
    ``wald_below`` the results of our rule and of the paper's. ``saturation`` is P2's curve (None
    below five judges), ``missing`` and ``switch`` are P3's tests and arms, the first arm being the
    aggregator in use; ``partly`` are the judges that miss at least 5 % of the items, which the arms
    without them leave out if two others remain. ``suggested`` is the filter.
    """

    checks: tuple[Check, ...]
    judges: tuple[str, ...]
    parsed: Floats
    tied: Floats
    accuracy: Interval
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
            "quantity": "Name of the figure.",
            "value": "The figure, in the unit of its quantity.",
            "lo": "Lower end of its interval.",
            "hi": "Upper end of its interval.",
            "p": "p-value of the figure.",
            "flag": "What the figure shows, such as 'below chance'.",
        }
    )

    @property
    def n_judges(self) -> int:
        """Number of participating judges."""
        return len(self.judges)

    def check(self, code: str) -> Check:
        """Return the check with this code."""
        (match,) = (entry for entry in self.checks if entry.code == code)
        return match

    def counted(self, outcome: str) -> int:
        """Return the number of checks with this outcome."""
        return sum(entry.outcome == outcome for entry in self.checks)

    def frame(self) -> pd.DataFrame:
        """Return one row per figure.

        The columns are check, its outcome, subject, quantity, value, lower, upper, p, flag.
        """
        rows = [*self._judge_rows(), *self._curve_rows(), *self._arm_rows(), *self._test_rows()]
        with_rows = {row[0] for row in rows}
        rows += [
            (entry.code, "all", "outcome", _UNKNOWN, math.nan, "")
            for entry in self.checks
            if entry.code not in with_rows
        ]
        outcomes = {entry.code: entry.outcome for entry in self.checks}
        return pd.DataFrame(
            {
                "check": code,
                "outcome": outcomes[code],
                "subject": subject,
                "quantity": quantity,
                **dict(zip(("value", "lo", "hi"), map(float, figure), strict=True)),
                "p": p,
                "flag": flag,
                "null_nll": self.null_nll,
                "n_splits": self.n_splits,
            }
            for code, subject, quantity, figure, p, flag in sorted(rows, key=itemgetter(0))
        )

    def _judge_rows(self) -> Iterator[_Row]:
        for j, judge in enumerate(self.judges):
            yield "P1", judge, "parse rate", _alone(self.parsed[j]), math.nan, ""
            if self.tied[j]:
                yield "P1", judge, "tie rate", _alone(self.tied[j]), math.nan, ""
            flag = "below chance" if self.below[j] else ""
            yield "P1", judge, "accuracy", self.accuracy[j], float(self.p_below[j]), flag

    def _curve_rows(self) -> Iterator[_Row]:
        curve = self.saturation
        if curve is None:
            return
        for i, k in enumerate(curve.sizes):
            name, p = f"best {k}", float(curve.p[i])
            yield "P2", name, "NLL", curve.nll[i], math.nan, ""
            yield "P2", name, "NLL(all) - NLL(kept), 90 %", curve.delta[i], p, curve.outcome[i]

    def _arm_rows(self) -> Iterator[_Row]:
        for arm in self.switch:
            name, pays = arm.aggregator, "pays" if arm.pays else ""
            yield "P3", name, "NLL", arm.nll, math.nan, ""
            yield "P3", name, "switch to it", arm.switch, math.nan, pays
            if np.isfinite(arm.partly.value):
                yield "P3", name, "without", arm.partly, math.nan, arm.partly_verdict

    def _test_rows(self) -> Iterator[_Row]:
        for test in self.missing.tests:
            what = " ".join(filter(None, (test.kind, test.feature, test.level)))
            flag = "related" if test.related else ""
            gap = _alone(test.inside - test.outside)
            yield "P3", test.judge or "all", f"missing by {what}", gap, test.p_adjusted, flag

    def decisions(self) -> dict[str, Any]:
        """Return the checks, the filter and the aggregators."""
        return {
            "checks": to_plain(self.checks),
            "passed": self.counted("pass"),
            "suggested": to_plain(self.suggested),
            "switch": to_plain([flat_row(arm, nll="") for arm in self.switch]),
            "partly_missing": list(self.partly),
            "missing_tests": self.missing.n_tests,
            "missing_related": self.missing.n_related,
            "n_judges": self.n_judges,
        }


def _alone(value: float) -> Interval:
    """Return a figure without an interval."""
    return replace(_UNKNOWN, value=np.asarray(value))
