"""Methods: which aggregator, and which calibrator?"""

from __future__ import annotations

import streamlit as st

from judgepanel.kernels.evaluation import FORMS, Form
from judgepanel.present.pages import METHODS_PAGE
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.understand.method_grid import MethodGridView, grid_sentence
from judgepanel.studies.understand.method_grid import METHOD_GRID, MethodGrid, MethodGridSpec
from judgepanel.ui import frame, pipeline, render

_FORM_LABELS = {"cross_fitted": "Cross-fitted", "nested": "Nested"}


@frame.menu_page(METHODS_PAGE, "This page holds every aggregator and calibrator side by side.")
def page(context: frame.PageContext) -> None:
    """Draw the grid and its controls."""
    entry = PRESENTATIONS[METHOD_GRID.name]
    with pipeline.folded("Other labels or another score"):
        left, right = st.columns(2)
        form: Form = pipeline.segmented(
            left,
            "Use of labels",
            FORMS,
            default="cross_fitted",
            key="form",
            format_func=lambda name: _FORM_LABELS[name],
            help="Cross-fitted: aggregator and calibrator use all calibration labels, and no score "
            "uses its own. Nested, as in the paper: 70 % of them fit the aggregator, the rest the "
            "calibrator.",
        )
        about = "What the cells show. The winner and ties are always by NLL."
        metric = pipeline.score_control(right, key="score", help=about)
    spec = MethodGridSpec(settings=context.analysis.settings, form=form)
    view, caveats = MethodGridView(metric, pipeline.known_recommendation(context)), render.Caveats()
    if render.show_study(entry, context, spec, view, caveats=caveats, banner=_banner, titled=True):
        render.show_closed(context, METHODS_PAGE, {METHOD_GRID.name}, caveats=caveats)


def _banner(result: MethodGrid) -> tuple[str, str]:
    # The best cell may say nothing about judges, or not be shown to beat the base rate.
    nothing = result.measures_coding or not result.nll[result.best].below(result.null_nll)
    return grid_sentence(result), "open" if nothing else "keep"
