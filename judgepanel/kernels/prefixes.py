"""Raw logits of every ranked prefix k of a panel, from one cumulative pass over the judges.

For one split, judges are ranked on the calibration rows and the score of the first k judges is a
cumulative sum, so all k together cost as much as the full panel: O(n K log K) time, and memory
bounded by ``BLOCK`` cells at a time plus the result. Where only few of the best are asked for, the
rest is not ranked, and all judges are a sum in any order: O(n K). Of items with few votes only the
voters are ranked (:mod:`kernels.prefixes`).

A calibrator must never see a score that was fitted to the item's own label (docs/aggregators.md):
with ``own_label="removed"`` each calibration item is scored by weights *and a ranking* computed
without its own unit (the item, or its group). Counts make that exact and cheap.

Prefix logits of items on which few judges voted: only those who voted are ranked.

A judge without a vote adds nothing to a sum, so the logit of the first k judges is that of the
voters among them. The place of a voter in a ranking without the item's own label follows from its
place in the ranking with it: on a single item only the counts of its voters differ. Every logit has
the bits of the full ranking, at a cost of O(w^2 + n_k) for an item with w votes.

One-coin scores of all judges with importance weights on comparisons.

A comparison with weight w adds w instead of 1 to the counts c and n that determine a judge's weight
(:func:`one_coin_weight`). With w = 1 everywhere this is the full panel of :func:`prefix_scores`.

Scores that do not know their own label, for aggregators without closed-form left-out counts.

The calibration rows are cut into folds, units whole. Fit 0 learns from all of them and scores the
evaluation rows; fit f learns from the rows outside fold f, ranking included, and scores fold f. The
calibration scores put together from fits 1 .. F are what calibrators may see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.maps import column_blocks
from judgepanel.scoring.splits import Split, are_single, fold_of, folds, unit_codes

_CELLS = 262_144


def few_votes(votes: Votes, rows: Ints, n_k: int, depth: int) -> NDArray[np.bool_]:
    """Which rows (n,) of ``votes`` (n_items, n_judges) have so few that ranking the voters pays.

    Otherwise ``depth`` judges are ranked. None if the items have more votes on average: then it is
    not worth looking.
    """
    most = depth // 2 - n_k
    if most <= 0 or np.count_nonzero(votes) ** 2 > most * len(votes) ** 2:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(np.count_nonzero(votes[rows], axis=1) ** 2 <= most)


def places_in(order: Ints, n: int | None = None) -> Ints:
    """Place (n,) of every judge in a ranking, or of every item among some; -1 for others."""
    places = np.full(len(order) if n is None else n, -1)
    places[order] = np.arange(len(order))
    return places


def places_without_own(keys: Floats) -> Callable[[Ints, Ints, NDArray[np.bool_]], Ints]:
    """Places of voters in the ranking without their item's own label.

    ``keys`` (3, n_judges) are the sort keys of a judge whose own vote was wrong, missing or right,
    in ascending order; (1, n_judges) if it has no effect. The function takes cases and judges
    (n, w), and which of these cells hold a voter.
    """
    n_judges = keys.shape[1]
    # Ties are in the order of the columns, so codes compare as keys and columns do.
    order = np.lexsort((np.tile(np.arange(n_judges), len(keys)), keys.ravel()))
    code = places_in(order).reshape(len(keys), -1)
    if len(keys) == 1:
        return lambda case, judges, voted: code[case, judges]
    before = np.searchsorted(np.sort(code[1]), code)

    def places(case: Ints, judges: Ints, voted: NDArray[np.bool_]) -> Ints:
        own, others = code[case, judges], code[1][judges]
        ahead = (own[:, None, :] < own[:, :, None]).astype(np.int64)
        ahead -= others[:, None, :] < own[:, :, None]
        moved = np.einsum("nij,nj->ni", ahead, voted.astype(np.int64))
        return np.asarray(before[case, judges] + moved)

    return places


def voters_scores(
    all_votes: Votes, rows: Ints, ks: Ints, ranks: _Cases, aggregator: ClosedForm
) -> tuple[Floats, Ints]:
    """Return logits (n_k, n) of every prefix, and the place (n,) of the first voter of each row.

    The first voter of a row without votes is past the last judge.
    """
    n_judges = all_votes.shape[1]
    places_of = places_without_own(ranks.keys)
    logits, first = np.empty((len(ks), len(rows))), np.empty(len(rows), dtype=np.int64)
    for block in column_blocks(len(rows), n_judges, _CELLS):
        judges, votes = _voters(all_votes[rows[block]])
        cases = np.zeros_like(judges) if ranks.case is None else ranks.case(rows[block], votes)
        places = np.where(votes == 0, n_judges, places_of(cases, judges, votes != 0))
        ranked = np.argsort(places, axis=1)
        first[block] = places.min(axis=1)
        prefixes = np.zeros((len(votes), votes.shape[1] + 1))
        weights = np.take_along_axis(ranks.weights[cases, judges], ranked, axis=1)
        votes = np.take_along_axis(votes, ranked, axis=1)
        prefixes[:, 1:] = _cumulated(weights, votes, aggregator)
        logits[:, block] = np.take_along_axis(prefixes, _within(places, ks), axis=1).T
    return logits, first


def _voters(votes: Votes) -> tuple[Ints, Votes]:
    """Judges and votes (n, w) of every row, padded by judge 0 with vote 0."""
    row, judge = np.divmod(np.flatnonzero(votes != 0), votes.shape[1])
    count = np.bincount(row, minlength=len(votes))
    place = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    shape = (len(votes), max(1, int(count.max(initial=0))))
    judges, cast = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int8)
    judges[row, place], cast[row, place] = judge, votes[row, judge]
    return judges, cast


def _within(places: Ints, ks: Ints) -> Ints:
    """How many of the places (n, w) are among the first k, (n, n_k)."""
    shape = (len(places), len(ks) + 1)
    size = np.searchsorted(ks, places, side="right") + np.arange(shape[0])[:, None] * shape[1]
    entering = np.bincount(size.ravel(), minlength=shape[0] * shape[1]).reshape(shape)
    return np.asarray(np.cumsum(entering[:, :-1], axis=1))


ClosedForm = Literal["majority", "accuracy_weighted", "log_odds", "one_coin"]
Ranking = Literal["accuracy", "informativeness"]
OwnLabel = Literal["removed", "seen"]
Ranked = Callable[[Ints], tuple[Floats, Votes]]
"""Weights and votes (n, depth) of the first judges on these rows, in order."""
Case = Callable[[Ints, Votes], Ints]
"""Case (n, m) or (n, 1) of votes (n, m) on these rows, see :func:`counts_without_own`."""

CLOSED_FORMS: tuple[ClosedForm, ...] = get_args(ClosedForm)
FRACTIONS: tuple[ClosedForm, ...] = ("majority", "accuracy_weighted")
RANKINGS: tuple[Ranking, ...] = get_args(Ranking)
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

    ks: Ints
    order: Ints
    calibration: Floats
    calibration_empty: NDArray[np.bool_]
    evaluation: Floats
    evaluation_empty: NDArray[np.bool_]
    fold: Ints | None = None

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        arrays = (getattr(self, array.name) for array in fields(self))
        return int(sum(array.nbytes for array in arrays if array is not None))

    def of_size(self, column: int) -> PrefixScores:
        """Return one panel size, a copy."""
        return replace(self, **{name: getattr(self, name)[[column]] for name in _BY_SIZE})

    def of_rows(self, calibration: Any, evaluation: Any) -> PrefixScores:
        """Return some of the calibration rows and of the evaluation rows: masks, or slices."""
        return replace(
            self,
            calibration=self.calibration[:, calibration],
            calibration_empty=self.calibration_empty[:, calibration],
            evaluation=self.evaluation[:, evaluation],
            evaluation_empty=self.evaluation_empty[:, evaluation],
            fold=None if self.fold is None else self.fold[calibration],
        )

    @classmethod
    def stacked(cls, parts: Sequence[PrefixScores]) -> PrefixScores:
        """Return the columns of other scores of the same rows one after the other, a copy."""
        whole: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _BY_SIZE
        }
        return replace(parts[0], fold=None, **whole)

    @classmethod
    def joined(cls, parts: Sequence[PrefixScores]) -> PrefixScores:
        """Return all panel sizes of scores of the same rows, a copy.

        Sizes vary fastest in memory, as in scores that are cross-fitted: sums depend on it.
        """
        whole = {
            name: np.array([row for part in parts for row in getattr(part, name)]).T.copy().T
            for name in _BY_SIZE
        }
        return replace(parts[0], **whole)


_BY_SIZE = ("ks", "calibration", "calibration_empty", "evaluation", "evaluation_empty")


@dataclass(frozen=True, slots=True, eq=False)
class _Cases:
    """Sort keys, in ascending order, and weights of judges by case, each (n_cases, n_judges).

    ``case`` is that of :func:`counts_without_own`, None if all votes have the one case;
    ``by_unit`` says whether cases are groups of items.
    """

    keys: Floats
    weights: Floats
    case: Case | None = None
    by_unit: bool = False


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


def prior_logit(ballots: Ballots, rows: Ints) -> float:
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


def counts(ballots: Ballots, rows: Ints) -> tuple[Floats, Floats]:
    """Return correct votes c and votes n of every judge on these rows, each float (n_judges,)."""
    if ballots.sparse is not None:
        cast = ballots.sparse[rows]
        voted = np.bincount(cast.indices, minlength=ballots.n_judges).astype(np.float64)
        return (voted + ballots.signs[rows] @ cast) / 2.0, voted
    agreement, voted = np.zeros(ballots.n_judges), np.zeros(ballots.n_judges)
    for block in column_blocks(len(rows), ballots.n_judges, _COUNTED):
        votes = ballots.votes[rows[block]]
        agreement += ballots.signs[rows[block]].astype(np.float64) @ votes
        voted += np.count_nonzero(votes, axis=0)
    return (voted + agreement) / 2.0, voted


def rank(ballots: Ballots, rows: Ints, ranking: Ranking = "accuracy") -> Ints:
    """Return judges in descending order of the ranking on these rows, ties in column order."""
    correct, voted = counts(ballots, rows)
    return np.argsort(-ranking_key(correct, voted, ranking), kind="stable")


def without_votes(ballots: Ballots, rows: Ints, order: Ints, ks: Ints) -> NDArray[np.bool_]:
    """Mask (n_k, n_rows) of items on which none of the first k judges voted."""
    if ballots.sparse is None:
        leading = first_votes(ballots.votes[rows][:, order], ballots.n_judges)
    else:
        cast = ballots.sparse[rows]
        leading = np.full(len(rows), ballots.n_judges)
        row = np.repeat(np.arange(len(rows)), np.diff(cast.indptr))
        np.minimum.at(leading, row, np.argsort(order)[cast.indices])
    return np.asarray(ks[:, None] <= leading[None, :])


def first_votes(votes: Votes, n_judges: int) -> Ints:
    """Place (n,) of the first vote of each row of ranked votes, ``n_judges`` if there is none."""
    voted = votes != 0
    return np.where(voted.any(axis=1), voted.argmax(axis=1), n_judges)


def prefix_scores(
    ballots: Ballots,
    split: Split,
    ks: Ints,
    *,
    aggregator: ClosedForm = "one_coin",
    ranking: Ranking = "accuracy",
    own_label: OwnLabel = "removed",
) -> PrefixScores:
    """Score both sides of a split under every prefix in ``ks`` (sorted, in 1..n_judges)."""
    calibration = split.calibration
    correct, voted = counts(ballots, calibration)
    weights = closed_form_weights(aggregator, correct, voted)
    whole = left_out = _Cases(-ranking_key(correct, voted, ranking)[None], weights[None])
    if own_label != "seen":
        correct, voted, case = counts_without_own(ballots, calibration, correct, voted)
        weights = closed_form_weights(aggregator, correct, voted)
        by_unit = not are_single(ballots.units[calibration])
        left_out = _Cases(-ranking_key(correct, voted, ranking), weights, case, by_unit=by_unit)
    pairs = (calibration, left_out), (split.evaluation, whole)
    sides = [_scores(ballots, rows, ks, aggregator, cases) for rows, cases in pairs]
    if aggregator == "log_odds":
        # One prior for all rows does not distinguish items, so it leaks no label.
        prior = prior_logit(ballots, calibration)
        sides = [(np.where(empty, 0.0, logits + prior), empty) for logits, empty in sides]
    return PrefixScores(ks, np.argsort(whole.keys[0], kind="stable"), *sides[0], *sides[1])


def counts_without_own(
    ballots: Ballots, rows: Ints, correct: Floats, voted: Floats
) -> tuple[Floats, Floats, Case]:
    """Return the counts on these rows without a vote's own unit: two tables (n_cases, n_judges).

    ``correct`` and ``voted`` (n_judges,) are those of :func:`counts`. The third value is a function
    of rows (n,) and signed votes (n, m) on them that returns the case of each vote, (n, m) or
    (n, 1). A single item has three cases per judge (wrong, missing, right); with groups, each group
    is a case. Unused cases may hold counts that the panel does not have.
    """
    units = ballots.units[rows]
    if are_single(units):
        own_correct = np.array([[0.0], [0.0], [1.0]])
        own_voted = np.array([[1.0], [0.0], [1.0]])

        def case(rows: Ints, votes: Votes) -> Ints:
            return votes * ballots.signs[rows, None] + np.int64(1)

    else:
        codes, n_units = unit_codes(units)
        votes = ballots.votes[rows] * ballots.signs[rows, None]
        own_correct, own_voted = np.zeros((2, n_units, ballots.n_judges))
        np.add.at(own_correct, codes, votes)
        np.add.at(own_voted, codes, np.abs(votes))
        own_correct = (own_voted + own_correct) / 2.0
        unit = np.full(ballots.n_items, -1)
        unit[rows] = codes

        def case(rows: Ints, votes: Votes) -> Ints:
            return unit[rows][:, None]

    voted = np.maximum(voted - own_voted, 0.0)
    return np.clip(correct - own_correct, 0.0, voted), voted, case


def _scores(
    ballots: Ballots, rows: Ints, ks: Ints, aggregator: ClosedForm, cases: _Cases
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return logits (n_k, n) and the empty mask of every prefix."""
    few = np.zeros(len(rows), dtype=bool)
    if not cases.by_unit:
        few = few_votes(ballots.votes, rows, len(ks), _depth(ks, ballots.n_judges))
    if not few.any():
        logits, leading = _of_all(ballots, rows, ks, aggregator, cases)
    else:
        logits, leading = np.empty((len(ks), len(rows))), np.empty(len(rows), dtype=np.int64)
        some = voters_scores(ballots.votes, rows[few], ks, cases, aggregator)
        logits[:, few], leading[few] = some
        logits[:, ~few], leading[~few] = _of_all(ballots, rows[~few], ks, aggregator, cases)
    return logits, ks[:, None] <= leading[None, :]


