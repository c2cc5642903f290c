"""The recommended average in other studies has the recommendation's scores."""

from dataclasses import replace
from threading import Lock
from typing import get_args
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.kernels import aggregation, prefixes, threads
from judgepanel.kernels.ballots import Ballots
from judgepanel.models.panel import fit_panel
from judgepanel.scoring.metrics import item_scores
from judgepanel.scoring.splits import folds, split
from judgepanel.studies.common import splits_of
from judgepanel.studies.contract import Chunk, Settings, prepare
from judgepanel.studies.panel import recommended
from judgepanel.studies.panel.curator import JudgeAttributes, Rules, rows_of
from judgepanel.studies.panel.recommended import compete
from judgepanel.studies.runner import run
from judgepanel.studies.trust.probabilities import CALIBRATED
from judgepanel.studies.trust.reliability import RELIABILITY, ReliabilitySpec
from tests.helpers import make_ballots, make_votes

SETTINGS = Settings(splits=3, seed=5)


VOTES = make_votes(4, 90, 6)


def test_confidence_has_the_nll_that_the_recommendation_expects():
    reliability = run(RELIABILITY, VOTES, ReliabilitySpec(SETTINGS, aggregator="average"), jobs=1)
    recommendation = run(RECOMMEND, VOTES, RecommendSpec(SETTINGS), jobs=1)
    assert recommendation.averages
    assert_allclose(reliability.nll[CALIBRATED].value, recommendation.nll.value, rtol=1e-9)


def test_what_the_recommendation_remembers_is_what_would_be_computed():
    run(RECOMMEND, VOTES, RecommendSpec(SETTINGS), jobs=1)
    splits = list(splits_of(prepare(VOTES, SETTINGS), SETTINGS, Chunk(0, 0, SETTINGS.splits)))
    kept = recommended.remembered(VOTES, SETTINGS, range(SETTINGS.splits))
    threads.SHARED.clear()
    for drawn, old in zip(splits, kept.values(), strict=True):
        new = recommended.recommended(VOTES, SETTINGS, drawn)
        assert_array_equal(new.logits, old.logits)
        assert (new.null, new.null_nll) == (old.null, old.null_nll)


@pytest.mark.parametrize("other", [{"folds": 3}, {"candidates": "wide"}, {"conformal": 0.2}])
def test_a_recommendation_on_other_terms_is_not_taken_for_the_default(other):
    settings = replace(SETTINGS, splits=2)
    run(RECOMMEND, VOTES, RecommendSpec(settings, **other), jobs=1)
    assert not recommended.remembered(VOTES, settings, range(2))


def test_members_alone_make_the_same_average():
    for drawn in splits_of(prepare(VOTES, SETTINGS), SETTINGS, Chunk(0, 0, SETTINGS.splits)):
        whole_panel = recommended.recommended(VOTES, SETTINGS, drawn)
        members = recommended.recommended_on(VOTES, SETTINGS, drawn)
        assert_allclose(members.logits, whole_panel.logits, rtol=1e-9)
    assert len(recommended.remembered(VOTES, SETTINGS, range(SETTINGS.splits))) == SETTINGS.splits


NEEDS_NO_FIT = Settings(splits=5, seed=6)


PATCHING = Lock()  # Two threads that patch at once would each undo to the other's patch.


def fits_nothing(votes, spec, chunk):
    """The chunk, where whatever is cross-fitted is in memory."""
    with PATCHING, pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefixes, "cross_fitted", Mock(side_effect=AssertionError))
        return RELIABILITY.run_chunk(votes, spec, chunk)


@pytest.mark.parametrize(("before", "after"), [("loky", "threading"), ("threading", "loky")])
def test_fits_of_the_recommendation_serve_other_studies_in_whichever_process(before, after):
    spec = ReliabilitySpec(NEEDS_NO_FIT, aggregator="joint", calibrator="temperature", panel=5)
    alone = run(RELIABILITY, VOTES, spec, jobs=1)
    threads.SHARED.clear()
    run(RECOMMEND, VOTES, RecommendSpec(NEEDS_NO_FIT), jobs=2, backend=before)
    study = replace(RELIABILITY, run_chunk=fits_nothing, chunk=1)
    shared = run(study, VOTES, spec, jobs=2, backend=after)
    pd.testing.assert_frame_equal(shared.frame(), alone.frame(), check_exact=True)


