"""Aggregators of grades as scikit-learn classifiers: one-coin and joint on levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from judgepanel.arrays import Floats, Votes
from judgepanel.kernels.aggregate.aggregation import panel_scores
from judgepanel.kernels.aggregate.crossfit import N_FOLDS, Fit
from judgepanel.kernels.aggregate.graded import band_counts, level_weights
from judgepanel.kernels.aggregate.joint import CS
from judgepanel.kernels.aggregate.joint_graded import GradedPanel, graded_panels
from judgepanel.kernels.aggregate.levels import levels_on
from judgepanel.kernels.ballots import Ballots
from judgepanel.models.base import VoteAggregator, signed
from judgepanel.models.joint import Stacking
from judgepanel.scoring.splits import Split
from judgepanel.votes import MISSING


class _Graded(VoteAggregator):
    """X holds grades: above the threshold is a vote for ``classes_[1]``, at it is no vote."""

    threshold: float | ArrayLike

    def _verdicts(self, X: Floats) -> Votes:
        cut = X - np.asarray(self.threshold, dtype=np.float64)
        return np.where(np.isnan(cut) | (cut == 0.0), MISSING, cut > 0.0).astype(np.int8)

    def _margins(self, X: Floats) -> Floats:
        margins = np.abs(X - np.asarray(self.threshold, dtype=np.float64))
        return np.asarray(np.nan_to_num(np.round(margins, 12)))


class GradedOneCoin(_Graded):
    """One-coin on levels: the weight of a vote follows the accuracy in the band of its grade.

    Parameters
    ----------
    threshold : float, or float (n_judges,), at which grades are cut into votes.

    Attributes
    ----------
    weights_ : float (4, n_judges), weight of a vote in each band of margins, nearest first; a judge
        with b bands uses the first b.
    levels_ : the cuts of the margins, see :class:`judgepanel.kernels.aggregate.levels.Levels`.
    """

    kind: Literal["one_coin_graded"] = "one_coin_graded"  # type: ignore[assignment]

    def __init__(self, *, threshold: float | ArrayLike = 0.5) -> None:
        self.threshold = threshold

    def _learn(self, ballots: Ballots) -> None:
        self.levels_ = levels_on(ballots, np.arange(ballots.n_items))
        bands = self.levels_.bands(ballots.margins, ballots.n_items)
        tally = band_counts(ballots.votes, ballots.signs, bands)
        self.weights_ = level_weights(*tally, self.levels_.n_bands)

    def _logits_of(self, X: Floats, votes: Votes) -> Floats:
        bands = self.levels_.bands(self._margins(X), len(X))
        evidence = signed(votes) * self.weights_[bands, np.arange(votes.shape[1])]
        return np.asarray(evidence.sum(axis=1))

    def _left_out(self, ballots: Ballots) -> Floats:
        everyone = np.arange(ballots.n_items)
        whole = Split(0, everyone, everyone[:0])
        scores = panel_scores(
            ballots, whole, np.array([ballots.n_judges]), aggregator="one_coin_graded"
        )
        return np.where(scores.calibration_empty[0], 0.0, scores.calibration[0])


class GradedJoint(_Graded, Stacking):
    """Joint on levels: the weight of a judge's vote depends on the band of its grade.

    Parameters
    ----------
    threshold : float, or float (n_judges,), at which grades are cut into votes.
    Cs, n_folds, seed, symmetric : as in :class:`Stacking`.

    Attributes
    ----------
    weights_ : float (4, n_judges), log-odds of a vote in each band of margins, nearest first; a
        judge with b bands uses the first b.
    tau_ : as in :class:`Joint`.
    panel_ : the complete fitted scorer, see
        :class:`judgepanel.kernels.aggregate.joint_graded.GradedPanel`.
    """

    kind: Literal["joint_graded"] = "joint_graded"  # type: ignore[assignment]
    panel_: GradedPanel  # type: ignore[assignment]

    def __init__(
        self,
        *,
        threshold: float | ArrayLike = 0.5,
        Cs: Sequence[float] = CS,
        n_folds: int = N_FOLDS,
        seed: int = 0,
        symmetric: bool = False,
    ) -> None:
        super().__init__(Cs=Cs, n_folds=n_folds, seed=seed, symmetric=symmetric)
        self.threshold = threshold

    def _learn(self, ballots: Ballots) -> None:
        everyone = np.arange(ballots.n_items)
        self.panel_ = self._fitted(ballots, [Fit(everyone, everyone[:0], self._fold(ballots))])[0]
        self.weights_ = np.empty(self.panel_.weights.shape)
        self.weights_[:, self.panel_.judges] = self.panel_.weights
        self.intercept_, self.tau_ = self.panel_.intercept, self.panel_.tau

    def _logits_of(self, X: Floats, votes: Votes) -> Floats:
        return self.panel_.logits(signed(votes), self._margins(X))

    def _left_out(self, ballots: Ballots) -> Floats:
        fits = self._fits(ballots)
        logits = np.empty(ballots.n_items)
        for fit, panel in zip(fits, self._fitted(ballots, fits), strict=True):
            margins = None if ballots.margins is None else ballots.margins[fit.score]
            logits[fit.score] = panel.logits(ballots.votes[fit.score], margins)
        return logits

    def _fitted(self, ballots: Ballots, fits: list[Fit]) -> list[GradedPanel]:
        return graded_panels(ballots, fits, ballots.n_judges, Cs=self._ridges())
