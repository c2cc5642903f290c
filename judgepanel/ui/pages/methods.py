"""Methods: which aggregator and calibrator, step by step, and what calibrators do."""

from __future__ import annotations

from typing import Any

import streamlit as st

from judgepanel.figures.methods.calibrator_design import calibrator_shapes
from judgepanel.figures.methods.method_grid import plot_method_grid, prepare_method_grid
from judgepanel.figures.methods.pipeline_ablation import pipeline_ablation
from judgepanel.figures.panel_curve import METRIC_NAMES
from judgepanel.kernels.evaluate.grid import FORMS
from judgepanel.report.ablation import ablation_sentence, ablation_table
from judgepanel.report.methods import (
    design_sentence,
    design_table,
    grid_choice_sentence,
    grid_sentence,
    grid_table,
    in_words,
    ties_sentence,
)
from judgepanel.report.numbers import fixed
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATOR_NAMES
from judgepanel.report.tables import PERCENTS
from judgepanel.studies.methods.calibrator_design import (
    CALIBRATOR_DESIGN,
    CalibratorDesign,
    CalibratorDesignSpec,
)
from judgepanel.studies.methods.method_grid import METHOD_GRID, MethodGrid, MethodGridSpec
from judgepanel.studies.methods.pipeline_ablation import (
    PIPELINE_ABLATION,
    PipelineAblation,
    PipelineAblationSpec,
)
from judgepanel.ui.controls import (
    METRIC_LABELS,
    aggregator_control,
    score_control,
)
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.grid_table import grid_table_html
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.work import show_result

_FORM_LABELS = {"cross_fitted": "Cross-fitted", "nested": "Nested"}
_DRAWN = ("none", "temperature", "platt", "beta", "isotonic")


def page(shown: Shown) -> None:
    """The grid first; the other studies start when it has ended."""
    form, metric = _controls()
    settings = shown.analysis.settings
    spec = MethodGridSpec(settings=settings, form=form)
    known: set[str] = set()
    if show_result(
        METHOD_GRID, shown, spec, lambda grid: _draw_grid(shown, spec, grid, metric, known)
    ):
        _steps(shown, known)
        _shapes(shown, known)
    next_step("pages/panel_curve.py", "keep all judges, or the top k?", shown.analysis)


def _controls() -> tuple[Any, str]:
    left, right = st.columns(2)
    form = left.segmented_control(
        "Labels",
        FORMS,
        default="cross_fitted",
        required=True,
        key="form",
        bind="query-params",
        format_func=lambda name: _FORM_LABELS[name],
        help="Cross-fitted: aggregator and calibrator use all calibration labels, and no score "
        "knows its own. Nested, as in the paper: 70 % of them fit the aggregator, the rest the "
        "calibrator.",
    )
    metric = score_control(
        right,
        key="score",
        help="What the cells show. Winner and ties are always those of the NLL.",
    )
    return form, metric


def _draw_grid(
    shown: Shown, spec: MethodGridSpec, grid: MethodGrid, metric: str, known: set[str]
) -> None:
    so_far = f"So far, {grid.n_splits} of {grid.planned_splits} splits: " * grid.partial
    answer(so_far + grid_sentence(grid), "open" if _nothing_shown(grid) else "keep")
    notes(in_words(grid.warnings))
    known.update(grid.warnings)
    _heat_map(grid, metric)
    st.caption(_reading(grid, metric))
    st.caption(f"{ties_sentence(grid)} {grid_choice_sentence(grid)}")
    st.header("Every cell")
    table(grid_table(grid), key="cells", height=320, percents=PERCENTS)
    if not grid.partial:
        downloads(shown, METHOD_GRID, spec, grid)
    how_study(shown, METHOD_GRID, spec, _grid_words(grid))


def _nothing_shown(grid: MethodGrid) -> bool:
    """Whether the lowest cell says nothing of the judges, or is not shown to beat the base rate."""
    return grid.measures_coding or not float(grid.nll_hi[grid.best]) < grid.null_nll


def _heat_map(grid: MethodGrid, metric: str) -> None:
    """A figure, and a table in its place on a narrow screen."""
    cells = prepare_method_grid(grid, metric)
    alt = f"{METRIC_NAMES[metric]} of every aggregator and calibrator on all judges. "
    with st.container(key="grid_wide"):
        st.plotly_chart(
            plot_method_grid(
                cells, aggregator_names=AGGREGATOR_NAMES, calibrator_names=CALIBRATOR_NAMES
            ),
            key="grid",
            alt=alt + grid_sentence(grid),
            config={"displayModeBar": False},
        )
    with st.container(key="grid_narrow"):
        st.html(
            grid_table_html(
                cells,
                aggregator_names=AGGREGATOR_NAMES,
                calibrator_names=CALIBRATOR_NAMES,
                label=alt,
            )
        )


