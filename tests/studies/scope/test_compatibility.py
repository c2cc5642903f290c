"""P3: every outcome from arms and tests made by hand, and its words."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.scoring.interval import Interval
from judgepanel.studies.trust.missingness import (
    Missingness,
    MissingTest,
    SwitchArm,
    can_leave_out,
    check_compatibility,
    gap_sentence,
    partly_missing,
)

NAN = float("nan")
NLL, NO_ARM = Interval(0.3, 0.25, 0.35), Interval(NAN, NAN, NAN)
ONE = SwitchArm("one_coin", NLL, Interval(0.0, 0.0, 0.0), False, NAN, NO_ARM, "")
JOINT = SwitchArm("joint", NLL, Interval(0.0, -0.02, 0.02), False, NAN, NO_ARM, "")
TEST = MissingTest("judge1", "difficulty", "", "", -0.2, 0.01, 40, 1e-6, 1e-5)
CHANCE = Missingness((), 12, 0, 2, 50, 1000, ())
RELATED = Missingness((TEST,), 12, 1, 2, 50, 1000, ())
NONE = Missingness((), 0, 0, 0, 0, 1000, ())


def check(arms=(ONE, JOINT), missing=CHANCE, partly=(), n_judges=8):
    return check_compatibility(arms, missing, partly, n_judges=n_judges)


def test_a_complete_panel_under_an_aggregator_that_fits_passes():
    result = check(missing=NONE)
    assert result.outcome == "pass"
    assert "No vote is missing" in result.why


def test_gaps_by_chance_pass():
    assert check().outcome == "pass"


def test_gaps_that_go_with_difficulty_are_a_review():
    result = check(missing=RELATED)
    assert result.outcome == "review"
    assert "'judge1' misses harder items" in result.why


def test_a_switch_that_pays_is_a_review_and_is_recommended():
    better = replace(JOINT, switch=Interval(-0.1, -0.15, -0.05), pays=True)
    result = check((ONE, better), NONE)
    assert result.outcome == "review"
    assert result.advice == "Switch to joint."
    assert "Joint beats one-coin: -0.100 NLL [-0.150, -0.050]" in result.why


def test_judges_with_gaps_that_cost_fail():
    costs = replace(
        ONE,
        nll_without=0.27,
        partly=Interval(-0.03, -0.04, -0.02),
        partly_verdict="curate",
    )
    result = check((costs, JOINT), CHANCE, ("judge1",))
    assert result.outcome == "fail"
    assert "'judge1' misses 5 % or more; leaving it out changes one-coin by -0.030" in result.why


def test_one_judge_alone_has_nothing_to_aggregate():
    assert check(n_judges=1).outcome == "not applicable"


def test_until_aggregators_are_compared_it_is_not_passed():
    result = check(())
    assert result.outcome == "review"
    assert "still to be compared" in result.why


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"judge": ""}, "Votes are missing on harder items"),
        ({"inside": 0.3}, "'judge1' misses easier items"),
        ({"kind": "number", "feature": "length", "inside": 9.0}, "with a higher 'length'"),
        (
            {"kind": "slice", "feature": "topic", "level": "math", "inside": 1.0, "outside": 0.0},
            "more often where 'topic' is 'math' (100 % against 0 %)",
        ),
        ({"kind": "label", "inside": 0.1, "outside": 0.2}, "less often where the label is 1"),
    ],
)
def test_a_test_says_what_it_found(changes, says):
    assert says in gap_sentence(replace(TEST, **changes))


def test_partly_missing_judges_are_left_out_only_where_others_remain():
    some = partly_missing(np.array([1.0, 0.95, 0.96, 0.5]))
    assert some.tolist() == [False, True, False, True]
    assert can_leave_out(some)
    most = partly_missing(np.array([0.5, 0.4, 1.0]))
    assert most.tolist() == [True, True, False]
    assert not can_leave_out(most)
    assert not can_leave_out(partly_missing(np.ones(5)))


def test_where_everybody_misses_items_that_is_said():
    """Not that nobody does, because nobody can be left out."""
    everybody = check(partly=tuple(f"judge{j}" for j in range(33)), n_judges=33)
    assert "All 33 judges miss 5 % of the items or more" in everybody.why
    assert everybody.numbers["judges that miss 5 % or more"] == 33
    nearly = check(partly=("a", "b", "c"), n_judges=4)
    assert "3 of 4 judges miss 5 % of the items or more, and the other one alone" in nearly.why
    for result in (everybody, nearly):
        assert "No judge misses" not in result.why
