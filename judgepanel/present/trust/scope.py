"""Presentation of scope: the four checks and their evidence.

Scope in sentences: checks, filter and decision together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures import style
from judgepanel.figures.dots import dots
from judgepanel.present import blocks
from judgepanel.present.decide.recommend import decision_sentence, other_way_sentence
from judgepanel.present.study import Pipeline, Presentation, affordable_splits
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.panel.recommended import AVERAGE, FEW_MEMBER
from judgepanel.studies.trust import group_change, missingness
from judgepanel.studies.trust.scope import (
    GRADED,
    SCOPE,
    Saturation,
    Scope,
    ScopeSpec,
    written_change,
)
from judgepanel.studies.understand.judge_table import FILTER_RATE, REVIEW_RATE
from judgepanel.votes import VoteMatrix
from judgepanel.votes.checks import Check
from judgepanel.votes.errors import documentation, quote_value
from judgepanel.words import text as txt
from judgepanel.words.sentences import (
    AGGREGATOR_NAMES,
    CALIBRATED,
    check_numbers,
    check_sentences,
    with_coding,
)
from judgepanel.words.tables import Column, differences, levels, numbers, text

_WORST = ("fail", "review")
_OF_VOTES = ("P0", "P1")
"""Checks whose outcome does not depend on the pipeline."""


def does_no_harm(filtered: group_change.GroupChange | None) -> bool:
    """Whether it is known that leaving out what the filter drops is not shown to save NLL."""
    return filtered is not None and "curate" not in filtered.verdicts[:1]


def scope_sentence(result: Scope, *, harmless: bool = False) -> str:
    """Say whether it is safe to use, and name the worst check.

    ``harmless``: judges that fail P1 are shown to do no harm to the panel.
    """
    raised = _raised(result)
    if not raised:
        passed = result.counted("pass")
        apply = "" if passed == len(result.checks) else " that apply"
        text = f"Safe to use: all {passed} checks{apply} pass."
    else:
        blocking = _blocking(result, harmless=harmless)
        with_some = f"Safe to use, with {txt.counted(len(raised), 'reservation')}"
        first = f"{with_some}. The first: " if len(raised) > 1 else f"{with_some}: "
        start = "Not yet: " if blocking else first
        text = f"{start}{headline(result, (blocking or raised)[0])}."
    return with_coding(text, result.measures_coding)


def checks_sentence(result: Scope, *, harmless: bool = False) -> str:
    """Say what to do first, name the other reservations, and what is undecided; may be empty."""
    raised, blocking = _raised(result), _blocking(result, harmless=harmless)
    if raised:
        first = (blocking or raised)[0]
        others = [headline(result, check) for check in raised if check is not first]
        advice = txt.first_sentence(blocking[0].advice) if blocking else ""
        return " ".join(filter(None, (advice, *(f"Also: {other}." for other in others))))
    course = result.saturation
    if course is None or course.outcome[course.last] != "inconclusive":
        return ""
    last = course.n_judges - int(course.sizes[course.last])
    whether = "judge matters" if last == 1 else f"{last:,} judges matter"
    return f"Whether the last {whether} is undecided."


def preliminary_sentence(result: Scope) -> str:
    """Return the verdict of the checks that do not depend on the pipeline, P0 and P1.

    Whether judges that fail P1 do harm is not known yet, so that they do is not assumed.
    """
    raised = [check for check in _raised(result) if check.code in _OF_VOTES]
    blocking = [check for check in _blocking(result, harmless=True) if check in raised]
    asked = [code for code in _OF_VOTES if result.check(code).outcome != "not applicable"]
    text = "P0 and P1 do not apply."
    if blocking:
        text = f"Not yet: {headline(result, blocking[0])}."
    elif asked and not raised:
        objects = "raises" if len(asked) == 1 else "raise"
        text = f"Safe so far: {txt.listed(asked)} {objects} no objection."
    elif raised:
        first = "the first: " if len(raised) > 1 else ""
        counts = txt.counted(len(raised), "reservation")
        text = f"Safe so far, with {counts}; {first}{headline(result, raised[0])}."
    return with_coding(text, result.measures_coding)


def kept_sentence(
    result: Scope, recommendation: Recommendation | None, filtered: group_change.GroupChange | None
) -> str:
    """Say what the recommended panel does with judges that the filter drops; empty without any."""
    if recommendation is None or not result.suggested:
        return ""
    n, remaining = len(result.suggested), len(kept_all_the_same(result, recommendation))
    whom, them = txt.counted(n, "judge"), "it" if n == 1 else "them"
    if not remaining:
        return f"The filter would drop {whom}; the recommended panel leaves {them} out, too."
    if filtered is None or not filtered.members:
        which = f"{remaining} of them" if remaining < n else them
        compared = "the panel with and without is compared below"
        return f"The filter would drop {whom}; the recommended panel keeps {which}; {compared}."
    aggregator, change = filtered.aggregators[0], txt.with_interval(*filtered.delta[0], sign=True)
    alone = not recommendation.averages and aggregator == recommendation.model.main.aggregator
    same = aggregator == AVERAGE or alone
    under = "" if same else f" under {AGGREGATOR_NAMES[aggregator]}"
    helps = "it helps" if filtered.delta[0].below() else "not shown to help"
    leaving = f"Leaving {them} out changes NLL by {change}{under}: {helps}."
    return f"The filter would drop {whom}. {leaving}"


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
    return not _raised(result)


def _raised(result: Scope) -> list[Check]:
    """Return the checks that fail, then those that need review."""
    return [check for outcome in _WORST for check in result.checks if check.outcome == outcome]


def _blocking(result: Scope, *, harmless: bool) -> list[Check]:
    """Return the checks that fail, without P1 where its judges do no harm."""
    failed = (check for check in result.checks if check.outcome == "fail")
    return [check for check in failed if not (harmless and check.code == "P1")]


def headline(result: Scope, check: Check) -> str:
    """Return one check's problem in a few words, without a full stop."""
    words = {"P0": _order, "P1": _parsing, "P2": _course, "P3": _gaps}[check.code](result)
    first = check.why.split(". ")[0].rstrip(".")
    return words or f"{first[:1].lower()}{first[1:]}"


