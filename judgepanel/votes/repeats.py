"""Copies of items: rows of votes that occur more often than independent items would produce.

A copy of an item is not new evidence, but a split that puts one copy on each side scores a panel on
an item it was fitted to. Three tests run on labelled items; a row is the item's votes, its missing
votes and its label.

* *Multiples.* For independent items the number of occurrences of a row is a multinomial count,
  whatever the judges; a positive Poisson count is a multiple of m with probability at most about
  1/m. If nearly all rows occur a multiple of m times, the file holds m copies.
* *Spectrum.* With f_r rows that occur r times, E f_1 · 6 E f_3 >= (2 E f_2)², since r! f_r are
  moments of one mixing measure. Many pairs without triplets indicate copies.
* *Rare rows.* A row that :func:`repeat_evidence.log_chance` finds improbable occurs twice by chance
  less often than ``RARE``; too many such rows are copies. This finds a few copies among many items
  if there are enough judges.

With few judges rows repeat anyway and only the first test is informative; then repeated item ids
and features are the evidence (:mod:`repeat_evidence`). Cost: sorting, O(n K log n), and if rows
repeat, one fit to at most 20,000 of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.votes import distributions
from judgepanel.votes.matrix import MISSING, VoteMatrix, cached
from judgepanel.votes.repeat_evidence import keyed_copies, log_chance

Codes = NDArray[np.int64]
Bools = NDArray[np.bool_]

LEVEL = 1e-4
"""Level of each test: independent items are very rarely reported as copies."""
RARE = (0.05, 0.5)
"""Rows with fewer expected twins are tested; the second value is for items with few votes."""
_DOUBTED = 3.0
_FEWEST = 4
_FACTORS = range(2, 9)
_NEARLY_ALL = 0.8
_TELLING_SHARE = 0.5
_PACKED = 32
"""Votes of two bits each that fit into one number."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many labelled items repeat others.

    Attributes
    ----------
    n_items : number of labelled items tested.
    n_sets : number of sets of copies.
    n_repeated : number of items in these sets.
    smallest, largest : sizes of the smallest and largest set.
    evidence : what reveals the copies: ``votes``, ``ids``, ``features``.
    swapped : whether some are copies with their two responses swapped.
    told : whether the votes could reveal copies of some items; with few judges rows repeat anyway.
    apart : whether copies are counted as independent items, in groups of their own.
    """

    n_items: int
    n_sets: int
    n_repeated: int
    smallest: int
    largest: int
    evidence: tuple[str, ...]
    swapped: bool
    told: bool
    apart: bool


@dataclass(frozen=True, slots=True, eq=False)
class RepeatSets:
    """``sets`` (n_items,): the set of copies of each item, -1 if none; and the summary."""

    sets: Codes
    repeats: Repeats


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of labelled items: ``code`` (n,) per item, ``count`` (n_rows,) of groups per row.

    ``chance`` (n,) is an upper estimate of the row's probability among items with the same missing
    votes and label; ``twins`` (n,) is the expected number of other items with this row.
    """

    code: Codes
    count: Codes
    chance: NDArray[np.float64]
    twins: NDArray[np.float64]


@cached(8)
def find_repeats(votes: VoteMatrix) -> RepeatSets:
    """Return the sets of labelled items that are copies of each other, if there is evidence.

    Items of one group are not counted against each other: copies within it are known to be alike.
    """
    labelled = np.flatnonzero(votes.labelled)
    verdicts, labels = votes.votes[labelled], votes.labels[labelled]
    units = _unit_codes(votes, labelled)
    rows = _codes(np.column_stack([verdicts, labels]))[0]
    tested = votes if len(labelled) == votes.n_items else votes.with_items(labelled)
    keyed_sets = dict(keyed_copies(tested, rows, units))
    hints = tuple(keyed_sets.values())
    sets, conclusive, whole_file = _by_votes(verdicts, labels, units, hints)
    swapped = False
    if votes.task == "pairwise" and sets.max(initial=-1) < 0:
        turn = (verdicts != MISSING) & (labels == 0)[:, None]
        turned = np.where(turn, 1 - verdicts, verdicts).astype(np.int8)
        sets, _, whole_file = _by_votes(turned, np.ones_like(labels), units, hints)
        swapped = bool(sets.max(initial=-1) >= 0)
    evidence = (*(["votes"] if sets.max(initial=-1) >= 0 else []), *keyed_sets)
    if not whole_file:
        # Otherwise the size of every set is known, and ids and features only ordered the items.
        for copies in hints:
            sets = _joined(sets, copies)
    whole = np.full(votes.n_items, -1, dtype=np.int64)
    whole[labelled] = sets
    return RepeatSets(whole, _numbers(sets, units, evidence, swapped, conclusive))


