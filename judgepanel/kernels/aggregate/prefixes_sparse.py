"""Prefix logits of items on which few judges voted: only those who voted are ranked.

A judge without a vote adds nothing to a sum, so the logit of the first k judges is that of the
voters among them. The place of a voter in a ranking without the item's own label follows from its
place in the ranking with it: on a single item only the counts of its voters differ. Every logit has
the bits of the full ranking, at a cost of O(w^2 + n_k) for an item with w votes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints, Votes

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


def places_in(order: Ints) -> Ints:
    """Place (n_judges,) of every judge in a ranking."""
    places = np.empty(len(order), dtype=np.int64)
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
    all_votes: Votes,
    rows: Ints,
    ks: Ints,
    keys: Floats,
    weights: Floats,
    case: Callable[[Ints, Votes], Ints] | None,
    cumulated: Callable[[Floats, Votes], Floats],
) -> tuple[Floats, Ints]:
    """Return logits (n_k, n) of every prefix, and the place (n,) of the first voter of each row.

    ``keys`` and ``weights`` (n_cases, n_judges) are those of each ``case`` of a vote.
    ``cumulated`` turns weights and votes (n, w) in the order of the ranking into the logits of
    their prefixes; the first voter of a row without votes is past the last judge.
    """
    n_judges = all_votes.shape[1]
    places_of = places_without_own(keys)
    logits, first = np.empty((len(ks), len(rows))), np.empty(len(rows), dtype=np.int64)
    step = max(1, _CELLS // n_judges)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        judges, votes = _voters(all_votes[rows[block]])
        cases = np.zeros_like(judges) if case is None else case(rows[block], votes)
        places = np.where(votes == 0, n_judges, places_of(cases, judges, votes != 0))
        ranked = np.argsort(places, axis=1)
        first[block] = places.min(axis=1)
        prefixes = np.zeros((len(votes), votes.shape[1] + 1))
        prefixes[:, 1:] = cumulated(
            np.take_along_axis(weights[cases, judges], ranked, axis=1),
            np.take_along_axis(votes, ranked, axis=1),
        )
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
