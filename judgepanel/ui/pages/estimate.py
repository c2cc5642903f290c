"""Estimate: rates of all items and of groups, and what is better than what."""

from __future__ import annotations

import streamlit as st

from judgepanel.present.decide.estimate import ABOUT, estimate_sentence
from judgepanel.present.pages import ESTIMATE_PAGE
from judgepanel.present.registry import ENTRIES
from judgepanel.studies.decide.estimate import (
    ABOUTS,
    ESTIMATE,
    Estimates,
    EstimateSpec,
    offered_features,
    usual_feature,
)
from judgepanel.ui.frame import PageContext
from judgepanel.ui.render import Caveats, show_others, show_study

_NONE = ""
_ABOUT = {"auto": "as it suits", **ABOUT}


def page(context: PageContext) -> None:
    """Draw the controls, then the rates and differences."""
    entry, spec, caveats = ENTRIES[ESTIMATE.name], _controls(context), Caveats()
    if show_study(entry, context, spec, caveats=caveats, banner=_banner):
        show_others(context, ESTIMATE_PAGE, {ESTIMATE.name}, caveats=caveats)


def _banner(result: Estimates) -> tuple[str, str]:
    return estimate_sentence(result), "keep" if result.decided.any() else "open"


def _controls(context: PageContext) -> EstimateSpec:
    left, right = st.columns(2)
    offered = offered_features(context.votes)
    usual = usual_feature(context.votes)
    names = [*([usual] if usual else []), *(n for n in offered if n != usual), _NONE]
    by = left.selectbox(
        "Groups by",
        names,
        key="by",
        bind="query-params",
        format_func=lambda name: name or "no groups",
        help="The feature whose values are compared, such as the system that wrote the answers.",
    )
    about = right.segmented_control(
        "Intervals are for",
        ABOUTS,
        default="auto",
        required=True,
        key="about",
        bind="query-params",
        format_func=_ABOUT.__getitem__,
        help="The items of this file are known once all are labelled: then intervals are for items "
        "like these. For those the file is a sample itself, and intervals are wider.",
    )
    return EstimateSpec(settings=context.analysis.settings, by=by or None, about=about)
