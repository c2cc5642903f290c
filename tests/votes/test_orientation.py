"""Orientation policies: what auto resolves to, what is refused, which judges are set aside."""

from dataclasses import replace

import numpy as np
import pytest

from judgepanel.votes import MISSING, InputError, VoteMatrix
from judgepanel.votes.matrix import CONSTANT_VOTES, PERFECT_VOTES, constant_judges, orient, resolve
from tests.helpers import make_votes


def with_share(ones, n=100, task="pairwise"):
    votes = make_votes(0, n, 5, task=task)
    labels = np.zeros(n, np.int8)
    labels[:ones] = 1
    return replace(votes, labels=labels)


@pytest.mark.parametrize(
    ("ones", "protocol", "wanted"),
    [
        (50, "honest", "as_given"), (20, "honest", "as_given"), (19, "honest", "symmetric"),
        (80, "honest", "as_given"), (81, "honest", "symmetric"), (100, "honest", "symmetric"),
        (0, "honest", "symmetric"), (100, "paper", "as_given"), (19, "paper", "as_given"),
    ],
)  # fmt: skip
def test_auto_takes_labels_as_given_when_the_rarer_one_is_a_fifth(ones, protocol, wanted):
    assert resolve(with_share(ones), "auto", protocol) == wanted


@pytest.mark.parametrize("policy", ["as_given", "randomized", "symmetric"])
def test_an_explicit_policy_is_taken_at_its_word(policy):
    assert orient(with_share(50), policy).policy == policy
    assert orient(with_share(50), policy).notices == ()


def test_as_given_is_refused_on_one_class_labels_unless_the_paper_is_replayed():
    with pytest.raises(InputError, match="constant prediction would look perfect"):
        resolve(with_share(100), "as_given", "honest")
    assert resolve(with_share(100), "as_given", "paper") == "as_given"
    assert resolve(with_share(99), "as_given", "honest") == "as_given"


@pytest.mark.parametrize("policy", ["randomized", "symmetric"])
@pytest.mark.parametrize("protocol", ["honest", "paper"])
def test_a_pointwise_item_cannot_be_swapped(policy, protocol):
    with pytest.raises(InputError, match="pointwise item has only one"):
        resolve(with_share(50, task="pointwise"), policy, protocol)


@pytest.mark.parametrize("ones", [0, 100])
@pytest.mark.parametrize("protocol", ["honest", "paper"])
def test_a_pointwise_task_needs_both_classes(ones, protocol):
    with pytest.raises(InputError, match="nothing can be learned"):
        resolve(with_share(ones, task="pointwise"), "auto", protocol)


def test_imbalance_is_legitimate_for_a_pointwise_task():
    assert resolve(with_share(1, task="pointwise"), "auto", "honest") == "as_given"


def test_unknown_words_and_missing_labels_are_refused():
    votes = with_share(50)
    with pytest.raises(InputError, match="unknown orientation"):
        resolve(votes, "sideways", "honest")
    with pytest.raises(InputError, match="unknown protocol"):
        resolve(votes, "auto", "loose")
    with pytest.raises(InputError, match="no item has a label"):
        resolve(replace(votes, labels=np.full(100, MISSING, np.int8)), "auto", "honest")


def test_only_labelled_items_take_part():
    votes = with_share(50)
    labels = votes.labels.copy()
    labels[::10] = MISSING
    assert orient(replace(votes, labels=labels)).votes.n_items == 90


@pytest.mark.parametrize(("ones", "result"), [(100, "Every label is 1"), (0, "Every label is 0")])
def test_auto_says_why_each_item_is_used_with_its_swap(ones, result):
    (notice,) = orient(with_share(ones)).notices
    assert result in notice
    assert "together with its swap" in notice


def test_auto_says_how_rare_the_rarer_label_is():
    assert "Only 7.0 % of the labels" in orient(with_share(7)).notices[0]


def test_the_papers_protocol_says_that_it_measures_the_coding():
    oriented = orient(with_share(100), protocol="paper")
    assert oriented.one_class
    assert any("measure the coding, not the judges" in notice for notice in oriented.notices)


