"""Do items repeat? Rows of votes that come up more often than independent items would bring them.

Copies of an item are no new evidence, but splits that put one copy on each side score a panel on
what it was fitted on. Three tests, on labelled items; a row is the item's votes, which of them are
missing, and its label.

* *Multiples.* Under independent items the number of times a row comes up is a multinomial count,
  whatever the judges are like; for a Poisson count above 0 a multiple of m has a probability of at
  most about 1/m. When nearly all rows come up a multiple of m times, the file holds m copies.
* *Spectrum.* With f_r rows that come up r times, E f_1 · 6 E f_3 >= (2 E f_2)², since r! f_r are
  moments of one mixing measure. Many pairs without triplets are copies.
* *Rare rows.* A row that :func:`row_chance.log_chance` calls improbable comes up twice by chance
  less often than ``RARE``; too many of those are copies. This finds few copies among many
  items, where there are enough judges.

With few judges rows repeat anyway and only the first test can tell; then item ids and features
that repeat are evidence (:mod:`repeat_keys`).
Cost: sorting, O(n K log n), and where rows repeat one fit of at most 20,000 of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.votes import distributions
from judgepanel.votes.matrix import MISSING, VoteMatrix, cached
from judgepanel.votes.repeat_keys import keyed_copies
from judgepanel.votes.row_chance import log_chance

Codes = NDArray[np.int64]
Bools = NDArray[np.bool_]

LEVEL = 1e-4
"""Of each test: a file of independent items is very rarely called one with copies."""
RARE = (0.05, 0.5)
"""Rows with fewer chance twins than this are tested; the second is for items with few votes."""
_DOUBTED = 3.0
_FEWEST = 4
_FACTORS = range(2, 9)
_NEARLY_ALL = 0.8
_TELLING_SHARE = 0.5
_PATIENCE = 12


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many labelled items repeat others.

    Attributes
    ----------
    n_items : labelled items looked at.
    n_sets : sets of items that repeat each other.
    n_repeated : items in them.
    smallest, largest : items in a set.
    evidence : what shows it: ``votes``, ``ids``, ``features``.
    swapped : whether some are copies with their two responses swapped.
    told : whether the votes would show copies of some of the items; with few judges rows repeat
        anyway.
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
    """``sets`` (n_items,): which set of copies an item is in, -1 for none; and the numbers."""

    sets: Codes
    repeats: Repeats


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of the labelled items: ``code`` (n,) of each, ``count`` (n_rows,) of groups with it.

    ``chance`` (n,) is how probable the row is among items with its missing votes and label, at
    most; ``twins`` (n,) how many other items have it by chance.
    """

    code: Codes
    count: Codes
    chance: NDArray[np.float64]
    twins: NDArray[np.float64]


@cached(8)
def find_repeats(votes: VoteMatrix) -> RepeatSets:
    """Sets of labelled items that are copies of each other; none where nothing shows them.

    Items of one group are not counted against each other: copies within it are known to be alike.
    """
    labelled = np.flatnonzero(votes.labelled)
    verdicts, labels = votes.votes[labelled], votes.labels[labelled]
    units = _unit_codes(votes, labelled)
    rows = _codes(np.column_stack([verdicts, labels]))[0]
    keyed_sets = dict(keyed_copies(votes.with_items(labelled), rows, units))
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
        # Else the size of every set is known, and ids and features have only ordered the items.
        for copies in hints:
            sets = _joined(sets, copies)
    whole = np.full(votes.n_items, -1, dtype=np.int64)
    whole[labelled] = sets
    return RepeatSets(whole, _numbers(sets, units, evidence, swapped, conclusive))


@cached(4)
def group_copies(votes: VoteMatrix) -> VoteMatrix:
    """The votes with every set of copies in one group; groups that share a copy are merged."""
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
    """Sets that the votes show, whether they would show copies of some items, and whether the whole
    file is so many copies of a smaller one.
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
    # Items of one group count once: that they are alike is known.
    pairs = np.unique(np.column_stack([code, units]), axis=0)
    count = np.bincount(pairs[:, 0])
    present, alike = _codes(np.column_stack([verdicts != MISSING, labels]))
    chance = np.exp(log_chance(verdicts, labels))
    twins = np.asarray((alike[present] - 1.0) * chance, dtype=np.float64)
    return _Rows(code, count, chance, twins)


def _codes(rows: NDArray[np.int8]) -> tuple[Codes, Codes]:
    """Code of every row among the distinct ones, and how often each of those comes up."""
    content = np.ascontiguousarray(rows, dtype=np.int8)
    whole = content.view(np.dtype((np.void, content.shape[1]))).ravel()
    _, code, count = np.unique(whole, return_inverse=True, return_counts=True)
    return code.astype(np.int64), count.astype(np.int64)


def _factor(count: Codes) -> int:
    """How many copies of the whole file there are, 1 where that is not shown."""
    best, share = 1, _NEARLY_ALL
    for factor in _FACTORS:
        hits = int((count % factor == 0).sum())
        p = float(distributions.binom_sf(hits - 1, len(count), 1.0 / factor))
        if p < LEVEL and hits / len(count) >= share:
            best, share = factor, hits / len(count)
    return best


def _too_many_pairs(count: Codes) -> bool:
    """The spectrum test, with what chance may have added to the pairs taken off."""
    once, twice, thrice = (int((count == r).sum()) for r in (1, 2, 3))
    fewest = max(0.0, twice - 3.0 * np.sqrt(twice))
    least = (2.0 / 3.0) * fewest**2 / max(once + 3.0 * np.sqrt(once), 1.0)
    return bool(distributions.poisson_cdf(thrice, least) < LEVEL)


def _too_many_rare(rows: _Rows, limit: float) -> bool:
    expected = float(rows.twins[rows.twins < limit].sum()) / 2.0
    seen = int(((rows.count >= 2) & (_largest(rows) < limit)).sum())
    p = float(distributions.poisson_sf(seen - 1, _DOUBTED * expected + 0.01))
    return seen >= _FEWEST and p < LEVEL


def _largest(rows: _Rows) -> NDArray[np.float64]:
    largest = np.zeros(len(rows.count))
    np.maximum.at(largest, rows.code, rows.twins)
    return largest


def _sets_of(rows: _Rows, units: Codes, factor: int, hints: tuple[Codes, ...]) -> Codes:
    """Sets of ``factor`` items of a row, those first that ids or features give away as copies.

    Which of the others is a copy of which makes no difference.
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
    """All items of every repeated row that chance alone would bring less than twice."""
    repeated = (rows.count >= 2) & (_largest(rows) < 1.0)
    return _numbered(np.where(repeated[rows.code], rows.code, -1))


def _joined(left: Codes, right: Codes) -> Codes:
    """Sets of either; items of one set in both are in one set."""
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
    """Sets of two items or more numbered from 0; -1 for the others."""
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
