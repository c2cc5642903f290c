"""The pipeline ablation: what each step adds out of sample, and sets that keep their promise."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.kernels.evaluation import STEPS, evaluate_pipeline
from judgepanel.scoring import conformal, metrics
from judgepanel.scoring.splits import split
from judgepanel.studies.contract import Settings, prepare
from judgepanel.studies.paper import pipeline_ablation
from judgepanel.studies.runner import run
from judgepanel.votes import InputError, load_votes
from tests.helpers import flip_items, make_votes

METRICS = ("nll", "brier", "accuracy", "ece")


def with_features(votes, seed=0):
    rng = np.random.default_rng(seed)
    length = rng.normal(100.0, 20.0, votes.n_items)
    subset = rng.choice(["chat", "code"], votes.n_items)
    return replace(votes, features=pd.DataFrame({"length": length, "subset": subset}))


def spec_of(splits=10, panels=(3,), calibrator="beta", aggregator="one_coin", **shared):
    return pipeline_ablation.PipelineAblationSpec(
        Settings(splits=splits, **shared), aggregator, calibrator, panels=panels
    )


def ablation(votes, spec=None, jobs=1):
    return run(pipeline_ablation.PIPELINE_ABLATION, votes, spec or spec_of(), jobs=jobs)


@pytest.fixture(scope="module")
def votes():
    return with_features(make_votes(1, 90, 8))


@pytest.fixture(scope="module")
def result(votes):
    return ablation(votes)


class TestNumbers:
    def test_they_are_means_over_items_of_their_means_over_splits(self, votes, result):
        spec = spec_of()
        prepared = prepare(votes, spec.settings)
        ballots, features = prepared.ballots, pipeline_ablation.features_of(prepared, None)
        nll, times = np.zeros((2, 5, 90)), np.zeros(90)
        covered, size, kinds = np.zeros((2, 2, 90)), np.zeros((2, 2, 90)), np.zeros((2, 2, 4, 90))
        for number in range(10):
            drawn = split(ballots.units, number)
            scores = evaluate_pipeline(ballots, features, drawn, np.array([3, 8]), spec.recipe)
            rows = drawn.evaluation
            signs = ballots.signs[rows].astype(float)
            nll[..., rows] += metrics.item_scores(scores.logits, signs).nll
            covered[..., rows] += conformal.covers(scores.kinds, (signs > 0).astype(int))
            size[..., rows] += conformal.set_sizes(scores.kinds)
            for kind in range(4):
                kinds[:, :, kind, rows] += scores.kinds == kind
            times[rows] += 1
        seen = times > 0
        for got, total in (
            (result.nll.value, nll),
            (result.coverage.value, covered),
            (result.size.value, size),
            (result.shares, kinds),
        ):
            wanted = (total[..., seen] / times[seen]).mean(axis=-1)
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-11)

    def test_differences_are_to_the_step_before(self, result):
        for i, step in enumerate(STEPS):
            before = STEPS.index(pipeline_ablation.BEFORE[step])
            nll = result.nll.value
            np.testing.assert_allclose(result.delta.value[:, i], nll[:, i] - nll[:, before])
        assert not result.delta.value[:, 0].any()
        assert set(pipeline_ablation.BEFORE) == set(pipeline_ablation.STEP_WORDS) == set(STEPS)
        behind, alone = (result.nll.value[:, STEPS.index(step)] for step in ("1-3", "1+3"))
        np.testing.assert_allclose(result.residual_delta.value, behind - alone)

    def test_sets_are_of_four_kinds_and_wider_at_the_higher_level(self, result):
        np.testing.assert_allclose(result.shares.sum(axis=-1), 1.0)
        np.testing.assert_allclose(
            result.size.value, result.shares @ np.array([0.0, 1.0, 1.0, 2.0]), atol=1e-12
        )
        assert (result.coverage.value[1] >= result.coverage.value[0]).all()
        assert (result.size.value[1] >= result.size.value[0]).all()

    def test_all_judges_are_the_last_panel_whatever_sizes_are_asked_for(self, votes):
        assert ablation(votes, spec_of(splits=5, panels=(50, 3, 8, 2))).k.tolist() == [2, 3, 8]

    def test_a_judge_alone_is_a_panel(self):
        outcome = ablation(make_votes(2, 60, 1), spec_of(splits=5))
        assert outcome.k.tolist() == [1]
        assert np.isfinite(outcome.nll.value).all()

    def test_coverage_is_at_least_the_level(self):
        outcome = ablation(make_votes(3, 400, 8), spec_of(splits=20))
        for level, covered in zip(outcome.levels, outcome.coverage.value, strict=True):
            assert (covered > level - 0.02).all()
            assert (covered < level + 0.04).all()

    def test_a_feature_the_panel_does_not_know_helps_at_step_two(self):
        votes = make_votes(4, 400, 8, low=0.55, high=0.65)
        rng = np.random.default_rng(0)
        message = pd.DataFrame({"hint": votes.labels + rng.normal(size=400)})
        outcome = ablation(replace(votes, features=message))
        assert outcome.residual_delta.below().all()
        assert outcome.constant_nll[STEPS.index("1-3")] < outcome.null_nll - 0.05
        blind = ablation(replace(votes, features=message), replace(spec_of(), features=()))
        assert blind.features == ()
        assert (outcome.nll.value[:, 1] < blind.nll.value[:, 1]).all()


class TestOrientation:
    def test_the_papers_protocol_does_and_says_what_it_measures(self):
        votes = make_votes(5, 200, 8, one_class=True, low=0.45, high=0.55)
        outcome = ablation(votes, spec_of(protocol="paper", calibrator="beta_clipped"))
        assert outcome.nll.value[:, STEPS.index("1+3")].max() < 0.06
        assert outcome.measures_coding
        text = " ".join(outcome.warnings)
        assert "measure the coding, not the judges" in text
        assert "The residual correction could not be fitted in 40 of 40 fits" in text


class TestWords:
    def test_votes_without_features_say_what_step_two_is(self):
        plain = make_votes(6, 60, 5)
        assert "step 2 is Platt scaling" in ablation(plain, spec_of(splits=5)).warnings[-1]
        swapped = ablation(plain, spec_of(splits=5, orientation="symmetric"))
        assert "step 2 is temperature scaling" in swapped.warnings[-1]

    def test_a_slice_that_is_too_small_gives_full_sets_and_says_how_many_labels_it_needs(self):
        outcome = ablation(make_votes(7, 40, 5), spec_of(splits=5))  # 20 calibrate, 6 are held out
        assert outcome.n_slice == 6.0
        np.testing.assert_allclose(outcome.shares[1, :, conformal.BOTH], 1.0)
        assert (outcome.shares[0, :, conformal.BOTH] < 1.0).all()
        (sentence,) = [warning for warning in outcome.warnings if "conformal slice" in warning]
        assert "In 5 of 5 splits" in sentence
        assert "9 labels that sets at 90% need" in sentence

    def test_the_table_has_a_row_a_panel_and_step(self, result):
        frame = result.frame()
        assert len(frame) == 2 * 5
        assert frame["step"].tolist() == list(STEPS) * 2
        wanted = {"coverage_80", "coverage_90_lo", "size_80_hi", "share_90_both", "skill", "delta"}
        assert wanted <= set(frame.columns)
        own = frame[frame["step"] == "1-4"]
        np.testing.assert_array_equal(own["coverage_90"], result.coverage.value[1])
        np.testing.assert_array_equal(own["share_80_neither"], result.shares[0, :, 0])
        assert frame[frame["step"] != "1-4"]["coverage_80"].isna().all()
        for metric in METRICS:
            np.testing.assert_array_equal(frame[metric], getattr(result, metric).value.ravel())

    def test_the_summary_is_about_all_judges(self, result):
        summary = result.summary()
        assert [step["step"] for step in summary["steps"]] == list(STEPS)
        assert summary["steps"][2]["nll"] == result.nll.value[-1, 2]
        assert summary["sets"][1]["shares"]["{0, 1}"] == result.shares[1, -1, conformal.BOTH]
        json.dumps(summary, allow_nan=False)


def test_a_feature_the_votes_do_not_have_is_refused_with_those_they_have(votes):
    with pytest.raises(InputError, match=r"'height'.*length, subset"):
        ablation(votes, replace(spec_of(), features=("height",)))


@pytest.mark.real_votes
def test_on_real_votes_sets_cover_and_features_bend_the_slope(real_votes):
    votes = load_votes(real_votes("rewardbench_votes.csv")).votes
    outcome = ablation(votes, spec_of(splits=10, panels=(5,), orientation="symmetric"))
    for level, covered in zip(outcome.levels, outcome.coverage.value, strict=True):
        assert (covered > level - 0.01).all()
    assert 0.10 < outcome.shares[0, -1, 0] < 0.25
    assert outcome.residual_delta[-1].below()
    assert outcome.nll.value[-1, STEPS.index("1-3")] == pytest.approx(0.165, abs=0.015)


def length_followers(seed, n=300):
    """Judges that take the longer response, right half the time, in a file that puts the better
    response first: the lengths then say when the judges are right.
    """
    rng = np.random.default_rng(seed)
    length = rng.normal(100.0, 20.0, (n, 2))
    prefers_first = (length[:, 0] > length[:, 1]).astype(np.int8)
    slips = rng.random((n, 5)) < 0.05
    cast = np.where(slips, 1 - prefers_first[:, None], prefers_first[:, None]).astype(np.int8)
    base = make_votes(seed, n, 5, missing=0.0)
    features = pd.DataFrame({"len_1": length[:, 0], "len_2": length[:, 1]})
    return replace(base, votes=cast, labels=np.ones(n, np.int8), features=features)


def test_features_of_one_response_flatter_nobody_where_labels_are_of_one_class():
    outcome = ablation(length_followers(0), spec_of(splits=4))
    assert (outcome.orientation, outcome.features) == ("symmetric", ())
    assert (outcome.nll.value > 0.6).all()
    assert any("Labels are lopsided" in sentence for sentence in outcome.warnings)


def test_features_named_all_the_same_are_marked_as_the_coding():
    spec = replace(spec_of(splits=4), features=("len_1", "len_2"))
    outcome = ablation(length_followers(0), spec)
    assert outcome.measures_coding
    assert any("measure the coding" in sentence for sentence in outcome.warnings)


def test_features_that_know_the_label_by_themselves_are_named():
    votes = make_votes(5, 200, 5)
    table = pd.DataFrame({"hint": votes.labels + np.random.default_rng(0).normal(0, 0.3, 200)})
    outcome = ablation(replace(votes, features=table), spec_of(splits=4))
    assert any("alone, without any judge" in sentence for sentence in outcome.warnings)


def test_turning_items_round_moves_no_set_even_where_scores_tie():
    votes = make_votes(6, 200, 5, low=0.7, high=0.7001, missing=0.0)
    turned = flip_items(votes, np.random.default_rng(1).random(200) < 0.5)
    spec = spec_of(splits=6, calibrator="none", orientation="symmetric")
    first, other = ablation(votes, spec), ablation(turned, spec)
    np.testing.assert_array_equal(first.coverage.value, other.coverage.value)
    np.testing.assert_array_equal(first.size.value, other.size.value)
