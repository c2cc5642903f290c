"""P1: every outcome, which judges the filter drops, and how often a coin is called below chance."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.conformal import clopper_pearson
from judgepanel.studies.trust.scope import check_parse_rate
from judgepanel.studies.understand.judge_table import ALPHA, drop_reason, legible, to_drop


def panel(*judges, n=100):
    """Ballots from (share right, share with a verdict) a judge, exact counts, in fixed places."""
    rng = np.random.default_rng(3)
    signs = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)
    votes = np.zeros((n, len(judges)), np.int8)
    for j, (right, parsed) in enumerate(judges):
        asked = rng.permutation(n)[: round(parsed * n)]
        good = asked[: round(right * len(asked))]
        votes[asked, j] = -signs[asked]
        votes[good, j] = signs[good]
    return Ballots(votes, signs, np.arange(n))


def check(*judges, aggregator="one_coin"):
    ballots = panel(*judges)
    names = tuple(f"judge{j}" for j in range(len(judges)))
    return check_parse_rate(legible(ballots), names, aggregator)


def test_judges_that_parse_and_know_something_pass():
    assert check((0.7, 1.0), (0.8, 0.95), (0.6, 0.9)).outcome == "pass"


def test_below_90_per_cent_is_a_review():
    result = check((0.7, 1.0), (0.8, 0.89), (0.7, 1.0))
    assert result.outcome == "review"
    assert "'judge1' gives a verdict on 89 %." in result.why


def test_coded_ties_are_no_parse_failures():
    """A judge that says tie on 30 % of the items has given a verdict on all of them."""
    ballots = panel((0.7, 1.0), (0.8, 0.7), (0.7, 1.0))
    blank = legible(ballots)
    coded = legible(replace(ballots, ties=ballots.votes == 0))
    assert blank.unreadable.tolist() == [False, True, False]
    assert not coded.unreadable.any()
    assert not coded.patchy.any()
    assert (coded.parsed[1], coded.covered[1]) == (1.0, 0.7)
    checked = check_parse_rate(coded, ("a", "b", "c"), "one_coin")
    assert checked.outcome == "pass"
    assert checked.numbers["coded ties"] == 30
    assert "30 missing votes are coded ties" in checked.why
    assert "'b', on 30 % of the items" in checked.why
    some = legible(replace(ballots, ties=ballots.votes == 0), np.arange(50))
    assert some.parsed[1] == 1.0


def test_70_per_cent_or_less_fails():
    result = check((0.7, 1.0), (0.8, 0.7), (0.7, 1.0))
    assert result.outcome == "fail"
    assert "Drop judges with a verdict on 70 % or less" in result.advice


def test_a_judge_below_chance_is_a_flag_where_the_aggregator_turns_it_round():
    result = check((0.7, 1.0), (0.3, 1.0), aggregator="one_coin")
    assert result.outcome == "review"
    assert "Keep judges below chance" in result.advice


@pytest.mark.parametrize("aggregator", ["majority", "accuracy_weighted"])
def test_a_judge_below_chance_fails_where_the_aggregator_cannot(aggregator):
    result = check((0.7, 1.0), (0.3, 1.0), aggregator=aggregator)
    assert result.outcome == "fail"
    assert "Drop judges below chance" in result.advice


def test_where_most_judges_were_not_asked_there_is_no_parse_rate():
    result = check((0.7, 0.2), (0.8, 0.1), (0.7, 0.9))
    assert result.outcome == "not applicable"
    assert "not asked" in result.why
    assert "lowest parse rate" not in result.numbers


def test_a_sparse_panel_with_a_judge_below_chance_is_still_looked_at():
    assert check((0.7, 0.3), (0.0, 0.3), (0.7, 0.3)).outcome == "review"


def test_the_papers_rule_flags_one_wrong_vote_and_ours_does_not():
    legibility = legible(panel((0.7, 1.0), (0.0, 0.01)))
    assert legibility.wald_below.tolist() == [False, True]
    assert legibility.below.tolist() == [False, False]


def test_p_values_are_holms_of_the_exact_binomial():
    legibility = legible(panel((0.35, 1.0), (0.4, 1.0), (0.8, 1.0)))
    raw = [stats.binomtest(c, 100, alternative="less").pvalue for c in (35, 40, 80)]
    assert legibility.p_below == pytest.approx([3 * raw[0], 2 * raw[1], max(raw[2], 2 * raw[1])])


def test_coins_are_seldom_called_below_chance_and_the_papers_rule_often_does_so():
    rng = np.random.default_rng(5)
    ours = wald = 0
    for _ in range(300):
        votes = rng.choice([-1, 1], (15, 24)).astype(np.int8)
        legibility = legible(Ballots(votes, np.ones(15, np.int8), np.arange(15)), limits=False)
        ours += bool(legibility.below.any())
        wald += bool(legibility.wald_below.any())
    assert ours / 300 <= ALPHA + 0.02
    assert wald / 300 > 0.3


def test_the_filter_drops_the_unreadable_and_the_constant_and_says_why():
    ballots = panel((0.7, 1.0), (0.8, 0.6), (0.5, 1.0), (0.3, 1.0))
    ballots.votes[:, 2] = 1
    legibility = legible(ballots)
    assert to_drop(legibility, "one_coin").tolist() == [False, True, True, False]
    assert to_drop(legibility, "majority").tolist() == [False, True, True, True]
    reasons = [drop_reason(legibility, j) for j in (1, 2, 3)]
    assert reasons == [
        "a verdict on 60 % of the items",
        "one verdict on nearly every item",
        "below chance: right on 30 %",
    ]


def test_the_figures_of_some_rows_are_those_of_a_panel_of_these_rows():
    ballots = panel((0.7, 0.9), (0.5, 0.6))
    rows = np.arange(0, 100, 3)
    part = Ballots(ballots.votes[rows], ballots.signs[rows], np.arange(len(rows)))
    some, whole = legible(ballots, rows), legible(part)
    np.testing.assert_array_equal(some.parsed, whole.parsed)
    np.testing.assert_array_equal(some.p_below, whole.p_below)


def test_coins_that_err_by_whole_groups_are_seldom_called_below_chance():
    rng = np.random.default_rng(8)
    units, alarms = np.repeat(np.arange(30), 10), 0
    for _ in range(100):
        votes = rng.choice([-1, 1], (30, 24)).astype(np.int8)[units]
        legibility = legible(Ballots(votes, np.ones(300, np.int8), units), limits=False)
        alarms += bool(legibility.below.any())
    assert alarms / 100 <= ALPHA + 0.025


def test_a_judge_that_is_wrong_in_most_groups_is_still_found():
    rng = np.random.default_rng(9)
    units = np.repeat(np.arange(30), 10)
    votes = rng.choice([-1, 1], (300, 6), p=[0.7, 0.3]).astype(np.int8)
    assert legible(Ballots(votes, np.ones(300, np.int8), units)).below.all()


def test_groups_of_one_item_change_no_figure():
    ballots = panel((0.35, 0.9), (0.6, 1.0), (1.0, 0.8))
    legibility = legible(ballots)
    for j in range(3):
        share, lo, hi = legibility.accuracy[j]
        voted = int(legibility.voted[j])
        assert (lo, hi) == clopper_pearson(round(share * voted), voted)
