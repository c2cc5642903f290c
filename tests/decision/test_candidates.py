"""The candidates, and a choice among them that sees calibration rows only."""

import numpy as np
import pytest

from judgepanel.decision.candidates import (
    LISTS,
    Candidate,
    Candidates,
    Family,
    candidates_inner_nll,
    candidates_of,
    panels,
    score_candidates,
)
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.splits import folds, split
from tests.helpers import make_ballots


def score(ballots, drawn, choices):
    return score_candidates(ballots, drawn, choices, n_folds=4, seed=0)


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
    assert list(panels(n_judges)) == wanted


@pytest.mark.parametrize("name", LISTS)
def test_symmetric_drops_platt_which_temperature_equals(name):
    as_given, symmetric = (candidates_of(name, 5, symmetric=flag).all() for flag in (False, True))
    assert [c for c in as_given if c.calibrator != "platt"] == list(symmetric)
    assert len(as_given) > len(symmetric)


@pytest.mark.parametrize("n_judges", [1, 2, 5, 40])
@pytest.mark.parametrize("name", LISTS)
def test_no_list_has_a_panel_larger_than_the_judges(name, n_judges):
    found = candidates_of(name, n_judges, symmetric=False).all()
    assert {c.k for c in found} <= set(range(1, n_judges + 1))
    assert ("all", "one_coin", "beta") in {(c.name, c.aggregator, c.calibrator) for c in found}


def test_scores_are_in_the_order_of_the_candidates():
    ballots = make_ballots(1, 60, 6)
    choices = candidates_of("default", 6, symmetric=False)
    drawn = split(ballots.units, 0)
    together = score(ballots, drawn, choices)
    for position, found in enumerate(choices.all()):
        one = Family(found.aggregator, ((found.name, found.k),), (found.calibrator,))
        alone = score(ballots, drawn, Candidates((one,)))
        np.testing.assert_allclose(together.items.nll[position], alone.items.nll[0], atol=1e-10)
        np.testing.assert_allclose(together.inner[position], alone.inner[0], atol=1e-10)
    assert choices.all()[0] == Candidate("top-1", 1, "majority", "none")


def corrupted(ballots, rows):
    """The same ballots with labels and votes of these rows reversed and shuffled."""
    votes, signs = ballots.votes.copy(), ballots.signs.copy()
    signs[rows] *= -1
    votes[rows] = votes[rows][::-1]
    return Ballots(votes, signs, ballots.units, ballots.symmetric)


def test_the_inner_score_never_sees_other_rows():
    ballots = make_ballots(2, 60, 6)
    choices = candidates_of("default", 6, symmetric=False)
    drawn = split(ballots.units, 3)
    one = score(ballots, drawn, choices).inner
    other = score(corrupted(ballots, drawn.evaluation), drawn, choices).inner
    np.testing.assert_array_equal(one, other)
    spoilt = score(corrupted(ballots, drawn.calibration[:9]), drawn, choices).inner
    assert (one != spoilt).any()


def test_the_inner_score_is_the_mean_over_rows_of_held_out_scores():
    ballots = make_ballots(4, 50, 5)
    choices = Candidates((Family("one_coin", panels(5), ("beta",)),))
    rows = np.arange(0, 50, 2)
    found = candidates_inner_nll(ballots, rows, choices, n_folds=5, seed=1, key=(0, 1))
    held = [
        score(ballots, inner, choices).items.nll
        for inner in folds(ballots.units, rows, 5, seed=1, key=(0, 1))
    ]
    np.testing.assert_allclose(found, np.concatenate(held, axis=1).mean(axis=1), atol=1e-14)
