"""Scope: is the recommendation safe here? A card per check, then the panel without some judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.present.blocks import Command, Table
from judgepanel.present.pages import SCOPE_PAGE
from judgepanel.present.registry import ENTRIES
from judgepanel.present.study import Pipeline, pipeline_of
from judgepanel.present.trust.group_change import group_spec
from judgepanel.present.trust.scope import (
    ScopeView,
    check_figures,
    default_specs,
    filter_sentence,
    kept_all_the_same,
    safe,
    scope_answer,
)
from judgepanel.studies.panel.recommended import AVERAGE
from judgepanel.studies.trust.group_change import (
    GROUP_CHANGE,
    KINDS,
    By,
    GroupChange,
    GroupChangeSpec,
    group_names,
)
from judgepanel.studies.trust.scope import SCOPE, Scope, ScopeSpec
from judgepanel.ui.frame import PageContext, caption
from judgepanel.ui.pages.judges import labels_of
from judgepanel.ui.pipeline import (
    aggregator_control,
    calibrator_control,
    folded,
    offered_aggregators,
    pipeline_note,
    with_recommendation,
)
from judgepanel.ui.render import (
    Caveats,
    check_card,
    draw_blocks,
    inspection_of,
    offer_grouping,
    section_answer,
    show_closed,
    show_study,
)
from judgepanel.ui.session import is_reader, open_with
from judgepanel.ui.work import stored_result
from judgepanel.votes.checks import Check, check_repeats

_LABELS = {
    "filter": "What the filter drops",
    "family": "A family",
    "cluster": "A cluster",
    "judges": "Judges of my choice",
}


@with_recommendation
def page(context: PageContext, recommendation: Recommendation | None) -> None:
    """Draw the checks as they are computed; groups of judges follow when they have ended."""
    entry = ENTRIES[SCOPE.name]
    with folded():
        spec = _controls(context, pipeline_of(recommendation))
    caveats = Caveats()
    drawn: list[Scope] = []
    filter_spec = group_spec(spec, "filter")
    filtered = stored_result(GROUP_CHANGE, context, filter_spec)
    pipeline_note(
        context,
        recommendation,
        spec.aggregator,
        spec.calibrator,
        splits=spec.settings.most_splits,
        advice=False,
        average=True,
    )

    def banner(result: Scope) -> tuple[str, str]:
        drawn.append(result)
        tone = "keep" if safe(result) else "open"
        return scope_answer(result, recommendation, filtered), tone

    view, cards = ScopeView(False, False, recommendation, filtered), partial(_cards, context)
    if not show_study(entry, context, spec, view, caveats=caveats, banner=banner, below=cards):
        return
    if not drawn or groups(context, spec, drawn[-1], recommendation, caveats):
        if filtered is None and stored_result(GROUP_CHANGE, context, filter_spec) is not None:
            st.rerun()  # The answer above can now tell what the filter changes.
        show_closed(context, SCOPE_PAGE, {SCOPE.name, GROUP_CHANGE.name}, caveats=caveats)


def _controls(context: PageContext, default: Pipeline) -> ScopeSpec:
    left, right = st.columns(2)
    aggregator = aggregator_control(
        left,
        default.of_panel,
        offered_aggregators(context.analysis.settings),
        help="The aggregator in use: its curve is drawn, and the others are compared with it. "
        "The recommended panel is chosen again for every point. Dawid–Skene, stacking and joint "
        "are refitted for every point and take longer.",
    )
    calibrator = calibrator_control(right, default.calibrator, average=aggregator == AVERAGE)
    if aggregator == AVERAGE:
        pipeline = Pipeline(recommended=True)
    else:
        pipeline = Pipeline(aggregator, calibrator)
    (spec,) = default_specs(context.votes, context.analysis.settings, pipeline)
    return spec


def _cards(context: PageContext, result: Scope) -> None:
    """Draw a card per check, two in a row, and one for items that repeat."""
    for first in range(0, len(result.checks), 2):
        for column, check in zip(
            st.columns(2, gap="medium"), result.checks[first : first + 2], strict=False
        ):
            with column:
                check_card(check, partial(_card, context, result, check))
    settings = context.analysis.settings
    repeats = check_repeats(context.votes, group_duplicates=settings.group_duplicates)
    caption("Besides the checks of the panel, of the items themselves:")
    check_card(replace(repeats, title="Repeated items"), lambda: offer_grouping(context))


def _card(context: PageContext, result: Scope, check: Check) -> None:
    """Draw what belongs into a card below its sentences: the figure, and folded tables."""
    for place, block in enumerate(check_figures(result, check)):
        key = f"{check.code}-{place}"
        if isinstance(block, Table):
            with st.expander(block.caption.rstrip(".")):
                draw_blocks([replace(block, caption="")], key=key)
        else:
            draw_blocks([block], key=key)
    if check.code == "P0":
        with st.expander("The command for this check only"):
            draw_blocks([Command(inspection_of(context))], key="P0")


def groups(
    context: PageContext,
    spec: ScopeSpec,
    result: Scope,
    recommendation: Recommendation | None,
    caveats: Caveats,
) -> bool:
    """Draw the filter and its button, then the comparison that the user asks for.

    If the recommended panel keeps judges that the filter drops, that comparison is shown by
    default. Returns whether the work has ended.
    """
    entry = ENTRIES[GROUP_CHANGE.name]
    st.header(entry.study.title)
    section_answer(filter_sentence(result))
    if result.suggested:
        dropped = [drop.judge for drop in result.suggested]
        _apply(context, dropped, "Apply the filter as a new analysis", "apply-filter")
    by = st.segmented_control(
        "Compare the panel with and without",
        KINDS,
        default="filter" if kept_all_the_same(result, recommendation) else None,
        key="group",
        bind="query-params",
        format_func=_LABELS.__getitem__,
        help="Both panels share splits, labels and calibrator, under each of the aggregators.",
    )
    chosen = None if by is None else _spec(context, spec, by)
    if chosen is None:
        return True

    button = partial(_without, context, chosen)
    return show_study(entry, context, chosen, caveats=caveats, below=button)


def _spec(context: PageContext, spec: ScopeSpec, by: By) -> GroupChangeSpec | None:
    """The spec of the chosen comparison; None, and a sentence, while no judge is chosen."""
    group: tuple[str, ...] | None = None
    if by in ("family", "cluster"):
        names = group_names(context.votes, spec.settings, by)
        if not names:
            st.caption(
                "These votes have no families: add a judge table with a column `family`."
                if by == "family"
                else "No judges err together more than others do."
            )
            return None
        group = (_pick("Family" if by == "family" else "Cluster", names, f"named-{by}"),)
    if by == "judges":
        everyone = list(context.votes.judges)
        picked = st.multiselect(
            "Judges",
            everyone,
            key="named",
            format_func=labels_of(everyone).__getitem__,
            placeholder="choose one or more",
            help="Judges outside this analysis are added, those inside are left out.",
        )
        own = set(spec.settings.judges or everyone)
        group = tuple(picked)
        if not group or own <= set(group):
            st.caption("Choose at least one judge, and leave at least one.")
            return None
    return group_spec(spec, by, group)


def _pick(label: str, names: Sequence[str], key: str) -> str:
    """One of these names, by default the one in the URL, else the first."""
    chosen = st.selectbox(
        label,
        names,
        key=key,
        bind="query-params",
        format_func=labels_of(list(names)).__getitem__,
    )
    return str(chosen) if chosen in names else names[0]


def _without(context: PageContext, spec: GroupChangeSpec, change: GroupChange) -> None:
    """Offer the analysis without the group, where it is part of it and not the filter's."""
    if not change.partial and change.members and spec.by != "filter" and not change.added:
        members = list(change.members)
        _apply(context, members, "Apply without them as a new analysis", "apply-group")


def _apply(context: PageContext, dropped: list[str], label: str, key: str) -> None:
    """Offer a new analysis without these judges."""
    settings = context.analysis.settings
    own = settings.judges or context.votes.judges
    remaining = tuple(judge for judge in own if judge not in set(dropped))
    if remaining and not is_reader() and st.button(label, key=key):
        open_with(context.analysis, replace(settings, judges=remaining))
