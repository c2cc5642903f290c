"""Confidence: can the probabilities be believed, and what is gained by trusting the sure ones?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from judgepanel.present.registry import ENTRIES
from judgepanel.present.study import so_far
from judgepanel.present.trust.reliability import (
    ReliabilityView,
    believed,
    reliability_sentence,
)
from judgepanel.studies.confidence.reliability import ECE_BINS, RELIABILITY, ReliabilitySpec
from judgepanel.studies.confidence.reliability_result import Reliability
from judgepanel.studies.confidence.selective import SELECTIVE, SelectiveSpec
from judgepanel.ui.controls import aggregator_control
from judgepanel.ui.frame import PageContext, answer, next_step
from judgepanel.ui.pages.confidence_controls import OFFERED, calibrator_choice, panel_choice
from judgepanel.ui.pages.confidence_groups import items_section, sets_section
from judgepanel.ui.pipeline import pipeline_note
from judgepanel.ui.render import Caveats, draw_study, show_study
from judgepanel.ui.work import show_result


def page(context: PageContext) -> None:
    """Reliability first; each of the other studies starts when the one before has ended."""
    entry = ENTRIES[RELIABILITY.name]
    options, bins = _controls(context)
    caveats = Caveats()
    pipeline_note(context, options["aggregator"], options["calibrator"], offered=OFFERED)
    spec = ReliabilitySpec(**options)

    def draw(result: Reliability) -> None:
        sentence = so_far(result) + reliability_sentence(result)
        answer(sentence, "keep" if believed(result) else "open")
        st.header(entry.study.title)
        view = ReliabilityView(bins)
        draw_study(entry, context, spec, result, view, caveats=caveats, skip=(sentence,))

    ended = show_result(RELIABILITY, context, spec, draw)
    if ended and _selective(context, options, caveats) and sets_section(context, options, caveats):
        items_section(context, options, caveats)
    next_step("pages/label_budget.py", "how many labels do we need?", context.analysis)


def _selective(context: PageContext, options: dict[str, Any], caveats: Caveats) -> bool:
    entry = ENTRIES[SELECTIVE.name]
    st.header(entry.study.title)
    return show_study(entry, context, SelectiveSpec(**options), caveats=caveats)


def _controls(context: PageContext) -> tuple[dict[str, Any], int]:
    first, second, third, fourth = st.columns([2.2, 2, 2, 1.3])
    panel = panel_choice(first, context)
    calibrator = calibrator_choice(second)
    aggregator = aggregator_control(
        third,
        help="How votes are summed. Dawid–Skene, stacking and joint are refitted in every split "
        "and take longer.",
    )
    bins: int = fourth.segmented_control(
        "Bins",
        ECE_BINS,
        default=ECE_BINS[0],
        required=True,
        key="bins",
        bind="query-params",
        help="Equal-width bins of confidence from 0 to 100 %; those below 50 % are empty.",
    )
    options = {
        "settings": context.analysis.settings,
        "aggregator": aggregator,
        "calibrator": calibrator,
        "panel": panel,
    }
    return options, bins
