"""Calibration slope and intercept: do stated log-odds match the observed ones?

The labels are regressed on the stated logit m, logit P(label 1) = a + b m (Cox 1958,
doi:10.1093/biomet/45.3-4.562). Calibrated probabilities have slope b = 1 and intercept a = 0; b
below 1 means overconfidence, above 1 underconfidence; a above 0 means that label 1 is more frequent
than stated. If an item and its swap are both scored, a is 0 by construction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Floats

_ITERATIONS = 60
_DONE = 1e-14
_LARGEST = 1e3
_PERFECT = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Recalibration:
    """``slope`` and ``intercept`` (0 under ``symmetric``) with influence values.

    ``influence`` (2, n) are influence values of the slope and the intercept: their weighted mean is
    0, and adding them to the estimates makes each a mean, with a mean's variance.
    """

    slope: float
    intercept: float
    influence: Floats


def recalibrate(
    logits: Floats, signs: Floats, weights: Floats, *, symmetric: bool = False
) -> Recalibration | None:
    """Fit slope and intercept by maximum likelihood; None if there is no finite fit.

    There is none if one class is missing (unless ``symmetric``), or if the logit has no spread or
    separates the labels perfectly.

    Parameters
    ----------
    logits : float (n,), stated logits, finite.
    signs : float (n,), +1 if the label is 1, -1 if it is 0.
    weights : float (n,), positive.
    """
    weights = weights / weights.sum()
    scale = float(np.sqrt(weights @ logits**2))
    if scale == 0.0:
        return None
    columns = [logits / scale] if symmetric else [logits / scale, np.ones(len(logits))]
    design = np.stack(columns)
    newton = _newton(design, signs, weights)
    if newton is None:
        return None
    theta, hessian = newton
    wrong = _sigmoid(-signs * (theta @ design))
    moves: Floats = np.asarray(np.linalg.solve(hessian, design * (signs * wrong)), dtype=np.float64)
    theta[0], moves[0] = theta[0] / scale, moves[0] / scale
    if symmetric:
        return Recalibration(float(theta[0]), 0.0, np.stack([moves[0], np.zeros(len(signs))]))
    return Recalibration(float(theta[0]), float(theta[1]), moves)


def _newton(design: Floats, signs: Floats, weights: Floats) -> tuple[Floats, Floats] | None:
    """Damped Newton from 0: return parameters and Hessian, None without a finite fit."""
    theta = np.zeros(len(design))
    loss = _loss(theta, design, signs, weights)
    for _ in range(_ITERATIONS):
        wrong = _sigmoid(-signs * (theta @ design))
        gradient = design @ (weights * signs * wrong)
        hessian = (design * (weights * wrong * (1.0 - wrong))) @ design.T
        if loss < _PERFECT or np.linalg.cond(hessian) > 1.0 / np.finfo(float).eps:
            return None
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-8:
            moved = theta + size * step
            new = _loss(moved, design, signs, weights)
            if new <= loss:
                break
            size /= 2.0
        if np.abs(gradient @ step) < _DONE:
            return theta, hessian
        theta, loss = moved, new
        if np.abs(theta).max() > _LARGEST:
            return None
    return None


def _loss(theta: Floats, design: Floats, signs: Floats, weights: Floats) -> float:
    return float(weights @ np.logaddexp(0.0, -signs * (theta @ design)))


def _sigmoid(x: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))
