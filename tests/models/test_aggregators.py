"""Aggregators: scikit-learn estimators that equal their kernels, also on new items."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from judgepanel.kernels.irt import fit_two_pl, variance_shares
from judgepanel.kernels.prefixes import prefix_scores
from judgepanel.models import (
    AccuracyWeighted,
    DawidSkene,
    GradedJoint,
    GradedOneCoin,
    Joint,
    LogOdds,
    MajorityVote,
    MonotoneJoint,
    MonotoneStacking,
    OneCoin,
    Stacking,
)
from judgepanel.models.aggregators import TwoPL
from judgepanel.scoring.splits import Split
from judgepanel.votes import MISSING, InputError
from tests.helpers import make_ballots, make_votes
from tests.kernels.judges.test_irt import simulated

ALL = (OneCoin, MajorityVote, AccuracyWeighted, LogOdds)


def table(seed=0, n_items=60, n_judges=7):
    """X float with NaN for missing votes, y in {0, 1}."""
    votes = make_votes(seed, n_items, n_judges)
    return np.where(votes.votes == MISSING, np.nan, votes.votes), votes.labels.astype(int)


# A tie is a decision for class 1 here (accuracy counts p >= .5); scikit-learn takes class 0.
CLASSES, TRAIN = "check_classifiers_classes", "check_classifiers_train"
TIES = {MajorityVote(): (CLASSES, TRAIN), DawidSkene(): (CLASSES,)}
MODELS = (
    *(OneCoin(), AccuracyWeighted(), LogOdds(), *TIES, DawidSkene(supervised=True)),
    *(Joint(), Joint(agreement=False), Stacking(), MonotoneJoint(), MonotoneStacking()),
    *(GradedOneCoin(), GradedJoint(Cs=(0.01, 0.1))),
)


@pytest.mark.parametrize("model", MODELS)
def test_scikit_learn_accepts_the_estimator(model):
    ties = dict.fromkeys(TIES.get(model, ()), "ties go to class 1")
    ran = check_estimator(model, on_skip=None, on_fail="raise", expected_failed_checks=ties)
    assert sum(command["status"] == "passed" for command in ran) > 40


@pytest.mark.parametrize("kind", ALL)
def test_an_estimator_is_its_kernel(kind):
    ballots = make_ballots(3, 50, 6)
    X = np.where(ballots.votes == 0, np.nan, ballots.votes > 0)
    y = (ballots.signs > 0).astype(int)
    rows = np.arange(50)
    train, test = rows[:30], rows[30:]
    scores = prefix_scores(ballots, Split(0, train, test), np.array([6]), aggregator=kind.kind)
    model = kind().fit(X[train], y[train])
    function = model.decision_function(X[test])
    voted = ~scores.evaluation_empty[0]
    np.testing.assert_allclose(function[voted], scores.evaluation[0][voted], rtol=0, atol=1e-12)
    own = model.left_out_scores(X[train], y[train])
    np.testing.assert_allclose(own, scores.calibration[0], rtol=0, atol=1e-12)


def prior(X, y):
    return LogOdds().fit(X, y).intercept_


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("groups", [None, 9])
def test_left_out_scores_are_what_a_model_without_the_item_says(kind, groups):
    X, y = table()
    names = np.arange(60) if groups is None else np.random.default_rng(0).integers(0, groups, 60)
    scores = kind().left_out_scores(X, y, groups=names)
    for item in range(60):
        others = names != names[item]
        alone = kind().fit(X[others], y[others]).decision_function(X[[item]])
        # One prior serves all items: that of the others would tell an item's label by its absence.
        shift = prior(X, y) - prior(X[others], y[others]) if kind is LogOdds else 0.0
        assert scores[item] == pytest.approx(alone[0] + shift, abs=1e-12)


def test_groups_of_another_length_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match="one value for each of the 60 items"):
        OneCoin().left_out_scores(X, y, groups=np.arange(61))


def test_log_odds_are_plug_in_and_finite_for_a_judge_never_wrong():
    X, y = table()
    X[:, 0], X[:, 1], X[:, 2] = y, 1 - y, np.nan
    model = LogOdds().fit(X, y)
    n, c = model.voted_[3], model.correct_[3]
    assert model.weights_[3] == pytest.approx(math.log(c / (n - c)))
    assert model.weights_[0] == pytest.approx(math.log(59.5 / 0.5)) == -model.weights_[1]
    assert model.weights_[2] == 0.0
    swapped = LogOdds(symmetric=True).fit(1 - X, 1 - y).decision_function(X)
    function = LogOdds(symmetric=True).fit(X, y).decision_function(1 - X)
    np.testing.assert_array_equal(swapped, -function)


def test_probabilities_of_unseen_items_follow_the_formula():
    X, y = table()
    unseen, _ = table(seed=9, n_items=20)
    model = OneCoin().fit(X, y)
    V = np.nan_to_num(2 * unseen - 1)
    wanted = 1 / (1 + np.exp(-(V @ model.weights_)))
    p = model.predict_proba(unseen)
    np.testing.assert_allclose(p[:, 1], wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-15)
    np.testing.assert_array_equal(model.predict(unseen), (p[:, 1] >= 0.5).astype(int))


@pytest.mark.parametrize("kind", [*ALL, Joint, Stacking, MonotoneJoint, MonotoneStacking])
def test_an_item_nobody_voted_on_gets_the_prior(kind):
    X, y = table()
    y[:45] = 1
    model = kind().fit(X, y)
    odds = (y.sum() + 1) / ((1 - y).sum() + 1)
    assert model.predict_proba(np.full((1, 7), np.nan))[0, 1] == pytest.approx(odds / (1 + odds))


def test_classes_keep_their_own_names():
    X, y = table()
    model = OneCoin().fit(X, np.where(y == 1, "good", "bad"))
    assert model.classes_.tolist() == ["bad", "good"]
    assert set(model.predict(X)) == {"bad", "good"}


@pytest.mark.parametrize("labels", [np.ones(60), np.arange(60) % 3])
def test_other_than_two_classes_are_refused(labels):
    with pytest.raises(ValueError, match="class"):
        OneCoin().fit(table()[0], labels.astype(int))


def irt_table(marks):
    """{-1, 0, +1} as {0, NaN, 1}."""
    return np.where(marks == 0, np.nan, marks > 0)


def test_the_estimator_is_its_kernel():
    marks, *_ = simulated(1, 150, 9, missing=0.2)
    model, fit = TwoPL().fit(irt_table(marks)), fit_two_pl(marks)
    np.testing.assert_array_equal(model.theta_, fit.theta)
    np.testing.assert_array_equal(model.alpha_, fit.alpha)
    np.testing.assert_array_equal(model.beta_, fit.beta)
    assert model.shares_ == variance_shares(fit)
    assert (model.mu_, model.t_) == (fit.population.mu, fit.population.t)
    assert model.converged_
    assert model.n_iter_ == fit.iterations


def test_missing_marks_of_new_items_are_predicted():
    """Log-loss of marks taken out: below that of the judges' own accuracies."""
    marks, *_ = simulated(2, 900, 25)
    train, test = marks[:600], marks[600:]
    hidden = np.random.default_rng(0).random(test.shape) < 0.3
    model = TwoPL().fit(irt_table(train))
    p = model.predict_proba(np.where(hidden, np.nan, irt_table(test)))
    assert p.shape == test.shape
    rate = np.broadcast_to((train > 0).mean(axis=0), test.shape)

    def loss(q):
        return -np.log(np.where(test > 0, q, 1 - q)[hidden]).mean()

    assert loss(p) < loss(rate) - 0.03
    assert abs(p[hidden].mean() - (test > 0)[hidden].mean()) < 0.03


