"""Stacking and joint: scikit-learn classifiers that equal their kernels."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from judgepanel.kernels.joint import CS, joint, joint_monotone, stacking, stacking_monotone
from judgepanel.kernels.prefixes import Fit
from judgepanel.models.aggregators import Joint, MonotoneJoint, MonotoneStacking, Stacking
from judgepanel.scoring.splits import folds
from judgepanel.votes import MISSING
from tests.helpers import make_ballots, make_votes

KINDS = (Joint, Stacking, MonotoneJoint, MonotoneStacking)
KERNELS = dict(zip(KINDS, (joint, stacking, joint_monotone, stacking_monotone), strict=True))


def table(seed=0, n_items=80, n_judges=6):
    votes = make_votes(seed, n_items, n_judges)
    return np.where(votes.votes == MISSING, np.nan, votes.votes), votes.labels.astype(int)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("groups", [0, 15])
def test_an_estimator_is_its_kernel(kind, symmetric, groups):
    ballots = make_ballots(3, 60, 6, groups=groups, symmetric=symmetric)
    X = np.where(ballots.votes == 0, np.nan, ballots.votes > 0)
    y = (ballots.signs > 0).astype(int)
    rows = np.arange(60)
    fold = np.empty(60, dtype=np.int64)
    pieces = folds(ballots.units, rows, 5, seed=0, key=(0,))
    for piece in pieces:
        fold[piece.evaluation] = piece.number
    fits = [Fit(rows, rows, fold)]
    fits += [Fit(p.calibration, p.evaluation, fold[p.calibration]) for p in pieces]
    wanted = KERNELS[kind](ballots, fits, np.array([6]), "accuracy")
    model = kind(symmetric=symmetric).fit(X, y, groups=ballots.units)
    voted = ballots.votes.any(axis=1)
    np.testing.assert_allclose(
        model.decision_function(X)[voted], wanted[0][0][voted], rtol=0, atol=1e-9
    )
    own = model.left_out_scores(X, y, groups=ballots.units)
    for fit, result in zip(fits[1:], wanted[1:], strict=True):
        np.testing.assert_allclose(own[fit.score], result[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "model", [Stacking(), Joint(agreement=False), MonotoneJoint(), MonotoneStacking()]
)
def test_without_agreement_weights_and_intercept_say_it_all(model):
    X, y = table()
    unseen, _ = table(seed=5, n_items=30)
    model.fit(X, y)
    logits = np.nan_to_num(2 * unseen - 1) @ model.weights_ + model.intercept_
    np.testing.assert_allclose(model.decision_function(unseen), logits, rtol=0, atol=1e-12)


def test_agreement_adds_to_what_weights_say():
    X, y = table()
    model = Joint().fit(X, y)
    linear = np.nan_to_num(2 * X - 1) @ model.weights_ + model.intercept_
    V = np.nan_to_num(2 * X - 1)[:, model.panel_.judges]
    d = (V * model.panel_.agreement.shares) @ model.panel_.agreement.prototypes.T
    added = ((d**3 + d**5) / 2.0) @ model.panel_.agreement_weights
    assert np.abs(added).max() > 0.0
    np.testing.assert_allclose(model.decision_function(X), linear + added, rtol=0, atol=1e-12)


def test_shares_of_the_ridges_are_their_likelihoods_on_folds_left_out():
    X, y = table()
    model = Joint().fit(X, y)
    likelihood = np.exp(-len(y) * (model.cv_nll_ - model.cv_nll_.min()))
    np.testing.assert_allclose(model.C_weights_, likelihood / likelihood.sum(), atol=1e-9)
    assert CS[int(np.argmin(model.cv_nll_))] == model.C_
    assert model.tau_ > 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_one_c_needs_no_folds(kind):
    X, y = table()
    model = kind(Cs=(0.3,)).fit(X, y)
    assert model.C_ == 0.3
    assert model.cv_nll_ is None
    other = kind(Cs=(0.3,), seed=9).fit(X, y)
    np.testing.assert_array_equal(model.weights_, other.weights_)


@pytest.mark.parametrize("kind", KINDS)
def test_clones_and_pickles_score_alike(kind):
    X, y = table()
    model = kind(Cs=(0.1, 1.0), n_folds=3, seed=2).fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(clone(model).fit(X, y).decision_function(X), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), scores)  # noqa: S301


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": ()}, "Cs"),
        ({"Cs": (1.0, 0.1)}, "ascending"),
        ({"Cs": (0.0, 1.0)}, "positive"),
        ({"Cs": (np.nan,)}, "finite"),
        ({"n_folds": 1}, "n_folds"),
    ],
)
def test_parameters_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Joint(**options).fit(*table())
