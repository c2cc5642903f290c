"""Judges or items: the variance decomposition in words."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.present.blocks import Table
from judgepanel.present.paper import theory
from judgepanel.present.paper.theory import (
    VARIANCE_DECOMPOSITION,
    VarianceDecompositionSpec,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from tests.helpers import drawn, make_votes


@cache
def result():
    spec = VarianceDecompositionSpec(Settings(splits=2))
    return run(VARIANCE_DECOMPOSITION, make_votes(1, 80, 10), spec, jobs=1)


@pytest.mark.parametrize(
    ("share", "lo", "hi", "start"),
    [
        (0.28, 0.21, 0.36, "Items vary more than judges: 28 % of the variance is between judges"),
        (0.79, 0.68, 0.87, "Judges vary more than items: 79 %"),
        (0.55, 0.45, 0.65, "Whether judges or items vary more is undecided: 55 %"),
    ],
)
def test_the_answer_follows_the_interval_and_gives_both_shares(share, lo, hi, start):
    parts = {"logit_judges": 0.8 * share, "logit_items": 0.8 * (1.0 - share)}
    changed = replace(result(), judge_share=Interval(share, lo, hi), **parts)
    sentence = theory.variance_sentence(changed)
    assert sentence.startswith(start)
    ends = f"[{100 * lo:.0f} %, {100 * hi:.0f} %]"
    assert f"{ends}, {100 - 100 * share:.0f} % between items." in sentence


def test_a_share_of_next_to_nothing_is_no_exponent():
    changed = replace(result(), judge_share=Interval(0.95, 2e-11, 1.0))
    assert "[0 %, 100 %]" in theory.variance_sentence(changed)


def test_measures_that_disagree_are_said_to():
    judges = replace(result(), judge_share=Interval(0.8, 0.7, 0.9))
    against = replace(judges, logit_judges=0.1, logit_items=0.4, logit_interaction=0.5)
    along = replace(judges, logit_judges=0.6, logit_items=0.3, logit_interaction=0.1)
    assert against.verdict == "undecided"
    assert along.verdict == "judges"
    assert "depends on how it is counted" in theory.variance_sentence(against)
    assert "The two measures disagree" in theory.variance_words(against)
    assert "disagree" not in theory.variance_words(along)
    parts = "60 % is due to judges, 30 % to items and 10 % to their interaction"
    assert parts in theory.variance_words(along)


def test_the_table_has_every_judge_most_able_first():
    table = theory.ability_table(result())
    assert sorted(table["judge"].texts()) == sorted(result().judges)
    abilities = table["ability"].numbers.tolist()
    assert abilities == sorted(abilities, reverse=True)
    assert not re.search(r"nan|\d\.\d{6}", Table(table).texts().to_string())


def test_every_judge_is_a_point_with_its_limits():
    (points,) = theory.ability_figure(result()).data
    np.testing.assert_allclose(drawn(points), tuple(result().ability))
    np.testing.assert_allclose(drawn(points, "y"), tuple(result().discrimination))
    assert list(points.text) == list(result().judges)


def test_both_bars_fill_the_whole_and_parts_differ_by_more_than_colour():
    bars = [trace for trace in theory.share_figure(result()).data if trace.type == "bar"]
    assert [bar.name for bar in bars] == ["judges", "items", "interaction"]
    np.testing.assert_allclose(np.sum([bar.x for bar in bars], axis=0), [1.0, 1.0])
    assert len({bar.marker.pattern.shape for bar in bars}) == 3, "they differ without colour too"


def test_the_interval_is_drawn_at_the_judges_share():
    (mark,) = (trace for trace in theory.share_figure(result()).data if trace.type == "scatter")
    np.testing.assert_allclose([end[0] for end in drawn(mark)], tuple(result().judge_share))


def test_discriminations_over_many_decades_have_few_ticks():
    spread = np.geomspace(0.001, 10.0, 7)
    wide = replace(result(), discrimination=Interval(spread, spread / 2, spread * 2))
    assert 4 <= len(theory.ability_figure(wide).layout.yaxis.tickvals) <= 10


def test_limits_of_many_judges_are_paler_than_their_points():
    n = 120
    many = replace(
        result(),
        accuracy=np.resize(result().accuracy, n),
        ability=Interval(*(np.resize(end, n) for end in result().ability)),
        discrimination=Interval(*(np.resize(end, n) for end in result().discrimination)),
        judges=tuple(f"j{i}" for i in range(n)),
    )
    (few,), (points,) = theory.ability_figure(result()).data, theory.ability_figure(many).data
    assert few.error_x.color.endswith(",1.0)")
    assert points.error_x.color.endswith(",0.25)")
    assert points.error_y.color == points.error_x.color
