"""The lean choice: the smallest panel whose expected loss is within a stated price.

Best is the average of candidates. *Lean* is the candidate with the lowest cost per item, or the
fewest judges where costs are unknown, that loses at most the price against that average. It is the
average itself where no such candidate is smaller. A candidate's loss is the larger of two: by
cross-validated NLL, in which the smallest of many panels that seem to be within the price is often
a lucky one, and by smoothed NLL (:mod:`judgepanel.decision.recommend_result`), which hardly sees a
difference where the plausible candidates disagree among themselves.

The largest loss accepted is one of a few fixed prices, so that one run chooses for all of them in
every split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from judgepanel.arrays import Bools, Floats

PanelInUse = Literal["nll", "lean"]
"""The panels that an analysis can use, by the preference of the recommendation."""
CardName = Literal["Best", "Lean"]
CARD_NAMES: Mapping[PanelInUse, CardName] = {"nll": "Best", "lean": "Lean"}
"""Their names."""
PRICES = (0.005, 0.01, 0.02, 0.03, 0.05)
"""Largest losses that can be accepted, as shares of the NLL of Best."""
PRICE = 0.02


def sizes_of(panels: Bools, costs: Floats | None) -> list[tuple[float, int]]:
    """Return cost per item (0 if ``costs`` are unknown) and number of judges of each panel (A,)."""
    cost = np.zeros(len(panels)) if costs is None else np.where(panels, costs, 0.0).sum(axis=1)
    return list(zip(cost.tolist(), panels.sum(axis=1).tolist(), strict=True))


def lean_choice(
    sizes: Sequence[tuple[float, int]], losses: Floats, own: tuple[float, int], price: float
) -> int | None:
    """Return the position of the lean candidate, or None if the average is lean itself.

    ``losses`` (A,) are those of the candidates against the average, as shares of its NLL, and
    infinite if not allowed; ``own`` is the size of the average. Among equal sizes the lower loss is
    taken.
    """
    smaller = [i for i in np.flatnonzero(losses <= price).tolist() if sizes[i] < own]
    return min(smaller, key=lambda i: (*sizes[i], losses[i], i), default=None)