def _order(result: Scope) -> str:
    return "every label is the same" if result.one_class else ""


def _parsing(result: Scope) -> str:
    if result.sparse or result.parsed.min(initial=1.0) >= REVIEW_RATE:
        n = int(result.below.sum())
        if not n:
            return "the grades of some judges contradict their votes or the labels"
        return f"{txt.counted(n, 'judge')} {'is' if n == 1 else 'are'} below chance"
    worst = int(np.argmin(result.parsed))
    share = txt.percent(result.parsed[worst])
    few = int((result.parsed < REVIEW_RATE).sum())
    if few > 1:
        return f"{few} judges give a verdict on less than {txt.percent(REVIEW_RATE)} of the items"
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
        saved = txt.with_interval(*-best.switch)
        return f"{AGGREGATOR_NAMES[best.aggregator]} would save {saved} NLL"
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
    return f"The filter drops {txt.counted(len(result.suggested), 'judge')}: {text}."


def curve_note(result: Scope) -> str:
    """Return the note on the saturation curve."""
    line = result.saturation
    if line is None:
        return ""
    text = (
        "Judges are ordered by accuracy on the calibration items, again in every split. Grey "
        f"band: within 1 % of the NLL of all ({txt.fixed(float(line.nll.value[-1]), 3)}). "
        f"Base rate alone: {txt.fixed(result.null_nll, 3)}."
    )
    if result.aggregator == AVERAGE:
        text += " At every point the panel is recommended again, from the judges kept."
    if abs(result.constant_nll - result.null_nll) > 0.001:
        constant = txt.fixed(result.constant_nll, 3)
        text += f" A constant score through the same calibrator: {constant}."
    return text


_HEIGHT = 280
_KINDS = (
    ("90 % or more", style.spot(style.INCLUDE, "circle", 8)),
    ("review: below 90 %", style.spot(style.CURATE_LINE, "diamond-open", 8)),
    ("filter: 70 % or less", style.spot(style.CURATE_LINE, "x", 8)),
)


