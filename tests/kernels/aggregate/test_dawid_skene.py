"""Dawid-Skene kernels against plain loops; batches, sparse votes, invariances, no leaks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from judgepanel.kernels import dawid_skene as em
from judgepanel.kernels import maps, prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.dawid_skene import Rules, dawid_skene, dawid_skene_semi, fit_many
from judgepanel.votes import InputError
from tests.helpers import make_ballots, make_votes, signed
from tests.kernels.aggregate.dawid_skene_oracle import plain_em

KERNELS = (dawid_skene, dawid_skene_semi)
FIELDS = ("pi1", "pi0", "ones", "zeros", "prior")


def panel_votes(seed=0, n_items=80, n_judges=6, missing=0.2):
    """Signed votes and labels of judges with skill."""
    made = make_votes(seed, n_items, n_judges, missing=missing, low=0.6, high=0.9)
    return signed(made.votes), signed(made.labels)


def alone(votes, **options):
    return fit_many(votes, np.ones((votes.shape[1], 1), dtype=bool), **options)


def score(ballots, learn, rows, ks, run=dawid_skene):
    whole = prefixes.Fit(learn, rows, np.zeros(len(learn), dtype=np.int64))
    return run(ballots, [whole], ks, "accuracy")[0]


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("labelled", [0, 30])
@pytest.mark.parametrize("steps", [1, 7])
def test_every_step_is_that_of_a_plain_loop(symmetric, smoothing, labelled, steps):
    votes, labels = panel_votes(3, 60, 5)
    votes[7] = 0
    labels[labelled:] = 0
    result = alone(
        votes, labels=labels, rules=Rules(smoothing, symmetric=symmetric, max_iter=steps, tol=0)
    )
    pi1, pi0, prior, posterior = plain_em(
        votes.tolist(), labels.tolist(), smoothing=smoothing, symmetric=symmetric, steps=steps
    )
    assert_allclose(result.pi1[:, 0], pi1, rtol=0, atol=1e-9)
    assert_allclose(result.pi0[:, 0], pi0, rtol=0, atol=1e-9)
    assert maps.sigmoid(result.prior)[0] == pytest.approx(prior, abs=1e-9)
    assert_allclose(maps.sigmoid(result.logits(votes)[0]), posterior, rtol=0, atol=1e-9)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("block", [1, 80 * 5, 1 << 18])
def test_a_batch_is_its_problems_one_by_one(monkeypatch, symmetric, block):
    monkeypatch.setattr(em, "BLOCK", block)
    votes, labels = panel_votes(5, 80, 7)
    labels[40:] = 0
    panels = np.random.default_rng(0).random((7, 12)) < 0.6
    rules = Rules(symmetric=symmetric)
    for clamp in (None, labels):
        batch = fit_many(votes, panels, labels=clamp, rules=rules)
        for b in range(12):
            remaining = votes[:, panels[:, b]]
            entry = alone(remaining, labels=clamp, rules=rules)
            assert (entry.n_iter[0], entry.converged[0]) == (batch.n_iter[b], batch.converged[b])
            for name in FIELDS[:4]:
                got = getattr(batch, name)[panels[:, b], b]
                assert_allclose(got, getattr(entry, name)[:, 0], rtol=0, atol=1e-9)
            assert batch.prior[b] == pytest.approx(entry.prior[0], abs=1e-9)
    assert (batch.ones[~panels] == 0).all()
    assert (batch.pi1[~panels] == 0.5).all()


def test_a_problem_leaves_the_batch_when_it_has_converged():
    votes, _ = panel_votes(5, 80, 7)
    panels = np.arange(7)[:, None] < np.array([1, 3, 4, 7])
    fit = fit_many(votes, panels)
    assert len(set(fit.n_iter.tolist())) > 2
    assert fit.converged.all()
    assert not fit_many(votes, panels, rules=Rules(max_iter=2)).converged[1:].any()


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("labelled", [0, 60])
def test_sparse_votes_are_dense_votes(monkeypatch, symmetric, labelled):
    votes, labels = panel_votes(6, 300, 40, missing=0.93)
    labels[labelled:] = 0
    panels = np.arange(40)[:, None] < np.array([10, 25, 40])
    rules = Rules(symmetric=symmetric)
    sparse = fit_many(votes, panels, labels=labels, rules=rules)
    scored = sparse.logits(votes)
    assert not isinstance(em.design_of(votes, tied=False), np.ndarray)
    monkeypatch.setattr(em, "SPARSE_BELOW", 0.0)
    assert isinstance(em.design_of(votes, tied=False), np.ndarray)
    dense = fit_many(votes, panels, labels=labels, rules=rules)
    for name in FIELDS:
        assert_allclose(getattr(sparse, name), getattr(dense, name), rtol=0, atol=1e-9)
    assert_allclose(scored, dense.logits(votes), rtol=0, atol=1e-9)


@given(seed=st.integers(0, 10_000), symmetric=st.booleans(), labelled=st.sampled_from([0, 20]))
def test_the_order_of_judges_and_items_does_not_matter(seed, symmetric, labelled):
    votes, labels = panel_votes(seed, 40, 6)
    labels[labelled:] = 0
    rng = np.random.default_rng(seed)
    judges, items = rng.permutation(6), rng.permutation(40)
    rules = Rules(symmetric=symmetric, max_iter=30)
    result = alone(votes, labels=labels, rules=rules)
    moved = alone(votes[items][:, judges], labels=labels[items], rules=rules)
    assert_allclose(moved.pi1, result.pi1[judges], rtol=0, atol=1e-8)
    assert_allclose(moved.pi0, result.pi0[judges], rtol=0, atol=1e-8)
    assert_allclose(moved.logits(votes[:, judges]), result.logits(votes), rtol=0, atol=1e-7)


@given(seed=st.integers(0, 10_000), missing=st.sampled_from([0.0, 0.3, 0.95]))
@pytest.mark.parametrize("run", KERNELS)
def test_under_symmetric_swapping_items_changes_signs_and_no_other_bit(run, seed, missing):
    ballots = make_ballots(seed, 40, 6, missing=missing, symmetric=True)
    more = make_ballots(seed + 1, 15, 6, missing=missing).votes
    flip = np.where(np.random.default_rng(seed).random(55) < 0.5, -1, 1).astype(np.int8)
    votes, signs = ballots.votes * flip[:40, None], ballots.signs * flip[:40]
    swapped = Ballots(votes, signs, ballots.units, True, more * flip[40:, None])
    learn, rest, ks = np.arange(25), np.arange(25, 40), np.array([1, 2, 3, 6])
    result = score(replace(ballots, unlabelled=more), learn, rest, ks, run)
    assert_array_equal(score(swapped, learn, rest, ks, run), result * flip[25:40])


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_renaming_both_classes_mirrors_the_fit(smoothing):
    votes, _ = panel_votes(8, 60, 5)
    rules = Rules(smoothing)
    result, mirrored = alone(votes, rules=rules), alone(-votes, rules=rules)
    assert_allclose(mirrored.pi1, 1 - result.pi0, rtol=0, atol=1e-9)
    assert_allclose(mirrored.logits(-votes), -result.logits(votes), rtol=0, atol=1e-6)


@pytest.mark.parametrize("run", KERNELS)
def test_a_panel_of_a_kernel_is_a_fit_of_its_ranked_judges(run):
    ballots = replace(make_ballots(9, 70, 6), unlabelled=make_ballots(10, 20, 6).votes)
    learn, rest, ks = np.arange(40), np.arange(40, 70), np.array([1, 2, 4, 6])
    result = score(ballots, learn, rest, ks, run)
    order = prefixes.rank(ballots, learn)
    labels = np.zeros(60, dtype=np.int8)
    if run is dawid_skene_semi:
        labels[:40] = ballots.signs[:40]
    for row, k in zip(result, ks, strict=True):
        votes = np.concatenate([ballots.votes[learn], ballots.unlabelled])[:, order[:k]]
        held = ballots.votes[rest][:, order[:k]]
        wanted = alone(votes, labels=labels).logits(held)[0]
        wanted[(held == 0).all(axis=1)] = 0.0
        assert_allclose(row, wanted, rtol=0, atol=1e-8)


def test_clamped_symmetric_dawid_skene_is_one_coin():
    ballots = make_ballots(16, 60, 6, symmetric=True)
    votes, signs = ballots.votes.astype(float), ballots.signs.astype(float)
    right, wrong = (votes == signs[:, None]).sum(0), (votes == -signs[:, None]).sum(0)
    result = alone(ballots.votes, labels=ballots.signs, rules=Rules(symmetric=True))
    assert_allclose(result.ones[:, 0], np.log((right + 1) / (wrong + 1)), rtol=0, atol=1e-12)
    assert result.n_iter[0] == 1


def test_most_judges_anti_experts_mirror_the_unsupervised_form_and_not_the_semi_supervised():
    votes, labels = panel_votes(17, 300, 9, missing=0.0)
    votes[:, 2:] *= -1
    labels[200:] = 0
    truth = panel_votes(17, 300, 9, missing=0.0)[1]
    blind = alone(votes).logits(votes)[0]
    guided = alone(votes, labels=labels).logits(votes)[0]
    assert np.mean(np.sign(blind) == truth) < 0.1
    assert np.mean(np.sign(guided[200:]) == truth[200:]) > 0.9


def test_fewer_than_three_judges_without_labels_stop_after_one_step():
    votes, labels = panel_votes(18, 50, 3)
    panels = np.arange(3)[:, None] < np.array([1, 2, 3])
    fit = fit_many(votes, panels)
    assert fit.n_iter[:2].tolist() == [1, 1]
    assert fit.n_iter[2] > 1
    labels[25:] = 0
    assert (fit_many(votes, panels, labels=labels).n_iter > 1).all()


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 1.0])
@pytest.mark.parametrize("labelled", [0, 20, 60])
def test_odd_judges_and_empty_rows_give_finite_logits(symmetric, smoothing, labelled):
    votes, labels = panel_votes(19, 60, 9)
    truth = labels.copy()
    votes[:, 0], votes[:, 1], votes[:, 2], votes[:, 3], votes[:, 4] = truth, -truth, 1, -1, 0
    votes[:5] = 0
    labels[labelled:] = 0
    result = alone(votes, labels=labels, rules=Rules(smoothing, symmetric=symmetric))
    logits = result.logits(np.concatenate([votes, -votes]))
    for values in (*(getattr(result, name) for name in FIELDS), logits):
        assert np.isfinite(values).all()
    assert result.pi1[0, 0] > 0.9
    assert result.pi1[1, 0] < 0.1
    assert ((result.pi1 > 0) & (result.pi1 < 1)).all() or smoothing == 0
    assert result.ones[4, 0] == result.zeros[4, 0] == 0.0  # nobody knows the judge without votes


@pytest.mark.parametrize("run", KERNELS)
@pytest.mark.parametrize("symmetric", [False, True])
def test_one_class_and_silent_folds_give_finite_logits(run, symmetric):
    ballots = make_ballots(20, 40, 5, symmetric=symmetric)
    ballots = replace(ballots, signs=np.ones(40, dtype=np.int8))
    silent = replace(ballots, votes=np.zeros((40, 5), dtype=np.int8))
    learn, rest, ks = np.arange(20), np.arange(20, 40), np.array([1, 5])
    assert np.isfinite(score(ballots, learn, rest, ks, run)).all()
    assert (score(silent, learn, rest, ks, run) == 0).all()


def test_simulated_error_rates_are_found():
    rng = np.random.default_rng(22)
    n, pi1, pi0 = 20_000, rng.uniform(0.6, 0.95, 8), rng.uniform(0.05, 0.5, 8)
    label = rng.random(n) < 0.3
    votes = np.where(rng.random((n, 8)) < np.where(label[:, None], pi1, pi0), 1, -1)
    result = alone(votes.astype(np.int8))
    assert_allclose(result.pi1[:, 0], pi1, rtol=0, atol=0.02)
    assert_allclose(result.pi0[:, 0], pi0, rtol=0, atol=0.02)
    assert maps.sigmoid(result.prior)[0] == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize(
    "wrong", [{"smoothing": -1}, {"smoothing": float("nan")}, {"max_iter": 0}, {"tol": -1e-9}]
)
def test_rules_out_of_range_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=name):
        Rules(**wrong)
