"""The narrow-band simulation: seeded, matched to the votes, and right where the answer is known."""

from functools import cache

import numpy as np
import pytest

from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.paper.narrow_band import NARROW_BAND, NarrowBandSpec, shape_of
from judgepanel.studies.runner import run
from tests.helpers import make_votes


@cache
def votes():
    return make_votes(0, 120, 8, low=0.6, high=0.8)


@cache
def result():
    grid = {"widths": (0.02, 0.3), "rhos": (0.0, 0.4), "sizes": (8,), "shares": (0.5,)}
    return run(NARROW_BAND, votes(), NarrowBandSpec(Settings(), **grid, replicates=6), jobs=1)


def test_pruning_independent_judges_that_are_alike_costs_nll_and_accuracy():
    narrow_band = result()
    assert narrow_band.winner[0, 0, 0, 0] == "all"
    assert narrow_band.delta[0, 0, 0, 0].above(0.02)
    assert narrow_band.loss[0, 0, 0, 0].above()
    assert narrow_band.delta.value[0, 1, 0, 0] < narrow_band.delta.value[0, 0, 0, 0]
    assert narrow_band.accuracy[0, 0, 0, 0] > narrow_band.accuracy[0, 1, 0, 0]


def test_panels_take_their_shape_from_the_votes():
    shape = shape_of(prepare(votes(), Settings()).ballots, 0.5)
    narrow_band = result()
    right = (votes().votes == votes().labels[:, None]).sum()
    assert shape.mean_accuracy == pytest.approx(right / (votes().votes >= 0).sum())
    assert shape.coverage == pytest.approx((votes().votes >= 0).mean())
    assert (narrow_band.n_calibration, narrow_band.n_evaluation) == (60, 1000)
    assert 0.0 <= narrow_band.own_width < 0.5
    assert abs(narrow_band.own_rho) < 0.1
    np.testing.assert_allclose(narrow_band.error_rho[:, 0], 0.0, atol=0.05)
    assert (narrow_band.error_rho[:, 1] > 0.15).all()


def test_the_band_for_all_cells_holds_the_interval_of_each():
    narrow_band = result()
    assert (narrow_band.band.lo < narrow_band.delta.lo).all()
    assert (narrow_band.band.hi > narrow_band.delta.hi).all()
    assert sum(narrow_band.winners().values()) == narrow_band.winner.size
    assert narrow_band.frame()["simulated"].all()


def test_sizes_follow_the_panel_and_are_bounded():
    assert NarrowBandSpec().panel_sizes(65).tolist() == [10, 30, 65]
    assert NarrowBandSpec().panel_sizes(4).tolist() == [4]
    assert NarrowBandSpec().panel_sizes(1).tolist() == [2]
    assert NarrowBandSpec().panel_sizes(900).tolist() == [10, 30, 100]
    assert NarrowBandSpec().panel_sizes(101).tolist() == [10, 30, 100]
    assert NarrowBandSpec(replicates=10_000).replicates == 10_000
