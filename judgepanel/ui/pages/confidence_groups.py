"""Sections of the Confidence page: conformal sets, difficulty, single items and their votes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from judgepanel.present.blocks import Table
from judgepanel.present.registry import ENTRIES
from judgepanel.present.study import described_table
from judgepanel.present.trust.conformal import ConformalView
from judgepanel.present.trust.items import ItemsView, item_table
from judgepanel.present.trust.shares import GROUPING_NAMES
from judgepanel.studies.confidence.conformal import CONFORMAL, ConformalSpec
from judgepanel.studies.confidence.conformal_result import Conformal
from judgepanel.studies.confidence.items import ITEMS, ItemsSpec
from judgepanel.studies.confidence.items_result import Items, StratumGrouping
from judgepanel.ui.frame import PageContext
from judgepanel.ui.render import Caveats, draw_study
from judgepanel.ui.widgets import table
from judgepanel.ui.work import show_result
from judgepanel.votes import MISSING
from judgepanel.words.cells import text
from judgepanel.words.numbers import counted, percent
from judgepanel.words.text import in_html, plain

_LISTED = 25
_NO_FEATURE = "none"
_LISTS = ("worst misses", "most contested")


def sets_section(context: PageContext, options: dict[str, Any], caveats: Caveats) -> bool:
    """Draw the coverage of conformal sets; return whether the work has ended."""
    entry = ENTRIES[CONFORMAL.name]
    st.header(entry.study.title)
    spec = ConformalSpec(**options, feature=_feature_choice(context))

    def draw(result: Conformal) -> None:
        draw_study(entry, context, spec, result, _sets_view(result), caveats=caveats)

    return show_result(CONFORMAL, context, spec, draw)


def _feature_choice(context: PageContext) -> str | None:
    """The item feature to look into, for sets and strata alike; None if there is none."""
    table_ = context.votes.features
    if table_ is None:
        return None
    names = [str(name) for name in table_.columns]
    chosen = st.selectbox(
        "Break down by item feature",
        [_NO_FEATURE, *(name for name in names if name != _NO_FEATURE)],
        key="feature",
        bind="query-params",
        format_func=lambda name: plain(name, 80),
        help="Sets and figures are then also shown for each of its values.",
    )
    return chosen if chosen in names and chosen != _NO_FEATURE else None


def _sets_view(result: Conformal) -> ConformalView:
    first, second = st.columns(2)
    level = first.segmented_control(
        "Level",
        range(len(result.levels)),
        default=len(result.levels) - 1,
        required=True,
        key="level",
        format_func=lambda i: percent(result.levels[i]),
        help="How often a set should contain the true label.",
    )
    grouping = second.segmented_control(
        "Break down by",
        result.methods[1:],
        default="difficulty",
        required=True,
        key="grouping",
        format_func=lambda name: GROUPING_NAMES[name],
        help="Difficulty is how much the votes disagree; it uses no label.",
    )
    return ConformalView(int(level), grouping)


def items_section(context: PageContext, options: dict[str, Any], caveats: Caveats) -> bool:
    """Draw strata, worst misses, and one item with its votes; return whether the work has ended."""
    entry = ENTRIES[ITEMS.name]
    st.header(entry.study.title)
    chosen = st.session_state.get("feature")
    names = (
        () if context.votes.features is None else tuple(map(str, context.votes.features.columns))
    )
    spec = ItemsSpec(**options, feature=chosen if chosen in names else None)

    def draw(result: Items) -> None:
        view = ItemsView(_strata_choice(result), listed=False)
        items = partial(_single_items, context, result)
        draw_study(entry, context, spec, result, view, caveats=caveats, below=items)

    return show_result(ITEMS, context, spec, draw)


def _strata_choice(result: Items) -> StratumGrouping:
    chosen: StratumGrouping = st.segmented_control(
        "Strata by",
        tuple(dict.fromkeys(result.groupings)),
        default="difficulty",
        required=True,
        key="strata",
        format_func=lambda name: GROUPING_NAMES[name],
        help="Difficulty is how much the votes disagree; it uses no label. 'Judges that erred' "
        "only describes, since it uses the item's own label.",
    )
    return chosen


def _single_items(context: PageContext, result: Items) -> None:
    st.header("Items to look at")
    first, second = st.columns([1, 2])
    which = first.segmented_control(
        "List", _LISTS, default=_LISTS[0], required=True, key="list", bind="query-params"
    )
    rows = result.worst(_LISTED) if which == _LISTS[0] else result.contested(_LISTED)
    if not len(rows):
        st.caption("There are none: no item was held out yet, or all votes are alike.")
        return
    items = Table(item_table(result, rows), height=320)
    table(described_table(ITEMS, items), key="items")
    position = second.selectbox(
        "Item",
        range(len(rows)),
        # A key for each list; otherwise the box would keep its position in the previous list.
        key=f"item-{_LISTS.index(which)}" + f"-{result.n_splits}" * result.partial,
        format_func=lambda i: _item_label(result, int(rows[i]), i),
        help="Its votes, judge by judge, are shown below.",
    )
    _votes_of(context, result, int(rows[min(int(position), len(rows) - 1)]))


def _item_label(result: Items, i: int, place: int) -> str:
    return f"{place + 1}. {plain(result.item_ids[i], 60) or 'item'}"


def _votes_of(context: PageContext, result: Items, i: int) -> None:
    """Draw one item: its probability, then every judge's vote, those against the label first."""
    label = int(result.labels[i])
    st.html(
        f'<p class="jp-note"><b>{in_html(result.item_ids[i], 120)}</b>: label {label}, '
        f"probability of label 1: {percent(float(result.p.value[i]))}. "
        f"{counted(int(result.for_1[i]), 'vote')} for 1, {result.for_0[i]:,} for 0; "
        f"{result.wrong[i]:,} against the label.{_features_of(result, i)}</p>"
    )
    row = int(np.flatnonzero(context.votes.labelled)[i])
    used = context.analysis.settings.judges
    cast = context.votes.votes[row]
    columns = [j for j, name in enumerate(context.votes.judges) if used is None or name in used]
    columns.sort(key=lambda j: (cast[j] == MISSING, cast[j] == label))
    votes = {
        "judge": text([plain(context.votes.judges[j], 120) for j in columns]),
        "vote": text(["no vote" if cast[j] == MISSING else str(cast[j]) for j in columns]),
        "against the label": text(
            ["" if cast[j] == MISSING else "yes" if cast[j] != label else "no" for j in columns]
        ),
    }
    table(Table(votes, height=320), key="votes")


def _features_of(result: Items, i: int) -> str:
    lines = [
        f" {in_html(name, 60)}: {in_html(values[i], 120)}."
        for name, values in zip(result.features, result.feature_values, strict=True)
    ]
    return "".join(lines)
