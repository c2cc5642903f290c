"""Units: what is drawn, left out and counted as one. A group of items, or a single item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


def unit_codes(units: Codes) -> tuple[Codes, int]:
    """Number the units that are present from 0, in their order; return also how many there are.

    Parameters
    ----------
    units : int (n,), codes of at least 0, of which some may be absent.

    Returns
    -------
    codes : int (n,), without gaps.
    n_units : number of different codes.
    """
    present = np.zeros(int(units.max(initial=-1)) + 1, dtype=bool)
    present[units] = True
    number = np.cumsum(present)
    return number[units] - 1, int(number[-1]) if len(number) else 0


def are_single(units: Codes) -> bool:
    """Whether no two items share a unit; ``units`` (n,) are codes of at least 0."""
    return int(np.bincount(units).max(initial=0)) <= 1
