"""Figures of Scope draw the results."""

import numpy as np
import pytest

from judgepanel.present.blocks import Figure
from judgepanel.present.trust import group_change
from judgepanel.present.trust.scope import curve_figure, parse_figure, switch_figure
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.trust.group_change import GROUP_CHANGE, GroupChangeSpec
from judgepanel.studies.trust.scope import SCOPE, ScopeSpec
from judgepanel.votes.simulate import sample_votes

FEW = Settings(splits=2)
TWO = ("one_coin", "majority")


@pytest.fixture(scope="module")
def hard():
    return run(SCOPE, sample_votes("hard_panel"), ScopeSpec(FEW, others=("majority",)), jobs=1)


def test_the_curve_has_a_point_a_share_and_the_band_of_1_per_cent(hard):
    curve = hard.saturation
    interval, band, line = curve_figure(curve).data
    assert line.text[-1] == "all judges"
    nll = curve.nll.value[-1]
    assert sorted(set(band.y)) == pytest.approx([0.99 * nll, 1.01 * nll])
    np.testing.assert_array_equal(interval.y[: len(curve.sizes)], curve.nll.hi)
    names = [interval.name, band.name, line.name]
    assert names == ["95 % interval", "within 1 % of all", "best judges kept"]


def test_every_judge_has_one_mark_of_its_kind(hard):
    figure = parse_figure(hard)
    assert sum(len(trace.x) for trace in figure.data) == 30
    assert [trace.name for trace in figure.data] == [
        "90 % or more (29)",
        "filter: 70 % or less (1)",
    ]
    assert len({trace.marker.symbol for trace in figure.data}) == 2


def test_aggregators_are_rows_with_and_without_those_that_miss_votes(hard):
    figure = switch_figure(hard)
    assert figure.layout.yaxis.ticktext == ("one-coin", "majority vote")
    names = ["all judges", "without those that miss votes", "base rate"]
    assert [trace.name for trace in figure.data] == names
    assert figure.data[1].error_x.array is None


def test_a_group_has_both_panels_and_their_intervals():
    spec = GroupChangeSpec(FEW, "family", ("fam1",), TWO)
    result = run(GROUP_CHANGE, sample_votes("hard_panel"), spec, jobs=1)
    blocks = group_change.present(result, spec)
    (figure,) = [block.figure for block in blocks if isinstance(block, Figure)]
    assert [trace.name for trace in figure.data[:2]] == ["with the group", "without it"]
    np.testing.assert_allclose(figure.data[0].x, result.nll_with.value)
    np.testing.assert_allclose(
        figure.data[1].error_x.array, result.nll_without.hi - result.nll_without.value
    )
