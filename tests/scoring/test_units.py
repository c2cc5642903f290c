"""Codes of units: as those of a sort, whatever is absent or repeated."""

import numpy as np
import pytest

from judgepanel.scoring.units import are_single, unit_codes


@pytest.mark.parametrize("units", [[], [0], [4], [3, 3], [7, 0, 7, 2], [2, 5, 9, 1]])
def test_codes_are_ranks_among_the_units_present(units):
    codes, n_units = unit_codes(np.array(units, dtype=np.int64))
    present, wanted = np.unique(np.array(units, dtype=np.int64), return_inverse=True)
    assert codes.tolist() == wanted.tolist()
    assert n_units == len(present)


@pytest.mark.parametrize(("units", "single"), [([], True), ([4, 0], True), ([4, 0, 4], False)])
def test_units_are_single_if_none_repeats(units, single):
    assert are_single(np.array(units, dtype=np.int64)) is single
