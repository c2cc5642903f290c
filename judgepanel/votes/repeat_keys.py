"""Copies that item ids or features give away, where votes alone cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.votes import distributions
from judgepanel.votes.matrix import VoteMatrix

Codes = NDArray[np.int64]

LEVEL = 1e-4
_COPY = re.compile(
    r"[\s._\-#(]+(?:copy|dup|duplicate|rep|repeat)[\s._\-#]*\d{0,6}\)?$", re.IGNORECASE
)
_NUMBER = re.compile(r"[._\-#]\d{1,6}$")
_LONGEST_ID = 300
_FEWEST = 5
_ALIKE = 0.95
_RARER = 10.0


def keyed_copies(votes: VoteMatrix, rows: Codes, units: Codes) -> Iterator[tuple[str, Codes]]:
    """What shows copies (``ids``, ``features``), and the set of every labelled item, -1 for none.

    Two items are copies when their votes, missing votes and labels are the same (``rows``) and

    * one's id is the other's with ``copy``, ``dup`` or ``repeat`` and a number at its end, and
      such items have the same row nearly always, or
    * their ids differ in a number at the end only, or all their features are the same, and such
      items have the same row nearly always and ``_RARER`` times less often a different one than
      any two items of the file.
    """
    stems = [_COPY.sub("", name[:_LONGEST_ID]) for name in votes.item_ids]
    marked = np.array(
        [stem != name[:_LONGEST_ID] for stem, name in zip(stems, votes.item_ids, strict=True)],
        dtype=bool,
    )
    stem_codes = _text_codes(stems)
    if marked.any() and _nearly_always(stem_codes, rows):
        yield "ids", _repeated(_pairs_of(stem_codes, rows))
    elif not marked.any():
        bare = [_NUMBER.sub("", stem) for stem in stems]
        sets = _alike(_text_codes(bare), rows, units)
        if sets is not None:
            yield "ids", sets
    if votes.features is not None and len(votes.features.columns):
        sets = _alike(_feature_codes(votes.features), rows, units)
        if sets is not None:
            yield "features", sets


def _nearly_always(keys: Codes, rows: Codes) -> bool:
    """Whether there are some items of one key, and nearly all pairs of them have one row."""
    n_same_key = _n_pairs(keys)
    return n_same_key >= _FEWEST and _n_pairs(_pairs_of(keys, rows)) >= _ALIKE * n_same_key


def _alike(keys: Codes, rows: Codes, units: Codes) -> Codes | None:
    """Sets of one key and row; None unless items of a key have one row nearly always."""
    if not _nearly_always(keys, rows):
        return None
    both = _pairs_of(keys, rows)
    chance = _n_pairs(rows) / (len(rows) * (len(rows) - 1) / 2.0)
    if 1.0 - _n_pairs(both) / _n_pairs(keys) > (1.0 - chance) / _RARER:
        return None
    # Of a key with many items, pairs are not independent: its items but the first are.
    n_keys = len(np.unique(keys))
    trials = len(keys) - n_keys
    hits = len(keys) - len(np.unique(both))
    if float(distributions.binom_sf(hits - 1, trials, chance)) >= LEVEL:
        return None
    return _repeated(both)


def _n_pairs(codes: Codes) -> float:
    count = np.bincount(codes).astype(float)
    return float((count * (count - 1.0)).sum() / 2.0)


def _pairs_of(left: Codes, right: Codes) -> Codes:
    return np.asarray(
        np.unique(left * (int(right.max(initial=0)) + 1) + right, return_inverse=True)[1]
    )


def _text_codes(texts: list[str]) -> Codes:
    return np.asarray(pd.factorize(np.array(texts, dtype=object))[0], dtype=np.int64)


def _feature_codes(features: pd.DataFrame) -> Codes:
    codes = np.zeros(len(features), dtype=np.int64)
    for name in features.columns:
        own = pd.factorize(features[name], use_na_sentinel=False)[0].astype(np.int64)
        codes = _pairs_of(codes, own)
    return codes


def _repeated(codes: Codes) -> Codes:
    """Codes that come up twice or more, numbered from 0; -1 for the others."""
    kinds, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    live = (count >= 2) & (kinds >= 0)
    return np.asarray(np.where(live, np.cumsum(live) - 1, -1)[place], dtype=np.int64)
