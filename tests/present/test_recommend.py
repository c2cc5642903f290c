"""What is said of a recommendation besides its answer."""

from dataclasses import replace
from functools import cache
from itertools import product
from types import SimpleNamespace

import pytest

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS
from judgepanel.present.blocks import Table
from judgepanel.present.decide.absence import absence_table, absence_words
from judgepanel.present.decide.recommend import (
    candidate_table,
    certainty_sentence,
    recommendation_sentence,
    rival_sentence,
    statuses_sentence,
    tied_sentence,
    way_sentence,
)
from judgepanel.scoring.interval import Interval
from judgepanel.studies.runner import run
from judgepanel.studies.settings import Settings
from judgepanel.words.sentences import AGGREGATOR_NAMES, CODING
from tests.helpers import make_votes

FEW = Settings(splits=6)
VERDICTS = (
    *("keep all", "curate", "no loss from keeping", "no loss from curating"),
    *("undecided", "tie"),
)


@cache
def result():
    spec = RecommendSpec(Settings(splits=3), folds=3)
    return run(RECOMMEND, make_votes(3, 80, 6), spec, jobs=1)


@pytest.mark.parametrize(
    ("stands", "words"),
    [
        ("keep all", "it is worse"),
        ("curate", "it is better"),
        ("no loss from keeping", "the chosen one loses at most 2 %"),
        ("no loss from curating", "it loses at most 2 %"),
        ("undecided", "about 1,234 labels would settle it"),
        ("tie", "they never differ"),
    ],
)
def test_the_runner_up_is_named_with_its_difference(stands, words):
    outcome = result()
    runner = replace(outcome.runner_up, panel="top-5", stands=stands)
    sentence = rival_sentence(replace(outcome, runner_up=runner, labels_to_settle=1234))
    assert sentence.startswith("Runner-up: top-5")
    assert words in sentence
    assert ("labels" in sentence) == (stands == "undecided")


def test_a_single_candidate_has_no_runner_up():
    outcome = result()
    assert rival_sentence(replace(outcome, runner_up=outcome.chosen)) == ""


@pytest.mark.parametrize(
    ("prefer", "words"),
    [
        ("nll", "keeping everyone"),
        ("simplest", "the simplest"),
        ("cheapest", "the cheapest"),
        ("fewest", "the fewest judges"),
    ],
)
def test_the_tied_are_counted_and_what_was_preferred_is_said(prefer, words):
    outcome = result()
    others = [
        candidate for candidate in outcome.candidates if candidate.name != outcome.chosen.name
    ]
    lowest = replace(others[0], tied=True, smoothed_nll=outcome.chosen.smoothed_nll - 0.01)
    marked = tuple(replace(entry, tied=entry is others[0]) for entry in others)
    sentence = tied_sentence(replace(outcome, candidates=marked, lowest=lowest, prefer=prefer))
    assert sentence.startswith("1 other candidate is within one standard error of the best")
    assert words in sentence
    assert "ahead by 0.010." in sentence


def test_nothing_is_said_where_nothing_is_tied():
    outcome = result()
    alone = tuple(replace(candidate, tied=False) for candidate in outcome.candidates)
    assert tied_sentence(replace(outcome, candidates=alone)) == ""


def test_absences_are_listed_with_the_worst_in_words():
    outcome = result()
    rows = absence_table(outcome)
    measured = outcome.absence
    n_rows = len(measured.groups) + len(measured.several) + len(measured.single)
    assert Table(rows).n_rows == n_rows
    rise = rows["rise"].numbers
    assert rows["NLL"].numbers == pytest.approx(outcome.nll.value + rise)
    worst = rows["absent"].texts()[int(rise.argmax())]
    assert f"is {worst}: the NLL changes by" in absence_words(outcome)[0]
    assert absence_words(replace(outcome, absence=None)) == ()


def test_an_absence_above_the_base_rate_is_called_worse():
    outcome = result()
    worst = replace(outcome.absence.several[-1], delta=Interval.single(9.0, 8.0, 10.0))
    absence = replace(outcome.absence, several=(*outcome.absence.several[:-1], worst))
    bad = replace(outcome, absence=absence)
    assert "worse than" in absence_words(bad)[0]
    rows = absence_table(bad)
    assert rows["worse than the base rate"].texts()[int(rows["rise"].numbers.argmax())] == "yes"


