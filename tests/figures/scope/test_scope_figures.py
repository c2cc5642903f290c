"""The figures of Scope draw what the results hold."""

import numpy as np
import pytest

from judgepanel.figures.scope.parse_rate import parse_rates
from judgepanel.figures.scope.saturation import prepare_saturation, saturation_curve
from judgepanel.figures.scope.with_and_without import (
    group_figure,
    prepare_group,
    prepare_switch,
    switch_figure,
)
from judgepanel.studies.runner import run
from judgepanel.studies.scope.group_change import GROUP_CHANGE, GroupChangeSpec
from judgepanel.studies.scope.scope import SCOPE, ScopeSpec
from judgepanel.studies.settings import Settings
from judgepanel.votes.samples import sample_votes
from judgepanel.words.sentences import AGGREGATOR_NAMES

FEW = Settings(splits=2)
TWO = ("one_coin", "majority")


@pytest.fixture(scope="module")
def hard():
    return run(SCOPE, sample_votes("hard_panel"), ScopeSpec(FEW, others=("majority",)), jobs=1)


def test_the_curve_has_a_point_a_share_and_the_band_of_1_per_cent(hard):
    line = prepare_saturation(hard.saturation)
    assert line.words[-1] == "all judges"
    assert (line.low + line.high) / 2 == pytest.approx(hard.saturation.nll[-1])
    assert (line.high - line.low) / 2 == pytest.approx(0.01 * hard.saturation.nll[-1])
    names = [trace.name for trace in saturation_curve(hard.saturation).data]
    assert names == ["95 % interval", "within 1 % of all", "best judges kept"]


def test_every_judge_has_one_mark_of_its_kind(hard):
    figure = parse_rates(hard)
    assert sum(len(trace.x) for trace in figure.data) == 30
    assert [trace.name for trace in figure.data] == [
        "90 % or more (29)",
        "filter: 70 % or less (1)",
    ]
    assert len({trace.marker.symbol for trace in figure.data}) == 2


def test_names_of_judges_are_text_and_no_markup(hard):
    names = [text for trace in parse_rates(hard).data for text in trace.text]
    assert all("<" not in text for text in names)


def test_aggregators_are_rows_with_and_without_those_that_miss_votes(hard):
    dots = prepare_switch(hard.switch, hard.null_nll, AGGREGATOR_NAMES)
    assert dots.rows == ("one-coin", "majority vote")
    assert dots.without is not None
    figure = switch_figure(hard.switch, hard.null_nll, AGGREGATOR_NAMES)
    assert figure.data[-1].name == "null: the base rate"


def test_a_group_has_both_panels_and_their_intervals():
    spec = GroupChangeSpec(FEW, "family", ("fam1",), TWO)
    result = run(GROUP_CHANGE, sample_votes("hard_panel"), spec, jobs=1)
    dots = prepare_group(result, AGGREGATOR_NAMES)
    np.testing.assert_allclose(dots.whole.value, [arm.nll_with for arm in result.arms])
    figure = group_figure(result, AGGREGATOR_NAMES)
    assert [trace.name for trace in figure.data[:2]] == ["with the group", "without it"]
    assert figure.data[0].error_x.array is not None
