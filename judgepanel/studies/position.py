"""Does a constant position explain the panel's score?

Where labels of pairs are lopsided and items are used together with their swaps, a judge that
prefers one position looks accurate: 'always 0' is right on 98 % of the items of a file with 2 % of
ones. Against a coin (NLL ln 2) such a panel seems excellent; against the base rate of the file as
it was given it is worth nothing. A panel is held against that base rate on the same items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgepanel.scoring.inference import estimate
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import split
from judgepanel.studies.accumulate import Tally
from judgepanel.studies.codec import to_plain
from judgepanel.studies.compare import mean_sizes
from judgepanel.studies.settings import Prepared, Settings
from judgepanel.votes.orientation import BALANCED_SHARE


@dataclass(frozen=True, slots=True, eq=False)
class ConstantPosition:
    """The base rate of the file as given, and a panel against it.

    ``label`` is the common one and ``nll`` what its share alone gets; ``gap`` = NLL(panel) - that,
    with its 95 % interval for new items. A share learned from the items it is scored on favours the
    constant by about 1 / (2 n).
    """

    label: int
    nll: float
    gap: Interval

    @property
    def explains(self) -> bool:
        """Whether the panel is not shown to beat the constant."""
        return not self.gap.below()

    def plain(self) -> dict[str, Any]:
        """All fields as JSON values, the ends of the gap by themselves."""
        gap, lo, hi = to_plain(tuple(self.gap))
        return {"label": self.label, "nll": self.nll, "gap": gap, "lo": lo, "hi": hi}


def against_position(
    prepared: Prepared,
    settings: Settings,
    tally: Tally,
    arms: Sequence[tuple[int, int]],
) -> tuple[ConstantPosition, ...]:
    """Every arm (calibrator, arm of the tally) against the base rate as given, in that order.

    Empty where a constant position has no advantage that swapping hides: pointwise items, items
    used as given, common labels, labels of one class (whose coding alone they describe) and a
    single split.
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
        estimate(
            means[0][rows, columns] - loss[seen],
            tally.split_means[:, 0, rows, columns] - constant[:, None],
            units[seen],
            *mean_sizes(tally),
            joint=False,
        )
    )
    label, nll = int(share > 0.5), float(loss.mean())
    return tuple(ConstantPosition(label, nll, gap[place]) for place in range(len(rows)))