def _of_all(
    ballots: Ballots, rows: Ints, ks: Ints, aggregator: ClosedForm, cases: _Cases
) -> tuple[Floats, Ints]:
    """Return logits (n_k, n) and the place of each item's first voter, in blocks of items."""
    logits = np.empty((len(ks), len(rows)))
    leading = np.full(len(rows), ballots.n_judges)
    depth = _depth(ks, ballots.n_judges)
    walked = ks[ks <= depth]
    ranked = _ranked(ballots.votes, cases, depth)
    for block in column_blocks(len(rows), ballots.n_judges, BLOCK):
        if len(walked):
            weights, votes = ranked(rows[block])
            logits[: len(walked), block] = _cumulated(weights, votes, aggregator)[:, walked - 1].T
            leading[block] = first_votes(votes, ballots.n_judges)
        if len(walked) < len(ks):
            votes = ballots.votes[rows[block]]
            logits[-1, block] = _summed(cases, rows[block], votes, aggregator)
            # Whoever votes is at the latest the last of all.
            later = np.flatnonzero(leading[block] == ballots.n_judges)
            leading[block.start + later] -= votes[later].any(axis=1)
    return logits, leading


def _depth(ks: Ints, n_judges: int) -> int:
    """How much of a ranking these sizes need, all judges aside; all of it if more than half."""
    depth = int(max(ks[ks < n_judges], default=0))
    return depth if 2 * depth <= n_judges else n_judges


