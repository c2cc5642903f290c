"""Sections of the Confidence page: conformal sets, difficulty, single items and their votes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from judgepanel.figures.confidence.groups import coverage_figure, strata_figure
from judgepanel.report.confidence_groups import (
    GROUPING_NAMES,
    conformal_sentence,
    coverage_table,
    groups_sentence,
    item_table,
    items_sentence,
    kinds_table,
    strata_table,
)
from judgepanel.report.methods import in_words
from judgepanel.report.numbers import counted, percent
from judgepanel.report.text import in_html, plain
from judgepanel.studies.confidence.conformal import CONFORMAL, ConformalSpec
from judgepanel.studies.confidence.conformal_result import Conformal
from judgepanel.studies.confidence.items import ITEMS, ItemsSpec
from judgepanel.studies.confidence.items_result import Items
from judgepanel.ui.frame import Shown, notes
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.work import show_result
from judgepanel.votes import MISSING

_NO_BAR = {"displayModeBar": False}
_LISTED = 25
_NO_FEATURE = "none"
_LISTS = ("worst misses", "most contested")


def conformal_section(shown: Shown, knobs: dict[str, Any], known: set[str]) -> bool:
    """Coverage of conformal sets; returns whether the work has ended."""
    st.header("Sets that hold the label")
    feature = _feature_choice(shown)
    spec = ConformalSpec(**knobs, feature=feature)
    return show_result(CONFORMAL, shown, spec, lambda found: _draw_sets(shown, spec, found, known))


def _feature_choice(shown: Shown) -> str | None:
    """An item feature to look into, for sets and strata alike; None where there is none."""
    table_ = shown.votes.features
    if table_ is None:
        return None
    names = [str(name) for name in table_.columns]
    chosen = st.selectbox(
        "Look into an item feature",
        [_NO_FEATURE, *(name for name in names if name != _NO_FEATURE)],
        key="feature",
        bind="query-params",
        format_func=lambda name: plain(name, 80),
        help="Sets and figures are then also shown for each of its values.",
    )
    return chosen if chosen in names and chosen != _NO_FEATURE else None


def _draw_sets(shown: Shown, spec: ConformalSpec, found: Conformal, known: set[str]) -> None:
    first, second = st.columns(2)
    level = first.segmented_control(
        "Level",
        range(len(found.levels)),
        default=len(found.levels) - 1,
        required=True,
        key="level",
        format_func=lambda i: percent(found.levels[i]),
        help="How often a set is to hold the true label.",
    )
    grouping = second.segmented_control(
        "Looked at by",
        found.methods[1:],
        default="difficulty",
        required=True,
        key="grouping",
        format_func=lambda name: GROUPING_NAMES[name],
        help="Difficulty is how much the votes disagree; no label goes into it.",
    )
    level = int(level)
    sentence = conformal_sentence(found, level)
    said(sentence)
    said(groups_sentence(found, level, grouping))
    notes(in_words(tuple(note for note in found.warnings if note not in known)))
    known.update(found.warnings)
    st.plotly_chart(
        coverage_figure(found, level, grouping),
        key="coverage-figure",
        alt="Share of sets that hold the true label, by group. " + sentence,
        config=_NO_BAR,
    )
    table(kinds_table(found, level), key="kinds")
    table(coverage_table(found, level, grouping), key="coverage")
    if not found.partial:
        downloads(shown, CONFORMAL, spec, found)
    how_study(
        shown,
        CONFORMAL,
        spec,
        f"In every split {found.n_slice:,.0f} of the calibration items are held out of all other "
        "fits. The probability they give their own label sets the threshold: a set holds every "
        "label that is not less credible than that. Plain sets promise coverage over all items; "
        "sets within groups have a threshold a group and promise it there. The promise is about "
        "the mean over slices and items that are drawn alike.",
    )


def items_section(shown: Shown, knobs: dict[str, Any], known: set[str]) -> None:
    """Strata, worst misses, and one item with its votes."""
    st.header("Easy and hard items")
    chosen = st.session_state.get("feature")
    names = () if shown.votes.features is None else tuple(map(str, shown.votes.features.columns))
    spec = ItemsSpec(**knobs, feature=chosen if chosen in names else None)
    show_result(ITEMS, shown, spec, lambda found: _draw_items(shown, spec, found, known))


def _draw_items(shown: Shown, spec: ItemsSpec, found: Items, known: set[str]) -> None:
    sentence = items_sentence(found)
    said(sentence)
    notes(in_words(tuple(note for note in found.warnings if note not in known)))
    grouping = st.segmented_control(
        "Strata by",
        tuple(dict.fromkeys(found.groupings)),
        default="difficulty",
        required=True,
        key="strata",
        format_func=lambda name: GROUPING_NAMES[name],
        help="Difficulty is how much the votes disagree; no label goes into it. 'Judges that "
        "erred' only describes: an item's own label is in it.",
    )
    if grouping == "errors":
        st.caption(
            "The label is in these strata, so accuracy is high or low in them by construction."
        )
    st.plotly_chart(
        strata_figure(found, grouping),
        key="strata-figure",
        alt="Stated confidence and share right in every stratum. " + sentence,
        config=_NO_BAR,
    )
    table(strata_table(found, grouping), key="strata")
    _one_item(shown, found)
    if not found.partial:
        downloads(shown, ITEMS, spec, found, label="All items as CSV")
    how_study(
        shown,
        ITEMS,
        spec,
        "An item's probability is the mean over the splits that held it out; 'p from' and 'p to' "
        "are the central 95 % of them. NLL is the mean surprise at its label. Disagreement is 0 "
        "where all votes are alike and 1 where they are half against half; strata are its thirds, "
        "equal values together. It counts the votes of all judges of the analysis.",
    )


def _one_item(shown: Shown, found: Items) -> None:
    st.header("Items to look at")
    first, second = st.columns([1, 2])
    which = first.segmented_control(
        "List", _LISTS, default=_LISTS[0], required=True, key="list", bind="query-params"
    )
    rows = found.worst(_LISTED) if which == _LISTS[0] else found.contested(_LISTED)
    if not len(rows):
        st.caption("There is none: no item was held out yet, or all votes are alike.")
        return
    table(item_table(found, rows), key="items", height=320)
    position = second.selectbox(
        "Item",
        range(len(rows)),
        # An older list's place would stay in the box while the list beside it has changed.
        key=f"item-{_LISTS.index(which)}" + f"-{found.n_splits}" * found.partial,
        format_func=lambda i: _item_label(found, int(rows[i]), i),
        help="Its votes, judge by judge, are shown below.",
    )
    _votes_of(shown, found, int(rows[min(int(position), len(rows) - 1)]))


def _item_label(found: Items, i: int, place: int) -> str:
    return f"{place + 1}. {plain(found.item_ids[i], 60) or 'item'}"


def _votes_of(shown: Shown, found: Items, i: int) -> None:
    """One item: what was said of it, and every judge's vote, those against the label first."""
    label = int(found.labels[i])
    st.html(
        f'<p class="jp-note"><b>{in_html(found.item_ids[i], 120)}</b>: label {label}, '
        f"probability of label 1: {percent(float(found.p[i]))}. "
        f"{counted(int(found.for_1[i]), 'vote')} for 1, {found.for_0[i]:,} for 0; "
        f"{found.wrong[i]:,} against the label.{_features_of(found, i)}</p>"
    )
    row = int(np.flatnonzero(shown.votes.labelled)[i])
    used = shown.analysis.settings.judges
    cast = shown.votes.votes[row]
    columns = [j for j, name in enumerate(shown.votes.judges) if used is None or name in used]
    columns.sort(key=lambda j: (cast[j] == MISSING, cast[j] == label))
    table(
        pd.DataFrame(
            {
                "judge": [plain(shown.votes.judges[j], 120) for j in columns],
                "vote": ["no vote" if cast[j] == MISSING else str(cast[j]) for j in columns],
                "against the label": [
                    "" if cast[j] == MISSING else "yes" if cast[j] != label else "no"
                    for j in columns
                ],
            }
        ),
        key="votes",
        height=320,
    )


def _features_of(found: Items, i: int) -> str:
    shown = [
        f" {in_html(name, 60)}: {in_html(values[i], 120)}."
        for name, values in zip(found.features, found.feature_values, strict=True)
    ]
    return "".join(shown)
