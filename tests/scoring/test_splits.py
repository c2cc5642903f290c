"""Splits: each has its own seed, groups stay whole, and every item occurs exactly once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.scoring.splits import are_single, folds, nested_rows, split, unit_codes
from judgepanel.votes import InputError


@st.composite
def units(draw):
    names = draw(st.lists(st.integers(0, 9), min_size=2, max_size=60))
    codes = np.unique(names, return_inverse=True)[1]
    return codes if codes.max() > 0 else np.arange(len(names))


@given(units(), st.integers(0, 50), st.floats(0.05, 0.95))
def test_a_split_is_disjoint_complete_sorted_and_keeps_groups_whole(units, number, fraction):
    drawn = split(units, number, fraction=fraction, seed=3)
    both = np.concatenate([drawn.calibration, drawn.evaluation])
    assert sorted(both.tolist()) == list(range(len(units)))
    assert len(drawn.calibration) > 0
    assert len(drawn.evaluation) > 0
    for side in (drawn.calibration, drawn.evaluation):
        assert (np.diff(side) > 0).all()
    assert not set(units[drawn.calibration]) & set(units[drawn.evaluation])


def test_a_split_depends_on_its_number_and_the_seed_alone():
    units = np.arange(40)
    ten = [split(units, s, seed=5).calibration.tolist() for s in range(10)]
    hundred = [split(units, s, seed=5).calibration.tolist() for s in reversed(range(100))][::-1]
    assert hundred[:10] == ten
    assert len({tuple(entry) for entry in hundred}) == 100
    assert split(units, 0, seed=6).calibration.tolist() != ten[0]


@pytest.mark.parametrize(
    ("n", "fraction", "wanted"), [(41, 0.5, 20), (40, 0.3, 12), (3, 0.1, 1), (90, 1 - 0.3, 63)]
)
def test_the_share_is_rounded_down_and_never_empty(n, fraction, wanted):
    assert len(split(np.arange(n), 0, fraction=fraction).calibration) == wanted


def test_every_item_calibrates_about_half_of_the_time():
    units = np.arange(20)
    times = sum(np.isin(units, split(units, s).calibration).astype(int) for s in range(400))
    assert (np.abs(times - 200) < 5 * np.sqrt(400 / 4)).all()


def test_unequal_groups_come_as_close_to_the_share_as_whole_groups_allow():
    units = np.repeat([0, 1, 2], [90, 5, 5])
    for number in range(20):
        assert len(split(units, number).calibration) in (5, 10, 90, 95)


@pytest.mark.parametrize("largest", [21, 500])
def test_one_large_group_never_calibrates_alone(largest):
    units = np.concatenate([np.zeros(largest, dtype=int), np.arange(1, 20)])
    for number in range(200):
        calibration = split(units, number).calibration
        assert len(np.unique(units[calibration])) >= 2
        assert folds(units, calibration, 5, seed=0, key=(number, 1))


@pytest.mark.parametrize("fraction", [0.0, 1.0, -1.0])
def test_a_share_that_leaves_a_side_empty_is_refused(fraction):
    with pytest.raises(InputError, match="between 0 and 1"):
        split(np.arange(4), 0, fraction=fraction)


@pytest.mark.parametrize("units", [np.zeros(5, int), np.zeros(0, int)])
def test_one_group_cannot_be_split(units):
    with pytest.raises(InputError, match="at least 2 items"):
        split(units, 0)
    with pytest.raises(InputError, match="at least 2 items"):
        folds(units, np.arange(len(units)), 5, seed=0, key=(0, 1))


@given(units(), st.integers(2, 7))
def test_folds_partition_the_rows_and_keep_groups_whole(units, n_folds):
    rows = np.flatnonzero(np.arange(len(units)) % 3 != 1)
    if len(np.unique(units[rows])) < 2:
        return
    made = folds(units, rows, n_folds, seed=1, key=(4, 1))
    assert 2 <= len(made) <= n_folds
    assert sorted(np.concatenate([f.evaluation for f in made]).tolist()) == rows.tolist()
    for fold in made:
        assert sorted([*fold.calibration, *fold.evaluation]) == rows.tolist()
        assert not set(units[fold.calibration]) & set(units[fold.evaluation])


def test_folds_of_single_items_differ_in_size_by_one_at_most():
    sizes = [len(f.evaluation) for f in folds(np.arange(23), np.arange(23), 5, seed=0, key=(0,))]
    assert sorted(sizes) == [4, 4, 5, 5, 5]


@given(units(), st.lists(st.integers(1, 60), min_size=1, max_size=5), st.integers(0, 50))
def test_parts_of_one_order_are_nested_near_their_sizes_and_keep_groups_whole(units, sizes, seed):
    sizes = sorted(sizes)
    rows = np.flatnonzero(np.arange(len(units)) % 3 != 1)
    parts = nested_rows(units, rows, sizes, seed=seed, key=(2, 11))
    largest = np.bincount(units[rows]).max()
    for size, part, after in zip(sizes, parts, [*parts[1:], rows], strict=True):
        assert part.tolist() == sorted(set(part.tolist()))
        assert len(part) > 0
        assert set(part) <= set(after)
        assert set(units[part]).isdisjoint(units[np.setdiff1d(rows, part)])
        assert abs(len(part) - min(size, len(rows))) <= largest
    again = nested_rows(units, rows, sizes[-1:], seed=seed, key=(2, 11))
    np.testing.assert_array_equal(again[0], parts[-1])


@pytest.mark.parametrize("units", [[], [0], [4], [3, 3], [7, 0, 7, 2], [2, 5, 9, 1]])
def test_codes_are_ranks_among_the_units_present(units):
    codes, n_units = unit_codes(np.array(units, dtype=np.int64))
    present, wanted = np.unique(np.array(units, dtype=np.int64), return_inverse=True)
    assert codes.tolist() == wanted.tolist()
    assert n_units == len(present)


@pytest.mark.parametrize(("units", "single"), [([], True), ([4, 0], True), ([4, 0, 4], False)])
def test_units_are_single_if_none_repeats(units, single):
    assert are_single(np.array(units, dtype=np.int64)) is single