def _ranked(votes: Votes, cases: _Cases, depth: int) -> Ranked:
    """Weights and votes of the first judges, ranked once, or once for each unit or item."""
    if cases.case is not None and not cases.by_unit:
        return _ranked_by_item(votes, cases, cases.case, depth)
    order = np.argsort(cases.keys, axis=1, kind="stable")[:, :depth]

    def ranked(rows: Ints) -> tuple[Floats, Votes]:
        if cases.case is None:
            return cases.weights[0, order[0]], votes[rows[:, None], order[0]]
        unit = cases.case(rows, votes[rows])
        judges = order[unit[:, 0]]
        return cases.weights[unit, judges], votes[rows[:, None], judges]

    return ranked


def _ranked_by_item(votes: Votes, cases: _Cases, case: Case, depth: int) -> Ranked:
    """Weights and votes of the first judges, who are ranked for each item.

    All keys that there may be are ranked together, so that an item has places to sort, and none if
    no judge can pass another.
    """
    keys, judges = cases.keys, leaders(cases.keys, depth)
    judges = judges[np.argsort(keys[:, judges].min(axis=0), kind="stable")]
    keys = keys[:, judges]
    settled = bool((keys.max(axis=0)[:-1] < keys.min(axis=0)[1:]).all())
    # Equal keys are in the order of the columns.
    order = np.lexsort((np.tile(judges, len(keys)), keys.ravel()))
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order))
    weights, column = cases.weights[:, judges].ravel()[order], order % max(1, len(judges))

    def ranked(rows: Ints) -> tuple[Floats, Votes]:
        cast = votes[rows[:, None], judges]
        places = place[case(rows, cast) * len(judges) + np.arange(len(judges))]
        if settled:
            return weights[places[:, :depth]], cast[:, :depth]
        places.sort(axis=1)
        places = places[:, :depth]
        return weights[places], np.take_along_axis(cast, column[places], axis=1)

    return ranked


