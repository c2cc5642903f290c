"""Closed-form aggregators: majority, accuracy-weighted, log-odds, one-coin."""

from __future__ import annotations

from typing import Any

import numpy as np

from judgepanel.arrays import Floats, Votes
from judgepanel.kernels.aggregate.prefixes import (
    ClosedForm,
    closed_form_weights,
    counts,
    prefix_scores,
    prior_logit,
)
from judgepanel.kernels.application import fraction_logits, weighted_logits
from judgepanel.kernels.ballots import Ballots
from judgepanel.models.base import VoteAggregator


class _ClosedForm(VoteAggregator):
    """An aggregator whose weights are functions of each judge's counts.

    Attributes
    ----------
    weights_ : float (n_judges,), weight of each judge's vote.
    correct_, voted_ : float (n_judges,), right verdicts and all verdicts on the training items.
    """

    kind: ClosedForm

    def _learn(self, ballots: Ballots) -> None:
        self.correct_, self.voted_ = counts(ballots, np.arange(ballots.n_items))
        self.weights_ = closed_form_weights(self.kind, self.correct_, self.voted_)

    def _logits(self, votes: Votes) -> Floats:
        return weighted_logits(votes, self.weights_)

    def _left_out(self, ballots: Ballots) -> Floats:
        everyone = np.arange(ballots.n_items)
        scores = prefix_scores(
            ballots, everyone, everyone[:0], np.array([ballots.n_judges]), aggregator=self.kind
        )
        return np.where(scores.calibration_empty[0], 0.0, scores.calibration[0])


class _Fraction(_ClosedForm):
    def _logits(self, votes: Votes) -> Floats:
        return fraction_logits(votes, self.weights_)


class MajorityVote(_Fraction):
    """Logit of the smoothed vote fraction, log((ones + 1) / (zeros + 1)).

    Smoothing is the posterior mean of the fraction under a uniform prior; without it a unanimous
    vote would be an infinite logit. All judges have the same weight.
    """

    kind: ClosedForm = "majority"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it learns nothing about single columns
        return tags


class AccuracyWeighted(_Fraction):
    """Smoothed vote fraction with weight (c + 1) / (n + 2), the accuracy of the vote's judge.

    The logit is log((sum of weights for 1 + 1) / (sum of weights for 0 + 1)); see
    :class:`MajorityVote` for the ones.
    """

    kind: ClosedForm = "accuracy_weighted"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # a judge at chance still counts half
        return tags


class LogOdds(_ClosedForm):
    """Plug-in log-odds weights, log(a / (1 - a)) with a = c / n, plus the label prior.

    The optimal rule for independent judges of known accuracy (Nitzan and Paroush 1982,
    doi:10.2307/2526438; the paper's appendix). c is kept half a vote away from 0 and n, so that a
    judge without errors has a finite weight.

    Parameters
    ----------
    symmetric : omit the label prior, because the order of a pair is arbitrary.
    """

    kind: ClosedForm = "log_odds"

    def __init__(self, *, symmetric: bool = False) -> None:
        self.symmetric = symmetric

    def _learn(self, ballots: Ballots) -> None:
        super()._learn(ballots)
        self.intercept_ = prior_logit(ballots, np.arange(ballots.n_items))

    def _logits(self, votes: Votes) -> Floats:
        return weighted_logits(votes, self.weights_) + self.intercept_


class OneCoin(_ClosedForm):
    """Integrated Bayesian one-coin model (Calibrate, Don't Curate, equation 1).

    A judge with c of n votes right adds +-log((c + 1) / (n - c + 1)).
    """

    kind: ClosedForm = "one_coin"
