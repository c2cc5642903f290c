"""The probability of a row of votes: few votes are computed sparsely, to the same figure."""

import numpy as np

from judgepanel.votes import checks as repeats
from judgepanel.votes.checks import log_chance


def test_few_votes_give_the_figures_of_full_arrays(monkeypatch):
    rng = np.random.default_rng(0)
    votes = rng.choice([0, 1], (300, 40)).astype(np.int8)
    votes[rng.random(votes.shape) < 0.97] = -1
    labels = rng.choice([0, 1], 300).astype(np.int8)
    every = np.arange(300)
    sparse = log_chance(votes, labels, every)
    monkeypatch.setattr(repeats, "_FEW", 0.0)
    np.testing.assert_allclose(sparse, log_chance(votes, labels, every), rtol=1e-12)
    assert (sparse[(votes >= 0).any(axis=1)] < 0.0).all()
    assert (sparse[(votes < 0).all(axis=1)] == 0.0).all()


def test_some_rows_have_the_figures_that_they_have_among_all():
    rng = np.random.default_rng(1)
    votes = rng.choice([-1, 0, 1], (300, 9)).astype(np.int8)
    labels = rng.choice([0, 1], 300).astype(np.int8)
    some = rng.permutation(300)[:40]
    among_all = log_chance(votes, labels, np.arange(300))
    np.testing.assert_allclose(log_chance(votes, labels, some), among_all[some], rtol=1e-12)


def test_a_judge_without_votes_changes_no_figure():
    rng = np.random.default_rng(2)
    votes = rng.choice([0, 1], (200, 5)).astype(np.int8)
    labels = rng.choice([0, 1], 200).astype(np.int8)
    with_silent = np.column_stack([votes, np.full(200, -1, dtype=np.int8)])
    every = np.arange(200)
    np.testing.assert_allclose(
        log_chance(with_silent, labels, every), log_chance(votes, labels, every), rtol=1e-12
    )
