"""The calibration share: nested labels, the panel curve at every share, honest intervals."""

from functools import cache

import numpy as np
import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.present.paper import fraction_sweep
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run
from judgepanel.votes import InputError
from tests.helpers import make_votes

SETTINGS = Settings(splits=6)


def spec(**options):
    return fraction_sweep.FractionSweepSpec(
        **{"settings": SETTINGS, "panels": (3,), "shares": (0.2, 0.5, 0.7), **options}
    )


def swept(given, **options):
    return run(fraction_sweep.FRACTION_SWEEP, given, spec(**options), jobs=1)


@cache
def votes():
    return make_votes(1, 120, 9)


@cache
def result():
    return swept(votes())


def test_every_share_is_the_panel_curve_of_that_share():
    sweep = result()
    for f, share in enumerate(sweep.shares.tolist()):
        settings, both = Settings(splits=6, fraction=share), ("beta", "temperature")
        wanted = PanelCurveSpec(settings, calibrators=both, compare=(3,))
        curve = run(PANEL_CURVE, votes(), wanted, jobs=1)
        for own, whole in ((sweep.nll.value, curve.nll.value), (sweep.nll.lo, curve.nll.lo)):
            np.testing.assert_allclose(own[:, :, f], whole[:, [2, 8]], rtol=0, atol=1e-12)
        assert sweep.null_nll[f] == curve.null_nll
        for c, name in enumerate(sweep.calibrators):
            same = curve.comparison(name, "top-3")
            assert sweep.delta.lo[c, 0, f] == pytest.approx(same.delta.lo, abs=1e-12)
            assert sweep.verdict(c, 0, f) == same.verdict


def test_a_larger_share_adds_labels_to_those_of_a_smaller_one():
    units = np.arange(100)
    small, large = (split(units, 3, fraction=share) for share in (0.2, 0.7))
    assert set(small.calibration) < set(large.calibration)
    assert set(large.evaluation) < set(small.evaluation)
    assert result().labels.tolist() == [24, 60, 84]
    assert (result().labels + result().evaluated == 120).all()


def test_shares_are_compared_on_the_items_that_all_of_them_evaluated():
    partial = fraction_sweep.run_chunk(
        votes(), spec(), fraction_sweep.FRACTION_SWEEP.plan(spec())[0]
    )
    shares, names = np.array([0.2, 0.5, 0.7]), {"arms": ("top-3", "all 9")}
    names |= {"calibrators": ("beta", "temperature")}
    estimates = fraction_sweep.fraction_estimates(
        partial, np.arange(120), shares, **names, within=0.05, seed=0
    )
    common = np.logical_and.reduce([entry.evaluated > 0 for entry in partial])
    assert 0 < common.sum() < 120
    levels = [
        entry.item_sums[0, 0, 1] / 2.0**40 / np.maximum(entry.evaluated, 1) for entry in partial
    ]
    expected = [np.mean((level - levels[-1])[common]) for level in levels]
    against, lo, hi = estimates["against"]
    np.testing.assert_allclose(against[0, 1], expected, atol=1e-12)
    assert (lo <= against).all()
    assert (hi >= against).all()
    assert (hi[..., :-1] > against[..., :-1]).all()
    assert not hi[..., -1].any()


def test_the_share_that_is_enough_lies_among_the_shares():
    share, lo, hi = result().needed_for("beta", "all 9").share
    assert 0.2 <= lo <= share <= hi <= 0.7
    assert result().needed_for("beta", "top-7") is None


def test_a_share_that_leaves_too_little_says_what_it_needs():
    sweep = swept(votes(), shares=(0.05, 0.5, 0.95))
    assert sweep.shares.tolist() == [0.5]
    calibrate, evaluate = (text for text in sweep.warnings if "is left out" in text)
    assert "A share of 5 % is left out: 6 labels calibrate there" in calibrate
    assert "A share of 95 % is left out: 6 items evaluate there" in evaluate
    assert np.isfinite(sweep.nll.value).all()


def test_a_tiny_file_is_refused_with_what_it_takes():
    with pytest.raises(InputError, match=r"too few labelled items.*30 labelled items or more"):
        swept(make_votes(0, 12, 4))


def test_groups_stay_whole():
    sweep = swept(make_votes(6, 200, 6, groups=25), shares=(0.1, 0.5))
    assert sweep.shares.tolist() == [0.5]
    assert any("10 groups of items" in sentence for sentence in sweep.warnings)


def test_the_recommended_panel_is_chosen_again_on_every_share_and_set_against_the_few():
    averaged = swept(votes(), aggregator="average")
    for f, share in enumerate(averaged.shares.tolist()):
        settings = Settings(splits=6, fraction=share)
        recommendation = run(RECOMMEND, votes(), RecommendSpec(settings), jobs=1)
        expected = pytest.approx(float(recommendation.nll.value), rel=1e-9)
        assert averaged.nll.value[0, -1, f] == expected
    few = swept(votes(), calibrators=("temperature",))
    np.testing.assert_allclose(averaged.nll.value[0, 0], few.nll.value[0, 0], rtol=1e-12)
    frame = averaged.frame()
    panels = frame.drop_duplicates("panel")[["panel", "aggregator", "calibrator"]]
    assert panels.values.tolist() == [
        ["top-3 by one-coin", "one_coin", "temperature"],
        ["the recommended panel", "average", "none"],
    ]
    assert not frame["verdict"].str.contains("keep|curat").any()
