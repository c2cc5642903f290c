"""Confidence: can the probabilities be believed, and what is gained by trusting the sure ones?"""

from __future__ import annotations

from typing import Any

import streamlit as st

from judgepanel.figures.confidence.reliability import reliability_figure
from judgepanel.figures.confidence.selective import selective_figure
from judgepanel.report.confidence import (
    believed,
    bins_table,
    error_sentence,
    measures_table,
    panel_words,
    reliability_sentence,
    selective_sentence,
    selective_table,
    slope_sentence,
)
from judgepanel.report.methods import in_words
from judgepanel.studies.compare import arm_name
from judgepanel.studies.confidence.reliability import ECE_BINS, RELIABILITY, ReliabilitySpec
from judgepanel.studies.confidence.reliability_result import Reliability
from judgepanel.studies.confidence.selective import SELECTIVE, SelectiveSpec
from judgepanel.studies.confidence.selective_result import Selective
from judgepanel.ui.controls import aggregator_control
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.pages.confidence_groups import conformal_section, items_section
from judgepanel.ui.pages.confidence_knobs import OFFERED, calibrator_choice, panel_choice
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.pipeline import pipeline_note
from judgepanel.ui.work import show_result

_ROW = 35
_NO_BAR = {"displayModeBar": False}


def page(shown: Shown) -> None:
    """Reliability first; each of the other studies starts when the one before has ended."""
    knobs, bins = _controls(shown)
    known: set[str] = set()
    pipeline_note(shown, knobs["aggregator"], knobs["calibrator"], offered=OFFERED)
    spec = ReliabilitySpec(**knobs)
    ended = show_result(
        RELIABILITY, shown, spec, lambda found: _draw(shown, spec, found, bins, known)
    )
    if ended and _selective(shown, knobs, known) and conformal_section(shown, knobs, known):
        items_section(shown, knobs, known)
    next_step("pages/label_budget.py", "how many labels do we need?", shown.analysis)


def _controls(shown: Shown) -> tuple[dict[str, Any], int]:
    first, second, third, fourth = st.columns([2.2, 2, 2, 1.3])
    panel = panel_choice(first, shown)
    calibrator = calibrator_choice(second)
    aggregator = aggregator_control(
        third,
        help="How votes are summed. Dawid–Skene, stacking and joint are fitted anew in every split "
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
    knobs = {
        "settings": shown.analysis.settings,
        "aggregator": aggregator,
        "calibrator": calibrator,
        "panel": panel,
    }
    return knobs, bins


def _draw(
    shown: Shown, spec: ReliabilitySpec, found: Reliability, bins: int, known: set[str]
) -> None:
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits: " * found.partial
    sentence = reliability_sentence(found)
    answer(so_far + sentence, "keep" if believed(found) else "open")
    notes(in_words(found.warnings))
    known.update(found.warnings)
    st.plotly_chart(
        reliability_figure(found, str(bins)),
        key="reliability",
        alt="Share right against stated confidence, before and after calibration, with counts of "
        "items beneath. " + sentence,
        config=_NO_BAR,
    )
    st.caption(
        "On the dotted line stated and right agree; below it the panel is too sure. Open marks: "
        "fewer than 10 items. Every item counts once."
    )
    for words in (error_sentence(found, bins), slope_sentence(found)):
        if words:
            said(words)
    st.header("Every bin")
    table(bins_table(found, str(bins)), key="bins")
    st.header("Before and after")
    measures = measures_table(found)
    table(measures, key="measures", height=_ROW * (len(measures) + 1) + 3)
    if not found.partial:
        downloads(shown, RELIABILITY, spec, found, label="Bins as CSV")
    how_study(shown, RELIABILITY, spec, _words(found))


def _selective(shown: Shown, knobs: dict[str, Any], known: set[str]) -> bool:
    st.header("Answer only where it is sure")
    spec = SelectiveSpec(**knobs)
    return show_result(
        SELECTIVE, shown, spec, lambda found: _draw_selective(shown, spec, found, known)
    )


def _draw_selective(shown: Shown, spec: SelectiveSpec, found: Selective, known: set[str]) -> None:
    sentence = selective_sentence(found)
    said(sentence)
    new = tuple(note for note in found.warnings if note not in known)
    notes(in_words(new))
    st.plotly_chart(
        selective_figure(found),
        key="selective",
        alt="Share of answers that are right against the share of items answered. " + sentence,
        config=_NO_BAR,
    )
    st.caption(
        "The dotted line answers everything: an order that says nothing stays on it. Within a "
        "split a calibrator that keeps the order of the scores moves the marks, not the line; the "
        "mean over splits can move a little. Marks can lie off the "
        "line: how many items are that sure differs from split to split."
    )
    table(selective_table(found), key="selective")
    if not found.partial:
        downloads(shown, SELECTIVE, spec, found)
    how_study(
        shown,
        SELECTIVE,
        spec,
        "Items held out in a split are ranked by confidence, and the share right among the surest "
        "is averaged over the splits; ties share their places. AUAC is the area under that curve. "
        "Its null is the accuracy of answering everything. Intervals are for new items and new "
        "panels; they count items (or groups), never evaluations.",
    )


def _words(found: Reliability) -> str:
    return (
        f"{found.n_splits} random splits (seed {found.seed}): on {found.n_calibration:,.0f} items "
        f"{panel_words(found)} are fitted, and the other {found.n_evaluation:,.0f} are given a "
        "probability. An item is held out in about half of the splits; it counts once all the "
        "same, in parts where its confidence falls into several bins. Intervals are Wilson's on an "
        "effective number of items, which groups and panels that differ from split to split lower. "
        "ECE is the mean gap between stated and right over the bins. By chance: labels drawn "
        "from the panel's own probabilities. Slope and intercept: labels regressed on the stated "
        f"log-odds. {arm_name(5)} and the like are ranked on the calibration items of each split."
    )
