"""Whether the default is safe here: the four checks, and what they rest on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgepanel.figures.scope.parse_rate import parse_rates
from judgepanel.figures.scope.saturation import saturation_curve
from judgepanel.figures.scope.with_and_without import switch_figure
from judgepanel.present.blocks import (
    Answer,
    Block,
    Heading,
    Method,
    Paragraph,
    Table,
    drawing,
    paragraphs,
)
from judgepanel.studies.scope.compatibility import gap_sentence
from judgepanel.studies.scope.parse import REVIEW_RATE
from judgepanel.studies.scope.saturation import written_change
from judgepanel.studies.scope.scope import ScopeSpec
from judgepanel.studies.scope.scope_result import Scope
from judgepanel.votes.checks import Check
from judgepanel.votes.errors import quote_value
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import (
    capital,
    counted,
    fixed,
    interval,
    level,
    p_value,
    percent,
    with_interval,
)
from judgepanel.words.scope import check_numbers, check_sentences
from judgepanel.words.sentences import AGGREGATOR_NAMES, CODING
from judgepanel.words.text import plain

_WORST = ("fail", "review")
_HEIGHT = 280


@dataclass(frozen=True, slots=True)
class ScopeView:
    """What is shown of the checks.

    A report gives their ``sentences`` at its head, and a page draws ``figures`` in cards.
    """

    sentences: bool = True
    figures: bool = True


def scope_sentence(result: Scope) -> str:
    """How many checks pass, and the worst of them."""
    passed, total = result.counted("pass"), len(result.checks)
    if passed == total:
        text = f"All {total} checks pass: nothing they look at speaks against the default here."
        course = result.saturation
        if course is not None and course.outcome[course.last] == "inconclusive":
            last = course.n_judges - int(course.sizes[course.last])
            text += f" Whether the last {counted(last, 'judge')} matter is undecided."
    else:
        text = f"{passed} of {total} checks {'passes' if passed == 1 else 'pass'}"
        none = result.counted("not applicable")
        if none:
            text += f", {none} {'does' if none == 1 else 'do'} not apply"
        worst = _worst(result)
        text += f"; {headline(result, worst)}." if worst is not None else "."
    return f"{text} {CODING}" if result.measures_coding else text


def safe(result: Scope) -> bool:
    """Whether no check asks for a look."""
    return _worst(result) is None


def _worst(result: Scope) -> Check | None:
    for outcome in _WORST:
        for check in result.checks:
            if check.outcome == outcome:
                return check
    return None


def headline(result: Scope, check: Check) -> str:
    """One check's trouble in a few words, without a full stop."""
    words = {"P0": _order, "P1": _parsing, "P2": _course, "P3": _gaps}[check.code](result)
    return words or check.why.split(". ")[0].rstrip(".")


def _order(result: Scope) -> str:
    return "every label is the same" if result.one_class else ""


def _parsing(result: Scope) -> str:
    if result.sparse or result.parsed.min(initial=1.0) >= REVIEW_RATE:
        n = int(result.below.sum())
        return f"{counted(n, 'judge')} {'is' if n == 1 else 'are'} below chance"
    worst = int(np.argmin(result.parsed))
    share = percent(result.parsed[worst])
    return f"judge {quote_value(result.judges[worst])} gives a verdict on {share} of the items"


def _course(result: Scope) -> str:
    line = result.saturation
    if line is None or not np.isfinite(line.se[line.last]):
        return ""
    if line.lo[line.last] > line.margin or line.lo[line.half] > line.margin:
        return "the less accurate judges cost NLL"
    if line.outcome[line.last] == "equivalent":
        return "the last tenth of the judges adds nothing"
    if line.delta[line.half] > line.margin:
        return "by the estimate the better half of the judges does as well as all"
    return "nothing shows that all judges beat the best fifth"


