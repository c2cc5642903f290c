"""Searches against loops that refit one panel at a time."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from judgepanel.kernels.subsets import Compared, backward, best_of, by_folds, exhaustive, forward
from tests.helpers import make_ballots


def comparison(seed=0, n_judges=6, n_items=60, **more):
    ballots = make_ballots(seed, n_items, n_judges, **more)
    return by_folds(
        ballots, np.arange(n_items), "one_coin", "temperature", n_folds=3, seed=0, key=(1,)
    )


def one_by_one(compared, n_judges):
    """NLL of a set of judges, refitted alone and from a cold start."""
    known = {}

    def nll(judges):
        key = tuple(sorted(judges))
        if key not in known:
            mask = np.isin(np.arange(n_judges), key)
            known[key] = round(float(compared(mask[None]).nll[0]), 9)
        return known[key]

    return nll


def judges(mask):
    return tuple(np.flatnonzero(mask).tolist())


def test_twelve_groups_are_searched_and_thirteen_are_not():
    def first(masks, _):
        return SimpleNamespace(nll=np.where(masks[:, 0], 0.0, 1.0))

    assert exhaustive(first, np.eye(12, dtype=bool)).nll == 0.0
    for n in (0, 13):
        with pytest.raises(ValueError, match="from 1 to 12 can be searched"):
            exhaustive(first, np.eye(n, 13, dtype=bool))


@pytest.mark.parametrize("seed", range(3))
def test_the_exhaustive_search_finds_the_true_minimum(seed):
    compared = comparison(seed)
    outcome = exhaustive(compared, np.eye(6, dtype=bool))
    nll = one_by_one(compared, 6)
    every = [c for k in range(1, 7) for c in combinations(range(6), k)]
    best = min(every, key=nll)
    assert judges(outcome.best) == best
    assert outcome.nll == pytest.approx(nll(best), abs=1e-8)
    assert len(outcome.path) == len(every) == 63


def test_unions_of_groups_keep_groups_whole():
    groups = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1], [0, 0, 0, 1, 1, 0]], dtype=bool)
    compared = comparison(1)
    outcome = exhaustive(compared, groups)
    nll = one_by_one(compared, 6)
    unions = [
        judges(groups[list(c)].any(axis=0)) for k in (1, 2, 3) for c in combinations(range(3), k)
    ]
    assert judges(outcome.best) == min(unions, key=lambda u: (nll(u), len(u)))
    assert {judges(mask) for mask in outcome.path} == set(unions)
    for wrong in (groups[:0], np.eye(13, dtype=bool)):
        with pytest.raises(ValueError, match="groups"):
            exhaustive(compared, wrong)


@pytest.mark.parametrize("seed", range(3))
def test_backward_elimination_takes_the_same_steps_as_a_loop_that_refits_one_by_one(seed):
    compared = comparison(seed, 7, missing=0.4)
    outcome = backward(compared, np.ones(7, bool))
    nll, current = one_by_one(compared, 7), tuple(range(7))
    steps = [current]
    while len(current) > 1:
        current = min((tuple(j for j in current if j != out) for out in current), key=nll)
        steps.append(current)
    assert [judges(mask) for mask in outcome.path] == steps[::-1]
    assert judges(outcome.best) == min(steps[::-1], key=nll)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("steps", [4, 20])
def test_forward_and_beam_take_the_same_steps_as_a_loop_that_refits_one_by_one(width, steps):
    compared = comparison(4, 6)
    outcome = forward(compared, 6, width=width, steps=steps)
    nll, beam, path = one_by_one(compared, 6), [()], []
    for _ in range(min(steps, 6)):
        grown = []
        for inside in beam:
            for added in range(6):
                bigger = tuple(sorted({*inside, added}))
                if added not in inside and bigger not in grown:
                    grown.append(bigger)
        beam = sorted(grown, key=nll)[:width]
        path.append(beam[0])
    assert [judges(mask) for mask in outcome.path] == path
    assert judges(outcome.best) == min(path, key=nll)


def test_a_wider_beam_ends_no_worse_here():
    compared = comparison(11, 8, n_items=80)
    assert forward(compared, 8, width=8).nll <= forward(compared, 8).nll + 1e-9


def test_a_panel_of_one_judge_is_its_own_best():
    compared = comparison(0, 1)
    for outcome in (
        backward(compared, np.ones(1, bool)),
        forward(compared, 1),
        exhaustive(compared, np.ones((1, 1), bool)),
    ):
        assert outcome.best.tolist() == [True]
        assert np.isfinite(outcome.nll)


def test_ties_go_to_the_smaller_panel_then_to_the_first():
    path = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 0]], dtype=bool)
    assert best_of(path, np.array([0.5, 0.5 + 1e-12, 0.5])).best.tolist() == [False, True, False]


def test_copies_are_told_apart_by_their_place_and_not_by_rounding():
    def objective(masks, near):
        noise = 1e-14 * np.arange(len(masks))[::-1]
        return Compared(1.0 / masks.sum(axis=1) + noise, np.zeros((len(masks), 1, 3)))

    outcome = forward(objective, 4, steps=3)
    assert [judges(mask) for mask in outcome.path] == [(0,), (0, 1), (0, 1, 2)]


def test_constant_judges_and_one_class_labels_give_finite_answers():
    ballots = make_ballots(3, 40, 4, symmetric=True)
    ballots.votes[:, 0] = 1
    ballots.signs[:] = 1
    compared = by_folds(ballots, np.arange(40), "one_coin", "beta", n_folds=3, seed=0, key=(1,))
    outcome = backward(compared, np.ones(4, bool))
    assert np.isfinite(outcome.path_nll).all()
