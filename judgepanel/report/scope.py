"""Is the default safe here? The four checks in words and tables for people."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgepanel.report.numbers import (
    capital,
    counted,
    fixed,
    interval,
    level,
    p_value,
    percent,
    with_interval,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.studies.scope.compatibility import gap_sentence
from judgepanel.studies.scope.parse import REVIEW_RATE
from judgepanel.studies.scope.saturation import written_change
from judgepanel.studies.scope.scope_result import Scope
from judgepanel.votes.checks import Check
from judgepanel.votes.errors import shown

_WORST = ("fail", "review")


def scope_sentence(found: Scope) -> str:
    """How many checks pass, and the worst that was found."""
    passed, total = found.counted("pass"), len(found.checks)
    if passed == total:
        text = f"All {total} checks pass: nothing they look at speaks against the default here."
        course = found.saturation
        if course is not None and course.outcome[course.last] == "inconclusive":
            last = course.n_judges - int(course.sizes[course.last])
            text += f" Whether the last {counted(last, 'judge')} matter is undecided."
    else:
        text = f"{passed} of {total} checks {'passes' if passed == 1 else 'pass'}"
        none = found.counted("not applicable")
        if none:
            text += f", {none} {'does' if none == 1 else 'do'} not apply"
        worst = _worst(found)
        text += f"; {headline(found, worst)}." if worst is not None else "."
    return f"{text} {CODING}" if found.measures_coding else text


CHECK_MARKS = {
    "pass": "passes",
    "review": "look",
    "fail": "fails",
    "not applicable": "does not apply",
}
"""Outcomes of checks, after 'P0 Item order:'."""


def check_sentences(check: Check) -> str:
    """A check's outcome, why, and what to do."""
    return f"{check.title}: {CHECK_MARKS[check.outcome]}. {check.why} {check.advice}"


def check_numbers(check: Check) -> str:
    """What a check counted."""
    return "; ".join(f"{name}: {value}" for name, value in check.numbers.items())


def safe(found: Scope) -> bool:
    """Whether no check asks for a look."""
    return _worst(found) is None


def _worst(found: Scope) -> Check | None:
    for outcome in _WORST:
        for check in found.checks:
            if check.outcome == outcome:
                return check
    return None


def headline(found: Scope, check: Check) -> str:
    """One check's trouble in a few words, without a full stop."""
    said = {"P0": _order, "P1": _parsing, "P2": _course, "P3": _gaps}[check.code](found)
    return said or check.why.split(". ")[0].rstrip(".")


def _order(found: Scope) -> str:
    return "every label is the same" if found.one_class else ""


def _parsing(found: Scope) -> str:
    if found.sparse or found.parsed.min(initial=1.0) >= REVIEW_RATE:
        n = int(found.below.sum())
        return f"{counted(n, 'judge')} {'is' if n == 1 else 'are'} below chance"
    worst = int(np.argmin(found.parsed))
    share = percent(found.parsed[worst])
    return f"judge {shown(found.judges[worst])} gives a verdict on {share} of the items"


def _course(found: Scope) -> str:
    line = found.saturation
    if line is None or not np.isfinite(line.se[line.last]):
        return ""
    if line.lo[line.last] > line.margin or line.lo[line.half] > line.margin:
        return "the less accurate judges cost NLL"
    if line.outcome[line.last] == "equivalent":
        return "the last tenth of the judges adds nothing"
    if line.delta[line.half] > line.margin:
        return "by the estimate the better half of the judges does as well as all"
    return "nothing shows that all judges beat the best fifth"


def _gaps(found: Scope) -> str:
    better = [arm for arm in found.switch if arm.pays]
    if found.switch and found.switch[0].partly_verdict == "curate":
        return "judges that miss votes cost NLL"
    if better:
        best = min(better, key=lambda arm: arm.switch)
        saved = with_interval(-best.switch, -best.switch_hi, -best.switch_lo)
        return f"{AGGREGATOR_NAMES[best.aggregator]} would save {saved} NLL"
    if found.missing.n_related:
        return "missing votes are no matter of chance"
    return ""


def filter_sentence(found: Scope) -> str:
    """Whom the filter would drop, and why."""
    if not found.suggested:
        return "The filter drops nobody."
    named = [f"{shown(one.judge)} ({one.why})" for one in found.suggested[:4]]
    more = len(found.suggested) - len(named)
    text = ", ".join(named) + (f" and {more} more" if more else "")
    return f"The filter drops {counted(len(found.suggested), 'judge')}: {text}."


def curve_note(found: Scope) -> str:
    """What stands beside the saturation curve."""
    line = found.saturation
    if line is None:
        return ""
    text = (
        f"Judges are ordered by accuracy on the calibration items, anew in every split. Grey band: "
        f"within 1 % of the NLL of all ({fixed(float(line.nll[-1]), 3)}). Base rate alone: "
        f"{fixed(found.null_nll, 3)}."
    )
    if abs(found.constant_nll - found.null_nll) > 0.001:
        text += f" A constant score through the same calibrator: {fixed(found.constant_nll, 3)}."
    return text