def leaders(keys: Floats, depth: int) -> Ints:
    """Judges, in the order of the columns, who may be among the first ``depth`` of some case.

    ``keys`` (n_cases, n_judges) are sorted in ascending order. Whatever the case of each judge, as
    many keys as ``depth`` are at or below the bound, so that nobody whose least key is above it is
    among the first.
    """
    if not 0 < depth < keys.shape[1]:
        return np.arange(keys.shape[1] if depth else 0)
    bound = np.partition(keys.max(axis=0), depth - 1)[depth - 1]
    return np.flatnonzero(keys.min(axis=0) <= bound)


def _cumulated(weights: Floats, votes: Votes, aggregator: ClosedForm) -> Floats:
    """Logits (n, k) of every prefix, from votes (n, k) in the order of the ranking."""
    if aggregator in FRACTIONS:
        ones = np.cumsum((votes > 0) * weights, axis=1)
        return _odds(ones, np.cumsum((votes < 0) * weights, axis=1), aggregator)
    return np.asarray(np.cumsum(votes * weights, axis=1))


def _summed(cases: _Cases, rows: Ints, votes: Votes, aggregator: ClosedForm) -> Floats:
    """Logits (n,) of all judges from their votes (n, n_judges) on these rows, in no order."""
    if cases.case is None:
        ones = zeros = cases.weights[0]
        if aggregator not in FRACTIONS:
            return np.asarray(votes.astype(np.float64) @ ones)
    else:
        vote = np.ones((len(rows), 1), dtype=np.int8)
        ones = cases.weights[cases.case(rows, vote)[:, 0]]
        zeros = cases.weights[cases.case(rows, -vote)[:, 0]]
    return _odds(np.vecdot(votes > 0, ones), np.vecdot(votes < 0, zeros), aggregator)