def test_an_average_of_the_same_judges_and_rows_is_computed_once(monkeypatch):
    ballots = prepare(VOTES, SETTINGS).ballots
    splits = list(splits_of(prepare(VOTES, SETTINGS), SETTINGS, Chunk(0, 0, 2)))
    contests = []

    def counted(given, *rest):
        contests.append(given.n_judges)
        return compete(given, *rest)

    monkeypatch.setattr(recommended, "compete", counted)
    for panel in (ballots, replace(ballots), ballots.of_judges([0, 1, 2])):
        for drawn in splits:
            recommended.average_on(panel, drawn, SETTINGS.seed)
    assert contests == [6, 6, 3, 3]


def rng():
    return np.random.default_rng(0)


def weights_of(losses, units, prior):
    return recommended.average_weights(losses, units, prior[None], rng())[0]


def drawn_losses(seed, n_members, n):
    return np.random.default_rng(seed).uniform(0.05, 1.5, (n_members, n))


def by_hand(losses, units, prior):
    """One draw at a time, one member at a time, with the same random numbers."""
    source = rng()
    clusters = sorted(set(units.tolist()))
    drawn = source.standard_exponential((recommended.DRAWS, len(clusters)))
    weights = []
    for row in drawn:
        shares = dict(zip(clusters, row / row.sum() * len(clusters), strict=True))
        each = np.array([shares[unit] for unit in units])
        likelihood = prior * [np.exp(-(each * loss).sum()) for loss in losses]
        weights.append(likelihood / likelihood.sum())
    mean = np.mean(weights, axis=0)
    mean[mean < recommended.LEAST] = 0.0
    return mean / mean.sum()


@given(st.integers(0, 99), st.integers(2, 5), st.booleans())
def test_weights_are_prior_times_likelihood_averaged_over_bootstraps(seed, n_members, grouped):
    losses = drawn_losses(seed, n_members, 24)
    units = np.arange(24) // (3 if grouped else 1)
    prior = np.random.default_rng(seed).dirichlet(np.ones(n_members))
    weights = weights_of(losses, units, prior)
    assert_allclose(weights, by_hand(losses, units, prior), atol=1e-12)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights[weights > 0] >= recommended.LEAST).all()


def test_weights_under_one_prior_do_not_depend_on_the_others():
    losses, units = drawn_losses(5, 4, 40), np.arange(40)
    priors = np.array([[0.7, 0.1, 0.1, 0.1], [0.0, 0.5, 0.0, 0.5]])
    together = recommended.average_weights(losses, units, priors, rng())
    for weights, prior in zip(together, priors, strict=True):
        assert_allclose(weights, weights_of(losses, units, prior), atol=1e-12)
    assert together[1, [0, 2]].tolist() == [0.0, 0.0]


