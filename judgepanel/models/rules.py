"""Rules: how a fitted panel turns votes into a raw logit, one class per family of aggregators.

Votes are (n_items, n_judges) in {0, 1, -1 missing}, in panel order, and codes of votes with grades
where a rule reads grades; every sum runs in that order (:mod:`kernels.application`).

The weight of each judge's vote under every aggregator, fitted to all labelled items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.kernels.aggregation import AGGREGATORS, RIDGES, Aggregator, AnyAggregator, Graded
from judgepanel.kernels.ballots import (
    Ballots,
    fraction_logits,
    level_logits,
    likeness_logits,
    uncoded,
    weighted_logits,
)
from judgepanel.kernels.dawid_skene import DawidSkeneFit, Rules, fit_many, training, two_coin_logits
from judgepanel.kernels.graded import (
    GradedPanel,
    Levels,
    band_counts,
    graded_panels,
    level_weights,
    levels_on,
)
from judgepanel.kernels.joint import JointPanel, joint
from judgepanel.kernels.joint_features import Agreement
from judgepanel.kernels.prefixes import (
    FRACTIONS,
    N_FOLDS,
    ClosedForm,
    Fit,
    Ranking,
    closed_form_weights,
    counts,
    prior_logit,
    rank,
)
from judgepanel.scoring.splits import fold_of, folds

Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class VoteFraction:
    """log(A + 1) - log(B + 1), A and B the ``weights`` (k,) of the votes for 1 and for 0."""

    kind: Literal["majority", "accuracy_weighted"]
    weights: Numbers

    def logits(self, votes: Votes) -> Floats:
        """Return raw logits (n_items,)."""
        return fraction_logits(votes, np.array(self.weights))


@dataclass(frozen=True, slots=True)
class VoteSum:
    """``intercept`` + sum of V w: ``weights`` (k,) are the log-odds of a vote for 1."""

    kind: Literal["one_coin", "log_odds", "stacking", "stacking_monotone", "joint_monotone"]
    weights: Numbers
    intercept: float = 0.0

    def logits(self, votes: Votes) -> Floats:
        """Return raw logits (n_items,)."""
        return weighted_logits(votes, np.array(self.weights)) + self.intercept


@dataclass(frozen=True, slots=True)
class TwoCoin:
    """Contributions of a vote for 1 (``ones``) and for 0 (``zeros``), (k,), and the prior."""

    kind: Literal["dawid_skene", "dawid_skene_semi"]
    ones: Numbers
    zeros: Numbers
    prior_logit: float

    @property
    def weights(self) -> Numbers:
        """Half the difference between a vote for 1 and a vote for 0."""
        return tuple(
            (label_one - zero) / 2.0 for label_one, zero in zip(self.ones, self.zeros, strict=True)
        )

    def logits(self, votes: Votes) -> Floats:
        """Return raw logits (n_items,)."""
        return two_coin_logits(votes, np.array(self.ones), np.array(self.zeros), self.prior_logit)


@dataclass(frozen=True, slots=True)
class JointSum:
    """A weighted sum plus the contribution of similarity to past items.

    ``prototypes`` are past items, one string of ``1``, ``0`` and ``.`` (missing) each, in panel
    order; ``shares`` (k,) are the judges' weights in a comparison; ``pull`` (m,) is the
    contribution of each prototype (:mod:`kernels.joint_features`).
    """

    kind: Literal["joint"]
    weights: Numbers
    intercept: float
    shares: Numbers
    prototypes: tuple[str, ...]
    pull: Numbers

    def logits(self, votes: Votes) -> Floats:
        """Return raw logits (n_items,)."""
        linear = weighted_logits(votes, np.array(self.weights)) + self.intercept
        return linear + _likeness(self, votes)


@dataclass(frozen=True, slots=True)
class LevelSum:
    """``intercept`` + sum of V w, the weight of a vote being that of the band of its grade, and for
    joint the contribution of similarity to past items.

    ``levels`` (k,) are the weights of each judge by band, nearest to the threshold first, ``edges``
    (k,) the smallest margin of each band above the lowest. ``shares``, ``prototypes`` and ``pull``
    are those of :class:`JointSum`, empty for one-coin.
    """

    kind: Graded
    levels: tuple[Numbers, ...]
    edges: tuple[Numbers, ...]
    intercept: float = 0.0
    shares: Numbers = ()
    prototypes: tuple[str, ...] = ()
    pull: Numbers = ()

    @property
    def weights(self) -> Numbers:
        """Mean weight (k,) of each judge's vote over its bands."""
        return tuple(sum(weights) / len(weights) for weights in self.levels)

    def weights_of(self, codes: Votes) -> Floats:
        """Return the weight (n_items, k) of every vote in codes."""
        bands = np.maximum(codes, 0) >> 1
        columns = zip(self.levels, bands.T, strict=True)
        return np.stack([np.array(weights)[band] for weights, band in columns], axis=1)

    def logits(self, codes: Votes) -> Floats:
        """Return raw logits (n_items,) of codes."""
        linear = level_logits(codes, [np.array(weights) for weights in self.levels])
        linear += self.intercept
        return linear + _likeness(self, uncoded(codes)) if self.prototypes else linear


