"""Names of the array types that annotations use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Votes = NDArray[np.int8]
"""1, 0, and -1 where no vote was given."""