def with_constant(cast):
    votes = with_share(50)
    verdicts = votes.votes.copy()
    verdicts[:, 2] = MISSING
    verdicts[:cast, 2] = 1
    return replace(votes, votes=verdicts)


@pytest.mark.parametrize("policy", ["randomized", "symmetric"])
def test_a_constant_judge_is_set_aside_where_items_are_swapped(policy):
    oriented = orient(with_constant(100), policy)
    assert oriented.set_aside == ("judge002",)
    assert "judge002" not in oriented.votes.judges
    assert "'judge002' gave one verdict" in oriented.notices[-1]


def test_a_constant_judge_stays_where_labels_are_taken_as_given():
    oriented = orient(with_constant(100), "as_given")
    assert oriented.set_aside == ()
    assert "judge002" in oriented.votes.judges


@pytest.mark.parametrize("policy", ["as_given", "randomized", "symmetric"])
def test_a_judge_without_a_vote_on_a_labelled_item_is_set_aside(policy):
    votes = with_share(50)
    labels, verdicts = votes.labels.copy(), votes.votes.copy()
    labels[:10] = MISSING
    verdicts[10:, 3] = MISSING
    verdicts[:10, 3] = 1
    oriented = orient(replace(votes, labels=labels, votes=verdicts), policy)
    assert oriented.aside == (("judge003", "no vote on a labelled item"),)
    assert oriented.votes.judges == ("judge000", "judge001", "judge002", "judge004")
    assert oriented.unlabelled.shape == (10, 4)
    (notice,) = oriented.notices
    assert notice.startswith("'judge003' gave no vote on a labelled item and was set aside")


def test_every_reason_is_told_once_with_all_its_judges():
    votes = with_share(50)
    verdicts = votes.votes.copy()
    verdicts[:, :2] = MISSING
    verdicts[:, 2:4] = 1
    silent, constant = orient(replace(votes, votes=verdicts), "symmetric").notices
    assert silent.startswith("'judge000', 'judge001' gave no vote on a labelled item and were set")
    assert constant.startswith("'judge002', 'judge003' gave one verdict on nearly every")


def test_votes_on_unlabelled_items_alone_are_refused():
    votes = with_share(50)
    labels, verdicts = votes.labels.copy(), votes.votes.copy()
    labels[:10] = MISSING
    verdicts[10:] = MISSING
    with pytest.raises(InputError, match="no judge has voted on a labelled item"):
        orient(replace(votes, labels=labels, votes=verdicts))


def test_few_equal_votes_may_be_chance():
    assert constant_judges(with_constant(CONSTANT_VOTES))[2]
    assert not constant_judges(with_constant(CONSTANT_VOTES - 1))[2]


def test_a_panel_of_constant_judges_is_refused():
    votes = replace(with_share(50), votes=np.ones((100, 5), np.int8))
    with pytest.raises(InputError, match="none can be used"):
        orient(votes, "symmetric")


def test_many_set_aside_judges_are_counted_not_listed():
    votes = with_share(50)
    verdicts = np.ones((100, 5), np.int8)
    verdicts[:, 0] = votes.votes[:, 0]
    notices = orient(replace(votes, votes=verdicts), "symmetric").notices
    assert "and 1 more gave one verdict" in notices[-1]


def test_a_coin_an_item_swaps_label_and_votes_together():
    votes = with_share(100)
    flipped = orient(votes, "randomized", seed=4).votes
    assert 30 < (flipped.labels == 0).sum() < 70
    agree = (votes.votes == votes.labels[:, None]) | (votes.votes == MISSING)
    agree_after = (flipped.votes == flipped.labels[:, None]) | (flipped.votes == MISSING)
    np.testing.assert_array_equal(agree, agree_after)
    np.testing.assert_array_equal(votes.votes == MISSING, flipped.votes == MISSING)