@cached(4)
def group_copies(votes: VoteMatrix) -> VoteMatrix:
    """Return the votes with each set of copies in one group; groups sharing copies are merged."""
    outcome = find_repeats(votes)
    if not outcome.repeats.apart:
        return votes
    names = votes.item_ids if votes.groups is None else votes.groups
    parent: dict[str, str] = {name: name for name in names}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    first: dict[int, str] = {}
    for name, number in zip(names, outcome.sets.tolist(), strict=True):
        if number >= 0:
            parent[root(name)] = root(first.setdefault(number, name))
    return replace(votes, groups=tuple(root(name) for name in names))


def _unit_codes(votes: VoteMatrix, labelled: Codes) -> Codes:
    if votes.groups is None:
        return np.arange(len(labelled))
    return np.unique([votes.groups[i] for i in labelled], return_inverse=True)[1]


def _by_votes(
    verdicts: NDArray[np.int8], labels: NDArray[np.int8], units: Codes, hints: tuple[Codes, ...]
) -> tuple[Codes, bool, bool]:
    """Return sets revealed by votes, whether votes could reveal any, and whether the file repeats.

    The file repeats if it consists of several copies of a smaller file.
    """
    nothing = np.full(len(labels), -1, dtype=np.int64)
    if len(labels) == 0:
        return nothing, False, False
    rows = _rows(verdicts, labels, units)
    conclusive = bool(np.mean(np.maximum(rows.twins, rows.chance) < RARE[0]) >= _TELLING_SHARE)
    factor = _factor(rows.count)
    if factor > 1:
        return _sets_of(rows, units, factor, hints), conclusive, True
    if _too_many_pairs(rows.count) or any(_too_many_rare(rows, limit) for limit in RARE):
        return _repeated_sets(rows), conclusive, False
    return nothing, conclusive, False


def _rows(verdicts: NDArray[np.int8], labels: NDArray[np.int8], units: Codes) -> _Rows:
    code = _codes(np.column_stack([verdicts, labels]))[0]
    count = np.bincount(code)
    if np.bincount(units).max() > 1:
        # Items of one group count once: they are known to be alike.
        pairs = np.unique(np.column_stack([code, units]), axis=0)
        count = np.bincount(pairs[:, 0])
    present, alike = _codes(np.column_stack([verdicts != MISSING, labels]))
    # Equal rows are equally improbable: one of each kind is looked at.
    one_of = np.empty(len(count), dtype=np.int64)
    one_of[code] = np.arange(len(code))
    chance = np.exp(log_chance(verdicts, labels, one_of))[code]
    twins = np.asarray((alike[present] - 1.0) * chance, dtype=np.float64)
    return _Rows(code, count, chance, twins)


def _codes(rows: NDArray[np.int8]) -> tuple[Codes, Codes]:
    """Return the code of every row among the distinct rows, and the distinct rows' counts.

    Rows hold -1, 0 and 1. Up to 32 of these are one number, which is sorted several times faster.
    """
    whole: NDArray[Any]
    if rows.shape[1] <= _PACKED:
        whole = np.zeros(len(rows), dtype=np.uint64)
        for column in rows.T:
            whole = whole << np.uint64(2) | (column & np.int8(3)).astype(np.uint64)
    else:
        content = np.ascontiguousarray(rows, dtype=np.int8)
        whole = content.view(np.dtype((np.void, content.shape[1]))).ravel()
    _, code, count = np.unique(whole, return_inverse=True, return_counts=True)
    return code.astype(np.int64), count.astype(np.int64)


