"""Simulated families are recovered; panels without families get no clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from judgepanel.kernels import redundancy as module
from judgepanel.kernels.redundancy import (
    ErrorCorrelation,
    clusters,
    cut_correlation,
    family_agreement,
    mean_with,
)
from tests.kernels.judges.test_redundancy import correlation_of, panel

FAMILIES = np.array([0] * 8 + [1] * 5 + [2] * 4 + [3] * 3)


def given_matrix(value, spread=0.3):
    value = np.asarray(value, float)
    known = ~np.eye(len(value), dtype=bool)
    return ErrorCorrelation(value, known, float(value[known].mean()), spread)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_simulated_families_are_recovered(missing):
    votes = panel(np.random.default_rng(0), 600, FAMILIES, 0.55, 0.1, missing=missing)
    result = clusters(correlation_of(votes))
    assert adjusted_rand_score(FAMILIES, result.label) == 1.0
    assert np.bincount(result.label)[1:].tolist() == [8, 5, 4, 3]


@pytest.mark.parametrize("seed", range(5))
def test_judges_that_are_alike_to_all_others_form_no_cluster(seed):
    votes = panel(np.random.default_rng(seed), 300, np.arange(15), 0.0, 0.3, accuracy=(0.7, 0.7))
    result = clusters(correlation_of(votes))
    assert np.bincount(result.label)[1:].max() <= 3


def test_without_spread_every_judge_stands_alone():
    result = clusters(given_matrix(np.full((5, 5), 0.4), spread=0.0))
    assert result.cut == np.inf
    assert sorted(result.label) == [1, 2, 3, 4, 5]


def test_the_cut_lies_between_near_and_far_pairs_and_never_below_their_mean():
    value = np.where(np.equal.outer(FAMILIES, FAMILIES), 0.7, 0.2)
    assert 0.2 < cut_correlation(given_matrix(value)) < 0.7
    crowd = np.zeros(20, int)
    crowd[0] = 1
    value = np.where(np.equal.outer(crowd, crowd), 0.7, 0.2)
    matrix = given_matrix(value)
    assert matrix.mean <= cut_correlation(matrix) < 0.7


def test_clusters_are_whole_in_the_order_and_numbered_by_size():
    votes = panel(np.random.default_rng(1), 400, FAMILIES, 0.5, 0.1)
    result = clusters(correlation_of(votes))
    assert sorted(result.order) == list(range(20))
    changes = np.count_nonzero(np.diff(result.label[result.order]))
    assert changes == result.label.max() - 1
    sizes = np.bincount(result.label)[1:]
    assert (np.diff(sizes) <= 0).all()


def test_large_panels_keep_the_order_of_the_tree(monkeypatch):
    correlation = correlation_of(panel(np.random.default_rng(1), 400, FAMILIES, 0.5, 0.1))
    monkeypatch.setattr(module, "ORDERED_JUDGES", 3)
    result = clusters(correlation)
    assert np.count_nonzero(np.diff(result.label[result.order])) == result.label.max() - 1


@given(st.integers(0, 30))
def test_permuting_judges_permutes_clusters(seed):
    votes = panel(np.random.default_rng(7), 200, FAMILIES, 0.5, 0.1)
    order = np.random.default_rng(seed).permutation(20)
    entry = clusters(correlation_of(votes)).label
    other = clusters(correlation_of(votes[:, order])).label
    assert adjusted_rand_score(entry[order], other) == 1.0


def test_a_judge_with_no_known_pair_is_in_no_cluster_and_not_on_the_map():
    votes = panel(np.random.default_rng(2), 200, FAMILIES, 0.5, 0.1)
    votes[:, 4] = 1
    result = clusters(correlation_of(votes))
    assert result.label[4] == 0
    assert 4 not in result.order


def test_one_judge_or_none_is_no_cluster():
    result = clusters(correlation_of(np.ones((5, 1), np.int8)))
    assert result.label.tolist() == [0]
    assert len(result.order) == 0


def test_means_with_the_cluster_and_with_the_rest_by_hand():
    value = np.array([[1, 0.8, 0.1], [0.8, 1, 0.3], [0.1, 0.3, 1]])
    own, rest = mean_with(given_matrix(value), np.array([1, 1, 2]))
    np.testing.assert_allclose(own, [0.8, 0.8, np.nan])
    np.testing.assert_allclose(rest, [0.1, 0.3, 0.2])


def test_families_that_are_the_clusters_agree_fully_and_unknown_ones_are_left_out():
    value = np.where(np.equal.outer(FAMILIES, FAMILIES), 0.7, 0.2)
    names = tuple(f"f{code}" for code in FAMILIES)
    agreement = family_agreement(given_matrix(value), FAMILIES + 1, names)
    assert (agreement.rand, agreement.n_judges, agreement.n_families) == (1.0, 20, 4)
    assert agreement.within == pytest.approx(0.7)
    assert agreement.between == pytest.approx(0.2)
    some = ("",) * 8 + names[8:]
    assert family_agreement(given_matrix(value), FAMILIES + 1, some).n_judges == 12


def test_families_dealt_at_random_agree_as_chance_would():
    rng = np.random.default_rng(3)
    value = np.where(np.equal.outer(FAMILIES, FAMILIES), 0.7, 0.2)
    result = [
        family_agreement(
            given_matrix(value), FAMILIES + 1, tuple(f"f{c}" for c in rng.permutation(FAMILIES))
        ).rand
        for _ in range(200)
    ]
    assert abs(np.mean(result)) < 0.03
