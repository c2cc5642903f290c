"""P3: every outcome from arms and tests made by hand, and its words."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.scoring.interval import Interval
from judgepanel.studies.trust import missingness

NAN = float("nan")
NLL, NO_ARM = Interval(0.3, 0.25, 0.35), Interval(NAN, NAN, NAN)
ONE = missingness.SwitchArm("one_coin", NLL, Interval(0.0, 0.0, 0.0), False, NAN, NO_ARM, "")
JOINT = missingness.SwitchArm("joint", NLL, Interval(0.0, -0.02, 0.02), False, NAN, NO_ARM, "")
TEST = missingness.MissingTest("judge1", "difficulty", "", "", -0.2, 0.01, 40, 1e-6, 1e-5)
CHANCE = missingness.Missingness((), 12, 0, 2, 50, 1000, ())
RELATED = missingness.Missingness((TEST,), 12, 1, 2, 50, 1000, ())
NONE = missingness.Missingness((), 0, 0, 0, 0, 1000, ())


def check(arms=(ONE, JOINT), missing=CHANCE, partly=(), n_judges=8):
    return missingness.check_compatibility(arms, missing, partly, n_judges=n_judges)


BETTER = replace(JOINT, switch=Interval(-0.1, -0.15, -0.05), pays=True)
COSTS = replace(
    ONE, nll_without=0.27, partly=Interval(-0.03, -0.04, -0.02), partly_verdict="curate"
)
LEFT_OUT = "'judge1' misses 5 % or more; leaving it out changes one-coin by -0.030"
CASES = {
    "complete": ({"missing": NONE}, "pass", "No vote is missing"),
    "gaps by chance": ({}, "pass", ""),
    "gaps with difficulty": ({"missing": RELATED}, "review", "'judge1' misses harder items"),
    "a switch pays": ({"arms": (ONE, BETTER), "missing": NONE}, "review", "Switch to joint."),
    "by so much": (
        {"arms": (ONE, BETTER)},
        "review",
        "Joint beats one-coin: -0.100 NLL [-0.150, -0.050]",
    ),
    "gaps that cost": ({"arms": (COSTS, JOINT), "partly": ("judge1",)}, "fail", LEFT_OUT),
    "one judge": ({"n_judges": 1}, "not applicable", ""),
    "not compared yet": ({"arms": ()}, "review", "still to be compared"),
}


@pytest.mark.parametrize("case", CASES)
def test_p3_goes_by_gaps_and_by_what_another_aggregator_would_gain(case):
    given, wanted, says = CASES[case]
    result = check(**given)
    assert result.outcome == wanted
    assert says in f"{result.why} {result.advice}"


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
    assert says in missingness.gap_sentence(replace(TEST, **changes))


def test_partly_missing_judges_are_left_out_only_where_others_remain():
    some = missingness.partly_missing(np.array([1.0, 0.95, 0.96, 0.5]))
    assert some.tolist() == [False, True, False, True]
    assert missingness.can_leave_out(some)
    most = missingness.partly_missing(np.array([0.5, 0.4, 1.0]))
    assert most.tolist() == [True, True, False]
    assert not missingness.can_leave_out(most)
    assert not missingness.can_leave_out(missingness.partly_missing(np.ones(5)))


def test_where_everybody_misses_items_that_is_said():
    """Not that nobody does, because nobody can be left out."""
    everybody = check(partly=tuple(f"judge{j}" for j in range(33)), n_judges=33)
    assert "All 33 judges miss 5 % of the items or more" in everybody.why
    assert everybody.numbers["judges that miss 5 % or more"] == 33
    nearly = check(partly=("a", "b", "c"), n_judges=4)
    assert "3 of 4 judges miss 5 % of the items or more, and the other one alone" in nearly.why
    for result in (everybody, nearly):
        assert "No judge misses" not in result.why
