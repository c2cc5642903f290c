"""What presentations of one panel's probabilities share: its name, shares, numbers of items."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from judgepanel.studies.confidence.conformal_result import Conformal
from judgepanel.studies.confidence.items_result import Items
from judgepanel.studies.confidence.reliability_result import FEW_ITEMS, Reliability
from judgepanel.studies.confidence.selective_result import Selective
from judgepanel.words.cells import Column
from judgepanel.words.numbers import counted

NOT_YET = "Not enough splits yet to say."
ASKED = 0.9
"""The confidence that answers are about."""
GROUPING_NAMES: dict[str, str] = {
    "class": "label",
    "difficulty": "difficulty",
    "errors": "judges that erred",
    "feature": "item feature",
}
"""What items are grouped by."""


def share_text(value: float) -> str:
    """``9.7 %``: a share without an interval."""
    return f"{100 * value:.1f} %" if math.isfinite(value) else "n/a"


def items_column(items: NDArray[np.float64]) -> Column:
    """Numbers of items (n,) that need not be whole; a decimal below ``FEW_ITEMS``."""
    few = {int(i): f"{items[i]:.1f}" for i in np.flatnonzero(items < FEW_ITEMS)}
    return Column(items, "whole", few)


def panel_name(result: Reliability | Selective | Conformal | Items) -> str:
    """``all 65 judges``, ``top-5`` or ``the one judge``."""
    if result.n_judges == 1:
        return "the one judge"
    if result.k == result.n_judges:
        return f"all {counted(result.n_judges, 'judge')}"
    return f"top-{result.k}"
