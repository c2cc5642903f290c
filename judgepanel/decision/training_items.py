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

The conformal slice: labelled items held out before anything is chosen or fitted.

The slice is drawn from ``SeedSequence(seed, spawn_key=(7, 13))``, groups whole. It is not used for
the orientation, the splits, the choice or the fit, so its scores under the final panel are
exchangeable with those of new items, as split conformal sets require. With groups, only whole
groups are exchangeable, so thresholds use one random item of each group (Dunn, Wasserman and Ramdas
2023, doi:10.1080/01621459.2022.2060112).
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
from judgepanel.arrays import Bools, Floats
from judgepanel.models.panel import Mixture
from judgepanel.scoring.conformal import (
    LEVELS,
    label_scores,
    labels_needed,
    nonconformity,
    threshold,
    too_few,
)
from judgepanel.scoring.splits import subsplit
from judgepanel.votes import MISSING, InputError, VoteMatrix
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


_KEY = (7, 13)
_ONE_EACH_KEY = (7, 14)


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """The votes for the fit (all votes if nothing is held out), and the slice or None."""

    fitted: VoteMatrix
    held_out: VoteMatrix | None


def check_share(share: float) -> None:
    """Refuse a share outside [0, 1) with an InputError."""
    if not 0.0 <= share < 1.0:
        raise InputError(
            "the share held out for sets is out of range",
            value=share,
            allowed="0 (none) or more, below 1",
        )


def slices(votes: VoteMatrix, share: float, seed: int) -> Slices:
    """Hold out about ``share`` of the labelled items, whole groups; 0 holds out none.

    Unlabelled items of a held-out group are left out of the fit as well.

    Raises
    ------
    InputError
        Fewer than two labelled items, or groups of them.
    """
    if share == 0.0:
        return Slices(votes, None)
    units = votes.units
    labelled = np.flatnonzero(votes.labelled)
    _, held = subsplit(units, labelled, fraction=1.0 - share, seed=seed, key=_KEY)
    away = np.isin(units, units[held])
    return Slices(votes.with_items(~away), votes.with_items(held))


def fitting_votes(votes: VoteMatrix, share: float, seed: int) -> VoteMatrix:
    """Return the votes that a recommendation may use; see :func:`slices`."""
    return slices(votes, share, seed).fitted


def held_out_warnings(votes: VoteMatrix, share: float, seed: int) -> list[str]:
    """Return sentences about levels for which the slice has too few labels, or groups of them."""
    held = slices(votes, share, seed).held_out
    if held is None:
        return []
    n = len(one_each(held))
    says = too_few if n == held.n_items else _too_few_groups
    return [
        says(n, level, "The held-out slice", "every set is {0,1}")
        for level in LEVELS
        if n < labels_needed(level)
    ]


def one_each(held: VoteMatrix) -> NDArray[np.int64]:
    """Return sorted rows of a slice for its thresholds: one random item of each group.

    All rows without groups. The stream is ``SeedSequence(0, spawn_key=(7, 14))``: the seed of the
    run was already used to draw the slice, and neither votes nor labels are used.
    """
    units = held.units
    rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=_ONE_EACH_KEY))
    order = rng.permutation(held.n_items)
    _, first = np.unique(units[order], return_index=True)
    return np.asarray(np.sort(order[first]))


def _too_few_groups(n: int, level: float, whose: str, until_then: str) -> str:
    return (
        f"{whose} has {n} group{'' if n == 1 else 's'} of items, and sets at {level:.0%} need "
        f"{labels_needed(level)} groups: until then {until_then}."
    )


def conformal_content(
    model: Mixture, held: VoteMatrix, share: float, rows: dict[str, Any]
) -> dict[str, Any]:
    """Return the block ``conformal``: thresholds of 1 - p(label) on the slice, in the file's order.

    An item and its swap have one score, so each item counts once under ``symmetric`` too. ``n``
    labels set the thresholds: one per group (:func:`one_each`).
    """
    columns = held.with_items(one_each(held)).with_judges(model.judges)
    codes = model.codes(columns.votes, columns.margins)
    scores = nonconformity(model.score(codes), columns.labels)
    limits = [float(threshold(scores, level)) for level in LEVELS]
    return {
        "share": share,
        "n": columns.n_items,
        "levels": [
            {
                "level": level,
                "threshold": limit if np.isfinite(limit) else None,
                "labels_needed": labels_needed(level),
            }
            for level, limit in zip(LEVELS, limits, strict=True)
        ],
        "rows": rows,
    }


def set_texts(conformal: dict[str, Any] | None, p: Floats) -> list[list[str]]:
    """Return ``{}``, ``{0}``, ``{1}`` or ``{0,1}`` per item and level; blank without a slice."""
    if conformal is None:
        return [[""] * len(p) for _ in LEVELS]
    scores = [score.tolist() for score in label_scores(p)]
    texts = []
    for level in conformal["levels"]:
        limit = level["threshold"]
        inside = [[limit is None or score <= limit for score in one_score] for one_score in scores]
        texts.append([SETS[zero + 2 * label_one] for zero, label_one in zip(*inside, strict=True)])
    return texts


SETS = ("{}", "{0}", "{1}", "{0,1}")
"""Sets as written in scored.csv."""
