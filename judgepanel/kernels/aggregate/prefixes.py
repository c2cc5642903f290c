"""Raw logits of every ranked prefix k of a panel, from one cumulative pass over the judges.

For one split, judges are ranked on the calibration rows and the score of the first k judges is a
cumulative sum, so all k together cost as much as the full panel: O(n K log K) time, and memory
bounded by ``BLOCK`` cells at a time plus the result. Where only few of the best are asked for, the
rest is not ranked, and all judges are a sum in any order: O(n K). Of items with few votes only the
voters are ranked (:mod:`kernels.aggregate.prefixes_sparse`).

A calibrator must never see a score that was fitted to the item's own label (docs/aggregators.md):
with ``own_label="removed"`` each calibration item is scored by weights *and a ranking* computed
without its own unit (the item, or its group). Counts make that exact and cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.prefixes_sparse import (
    Placed,
    few_votes,
    places_in,
    places_without_own,
    voters_scores,
)
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.units import are_single, unit_codes

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
ClosedForm = Literal["majority", "accuracy_weighted", "log_odds", "one_coin"]
Ranking = Literal["accuracy", "informativeness"]
OwnLabel = Literal["removed", "seen"]
Votes = NDArray[np.int8]
Ranked = Callable[[Index], tuple[Floats, Votes]]
"""Weights and votes (n, depth) of the first judges on these rows, in order."""
Case = Callable[[Index, Votes], Index]
"""Case (n, m) or (n, 1) of votes (n, m) on these rows, see :func:`own_counts`."""

CLOSED_FORMS: tuple[ClosedForm, ...] = ("majority", "accuracy_weighted", "log_odds", "one_coin")
FRACTIONS: tuple[ClosedForm, ...] = ("majority", "accuracy_weighted")
RANKINGS: tuple[Ranking, ...] = ("accuracy", "informativeness")
BLOCK = 32_768
_COUNTED = 1_000_000
"""Votes that are counted together: the product needs a copy of them in double precision."""


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
    agreement, voted = np.zeros(ballots.n_judges), np.zeros(ballots.n_judges)
    step = max(1, _COUNTED // max(1, ballots.n_judges))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        votes = ballots.votes[block]
        agreement += ballots.signs[block].astype(np.float64) @ votes
        voted += np.count_nonzero(votes, axis=0)
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
    best = order[: _depth(ks, ballots.n_judges)]

    def fixed(rows: Index) -> tuple[Floats, Votes]:
        return weights[best], ballots.votes[rows[:, None], best]

    def all_fixed(_: Index) -> tuple[Floats, Floats]:
        return weights, weights

    places = places_in(order)

    def placed(_: Index, judges: Index, __: Votes) -> tuple[Index, Floats]:
        return places[judges], weights[judges]

    evaluation_scores = _scores(ballots, evaluation, ks, aggregator, fixed, all_fixed, placed)
    if own_label == "seen":
        calibration_scores = _scores(ballots, calibration, ks, aggregator, fixed, all_fixed, placed)
    else:
        calibration_scores = _own_label_removed(ballots, calibration, ks, aggregator, ranking)
    if aggregator == "log_odds":
        # One prior for all rows does not distinguish items, so it leaks no label.
        prior = prior_logit(ballots, calibration)
        calibration_scores, evaluation_scores = (
            (np.where(empty, 0.0, logits + prior), empty)
            for logits, empty in (calibration_scores, evaluation_scores)
        )
    return PrefixScores(ks, order, *calibration_scores, *evaluation_scores)


def _own_label_removed(
    ballots: Ballots, calibration: Index, ks: Index, aggregator: ClosedForm, ranking: Ranking
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return logits (n_k, n_cal) and the empty mask, each row scored without its own unit."""
    correct, voted = counts(ballots, calibration)
    own_correct, own_voted, case = own_counts(ballots, calibration)
    rest_voted = np.maximum(voted - own_voted, 0.0)
    rest_correct = np.clip(correct - own_correct, 0.0, rest_voted)
    weights = closed_form_weights(aggregator, rest_correct, rest_voted)
    keys = -ranking_key(rest_correct, rest_voted, ranking)
    depth = _depth(ks, ballots.n_judges)

    def everyone(rows: Index) -> tuple[Floats, Floats]:
        one = np.ones((len(rows), 1), dtype=np.int8)
        return weights[case(rows, one)[:, 0]], weights[case(rows, -one)[:, 0]]

    if not are_single(ballots.units[calibration]):
        ranked = _ranked_by_unit(ballots.votes, keys, weights, case, depth)
        return _scores(ballots, calibration, ks, aggregator, ranked, everyone, None)
    places = places_without_own(keys)

    def placed(rows: Index, judges: Index, votes: Votes) -> tuple[Index, Floats]:
        cell = case(rows, votes)
        return places(cell, judges, votes != 0), weights[cell, judges]

    ranked = _ranked_by_item(ballots.votes, keys, weights, case, depth)
    return _scores(ballots, calibration, ks, aggregator, ranked, everyone, placed)


