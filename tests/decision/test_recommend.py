"""The recommendation: a nested choice, its honest figures, and the exported panel."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from judgepanel.decision import recommend
from judgepanel.decision.panel_file import export_panel, load_panel, panel_json
from judgepanel.decision.preference import PREFERENCES, choose
from judgepanel.decision.reading import as_asked, preferring, with_absence
from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.recommend_spec import shared_run
from judgepanel.kernels.aggregate.prefixes import CLOSED_FORMS
from judgepanel.models.mixture import mixture_of
from judgepanel.models.panel import fit_panel
from judgepanel.scoring.splits import split
from judgepanel.studies.codec import from_plain, to_plain
from judgepanel.studies.contest.average import average_losses
from judgepanel.studies.contest.candidates import candidates_of
from judgepanel.studies.contest.compete import Terms, compete, stand
from judgepanel.studies.panel.curator import Known, Rules
from judgepanel.studies.runner import run, steps
from judgepanel.studies.settings import Settings, prepare
from judgepanel.votes import InputError
from tests.helpers import make_votes

TERMS = Terms(3, 0, Known(("",) * 12, None), Rules())


def spec_of(splits=6, **shared):
    return RecommendSpec(settings=Settings(splits=splits, **shared), folds=3)


@pytest.fixture(scope="module")
def votes():
    return make_votes(3, 80, 12)


@pytest.fixture(scope="module")
def result(votes):
    return run(RECOMMEND, votes, spec_of(), jobs=1)


@pytest.fixture(scope="module")
def tally(votes):
    for progress in steps(RECOMMEND, votes, spec_of(), jobs=1):
        partial = progress.partial
    return partial.in_order().tally


def by_hand(votes, spec):
    """Per split: what is chosen, the rows and its scores on them; None is the average."""
    ballots = prepare(votes, spec.settings).ballots
    choices = candidates_of(spec.candidates, ballots.n_judges, symmetric=ballots.symmetric)
    for number in range(spec.settings.splits):
        drawn = split(ballots.units, number)
        standing = stand(ballots, drawn.calibration, choices, TERMS, (number, 1))
        held = compete(ballots, drawn, choices, TERMS)
        closed = [c.aggregator in CLOSED_FORMS for c in choices.all()]
        np.testing.assert_array_equal(held.standing.losses[closed], standing.losses[closed])
        np.testing.assert_array_equal(held.standing.panels, standing.panels)
        units = ballots.units[drawn.calibration]
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(number, 1, 67)))
        losses, panels = held.standing.losses, held.standing.panels
        choice = choose(losses, panels, units, choices, rng).by_preference[spec.prefer]
        yield choice, drawn.evaluation, average_losses(held.items.nll, choice.used)


@pytest.mark.parametrize("prefer", ["nll", "single"])
def test_the_reported_nll_is_that_of_what_was_chosen_in_each_split(votes, prefer):
    spec = replace(spec_of(splits=4), prefer=prefer)
    for progress in steps(RECOMMEND, votes, spec, jobs=1):
        scores, result = progress.partial.in_order(), progress.result()
    total, times, chosen = np.zeros(80), np.zeros(80), []
    for choice, rows, nll in by_hand(votes, spec):
        chosen.append(len(choice.weights) if choice.taken is None else choice.taken)
        total[rows] += nll
        times[rows] += 1
    place = [reading.prefer for reading in result.readings].index(prefer)
    assert scores.taken[:, place].tolist() == chosen
    seen = times > 0
    assert result.nll.value == pytest.approx((total[seen] / times[seen]).mean(), abs=1e-11)
    assert result.nll.lo <= result.nll.value <= result.nll.hi
    shares = [c.chosen_share for c in result.candidates]
    assert sum(shares) == pytest.approx(1.0)
    assert result.optimism == pytest.approx(result.nll.value - result.chosen_on)


def test_a_large_run_adds_to_one_set_of_sums_on_threads_with_the_same_bits(votes, monkeypatch):
    spec = spec_of(splits=5)
    wanted = run(RECOMMEND, votes, spec, jobs=1)
    monkeypatch.setattr(recommend, "_LARGE", 0)
    states = list(steps(RECOMMEND, votes, spec, jobs=2))
    assert len({state.partial.tally.item_sums.ctypes.data for state in states}) == 1
    assert to_plain(states[-1].result()) == to_plain(wanted)


def test_what_is_chosen_does_not_depend_on_evaluation_labels(votes, tally):
    ballots = prepare(votes, Settings()).ballots
    assert len(set(votes.item_ids)) == ballots.n_items
    for number in range(3):
        held = split(ballots.units, number).evaluation
        labels = votes.labels.copy()
        labels[held] = np.random.default_rng(number).permutation(labels[held])
        spoilt = replace(votes, labels=labels)
        chunk = replace(RECOMMEND.plan(spec_of())[0], first=number, count=1)
        totals = recommend.run_chunk(spoilt, spec_of(), chunk).tally
        np.testing.assert_array_equal(totals.chosen_on[0], tally.chosen_on[number])
        assert (totals.split_means[0, 0] != tally.split_means[number, 0]).any()


def test_random_judges_are_recommended_at_no_better_than_the_null():
    votes = make_votes(7, 120, 30, low=0.5, high=0.5)
    recommendation = run(RECOMMEND, votes, spec_of(), jobs=1)
    assert recommendation.nll.value > recommendation.null_nll - 0.02
    assert recommendation.optimism > -0.05


def test_the_panel_is_the_average_refitted_on_all_labelled_rows(votes, result):
    prepared = prepare(votes, Settings())
    models = [
        fit_panel(
            prepared.ballots,
            prepared.judges,
            member.k,
            aggregator=member.aggregator,
            calibrator=member.calibrator,
        )
        for member in result.members
    ]
    wanted = mixture_of(models, [member.weight for member in result.members])
    assert result.averages
    assert replace(result.model, fallback=None) == wanted
    assert result.model.n_fit == 80
    assert set(result.left_out) | set(result.model.judges) == set(votes.judges)
    assert {result.lowest, result.chosen} <= set(result.candidates)
    assert result.chosen is result.candidates[-1]
    assert result.lowest in result.tied


def test_joint_over_all_judges_is_recommended_where_judges_repeat_each_other():
    """Copies of weak judges drown the sum; seen jointly, they count once."""
    rng = np.random.default_rng(0)
    made = make_votes(2, 160, 8, low=0.62, high=0.8, missing=0.0)
    copies = np.concatenate([made.votes] + [made.votes[:, :2]] * 6, axis=1)
    noisy = np.where(rng.random(copies.shape) < 0.03, 1 - copies, copies).astype(np.int8)
    votes = replace(made, votes=noisy, judges=tuple(f"j{j:02d}" for j in range(20)))
    recommendation = run(RECOMMEND, votes, spec_of(splits=3), jobs=1)
    assert recommendation.model.main.aggregator == "joint"
    assert recommendation.nll.value < recommendation.reference.nll.value


def test_the_wide_list_holds_the_default_one_and_names_every_candidate_once():
    wide, default = (candidates_of(name, 12, symmetric=False).all() for name in ("wide", "default"))
    assert set(default) < set(wide)
    names = [(c.name, c.aggregator, c.calibrator) for c in wide]
    assert len(set(names)) == len(names)
    few = make_votes(3, 40, 4)
    recommendation = run(RECOMMEND, few, replace(spec_of(splits=2), candidates="wide"), jobs=1)
    listed = candidates_of("wide", 4, symmetric=False).all()
    assert len(recommendation.candidates) == len(listed) + 1


def test_the_reference_is_all_judges_with_one_coin_and_beta(result):
    reference = result.reference
    assert (reference.panel, reference.aggregator, reference.calibrator) == (
        "all",
        "one_coin",
        "beta",
    )
    assert tuple(reference.delta) == (0.0, 0.0, 0.0)
    assert result.delta.value == pytest.approx(result.nll.value - reference.nll.value, abs=1e-11)
    assert result.margin == pytest.approx(0.02 * reference.nll.value)


@pytest.mark.parametrize(("n_judges", "panels"), [(1, 1), (3, 3), (5, 3)])
def test_small_panels_have_no_candidate_twice(n_judges, panels):
    recommendation = run(RECOMMEND, make_votes(5, 40, n_judges), spec_of(splits=2), jobs=1)
    *candidates, average = recommendation.candidates
    joint = [c for c in candidates if c.aggregator == "joint"]
    of_everyone = 2 * 2  # Stacking and Dawid-Skene with labels, each under two calibrators.
    assert len(candidates) - len(joint) == panels * (2 * 4 + 2) + of_everyone
    assert {c.k for c in joint} == {k for k in (3, (n_judges + 1) // 2, n_judges) if k <= n_judges}
    assert average.panel == "average"
    keys = {(c.k, c.aggregator, c.calibrator) for c in recommendation.candidates}
    assert len(keys) == len(recommendation.candidates)
    assert (n_judges == 1) == any("only one judge" in notice for notice in recommendation.warnings)


def test_symmetric_has_no_platt_and_one_class_labels_get_no_flattering_figure():
    recommendation = run(RECOMMEND, make_votes(6, 80, 6, one_class=True), spec_of(), jobs=1)
    assert recommendation.orientation == "symmetric"
    assert "platt" not in {c.calibrator for c in recommendation.candidates}
    assert recommendation.null_nll == pytest.approx(np.log(2))
    assert recommendation.nll.value > 0.15


@pytest.fixture(scope="module")
def priced():
    return with_costs(make_votes(3, 80, 12), [1.0 + 0.25 * j for j in range(12)])


def with_costs(votes, costs):
    return replace(votes, judge_table=pd.DataFrame({"cost": costs}, index=list(votes.judges)))


@pytest.mark.parametrize("prefer", ["simplest", "fewest", "cheapest"])
def test_what_is_preferred_is_taken_among_the_tied(priced, prefer):
    recommendation = run(RECOMMEND, priced, replace(spec_of(splits=2), prefer=prefer), jobs=1)
    assert recommendation.chosen in recommendation.tied
    assert recommendation.lowest in recommendation.tied
    if prefer == "fewest":
        assert recommendation.chosen.k == min(candidate.k for candidate in recommendation.tied)
    if prefer == "cheapest":
        assert recommendation.cost == min(candidate.cost for candidate in recommendation.tied)
    assert recommendation.cost == pytest.approx(cost_of_judges(priced, recommendation.model.judges))


def cost_of_judges(votes, judges):
    return sum(votes.judge_table.loc[list(judges), "cost"])


def test_a_panel_keeps_within_its_budget_in_the_end_and_in_every_split():
    """Few judges: subsets within a budget are searched for again in every fold."""
    few = with_costs(make_votes(3, 60, 4), [1.0 + 0.25 * j for j in range(4)])
    spec = replace(spec_of(splits=2), budget=3.0)
    for progress in steps(RECOMMEND, few, spec, jobs=1):
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
def general(priced):
    return run(RECOMMEND, priced, spec_of(splits=2), jobs=1)


@pytest.mark.parametrize("prefer", [p for p in PREFERENCES if p != "robust"])
def test_a_preference_is_read_from_the_result_as_if_it_had_been_asked_for(priced, general, prefer):
    spec = spec_of(splits=2)
    asked = run(RECOMMEND, priced, replace(spec, prefer=prefer), jobs=1)
    read = preferring(priced, spec, general, prefer)
    assert read.prefer == prefer
    assert json.dumps(to_plain(with_absence(priced, spec, read))) == json.dumps(to_plain(asked))
    stored = from_plain(Recommendation, json.loads(json.dumps(to_plain(general))))
    again = preferring(priced, spec, stored, prefer)
    assert json.dumps(to_plain(again)) == json.dumps(to_plain(read))


@pytest.fixture(scope="module")
def related(votes):
    """The votes with families: two of two judges, and one that is not known."""
    families = ["a", "a", "b", "b"] + [""] * (len(votes.judges) - 4)
    table = pd.DataFrame({"family": families}, index=list(votes.judges))
    return replace(votes, judge_table=table)


def test_a_robust_panel_has_a_run_of_its_own_with_monotone_candidates(related):
    spec = replace(spec_of(splits=2), prefer="robust")
    result = run(RECOMMEND, related, spec, jobs=1)
    others = run(RECOMMEND, related, spec_of(splits=2), jobs=1)
    assert shared_run(spec) == spec
    assert result.prefer == "robust"
    assert result.chosen.panel == "average" or result.chosen in result.tied
    monotone = {row.aggregator for row in result.candidates} - {
        row.aggregator for row in others.candidates
    }
    assert monotone == {"joint_monotone", "stacking_monotone"}
    assert "robust" not in {reading.prefer for reading in others.readings}
    stored = from_plain(Recommendation, json.loads(json.dumps(to_plain(result))))
    assert to_plain(as_asked(related, spec, stored)) == to_plain(result)


@pytest.mark.parametrize("families", [None, ["a"] * 6, [""] * 6])
def test_a_robust_panel_needs_families_of_which_one_can_be_absent(votes, families):
    table = None
    if families is not None:
        names = (families * len(votes.judges))[: len(votes.judges)]
        table = pd.DataFrame({"family": names}, index=list(votes.judges))
    with pytest.raises(InputError, match=r"families of the judges are not known.*column `family`"):
        run(
            RECOMMEND,
            replace(votes, judge_table=table),
            replace(spec_of(splits=2), prefer="robust"),
            jobs=1,
        )


@pytest.mark.parametrize("prefer", ["single", "fewest"])
def test_the_heaviest_pipeline_is_the_same_under_every_preference(priced, general, prefer):
    read = preferring(priced, spec_of(splits=2), general, prefer)
    assert read.heaviest.name == general.members[0].name


def test_what_a_preference_does_not_take_is_not_measured_until_asked_for(priced, general):
    read = preferring(priced, spec_of(splits=2), general, "simplest")
    assert general.absence is not None
    assert read.absence is None
    assert read.model.fallback is None


def test_a_preference_that_the_costs_do_not_allow_cannot_be_read(votes, result):
    with pytest.raises(InputError, match="a cost for every judge"):
        preferring(votes, spec_of(), result, "cheapest")
    assert "cheapest" not in {reading.prefer for reading in result.readings}


def test_finished_splits_serve_every_preference(votes):
    chunk = RECOMMEND.plan(spec_of(splits=2))[0]
    first, other = (
        recommend.run_chunk(votes, replace(spec_of(splits=2), prefer=prefer), chunk)
        for prefer in ("nll", "fewest")
    )
    assert to_plain(first) == to_plain(other)


TAKEN = "top-3, one_coin, temperature"


@pytest.mark.parametrize("prefer", ["nll", "single"])
def test_another_candidate_is_taken_as_if_it_had_been_asked_for(priced, general, prefer):
    spec = replace(spec_of(splits=2), prefer=prefer, candidate=TAKEN)
    asked = run(RECOMMEND, priced, spec, jobs=1)
    read = with_absence(priced, spec, as_asked(priced, spec, general))
    assert json.dumps(to_plain(read)) == json.dumps(to_plain(asked))


def test_a_candidate_that_is_taken_has_its_own_figures_and_is_held_against_the_recommended(
    priced, general
):
    spec = replace(spec_of(splits=2), candidate=TAKEN)
    read = as_asked(priced, spec, general)
    (row,) = (row for row in general.candidates if row.name == TAKEN)
    assert read.chosen == row
    assert (read.nll, read.delta, read.cost) == (row.nll, row.delta, row.cost)
    assert read.recommended.name == general.chosen.name
    assert row.behind.value == pytest.approx(row.nll.value - read.recommended.nll.value, abs=1e-11)
    prepared = prepare(priced, Settings())
    fitted = fit_panel(
        prepared.ballots, prepared.judges, 3, aggregator="one_coin", calibrator="temperature"
    )
    assert read.model == mixture_of([fitted], [1.0])
    assert set(read.left_out) == set(priced.judges) - set(fitted.judges)


def test_a_panel_file_of_a_candidate_is_valid_and_says_that_it_was_picked(priced, general):
    spec = replace(spec_of(splits=2), candidate=TAKEN)
    read = with_absence(priced, spec, as_asked(priced, spec, general))
    content = load_panel(panel_json(export_panel(read, priced, spec, ()))).content
    assert content["spec"]["candidate"] == TAKEN
    assert content["judges"] == list(read.model.judges)
    assert content["figures"]["nll"] == float(read.chosen.nll.value)
    assert "picked among many candidates" in content["figures"]["note"]


def test_an_unknown_candidate_is_refused_with_names_that_are_near(votes):
    spec = replace(spec_of(splits=2), candidate="top-3, one-coin, temperature")
    with pytest.raises(InputError, match=r"no candidate has this name.*top-3, one_coin, temp"):
        run(RECOMMEND, votes, spec, jobs=1)


def test_a_candidate_beyond_the_budget_is_refused():
    few = with_costs(make_votes(3, 60, 4), [1.0 + 0.25 * j for j in range(4)])
    spec = replace(spec_of(splits=2), budget=3.0)
    result = run(RECOMMEND, few, spec, jobs=1)
    with pytest.raises(InputError, match="the candidate exceeds the budget"):
        as_asked(few, replace(spec, candidate="all, one_coin, beta"), result)


@pytest.mark.parametrize("option", [{"prefer": "cheapest"}, {"budget": 3.0}])
def test_costs_that_are_asked_for_and_not_known_are_missed_in_one_sentence(votes, option):
    with pytest.raises(InputError, match="a cost for every judge"):
        run(RECOMMEND, votes, replace(spec_of(splits=2), **option), jobs=1)


def test_a_budget_that_no_judge_keeps_within_names_the_cheapest(priced):
    with pytest.raises(InputError, match=r"no judge keeps within.*allowed: 1 or more"):
        run(RECOMMEND, priced, replace(spec_of(splits=2), budget=0.5), jobs=1)


def test_keeping_everyone_beyond_the_budget_is_refused(priced):
    spec = replace(spec_of(splits=2), prefer="everyone", budget=3.0)
    with pytest.raises(InputError, match=r"keeping everyone exceeds the budget.*raise the budget"):
        run(RECOMMEND, priced, spec, jobs=1)


def test_what_else_could_be_done_has_its_price(result):
    everyone, fewer = result.best(everyone=True), result.best(everyone=False)
    assert everyone.k == result.n_judges > fewer.k
    rows = [row for row in result.candidates if row.panel != "average"]
    lowest = min(float(row.nll.value) for row in rows)
    assert lowest == min(float(row.nll.value) for row in (everyone, fewer))


def test_the_runner_up_is_held_against_the_chosen_one(result):
    runner = result.runner_up
    assert runner != result.chosen
    assert runner.behind.value == pytest.approx(
        runner.nll.value - result.chosen.nll.value, abs=1e-11
    )
    assert runner.behind.lo <= runner.behind.value <= runner.behind.hi
    assert (result.chosen.behind.value, result.chosen.stands) == (0.0, "tie")
    assert (runner in result.undecided) == (runner.stands == "undecided")
    assert result.labels_to_settle >= result.n_items


def test_the_papers_protocol_is_refused():
    with pytest.raises(InputError, match="in-sample scores"):
        spec_of(protocol="paper")


@pytest.mark.parametrize(
    "options",
    [
        {"folds": 1},
        {"candidates": "magic"},
        {"prefer": "prettiest"},
        {"budget": 0.0},
        {"budget": float("nan")},
        {"conformal": 1.0},
    ],
)
def test_a_spec_without_folds_or_of_an_unknown_list_is_refused(options):
    with pytest.raises(InputError):
        RecommendSpec(**options)


def test_workers_move_no_bit():
    few, spec = make_votes(3, 60, 5), spec_of(splits=11)
    assert len(RECOMMEND.plan(spec)) > 2
    first, two = (run(RECOMMEND, few, spec, jobs=jobs) for jobs in (1, 2))
    assert json.dumps(to_plain(first)) == json.dumps(to_plain(two))
    other = run(RECOMMEND, few, spec_of(splits=2), jobs=1)
    assert json.dumps(to_plain(first)) != json.dumps(to_plain(other))


def test_the_order_of_the_judges_moves_no_bit(votes, result):
    shuffled = votes.with_judges(votes.judges[::-1])
    recommendation = run(RECOMMEND, shuffled, spec_of(), jobs=1)
    assert json.dumps(to_plain(recommendation)) == json.dumps(to_plain(result))


def test_a_recommendation_survives_json_to_the_last_digit(result):
    text = json.dumps(to_plain(result), allow_nan=False)
    back = from_plain(Recommendation, json.loads(text))
    assert to_plain(back) == to_plain(result)
    assert sorted(set(back.frame()["k"])) == [1, 3, 5, 6, 10, 12]
    closed, joint, of_everyone, average = 6 * (2 * 4 + 2), 5 * 2, 2 * 2, 1
    assert len(back.frame()) == closed + joint + of_everyone + average
