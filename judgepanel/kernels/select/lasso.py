"""Judges selected along a lasso path of the labels on the votes.

Least squares of the label's sign on the signed votes, (1/2n) |s - V w|^2 + lambda |w|_1 (Tibshirani
1996, doi:10.1111/j.2517-6161.1996.tb02080.x), by cyclic coordinate descent on the Gram matrix of
the active judges (Friedman, Hastie and Tibshirani 2010, doi:10.18637/jss.v033.i01), with warm
starts along the path. Only the support is used: the panel is refitted afterwards. Missing votes are
0. Unless ``symmetric``, votes and labels are centred.
"""

from __future__ import annotations

import math

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.ballots import Ballots

N_PENALTIES = 30
SMALLEST = 0.01
_LARGEST = 0.95
_SWEEPS = 100
_ROUNDS = 50
_TOLERANCE = 1e-5


def lasso_path(ballots: Ballots, rows: Ints) -> Bools:
    """Supports (``N_PENALTIES``, n_judges) from the largest penalty to the smallest, on these rows.

    Penalties fall from .95 to ``SMALLEST`` times the one that excludes all judges. If no vote is
    correlated with the labels, no judge can be preferred and all judges are in.
    """
    votes = ballots.votes[rows].astype(np.float64)
    signs = ballots.signs[rows].astype(np.float64)
    if not ballots.symmetric:
        votes, signs = votes - votes.mean(axis=0), signs - signs.mean()
    weights = lasso_weights(votes, signs)
    support = weights != 0.0
    support[~support.any(axis=1)] = True
    return np.asarray(support)


def lasso_weights(votes: Floats, signs: Floats) -> Floats:
    """Weights (``N_PENALTIES``, n_judges) along the path, votes (n, n_judges) and signs (n,)."""
    n = max(len(votes), 1)
    gram, target = votes.T @ votes / n, votes.T @ signs / n
    scale = np.diag(gram)
    live = scale > 1e-12
    penalties = np.abs(target).max(initial=0.0) * np.geomspace(_LARGEST, SMALLEST, N_PENALTIES)
    path = np.zeros((N_PENALTIES, votes.shape[1]))
    w, residual = np.zeros(votes.shape[1]), target.copy()
    for place, penalty in enumerate(penalties):
        active = np.zeros(0, dtype=np.int64)
        for _ in range(_ROUNDS):
            wanted = live & ((w != 0.0) | (np.abs(residual) > penalty * (1.0 + _TOLERANCE)))
            if not np.setdiff1d(np.flatnonzero(wanted), active).size:
                break
            active = np.union1d(active, np.flatnonzero(wanted))
            _settle(w, residual, gram, active, float(penalty))
        path[place] = w
    return path


def _settle(w: Floats, residual: Floats, gram: Floats, active: Ints, penalty: float) -> None:
    """Cyclic descent over the active judges, in place, to convergence.

    ``residual`` is target - gram w.
    """
    part = gram[np.ix_(active, active)]
    scale = np.diag(part).tolist()
    own, pull = w[active], residual[active]
    for _ in range(_SWEEPS):
        largest = 0.0
        for j, bend in enumerate(scale):
            here = float(pull[j]) + bend * float(own[j])
            weight = math.copysign(max(abs(here) - penalty, 0.0) / bend, here)
            move = weight - float(own[j])
            if move != 0.0:
                own[j] = weight
                pull -= move * part[j]
                largest = max(largest, abs(move))
        if largest <= _TOLERANCE:
            break
    residual -= gram[:, active] @ (own - w[active])
    w[active] = own
