"""Conformal thresholds and sets, with exact ranks and ties; the area of selective prediction."""

import itertools
import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from judgepanel.scoring import conformal
from judgepanel.votes import InputError

PROBABILITIES = st.floats(0.0, 1.0, allow_subnormal=False)


@pytest.mark.parametrize("level", ["0.5", "0.55", "0.68", "0.8", "0.9", "0.95", "0.99"])
def test_the_rank_is_the_exact_ceiling_whatever_floating_point_makes_of_the_product(level):
    n = np.arange(1, 3000)
    exact = [math.ceil(Fraction(level) * (i + 1)) for i in n.tolist()]
    assert conformal.quantile_rank(n, float(level)).tolist() == exact


@pytest.mark.parametrize(("level", "needed"), [(0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_one_label_fewer_than_needed_gives_an_infinite_threshold(level, needed):
    assert conformal.labels_needed(level) == needed
    scores = np.linspace(0.1, 0.9, needed)
    assert conformal.threshold(scores, level) == scores[-1]
    assert conformal.threshold(scores[1:], level) == np.inf
    assert str(needed) in conformal.too_few(needed - 1, level, "The slice", "every set is {0, 1}")


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_a_level_outside_its_range_is_refused(level):
    with pytest.raises(InputError, match="level is out of range"):
        conformal.labels_needed(level)


def test_a_batch_of_panels_has_the_thresholds_of_each_panel_alone():
    rng = np.random.default_rng(0)
    scores, codes = rng.random((5, 60)), rng.integers(0, 3, 60)
    thresholds = conformal.group_thresholds(scores, codes, 4, 0.8)
    for row, panel in enumerate(scores):
        for group in range(3):
            own = np.sort(panel[codes == group])
            wanted = own[math.ceil(Fraction("0.8") * (len(own) + 1)) - 1]
            assert thresholds[row, group] == wanted
    assert (thresholds[:, 3] == np.inf).all()
    np.testing.assert_array_equal(conformal.threshold(scores, 0.9), np.sort(scores)[:, 55 - 1])


class TestSets:
    def test_the_four_kinds(self):
        p = np.array([0.5, 0.1, 0.9, 0.5])
        narrow = conformal.set_kinds(p, np.float64(0.3), np.float64(0.3))
        kinds = [conformal.NEITHER, conformal.ZERO, conformal.ONE, conformal.BOTH]
        assert narrow.tolist() == [*kinds[:3], conformal.NEITHER]
        assert conformal.set_kinds(p, np.float64(0.6), np.float64(0.6))[0] == conformal.BOTH
        assert [conformal.SET_NAMES[kind] for kind in kinds] == ["{}", "{0}", "{1}", "{0, 1}"]
        assert conformal.set_sizes(np.arange(4)).tolist() == [0, 1, 1, 2]

    def test_a_set_covers_the_labels_it_holds(self):
        kinds = np.arange(4)
        assert conformal.covers(kinds, np.zeros(4, int)).tolist() == [False, True, False, True]
        assert conformal.covers(kinds, np.ones(4, int)).tolist() == [False, False, True, True]

    @given(st.lists(PROBABILITIES, min_size=1, max_size=30), st.data())
    def test_a_score_equal_to_the_threshold_is_in_the_set(self, ps, data):
        p = np.array(ps)
        labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p))))
        for limit in conformal.nonconformity(p, labels):
            at = conformal.nonconformity(p, labels) <= limit
            covered = conformal.covers(conformal.set_kinds(p, limit, limit), labels)
            np.testing.assert_array_equal(covered, at)
            assert at.any()

    @given(st.lists(PROBABILITIES, min_size=1, max_size=30), st.data())
    def test_an_item_and_its_swap_have_the_same_score_to_the_bit(self, ps, data):
        p = np.array(ps)
        labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(p), max_size=len(p))))
        swapped = 1.0 - p
        scores = conformal.nonconformity(p, labels)
        np.testing.assert_array_equal(scores, conformal.nonconformity(swapped, 1 - labels))
        limit = conformal.threshold(scores, 0.5)
        mirrored = np.array([conformal.NEITHER, conformal.ONE, conformal.ZERO, conformal.BOTH])
        kinds, other = (conformal.set_kinds(side, limit, limit) for side in (p, swapped))
        np.testing.assert_array_equal(other, mirrored[kinds])

    @given(PROBABILITIES)
    def test_the_scores_of_the_two_labels_add_up_to_exactly_one(self, p):
        zero, label_one = conformal.label_scores(np.float64(p))
        assert zero + label_one == 1.0

    @given(st.lists(PROBABILITIES, min_size=20, max_size=20), st.permutations(range(20)))
    def test_the_order_of_the_slice_does_not_matter(self, scores, order):
        values = np.array(scores)
        assert conformal.threshold(values, 0.9) == conformal.threshold(values[list(order)], 0.9)

    def test_a_higher_level_never_takes_a_label_out(self):
        rng = np.random.default_rng(1)
        scores, p = rng.random(50), rng.random(200)
        limits = [conformal.threshold(scores, level) for level in conformal.LEVELS]
        low, high = (conformal.set_kinds(p, limit, limit) for limit in limits)
        assert ((low & ~high) == 0).all()
        assert (low != high).any()


