"""Items with few votes: ranking the voters alone gives the bits of the full ranking."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.kernels import prefixes
from judgepanel.kernels.prefixes import CLOSED_FORMS, RANKINGS, few_votes, prefix_scores
from tests.helpers import make_ballots
from tests.kernels.aggregate.test_crossfit import halves

KS = np.array([1, 3, 8, 33, 60])


def sparse_ballots(**options):
    """60 judges on 80 items: some items have no vote, one has all, judges tie everywhere."""
    ballots = make_ballots(1, 80, 60, missing=0.95, **options)
    votes = ballots.votes.copy()
    votes[[2, 50]], votes[[7, 61]] = 0, 1
    return replace(ballots, votes=votes)


@pytest.mark.parametrize("aggregator", CLOSED_FORMS)
@pytest.mark.parametrize("ranking", RANKINGS)
@pytest.mark.parametrize("own_label", ["removed", "seen"])
@pytest.mark.parametrize("groups", [0, 20])
def test_ranking_the_voters_alone_gives_the_bits_of_the_full_ranking(
    aggregator, ranking, own_label, groups, monkeypatch
):
    ballots = sparse_ballots(groups=groups)
    options = {"aggregator": aggregator, "ranking": ranking, "own_label": own_label}
    sparse = prefix_scores(ballots, halves(ballots), KS, **options)
    monkeypatch.setattr(prefixes, "few_votes", lambda _, rows, *__: np.zeros(len(rows), dtype=bool))
    full = prefix_scores(ballots, halves(ballots), KS, **options)
    for name in ("calibration", "calibration_empty", "evaluation", "evaluation_empty"):
        np.testing.assert_array_equal(getattr(sparse, name), getattr(full, name))


def test_the_voters_are_ranked_where_they_are_few():
    ballots = sparse_ballots()
    cast = np.count_nonzero(ballots.votes, axis=1)
    few = few_votes(ballots.votes, np.arange(80), len(KS), ballots.n_judges)
    assert few[cast <= 5].all()
    assert not few[[7, 61]].any()


def test_no_item_has_few_votes_where_most_judges_vote_or_every_size_is_asked_for():
    rows = np.arange(40)
    assert not few_votes(make_ballots(2, 40, 60).votes, rows, len(KS), 60).any()
    assert not few_votes(sparse_ballots().votes, rows, 60, 60).any()


def test_sizes_up_to_half_of_the_judges_and_all_of_them_score_as_beside_every_size():
    ballots, ks = sparse_ballots(), np.array([1, 3, 30, 60])
    every = prefix_scores(ballots, halves(ballots), np.arange(1, 61))
    some = prefix_scores(ballots, halves(ballots), ks)
    np.testing.assert_allclose(some.calibration, every.calibration[ks - 1], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(some.calibration_empty, every.calibration_empty[ks - 1])