def _ranked_by_unit(votes: Votes, keys: Floats, weights: Floats, case: Case, depth: int) -> Ranked:
    """Weights and votes of the first judges, who are ranked once for each unit."""
    order = np.argsort(keys, axis=1, kind="stable")[:, :depth]

    def ranked(rows: Index) -> tuple[Floats, Votes]:
        unit = case(rows, votes[rows])
        best = order[unit[:, 0]]
        return weights[unit, best], votes[rows[:, None], best]

    return ranked


def _ranked_by_item(votes: Votes, keys: Floats, weights: Floats, case: Case, depth: int) -> Ranked:
    """Weights and votes of the first judges, who are ranked for each item.

    All keys that there may be are ranked together, so that an item has places to sort, and none if
    no judge can pass another.
    """
    near = leaders(keys, depth)
    near = near[np.argsort(keys[:, near].min(axis=0), kind="stable")]
    own = keys[:, near]
    settled = bool((own.max(axis=0)[:-1] < own.min(axis=0)[1:]).all())
    # Equal keys are in the order of the columns.
    by_place = np.lexsort((np.tile(near, len(own)), own.ravel()))
    place = places_in(by_place).astype(np.int32)
    weight, column = weights[:, near].ravel()[by_place], by_place % max(1, len(near))

    def ranked(rows: Index) -> tuple[Floats, Votes]:
        cast = votes[rows[:, None], near]
        places = place[case(rows, cast) * len(near) + np.arange(len(near))]
        if settled:
            return weight[places[:, :depth]], cast[:, :depth]
        places.sort(axis=1)
        places = places[:, :depth]
        return weight[places], np.take_along_axis(cast, column[places], axis=1)

    return ranked


def _depth(ks: Index, n_judges: int) -> int:
    """How much of a ranking these sizes need, all judges aside; all of it if more than half."""
    depth = int(max(ks[ks < n_judges], default=0))
    return depth if 2 * depth <= n_judges else n_judges


def leaders(keys: Floats, depth: int) -> Index:
    """Judges, in the order of the columns, who may be among the first ``depth`` of some case.

    ``keys`` (n_cases, n_judges) are sorted in ascending order. Whatever the case of each judge, as
    many keys as ``depth`` are at or below the bound, so that nobody whose least key is above it is
    among the first.
    """
    if not 0 < depth < keys.shape[1]:
        return np.arange(keys.shape[1] if depth else 0)
    bound = np.partition(keys.max(axis=0), depth - 1)[depth - 1]
    return np.flatnonzero(keys.min(axis=0) <= bound)


def own_counts(ballots: Ballots, calibration: Index) -> tuple[Floats, Floats, Case]:
    """Return an own unit's part of the counts c and n: two tables (n_cases, n_judges).

    The third value is a function of rows (n,) and signed votes (n, m) on them that returns the case
    of each vote, (n, m) or (n, 1). A single item has three cases per judge (wrong, missing, right);
    with groups, each group is a case. Unused cases may hold counts that the panel does not have.
    """
    units = ballots.units[calibration]
    if are_single(units):
        shape = (3, ballots.n_judges)
        right = np.broadcast_to(np.array([[0.0], [0.0], [1.0]]), shape)
        voted = np.broadcast_to(np.array([[1.0], [0.0], [1.0]]), shape)

        def alone(rows: Index, votes: Votes) -> Index:
            return votes * ballots.signs[rows, None] + np.int64(1)

        return right, voted, alone
    codes, n_units = unit_codes(units)
    signed = ballots.votes[calibration] * ballots.signs[calibration, None]
    shape = (n_units, ballots.n_judges)
    agreement = np.zeros(shape)
    cast = np.zeros(shape)
    np.add.at(agreement, codes, signed)
    np.add.at(cast, codes, np.abs(signed))
    place = np.full(ballots.n_items, -1)
    place[calibration] = codes

    def grouped(rows: Index, _: Votes) -> Index:
        return place[rows][:, None]

    return (cast + agreement) / 2.0, cast, grouped


