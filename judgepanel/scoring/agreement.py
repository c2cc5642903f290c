"""Agreement beyond chance of verdicts 0 and 1, with jackknife intervals.

Cohen's kappa (1960, doi:10.1177/001316446002000104) subtracts the agreement of two raters who vote
1 as often as these, independently. It falls where nearly all verdicts are equal, whatever the
raters are worth. Gwet's AC1 (2008, doi:10.1348/000711006X126600) subtracts that of verdicts
that are guessed, and does not. Krippendorff's alpha (2004, ISBN 9780761915454) compares any number
of raters with missing verdicts: 1 minus the disagreement within items over that of any two
verdicts.

All are functions of counts, which add up over blocks of items; intervals come from leaving out one
block after the other, and blocks keep the items of a unit together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.distributions import t_ppf
from judgepanel.scoring.inference import LEVEL
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import unit_codes

MOST_BLOCKS = 100
T_95 = 1.9842169515864174
"""``t_ppf(0.975, MOST_BLOCKS - 1)``, for commands that need nothing else of scipy.special."""


@dataclass(frozen=True, slots=True, eq=False)
class WithLabels:
    """Kappa and AC1 (J,) of every judge with the labels, and alpha of all judges, of n items."""

    kappa: Interval
    ac1: Interval
    alpha: Interval
    n_items: int


def with_labels(
    votes: Votes,
    labels: Votes,
    units: Ints,
    *,
    symmetric: bool = False,
    seed: int = 0,
    most_votes: int | None = None,
) -> WithLabels:
    """Return the agreement of judges with labels and with each other.

    Parameters
    ----------
    votes, labels : int8 (n, J) and (n,), 1 and -1, 0 where a vote is missing.
    units : int (n,), codes of items that belong together.
    symmetric : whether every pair counts together with its swap.
    seed : of the blocks that are left out, and of the draw.
    most_votes : cells of ``votes`` that are counted at most: of more, items are drawn at random.
    """
    most = len(votes) if most_votes is None else max(most_votes // max(votes.shape[1], 1), 1)
    if len(votes) > most:
        rows = np.sort(np.random.default_rng(seed).choice(len(votes), most, replace=False))
        votes, labels, units = votes[rows], labels[rows], units[rows]
    blocks = blocks_of(units, seed=seed)
    pairs, items = pair_counts(votes, labels[:, None], blocks), item_counts(votes, blocks)
    if symmetric:
        pairs, items = with_swaps(pairs), items_with_swaps(items)
    together = jackknifed(alpha, items)
    return WithLabels(
        jackknifed(kappa, pairs), jackknifed(ac1, pairs), single(together), len(votes)
    )


def kappa(counts: Floats) -> Floats:
    """Cohen's kappa of counts (..., 2, 2), first rater by second; NaN if undefined."""
    agreed, first, second = _shares(counts)
    return _beyond(agreed, first * second + (1.0 - first) * (1.0 - second))


def ac1(counts: Floats) -> Floats:
    """Gwet's AC1 of counts (..., 2, 2); NaN without items."""
    agreed, first, second = _shares(counts)
    ones = (first + second) / 2.0
    return _beyond(agreed, 2.0 * ones * (1.0 - ones))


def alpha(counts: Floats) -> Floats:
    """Krippendorff's alpha of counts (..., 3) of :func:`item_counts`; NaN if undefined."""
    disagreed, ones, zeros = np.moveaxis(counts, -1, 0)
    total = ones + zeros
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = 2.0 * ones * zeros / (total - 1.0)
        return np.where(expected > 0.0, 1.0 - disagreed / expected, np.nan)


def blocks_of(units: Ints, *, seed: int = 0, most: int = MOST_BLOCKS) -> Ints:
    """Return the block (n,) of every item; units stay whole, and blocks are as even as they are."""
    codes, n_units = unit_codes(units)
    return np.asarray(np.random.default_rng(seed).permutation(n_units)[codes] % most)


def pair_counts(votes: Votes, others: Votes, blocks: Ints) -> Floats:
    """Count the items (n_blocks, J, 2, 2) by signs of two raters; 0 is a missing vote.

    ``votes`` are (n, J), ``others`` (n, J) or (n, 1), which all are compared with.
    """
    n_blocks = int(blocks.max(initial=-1)) + 1
    counts = np.zeros((n_blocks, votes.shape[1], 2, 2))
    for i, first in enumerate((-1, 1)):
        for j, second in enumerate((-1, 1)):
            both = (votes == first) & (others == second)
            for rater in range(votes.shape[1]):
                counts[:, rater, i, j] = np.bincount(blocks[both[:, rater]], minlength=n_blocks)
    return counts


def item_counts(votes: Votes, blocks: Ints) -> Floats:
    """Return disagreement within items, verdicts 1 and verdicts 0 by block (n_blocks, 3).

    Items with a single vote do not count.
    """
    ones, zeros = (votes > 0).sum(axis=1), (votes < 0).sum(axis=1)
    several = ones + zeros > 1
    apart = 2.0 * ones * zeros / np.maximum(ones + zeros - 1, 1)
    n_blocks = int(blocks.max(initial=-1)) + 1
    parts = [
        np.bincount(blocks[several], values[several], n_blocks) for values in (apart, ones, zeros)
    ]
    return np.stack(parts, axis=1)


def with_swaps(counts: Floats) -> Floats:
    """Return counts (..., 2, 2) of pairs and of their swaps, as of as many pairs."""
    return np.asarray((counts + counts[..., ::-1, ::-1]) / 2.0)


def items_with_swaps(counts: Floats) -> Floats:
    """Return counts (..., 3) of :func:`item_counts` of pairs and of their swaps."""
    ones = counts[..., 1:].mean(axis=-1)
    return np.stack([counts[..., 0], ones, ones], axis=-1)


def single(ends: Interval) -> Interval:
    """Return an interval of arrays () as one of numbers."""
    return Interval.single(float(ends.value), float(ends.lo), float(ends.hi), unit="")


def jackknifed(measure: Callable[[Floats], Floats], counts: Floats) -> Interval:
    """Return a measure of all blocks (axis 0 of ``counts``) with its 95 % interval."""
    total = counts.sum(axis=0)
    return around(measure(total), measure(total - counts))


def around(value: Floats, without: Floats) -> Interval:
    """Return a value with its 95 % interval, from those without each block (axis 0).

    NaN ends from a single block.
    """
    n = len(without)
    gaps = without - without.mean(axis=0)
    spread = np.sqrt((n - 1.0) / n * (gaps**2).sum(axis=0)) if n > 1 else np.nan * gaps[0]
    quantile = T_95 if n == MOST_BLOCKS else t_ppf(0.5 + LEVEL / 2.0, max(n - 1.0, 1.0))
    reach = quantile * spread
    return Interval(value, np.clip(value - reach, -1, 1), np.clip(value + reach, -1, 1), unit="")


def _shares(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Shares of items with equal verdicts, and of verdicts 1 of the first and second rater."""
    n = counts.sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / n[..., None, None]
    agreed = shares[..., 0, 0] + shares[..., 1, 1]
    return agreed, shares[..., 1, :].sum(axis=-1), shares[..., :, 1].sum(axis=-1)


def _beyond(agreed: Floats, chance: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance < 1.0 - 1e-12, (agreed - chance) / (1.0 - chance), np.nan)
