"""Item response model of correctness, as an estimator.

The table holds whether votes were right, not the votes: float (n_items, n_judges), 1 right, 0
wrong, NaN no vote. It does not depend on the order of the responses of a pair.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from judgepanel.arrays import Floats
from judgepanel.kernels.irt import (
    MAX_ITERATIONS,
    as_marks,
    fit_two_pl,
    item_posterior,
    right_probability,
    variance_shares,
)
from judgepanel.votes import InputError


class TwoPL(BaseEstimator):  # type: ignore[misc]
    """Two-parameter logistic model: P(judge j right on item i) = s(alpha_j (theta_j - beta_i)).

    Difficulties beta are N(0, 1), abilities theta N(mu, sigma^2), log discriminations N(m, t^2);
    ``judgepanel.kernels.irt`` says how they are estimated.

    Parameters
    ----------
    max_iterations : updates after which the fit stops, with a warning in ``warnings_``.

    Attributes
    ----------
    theta_, theta_se_, alpha_, log_alpha_, log_alpha_se_ : float (n_judges,).
    beta_, beta_sd_ : float (n_items,), posterior of the difficulties of the items of the fit.
    mu_, sigma_, m_, t_ : float, the population of judges.
    shares_ : Shares, Var(theta) : Var(beta) with an
        interval.
    log_likelihood_ : float, nats, difficulties integrated out.
    n_iter_, converged_, warnings_ : diagnostics of the fit.
    """

    def __init__(self, max_iterations: int = MAX_ITERATIONS) -> None:
        self.max_iterations = max_iterations

    def fit(self, correct: ArrayLike, y: None = None) -> Self:
        """Fit to a table of correctness in {0, 1, NaN}, (n_items, n_judges).

        Raises
        ------
        InputError
            Other values, a wrong number of dimensions, or no votes.
        """
        marks = _marks(correct)
        if not marks.any():
            raise InputError("no judge has voted on any item", allowed="at least one 0 or 1")
        self.fit_ = fit = fit_two_pl(marks, max_iterations=self.max_iterations)
        self.theta_, self.theta_se_ = fit.theta, fit.theta_se
        self.alpha_ = fit.alpha
        self.log_alpha_, self.log_alpha_se_ = fit.log_alpha, fit.log_alpha_se
        self.beta_, self.beta_sd_ = fit.beta, fit.beta_sd
        self.mu_, self.sigma_ = fit.population.mu, fit.population.sigma
        self.m_, self.t_ = fit.population.m, fit.population.t
        self.shares_ = variance_shares(fit)
        self.log_likelihood_ = fit.log_likelihood
        self.n_iter_, self.converged_ = fit.iterations, fit.converged
        self.warnings_ = fit.warnings
        self.n_features_in_ = marks.shape[1]
        return self

    def predict_proba(self, correct: ArrayLike) -> Floats:
        """Return P(right) of every judge on every item, given its other marks, (n_items, n_judges).

        A mark in the table counts as given: set it to NaN to predict it.
        """
        marks = as_marks(self._known(correct))
        return right_probability(marks, self.theta_, self.alpha_)

    def difficulty(self, correct: ArrayLike) -> tuple[Floats, Floats]:
        """Return posterior mean and standard deviation of beta, each (n_items,), for any items."""
        items = item_posterior(as_marks(self._known(correct)), self.theta_, self.alpha_)
        return items.mean, np.sqrt(items.variance)

    def _known(self, correct: ArrayLike) -> NDArray[np.int8]:
        check_is_fitted(self)
        marks = _marks(correct)
        if marks.shape[1] != self.n_features_in_:
            raise InputError(
                "the table has another number of judges than the fit",
                value=marks.shape[1],
                allowed=f"{self.n_features_in_} columns",
            )
        return marks


def _marks(correct: ArrayLike) -> NDArray[np.int8]:
    """{0, 1, NaN} as {-1, +1, 0}."""
    table = np.asarray(correct, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise InputError(
            "correctness is not a table of items by judges",
            value=" x ".join(map(str, table.shape)),
            allowed="at least one row and one column",
        )
    wrong = ~(np.isnan(table) | (table == 0.0) | (table == 1.0))
    if wrong.any():
        row, column = (int(place[0]) for place in np.nonzero(wrong))
        raise InputError(
            "not a mark of correctness",
            row=row + 1,
            column=str(column + 1),
            value=table[row, column],
            allowed="0 wrong, 1 right, NaN no vote",
            remedy="compare the votes with the labels first",
        )
    return np.where(np.isnan(table), 0, 2 * np.nan_to_num(table) - 1).astype(np.int8)
