"""Copies of items revealed by item ids or features, where votes alone cannot show them."""

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
_COPY_WORDS = ("copy", "dup", "rep")
_NUMBER = re.compile(r"[._\-#]\d{1,6}$")
_LONGEST_ID = 300
_FEWEST = 5
_ALIKE = 0.95
_RARER = 10.0


def keyed_copies(votes: VoteMatrix, rows: Codes, units: Codes) -> Iterator[tuple[str, Codes]]:
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
    marked = any(word in text for word in _COPY_WORDS)
    stems = [_COPY.sub("", name) for name in names] if marked else names
    if stems != names:
        stem_codes = _text_codes(stems)
        if _nearly_always(stem_codes, rows):
            yield "ids", _repeated(_pairs_of(stem_codes, rows))
    else:
        bare = [_NUMBER.sub("", name) for name in names]
        sets = _alike(_text_codes(bare), rows, units)
        if sets is not None:
            yield "ids", sets
    if votes.features is not None and len(votes.features.columns):
        sets = _alike(_feature_codes(votes.features), rows, units)
        if sets is not None:
            yield "features", sets


def _nearly_always(keys: Codes, rows: Codes) -> bool:
    """Whether enough pairs share a key and nearly all of these pairs share a row."""
    n_same_key = _n_pairs(keys)
    return n_same_key >= _FEWEST and _n_pairs(_pairs_of(keys, rows)) >= _ALIKE * n_same_key


def _alike(keys: Codes, rows: Codes, units: Codes) -> Codes | None:
    """Return sets of equal key and row; None unless equal keys nearly always share a row."""
    if not _nearly_always(keys, rows):
        return None
    both = _pairs_of(keys, rows)
    chance = _n_pairs(rows) / (len(rows) * (len(rows) - 1) / 2.0)
    if 1.0 - _n_pairs(both) / _n_pairs(keys) > (1.0 - chance) / _RARER:
        return None
    # Pairs within a key are not independent, so each key counts its items minus one.
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
    """Return codes that occur twice or more renumbered from 0; -1 for the others."""
    kinds, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    live = (count >= 2) & (kinds >= 0)
    return np.asarray(np.where(live, np.cumsum(live) - 1, -1)[place], dtype=np.int64)
