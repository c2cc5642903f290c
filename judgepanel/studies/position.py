"""Constant positions: does always choosing one position explain the panel's score?

If labels of pairs are lopsided and items are used together with their swaps, a judge that prefers
one position looks accurate: 'always 0' is right on 98 % of the items of a file with 2 % of ones.
Compared with a coin (NLL ln 2) such a panel seems excellent; compared with the base rate of the
file as given it is worthless. So a panel is compared with that base rate on the same items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import split
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.codec import to_plain
from judgepanel.studies.compare import Estimator
from judgepanel.studies.settings import Prepared, Settings
from judgepanel.votes.orientation import BALANCED_SHARE


@dataclass(frozen=True, slots=True, eq=False)
class ConstantPosition:
    """The base rate of the file as given, and a panel compared with it.

    ``label`` is the majority label and ``nll`` the NLL of its share; ``gap`` = NLL(panel) - that,
    with its 95 % interval for new items. Estimating the share from the items it is scored on
    favours the constant by about 1 / (2 n).
    """

    label: int
    nll: float
    gap: Interval

    @property
    def explains(self) -> bool:
        """Whether the panel is not shown to be better than the constant."""
        return not self.gap.below()

    def plain(self) -> dict[str, Any]:
        """Return all fields as JSON values, with separate ends of the gap."""
        gap, lo, hi = to_plain(tuple(self.gap))
        return {"label": self.label, "nll": self.nll, "gap": gap, "lo": lo, "hi": hi}


def against_position(
    prepared: Prepared,
    settings: Settings,
    tally: Tally,
    arms: Sequence[tuple[int, int]],
) -> tuple[ConstantPosition, ...]:
    """Compare every arm (calibrator, arm of the tally) with the base rate as given, in that order.

    Empty if a constant position has no advantage that swapping hides: pointwise items, items used
    as given, balanced labels, labels of one class (which describe only their coding) and a single
    split.
    """
    oriented = prepared.oriented
    votes = oriented.given
    labels = votes.labels[votes.labelled]
    lopsided = 0.0 < votes.minority_share < BALANCED_SHARE
    if oriented.policy == "as_given" or not lopsided or len(tally.numbers) < 2:
        return ()
    share = float(np.mean(labels == 1))
    loss = -np.log(np.where(labels == 1, share, 1.0 - share))
    units = prepared.ballots.units
    constant = np.array(
        [
            loss[split(units, n, fraction=settings.fraction, seed=settings.seed).evaluation].mean()
            for n in tally.numbers.tolist()
        ]
    )
    means, seen = tally.item_means()
    rows, columns = zip(*arms, strict=True)
    gap = Interval.of(
        Estimator.of(tally, units)(
            means[0][rows, columns] - loss[seen],
            tally.split_means[:, 0, rows, columns] - constant[:, None],
        )
    )
    label, nll = int(share > 0.5), float(loss.mean())
    return tuple(ConstantPosition(label, nll, gap[place]) for place in range(len(rows)))
