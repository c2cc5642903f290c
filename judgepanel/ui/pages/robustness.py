"""Robustness: the controls of its studies, and above them the worst known result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels import calibration, evaluation
from judgepanel.present.pages import ROBUSTNESS_PAGE
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.study import REFITTED, Pipeline, Presentation, pipeline_of
from judgepanel.present.trust import transfer
from judgepanel.present.trust.corruption import SCENARIO_NAMES, CorruptionView
from judgepanel.studies.contract import Spec
from judgepanel.studies.panel.recommended import AVERAGE
from judgepanel.studies.trust.corruption import CORRUPTION, SCENARIOS
from judgepanel.studies.trust.difficulty_transfer import DIFFICULTY_TRANSFER, DifficultyTransfer
from judgepanel.studies.trust.slice_transfer import SLICE_TRANSFER, SliceTransferSpec
from judgepanel.ui import frame, render
from judgepanel.ui import pipeline as controls
from judgepanel.ui.work import show_result, stored_result
from judgepanel.words.sentences import so_far
from judgepanel.words.text import capital, plain

_FEATURE = "slices"


@frame.menu_page(
    ROBUSTNESS_PAGE, "This page shows how a panel fares on other items and on damaged votes."
)
@controls.with_recommendation
def page(context: frame.PageContext, recommendation: Recommendation | None) -> None:
    """Draw the transfer matrix; the other studies are closed until they are opened."""
    entry = PRESENTATIONS[DIFFICULTY_TRANSFER.name]
    fold = controls.folded()
    with fold:
        pipeline, method = _transfer_controls(context, pipeline_of(recommendation))
    (spec,) = transfer.transfer_specs(context.votes, context.analysis.settings, pipeline)
    view = transfer.TransferView(_calibrator(pipeline), method)
    splits = spec.settings.most_splits
    controls.pipeline_note(
        context, recommendation, spec.aggregator, pipeline.calibrator, fold, splits
    )
    caveats = render.Caveats()
    drawn: list[DifficultyTransfer] = []

    def ask(entry: Presentation) -> tuple[Spec, Any]:
        if draw := _CONTROLS.get(entry.name):
            spec, view = draw(context, pipeline)
        else:
            spec, view = _spec(context, pipeline, entry), None
        controls.note_other(entry, spec, pipeline)
        return spec, view

    def banner(matrix: DifficultyTransfer | None) -> str:
        """Draw the worst known result: that of the matrix below, or of what is stored of the rest.

        Returns the sentence, so that the matrix does not repeat it.
        """
        finding = transfer.worst_finding(
            matrix,
            _calibrator(pipeline),
            stored_result(SLICE_TRANSFER, context, _slice_spec(context, pipeline)),
            recommendation if pipeline == pipeline_of(recommendation) else None,
        )
        sentence = finding.sentence if matrix is None else so_far(matrix) + finding.sentence
        frame.answer(sentence, finding.tone)
        return sentence

    def draw(result: DifficultyTransfer) -> None:
        sentence = banner(result)
        st.header(entry.study.title)
        render.draw_study(
            entry, context, spec, result, view, caveats=caveats, skip=(sentence,), quiet=True
        )
        drawn.append(result)

    if show_result(DIFFICULTY_TRANSFER, context, spec, draw):
        if not drawn:
            banner(None)
        study_names = {DIFFICULTY_TRANSFER.name}
        render.show_closed(context, ROBUSTNESS_PAGE, study_names, caveats=caveats, ask=ask)


def _calibrator(pipeline: Pipeline) -> calibration.Calibrator:
    """The calibrator that the page shows; members of the average have their own."""
    return "none" if pipeline.recommended else pipeline.calibrator


def _transfer_controls(context: frame.PageContext, default: Pipeline) -> tuple[Pipeline, str]:
    """The pipeline of the page, and how its calibrator is transferred."""
    left, middle, right = st.columns([2, 2, 3])
    aggregator = controls.aggregator_control(
        left,
        default.of_panel,
        controls.offered_aggregators(context.analysis.settings),
        help="How votes are summed, on the whole page. The recommended panel is chosen again, and "
        "Dawid–Skene, stacking and joint are refitted, for every figure; they take "
        f"{REFITTED} splits at most.",
    )
    calibrator = controls.calibrator_control(
        middle, default.calibrator, transfer.CARRIED, average=aggregator == AVERAGE
    )
    if aggregator == AVERAGE:
        return replace(default, recommended=True), evaluation.METHODS[0]
    method = controls.segmented(
        right,
        "Transfer method",
        evaluation.METHODS,
        key="method",
        format_func=transfer.METHOD_NAMES.__getitem__,
        help="Plain: one calibrator for all. Stratified: one for clear and one for contested "
        "items. Importance-weighted: labels count by how similar their items are to those scored.",
    )
    return Pipeline(aggregator, calibrator), method


def _spec(context: frame.PageContext, pipeline: Pipeline, entry: Presentation) -> Spec:
    return entry.under(context.votes, context.analysis.settings, pipeline)[0]


def _slice_spec(context: frame.PageContext, pipeline: Pipeline) -> SliceTransferSpec:
    chosen = st.session_state.get(_FEATURE, st.query_params.get(_FEATURE))
    if chosen not in controls.features_of(context):
        chosen = transfer.first_feature(context.votes, context.analysis.settings)
    return transfer.slice_spec(context.analysis.settings, pipeline, chosen)


def _slices(context: frame.PageContext, pipeline: Pipeline) -> tuple[Spec, None]:
    names = controls.features_of(context)
    first = transfer.first_feature(context.votes, context.analysis.settings)
    if len(names) > 1 and first is not None:
        st.selectbox(
            "Slices by",
            names,
            index=names.index(first),
            key=_FEATURE,
            bind="query-params",
            format_func=lambda name: plain(str(name), 60),
            help="The item feature whose slices are left out, one after the other.",
        )
    return _slice_spec(context, pipeline), None


def _damage(context: frame.PageContext, pipeline: Pipeline) -> tuple[Spec, CorruptionView]:
    scenario = st.selectbox(
        "What goes wrong",
        SCENARIOS,
        key="damage",
        bind="query-params",
        format_func=lambda name: capital(SCENARIO_NAMES[name]),
        help="When scoring: panels were fitted on clean votes and then something broke. "
        "Throughout: the calibration votes are damaged as well.",
    )
    return _spec(context, pipeline, PRESENTATIONS[CORRUPTION.name]), CorruptionView(scenario)


_CONTROLS: Mapping[str, Callable[[frame.PageContext, Pipeline], tuple[Spec, Any]]] = {
    SLICE_TRANSFER.name: _slices,
    CORRUPTION.name: _damage,
}
"""By study, the function that draws its controls and returns the spec and the view."""
