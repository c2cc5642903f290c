"""Methods: which aggregator and calibrator, step by step, and what calibrators do."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from judgepanel.kernels.aggregation import AGGREGATORS
from judgepanel.kernels.evaluation import FORMS
from judgepanel.present.pages import METHODS_PAGE
from judgepanel.present.paper.calibrator_design import CalibratorDesignView
from judgepanel.present.registry import ENTRIES
from judgepanel.present.study import Entry, Pipeline
from judgepanel.present.understand.method_grid import MethodGridView, grid_sentence
from judgepanel.studies.contract import Spec
from judgepanel.studies.paper.calibrator_design import CALIBRATOR_DESIGN, CalibratorDesignSpec
from judgepanel.studies.understand.method_grid import METHOD_GRID, MethodGrid, MethodGridSpec
from judgepanel.ui.frame import PageContext, answer
from judgepanel.ui.pipeline import aggregator_control, folded, known_recommendation, score_control
from judgepanel.ui.render import Caveats, draw_study, show_others
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
        ask = partial(_ask, context)
        show_others(context, METHODS_PAGE, {METHOD_GRID.name}, caveats=caveats, ask=ask)


def _ask(context: PageContext, entry: Entry) -> tuple[Spec, Any]:
    """Draw the controls of a study, if it has any; return its spec and view."""
    if entry.name == CALIBRATOR_DESIGN.name:
        return _shapes(context)
    return entry.under(context.votes, context.analysis.settings, Pipeline())[0], None


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


def _shapes(context: PageContext) -> tuple[Spec, CalibratorDesignView]:
    aggregator = aggregator_control(
        st.container(),
        Pipeline().aggregator,
        AGGREGATORS,
        help="The aggregator whose scores are calibrated.",
    )
    spec = CalibratorDesignSpec(settings=context.analysis.settings, aggregator=aggregator)
    calibrators = st.multiselect(
        "Calibrators drawn",
        spec.calibrators,
        default=[name for name in _DRAWN if name in spec.calibrators],
        key="drawn",
        bind="query-params",
        format_func=CALIBRATOR_NAMES.__getitem__,
    )
    return spec, CalibratorDesignView(tuple(calibrators))
