"""Label budget: how many labels do we need, and which share of the items should calibrate?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from judgepanel.figures.fraction_sweep import fraction_sweep
from judgepanel.figures.label_budget import budget_difference, label_budget
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, Aggregator, cross_fits
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.present.default_specs import BUDGET_PANELS, OFFERED, sweep_spec
from judgepanel.report.fraction_sweep import share_sentence, share_table, why_sentence
from judgepanel.report.label_budget import (
    beats_null,
    budget_sentence,
    budget_table,
    joint_sentence,
    joint_table,
    needed_table,
    next_sentence,
    paper_note,
    target_sentence,
    versus,
)
from judgepanel.report.methods import in_words
from judgepanel.report.numbers import fixed
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATOR_NAMES
from judgepanel.report.tables import PERCENTS
from judgepanel.studies.budget.fraction_sweep import FRACTION_SWEEP, FractionSweepSpec
from judgepanel.studies.budget.fraction_sweep_result import FractionSweep
from judgepanel.studies.budget.label_budget import LABEL_BUDGET, LabelBudgetSpec
from judgepanel.studies.budget.label_budget_result import NEXT, LabelBudget
from judgepanel.studies.budget.readings import MOST_LABELS, read
from judgepanel.studies.compare import arm_name
from judgepanel.ui.controls import aggregator_control, calibrator_control
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.pipeline import pipeline_note
from judgepanel.ui.work import show_result

_DEFAULT_PANEL = 5
_HIGHEST_TARGET = 7.0
_QUIET: Any = {"displayModeBar": False}


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the controls say; ``spec`` is what runs, the goals are read off its result."""

    spec: LabelBudgetSpec
    calibrator: Calibrator
    panel: int
    have: int | None
    target: float | None
    within: float

    @property
    def whole(self) -> LabelBudgetSpec:
        """The spec with its goals: the command that gives what the page shows."""
        return replace(self.spec, have=self.have, target=self.target, within=self.within)


def page(shown: Shown) -> None:
    """Controls, then the curve as it grows; the shares when it has ended."""
    asked = _controls(shown)
    known: set[str] = set()
    pipeline_note(shown, asked.spec.aggregator, asked.calibrator, offered=OFFERED)
    if show_result(
        LABEL_BUDGET, shown, asked.spec, lambda found: _draw(shown, asked, found, known)
    ):
        _sweep(shown, asked, known)
    next_step("pages/panel_curve.py", "keep all judges, or the top k?", shown.analysis)