def test_the_coin_is_seeded():
    votes = with_share(100)
    first, same, other = (orient(votes, "randomized", seed=s).votes.labels for s in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


@pytest.mark.parametrize("policy", ["auto", "as_given", "symmetric"])
def test_other_policies_leave_every_verdict_as_it_was(policy):
    votes = with_share(50)
    np.testing.assert_array_equal(orient(votes, policy).votes.votes, votes.votes)


def test_a_judge_that_slips_once_in_a_hundred_is_still_constant():
    ballots = np.random.default_rng(0).integers(0, 2, (300, 4)).astype(np.int8)
    ballots[:, 0] = 0
    ballots[:3, 0] = 1
    votes = VoteMatrix(
        ballots, np.ones(300, np.int8), tuple(map(str, range(300))), ("stuck", "b", "c", "d")
    )
    assert constant_judges(votes).tolist() == [True, False, False, False]
    assert orient(votes).set_aside == ("stuck",)
    ballots = ballots.copy()
    ballots[:4, 0] = 1
    assert not constant_judges(replace(votes, votes=ballots)).any()


@pytest.mark.parametrize("policy", ["symmetric", "randomized", "auto"])
def test_every_policy_says_that_the_labels_are_lopsided(policy):
    (notice,) = orient(make_votes(0, 60, 4, one_class=True), policy).notices
    assert notice.startswith("Every label is 1")
    assert "cannot be told from a good or a bad one" in notice


def test_lopsided_labels_taken_as_given_are_said_to_measure_the_coding():
    votes = make_votes(0, 60, 4, one_class=True)
    labels = votes.labels.copy()
    labels[:3] = 0
    oriented = orient(replace(votes, labels=labels), "as_given")
    assert oriented.measures_coding
    assert "measure the coding" in oriented.notices[0]
    assert not orient(replace(votes, labels=labels), "symmetric").measures_coding


@pytest.mark.parametrize("seed", range(40))
def test_an_unlucky_coin_does_not_leave_one_class(seed):
    votes = make_votes(1, 10, 3, one_class=True)
    assert orient(votes, "randomized", seed=seed).votes.minority_share >= 0.2


@pytest.mark.parametrize("slips", [0.005, 0.05])
def test_a_broken_run_that_slips_is_no_oracle_on_lopsided_labels(slips):
    """A judge that nearly always says 0 in a file where every label is 1."""
    votes = make_votes(3, 400, 5, low=0.45, high=0.55, missing=0.0, one_class=True)
    cast = votes.votes.copy()
    cast[:, 1] = np.random.default_rng(0).random(400) < slips
    oriented = orient(replace(votes, votes=cast))
    assert oriented.set_aside == (votes.judges[1],)
    assert any(votes.judges[1] in sentence for sentence in oriented.notices)


def test_an_anti_expert_is_kept_where_labels_are_balanced():
    votes = make_votes(4, 100, 3, missing=0.0)
    cast = votes.votes.copy()
    cast[:, 0] = 1 - votes.labels
    cast[0, 0] = votes.labels[0]
    assert orient(replace(votes, votes=cast), "symmetric").set_aside == ()


@pytest.mark.parametrize("policy", ["as_given", "randomized", "symmetric"])
@pytest.mark.parametrize("opposite", [False, True])
def test_a_judge_that_knows_every_label_is_set_aside_until_the_user_names_it(policy, opposite):
    votes = make_votes(4, 100, 3, missing=0.0)
    cast = votes.votes.copy()
    cast[:, 0] = 1 - votes.labels if opposite else votes.labels
    suspect = replace(votes, votes=cast)
    oriented = orient(suspect, policy)
    assert oriented.set_aside == ("judge000",)
    assert "agreed (or disagreed) with every label and was set aside" in oriented.notices[-1]
    assert orient(suspect, policy, judges=votes.judges).set_aside == ()


def test_a_judge_may_be_right_on_all_of_a_few_items():
    votes = make_votes(4, 100, 3, missing=0.0)
    cast = votes.votes.copy()
    cast[:, 0] = np.where(np.arange(100) < PERFECT_VOTES, votes.labels, MISSING)
    assert orient(replace(votes, votes=cast)).set_aside == ()
    few = replace(votes, votes=cast).with_items(np.arange(100) < PERFECT_VOTES - 1)
    assert orient(few).set_aside == ()


def test_if_all_judges_know_every_label_the_refusal_says_how_to_keep_them():
    votes = make_votes(4, 100, 2, missing=0.0)
    perfect = replace(votes, votes=np.stack([votes.labels, votes.labels], 1))
    with pytest.raises(InputError, match="if these are judges, name them with --judges"):
        orient(perfect)