def _odds(ones: Floats, zeros: Floats, aggregator: ClosedForm) -> Floats:
    """Logits from the weights of votes for label 1 and for label 0."""
    if aggregator in FRACTIONS:
        # Exactly odd, unlike the log of a ratio.
        return np.asarray(np.log(ones + 1.0) - np.log(zeros + 1.0))
    return np.asarray(ones - zeros)


_WEIGHTED_CELLS = 2_000_000


def weighted_one_coin(
    ballots: Ballots, split: Split, importance: Floats, *, own_label: OwnLabel = "removed"
) -> PrefixScores:
    """Score both sides of a split; ``importance`` (n_cal,), at least 0, mean 1.

    The one column (1, n) holds all judges. Calibration rows are scored by counts without their own
    unit (the item, or its group), unless ``own_label`` is ``seen``.
    """
    rows = split.calibration
    votes, signs = ballots.votes[rows], ballots.signs[rows, None]
    right = importance @ np.asarray(votes * signs > 0)
    voted = importance @ np.asarray(votes != 0)
    seen = ballots.votes[split.evaluation]
    weights = one_coin_weight(right, voted)
    if own_label == "seen":
        calibrated = votes @ weights
    else:
        calibrated = _left_out(ballots, rows, importance, right, voted)
    return PrefixScores(
        ks=np.array([ballots.n_judges]),
        order=np.argsort(-ranking_key(right, voted, "accuracy"), kind="stable"),
        calibration=calibrated[None],
        calibration_empty=np.asarray(~votes.any(axis=1))[None],
        evaluation=(seen @ weights)[None],
        evaluation_empty=np.asarray(~seen.any(axis=1))[None],
    )


