"""TwoPL: the kernel as a scikit-learn estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from judgepanel.kernels.irt import fit_two_pl, variance_shares
from judgepanel.models.aggregators import TwoPL
from judgepanel.votes import InputError
from tests.kernels.judges.test_irt import simulated


def table(marks):
    """{-1, 0, +1} as {0, NaN, 1}."""
    return np.where(marks == 0, np.nan, marks > 0)


def test_the_estimator_is_its_kernel():
    marks, *_ = simulated(1, 150, 9, missing=0.2)
    model, fit = TwoPL().fit(table(marks)), fit_two_pl(marks)
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
    model = TwoPL().fit(table(train))
    p = model.predict_proba(np.where(hidden, np.nan, table(test)))
    assert p.shape == test.shape
    rate = np.broadcast_to((train > 0).mean(axis=0), test.shape)

    def loss(q):
        return -np.log(np.where(test > 0, q, 1 - q)[hidden]).mean()

    assert loss(p) < loss(rate) - 0.03
    assert abs(p[hidden].mean() - (test > 0)[hidden].mean()) < 0.03


def test_difficulties_of_the_training_items_are_those_of_the_fit():
    marks, *_ = simulated(3, 80, 6, missing=0.3)
    model = TwoPL().fit(table(marks))
    mean, sd = model.difficulty(table(marks))
    np.testing.assert_allclose(mean, model.beta_, atol=1e-12)
    np.testing.assert_allclose(sd, model.beta_sd_, atol=1e-12)


def test_items_that_fewer_judges_got_right_are_harder():
    marks, *_ = simulated(4, 100, 10)
    model = TwoPL().fit(table(marks))
    easy, hard = model.difficulty(np.stack([np.ones(10), np.zeros(10)]))[0]
    assert hard > 1 > -1 > easy


def test_clones_keep_their_settings_and_stopping_is_said():
    model = clone(TwoPL(max_iterations=2)).fit(table(simulated(5, 60, 6)[0]))
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
    model = TwoPL().fit(table(simulated(6, 40, 5)[0]))
    with pytest.raises(InputError, match="another number of judges"):
        model.predict_proba(np.ones((3, 4)))


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        TwoPL().predict_proba(np.ones((3, 4)))