def _factor(count: Codes) -> int:
    """Return the number of copies of the whole file, 1 if there is no evidence of more."""
    best, share = 1, _NEARLY_ALL
    for factor in _FACTORS:
        hits = int((count % factor == 0).sum())
        if hits / len(count) < share:
            continue
        if distributions.binom_sf(hits - 1, len(count), 1.0 / factor) < LEVEL:
            best, share = factor, hits / len(count)
    return best


def _too_many_pairs(count: Codes) -> bool:
    """The spectrum test, after an allowance for chance in the number of pairs."""
    once, twice, thrice = (int((count == r).sum()) for r in (1, 2, 3))
    fewest = max(0.0, twice - 3.0 * np.sqrt(twice))
    least = (2.0 / 3.0) * fewest**2 / max(once + 3.0 * np.sqrt(once), 1.0)
    return thrice < least and distributions.poisson_cdf(thrice, least) < LEVEL


def _too_many_rare(rows: _Rows, limit: float) -> bool:
    expected = float(rows.twins[rows.twins < limit].sum()) / 2.0
    seen = int(((rows.count >= 2) & (_largest(rows) < limit)).sum())
    if seen < _FEWEST:
        return False
    return distributions.poisson_sf(seen - 1, _DOUBTED * expected + 0.01) < LEVEL


def _largest(rows: _Rows) -> NDArray[np.float64]:
    largest = np.zeros(len(rows.count))
    np.maximum.at(largest, rows.code, rows.twins)
    return largest


def _sets_of(rows: _Rows, units: Codes, factor: int, hints: tuple[Codes, ...]) -> Codes:
    """Return sets of ``factor`` items with equal rows, first those that ids or features reveal.

    Which of the remaining items are paired makes no difference.
    """
    order = np.lexsort((units, *hints, rows.code))
    place = np.empty(len(order), dtype=np.int64)
    starts = np.flatnonzero(np.diff(rows.code[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    each = np.repeat(np.maximum(sizes // factor, 1), sizes)
    place[order] = np.minimum(rank // factor, each - 1)
    return _numbered(rows.code * (len(order) + 1) + place)


def _repeated_sets(rows: _Rows) -> Codes:
    """Return all items of repeated rows that are expected to occur less than twice by chance."""
    repeated = (rows.count >= 2) & (_largest(rows) < 1.0)
    return _numbered(np.where(repeated[rows.code], rows.code, -1))


def _joined(left: Codes, right: Codes) -> Codes:
    """Return the union of two partitions: items that share a set in either are in one set."""
    n = len(left)
    links = []
    for sets in (left, right):
        rows = np.flatnonzero(sets >= 0)
        if len(rows):
            order = rows[np.argsort(sets[rows], kind="stable")]
            same = sets[order[1:]] == sets[order[:-1]]
            links.append(np.column_stack([order[:-1][same], order[1:][same]]))
    pairs = np.concatenate(links) if links else np.zeros((0, 2), np.int64)
    if not len(pairs):
        return np.full(n, -1, dtype=np.int64)
    graph = scipy.sparse.coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    code = scipy.sparse.csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
    return _numbered(np.where((left >= 0) | (right >= 0), code, -1))


def _numbered(codes: Codes) -> Codes:
    """Return sets of at least two items, numbered from 0; -1 for the other items."""
    kinds, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    live = (count >= 2) & (kinds >= 0)
    number = np.where(live, np.cumsum(live) - 1, -1)
    return np.asarray(number[place], dtype=np.int64)


def _numbers(
    sets: Codes, units: Codes, evidence: tuple[str, ...], swapped: bool, conclusive: bool
) -> Repeats:
    sizes = np.bincount(sets[sets >= 0])
    apart = False
    if len(sizes):
        lowest = np.full(len(sizes), len(units))
        highest = np.full(len(sizes), -1)
        inside = sets >= 0
        np.minimum.at(lowest, sets[inside], units[inside])
        np.maximum.at(highest, sets[inside], units[inside])
        apart = bool((lowest != highest).any())
    return Repeats(
        n_items=len(sets),
        n_sets=len(sizes),
        n_repeated=int(sizes.sum()),
        smallest=int(sizes.min(initial=len(sets))) if len(sizes) else 0,
        largest=int(sizes.max(initial=0)),
        evidence=evidence,
        swapped=swapped,
        told=conclusive,
        apart=apart,
    )
