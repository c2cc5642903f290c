"""The two protocols on one axis, and the maps."""

from functools import cache

import numpy as np

from judgepanel.present.paper.claim import fitted_maps, protocol
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.claim import CLAIM, ClaimSpec
from judgepanel.studies.runner import run
from tests.helpers import drawn, make_votes, named


@cache
def result():
    votes = make_votes(2, 120, 9, one_class=True)
    return run(CLAIM, votes, ClaimSpec(Settings(splits=4), (3, 5)), jobs=1)


def test_both_protocols_share_the_axis_of_nll():
    first, other = (protocol(result(), coding) for coding in ("one_class", "honest"))
    assert first.layout.yaxis.range == other.layout.yaxis.range
    assert first.layout.yaxis.type == "log"
    low, high = 10.0 ** np.array(first.layout.yaxis.range)
    assert low < result().null_nll.min()
    assert high > np.nanmax(result().nll.value)


def test_lines_are_the_steps_and_yardsticks_those_of_their_labels():
    coded, honest = (protocol(result(), coding) for coding in ("one_class", "honest"))
    paper, recipe = result().row("paper"), named(coded, "paper's recipe")
    np.testing.assert_array_equal(recipe.y, result().nll.value[paper])
    assert recipe.x.tolist() == [1.0, 2.0, 3.0, 5.0, 9.0]
    assert named(coded, "base rate").y[0] == result().null_nll[paper]
    assert named(coded, "constant score").y[0] == result().constant_nll[paper]
    assert named(honest, "base rate").y[0] > 0.69
    assert min(named(honest, "paper's recipe").y) > 0.1


def test_joint_is_drawn_where_it_was_tried():
    joint = named(protocol(result(), "together"), "joint + beta")
    assert joint.x.tolist() == [3.0, 5.0, 9.0]
    assert np.isfinite(joint.y).all()
    assert joint.mode == "markers"


def test_limits_of_joint_and_one_coin_lie_inside_the_axis():
    figure = protocol(result(), "together")
    _, lo, hi = drawn(named(figure, "joint + beta"), "y")
    low, high = 10.0 ** np.array(figure.layout.yaxis.range)
    assert low < np.nanmin(np.concatenate([lo, result().nll.lo[result().row("honest")]]))
    assert high > hi.max()


def test_ticks_name_the_panels_compared_and_all():
    assert protocol(result(), "honest").layout.xaxis.ticktext == ("1", "3", "5", "all 9")
    alone = run(CLAIM, make_votes(3, 40, 1), ClaimSpec(Settings(splits=2)), jobs=1)
    assert protocol(alone, "one_class").layout.xaxis.ticktext == ("all 1",)


def test_the_papers_map_falls_in_the_figure_and_a_constant_is_lifted():
    figure = fitted_maps(result())
    assert np.diff(named(figure, "one class: the paper's map").y).min() < 0
    assert np.diff(named(figure, "one class: kept monotone").y).min() > 0
    assert np.diff(named(figure, "honest labels: the paper's map").y).min() > 0
    constant = named(figure, "one class: a constant score")
    assert constant.y[0] == 0.5
    assert constant.y[1] > 0.97
