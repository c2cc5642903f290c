"""Scope: is the recommendation safe here? A card per check, then the panel without some judges."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.present import blocks, pages, study
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.trust import scope
from judgepanel.present.trust.group_change import group_spec
from judgepanel.studies.panel.recommended import AVERAGE
from judgepanel.studies.trust import group_change
from judgepanel.studies.trust.scope import SCOPE, Scope, ScopeSpec
from judgepanel.ui import pipeline as controls
from judgepanel.ui import render, session
from judgepanel.ui.frame import PageContext, menu_page
from judgepanel.ui.pages.judges import labels_of
from judgepanel.ui.work import show_result, stored_result
from judgepanel.votes.checks import Check, check_repeats

_WORST_FIRST = ("fail", "review", "pass", "not applicable")
_HARMLESS = "They may stay; fix their parser if you can."
_LABELS = {
    "filter": "What the filter drops",
    "family": "A family",
    "cluster": "A cluster",
    "judges": "Judges of my choice",
}


@menu_page(pages.SCOPE_PAGE, "This page checks whether keeping all judges is safe on your votes.")
@controls.with_recommendation
def page(context: PageContext, recommendation: Recommendation | None) -> None:
    """Draw the checks as they are computed; groups of judges follow when they have ended."""
    entry = PRESENTATIONS[SCOPE.name]
    fold = controls.folded()
    with fold:
        spec = _controls(context, study.pipeline_of(recommendation))
    caveats = render.Caveats()
    drawn: list[Scope] = []
    filter_spec = group_spec(spec, "filter")
    filtered = stored_result(group_change.GROUP_CHANGE, context, filter_spec)
    splits = spec.settings.most_splits
    controls.pipeline_note(context, recommendation, spec.aggregator, spec.calibrator, fold, splits)

    def banner(result: Scope) -> tuple[str, str]:
        drawn.append(result)
        tone = "keep" if scope.safe(result) else "open"
        return scope.scope_sentence(result, harmless=scope.does_no_harm(filtered)), tone

    view = scope.ScopeView(False, False, recommendation, filtered)
    cards = partial(_cards, context, recommendation, filtered)
    if not render.show_study(
        entry, context, spec, view, caveats=caveats, banner=banner, below=cards
    ):
        return
    if drawn:
        result = drawn[-1]
        changed = PRESENTATIONS[group_change.GROUP_CHANGE.name]
        known = not scope.kept_all_the_same(result, recommendation) or show_result(
            group_change.GROUP_CHANGE, context, filter_spec, lambda _: None
        )
        stored = stored_result(group_change.GROUP_CHANGE, context, filter_spec)
        if known and filtered is None and stored is not None:
            st.rerun()  # The answer above can now tell what the filter changes.
        show = partial(groups, context, spec, result, caveats)
        render.closed(render.section_title(changed), show, key=changed.name)
    render.show_closed(
        context, pages.SCOPE_PAGE, {SCOPE.name, group_change.GROUP_CHANGE.name}, caveats=caveats
    )


def _controls(context: PageContext, default: study.Pipeline) -> ScopeSpec:
    left, right = st.columns(2)
    aggregator = controls.aggregator_control(
        left,
        default.of_panel,
        controls.offered_aggregators(context.analysis.settings),
        help="The aggregator in use: its curve is drawn, and the others are compared with it. "
        "The recommended panel is chosen again for every point. Dawid–Skene, stacking and joint "
        "are refitted for every point and take longer.",
    )
    calibrator = controls.calibrator_control(
        right, default.calibrator, average=aggregator == AVERAGE
    )
    pipeline = study.Pipeline(recommended=True)
    if aggregator != AVERAGE:
        pipeline = study.Pipeline(aggregator, calibrator)
    (spec,) = scope.default_specs(context.votes, context.analysis.settings, pipeline)
    return spec


def _cards(
    context: PageContext,
    recommendation: Recommendation | None,
    filtered: group_change.GroupChange | None,
    result: Scope,
) -> None:
    """Draw a card per check, and one for items that repeat, the worst first.

    Cards with a figure are in one row, those without in another.
    """
    settings = context.analysis.settings
    repeats = check_repeats(context.votes, group_duplicates=settings.group_duplicates)
    repeats = replace(repeats, title="Repeated items")
    cards = sorted([*result.checks, repeats], key=lambda check: _WORST_FIRST.index(check.outcome))
    drawn = [check for check in cards if check is not repeats and _drawn(result, check)]
    others = [check for check in cards if check not in drawn]
    rows = [row for row in (drawn, others) if row]
    rows.sort(key=lambda row: _WORST_FIRST.index(row[0].outcome))
    with st.container(key="checks"):
        places = [place for row in rows for place in st.columns(len(row), gap="medium")]
    for place, card in zip(places, [card for row in rows for card in row], strict=True):
        harmless = card.code == "P1" and card.outcome == "fail" and scope.does_no_harm(filtered)
        check = replace(card, advice=_HARMLESS) if harmless else card
        with place:
            if check is repeats:
                render.check_card(check, partial(render.offer_grouping, context))
                continue
            evidence = partial(_evidence, context, result, recommendation, check)
            mark = "fails, with no measurable loss" if harmless else ""
            render.check_card(check, partial(_figures, result, check), evidence, mark)


def _drawn(result: Scope, check: Check) -> list[blocks.Figure]:
    return [part for part in scope.check_figures(result, check) if isinstance(part, blocks.Figure)]


def _figures(result: Scope, check: Check) -> None:
    """Draw the figure of a check; a phone has no room for those that pass."""
    figures = [render.small(figure) for figure in _drawn(result, check)]
    render.draw_blocks(figures, key=f"{check.code}-figure-{check.outcome}")


def _evidence(
    context: PageContext, result: Scope, recommendation: Recommendation | None, check: Check
) -> None:
    """Draw what belongs to a check besides its sentences and its figure."""
    parts: list[blocks.Block] = []
    if check.code == "P2":
        parts += blocks.paragraphs(scope.scope_decision(result, recommendation))
    figures = scope.check_figures(result, check)
    parts += [part for part in figures if not isinstance(part, blocks.Figure)]
    render.draw_blocks(parts, key=check.code)
    if check.code == "P0":
        words = blocks.Paragraph("The command for this check only:", quiet=True)
        render.draw_blocks([words, blocks.Command(render.inspection_of(context))], key="P0")


def groups(context: PageContext, spec: ScopeSpec, result: Scope, caveats: render.Caveats) -> None:
    """Draw the filter and its button, then the comparison that the user asks for."""
    entry = PRESENTATIONS[group_change.GROUP_CHANGE.name]
    render.section_answer(scope.filter_sentence(result))
    if result.suggested:
        dropped = [drop.judge for drop in result.suggested]
        _apply(context, dropped, "Apply the filter as a new analysis", "apply-filter")
    by = st.segmented_control(
        "Compare the panel with and without",
        group_change.KINDS,
        default="filter" if result.suggested else None,
        key="group",
        bind="query-params",
        format_func=_LABELS.__getitem__,
        help="Both panels share splits, labels and calibrator, under each of the aggregators.",
    )
    chosen = None if by is None else _spec(context, spec, by)
    if chosen is not None:
        button = partial(_without, context, chosen)
        render.show_study(entry, context, chosen, caveats=caveats, below=button)


def _spec(
    context: PageContext, spec: ScopeSpec, by: group_change.By
) -> group_change.GroupChangeSpec | None:
    """The spec of the chosen comparison; None, and a sentence, while no judge is chosen."""
    group: tuple[str, ...] | None = None
    if by in ("family", "cluster"):
        names = group_change.group_names(context.votes, spec.settings, by)
        if not names:
            st.caption(
                "These votes have no families: add a judge table with a column `family`."
                if by == "family"
                else "No judges err together more than others do."
            )
            return None
        # By default the one in the URL, else the first.
        label, labels = "Family" if by == "family" else "Cluster", labels_of(list(names))
        chosen = st.selectbox(
            label, names, key=f"named-{by}", bind="query-params", format_func=labels.__getitem__
        )
        group = (str(chosen) if chosen in names else names[0],)
    if by == "judges":
        all_names = list(context.votes.judges)
        picked = st.multiselect(
            "Judges",
            all_names,
            key="named",
            format_func=labels_of(all_names).__getitem__,
            placeholder="choose one or more",
            help="Judges outside this analysis are added, those inside are left out.",
        )
        group = tuple(picked)
        if not group or set(spec.settings.judges or all_names) <= set(group):
            st.caption("Choose at least one judge, and leave at least one.")
            return None
    return group_spec(spec, by, group)


def _without(
    context: PageContext, spec: group_change.GroupChangeSpec, change: group_change.GroupChange
) -> None:
    """Offer the analysis without the group, where it is part of it and not the filter's."""
    if not change.partial and change.members and spec.by != "filter" and not change.added:
        _apply(context, list(change.members), "Apply without them as a new analysis", "apply-group")


def _apply(context: PageContext, dropped: list[str], label: str, key: str) -> None:
    """Offer a new analysis without these judges."""
    settings = context.analysis.settings
    own = settings.judges or context.votes.judges
    remaining = tuple(judge for judge in own if judge not in set(dropped))
    if remaining and not session.is_reader() and st.button(label, key=key):
        session.open_with(context.analysis, replace(settings, judges=remaining))
