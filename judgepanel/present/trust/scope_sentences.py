"""Scope in sentences: checks, filter and decision together."""

from __future__ import annotations

import numpy as np

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.present.decide.decision import decision_sentence, other_way_sentence
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.studies.scope.group_change_result import GroupChange
from judgepanel.studies.scope.parse import REVIEW_RATE
from judgepanel.studies.scope.scope_result import Scope
from judgepanel.votes.checks import Check
from judgepanel.votes.errors import quote_value
from judgepanel.words.numbers import counted, fixed, percent, with_interval
from judgepanel.words.sentences import AGGREGATOR_NAMES, CODING

_WORST = ("fail", "review")


def scope_answer(
    result: Scope, recommendation: Recommendation | None, filtered: GroupChange | None
) -> str:
    """Answer yes or no, and relate a failed check to the decision.

    ``filtered`` is the panel with and without the judges that the filter drops, if known.
    """
    parts = (scope_sentence(result), kept_sentence(result, recommendation, filtered))
    return " ".join(part for part in parts if part)


def scope_sentence(result: Scope) -> str:
    """Answer yes or no, with the number of checks that pass, and the worst."""
    passed, total = result.counted("pass"), len(result.checks)
    none, worst = result.counted("not applicable"), _worst(result)
    apart = f", {none} {'does' if none == 1 else 'do'} not apply" if none else ""
    if worst is None:
        checks = f"all {total}" if passed == total else f"{passed} of {total}"
        text = f"Yes: {checks} checks pass{apart}."
        course = result.saturation
        if course is not None and course.outcome[course.last] == "inconclusive":
            last = course.n_judges - int(course.sizes[course.last])
            text += f" Whether the last {counted(last, 'judge')} matter is undecided."
    else:
        start = "No" if worst.outcome == "fail" else "Yes, with reservations"
        passes = "passes" if passed == 1 else "pass"
        text = f"{start}: {headline(result, worst)}; {passed} of {total} checks {passes}{apart}."
    return f"{text} {CODING}" if result.measures_coding else text


def kept_sentence(
    result: Scope, recommendation: Recommendation | None, filtered: GroupChange | None
) -> str:
    """Say what the recommended panel does with judges that the filter drops; empty without any."""
    if recommendation is None or not result.suggested:
        return ""
    n, remaining = len(result.suggested), len(kept_all_the_same(result, recommendation))
    whom = counted(n, "judge")
    if not remaining:
        return f"The recommended panel leaves out the {whom} that the filter drops."
    if remaining < n:
        text = f"The recommended panel keeps {remaining} of the {whom} that the filter drops"
    elif n == 1:
        text = "The recommended panel keeps the judge that the filter drops"
    else:
        text = f"The recommended panel keeps the {whom} that the filter drops"
    if filtered is None or not filtered.members:
        return f"{text}; the panel with and without is compared below."
    aggregator, change = filtered.aggregators[0], with_interval(*filtered.delta[0], sign=True)
    alone = not recommendation.averages and aggregator == recommendation.model.main.aggregator
    same = aggregator == AVERAGE or alone
    under = "" if same else f" under {AGGREGATOR_NAMES[aggregator]}"
    return f"{text}: without {'it' if n == 1 else 'them'} NLL changes by {change}{under}."


def kept_all_the_same(result: Scope, recommendation: Recommendation | None) -> tuple[str, ...]:
    """Return judges that the filter drops and the recommended panel keeps."""
    panel = set() if recommendation is None else set(recommendation.model.judges)
    return tuple(drop.judge for drop in result.suggested if drop.judge in panel)


def scope_decision(result: Scope, recommendation: Recommendation | None) -> str:
    """Return the decision, and the effect of fewer judges if a check suggests them."""
    if recommendation is None:
        return ""
    course = result.check("P2").outcome in _WORST
    other = f" {other_way_sentence(recommendation)}" if recommendation.keeps_all and course else ""
    return f"{decision_sentence(recommendation)}{other}"


def safe(result: Scope) -> bool:
    """Whether all checks pass."""
    return _worst(result) is None


def _worst(result: Scope) -> Check | None:
    for outcome in _WORST:
        for check in result.checks:
            if check.outcome == outcome:
                return check
    return None


def headline(result: Scope, check: Check) -> str:
    """Return one check's problem in a few words, without a full stop."""
    words = {"P0": _order, "P1": _parsing, "P2": _course, "P3": _gaps}[check.code](result)
    return words or check.why.split(". ")[0].rstrip(".")


def _order(result: Scope) -> str:
    return "every label is the same" if result.one_class else ""


def _parsing(result: Scope) -> str:
    if result.sparse or result.parsed.min(initial=1.0) >= REVIEW_RATE:
        n = int(result.below.sum())
        if not n:
            return "the grades of some judges contradict their votes or the labels"
        return f"{counted(n, 'judge')} {'is' if n == 1 else 'are'} below chance"
    worst = int(np.argmin(result.parsed))
    share = percent(result.parsed[worst])
    few = int((result.parsed < REVIEW_RATE).sum())
    if few > 1:
        limit = percent(REVIEW_RATE)
        return f"{few} judges give a verdict on less than {limit} of the items (lowest {share})"
    return f"judge {quote_value(result.judges[worst])} gives a verdict on {share} of the items"


def _course(result: Scope) -> str:
    line = result.saturation
    if line is None or not np.isfinite(line.se[line.last]):
        return ""
    if line.delta[[line.last, line.half]].above(line.margin).any():
        return "the less accurate judges cost NLL"
    if line.outcome[line.last] == "equivalent":
        return "the last tenth of the judges adds nothing"
    if line.delta.value[line.half] > line.margin:
        return "by the estimate the better half of the judges does as well as all"
    return "nothing shows that all judges beat the best fifth"


def _gaps(result: Scope) -> str:
    better = [arm for arm in result.switch if arm.pays]
    if result.switch and result.switch[0].partly_verdict == "curate":
        return "judges that miss votes cost NLL"
    if better:
        best = min(better, key=lambda arm: arm.switch.value)
        return f"{AGGREGATOR_NAMES[best.aggregator]} would save {with_interval(*-best.switch)} NLL"
    if result.missing.n_related:
        return "votes are not missing at random"
    return ""


def filter_sentence(result: Scope) -> str:
    """Name the judges that the filter would drop, and the reasons."""
    if not result.suggested:
        return "The filter drops no judge."
    named = [f"{quote_value(drop.judge)} ({drop.why})" for drop in result.suggested[:4]]
    more = len(result.suggested) - len(named)
    text = ", ".join(named) + (f" and {more} more" if more else "")
    return f"The filter drops {counted(len(result.suggested), 'judge')}: {text}."


def curve_note(result: Scope) -> str:
    """Return the note on the saturation curve."""
    line = result.saturation
    if line is None:
        return ""
    text = (
        "Judges are ordered by accuracy on the calibration items, again in every split. Grey "
        f"band: within 1 % of the NLL of all ({fixed(float(line.nll.value[-1]), 3)}). "
        f"Base rate alone: {fixed(result.null_nll, 3)}."
    )
    if result.aggregator == AVERAGE:
        text += " At every point the panel is recommended again, from the judges kept."
    if abs(result.constant_nll - result.null_nll) > 0.001:
        text += f" A constant score through the same calibrator: {fixed(result.constant_nll, 3)}."
    return text
