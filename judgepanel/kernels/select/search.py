"""Searches over subsets of judges: every union of groups, forward, beam and backward.

An objective returns the NLL of many subsets at once; a search uses nothing else. NLLs that agree to
1e-9 nats are ties, which go to the smaller subset, then to the first one evaluated, so rounding
decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.select.subsets import Compared

Objective = Callable[[Bools, Floats | None], Compared]

MOST_GROUPS = 12
_DIGITS = 9


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The result of a search: ``best`` bool (n_judges,) with its ``nll``.

    ``path`` (m, n_judges) and ``path_nll`` (m,) are the best subsets of each step, smallest first.
    """

    best: Bools
    nll: float
    path: Bools
    path_nll: Floats


def best_of(path: Bools, nll: Floats) -> SearchResult:
    """The subset (m, n_judges) with the lowest NLL (m,); ties go to the smallest, then first."""
    order = np.argsort(path.sum(axis=1), kind="stable")
    path, nll = path[order], nll[order]
    best = int(np.argmin(np.round(nll, _DIGITS)))
    return SearchResult(path[best], float(nll[best]), path, nll)


def exhaustive(objective: Objective, groups: Bools) -> SearchResult:
    """Search every union of one or more of the groups (n_groups, n_judges), 12 groups at most.

    Raises
    ------
    ValueError
        More groups than ``MOST_GROUPS``, or none.
    """
    if not 1 <= len(groups) <= MOST_GROUPS:
        raise ValueError(f"{len(groups)} groups; from 1 to {MOST_GROUPS} can be searched")
    codes = np.arange(1, 2 ** len(groups))
    bits = (codes[:, None] >> np.arange(len(groups))) & 1
    masks = bits @ groups.astype(np.int64) > 0
    return best_of(masks, objective(masks, None).nll)


def forward(
    objective: Objective, n_judges: int, *, width: int = 1, steps: int = 20
) -> SearchResult:
    """Add one judge at a time, keeping the ``width`` best subsets of each size (a beam).

    The path holds the best subset of every size up to ``steps``.
    """
    alone = np.eye(n_judges, dtype=bool)
    compared = objective(alone, None)
    path, nll = [], []
    beam, near = alone, compared.maps
    for _ in range(min(steps, n_judges)):
        best_rows = np.argsort(np.round(compared.nll, _DIGITS), kind="stable")[:width]
        beam, near = beam[best_rows], compared.maps[best_rows]
        path.append(beam[0])
        nll.append(compared.nll[best_rows[0]])
        if beam[0].all() or len(path) == steps:
            break
        beam, parents = _grown(beam)
        compared = objective(beam, near[parents])
    return best_of(np.array(path), np.array(nll))


def _grown(beam: Bools) -> tuple[Bools, Ints]:
    """Return all distinct subsets with one more judge, and the first beam row of each."""
    parents, added = np.nonzero(~beam)
    grown = beam[parents]
    grown[np.arange(len(grown)), added] = True
    _, first = np.unique(np.packbits(grown, axis=1), axis=0, return_index=True)
    first = np.sort(first)
    return grown[first], parents[first]


def backward(objective: Objective, start: Bools) -> SearchResult:
    """Remove one judge at a time, the one whose removal costs least, until one is left.

    ``start`` (n_judges,) is the initial subset, not empty. A search from K judges compares K(K +
    1)/2 subsets.
    """
    compared = objective(start[None], None)
    current, near = start, compared.maps
    path, nll = [start], [float(compared.nll[0])]
    while current.sum() > 1:
        inside = np.flatnonzero(current)
        fewer = np.tile(current, (len(inside), 1))
        fewer[np.arange(len(inside)), inside] = False
        compared = objective(fewer, np.repeat(near, len(fewer), axis=0))
        out = int(np.argmin(np.round(compared.nll, _DIGITS)))
        current, near = fewer[out], compared.maps[[out]]
        path.append(current)
        nll.append(float(compared.nll[out]))
    return best_of(np.array(path), np.array(nll))
