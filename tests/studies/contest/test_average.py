"""Weights of the average: Bayesian bootstrap over clusters, with a prior."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgepanel.kernels.aggregation import Graded
from judgepanel.scoring.metrics import item_scores
from judgepanel.studies.panel.recommended import (
    DRAWS,
    LEAD,
    LEAST,
    MEMBERS,
    average_losses,
    average_scores,
    average_weights,
    candidates_of,
)


def rng():
    return np.random.default_rng(0)


def weights_of(losses, units, prior):
    return average_weights(losses, units, prior[None], rng())[0]


def drawn_losses(seed, n_members, n):
    return np.random.default_rng(seed).uniform(0.05, 1.5, (n_members, n))


def by_hand(losses, units, prior):
    """One draw at a time, one member at a time, with the same random numbers."""
    source = rng()
    clusters = sorted(set(units.tolist()))
    drawn = source.standard_exponential((DRAWS, len(clusters)))
    weights = []
    for row in drawn:
        shares = dict(zip(clusters, row / row.sum() * len(clusters), strict=True))
        each = np.array([shares[unit] for unit in units])
        likelihood = [
            p * np.exp(-(each * loss).sum()) for p, loss in zip(prior, losses, strict=True)
        ]
        weights.append(np.array(likelihood) / sum(likelihood))
    mean = np.mean(weights, axis=0)
    mean[mean < LEAST] = 0.0
    return mean / mean.sum()


@given(st.integers(0, 99), st.integers(2, 5), st.booleans())
def test_weights_are_prior_times_likelihood_averaged_over_bootstraps(seed, n_members, grouped):
    losses = drawn_losses(seed, n_members, 24)
    units = np.arange(24) // (3 if grouped else 1)
    prior = np.random.default_rng(seed).dirichlet(np.ones(n_members))
    weights = weights_of(losses, units, prior)
    np.testing.assert_allclose(weights, by_hand(losses, units, prior), atol=1e-12)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights[weights > 0] >= LEAST).all()


def test_without_a_difference_the_prior_stands():
    losses = np.ones((3, 30))
    prior = np.array([0.7, 0.3, 0.0])
    weights = weights_of(losses, np.arange(30), prior)
    np.testing.assert_allclose(weights, prior, atol=1e-12)


def test_labels_outweigh_any_prior_in_the_end():
    losses = np.stack([np.full(3000, 0.5), np.full(3000, 0.45)])
    weights = weights_of(losses, np.arange(3000), np.array([0.99, 0.01]))
    assert weights.tolist() == [0.0, 1.0]


def test_weights_under_one_prior_do_not_depend_on_the_others():
    losses, units = drawn_losses(5, 4, 40), np.arange(40)
    priors = np.array([[0.7, 0.1, 0.1, 0.1], [0.0, 0.5, 0.0, 0.5]])
    together = average_weights(losses, units, priors, rng())
    for weights, prior in zip(together, priors, strict=True):
        np.testing.assert_allclose(weights, weights_of(losses, units, prior), atol=1e-12)
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
    np.testing.assert_allclose(weights_of(losses, units, prior), whole, atol=1e-12)


def test_the_nll_of_the_average_is_that_of_averaged_probabilities():
    losses = drawn_losses(2, 3, 50)
    weights = np.array([0.5, 0.0, 0.5])
    wanted = -np.log(0.5 * np.exp(-losses[0]) + 0.5 * np.exp(-losses[2]))
    np.testing.assert_allclose(average_losses(losses, weights), wanted, atol=1e-12)
    # A pool is never worse than its members on average (Jensen's inequality).
    assert wanted.mean() < 0.5 * (losses[0] + losses[2]).mean()


def test_an_average_of_one_is_that_one_to_the_bit():
    losses = drawn_losses(3, 3, 20)
    assert average_losses(losses, np.array([0.0, 1.0, 0.0])).tolist() == losses[1].tolist()


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
    scores = average_scores(items, weights, signs, symmetric=symmetric)
    for part in ("nll", "brier", "hit", "ece"):
        np.testing.assert_allclose(getattr(scores, part), getattr(wanted, part), atol=1e-9)
    assert scores.hit[0, :5].tolist() == ([0.5] * 5 if symmetric else (signs[:5] > 0).tolist())


@pytest.mark.parametrize("n_judges", [1, 2, 4, 12, 40])
@pytest.mark.parametrize("name", ["default", "wide"])
def test_the_prior_leads_with_joint_over_everyone_and_adds_up_to_one(name, n_judges):
    candidates = candidates_of(name, n_judges, symmetric=False)
    prior = candidates.prior()
    assert prior.sum() == pytest.approx(1.0)
    lead = candidates.all()[int(prior.argmax())]
    assert (lead.name, lead.aggregator, lead.calibrator) == ("all", "joint", "none")
    assert prior.max() == pytest.approx(LEAD)
    assert len(set(prior[(prior > 0.0) & (prior < prior.max())].round(12))) <= 1


def test_under_a_budget_joint_on_the_best_panel_within_it_leads_alone():
    candidates = candidates_of("default", 12, symmetric=False, budget=True)
    listed = candidates.all()
    within = np.array([candidate.curator == "budget" for candidate in listed])
    few = np.array([candidate.k <= 5 for candidate in listed])
    for allowed in (np.ones(len(listed), dtype=bool), within | few):
        prior = candidates.prior(allowed)
        assert prior.sum() == pytest.approx(1.0)
        assert prior.max() == pytest.approx(LEAD)
        lead = listed[int(prior.argmax())]
        assert (lead.curator, lead.aggregator, lead.calibrator) == ("budget", "joint", "none")
        assert not prior[~allowed].any()
        assert len(set(prior[(prior > 0.0) & (prior < LEAD)].round(12))) == 1
    assert not candidates.prior(np.zeros(len(listed), dtype=bool)).any()


@pytest.mark.parametrize("n_judges", [1, 4, 40])
def test_joint_on_votes_and_on_grades_share_the_lead(n_judges):
    candidates = candidates_of("default", n_judges, symmetric=False, graded=True)
    prior = candidates.prior()
    assert prior.sum() == pytest.approx(1.0)
    leads = np.flatnonzero(prior > prior.max() - 1e-12)
    listed = candidates.all()
    assert {(listed[i].name, listed[i].aggregator, listed[i].calibrator) for i in leads} == {
        ("all", "joint", "none"),
        ("all", "joint_graded", "none"),
    }
    assert prior.max() == pytest.approx(LEAD / 2.0)
    everyone = candidates.with_everyone(prior)[1]
    assert {listed[i].aggregator for i in np.flatnonzero(everyone)} == set(MEMBERS)


def test_members_are_everyone_and_the_better_half_under_several_pipelines_and_a_few_judges():
    candidates = candidates_of("default", 40, symmetric=False)
    members = {
        (candidate.aggregator, candidate.calibrator, candidate.k)
        for candidate, prior in zip(candidates.all(), candidates.prior(), strict=True)
        if prior > 0.0
    }
    everyone = {(*pipeline, k) for *pipeline, k in members if k == 40}
    assert {aggregator for aggregator, _, _ in everyone} == set(MEMBERS) - set(get_args(Graded))
    at_every_size = {"majority", "one_coin", "joint", "accuracy_weighted"}
    halves = {(*pipeline, 20) for *pipeline, _ in everyone if pipeline[0] in at_every_size}
    assert members - everyone - halves == {("one_coin", "temperature", k) for k in (3, 5, 10)}
    assert halves <= members
