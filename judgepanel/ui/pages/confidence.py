"""Confidence: can the probabilities be believed, and what is gained by answering only if sure?"""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.present.pipeline import Pipeline, pipeline_of
from judgepanel.present.registry import CONFIDENCE_PAGE, ENTRIES
from judgepanel.present.trust.reliability import (
    ReliabilityView,
    believed,
    reliability_sentence,
)
from judgepanel.studies.compare import arm_name
from judgepanel.studies.confidence.conformal import CONFORMAL
from judgepanel.studies.confidence.items import ITEMS
from judgepanel.studies.confidence.probabilities import known_splits
from judgepanel.studies.confidence.reliability import ECE_BINS, RELIABILITY, ReliabilitySpec
from judgepanel.studies.confidence.reliability_result import Reliability
from judgepanel.studies.confidence.selective import SELECTIVE, SelectiveSpec
from judgepanel.studies.contest.averaged import AVERAGE
from judgepanel.studies.settings import grouped_votes
from judgepanel.ui.controls import aggregator_control, begins_with, folded, offered_aggregators
from judgepanel.ui.frame import PageContext, answer
from judgepanel.ui.pages.confidence_groups import items_section, sets_section
from judgepanel.ui.pipeline import (
    is_refining,
    pipeline_note,
    recommend_beside,
    with_recommendation,
)
from judgepanel.ui.render import Caveats, draw_study, show_others, show_study
from judgepanel.ui.work import show_result, stored_result
from judgepanel.words.sentences import CALIBRATOR_NAMES, so_far

_PANELS = (0, 3, 5, 10)
OFFERED: tuple[Calibrator, ...] = ("beta", "temperature", "platt", "isotonic", "auto", "none")


def page(context: PageContext) -> None:
    """The recommended panel, until another panel is chosen."""
    with_recommendation(context, partial(_page, context))


def _page(context: PageContext, recommendation: Recommendation | None) -> None:
    """Draw reliability first; each of the other studies starts when the previous one has ended."""
    entry = ENTRIES[RELIABILITY.name]
    with folded():
        options, bins = _controls(context, pipeline_of(recommendation))
    caveats = Caveats()
    spec = ReliabilitySpec(**options)
    pipeline_note(context, recommendation, spec.aggregator, spec.calibrator, average=True)

    def draw(result: Reliability) -> None:
        sentence = so_far(result) + reliability_sentence(result)
        answer(sentence, "keep" if believed(result) else "open")
        st.header(entry.study.title)
        view = ReliabilityView(bins)
        draw_study(entry, context, spec, result, view, caveats=caveats, skip=(sentence,))

    look = _first_look(context, spec)
    if look is not None:
        draw(look)
        recommend_beside(context)
        ended = False
    else:
        ended = show_result(RELIABILITY, context, spec, draw)
    sections = (_selective, sets_section, items_section)
    if ended and all(section(context, options, caveats) for section in sections):
        drawn = {study.name for study in (RELIABILITY, SELECTIVE, CONFORMAL, ITEMS)}
        show_others(context, CONFIDENCE_PAGE, drawn, caveats=caveats)


def _first_look(context: PageContext, spec: ReliabilitySpec) -> Reliability | None:
    """Reliability from the splits of a running recommendation, which are not computed twice."""
    if spec.aggregator != AVERAGE or not is_refining(context):
        return None
    if stored_result(RELIABILITY, context, spec) is not None:
        return None
    votes, settings = grouped_votes(context.votes, spec.settings), spec.settings
    splits = known_splits(votes, settings, range(settings.splits))
    return None if splits is None else RELIABILITY.merge(votes, spec, splits)


def _selective(context: PageContext, options: dict[str, Any], caveats: Caveats) -> bool:
    entry = ENTRIES[SELECTIVE.name]
    st.header(entry.study.title)
    return show_study(entry, context, SelectiveSpec(**options), caveats=caveats)


def _controls(context: PageContext, default: Pipeline) -> tuple[dict[str, Any], int]:
    first, second, third, fourth = st.columns([2.2, 2.2, 2, 1.3])
    aggregator = aggregator_control(
        first,
        default.of_panel,
        offered_aggregators(context.analysis.settings),
        help="How votes are summed. The recommended panel chooses judges and calibrators "
        "itself. Dawid–Skene, stacking and joint are refitted in every split and take longer.",
    )
    average = aggregator == AVERAGE
    chosen = _calibrator_choice(third, default.calibrator, average=average)
    panel = None if average else _panel_choice(second, context, default.panel)
    calibrator = default.calibrator if average else chosen
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


def _panel_choice(where: DeltaGenerator, context: PageContext, default: int | None) -> int | None:
    """Size of the panel, None for all judges; a size in the URL that is not offered means all."""
    judges = context.analysis.settings.judges
    n_judges = context.votes.n_judges if judges is None else len(judges)
    offered = [k for k in _PANELS if k < n_judges]
    chosen = where.segmented_control(
        "Panel",
        offered,
        default=default if default in offered else 0,
        required=True,
        key="panel",
        bind="query-params",
        format_func=lambda k: arm_name(k) if k else "all",
        help="All judges, or the best ones, ranked on the calibration items of every split.",
    )
    return int(chosen) if chosen else None


def _calibrator_choice(where: DeltaGenerator, default: Calibrator, *, average: bool) -> Calibrator:
    """The calibrator between 'before' and 'after'; drawn under the average, see the other pages."""
    begins_with("calibrator", default if default in OFFERED else OFFERED[0])
    chosen: Calibrator = where.selectbox(
        "Calibrator",
        OFFERED,
        index=OFFERED.index(default) if default in OFFERED else 0,
        key="calibrator",
        bind="query-params",
        format_func=CALIBRATOR_NAMES.__getitem__,
        help="How the summed votes become a probability, between 'before' and 'after'.",
        disabled=average,
    )
    return chosen
