"""Helpers shared by presentations of one panel's probabilities: name, shares, item counts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from judgepanel.studies.confidence.conformal_result import Conformal
from judgepanel.studies.confidence.items_result import Items
from judgepanel.studies.confidence.reliability import Reliability
from judgepanel.studies.confidence.repeats import FEW_ITEMS
from judgepanel.studies.confidence.selective import Selective
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.words.numbers import all_judges
from judgepanel.words.sentences import AGGREGATOR_NAMES
from judgepanel.words.tables import Column

PanelResult = Reliability | Selective | Conformal | Items

NOT_YET = "Not enough splits yet to say."
ASKED = 0.9
"""The confidence that answers refer to."""
GROUPING_NAMES: dict[str, str] = {
    "class": "label",
    "difficulty": "difficulty",
    "errors": "judges that erred",
    "feature": "item feature",
}
"""Names of the groupings of items."""


def share_text(value: float) -> str:
    """``9.7 %``: a share without an interval."""
    return f"{100 * value:.1f} %" if math.isfinite(value) else "n/a"


def items_column(items: NDArray[np.float64]) -> Column:
    """Return a column of item counts (n,), possibly fractional; one decimal below ``FEW_ITEMS``."""
    few = {int(i): f"{items[i]:.1f}" for i in np.flatnonzero(items < FEW_ITEMS)}
    return Column(items, "whole", few)


def panel_name(result: PanelResult) -> str:
    """``all 65 judges``, ``top-5``, ``the one judge`` or ``the recommended panel``."""
    if result.aggregator == AVERAGE:
        return AGGREGATOR_NAMES[AVERAGE]
    if result.k == result.n_judges:
        return all_judges(result.n_judges)
    return f"top-{result.k}"


def uncalibrated(result: PanelResult) -> str:
    """Return the text if there is no before and after."""
    return AGGREGATOR_NAMES[AVERAGE] if result.aggregator == AVERAGE else "uncalibrated"


def stages_shown(result: PanelResult) -> str:
    """Return ``before and after calibration``, or the text for a single stage."""
    return uncalibrated(result) if result.calibrator == "none" else "before and after calibration"


def fitted_on(result: PanelResult) -> str:
    """``In every split all 65 judges and the calibrator are fitted on``."""
    if result.aggregator == AVERAGE:
        return (
            "In every split the panel is chosen again: candidates are fitted and compared, and the "
            "weights of their average learned, on"
        )
    return f"In every split {panel_name(result)} and the calibrator are fitted on"
