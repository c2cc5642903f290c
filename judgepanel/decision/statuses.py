"""The status of each judge by the study ``value``: helps, could go, fails a check, or unsettled.

The status is about a judge's contribution to the panel of all judges; which judges are in the panel
is the recommendation's decision (:mod:`decision.recommend`), and it may keep a judge that could go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels import aggregation, ballots, joint, redundancy
from judgepanel.scoring import inference, interval
from judgepanel.studies.contract import Prepared, prepare
from judgepanel.studies.decide.value import JudgeValue, Value, ValueSpec
from judgepanel.studies.understand.judge_table import drop_reason, legible, to_drop
from judgepanel.votes import VoteMatrix
from judgepanel.votes.matrix import cached

Status = Literal["helps", "could go", "fails a check", "unsettled"]
STATUSES: tuple[Status, ...] = get_args(Status)
NO_FAILURES: Mapping[str, str] = {}
MOST_LABELS = 20
"""Multiple of the available labels above which no number is given: the value is practically 0."""


@dataclass(frozen=True, slots=True)
class JudgeStatus:
    """A judge's status and one sentence with the reason.

    ``labels`` is the number of labelled items that would settle an unsettled judge, with the same
    number calibrating as now; None for other judges, and if no number can be given.
    """

    judge: str
    status: Status
    reason: str
    labels: int | None


def statuses(result: Value, failures: Mapping[str, str] = NO_FAILURES) -> tuple[JudgeStatus, ...]:
    """Return the status of every judge of a result, then of judges that only the checks cover.

    ``failures`` maps judges that fail scope check P0 or P1 to the reason (see :func:`failures_of`).
    In this order: such a judge fails a check; one whose value is shown to be above 0 helps; one
    whose value is shown to be below 0 could go; so could those that can go together without loss;
    one whose Shapley value is shown to be above 0 helps; all others are unsettled.
    """
    known = {judge.judge for judge in result.judges}
    rows = [_status(judge, result, failures.get(judge.judge)) for judge in result.judges]
    rows += [_failed(name, why) for name, why in failures.items() if name not in known]
    return tuple(rows)


def statuses_of(votes: VoteMatrix, spec: ValueSpec, result: Value) -> tuple[JudgeStatus, ...]:
    """Return the status of every judge, including those that fail the checks."""
    return statuses(result, failures_of(prepare(votes, spec.settings), spec.aggregator))


def failures_of(prepared: Prepared, aggregator: aggregation.Aggregator) -> dict[str, str]:
    """Return judges that fail P0 or P1 on all labelled items, and the reason.

    They were set aside, have too few verdicts or a constant verdict, or, if the aggregator cannot
    reverse votes, are below chance.
    """
    legibility = legible(prepared.ballots, limits=False)
    dropped = to_drop(legibility, aggregator)
    failed = {
        name: drop_reason(legibility, j) for j, name in enumerate(prepared.judges) if dropped[j]
    }
    return failed | {name: f"{why}, so it is set aside" for name, why in prepared.oriented.aside}


def _status(judge: JudgeValue, result: Value, failure: str | None) -> JudgeStatus:
    if failure is not None:
        return _failed(judge.judge, failure)
    value = _nats(judge.value)
    if judge.value.above():
        return JudgeStatus(judge.judge, "helps", f"Without it NLL rises by {value}.", None)
    if judge.value.below():
        alone = "" if judge.droppable else " That is for it alone, with all others in the panel."
        return JudgeStatus(judge.judge, "could go", f"NLL falls without it: {value}.{alone}", None)
    if judge.droppable:
        return JudgeStatus(judge.judge, "could go", _together(result), None)
    if judge.shapley.above():
        gain = _nats(judge.shapley)
        reason = (
            f"Averaged over panels of all sizes it saves NLL {gain}, though others may stand in "
            f"for it in the full panel ({value})."
        )
        return JudgeStatus(judge.judge, "helps", reason, None)
    return _unsettled(judge, result, value)


def _unsettled(judge: JudgeValue, result: Value, value: str) -> JudgeStatus:
    """Unsettled, with the number of labels at which the interval's reach equals |value|."""
    if not math.isfinite(judge.value.lo):
        return JudgeStatus(judge.judge, "unsettled", "Not enough splits yet to say.", None)
    alone, reach = float(judge.value.value), float(judge.value.hi - judge.value.lo) / 2.0
    needed = inference.labels_to_settle(alone, reach, 0.0, result.n_items)
    most = MOST_LABELS * result.n_items
    labels = needed if alone != 0.0 and needed <= most else None
    settled = f"more than {most:,} labelled items would be needed"
    if labels is not None:
        settled = f"about {labels:,} labelled items would settle it if its value stays what it is"
    reason = f"Its value is not settled ({value}); {settled}."
    if judge.value.hi <= result.margin:
        reason = (
            f"Alone it is hardly missed ({value}), but that it can go together with the others "
            f"that are worth least is not shown; {settled}."
        )
    elif judge.value.lo >= -result.margin:
        reason = (
            f"Keeping it costs no more than 2 % of NLL ({value}), but that it helps is not "
            f"shown; {settled}."
        )
    return JudgeStatus(judge.judge, "unsettled", reason, labels)


