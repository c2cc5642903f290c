"""Shares and levels with their intervals, and the panel that they are of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.studies.confidence.conformal_result import Conformal
from judgepanel.studies.confidence.items_result import Items
from judgepanel.studies.confidence.reliability_result import FEW_ITEMS, Reliability
from judgepanel.studies.confidence.selective_result import Selective
from judgepanel.words.cells import Column
from judgepanel.words.numbers import counted, share_interval, with_interval

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


def share_of(result: Any, name: str, at: tuple[int, ...], digits: int = 3) -> str:
    """``89 % [86, 92]``: a field of a result and its ``_lo`` and ``_hi``, at one place."""
    value, lo, hi = (float(getattr(result, name + end)[at]) for end in ("", "_lo", "_hi"))
    return share_interval(value, lo, hi, digits=digits)


def level_of(result: Any, name: str, at: tuple[int, ...], digits: int = 3) -> str:
    """``0.23 [0.14, 0.31]``: the same for a score."""
    value, lo, hi = (float(getattr(result, name + end)[at]) for end in ("", "_lo", "_hi"))
    return with_interval(value, lo, hi, digits) if math.isfinite(value) else "n/a"


def share_text(value: float) -> str:
    """``9.7 %``: a share without an interval."""
    return f"{100 * value:.1f} %" if math.isfinite(value) else "n/a"


def items_text(items: float) -> str:
    """A number of items that need not be whole."""
    return f"{items:.1f}" if items < FEW_ITEMS else f"{items:,.0f}"


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
