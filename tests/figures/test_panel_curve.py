"""The panel curve draws the result, including odd ones."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.figures.style import CURATE_FILL, CURATE_LINE, METRIC_NAMES
from judgepanel.present.decide.panel_curve import ordinal, panel_curve
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run, steps
from tests.helpers import make_votes


@cache
def curve_of(n_judges=8, splits=10):
    votes = make_votes(1, 80, n_judges)
    return run(PANEL_CURVE, votes, PanelCurveSpec(settings=Settings(splits=splits)), jobs=1)


def with_nll(curve, calibrator, place, nll):
    """The curve with another NLL at one size."""
    value = curve.nll.value.copy()
    value[curve.row(calibrator), place] = nll
    return replace(curve, nll=replace(curve.nll, value=value))


def named(figure, start):
    """The one trace whose name begins so."""
    result = [trace for trace in figure.data if trace.name.startswith(start)]
    assert len(result) == 1, [trace.name for trace in figure.data]
    return result[0]


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_the_best_is_the_lowest_score_or_the_highest_accuracy(metric):
    curve = curve_of()
    figure = panel_curve(curve, "beta", metric)
    value = getattr(curve, metric).value[curve.row("beta")]
    best = max(value) if metric == "accuracy" else min(value)
    (mark,) = (trace for trace in figure.data if "best in hindsight" in trace.name)
    assert list(mark.y) == [best]
    assert list(named(figure, "calibrated").y) == value.tolist()


def test_the_best_in_the_middle_gets_a_diamond_of_its_own():
    curve = curve_of()
    lowest = curve.nll.value.min() - 0.1
    figure = panel_curve(with_nll(curve, "beta", 2, lowest), "beta")
    best = named(figure, "best in hindsight (k = 3)")
    assert best.marker.symbol == "diamond"
    assert (best.marker.color, best.marker.line.color) == (CURATE_FILL, CURATE_LINE)
    assert list(best.x) == [3]
    assert named(figure, "all 8").marker.symbol == "square"


def test_the_best_at_the_end_shares_the_square_of_all():
    curve = curve_of()
    lowest = curve.nll.value.min() - 0.1
    figure = panel_curve(with_nll(curve, "beta", -1, lowest), "beta")
    assert named(figure, "all 8, best in hindsight").marker.symbol == "square"
    assert not [trace for trace in figure.data if trace.name.startswith("best")]


def test_lines_differ_by_more_than_colour():
    figure = panel_curve(curve_of(), "beta")
    drawn = [trace.line for trace in figure.data if trace.mode == "lines" and not trace.fill]
    assert len({(line.dash, line.width) for line in drawn}) == len(drawn) == 3


def test_the_hover_names_the_judge_that_each_size_adds():
    curve = curve_of()
    line = named(panel_curve(curve, "temperature"), "calibrated")
    assert len(line.customdata) == len(curve.k)
    assert line.customdata[2] == f"3rd judge added: {curve.ranking[2]}"
    assert "%{customdata}" in line.hovertemplate


def test_no_name_gets_into_a_template_where_it_would_be_filled_in():
    curve = replace(curve_of(), ranking=("%{y} of judge",) * 8)
    templates = [str(trace.hovertemplate) for trace in panel_curve(curve, "beta").data]
    assert not [template for template in templates if "of judge" in template]


def test_a_single_judge_is_one_marker():
    figure = panel_curve(curve_of(n_judges=1), "beta")
    assert named(figure, "calibrated").mode == "markers"
    assert list(named(figure, "all 1").x) == [1]


def test_one_split_has_a_line_but_no_band():
    spec = PanelCurveSpec(settings=Settings(splits=10))
    curve = next(iter(steps(PANEL_CURVE, make_votes(1, 80, 8), spec, jobs=1))).result()
    blank = np.full(curve.nll.shape, np.nan)
    figure = panel_curve(replace(curve, nll=replace(curve.nll, lo=blank, hi=blank)), "beta")
    assert curve.partial
    assert np.isfinite(named(figure, "calibrated").y).all()
    assert not [trace for trace in figure.data if trace.fill == "toself"]


def test_raw_as_the_line_is_drawn_once_and_called_raw():
    figure = panel_curve(curve_of(), "none")
    assert [trace.name for trace in figure.data].count("uncalibrated") == 1


def test_the_base_rate_is_drawn_for_nll_only():
    curve = curve_of()
    assert set(named(panel_curve(curve, "beta"), "base rate").y) == {curve.null_nll}
    names = [trace.name for trace in panel_curve(curve, "beta", "brier").data]
    assert not [name for name in names if name.startswith("base rate")]


def test_many_judges_have_a_log_axis_with_ticks_that_do_not_collide():
    curve = curve_of(n_judges=40)
    ks = np.arange(1, 1501)
    wide = curve.nll[:, np.zeros(len(ks), dtype=int)]
    figure = panel_curve(replace(curve, k=ks, ranking=("judge",) * 1500, nll=wide), "beta")
    axis = figure.layout.xaxis
    assert axis.type == "log"
    ticks = np.array(axis.tickvals)
    assert (ticks[0], ticks[-1]) == (1, 1500)
    assert axis.ticktext[-1] == "1,500"
    assert (np.diff(np.log10(ticks)) > 0.12).all()


def test_few_judges_have_a_plain_axis_of_whole_numbers():
    axis = panel_curve(curve_of(), "beta").layout.xaxis
    assert axis.type is None
    assert list(axis.tickvals) == list(range(1, 9))


def test_ordinals():
    ordinals = [ordinal(k) for k in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111, 113)]
    assert " ".join(ordinals) == "1st 2nd 3rd 4th 11th 12th 13th 21st 102nd 111th 113th"


def test_few_sizes_of_many_are_marked_and_all_sizes_are_a_line():
    votes, settings = make_votes(1, 60, 30), Settings(splits=2)
    few = run(PANEL_CURVE, votes, PanelCurveSpec(settings=settings, ks=(1, 3, 10)), jobs=1)
    assert named(panel_curve(few, "beta"), "calibrated").mode == "lines+markers"
    assert named(panel_curve(curve_of(), "beta"), "calibrated").mode == "lines"


def test_a_raw_score_far_off_leaves_the_figure_and_the_legend_says_how_far():
    curve = curve_of()
    figure = panel_curve(with_nll(curve, "none", -1, 12.345), "beta")
    assert named(figure, "uncalibrated").name == "uncalibrated (up to 12.35)"
    low, high = figure.layout.yaxis.range
    assert low == 0.0
    assert curve.nll.hi.max() < high < 2.0
    assert panel_curve(curve, "beta").layout.yaxis.range is None


def test_the_recommended_panel_and_its_pipeline_are_drawn_on_top_of_the_curve():
    curve = curve_of()
    spec = RecommendSpec(Settings(splits=3), folds=2)
    decided = run(RECOMMEND, make_votes(1, 80, 8), spec, jobs=1)
    main = decided.model.main
    drawn = panel_curve(curve, "beta", "nll", decided, "its pipeline").data
    star = drawn[-1]
    assert star.name == "recommended panel"
    assert (list(star.x), list(star.y)) == ([len(decided.model.judges)], [decided.nll.value])
    (line,) = (trace for trace in drawn if trace.name == "its pipeline")
    assert dict(zip(line.x, line.y, strict=True)) == {
        row.k: float(row.nll.value)
        for row in decided.candidates
        if (row.aggregator, row.calibrator) == (main.aggregator, main.calibrator)
    }
    names = [trace.name for trace in panel_curve(curve, "beta", "brier", decided, "p").data]
    assert "recommended panel" not in names
