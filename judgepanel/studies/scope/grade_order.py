"""P1 on grades: does a higher grade speak for the label, whatever the threshold?

A vote is a grade cut at a threshold. Where that loses what the grades tell, a judge looks useless
or below chance although it is neither; where a lower grade is the better one, it is reversed. Both
show in the order of its grades: the share of pairs of items, one of each label, in which the item
with label 1 has the higher grade (the area under the ROC curve). An item with an arbitrary order is
paired with every other item and its swap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.scoring.interval import Interval
from judgepanel.studies.judges.judge_table import wilson
from judgepanel.studies.notes import first_of
from judgepanel.votes.errors import JUDGE_THRESHOLD, quote_value

GRADED = "judges whose grades may tell more than votes"
"""The number of P1 that is there if any judge gives grades."""


@dataclass(frozen=True, slots=True, eq=False)
class GradeOrder:
    """All (n_judges,), NaN for judges without grades or with all of them as far from the threshold.

    ``right`` is the share of pairs of items in the right order, ties as half, with a 95 % interval;
    ``p`` the two-sided p-value of no order; ``median`` the median grade minus the threshold.
    """

    right: Interval
    p: Floats
    median: Floats

    @property
    def known(self) -> Bools:
        """Judges whose grades may tell more than their votes."""
        return np.asarray(np.isfinite(self.median))


def grade_order(ballots: Ballots, rows: Ints | None = None) -> GradeOrder | None:
    """Return the order of grades on these rows (default: all); None without any grades."""
    if ballots.margins is None:
        return None
    chosen = np.arange(ballots.n_items) if rows is None else rows
    votes, margins = ballots.votes[chosen], ballots.margins[chosen]
    tied = np.zeros_like(votes, dtype=bool) if ballots.ties is None else ballots.ties[chosen]
    signs, units = ballots.signs[chosen], ballots.units[chosen]
    columns = np.full((ballots.n_judges, 5), np.nan)
    for judge in range(ballots.n_judges):
        cast = votes[:, judge] != 0
        distances = margins[cast, judge]
        if not len(distances) or distances.min() == distances.max():
            continue
        known = cast | tied[:, judge]
        grades = votes[known, judge] * margins[known, judge]
        figures = _figures(grades, signs[known], units[known], symmetric=ballots.symmetric)
        columns[judge] = *figures, float(np.median(grades))
    right, lo, hi, p, median = columns.T
    return GradeOrder(Interval(right, lo, hi, unit="share"), p, median)


def _figures(
    grades: Floats, signs: NDArray[np.int8], units: Ints, *, symmetric: bool
) -> tuple[float, float, float, float]:
    """Share in the right order, its ends, and the p-value of a judge's grades (n,).

    The test permutes labels, or swaps items if their order is arbitrary; its variance is multiplied
    by the design effect of the units, at least 1. The interval is Wilson's with a variance of
    share (1 - share) / m, the most that any distributions have: m is the number of items of the
    rarer label (Bamber 1975, Journal of Mathematical Psychology 12, 387-415), or half of the items
    that may be swapped (Hoeffding 1948, Annals of Mathematical Statistics 19, 293-325), divided by
    the design effect.
    """
    if symmetric:
        towards = signs * grades
        share = _area(np.concatenate([towards, -towards]), np.repeat([True, False], len(grades)))
        scores = np.sign(towards) * distributions.ranks(np.abs(towards))
        variance, m = float(scores @ scores), len(grades) / 2.0
    else:
        positive = signs > 0
        m = float(min(positive.sum(), len(signs) - positive.sum()))
        if m == 0.0:
            return np.nan, np.nan, np.nan, np.nan
        share = _area(grades, positive)
        labels, ranks = positive - positive.mean(), distributions.ranks(grades)
        ranks = ranks - ranks.mean()
        scores = labels * ranks
        variance = float((labels @ labels) * (ranks @ ranks)) / (len(grades) - 1.0)
    of_units = np.bincount(np.unique(units, return_inverse=True)[1], scores)
    effect = max(1.0, float(of_units @ of_units) / max(float(scores @ scores), 1e-300))
    z = float(scores.sum()) / np.sqrt(variance * effect)
    lo, hi = wilson(np.array([share * m / effect]), np.array([m / effect]))
    return share, float(lo[0]), float(hi[0]), float(2.0 * distributions.norm_sf(abs(z)))


def _area(grades: Floats, positive: Bools) -> float:
    """Share of pairs, one of each label, whose positive item has the higher grade; ties as half."""
    n, n_positive = len(grades), int(positive.sum())
    total = float(distributions.ranks(grades)[positive].sum())
    return (total - n_positive * (n_positive + 1) / 2.0) / (n_positive * (n - n_positive))


def order_numbers(order: GradeOrder, backwards: Bools, misplaced: Bools) -> dict[str, int]:
    """Return the counts of P1 that are about grades."""
    return {
        GRADED: int(order.known.sum()),
        "grades in reverse order": int(backwards.sum()),
        "grades inform where votes do not": int(misplaced.sum()),
    }


def order_sentences(
    order: GradeOrder, backwards: Bools, misplaced: Bools, names: tuple[str, ...]
) -> str:
    """Name the judges whose grades are in reverse order, or inform where their votes do not."""
    parts = []
    for judges, start, end in (
        (misplaced, "The threshold is at fault", "though its votes do not inform"),
        (backwards, "In reverse order", "less than by chance"),
    ):
        shares = [
            f"the grades of {quote_value(names[j])} order "
            + "{:.0f} % [{:.0f}, {:.0f}]".format(*order.right[j].scaled(100.0, "share"))
            + f" of the pairs of items rightly, {end}"
            for j in np.flatnonzero(judges)
        ]
        if shares:
            parts.append(f"{start}: {first_of(shares)}")
    return " ".join(parts)


def order_advice(
    order: GradeOrder, backwards: Bools, misplaced: Bools, names: tuple[str, ...]
) -> str:
    """Return what to do about these judges."""
    parts = []
    if misplaced.any():
        j = int(np.flatnonzero(misplaced)[0])
        side = "above" if order.median[j] > 0.0 else "below"
        parts.append(
            "Move the threshold of judges whose grades inform and whose votes do not "
            f"({JUDGE_THRESHOLD}): the median grade of {quote_value(names[j])} is "
            f"{abs(order.median[j]):.3g} {side} it."
        )
    if backwards.any():
        parts.append(
            "If a lower grade of a judge in reverse order is the better one, negate its grades "
            "in the file, and its threshold."
        )
    return " ".join(parts)
