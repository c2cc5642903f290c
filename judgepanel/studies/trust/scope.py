"""Scope: is the recommendation safe here? Four checks P0 to P3 on labelled items.

The default keeps every judge, sums their votes with one aggregator and calibrates. P0, P1 and the
tests of P3 use all labelled items at once. Quantities based on NLL (the curve of P2, the arms of
P3) are scored on the evaluation rows of random splits, with everything fitted on the others.

Cost per split: one evaluation of the curve, or one recommendation for each of its sizes; in
``COMPARED_SPLITS`` of them also up to two fits per aggregator, where joint costs many times as much
as the curve. If there are more splits, those are not in the first chunk, so that a first result
appears early.

Result of :data:`SCOPE`: four checks, their figures, and the judges that a filter would drop.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrated import SplitScores
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.kernels.prefixes import rank
from judgepanel.scoring.inference import MARGIN
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, tally
from judgepanel.studies.codec import to_plain
from judgepanel.studies.common import recipe_of, replaced_fits, run_warnings, splits_of
from judgepanel.studies.contract import (
    CHUNK_SPLITS,
    Chunk,
    Deciding,
    Prepared,
    Study,
    inside,
    prepare,
    steady,
)
from judgepanel.studies.options import StudySpec, check_each_once, option
from judgepanel.studies.panel.recommended import (
    AVERAGE,
    PanelAggregator,
    all_judges,
    check_panel_aggregators,
    scored_average,
)
from judgepanel.studies.results import SplitResult, flat_row, frozen
from judgepanel.studies.trust.missingness import (
    Missingness,
    SwitchArm,
    can_leave_out,
    check_compatibility,
    missingness,
    partly_missing,
    switch_arms,
)
from judgepanel.studies.trust.parse import check_parse_rate
from judgepanel.studies.trust.saturation import (
    FEWEST_JUDGES,
    Saturation,
    check_saturation,
    curve_sizes,
    saturation,
)
from judgepanel.studies.understand.judge_table import drop_reason, legible, to_drop
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import Check, check_orientation

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


COMPARED_SPLITS = 20


@dataclass(frozen=True, slots=True)
class ScopeSpec(StudySpec):
    """Options of the checks; ``others`` are the alternative aggregators of P3.

    Raises
    ------
    InputError
        An unknown name, or one given twice; the average under the paper's protocol.
    """

    aggregator: PanelAggregator = option(
        "one_coin", "the aggregator in use; average: the recommended panel"
    )
    calibrator: Calibrator = option("beta", "the calibrator of all arms but the average")
    others: tuple[Aggregator, ...] = option(
        ("dawid_skene", "joint"), "aggregators to compare it with", noun="aggregator"
    )

    def __post_init__(self) -> None:
        StudySpec.__post_init__(self)
        check_panel_aggregators((self.aggregator,), self.settings)
        if self.others:
            check_each_once("the comparison", "aggregator", AGGREGATORS, self.others)

    @property
    def compared(self) -> tuple[PanelAggregator, ...]:
        """The aggregator in use, followed by the others."""
        return (self.aggregator, *(name for name in self.others if name != self.aggregator))

    def recipe(self, aggregator: Aggregator) -> Recipe:
        """Return how every panel under this aggregator is built."""
        return recipe_of(self.settings, aggregator, (self.calibrator,), "accuracy")


@frozen
class ScopeTally:
    """Scores of the splits: the curve of all splits, and the compared arms of some."""

    curve: Tally
    arms: Tally | None


def run_chunk(votes: VoteMatrix, spec: ScopeSpec, chunk: Chunk) -> ScopeTally:
    """Score the curve on the splits of a chunk, and the arms on those that compare aggregators."""
    prepared = prepare(votes, spec.settings)
    ballots, seed = prepared.ballots, spec.settings.seed
    sizes = curve_sizes(ballots.n_judges)
    splits = list(splits_of(prepared, spec.settings, chunk))
    curve = tally(
        ((split, Arms.of(_curve(ballots, split, sizes, spec))) for split in splits),
        n_items=ballots.n_items,
        seed=seed,
    )
    chosen = compared_splits(spec.settings.most_splits)
    some = [split for split in splits if split.number in chosen]
    if not some:
        return ScopeTally(curve, None)
    arms = tally(_compared(prepared, spec, some), n_items=ballots.n_items, seed=seed)
    return ScopeTally(curve, arms)


def _curve(ballots: Ballots, split: Split, sizes: Ints, spec: ScopeSpec) -> list[SplitScores]:
    """Scores of the best judges of every size; the average is recommended again from them."""
    if spec.aggregator != AVERAGE:
        return [evaluate_split(ballots, split, sizes, spec.recipe(spec.aggregator))]
    place = np.argsort(rank(ballots, split.calibration, "accuracy"))
    return [
        scored_average(ballots.of_judges(place < size), split, spec.settings.seed) for size in sizes
    ]


def compared_splits(n_splits: int) -> range:
    """Return splits that compare aggregators: ``COMPARED_SPLITS`` after the first chunk, if any."""
    first = min(CHUNK_SPLITS, max(0, n_splits - COMPARED_SPLITS))
    return range(first, min(first + COMPARED_SPLITS, n_splits))


def _compared(
    prepared: Prepared, spec: ScopeSpec, splits: list[Split]
) -> Iterator[tuple[Split, Arms]]:
    """Yield all aggregators with all judges, then (if any) without the partly missing ones."""
    ballots = prepared.ballots
    panels = [ballots]
    partly = partly_missing(legible(ballots, limits=False).covered)
    if can_leave_out(partly):
        panels.append(ballots.of_judges(~partly))
    for split in splits:
        scores = [
            all_judges(panel, split, name, spec.calibrator, spec.settings)
            for panel in panels
            for name in spec.compared
        ]
        yield split, Arms.of(scores)


def merge(votes: VoteMatrix, spec: ScopeSpec, partial: ScopeTally) -> Scope:
    """Return all four checks from the splits so far."""
    prepared = prepare(votes, spec.settings)
    ballots, names = prepared.ballots, prepared.judges
    curve, arms = partial.curve, partial.arms
    legibility, own = legible(ballots), spec.settings.judges
    missing = missingness(prepared)
    partly = prepared.named(partly_missing(legibility.covered))
    line = saturation(curve, ballots.units, curve_sizes(ballots.n_judges))
    switch = (
        () if arms is None else switch_arms(arms, ballots.units, spec.compared, spec.settings.seed)
    )
    drop = to_drop(legibility, spec.aggregator)
    if drop.all():
        drop = np.zeros_like(drop)
    return Scope.from_splits(
        prepared,
        spec,
        curve,
        checks=(
            check_orientation(votes if own is None else votes.with_judges(own)),
            check_parse_rate(legibility, names, spec.aggregator, prepared.oriented.aside),
            check_saturation(line, ballots.n_items),
            check_compatibility(switch, missing, partly, n_judges=len(names)),
        ),
        judges=names,
        parsed=legibility.parsed,
        tied=legibility.tied / max(legibility.n_items, 1),
        accuracy=legibility.accuracy,
        p_below=legibility.p_below,
        below=legibility.below,
        wald_below=legibility.wald_below,
        sparse=legibility.sparse,
        saturation=line if ballots.n_judges >= FEWEST_JUDGES else None,
        missing=missing,
        switch=switch,
        partly=partly,
        suggested=tuple(
            Dropped(names[j], drop_reason(legibility, j)) for j in np.flatnonzero(drop).tolist()
        ),
        n_compared=0 if arms is None else len(arms.numbers),
        warnings=_warnings(prepared, spec, curve, missing.left_out),
    )


def _warnings(
    prepared: Prepared, spec: ScopeSpec, curve: Tally, left_out: tuple[str, ...]
) -> tuple[str, ...]:
    missing = prepared.ballots.votes.size and (prepared.ballots.votes == 0).any()
    return run_warnings(
        prepared,
        curve,
        *(left_out if missing else ()),
        *replaced_fits((spec.calibrator,), curve),
    )


def _deciding(result: Scope) -> Deciding:
    line = result.saturation
    if line is not None:
        yield from inside(line.delta[line.last], line.margin)
        yield from ((line.delta[line.half], line.margin), (line.delta[line.fifth], 0.0))
    for arm in result.switch:
        yield arm.switch, MARGIN * float(result.switch[0].nll.value)
        yield arm.partly, MARGIN * float(arm.nll.value)


_decided = steady(merge, _deciding)


def _settled(votes: VoteMatrix, spec: ScopeSpec, partial: ScopeTally) -> bool:
    """Whether no check could change; not before all splits that compare aggregators are in."""
    compared = compared_splits(spec.settings.most_splits)
    return len(partial.curve.numbers) >= compared.stop and _decided(votes, spec, partial)


SCOPE: Study[ScopeSpec, ScopeTally, Scope] = Study(
    name="scope",
    title="Scope",
    question="Is the recommendation safe here?",
    run_chunk=run_chunk,
    merge=merge,
    first=2,
    settled=_settled,
)