def _failed(judge: str, why: str) -> JudgeStatus:
    return JudgeStatus(judge, "fails a check", f"It fails the checks: {why}.", None)


def _together(result: Value) -> str:
    row = next(row for row in result.removal if row.m == result.droppable)
    change = _nats(row.delta)
    if row.m == 1:
        return (
            f"It is worth least, and no loss above 2 % is seen without it: NLL changes by {change}."
        )
    return (
        f"It is one of the {row.m} judges worth least, and no loss above 2 % is seen without all "
        f"of them: NLL changes by {change}."
    )


def _nats(estimate: interval.Interval) -> str:
    value, lo, hi = estimate
    return f"{value:+z.4f} [{lo:+z.4f}, {hi:+z.4f}]"


MISSES = 0.2
"""Share of the items without a verdict, above the median judge's, from which on a reason names it.
"""
CARRIES = 0.5
"""Share of the largest worth from which on a judge carries the panel."""


def reasons_of(
    votes: VoteMatrix,
    weights: Mapping[str, float],
    rows: Sequence[JudgeStatus] = (),
    worth: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, str]:
    """Return in a few words what each judge of the votes does for the panel.

    ``weights`` are those of the panel's judges; a judge without one is not in the panel. ``rows``
    and ``worth`` (nats) are known once the study ``value`` has run. Near-copies and shared errors
    are those of all labelled items; they are not looked for among more than ``MOST_JUDGES`` judges.
    """
    errors = _errors(votes)
    status = {row.judge: row for row in rows}
    most = max((worth.get(name, 0.0) for name in weights), default=0.0)
    heaviest = max((abs(weight) for weight in weights.values()), default=0.0)
    place = {name: column for column, name in enumerate(votes.judges)}
    usual = float(np.median(errors.missing))
    in_panel = np.array([place[name] for name, w in weights.items() if w > 0.0], dtype=np.int64)

    def reason(name: str) -> str:
        column, row, weight = place[name], status.get(name), weights.get(name, 0.0)
        stands = "" if row is None else row.status
        failure = "" if row is None else row.reason.removeprefix("It fails the checks: ")
        copied = () if errors.alike is None else in_panel[errors.alike[column, in_panel]]
        original = next((votes.judges[other] for other in copied), "")
        carries = worth.get(name, 0.0) >= CARRIES * most
        first = (
            (stands == "fails a check", failure.rstrip(".")),
            (len(copied) > 0, f"nearly a copy of {original}"),
            (name not in weights, "not needed beside the panel"),
            (weight < 0.0, turned(column)),
            (stands == "could go", "adds little: could go at no loss that is shown"),
            (stands == "helps", "carries the panel" if carries else "helps"),
            (stands == "unsettled", "may help: too few labels to say"),
            (weight >= CARRIES * heaviest, "counts for much"),
        )
        return next((words for holds, words in first if holds), "counts for little")

    def turned(column: int) -> str:
        if errors.right[column] < -2.0 * math.sqrt(errors.voted[column]):
            return "reversed: wrong more often than right"
        if errors.shared is None or not len(in_panel):
            return "reversed"
        partner = in_panel[np.argmax(errors.shared[column, in_panel])]
        return f"reversed: corrects {votes.judges[partner]}"

    def with_gaps(name: str) -> str:
        share = float(errors.missing[place[name]])
        if name in status and status[name].status == "fails a check":
            return reason(name)  # Which names them, if it fails by them.
        gaps = f"; {100 * share:.0f} % missing" if share >= MISSES + usual else ""
        return reason(name) + gaps

    return {name: with_gaps(name) for name in votes.judges}


@dataclass(frozen=True, slots=True, eq=False)
class _Errors:
    """Of each judge (k,) on labelled items: share missing, number of votes, right less wrong votes.

    ``alike`` (k, k) marks near-copies and ``shared`` (k, k) holds correlations of errors; None
    where they were not looked for.
    """

    missing: Floats
    voted: Ints
    right: Floats
    alike: Bools | None
    shared: Floats | None


@cached(4)
def _errors(votes: VoteMatrix) -> _Errors:
    given = ballots.signs_of(votes.votes[votes.labelled])
    signs = (2 * votes.labels[votes.labelled] - 1).astype(np.int8)
    voted = np.count_nonzero(given, axis=0)
    right = (given * signs[:, None]).sum(axis=0, dtype=np.float64)
    alike = shared = None
    if votes.n_judges <= joint.MOST_JUDGES and len(signs):
        alike = joint.copies(given, signs)
        shared = redundancy.error_correlation(redundancy.error_counts(given, signs)).value
    return _Errors(1.0 - voted / max(len(given), 1), voted, right, alike, shared)
