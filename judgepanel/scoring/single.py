"""Matrix products in single precision, for counts that stay exact and steps that need no more."""

from __future__ import annotations

from typing import Any

import numpy as np


def single_product(left: Any, right: Any) -> Any:
    """``left @ right`` in single precision; sparse if either of them is.

    Sums of ones are exact below 2^24.
    """
    # Some BLAS kernels also compute padding and flag it as invalid, although they discard it.
    with np.errstate(invalid="ignore"):
        return left.astype(np.float32, copy=False) @ right.astype(np.float32, copy=False)