def test_difficulties_of_the_training_items_are_those_of_the_fit():
    marks, *_ = simulated(3, 80, 6, missing=0.3)
    model = TwoPL().fit(irt_table(marks))
    mean, sd = model.difficulty(irt_table(marks))
    np.testing.assert_allclose(mean, model.beta_, atol=1e-12)
    np.testing.assert_allclose(sd, model.beta_sd_, atol=1e-12)


def test_items_that_fewer_judges_got_right_are_harder():
    marks, *_ = simulated(4, 100, 10)
    model = TwoPL().fit(irt_table(marks))
    easy, hard = model.difficulty(np.stack([np.ones(10), np.zeros(10)]))[0]
    assert hard > 1 > -1 > easy


def test_clones_keep_their_settings_and_stopping_is_said():
    model = clone(TwoPL(max_iterations=2)).fit(irt_table(simulated(5, 60, 6)[0]))
    assert not model.converged_
    assert any("not settled" in line for line in model.warnings_)


BAD = {
    "a value between": ([[0, 1], [0.5, 1]], "row 2, column '1'.*found '0.5'"),
    "infinite": ([[np.inf, 1]], "found 'inf'"),
    "one dimension": ([0, 1], "not a table"),
    "no rows": (np.zeros((0, 3)), "not a table"),
    "no votes": ([[np.nan, np.nan]], "no judge has voted"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_refused_in_one_sentence(case):
    bad, message = BAD[case]
    with pytest.raises(InputError, match=message):
        TwoPL().fit(bad)


def test_another_number_of_judges_is_refused():
    model = TwoPL().fit(irt_table(simulated(6, 40, 5)[0]))
    with pytest.raises(InputError, match="another number of judges"):
        model.predict_proba(np.ones((3, 4)))


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        TwoPL().predict_proba(np.ones((3, 4)))
