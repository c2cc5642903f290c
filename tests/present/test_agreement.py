"""What is said about agreement, and the labels that the panel contradicts."""

from dataclasses import replace
from itertools import product

import numpy as np

from judgepanel.present.blocks import Table, flat
from judgepanel.present.understand import judges
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.studies.understand.agreement import AGREEMENT, AgreementSpec
from tests.helpers import make_votes

AS_GIVEN = AgreementSpec(settings=Settings(orientation="as_given"))


def result_of(votes, spec=AS_GIVEN):
    return run(AGREEMENT, votes, spec, jobs=1)


def test_the_confusion_matrix_counts_votes_by_label():
    votes = make_votes(3, 120, 6)
    result = result_of(votes)
    for j, name in enumerate(result.judge):
        own = votes.votes[:, votes.judges.index(name)]
        for label, vote in product((0, 1), repeat=2):
            count = ((votes.labels == label) & (own == vote)).sum()
            assert getattr(result, f"label_{label}_vote_{vote}")[j] == count
        assert result.items[j] == (own >= 0).sum()


def test_under_symmetric_kappa_is_twice_the_accuracy_minus_one():
    votes = make_votes(3, 120, 6)
    result = result_of(votes, AgreementSpec(settings=Settings(orientation="symmetric")))
    right = result.label_1_vote_1 + result.label_0_vote_0
    np.testing.assert_allclose(result.kappa.value, 2.0 * right / result.items - 1.0)


def test_a_wrong_label_is_the_first_in_doubt():
    votes = make_votes(5, 200, 12, low=0.8, high=0.9)
    agreed = np.abs(votes.votes.mean(axis=1) - votes.labels)
    place = int(np.argmin(agreed))
    labels = votes.labels.copy()
    labels[place] = 1 - labels[place]
    result = result_of(replace(votes, labels=labels))
    assert result.doubt[0] == votes.item_ids[place]
    assert "contradict" in judges.doubt_sentence(result)
    blocks = flat(judges.present_agreement(result, AS_GIVEN))
    _, doubts = (block for block in blocks if isinstance(block, Table))
    assert list(doubts.columns) == ["item", "label", "panel", "votes for 1"]


def test_labels_of_one_class_have_none_in_doubt_and_say_what_they_measure():
    result = result_of(make_votes(3, 60, 4, one_class=True), AgreementSpec())
    assert result.orientation == "symmetric"
    np.testing.assert_allclose(result.base_rate, 0.5)
    assert not result.doubt
    assert not judges.doubt_sentence(result)
    assert "Krippendorff's alpha of the judges is " in judges.agreement_sentence(result)
