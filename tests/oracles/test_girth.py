"""Two-parameter logistic model against girth's marginal maximum likelihood."""

import numpy as np
import pytest
from girth import twopl_mml

from judgepanel.kernels.irt import fit_two_pl
from tests.kernels.judges.test_irt import simulated


@pytest.mark.parametrize("seed", range(2))
def test_estimates_agree_with_girth_and_recover_the_truth_no_worse(seed):
    """Its items are our judges and its persons our items; its latent trait is minus difficulty."""
    marks, theta, log_alpha, _ = simulated(seed, 400, 12, mu=0.5)
    theirs = twopl_mml((marks.T > 0).astype(int))
    their_theta, their_alpha = -theirs["Difficulty"], np.log(theirs["Discrimination"])
    fit = fit_two_pl(marks)
    assert np.corrcoef(fit.theta, their_theta)[0, 1] > 0.99
    assert np.corrcoef(fit.log_alpha, their_alpha)[0, 1] > 0.98
    for ours, peer, truth in (
        (fit.theta, their_theta, theta),
        (fit.log_alpha, their_alpha, log_alpha),
    ):
        assert np.mean((ours - truth) ** 2) < 1.1 * np.mean((peer - truth) ** 2)
