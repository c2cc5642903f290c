"""P0: whether the order of the items can be trusted."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.votes import MISSING
from judgepanel.votes.checks import check_orientation, reversal
from tests.helpers import make_votes


def votes_with(ones=50, column=None, task="pairwise"):
    """100 items; the first judge's verdicts are replaced by ``column`` where it is given."""
    votes = make_votes(0, 100, 4, task=task)
    labels = np.zeros(100, np.int8)
    labels[:ones] = 1
    verdicts = votes.votes.copy()
    if column is not None:
        verdicts[:, 0] = column(labels)
    return replace(votes, votes=verdicts, labels=labels)


def test_balanced_labels_and_varied_judges_pass():
    check = check_orientation(votes_with(40))
    assert (check.code, check.outcome) == ("P0", "pass")
    assert check.numbers["labelled items"] == 100
    assert check.numbers["share of the rarer label"] == 0.4


@pytest.mark.parametrize("ones", [0, 100])
def test_one_class_labels_fail_and_the_advice_names_position_bias(ones):
    check = check_orientation(votes_with(ones))
    assert check.outcome == "fail"
    assert "Every label is the same" in check.why
    assert "Swapping cannot repair position bias" in check.advice


@pytest.mark.parametrize(("ones", "outcome"), [(19, "review"), (20, "pass"), (81, "review")])
def test_lopsided_labels_ask_for_a_review(ones, outcome):
    assert check_orientation(votes_with(ones)).outcome == outcome


@pytest.mark.parametrize(
    ("column", "number", "why"),
    [
        (np.ones_like, "constant judges", "gave one verdict"),
        (lambda labels: labels, "judges right on every item", "was right on every"),
        (lambda labels: 1 - labels, "judges wrong on every item", "was wrong on every"),
    ],
)
def test_judges_too_regular_to_be_true_are_named(column, number, why):
    check = check_orientation(votes_with(50, column))
    assert (check.outcome, check.numbers[number]) == ("review", 1)
    assert f"'judge000' {why}" in check.why
    assert sum(check.numbers[name] for name in check.numbers if "judges" in name) == 1


def test_a_judge_with_nine_votes_is_not_called_regular():
    def nine(labels):
        column = np.full(100, MISSING, np.int8)
        column[:9] = labels[:9]
        return column

    assert check_orientation(votes_with(50, nine)).outcome == "pass"


def test_a_pointwise_task_has_no_order_but_still_odd_judges():
    assert check_orientation(votes_with(3, task="pointwise")).outcome == "not applicable"
    odd = check_orientation(votes_with(30, lambda labels: labels, task="pointwise"))
    assert odd.outcome == "review"
    assert "legitimate" in odd.why


def test_a_name_that_is_markup_or_control_characters_stays_on_one_line():
    votes = votes_with(50, lambda labels: labels)
    check = check_orientation(replace(votes, judges=("a\nb\x1b[31m", *votes.judges[1:])))
    assert "\n" not in check.why
    assert "\x1b" not in check.why


def test_many_odd_judges_are_counted_not_listed():
    votes = votes_with(50)
    check = check_orientation(replace(votes, votes=np.tile(votes.labels[:, None], (1, 4))))
    assert check.numbers["judges right on every item"] == 4
    assert "and 1 more were right on every labelled item they voted on." in check.why


def test_most_judges_below_chance_put_the_reading_in_doubt_first():
    votes = make_votes(0, 400, 4)
    turned = replace(votes, votes=np.where(votes.votes >= 0, 1 - votes.votes, MISSING))
    assert reversal(votes) == ""
    check = check_orientation(turned)
    assert (check.outcome, check.why) == ("fail", reversal(turned))
    assert "votes or labels may be reversed" in check.why
    assert "--turn-votes" in check.advice
