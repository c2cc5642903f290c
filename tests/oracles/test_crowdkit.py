"""Dawid-Skene against crowd-kit, on simulated and on real votes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import DawidSkene as CrowdKit

from judgepanel.kernels.dawid_skene import Rules, fit_many
from judgepanel.kernels.maps import sigmoid
from judgepanel.votes import MISSING
from judgepanel.votes.load import load_votes
from tests.helpers import larger, make_votes, signed


def crowd_kit(votes, *, n_iter=100, tol=1e-5):
    """P(z = 1) of every item, and the steps it took; verdicts (n, K), -1 for missing."""
    task, worker = np.nonzero(votes != MISSING)
    answers = pd.DataFrame({"task": task, "worker": worker, "label": votes[task, worker]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas options it still sets
        model = CrowdKit(n_iter, tol=tol).fit(answers)
    return model.probas_.sort_index()[1].to_numpy(), len(model.loss_history_)


def ours(votes, **rules):
    """The same of the maximum-likelihood EM, for items with votes."""
    voted = signed(votes[(votes != MISSING).any(axis=1)])
    everybody = np.ones((votes.shape[1], 1), dtype=bool)
    fit = fit_many(voted, everybody, rules=Rules(smoothing=0.0, **rules))
    return sigmoid(fit.logits(voted)[0]), fit


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_step_for_step_posteriors_are_crowd_kits(seed, missing):
    votes = make_votes(seed, 120, 8, missing=missing).votes
    wanted, steps = crowd_kit(votes)
    result, fitted = ours(votes, max_iter=steps, tol=0.0)
    assert fitted.n_iter[0] == steps
    np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["llmbar", *map(larger, ("rewardbench", "sentpop", "mozafari"))])
def test_step_for_step_posteriors_are_crowd_kits_on_real_votes(real_votes, name):
    votes = load_votes(real_votes(f"{name}_votes.csv")).votes.votes
    wanted, steps = crowd_kit(votes)
    result, fitted = ours(votes, max_iter=steps, tol=0.0)
    np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-4)
    assert np.isfinite(result).all()
    assert np.isfinite(fitted.ones).all()


@pytest.mark.parametrize("name", ["llmbar", larger("sentpop")])
def test_converged_posteriors_are_crowd_kits_after_100_steps(real_votes, name):
    votes = load_votes(real_votes(f"{name}_votes.csv")).votes.votes
    wanted, _ = crowd_kit(votes, tol=-1.0)
    result, fitted = ours(votes)
    assert fitted.converged[0]
    np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-4)
