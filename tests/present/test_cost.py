"""Costs and escalation in words."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.present.blocks import Table
from judgepanel.present.decide import cost
from judgepanel.render.text import terminal_text
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.cost import COST, CostSpec
from judgepanel.studies.decide.escalation import ESCALATION, EscalationSpec
from judgepanel.studies.runner import run
from tests.helpers import drawn, make_votes, named

NONE = np.float64(np.nan)
COSTS = (0.3, 0.1, 0.2, 0.5, 0.1, 0.05, 0.4)


def votes(costs=COSTS):
    made = make_votes(1, 80, 7)
    if costs is None:
        return made
    table = pd.DataFrame({"cost_usd": costs, "latency_s": np.arange(7) + 1.0})
    return replace(made, judge_table=table)


@cache
def frontier(budget=None, costs=COSTS, n_judges=7):
    made = votes(costs)
    spec = CostSpec(Settings(splits=2), "one_coin", "temperature", budget, points=4, steps=3)
    return run(COST, made.with_judges(made.judges[:n_judges]), spec, jobs=1)


@cache
def escalated(cheapest=2, n_judges=7):
    made = votes()
    options = {"cheapest": cheapest, "thresholds": (0.8,)}
    spec = EscalationSpec(Settings(splits=2), "one_coin", "temperature", **options)
    return run(ESCALATION, made.with_judges(made.judges[:n_judges]), spec, jobs=1)


def with_points(**changes):
    result = frontier()
    points = tuple(replace(p, figures=replace(p.figures, **changes)) for p in result.points)
    return replace(result, points=points)


def test_amounts_have_their_unit():
    assert cost.amount(0.01234, "usd") == "0.0123 USD"
    assert cost.amount(1.0, "judges") == "1.00 judge"
    assert cost.amount(12.9, "judges") == "12.9 judges"
    assert cost.amount(2.0, "") == "2.00"
    assert cost.amount(float("nan"), "usd") == "n/a"
    assert "\x1b" not in cost.amount(2.0, "a\x1b[31m\nb")


def test_the_least_budget_without_loss_is_the_answer():
    band = Interval.single(0.0, -0.001, 0.001)
    sentence = cost.cost_sentence(with_points(band=band, margin=0.01, verdict="undecided"))
    assert sentence.startswith(
        "0.0500 USD an item is about as good as all 7 judges (1.65 USD) at 97 % less: NLL changes"
    )
    wide = replace(band, hi=np.float64(0.5))
    sentence = cost.cost_sentence(with_points(band=wide, margin=0.01, verdict="undecided"))
    assert sentence.startswith("No budget is shown to lose at most 2 % of NLL against all 7 judges")


def test_a_budget_that_was_asked_for_is_the_answer():
    sentence = cost.cost_sentence(frontier(0.33))
    assert sentence.startswith("Under 0.330 USD an item, ")
    assert "expected NLL of" in sentence
    assert "against all 7 judges (1.65 USD)" in sentence


def test_nothing_is_claimed_where_nothing_can_be():
    assert "only one judge" in cost.cost_sentence(frontier(n_judges=1))
    assert "nothing to save" in cost.cost_sentence(frontier(costs=(0.0,) * 7))
    base = frontier().everyone
    early = replace(base, figures=replace(base.figures, nll=replace(base.figures.nll, lo=NONE)))
    sentence = cost.cost_sentence(replace(frontier(), everyone=early))
    assert sentence == "Not enough splits yet to say."
    low = replace(frontier(), null_nll=0.001)
    assert "No panel at any cost beats the base rate" in cost.cost_sentence(low)


def test_prices_and_panels_are_said():
    sentence = cost.price_sentence(frontier())
    assert " USD, the next percent of NLL costs " in sentence
    assert " USD per item" in sentence
    nothing = replace(frontier(), points=tuple(replace(p, next=None) for p in frontier().points))
    assert cost.price_sentence(nothing) == ""
    point = replace(frontier().points[-1], judges=tuple("abcdefg"))
    assert "1 more (7 judges" in cost.panel_sentence(frontier(), point)


def test_tables_have_a_row_a_budget():
    table = cost.cost_table(frontier())
    assert Table(table).n_rows == len(frontier().points) + 1
    assert table["verdict"].texts()[-1] == "reference"
    assert {"slowest", "in turn"} <= set(table)
    bare = cost.cost_table(frontier(costs=None))
    assert not {"slowest", "in turn"} & set(bare)
    assert bare["budget"].texts()[:2] == ["1.00 judge", "2.00 judges"]
    assert Table(cost.panels_table(frontier())).n_rows == len(frontier().points)


@pytest.mark.parametrize("more", [{}, {"budget": 0.33}, {"costs": None}, {"n_judges": 1}])
def test_every_frontier_is_presented_with_its_panels(more):
    result = frontier(**more)
    text = terminal_text(cost.present(result, CostSpec()))
    assert cost.cost_sentence(result) in text
    assert "a monotone fit to the figures" in text
    assert "chosen on all labelled items" in text


def test_the_recommended_threshold_is_the_answer():
    entry = replace(escalated().recommended, threshold=0.8, verdict="no loss from curating")
    sentence = cost.escalation_sentence(replace(escalated(), recommended=entry))
    assert sentence.startswith("Ask 2.0 judges (0.150 USD) first, and all 7 (1.65 USD) where the c")
    assert "below 0.800" in sentence
    assert sentence.endswith("at most 2 % is lost.")
    always = replace(escalated(), recommended=replace(entry, threshold=1.0))
    assert cost.escalation_sentence(always).startswith("Ask all 7 judges about every item")


def test_escalation_claims_nothing_where_nothing_can_be():
    assert "only one judge" in cost.escalation_sentence(escalated(1, 1))
    assert "nothing to escalate to" in cost.escalation_sentence(escalated(7))
    assert cost.promise_sentence(escalated(7)) == ""
    nll = escalated().recommended.nll
    early = replace(escalated().recommended, nll=replace(nll, lo=NONE))
    result = replace(escalated(), recommended=early)
    assert cost.escalation_sentence(result) == "Not enough splits yet to say."
    assert cost.promise_sentence(result) == ""
    assert "beat the base rate" in cost.escalation_sentence(replace(escalated(), null_nll=0.01))


def test_escalation_on_the_terminal():
    assert "a selection bias of" in cost.promise_sentence(escalated())
    table = cost.escalation_table(escalated())
    assert table["ask all below"].texts() == ["never (0.5)", "0.800", "always (1)", "chosen"]
    assert table["verdict"].texts()[2] == "reference"
    assert "latency" in table
    assert "1 more" in cost.cheap_sentence(replace(escalated(), cheap=tuple("abcdefg")))


def test_every_budget_is_a_point_with_its_interval():
    result, figure = frontier(0.4), cost.cost_figure(frontier(0.4))
    points = named(figure, "best panel found, 95 %")
    assert list(points.x) == [point.cost.value for point in result.points]
    value, _, hi = drawn(points, "y")
    assert list(value) == [point.figures.nll.value for point in result.points]
    np.testing.assert_allclose(hi, [point.figures.nll.hi for point in result.points])
    assert named(figure, "all judges").x[0] == result.full_cost
    assert set(named(figure, "base rate").y) == {result.null_nll}
    assert set(named(figure, "budget").x) == {0.4}
    reading = named(figure, "monotone fit")
    assert list(reading.y) == sorted(reading.y, reverse=True)
    assert reading.line.dash == "dash"


def test_axes_say_the_unit_and_are_logarithmic_where_costs_differ_much():
    figure = cost.cost_figure(frontier())
    assert figure.layout.xaxis.title.text == "cost per item (USD)"
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.xaxis.ticktext[:3] == ("0.05", "0.1", "0.2")
    counted = cost.cost_figure(frontier(costs=None))
    assert "every judge costs 1" in counted.layout.xaxis.title.text
    assert counted.layout.xaxis.type is None
    assert cost.cost_figure(frontier(costs=(0.0,) * 7)).layout.xaxis.type is None


def test_names_and_units_are_inert():
    hostile = replace(frontier().points[-1], judges=("<img src=x>", *"abcdefg"))
    figure = cost.cost_figure(replace(frontier(), points=(hostile,), unit="<b>"))
    names = named(figure, "best panel found, 95 %").text[0]
    assert names.startswith("&lt;img")
    assert names.endswith("and 3 more")
    assert figure.layout.xaxis.title.text == "cost per item (&lt;b&gt;)"


def test_escalation_draws_nll_and_accuracy_at_every_threshold():
    result = escalated()
    figure = cost.escalation_figure(result)
    lines = [t for t in figure.data if t.mode == "lines+markers"]
    for line, metric in zip(lines, ("nll", "accuracy"), strict=True):
        assert list(line.y) == [getattr(row, metric).value for row in result.rows]
        assert list(line.x) == [row.cost.value for row in result.rows]
    assert drawn(lines[0], "y")[2][0] == pytest.approx(result.alone.nll.hi)
    assert list(lines[0].text) == ["0.5", "0.8", "1"]
    chosen = [t for t in figure.data if t.mode == "markers"]
    row = result.recommended
    assert [t.y[0] for t in chosen] == [row.nll.value, row.accuracy.value]
    assert [t.x[0] for t in chosen] == [row.cost.value] * 2
