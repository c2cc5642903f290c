"""Presentation of the label budget: its curve, differences, tables and default specs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.figures.label_budget import budget_difference, label_budget
from judgepanel.kernels.aggregate.aggregation import Aggregator, cross_fits
from judgepanel.present.blocks import (
    Answer,
    Block,
    Heading,
    Method,
    Paragraph,
    Table,
    drawing,
    paragraphs,
)
from judgepanel.present.entry import Entry
from judgepanel.present.pipeline import OFFERED, Pipeline, affordable_splits
from judgepanel.present.trust.label_budget_sentences import (
    again_sentence,
    budget_sentence,
    joint_sentence,
    next_sentence,
    paper_note,
    reading_sentence,
    span,
    target_sentence,
    tolerance,
    versus,
)
from judgepanel.studies.budget.label_budget import LABEL_BUDGET, LabelBudgetSpec
from judgepanel.studies.budget.label_budget_result import (
    NEXT,
    LabelBudget,
    LabelsNeeded,
)
from judgepanel.studies.contest.compared import compared_name
from judgepanel.studies.contest.recommended import AVERAGE, PanelAggregator
from judgepanel.studies.settings import Settings
from judgepanel.votes import VoteMatrix
from judgepanel.words.numbers import (
    capital,
    fixed,
    interval,
    with_interval,
)
from judgepanel.words.sentences import (
    CALIBRATED,
    CALIBRATOR_NAMES,
    first_calibrator,
    pipeline_name,
)
from judgepanel.words.tables import Column, differences, levels, numbers, text

BUDGET_PANELS = (3, 5, 10)
FIRST_PANEL = 5
"""The panel drawn besides all judges by default."""


@dataclass(frozen=True, slots=True)
class BudgetView:
    """Calibrator, and panel besides all judges; None shows all."""

    calibrator: str | None = None
    panel: int | None = None


def joint_table(result: LabelBudget, calibrator: str) -> dict[str, Column]:
    """Return the joint tests of every panel: ours, and the paper's, which is invalid."""
    c = result.row(calibrator)
    return {
        "panel": text([versus(result, arm) for arm in result.arms[:-1]]),
        "joint p": numbers(result.joint_p[c], "p"),
        "paper's joint p (invalid)": numbers(result.paper_p[c], "p"),
        "paper's largest t (invalid)": _two_decimals(result.paper_t[c]),
        "paper's 95 % limit (invalid)": _two_decimals(result.paper_critical[c]),
    }


def _two_decimals(values: Floats) -> Column:
    return Column(values, "number", {i: fixed(value, 2) for i, value in enumerate(values)})


def budget_table(result: LabelBudget, calibrator: str, panel: str | None) -> dict[str, Column]:
    """Return all judges and one panel at every budget, differences, and the price of labels."""
    c = result.row(calibrator)
    nll = result.nll[c, -1]
    columns = {
        "labels": numbers(result.labels, "whole"),
        f"NLL, {result.arms[-1]}": levels(nll, of="nll"),
        "base rate": numbers(result.null_nll, of="null_nll"),
        "skill": numbers(1.0 - nll.value / result.null_nll, "share"),
    }
    if result.aggregator != AVERAGE:
        columns["constant score"] = numbers(result.constant_nll[c], of="constant_nll")
    if panel is not None:
        p = result.arms.index(panel)
        lo, hi = result.band[c, p].lo, result.band[c, p].hi
        together = [interval(*ends, sign=True) for ends in zip(lo, hi, strict=True)]
        columns |= {
            f"NLL, {panel}": levels(result.nll[c, p], of="nll"),
            "difference": differences(result.delta[c, p], of="delta"),
            "all rows together": Column(lo, "number", dict(enumerate(together))),
            "verdict": text([result.decided(c, p, b) for b in range(len(result.labels))]),
        }
    gain = result.gain[c, -1, :-1]
    beyond = np.isfinite(gain.value) & (result.labels + NEXT > result.labels[-1])
    words = {int(b): f"{with_interval(*gain[b])} (extrapolated)" for b in np.flatnonzero(beyond)}
    return columns | {f"next {NEXT} buy": Column(gain, "estimate", words, "next_100_gain")}


def needed_table(result: LabelBudget) -> dict[str, Column]:
    """Return labels needed for the plateau and the target, by calibrator and panel."""
    near = f", {tolerance(result)} from the plateau"
    goals = [
        f"NLL {needed.goal:.3f}{near if needed.kind == 'plateau' else ''}"
        for needed in result.needed
    ]
    quoted = np.array([result.quoted(needed) for needed in result.needed])
    words = {row: _words(result, needed) for row, needed in enumerate(result.needed)}
    spans = {row: span(needed) for row, needed in enumerate(result.needed)}
    names = text([CALIBRATOR_NAMES[needed.calibrator] for needed in result.needed])
    calibrator = {} if result.aggregator == AVERAGE else {"calibrator": names}
    return calibrator | {
        "panel": text([needed.panel for needed in result.needed]),
        "to reach": text(goals),
        "labels": Column(quoted, "whole", words),
        "95 %": Column(np.array([needed.n.lo for needed in result.needed]), "whole", spans),
    }


