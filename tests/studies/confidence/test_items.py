"""Items: out-of-sample probabilities in the file's order, and strata that use no label."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from judgepanel.studies import slices
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.runner import run
from judgepanel.studies.trust.items import ITEMS, ItemsSpec
from judgepanel.votes import InputError
from tests.helpers import flip_items, make_votes

SETTINGS = Settings(splits=12)


@cache
def votes():
    made = make_votes(1, 120, 9)
    table = pd.DataFrame({"length": np.arange(120.0), "topic": ["<b>a</b>", "b"] * 60})
    return replace(made, features=table)


@cache
def result():
    return run(ITEMS, votes(), ItemsSpec(SETTINGS, feature="topic"), jobs=1)


def test_every_labelled_item_is_there_with_its_votes_and_features():
    items = result()
    cast = votes().votes
    np.testing.assert_array_equal(items.for_1, (cast == 1).sum(axis=1))
    np.testing.assert_array_equal(items.for_0, (cast == 0).sum(axis=1))
    np.testing.assert_array_equal(items.wrong, (cast == 1 - votes().labels[:, None]).sum(axis=1))
    frame = items.frame()
    assert frame["item"].tolist() == list(votes().item_ids)
    assert frame["feat_topic"].tolist() == ["<b>a</b>", "b"] * 60


def test_the_worst_cost_most_and_the_contested_divide_the_votes():
    items = result()
    worst = items.worst(5)
    assert items.nll[worst].tolist() == sorted(items.nll, reverse=True)[:5]
    assert (items.right[worst] < 0.5).all()
    contested = items.contested(5)
    assert (items.disagreement[contested] >= np.sort(items.disagreement)[-5]).all()


def test_strata_hold_all_items_and_average_to_the_whole():
    items = result()
    for way in ("difficulty", "errors", "feature"):
        rows = items.strata_of(way)
        assert items.stratum_items[rows].sum() == 120
        mean = (items.nll_by.value[1, rows] * items.stratum_items[rows]).sum() / 120
        assert mean == pytest.approx(items.nll.mean())
    errors = items.strata_of("errors")
    assert items.accuracy.value[1, errors[0]] > items.accuracy.value[1, errors[-1]]
    assert [entry["uses_label"] for entry in items.summary()["strata"]].count(True) == len(errors)


def test_difficulty_is_blind_to_labels_and_to_the_order_of_responses():
    prepared = prepare(votes(), SETTINGS)
    other = replace(votes(), labels=(1 - votes().labels).astype(np.int8))
    np.testing.assert_array_equal(
        slices.disagreement(prepared), slices.disagreement(prepare(other, SETTINGS))
    )
    flip = np.random.default_rng(0).random(120) < 0.5
    flipped = prepare(flip_items(votes(), flip), SETTINGS)
    np.testing.assert_array_equal(slices.disagreement(prepared), slices.disagreement(flipped))
    assert (
        slices.by_errors(prepared).codes != slices.by_errors(prepare(other, SETTINGS)).codes
    ).any()


def test_what_is_shown_is_as_the_file_has_it_even_where_items_were_turned_round():
    items = run(ITEMS, votes(), ItemsSpec(Settings(splits=12, orientation="randomized")), jobs=1)
    np.testing.assert_array_equal(items.labels, votes().labels)
    np.testing.assert_array_equal(items.for_1, (votes().votes == 1).sum(axis=1))
    sentence = np.where(items.labels == 1, items.p.value, 1.0 - items.p.value)
    assert ((sentence > 0.5) == (items.right > 0.5)).mean() > 0.95


def test_items_without_votes_are_a_stratum_of_their_own_and_get_the_base_rate():
    cast = votes().votes.copy()
    cast[:3] = -1
    items = run(ITEMS, replace(votes(), votes=cast), ItemsSpec(SETTINGS), jobs=1)
    assert (items.strata[3], items.stratum_items[3]) == (slices.SILENT, 3)
    np.testing.assert_allclose(items.p.value[:3], 0.5, atol=0.1)
    assert any("3 labelled items have no vote" in note for note in items.warnings)
    assert any("'no votes' has 3 labelled items" in note for note in items.warnings)


def test_ties_stay_together_so_that_there_may_be_fewer_strata():
    values = np.array([0.0] * 8 + [0.5, 1.0])
    strata = slices.terciles(values, slices.TERCILES, slices.SILENT)
    assert strata.names == (slices.TERCILES[0], slices.TERCILES[2])
    assert strata.codes.tolist() == [0] * 8 + [1, 1]
    unanimous = make_votes(0, 40, 1, missing=0.0)
    assert slices.by_difficulty(prepare(unanimous, SETTINGS)).n == 1
    few = run(ITEMS, unanimous, ItemsSpec(SETTINGS), jobs=1)
    assert any("fewer than three degrees of disagreement" in note for note in few.warnings)


def test_numbers_with_many_values_are_cut_in_thirds_and_rare_values_put_together():
    prepared = prepare(votes(), SETTINGS)
    assert slices.by_feature(prepared, "length").n == 3
    many = pd.DataFrame({"tag": [f"t{min(i, 20)}" for i in range(120)]})
    tagged = slices.by_feature(prepare(replace(votes(), features=many), SETTINGS), "tag")
    assert (tagged.names[0], tagged.names[-1], tagged.n) == ("t20", slices.OTHER, 8)
    with pytest.raises(InputError, match="no such feature"):
        slices.by_feature(prepared, "colour")


@pytest.mark.parametrize(("n", "words", "numbers"), [(8, 8, 8), (9, 8, 3)])
def test_eight_values_are_strata_of_their_own_and_nine_are_not(n, words, numbers):
    values = np.arange(120) % n
    features = pd.DataFrame({"word": [f"w{value}" for value in values], "number": values})
    prepared = prepare(replace(votes(), features=features), SETTINGS)
    assert slices.by_feature(prepared, "word").n == words
    assert (slices.OTHER in slices.by_feature(prepared, "word").names) == (n > 8)
    assert slices.by_feature(prepared, "number").n == numbers
