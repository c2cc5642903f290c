"""Label budget: how many labels do we need?"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from judgepanel.figures.label_budget import budget_difference, label_budget
from judgepanel.kernels.aggregate.aggregation import cross_fits
from judgepanel.report.label_budget import (
    beats_null,
    budget_sentence,
    budget_table,
    joint_sentence,
    needed_table,
    next_sentence,
)
from judgepanel.report.methods import in_words
from judgepanel.report.numbers import fixed
from judgepanel.report.sentences import CALIBRATOR_NAMES
from judgepanel.report.tables import PERCENTS
from judgepanel.studies.budget.label_budget import LABEL_BUDGET, LabelBudgetSpec
from judgepanel.studies.budget.label_budget_result import NEXT, LabelBudget
from judgepanel.studies.compare import arm_name
from judgepanel.ui.controls import (
    CALIBRATED,
    aggregator_control,
    calibrator_control,
)
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.work import show_result

_PANELS = (3, 5, 10)
_DEFAULT_PANEL = 5


def page(shown: Shown) -> None:
    """Controls, then the curve as it grows."""
    spec, calibrator, panel = _controls(shown)
    show_result(
        LABEL_BUDGET, shown, spec, lambda found: _draw(shown, spec, found, calibrator, panel)
    )
    next_step("pages/panel_curve.py", "keep all judges, or the top k?", shown.analysis)


def _controls(shown: Shown) -> tuple[LabelBudgetSpec, str, int]:
    first, second, third = st.columns(3)
    calibrator = calibrator_control(first)
    panel = second.segmented_control(
        "Beside all judges",
        _PANELS,
        default=_DEFAULT_PANEL,
        required=True,
        key="panel",
        bind="query-params",
        format_func=arm_name,
        help="The panel of the best judges, ranked on the same labels.",
    )
    aggregator = aggregator_control(
        third,
        help="How votes are summed. Dawid–Skene, stacking and joint are fitted anew for every "
        "budget and take longer.",
    )
    spec = LabelBudgetSpec(
        settings=shown.analysis.settings,
        aggregator=aggregator,
        calibrators=CALIBRATED,
        panels=(panel,) if cross_fits(aggregator) else _PANELS,
    )
    return spec, calibrator, panel


def _draw(
    shown: Shown, spec: LabelBudgetSpec, found: LabelBudget, calibrator: str, panel: int
) -> None:
    arm = arm_name(panel) if arm_name(panel) in found.arms else None
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits: " * found.partial
    sentence = budget_sentence(found, calibrator)
    answer(so_far + sentence, "keep" if beats_null(found, calibrator) else "open")
    notes(in_words(found.warnings))
    st.plotly_chart(
        label_budget(found, calibrator, arm),
        key="budget",
        alt="NLL against the number of labels. " + sentence,
        config={"displayModeBar": False},
    )
    st.caption(_yardstick(found, calibrator))
    price = next_sentence(found, calibrator)
    if price:
        said(price)
    if arm is not None:
        st.header(f"{arm} against {found.arms[-1]}")
        words = joint_sentence(found, calibrator, arm)
        said(words)
        st.plotly_chart(
            budget_difference(found, calibrator, arm),
            key="difference",
            alt="The difference in NLL against the number of labels. " + words,
            config={"displayModeBar": False},
        )
    st.header("Every budget")
    table(budget_table(found, calibrator, arm), key="budgets", percents=PERCENTS)
    if found.needed:
        st.header("Labels needed")
        table(_named(found), key="needed")
    if not found.partial:
        downloads(shown, LABEL_BUDGET, spec, found)
    how_study(shown, LABEL_BUDGET, spec, _words(found))


def _named(found: LabelBudget) -> pd.DataFrame:
    frame = needed_table(found)
    frame["calibrator"] = [CALIBRATOR_NAMES[name] for name in frame["calibrator"]]
    return frame


def _yardstick(found: LabelBudget, calibrator: str) -> str:
    null = float(found.null_nll[-1])
    constant = float(found.constant_nll[found.row(calibrator), -1])
    text = f"Base rate alone: NLL {fixed(null, 3)}"
    text += f" with {found.labels[-1]:,.0f} labels, {fixed(float(found.null_nll[0]), 3)} with "
    text += f"{found.labels[0]:,.0f}."
    if abs(constant - null) > 0.001:
        text += f" A constant score through the same calibrator: {fixed(constant, 3)}."
    return text + " Dotted lines right of the last marker are extrapolated."


def _words(found: LabelBudget) -> str:
    return (
        f"{found.n_splits} random splits (seed {found.seed}): {found.n_evaluation:,.0f} items are "
        "scored in each, whatever the budget. The other items are put in a random order, and a "
        "budget of n takes the first n: judges are ranked and weighted, and calibrators fitted, on "
        "those labels alone. Intervals are for new items and panels fitted on n labels. The band "
        "holds at all budgets together, and the joint p tests that there is no difference at any "
        f"of them. 'Next {NEXT} buy' reads a fitted curve a + b n^-c; its interval holds the doubt "
        "about the scores, not that about the form of the curve."
    )
