"""P3's tests of missing votes: power and false alarms."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.trust.missingness import missingness, relative_ease
from judgepanel.studies.understand.judge_table import ALPHA
from judgepanel.votes import MISSING
from tests.helpers import make_votes

AS_GIVEN = Settings(orientation="as_given")


def found_in(votes, settings=AS_GIVEN):
    return missingness(prepare(votes, settings))


def without(votes, gone):
    return replace(votes, votes=np.where(gone, MISSING, votes.votes).astype(np.int8))


def related(result):
    return {
        (test.judge, test.kind, test.feature, test.level) for test in result.tests if test.related
    }


def test_a_complete_panel_has_nothing_to_test():
    result = found_in(make_votes(missing=0.0))
    assert (result.n_tests, result.n_missing, result.n_related) == (0, 0, 0)


def test_a_judge_that_misses_one_class_is_found():
    votes = make_votes(1, 120, 6, missing=0.0)
    gone = np.zeros(votes.votes.shape, bool)
    gone[:, 2] = (votes.labels == 1) & (np.arange(120) % 3 > 0)
    result = found_in(without(votes, gone))
    assert ("judge002", "label", "", "") in related(result)
    first = next(test for test in result.tests if test.kind == "label" and test.judge)
    assert first.inside > 0.4
    assert first.outside == 0.0


def test_a_judge_that_misses_hard_items_is_found_by_what_the_others_get_right():
    votes = make_votes(2, 200, 9, missing=0.0, low=0.6, high=0.7)
    right = (votes.votes[:, 1:] == votes.labels[:, None]).mean(axis=1)
    gone = np.zeros(votes.votes.shape, bool)
    gone[:, 0] = right < 0.5
    result = found_in(without(votes, gone))
    wanted = ("judge000", "difficulty")
    (test,) = [test for test in result.tests if (test.judge, test.kind) == wanted]
    assert test.related
    assert test.inside < test.outside


def test_a_missed_slice_is_found_with_its_level():
    votes = make_votes(3, 120, 5, missing=0.0)
    topic = np.array(["math", "code", "chat"])[np.arange(120) % 3]
    votes = replace(votes, features=pd.DataFrame({"topic": pd.Series(topic, dtype="str")}))
    gone = np.zeros(votes.votes.shape, bool)
    gone[:, 4] = topic == "code"
    assert ("judge004", "slice", "topic", "code") in related(found_in(without(votes, gone)))


def test_a_number_that_goes_with_gaps_is_found():
    votes = make_votes(4, 120, 5, missing=0.0)
    length = np.arange(120.0)
    votes = replace(votes, features=pd.DataFrame({"length": length}))
    gone = np.zeros(votes.votes.shape, bool)
    gone[:, 1] = length > 90
    assert ("judge001", "number", "length", "") in related(found_in(without(votes, gone)))


@pytest.mark.simulation
def test_gaps_by_chance_raise_an_alarm_in_about_as_many_panels_as_promised():
    alarms = 0
    for seed in range(80):
        votes = make_votes(seed, 90, 6, missing=0.12)
        topic = np.array(["a", "b", "c"])[np.arange(90) % 3]
        votes = replace(votes, features=pd.DataFrame({"topic": pd.Series(topic, dtype="str")}))
        alarms += found_in(votes).n_related > 0
    assert alarms / 80 <= ALPHA + 0.035


def test_the_label_is_no_covariate_where_the_order_is_arbitrary():
    result = found_in(make_votes(5, one_class=True), Settings())
    assert {test.kind for test in result.tests} == {"difficulty"}
    assert any("arbitrary" in sentence for sentence in result.left_out)


def test_difficulty_leaves_the_judge_itself_out():
    ballots = prepare(make_votes(6, 40, 4, missing=0.2), AS_GIVEN).ballots
    total, terms = relative_ease(ballots.votes, ballots.signs)
    for i, j in ((0, 0), (7, 2), (31, 3)):
        by_hand = 0.0
        for k in range(4):
            if k == j or ballots.votes[i, k] == 0:
                continue
            cast = ballots.votes[:, k] != 0
            mean = float((ballots.votes[cast, k] == ballots.signs[cast]).mean())
            by_hand += float(ballots.votes[i, k] == ballots.signs[i]) - mean
        assert total[i] - terms[i, j] == pytest.approx(by_hand)


def test_items_of_one_group_are_one_piece_of_evidence():
    votes = make_votes(7, 60, 4, missing=0.0, groups=6)
    gone = np.zeros(votes.votes.shape, bool)
    gone[:, 0] = np.isin(votes.groups, ["g0", "g1", "g2"])
    alone = replace(votes, groups=None)
    grouped, single = found_in(without(votes, gone)), found_in(without(alone, gone))
    smallest = {test.kind: test.p for test in reversed(single.tests)}
    assert all(test.p >= smallest[test.kind] for test in grouped.tests if test.kind in smallest)
    assert grouped.n_related == 0


def test_small_groups_that_miss_more_on_other_labels_are_no_relation_inside_a_size():
    votes = make_votes(10, 300, 4, missing=0.0)
    groups = tuple(f"g{i if i < 60 else 60 + i // 4}" for i in range(300))
    small = np.arange(300) < 60
    rng = np.random.default_rng(6)
    labels = (rng.random(300) < np.where(small, 0.9, 0.1)).astype(votes.labels.dtype)
    gone = np.zeros(votes.votes.shape, bool)
    gone[:, 0] = rng.random(300) < np.where(small, 0.6, 0.1)
    result = found_in(replace(without(votes, gone), labels=labels, groups=groups))
    assert not any(test.related for test in result.tests if test.kind == "label")


def test_a_group_of_a_size_of_its_own_is_left_out_with_a_sentence():
    votes = make_votes(11, 60, 4, missing=0.2)
    groups = tuple(f"g{max(i // 2, 2)}" for i in range(60))
    result = found_in(replace(votes, groups=groups))
    assert any("1 group was left out" in sentence for sentence in result.left_out)
    assert result.n_tests > 0


@pytest.mark.parametrize("n", [25, 26])
def test_a_feature_of_25_texts_makes_slices_and_one_of_26_does_not(n):
    names = pd.Series([f"text {i % n}" for i in range(26 * 25)], dtype="str")
    votes = make_votes(8, len(names), 4)
    result = found_in(replace(votes, features=pd.DataFrame({"note": names})))
    assert any("26 different texts" in sentence for sentence in result.left_out) == (n > 25)


def test_judges_that_miss_a_handful_are_not_tested():
    votes = make_votes(9, 60, 4, missing=0.0)
    gone = np.zeros(votes.votes.shape, bool)
    gone[:4, 0] = True
    result = found_in(without(votes, gone))
    assert (result.n_tests, result.n_judges, result.n_missing) == (0, 0, 4)
