"""Figures of costs draw the results and escape names."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pandas as pd
import pytest

from judgepanel.present.decide.cost import cost_figure
from judgepanel.present.decide.escalation import escalation_figure
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.cost import COST, CostSpec
from judgepanel.studies.decide.escalation import ESCALATION, EscalationSpec
from judgepanel.studies.runner import run
from tests.helpers import make_votes


@cache
def frontier(budget=None, costs=(0.3, 0.1, 0.2, 0.5, 0.1, 0.01)):
    made = make_votes(2, 80, 6)
    if costs is not None:
        made = replace(made, judge_table=pd.DataFrame({"cost_usd": costs}))
    spec = CostSpec(Settings(splits=2), "one_coin", "temperature", budget, points=4, steps=2)
    return run(COST, made, spec, jobs=1)


@cache
def escalated():
    spec = EscalationSpec(
        Settings(splits=2), "one_coin", "temperature", cheapest=2, thresholds=(0.8,)
    )
    return run(ESCALATION, make_votes(2, 80, 6), spec, jobs=1)


def traces(figure):
    return {trace.name: trace for trace in figure.data if trace.name}


def test_every_budget_is_a_point_with_its_interval():
    result, drawn = frontier(0.4), traces(cost_figure(frontier(0.4)))
    points = drawn["best panel found, 95 %"]
    for place, point in enumerate(result.points):
        assert points.x[place] == point.cost.value
        assert points.y[place] == point.figures.nll.value
        assert points.y[place] + points.error_y.array[place] == pytest.approx(point.figures.nll.hi)
    assert drawn["all judges"].x[0] == result.full_cost
    assert set(drawn["base rate"].y) == {result.null_nll}
    assert set(drawn["budget"].x) == {0.4}
    reading = drawn["monotone fit"]
    assert list(reading.y) == sorted(reading.y, reverse=True)
    assert reading.line.dash == "dash"


def test_axes_say_the_unit_and_are_logarithmic_where_costs_differ_much():
    figure = cost_figure(frontier())
    assert figure.layout.xaxis.title.text == "cost per item (USD)"
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.xaxis.ticktext[:3] == ("0.01", "0.02", "0.05")
    counted = cost_figure(frontier(costs=None))
    assert "every judge costs 1" in counted.layout.xaxis.title.text
    assert counted.layout.xaxis.type is None
    free = cost_figure(frontier(costs=(0.0,) * 6))
    assert free.layout.xaxis.type is None


def test_names_and_units_are_inert():
    hostile = replace(frontier().points[-1], judges=("<img src=x>", *"abcdefg"))
    result = replace(frontier(), points=(hostile,), unit="<b>")
    figure = cost_figure(result)
    names = traces(figure)["best panel found, 95 %"].text[0]
    assert names.startswith("&lt;img")
    assert names.endswith("and 3 more")
    assert figure.layout.xaxis.title.text == "cost per item (&lt;b&gt;)"


def test_escalation_draws_nll_and_accuracy_at_every_threshold():
    result = escalated()
    figure = escalation_figure(result)
    lines = [t for t in figure.data if t.mode == "lines+markers"]
    assert [list(t.y) for t in lines] == [
        [row.nll.value for row in result.rows],
        [row.accuracy.value for row in result.rows],
    ]
    assert lines[0].y[0] + lines[0].error_y.array[0] == pytest.approx(result.alone.nll.hi)
    assert list(lines[0].x) == [row.cost.value for row in result.rows]
    assert list(lines[0].text) == ["0.5", "0.8", "1"]
    chosen = [t for t in figure.data if t.mode == "markers"]
    row = result.recommended
    assert [t.y[0] for t in chosen] == [row.nll.value, row.accuracy.value]
    assert [t.x[0] for t in chosen] == [row.cost.value] * 2