def test_judges_are_counted_by_what_becomes_of_them():
    def status(name, kind):
        return JudgeStatus(name, kind, "why", None)

    some = (status("a", "keep"), status("b", "keep"), status("c", "drop"), status("d", "watch"))
    sentence = statuses_sentence(some)
    assert sentence.startswith("Keep: 2 judges shown to help. Drop: 1 judge that")
    assert sentence.endswith("Watch: 1 judge, since neither is settled.")
    assert statuses_sentence(some[:1]) == "Keep: 1 judge shown to help."
    assert statuses_sentence(()) == ""


@pytest.fixture(scope="module")
def recommendation():
    return run(RECOMMEND, make_votes(0, 60, 7), RecommendSpec(settings=FEW), jobs=1)


def test_a_panel_no_better_than_the_base_rate_is_said_to_be_none(recommendation):
    weak = replace(recommendation, nll=Interval.single(0.7, 0.6, 0.8), null_nll=0.69)
    assert recommendation_sentence(weak).startswith("No panel is shown to beat the base rate")
    strong = replace(
        recommendation, nll=Interval.single(0.3, 0.2, 0.4), null_nll=0.69, verdict="curate"
    )
    assert recommendation_sentence(strong).startswith("Keep ")
    lucky = replace(weak, null_nll=1.5)
    assert recommendation_sentence(lucky).startswith("No panel is shown to beat the base rate")


@pytest.mark.parametrize(
    ("stands", "words"),
    [
        ("keep all", "Keep 2 of 7 judges"),
        ("no loss from keeping", "Keep 2 of 7 judges"),
        ("undecided", "Undecided, leaning to 2 of 7 judges"),
        ("curate", "Undecided, leaning to 2 of 7 judges"),
    ],
)
def test_fewer_judges_are_kept_only_where_that_is_shown_to_lose_nothing(
    recommendation, stands, words
):
    strong = replace(recommendation, nll=Interval.single(0.3, 0.2, 0.4), null_nll=0.69)
    fewer = replace(strong.model, judges=strong.model.judges[:2])
    pipeline = strong.chosen.aggregator, strong.chosen.calibrator
    marked = tuple(
        replace(candidate, stands=stands)
        if candidate.panel == "all" and (candidate.aggregator, candidate.calibrator) == pipeline
        else candidate
        for candidate in strong.candidates
    )
    sentence = recommendation_sentence(replace(strong, model=fewer, candidates=marked))
    assert sentence.startswith(words)


def test_a_recommendation_that_measures_the_coding_says_so(recommendation):
    assert CODING in recommendation_sentence(replace(recommendation, measures_coding=True))
    assert CODING not in recommendation_sentence(recommendation)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_recommendation_says_how_sure_it_is(recommendation, verdict):
    text = certainty_sentence(replace(recommendation, verdict=verdict))
    assert text.startswith("Out of sample, ")
    assert "all judges under one-coin + beta" in text
    assert "optimism" in text
    assert "the base rate alone gives" in text


def test_the_sentences_of_the_verdicts_differ(recommendation):
    texts = {certainty_sentence(replace(recommendation, verdict=verdict)) for verdict in VERDICTS}
    assert len(texts) == len(VERDICTS)


def test_a_recommendation_names_panel_and_pipeline(recommendation):
    model = recommendation.model
    for k, calibrator in product((7, 3), ("none", "temperature", "platt", "beta")):
        changed = replace(
            recommendation,
            model=replace(model, judges=model.judges[:1] * k, calibrator=calibrator),
            nll=Interval.single(0.4, 0.3, 0.5),
            null_nll=0.69,
            verdict="curate",
        )
        text = recommendation_sentence(changed)
        assert text.startswith("Keep all 7 judges with " if k == 7 else "Keep 3 of 7 judges with ")
        assert "on new items." in text


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("calibrator", ["none", "beta"])
def test_every_pipeline_is_explained(recommendation, aggregator, calibrator):
    model = SimpleNamespace(aggregator=aggregator, calibrator=calibrator)
    text = way_sentence(replace(recommendation, model=model))
    assert text.startswith(f"How: {AGGREGATOR_NAMES[aggregator]} ")
    assert ("taken as they come" in text) == (calibrator == "none")


def test_candidates_come_best_first_and_the_reference_is_marked_once():
    outcome = run(RECOMMEND, make_votes(0, 60, 7), RecommendSpec(settings=FEW), jobs=1)
    table = Table(candidate_table(outcome)).texts()
    assert len(table) == len(outcome.candidates)
    assert table["NLL"].astype(float).is_monotonic_increasing
    assert (table["difference"] == "reference").sum() == 1
    marked = table[table["difference"] == "reference"].iloc[0]
    assert (marked["panel"], marked["aggregator"], marked["calibrator"]) == (
        *("all", "one-coin", "beta"),
    )