@dataclass(frozen=True, slots=True)
class ScopeView:
    """View options of the checks, and additional data.

    A report shows their ``sentences`` at its head, and a page draws ``figures`` in cards.
    ``filtered`` is the panel with and without the judges that the filter drops.
    """

    sentences: bool = True
    figures: bool = True
    recommendation: Recommendation | None = None
    filtered: group_change.GroupChange | None = None


def parse_table(result: Scope) -> dict[str, Column]:
    """Return every judge, lowest parse rate first."""
    order = np.argsort(result.parsed, kind="stable")
    accuracy = result.accuracy[order]
    ends = [txt.interval(lo, hi, 3) for _, lo, hi in zip(*accuracy.scaled(100.0, ""), strict=True)]
    below = [
        f"shown, {txt.p_value(p)}" if flag else ""
        for flag, p in zip(result.below[order], result.p_below[order], strict=True)
    ]
    return {
        "judge": text([txt.plain(result.judges[j], 120) for j in order]),
        "parse rate": numbers(result.parsed[order], "share"),
        **({"coded ties": numbers(result.tied[order], "share")} if result.tied.any() else {}),
        "accuracy": numbers(accuracy.value, "share", of="value"),
        "95 %": numbers(accuracy.lo, "share", words=ends),
        "below chance": text(below),
        "paper's Wald rule": text(["below" if flag else "" for flag in result.wald_below[order]]),
    }


def parse_figure(result: Scope) -> go.Figure:
    """Draw the parse rate of each judge, lowest first, against the limits of P1.

    Kinds differ by shape as well as by colour.
    """
    order = np.argsort(result.parsed, kind="stable")
    rank, rate = np.arange(1, len(order) + 1), result.parsed[order]
    kind = np.where(rate <= FILTER_RATE, 2, np.where(rate < REVIEW_RATE, 1, 0))
    figure, hover = go.Figure(), "%{text}<br>a verdict on %{y:.1%}"
    names = [result.judges[j] for j in order]
    style.add_kinds(figure, kind, _KINDS, rank, rate, hover, names=names)
    for limit in (FILTER_RATE, REVIEW_RATE):
        figure.add_hline(y=limit, line=style.DOTTED)
    x = "judges, lowest parse rate first"
    style.laid_out(figure, x=x, y="share with a verdict", height=260)
    low = min(float(rate.min(initial=1.0)), FILTER_RATE) - 0.05
    figure.update_yaxes(tickformat=".0%", range=[max(low, 0.0) - 0.01, 1.03])
    style.rank_axis(figure, len(order), names)
    return figure


def curve_table(result: Scope) -> dict[str, Column]:
    """Return NLL by number of judges kept, and the effect of adding the others."""
    line = result.saturation
    if line is None:
        return {}
    n = len(line.sizes)
    change = line.change.where(np.arange(n) < n - 1)
    return {
        "judges kept": numbers(line.sizes, "whole"),
        "share": numbers(line.sizes / line.n_judges, "share"),
        "NLL": levels(line.nll),
        "adding the others": numbers(change.value, "signed", words=_changes(line)[:-1]),
        "against 1 %": text([*line.outcome[:-1], ""]),
        "base rate": numbers(np.full(n, result.null_nll)),
    }


def _changes(line: Saturation) -> list[str]:
    return [written_change(*change) for change in zip(*line.change, strict=True)]


def curve_figure(line: Saturation) -> go.Figure:
    """Draw NLL against the number of best judges kept, with the band for 'adds nothing'."""
    figure = go.Figure()
    style.add_band(figure, line.sizes, line.nll, style.INCLUDE, name="95 % interval")
    level = np.full(2, line.nll.value[-1])
    same = Interval(level, level - line.margin, level + line.margin)
    ends = np.array([0, line.n_judges + 1])
    style.add_band(figure, ends, same, style.NEUTRAL, opacity=0.35, name="within 1 % of all")
    text = [*(f"adding the others: {change}" for change in _changes(line)[:-1]), "all judges"]
    look, hover = replace(style.ALL_JUDGES, size=8), "best %{x}: NLL %{y:.3f}<br>%{text}"
    nll = line.nll.value
    style.add_series(figure, line.sizes, nll, look, "best judges kept", hover, text=text)
    x = "judges kept, most accurate first"
    style.laid_out(figure, x=x, y="NLL (nats per item)", height=320)
    style.rank_axis(figure, line.n_judges)
    return figure


