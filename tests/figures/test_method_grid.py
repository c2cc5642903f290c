"""The heat map of the method grid: every cell, its ties framed, its text readable."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.figures import candidates, style
from judgepanel.present.understand.method_grid import grid_cells
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.understand.method_grid import METHOD_GRID, MethodGridSpec
from judgepanel.words.sentences import AGGREGATOR_NAMES
from tests.figures.test_style import contrast
from tests.helpers import make_votes


@cache
def grid_of(splits=6):
    aggregators = ("majority", "log_odds", "one_coin")
    calibrators = ("none", "temperature", "beta", "isotonic")
    spec = MethodGridSpec(Settings(splits=splits), aggregators, calibrators)
    return run(METHOD_GRID, make_votes(1, 90, 6), spec, jobs=1)


def with_values(nll, tied=None):
    """The grid with other values of NLL, the lowest one its best."""
    grid, values = grid_of(), np.array(nll)
    best = divmod(int(values.argmin()), values.shape[1])
    mask = grid.tied if tied is None else np.array(tied)
    return replace(
        grid,
        aggregators=grid.aggregators[: len(values)],
        calibrators=grid.calibrators[: values.shape[1]],
        nll=Interval(values, values - 0.1, values + 0.1),
        tied=mask,
        best=(int(best[0]), int(best[1])),
    )


def written(figure):
    """The text in every cell by row and column."""
    return {(int(a.y), int(a.x)): a.text for a in figure.layout.annotations}


@pytest.mark.parametrize("metric", style.METRIC_NAMES)
def test_every_cell_shows_its_value_in_the_row_and_column_named_beside_it(metric):
    grid = grid_of()
    figure = candidates.method_grid(grid_cells(grid, metric))
    text = written(figure)
    assert len(text) == 12
    form = ".1%" if metric == "accuracy" else ".3f"
    rows = {AGGREGATOR_NAMES[name]: i for i, name in enumerate(grid.aggregators)}
    for i, label in enumerate(figure.layout.yaxis.ticktext):
        for j in range(len(grid.calibrators)):
            value = getattr(grid, metric).value[rows[label], j]
            assert text[i, j].removeprefix("<b>").removesuffix("</b>") == f"{value:{form}}"
    assert list(figure.layout.xaxis.ticktext) == ["uncalibrated", "temperature", "beta", "isotonic"]


def test_the_best_row_is_on_top_and_the_lowest_cell_alone_is_bold():
    grid = with_values([[0.5, 0.4], [0.6, 0.3], [0.45, 0.7]], [[False] * 2] * 3)
    figure = candidates.method_grid(grid_cells(grid))
    assert list(figure.layout.yaxis.ticktext) == ["log-odds", "majority vote", "one-coin"]
    low, high = figure.layout.yaxis.range
    assert low > high, "rows run downwards"
    assert [place for place, text in written(figure).items() if "<b>" in text] == [(0, 1)]


@pytest.mark.parametrize("metric", style.METRIC_NAMES)
def test_the_best_cell_is_the_darkest_and_shades_follow_the_values(metric):
    cells = grid_cells(grid_of(), metric)
    order = np.argsort(cells.score.value, axis=None, kind="stable")
    shades = cells.shade.ravel()[order]
    steps_of = np.diff(shades if metric == "accuracy" else shades[::-1])
    assert (steps_of >= 0).all()
    assert (cells.shade.min() >= 0, cells.shade.max()) == (True, 1.0)


def test_cells_at_the_base_rate_or_above_are_equally_pale():
    null = grid_of().null_nll
    cells = grid_cells(with_values([[0.2, null], [9.0, null + 0.1], [0.4, 0.3]]))
    rows = {name: i for i, name in enumerate(cells.rows)}
    pale = [cells.shade[rows["majority vote"], 1], *cells.shade[rows["log-odds"]]]
    assert pale == [0.0, 0.0, 0.0]
    assert cells.shade[rows["one-coin"]].min() > 0.5


def test_a_grid_of_equal_cells_is_drawn():
    figure = candidates.method_grid(grid_cells(with_values([[0.3, 0.3]] * 3)))
    assert np.isfinite(np.asarray(figure.data[0].z, dtype=float)).all()


@given(st.floats(0.0, 1.0))
def test_the_text_of_a_cell_stands_out_whatever_its_shade(shade):
    cells = grid_cells(grid_of())
    shaded = replace(cells, shade=np.full_like(cells.shade, shade))
    (colour,) = {a.font.color for a in candidates.method_grid(shaded).layout.annotations}
    assert contrast(colour, shaded.colour(0, 0)) >= 4.5


def test_frames_and_hover_speak_of_nll_whatever_is_drawn():
    best = AGGREGATOR_NAMES[grid_of().aggregators[grid_of().best[0]]]
    for metric in style.METRIC_NAMES:
        cells = grid_cells(grid_of(), metric)
        assert cells.tied.sum() == grid_of().tied.sum()
        assert cells.rows[cells.best[0]] == best
        hover = candidates.method_grid(cells).data[0].text
        (row, column) = cells.best
        assert hover[row][column].endswith("lowest NLL")
        assert style.METRIC_NAMES[metric] in hover[0][0]
        assert ("base rate alone" in hover[0][0]) == (metric == "nll")


def test_hover_gives_the_interval_and_says_which_cells_are_tied():
    tied = [[False, True], [False, False], [False, True]]
    grid = with_values([[0.5, 0.4], [0.6, 0.8], [0.45, 0.31]], tied)
    hover = candidates.method_grid(grid_cells(grid)).data[0].text
    assert "one-coin, temperature<br>NLL (nats per item): 0.310 [0.210, 0.410]" in hover[0][1]
    assert hover[1][1].endswith("not told apart from the lowest NLL")
    assert "tied" not in hover[2][0]


def test_the_legend_explains_the_frames_and_leaves_out_what_is_not_there():
    def legend(grid):
        traces = candidates.method_grid(grid_cells(grid)).data
        return {trace.name for trace in traces if trace.name and trace.type == "scatter"}

    values = [[0.5, 0.4], [0.6, 0.3], [0.45, 0.7]]
    alone = [[False, False], [False, True], [False, False]]
    assert legend(with_values(values, alone)) == {"lowest NLL"}
    assert legend(with_values(values, [[True] * 2] * 3)) == {"lowest NLL", "not told apart from it"}


def test_every_tied_cell_has_a_frame_of_its_own():
    tied = [[True, True], [False, True], [False, False]]
    cells = grid_cells(with_values([[0.5, 0.4], [0.6, 0.3], [0.45, 0.7]], tied))
    (_, thin, *_) = (t for t in candidates.method_grid(cells).data[1:] if t.mode == "lines")
    points = np.column_stack([thin.x, thin.y]).astype(float)
    parts = np.split(points, np.flatnonzero(np.isnan(points[:, 0])))
    drawn = [part[-6:-1] for part in parts if np.isfinite(part).any()]
    middles = {tuple(np.rint(np.nanmean(part, axis=0)[::-1]).astype(int)) for part in drawn}
    assert middles == {(int(i), int(j)) for i, j in np.argwhere(cells.tied)}
