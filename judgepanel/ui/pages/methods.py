"""Methods: which aggregator and calibrator, step by step, and what calibrators do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import streamlit as st

from judgepanel.kernels.aggregate.aggregation import AGGREGATORS
from judgepanel.kernels.evaluate.grid import FORMS
from judgepanel.present.pipeline import Pipeline
from judgepanel.present.registry import ENTRIES, METHODS_PAGE, entries_of
from judgepanel.present.understand.calibrator_design import CalibratorDesignView
from judgepanel.present.understand.method_grid import MethodGridView, grid_sentence
from judgepanel.studies.contract import Spec
from judgepanel.studies.methods.calibrator_design import CALIBRATOR_DESIGN, CalibratorDesignSpec
from judgepanel.studies.methods.method_grid import METHOD_GRID, MethodGrid, MethodGridSpec
from judgepanel.studies.methods.pipeline_ablation import PIPELINE_ABLATION, PipelineAblationSpec
from judgepanel.ui.controls import aggregator_control, folded, score_control
from judgepanel.ui.frame import PageContext, answer, next_step
from judgepanel.ui.pipeline import known_recommendation
from judgepanel.ui.render import Caveats, draw_study, show_study
from judgepanel.ui.work import show_result
from judgepanel.words.sentences import CALIBRATOR_NAMES, so_far

_FORM_LABELS = {"cross_fitted": "Cross-fitted", "nested": "Nested"}
_DRAWN = ("none", "temperature", "platt", "beta", "isotonic")


def page(context: PageContext) -> None:
    """Draw the grid first; the other studies start one after the other."""
    entry = ENTRIES[METHOD_GRID.name]
    with folded("Other labels or another score"):
        form, metric = _grid_controls()
    spec = MethodGridSpec(settings=context.analysis.settings, form=form)
    caveats = Caveats()

    def draw(result: MethodGrid) -> None:
        sentence = so_far(result) + grid_sentence(result)
        answer(sentence, "open" if _nothing_shown(result) else "keep")
        st.header(entry.study.title)
        view = MethodGridView(metric, known_recommendation(context))
        draw_study(entry, context, spec, result, view, caveats=caveats, skip=(sentence,))

    if show_result(METHOD_GRID, context, spec, draw):
        _sections(context, caveats)
    next_step("pages/panel_curve.py", "keep all judges, or the top k?", context.analysis)


def _sections(context: PageContext, caveats: Caveats) -> None:
    """Draw the other studies, each of which starts when the previous one has ended."""
    for entry in entries_of(METHODS_PAGE)[1:]:
        st.header(entry.study.title)
        spec, view = _CONTROLS[entry.name](context)
        if not show_study(entry, context, spec, view, caveats=caveats):
            return


def _grid_controls() -> tuple[Any, str]:
    left, right = st.columns(2)
    form = left.segmented_control(
        "Use of labels",
        FORMS,
        default="cross_fitted",
        required=True,
        key="form",
        bind="query-params",
        format_func=lambda name: _FORM_LABELS[name],
        help="Cross-fitted: aggregator and calibrator use all calibration labels, and no score "
        "uses its own. Nested, as in the paper: 70 % of them fit the aggregator, the rest the "
        "calibrator.",
    )
    metric = score_control(
        right,
        key="score",
        help="What the cells show. The winner and ties are always by NLL.",
    )
    return form, metric


def _nothing_shown(result: MethodGrid) -> bool:
    """Whether the best cell says nothing about judges, or is not shown to beat the base rate."""
    return result.measures_coding or not result.nll[result.best].below(result.null_nll)


def _steps(context: PageContext) -> tuple[Spec, None]:
    return PipelineAblationSpec(settings=context.analysis.settings), None


def _shapes(context: PageContext) -> tuple[Spec, CalibratorDesignView]:
    aggregator = aggregator_control(
        st.container(),
        Pipeline().aggregator,
        AGGREGATORS,
        help="The aggregator whose scores are calibrated.",
    )
    spec = CalibratorDesignSpec(settings=context.analysis.settings, aggregator=aggregator)
    drawn = st.multiselect(
        "Calibrators drawn",
        spec.calibrators,
        default=[name for name in _DRAWN if name in spec.calibrators],
        key="drawn",
        bind="query-params",
        format_func=CALIBRATOR_NAMES.__getitem__,
    )
    return spec, CalibratorDesignView(tuple(drawn))


_CONTROLS: Mapping[str, Callable[[PageContext], tuple[Spec, Any]]] = MappingProxyType(
    {PIPELINE_ABLATION.name: _steps, CALIBRATOR_DESIGN.name: _shapes}
)
"""By study, the function that draws its controls and returns the spec and the view."""
