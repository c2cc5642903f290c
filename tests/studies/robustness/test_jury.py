"""The jury bound: no gap where judges are independent, a gap where they err together."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import norm

from judgepanel.scoring import inference, interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper import jury
from judgepanel.studies.runner import run
from judgepanel.votes import InputError
from judgepanel.votes.simulate import SimulationSpec, simulate
from tests.helpers import make_votes

SETTINGS = Settings(splits=6)


@cache
def independent():
    votes = make_votes(2, 600, 15, missing=0.2, low=0.62, high=0.72)
    return run(jury.JURY, votes, jury.JurySpec(SETTINGS), jobs=1)


def test_independent_judges_have_no_gap_and_are_worth_their_number():
    result = independent()
    assert not (result.gap.above() | result.gap.below()).any()
    assert np.abs(result.gap.value).max() < 0.04
    worth, lo, hi = result.effective[-1]
    assert worth > 6
    assert lo < worth < hi <= 15


def test_the_bounds_lie_above_the_errors_of_independent_judges():
    result = independent()
    assert (result.hoeffding_majority >= result.independent.value).all()
    assert (result.jury_bound <= 0.5).all()
    assert (result.jury_exponent >= result.weighted_exponent).all()
    assert (np.diff(result.jury_bound) < 0).all()


def test_judges_who_err_together_pay_for_it():
    votes = simulate(
        SimulationSpec(n_items=400, n_judges=15, n_families=1, family_rho=0.6, accuracy_low=0.65)
    )
    result = run(jury.JURY, votes, jury.JurySpec(SETTINGS), jobs=1)
    assert result.gap[-1].above(0.02)
    assert result.effective[-1].below(8)
    assert result.majority.value[-1] > result.independent.hi[-1]


def test_intervals_see_the_items_that_accuracies_come_from_at_a_small_calibration_share():
    plain, levels = make_votes(0, 150, 9, missing=0.0), np.linspace(0.6, 0.75, 9)
    wanted = jury.JurySpec(Settings(splits=6, fraction=0.2), panels=(9,))
    result = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        noise = np.sqrt(0.3) * rng.normal(size=(150, 1)) + np.sqrt(0.7) * rng.normal(size=(150, 9))
        cast = np.where(noise < norm.ppf(levels), plain.labels[:, None], 1 - plain.labels[:, None])
        result.append(run(jury.JURY, replace(plain, votes=cast.astype(np.int8)), wanted, jobs=1))
    for name in ("independent", "gap"):
        value, lo, hi = interval.Interval.stacked([getattr(entry, name)[-1] for entry in result])
        assert np.mean((lo <= value.mean()) & (value.mean() <= hi)) >= 0.85
        assert 0.7 < np.mean(hi - lo) / 3.92 / value.std() < 1.5


def test_by_default_sizes_are_odd_but_for_all_judges_and_can_be_given():
    assert jury.JurySpec().sizes(64).tolist()[-1] == 64
    assert all(k % 2 for k in jury.JurySpec().sizes(64)[:-1])
    assert (jury.JurySpec().sizes(1).tolist(), jury.JurySpec().sizes(2).tolist()) == ([1], [1, 2])
    assert len(jury.JurySpec().sizes(1800)) <= 25
    assert jury.JurySpec(panels=(2, 5, 99)).sizes(10).tolist() == [2, 5, 10]
    with pytest.raises(InputError):
        jury.JurySpec(panels=(0,))


def test_under_symmetric_a_coin_errs_on_half_of_the_items():
    settings = Settings(splits=3, orientation="symmetric")
    votes = make_votes(3, 90, 7, one_class=True)
    assert run(jury.JURY, votes, jury.JurySpec(settings), jobs=1).null_error == 0.5


def test_many_votes_are_thinned_and_said_to_be(monkeypatch):
    monkeypatch.setattr("judgepanel.studies.paper.jury.MOST_CELLS", 200)
    result = run(jury.JURY, make_votes(1, 120, 8), jury.JurySpec(Settings(splits=2)), jobs=1)
    assert any("evaluation items is used" in text for text in result.warnings)
    assert result.n_evaluation < 60


def test_panels_are_fitted_on_what_is_not_left_for_evaluation_thinned_or_not(monkeypatch):
    """What fits have in common depends on the items that they leave out, not on those scored."""
    monkeypatch.setattr("judgepanel.studies.paper.jury.MOST_CELLS", 200)
    votes, wanted = make_votes(1, 120, 8), jury.JurySpec(Settings(splits=6), panels=(8,))
    tally = jury.run_chunk(votes, wanted, jury.JURY.plan(wanted)[0])
    items = tally.sums / (2.0**40 * np.maximum(tally.seen, 1))
    n_scored = float(tally.n_evaluation.mean())
    seen, splits = np.flatnonzero(tally.seen > 0), tally.split_means[:, :1]
    expected = inference.estimate(items[:1, seen], splits, seen, 60.0, n_scored, n_others=60.0)
    majority = jury.merge(votes, wanted, tally).majority
    assert n_scored < 60
    assert float(majority.hi[0]) == pytest.approx(min(1.0, float(expected.hi[0])))
    assert float(majority.hi[0]) > float(majority.value[0])


def errors_by_enumeration(accuracies, weights):
    """Error of the weighted vote of independent judges: every pattern of right and wrong."""
    total = 0.0
    for right in itertools.product((False, True), repeat=len(accuracies)):
        chance = np.prod([p if hit else 1 - p for hit, p in zip(right, accuracies, strict=True)])
        lean = round(sum(w if hit else -w for hit, w in zip(right, weights, strict=True)), 12)
        total += chance * (1.0 - np.sign(lean)) / 2.0
    return total


panels = st.integers(0, 10**6).map(np.random.default_rng)


@given(panels)
@settings(max_examples=25)
def test_the_exact_error_is_that_of_enumeration_for_every_prefix_and_missing_vote(rng):
    accuracies = rng.uniform(0.05, 0.95, 6)
    votes = rng.choice([-1, 0, 1], (5, 6)).astype(np.int8)
    ks = np.array([1, 2, 5, 6])
    error = jury.independent_majority_error(votes, accuracies, ks)
    for row, k in enumerate(ks):
        for item, cast in enumerate(votes != 0):
            seen = accuracies[:k][cast[:k]]
            wanted = errors_by_enumeration(seen, np.ones(len(seen)))
            assert error[row, item] == pytest.approx(wanted, abs=1e-12)


@given(panels)
@settings(max_examples=15)
def test_the_slopes_are_the_differences_between_a_judge_always_and_never_right(rng):
    accuracies = rng.uniform(0.02, 0.98, 7)
    accuracies[0] = 0.5
    votes = rng.choice([-1, 0, 1], (6, 7)).astype(np.int8)
    ks = np.array([1, 2, 4, 7])
    slopes = jury.independent_error_slopes(votes, accuracies, ks)
    for judge in range(7):
        ends = []
        for p in (1.0, 0.0):
            set_to = accuracies.copy()
            set_to[judge] = p
            ends.append(jury.independent_majority_error(votes, set_to, ks).mean(axis=1))
        np.testing.assert_allclose(slopes[:, judge], ends[0] - ends[1], atol=1e-12)


@given(panels)
@settings(max_examples=25)
def test_the_bounds_lie_above_the_exact_errors_of_the_votes_they_are_of(rng):
    accuracies = rng.uniform(0.1, 0.9, 6)
    votes = np.ones((1, 6), dtype=np.int8)
    ks = np.arange(1, 7)
    theory = jury.jury_exponents(votes, accuracies, ks)
    exact = jury.independent_majority_error(votes, accuracies, ks)
    assert (np.exp(-theory.majority) >= exact - 1e-12).all()
    for row, k in enumerate(ks):
        p = accuracies[:k]
        best = errors_by_enumeration(p, np.log(p / (1 - p)))
        assert best <= 0.5 * np.exp(-theory.jury[row, 0]) + 1e-12
        assert best <= np.exp(-theory.weighted[row, 0]) + 1e-12


def test_equal_judges_have_a_binomial_error():
    votes = np.ones((2, 41), dtype=np.int8)
    error = jury.independent_majority_error(votes, np.full(41, 0.7), np.array([11, 41]))
    wanted = stats.binom.cdf([5, 20], [11, 41], 0.7)
    np.testing.assert_allclose(error, np.tile(wanted[:, None], 2), rtol=1e-10)


def test_ties_and_items_without_votes_count_one_half():
    votes = np.array([[1, -1, 0], [0, 0, 0], [-1, -1, 1]], dtype=np.int8)
    errors = jury.majority_errors(votes, np.array([1, 1, 1], dtype=np.int8), np.array([2, 3]))
    np.testing.assert_array_equal(errors, [[0.5, 0.5, 1.0], [0.5, 0.5, 1.0]])
    exact = jury.independent_majority_error(votes, np.array([0.8, 0.6, 0.9]), np.array([3]))
    assert exact[0, 1] == 0.5
    assert exact[0, 0] == pytest.approx(0.5 * (0.8 * 0.4 + 0.2 * 0.6) + 0.2 * 0.4)


def test_a_judge_at_chance_adds_nothing_and_an_anti_expert_as_much_as_an_expert():
    votes = np.ones((1, 2), dtype=np.int8)
    ks = np.array([1, 2])
    chance = jury.jury_exponents(votes, np.array([0.8, 0.5]), ks).jury[:, 0]
    assert chance[1] == pytest.approx(chance[0])
    turned = jury.jury_exponents(votes, np.array([0.3, 0.7]), ks).jury[:, 0]
    assert turned[1] == pytest.approx(2 * turned[0])


def test_an_independent_jury_is_worth_its_own_number():
    for m in (1, 5, 21):
        error = float(stats.binom.cdf((m - 1) // 2, m, 0.75))
        assert jury.equivalent_jury(error, 0.75, 41) == pytest.approx(m)
    assert jury.equivalent_jury(0.25, 0.75, 41) == pytest.approx(1.0)
    assert jury.equivalent_jury(0.4, 0.75, 41) == 1.0
    assert jury.equivalent_jury(0.0, 0.75, 41) == 41.0
    assert np.isnan(jury.equivalent_jury(0.3, 0.5, 41))
