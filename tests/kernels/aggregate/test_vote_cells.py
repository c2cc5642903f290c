"""Votes as products take them: sparse parts, counts and first voters are those of the array."""

import numpy as np
import pytest

from judgepanel.kernels import ballots as vote_cells
from judgepanel.kernels.ballots import dense_of
from judgepanel.kernels.dawid_skene import design_of
from judgepanel.kernels.joint import copies
from judgepanel.kernels.prefixes import counts, rank, without_votes
from tests.helpers import make_ballots


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
    for of_arrays, of_sparse in zip(counts(arrays, ROWS), counts(sparse, ROWS), strict=True):
        np.testing.assert_array_equal(of_arrays, of_sparse)
    order, ks = rank(arrays, ROWS), np.array([1, 4, 12])
    np.testing.assert_array_equal(
        without_votes(arrays, ROWS, order, ks), without_votes(sparse, ROWS, order, ks)
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
    pairs = copies(votes, signs)
    monkeypatch.setattr(vote_cells, "SPARSE_CELLS", 0)
    monkeypatch.setattr(vote_cells, "SPARSE_DENSITY", 2.0)
    np.testing.assert_array_equal(copies(vote_cells.cells_of(votes), signs), pairs)
    assert pairs[0, 1]
    assert not pairs[0, 2]