Rule = VoteFraction | VoteSum | TwoCoin | JointSum | LevelSum


def _likeness(rule: JointSum | LevelSum, votes: Votes) -> Floats:
    """Contribution of similarity to past items, (n_items,)."""
    past = np.array([[_SIGNS[c] for c in row] for row in rule.prototypes], dtype=np.int8)
    return likeness_logits(votes, np.array(rule.shares), past, np.array(rule.pull))


_SIGNS = {"1": 1, "0": -1, ".": 0}
_MARKS = {sign: mark for mark, sign in _SIGNS.items()}


def fit_rule(
    ballots: Ballots, k: int, aggregator: AnyAggregator, ranking: Ranking, *, seed: int
) -> tuple[Ints, Rule]:
    """Return the ``k`` best judges (k,) in panel order, and their rule, fitted on all rows.

    ``seed`` determines the folds in which ridge regressions choose their ridge.
    """
    everyone = np.arange(ballots.n_items)
    order = rank(ballots, everyone, ranking)[:k]
    if aggregator in ("dawid_skene", "dawid_skene_semi"):
        return order, _two_coin(ballots, order, aggregator)
    if aggregator == "one_coin_graded":
        return order, _one_coin_on_levels(ballots, order)
    if aggregator == "joint_graded":
        return _joint_on_levels(ballots, k, ranking, seed)
    if aggregator in RIDGES:
        return _ridge(ballots, k, aggregator, ranking, seed)
    correct, voted = counts(ballots, everyone)
    weights = _floats(closed_form_weights(cast(ClosedForm, aggregator), correct, voted)[order])
    if aggregator in FRACTIONS:
        return order, VoteFraction(cast(Literal["majority"], aggregator), weights)
    start = prior_logit(ballots, everyone) if aggregator == "log_odds" else 0.0
    return order, VoteSum(cast(Literal["one_coin"], aggregator), weights, start)


def _em(ballots: Ballots, judges: Ints, aggregator: Aggregator) -> DawidSkeneFit:
    """The EM of one panel on all rows."""
    clamp = aggregator == "dawid_skene_semi"
    votes, labels = training(ballots, np.arange(ballots.n_items), judges, clamp=clamp)
    panel = np.ones((len(judges), 1), dtype=bool)
    return fit_many(votes, panel, labels=labels, rules=Rules(symmetric=ballots.symmetric))


def _two_coin(ballots: Ballots, order: Ints, aggregator: Aggregator) -> TwoCoin:
    fit = _em(ballots, order, aggregator)
    return TwoCoin(
        cast(Literal["dawid_skene"], aggregator),
        _floats(fit.ones[:, 0]),
        _floats(fit.zeros[:, 0]),
        float(fit.prior[0]),
    )


def _ridge(
    ballots: Ballots, k: int, aggregator: Aggregator, ranking: Ranking, seed: int
) -> tuple[Ints, Rule]:
    (panel,) = RIDGES[aggregator].panels(ballots, [_whole(ballots, seed)], k, ranking)
    weights = _floats(panel.weights)
    if panel.agreement is None:
        return panel.judges, VoteSum(
            cast(Literal["stacking"], aggregator), weights, panel.intercept
        )
    return panel.judges, JointSum(
        "joint", weights, panel.intercept, *_past(panel.agreement, panel.agreement_weights)
    )


