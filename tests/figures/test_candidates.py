"""The frontier against brute force, and its figure."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.figures import candidates, style
from judgepanel.scoring.interval import Interval

points = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=12)


@given(points)
def test_the_frontier_has_what_no_other_point_beats(drawn):
    size, nll = (np.array(values, dtype=float) for values in zip(*drawn, strict=True))
    kept = candidates.frontier(size, nll)
    for i, (k, value) in enumerate(drawn):
        beaten = any(
            (other_k <= k and other <= value and (other_k, other) != (k, value))
            or ((other_k, other) == (k, value) and j < i)
            for j, (other_k, other) in enumerate(drawn)
        )
        assert kept[i] == (not beaten)


def test_points_on_the_frontier_are_joined_and_have_intervals():
    nll = np.array([0.5, 0.4, 0.45, 0.3])
    figure = candidates.pareto(
        np.array([1.0, 3.0, 3.0, 40.0]),
        Interval(nll, nll - 0.1, nll + 0.1),
        ["a", "<b>", "c", "d"],
        chosen=(40.0, 0.31, "recommended panel"),
        look=style.RECOMMENDED,
        null=0.69,
        x="judges",
    )
    others, line, chosen, base = figure.data
    assert (list(others.x), list(others.y)) == ([3.0], [0.45])
    assert list(line.x) == [1.0, 3.0, 40.0]
    assert list(line.text) == ["a", "&lt;b&gt;", "d"]
    np.testing.assert_allclose(line.error_y.array, 0.1)
    assert (list(chosen.x), list(chosen.y), chosen.name) == ([40.0], [0.31], "recommended panel")
    assert list(base.y) == [0.69, 0.69]
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.tickvals) == [1.0, 3.0, 40.0]


def test_costs_are_on_an_even_axis():
    nll = np.array([0.5, 0.4])
    figure = candidates.pareto(
        np.array([0.25, 20.5]),
        Interval(nll, nll, nll),
        ["a", "b"],
        chosen=(20.5, 0.4, "recommended panel"),
        look=style.RECOMMENDED,
        null=0.69,
        x="cost",
    )
    assert figure.layout.xaxis.type != "log"