def _reading(grid: MethodGrid, metric: str) -> str:
    """How to read the colours."""
    if metric == "nll":
        return (
            f"NLL on all {grid.n_judges} judges, lower is better. The darkest cell is the lowest; "
            f"the palest are at the base rate's {fixed(grid.null_nll, 3)} or above."
        )
    better = "higher" if metric == "accuracy" else "lower"
    return (
        f"{METRIC_LABELS[metric]} on all {grid.n_judges} judges, {better} is better: the darkest "
        "cell is the best. The frames, the answer and the ties are those of the NLL."
    )


def _steps(shown: Shown, known: set[str]) -> None:
    st.header("Step by step")
    spec = PipelineAblationSpec(settings=shown.analysis.settings)
    show_result(
        PIPELINE_ABLATION, shown, spec, lambda found: _draw_steps(shown, spec, found, known)
    )


def _draw_steps(
    shown: Shown, spec: PipelineAblationSpec, found: PipelineAblation, known: set[str]
) -> None:
    said(ablation_sentence(found))
    _other_notes(found.warnings, known)
    st.plotly_chart(
        pipeline_ablation(found),
        key="ablation",
        alt="NLL after each step of the pipeline, with intervals. " + ablation_sentence(found),
        config={"displayModeBar": False},
    )
    table(ablation_table(found), key="steps", percents=PERCENTS)
    if not found.partial:
        downloads(shown, PIPELINE_ABLATION, spec, found)
    how_study(
        shown,
        PIPELINE_ABLATION,
        spec,
        "The steps of the paper: 1 sums the votes, 2 corrects the score with item features where "
        "there are any, 3 calibrates, 4 adds conformal sets from a slice of the calibration items "
        "that nothing else was fitted to. Every step sees calibration items only; each one's "
        "figures are scores of the items left over.",
    )


def _shapes(shown: Shown, known: set[str]) -> None:
    st.header("What calibrators do")
    aggregator = aggregator_control(st.container(), help="Whose scores are calibrated.")
    spec = CalibratorDesignSpec(settings=shown.analysis.settings, aggregator=aggregator)
    show_result(
        CALIBRATOR_DESIGN, shown, spec, lambda found: _draw_shapes(shown, spec, found, known)
    )


def _draw_shapes(
    shown: Shown, spec: CalibratorDesignSpec, found: CalibratorDesign, known: set[str]
) -> None:
    said(design_sentence(found))
    _other_notes(found.warnings, known)
    picked = st.multiselect(
        "Drawn",
        found.calibrators,
        default=[name for name in _DRAWN if name in found.calibrators],
        key="drawn",
        bind="query-params",
        format_func=lambda name: CALIBRATOR_NAMES[name],
    )
    st.plotly_chart(
        calibrator_shapes(found, tuple(picked), calibrator_names=CALIBRATOR_NAMES),
        key="shapes",
        alt="Calibrated probability against the raw score, one line a calibrator.",
        config={"displayModeBar": False},
    )
    table(design_table(found), key="design", percents=PERCENTS)
    if not found.partial:
        downloads(shown, CALIBRATOR_DESIGN, spec, found)
    how_study(
        shown,
        CALIBRATOR_DESIGN,
        spec,
        "The lines are fitted to all labelled items, with scores that do not know their own label. "
        "The table is out of sample, as everywhere. Spearman ρ compares the order of the "
        "evaluation items before and after; it is 1 where a calibrator keeps the order. The "
        "column 'constant score' is what no judge at all gets through the same calibrator.",
    )


def _other_notes(warnings: tuple[str, ...], known: set[str]) -> None:
    """Warnings that the grid, above, has not given."""
    notes(in_words(tuple(sentence for sentence in warnings if sentence not in known)))


def _grid_words(grid: MethodGrid) -> str:
    return (
        f"{grid.n_splits} random splits (seed {grid.seed}): on {grid.n_calibration:,.0f} items "
        "every aggregator and calibrator is fitted, and all figures are scores of the other "
        f"{grid.n_evaluation:,.0f}. Calibrators see scores that do not know their own label: from "
        "left-out counts where the aggregator has a closed form, else from fits without the "
        "item's fold. A cell is not told apart from the lowest ('tied' in the table) when the "
        "simultaneous 95 % band of their difference holds 0. That does not make them equal: the "
        "band allows for every pair at once, and a comparison of two pipelines that was asked for "
        "beforehand, as on Scope or Panel curve, can show what it cannot. The aggregators are "
        "derived in `docs/`."
    )
