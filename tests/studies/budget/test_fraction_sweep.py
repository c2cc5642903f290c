"""The calibration share: nested labels, the panel curve at every share, honest intervals."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from judgepanel.scoring.splits import split
from judgepanel.studies.budget.fraction_estimates import fraction_estimates
from judgepanel.studies.budget.fraction_sweep import (
    FRACTION_SWEEP,
    FractionSweepSpec,
    combine_tallies,
    merge,
    run_chunk,
)
from judgepanel.studies.budget.fraction_sweep_result import FractionSweep
from judgepanel.studies.codec import from_plain, to_plain
from judgepanel.studies.curve.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from judgepanel.votes import InputError
from tests.helpers import make_votes

SETTINGS = Settings(splits=6)


def spec(**knobs) -> FractionSweepSpec:
    return FractionSweepSpec(
        **{"settings": SETTINGS, "panels": (3,), "shares": (0.2, 0.5, 0.7), **knobs}
    )


@cache
def votes():
    return make_votes(1, 120, 9)


@cache
def result() -> FractionSweep:
    return run(FRACTION_SWEEP, votes(), spec(), jobs=1)


def test_every_share_is_the_panel_curve_of_that_share_to_the_bit():
    found = result()
    for f, share in enumerate(found.shares.tolist()):
        curve = run(
            PANEL_CURVE,
            votes(),
            PanelCurveSpec(
                Settings(splits=6, fraction=share),
                calibrators=("beta", "temperature"),
                compare=(3,),
            ),
            jobs=1,
        )
        np.testing.assert_array_equal(found.nll[:, :, f], curve.nll[:, [2, 8]])
        np.testing.assert_array_equal(found.nll_lo[:, :, f], curve.nll_lo[:, [2, 8]])
        assert found.null_nll[f] == curve.null_nll
        for c, name in enumerate(found.calibrators):
            same = curve.comparison(name, "top-3")
            assert found.delta_lo[c, 0, f] == pytest.approx(same.lo, abs=1e-12)
            assert found.verdict(c, 0, f) == same.verdict


def test_a_larger_share_adds_labels_to_those_of_a_smaller_one():
    units = np.arange(100)
    small, large = (split(units, 3, fraction=share) for share in (0.2, 0.7))
    assert set(small.calibration) < set(large.calibration)
    assert set(large.evaluation) < set(small.evaluation)
    assert result().labels.tolist() == [24, 60, 84]
    assert (result().labels + result().evaluated == 120).all()


def test_shares_are_compared_on_the_items_that_all_of_them_evaluated():
    partial = run_chunk(votes(), spec(), FRACTION_SWEEP.plan(spec())[0])
    found = fraction_estimates(
        partial,
        np.arange(120),
        np.array([0.2, 0.5, 0.7]),
        calibrators=("beta", "temperature"),
        arms=("top-3", "all 9"),
        within=0.05,
        seed=0,
    )
    common = np.logical_and.reduce([one.evaluated > 0 for one in partial])
    assert 0 < common.sum() < 120
    levels = [one.item_sums[0, 0, 1] / 2.0**40 / np.maximum(one.evaluated, 1) for one in partial]
    expected = [np.mean((level - levels[-1])[common]) for level in levels]
    np.testing.assert_allclose(found["against"][0, 1], expected, atol=1e-12)
    assert (found["against_lo"] <= found["against"]).all()
    assert (found["against_hi"] >= found["against"]).all()
    assert (found["against_hi"][..., :-1] > found["against"][..., :-1]).all()
    assert not found["against_hi"][..., -1].any()


def test_the_share_that_is_enough_lies_among_the_shares():
    found = result().needed_for("beta", "all 9")
    assert 0.2 <= found.lo <= found.share <= found.hi <= 0.7
    assert result().needed_for("beta", "top-7") is None


def test_with_one_class_the_null_is_that_of_a_coin_and_nothing_flatters():
    found = run(FRACTION_SWEEP, make_votes(4, 120, 6, one_class=True), spec(), jobs=1)
    np.testing.assert_allclose(found.null_nll, np.log(2))
    assert found.nll.min() > 0.15


def test_a_share_that_leaves_too_little_says_what_it_needs():
    found = run(FRACTION_SWEEP, votes(), spec(shares=(0.05, 0.5, 0.95)), jobs=1)
    assert found.shares.tolist() == [0.5]
    calibrate, evaluate = (text for text in found.warnings if "is left out" in text)
    assert "A share of 5 % is left out: 6 labels calibrate there" in calibrate
    assert "A share of 95 % is left out: 6 items evaluate there" in evaluate
    assert np.isfinite(found.nll).all()


def test_a_tiny_file_is_refused_with_what_it_takes():
    with pytest.raises(InputError, match=r"too few labelled items.*30 labelled items or more"):
        run(FRACTION_SWEEP, make_votes(0, 12, 4), spec(), jobs=1)


def test_groups_stay_whole():
    grouped = make_votes(6, 200, 6, groups=25)
    found = run(FRACTION_SWEEP, grouped, spec(shares=(0.1, 0.5)), jobs=1)
    assert found.shares.tolist() == [0.5]
    assert any("10 groups of items" in sentence for sentence in found.warnings)


def test_chunks_in_any_order_give_the_same_bits_and_a_part_is_marked():
    wanted = spec(settings=Settings(splits=12), calibrators=("beta",))
    first, second, third = (
        run_chunk(votes(), wanted, chunk) for chunk in FRACTION_SWEEP.plan(wanted)
    )
    one = merge(votes(), wanted, combine_tallies(combine_tallies(first, second), third))
    other = merge(votes(), wanted, combine_tallies(third, combine_tallies(second, first)))
    assert to_plain(one) == to_plain(other)
    assert merge(votes(), wanted, first).partial
    assert not one.partial


def test_the_order_of_judges_changes_nothing():
    wanted = spec(settings=Settings(splits=2))
    shuffled = votes().with_judges(votes().judges[::-1])
    one, other = (run(FRACTION_SWEEP, v, wanted, jobs=1) for v in (votes(), shuffled))
    assert to_plain(one) == to_plain(other)


def test_the_result_survives_json_and_the_table_has_a_row_a_cell():
    found = result()
    text = json.dumps(to_plain(found), allow_nan=False)
    assert to_plain(from_plain(FractionSweep, json.loads(text))) == to_plain(found)
    json.dumps(found.summary(), allow_nan=False)
    frame = found.frame()
    assert len(frame) == 2 * 2 * 3
    assert {"null_nll", "skill", "against_lo", "delta_hi"} <= set(frame)
    widths = frame.groupby(["calibrator", "panel"])[["nll_lo", "nll_hi"]].apply(
        lambda part: float((part["nll_hi"] - part["nll_lo"]).min())
    )
    for one in found.summary()["narrowest"]:
        assert one["width"] == pytest.approx(widths[one["calibrator"], one["panel"]])


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"aggregator": "magic"}, "unknown aggregator"),
        ({"calibrators": ("beta", "beta")}, "each once"),
        ({"panels": (0,)}, "at least one judge"),
        ({"shares": (0.5,)}, "two calibration shares"),
        ({"shares": (0.5, 0.5)}, "each once"),
        ({"shares": (0.5, 1.0)}, "out of range"),
        ({"within": 1.0}, "out of range"),
    ],
)
def test_what_makes_no_sense_is_refused(knobs, says):
    with pytest.raises(InputError, match=says):
        spec(**knobs)
