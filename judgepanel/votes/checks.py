"""Scope checks as objects, and check P0: is the item order informative, and do items repeat?

Copies of items: rows of votes that occur more often than independent items would produce.

A copy of an item is not new evidence, but a split that puts one copy on each side scores a panel on
an item it was fitted to. Three tests run on labelled items; a row is the item's votes, its missing
votes and its label.

* *Multiples.* For independent items the number of occurrences of a row is a multinomial count,
  whatever the judges; a positive Poisson count is a multiple of m with probability at most about
  1/m. If nearly all rows occur a multiple of m times, the file holds m copies.
* *Spectrum.* With f_r rows that occur r times, E f_1 · 6 E f_3 >= (2 E f_2)², since r! f_r are
  moments of one mixing measure. Many pairs without triplets indicate copies.
* *Rare rows.* A row that :func:`log_chance` finds improbable occurs twice by chance
  less often than ``RARE``; too many such rows are copies. This finds a few copies among many items
  if there are enough judges.

With few judges rows repeat anyway and only the first test is informative; then repeated item ids
and features are the evidence (:func:`keyed_copies`). Cost: sorting, O(n K log n), and if rows
repeat, one fit to at most 20,000 of them.

Ids and features show copies where votes alone cannot. The probability of a row is a
pseudo-likelihood (Besag 1975, doi:10.2307/2987782): the product over judges of the probability of a
vote given the label and all other votes of the item. On average it exceeds the probability of the
row, since conditioning lowers entropy (the erasure entropy is at most the entropy: Verdu and
Weissman 2008, doi:10.1109/TIT.2008.926402). Judges that copy each other and items that all judges
find easy increase it further, so rows on which a panel agrees are never improbable. The pattern of
missing votes is conditioned on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints, Votes
from judgepanel.votes import errors, matrix
from judgepanel.votes.matrix import MISSING, VoteMatrix

Codes = Ints

LEVEL = 1e-4
"""Level of each test: independent items are very rarely reported as copies."""
_COPY = re.compile(
    r"[\s._\-#(]+(?:copy|dup|duplicate|rep|repeat)[\s._\-#]*\d{0,6}\)?$", re.IGNORECASE
)
_NUMBER = re.compile(r"[._\-#]\d{1,6}$")
_LONGEST_ID = 300
_FEWEST_ALIKE = 5
_ALIKE = 0.95
_RARER = 10.0
_RIDGE = 0.05
_BIN_ITEMS = 8
_MOST_BINS = 20
_FEW = 0.05
_CELLS = 4_000_000
"""Items by judges whose expected votes are held at once."""
MOST_FITTED, MOST_JUDGES = 20_000, 1_000
"""Rows, spread evenly over the file, to which the probabilities are fitted, and judges."""


def keyed_copies(votes: VoteMatrix, rows: Codes) -> Iterator[tuple[str, Codes]]:
    """Yield kinds of evidence (``ids``, ``features``) and sets (n,) of labelled items, -1 if none.

    Two items are copies if their votes, missing votes and labels are the same (``rows``) and

    * one's id is the other's followed by ``copy``, ``dup`` or ``repeat`` and a number, and such
      items nearly always have the same row, or
    * their ids differ only in a final number, or all their features are equal, and such items
      nearly always have the same row and differ ``_RARER`` times less often than random pairs of
      items.
    """
    names = [name[:_LONGEST_ID] for name in votes.item_ids]
    # Looking for the word in all ids at once is much faster than for the suffix in each.
    text = "\n".join(names).lower()
    marked = any(word in text for word in ("copy", "dup", "rep"))
    stems = [_COPY.sub("", name) for name in names] if marked else names
    suffixed = stems != names
    if not suffixed:
        stems = [_NUMBER.sub("", name) for name in names]
    ids = pd.factorize(np.array(stems, dtype=object))[0].astype(np.int64)
    if (_nearly_always if suffixed else _alike)(ids, rows):
        yield "ids", _numbered(_pairs_of(ids, rows))
    if votes.features is not None and len(votes.features.columns):
        equal = np.zeros(len(rows), dtype=np.int64)
        for _, feature in votes.features.items():
            own = pd.factorize(feature, use_na_sentinel=False)[0].astype(np.int64)
            equal = _pairs_of(equal, own)
        if _alike(equal, rows):
            yield "features", _numbered(_pairs_of(equal, rows))


def _nearly_always(keys: Codes, rows: Codes) -> bool:
    """Whether enough pairs share a key and nearly all of these pairs share a row."""
    n_same_key = _n_pairs(keys)
    return n_same_key >= _FEWEST_ALIKE and _n_pairs(_pairs_of(keys, rows)) >= _ALIKE * n_same_key


def _alike(keys: Codes, rows: Codes) -> bool:
    """Whether equal keys nearly always share a row, and random pairs far less often."""
    if not _nearly_always(keys, rows):
        return False
    both = _pairs_of(keys, rows)
    chance = _n_pairs(rows) / (len(rows) * (len(rows) - 1) / 2.0)
    if 1.0 - _n_pairs(both) / _n_pairs(keys) > (1.0 - chance) / _RARER:
        return False
    # Pairs within a key are not independent, so each key counts its items minus one.
    trials = len(keys) - len(np.unique(keys))
    hits = len(keys) - len(np.unique(both))
    return float(distributions.binom_sf(hits - 1, trials, chance)) < LEVEL


def _n_pairs(codes: Codes) -> float:
    count = np.bincount(codes).astype(float)
    return float((count * (count - 1.0)).sum() / 2.0)


def _pairs_of(left: Codes, right: Codes) -> Codes:
    pairs = left * (int(right.max(initial=0)) + 1) + right
    return np.asarray(np.unique(pairs, return_inverse=True)[1])


def log_chance(votes: Votes, labels: Votes, rows: Ints) -> Floats:
    """Return the log pseudo-likelihood of some rows of votes given their labels, (n,).

    The expected vote of a judge given the others is linear (one inverse covariance matrix gives it
    for all judges); its quantile bins turn it into a probability. Only the ``MOST_JUDGES`` judges
    with most votes among the fitted rows are looked at: a part of a row is at least as probable as
    the row. Cost for K judges: O(K) time per vote, O(K³) once; the fit uses at most ``MOST_FITTED``
    of all rows.

    Parameters
    ----------
    votes : int8 (n_items, n_judges) in {0, 1, -1 missing}.
    labels : int8 (n_items,) in {0, 1}.
    rows : int64 (n,), the rows to look at; the probabilities are fitted to all.
    """
    n_items = len(votes)
    sample = np.linspace(0, n_items - 1, min(n_items, MOST_FITTED)).astype(np.int64)
    n_votes = (votes[sample] != MISSING).sum(axis=0)
    judges_with_most = np.argsort(-n_votes, kind="stable")[: min(MOST_JUDGES, (n_votes > 0).sum())]
    votes = votes[:, np.sort(judges_with_most)]
    n_judges = votes.shape[1]
    fitted, fitted_labels = votes[sample], labels[sample]
    means = _class_means(fitted, fitted_labels)
    centred = _centred(fitted, fitted_labels, means)
    slopes = _slopes_of_the_others(centred, fitted != MISSING)
    laws: list[tuple[Floats, Floats]] = []
    for judges in _blocks(n_judges, len(sample)):
        of_judges = _expected(centred, slopes[:, judges], means[:, judges], fitted_labels)
        for expected, own in zip(of_judges, fitted.T[judges], strict=True):
            laws.append(_log_shares(expected[own != MISSING], own[own != MISSING]))
    total = np.zeros(len(rows))
    for block in _blocks(len(rows), n_judges):
        asked, asked_labels = votes[rows[block]], labels[rows[block]]
        centred = _centred(asked, asked_labels, means)
        of_judges = _expected(centred, slopes, means, asked_labels)
        for expected, own, (edges, log_share) in zip(of_judges, asked.T, laws, strict=True):
            cast = np.flatnonzero(own != MISSING)
            place = np.searchsorted(edges, expected[cast], side="right")
            total[block.start + cast] += log_share[own[cast], place]
    return total


def _blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices of ``n`` rows, of as many as are held at once."""
    step = max(1, _CELLS // max(1, width))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _class_means(votes: Votes, labels: Votes) -> Floats:
    """Mean signed vote (2, n_judges) of the items of each label."""
    means = np.zeros((2, votes.shape[1]))
    for label in (0, 1):
        ones, zeros = ((votes[labels == label] == vote).sum(axis=0) for vote in (1, 0))
        means[label] = (ones - zeros) / np.maximum(ones + zeros, 1)
    return means


def _centred(votes: Votes, labels: Votes, means: Floats) -> Any:
    """Signed votes minus their mean, 0 if missing, (n_items, n_judges); sparse if few are cast."""
    cast = votes != MISSING
    if np.count_nonzero(cast) >= _FEW * cast.size:
        return np.where(cast, 2.0 * votes - 1.0 - means[labels], 0.0)
    row, judge = np.nonzero(cast)
    values = 2.0 * votes[row, judge] - 1.0 - means[labels[row], judge]
    return scipy.sparse.csr_matrix((values, (row, judge)), shape=votes.shape)


def _expected(centred: Any, slopes: Floats, means: Floats, labels: Votes) -> Floats:
    """Expected votes (n_judges, n) given the others on the same row; ``slopes`` and ``means`` are
    of these judges.
    """
    # One judge's expected votes are then neighbours in memory.
    expected = np.ascontiguousarray((centred @ slopes).T)
    expected += means.T[:, labels]
    # Rounded so that floating-point noise from the order of items and judges moves no value to
    # another bin.
    return np.asarray(np.round(expected, 9, out=expected))


def _slopes_of_the_others(centred: Any, cast: Bools) -> Floats:
    """Slopes (n_judges, n_judges) of the linear prediction of a judge's centred vote, a column,
    from the other votes of a row.

    The ridge penalty grows with judges per vote of a judge, so few rows cannot overfit.
    """
    product = centred.T @ centred
    covariance = (product if isinstance(product, np.ndarray) else product.toarray()) / len(cast)
    scale = float(np.mean(np.diag(covariance)))
    ridge = _RIDGE + cast.shape[1] / max(float(cast.sum(axis=0).mean()), 1.0)
    precision = np.linalg.inv(covariance + (ridge * scale + 1e-9) * np.eye(len(covariance)))
    own = np.diag(precision).copy()
    np.fill_diagonal(precision, 0.0)
    return np.asarray(precision / -own)


def _log_shares(expected: Floats, votes: Votes) -> tuple[Floats, Floats]:
    """Return edges of bins of a judge's expected votes, and the log shares (2, n_bins) of its
    votes for label 0 and 1 in each.
    """
    n_bins = int(np.clip(len(expected) // _BIN_ITEMS, 1, _MOST_BINS))
    edges = np.quantile(expected, np.linspace(0.0, 1.0, n_bins + 1)[1:-1])
    place = np.searchsorted(edges, expected, side="right")
    ones = np.bincount(place, votes == 1, minlength=n_bins)
    share = (ones + 0.5) / (np.bincount(place, minlength=n_bins) + 1.0)
    return edges, np.log(np.stack([1.0 - share, share]))


RARE = (0.05, 0.5)
"""Rows with fewer expected twins are tested; the second value is for items with few votes."""
_DOUBTED = 3.0
_FEWEST_REPEATS = 4
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
    chance: Floats
    twins: Floats

    def repeated(self, limit: float) -> Bools:
        """bool (n_rows,): rows that occur twice, with fewer twins expected than ``limit``."""
        largest = np.zeros(len(self.count))
        np.maximum.at(largest, self.code, self.twins)
        return (self.count >= 2) & (largest < limit)


@matrix.cached(8)
def find_repeats(votes: VoteMatrix) -> RepeatSets:
    """Return the sets of labelled items that are copies of each other, if there is evidence.

    Items of one group are not counted against each other: copies within it are known to be alike.
    """
    labelled = np.flatnonzero(votes.labelled)
    tested = votes.with_items(labelled)
    verdicts, labels = tested.votes, tested.labels
    units = np.arange(len(labelled))
    if tested.groups is not None:
        units = np.unique(tested.groups, return_inverse=True)[1]
    keyed_sets = dict(keyed_copies(tested, _codes(np.column_stack([verdicts, labels]))[0]))
    hints = tuple(keyed_sets.values())
    sets, conclusive, whole_file = _by_votes(verdicts, labels, units, hints)
    swapped = False
    if votes.task == "pairwise" and sets.max(initial=-1) < 0:
        turned, _ = matrix.turned_around(verdicts, (labels == 0)[:, None])
        sets, _, whole_file = _by_votes(turned, np.ones_like(labels), units, hints)
        swapped = bool(sets.max(initial=-1) >= 0)
    evidence = (*(["votes"] if sets.max(initial=-1) >= 0 else []), *keyed_sets)
    if not whole_file:
        # Otherwise the size of every set is known, and ids and features only ordered the items.
        for copies in hints:
            sets = _joined(sets, copies)
    whole = np.full(votes.n_items, -1, dtype=np.int64)
    whole[labelled] = sets
    inside = sets >= 0
    sizes = np.bincount(sets[inside])
    n_apart = len(np.unique(_pairs_of(sets[inside], units[inside]))) - len(sizes)
    repeats = Repeats(
        n_items=len(sets),
        n_sets=len(sizes),
        n_repeated=int(sizes.sum()),
        smallest=int(min(sizes, default=0)),
        largest=int(max(sizes, default=0)),
        evidence=evidence,
        swapped=swapped,
        told=conclusive,
        apart=n_apart > 0,
    )
    return RepeatSets(whole, repeats)


@matrix.cached(4)
def group_copies(votes: VoteMatrix) -> VoteMatrix:
    """Return the votes with each set of copies in one group; groups sharing copies are merged."""
    outcome = find_repeats(votes)
    if not outcome.repeats.apart:
        return votes
    names = votes.item_ids if votes.groups is None else votes.groups
    alike = _joined(votes.units, outcome.sets).tolist()
    first = dict(zip(reversed(alike), reversed(names), strict=True))
    groups = (first[k] if k >= 0 else name for name, k in zip(names, alike, strict=True))
    return replace(votes, groups=tuple(groups))


def _by_votes(
    verdicts: Votes, labels: Votes, units: Codes, hints: tuple[Codes, ...]
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
        # All items of repeated rows that are expected to occur less than twice by chance.
        return _numbered(np.where(rows.repeated(1.0)[rows.code], rows.code, -1)), conclusive, False
    return nothing, conclusive, False


def _rows(verdicts: Votes, labels: Votes, units: Codes) -> _Rows:
    code = _codes(np.column_stack([verdicts, labels]))[0]
    count = np.bincount(code)
    if np.bincount(units).max() > 1:
        # Items of one group count once: they are known to be alike.
        count = np.bincount(np.unique(np.column_stack([code, units]), axis=0)[:, 0])
    present, alike = _codes(np.column_stack([verdicts != MISSING, labels]))
    # Equal rows are equally improbable: one of each kind is looked at. If none repeats, some rows
    # spread over the file tell whether copies could be known.
    one_of = np.empty(len(count), dtype=np.int64)
    one_of[code] = np.arange(len(code))
    step = 1 if count.max() > 1 else -(-len(count) // MOST_FITTED)
    chance = np.repeat(np.exp(log_chance(verdicts, labels, one_of[::step])), step)[code]
    twins = np.asarray((alike[present] - 1.0) * chance, dtype=np.float64)
    return _Rows(code, count, chance, twins)


def _codes(rows: Votes) -> tuple[Codes, Codes]:
    """Return the code of every row among the distinct rows, and the distinct rows' counts.

    Rows hold -1, 0 and 1. Up to 32 of these are one number, which is sorted several times faster.
    """
    whole: NDArray[Any]
    if rows.shape[1] <= _PACKED:
        whole = np.zeros(len(rows), dtype=np.uint64)
        for column in rows.T:
            whole = whole << np.uint64(2) | (column & np.int8(3)).astype(np.uint64)
    else:
        blocks = (rows[block] for block in _blocks(max(1, len(rows)), rows.shape[1]))
        bits = [np.packbits(np.hstack([block == 1, block < 0]), axis=1) for block in blocks]
        content = np.concatenate(bits)
        whole = content.view(np.dtype((np.void, content.shape[1]))).ravel()
    _, code, count = np.unique(whole, return_inverse=True, return_counts=True)
    return code.astype(np.int64), count.astype(np.int64)


def _factor(count: Codes) -> int:
    """Return the number of copies of the whole file, 1 if there is no evidence of more."""
    best, share = 1, _NEARLY_ALL
    for factor in range(2, 9):
        hits = int((count % factor == 0).sum())
        here = hits / len(count)
        if here >= share and distributions.binom_sf(hits - 1, len(count), 1.0 / factor) < LEVEL:
            best, share = factor, here
    return best


def _too_many_pairs(count: Codes) -> bool:
    """The spectrum test, after an allowance for chance in the number of pairs."""
    once, twice, thrice = (int((count == r).sum()) for r in (1, 2, 3))
    fewest = max(0.0, twice - 3.0 * np.sqrt(twice))
    least = (2.0 / 3.0) * fewest**2 / max(once + 3.0 * np.sqrt(once), 1.0)
    return thrice < least and distributions.poisson_cdf(thrice, least) < LEVEL


def _too_many_rare(rows: _Rows, limit: float) -> bool:
    expected = _DOUBTED * float(rows.twins[rows.twins < limit].sum()) / 2.0 + 0.01
    seen = int(rows.repeated(limit).sum())
    return seen >= _FEWEST_REPEATS and distributions.poisson_sf(seen - 1, expected) < LEVEL


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


def _joined(left: Codes, right: Codes) -> Codes:
    """Return the union of two partitions: items that share a set in either are in one set."""
    n = len(left)
    # Sets are nodes after the items, linked to their items.
    item, number = np.nonzero(np.column_stack([left, right]) >= 0)
    node = n + np.where(number == 0, left[item], n + right[item])
    links = scipy.sparse.coo_matrix((np.ones(len(item)), (item, node)), shape=(3 * n, 3 * n))
    code = scipy.sparse.csgraph.connected_components(links, directed=False)[1][:n]
    return _numbered(np.where((left >= 0) | (right >= 0), code.astype(np.int64), -1))


def _numbered(codes: Codes) -> Codes:
    """Return sets of at least two items, numbered from 0; -1 for the other items."""
    kinds, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    live = (count >= 2) & (kinds >= 0)
    return np.asarray(np.where(live, np.cumsum(live) - 1, -1)[place], dtype=np.int64)


Outcome = Literal["pass", "review", "fail", "not applicable"]
Numbers = dict[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Check:
    """A scope check: what was found, why it matters, what to do.

    ``numbers`` maps a short name to a value; judge names in it are untrusted text.
    """

    code: str
    title: str
    outcome: Outcome
    numbers: Mapping[str, float | int | str]
    why: str
    advice: str


_NOTHING, _LOOK = "Nothing to do.", "Look at {} before you decide."
_ADVICE_POSITION = (
    "Swapping cannot repair position bias. If the correct response was always shown first, a "
    "judge's accuracy and its preference for the first position are the same number. Collect both "
    "orders, or a random order, where you can."
)
_ODD = {
    "constant judges": "gave one verdict on nearly every labelled item {it} voted on",
    "judges right on every item": "{was} right on every labelled item {it} voted on",
    "judges wrong on every item": "{was} wrong on every labelled item {it} voted on",
}
"""Judges too regular to be true, and what is said of them."""


def check_orientation(votes: VoteMatrix) -> Check:
    """P0: do labels and votes depend on the arbitrary order of the two responses?

    Fails on one-class labels, and if most judges are below chance; asks for review on lopsided
    labels, on constant judges, and on judges that are right (or wrong) on all of ``CONSTANT_VOTES``
    or more labelled items.
    """
    share, odd, sentences = votes.minority_share, _odd_judges(votes), []
    for kind, names in odd.items():
        was, it = ("was", "it") if len(names) == 1 else ("were", "they")
        if names:
            sentences.append(f"{errors.listed(names, 3)} {_ODD[kind].format(was=was, it=it)}.")
    outcome: Outcome = "review" if sentences else "pass"
    which = "this judge" if sum(map(len, odd.values())) == 1 else "these judges"
    why, advice = "", _LOOK.format(which) if sentences else _NOTHING
    if turned := reversal(votes):
        outcome, why, sentences = "fail", turned, []
        advice = f"Turn the votes {errors.TURN}, if they are reversed."
    elif votes.task == "pointwise":
        why = "Pointwise items have no order, so label imbalance is legitimate."
        outcome = "review" if sentences else "not applicable"
    elif share == 0.0:
        outcome, advice = "fail", _ADVICE_POSITION
        why = (
            "Every label is the same, so the labels describe how the file was coded and a "
            "constant prediction would look perfect."
        )
    elif share < matrix.BALANCED_SHARE:
        outcome, advice = "review", _ADVICE_POSITION
        rarer = f"{100 * share:.1f} % of the labels are of the rarer kind"
        why = f"Only {rarer}: the order of a pair seems to carry the answer."
    elif not sentences:
        rarer = f"{100 * share:.1f} % are of the rarer kind"
        why = f"Both labels are common ({rarer}) and no judge gives nearly always the same verdict."
    numbers: Numbers = {
        "labelled items": int(votes.labelled.sum()),
        "share of the rarer label": round(share, 4),
        **{kind: len(names) for kind, names in odd.items()},
    }
    text = " ".join(filter(None, (why, *sentences)))
    return Check("P0", "P0 Labels and order", outcome, numbers, text, advice)


def _odd_judges(votes: VoteMatrix) -> dict[str, list[str]]:
    """Return the names of the judges of each kind of ``_ODD``."""
    cast, n_right, _ = matrix.counts_on_labelled(votes)
    enough = cast >= matrix.CONSTANT_VOTES
    always, never = enough & (n_right == cast), enough & (n_right == 0)
    flags = (matrix.constant_judges(votes), always, never)
    return {kind: matrix.named(votes, own) for kind, own in zip(_ODD, flags, strict=True)}


_FEWEST = 10
"""Votes on labelled items before a judge is called below chance."""


def reversal(votes: VoteMatrix) -> str:
    """Return a sentence if most judges are below chance (by 4 sd), so votes may be reversed."""
    cast, right, _ = matrix.counts_on_labelled(votes)
    below = (cast >= _FEWEST) & (right < cast / 2 - 2.0 * np.sqrt(np.maximum(cast, 1)))
    n_below, n_judges = int(below.sum()), int((cast > 0).sum())
    if 2 * n_below <= n_judges:
        return ""
    judges = f"{n_below} of {n_judges} judges"
    below_half = "are right on clearly less than half of the labelled items"
    return f"{judges} {below_half}: votes or labels may be reversed. Turn the votes {errors.TURN}."


_GROUPING = f"Keep them together {errors.GROUP_DUPLICATES}."
_SERIOUS_SHARE = 0.05
_EVIDENCE = {
    "votes": "votes that are the same more often than chance allows",
    "ids": "item ids",
    "features": "item features",
}


def item_checks(votes: VoteMatrix, *, group_duplicates: bool = False) -> tuple[Check, ...]:
    """Both parts of P0: the order of the items, and repeated items."""
    return check_orientation(votes), check_repeats(votes, group_duplicates=group_duplicates)


def check_repeats(votes: VoteMatrix, *, group_duplicates: bool = False) -> Check:
    """P0: are copies of items counted as independent?

    Fails if ``_SERIOUS_SHARE`` or more of the labelled items are such copies; copies that
    ``group_duplicates`` or the file's own groups keep together pass.
    """
    repeats = find_repeats(votes).repeats
    numbers: Numbers = {
        "labelled items": repeats.n_items,
        "sets of identical items": repeats.n_sets,
        "items in them": repeats.n_repeated,
        "largest set": repeats.largest,
    }
    outcome: Outcome = "pass"
    advice = _NOTHING
    if repeats.apart and not group_duplicates:
        serious = repeats.n_repeated >= _SERIOUS_SHARE * repeats.n_items
        outcome, advice = "fail" if serious else "review", _GROUPING
        evidence = " and ".join(_EVIDENCE[kind] for kind in repeats.evidence)
        why = f"{_apart(repeats)} Shown by {evidence}."
    elif repeats.n_sets:
        why = f"{_repeating(repeats)} are kept together, in splits and in variances."
    elif repeats.told:
        why = "No more items have the same votes and label than chance allows."
    else:
        outcome, column = "not applicable", errors.CHOICE_CONTROLS["group_column"]
        why = (
            "Rows of so few votes repeat by chance, so copies of some items cannot be told from "
            "votes; ids and features show none."
        )
        advice = f"If some items are copies, name the column that says so {column}."
    return Check("P0", "P0 Repeated items", outcome, numbers, why, advice)


def repeats_sentence(repeats: Repeats) -> str:
    """Return how many items repeat, the effect and the remedy; empty if no copies are apart."""
    return f"{_apart(repeats)} {_GROUPING}" if repeats.apart else ""


def _apart(repeats: Repeats) -> str:
    return f"{_repeating(repeats)} are counted as independent; the expected NLL is too good."


def _repeating(repeats: Repeats) -> str:
    fewest, most = repeats.smallest, repeats.largest
    size = f"{fewest} to {most}" if most > fewest else f"{fewest}"
    sets = "1 group" if repeats.n_sets == 1 else f"{repeats.n_sets:,} groups"
    turned = " (some with the two responses swapped)" if repeats.swapped else ""
    return f"Items repeat: {sets} of {size} identical items{turned}"
