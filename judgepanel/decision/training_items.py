"""Items that a panel was fitted on: short hashes of training rows, and the significance of matches.

Each item has two hashes: of its votes by judge name, and of its id together with those votes.
Judges are in name order, so the order of columns, additional judges and (for the first hash) new
ids change nothing; the responses of a pair may be swapped. Hashes are sorted, salted with the
votes' own SHA-256 and truncated to 8 bytes: ids cannot be recovered from them without the votes.

With few judges many items have the same votes, so a match alone proves nothing. Let X pairs of one
of the n hashed items and one of the m new ones have the same votes, whatever their ids.

* Id and votes: if ids were mere row numbers, a pair would share its id with probability about 1 /
  max(n, m), or a multiple of it if both files are sorted alike (``_SORTED``). The number of matches
  must exceed what that explains; if all matches together do not, those of rare votes may.
* Votes alone: only rare votes count, those that occur once on either side. If all items were from
  one population, votes that two items of the pooled n + m share would join one of each side with
  probability 2 n m / ((n + m) (n + m - 1)), and two of one side otherwise. The number of matches
  must exceed that.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Bools
from judgepanel.votes import MISSING, VoteMatrix
from judgepanel.votes.errors import listed

MOST_ROWS = 20_000
ALPHA = 0.01
_SORTED = 5.0
_BYTES = 8


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The items of a file on which a panel was fitted.

    ``by_id`` and ``by_votes`` are bool (n_items,): id and votes match, or only the votes, under
    another id. ``wholly`` means that (nearly) all of the file was seen. ``checked`` is false if the
    panel file has no hashes, or judges of the panel are absent: nothing is known then.
    """

    by_id: Bools
    by_votes: Bools
    wholly: bool
    checked: bool

    @property
    def rows(self) -> Bools:
        """Items that were seen, bool (n_items,)."""
        return self.by_id | self.by_votes


def rows_content(
    votes: VoteMatrix, judges: Sequence[str], known: Sequence[str], salt: str
) -> dict[str, Any]:
    """Return sorted hashes of every item; of more than ``MOST_ROWS`` the lowest are kept.

    ``judges`` are the panel's, ``known`` all participating judges; the votes of all distinguish
    items better, but not every new file has them.
    """
    lists = {
        "id_and_votes": _hashes(votes, judges, salt, ids=True),
        "votes": _hashes(votes, judges, salt),
        "votes_of_all": None if set(known) == set(judges) else _hashes(votes, known, salt),
    }
    by_name = {
        name: None if result is None else sorted(result)[:MOST_ROWS]
        for name, result in lists.items()
    }
    return {"n_items": votes.n_items, **by_name}


def seen_items(
    rows: dict[str, Any] | None,
    votes: VoteMatrix,
    judges: Sequence[str],
    known: Sequence[str],
    salt: str,
) -> Seen:
    """Compare the items of a file with the hashes of a panel; see the module for the rules."""
    nothing = np.zeros(votes.n_items, dtype=bool)
    there = set(votes.judges)
    if rows is None or not set(judges) <= there:
        return Seen(nothing, nothing, wholly=False, checked=False)
    compared = _compared(rows["votes"], votes, judges, salt)
    hashes = _hashes(votes, judges, salt, ids=True)
    same = compared.voted & _among(hashes, set(rows["id_and_votes"]))
    by_id = same if compared.exceed(same) else same & compared.rare
    if not compared.exceed(by_id):
        by_id = nothing
    by_votes = _compared(rows["votes"], votes, judges, salt, by_id).by_votes()
    if rows["votes_of_all"] is not None and set(known) <= there:
        by_votes |= _compared(rows["votes_of_all"], votes, known, salt, by_id).by_votes()
    half = 0.5 * float(compared.once.sum())
    wholly = bool(
        (by_id.any() and by_id[compared.voted].all())
        or (by_votes.any() and (by_id | by_votes).sum() > half)
    )
    return Seen(by_id, by_votes, wholly=wholly, checked=True)