def _words(result: LabelBudget, needed: LabelsNeeded) -> str:
    if not math.isfinite(needed.n.value):
        return "never, by the curve"
    if not math.isfinite(result.quoted(needed)):
        return "no limit shown"
    words = f"{round(result.quoted(needed)):,}"
    if needed.at_start and result.quoted(needed) == needed.n.value:
        return f"{words} or fewer"
    words = words if result.settled else f"up to {words}"
    return f"{words} (extrapolated)" if needed.extrapolated else words


def present(
    result: LabelBudget, spec: LabelBudgetSpec, view: BudgetView = BudgetView()
) -> list[Block]:
    """Present the curve of one calibrator, then the others if none was chosen."""
    first = view.calibrator or first_calibrator(result.calibrators)
    arms = _arms(result, view.panel)
    blocks = _curve(result, first, arms)
    for arm in arms:
        blocks += [Heading(versus(result, arm), 3), *_difference(result, first, arm)]
    if arms:
        blocks.append(Heading("Labels needed, and the joint test", 3))
    if result.needed:
        blocks.append(Table(needed_table(result), "Labels needed."))
    blocks += _joint(result, first)
    for calibrator in result.calibrators if view.calibrator is None else ():
        if calibrator != first:
            blocks.append(Heading(capital(CALIBRATED[calibrator]), 3))
            blocks += _curve(result, calibrator, arms, first=False)
            for arm in arms:
                blocks.append(Paragraph(joint_sentence(result, calibrator, arm)))
                blocks.append(_budgets_table(result, calibrator, arm))
            blocks += _joint(result, calibrator)
    return [*blocks, _method(result)]


def _arms(result: LabelBudget, panel: int | None) -> list[str]:
    """Return panels to compare with all judges: smaller ones, then the second aggregator's."""
    arms = list(result.arms[:-1])
    second = [] if result.beside is None else arms[:1]
    smaller = arms[len(second) :]
    if panel is not None:
        smaller = [arm for arm in smaller if arm == compared_name(panel, result.aggregator)]
    return [*smaller, *second]


def _curve(
    result: LabelBudget, calibrator: str, arms: list[str], *, first: bool = True
) -> list[Block]:
    sentence = budget_sentence(result, calibrator)
    if not first:
        under = pipeline_name(result.aggregator, calibrator)
        sentence = f"Under {under}, {sentence[0].lower()}{sentence[1:]}"
    blocks: list[Block] = [
        Answer(sentence),
        drawing(
            "panels on more and more labels", label_budget, result, calibrator, _drawn(result, arms)
        ),
        Paragraph(reading_sentence(result, calibrator), quiet=True),
        *paragraphs(next_sentence(result, calibrator), target_sentence(result, calibrator)),
    ]
    return blocks if arms else [*blocks, _budgets_table(result, calibrator, None)]


def _drawn(result: LabelBudget, arms: list[str]) -> list[str]:
    """Return one smaller panel, since all look alike, and the second aggregator's."""
    second = [arm for arm in arms if result.beside is not None and arm == result.arms[0]]
    smaller = [arm for arm in arms if arm not in second]
    first = compared_name(FIRST_PANEL, result.aggregator)
    chosen = [arm for arm in smaller if arm == first] or smaller
    return [*chosen[:1], *second]


def _difference(result: LabelBudget, calibrator: str, arm: str) -> list[Block]:
    return [
        Paragraph(joint_sentence(result, calibrator, arm)),
        drawing("the difference in NLL", budget_difference, result, calibrator, arm),
        _budgets_table(result, calibrator, arm),
    ]


def _budgets_table(result: LabelBudget, calibrator: str, arm: str | None) -> Table:
    return Table(budget_table(result, calibrator, arm), "Every budget.")


def _joint(result: LabelBudget, calibrator: str) -> list[Block]:
    """Return our test of every panel next to the paper's, once there are enough splits."""
    if result.n_splits < 2 or len(result.panels) < 2:
        return []
    return [
        Table(
            joint_table(result, calibrator),
            "The joint test, and the paper's (invalid).",
        ),
        Paragraph(paper_note(), quiet=True),
    ]


def _method(result: LabelBudget) -> Method:
    again = "" if result.aggregator != AVERAGE else f" {again_sentence('budget')}"
    return Method(
        "In each split the same items are scored, whatever the budget. The other items are put in "
        "a random order, and a budget of n takes the first n: judges are ranked and weighted, and "
        "calibrators fitted, on those labels alone. Intervals are for new items and panels fitted "
        "on n labels. The band holds at all budgets together, and the joint p tests that there is "
        f"no difference at any of them. 'Next {NEXT} buy' reads a fitted curve a + b n^-c; its "
        f"interval covers the uncertainty of the scores, not of the form of the curve.{again}"
    )


def default_specs(
    votes: VoteMatrix, settings: Settings, pipeline: Pipeline
) -> tuple[LabelBudgetSpec, ...]:
    """Return the calibrators and panels that the page offers."""
    return (budget_spec(settings, pipeline.of_panel),)


def budget_spec(
    settings: Settings,
    aggregator: PanelAggregator,
    panel: int = FIRST_PANEL,
    beside: Aggregator | None = None,
) -> LabelBudgetSpec:
    """Return the spec with all offered panels, or one if each needs a fit."""
    return LabelBudgetSpec(
        settings=affordable_splits(settings, aggregator),
        aggregator=aggregator,
        calibrators=OFFERED,
        panels=(panel,) if aggregator != AVERAGE and cross_fits(aggregator) else BUDGET_PANELS,
        beside=beside,
    )


ENTRY = Entry(LABEL_BUDGET, present, default_specs)
