"""Figures of abilities and shares draw the result and escape names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.present.paper.variance_decomposition import ability_figure, share_figure
from judgepanel.scoring.interval import Interval
from judgepanel.studies.paper.variance_decomposition import (
    VARIANCE_DECOMPOSITION,
    VarianceDecompositionSpec,
)
from judgepanel.studies.runner import run
from tests.helpers import make_votes


@pytest.fixture(scope="module")
def result():
    return run(VARIANCE_DECOMPOSITION, make_votes(1, 80, 7), VarianceDecompositionSpec())


def test_every_judge_is_a_point_with_its_limits(result):
    (points,) = ability_figure(result).data
    np.testing.assert_allclose(points.x, result.ability.value)
    np.testing.assert_allclose(points.y, result.discrimination.value)
    np.testing.assert_allclose(points.x - points.error_x.arrayminus, result.ability.lo)
    np.testing.assert_allclose(points.y + points.error_y.array, result.discrimination.hi)
    np.testing.assert_allclose(points.y - points.error_y.arrayminus, result.discrimination.lo)
    assert list(points.text) == list(result.judges)


def test_both_bars_fill_the_whole(result):
    bars = [trace for trace in share_figure(result).data if trace.type == "bar"]
    assert [bar.name for bar in bars] == ["judges", "items", "interaction"]
    np.testing.assert_allclose(np.sum([bar.x for bar in bars], axis=0), [1.0, 1.0])


def test_the_interval_is_drawn_at_the_judges_share(result):
    (mark,) = (trace for trace in share_figure(result).data if trace.type == "scatter")
    assert mark.x[0] == result.judge_share.value
    assert mark.x[0] + mark.error_x.array[0] == pytest.approx(result.judge_share.hi)
    assert mark.x[0] - mark.error_x.arrayminus[0] == pytest.approx(result.judge_share.lo)


def test_colours_are_not_the_only_difference_between_the_parts(result):
    bars = [trace for trace in share_figure(result).data if trace.type == "bar"]
    assert len({bar.marker.pattern.shape for bar in bars}) == 3


def test_discriminations_over_many_decades_have_few_ticks(result):
    spread = np.geomspace(0.001, 10.0, 7)
    figure = ability_figure(
        replace(
            result,
            discrimination=Interval(spread, spread / 2, spread * 2),
        )
    )
    assert 4 <= len(figure.layout.yaxis.tickvals) <= 10


def test_limits_of_many_judges_are_paler_than_their_points(result):
    n = 120
    many = replace(
        result,
        accuracy=np.resize(result.accuracy, n),
        ability=Interval(*(np.resize(end, n) for end in result.ability)),
        discrimination=Interval(*(np.resize(end, n) for end in result.discrimination)),
        judges=tuple(f"j{i}" for i in range(n)),
    )
    (few,), (points,) = ability_figure(result).data, ability_figure(many).data
    assert few.error_x.color.endswith(",1.0)")
    assert points.error_x.color.endswith(",0.25)")
    assert points.error_y.color == points.error_x.color
