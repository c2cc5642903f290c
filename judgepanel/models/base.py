"""The base class of aggregators: validation, the label prior, probabilities from logits.

X is float (n_items, n_judges): at least .5 is a vote for label 1, below is a vote for label 0, NaN
is a missing vote. An item without votes gets the label prior of the fit.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from judgepanel.arrays import Floats, Votes
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import sigmoid
from judgepanel.votes import MISSING


class VoteAggregator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Map from votes of a fixed panel to a raw logit.

    A subclass names its ``kind``, fits in :meth:`_learn`, scores in :meth:`_logits` and returns in
    :meth:`_left_out` the scores that calibrators may see.
    """

    kind: Aggregator

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to labelled items.

        Raises
        ------
        ValueError
            Shapes that do not match, infinite votes, or a number of classes other than two.
        """
        return self._fit(X, y)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the raw logit of class ``classes_[1]``, (n_items,)."""
        check_is_fitted(self)
        checked = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        votes = self._verdicts(checked)
        logits = self._logits_of(checked, votes)
        return np.where((votes == MISSING).all(axis=1), self.prior_logit_, logits)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return raw probabilities (n_items, 2) in the order of ``classes_``."""
        p = sigmoid(self.decision_function(X))
        return np.column_stack([1.0 - p, p])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more likely class; class 1 at p = .5."""
        chosen = self.decision_function(X) >= 0.0
        return np.asarray(self.classes_[chosen.astype(int)])

    def left_out_scores(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Floats:
        """Return raw logits of the training items (n_items,), none fitted to its own unit's label.

        Calibrators may be fitted only to these, never to in-sample scores. They are valid for a
        *fixed* panel; a panel chosen by a ranking needs a leave-out ranking as well, as in
        ``judgepanel.kernels.aggregate.aggregation``. What was fitted before stays.
        """
        fresh = clone(self)
        return np.asarray(fresh._left_out(fresh._ballots(X, y, groups)))

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        X_unlabelled: ArrayLike | None = None,
    ) -> Self:
        ballots = self._ballots(X, y, groups, X_unlabelled)
        right, wrong = np.sum(ballots.signs > 0), np.sum(ballots.signs < 0)
        prior = 0.0 if ballots.symmetric else float(np.log((right + 1.0) / (wrong + 1.0)))
        self.prior_logit_ = prior
        self._learn(ballots)
        return self

    def _ballots(
        self,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        X_unlabelled: ArrayLike | None = None,
    ) -> Ballots:
        checked, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            classes = "1 class" if len(self.classes_) == 1 else f"{len(self.classes_)} classes"
            raise ValueError(
                f"{type(self).__name__} needs labels of exactly 2 classes and found {classes}. "
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}."
            )
        unlabelled = None
        if X_unlabelled is not None:
            others = validate_data(
                self, X_unlabelled, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
            )
            unlabelled = signed(self._verdicts(others))
        votes = signed(self._verdicts(checked))
        return Ballots(
            votes,
            (2 * codes - 1).astype(np.int8),
            _units(groups, len(codes)),
            symmetric=bool(getattr(self, "symmetric", False)),
            unlabelled=unlabelled,
            margins=self._margins(checked),
        )

    def _verdicts(self, X: Floats) -> Votes:
        """Return verdicts (n_items, n_judges) in {0, 1, -1 missing} of the input."""
        return verdicts(X)

    def _margins(self, X: Floats) -> Floats | None:
        """Return distances of the input from its threshold, if the aggregator uses them."""
        return None

    def _logits_of(self, X: Floats, votes: Votes) -> Floats:
        """Return raw logits (n_items,) of the input and its verdicts."""
        return self._logits(votes)

    def _learn(self, ballots: Ballots) -> None:
        """Set the fitted attributes."""

    def _logits(self, votes: Votes) -> Floats:
        """Return raw logits (n_items,) of verdicts in {0, 1, -1 missing}."""
        raise NotImplementedError

    def _left_out(self, ballots: Ballots) -> Floats:
        """Return raw logits (n_items,) of training items without own labels; 0 without votes."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags


def verdicts(X: Floats) -> Votes:
    """Return int8 verdicts: NaN is missing, .5 and above is 1."""
    return np.where(np.isnan(X), MISSING, X >= 0.5).astype(np.int8)


def signed(votes: Votes) -> Votes:
    """Return V = 2y - 1, 0 if missing."""
    return np.where(votes == MISSING, 0, 2 * votes - 1).astype(np.int8)


def _units(groups: ArrayLike | None, n_items: int) -> NDArray[np.int64]:
    if groups is None:
        return np.arange(n_items)
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    if codes.shape != (n_items,):
        raise ValueError(f"groups need one value for each of the {n_items} items")
    return codes
