"""Weighted counts, and products of votes: unit weights change nothing, own labels reach nothing."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels import ballots as vote_cells
from judgepanel.kernels import joint, prefixes
from judgepanel.kernels.ballots import dense_of
from judgepanel.kernels.dawid_skene import design_of
from judgepanel.scoring.splits import Split, split
from tests.helpers import make_ballots


@pytest.mark.parametrize("groups", [0, 12])
@pytest.mark.parametrize("own_label", ["removed", "seen"])
def test_weights_of_one_give_the_full_panel(groups, own_label):
    ballots = make_ballots(4, 60, 7, groups=groups)
    one_split = split(ballots.units, 1)
    scores = prefixes.weighted_one_coin(
        ballots, one_split, np.ones(len(one_split.calibration)), own_label=own_label
    )
    wanted = prefixes.prefix_scores(ballots, one_split, np.array([7]), own_label=own_label)
    np.testing.assert_allclose(scores.calibration, wanted.calibration, atol=1e-12)
    np.testing.assert_allclose(scores.evaluation, wanted.evaluation, atol=1e-12)
    np.testing.assert_array_equal(scores.calibration_empty, wanted.calibration_empty)
    np.testing.assert_array_equal(scores.evaluation_empty, wanted.evaluation_empty)
    np.testing.assert_array_equal(scores.order, wanted.order)


def test_a_weight_of_two_is_an_item_seen_twice_and_one_of_zero_an_item_not_seen():
    ballots = make_ballots(5, 40, 5)
    one_split = split(ballots.units, 0)
    importance = np.ones(len(one_split.calibration))
    importance[[0, 1]] = 2.0, 0.0
    rows = np.append(np.delete(one_split.calibration, 1), one_split.calibration[0])
    weights = prefixes.one_coin_weight(*prefixes.counts(ballots, rows))
    scores = prefixes.weighted_one_coin(ballots, one_split, importance)
    np.testing.assert_allclose(
        scores.evaluation[0], ballots.votes[one_split.evaluation] @ weights, atol=1e-12
    )


@pytest.mark.parametrize("groups", [0, 9])
def test_a_left_out_score_does_not_know_the_label_of_its_unit(groups):
    ballots = make_ballots(6, 50, 6, groups=groups)
    one_split = split(ballots.units, 2)
    importance = np.random.default_rng(0).uniform(0.2, 1.8, len(one_split.calibration))
    before = prefixes.weighted_one_coin(ballots, one_split, importance).calibration[0]
    unit = ballots.units[one_split.calibration[3]]
    signs = np.where(ballots.units == unit, -ballots.signs, ballots.signs).astype(np.int8)
    after = prefixes.weighted_one_coin(
        replace(ballots, signs=signs), one_split, importance
    ).calibration[0]
    same = ballots.units[one_split.calibration] == unit
    np.testing.assert_allclose(after[same], before[same], atol=1e-12)
    assert not np.allclose(after[~same], before[~same])


def test_blocks_do_not_change_a_score(monkeypatch):
    ballots = make_ballots(7, 60, 5, groups=15)
    one_split = Split(0, np.arange(40), np.arange(40, 60))
    importance = np.linspace(0.1, 1.9, 40)
    whole = prefixes.weighted_one_coin(ballots, one_split, importance)
    monkeypatch.setattr("judgepanel.kernels.prefixes._CELLS", 20)
    parts = prefixes.weighted_one_coin(ballots, one_split, importance)
    np.testing.assert_allclose(parts.calibration, whole.calibration, atol=1e-12)


@pytest.fixture
def both(monkeypatch):
    """The same ballots as arrays, and as a sparse matrix."""
    arrays, sparse = (make_ballots(6, 90, 12, missing=0.95) for _ in range(2))
    assert arrays.sparse is None
    monkeypatch.setattr(vote_cells, "SPARSE_CELLS", 0)
    assert sparse.sparse is not None
    return arrays, sparse


ROWS, JUDGES = np.array([80, 3, 4, 17, 60, 61, 2]), np.array([7, 0, 11, 3])


def test_a_part_of_sparse_votes_is_that_of_the_array_in_the_order_of_its_rows(both):
    arrays, sparse = both
    part = sparse.part(ROWS, JUDGES)
    np.testing.assert_array_equal(dense_of(part), arrays.votes[ROWS][:, JUDGES])
    if not isinstance(part, np.ndarray):
        np.testing.assert_array_equal(part.indices, np.nonzero(dense_of(part))[1])


def test_a_part_with_most_of_its_votes_is_an_array(both):
    _, sparse = both
    judge = np.array([0])
    voters = np.flatnonzero(sparse.votes[:, 0])
    assert isinstance(sparse.part(voters, judge), np.ndarray)


def test_counts_and_first_voters_are_the_same_from_sparse_votes(both):
    arrays, sparse = both
    for of_arrays, of_sparse in zip(
        prefixes.counts(arrays, ROWS), prefixes.counts(sparse, ROWS), strict=True
    ):
        np.testing.assert_array_equal(of_arrays, of_sparse)
    order, ks = prefixes.rank(arrays, ROWS), np.array([1, 4, 12])
    np.testing.assert_array_equal(
        prefixes.without_votes(arrays, ROWS, order, ks),
        prefixes.without_votes(sparse, ROWS, order, ks),
    )


@pytest.mark.parametrize("tied", [True, False])
def test_features_of_dawid_skene_are_the_same_from_sparse_votes(both, tied):
    arrays, sparse = both
    of_sparse, of_arrays = (design_of(v, tied=tied) for v in (sparse.sparse, arrays.votes))
    np.testing.assert_array_equal(of_sparse.toarray(), of_arrays.toarray())


def test_near_copies_are_found_in_sparse_votes(monkeypatch):
    rng = np.random.default_rng(0)
    signs = rng.choice(np.array([-1, 1], dtype=np.int8), 400)
    votes = np.where(rng.random((400, 3)) < 0.3, -signs[:, None], signs[:, None])
    votes[:, 1] = votes[:, 0]
    votes = votes.astype(np.int8)
    pairs = joint.copies(votes, signs)
    monkeypatch.setattr(vote_cells, "SPARSE_CELLS", 0)
    monkeypatch.setattr(vote_cells, "SPARSE_DENSITY", 2.0)
    np.testing.assert_array_equal(joint.copies(vote_cells.cells_of(votes), signs), pairs)
    assert pairs[0, 1]
    assert not pairs[0, 2]
