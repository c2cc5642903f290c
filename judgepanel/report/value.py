"""What judges are worth, in words and tables for people."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.decision.statuses import JudgeStatus, statuses
from judgepanel.report.numbers import counted, fixed, interval, percent, with_interval
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.report.terminal import one_line
from judgepanel.scoring.inference import MARGIN
from judgepanel.studies.value.value_result import Copied, JudgeValue, Value
from judgepanel.votes.errors import listed

_NAMED = 6
_SHOWN = 10


def value_sentence(found: Value) -> str:
    """How many judges are shown to be worth having, and how many can go."""
    text = _answer(found)
    return f"{text} {CODING}" if found.measures_coding else text


def _answer(found: Value) -> str:
    if found.nll_all_lo >= found.null_nll:
        return (
            f"All judges together do not beat the base rate (NLL {fixed(found.null_nll, 3)}), so "
            "what each is worth to them says little."
        )
    if not math.isfinite(found.judges[0].lo):
        return "Not enough splits yet to say."
    needed = sum(one.lo > 0.0 for one in found.judges)
    helps = sum(one.lo > 0.0 or one.shapley_lo > 0.0 for one in found.judges)
    text = (
        f"Of {counted(found.n_judges, 'judge')} under {AGGREGATOR_NAMES[found.aggregator]}, "
        f"{needed} {'is' if needed == 1 else 'are'} shown to be missed when left out alone, and "
        f"{helps} to help either then or on average over panels of all sizes."
    )
    return f"{text} {removal_sentence(found)}"


def removal_sentence(found: Value) -> str:
    """How many judges can go together without loss, and what happens beyond."""
    if not found.removal:
        return "With one judge there is nobody to let go."
    limit = f"{percent(MARGIN)} of NLL"
    if not math.isfinite(found.removal[0].band_lo):
        return "Not enough splits yet to say how many can go."
    if found.droppable == 0:
        text = f"That any can go without losing more than {limit} is not shown."
    else:
        row = next(row for row in found.removal if row.m == found.droppable)
        change = with_interval(row.delta, row.lo, row.hi, sign=True)
        who = "the judge" if row.m == 1 else f"the {row.m} judges"
        text = f"Without {who} worth least no loss above {limit} is seen: {change}."
    lost = next((row for row in found.removal if row.band_lo > found.margin), None)
    if lost is not None:
        change = with_interval(lost.delta, lost.band_lo, lost.band_hi, sign=True)
        text += f" Without {lost.m} NLL is worse: {change}."
    return text


def droppable_sentence(found: Value) -> str:
    """Who they are; empty where nobody can go or the ranking is still to come."""
    if not found.droppable_judges:
        return ""
    return (
        f"Worth least on all labelled items, least first: {listed(found.droppable_judges, _NAMED)}."
    )


def shapley_sentence(found: Value) -> str:
    """Under what Shapley values were taken."""
    same = found.shapley_aggregator == found.aggregator
    how = f"{AGGREGATOR_NAMES[found.shapley_aggregator]}, {CALIBRATED[found.shapley_calibrator]}"
    text = (
        f"Shapley values are means over {found.permutations} orders a split and add up to what all "
        f"judges save: NLL {fixed(found.null_nll, 3)} to {fixed(found.shapley_nll, 3)}"
    )
    if same:
        return f"{text}."
    return (
        f"{text}. Panels of all sizes are compared under {how}, since refitting "
        f"{AGGREGATOR_NAMES[found.aggregator]} thousands of times would be too slow."
    )


def copies_sentence(found: Value) -> str:
    """Whether copies of a judge move the panel; empty where nobody was copied."""
    if not found.copies or not math.isfinite(found.copies[0].lo):
        return ""
    worse = [one for one in found.copies if one.lo > found.margin]
    unmoved = [one for one in found.copies if -found.margin < one.lo and one.hi < found.margin]
    how = f"{AGGREGATOR_NAMES[found.aggregator]}, {CALIBRATED[found.calibrator]}"
    if worse:
        one = max(worse, key=lambda row: row.delta)
        return f"Copies are counted again under {how}: {_copied(one)}."
    if len(unmoved) == len(found.copies):
        return f"Copies hardly move the panel under {how}: at the most, {_copied(_most(found))}."
    return f"Whether copies move the panel under {how} is not settled: {_copied(_most(found))}."


def _most(found: Value) -> Copied:
    return max(found.copies, key=lambda one: abs(one.delta))


def _copied(one: Copied) -> str:
    change = with_interval(one.delta, one.lo, one.hi, sign=True)
    name = one_line(one.judge)
    return f"{one.times} more of {name} ({one.why}) change NLL by {change}"


def roles_sentence(found: Value) -> str:
    """How many judges have each role."""
    count = {role: sum(one.role == role for one in found.judges) for role in _ROLES}
    parts = [f"{n} {_ROLES[role][n != 1]}" for role, n in count.items() if n]
    return f"Roles: {', '.join(parts)}." if parts else "No judge has a role of its own."


_ROLES = {
    "copy": ("copy of another", "copies of others"),
    "specialist": ("specialist", "specialists"),
    "complement": ("complement", "complements"),
}


def role_sentence(one: JudgeValue) -> str:
    """One judge's role and what shows it."""
    value = with_interval(one.value, one.lo, one.hi, sign=True)
    if one.role == "copy":
        near = f"{fixed(one.correlation, 2)} {interval(one.correlation_lo, one.correlation_hi)}"
        return f"Copy: its errors correlate {near} with those of {one_line(one.nearest)}."
    if one.role == "specialist":
        gap = with_interval(one.slice_gap, one.slice_lo, one.slice_hi, sign=True)
        return f"Specialist: worth {gap} NLL more on {one_line(one.slice)} than elsewhere."
    if one.role == "complement":
        return f"Complement: the others do not make up for it; without it NLL changes by {value}."
    return f"Ordinary: without it NLL changes by {value}."


