"""The lasso path, tables of vote patterns and groups of judges."""

from collections import Counter
from dataclasses import replace
from itertools import product
from math import log

import numpy as np
import pytest
from sklearn.linear_model import lasso_path as reference_path

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.prefixes import Fit, rank
from judgepanel.kernels.subsets import (
    N_PENALTIES,
    SMALLEST,
    found_groups,
    lasso_path,
    lasso_weights,
    named_groups,
    table,
    table_kernel,
)
from tests.helpers import make_ballots


def test_the_lasso_path_is_that_of_scikit_learn():
    ballots = make_ballots(1, 80, 10)
    votes = ballots.votes - ballots.votes.mean(axis=0)
    signs = ballots.signs - ballots.signs.mean()
    weights = lasso_weights(votes, signs)
    top = np.abs(votes.T @ signs / 80).max()
    alphas = top * np.geomspace(0.95, SMALLEST, N_PENALTIES)
    _, wanted, _ = reference_path(votes, signs, alphas=alphas, tol=1e-10, max_iter=10_000)
    np.testing.assert_allclose(weights, wanted.T, atol=1e-4)


def test_the_path_lets_judges_in_as_the_penalty_falls_and_reads_only_its_rows():
    ballots = make_ballots(2, 80, 8)
    rows = np.arange(40)
    path = lasso_path(ballots, rows)
    assert path[0].sum() == 1
    assert path[-1].sum() > 4
    other = replace(ballots, signs=np.where(np.arange(80) < 40, 1, -1) * ballots.signs)
    np.testing.assert_array_equal(
        path,
        lasso_path(other.__class__(other.votes, other.signs.astype(np.int8), other.units), rows),
    )


def test_copies_and_silent_judges_do_no_harm_and_where_nothing_is_known_all_stay():
    ballots = make_ballots(3, 60, 5)
    votes = np.concatenate([ballots.votes, ballots.votes[:, :2]], axis=1)
    votes[:, 4] = 0
    path = lasso_path(replace(ballots, votes=votes), np.arange(60))
    assert path.any(axis=1).all()
    assert not path[:, 4].any()
    silent = replace(ballots, votes=np.zeros_like(ballots.votes))
    assert lasso_path(silent, np.arange(60)).all()


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_table_counts_labels_by_vote_pattern(symmetric):
    ballots = make_ballots(4, 70, 3, symmetric=symmetric)
    learn, score = np.arange(40), np.arange(40, 70)
    fit = table(ballots, learn, score, np.arange(3))
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
        assert fit.logits[place] == pytest.approx(wanted, abs=1e-12)
        assert fit.new[place] == (n == 0)
    if not symmetric:
        assert fit.occupied == len(cells)
        assert fit.unseen == sum(n == 1 for n in cells.values()) / 40


def test_a_table_sees_an_interaction_that_no_sum_can():
    votes = np.array(list(product((-1, 1), repeat=2)) * 20, dtype=np.int8)
    signs = (votes[:, 0] * votes[:, 1]).astype(np.int8)
    ballots = Ballots(votes, signs, np.arange(80))
    fit = table(ballots, np.arange(60), np.arange(60, 80), np.arange(2))
    assert (np.sign(fit.logits) == signs[60:]).all()
    assert fit.occupied == 4
    assert fit.unseen == 0.0


def test_good_turing_expects_about_as_many_new_patterns_as_there_are():
    rng = np.random.default_rng(5)
    votes = np.where(rng.random((4000, 9)) < 0.7, 1, -1).astype(np.int8)
    ballots = Ballots(votes, np.ones(4000, np.int8), np.arange(4000))
    fit = table(ballots, np.arange(400), np.arange(400, 4000), np.arange(9))
    assert 0.1 < fit.unseen < 0.5
    assert fit.unseen == pytest.approx(fit.new.mean(), abs=0.06)


def test_wide_panels_have_patterns_too():
    ballots = make_ballots(6, 40, 60)
    fit = table(ballots, np.arange(20), np.arange(20, 40), np.arange(60))
    assert fit.occupied == 20
    assert fit.new.all()
    assert np.isfinite(fit.logits).all()


def test_the_kernel_of_tables_ranks_on_learn_rows_alone():
    ballots = make_ballots(7, 60, 6)
    learn, score = np.arange(30), np.arange(30, 60)
    fit = Fit(learn, score, np.zeros(30, np.int64))
    (result,) = table_kernel(ballots, [fit], np.array([1, 3]), "accuracy")
    order = rank(ballots, learn)
    np.testing.assert_array_equal(result[1], table(ballots, learn, score, order[:3]).logits)
    signs = ballots.signs.copy()
    signs[score] *= -1
    (other,) = table_kernel(replace(ballots, signs=signs), [fit], np.array([1, 3]), "accuracy")
    np.testing.assert_array_equal(result, other)


def test_groups_hold_every_judge_once():
    named = named_groups(("a", "", "b", "a", ""))
    assert named.tolist() == [
        [True, False, False, True, False],
        [False, True, False, False, False],
        [False, False, True, False, False],
        [False, False, False, False, True],
    ]
    for ballots in (
        make_ballots(1, 60, 15),
        replace(make_ballots(1, 60, 15), votes=np.zeros((60, 15), np.int8)),
        make_ballots(1, 60, 4),
    ):
        groups = found_groups(ballots, 6)
        assert len(groups) <= 6
        assert (groups.sum(axis=0) == 1).all()


def test_copies_end_up_in_one_group():
    ballots = make_ballots(8, 200, 8, missing=0.0)
    votes = ballots.votes.copy()
    votes[:, 4:] = votes[:, :4]
    groups = found_groups(replace(ballots, votes=votes), 4)
    assert sorted(tuple(np.flatnonzero(g)) for g in groups) == [(0, 4), (1, 5), (2, 6), (3, 7)]