def _controls(shown: Shown) -> _Asked:
    first, second, third = st.columns(3)
    calibrator = calibrator_control(first)
    panel = second.segmented_control(
        "Beside all judges",
        BUDGET_PANELS,
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
    have, target, within, beside = _goals(shown, aggregator)
    spec = LabelBudgetSpec(
        settings=shown.analysis.settings,
        aggregator=aggregator,
        calibrators=OFFERED,
        panels=(panel,) if cross_fits(aggregator) else BUDGET_PANELS,
        beside=beside,
    )
    return _Asked(spec, calibrator, panel, have, target, within)


def _goals(
    shown: Shown, aggregator: Aggregator
) -> tuple[int | None, float | None, float, Aggregator | None]:
    """Labels there are, the NLL wanted, how near is near, and a second aggregator."""
    labelled = int(shown.votes.labelled.sum())
    first, second, third, fourth = st.columns(4)
    have = first.number_input(
        "Your number of labels",
        1,
        min(max(100_000, 10 * labelled), MOST_LABELS),
        max(labelled, 1),
        step=10,
        key="labels",
        bind="query-params",
        help="The price of more is given from here. More than the file holds is extrapolated.",
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
    near = third.number_input(
        "Near the plateau: within %",
        1,
        50,
        5,
        key="within",
        bind="query-params",
        help="How near to the NLL at the most labels counts as there.",
    )
    beside: Aggregator | None = fourth.selectbox(
        "Against another aggregator",
        tuple(name for name in AGGREGATORS if name != aggregator),
        index=None,
        key="beside",
        bind="query-params",
        format_func=AGGREGATOR_NAMES.__getitem__,
        placeholder="none",
        help="All judges under it, on the same labels and calibrators.",
    )
    return None if have == labelled else int(have), target, near / 100.0, beside


def _draw(shown: Shown, asked: _Asked, whole: LabelBudget, known: set[str]) -> None:
    found = whole
    if asked.whole != asked.spec:
        found = read(whole, within=asked.within, target=asked.target, have=asked.have)
    calibrator = asked.calibrator
    others = _others(found, asked.panel)
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits: " * found.partial
    sentence = budget_sentence(found, calibrator)
    answer(so_far + sentence, "keep" if beats_null(found, calibrator) else "open")
    notes(in_words(found.warnings))
    known.update(found.warnings)
    st.plotly_chart(
        label_budget(found, calibrator, others),
        key="budget",
        alt="NLL against the number of labels. " + sentence,
        config=_QUIET,
    )
    st.caption(_yardstick(found, calibrator))
    for text in (next_sentence(found, calibrator), target_sentence(found, calibrator)):
        if text:
            said(text)
    for arm in others:
        _difference(found, calibrator, arm)
    _tables(found, calibrator, others)
    if not found.partial:
        downloads(shown, LABEL_BUDGET, asked.whole, found)
    how_study(shown, LABEL_BUDGET, asked.whole, _words(found))


def _others(found: LabelBudget, panel: int) -> list[str]:
    """Panels to draw beside all judges: the smaller one, then the second aggregator's."""
    wanted = [arm_name(panel)]
    if found.beside is not None:
        wanted.append(found.arms[0])
    return [arm for arm in wanted if arm in found.arms[:-1]]


def _difference(found: LabelBudget, calibrator: str, arm: str) -> None:
    st.header(versus(found, arm))
    words = joint_sentence(found, calibrator, arm)
    said(words)
    st.plotly_chart(
        budget_difference(found, calibrator, arm),
        key=f"difference-{found.arms.index(arm)}",
        alt="The difference in NLL against the number of labels. " + words,
        config=_QUIET,
    )


def _tables(found: LabelBudget, calibrator: str, others: list[str]) -> None:
    st.header("Every budget")
    for number, arm in enumerate(others or [None]):
        table(budget_table(found, calibrator, arm), key=f"budgets-{number}", percents=PERCENTS)
    if found.needed:
        st.header("Labels needed")
        table(_named(found), key="needed")
    if found.n_splits > 1 and len(found.panels) > 1:
        st.header("The joint test, and the paper's (invalid)")
        table(joint_table(found, calibrator), key="joint")
        st.caption(paper_note())


def _sweep(shown: Shown, asked: _Asked, known: set[str]) -> None:
    st.header("Which share should calibrate?")
    spec = sweep_spec(asked.spec)
    show_result(
        FRACTION_SWEEP, shown, spec, lambda found: _draw_sweep(shown, asked, spec, found, known)
    )


def _draw_sweep(
    shown: Shown, asked: _Asked, spec: FractionSweepSpec, found: FractionSweep, known: set[str]
) -> None:
    calibrator = asked.calibrator
    arm = arm_name(asked.panel) if arm_name(asked.panel) in found.arms[:-1] else None
    sentence = share_sentence(found, calibrator)
    said(sentence)
    notes(in_words(tuple(text for text in found.warnings if text not in known)))
    st.plotly_chart(
        fraction_sweep(found, calibrator, arm),
        key="shares",
        alt="NLL against the share of the items that calibrates. " + sentence,
        config=_QUIET,
    )
    st.caption(
        f"{why_sentence(found, calibrator)} This analysis calibrates on "
        f"{100.0 * shown.analysis.settings.fraction:g} %. Dashed upright line: the share that is "
        "enough."
    )
    table(share_table(found, calibrator, arm), key="shares", percents=PERCENTS)
    if not found.partial:
        downloads(shown, FRACTION_SWEEP, spec, found)
    how_study(shown, FRACTION_SWEEP, spec, _sweep_words(found))


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
    text += " Dotted lines on grey, right of the last marker, are extrapolated."
    if found.needed_for(calibrator, found.arms[-1]) is not None:
        end = "" if found.settled else ", the upper end of their interval"
        text += f" Dashed upright line: the labels that come near the plateau{end}."
    return text


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


def _sweep_words(found: FractionSweep) -> str:
    return (
        f"{found.n_splits} random splits (seed {found.seed}): the items are put in a random order, "
        "a share of them calibrates and all the others evaluate, so a larger share adds labels to "
        "those of a smaller one. Judges are ranked and weighted, and calibrators fitted, on the "
        "share alone. Intervals are for new items and panels fitted on that many labels: Var = v/N "
        "+ s_tr² (1/S + n_cal/n_eval), and n_cal/n_eval is what widens them. An exported panel is "
        "fitted on all labels whatever the share; the share decides what its measured NLL is of."
    )
