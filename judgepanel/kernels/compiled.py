"""Compiled kernels: numba's decorator as it is used here, and routines of LAPACK inside of them.

numba compiles a function for the processor it runs on when it is first called, and keeps that on
disk beside the source, or in the user's cache folder where the source cannot be written to. It is
compiled again when its own file has changed, so constants of other modules are arguments of it.
Arguments are numbers, arrays and tuples of them: a class of ours would be named by what is on disk,
which could not be read any more once the class has another name.
Modules that import this one are imported by the first fit: reading and scoring votes does without
numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import llvmlite.binding
import numba
from numba import types
from numba.extending import get_cython_function_address

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
