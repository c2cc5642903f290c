"""The last section of Scope: the panel with and without a group of judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.present.registry import ENTRIES
from judgepanel.present.trust.group_change import group_spec
from judgepanel.present.trust.scope_sentences import filter_sentence, kept_all_the_same
from judgepanel.studies.scope.group_change import (
    GROUP_CHANGE,
    KINDS,
    By,
    GroupChangeSpec,
    group_names,
)
from judgepanel.studies.scope.group_change_result import GroupChange
from judgepanel.studies.scope.scope import ScopeSpec
from judgepanel.studies.scope.scope_result import Scope
from judgepanel.ui.frame import PageContext
from judgepanel.ui.pages.judges import labels_of
from judgepanel.ui.render import Caveats, draw_study
from judgepanel.ui.session import PARAMETER, is_reader, workspace
from judgepanel.ui.widgets import section_answer
from judgepanel.ui.work import show_result

_LABELS = {
    "filter": "What the filter drops",
    "family": "A family",
    "cluster": "A cluster",
    "judges": "Judges of my choice",
}


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

    def draw(change: GroupChange) -> None:
        button = partial(_without, context, chosen, change)
        draw_study(entry, context, chosen, change, caveats=caveats, below=button)

    return show_result(GROUP_CHANGE, context, chosen, draw)


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
        changed = workspace().with_settings(context.analysis, replace(settings, judges=remaining))
        st.query_params[PARAMETER] = changed.id
        st.rerun()
