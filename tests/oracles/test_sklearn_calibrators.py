"""Calibration and stacking against scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from judgepanel.kernels.calibration import fit
from judgepanel.kernels.joint import Form, features, stacking
from judgepanel.kernels.maps import sigmoid
from judgepanel.kernels.prefixes import Fit
from judgepanel.kernels.ridge import PRECISION, SHAPE
from tests.helpers import make_ballots, softplus
from tests.kernels.calibrate.test_calibration import column


class Scorer(ClassifierMixin, BaseEstimator):
    """A classifier whose raw logit is its only feature."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


def calibrated_by_sklearn(method, logits, labels, new):
    frozen = FrozenEstimator(Scorer().fit(logits[:, None], labels))
    model = CalibratedClassifierCV(frozen, method=method, ensemble=False, cv=3)
    return model.fit(logits[:, None], labels).predict_proba(new[:, None])[:, 1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_temperature_is_scikit_learns(seed, scale):
    logits, signs = column(seed, n=300, scale=scale)
    new = np.linspace(-12.0, 12.0, 49)
    theirs = calibrated_by_sklearn("temperature", logits, (signs > 0).astype(int), new)
    ours = fit(("temperature",), logits[None], signs)["temperature"](new[None])[0]
    np.testing.assert_allclose(sigmoid(ours), theirs, rtol=0, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_platt_is_logistic_regression_without_penalty(seed, weighted):
    logits, signs = column(seed, n=300, shift=0.4)
    weights = np.random.default_rng(seed).uniform(0.0, 2.0, 300) if weighted else np.ones(300)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    theirs.fit(logits[:, None], signs > 0, sample_weight=weights)
    a, _, c = fit(("platt",), logits[None], signs, weights[None])["platt"].params[0]
    np.testing.assert_allclose([a, c], [theirs.coef_[0, 0], theirs.intercept_[0]], atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_with_platts_soft_targets_as_weights_platt_is_scikit_learns_sigmoid(seed):
    logits, signs = column(seed, n=200, scale=3.0)
    labels = (signs > 0).astype(int)
    n_one, n_zero = labels.sum(), (1 - labels).sum()
    target = np.where(labels == 1, (n_one + 1) / (n_one + 2), 1 / (n_zero + 2))
    fitted = fit(
        ("platt",),
        np.r_[logits, logits][None],
        np.r_[np.ones(200), -np.ones(200)],
        np.r_[target, 1 - target][None],
    )["platt"]
    new = np.linspace(-9.0, 9.0, 37)
    theirs = calibrated_by_sklearn("sigmoid", logits, labels, new)
    np.testing.assert_allclose(sigmoid(fitted(new[None])[0]), theirs, rtol=0, atol=1e-4)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("doubled", [False, True])
def test_isotonic_is_scikit_learns(seed, ties, weighted, doubled):
    logits, signs = column(seed, n=150, scale=5.0)
    if ties:
        logits = np.round(logits / 2.0)
    weights = np.random.default_rng(seed).integers(1, 4, 150) if weighted else np.ones(150)
    fitted = fit(
        ("isotonic",), logits[None], signs, weights[None].astype(float), symmetric=doubled
    )["isotonic"]
    x, y, w = logits, signs > 0, weights
    if doubled:
        x, y, w = np.r_[logits, -logits], np.r_[y, ~y], np.r_[w, w]
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y, sample_weight=w)
    new = np.r_[np.linspace(-30.0, 30.0, 241), logits]
    wanted = np.clip(theirs.predict(new), 0.001, 0.999)
    np.testing.assert_allclose(sigmoid(fitted(new[None])[0]), wanted, rtol=0, atol=1e-9)


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