def status_table(found: Value, status: tuple[JudgeStatus, ...] | None = None) -> pd.DataFrame:
    """Every judge by value, the most valuable first; then those that only the checks know.

    ``status`` are those of :func:`judgepanel.decision.statuses.statuses`, by default without
    checks.
    """
    given = statuses(found) if status is None else status
    values = {one.judge: one for one in found.judges}
    known = [one for one in given if one.judge in values]
    ranked = sorted(known, key=lambda one: -values[one.judge].value)
    rows = [_row(values[one.judge], one) for one in ranked]
    rows += [
        {
            "judge": one_line(one.judge),
            "status": one.status,
            "value": "",
            "Shapley": "",
            "role": "",
            "why": one.reason,
        }
        for one in given
        if one.judge not in values
    ]
    return pd.DataFrame(rows)


def _row(one: JudgeValue, status: JudgeStatus) -> dict[str, str]:
    return {
        "judge": one_line(one.judge),
        "status": status.status,
        "value": with_interval(one.value, one.lo, one.hi, sign=True),
        "Shapley": with_interval(one.shapley, one.shapley_lo, one.shapley_hi, sign=True),
        "role": one.role,
        "why": status.reason,
    }


def removal_table(found: Value) -> pd.DataFrame:
    """One row a number of judges that go."""
    return pd.DataFrame(
        {
            "without": [row.m for row in found.removal],
            "NLL": [
                f"{fixed(row.nll, 3)} {interval(row.nll_lo, row.nll_hi, 3)}"
                for row in found.removal
            ],
            "against all judges": [
                with_interval(row.delta, row.lo, row.hi, sign=True) for row in found.removal
            ],
            "all rows together": [
                interval(row.band_lo, row.band_hi, sign=True) for row in found.removal
            ],
            "verdict": [row.verdict for row in found.removal],
            "can go": ["yes" if row.free else "not shown" for row in found.removal],
        }
    )


def group_table(found: Value) -> pd.DataFrame:
    """One row a family or cluster."""
    return pd.DataFrame(
        {
            "group": [f"{one.kind} {one_line(one.name)}" for one in found.groups],
            "judges": [len(one.members) for one in found.groups],
            "value": [with_interval(one.value, one.lo, one.hi, sign=True) for one in found.groups],
            "Shapley": [
                with_interval(one.shapley, one.shapley_lo, one.shapley_hi, sign=True)
                if math.isfinite(one.shapley)
                else ""
                for one in found.groups
            ],
        }
    )


def value_text(found: Value) -> str:
    """The answer, what rests on what, and the tables, for a terminal."""
    lines = [
        f"{found.n_splits} splits, {found.n_calibration:.0f} labels calibrate and "
        f"{found.n_evaluation:.0f} evaluate, {AGGREGATOR_NAMES[found.aggregator]}, "
        f"{CALIBRATED[found.calibrator]}, orientation {found.orientation}, seed {found.seed}; NLL "
        f"of all {fixed(found.nll_all, 3)}, null NLL {found.null_nll:.4f}, a constant score "
        f"through the calibrator {found.constant_nll:.4f}.",
        value_sentence(found),
        droppable_sentence(found),
        shapley_sentence(found),
        copies_sentence(found),
        roles_sentence(found),
    ]
    table = status_table(found)
    lines.append("\n" + table.head(_SHOWN).to_string(index=False))
    if len(table) > _SHOWN:
        more = len(table) - _SHOWN
        lines.append(f"... and {more} more: `study value --out X.csv`.")
    lines.append("Statuses here leave out the scope checks P0 and P1.")
    if found.removal:
        lines.append("\n" + removal_table(found).to_string(index=False))
    if found.groups:
        lines.append("\n" + group_table(found).head(_SHOWN).to_string(index=False))
    return "\n".join(line for line in lines if line)
