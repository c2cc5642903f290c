"""Error correlations against plain loops and NumPy's, effective numbers, clusters of judges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from judgepanel.kernels import redundancy
from judgepanel.kernels.redundancy import (
    PRIOR_ITEMS,
    ErrorCounts,
    effective_number,
    error_correlation,
    error_counts,
)
from tests.helpers import make_ballots


def counts_by_loop(votes, signs):
    """The three tables, one item and pair at a time."""
    n = votes.shape[1]
    joint, wrong, both = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for row, sign in zip(votes.tolist(), signs.tolist(), strict=True):
        for j in range(n):
            for k in range(n):
                if row[j] and row[k]:
                    joint[j, k] += 1
                    wrong[j, k] += row[j] != sign
                    both[j, k] += row[j] != sign and row[k] != sign
    return ErrorCounts(joint, wrong, both)


def panel(rng, n_items, families, within, general, *, missing=0.0, accuracy=(0.6, 0.9)):
    """Signed votes on items of label 1; errors share a normal factor, and one in each family."""
    codes = np.asarray(families)
    shared = rng.standard_normal((n_items, 1)) * np.sqrt(general)
    own = rng.standard_normal((n_items, codes.max() + 1))[:, codes] * np.sqrt(within)
    rest = rng.standard_normal((n_items, len(codes))) * np.sqrt(1 - general - within)
    bar = stats.norm.ppf(np.linspace(*accuracy, len(codes)))
    votes = np.where(shared + own + rest > bar, -1, 1).astype(np.int8)
    votes[rng.random(votes.shape) < missing] = 0
    return votes


def correlation_of(votes):
    return error_correlation(error_counts(votes, np.ones(len(votes), np.int8)))


@given(st.integers(0, 30), st.sampled_from([0.0, 0.4, 0.95]))
def test_counts_are_those_of_a_plain_loop(seed, missing):
    ballots = make_ballots(seed, 25, 5, missing=missing)
    counts = error_counts(ballots.votes, ballots.signs)
    expected = counts_by_loop(ballots.votes, ballots.signs)
    for name in ("joint", "wrong", "both"):
        np.testing.assert_array_equal(getattr(counts, name), getattr(expected, name))


def test_blocks_and_sparse_matrices_change_no_bit(monkeypatch):
    ballots = make_ballots(3, 200, 9, missing=0.8)
    whole = error_counts(ballots.votes, ballots.signs)
    monkeypatch.setattr(redundancy, "_BLOCK_CELLS", 100)
    monkeypatch.setattr(redundancy, "_SPARSE_DENSITY", 1.1)
    blocks = error_counts(ballots.votes, ballots.signs)
    for name in ("joint", "wrong", "both"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(blocks, name))


def test_with_complete_votes_and_no_shrinkage_it_is_the_phi_coefficient():
    votes = panel(np.random.default_rng(0), 20_000, [0, 0, 1, 1], 0.4, 0.1)
    phi = np.corrcoef(votes < 0, rowvar=False)
    correlation = correlation_of(votes)
    np.testing.assert_allclose(correlation.value, phi, atol=0.002)
    assert correlation.mean == pytest.approx(phi[np.triu_indices(4, 1)].mean(), abs=0.002)


def test_a_pair_by_hand():
    """Unbiased joint covariance over joint standard deviations, rates shrunk to overall ones."""
    a = np.array([1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0], bool)
    b = np.array([1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0], bool)
    votes = np.where(np.column_stack([a, b]), -1, 1).astype(np.int8)
    votes[10:, 1] = 0
    counts = error_counts(votes, np.ones(12, np.int8))
    covariance = np.cov(a[:10], b[:10])[0, 1]
    rate_a, rate_b = a.mean(), b[:10].mean()
    here_a = (a[:10].sum() + PRIOR_ITEMS * rate_a) / (10 + PRIOR_ITEMS)
    variance_a = here_a * (1 - here_a) * 12 / 11
    variance_b = rate_b * (1 - rate_b) * 10 / 9
    expected = covariance / np.sqrt(variance_a * variance_b)
    assert error_correlation(counts).mean == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 40))
def test_swapping_items_changes_nothing(seed):
    ballots = make_ballots(seed, 60, 6)
    flip = np.where(np.random.default_rng(seed).random(60) < 0.5, -1, 1).astype(np.int8)
    correlation = error_correlation(error_counts(ballots.votes, ballots.signs))
    other = error_correlation(
        error_counts(ballots.votes * flip[:, None], (ballots.signs * flip).astype(np.int8))
    )
    np.testing.assert_array_equal(correlation.value, other.value)


@given(st.integers(0, 40), st.sampled_from([0.1, 0.7]))
def test_permuting_judges_permutes_the_matrix(seed, missing):
    ballots = make_ballots(seed, 60, 7, missing=missing)
    order = np.random.default_rng(seed).permutation(7)
    correlation = error_correlation(error_counts(ballots.votes, ballots.signs))
    other = error_correlation(error_counts(ballots.votes[:, order], ballots.signs))
    np.testing.assert_allclose(other.value, correlation.value[np.ix_(order, order)], atol=1e-12)
    np.testing.assert_array_equal(other.known, correlation.known[np.ix_(order, order)])


@given(st.integers(0, 60), st.integers(2, 25), st.sampled_from([0.0, 0.5, 0.9]))
def test_no_figure_is_ever_nan_where_a_pair_is_known_and_all_stay_in_bounds(seed, n, missing):
    ballots = make_ballots(seed, n, 6, missing=missing)
    correlation = error_correlation(error_counts(ballots.votes, ballots.signs))
    assert np.isfinite(correlation.value).all()
    assert (np.abs(correlation.value) <= 1).all()
    np.testing.assert_array_equal(correlation.value, correlation.value.T)
    if correlation.known.any():
        assert -1 <= correlation.mean <= 1
        assert correlation.spread >= 0
        assert (
            correlation.value[~correlation.known & ~np.eye(6, dtype=bool)] == correlation.mean
        ).all()


def test_a_judge_that_never_errs_has_no_known_pair():
    votes = panel(np.random.default_rng(1), 100, [0, 0, 0], 0.2, 0.1)
    votes[:, 1] = 1
    correlation = correlation_of(votes)
    assert not correlation.known[1].any()
    assert correlation.known[0, 2]


def test_without_a_known_pair_nothing_is_said():
    correlation = correlation_of(np.eye(4, dtype=np.int8))
    assert np.isnan(correlation.mean)
    assert np.isnan(correlation.spread)
    assert not correlation.known.any()


def test_a_copy_stays_a_copy_and_an_inverted_copy_its_opposite():
    votes = panel(np.random.default_rng(2), 400, [0, 1, 2, 3], 0.3, 0.1)
    votes = np.column_stack([votes, votes[:, 0], -votes[:, 1]])
    value = correlation_of(votes).value
    assert value[0, 4] > 0.98
    assert value[1, 5] < -0.98


def test_thinning_votes_moves_the_mean_little_where_plain_phi_doubles():
    """Phi of a handful of items, where it exists at all, is far too large on average."""
    rng = np.random.default_rng(3)
    votes = panel(rng, 400, np.arange(60) % 4, 0.3, 0.3)
    thin = np.where(rng.random(votes.shape) < 0.06, votes, 0).astype(np.int8)
    counts = error_counts(thin, np.ones(400, np.int8))
    n, a = counts.joint, counts.wrong
    spread = np.sqrt(a * (n - a) * (a * (n - a)).T)
    with np.errstate(invalid="ignore", divide="ignore"):
        phi = ((n * counts.both - a * a.T) / spread)[np.triu_indices(60, 1)]
    truth = correlation_of(votes).mean
    assert abs(error_correlation(counts).mean - truth) < 0.05
    assert np.nanmean(phi) - truth > 0.1


def test_the_mean_of_equally_correlated_errors_and_their_worth_are_as_in_theory():
    """Errors that copy one common coin with chance r correlate r^2: K / (1 + (K - 1) r^2)."""
    rng = np.random.default_rng(4)
    n, k, r = 40_000, 12, 0.6
    own, common = rng.random((n, k)) < 0.3, rng.random((n, 1)) < 0.3
    errors = np.where(rng.random((n, k)) < r, common, own)
    correlation = correlation_of(np.where(errors, -1, 1).astype(np.int8))
    assert correlation.mean == pytest.approx(r * r, abs=0.01)
    assert correlation.spread < 0.02
    assert effective_number(k, correlation.mean) == pytest.approx(
        k / (1 + (k - 1) * r * r), rel=0.03
    )


@given(st.integers(1, 2000), st.floats(-1, 1), st.floats(0, 1))
def test_effective_numbers_stay_between_one_and_all(k, mean, spread):
    assert 1 <= effective_number(k, mean) <= k
    assert 1 <= effective_number(k, mean**2 + spread**2) <= k


def test_ends_of_the_effective_number():
    assert effective_number(10, 0.0) == 10
    assert effective_number(10, -0.05) == 10
    assert effective_number(10, 1.0) == 1
    assert effective_number(1, 0.5) == 1
    assert effective_number(20, 0.25) == pytest.approx(20 / 5.75)


def test_dimensions_are_the_participation_ratio_and_ignore_signs():
    votes = panel(np.random.default_rng(5), 30_000, [0, 0, 0, 1, 1, 1], 0.5, 0.2)
    turned = votes * np.array([1, -1, 1, 1, -1, -1], np.int8)
    first, other = correlation_of(votes), correlation_of(turned)
    eigenvalues = np.linalg.eigvalsh(np.corrcoef(votes < 0, rowvar=False))
    ratio = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
    for correlation in (first, other):
        square = correlation.mean**2 + correlation.spread**2
        assert effective_number(6, square) == pytest.approx(ratio, rel=0.01)
    assert effective_number(6, other.mean) > 1.5 * effective_number(6, first.mean)


FAMILIES = np.array([0] * 8 + [1] * 5 + [2] * 4 + [3] * 3)


def given_matrix(value, spread=0.3):
    value = np.asarray(value, float)
    known = ~np.eye(len(value), dtype=bool)
    return redundancy.ErrorCorrelation(value, known, float(value[known].mean()), spread)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_simulated_families_are_recovered(missing):
    votes = panel(np.random.default_rng(0), 600, FAMILIES, 0.55, 0.1, missing=missing)
    result = redundancy.clusters(correlation_of(votes))
    assert adjusted_rand_score(FAMILIES, result.label) == 1.0
    assert np.bincount(result.label)[1:].tolist() == [8, 5, 4, 3]


@pytest.mark.parametrize("seed", range(5))
def test_judges_that_are_alike_to_all_others_form_no_cluster(seed):
    votes = panel(np.random.default_rng(seed), 300, np.arange(15), 0.0, 0.3, accuracy=(0.7, 0.7))
    assert np.bincount(redundancy.clusters(correlation_of(votes)).label)[1:].max() <= 3


def test_without_spread_every_judge_stands_alone():
    result = redundancy.clusters(given_matrix(np.full((5, 5), 0.4), spread=0.0))
    assert result.cut == np.inf
    assert sorted(result.label) == [1, 2, 3, 4, 5]


def test_the_cut_lies_between_near_and_far_pairs_and_never_below_their_mean():
    value = np.where(np.equal.outer(FAMILIES, FAMILIES), 0.7, 0.2)
    assert 0.2 < redundancy.cut_correlation(given_matrix(value)) < 0.7
    crowd = np.zeros(20, int)
    crowd[0] = 1
    value = np.where(np.equal.outer(crowd, crowd), 0.7, 0.2)
    matrix = given_matrix(value)
    assert matrix.mean <= redundancy.cut_correlation(matrix) < 0.7


def test_clusters_are_whole_in_the_order_and_numbered_by_size():
    votes = panel(np.random.default_rng(1), 400, FAMILIES, 0.5, 0.1)
    result = redundancy.clusters(correlation_of(votes))
    assert sorted(result.order) == list(range(20))
    changes = np.count_nonzero(np.diff(result.label[result.order]))
    assert changes == result.label.max() - 1
    assert (np.diff(np.bincount(result.label)[1:]) <= 0).all()


def test_large_panels_keep_the_order_of_the_tree(monkeypatch):
    correlation = correlation_of(panel(np.random.default_rng(1), 400, FAMILIES, 0.5, 0.1))
    monkeypatch.setattr(redundancy, "ORDERED_JUDGES", 3)
    result = redundancy.clusters(correlation)
    assert np.count_nonzero(np.diff(result.label[result.order])) == result.label.max() - 1


@given(st.integers(0, 30))
def test_permuting_judges_permutes_clusters(seed):
    votes = panel(np.random.default_rng(7), 200, FAMILIES, 0.5, 0.1)
    order = np.random.default_rng(seed).permutation(20)
    entry = redundancy.clusters(correlation_of(votes)).label
    other = redundancy.clusters(correlation_of(votes[:, order])).label
    assert adjusted_rand_score(entry[order], other) == 1.0


def test_a_judge_with_no_known_pair_is_in_no_cluster_and_not_on_the_map():
    votes = panel(np.random.default_rng(2), 200, FAMILIES, 0.5, 0.1)
    votes[:, 4] = 1
    result = redundancy.clusters(correlation_of(votes))
    assert result.label[4] == 0
    assert 4 not in result.order


def test_one_judge_or_none_is_no_cluster():
    result = redundancy.clusters(correlation_of(np.ones((5, 1), np.int8)))
    assert result.label.tolist() == [0]
    assert len(result.order) == 0


def test_means_with_the_cluster_and_with_the_rest_by_hand():
    value = np.array([[1, 0.8, 0.1], [0.8, 1, 0.3], [0.1, 0.3, 1]])
    own, rest = redundancy.mean_with(given_matrix(value), np.array([1, 1, 2]))
    np.testing.assert_allclose(own, [0.8, 0.8, np.nan])
    np.testing.assert_allclose(rest, [0.1, 0.3, 0.2])


def test_families_that_are_the_clusters_agree_fully_and_unknown_ones_are_left_out():
    value = np.where(np.equal.outer(FAMILIES, FAMILIES), 0.7, 0.2)
    names = tuple(f"f{code}" for code in FAMILIES)
    agreement = redundancy.family_agreement(given_matrix(value), FAMILIES + 1, names)
    assert (agreement.rand, agreement.n_judges, agreement.n_families) == (1.0, 20, 4)
    assert (agreement.within, agreement.between) == (pytest.approx(0.7), pytest.approx(0.2))
    some = ("",) * 8 + names[8:]
    assert redundancy.family_agreement(given_matrix(value), FAMILIES + 1, some).n_judges == 12


def test_families_dealt_at_random_agree_as_chance_would():
    rng = np.random.default_rng(3)
    value = np.where(np.equal.outer(FAMILIES, FAMILIES), 0.7, 0.2)
    matrix, rands = given_matrix(value), []
    for _ in range(200):
        names = tuple(f"f{code}" for code in rng.permutation(FAMILIES))
        rands.append(redundancy.family_agreement(matrix, FAMILIES + 1, names).rand)
    assert abs(np.mean(rands)) < 0.03
