"""The Dawid-Skene classifier equals its kernel at batch size 1, with all, some or no labels."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from judgepanel.kernels.dawid_skene import Rules, dawid_skene, dawid_skene_semi, fit_many
from judgepanel.kernels.prefixes import Fit
from judgepanel.models.aggregators import DawidSkene
from judgepanel.votes import MISSING
from tests.helpers import make_ballots, make_votes

FORMS = (False, True)


def table(seed=0, n_items=80, n_judges=7, **options):
    """X float with NaN for missing votes, y in {0, 1}; judges with skill."""
    made = make_votes(seed, n_items, n_judges, **{"low": 0.65, "high": 0.9, **options})
    return np.where(made.votes == MISSING, np.nan, made.votes), made.labels.astype(int)


@pytest.mark.parametrize("supervised", FORMS)
@pytest.mark.parametrize("symmetric", [False, True])
def test_an_estimator_is_its_kernel(supervised, symmetric):
    ballots = make_ballots(3, 60, 6, symmetric=symmetric)
    X = np.where(ballots.votes == 0, np.nan, ballots.votes > 0)
    y = (ballots.signs > 0).astype(int)
    train, test = np.arange(40), np.arange(40, 60)
    run = dawid_skene_semi if supervised else dawid_skene
    whole = Fit(train, test, np.zeros(40, dtype=np.int64))
    (wanted,) = run(ballots, [whole], np.array([6]), "accuracy")
    model = DawidSkene(supervised=supervised, symmetric=symmetric).fit(X[train], y[train])
    function = model.decision_function(X[test])
    voted = ~np.isnan(X[test]).all(axis=1)
    np.testing.assert_allclose(function[voted], wanted[0][voted], rtol=0, atol=1e-9)


def test_fitted_attributes_are_the_model():
    X, y = table()
    more, _ = table(seed=1, n_items=30)
    model = DawidSkene().fit(X, y, X_unlabelled=more)
    assert model.confusion_.shape == (7, 2, 2)
    np.testing.assert_allclose(model.confusion_.sum(axis=2), 1.0, atol=1e-15)
    weights = np.log(model.confusion_[:, 1]) - np.log(model.confusion_[:, 0])
    np.testing.assert_allclose(model.vote_logits_, weights, rtol=0, atol=1e-9)
    assert model.prior_ == pytest.approx(1 / (1 + np.exp(-model.prior_logit_)))
    every = np.concatenate([X, more])
    assert model.posterior_.shape == (110,)
    np.testing.assert_allclose(
        model.posterior_, model.predict_proba(every)[:, 1], rtol=0, atol=1e-12
    )
    assert model.converged_
    assert 1 < model.n_iter_ < model.max_iter


def test_a_clamped_item_has_its_own_label():
    X, y = table()
    more, hidden = table(seed=0, n_items=200)
    model = DawidSkene(supervised=True).fit(X, y, X_unlabelled=more)
    np.testing.assert_array_equal(model.posterior_[:80], y)
    assert np.mean((model.posterior_[80:] > 0.5) == hidden) > 0.85


def test_without_labels_the_votes_alone_are_learnt_from():
    X, y = table(n_items=300)
    blind = DawidSkene().fit(X)
    named = DawidSkene().fit(X, np.where(y == 1, "yes", "no"))
    assert blind.classes_.tolist() == [0, 1]
    assert named.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(blind.posterior_, named.posterior_)
    assert np.mean(blind.predict(X) == y) > 0.9
    apart = DawidSkene().fit(X[:100], X_unlabelled=X[100:])
    np.testing.assert_allclose(apart.posterior_, blind.posterior_, rtol=0, atol=1e-9)


def test_the_supervised_form_asks_for_labels():
    with pytest.raises(ValueError, match="requires y"):
        DawidSkene(supervised=True).fit(table()[0])


def test_predictions_for_new_items_follow_from_the_confusions():
    X, y = table()
    unseen, _ = table(seed=9, n_items=25)
    model = DawidSkene(supervised=True).fit(X, y)
    for row, p in zip(unseen, model.predict_proba(unseen)[:, 1], strict=True):
        chance = np.array([1 - model.prior_, model.prior_])
        for j in np.flatnonzero(~np.isnan(row)):
            chance = chance * model.confusion_[j, :, int(row[j])]
        assert p == pytest.approx(chance[1] / chance.sum(), abs=1e-12)


@pytest.mark.parametrize("supervised", FORMS)
@pytest.mark.parametrize("groups", [None, 12])
def test_left_out_scores_do_not_know_their_own_unit(supervised, groups):
    X, y = table(seed=8, n_items=60)
    names = np.arange(60) if groups is None else np.random.default_rng(0).integers(0, groups, 60)
    model = DawidSkene(supervised=supervised, smoothing=0.5)
    scores = model.left_out_scores(X, y, groups=names)
    for item in range(0, 60, 7):
        other = np.where(names == names[item], 1 - y, y)
        again = model.left_out_scores(X, other, groups=names)[item]
        assert again == pytest.approx(scores[item], abs=1e-9)
    assert np.abs(model.fit(X, y).decision_function(X) - scores).max() > 1e-3


def test_smoothing_and_steps_are_those_of_the_parameters():
    X, y = table(seed=10)
    votes = np.nan_to_num(2 * X - 1).astype(np.int8)
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        model = DawidSkene(smoothing=0.0, max_iter=3).fit(X, y)
    assert (model.n_iter_, model.converged_) == (3, False)
    wanted = fit_many(votes, np.ones((7, 1), dtype=bool), rules=Rules(0.0, max_iter=3))
    np.testing.assert_array_equal(model.vote_logits_[:, 1], wanted.ones[:, 0])
    with pytest.raises(ValueError, match="smoothing"):
        DawidSkene(smoothing=-1.0).fit(X, y)
