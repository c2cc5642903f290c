"""Out-of-sample probabilities: one path, counted by item, the same in any order."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.decision import recommend, recommend_result
from judgepanel.kernels.evaluation import Recipe, evaluate_split
from judgepanel.kernels.threads import SHARED
from judgepanel.scoring import metrics, splits
from judgepanel.studies.contract import Settings, prepare, split_chunks
from judgepanel.studies.panel.recommended import AVERAGE
from judgepanel.studies.results import combine
from judgepanel.studies.runner import run
from judgepanel.studies.trust import probabilities, selective
from judgepanel.studies.trust.reliability import RELIABILITY, ReliabilitySpec
from judgepanel.studies.understand.judge_table import wilson
from judgepanel.votes import InputError
from tests.helpers import make_votes
from tests.studies.confidence.stated import stated

SPEC = probabilities.PanelSpec(Settings(splits=7))
AVERAGE_SPEC = probabilities.PanelSpec(Settings(splits=2), aggregator="average")


VOTES = make_votes(1, 80, 7)


@pytest.fixture(scope="module")
def predictions():
    first, second = (probabilities.run_chunk(VOTES, SPEC, chunk) for chunk in split_chunks(7))
    return combine(first, second)


def test_probabilities_are_those_of_the_one_path_all_studies_take(predictions):
    prepared = prepare(VOTES, SPEC.settings)
    of = probabilities.evaluations(predictions, prepared)
    one_split = splits.split(prepared.ballots.units, 3)
    scores = evaluate_split(
        prepared.ballots, one_split, np.array([7]), Recipe("one_coin", ("none", "beta"))
    )
    rows = of.split == 3
    np.testing.assert_array_equal(of.seen[of.item[rows]], one_split.evaluation)
    for stage, name in enumerate(("none", "beta")):
        result = metrics.item_scores(of.logits[stage, rows], of.signs[rows])
        np.testing.assert_array_equal(result.nll, scores.evaluation[name].nll[0])
        np.testing.assert_array_equal(of.hit[stage, rows], scores.evaluation[name].hit[0])
    assert float(of.null_nll[rows].mean()) == pytest.approx(scores.null_nll)


def test_a_smaller_panel_is_the_best_judges_and_one_too_large_is_all():
    chunk = split_chunks(7)[0]
    whole_panel = probabilities.run_chunk(VOTES, SPEC, chunk)
    np.testing.assert_array_equal(
        probabilities.run_chunk(VOTES, replace(SPEC, panel=99), chunk).logits, whole_panel.logits
    )
    few = probabilities.run_chunk(VOTES, replace(SPEC, panel=2), chunk)
    assert (few.logits != whole_panel.logits).any()


def test_an_item_counts_once_however_often_it_is_evaluated(predictions):
    of = probabilities.evaluations(predictions, prepare(VOTES, SPEC.settings))
    codes = (of.confidence[1] > 0.8).astype(int)
    right, items = probabilities.shares(of, probabilities.binned_sums(of, of.hit[1], codes, 2))
    assert items.sum() == pytest.approx(of.n_items)
    assert len(of.item) > 3 * of.n_items
    total = (right.value * items).sum() / of.n_items
    assert total == pytest.approx(of.by_item(of.hit[1]).mean())


def in_one_bin(of, values):
    sums = probabilities.binned_sums(of, values, np.zeros(len(of.item), int), 1)
    return probabilities.shares(of, sums)[0]


def test_shares_have_the_interval_of_their_items_at_best_and_groups_widen_it():
    worlds = [stated(0, 400, per_unit=n) for n in (1, 8)]
    apart, together = (in_one_bin(of, of.hit[1]) for of in worlds)
    lo, hi = wilson(apart.value * 400, np.array([400.0]))
    assert apart.lo[0] <= lo[0] + 1e-12
    assert apart.hi[0] >= hi[0] - 1e-12
    assert together.hi[0] - together.lo[0] > 1.8 * (hi[0] - lo[0])


def test_where_all_are_right_whole_groups_are_counted():
    of = stated(0, 400, per_unit=8)
    result = in_one_bin(of, np.ones(len(of.item)))
    assert result.value[0] == 1.0
    assert result.lo[0] == pytest.approx(wilson(np.array([50]), np.array([50]))[0][0])


def test_the_average_brings_its_own_calibrators_and_judges():
    spec = probabilities.PanelSpec(aggregator="average", calibrator="beta")
    assert spec == probabilities.PanelSpec(aggregator="average", calibrator="none")
    with pytest.raises(InputError, match="chooses its judges itself"):
        probabilities.PanelSpec(aggregator="average", panel=3)


def test_nothing_lies_before_and_after_the_average():
    predictions = probabilities.run_chunk(VOTES, AVERAGE_SPEC, split_chunks(2)[0])
    np.testing.assert_array_equal(predictions.logits[0], predictions.logits[1])


def uncomputable(*_, **__):
    raise AssertionError("this was computed before")


def test_a_panel_that_one_study_evaluated_is_not_evaluated_for_the_next(monkeypatch):
    settings = Settings(splits=17, seed=991)
    alone = run(selective.SELECTIVE, VOTES, selective.SelectiveSpec(settings), jobs=1)
    SHARED.clear()
    run(RELIABILITY, VOTES, ReliabilitySpec(settings), jobs=2, backend="loky")
    monkeypatch.setattr(probabilities, "evaluate_split", uncomputable)
    shared = run(selective.SELECTIVE, VOTES, selective.SelectiveSpec(settings), jobs=1)
    pd.testing.assert_frame_equal(shared.frame(), alone.frame(), check_exact=True)
    # They are the same splits, however many are asked for.
    probabilities.run_chunk(
        VOTES, probabilities.PanelSpec(replace(settings, splits=None)), split_chunks(17)[0]
    )


def test_another_panel_is_evaluated(monkeypatch):
    settings = Settings(splits=2, seed=992)
    run(RELIABILITY, VOTES, ReliabilitySpec(settings))
    monkeypatch.setattr(probabilities, "evaluate_split", uncomputable)
    with pytest.raises(AssertionError, match="computed before"):
        run(selective.SELECTIVE, VOTES, selective.SelectiveSpec(settings, panel=3))


def test_the_splits_that_a_recommendation_left_are_those_of_the_panel():
    unseen = Settings(splits=3, seed=990)
    first, *_ = split_chunks(3)
    spec = probabilities.PanelSpec(unseen, aggregator=AVERAGE)
    assert probabilities.known_splits(VOTES, unseen, range(3)) is None
    run(recommend.RECOMMEND, VOTES, recommend_result.RecommendSpec(unseen))
    known = probabilities.known_splits(VOTES, unseen, range(3))
    SHARED.clear()
    computed = probabilities.run_chunk(VOTES, spec, first)
    for name in (field.name for field in fields(probabilities.OutOfSample)):
        np.testing.assert_array_equal(getattr(known, name), getattr(computed, name))