def switch_table(result: Scope) -> dict[str, Column]:
    """Return every aggregator on all judges and without the partly missing ones."""
    arms = result.switch
    columns = {
        "aggregator": text([AGGREGATOR_NAMES[arm.aggregator] for arm in arms]),
        "NLL, all judges": levels([arm.nll for arm in arms], of="nll"),
        "switch to it": differences([arm.switch for arm in arms], {0: "in use"}),
        "pays": text(["yes" if arm.pays else "" for arm in arms]),
        "base rate": numbers(np.full(len(arms), result.null_nll)),
    }
    if np.isfinite(arms[0].partly.value):
        advice = {"keep all": "keep them", "curate": "leave them out"}
        verdicts = [arm.partly_verdict or "n/a" for arm in arms]
        words = [advice.get(verdict, txt.capital(verdict)) for verdict in verdicts]
        columns |= {
            "leaving out those that miss votes": differences(arm.partly for arm in arms),
            "verdict on them": text(words),
        }
    return columns


def switch_figure(result: Scope) -> go.Figure:
    """Draw aggregators with all judges, and without those that miss votes (no intervals)."""
    arms = result.switch
    panels = {"all judges": Interval.stacked(arm.nll for arm in arms)}
    rest = np.array([arm.nll_without for arm in arms])
    if np.isfinite(rest).all():
        unknown = np.full(len(arms), np.nan)
        panels["without those that miss votes"] = Interval(rest, unknown, unknown)
    return dots([AGGREGATOR_NAMES[arm.aggregator] for arm in arms], panels, result.null_nll)


def missing_table(result: Scope) -> dict[str, Column]:
    """Return the most significant tests of missing votes."""
    tests = result.missing.tests
    return {
        "test": text([txt.plain(missingness.gap_sentence(test), 200) for test in tests]),
        "p": numbers([test.p for test in tests], "p"),
        "Holm": numbers([test.p_adjusted for test in tests], "p"),
        "votes missing": numbers([test.n_missing for test in tests], "whole"),
    }


def present(result: Scope, spec: ScopeSpec, view: ScopeView = ScopeView()) -> list[blocks.Block]:
    """Present the checks in order, and the judges that the filter would drop."""
    # Where leaving out what the filter drops is not shown to save NLL, failing P1 is a reservation.
    harmless = does_no_harm(view.filtered)
    of_filter = kept_sentence(result, view.recommendation, view.filtered)
    content: list[blocks.Block] = [
        blocks.Answer(scope_sentence(result, harmless=harmless)),
        *blocks.paragraphs(f"{checks_sentence(result, harmless=harmless)} {of_filter}".strip()),
    ]
    if view.sentences or view.figures:
        content += blocks.paragraphs(scope_decision(result, view.recommendation))
    for check in result.checks if view.sentences or view.figures else ():
        inside = check_figures(result, check) if view.figures else []
        if view.sentences:
            numbers = blocks.note(check_numbers(check))
            inside = [blocks.Paragraph(check_sentences(check)), numbers, *inside]
        content += [blocks.Heading(check.title, 3), *inside] if inside else []
    if view.figures:
        content += blocks.paragraphs(filter_sentence(result))
    return [*content, _method(result)]


def check_figures(result: Scope, check: Check) -> list[blocks.Block]:
    """Return the evidence of a check; nothing for item order."""
    if check.code == "P1":
        shows = "share of items with a verdict by judge"
        figure = [] if result.sparse else [blocks.drawing(shows, parse_figure, result)]
        return [*figure, blocks.Table(parse_table(result), "Every judge.", height=_HEIGHT)]
    if check.code == "P2":
        if result.saturation is None:
            return []
        shows = f"NLL of the best judges. {txt.plain(check.why).rstrip('.')}"
        return [
            blocks.drawing(shows, curve_figure, result.saturation),
            blocks.note(curve_note(result)),
            blocks.Table(curve_table(result), "Every share."),
        ]
    return _gapped(result) if check.code == "P3" else []


