"""Preferences, candidates and costs: what is read from one recommendation, as if it were asked."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from judgepanel.decision import lean, recommend
from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.recommend_result import PREFERENCES, Recommendation, shared_run
from judgepanel.models.panel import fit_panel, mixture_of
from judgepanel.studies import codec, contract
from judgepanel.studies.runner import run, steps
from judgepanel.votes import InputError
from tests.helpers import make_votes

SPEC = recommend.RecommendSpec(settings=contract.Settings(splits=2), folds=3)
TAKEN = "top-3, one_coin, temperature"


VOTES = make_votes(3, 80, 12)


def with_costs(votes):
    costs = [1.0 + 0.25 * j for j in range(votes.n_judges)]
    return replace(votes, judge_table=pd.DataFrame({"cost": costs}, index=list(votes.judges)))


PRICED = with_costs(VOTES)


@pytest.mark.parametrize("prefer", ["simplest", "fewest", "cheapest"])
def test_what_is_preferred_is_taken_among_the_tied(prefer):
    recommendation = run(recommend.RECOMMEND, PRICED, replace(SPEC, prefer=prefer), jobs=1)
    assert recommendation.chosen in recommendation.tied
    assert recommendation.lowest in recommendation.tied
    if prefer == "fewest":
        assert recommendation.chosen.k == min(candidate.k for candidate in recommendation.tied)
    if prefer == "cheapest":
        assert recommendation.cost == min(candidate.cost for candidate in recommendation.tied)
    assert recommendation.cost == pytest.approx(cost_of_judges(PRICED, recommendation.model.judges))


def cost_of_judges(votes, judges):
    return sum(votes.judge_table.loc[list(judges), "cost"])


def test_a_panel_keeps_within_its_budget_in_the_end_and_in_every_split():
    """Few judges: subsets within a budget are searched for again in every fold."""
    few = with_costs(make_votes(3, 60, 4))
    spec = replace(SPEC, budget=3.0)
    for progress in steps(recommend.RECOMMEND, few, spec, jobs=1):
        outcome = progress.result()
        taken = {outcome.candidates[i].panel for i in progress.partial.taken[:, 1]}
    assert outcome.cost <= 3.0
    assert cost_of_judges(few, outcome.model.judges) == pytest.approx(outcome.cost)
    assert {candidate.allowed for candidate in outcome.candidates} == {True, False}
    assert all(candidate.allowed == (candidate.cost <= 3.0) for candidate in outcome.candidates)
    assert outcome.chosen.cost == pytest.approx(outcome.cost)
    assert not outcome.reference.allowed
    assert "all" not in taken


@pytest.fixture(scope="module")
def general():
    return run(recommend.RECOMMEND, PRICED, SPEC, jobs=1)


@pytest.mark.parametrize(
    ("prefer", "price"),
    [*((p, lean.PRICE) for p in PREFERENCES if p != "robust"), ("lean", min(lean.PRICES))],
)
def test_a_preference_is_read_from_the_result_as_if_it_had_been_asked_for(general, prefer, price):
    spec = replace(SPEC, prefer=prefer, price=price)
    asked = run(recommend.RECOMMEND, PRICED, spec, jobs=1)
    read = recommend.preferring(PRICED, spec, general, prefer)
    assert (read.prefer, read.price) == (prefer, price if prefer == "lean" else None)
    assert json.dumps(codec.to_plain(recommend.with_absence(PRICED, spec, read))) == json.dumps(
        codec.to_plain(asked)
    )
    stored = codec.from_plain(Recommendation, json.loads(json.dumps(codec.to_plain(general))))
    again = recommend.preferring(PRICED, spec, stored, prefer)
    assert json.dumps(codec.to_plain(again)) == json.dumps(codec.to_plain(read))


def test_a_robust_panel_has_a_run_of_its_own_with_monotone_candidates():
    """Families are two of two judges, and one that is not known."""
    table = pd.DataFrame({"family": ["a", "a", "b", "b"] + [""] * 8}, index=list(VOTES.judges))
    related, spec = replace(VOTES, judge_table=table), replace(SPEC, prefer="robust")
    result = run(recommend.RECOMMEND, related, spec, jobs=1)
    others = run(recommend.RECOMMEND, related, SPEC, jobs=1)
    assert shared_run(spec) == spec
    assert result.prefer == "robust"
    for reading in result.readings:
        assert reading.chosen_shares.sum() == pytest.approx(1.0)
    assert result.chosen.panel == "average" or result.chosen in result.tied
    monotone = {row.aggregator for row in result.candidates} - {
        row.aggregator for row in others.candidates
    }
    assert monotone == {"joint_monotone", "stacking_monotone"}
    assert "robust" not in {reading.prefer for reading in others.readings}
    stored = codec.from_plain(Recommendation, json.loads(json.dumps(codec.to_plain(result))))
    assert codec.to_plain(recommend.as_asked(related, spec, stored)) == codec.to_plain(result)


@pytest.mark.parametrize("families", [None, ["a"] * 6, [""] * 6])
def test_a_robust_panel_needs_families_of_which_one_can_be_absent(families):
    table = None
    if families is not None:
        names = (families * len(VOTES.judges))[: len(VOTES.judges)]
        table = pd.DataFrame({"family": names}, index=list(VOTES.judges))
    related = replace(VOTES, judge_table=table)
    with pytest.raises(InputError, match=r"families of the judges are not known.*column `family`"):
        run(recommend.RECOMMEND, related, replace(SPEC, prefer="robust"), jobs=1)


@pytest.mark.parametrize("prefer", ["single", "fewest"])
def test_the_heaviest_pipeline_is_the_same_under_every_preference(general, prefer):
    read = recommend.preferring(PRICED, SPEC, general, prefer)
    assert read.heaviest.name == general.members[0].name


def test_what_a_preference_does_not_take_is_not_measured_until_asked_for(general):
    read = recommend.preferring(PRICED, SPEC, general, "simplest")
    assert general.absence is not None
    assert (read.absence, read.model.fallback) == (None, None)


def test_a_preference_that_the_costs_do_not_allow_cannot_be_read():
    result = run(recommend.RECOMMEND, VOTES, SPEC, jobs=1)
    with pytest.raises(InputError, match="a cost for every judge"):
        recommend.preferring(VOTES, SPEC, result, "cheapest")
    assert "cheapest" not in {reading.prefer for reading in result.readings}


def test_finished_splits_serve_every_preference():
    chunk = recommend.RECOMMEND.plan(SPEC)[0]
    first, other = (
        recommend.run_chunk(VOTES, replace(SPEC, prefer=prefer), chunk)
        for prefer in ("nll", "fewest")
    )
    assert codec.to_plain(first) == codec.to_plain(other)


@pytest.mark.parametrize("prefer", ["nll", "single"])
def test_another_candidate_is_taken_as_if_it_had_been_asked_for(general, prefer):
    spec = replace(SPEC, prefer=prefer, candidate=TAKEN)
    asked = run(recommend.RECOMMEND, PRICED, spec, jobs=1)
    read = recommend.with_absence(PRICED, spec, recommend.as_asked(PRICED, spec, general))
    assert json.dumps(codec.to_plain(read)) == json.dumps(codec.to_plain(asked))


def test_a_candidate_that_is_taken_has_its_own_figures_and_is_held_against_the_recommended(general):
    read = recommend.as_asked(PRICED, replace(SPEC, candidate=TAKEN), general)
    (row,) = (row for row in general.candidates if row.name == TAKEN)
    assert read.chosen == row
    assert (read.nll, read.delta, read.cost) == (row.nll, row.delta, row.cost)
    assert read.recommended.name == general.chosen.name
    assert row.behind.value == pytest.approx(row.nll.value - read.recommended.nll.value, abs=1e-11)
    prepared = contract.prepare(PRICED, contract.Settings())
    fitted = fit_panel(
        prepared.ballots, prepared.judges, 3, aggregator="one_coin", calibrator="temperature"
    )
    assert read.model == mixture_of([fitted], [1.0])
    assert set(read.left_out) == set(PRICED.judges) - set(fitted.judges)


def test_a_panel_file_of_a_candidate_is_valid_and_says_that_it_was_picked(general):
    spec = replace(SPEC, candidate=TAKEN)
    read = recommend.with_absence(PRICED, spec, recommend.as_asked(PRICED, spec, general))
    content = load_panel(panel_json(export_panel(read, PRICED, spec, ()))).content
    assert (content["spec"]["candidate"], content["judges"]) == (TAKEN, list(read.model.judges))
    assert content["figures"]["nll"] == float(read.chosen.nll.value)
    assert "picked among many candidates" in content["figures"]["note"]


def test_a_candidate_beyond_the_budget_is_refused():
    few = with_costs(make_votes(3, 60, 4))
    spec = replace(SPEC, budget=3.0)
    result = run(recommend.RECOMMEND, few, spec, jobs=1)
    with pytest.raises(InputError, match="the candidate exceeds the budget"):
        recommend.as_asked(few, replace(spec, candidate="all, one_coin, beta"), result)


@pytest.mark.parametrize(
    ("votes", "options", "sentence"),
    [
        (VOTES, {"prefer": "cheapest"}, "a cost for every judge"),
        (VOTES, {"budget": 3.0}, "a cost for every judge"),
        (PRICED, {"budget": 0.5}, r"no judge keeps within.*allowed: 1 or more"),
        (PRICED, {"prefer": "everyone", "budget": 3.0}, "keeping everyone .*raise the budget"),
        (VOTES, {"candidate": TAKEN.replace("_", "-")}, f"no candidate has this name.*{TAKEN}"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_what_can(votes, options, sentence):
    with pytest.raises(InputError, match=sentence):
        run(recommend.RECOMMEND, votes, replace(SPEC, **options), jobs=1)