class TestCoverage:
    """On n + 1 exchangeable items the coverage of the last one is a count, not an estimate."""

    @pytest.mark.parametrize("level", conformal.LEVELS)
    @pytest.mark.parametrize("n", [4, 5, 6])
    def test_over_all_orders_of_distinct_scores_it_is_rank_over_n_plus_one(self, n, level):
        scores = np.random.default_rng(n).random(n + 1)
        orders = np.array(list(itertools.permutations(scores)))
        covered = orders[:, -1] <= conformal.threshold(orders[:, :-1], level)
        wanted = min(Fraction(int(conformal.quantile_rank(n, level)), n + 1), 1)
        assert Fraction(int(covered.sum()), len(orders)) == wanted
        assert Fraction(str(level)) <= wanted <= Fraction(str(level)) + Fraction(1, n + 1)

    @pytest.mark.parametrize("level", conformal.LEVELS)
    def test_ties_leave_it_higher(self, level):
        scores = np.array([0.1, 0.1, 0.2, 0.2, 0.3, 0.3])
        orders = np.array(list(itertools.permutations(scores)))
        covered = (orders[:, -1] <= conformal.threshold(orders[:, :-1], level)).mean()
        assert covered >= level
        assert covered >= int(conformal.quantile_rank(5, level)) / 6

    @pytest.mark.parametrize("level", conformal.LEVELS)
    @pytest.mark.parametrize("n", [30, 59])
    def test_given_the_slice_it_is_beta_distributed(self, n, level):
        # Coverage given the slice is F(threshold), which for uniform scores is the threshold.
        thresholds = conformal.threshold(np.random.default_rng(2).random((20_000, n)), level)
        rank = int(conformal.quantile_rank(n, level))
        assert level <= thresholds.mean() + 3e-3
        assert thresholds.mean() <= level + 1 / (n + 1) + 3e-3
        assert stats.kstest(thresholds, stats.beta(rank, n + 1 - rank).cdf).pvalue > 1e-3


class TestReport:
    def test_counts_coverage_and_sizes(self):
        kinds = np.array(
            [conformal.ZERO, conformal.ZERO, conformal.ONE, conformal.BOTH, conformal.NEITHER]
        )
        report = conformal.report_sets(kinds, np.array([0, 1, 1, 0, 1]), 0.8, 12)
        assert (report.neither, report.only_0, report.only_1, report.both) == (1, 2, 1, 1)
        assert (report.n, report.covered, report.coverage) == (5, 3, 0.6)
        assert report.mean_size == 1.0
        assert (report.lo, report.hi) == conformal.clopper_pearson(3, 5)
        assert report.lo < 0.6 < report.hi
        words = report.words()
        assert words[0].startswith("{}: 1 of 5. Neither label is credible")
        assert "does not decide" in words[3]

    def test_sets_of_many_panels_are_counted_at_once(self):
        kinds = np.array([[0, 1, 1], [3, 3, 2]])
        assert conformal.set_counts(kinds).tolist() == [[1, 2, 0, 0], [0, 0, 1, 2]]


@pytest.mark.parametrize(("n", "level"), [(20, 0.8), (63, 0.9), (200, 0.9)])
def test_single_slices_cover_within_their_range_in_95_of_100(n, level):
    scores = np.sort(np.random.default_rng(7).random((20_000, n)), axis=1)
    coverage = scores[:, int(conformal.quantile_rank(n, level)) - 1]
    lo, hi = conformal.one_slice(n, level)
    assert np.mean(coverage < lo) == pytest.approx(0.025, abs=0.004)
    assert np.mean(coverage > hi) == pytest.approx(0.025, abs=0.004)


def test_a_slice_too_small_for_its_level_covers_everything():
    assert conformal.one_slice(8, 0.9) == (1.0, 1.0)
    assert conformal.one_slice(9, 0.9)[1] < 1.0


def area(hits):
    """Mean over k of the accuracy of the first k."""
    return float(np.mean(np.cumsum(hits) / np.arange(1, len(hits) + 1)))


def test_the_area_is_the_mean_accuracy_over_all_numbers_answered():
    rng = np.random.default_rng(0)
    confidence, hit = rng.random(40), (rng.random(40) < 0.7).astype(float)
    values = conformal.auac_values(conformal.ranked(confidence), hit)
    assert values.mean() == pytest.approx(area(hit[np.argsort(-confidence)]))


def test_ties_are_averaged_over_their_orders():
    confidence = np.array([0.9, 0.7, 0.7, 0.7, 0.6])
    hit = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    orders = [[0, *middle, 4] for middle in permutations([1, 2, 3])]
    wanted = np.mean([area(hit[order]) for order in orders])
    assert conformal.auac_values(conformal.ranked(confidence), hit).mean() == pytest.approx(wanted)
    remaining = conformal.answered(conformal.ranked(confidence), np.array([0.4, 1.0]))
    np.testing.assert_allclose(remaining[0], [1, 1 / 3, 1 / 3, 1 / 3, 0])
    assert (remaining[1] == 1.0).all()


def test_a_confidence_that_says_nothing_gains_nothing():
    hit = np.array([1.0, 0.0, 1.0, 1.0])
    assert conformal.auac_values(conformal.ranked(np.full(4, 0.8)), hit).mean() == pytest.approx(
        hit.mean()
    )


def test_the_variance_of_the_influence_values_is_that_of_the_area():
    rng = np.random.default_rng(1)
    areas, foretold = [], []
    for _ in range(400):
        confidence = rng.uniform(0.5, 1.0, 300)
        hit = (rng.random(300) < confidence).astype(float)
        values = conformal.auac_values(conformal.ranked(confidence), hit)
        areas.append(values.mean())
        foretold.append(values.var(ddof=1) / 300)
    assert np.sqrt(np.mean(foretold)) == pytest.approx(np.std(areas), rel=0.1)
