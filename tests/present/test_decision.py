"""A result under one pipeline never stands beside another decision without an explanation."""

from dataclasses import replace

import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.models.panel import mixture_of
from judgepanel.present.decide import recommend
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.study import Pipeline
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.distortion import DistortionSpec
from judgepanel.studies.runner import run
from judgepanel.studies.trust.difficulty_transfer import DifficultyTransferSpec
from judgepanel.studies.trust.reliability import ReliabilitySpec
from judgepanel.votes.simulate import sample_votes
from judgepanel.words import sentences, text


def test_another_pipeline_is_shown_beside_the_decision_and_its_opposite(outcome):
    sentence = recommend.pipeline_sentence(outcome, "log_odds", "platt")
    assert sentence.startswith(
        "This page shows log-odds + Platt, which is not the recommended pipeline. "
    )
    assert recommend.decision_sentence(outcome) in sentence
    assert sentences.panel_pipelines(outcome.model) in recommend.decision_sentence(outcome)
    assert sentence.endswith("holds under log-odds + Platt.")


def test_the_main_pipeline_of_an_average_is_said_to_be_that_with_its_weight(outcome):
    main = outcome.model.main
    sentence = recommend.pipeline_sentence(outcome, main.aggregator, main.calibrator)
    alone = text.with_interval(*outcome.members[0].behind, sign=True)
    assert "the main pipeline of the recommended average (" in sentence
    assert f": alone, its NLL differs by {alone}. Recommended: " in sentence
    assert sentence.endswith(recommend.advice_sentence(outcome))
    alone = replace(outcome, model=mixture_of([main], [1.0]))
    sentence = recommend.pipeline_sentence(alone, main.aggregator, main.calibrator)
    assert (
        f", the recommended pipeline. Recommended: {recommend.advice_sentence(alone)}" in sentence
    )


@pytest.mark.parametrize("fewer", [False, True])
def test_the_opposite_of_the_decision_is_priced_under_its_own_best_pipeline(fewer, outcome):
    if fewer:
        small = replace(outcome.model.main, judges=outcome.model.main.judges[:2])
        outcome = replace(outcome, model=mixture_of([small], [1.0]))
    row = outcome.best(all_judges=fewer)
    sentence = recommend.other_way_sentence(outcome)
    assert sentence.startswith("Everyone under" if fewer else "Fewer judges under")
    assert text.with_interval(*row.behind, sign=True) in sentence


def test_a_study_of_several_calibrators_shows_the_recommended_one_among_them():
    shown = Pipeline("joint", "platt")
    assert recommend.other_pipeline(DifficultyTransferSpec(aggregator="joint"), shown) == ""
    several = DifficultyTransferSpec(aggregator="joint", calibrators=("beta", "isotonic"))
    assert recommend.other_pipeline(several, shown) == "joint under several calibrators"
    assert recommend.other_pipeline(ReliabilitySpec(), shown) == "one-coin + beta"
    assert (
        recommend.other_pipeline(ReliabilitySpec(aggregator="joint", calibrator="platt"), shown)
        == ""
    )


def test_a_study_that_cannot_show_the_recommended_average_says_why():
    single = PRESENTATIONS["distortion"].single
    shown = Pipeline("joint", "none", recommended=True)
    of_main = recommend.other_pipeline(DistortionSpec(aggregator="joint"), shown, single)
    assert of_main == (
        "joint under several calibrators, of the recommended panel's main pipeline, since an "
        "average has no single score to distort"
    )
    other = recommend.other_pipeline(DistortionSpec(), shown, single, ", which is another")
    assert other == f"one-coin under several calibrators, which is another, since {single}"
    alone = Pipeline("joint", "none")
    assert recommend.other_pipeline(DistortionSpec(aggregator="joint"), alone, single) == ""


@pytest.mark.parametrize("name", ["clean_pairwise", "hard_panel", "one_class", "sparse_humans"])
def test_no_row_of_the_table_beats_the_decision_without_the_sentence_that_says_why(name):
    outcome = run(RECOMMEND, sample_votes(name), RecommendSpec(Settings(splits=2), folds=3), jobs=1)
    chosen = float(outcome.chosen.nll.value)
    leading = [row for row in outcome.candidates if row.allowed and float(row.nll.value) < chosen]
    alone = outcome.members[0] if not outcome.averages else None
    leading = [row for row in leading if row != alone]
    if leading:
        assert outcome.runner_up == min(leading, key=lambda row: float(row.nll.value))
        assert "Its figure is flattered" in recommend.rival_sentence(outcome)
    else:
        assert "flattered" not in recommend.rival_sentence(outcome)
