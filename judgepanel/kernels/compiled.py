"""Compiled kernels: numba's decorator as it is used here, and routines of LAPACK inside of them.

numba compiles a function for the processor it runs on when it is first called, and keeps that on
disk beside the source, or in the user's cache folder where the source cannot be written to. It is
compiled again when its own file has changed, so constants of other modules are arguments of it.
Arguments are numbers, arrays and tuples of them: a class of ours would be named by what is on disk,
which could not be read any more once the class has another name.
Modules that import this one are imported by the first fit: reading and scoring votes does without
numba.

Below them the walk of one ridge fit along its path (:mod:`judgepanel.kernels.ridge`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import llvmlite.binding
import numba
import numpy as np
from numba import types
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

from judgepanel.arrays import Floats

Function = TypeVar("Function", bound=Callable[..., object])

REORDERED = {"reassoc", "contract", "nsz"}
"""What lets a sum be taken several terms at once: in an order that depends on nothing but its
length and the processor."""


def compiled(function: Function) -> Function:
    """Compile a function, which lets other threads run while it computes."""
    return _compiled(function, fastmath=False)


def compiled_sums(function: Function) -> Function:
    """Compile a function whose sums may be taken in any order (:data:`REORDERED`)."""
    return _compiled(function, fastmath=REORDERED)


def _compiled(function: Function, *, fastmath: bool | set[str]) -> Function:
    compile_ = partial(cast(Any, numba.njit), nogil=True, error_model="numpy", fastmath=fastmath)
    try:
        return cast(Function, compile_(cache=True)(function))
    except RuntimeError:  # There is no folder to keep it in.
        return cast(Function, compile_()(function))


def _routine(module: str, name: str, n_arguments: int) -> Callable[..., None]:
    """A Fortran routine of SciPy's LAPACK or BLAS, by the addresses of its arguments."""
    symbol = f"judgepanel_{name}"
    address = get_cython_function_address(f"scipy.linalg.{module}", name)
    llvmlite.binding.add_symbol(symbol, address)
    signature = types.void(*[types.voidptr] * n_arguments)
    return cast("Callable[..., None]", types.ExternalFunction(symbol, signature))


ssyrk, dsyrk = (_routine("cython_blas", name, 10) for name in ("ssyrk", "dsyrk"))
spotrf, dpotrf = (_routine("cython_lapack", name, 5) for name in ("spotrf", "dpotrf"))
spotrs, dpotrs = (_routine("cython_lapack", name, 8) for name in ("spotrs", "dpotrs"))

TOLERANCE = 1e-17
"""What the last step may promise, in nats of the summed objective, twice over. What remains is less
by the rate of convergence: logits end within 1e-8 of the optimum."""
SLOW = 0.01  # of what the step before promised
MAX_STEPS, MAX_SINGLE = 200, 30
ROWS = 64
"""Rows that stay in the cache between the two products of a step."""
PRODUCT_CELLS = 1_000_000
"""Cells of rows that are scaled at once for a Hessian."""

Real = NDArray[Any]
"""In single or in double precision."""
Priors = tuple[int, float, float, float, float]
"""Of tau and b in one problem (:class:`kernels.ridge.Prior`): the place of tau, -1
without it, its shape and rate; the precision and level of b, which is the last, NaN without it."""


@compiled
def walk(
    features: Floats,
    times: Floats,
    priors: Priors,
    Cs: Floats,
    aheads: Floats,
    optima: Floats,
    first: int,
    product: Real,
) -> int:
    """Fill ``optima`` (n_C, p) with the parameters at the optimum for every C, ascending.

    Parameters
    ----------
    features : float (n, p), signed.
    times : float (n,), how many items a row stands for.
    aheads : float (n_C, 3), what the optima before each C weigh where the walk to it begins.
    first : the C to begin with; the optima before it are there.
    product : (p, p), room for a Hessian, whose precision is that of all Hessians.

    Returns
    -------
    The first C whose optimum single precision was not enough for, n_C if there is none.
    """
    tau, shape, rate, _, level = priors
    theta = np.zeros(features.shape[1])
    if tau >= 0:
        theta[tau] = (1.0 + shape) / rate
    if not np.isnan(level):
        theta[-1] = level
    factor = np.identity(features.shape[1], product.dtype)
    for place in range(first, len(Cs)):
        if place > 0:
            _go_ahead(theta, optima[max(0, place - 3) : place], aheads[place], tau)
        if place > first:
            _factorise(product, theta, priors, Cs[place], factor)
        new = place == first
        if not _descend(features, times, priors, Cs[place], theta, product, factor, new):
            return place
        optima[place] = theta
    return len(Cs)


@compiled
def _descend(
    features: Floats,
    times: Floats,
    priors: Priors,
    C: float,
    theta: Floats,
    product: Real,
    factor: Real,
    new: bool,
) -> bool:
    """Move theta to the optimum for one C, from a ``new`` Hessian or the last one.

    Returns False where single precision is not enough.
    """
    tau, single = priors[0], product.itemsize == 4
    base, move, wrong = theta.copy(), np.zeros(len(theta)), np.empty(len(times))
    gradient, step = np.empty(len(theta)), np.empty(len(theta))
    before, length = np.inf, 1.0
    for taken in range(1, MAX_STEPS + 1):
        _sums(features, theta, times, wrong, gradient)
        _turn_into_slope(gradient, theta, priors, C)
        promise = _solve_step(factor, gradient, step)
        if not (new or promise <= before) and taken < MAX_STEPS:
            length /= 2.0
            theta[:] = base - length * move
            continue
        if new or promise > max(SLOW * before, TOLERANCE):
            new = False
            add_hessian(features, wrong, times, product)
            made = _factorise(product, theta, priors, C, factor)
            if single and not (made and taken < MAX_SINGLE):
                return False
            promise = _solve_step(factor, gradient, step)
        length = 1.0
        if tau >= 0 and step[tau] > 0.9 * theta[tau]:
            length = 0.9 * theta[tau] / step[tau]
        base[:], move[:], before = theta, step, promise
        theta[:] = base - length * move
        if length == 1.0 and promise <= TOLERANCE:
            break
    return True