def checks_table(found: Scope) -> pd.DataFrame:
    """One row a check."""
    return pd.DataFrame(
        {
            "check": [one.title for one in found.checks],
            "outcome": [one.outcome for one in found.checks],
            "why": [one.why for one in found.checks],
            "advice": [one.advice for one in found.checks],
        }
    )


def parse_table(found: Scope) -> pd.DataFrame:
    """Every judge, lowest parse rate first."""
    order = np.argsort(found.parsed, kind="stable")
    return pd.DataFrame(
        {
            "judge": [found.judges[j] for j in order],
            "parse rate": found.parsed[order],
            **({"coded ties": found.tied[order]} if found.tied.any() else {}),
            "accuracy": found.accuracy[order],
            "95 %": [
                interval(100 * lo, 100 * hi, 3)
                for lo, hi in zip(found.accuracy_lo[order], found.accuracy_hi[order], strict=True)
            ],
            "below chance": [
                "shown, " + p_value(p) if flag else ""
                for flag, p in zip(found.below[order], found.p_below[order], strict=True)
            ],
            "paper's Wald rule": ["below" if flag else "" for flag in found.wald_below[order]],
        }
    )


def curve_table(found: Scope) -> pd.DataFrame:
    """NLL by judges kept, and what adding the others does."""
    line = found.saturation
    if line is None:
        return pd.DataFrame()
    rows = range(len(line.sizes))
    return pd.DataFrame(
        {
            "judges kept": line.sizes,
            "share": line.sizes / line.n_judges,
            "NLL": [level(line.nll[i], line.nll_lo[i], line.nll_hi[i]) for i in rows],
            "adding the others": [
                "" if i == len(line.sizes) - 1 else written_change(*line.relative(i)) for i in rows
            ],
            "against 1 %": [*line.outcome[:-1], ""],
            "base rate": found.null_nll,
        }
    )


def switch_table(found: Scope) -> pd.DataFrame:
    """Every aggregator on all judges and without the partly missing ones."""
    arms = found.switch
    table = pd.DataFrame(
        {
            "aggregator": [AGGREGATOR_NAMES[arm.aggregator] for arm in arms],
            "NLL, all judges": [level(arm.nll, arm.lo, arm.hi) for arm in arms],
            "switch to it": [
                with_interval(arm.switch, arm.switch_lo, arm.switch_hi, sign=True)
                if i
                else "in use"
                for i, arm in enumerate(arms)
            ],
            "pays": ["yes" if arm.pays else "" for arm in arms],
            "base rate": found.null_nll,
        }
    )
    if len(arms) and np.isfinite(arms[0].partly):
        table["leaving out those that miss votes"] = [
            with_interval(arm.partly, arm.partly_lo, arm.partly_hi, sign=True) for arm in arms
        ]
        table["verdict on them"] = [_verdict_words(arm.partly_verdict) for arm in arms]
    return table


def missing_table(found: Scope) -> pd.DataFrame:
    """The most telling tests of missing votes."""
    return pd.DataFrame(
        {
            "found": [gap_sentence(one) for one in found.missing.tests],
            "p": [p_value(one.p) for one in found.missing.tests],
            "Holm": [p_value(one.p_adjusted) for one in found.missing.tests],
            "votes missing": [one.n_missing for one in found.missing.tests],
        }
    )


def scope_text(found: Scope) -> str:
    """The answer, every check and the figures behind them, for a terminal."""
    lines = [
        scope_sentence(found),
        f"{found.n_splits} splits, {counted(found.n_items, 'labelled item')}, "
        f"{AGGREGATOR_NAMES[found.aggregator]}, {CALIBRATED[found.calibrator]}, orientation "
        f"{found.orientation}, protocol {found.protocol}, seed {found.seed}; null NLL "
        f"{fixed(found.null_nll, 4)}.",
    ]
    for one in found.checks:
        numbers = "; ".join(f"{name}: {value}" for name, value in one.numbers.items())
        lines += [f"\n{one.title}: {one.outcome}", one.why, one.advice, f"({numbers})"]
    if found.saturation is not None:
        lines += ["\nJudges kept", curve_table(found).round(3).to_string(index=False)]
    if found.switch:
        lines += ["\nAggregators", switch_table(found).round(3).to_string(index=False)]
    lines += ["", filter_sentence(found)]
    return "\n".join(lines)


def _verdict_words(verdict: str) -> str:
    return {"keep all": "keep them", "curate": "leave them out"}.get(
        verdict, capital(verdict or "n/a")
    )
