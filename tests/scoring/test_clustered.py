"""Proportions whose trials come in groups."""

import numpy as np
import pytest
from scipy import stats

from judgepanel.scoring import clustered, conformal


def counted(right, units, tried=None):
    right = np.asarray(right, dtype=bool).reshape(len(units), -1)
    tried = np.ones_like(right) if tried is None else np.asarray(tried).reshape(right.shape)
    return clustered.unit_counts(right & tried, tried, np.asarray(units))


def test_without_units_the_p_value_and_the_limits_are_the_exact_ones():
    counts = counted([True] * 7 + [False] * 13, np.arange(20))
    assert clustered.below_half_p(counts) == pytest.approx([stats.binom.cdf(7, 20, 0.5)])
    assert clustered.share_limits(counts)[:, 0].tolist() == list(conformal.clopper_pearson(7, 20))


def test_units_that_fail_whole_count_as_one_trial_each():
    wrong = counted(np.zeros(40), np.repeat(np.arange(4), 10))
    assert clustered.below_half_p(wrong) == pytest.approx([0.5**4])
    assert clustered.share_limits(wrong)[:, 0].tolist() == list(conformal.clopper_pearson(0, 4))


def test_the_design_effect_of_whole_units_is_their_size():
    right = np.repeat([True, False, True, False, False, True], 5)
    assert clustered.design_effect(
        counted(right, np.repeat(np.arange(6), 5)), 0.5
    ) == pytest.approx([5.0])


def test_units_more_alike_than_chance_earn_no_credit():
    counts = counted(np.tile([True, False], 15), np.repeat(np.arange(15), 2))
    assert clustered.design_effect(counts, 0.5).tolist() == [1.0]
    lo, hi = clustered.share_limits(counts)[:, 0]
    inner = conformal.clopper_pearson(15, 30)
    assert lo < inner[0]
    assert hi > inner[1]


def test_a_proportion_without_trials_has_no_p_value_and_the_widest_limits():
    counts = counted(np.zeros(6), np.repeat(np.arange(3), 2), np.zeros(6, dtype=bool))
    assert np.isnan(clustered.below_half_p(counts)).all()
    assert clustered.share_limits(counts)[:, 0].tolist() == [0.0, 1.0]


def test_one_unit_is_one_trial_however_large():
    counts = counted([True] * 400 + [False] * 600, np.zeros(1000, dtype=int))
    lo, hi = clustered.share_limits(counts)[:, 0]
    assert clustered.below_half_p(counts)[0] > 0.15
    assert hi - lo > 0.9


def test_intervals_hold_the_share_when_units_succeed_together():
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(25), 8)
    lo, hi = clustered.share_limits(counted((rng.random((25, 600)) < 0.7)[units], units))
    assert ((lo <= 0.7) & (hi >= 0.7)).mean() > 0.93


def drawn_within_strata(rng):
    """40 labels of 400 items and 60 of 100 others, whose votes are higher."""
    strata = np.repeat([0, 1], [400, 100])
    good = rng.random(500) < np.repeat([0.3, 0.4, 0.5, 0.6, 0.9], 100)
    value = rng.binomial(7, np.where(good, 0.8, 0.2)).astype(float)
    labelled = np.zeros(500, dtype=bool)
    labelled[rng.permutation(400)[:40]] = True
    labelled[400 + rng.permutation(100)[:60]] = True
    return labelled, {"value": value, "distance": np.abs(value - 3.5)}, strata


@pytest.mark.parametrize("units", [np.arange(500), np.tile(np.arange(100), 5)])
def test_items_drawn_at_random_within_strata_are_a_fair_sample_of_them(units):
    """Units are items, or prompts with items of both strata."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        labelled, traits, strata = drawn_within_strata(rng)
        found.append(bool(clustered.fair_sample(labelled, traits, units, strata).differing))
    assert sum(found) <= 18  # 10 are expected; 59 and 62 if means of strata are subtracted.


@pytest.mark.parametrize("units", [np.arange(500), np.tile(np.arange(100), 5)])
def test_high_values_labelled_within_strata_are_no_fair_sample(units):
    _, traits, strata = drawn_within_strata(np.random.default_rng(1))
    value = np.round(traits["value"] + 2.0 * np.sin(np.tile(np.arange(100), 5)))
    labelled = (value >= 5.0) & (np.arange(500) % 2 == 0)
    high = np.where(value >= 5.0, "high", "low")
    found = clustered.fair_sample(labelled, {"value": value, "level": high}, units, strata)
    assert found.differing == ("value", "level")