@compiled
def _go_ahead(theta: Floats, last: Floats, shares: Floats, tau: int) -> None:
    """Put theta on the polynomial through the last optima, tau at a tenth of its last at least."""
    theta[:] = 0.0
    for i in range(len(last)):
        theta += shares[i] * last[i]
    if tau >= 0:
        theta[tau] = max(theta[tau], 0.1 * last[-1, tau])


@compiled_sums
def _sums(features: Floats, theta: Floats, times: Floats, wrong: Floats, sums: Floats) -> None:
    """How far each row is from its label, times how often it is there, into ``wrong``; the sums of
    the features with these weights into ``sums``.
    """
    n_rows, n_parameters = features.shape
    sums[:] = 0.0
    for start in range(0, n_rows, ROWS):
        stop = min(start + ROWS, n_rows)
        for row in range(start, stop):
            margin = 0.0
            for i in range(n_parameters):
                margin += features[row, i] * theta[i]
            wrong[row] = margin
        for row in range(start, stop):
            wrong[row] = times[row] / (1.0 + np.exp(wrong[row]))
        for row in range(start, stop):
            for i in range(n_parameters):
                sums[i] += wrong[row] * features[row, i]


@compiled
def _turn_into_slope(sums: Floats, theta: Floats, priors: Priors, C: float) -> None:
    """Turn sums of the rows into the gradient of the objective."""
    tau, shape, rate, precision, level = priors
    for i in range(len(theta)):
        sums[i] = theta[i] / C - sums[i]
    if tau >= 0:
        sums[tau] += rate - shape / theta[tau] - theta[tau] / C
    if not np.isnan(level):
        sums[-1] += precision * (theta[-1] - level) - theta[-1] / C


@compiled
def add_hessian(features: Floats, wrong: Floats, times: Floats, product: Real) -> None:
    """Compute the Hessian of the rows' losses: its upper triangle, which LAPACK calls the lower."""
    n_rows, size = features.shape
    most = max(1, PRODUCT_CELLS // size)
    scaled = np.empty((min(most, n_rows), size), product.dtype)
    product[:] = 0.0
    for start in range(0, n_rows, most):
        stop = min(start + most, n_rows)
        for row in range(start, stop):
            scale = np.sqrt(wrong[row] * max(0.0, 1.0 - wrong[row] / times[row]))
            for i in range(size):
                scaled[row - start, i] = features[row, i] * scale
        _add_squares(scaled, stop - start, product)


@compiled
def _add_squares(scaled: Real, n_rows: int, product: Real) -> None:
    """Add the first rows' products of columns with columns."""
    # LAPACK reads arrays by columns, so that rows here are columns there.
    kind = np.array([76, 78], np.uint8)  # L, the lower triangle, and N, as it is
    size = np.array([product.shape[0], n_rows], np.int64)
    one = np.ones(1, product.dtype)
    lower, plain, n, p = kind.ctypes, kind[1:].ctypes, size[1:].ctypes, size.ctypes
    if product.itemsize == 4:
        ssyrk(lower, plain, p, n, one.ctypes, scaled.ctypes, p, one.ctypes, product.ctypes, p)
    else:
        dsyrk(lower, plain, p, n, one.ctypes, scaled.ctypes, p, one.ctypes, product.ctypes, p)


@compiled
def _factorise(product: Real, theta: Floats, priors: Priors, C: float, factor: Real) -> bool:
    """The Cholesky factor of the Hessian; False, and the last one stays, where there is none."""
    tau, shape, _, precision, level = priors
    bend = np.full(len(theta), 1.0 / C)
    if tau >= 0:
        bend[tau] = shape / theta[tau] ** 2
    if not np.isnan(level):
        bend[-1] = precision
    hessian = product.copy()
    for i in range(len(bend)):
        hessian[i, i] += bend[i]
    kind, size = np.array([76], np.uint8), np.array([len(bend)], np.int64)
    info = np.zeros(1, np.int64)
    if product.itemsize == 4:
        spotrf(kind.ctypes, size.ctypes, hessian.ctypes, size.ctypes, info.ctypes)
    else:
        dpotrf(kind.ctypes, size.ctypes, hessian.ctypes, size.ctypes, info.ctypes)
    if info[0] == 0:
        factor[:] = hessian
    return bool(info[0] == 0)


@compiled
def _solve_step(factor: Real, gradient: Floats, step: Floats) -> float:
    """H^-1 gradient into ``step``; twice what such a step promises."""
    right = gradient.astype(factor.dtype)
    kind, size = np.array([76], np.uint8), np.array([len(gradient), 1], np.int64)
    info = np.zeros(1, np.int64)
    lower, p, one = kind.ctypes, size.ctypes, size[1:].ctypes
    if factor.itemsize == 4:
        spotrs(lower, p, one, factor.ctypes, p, right.ctypes, p, info.ctypes)
    else:
        dpotrs(lower, p, one, factor.ctypes, p, right.ctypes, p, info.ctypes)
    promise = 0.0
    for i in range(len(gradient)):
        step[i] = right[i]
        promise += gradient[i] * step[i]
    return promise