def _gapped(result: Scope) -> list[blocks.Block]:
    content: list[blocks.Block] = []
    if result.switch:
        shows = "NLL of every aggregator, with all judges and without those that miss votes"
        content.append(blocks.drawing(shows, switch_figure, result))
        if result.n_compared < result.n_splits:
            compared = (
                f"Aggregators are compared on {result.n_compared} of the {result.n_splits} splits, "
                "so an NLL here differs a little from the same one under saturation."
            )
            content.append(blocks.note(compared))
        content.append(blocks.Table(switch_table(result), "Every aggregator."))
    if result.missing.tests:
        caption = f"Tests of missing votes ({result.missing.n_tests:,})."
        content.append(blocks.Table(missing_table(result), caption, height=_HEIGHT))
    return content


_CHECK_WORDS = {
    "P0": "Counts on the labelled items: the share of the rarer label, and judges that give one "
    "verdict on nearly every item or are right (or wrong) on every one.",
    "P1": "Counts on the labelled items; a coded tie is a verdict that was read. Below 90 % a "
    "judge needs review; at 70 % or less the filter drops it. A judge is below chance when "
    "an exact binomial test says so, Holm over judges at 2.5 %. The paper's rule (accuracy below "
    ".5 by 2 Wald standard errors) stands in the table: with few votes it flags judges for a "
    "single wrong one.",
    "P2": "In every split the judges are ordered by accuracy on the calibration items and the "
    "best share of them is fitted there and scored on the others. The test of the last tenth asks "
    "whether it moves NLL by more than 1 % (two one-sided tests at 5 %). The check passes when "
    "all judges are shown to beat the best fifth, the better half is not better than all, and the "
    "last tenth is neither shown to cost nor shown to add nothing. The paper's P2 asks only for an "
    "NLL above .005, a floor that belongs to labels of one class; it is shown and decides nothing.",
    "P3": "Whether a vote is missing is tested against the label, against how often the other "
    "judges are right on that item, and against item features, for each judge and for all "
    "together; p-values are adjusted by Holm. Then aggregators are compared on the same splits, "
    "with all judges and without those that miss 5 % of the items or more.",
}


_GRADE_WORDS = (
    " The order of grades is tested in the same step-down procedure, by permutation: grades in "
    "reverse order need review, and so do grades that order the items although the "
    "votes cut from them are constant or below chance."
)


def _method(result: Scope) -> blocks.Method:
    words = dict(_CHECK_WORDS)
    if GRADED in result.check("P1").numbers:
        words["P1"] += _GRADE_WORDS
    checks = " ".join(f"{code}: {text}" for code, text in words.items())
    again = ""
    if result.aggregator == AVERAGE:
        again = (
            " The recommended panel is chosen again from the judges of every point and arm: "
            "candidates are fitted and compared, and the weights of their average learned, on the "
            f"calibration items. The other aggregators of P3 have {CALIBRATED[result.calibrator]}."
        )
    return blocks.Method(
        "In every split everything is fitted on one part of the labelled items, and every NLL is a "
        f"score of the others. {result.n_compared} of the splits compare aggregators. A sound "
        f"panel passes all checks in most cases, not in all: {documentation('scope')} has how "
        f"often, on simulated panels. {checks}{again}"
    )


def default_specs(votes: VoteMatrix, settings: Settings, pipeline: Pipeline) -> tuple[ScopeSpec]:
    """Return the spec of the recommended average if there is one, else of the default pipeline.

    The alternatives to the average are calibrated as its members that keep a few judges.
    """
    if pipeline.recommended:
        few = affordable_splits(settings, AVERAGE)
        return (ScopeSpec(few, AVERAGE, FEW_MEMBER[1]),)
    return (ScopeSpec(settings, pipeline.aggregator, pipeline.calibrator),)


PRESENTATION = Presentation(SCOPE, present, default_specs)
