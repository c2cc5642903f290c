"""Permuted labels: nothing is found where there is nothing, and the p-value is exact."""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.paper.permutation import (
    PERMUTATION,
    PermutationSpec,
    movable,
    permuted,
    run_chunk,
)
from judgepanel.studies.runner import run
from tests.helpers import make_ballots, make_votes

SETTINGS = Settings(splits=3)


def spec(**options):
    return PermutationSpec(**{"settings": SETTINGS, "permutations": 19, **options})


def permuted_run(given, **options):
    return run(PERMUTATION, given, spec(**options), jobs=1)


@cache
def result():
    return permuted_run(make_votes(1, 120, 9))


def test_real_labels_beat_all_permuted_ones_which_stay_at_their_base_rate():
    permutation = result()
    assert permutation.p == 1 / 20
    assert permutation.nll.value < permutation.permuted_nll.min() - 0.1
    assert abs(permutation.excess.value) < 0.03
    assert not permutation.leaks
    assert abs(permutation.permuted_accuracy.mean() - 0.5) < 0.05
    assert (permutation.permuted_null > 0.68).all()


def test_the_recommended_panel_can_be_permuted_too():
    wanted = PermutationSpec(SETTINGS, "average", permutations=1, splits_each=2)
    permutation = run(PERMUTATION, make_votes(1, 80, 5), wanted, jobs=1)
    assert permutation.calibrator == "none"
    assert permutation.nll.value < permutation.permuted_nll[0]
    assert permutation.permuted_nll[0] > permutation.permuted_null[0] - 0.05


def test_the_real_figures_are_those_of_the_same_splits():
    wanted, votes = spec(), make_votes(1, 120, 9)
    ballots = prepare(votes, SETTINGS).ballots
    total, times, nulls = np.zeros(120), np.zeros(120), []
    for number in range(3):
        drawn = split(ballots.units, number)
        scores = evaluate_split(ballots, drawn, np.array([9]), Recipe(calibrators=("beta",)))
        total[drawn.evaluation] += scores.evaluation["beta"].nll[0]
        times[drawn.evaluation] += 1
        nulls.append(scores.null_nll)
    assert result().null_nll == pytest.approx(np.mean(nulls), abs=5e-3)
    assert result().nll.value == pytest.approx((total[times > 0] / times[times > 0]).mean())
    real = run_chunk(votes, wanted, PERMUTATION.plan(wanted)[0]).real
    assert result().nll.value == pytest.approx(real.item_means()[0][0, 0, 0].mean())


def test_labels_change_items_and_keep_their_numbers():
    ballots = make_ballots(2, 50, 4)
    assert permuted(ballots, 0, 0) is ballots
    outcome = [permuted(ballots, number, 0).signs for number in (1, 2)]
    assert not np.array_equal(*outcome)
    for signs in outcome:
        assert Counter(signs.tolist()) == Counter(ballots.signs.tolist())
    np.testing.assert_array_equal(permuted(ballots, 1, 0).signs, outcome[0])
    assert permuted(ballots, 1, 0).votes is ballots.votes


def test_groups_exchange_their_labels_whole():
    units = np.array([0, 1, 0, 1, 2, 2, 3, 3, 3])
    signs = np.array([1, -1, 1, -1, 1, -1, -1, -1, 1], dtype=np.int8)
    ballots = Ballots(np.ones((9, 2), dtype=np.int8), signs, units)

    def by_group(values):
        return [tuple(sorted(values[units == g].tolist())) for g in range(4)]

    orders = set()
    for number in range(1, 60):
        group = by_group(permuted(ballots, number, 0).signs)
        assert Counter(group) == Counter(by_group(signs))
        assert group[3] == by_group(signs)[3]  # no other group has its size
        orders.add(tuple(group[:3]))
    assert len(orders) == 6
    assert movable(ballots) == pytest.approx(6 / 9)
    assert movable(replace(ballots, symmetric=True)) == 1.0


def test_where_items_are_swapped_a_coin_turns_whole_groups_round():
    units = np.repeat(np.arange(40), 3)
    signs = np.tile([1, 1, -1], 40).astype(np.int8)
    ballots = Ballots(np.ones((120, 2), dtype=np.int8), signs, units, symmetric=True)
    turned = (permuted(ballots, 1, 0).signs * signs).reshape(40, 3)
    assert (turned == turned[:, :1]).all()
    assert 8 < (turned[:, 0] > 0).sum() < 32


def test_one_class_votes_are_permuted_by_the_coin_and_fall_back_to_log_two():
    permutation = permuted_run(make_votes(4, 120, 8, one_class=True))
    assert permutation.action == "items turned around by a coin"
    assert permutation.null_nll == pytest.approx(np.log(2))
    assert abs(permutation.permuted_nll.mean() - np.log(2)) < 0.02
    assert permutation.nll.value > 0.15
    assert permutation.p == 1 / 20


def test_taken_as_given_identical_labels_cannot_be_permuted_and_that_is_said():
    paper = replace(SETTINGS, protocol="paper")
    permutation = permuted_run(make_votes(4, 80, 5, one_class=True), settings=paper, permutations=4)
    assert permutation.identical
    assert permutation.measures_coding
    assert permutation.p == 1.0
    np.testing.assert_array_equal(permutation.permuted_nll, np.full(4, permutation.permuted_nll[0]))


@pytest.mark.simulation
@pytest.mark.parametrize("symmetric", [False, True])
def test_p_values_are_uniform_where_votes_are_coin_flips(symmetric):
    """Kolmogorov-Smirnov over data sets whose votes know nothing; nine permutations each.

    The permutations have to be redrawn for every data set: the same nine are no random draw.
    Raw scores have no ties: a calibrator that gives p = .5 to all ties its permutations, and the
    p-value is then larger than it need be.
    """
    ps = []
    for seed in range(60):
        votes = make_votes(seed, 40, 5, low=0.5, high=0.5, missing=0.1)
        orientation = "symmetric" if symmetric else "as_given"
        settings = Settings(splits=2, orientation=orientation, seed=seed)
        wanted = spec(settings=settings, permutations=9, calibrator="none")
        ps.append(run(PERMUTATION, votes, wanted, jobs=1).p)
    ranks = np.round(np.array(ps) * 10)
    shares = np.array([(ranks <= k).mean() for k in range(1, 11)])
    assert np.abs(shares - np.arange(1, 11) / 10).max() < 1.36 / 60**0.5  # its 5 % limit
    assert 0.4 < np.mean(ps) < 0.7


def test_few_groups_of_one_size_are_said():
    votes = make_votes(3, 40, 5, groups=6)
    sizes = Counter(Counter(votes.groups).values())
    permutation = permuted_run(votes, permutations=4)
    if max(sizes.values()) == 1:
        assert any("little to go by" in sentence for sentence in permutation.warnings)
    assert "groups" in permutation.action
