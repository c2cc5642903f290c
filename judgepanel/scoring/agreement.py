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

import numpy as np

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.distributions import t_ppf
from judgepanel.scoring.inference import LEVEL
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import unit_codes

MOST_BLOCKS = 100


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
    reach = t_ppf(0.5 + LEVEL / 2.0, max(n - 1.0, 1.0)) * spread
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
