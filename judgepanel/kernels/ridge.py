"""Ridge logistic regression on votes, many at once: the objective of stacking and joint.

For parameters theta = (delta, tau, b), of which tau and b may be absent, and rows a of a design
that are multiplied by the label's sign, the fit minimises

    sum_i softplus(-a_i theta) + |delta|^2 / (2 C) + A (tau - 1 - log tau)
        + softplus(b) + softplus(-b).

It is convex, and every term after the first is a log prior: delta normal with variance C; tau gamma
distributed with mode 1 for log tau and a standard deviation of about 1 / sqrt(A) there, which keeps
tau positive and finite; and one imaginary item of either label for b. Perfect separation and
one-class labels therefore have a finite optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg

from judgepanel.kernels.calibration import sigmoid, softplus

Floats = NDArray[np.float64]

TAU_STRENGTH = 1.0
_TOLERANCE = (
    1e-7  # half the Newton decrement, in nats of the summed objective, before the last step
)
_MAX_ITERATIONS = 60
_SHRINKS = 40
_CG_TOLERANCE = 1e-3
_CG_STEPS = 200


@dataclass(frozen=True, slots=True)
class Form:
    """Which parameters there are: ``n_weights`` of delta, then tau, then b, as far as present."""

    n_weights: int
    scale: bool
    intercept: bool

    @property
    def size(self) -> int:
        return self.n_weights + self.scale + self.intercept

    @property
    def tau(self) -> int:
        """Position of tau."""
        return self.n_weights

    def start(self, problems: int) -> Floats:
        """Where a path begins: no correction to the score, no intercept."""
        theta = np.zeros((problems, self.size))
        if self.scale:
            theta[:, self.tau] = 1.0
        return theta

    def penalty(self, theta: Floats, C: float) -> Floats:
        """The log priors (B,) of theta (B, p), negated and up to constants."""
        total = np.vecdot(theta[:, : self.n_weights], theta[:, : self.n_weights]) / (2.0 * C)
        if self.scale:
            tau = theta[:, self.tau]
            total += TAU_STRENGTH * (tau - 1.0 - np.log(tau))
        if self.intercept:
            total += softplus(theta[:, -1]) + softplus(-theta[:, -1])
        return np.asarray(total)

    def slopes(self, theta: Floats, C: float) -> tuple[Floats, Floats]:
        """First and second derivatives (B, p) of the penalty; it is separable."""
        slope, bend = theta / C, np.full(theta.shape, 1.0 / C)
        if self.scale:
            tau = theta[:, self.tau]
            slope[:, self.tau] = TAU_STRENGTH * (1.0 - 1.0 / tau)
            bend[:, self.tau] = TAU_STRENGTH / tau**2
        if self.intercept:
            slope[:, -1] = np.tanh(theta[:, -1] / 2.0)
            bend[:, -1] = (1.0 - slope[:, -1] ** 2) / 2.0
        return slope, bend


class Design(Protocol):
    """Signed features of B problems with n rows and p parameters each."""

    def forward(self, theta: Floats) -> Floats:
        """Margins (B, n) of parameters (B, p)."""

    def backward(self, rows: Floats) -> Floats:
        """Sums over rows (B, p) of the features times a number a row (B, n)."""

    def solve(self, curvature: Floats, diagonal: Floats, right: Floats) -> Floats:
        """x (B, p) with (A^T diag(curvature) A + diag(diagonal)) x = right."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseDesign:
    """Features (B, n, p); rows of zeros are padding. Newton systems are solved directly."""

    features: Floats

    def forward(self, theta: Floats) -> Floats:
        return np.asarray(np.matmul(self.features, theta[:, :, None])[:, :, 0])

    def backward(self, rows: Floats) -> Floats:
        return np.asarray(np.matmul(rows[:, None, :], self.features)[:, 0, :])

    def solve(self, curvature: Floats, diagonal: Floats, right: Floats) -> Floats:
        scaled = self.features * np.sqrt(curvature)[:, :, None]
        hessian = np.matmul(scaled.transpose(0, 2, 1), scaled)
        place = np.arange(hessian.shape[-1])
        hessian[:, place, place] += diagonal
        return np.asarray(np.linalg.solve(hessian, right[:, :, None])[:, :, 0], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class SparseDesign:
    """Features of one problem (n, p); Newton systems by preconditioned conjugate gradients."""

    features: csr_array[Any, tuple[int, int]]

    def forward(self, theta: Floats) -> Floats:
        return np.asarray(self.features @ theta[0])[None]

    def backward(self, rows: Floats) -> Floats:
        return np.asarray(self.features.T @ rows[0])[None]

    def solve(self, curvature: Floats, diagonal: Floats, right: Floats) -> Floats:
        scaled = self.features.multiply(np.sqrt(curvature[0])[:, None]).tocsr()
        turned = scaled.T.tocsr()
        size = scaled.shape[1]
        weight = np.asarray(scaled.multiply(scaled).sum(axis=0)).ravel() + diagonal[0]
        hessian = LinearOperator(
            (size, size), matvec=lambda x: turned @ (scaled @ x) + diagonal[0] * x, dtype=float
        )
        nearby = LinearOperator((size, size), matvec=lambda x: x / weight, dtype=float)
        # Short of its tolerance the step still descends, and the outer iteration goes on.
        found, _ = cg(hessian, right[0], rtol=_CG_TOLERANCE, maxiter=_CG_STEPS, M=nearby)
        return np.asarray(found)[None]


def minimise(design: Design, form: Form, C: float, start: Floats) -> Floats:
    """Parameters (B, p) at the optimum for one C, by damped Newton steps from ``start``.

    A problem is done after a full step from a point where the Newton decrement promised less than
    the tolerance; as convergence is quadratic, what remains is rounding. All problems of a batch
    go on until the last is done.
    """
    theta, margins = start, design.forward(start)
    value = _loss(margins) + form.penalty(theta, C)
    for _ in range(_MAX_ITERATIONS):
        wrong = sigmoid(-margins)
        slope, bend = form.slopes(theta, C)
        gradient = slope - design.backward(wrong)
        move = design.solve(wrong * (1.0 - wrong), bend, -gradient)
        promise = -np.vecdot(gradient, move)
        length = _inside(form, theta, move)
        near = (promise <= 2.0 * _TOLERANCE) & (length == 1.0)
        theta, margins, value = _shortened(
            design, form, C, (theta, margins, value), move, length, promise
        )
        if near.all():
            break
    return theta


def _inside(form: Form, theta: Floats, move: Floats) -> Floats:
    """Step lengths (B,) at most 1 that leave a tenth of tau."""
    if not form.scale:
        return np.ones(len(theta))
    fall = -move[:, form.tau] / theta[:, form.tau]
    return np.asarray(np.where(fall > 0.9, 0.9 / np.maximum(fall, 0.9), 1.0))


def _shortened(
    design: Design,
    form: Form,
    C: float,
    at: tuple[Floats, Floats, Floats],
    move: Floats,
    length: Floats,
    promise: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The next parameters, margins and values: steps are halved where they do not descend."""
    theta, margins, value = at
    change = design.forward(move)
    slack = 1e-12 * (1.0 + np.abs(value))
    for _ in range(_SHRINKS):
        moved = theta + length[:, None] * move
        shifted = margins + length[:, None] * change
        found = _loss(shifted) + form.penalty(moved, C)
        climbed = ~(found <= value - 1e-4 * length * promise + slack)
        if not climbed.any():
            return moved, shifted, found
        length = np.where(climbed, length / 2.0, length)
    keep = ~climbed[:, None]
    return (
        np.where(keep, moved, theta),
        np.where(keep, shifted, margins),
        np.where(keep[:, 0], found, value),
    )


def _loss(margins: Floats) -> Floats:
    return np.asarray(softplus(-margins).sum(axis=-1))
