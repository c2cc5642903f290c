"""The candidates, and a choice among them that sees calibration rows only."""

import numpy as np
import pytest

from judgepanel.decision.candidates import Candidate, candidates_inner_nll, grid, score_candidates
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import folds, split
from tests.helpers import make_ballots

AGGREGATORS = ("majority", "one_coin")
CALIBRATORS = ("none", "temperature", "platt", "beta")


def names(n_judges):
    return grid(n_judges, AGGREGATORS, CALIBRATORS, symmetric=False).panels


@pytest.mark.parametrize(
    ("n_judges", "wanted"),
    [
        (1, [("all", 1)]),
        (2, [("top-1", 1), ("all", 2)]),
        (3, [("top-1", 1), ("top half (2)", 2), ("all", 3)]),
        (5, [("top-1", 1), ("top-3", 3), ("all", 5)]),
        (20, [("top-1", 1), ("top-3", 3), ("top-5", 5), ("top-10", 10), ("all", 20)]),
        (
            50,
            [
                ("top-1", 1),
                ("top-3", 3),
                ("top-5", 5),
                ("top-10", 10),
                ("top-20", 20),
                ("top half (25)", 25),
                ("all", 50),
            ],
        ),
    ],
)
def test_a_panel_size_is_a_candidate_once(n_judges, wanted):
    assert list(names(n_judges)) == wanted


def test_symmetric_drops_platt_which_temperature_equals():
    assert grid(5, AGGREGATORS, CALIBRATORS, symmetric=True).calibrators == (
        "none",
        "temperature",
        "beta",
    )


def test_scores_are_in_the_order_of_the_candidates():
    ballots = make_ballots(1, 60, 6)
    choices = grid(6, AGGREGATORS, CALIBRATORS, symmetric=False)
    drawn = split(ballots.units, 0)
    together = score_candidates(ballots, drawn, choices, "accuracy").items.nll
    for position, found in enumerate(choices.candidates()):
        alone = grid(6, (found.aggregator,), (found.calibrator,), symmetric=False)
        k = [c.k for c in alone.candidates()].index(found.k)
        one = score_candidates(ballots, drawn, alone, "accuracy").items.nll[k]
        np.testing.assert_allclose(together[position], one, rtol=0, atol=1e-10)
    assert choices.candidates()[0] == Candidate("top-1", 1, "majority", "none")


def corrupted(ballots, rows):
    """The same ballots with labels and votes of these rows reversed and shuffled."""
    votes, signs = ballots.votes.copy(), ballots.signs.copy()
    signs[rows] *= -1
    votes[rows] = votes[rows][::-1]
    return Ballots(votes, signs, ballots.units, ballots.symmetric)


def test_the_inner_score_never_sees_other_rows():
    ballots = make_ballots(2, 60, 6)
    choices = grid(6, AGGREGATORS, CALIBRATORS, symmetric=False)
    drawn = split(ballots.units, 3)
    options = {"ranking": "accuracy", "n_folds": 4, "seed": 0, "key": (3, 1)}
    one = candidates_inner_nll(ballots, drawn.calibration, choices, **options)
    other = candidates_inner_nll(
        corrupted(ballots, drawn.evaluation), drawn.calibration, choices, **options
    )
    np.testing.assert_array_equal(one, other)
    spoilt = candidates_inner_nll(
        corrupted(ballots, drawn.calibration[:9]), drawn.calibration, choices, **options
    )
    assert (one != spoilt).any()


def test_the_inner_score_is_the_mean_over_rows_of_held_out_scores():
    ballots = make_ballots(4, 50, 5)
    choices = grid(5, ("one_coin",), ("beta",), symmetric=False)
    rows = np.arange(0, 50, 2)
    found = candidates_inner_nll(
        ballots, rows, choices, ranking="accuracy", n_folds=5, seed=1, key=(0, 1)
    )
    held = [
        score_candidates(ballots, inner, choices, "accuracy").items.nll
        for inner in folds(ballots.units, rows, 5, seed=1, key=(0, 1))
    ]
    np.testing.assert_allclose(found, np.concatenate(held, axis=1).mean(axis=1), atol=1e-14)
