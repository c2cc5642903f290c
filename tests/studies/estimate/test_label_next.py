"""Which items are drawn for labelling."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from judgepanel.studies.decide.estimate import ESTIMATE, EstimateSpec
from judgepanel.studies.decide.label_next import allocated, items_to_label
from judgepanel.studies.runner import run
from judgepanel.votes import InputError
from tests.studies.estimate.test_estimate import panel


def test_labels_are_shared_out_as_the_best_of_all_ways_to():
    variances, have, available = np.array([0.25, 0.09, 0.2]), np.array([5, 3, 0]), [9, 9, 4]
    best = min(
        (
            way
            for way in itertools.product(*(range(most + 1) for most in available))
            if sum(way) == 8 and way[2]
        ),
        key=lambda way: float((variances / (have + np.array(way))).sum()),
    )
    assert tuple(allocated(variances, have, np.array(available), 8)) == best


def test_unlabelled_items_are_drawn_once_without_their_votes():
    votes, _ = panel()
    spec = EstimateSpec(by="system")
    result = run(ESTIMATE, votes, spec, jobs=1)
    drawn = items_to_label(votes, spec, result, 50, seed=3)
    assert list(drawn.columns) == ["id", "system", "label"]
    assert drawn["id"].is_unique
    assert (drawn["label"] == "").all()
    free = {name for name, known in zip(votes.item_ids, votes.labelled, strict=True) if not known}
    assert set(drawn["id"]) <= free
    assert drawn.equals(items_to_label(votes, spec, result, 50, seed=3))
    assert not drawn.equals(items_to_label(votes, spec, result, 50, seed=4))
    assert set(items_to_label(votes, spec, result, len(free))["id"]) == free


def test_a_group_without_labels_gets_some():
    votes, _ = panel()
    first = (votes.features["system"] == votes.features["system"].iloc[0]).to_numpy()
    none = replace(votes, labels=np.where(first, -1, votes.labels).astype(np.int8))
    spec = EstimateSpec(by="system")
    result = run(ESTIMATE, none, spec, jobs=1)
    drawn = items_to_label(none, spec, result, 40)
    assert (drawn["system"] == votes.features["system"].iloc[0]).sum() >= 20


def test_nothing_is_drawn_once_every_item_has_a_label():
    votes, truth = panel()
    votes = replace(votes, labels=truth)
    result = run(ESTIMATE, votes, EstimateSpec(), jobs=1)
    with pytest.raises(InputError, match="allowed: nothing: every item has a label"):
        items_to_label(votes, EstimateSpec(), result, 1)


@pytest.mark.parametrize("n", [0, 10_000])
def test_more_items_than_there_are_cannot_be_drawn(n):
    votes, _ = panel()
    result = run(ESTIMATE, votes, EstimateSpec(), jobs=1)
    with pytest.raises(InputError, match="cannot draw that many items"):
        items_to_label(votes, EstimateSpec(), result, n)
