"""Raw logits of every ranked prefix k of a panel, from one cumulative pass over the judges.

For one split, judges are ranked on the calibration rows and the score of the first k judges is a
cumulative sum, so all k together cost as much as the full panel: O(n K log K) time, and memory
bounded by ``BLOCK`` cells at a time plus the result.

A calibrator must never see a score that was fitted to the item's own label (docs/aggregators.md):
with ``own_label="removed"`` each calibration item is scored by weights *and a ranking* computed
without its own unit (the item, or its group). Counts make that exact and cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
ClosedForm = Literal["majority", "accuracy_weighted", "log_odds", "one_coin"]
Ranking = Literal["accuracy", "informativeness"]
OwnLabel = Literal["removed", "seen"]

CLOSED_FORMS: tuple[ClosedForm, ...] = ("majority", "accuracy_weighted", "log_odds", "one_coin")
FRACTIONS: tuple[ClosedForm, ...] = ("majority", "accuracy_weighted")
RANKINGS: tuple[Ranking, ...] = ("accuracy", "informativeness")
BLOCK = 32_768


@dataclass(frozen=True, slots=True, eq=False)
class PrefixScores:
    """Raw logits by panel size: ``ks`` (n_k,), ``order`` (n_judges,) best judge first.

    ``calibration`` (n_k, n_cal) and ``evaluation`` (n_k, n_eval) hold logits; the ``_empty`` masks
    of the same shapes mark items on which none of the first k judges voted (logit 0). ``fold``
    (n_cal,) is the fold that scored a calibration row, None if scores come from leave-out counts.
    """

    ks: Index
    order: Index
    calibration: Floats
    calibration_empty: NDArray[np.bool_]
    evaluation: Floats
    evaluation_empty: NDArray[np.bool_]
    fold: Index | None = None


def one_coin_weight(correct: Floats, voted: Floats) -> Floats:
    """log((c + 1) / (n - c + 1)): integrated one-coin log-odds (paper, equation 1)."""
    return np.asarray(np.log((correct + 1.0) / (voted - correct + 1.0)))


def closed_form_weights(aggregator: ClosedForm, correct: Floats, voted: Floats) -> Floats:
    """Vote weights by form: 1; (c + 1) / (n + 2); log(c / (n - c)); log((c + 1) / (n - c + 1)).

    The log-odds keep c half a vote away from 0 and n; a judge without votes has weight 0 there.
    """
    if aggregator == "one_coin":
        return one_coin_weight(correct, voted)
    if aggregator == "accuracy_weighted":
        return posterior_mean(correct, voted)
    if aggregator == "log_odds":
        inside = np.clip(correct, 0.5, np.maximum(voted - 0.5, 0.5))
        return np.where(voted > 0, np.log(inside / np.maximum(voted - inside, 0.5)), 0.0)
    return np.ones(correct.shape)


def prior_logit(ballots: Ballots, rows: Index) -> float:
    """Log-odds of label 1 on these rows with one pseudo-item per class; 0 under ``symmetric``."""
    if ballots.symmetric:
        return 0.0
    ones = float(np.count_nonzero(ballots.signs[rows] > 0))
    return float(np.log((ones + 1.0) / (len(rows) - ones + 1.0)))


def posterior_mean(correct: Floats, voted: Floats) -> Floats:
    """(c + 1) / (n + 2): posterior mean accuracy under a uniform prior (paper, section 2.1)."""
    return np.asarray((correct + 1.0) / (voted + 2.0))


def ranking_key(correct: Floats, voted: Floats, ranking: Ranking) -> Floats:
    """Sort key of a ranking, in descending order; made of exact integers, so ties are exact."""
    if ranking == "accuracy":
        return posterior_mean(correct, voted)
    return np.asarray(np.abs(2.0 * correct - voted) / (voted + 2.0))


def counts(ballots: Ballots, rows: Index) -> tuple[Floats, Floats]:
    """Return correct votes c and votes n of every judge on these rows, each float (n_judges,)."""
    votes = ballots.votes[rows]
    agreement = ballots.signs[rows].astype(np.float64) @ votes
    voted = np.count_nonzero(votes, axis=0).astype(np.float64)
    return (voted + agreement) / 2.0, voted


def rank(ballots: Ballots, rows: Index, ranking: Ranking = "accuracy") -> Index:
    """Return judges in descending order of the ranking on these rows, ties in column order."""
    correct, voted = counts(ballots, rows)
    return np.argsort(-ranking_key(correct, voted, ranking), kind="stable")


def without_votes(ballots: Ballots, rows: Index, order: Index, ks: Index) -> NDArray[np.bool_]:
    """Mask (n_k, n_rows) of items on which none of the first k judges voted."""
    voted = ballots.votes[rows][:, order] != 0
    leading = np.where(voted.any(axis=1), voted.argmax(axis=1), ballots.n_judges)
    return np.asarray(ks[:, None] <= leading[None, :])


def prefix_scores(
    ballots: Ballots,
    calibration: Index,
    evaluation: Index,
    ks: Index,
    *,
    aggregator: ClosedForm = "one_coin",
    ranking: Ranking = "accuracy",
    own_label: OwnLabel = "removed",
) -> PrefixScores:
    """Score both sides of a split under every prefix in ``ks`` (sorted, in 1..n_judges)."""
    correct, voted = counts(ballots, calibration)
    order = np.argsort(-ranking_key(correct, voted, ranking), kind="stable")
    weights = closed_form_weights(aggregator, correct, voted)

    def fixed(rows: Index) -> tuple[Floats, NDArray[np.int8]]:
        votes = ballots.votes[rows][:, order]
        return weights[order], votes

    evaluation_scores = _cumulate(ballots, evaluation, ks, aggregator, fixed)
    if own_label == "seen":
        calibration_scores = _cumulate(ballots, calibration, ks, aggregator, fixed)
    else:
        own_correct, own_voted, position = own_counts(ballots, calibration)
        rest_voted = np.maximum(voted - own_voted, 0.0)
        rest_correct = np.clip(correct - own_correct, 0.0, rest_voted)
        keys = -ranking_key(rest_correct, rest_voted, ranking).ravel()
        own_weights = closed_form_weights(aggregator, rest_correct, rest_voted).ravel()

        def reranked(rows: Index) -> tuple[Floats, NDArray[np.int8]]:
            values = position(rows) * ballots.n_judges + np.arange(ballots.n_judges)
            ranked = np.argsort(keys[values], axis=1, kind="stable")
            votes = np.take_along_axis(ballots.votes[rows], ranked, axis=1)
            return own_weights[np.take_along_axis(values, ranked, axis=1)], votes

        calibration_scores = _cumulate(ballots, calibration, ks, aggregator, reranked)
    if aggregator == "log_odds":
        # One prior for all rows does not distinguish items, so it leaks no label.
        prior = prior_logit(ballots, calibration)
        calibration_scores, evaluation_scores = (
            (np.where(empty, 0.0, logits + prior), empty)
            for logits, empty in (calibration_scores, evaluation_scores)
        )
    return PrefixScores(ks, order, *calibration_scores, *evaluation_scores)


def own_counts(
    ballots: Ballots, calibration: Index
) -> tuple[Floats, Floats, Callable[[Index], Index]]:
    """Return an own unit's part of the counts c and n: two tables (n_cases, n_judges).

    The third value is a function of rows that returns the case of each cell, (n, n_judges) or (n,
    1). A single item has three cases per judge (wrong, missing, right); with groups, each group is
    a case. Unused cases may hold counts that the panel does not have.
    """
    units = ballots.units[calibration]
    signed = ballots.votes[calibration] * ballots.signs[calibration, None]
    if len(np.unique(units)) == len(units):
        shape = (3, ballots.n_judges)
        right = np.broadcast_to(np.array([[0.0], [0.0], [1.0]]), shape)
        voted = np.broadcast_to(np.array([[1.0], [0.0], [1.0]]), shape)

        def alone(rows: Index) -> Index:
            return ballots.votes[rows] * ballots.signs[rows, None] + np.int64(1)

        return right, voted, alone
    _, codes = np.unique(units, return_inverse=True)
    shape = (int(codes.max()) + 1, ballots.n_judges)
    agreement = np.zeros(shape)
    cast = np.zeros(shape)
    np.add.at(agreement, codes, signed)
    np.add.at(cast, codes, np.abs(signed))
    place = np.full(ballots.n_items, -1)
    place[calibration] = codes

    def grouped(rows: Index) -> Index:
        return place[rows][:, None]

    return (cast + agreement) / 2.0, cast, grouped


def _cumulate(
    ballots: Ballots,
    rows: Index,
    ks: Index,
    aggregator: ClosedForm,
    ranked: Callable[[Index], tuple[Floats, NDArray[np.int8]]],
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return logits (n_k, n) and the empty mask of every prefix, computed in blocks of items."""
    logits = np.empty((len(ks), len(rows)))
    leading = np.empty(len(rows), dtype=np.int64)
    step = max(1, BLOCK // max(1, ballots.n_judges))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        weights, votes = ranked(rows[block])
        if aggregator in FRACTIONS:
            ones = np.cumsum((votes > 0) * weights, axis=1)[:, ks - 1]
            zeros = np.cumsum((votes < 0) * weights, axis=1)[:, ks - 1]
            sums = np.log(ones + 1.0) - np.log(zeros + 1.0)  # exactly odd, unlike log of a ratio
        else:
            sums = np.cumsum(votes * weights, axis=1)[:, ks - 1]
        logits[:, block] = sums.T
        voted = votes != 0
        leading[block] = np.where(voted.any(axis=1), voted.argmax(axis=1), ballots.n_judges)
    return logits, ks[:, None] <= leading[None, :]
