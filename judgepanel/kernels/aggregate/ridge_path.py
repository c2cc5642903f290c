"""Optima along a path of ridges C, for many ridge fits at once.

Dense designs without bounds take chord steps (:mod:`kernels.aggregate.ridge_chord`). What is sparse
or bounded takes Newton steps (:func:`kernels.aggregate.ridge.minimise`). Without bounds every C
starts from a quadratic extrapolation of the path in log C.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.ridge import Design, Prior, minimise
from judgepanel.kernels.aggregate.ridge_bounds import Floor
from judgepanel.kernels.aggregate.ridge_chord import Problem, aheads, solve_paths
from judgepanel.kernels.aggregate.ridge_design import DenseDesign


def solve_path(
    design: Design,
    prior: Prior,
    Cs: Sequence[float],
    floor: Floor | None = None,
    *,
    problems: int = 1,
) -> Floats:
    """Parameters (n_C, B, p) at the optimum of B ``problems`` for every C, ascending."""
    if isinstance(design, DenseDesign) and floor is None:
        batch = [
            Problem(
                features,
                np.ones(len(features)),
                prior.n_weights,
                None if prior.rate is None else float(prior.rate[b]),
                None if prior.level is None else float(prior.level[b]),
            )
            for b, features in enumerate(design.features)
        ]
        return np.stack(solve_paths(batch, Cs), axis=1)
    optima: list[Floats] = []
    shares = aheads(Cs)
    for C, share in zip(Cs, shares, strict=True):
        start = prior.start(problems)
        if optima and floor is not None:
            start = optima[-1]
        elif optima:
            last = np.stack(optima[-3:])
            start = prior.inside(np.tensordot(share[: len(last)], last, axes=1), optima[-1])
        optima.append(minimise(design, prior, C, start, floor))
    return np.stack(optima)
