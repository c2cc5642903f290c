"""Stacking against scikit-learn, joint against a general optimiser on its whole objective."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from judgepanel.kernels.joint import Form, features, stacking
from judgepanel.kernels.prefixes import Fit
from judgepanel.kernels.ridge import PRECISION, SHAPE
from tests.helpers import make_ballots, softplus


def one_fit(ballots):
    rows = np.arange(ballots.n_items)
    return [Fit(rows, rows[:0], np.zeros(len(rows), dtype=np.int64))]


@pytest.mark.parametrize("C", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("n_judges", [4, 25])
def test_stacking_without_an_intercept_is_scikit_learn_s_ridge(C, n_judges):
    ballots = make_ballots(1, 90, n_judges, symmetric=True)
    (panel,) = stacking.panels(ballots, one_fit(ballots), n_judges, Cs=(C,))
    theirs = LogisticRegression(C=C, fit_intercept=False, solver="newton-cholesky", tol=1e-10)
    theirs.fit(ballots.votes[:, panel.judges].astype(float), ballots.signs)
    np.testing.assert_allclose(panel.weights, theirs.coef_[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("agreement", [False, True])
@pytest.mark.parametrize("groups", [0, 12])
def test_joint_is_the_optimum_of_its_objective(C, symmetric, agreement, groups):
    ballots = make_ballots(2, 70, 5, symmetric=symmetric, groups=groups)
    (panel,) = Form(one_coin=True, agreement=agreement).panels(
        ballots, one_fit(ballots), 5, Cs=(C,)
    )
    one_features = features(
        ballots, np.arange(70), panel.judges, one_coin=True, agreement=agreement
    )
    r = one_features.span.shape[1]
    centre = (
        one_features.middle(one_features.votes),
        one_features.middle(one_features.span),
        one_features.middle(one_features.score[:, None])[0],
    )
    assert symmetric <= (not centre[0].any())

    def parts(theta):
        delta, gamma, tau = theta[:5], theta[5 : 5 + r], np.exp(theta[5 + r])
        return delta, gamma, tau, 0.0 if symmetric else theta[-1]

    def objective(theta):
        delta, gamma, tau, level = parts(theta)
        logits = (one_features.votes - centre[0]) @ delta + (one_features.span - centre[1]) @ gamma
        logits = logits + tau * (one_features.score - centre[2]) + level
        loss = softplus(-one_features.signs * logits)[one_features.signs != 0].sum()
        ridge = (delta @ delta + gamma @ gamma) / (2.0 * C)
        prior = one_features.rate * tau - SHAPE * np.log(tau)
        return (
            loss
            + ridge
            + prior
            + PRECISION * (level - one_features.level) ** 2 / 2.0 * (not symmetric)
        )

    start = np.zeros(5 + r + 2 - symmetric)
    solution = minimize(objective, start, method="BFGS", options={"gtol": 1e-4, "maxiter": 2000})
    delta, gamma, tau, level = parts(solution.x)
    assert panel.tau == pytest.approx(tau, abs=2e-4)
    np.testing.assert_allclose(panel.weights, delta + tau * one_features.base, rtol=0, atol=1e-3)
    level = level - centre[0] @ delta - centre[1] @ gamma - tau * centre[2]
    assert panel.intercept == pytest.approx(level, abs=1e-3)
    if agreement:
        wanted = one_features.agreement.similarity(one_features.votes) @ (
            one_features.directions @ gamma
        )
        ours = one_features.agreement.similarity(one_features.votes) @ panel.agreement_weights
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=2e-3)
