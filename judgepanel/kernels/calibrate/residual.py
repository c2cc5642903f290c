"""Residual correction: a logistic map of the logit that may vary with item features (step 2).

With a raw logit l and encoded features x of an item (the paper's section on step 2),

    as given    l' = a l + x . gamma + b
    symmetric   l' = l (a + x . gamma)

where a >= 0. Swapping an item's responses turns l into -l and leaves x unchanged, so the symmetric
form has no additive terms and l' is exactly odd. The fit minimises the summed log-loss plus
|gamma|^2 / (2 C), a normal prior of variance C = 1 on the logit scale: weak, but enough to keep
separable data and rare categories finite. Under symmetric gamma is a share of the temperature slope
t, l' = t l (a + x . gamma), so that the prior does not depend on the unit of l. a and b are not
penalised, so without features this is Platt scaling (or temperature) with a >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.calibrate.features import FeatureColumns, fit_encoder
from judgepanel.kernels.calibrate.maps import MAX_SLOPE, fit_scale, sigmoid, softplus
from judgepanel.kernels.calibrate.newton import descend

Flags = NDArray[np.bool_]

PRIOR_VARIANCE = 1.0
_FLAT = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class ResidualFit:
    """Maps of B columns: ``slope`` a (B,), ``level`` b (B,), ``gamma`` (B, d).

    ``replaced`` (B,) marks columns without a finite fit (one class, or separated by a threshold on
    the logit); they fall back to temperature, so gamma and b are 0.
    """

    slope: Floats
    level: Floats
    gamma: Floats
    replaced: Flags
    symmetric: bool

    def __call__(self, logits: Floats, encoded: Floats) -> Floats:
        """Return corrected logits of raw logits (B, n) and encoded features (n, d).

        Terms are added in the order of the features, so that a plain loop agrees to the bit.
        """
        tilt = np.zeros((len(self.gamma), len(encoded)))
        for column, weight in zip(encoded.T, self.gamma.T, strict=True):
            tilt += weight[:, None] * column
        if self.symmetric:
            return np.asarray(logits * (self.slope[:, None] + tilt))
        return np.asarray(self.slope[:, None] * logits + tilt + self.level[:, None])


def fit_residual(
    logits: Floats,
    signs: Floats,
    encoded: Floats,
    weights: Floats | None = None,
    *,
    symmetric: bool = False,
    prior_variance: float = PRIOR_VARIANCE,
) -> ResidualFit:
    """Fit the correction to every column of raw logits.

    Parameters
    ----------
    logits : float (B, n), raw logits not fitted to the item's own label.
    signs : float (n,), +1 for label 1 and -1 for label 0.
    encoded : float (n, d), see :class:`judgepanel.kernels.calibrate.features.FeatureEncoder`.
    weights : float (B, n), at least 0, or None for ones; 0 leaves an item out.
    symmetric : fit on every item and its swap.
    prior_variance : C.
    """
    weights = np.ones_like(logits) if weights is None else weights
    temperature = fit_scale(logits, signs, weights)
    unit = np.where(temperature > 0.0, temperature, 1.0) if symmetric else np.ones(len(logits))
    problem = _Problem(logits * unit[:, None], signs, encoded, weights, symmetric, prior_variance)
    x, nll, converged = problem.solve(temperature / unit)
    falling = np.flatnonzero(x[:, 0] < 0.0)
    if len(falling):  # convex: if the best slope is below 0, the best allowed slope is 0
        flat = problem.part(falling, logits=np.zeros((len(falling), logits.shape[1])))
        x[falling], nll[falling], converged[falling] = flat.solve(np.zeros(len(falling)))
    own = x[:, :1] * unit[:, None] if symmetric else x[:, :2]
    fitted = converged & (nll > 1e-6) & (np.abs(own).max(-1) < MAX_SLOPE)
    if not symmetric:
        used = weights > 0
        fitted &= (used & (signs > 0)).any(-1) & (used & (signs < 0)).any(-1)
    level = np.zeros(len(x)) if symmetric else x[:, 1]
    gamma = x[:, own.shape[1] :] * unit[:, None]
    return ResidualFit(
        slope=np.where(fitted, own[:, 0], temperature),
        level=np.where(fitted, level, 0.0),
        gamma=np.where(fitted[:, None], gamma, 0.0),
        replaced=~fitted,
        symmetric=symmetric,
    )


def cross_fitted_residual(
    logits: Floats,
    signs: Floats,
    features: FeatureColumns | None,
    fold: Ints,
    weights: Floats | None = None,
    *,
    symmetric: bool = False,
) -> Floats:
    """Return corrected logits (B, n) of the fit rows, each fold by a map fitted to the other folds.

    A calibrator after the correction must be fitted to these: a correction fitted to all rows has
    seen their labels. The feature encoder is refitted in each fold. ``fold`` (n,) must keep groups
    whole and have at least two values.
    """
    corrected = np.empty_like(logits)
    for number in np.unique(fold):
        own, rest = fold == number, fold != number
        encoder = fit_encoder(rows_of(features, rest), int(rest.sum()))
        fitted = fit_residual(
            logits[:, rest],
            signs[rest],
            encoder.encode(rows_of(features, rest), int(rest.sum())),
            None if weights is None else weights[:, rest],
            symmetric=symmetric,
        )
        encoded = encoder.encode(rows_of(features, own), int(own.sum()))
        corrected[:, own] = fitted(logits[:, own], encoded)
    return corrected


def rows_of(features: FeatureColumns | None, rows: Ints | Flags) -> FeatureColumns | None:
    """Return the features of some of the items."""
    return (
        None if features is None else {name: np.asarray(features[name])[rows] for name in features}
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Weighted logistic regressions of B columns; parameters are a, then b as given, then gamma."""

    logits: Floats
    signs: Floats
    encoded: Floats
    weights: Floats
    symmetric: bool
    prior_variance: float

    def part(self, columns: Ints, logits: Floats) -> _Problem:
        """Return some of the columns, with other logits."""
        return replace(self, logits=logits, weights=self.weights[columns])

    def solve(self, slope: Floats) -> tuple[Floats, Floats, Flags]:
        """Return parameters (B, p), objectives (B,) and convergence (B,), from these slopes."""
        n_own = 1 if self.symmetric else 2
        size = n_own + self.encoded.shape[1]
        total = np.maximum(self.weights.sum(-1), 1.0)
        ridge = np.zeros((len(total), size))
        ridge[:, n_own:] = 1.0 / (self.prior_variance * total[:, None])

        def measure(x: Floats, rows: Ints) -> Floats:
            sums = np.empty((len(rows), 1 + size + size * size))
            for out, row, theta in zip(sums, rows, x, strict=True):
                out[:] = self._sums(int(row), theta) / total[row]
            sums[:, 0] += 0.5 * (ridge[rows] * x * x).sum(-1)
            sums[:, 1 : 1 + size] += ridge[rows] * x
            bend = sums[:, 1 + size :].reshape(-1, size, size)
            bend[:, range(size), range(size)] += ridge[rows] + _FLAT
            return sums

        def step(x: Floats, sums: Floats) -> Floats:
            gradient, bend = sums[:, 1 : 1 + size], sums[:, 1 + size :].reshape(-1, size, size)
            moved = x - np.linalg.solve(bend, gradient[:, :, None])[:, :, 0]
            return np.asarray(np.clip(moved, -2.0 * MAX_SLOPE, 2.0 * MAX_SLOPE))

        start = np.zeros((len(total), size))
        start[:, 0] = slope
        return descend(start, measure, step)

    def _sums(self, row: int, theta: Floats) -> Floats:
        """Return loss, gradient (p,) and Hessian (p, p) of one column, concatenated."""
        logit = self.logits[row][:, None]
        if self.symmetric:
            design = np.concatenate([logit, logit * self.encoded], axis=1)
        else:
            design = np.concatenate([logit, np.ones_like(logit), self.encoded], axis=1)
        margin = (design @ theta) * self.signs
        wrong = sigmoid(-margin)
        weight = self.weights[row]
        bend = weight * wrong * (1.0 - wrong)
        loss = np.vecdot(weight, softplus(-margin))
        gradient = -(weight * wrong * self.signs) @ design
        return np.concatenate([[loss], gradient, (design.T @ (design * bend[:, None])).ravel()])
