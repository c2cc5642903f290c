"""The recommendation in words, besides its answer."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

from judgepanel.decision.absence import GroupAbsence
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.kernels.aggregation import ANY_AGGREGATORS
from judgepanel.models.panel import mixture_of
from judgepanel.present.blocks import Table
from judgepanel.present.decide import candidate_rows
from judgepanel.present.decide.recommend import (
    advice_sentence,
    certainty_sentence,
    preference_sentence,
    present,
    prices_sentence,
    recommendation_sentence,
    rival_sentence,
    statuses_sentence,
)
from judgepanel.scoring import inference, interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run
from judgepanel.votes.matrix import MISSING
from judgepanel.words.sentences import AGGREGATOR_NAMES
from judgepanel.words.text import with_interval
from tests.helpers import make_votes, named

WORTH = "Judge by judge under one pipeline (see What each judge is worth), "


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
def test_the_runner_up_is_named_with_its_difference(stands, words, outcome):
    behind = interval.Interval.single(0.1, 0.0, 0.2)
    runner = replace(outcome.runner_up, panel="top-5", stands=stands, behind=behind)
    sentence = rival_sentence(replace(outcome, runner_up=runner, labels_to_settle=1234))
    assert sentence.startswith("Runner-up: top-5")
    assert words in sentence
    assert ("labels" in sentence) == (stands == "undecided")


def test_a_row_that_leads_the_table_is_explained(outcome):
    lead = interval.Interval.single(-0.01, -0.02, 0.01)
    runner = replace(outcome.runner_up, behind=lead, stands="undecided")
    sentence = rival_sentence(replace(outcome, runner_up=runner))
    assert "Its figure is flattered" in sentence
    assert "will be higher on new ones" in sentence
    later = replace(runner, behind=interval.Interval.single(0.01, -0.01, 0.02))
    assert "flattered" not in rival_sentence(replace(outcome, runner_up=later))


def test_other_advice_has_its_price(outcome):
    all_judges, fewer = outcome.best(all_judges=True), outcome.best(all_judges=False)
    sentence = prices_sentence(replace(outcome, runner_up=outcome.candidates[0]))
    for row in (all_judges, fewer):
        assert with_interval(*row.behind, sign=True) in sentence
    assert "With all judges, the best single pipeline is" in sentence
    assert "With fewer judges, the best single pipeline is" in sentence
    assert "With all judges" not in prices_sentence(replace(outcome, runner_up=all_judges))


def test_the_recommended_panel_is_drawn_on_top_and_its_rivals_best_first(outcome):
    *traces, base_rate = candidate_rows.rivals_figure(outcome).data
    (top,) = (trace for trace in traces if trace.name == "recommended")
    assert (top.x.tolist(), top.y.tolist()) == ([outcome.nll.value], [0])
    shown = candidate_rows.rivals(outcome)
    assert len(shown) < candidate_rows.MOST_ROWS
    points = [point for trace in traces for point in zip(trace.y, trace.x, strict=True)]
    below = [x for y, x in sorted(points) if y != 0]
    assert below == sorted(below) == [float(row.nll.value) for row in shown]
    assert set(base_rate.x) == {outcome.null_nll}


def test_the_figure_has_the_runner_up_everyone_fewer_judges_and_the_papers_default(outcome):
    names = {row.name for row in candidate_rows.rivals(outcome)}
    all_judges, fewer = outcome.best(all_judges=True), outcome.best(all_judges=False)
    assert {row.name for row in (outcome.runner_up, all_judges, fewer, outcome.reference)} <= names
    assert outcome.chosen.name not in names
    assert len({row.k for row in candidate_rows.rivals(outcome)}) > 2


def test_candidates_stand_against_their_number_of_judges_until_costs_are_known(outcome):
    figure = candidate_rows.pareto_figure(outcome)
    others, line, panel, _ = figure.data
    drawn = sorted([*zip(others.x, others.y, strict=True), *zip(line.x, line.y, strict=True)])
    single = outcome.candidates[:-1]
    assert drawn == sorted((float(row.k), float(row.nll.value)) for row in single)
    assert (panel.x[0], panel.y[0]) == (len(outcome.model.judges), outcome.nll.value)
    assert figure.layout.xaxis.title.text == "number of judges"
    candidates = tuple(replace(row, cost=0.25 * row.k) for row in outcome.candidates)
    figure = candidate_rows.pareto_figure(replace(outcome, cost=1.5, candidates=candidates))
    assert (figure.data[2].x[0], figure.layout.xaxis.title.text) == (1.5, "cost of an item")
    assert figure.data[1].x.tolist() == [0.25 * k for k in line.x]


def test_labels_of_the_figure_say_the_number_of_judges_once(outcome):
    labels = candidate_rows.rivals_figure(outcome).layout.yaxis.ticktext
    plain = [label.replace("<br>", " ") for label in labels]
    assert any(label.startswith("all 6, ") for label in plain)
    assert not any("all 6" in label and "6 judges" in label for label in plain)


def test_candidates_not_told_apart_from_the_recommended_one_are_hollow(outcome):
    rows = candidate_rows.rivals(outcome)
    hollow = {float(row.nll.value) for row in rows if row.behind.lo <= 0.0 <= row.behind.hi}
    figure = candidate_rows.rivals_figure(outcome)
    trace = named(figure, "not told apart from it")
    assert trace.marker.symbol.endswith("-open")
    assert set(trace.x) == hollow
    assert not named(figure, "recommended").marker.symbol.endswith("-open")


def test_the_table_of_judges_explains_a_weight_below_zero(outcome):
    votes = make_votes(3, 80, 6)
    turned = votes.votes.copy()
    turned[:, 0] = np.where(turned[:, 0] < 0, -1, 1 - turned[:, 0])
    spec = RecommendSpec(Settings(splits=2), folds=2)
    with_one = run(RECOMMEND, replace(votes, votes=turned), spec, jobs=1)
    for result in (outcome, with_one):
        below = min(result.model.main_weights) < 0.0
        assert below == (result is with_one)
        note = candidate_rows.judges_block(result, candidate_rows.NOTHING_KNOWN).help["weight"]
        assert ("A weight below 0 counts a vote for the other verdict" in note) == below


def test_judges_are_listed_with_the_decision_the_most_accurate_first(outcome):
    votes = make_votes(3, 80, 6)
    table = candidate_rows.weights_table(outcome, candidate_rows.RecommendationView(votes))
    names, decisions = table["judge"].values, table["decision"].values
    assert set(names) == set(votes.judges)
    keeps = {name for name, word in zip(names, decisions, strict=True) if word == "keep"}
    assert keeps == set(outcome.model.judges)
    accuracy = table["accuracy"].numbers.tolist()
    assert accuracy == sorted(accuracy, reverse=True)
    assert next(iter(table)) == next(iter(candidate_rows.weights_frame(outcome))) == "decision"


def test_judges_are_listed_by_what_they_are_worth_where_that_is_known(outcome):
    votes = make_votes(3, 80, 6)
    worth = {name: float(place) for place, name in enumerate(votes.judges)}
    statuses = tuple(JudgeStatus(name, "helps", "", None) for name in votes.judges)
    view = candidate_rows.RecommendationView(votes, statuses, worth)
    table = candidate_rows.weights_table(outcome, view)
    assert list(table["judge"].values) == list(reversed(votes.judges))
    assert list(table)[:4] == ["decision", "judge", "why", "accuracy"]
    assert list(table)[-1] == "weight"
    assert table["why"].values[0].startswith("carries the panel")


def test_a_judge_that_could_go_is_not_simply_kept(outcome):
    votes = make_votes(3, 80, 6)
    spare = outcome.model.judges[0]
    statuses = (JudgeStatus(spare, "could go", "", None),)
    view = candidate_rows.RecommendationView(votes, statuses, {})
    table = candidate_rows.weights_table(outcome, view)
    rows = dict(zip(table["judge"].values, table["decision"].values, strict=True))
    assert rows[spare] == "could go"
    assert {rows[name] for name in outcome.model.judges[1:]} == {"keep"}


def test_a_candidate_that_was_taken_is_held_against_the_recommended_panel(outcome):
    row = outcome.reference
    taken = replace(outcome, chosen=row, instead_of=outcome.chosen, nll=row.nll)
    sentence = recommendation_sentence(taken)
    assert sentence.startswith("Taken by hand: all 6 judges with one-coin + beta; NLL ")
    assert with_interval(*row.behind, sign=True) in sentence
    texts = [getattr(block, "text", "") for block in present(taken, RecommendSpec())]
    assert any("not corrected for that" in text for text in texts)
    assert not any(text.startswith("Runner-up") for text in texts)
    figure = candidate_rows.rivals_figure(taken)
    assert named(figure, "recommended").x.tolist() == [outcome.nll.value]
    assert named(figure, "taken instead").x.tolist() == [row.nll.value]


def test_what_was_not_measured_is_said(outcome):
    blocks = present(replace(outcome, absence=None), RecommendSpec(Settings(splits=3), folds=3))
    texts = [getattr(block, "text", "") for block in blocks]
    assert any(text.startswith("Not measured on this page") for text in texts)


def test_members_of_an_average_are_listed_heaviest_first(outcome):
    assert outcome.averages
    weight = candidate_rows.members_table(outcome)["weight"].numbers
    assert weight.tolist() == sorted(weight.tolist(), reverse=True)
    assert weight.sum() == pytest.approx(1.0)
    assert "in the average" in candidate_rows.weights_table(outcome)
    way = candidate_rows.way_sentence(outcome)
    assert way.startswith("How: the probabilities of the pipelines are averaged")


def test_a_single_candidate_has_no_runner_up(outcome):
    assert rival_sentence(replace(outcome, runner_up=outcome.chosen)) == ""


@pytest.mark.parametrize(
    ("prefer", "words"),
    [
        ("single", "One pipeline only"),
        ("everyone", "All judges are kept"),
        ("robust", "Robust takes, of the average"),
        ("simplest", "The simplest candidate"),
        ("cheapest", "The cheapest candidate"),
        ("fewest", "The candidate with the fewest judges"),
    ],
)
def test_what_is_preferred_is_said_with_its_price(outcome, prefer, words):
    outcome = replace(outcome, prefer=prefer)
    assert preference_sentence(outcome).startswith(words)
    *candidates, average = outcome.candidates
    dear = replace(average, behind=interval.Interval.single(-0.03, -0.05, -0.01))
    taken = replace(outcome, chosen=candidates[0], candidates=(*candidates, dear))
    assert preference_sentence(taken).endswith("NLL changes by +0.030 [+0.010, +0.050].")


def test_the_average_needs_no_word_on_preference(outcome):
    assert preference_sentence(outcome) == ""


def test_absences_are_listed_with_the_worst_in_words(outcome):
    rows = candidate_rows.absence_table(outcome)
    measured = outcome.absence
    n_rows = len(measured.groups) + len(measured.several) + len(measured.single)
    assert Table(rows).n_rows == n_rows
    rise = rows["rise"].numbers
    assert rows["NLL"].numbers == pytest.approx(outcome.nll.value + rise)
    worst = rows["absent"].texts()[int(rise.argmax())]
    assert f"is {worst}: the NLL changes by" in candidate_rows.absence_words(outcome)[0]
    assert candidate_rows.absence_words(replace(outcome, absence=None)) == ()


@pytest.mark.parametrize(("kind", "n"), [("cluster", 1), ("family", 0)])
def test_clusters_that_may_not_be_stable_are_not_taken_for_known_groups(kind, n, outcome):
    group = GroupAbsence(kind, "1", (0, 1), outcome.absence.several[0])
    absence = replace(outcome.absence, groups=(group,))
    words = candidate_rows.absence_words(replace(outcome, absence=absence))
    assert sum("Judges shows how stable each cluster is." in text for text in words) == n


def test_an_absence_above_the_base_rate_is_called_worse(outcome):
    worst = replace(outcome.absence.several[-1], delta=interval.Interval.single(9.0, 8.0, 10.0))
    absence = replace(outcome.absence, several=(*outcome.absence.several[:-1], worst))
    bad = replace(outcome, absence=absence)
    assert candidate_rows.absence_words(bad)[0].endswith(", which is better.")
    rows = candidate_rows.absence_table(bad)
    assert rows["worse than the base rate"].texts()[int(rows["rise"].numbers.argmax())] == "yes"


def test_judges_are_counted_by_what_becomes_of_them():
    def sentence(*kinds):
        return statuses_sentence(tuple(JudgeStatus("a", kind, "why", None) for kind in kinds))

    some = ("helps", "helps", "could go", "unsettled")
    assert sentence(*some).startswith(f"{WORTH}2 judges are shown to help; 1 could go without ")
    assert "for 1 this is not settled." in sentence(*some)
    assert sentence(*some).endswith("Leaving out that one is safe, not better: it saves its price.")
    several = sentence(*some, "could go")
    assert "2 could go, alone or together, without" in several
    assert several.endswith("is safe, not better: it saves their price.")
    failed = sentence("helps", "helps", "fails a check")
    assert failed == f"{WORTH}2 judges are shown to help; 1 fails a check (see Scope)."
    assert sentence("helps") == f"{WORTH}1 judge is shown to help."
    assert sentence() == ""


@pytest.fixture(scope="module")
def recommendation():
    return run(RECOMMEND, make_votes(0, 60, 7), RecommendSpec(Settings(splits=6)), jobs=1)


def test_a_panel_no_better_than_the_base_rate_is_said_to_be_none(recommendation):
    weak = replace(recommendation, nll=interval.Interval.single(0.7, 0.6, 0.8), null_nll=0.69)
    assert recommendation_sentence(weak).startswith("No panel is shown to beat the base rate")
    strong = replace(weak, nll=interval.Interval.single(0.3, 0.2, 0.4), verdict="curate")
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
    strong = replace(recommendation, nll=interval.Interval.single(0.3, 0.2, 0.4), null_nll=0.69)
    fewer = replace(strong.model, judges=strong.model.judges[:2])
    main = strong.members[0]
    pipeline = main.aggregator, main.calibrator
    marked = tuple(
        replace(candidate, stands=stands)
        if candidate.panel == "all" and (candidate.aggregator, candidate.calibrator) == pipeline
        else candidate
        for candidate in strong.candidates
    )
    sentence = recommendation_sentence(replace(strong, model=fewer, candidates=marked))
    assert sentence.startswith(words)


def test_a_recommendation_says_how_sure_it_is_otherwise_for_every_verdict(recommendation):
    verdicts = get_args(inference.Verdict)
    texts = {certainty_sentence(replace(recommendation, verdict=verdict)) for verdict in verdicts}
    assert len(texts) == len(verdicts)
    for text in texts:
        assert text.startswith("Out of sample, ")
        assert "all judges under one-coin + beta" in text
        assert "(selection bias " in text
        assert "the base rate alone gives" in text


def test_a_recommendation_names_panel_and_pipeline(recommendation):
    model = recommendation.model
    no_worse = tuple(replace(row, stands="keep all") for row in recommendation.candidates)
    for k, calibrator in product((7, 3), ("none", "temperature", "platt", "beta")):
        changed = replace(
            recommendation,
            model=replace(alone(model.main, calibrator=calibrator), judges=model.judges[:1] * k),
            candidates=no_worse,
            nll=interval.Interval.single(0.4, 0.3, 0.5),
            null_nll=0.69,
            verdict="curate",
        )
        text = recommendation_sentence(changed)
        assert text.startswith("Keep all 7 judges with " if k == 7 else "Keep 3 of 7 judges with ")
        assert "on new items." in text


def alone(model, **changes):
    return mixture_of([replace(model, **changes)], [1.0])


@pytest.mark.parametrize("aggregator", ANY_AGGREGATORS)
@pytest.mark.parametrize("calibrator", ["none", "beta"])
def test_every_pipeline_is_explained(recommendation, aggregator, calibrator):
    rule = SimpleNamespace(kind=aggregator)
    model = alone(recommendation.model.main, rule=rule, calibrator=calibrator)
    text = candidate_rows.way_sentence(replace(recommendation, model=model))
    assert text.startswith(f"How: {AGGREGATOR_NAMES[aggregator]} ")
    if calibrator == "beta":
        assert text.endswith("Beta turns that into probabilities.")
    elif aggregator.startswith(("joint", "stacking")):
        assert text.endswith("It is fitted to labels, so no calibrator follows.")
    else:
        assert text.endswith("Its probabilities are used without calibration.")


def test_candidates_come_best_first_and_the_reference_is_marked_once(recommendation):
    table = Table(candidate_rows.candidate_table(recommendation)).texts()
    assert len(table) == len(recommendation.candidates)
    assert table["NLL"].astype(float).is_monotonic_increasing
    assert (table["difference"] == "reference").sum() == 1
    assert (table["against the recommended"] == "recommended").sum() == 1
    marked = table[table["difference"] == "reference"].iloc[0]
    assert [*marked[["panel", "aggregator", "calibrator"]]] == ["all", "one-coin", "beta"]


def test_a_decision_waits_for_repeated_items_and_reversed_votes(outcome):
    answer = recommendation_sentence(outcome)
    copies = replace(outcome.repeats, n_sets=4, n_repeated=8, smallest=2, largest=2, apart=True)
    doubts = {
        "Items repeat: 4 groups of 2 identical items": replace(outcome, repeats=copies),
        "Votes may be reversed.": replace(outcome, reversed_votes="Votes may be reversed."),
    }
    for why, doubted in doubts.items():
        sentence = recommendation_sentence(doubted)
        assert sentence.startswith(f"No decision yet. {why}")
        assert sentence.endswith(f"Until then: {answer}")
        assert advice_sentence(doubted).startswith("no decision yet, since the votes are in doubt")


def test_reversed_votes_are_in_doubt_until_the_user_names_the_judges():
    votes = make_votes(3, 200, 4)
    turned = replace(votes, votes=np.where(votes.votes >= 0, 1 - votes.votes, MISSING))
    settings = Settings(splits=2)
    first = run(RECOMMEND, turned, RecommendSpec(settings, folds=3), jobs=1)
    assert "votes or labels may be reversed" in first.reversed_votes
    named = replace(settings, judges=votes.judges)
    assert run(RECOMMEND, turned, RecommendSpec(named, folds=3), jobs=1).reversed_votes == ""
