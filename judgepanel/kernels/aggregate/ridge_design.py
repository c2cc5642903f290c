"""Features of ridge fits, dense in batches or sparse one by one, and their Newton systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.ridge_bounds import Face
from judgepanel.scoring.single import single_product

if TYPE_CHECKING:
    from judgepanel.kernels.aggregate.vote_cells import Sparse


_CG_TOLERANCE = 1e-4
_CG_STEPS = 200
_ROUNDING = 1e-5
"""Share by which the diagonal of a block in single precision is raised, so that rounding leaves it
positive definite."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseDesign:
    """Features (B, n, p) of B problems; those with fewer than n rows are padded by zeros.

    ``single`` are the rows (n_b, p) of each problem in single precision: enough for the Hessians
    of steps, which decide how fast they converge and not where.
    """

    features: Floats
    single: tuple[NDArray[np.float32], ...]

    @classmethod
    def of(cls, parts: Sequence[Floats]) -> DenseDesign:
        """Problems of p parameters, each with its own number of rows (n_b, p)."""
        features = np.zeros((len(parts), max(map(len, parts)), parts[0].shape[1]))
        for padded, part in zip(features, parts, strict=True):
            padded[: len(part)] = part
        return cls(features, tuple(part.astype(np.float32) for part in parts))

    def forward(self, theta: Floats) -> Floats:
        return np.asarray(np.matmul(self.features, theta[:, :, None])[:, :, 0])

    def backward(self, rows: Floats) -> Floats:
        return np.asarray(np.matmul(rows[:, None, :], self.features)[:, 0, :])

    def product(self, curvature: Floats) -> Floats:
        """A^T diag(curvature) A, (B, p, p)."""
        scaled = self.features * np.sqrt(curvature)[:, :, None]
        return np.asarray(np.matmul(scaled.transpose(0, 2, 1), scaled))

    def solve(
        self, curvature: Floats, diagonal: Floats, right: Floats, face: Face | None = None
    ) -> Floats:
        hessian = np.empty((*diagonal.shape, diagonal.shape[1]))
        root = np.sqrt(curvature).astype(np.float32)
        for product, rows, often in zip(hessian, self.single, root, strict=True):
            scaled = rows * often[: len(rows), None]
            product[:] = single_product(scaled.T, scaled)
        place = np.arange(hessian.shape[-1])
        hessian[:, place, place] += diagonal
        if face is not None:
            hessian, right = face.reduced(hessian), face.drop(right)
        x = np.asarray(np.linalg.solve(hessian, right[:, :, None])[:, :, 0], dtype=np.float64)
        return x if face is None else face.lift(x)


@dataclass(frozen=True, slots=True, eq=False)
class SparseDesign:
    """One problem with many judges who voted on few items each.

    The features are ``votes`` (n, k) minus the products of ``signs`` (n,) and ``centre`` (k,), and
    ``beside`` (n, q); ``across`` (k, n) are the votes of each judge, ``squares`` (k, n) their
    squares. Newton systems are solved by conjugate gradients, preconditioned by the diagonal of
    the votes and the block of the others, for which ``single`` precision of ``beside`` is enough.
    """

    votes: Sparse
    across: Sparse
    squares: Sparse
    signs: Floats
    centre: Floats
    beside: Floats
    single: NDArray[np.float32]

    @classmethod
    def of(cls, votes: Sparse, signs: Floats, centre: Floats, beside: Floats) -> SparseDesign:
        """The design of votes that are already times ``signs``."""
        across = scipy.sparse.csr_array(votes.T)
        squares = scipy.sparse.csr_array(
            (across.data * across.data, across.indices, across.indptr), across.shape
        )
        return cls(votes, across, squares, signs, centre, beside, beside.astype(np.float32))

    def forward(self, theta: Floats) -> Floats:
        weights, others = theta[0, : len(self.centre)], theta[0, len(self.centre) :]
        level = float(self.centre @ weights)
        return np.asarray(self.votes @ weights - self.signs * level + self.beside @ others)[None]

    def backward(self, rows: Floats) -> Floats:
        votes = self.across @ rows[0] - self.centre * float(self.signs @ rows[0])
        return np.concatenate([votes, rows[0] @ self.beside])[None]

    def solve(
        self, curvature: Floats, diagonal: Floats, right: Floats, face: Face | None = None
    ) -> Floats:
        k, size = len(self.centre), diagonal.shape[1]
        weight = self.squares @ curvature[0] + diagonal[0, :k]
        scaled = self.single * np.sqrt(curvature[0]).astype(np.float32)[:, None]
        block = single_product(scaled.T, scaled)
        block = block + np.diag(diagonal[0, k:] + _ROUNDING * np.diag(block))
        factor = scipy.linalg.cho_factor(block) if size > k else None

        def product(x: Floats) -> Floats:
            along = x[None] if face is None else face.lift(x[None])
            slope = self.backward(curvature * self.forward(along)) + diagonal * along
            return np.asarray((slope if face is None else face.drop(slope))[0])

        def nearby(x: Floats) -> Floats:
            rest = x[k:] if factor is None else scipy.linalg.cho_solve(factor, x[k:])
            return np.concatenate([x[:k] / weight, rest])

        hessian = scipy.sparse.linalg.LinearOperator((size, size), matvec=product, dtype=float)
        easier = scipy.sparse.linalg.LinearOperator((size, size), matvec=nearby, dtype=float)
        # Short of its tolerance the step still descends, and the outer iteration goes on.
        goal = right if face is None else face.drop(right)
        solution, _ = scipy.sparse.linalg.cg(
            hessian, goal[0], rtol=_CG_TOLERANCE, maxiter=_CG_STEPS, M=easier
        )
        x = np.asarray(solution, dtype=np.float64)[None]
        return x if face is None else face.lift(x)
