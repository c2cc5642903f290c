"""Selective prediction: accuracy against coverage when low-confidence items are left unanswered.

A(q) is the accuracy among the share q of items with the highest confidence, and AUAC the area under
A (the paper's appendix on selective prediction; risk-coverage curves: El-Yaniv and Wiener 2010,
JMLR 11). All orders of tied confidences are averaged.

Both are functions of ranks, so an item shifts the rank of all below it. Values here are therefore
influence values: with h the hit, u the share of items with higher confidence and h(q) the accuracy
at rank q,

    A(q):  1{u < q} (h - h(q)) / q + h(q)
    AUAC:  accuracy + int_u^1 (h - h(v)) / v dv.

Their means are A(q) and AUAC, and their variance is that of the estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Items by confidence, highest first: ``order`` (n,).

    ``first`` and ``length`` (n,) are the first position and the length of the tie at each position.
    """

    order: Ints
    first: Ints
    length: Ints


def ranked(confidence: Floats) -> Ranked:
    """Return the order of confidences (n,) with their ties."""
    order = np.argsort(-confidence, kind="stable")
    ordered = confidence[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    lengths = np.diff(np.append(starts, len(ordered)))
    return Ranked(order, np.repeat(starts, lengths), np.repeat(lengths, lengths))


def answered(ranks: Ranked, shares: Floats) -> Floats:
    """How far each item is among the most confident ``shares`` (m,), (m, n) in [0, 1].

    A tie at the threshold is answered in part.
    """
    n = len(ranks.order)
    limit = shares[:, None] * n
    inside = np.empty((len(shares), n))
    inside[:, ranks.order] = np.clip((limit - ranks.first) / ranks.length, 0.0, 1.0)
    return inside


def auac_values(ranks: Ranked, hit: Floats) -> Floats:
    """Influence values (n,) of the area under the accuracy-coverage curve; their mean is AUAC."""
    n = len(hit)
    sorted_hit = hit[ranks.order]
    starts = np.unique(ranks.first)
    shared = np.add.reduceat(sorted_hit, starts) / np.diff(np.append(starts, n))
    even = np.repeat(shared, np.diff(np.append(starts, n)))
    inverse = 1.0 / np.arange(1.0, n + 1.0)
    below = np.cumsum((even * inverse)[::-1])[::-1]
    share = np.cumsum(inverse[::-1])[::-1]
    values = np.empty(n)
    values[ranks.order] = (
        hit.mean() + sorted_hit * _tied(share, starts, n) - _tied(below, starts, n)
    )
    return values


def _tied(values: Floats, starts: Ints, n: int) -> Floats:
    """Return values (n,) averaged within ties."""
    lengths = np.diff(np.append(starts, n))
    return np.repeat(np.add.reduceat(values, starts) / lengths, lengths)
