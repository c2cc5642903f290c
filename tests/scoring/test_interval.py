"""Intervals: values and ends stay together, and unknown ends stay unknown."""

import json
from dataclasses import replace

import numpy as np
import pytest

from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import from_plain, to_plain


def made(*shape):
    value = np.arange(float(np.prod(shape))).reshape(shape) / 10
    return Interval(value, value - 0.2, value + 0.3, unit="share")


def ends(interval):
    return [np.asarray(end).tolist() for end in interval]


def test_places_and_shapes_apply_to_all_three():
    grid = made(2, 3)
    assert ends(grid[1, 0]) == pytest.approx([0.3, 0.1, 0.6])
    assert grid[:, None].shape == (2, 1, 3)
    assert ends(grid.reshape(6)[5]) == ends(grid[1, 2])
    assert ends(grid.transposed()[2, 1]) == ends(grid[1, 2])
    assert grid[0].unit == "share"


def test_a_difference_turned_around_has_its_ends_exchanged():
    value, lo, hi = -made(4)
    np.testing.assert_array_equal(value, -made(4).value)
    np.testing.assert_array_equal(lo, -made(4).hi)
    np.testing.assert_array_equal(hi, -made(4).lo)


def test_parts_join_along_an_axis_or_a_new_one():
    left, right = made(2, 3), made(2, 1)
    assert Interval.joined([left, right], axis=1).shape == (2, 4)
    assert Interval.stacked([left, left]).shape == (2, 2, 3)
    np.testing.assert_array_equal(Interval.joined([left, right], axis=1)[:, 3].lo, right.lo[:, 0])


def test_ends_stay_within_the_range_of_what_is_estimated():
    clipped = made(4).clip(0.0, 0.5)
    np.testing.assert_array_equal(clipped.value, made(4).value)
    assert (clipped.lo >= 0.0).all()
    assert (clipped.hi <= 0.5).all()


def test_sides_are_taken_by_the_whole_interval_alone():
    interval = Interval(
        *(np.array(end) for end in ([1.0, 0.1, -1.0], [0.5, -0.1, -2.0], [2, 1, -0.5]))
    )
    assert interval.above().tolist() == [True, False, False]
    assert interval.below().tolist() == [False, False, True]
    unknown = Interval.full(2, np.nan)
    assert not unknown.above().any()
    assert not unknown.below().any()


def test_points_are_shares_times_a_hundred():
    points = made(3).scaled(100.0, "points")
    np.testing.assert_allclose(points.hi, 100.0 * made(3).hi)
    assert (points.unit, points.level) == ("points", 0.95)


def test_places_without_an_estimate_are_left_out():
    kept = made(3).where([True, False, True])
    assert np.isnan(kept.value).tolist() == [False, True, False]
    assert np.isnan(kept.hi).tolist() == [False, True, False]


def test_arrays_of_different_shapes_are_no_interval():
    with pytest.raises(ValueError, match="one shape"):
        Interval(np.zeros(2), np.zeros(3), np.zeros(2))


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 2)])
def test_intervals_are_read_back_as_they_were_written(shape):
    interval = made(*shape) if shape else made(1)[0]
    plain = json.loads(json.dumps(to_plain(interval)))
    back = from_plain(Interval, plain)
    assert back.shape == interval.shape
    assert to_plain(back) == plain
    assert back.unit == "share"


def test_the_monte_carlo_error_goes_along_and_is_not_stored():
    error = np.array([0.1, 0.2, 0.3])
    known, unknown = replace(made(3), monte_carlo=error), made(3)
    assert (-known.clip(0.0, 1.0).scaled(2.0, "share")[1:]).monte_carlo == pytest.approx([0.4, 0.6])
    both = Interval.joined([known, unknown]).monte_carlo
    np.testing.assert_array_equal(both, [*error, *[np.nan] * 3])
    filled = Interval.full((2, 3), np.nan)
    filled.put(1, known)
    np.testing.assert_array_equal(filled.monte_carlo, [[np.nan] * 3, error])
    assert from_plain(Interval, to_plain(known)).monte_carlo is None
    with pytest.raises(ValueError, match="must have its shape"):
        replace(known, monte_carlo=error[:2])
