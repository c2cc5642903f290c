"""Table aggregation: the frequency of label 1 for each pattern of votes.

With k judges a pattern is one of 3^k cells (for, against, missing). A cell's logit is log((n1 +
pi)/(n0 + 1 - pi)) over its learn rows, with pi their base rate: a prior of one item, which makes a
new cell predict the base rate. A table captures every interaction of its judges at the cost of many
cells. Under ``symmetric`` a cell and its swap are one, so the logit is exactly odd.

The probability that a new item falls into an unseen cell is estimated by the share of learn rows
that are alone in theirs (Good 1953, doi:10.1093/biomet/40.3-4.237).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.crossfit import Fit
from judgepanel.kernels.aggregate.prefixes import Ranking, rank
from judgepanel.kernels.ballots import Ballots

MOST_JUDGES = 8


@dataclass(frozen=True, slots=True, eq=False)
class TableFit:
    """One table: ``logits`` and ``new`` (n,) of the scored rows.

    ``new`` marks unseen cells; ``occupied`` is the number of cells of ``n_learn`` rows, ``unseen``
    the Good-Turing share of new ones.
    """

    logits: Floats
    new: Bools
    occupied: int
    unseen: float
    n_learn: int


def table(ballots: Ballots, learn: Ints, score: Ints, judges: Ints) -> TableFit:
    """Count patterns of these judges on the learn rows and score others."""
    rows = ballots.votes[np.concatenate([learn, score])][:, judges]
    patterns, sides = _turned(rows) if ballots.symmetric else (rows, np.ones(len(rows), np.int8))
    cell = np.unique(patterns, axis=0, return_inverse=True)[1].reshape(-1)
    own, turned = cell[: len(learn)], sides[: len(learn)]
    # An item that equals its own swap counts half for either label.
    ones = np.where(turned == 0, 0.5, (ballots.signs[learn] * turned > 0).astype(np.float64))
    n_cells = int(cell.max(initial=-1)) + 1
    n1 = np.bincount(own, weights=ones, minlength=n_cells)
    n = np.bincount(own, minlength=n_cells)
    base = 0.5 if ballots.symmetric else float(np.mean(ballots.signs[learn] > 0))
    base = float(np.clip(base, 0.5 / (len(learn) + 1.0), 1.0 - 0.5 / (len(learn) + 1.0)))
    logit = np.log(n1 + base) - np.log(n - n1 + 1.0 - base)
    sought = cell[len(learn) :]
    return TableFit(
        logits=logit[sought] * sides[len(learn) :],
        new=n[sought] == 0,
        occupied=int(np.count_nonzero(n)),
        unseen=float(np.count_nonzero(n == 1)) / len(learn),
        n_learn=len(learn),
    )


def _turned(votes: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return patterns (n, k) whose first vote is for label 1, and their original side (n,).

    The side is -1 if the swap replaces an item and 0 if no judge voted.
    """
    first = (votes != 0).argmax(axis=1)
    sides = votes[np.arange(len(votes)), first]
    return votes * sides[:, None], sides


def table_kernel(ballots: Ballots, fits: Sequence[Fit], ks: Ints, ranking: Ranking) -> list[Floats]:
    """``Kernel`` for tables of the k best judges, see :mod:`kernels.aggregate.crossfit`."""
    kernel = []
    for fit in fits:
        order = rank(ballots, fit.learn, ranking)
        kernel.append(
            np.array([table(ballots, fit.learn, fit.score, order[:k]).logits for k in ks])
        )
    return kernel