def _left_out(
    ballots: Ballots, rows: NDArray[np.int64], importance: Floats, right: Floats, voted: Floats
) -> Floats:
    """Return scores (n_cal,) by counts without the item's unit, in blocks of whole units."""
    codes, _ = unit_codes(ballots.units[rows])
    order = np.argsort(codes, kind="stable")
    out = np.empty(len(rows))
    step = max(1, _WEIGHTED_CELLS // max(1, ballots.n_judges))
    start = 0
    while start < len(rows):
        stop = min(start + step, len(rows))
        while stop < len(rows) and codes[order[stop]] == codes[order[stop - 1]]:
            stop += 1
        block = order[start:stop]
        votes = ballots.votes[rows[block]]
        agreed = np.asarray(votes * ballots.signs[rows[block], None] > 0)
        first = codes[block] - codes[block[0]]
        own = np.zeros((2, int(first[-1]) + 1, ballots.n_judges))
        np.add.at(own[0], first, importance[block, None] * agreed)
        np.add.at(own[1], first, importance[block, None] * (votes != 0))
        rest = np.maximum(voted - own[1], 0.0)
        weights = one_coin_weight(np.clip(right - own[0], 0.0, rest), rest)
        out[block] = np.vecdot(votes.astype(np.float64), weights[first])
        start = stop
    return out


N_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """One fit of an aggregator.

    ``learn`` (n_learn,) and ``score`` (n_score,) are row positions in the ballots; ``fold``
    (n_learn,) is the fold of every row it learns from, for choices made inside the fit (all fits
    of one cross-fitting share the numbering, so that work can be shared as well).
    """

    learn: Ints
    score: Ints
    fold: Ints


Kernel = Callable[[Ballots, Sequence[Fit], Ints, Ranking], list[Floats]]
"""``kernel(ballots, fits, ks, ranking)``: for every fit the raw logits (n_k, n_score) of its score
rows under the ``ks`` best judges, ranked on its learn rows. Rows on which no judge of a panel
voted get 0. It may look at labels of ``learn`` rows only, and at no vote of other rows but those it
scores.
"""


def cross_fitted(
    ballots: Ballots,
    split: Split,
    ks: Ints,
    kernel: Kernel,
    *,
    ranking: Ranking,
    own_label: OwnLabel,
    seed: int,
    key: tuple[int, ...],
) -> PrefixScores:
    """Score both sides of a split; folds come from ``SeedSequence(seed, spawn_key=key)``."""
    calibration, evaluation = split.calibration, split.evaluation
    inner_splits = folds(ballots.units, calibration, N_FOLDS, seed=seed, key=key)
    fold = fold_of(inner_splits, ballots.n_items)
    if own_label == "seen":
        both = np.concatenate([evaluation, calibration])
        fits = [Fit(calibration, both, fold[calibration])]
    else:
        fits = [Fit(calibration, evaluation, fold[calibration])] if len(evaluation) else []
        fits += [
            Fit(inner.calibration, inner.evaluation, fold[inner.calibration])
            for inner in inner_splits
        ]
    scores_by_fit = kernel(ballots, fits, ks, ranking)
    orders = [rank(ballots, fit.learn, ranking) for fit in fits]
    logits = np.empty((len(ks), ballots.n_items))
    empty = np.empty((len(ks), ballots.n_items), dtype=bool)
    for fit, order, scores in reversed(list(zip(fits, orders, scores_by_fit, strict=True))):
        logits[:, fit.score] = scores
        empty[:, fit.score] = without_votes(ballots, fit.score, order, ks)
    return PrefixScores(
        ks,
        rank(ballots, calibration, ranking),
        logits[:, calibration],
        empty[:, calibration],
        logits[:, evaluation],
        empty[:, evaluation],
        fold[calibration],
    )