def _scores(
    ballots: Ballots,
    rows: Index,
    ks: Index,
    aggregator: ClosedForm,
    ranked: Ranked,
    everyone: Callable[[Index], tuple[Floats, Floats]],
    placed: Placed | None,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return logits (n_k, n) and the empty mask of every prefix.

    ``ranked`` returns weights and votes of the first judges in order, ``everyone`` the weights of
    all judges if they vote for label 1, and for label 0; ``placed``, if known, the places and
    weights of the voters alone.
    """
    few = np.zeros(len(rows), dtype=bool)
    if placed is not None and _depth(ks, ballots.n_judges) == ballots.n_judges:
        few = few_votes(ballots.votes, rows, len(ks))
    if placed is None or not few.any():
        logits, leading = _of_all(ballots, rows, ks, aggregator, ranked, everyone)
    else:
        logits, leading = np.empty((len(ks), len(rows))), np.empty(len(rows), dtype=np.int64)
        logits[:, few], leading[few] = voters_scores(
            ballots.votes, rows[few], ks, placed, partial(_cumulated, aggregator=aggregator)
        )
        logits[:, ~few], leading[~few] = _of_all(
            ballots, rows[~few], ks, aggregator, ranked, everyone
        )
    return logits, ks[:, None] <= leading[None, :]


def _of_all(
    ballots: Ballots,
    rows: Index,
    ks: Index,
    aggregator: ClosedForm,
    ranked: Ranked,
    everyone: Callable[[Index], tuple[Floats, Floats]],
) -> tuple[Floats, Index]:
    """Return logits (n_k, n) and the place of each item's first voter, in blocks of items."""
    logits = np.empty((len(ks), len(rows)))
    leading = np.full(len(rows), ballots.n_judges)
    walked = ks[ks <= _depth(ks, ballots.n_judges)]
    step = max(1, BLOCK // max(1, ballots.n_judges))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        if len(walked):
            weights, votes = ranked(rows[block])
            logits[: len(walked), block] = _cumulated(weights, votes, aggregator)[:, walked - 1].T
            first = (votes != 0).argmax(axis=1)
            none = votes[np.arange(len(votes)), first] == 0
            leading[block] = np.where(none, ballots.n_judges, first)
        if len(walked) < len(ks):
            votes = ballots.votes[rows[block]]
            logits[-1, block] = _summed(*everyone(rows[block]), votes, aggregator)
            # Whoever votes is at the latest the last of all.
            later = np.flatnonzero(leading[block] == ballots.n_judges)
            leading[start + later] -= votes[later].any(axis=1)
    return logits, leading


def _cumulated(weights: Floats, votes: Votes, aggregator: ClosedForm) -> Floats:
    """Logits (n, k) of every prefix, from votes (n, k) in the order of the ranking."""
    if aggregator in FRACTIONS:
        ones = np.cumsum((votes > 0) * weights, axis=1)
        return _odds(ones, np.cumsum((votes < 0) * weights, axis=1), aggregator)
    return np.asarray(np.cumsum(votes * weights, axis=1))


def _summed(for_one: Floats, for_zero: Floats, votes: Votes, aggregator: ClosedForm) -> Floats:
    """Logits (n,) of all judges from votes (n, k), in no order."""
    if aggregator not in FRACTIONS and for_one is for_zero:
        return np.asarray(votes.astype(np.float64) @ for_one)
    return _odds(np.vecdot(votes > 0, for_one), np.vecdot(votes < 0, for_zero), aggregator)


def _odds(ones: Floats, zeros: Floats, aggregator: ClosedForm) -> Floats:
    """Logits from the weights of votes for label 1 and for label 0."""
    if aggregator in FRACTIONS:
        # Exactly odd, unlike the log of a ratio.
        return np.asarray(np.log(ones + 1.0) - np.log(zeros + 1.0))
    return np.asarray(ones - zeros)
