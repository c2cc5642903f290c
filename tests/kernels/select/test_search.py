"""Searches against loops that refit one panel at a time; paths and tables."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, product
from math import log
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import lasso_path as reference_path

from judgepanel.kernels import prefixes, subsets
from judgepanel.kernels.ballots import Ballots
from tests.helpers import make_ballots


def comparison(seed=0, n_judges=6, n_items=60, **more):
    ballots = make_ballots(seed, n_items, n_judges, **more)
    return subsets.by_folds(
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

    assert subsets.exhaustive(first, np.eye(12, dtype=bool)).nll == 0.0
    for n in (0, 13):
        with pytest.raises(ValueError, match="from 1 to 12 can be searched"):
            subsets.exhaustive(first, np.eye(n, 13, dtype=bool))


@pytest.mark.parametrize("seed", range(3))
def test_the_exhaustive_search_finds_the_true_minimum(seed):
    compared = comparison(seed)
    outcome = subsets.exhaustive(compared, np.eye(6, dtype=bool))
    nll = one_by_one(compared, 6)
    every = [c for k in range(1, 7) for c in combinations(range(6), k)]
    best = min(every, key=nll)
    assert judges(outcome.best) == best
    assert outcome.nll == pytest.approx(nll(best), abs=1e-8)
    assert len(outcome.path) == len(every) == 63


def test_unions_of_groups_keep_groups_whole():
    groups = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1], [0, 0, 0, 1, 1, 0]], dtype=bool)
    compared = comparison(1)
    outcome = subsets.exhaustive(compared, groups)
    nll = one_by_one(compared, 6)
    unions = [
        judges(groups[list(c)].any(axis=0)) for k in (1, 2, 3) for c in combinations(range(3), k)
    ]
    assert judges(outcome.best) == min(unions, key=lambda u: (nll(u), len(u)))
    assert {judges(mask) for mask in outcome.path} == set(unions)


@pytest.mark.parametrize("seed", range(3))
def test_backward_elimination_takes_the_same_steps_as_a_loop_that_refits_one_by_one(seed):
    compared = comparison(seed, 7, missing=0.4)
    outcome = subsets.backward(compared, np.ones(7, bool))
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
    outcome = subsets.forward(compared, 6, width=width, steps=steps)
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
    assert subsets.forward(compared, 8, width=8).nll <= subsets.forward(compared, 8).nll + 1e-9


def test_ties_go_to_the_smaller_panel_then_to_the_first():
    path = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 0]], dtype=bool)
    best = subsets.best_of(path, np.array([0.5, 0.5 + 1e-12, 0.5])).best
    assert best.tolist() == [False, True, False]


def test_copies_are_told_apart_by_their_place_and_not_by_rounding():
    def objective(masks, near):
        noise = 1e-14 * np.arange(len(masks))[::-1]
        return subsets.Compared(1.0 / masks.sum(axis=1) + noise, np.zeros((len(masks), 1, 3)))

    outcome = subsets.forward(objective, 4, steps=3)
    assert [judges(mask) for mask in outcome.path] == [(0,), (0, 1), (0, 1, 2)]


def test_the_lasso_path_is_that_of_scikit_learn():
    ballots = make_ballots(1, 80, 10)
    votes = ballots.votes - ballots.votes.mean(axis=0)
    signs = ballots.signs - ballots.signs.mean()
    weights = subsets.lasso_weights(votes, signs)
    top = np.abs(votes.T @ signs / 80).max()
    alphas = top * np.geomspace(0.95, subsets.SMALLEST, subsets.N_PENALTIES)
    _, wanted, _ = reference_path(votes, signs, alphas=alphas, tol=1e-10, max_iter=10_000)
    np.testing.assert_allclose(weights, wanted.T, atol=1e-4)


def test_the_path_lets_judges_in_as_the_penalty_falls_and_reads_only_its_rows():
    ballots = make_ballots(2, 80, 8)
    rows = np.arange(40)
    path = subsets.lasso_path(ballots, rows)
    assert path[0].sum() == 1
    assert path[-1].sum() > 4
    turn = np.where(np.arange(80) < 40, 1, -1).astype(np.int8)
    other = replace(ballots, signs=turn * ballots.signs)
    np.testing.assert_array_equal(path, subsets.lasso_path(other, rows))


def test_copies_and_silent_judges_do_no_harm_and_where_nothing_is_known_all_stay():
    ballots = make_ballots(3, 60, 5)
    votes = np.concatenate([ballots.votes, ballots.votes[:, :2]], axis=1)
    votes[:, 4] = 0
    path = subsets.lasso_path(replace(ballots, votes=votes), np.arange(60))
    assert path.any(axis=1).all()
    assert not path[:, 4].any()
    silent = replace(ballots, votes=np.zeros_like(ballots.votes))
    assert subsets.lasso_path(silent, np.arange(60)).all()


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_table_counts_labels_by_vote_pattern(symmetric):
    ballots = make_ballots(4, 70, 3, symmetric=symmetric)
    learn, score = np.arange(40), np.arange(40, 70)
    fit = subsets.table(ballots, learn, score, np.arange(3))
    base = 0.5 if symmetric else (ballots.signs[learn] > 0).mean()
    ones, cells = Counter(), Counter()
    for i in learn:
        for turn in (1, -1) if symmetric else (1,):
            cell = tuple((turn * ballots.votes[i]).tolist())
            cells[cell] += 1
            ones[cell] += turn * ballots.signs[i] > 0
    for place, i in enumerate(score):
        cell = tuple(ballots.votes[i].tolist())
        n1, n = ones[cell], cells[cell]
        if cell == (0, 0, 0) and symmetric:
            n1 = n / 2
        wanted = log(n1 + base) - log(n - n1 + 1 - base)
        assert (fit.logits[place], fit.new[place]) == (pytest.approx(wanted, abs=1e-12), n == 0)
    if not symmetric:
        assert (fit.occupied, fit.unseen) == (len(cells), sum(n == 1 for n in cells.values()) / 40)


def test_a_table_sees_an_interaction_that_no_sum_can():
    votes = np.array(list(product((-1, 1), repeat=2)) * 20, dtype=np.int8)
    signs = (votes[:, 0] * votes[:, 1]).astype(np.int8)
    ballots = Ballots(votes, signs, np.arange(80))
    fit = subsets.table(ballots, np.arange(60), np.arange(60, 80), np.arange(2))
    assert (np.sign(fit.logits) == signs[60:]).all()
    assert (fit.occupied, fit.unseen) == (4, 0.0)


def test_good_turing_expects_about_as_many_new_patterns_as_there_are():
    rng = np.random.default_rng(5)
    votes = np.where(rng.random((4000, 9)) < 0.7, 1, -1).astype(np.int8)
    ballots = Ballots(votes, np.ones(4000, np.int8), np.arange(4000))
    fit = subsets.table(ballots, np.arange(400), np.arange(400, 4000), np.arange(9))
    assert 0.1 < fit.unseen < 0.5
    assert fit.unseen == pytest.approx(fit.new.mean(), abs=0.06)


def test_wide_panels_have_patterns_too():
    ballots = make_ballots(6, 40, 60)
    fit = subsets.table(ballots, np.arange(20), np.arange(20, 40), np.arange(60))
    assert fit.occupied == 20
    assert fit.new.all()
    assert np.isfinite(fit.logits).all()


def test_the_kernel_of_tables_ranks_on_learn_rows_alone():
    ballots = make_ballots(7, 60, 6)
    learn, score = np.arange(30), np.arange(30, 60)
    fit = prefixes.Fit(learn, score, np.zeros(30, np.int64))
    (result,) = subsets.table_kernel(ballots, [fit], np.array([1, 3]), "accuracy")
    order = prefixes.rank(ballots, learn)
    np.testing.assert_array_equal(result[1], subsets.table(ballots, learn, score, order[:3]).logits)
    signs = ballots.signs.copy()
    signs[score] *= -1
    (other,) = subsets.table_kernel(
        replace(ballots, signs=signs), [fit], np.array([1, 3]), "accuracy"
    )
    np.testing.assert_array_equal(result, other)


def test_groups_hold_every_judge_once():
    named = subsets.named_groups(("a", "", "b", "a", ""))
    assert [judges(group) for group in named] == [(0, 3), (1,), (2,), (4,)]
    for ballots in (
        make_ballots(1, 60, 15),
        replace(make_ballots(1, 60, 15), votes=np.zeros((60, 15), np.int8)),
        make_ballots(1, 60, 4),
    ):
        groups = subsets.found_groups(ballots, 6)
        assert len(groups) <= 6
        assert (groups.sum(axis=0) == 1).all()


def test_copies_end_up_in_one_group():
    ballots = make_ballots(8, 200, 8, missing=0.0)
    votes = ballots.votes.copy()
    votes[:, 4:] = votes[:, :4]
    groups = subsets.found_groups(replace(ballots, votes=votes), 4)
    assert sorted(tuple(np.flatnonzero(g)) for g in groups) == [(0, 4), (1, 5), (2, 6), (3, 7)]
