"""The probability of a row of votes: few votes are computed sparsely, to the same figure."""

import numpy as np

from judgepanel.votes import row_chance
from judgepanel.votes.row_chance import log_chance


def test_few_votes_give_the_figures_of_full_arrays(monkeypatch):
    rng = np.random.default_rng(0)
    votes = rng.choice([0, 1], (300, 40)).astype(np.int8)
    votes[rng.random(votes.shape) < 0.97] = -1
    labels = rng.choice([0, 1], 300).astype(np.int8)
    sparse = log_chance(votes, labels)
    monkeypatch.setattr(row_chance, "_FEW", 0.0)
    np.testing.assert_allclose(sparse, log_chance(votes, labels), rtol=1e-12)
    assert (sparse[(votes >= 0).any(axis=1)] < 0.0).all()
    assert (sparse[(votes < 0).all(axis=1)] == 0.0).all()