def _one_coin_on_levels(ballots: Ballots, order: Ints) -> LevelSum:
    cut = levels_on(ballots, np.arange(ballots.n_items))
    bands = cut.bands(ballots.margins, ballots.n_items)
    weights = level_weights(*band_counts(ballots.votes, ballots.signs, bands), cut.n_bands)
    return _level_sum("one_coin_graded", cut, weights[:, order], order)


def _joint_on_levels(
    ballots: Ballots, k: int, ranking: Ranking, seed: int
) -> tuple[Ints, LevelSum]:
    cut = levels_on(ballots, np.arange(ballots.n_items))
    fit = _whole(ballots, seed)
    panel: JointPanel | GradedPanel
    if cut.several:
        (panel,) = graded_panels(ballots, [fit], k, ranking)
    else:
        (panel,) = joint.panels(ballots, [fit], k, ranking)
    weights = np.atleast_2d(panel.weights)
    past = () if panel.agreement is None else _past(panel.agreement, panel.agreement_weights)
    rule = _level_sum("joint_graded", cut, weights, panel.judges, panel.intercept, *past)
    return panel.judges, rule


def _level_sum(kind: Graded, cut: Levels, weights: Floats, judges: Ints, *rest: Any) -> LevelSum:
    """A rule from weights (n_bands, k) by band; ``judges`` (k,) are columns of ``cut``."""
    n_bands = cut.n_bands[judges]
    levels = tuple(_floats(weights[:n, place]) for place, n in enumerate(n_bands.tolist()))
    return LevelSum(kind, levels, tuple(_floats(cut.edges[judge]) for judge in judges), *rest)


def _whole(ballots: Ballots, seed: int) -> Fit:
    """A fit to all rows, with folds in which it chooses its ridge."""
    everyone = np.arange(ballots.n_items)
    pieces = folds(ballots.units, everyone, N_FOLDS, seed=seed, key=(0,))
    return Fit(everyone, everyone[:0], fold_of(pieces, ballots.n_items))


def _past(agreement: Agreement, pull: Floats) -> tuple[Numbers, tuple[str, ...], Numbers]:
    """Shares of the judges, prototypes and what each adds, as a rule has them."""
    prototypes = agreement.prototypes.tolist()
    marked = tuple("".join(_MARKS[sign] for sign in row) for row in prototypes)
    return _floats(agreement.shares), marked, _floats(pull)


def _floats(values: Floats) -> Numbers:
    return tuple(float(value) for value in values)


def judge_weights(
    ballots: Ballots, names: Sequence[Aggregator] = AGGREGATORS
) -> dict[Aggregator, Floats]:
    """Return weights (n_judges,) under each named aggregator.

    They are the log-odds of a vote for label 1, or half the difference between a vote for 1 and a
    vote for 0 if these differ (Dawid-Skene). ``majority`` and ``accuracy_weighted`` use a fraction
    of votes, so they are the weights in that fraction. For ``joint`` they are those of its linear
    form: the contribution of agreement with past items belongs to no single judge.
    """
    return {name: _weights(ballots, name) for name in names}


def _weights(ballots: Ballots, aggregator: Aggregator) -> Floats:
    if aggregator in RIDGES:
        linear = replace(RIDGES[aggregator], agreement=False)
        (panel,) = linear.panels(ballots, [_whole(ballots, 0)], ballots.n_judges)
        values = np.empty(ballots.n_judges)
        values[panel.judges] = panel.weights
        return values
    if aggregator in ("dawid_skene", "dawid_skene_semi"):
        fit = _em(ballots, np.arange(ballots.n_judges), aggregator)
        return np.asarray((fit.ones - fit.zeros)[:, 0] / 2.0)
    tally = counts(ballots, np.arange(ballots.n_items))
    return closed_form_weights(cast(ClosedForm, aggregator), *tally)