def _gaps(result: Scope) -> str:
    better = [arm for arm in result.switch if arm.pays]
    if result.switch and result.switch[0].partly_verdict == "curate":
        return "judges that miss votes cost NLL"
    if better:
        best = min(better, key=lambda arm: arm.switch)
        saved = with_interval(-best.switch, -best.switch_hi, -best.switch_lo)
        return f"{AGGREGATOR_NAMES[best.aggregator]} would save {saved} NLL"
    if result.missing.n_related:
        return "missing votes are not a matter of chance"
    return ""


def filter_sentence(result: Scope) -> str:
    """Whom the filter would drop, and why."""
    if not result.suggested:
        return "The filter drops nobody."
    named = [f"{quote_value(drop.judge)} ({drop.why})" for drop in result.suggested[:4]]
    more = len(result.suggested) - len(named)
    text = ", ".join(named) + (f" and {more} more" if more else "")
    return f"The filter drops {counted(len(result.suggested), 'judge')}: {text}."


def curve_note(result: Scope) -> str:
    """What stands beside the saturation curve."""
    line = result.saturation
    if line is None:
        return ""
    text = (
        f"Judges are ordered by accuracy on the calibration items, again in every split. Grey "
        f"band: within 1 % of the NLL of all ({fixed(float(line.nll[-1]), 3)}). Base rate alone: "
        f"{fixed(result.null_nll, 3)}."
    )
    if abs(result.constant_nll - result.null_nll) > 0.001:
        text += f" A constant score through the same calibrator: {fixed(result.constant_nll, 3)}."
    return text


def parse_table(result: Scope) -> pd.DataFrame:
    """Every judge, lowest parse rate first."""
    order = np.argsort(result.parsed, kind="stable")
    return pd.DataFrame(
        {
            "judge": [plain(result.judges[j], 120) for j in order],
            "parse rate": result.parsed[order],
            **({"coded ties": result.tied[order]} if result.tied.any() else {}),
            "accuracy": result.accuracy[order],
            "95 %": [
                interval(100 * lo, 100 * hi, 3)
                for lo, hi in zip(result.accuracy_lo[order], result.accuracy_hi[order], strict=True)
            ],
            "below chance": [
                "shown, " + p_value(p) if flag else ""
                for flag, p in zip(result.below[order], result.p_below[order], strict=True)
            ],
            "paper's Wald rule": ["below" if flag else "" for flag in result.wald_below[order]],
        }
    )


def curve_table(result: Scope) -> pd.DataFrame:
    """NLL by judges kept, and what adding the others does."""
    line = result.saturation
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
            "base rate": result.null_nll,
        }
    )


def switch_table(result: Scope) -> pd.DataFrame:
    """Every aggregator on all judges and without the partly missing ones."""
    arms = result.switch
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
            "base rate": result.null_nll,
        }
    )
    if len(arms) and np.isfinite(arms[0].partly):
        table["leaving out those that miss votes"] = [
            with_interval(arm.partly, arm.partly_lo, arm.partly_hi, sign=True) for arm in arms
        ]
        table["verdict on them"] = [_verdict_words(arm.partly_verdict) for arm in arms]
    return table


def missing_table(result: Scope) -> pd.DataFrame:
    """The most telling tests of missing votes."""
    tests = result.missing.tests
    return pd.DataFrame(
        {
            "test": [plain(gap_sentence(test), 200) for test in tests],
            "p": [p_value(test.p) for test in tests],
            "Holm": [p_value(test.p_adjusted) for test in tests],
            "votes missing": [test.n_missing for test in tests],
        }
    )


def _verdict_words(verdict: str) -> str:
    return {"keep all": "keep them", "curate": "leave them out"}.get(
        verdict, capital(verdict or "n/a")
    )


def present(result: Scope, spec: ScopeSpec, view: ScopeView = ScopeView()) -> list[Block]:
    """The checks one after the other, and whom the filter would drop."""
    blocks: list[Block] = [Answer(scope_sentence(result))]
    for check in result.checks if view.sentences or view.figures else ():
        inside = check_figures(result, check) if view.figures else []
        if view.sentences:
            numbers = Paragraph(check_numbers(check), quiet=True)
            inside = [Paragraph(check_sentences(check)), numbers, *inside]
        blocks += [Heading(check.title, 3), *inside] if inside else []
    if view.figures:
        blocks += paragraphs(filter_sentence(result))
    return [*blocks, _method(result)]


