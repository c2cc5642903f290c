"""Dawid-Skene as a scikit-learn classifier, with or without labels."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from judgepanel.arrays import Floats, Votes
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.aggregate.crossfit import N_FOLDS, Fit
from judgepanel.kernels.aggregate.dawid_skene import (
    fit_and_score,
    fit_many,
    training,
    two_coin_logits,
)
from judgepanel.kernels.aggregate.dawid_skene_em import MAX_ITER, SMOOTHING, TOL, Rules
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import sigmoid
from judgepanel.models.base import VoteAggregator, signed, verdicts
from judgepanel.scoring.splits import folds


class DawidSkene(VoteAggregator):
    """Two error rates per judge, estimated jointly with the labels by EM (Dawid and Skene 1979).

    Without ``supervised``, labels only name the classes: the EM uses votes alone, and its starting
    majority determines which of its two classes is which. If most judges are anti-experts, the
    result is reversed. With ``supervised``, labelled items are clamped.

    Parameters
    ----------
    supervised : clamp labelled items to their labels; items of ``X_unlabelled`` are used either
        way.
    smoothing : pseudo-votes added to each of a judge's four cells, and pseudo-items to each class,
        at least 0; 0 is maximum likelihood.
    max_iter, tol : stop after this many steps, or when no posterior probability changes by more.
    symmetric : tie a judge's two error rates and hold the class prior at 1/2.

    Attributes
    ----------
    classes_ : the two classes; 0 and 1 after a fit without labels.
    confusion_ : float (n_judges, 2, 2), P(vote v of judge j | class z) at [j, z, v].
    vote_logits_ : float (n_judges, 2), contribution of a vote v to the logit of ``classes_[1]``.
    prior_ : P(``classes_[1]``), in (0, 1); ``prior_logit_`` is its logit.
    posterior_ : float (n_items + n_unlabelled,), P(``classes_[1]``) of every training item, those
        of X first; a clamped item has its own label.
    n_iter_ : number of steps; ``converged_`` : whether ``tol`` was reached.

    References
    ----------
    Dawid and Skene 1979, doi:10.2307/2346806.
    """

    kind: Aggregator = "dawid_skene"

    def __init__(
        self,
        *,
        supervised: bool = False,
        smoothing: float = SMOOTHING,
        max_iter: int = MAX_ITER,
        tol: float = TOL,
        symmetric: bool = False,
    ) -> None:
        self.supervised = supervised
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.symmetric = symmetric

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, X_unlabelled: ArrayLike | None = None
    ) -> Self:
        """Fit to votes X (n_items, n_judges), labels y (n_items,) and unlabelled votes.

        Raises
        ------
        ValueError
            Shapes that do not match, infinite votes, a number of classes other than two, a
            parameter out of range, or no labels although ``supervised``.

        Warns
        -----
        ConvergenceWarning
            ``max_iter`` was reached before ``tol``.
        """
        if y is not None:
            return self._fit(X, y, X_unlabelled=X_unlabelled)
        if self.supervised:
            raise ValueError(
                f"{type(self).__name__} with supervised=True requires y to be passed, but the "
                "target y is None."
            )
        votes = [self._votes(X, reset=True)]
        if X_unlabelled is not None:
            votes.append(self._votes(X_unlabelled, reset=False))
        every = np.concatenate(votes)
        self.classes_ = np.array([0, 1])
        none = np.zeros(0, dtype=np.int8)
        self._learn(Ballots(every[:0], none, np.arange(0), bool(self.symmetric), every))
        return self

    def _votes(self, X: ArrayLike, *, reset: bool) -> Votes:
        checked = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return signed(verdicts(checked))

    def _rules(self) -> Rules:
        return Rules(self.smoothing, bool(self.symmetric), self.max_iter, self.tol)

    def _learn(self, ballots: Ballots) -> None:
        everyone, judges = np.arange(ballots.n_items), np.arange(ballots.n_judges)
        votes, labels = training(ballots, everyone, judges, clamp=bool(self.supervised))
        everybody = np.ones((ballots.n_judges, 1), dtype=bool)
        fit = fit_many(votes, everybody, labels=labels, rules=self._rules())
        given0, given1 = fit.pi0[:, 0], fit.pi1[:, 0]
        self.confusion_ = np.stack(
            [np.column_stack([1.0 - p, p]) for p in (given0, given1)], axis=1
        )
        self.vote_logits_ = np.column_stack([fit.zeros[:, 0], fit.ones[:, 0]])
        self.prior_logit_ = float(fit.prior[0])
        self.prior_ = float(sigmoid(fit.prior)[0])
        posterior = sigmoid(fit.logits(votes)[0])
        self.posterior_ = np.where(labels == 0, posterior, labels > 0)
        self.n_iter_ = int(fit.n_iter[0])
        self.converged_ = bool(fit.converged[0])
        if not self.converged_:
            warnings.warn(
                f"Dawid-Skene stopped at max_iter={self.max_iter} before it converged.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _logits(self, votes: Votes) -> Floats:
        zeros, ones = self.vote_logits_.T
        return two_coin_logits(votes, ones, zeros, self.prior_logit_)

    def _left_out(self, ballots: Ballots) -> Floats:
        everyone = np.arange(ballots.n_items)
        all_judges = np.array([ballots.n_judges])
        logits = np.empty(ballots.n_items)
        for piece in folds(ballots.units, everyone, N_FOLDS, seed=0, key=(0,)):
            fit = Fit(piece.calibration, piece.evaluation, np.zeros(len(piece.calibration), int))
            logits[piece.evaluation] = fit_and_score(
                ballots,
                fit,
                all_judges,
                "accuracy",
                clamp=bool(self.supervised),
                rules=self._rules(),
            )[0]
        return logits

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = bool(self.supervised)
        tags.classifier_tags.poor_score = not self.supervised  # columns need not share a meaning
        return tags
