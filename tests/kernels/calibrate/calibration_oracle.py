"""Calibrators in SciPy, one column at a time, written from docs/calibrators.md."""

import numpy as np
from scipy.optimize import minimize

from judgepanel.kernels import calibration, maps
from tests.helpers import softplus

IDENTITY = np.array([1.0, -1.0, 0.0])
ELASTIC = (maps.LAMBDA * maps.ALPHA, maps.LAMBDA * (1 - maps.ALPHA))
# Of |d|_1 and of |d|^2.
PENALTY = dict.fromkeys(("temperature", "platt", "beta_free"), (0.0, 0.0))
PENALTY |= {"beta": ELASTIC, "beta_clipped": ELASTIC, "beta_l2": (0.0, calibration.LAMBDA_L2)}


def objective(params, name, logits, signs, weights=None):
    """Weighted mean NLL + lambda [alpha |d|_1 + (1 - alpha) |d|^2] of parameters (3,)."""
    data, _ = _data_and_slope(params, name, logits, signs, weights)
    d = params - IDENTITY
    lasso, ridge = PENALTY[name]
    return data + lasso * np.abs(d).sum() + ridge * (d @ d)


def smooth_gradient(params, name, logits, signs, weights=None):
    """Gradient (3,) of everything but the absolute values."""
    _, slope = _data_and_slope(params, name, logits, signs, weights)
    return slope + PENALTY[name][1] * 2 * (params - IDENTITY)


def _data_and_slope(params, name, logits, signs, weights):
    weights = np.ones(len(logits)) if weights is None else weights
    if name == "beta_clipped":
        logits = np.clip(logits, -calibration.INPUT_CLIP, calibration.INPUT_CLIP)
    basis = np.stack([-softplus(-logits), -softplus(logits), np.ones(len(logits))])
    m = params @ basis
    total = weights.sum()
    wrong = np.exp(-softplus(signs * m))
    return (weights @ softplus(-signs * m)) / total, -(basis @ (weights * signs * wrong)) / total


def brute_fit(name, logits, signs, weights=None, *, tied=False, free=False):
    """Best parameters (3,) of several starts; ``tied`` demands c = 0 and a = -b."""
    if name == "temperature" or (tied and name != "beta_clipped"):
        # One slope in [0, MAX_SLOPE]; penalised ones are split at the kink a = 1.
        embed, low, high = np.array([[1.0, -1.0, 0.0]]), [0.0], [maps.MAX_SLOPE]
    elif tied:
        embed, low, high = np.array([[1.0, -1.0, 0.0]]), [-np.inf], [np.inf]
    elif name == "platt":
        embed = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
        low, high = [0.0, -np.inf], [np.inf] * 2
    else:
        embed, low, high = np.eye(3), [0.0, -np.inf, -np.inf], [np.inf, 0.0, np.inf]
        if name == "beta_clipped" or free:
            low, high = [-np.inf] * 3, [np.inf] * 3
    return _split_lbfgs(name, logits, signs, weights, embed, np.array(low), np.array(high))


def _split_lbfgs(name, logits, signs, weights, embed, low, high):
    """L-BFGS-B on x = x0 + u - v with u, v >= 0, which makes the lasso smooth."""
    x0 = np.array([1.0, -1.0, 0.0]) if len(embed) == 3 else np.array([1.0, 0.0])[: len(embed)]
    lasso = PENALTY[name][0] * np.abs(embed).sum(axis=1)
    n = len(x0)

    def value(uv):
        params = (x0 + uv[:n] - uv[n:]) @ embed
        data = objective(params, name, logits, signs, weights)
        data -= PENALTY[name][0] * np.abs(params - IDENTITY).sum()
        slope = embed @ smooth_gradient(params, name, logits, signs, weights)
        return data + lasso @ (uv[:n] + uv[n:]), np.r_[slope + lasso, -slope + lasso]

    bounds = [(0.0, h - x) for h, x in zip(high, x0, strict=True)]
    bounds += [(0.0, x - lo) for lo, x in zip(low, x0, strict=True)]
    options = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 5000, "maxfun": 20000, "maxcor": 30}
    given = {"jac": True, "bounds": bounds, "method": "L-BFGS-B", "options": options}
    starts = (np.zeros(2 * n), np.r_[np.zeros(n), np.minimum(0.9, x0 - low)])
    fits = [minimize(value, start, **given) for start in starts]
    best = min(fits, key=lambda fitted: fitted.fun).x
    return (x0 + best[:n] - best[n:]) @ embed
