"""The paper's inference over repeated splits: displayed for comparison, never used for decisions.

The bootstrap over splits treats overlapping splits as independent draws, and the permutation test
within a split is conditional on its evaluation items and one fixed calibration set; neither covers
the expected difference on new items (docs/inference.md has the measured coverage). The joint test
over label budgets has the first problem, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.scoring.single import single_product

Singles = NDArray[np.float32]

FLIPS = 10_000
RESAMPLES = 2_000
JOINT_DRAWS = 10_000
_SIGN_CELLS = 4_000_000
_IMPOSSIBLE = 1e-15
"""Signs are not drawn if the probability that a flip reaches the observed sum is below this."""
_FLIPS_TOGETHER, _ITEMS_TOGETHER = 256, 8_192
"""Flips by items whose signs are unpacked at once: they stay in a core's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class PaperInference:
    """Median difference over splits, bootstrap interval of its mean, median t and p; each (n,)."""

    median: Floats
    lo: Floats
    hi: Floats
    t: Floats
    p: Floats


def sign_flip(differences: Floats, *, seed: int, flips: int = FLIPS) -> tuple[Floats, Floats]:
    """Item-level paired sign-flip permutation test of a zero mean (the paper's appendix D).

    A sum of flipped values reaches r with a probability of at most 2 exp(-r^2 / (2 sum of squares))
    (Hoeffding 1963, doi:10.1080/01621459.1963.10500830). Where this excludes that any flip reaches
    the observed sum, and where all values are 0, signs need not be drawn to count those that do.

    Parameters
    ----------
    differences : float (n, m), n paired comparisons on the same m items.

    Returns
    -------
    t : float (n,), the studentised mean.
    p : float (n,), (1 + #{|flipped| >= |observed|}) / (flips + 1). All comparisons and splits use
        the same signs, so p depends only on the seed.
    """
    n, m = differences.shape
    observed = differences.sum(axis=1)
    spread = differences.std(axis=1, ddof=1) if m > 1 else np.zeros(n)
    t = np.divide(observed / m, spread / np.sqrt(m), out=np.zeros(n), where=spread > 0)
    reach = np.abs(observed) * (1.0 - 1e-5)
    squares = np.vecdot(differences, differences)
    never = reach**2 > 2.0 * squares * np.log(2.0 * flips / _IMPOSSIBLE)
    always = squares == 0.0
    hits = np.where(always, float(flips), 0.0)
    undecided = np.flatnonzero(~(never | always))
    if len(undecided):
        batches = _flipped_sums(differences[undecided], observed[undecided], seed, flips)
        hits[undecided] = sum((np.abs(sums) >= reach[undecided]).sum(axis=0) for sums in batches)
    return t, (1.0 + hits) / (flips + 1.0)


def _flipped_sums(differences: Floats, observed: Floats, seed: int, flips: int) -> Iterator[Floats]:
    """Yield sums of the differences (n, m) with random signs, as many as ``flips`` (some, n)."""
    m = differences.shape[1]
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, 2)))
    # A sum with flipped signs is (total) - 2 (total of the flipped values), so bits suffice.
    values = differences.T.astype(np.float32)
    step = max(1, _SIGN_CELLS // max(m, 1))
    bits = (
        rng.integers(0, 256, (min(step, flips - start), (m + 7) // 8), np.uint8)
        for start in range(0, flips, step)
    )
    while batch := list(islice(bits, max(1, _FLIPS_TOGETHER // step))):
        yield observed - 2.0 * _sums_of_chosen(np.concatenate(batch), values)


def _sums_of_chosen(packed: NDArray[np.uint8], values: Singles) -> Singles:
    """Sums (flips, n) of the ``values`` (m, n) whose bit in ``packed`` (flips, m / 8) is 1."""
    sums = np.zeros((len(packed), values.shape[1]), dtype=np.float32)
    for start in range(0, len(values), _ITEMS_TOGETHER):
        part = values[start : start + _ITEMS_TOGETHER]
        own = packed[:, start // 8 : (start + _ITEMS_TOGETHER) // 8]
        sums += single_product(np.unpackbits(own, axis=1, count=len(part)), part)
    return sums


def paper_inference(differences: Floats, t: Floats, p: Floats, *, seed: int) -> PaperInference:
    """Summarise S splits: ``differences``, ``t`` and ``p`` are each (S, n)."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, 3)))
    picks = rng.integers(0, len(differences), (RESAMPLES, len(differences)))
    means = differences[picks].mean(axis=1)
    lo, hi = np.quantile(means, (0.025, 0.975), axis=0)
    return PaperInference(
        np.median(differences, axis=0), lo, hi, np.median(t, axis=0), np.median(p, axis=0)
    )


@dataclass(frozen=True, slots=True)
class PaperJoint:
    """Largest |t| over the budgets, its 95 % critical value, and the p-value: all invalid."""

    t: float
    critical: float
    p: float


def paper_joint(differences: Floats, *, seed: int) -> PaperJoint:
    """The paper's joint test over label budgets (its appendix "Joint Test Across Label Budgets").

    sqrt(S) mean / sd over splits at every budget; the largest is compared with Gaussians with the
    splits' correlation (Chernozhukov, Chetverikov and Kato 2013, doi:10.1214/13-AOS1161). It treats
    the S splits as independent samples. They share their items, so t grows with sqrt(S) whatever
    the data: with equal arms p is below .05 in most data sets
    (``benchmarks/results/label_budget.md``). Displayed for comparison, never used for decisions.

    Parameters
    ----------
    differences : float (S, m), NLL(top-k) - NLL(all) of every split at m budgets; S >= 2.
    """
    n_splits = len(differences)
    spread = differences.std(axis=0, ddof=1)
    live = spread > 0
    if not live.any():
        same = not differences.any()
        return PaperJoint(0.0 if same else np.inf, 0.0, 1.0 if same else 0.0)
    centred = (differences - differences.mean(axis=0))[:, live] / spread[live]
    largest = np.abs(np.sqrt(n_splits) * differences.mean(axis=0)[live] / spread[live]).max()
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(7, 4)))
    # Sums of centred splits with Gaussian multipliers have the correlation of the splits.
    multipliers = rng.standard_normal((JOINT_DRAWS, n_splits)) / np.sqrt(n_splits - 1)
    maxima = np.abs(multipliers @ centred).max(axis=1)
    hits = int(np.count_nonzero(maxima >= largest))
    return PaperJoint(
        float(largest), float(np.quantile(maxima, 0.95)), (1.0 + hits) / (1.0 + JOINT_DRAWS)
    )
