"""Stacking and joint as scikit-learn classifiers: judges weighted jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from judgepanel.arrays import Floats, Votes
from judgepanel.kernels.aggregate.aggregation import RIDGES, Aggregator
from judgepanel.kernels.aggregate.crossfit import N_FOLDS, Fit
from judgepanel.kernels.aggregate.joint import CS, Form, JointPanel
from judgepanel.kernels.ballots import Ballots
from judgepanel.models.base import VoteAggregator, signed
from judgepanel.scoring.splits import fold_of, folds


class Stacking(VoteAggregator):
    """Ridge logistic regression on the votes.

    Parameters
    ----------
    Cs : variances of a judge's weight under the ridge, positive and ascending. Several are
        averaged, weighted by their likelihood on held-out folds.
    n_folds : folds for these weights, at least 2; at most the number of groups is used.
    seed : seed of the folds.
    symmetric : fit every item and its swap, without an intercept.

    Attributes
    ----------
    weights_ : float (n_judges,), log-odds that a vote for ``classes_[1]`` adds and a vote for
        ``classes_[0]`` subtracts.
    intercept_ : log-odds of an item whose votes cancel.
    C_ : the C with the largest share, ``C_weights_`` (n_C,) the shares.
    cv_nll_ : float (n_C,), NLL in nats of every C on held-out folds; None with one C.
    panel_ : the complete fitted scorer, see :class:`judgepanel.kernels.aggregate.joint.JointPanel`.
    """

    kind: Aggregator = "stacking"

    def __init__(
        self,
        *,
        Cs: Sequence[float] = CS,
        n_folds: int = N_FOLDS,
        seed: int = 0,
        symmetric: bool = False,
    ) -> None:
        self.Cs = Cs
        self.n_folds = n_folds
        self.seed = seed
        self.symmetric = symmetric

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit to labelled items; items of one group (n_items,) stay in one fold.

        Raises
        ------
        ValueError
            Shapes that do not match, infinite votes, a number of classes other than two, or a
            parameter out of range.
        """
        return self._fit(X, y, groups)

    def _learn(self, ballots: Ballots) -> None:
        everyone = np.arange(ballots.n_items)
        self.panel_ = self._panels(ballots, [Fit(everyone, everyone[:0], self._fold(ballots))])[0]
        self.weights_ = np.empty(ballots.n_judges)
        self.weights_[self.panel_.judges] = self.panel_.weights
        self.intercept_ = self.panel_.intercept
        self.C_weights_ = self.panel_.C_weights
        self.C_ = float(self.panel_.Cs[np.argmax(self.C_weights_)])
        self.cv_nll_ = self.panel_.cv_nll

    def _logits(self, votes: Votes) -> Floats:
        return self.panel_.logits(signed(votes))

    def _left_out(self, ballots: Ballots) -> Floats:
        fits = self._fits(ballots)
        logits = np.empty(ballots.n_items)
        for fit, panel in zip(fits, self._panels(ballots, fits), strict=True):
            logits[fit.score] = panel.logits(ballots.votes[fit.score])
        return logits

    def _fits(self, ballots: Ballots) -> list[Fit]:
        """Return fits without each fold, which score that fold."""
        fold = self._fold(ballots)
        return [
            Fit(np.flatnonzero(fold != f), np.flatnonzero(fold == f), fold[fold != f])
            for f in range(int(fold.max()) + 1)
        ]

    def _fold(self, ballots: Ballots) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        if self.n_folds < 2:
            raise ValueError(f"n_folds must be at least 2, this is {self.n_folds}.")
        everyone = np.arange(ballots.n_items)
        pieces = folds(ballots.units, everyone, self.n_folds, seed=self.seed, key=(0,))
        return fold_of(pieces, ballots.n_items)

    def _panels(self, ballots: Ballots, fits: list[Fit]) -> list[JointPanel]:
        return self._form().panels(ballots, fits, ballots.n_judges, Cs=self._ridges())

    def _ridges(self) -> list[float]:
        """Return ``Cs`` after validation."""
        Cs = [float(C) for C in self.Cs]
        if not Cs or Cs != sorted(Cs) or not 0.0 < Cs[0] <= Cs[-1] < np.inf:
            raise ValueError(f"Cs must be positive, finite and ascending, they are {self.Cs}.")
        return Cs

    def _form(self) -> Form:
        return RIDGES[self.kind]


class Joint(Stacking):
    """One-coin with a fitted temperature, corrected for dependence between judges.

    logit p = b + tau l(V) + V delta + g(V): l is the one-coin score, delta a correction of each
    judge's weight, g the contribution of agreement with past items. A ridge shrinks delta and g,
    not tau.

    Parameters
    ----------
    agreement : whether to include g; without it the model is linear in the votes.
    Cs, n_folds, seed, symmetric : as in :class:`Stacking`.

    Attributes
    ----------
    weights_ : float (n_judges,), tau times the one-coin weights, plus delta.
    tau_ : above 0; 1 for independent judges, smaller the more their votes repeat each other.
    intercept_, C_, C_weights_, cv_nll_, panel_ : as in :class:`Stacking`.
    """

    kind: Aggregator = "joint"

    def __init__(
        self,
        *,
        agreement: bool = True,
        Cs: Sequence[float] = CS,
        n_folds: int = N_FOLDS,
        seed: int = 0,
        symmetric: bool = False,
    ) -> None:
        super().__init__(Cs=Cs, n_folds=n_folds, seed=seed, symmetric=symmetric)
        self.agreement = agreement

    def _learn(self, ballots: Ballots) -> None:
        super()._learn(ballots)
        self.tau_ = self.panel_.tau

    def _form(self) -> Form:
        return replace(RIDGES[self.kind], agreement=bool(self.agreement))


class MonotoneStacking(Stacking):
    """Ridge logistic regression on the votes with weights of at least 0.

    Only judges that are below chance according to the labels (95 % interval of accuracy below 1/2)
    may have negative weights. Attributes are those of :class:`Stacking`.

    Parameters
    ----------
    Cs, n_folds, seed, symmetric : as in :class:`Stacking`.
    """

    kind: Aggregator = "stacking_monotone"


class MonotoneJoint(MonotoneStacking):
    """One-coin with a fitted temperature and a bounded correction of each judge's weight.

    The total weight of a vote, ``weights_``, is at least 0 except for judges that are below chance
    according to the labels. There is no agreement term, because weights do not bound its sign.
    Attributes are those of :class:`Stacking`, with ``tau_`` as in :class:`Joint`.

    Parameters
    ----------
    Cs, n_folds, seed, symmetric : as in :class:`Stacking`.
    """

    kind: Aggregator = "joint_monotone"

    def _learn(self, ballots: Ballots) -> None:
        super()._learn(ballots)
        self.tau_ = self.panel_.tau
