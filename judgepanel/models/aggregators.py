"""Aggregators: votes of a fixed panel to a raw logit, as scikit-learn classifiers.

X is float (n_items, n_judges): at or above .5 is a vote for label 1, below is a vote for label 0,
NaN is no vote. An item nobody voted on gets the label prior of the fit.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from judgepanel.kernels.application import majority_logits, one_coin_logits
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import sigmoid
from judgepanel.kernels.prefixes import Aggregator, counts, one_coin_weight, prefix_scores
from judgepanel.votes import MISSING

Floats = NDArray[np.float64]


class _Aggregator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What all aggregators share: validation, the label prior, probabilities from logits."""

    kind: Aggregator

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from labelled items.

        Raises
        ------
        ValueError
            Shapes that do not fit, infinite votes, or other than two classes.
        """
        votes, signs = self._training(X, y)
        ballots = Ballots(votes, signs, np.arange(len(signs)))
        self.prior_logit_ = float(np.log((np.sum(signs > 0) + 1.0) / (np.sum(signs < 0) + 1.0)))
        self._learn(ballots)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Raw logit of class ``classes_[1]``, (n_items,)."""
        check_is_fitted(self)
        votes = _verdicts(
            validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        )
        logits = self._logits(votes)
        return np.where((votes == MISSING).all(axis=1), self.prior_logit_, logits)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Raw probabilities (n_items, 2) in the order of ``classes_``."""
        p = sigmoid(self.decision_function(X))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likelier class; class 1 at p = .5."""
        chosen = self.decision_function(X) >= 0.0
        return np.asarray(self.classes_[chosen.astype(int)])

    def left_out_scores(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Floats:
        """Raw logits of the training items, each from counts without its own unit (n_items,).

        These, never in-sample scores, are what a calibrator may be fitted to. They hold for a
        *fixed* panel; a panel chosen by a ranking needs the ranking left out as well, as
        ``judgepanel.kernels.prefixes`` does.
        """
        votes, signs = self._training(X, y)
        units = np.arange(len(signs))
        if groups is not None:
            units = np.unique(np.asarray(groups), return_inverse=True)[1]
        ballots = Ballots(votes, signs, units)
        everyone = np.arange(len(signs))
        scores = prefix_scores(
            ballots, everyone, everyone[:0], np.array([votes.shape[1]]), aggregator=self.kind
        )
        empty = scores.calibration_empty[0]
        return np.where(empty, 0.0, scores.calibration[0])

    def _training(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        checked, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            found = "1 class" if len(self.classes_) == 1 else f"{len(self.classes_)} classes"
            raise ValueError(
                f"{type(self).__name__} needs labels of exactly 2 classes and found {found}. "
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}."
            )
        votes = _verdicts(checked)
        signed = np.where(votes == MISSING, 0, 2 * votes - 1).astype(np.int8)
        return signed, (2 * codes - 1).astype(np.int8)

    def _learn(self, ballots: Ballots) -> None:
        """Set fitted attributes."""

    def _logits(self, votes: NDArray[np.int8]) -> Floats:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags


class MajorityVote(_Aggregator):
    """Logit of the smoothed vote fraction, log((ones + 1) / (zeros + 1)).

    Smoothing is the posterior mean of the fraction under a uniform prior; without it a unanimous
    vote would be an infinite logit. Ranks nothing and weighs everyone alike.
    """

    kind: Aggregator = "majority"

    def _logits(self, votes: NDArray[np.int8]) -> Floats:
        return majority_logits(votes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it learns nothing about single columns
        return tags


class OneCoin(_Aggregator):
    """Integrated Bayesian one-coin model (Calibrate, Don't Curate, equation 1).

    A judge with c of n votes right adds +-log((c + 1) / (n - c + 1)).

    Attributes
    ----------
    weights_ : float (n_judges,), log-odds a vote for label 1 adds.
    correct_, voted_ : float (n_judges,), c and n of the training items.
    """

    kind: Aggregator = "one_coin"

    def _learn(self, ballots: Ballots) -> None:
        self.correct_, self.voted_ = counts(ballots, np.arange(ballots.n_items))
        self.weights_ = one_coin_weight(self.correct_, self.voted_)

    def _logits(self, votes: NDArray[np.int8]) -> Floats:
        return one_coin_logits(votes, self.weights_)


def _verdicts(X: Floats) -> NDArray[np.int8]:
    """Int8 verdicts: NaN is missing, .5 and above is 1."""
    return np.where(np.isnan(X), MISSING, X >= 0.5).astype(np.int8)
