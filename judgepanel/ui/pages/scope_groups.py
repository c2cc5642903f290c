"""The last section of Scope: the panel with and without a group of judges, one click each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from judgepanel.figures.scope.with_and_without import group_figure
from judgepanel.report.group_change import group_sentence, group_table, members_sentence
from judgepanel.report.methods import in_words
from judgepanel.report.scope import filter_sentence
from judgepanel.report.sentences import AGGREGATOR_NAMES
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
from judgepanel.ui.frame import Shown, notes
from judgepanel.ui.pages.judges import labels_of
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.session import PARAMETER, is_reader, workspace
from judgepanel.ui.work import show_result

_LABELS = {
    "filter": "What the filter drops",
    "family": "A family",
    "cluster": "A cluster",
    "judges": "Judges of my choice",
}


def groups(shown: Shown, spec: ScopeSpec, found: Scope) -> None:
    """The filter and what to do with it, then the comparison that is asked for."""
    st.header("With and without some judges")
    said(filter_sentence(found))
    if found.suggested:
        dropped = [one.judge for one in found.suggested]
        _apply(shown, dropped, "Apply the filter as a new analysis", "apply-filter")
    by = st.segmented_control(
        "Compare the panel with and without",
        KINDS,
        key="group",
        bind="query-params",
        format_func=_LABELS.__getitem__,
        help="Both panels share splits, labels and calibrator, under each of the aggregators.",
    )
    chosen = None if by is None else _spec(shown, spec, by)
    if chosen is not None:
        show_result(GROUP_CHANGE, shown, chosen, lambda change: _draw(shown, chosen, change))


def _spec(shown: Shown, spec: ScopeSpec, by: By) -> GroupChangeSpec | None:
    """The comparison asked for, or None (and a sentence) while nobody is chosen."""
    group: tuple[str, ...] | None = None
    if by in ("family", "cluster"):
        names = group_names(shown.votes, spec.settings, by)
        if not names:
            st.caption(
                "The votes come without families: add a judge table with a column `family`."
                if by == "family"
                else "No judges are found to err together more than others do."
            )
            return None
        group = (_pick("Family" if by == "family" else "Cluster", names, f"named-{by}"),)
    if by == "judges":
        everyone = list(shown.votes.judges)
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
    return GroupChangeSpec(
        settings=spec.settings,
        by=by,
        group=group,
        aggregators=spec.compared,
        calibrator=spec.calibrator,
    )


def _pick(label: str, names: Sequence[str], key: str) -> str:
    """One of these names, the first unless the URL says another."""
    chosen = st.selectbox(
        label,
        names,
        key=key,
        bind="query-params",
        format_func=labels_of(list(names)).__getitem__,
    )
    return str(chosen) if chosen in names else names[0]


def _draw(shown: Shown, spec: GroupChangeSpec, found: GroupChange) -> None:
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits: " * found.partial
    in_use = found.arms[0]
    said(so_far + group_sentence(found, in_use.aggregator))
    for arm in found.arms[1:]:
        if arm.verdict != in_use.verdict:
            said(group_sentence(found, arm.aggregator))
    said(members_sentence(found))
    notes(in_words(found.warnings))
    if not found.members:
        return
    st.plotly_chart(
        group_figure(found, AGGREGATOR_NAMES),
        key="group-figure",
        alt="NLL of every aggregator with the group and without it.",
        config={"displayModeBar": False},
    )
    table(group_table(found), key="group")
    if not found.partial:
        downloads(shown, GROUP_CHANGE, spec, found)
        if spec.by != "filter" and not found.added:
            members = list(found.members)
            _apply(shown, members, "Apply without them as a new analysis", "apply-group")
    how_study(shown, GROUP_CHANGE, spec, _words(found))


def _apply(shown: Shown, dropped: list[str], label: str, key: str) -> None:
    """A new analysis without these judges, one click away."""
    settings = shown.analysis.settings
    own = settings.judges or shown.votes.judges
    kept = tuple(judge for judge in own if judge not in set(dropped))
    if kept and not is_reader() and st.button(label, key=key):
        changed = workspace().with_settings(shown.analysis, replace(settings, judges=kept))
        st.query_params[PARAMETER] = changed.id
        st.rerun()


def _words(found: GroupChange) -> str:
    return (
        f"{found.n_splits} random splits (seed {found.seed}): both panels are fitted on the same "
        f"{found.n_calibration:,.0f} labels and scored on the same {found.n_evaluation:,.0f} "
        "items, so the difference is paired. Verdicts are held against a margin of 2 % of the NLL "
        "with the group. The filter is applied anew to the calibration items of every split, as "
        "it would be on new votes."
    )