def test_items_of_one_group_are_drawn_together():
    """Groups say less than as many items: their weights are less sure."""
    of_groups = 0.1 * np.array([-1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    losses = 1.0 + np.stack([np.zeros(400), np.repeat(of_groups, 40)])
    prior = np.array([0.5, 0.5])
    alone = weights_of(losses, np.arange(400), prior)
    together = weights_of(losses, np.arange(400) // 40, prior)
    assert alone[0] > 0.98
    assert 0.5 < together[0] < 0.9


def test_many_clusters_are_drawn_in_blocks_of_the_same_stream(monkeypatch):
    losses, units, prior = drawn_losses(1, 3, 60), np.arange(60), np.full(3, 1 / 3)
    whole = weights_of(losses, units, prior)
    monkeypatch.setattr("judgepanel.studies.panel.recommended._CELLS", 7 * 60)
    assert_allclose(weights_of(losses, units, prior), whole, atol=1e-12)


def test_the_nll_of_the_average_is_that_of_averaged_probabilities():
    losses = drawn_losses(2, 3, 50)
    weights = np.array([0.5, 0.0, 0.5])
    wanted = -np.log(0.5 * np.exp(-losses[0]) + 0.5 * np.exp(-losses[2]))
    assert_allclose(recommended.average_losses(losses, weights), wanted, atol=1e-12)
    # A pool is never worse than its members on average (Jensen's inequality).
    assert wanted.mean() < 0.5 * (losses[0] + losses[2]).mean()


def test_an_average_of_one_is_that_one_to_the_bit():
    losses = drawn_losses(3, 3, 20)
    alone = recommended.average_losses(losses, np.array([0.0, 1.0, 0.0]))
    assert alone.tolist() == losses[1].tolist()


@pytest.mark.parametrize("symmetric", [False, True])
def test_scores_of_the_average_are_those_of_its_probabilities(symmetric):
    source = np.random.default_rng(4)
    logits = source.normal(0.0, 2.0, (3, 80))
    logits[:, :5] = 0.0
    signs = np.where(source.random(80) < 0.5, 1.0, -1.0)
    items = item_scores(logits, signs, symmetric=symmetric)
    weights = np.array([0.2, 0.3, 0.5])
    p = weights @ (1.0 / (1.0 + np.exp(-logits)))
    wanted = item_scores((np.log(p) - np.log1p(-p))[None], signs, symmetric=symmetric)
    scores = recommended.average_scores(items, weights, signs, symmetric=symmetric)
    for part in ("nll", "brier", "hit", "ece"):
        assert_allclose(getattr(scores, part), getattr(wanted, part), atol=1e-9)
    assert scores.hit[0, :5].tolist() == ([0.5] * 5 if symmetric else (signs[:5] > 0).tolist())


@pytest.mark.parametrize("n_judges", [1, 2, 4, 12, 40])
@pytest.mark.parametrize("name", ["default", "wide"])
def test_the_prior_leads_with_joint_over_everyone_and_adds_up_to_one(name, n_judges):
    candidates = recommended.candidates_of(name, n_judges, symmetric=False)
    prior = candidates.prior()
    assert prior.sum() == pytest.approx(1.0)
    lead = candidates.all()[int(prior.argmax())]
    assert (lead.name, lead.aggregator, lead.calibrator) == ("all", "joint", "none")
    assert prior.max() == pytest.approx(recommended.LEAD)
    assert len(set(prior[(prior > 0.0) & (prior < prior.max())].round(12))) <= 1


def test_under_a_budget_joint_on_the_best_panel_within_it_leads_alone():
    candidates = recommended.candidates_of("default", 12, symmetric=False, budget=True)
    listed = candidates.all()
    within = np.array([candidate.curator == "budget" for candidate in listed])
    few = np.array([candidate.k <= 5 for candidate in listed])
    for allowed in (np.ones(len(listed), dtype=bool), within | few):
        prior = candidates.prior(allowed)
        assert (prior.sum(), prior.max()) == (pytest.approx(1.0), pytest.approx(recommended.LEAD))
        lead = listed[int(prior.argmax())]
        assert (lead.curator, lead.aggregator, lead.calibrator) == ("budget", "joint", "none")
        assert not prior[~allowed].any()
        assert len(set(prior[(prior > 0.0) & (prior < recommended.LEAD)].round(12))) == 1
    assert not candidates.prior(np.zeros(len(listed), dtype=bool)).any()


@pytest.mark.parametrize("n_judges", [1, 4, 40])
def test_joint_on_votes_and_on_grades_share_the_lead(n_judges):
    candidates = recommended.candidates_of("default", n_judges, symmetric=False, graded=True)
    prior = candidates.prior()
    assert prior.sum() == pytest.approx(1.0)
    leads = np.flatnonzero(prior > prior.max() - 1e-12)
    listed = candidates.all()
    pipelines = {(listed[i].name, listed[i].aggregator, listed[i].calibrator) for i in leads}
    assert pipelines == {("all", name, "none") for name in ("joint", "joint_graded")}
    assert prior.max() == pytest.approx(recommended.LEAD / 2.0)
    whole_panel = candidates.with_all_judges(prior)[1]
    assert {listed[i].aggregator for i in np.flatnonzero(whole_panel)} == set(recommended.MEMBERS)


def test_members_are_everyone_and_the_better_half_under_several_pipelines_and_a_few_judges():
    candidates = recommended.candidates_of("default", 40, symmetric=False)
    members = {
        (candidate.aggregator, candidate.calibrator, candidate.k)
        for candidate, prior in zip(candidates.all(), candidates.prior(), strict=True)
        if prior > 0.0
    }
    whole_panel = {(*pipeline, k) for *pipeline, k in members if k == 40}
    on_votes = set(recommended.MEMBERS) - set(get_args(aggregation.Graded))
    assert {aggregator for aggregator, _, _ in whole_panel} == on_votes
    at_every_size = {"majority", "one_coin", "joint", "accuracy_weighted"}
    halves = {(*pipeline, 20) for *pipeline, _ in whole_panel if pipeline[0] in at_every_size}
    assert members - whole_panel - halves == {("one_coin", "temperature", k) for k in (3, 5, 10)}
    assert halves <= members


@pytest.mark.parametrize(
    ("n_judges", "wanted"),
    [
        (1, [("all", 1)]),
        (2, [("top-1", 1), ("all", 2)]),
        (3, [("top-1", 1), ("top half (2)", 2), ("all", 3)]),
        (5, [("top-1", 1), ("top-3", 3), ("all", 5)]),
        (20, [("top-1", 1), ("top-3", 3), ("top-5", 5), ("top-10", 10), ("all", 20)]),
        (
            50,
            [
                ("top-1", 1),
                ("top-3", 3),
                ("top-5", 5),
                ("top-10", 10),
                ("top-20", 20),
                ("top half (25)", 25),
                ("all", 50),
            ],
        ),
    ],
)
def test_a_panel_size_is_a_candidate_once(n_judges, wanted):
    assert list(recommended.panels(n_judges)) == wanted


@pytest.mark.parametrize("name", recommended.LISTS)
def test_symmetric_drops_platt_which_temperature_equals(name):
    as_given, symmetric = (
        recommended.candidates_of(name, 5, symmetric=flag).all() for flag in (False, True)
    )
    assert [c for c in as_given if c.calibrator != "platt"] == list(symmetric)
    assert len(as_given) > len(symmetric)


@pytest.mark.parametrize("n_judges", [1, 2, 5, 40])
@pytest.mark.parametrize("name", recommended.LISTS)
def test_no_list_has_a_panel_larger_than_the_judges(name, n_judges):
    candidates = recommended.candidates_of(name, n_judges, symmetric=False).all()
    assert {c.k for c in candidates if c.curator is None} <= set(range(1, n_judges + 1))
    assert ("all", "one_coin", "beta") in {(c.name, c.aggregator, c.calibrator) for c in candidates}


@pytest.mark.parametrize("name", recommended.LISTS)
def test_grades_add_panels_of_everyone_that_read_them(name):
    votes, grades = (
        recommended.candidates_of(name, 9, symmetric=False, graded=flag).all()
        for flag in (False, True)
    )
    assert grades[: len(votes)] == votes
    added = grades[len(votes) :]
    assert {c.aggregator for c in added} == {"one_coin_graded", "joint_graded"}
    assert {(c.name, c.k) for c in added} == {("all", 9)}


def test_a_budget_adds_panels_that_are_chosen_to_keep_within_it():
    without, within = (
        recommended.candidates_of("default", 9, symmetric=True, budget=b) for b in (False, True)
    )
    added = set(within.all()) - set(without.all())
    assert {c.curator for c in added} == {"budget"}
    assert {c.aggregator for c in added} == {"one_coin", "joint"}


def terms(n_judges=6, n_folds=4, seed=0):
    return recommended.ChoiceSettings(
        n_folds, seed, JudgeAttributes(("",) * n_judges, None), Rules(seed=seed)
    )


def score(ballots, drawn, choices):
    return compete(ballots, drawn, choices, terms(ballots.n_judges))


ODD = recommended.Candidates(
    (
        recommended.Family("one_coin", recommended.panels(6), ("none", "beta")),
        recommended.Curation("above_chance", "one_coin", ("temperature",)),
        recommended.Curation("forward", "joint", ("none", "temperature")),
    )
)


def test_scores_are_in_the_order_of_the_candidates():
    ballots = make_ballots(1, 60, 6)
    choices = recommended.candidates_of("default", 6, symmetric=False)
    drawn = split(ballots.units, 0)
    together = score(ballots, drawn, choices)
    for position, candidate in enumerate(choices.all()):
        family = recommended.Family(
            candidate.aggregator, ((candidate.name, candidate.k),), (candidate.calibrator,)
        )
        alone = score(ballots, drawn, recommended.Candidates((family,)))
        assert_allclose(together.items.nll[position], alone.items.nll[0], atol=1e-10)
        assert_allclose(together.standing.losses[position], alone.standing.losses[0], atol=1e-10)
        assert together.standing.panels[position].sum() == candidate.k
    assert choices.all()[0] == recommended.Candidate("top-1", 1, "majority", "none")


def test_absent_families_are_missing_votes_of_rows_that_nothing_was_fitted_to():
    ballots, groups = make_ballots(4, 60, 6), ((0, 1), (4,))
    margins = np.random.default_rng(4).choice([0.5, 1.0, 2.0], ballots.votes.shape)
    ballots = replace(ballots, margins=margins * (ballots.votes != 0))
    choices = recommended.Candidates(
        (
            recommended.Family("one_coin", recommended.panels(6), ("none", "beta")),
            recommended.Family("joint_monotone", (("all", 6),), ("temperature",)),
            recommended.Family("one_coin_graded", (("all", 6),), ("none",)),
            recommended.Family("joint_graded", (("all", 6),), ("none",)),
            recommended.Curation("above_chance", "one_coin", ("temperature",)),
        )
    )
    rows = np.arange(0, 60, 2)
    result = recommended.absent_losses(ballots, rows, choices, terms(), groups, (3, 1))
    halves = folds(ballots.units, rows, 2, seed=0, key=(3, 1, 71))
    wanted = []
    for half in halves:
        for columns in groups:
            votes = ballots.votes.copy()
            votes[np.ix_(half.evaluation, columns)] = 0
            without = replace(ballots, votes=votes, unlabelled=None)
            wanted.append(score(without, half, choices).items.nll)
    assert_allclose(result, np.concatenate(wanted, axis=1), atol=1e-10)


def test_absent_families_are_measured_on_so_many_rows_whatever_their_number():
    ballots = make_ballots(4, 8_000, 3)
    one = recommended.Candidates(
        (recommended.Family("one_coin", recommended.panels(3), ("none",)),)
    )
    counted = [
        recommended.absent_losses(ballots, np.arange(8_000), one, terms(3), groups, (0, 1)).shape[1]
        for groups in (((0,),), ((0,), (1,), (2,)), ((0,),) * 200)
    ]
    assert counted == [8_000, 12_000, 20_000]


def corrupted(ballots, rows):
    """The same ballots with labels and votes of these rows reversed and shuffled."""
    votes, signs = ballots.votes.copy(), ballots.signs.copy()
    signs[rows] *= -1
    votes[rows] = votes[rows][::-1]
    return Ballots(votes, signs, ballots.units, ballots.symmetric)


@pytest.mark.parametrize("choices", [recommended.candidates_of("default", 6, symmetric=False), ODD])
def test_what_the_choice_sees_never_knows_other_rows(choices):
    ballots = make_ballots(2, 60, 6)
    drawn = split(ballots.units, 3)
    entry = score(ballots, drawn, choices).standing
    other = score(corrupted(ballots, drawn.evaluation), drawn, choices).standing
    assert_array_equal(entry.losses, other.losses)
    assert_array_equal(entry.panels, other.panels)
    spoilt = score(corrupted(ballots, drawn.calibration[:9]), drawn, choices).standing
    assert (entry.losses != spoilt.losses).any()


@pytest.mark.parametrize("family", [ODD.families[0], ODD.families[1]])
def test_losses_are_those_of_inner_folds_fitted_on_the_other_folds(family):
    ballots = make_ballots(4, 50, 6)
    rows = np.arange(0, 50, 2)
    choices = recommended.Candidates((family,))
    standing = recommended.stand(ballots, rows, choices, terms(n_folds=5, seed=1), (0, 1))
    for inner in folds(ballots.units, rows, 5, seed=1, key=(0, 1)):
        held = compete(ballots, inner, choices, terms(n_folds=5, seed=1)).items.nll
        own = np.isin(rows, inner.evaluation)
        assert_allclose(standing.losses[:, own], held, atol=1e-14)


def test_a_curated_candidate_is_the_panel_of_its_curator():
    ballots = make_ballots(5, 120, 6)
    drawn = split(ballots.units, 0)
    result = score(ballots, drawn, ODD).standing
    rows = ballots.votes[drawn.calibration] * ballots.signs[drawn.calibration, None]
    above = (rows > 0).sum(axis=0) >= (rows < 0).sum(axis=0)
    position = [c.curator for c in ODD.all()].index("above_chance")
    assert_array_equal(result.panels[position], above)


def test_the_final_panel_has_the_judges_that_stood():
    ballots = make_ballots(6, 80, 6)
    names = tuple("abcdef")
    standing = recommended.stand(ballots, np.arange(80), ODD, terms(), recommended.FINAL)
    for candidate, panel in zip(ODD.all(), standing.panels, strict=True):
        (model,) = recommended.final_members(ballots, names, [candidate], terms())
        assert set(model.judges) == {
            name for name, remaining in zip(names, panel, strict=True) if remaining
        }
        assert (model.aggregator, model.calibrator) == (candidate.aggregator, candidate.calibrator)
        if candidate.curator is None:
            of = {"aggregator": candidate.aggregator, "calibrator": candidate.calibrator}
            assert model == fit_panel(ballots, names, candidate.k, **of)


@pytest.mark.parametrize("aggregator", ["joint", "stacking", "one_coin"])
def test_candidates_that_share_a_rule_are_fitted_together_as_each_alone(aggregator):
    ballots, names = make_ballots(7, 60, 4, missing=0.2), tuple("abcd")
    pair = [recommended.Candidate("all", 4, aggregator, name) for name in ("none", "temperature")]
    together = recommended.final_members(ballots, names, pair, terms())
    assert together == [
        recommended.final_members(ballots, names, [one], terms())[0] for one in pair
    ]


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_panel_that_is_taken_away_scores_as_the_one_that_competed(symmetric):
    """Not a pipeline that only shares its name: votes whose patterns say more than their sum."""
    rng = np.random.default_rng(0)
    first, second = rng.choice([-1, 1], (2, 160))
    votes = np.stack([first, second, first * second * 0 + rng.choice([-1, 1], 160)], axis=1)
    signs = (first * second).astype(np.int8)
    ballots = Ballots(votes.astype(np.int8), signs, np.arange(160), symmetric)
    drawn = split(ballots.units, 0)
    choices = recommended.candidates_of("wide", 3, symmetric=symmetric)
    rules = recommended.ChoiceSettings(4, 0, JudgeAttributes(("",) * 3, None), Rules(tables=False))
    held = compete(ballots, drawn, choices, rules)
    rows = rows_of(ballots, drawn.calibration)
    seen = np.where(ballots.votes == 0, -1, (ballots.votes + 1) // 2)[drawn.evaluation]
    right = ballots.signs[drawn.evaluation] > 0
    for position, candidate in enumerate(choices.all()):
        (model,) = recommended.final_members(rows, ("a", "b", "c"), [candidate], rules)
        columns = ["abc".index(name) for name in model.judges]
        p = model.score(seen[:, columns].astype(np.int8))
        nll = -np.log(np.where(right, p, 1.0 - p)).mean()
        assert nll == pytest.approx(held.items.nll[position].mean(), abs=0.05), candidate
