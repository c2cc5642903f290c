"""P1 on grades: their order against brute force, its p-value, and what the check says of it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from judgepanel.kernels.ballots import Ballots
from judgepanel.studies.trust.scope import check_parse_rate
from judgepanel.studies.understand.judge_table import ALPHA, grade_order, legible


def graded(*judges, n=120, units=None, seed=1, symmetric=False):
    """Ballots of grades 0 to 10 from (what a label adds to the mean, threshold) by judge."""
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)
    gain, threshold = (np.array(column, dtype=float) for column in zip(*judges, strict=True))
    grades = 5.0 + gain * signs[:, None] + rng.normal(size=(n, len(judges)))
    apart = np.round(np.clip(grades, 0.0, 10.0), 1) - threshold
    votes = np.sign(apart).astype(np.int8)
    units = np.arange(n) if units is None else units
    return Ballots(votes, signs, units, symmetric=symmetric, ties=votes == 0, margins=np.abs(apart))


def checked(*judges, aggregator="one_coin", **options):
    ballots = graded(*judges, **options)
    names = tuple(f"judge{j}" for j in range(len(judges)))
    return check_parse_rate(legible(ballots), names, aggregator)


def pairs_right(grades, signs):
    pairs = itertools.product(grades[signs > 0], grades[signs < 0])
    return np.mean([(high > low) + 0.5 * (high == low) for high, low in pairs])


def test_the_share_of_pairs_is_that_of_a_plain_count():
    ballots = graded((0.5, 5.0), (-0.2, 4.0), n=60)
    order = grade_order(ballots)
    grades = ballots.votes * ballots.margins
    wanted = [pairs_right(grades[:, j], ballots.signs) for j in range(2)]
    assert order.right.value == pytest.approx(wanted)
    assert order.median == pytest.approx(np.median(grades, axis=0))


def test_items_of_arbitrary_order_are_paired_with_their_swaps():
    ballots = graded((0.5, 5.0), n=40, symmetric=True)
    grades = (ballots.votes * ballots.margins)[:, 0]
    both = np.concatenate([ballots.signs, -ballots.signs])
    wanted = pairs_right(np.concatenate([grades, -grades]), both)
    assert grade_order(ballots).right.value[0] == pytest.approx(wanted)
    turn = np.where(np.arange(40) % 3, 1, -1).astype(np.int8)
    swapped = replace(ballots, votes=ballots.votes * turn[:, None], signs=ballots.signs * turn)
    assert grade_order(swapped).right.value == pytest.approx(grade_order(ballots).right.value)
    assert grade_order(swapped).p == pytest.approx(grade_order(ballots).p)


def test_p_values_are_those_of_the_rank_sum_and_of_the_signed_rank_test():
    ballots = graded((0.1, 4.97), n=80)
    grades = (ballots.votes * ballots.margins)[:, 0]
    sides = [grades[ballots.signs == side] for side in (1, -1)]
    ranks = stats.mannwhitneyu(*sides, method="asymptotic", use_continuity=False)
    assert grade_order(ballots).p[0] == pytest.approx(ranks.pvalue)
    signed = stats.wilcoxon(grades * ballots.signs, method="asymptotic", correction=False)
    symmetric = grade_order(replace(ballots, symmetric=True))
    assert symmetric.p[0] == pytest.approx(signed.pvalue)


def test_copies_of_items_in_groups_add_no_evidence():
    alone = grade_order(graded((0.6, 5.0)))
    copies = np.repeat(np.arange(120), 5)
    ballots = graded((0.6, 5.0))
    more = {"ties": ballots.ties[copies], "margins": ballots.margins[copies]}
    repeated = Ballots(ballots.votes[copies], ballots.signs[copies], copies, **more)
    grouped = grade_order(repeated)
    for order in (alone, grouped):
        share, lo, hi = order.right[0]
        assert lo < share < hi
    assert tuple(grouped.right[0]) == pytest.approx(tuple(alone.right[0]))
    assert np.log(grouped.p) == pytest.approx(np.log(alone.p), rel=0.01)


def test_grades_that_tell_no_more_than_votes_have_no_order():
    ballots = graded((0.6, 5.0), (0.6, 5.0))
    ballots.margins[:, 1] = 1.0
    assert grade_order(ballots).known.tolist() == [True, False]
    assert grade_order(replace(ballots, margins=None)) is None


def test_a_judge_whose_threshold_loses_what_its_grades_tell_is_named_with_the_remedy():
    check = checked((1.0, 0.5), (0.6, 5.0))
    assert check.outcome == "review"
    assert "the grades of 'judge0' order" in check.why
    assert "though its votes do not inform" in check.why
    assert "under Grades): the median grade of 'judge0' is 4" in check.advice
    assert check.numbers["grades inform where votes do not"] == 1


def test_grades_in_reverse_order_are_named_though_votes_show_nothing():
    assert not legible(graded((-0.5, 2.5), (0.6, 5.0))).below.any()
    check = checked((-0.5, 2.5), (0.6, 5.0))
    assert check.outcome == "review"
    assert "In reverse order: the grades of 'judge0' order" in check.why
    assert "negate its grades" in check.advice


def test_a_judge_below_chance_by_a_misplaced_threshold_still_fails_where_votes_are_summed():
    n, rng = 200, np.random.default_rng(4)
    signs = np.where(np.arange(n) < 160, 1, -1).astype(np.int8)
    apart = np.round(rng.normal(size=(n, 1)) + 0.5 * signs[:, None] - 1.5, 2)
    votes = np.sign(apart).astype(np.int8)
    ballots = Ballots(votes, signs, np.arange(n), margins=np.abs(apart))
    legibility = legible(ballots)
    assert legibility.below.tolist() == legibility.misplaced.tolist() == [True]
    summed = check_parse_rate(legibility, ("a",), "majority")
    assert (summed.outcome, "Drop judges below chance" in summed.advice) == ("fail", True)
    turned = check_parse_rate(legibility, ("a",), "one_coin")
    assert turned.outcome == "review"
    assert "turns their votes around" not in turned.advice


def test_sound_grades_say_no_more_than_sound_votes():
    check = checked((0.6, 5.0), (0.4, 5.0))
    bare = legible(replace(graded((0.6, 5.0), (0.4, 5.0)), margins=None))
    votes = check_parse_rate(bare, ("judge0", "judge1"), "one_coin")
    assert (check.outcome, check.why, check.advice) == ("pass", votes.why, votes.advice)


@pytest.mark.simulation
@pytest.mark.parametrize("symmetric", [False, True])
def test_grades_of_coins_seldom_raise_an_alarm(symmetric):
    """Seeds 0 to 199; at a rate of ``ALPHA`` more than 12 alarms have a probability of .2 %."""
    alarms = 0
    for seed in range(200):
        legibility = legible(
            graded(*[(0.0, 5.0)] * 12, n=80, seed=seed, symmetric=symmetric), limits=False
        )
        alarms += bool((legibility.below | legibility.reversed | legibility.misplaced).any())
    assert alarms <= 12
    assert stats.binom.sf(12, 200, ALPHA) < 0.003