def seen_sentences(seen: Seen, item_ids: Sequence[str]) -> list[str]:
    """Say how many items were seen, the first ids, and the consequence."""
    sentences = []
    for rows, what in (
        (seen.by_id, "the id and the votes of an item the panel was fitted on"),
        (seen.by_votes, "exactly the votes of an item the panel was fitted on, under another id"),
    ):
        if rows.any():
            first = [item_ids[i] for i in np.flatnonzero(rows).tolist()]
            sentences.append(
                f"{len(first)} of {len(item_ids)} items have {what}: {listed(first, 3)}; scores of "
                "seen items flatter."
            )
    return sentences


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """Votes of ``n`` past and ``m`` new items compared.

    ``pairs`` (n_items,) is the number of past items with the votes of each new one, ``voted``
    whether it has any; ``once`` and ``rare`` mark votes that occur once among the new items, and
    once on either side; ``within`` counts votes that two items of one side and none of the other
    share.
    """

    pairs: NDArray[np.int64]
    voted: Bools
    once: Bools
    rare: Bools
    within: int
    n: int
    m: int

    def exceed(self, matches: Bools) -> bool:
        """Return whether row numbers do not explain these matches of id and votes."""
        among = self.pairs[self.rare] if not matches[~self.rare].any() else self.pairs
        chance = min(1.0, _SORTED * float(among.sum()) / max(self.n * self.m, 1))
        return _exceeds(int(matches.sum()), min(self.n, self.m), chance)

    def by_votes(self) -> Bools:
        """Items seen by their votes alone."""
        across, total = int(self.rare.sum()), max(self.n + self.m, 2)
        chance = 2.0 * self.n * self.m / (total * (total - 1.0))
        return self.rare & _exceeds(across, across + self.within, chance)


def _compared(
    past_hashes: Sequence[str],
    votes: VoteMatrix,
    judges: Sequence[str],
    salt: str,
    known: Bools | None = None,
) -> _Compared:
    """Compare both sides without the items ``known`` to be the same."""
    hashes, voted = _hashes(votes, judges, salt), _voted(votes, judges)
    past = Counter(past_hashes)
    if known is not None:
        voted = voted & ~known
        past -= Counter(hashes[i] for i in np.flatnonzero(known).tolist())
    here = Counter(digest for digest, cast in zip(hashes, voted, strict=True) if cast)
    pairs = np.where(voted, np.array([past[digest] for digest in hashes], dtype=np.int64), 0)
    once = voted & np.array([here[digest] == 1 for digest in hashes], dtype=bool)
    counts = ((past[entry], here[entry]) for entry in past.keys() | here.keys())
    within = sum(count in ((2, 0), (0, 2)) for count in counts)
    n, m = sum(past.values()), sum(here.values())
    return _Compared(pairs, voted, once, once & (pairs == 1), within, n, m)


def _exceeds(matches: int, trials: int, chance: float) -> bool:
    """Whether this number of matches has a probability below ``ALPHA``.

    Most cases are clear without the binomial distribution, and the import of SciPy's: a median is
    at least the whole part of the mean, and Chernoff bounds the tail above it.
    """
    if matches <= trials * chance:
        return False
    share, rest = matches / trials, 1.0 - matches / trials
    if chance > 0.0:
        divergence = share * math.log(share / chance)
        divergence += rest * math.log(rest / (1.0 - chance)) if rest > 0.0 else 0.0
        if math.exp(-trials * divergence) >= ALPHA / 2.0:
            return float(distributions.binom_sf(matches - 1, trials, chance)) < ALPHA
    return True


def _hashes(votes: VoteMatrix, judges: Sequence[str], salt: str, *, ids: bool = False) -> list[str]:
    names = sorted(judges)
    cast = _columns(votes, names)
    if votes.task == "pairwise":
        cast = _first_is_one(cast)
    start = hashlib.sha256("\0".join([salt, str(ids), *names]).encode())
    hashes = []
    for name, row in zip(votes.item_ids, cast, strict=True):
        digest = start.copy()
        digest.update(row.tobytes())
        if ids:
            digest.update(name.encode())
        hashes.append(digest.hexdigest()[: 2 * _BYTES])
    return hashes


def _first_is_one(cast: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return each row oriented so that its first vote is 1: a pair and its swap become equal."""
    known = cast != MISSING
    first = cast[np.arange(len(cast)), known.argmax(axis=1)]
    turned = np.where(known, 1 - cast, cast)
    return np.ascontiguousarray(np.where((first == 0)[:, None], turned, cast).astype(np.int8))


def _columns(votes: VoteMatrix, judges: Sequence[str]) -> NDArray[np.int8]:
    place = {name: column for column, name in enumerate(votes.judges)}
    return np.ascontiguousarray(votes.votes[:, [place[name] for name in judges]])


def _voted(votes: VoteMatrix, judges: Sequence[str]) -> Bools:
    return np.asarray((_columns(votes, judges) != MISSING).any(axis=1))


def _among(hashes: list[str], past: set[str]) -> Bools:
    return np.array([digest in past for digest in hashes], dtype=bool)
