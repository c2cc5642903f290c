"""Label budget: how many labels are needed?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels import aggregation, calibration
from judgepanel.present import pages, study
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.trust import label_budget
from judgepanel.studies.accumulate import arm_name
from judgepanel.studies.panel.recommended import AVERAGE, PanelAggregator
from judgepanel.studies.trust.label_budget import (
    LABEL_BUDGET,
    MOST_LABELS,
    LabelBudget,
    LabelBudgetSpec,
    read,
)
from judgepanel.ui import frame, pipeline, render, work
from judgepanel.words.sentences import AGGREGATOR_NAMES

_HIGHEST_TARGET = 7.0


@frame.menu_page(pages.BUDGET_PAGE, "This page shows the NLL against the number of labels.")
@pipeline.with_recommendation
def page(context: frame.PageContext, recommendation: Recommendation | None) -> None:
    """Draw the controls, and the curve as it grows."""
    entry = PRESENTATIONS[LABEL_BUDGET.name]
    fold = pipeline.folded("Your labels, a target, another pipeline")
    with fold:
        spec, calibrator, panel, goals = _controls(context, study.pipeline_of(recommendation))
    view = label_budget.BudgetView(calibrator, panel)
    caveats = render.Caveats()
    splits = spec.settings.most_splits
    pipeline.pipeline_note(context, recommendation, spec.aggregator, calibrator, fold, splits)

    def banner(result: LabelBudget) -> tuple[str, str]:
        tone = "keep" if label_budget.beats_null(result, calibrator) else "open"
        return label_budget.budget_sentence(result, calibrator), tone

    def draw(stored: LabelBudget) -> None:
        # The command of this spec gives what the page shows.
        whole = replace(spec, **goals)
        result = stored if whole == spec else read(stored, **goals)
        drawn: dict[str, Any] = {"caveats": caveats, "banner": banner, "opened": (), "quiet": True}
        render.draw_study(entry, context, whole, result, view, **drawn)

    if work.show_result(LABEL_BUDGET, context, spec, draw):
        render.show_closed(context, pages.BUDGET_PAGE, {LABEL_BUDGET.name}, caveats=caveats)


def _controls(
    context: frame.PageContext, default: study.Pipeline
) -> tuple[LabelBudgetSpec, calibration.Calibrator, int, dict[str, Any]]:
    """Draw the controls; the spec is what runs, and the goals are read from its result."""
    first, second, third = st.columns([5, 4, 5])
    aggregator = pipeline.aggregator_control(
        first,
        default.of_panel,
        pipeline.offered_aggregators(context.analysis.settings),
        help="How votes are summed. The recommended panel is chosen again for every budget. "
        "Dawid–Skene, stacking and joint are refitted for every budget and take longer.",
    )
    average = aggregator == AVERAGE
    panel = pipeline.segmented(
        second,
        "Compared with fewer judges",
        label_budget.BUDGET_PANELS,
        default=label_budget.FIRST_PANEL,
        key="panel",
        format_func=arm_name,
        help="The best judges, ranked on the same labels; beside the recommended panel, under "
        "one-coin + temperature.",
    )
    offered = default.calibrator if default.calibrator in study.OFFERED else study.OFFERED[0]
    chosen = pipeline.calibrator_control(third, offered, average=average)
    calibrator: calibration.Calibrator = "none" if average else chosen
    goals, beside = _goals(context, aggregator)
    spec = label_budget.budget_spec(context.analysis.settings, aggregator, panel, beside)
    return spec, calibrator, panel, goals


def _goals(
    context: frame.PageContext, aggregator: PanelAggregator
) -> tuple[dict[str, Any], aggregation.Aggregator | None]:
    """The user's number of labels, target NLL, distance to the plateau, and a second aggregator."""
    labelled = int(context.votes.labelled.sum())
    first, second, third, fourth = st.columns(4)
    have = first.number_input(
        "Your number of labels",
        1,
        min(max(100_000, 10 * labelled), MOST_LABELS),
        max(labelled, 1),
        step=10,
        key="labels",
        bind="query-params",
        help="More labels are priced from here. Beyond the labels of the file is extrapolation.",
    )
    target = second.number_input(
        "Target NLL (optional)",
        0.001,
        _HIGHEST_TARGET,
        None,
        step=0.01,
        format="%.3f",
        key="target",
        bind="query-params",
        placeholder="none",
        help="How many labels bring the panel there?",
    )
    about = "How close to the NLL at the most labels counts as reached."
    near = third.number_input(
        "Near the plateau (within %)", 1, 50, 5, key="within", bind="query-params", help=about
    )
    beside: aggregation.Aggregator | None = fourth.selectbox(
        "Compare with another aggregator",
        tuple(name for name in aggregation.AGGREGATORS if name != aggregator),
        index=None,
        key="beside",
        bind="query-params",
        format_func=AGGREGATOR_NAMES.__getitem__,
        placeholder="none",
        help="Shows all judges under it, with the same labels and calibrators.",
    )
    own = None if have == labelled else int(have)
    return {"have": own, "target": target, "within": near / 100.0}, beside