def check_figures(result: Scope, check: Check) -> list[Block]:
    """What a check rests on; nothing for item order."""
    if check.code == "P1":
        return _parsed(result)
    if check.code == "P2":
        return _kept(result, check)
    return _gapped(result) if check.code == "P3" else []


def _parsed(result: Scope) -> list[Block]:
    table = Table(as_columns(parse_table(result)), "Every judge.", height=_HEIGHT)
    if result.sparse:
        return [table]
    return [drawing(parse_rates(result), "share of items with a verdict by judge"), table]


def _kept(result: Scope, check: Check) -> list[Block]:
    if result.saturation is None:
        return []
    figure = saturation_curve(result.saturation)
    return [
        drawing(figure, f"NLL of the best judges. {plain(check.why).rstrip('.')}"),
        Paragraph(curve_note(result), quiet=True),
        Table(as_columns(curve_table(result)), "Every share."),
    ]


def _gapped(result: Scope) -> list[Block]:
    blocks: list[Block] = []
    if result.switch:
        figure = switch_figure(result.switch, result.null_nll, AGGREGATOR_NAMES)
        shows = "NLL of every aggregator, with all judges and without those that miss votes"
        blocks.append(drawing(figure, shows))
        if result.n_compared < result.n_splits:
            blocks.append(
                Paragraph(
                    f"Aggregators are compared on {result.n_compared} of the {result.n_splits} "
                    "splits, so an NLL here differs a little from the same one under P2.",
                    quiet=True,
                )
            )
        blocks.append(Table(as_columns(switch_table(result)), "Every aggregator."))
    if result.missing.tests:
        caption = f"Tests of missing votes ({result.missing.n_tests:,})."
        blocks.append(Table(as_columns(missing_table(result)), caption, height=_HEIGHT))
    return blocks


_CHECK_WORDS = {
    "P0": "Counts on the labelled items: the share of the rarer label, and judges that give one "
    "verdict on nearly every item or are right (or wrong) on every one.",
    "P1": "Counts on the labelled items; a coded tie is a verdict that was read. Below 90 % a "
    "judge should be looked at, at 70 % or less the filter drops it. A judge is below chance when "
    "an exact binomial test says so, Holm over judges at 2.5 %. The paper's rule (accuracy below "
    ".5 by 2 Wald standard errors) stands in the table: with few votes it flags judges for a "
    "single wrong one.",
    "P2": "In every split the judges are ordered by accuracy on the calibration items and the "
    "best share of them is fitted there and scored on the others. The test of the last tenth asks "
    "whether it moves NLL by more than 1 % (two one-sided tests at 5 %). The check passes when "
    "all judges are shown to beat the best fifth, the better half is not better than all, and the "
    "last tenth is neither shown to cost nor shown to add nothing. The paper's P2 asks only for an "
    "NLL above .005, a floor that belongs to labels of one class; it is shown and decides nothing.",
    "P3": "Whether a vote is missing is held against the label, against how often the other "
    "judges are right on that item, and against item features, for each judge and for all "
    "together; p-values are adjusted by Holm. Then aggregators are compared on the same splits, "
    "with everyone and without judges that miss 5 % of the items or more.",
}


def _method(result: Scope) -> Method:
    checks = " ".join(f"{code}: {words}" for code, words in _CHECK_WORDS.items())
    return Method(
        "In every split everything is fitted on one part of the labelled items, and every NLL is a "
        f"score of the others. {result.n_compared} of the splits compare aggregators. A sound "
        "panel passes all checks in most cases, not in all: docs/scope.md has how often, on "
        f"simulated panels. {checks}"
    )
