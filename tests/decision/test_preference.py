"""What is taken among candidates that are as good as can be told."""

import numpy as np
import pytest

from judgepanel.decision.candidates import Candidate
from judgepanel.decision.preference import affordable, pick, tied_with_best

N = 400
UNITS = np.arange(N)
CANDIDATES = (
    Candidate("top-1", 1, "majority", "none"),
    Candidate("top-3", 3, "one_coin", "beta"),
    Candidate("all", 4, "one_coin", "temperature"),
    Candidate("all", 4, "joint", "none"),
)
PANELS = np.array([[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]], dtype=bool)
COSTS = np.array([9.0, 1.0, 1.0, 1.0])


def losses(*means, noise=0.4, seed=0):
    """Losses with exactly these means whose differences are noisy."""
    drawn = np.random.default_rng(seed).normal(0.0, noise, (len(means), N))
    return drawn - drawn.mean(axis=1, keepdims=True) + np.array(means)[:, None]


def taken(prefer, *means, noise=0.4, **budget):
    return pick(
        losses(*means, noise=noise), PANELS, UNITS, CANDIDATES, prefer, costs=COSTS, **budget
    )


def test_candidates_within_one_standard_error_of_the_best_are_tied():
    drawn = losses(0.30, 0.31, 0.35, 0.305)
    gaps = drawn - drawn[0]
    one = gaps.std(axis=1, ddof=1) / np.sqrt(N)
    everyone = np.ones(4, dtype=bool)
    wanted = gaps.mean(axis=1) <= one
    np.testing.assert_array_equal(tied_with_best(drawn, UNITS, everyone), wanted)
    assert wanted.tolist() == [True, True, False, True]


def test_items_of_one_group_count_as_one():
    drawn = np.repeat(losses(0.30, 0.33)[:, : N // 8], 8, axis=1)
    together = tied_with_best(drawn, UNITS // 8, np.ones(2, dtype=bool))
    assert tied_with_best(drawn, UNITS, np.ones(2, dtype=bool)).sum() <= together.sum()


def test_the_lowest_nll_is_taken_unless_joint_on_everyone_is_tied_with_it():
    assert taken("nll", 0.30, 0.31, 0.32, 0.305) == 3
    assert taken("nll", 0.30, 0.31, 0.32, 0.40) == 0
    assert taken("nll", 0.30, 0.31, 0.32, 0.305, noise=1e-6) == 0


@pytest.mark.parametrize(
    ("prefer", "position"), [("simplest", 2), ("fewest", 1), ("cheapest", 1), ("nll", 3)]
)
def test_a_preference_is_asked_among_the_tied(prefer, position):
    assert taken(prefer, 0.40, 0.305, 0.301, 0.30) == position


def test_a_preference_never_takes_a_candidate_that_is_clearly_worse():
    for prefer in ("simplest", "fewest", "cheapest"):
        assert taken(prefer, 0.40, 0.35, 0.34, 0.30, noise=0.01) == 3


def test_ties_of_a_preference_go_to_the_lower_nll():
    assert taken("cheapest", 0.5, 0.5, 0.302, 0.30) == 3
    assert taken("fewest", 0.5, 0.5, 0.30, 0.302) == 2


def test_a_budget_leaves_dear_panels_out():
    assert affordable(PANELS, COSTS, None).all()
    assert affordable(PANELS, COSTS, 11.0).tolist() == [True, True, False, False]
    assert taken("nll", 0.40, 0.35, 0.30, 0.30, budget=11.0) == 1
    assert affordable(PANELS, COSTS, 9.0).tolist() == [True, False, False, False]
