"""The curve, and what panels cost. The recommendation itself has a report of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from judgepanel.figures.cost import cost, escalation
from judgepanel.figures.curators import curators
from judgepanel.figures.panel_curve import panel_curve
from judgepanel.report.cost import READING, cost_sentence, cost_table, price_sentence
from judgepanel.report.curators import curators_sentence, curators_table
from judgepanel.report.document import Block
from judgepanel.report.escalation import (
    cheap_sentence,
    escalation_sentence,
    escalation_table,
    promise_sentence,
)
from judgepanel.report.sections.blocks import answer, drawing, rows, said, shown_calibrator
from judgepanel.report.sentences import curve_sentence, optimism_sentence
from judgepanel.report.tables import comparison_table
from judgepanel.studies.cost.cost import COST
from judgepanel.studies.cost.cost_result import Cost
from judgepanel.studies.cost.escalation import ESCALATION
from judgepanel.studies.cost.escalation_result import Escalation
from judgepanel.studies.curve.panel_curve import PANEL_CURVE, PanelCurve
from judgepanel.studies.panel.curators import CURATORS_STUDY
from judgepanel.studies.panel.curators_result import Curators


def _curve(found: PanelCurve) -> list[Block]:
    calibrator = shown_calibrator(found)
    return [
        answer(found, curve_sentence(found, calibrator)),
        drawing(panel_curve(found, calibrator), "raw and calibrated panels of every size"),
        *said(optimism_sentence(found, calibrator)),
        rows(comparison_table(found, calibrator), "Panels against all judges."),
    ]


def _cost(found: Cost) -> list[Block]:
    return [
        answer(found, cost_sentence(found)),
        drawing(cost(found), "the best panel under every budget"),
        *said(price_sentence(found), READING),
        rows(cost_table(found)),
    ]


def _escalation(found: Escalation) -> list[Block]:
    return [
        answer(found, escalation_sentence(found)),
        drawing(escalation(found), "every threshold of confidence"),
        *said(promise_sentence(found), cheap_sentence(found)),
        rows(escalation_table(found)),
    ]


def _curators(found: Curators) -> list[Block]:
    return [
        answer(found, curators_sentence(found)),
        drawing(curators(found), "every way of choosing judges"),
        rows(curators_table(found)),
    ]


DECIDE: Mapping[str, Callable[[Any], list[Block]]] = {
    PANEL_CURVE.name: _curve,
    COST.name: _cost,
    ESCALATION.name: _escalation,
    CURATORS_STUDY.name: _curators,
}
