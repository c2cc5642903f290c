"""What studies of budgets compare: numbers of labels and calibration shares, and panels.

Budgets and shares are those that the votes allow; what the others would need is said. All judges
are the reference, and the top k are compared with them under the same pipeline; beside the
recommended average, under ``COMPARED``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.calibrated import SplitScores
from judgepanel.kernels.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluation import Recipe
from judgepanel.kernels.prefixes import RANKINGS, Ranking
from judgepanel.scoring.splits import n_share
from judgepanel.studies.accumulate import Arms
from judgepanel.studies.common import check_each_once, check_known, check_panels
from judgepanel.studies.contract import Prepared, Settings
from judgepanel.studies.panel.recommended import (
    AVERAGE,
    COMPARED,
    PanelAggregator,
    check_panel_aggregators,
)
from judgepanel.votes import InputError

SMALLEST = 20
N_BUDGETS = 9
FEWEST_OF_A_CLASS = 5
FEWEST_UNITS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """Budgets (n_budgets,), increasing, and a sentence for each one that was left out."""

    budgets: Ints
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PlannedShares:
    """Calibration shares of the items (n_shares,), increasing, and sentences on those left out."""

    shares: Floats
    left_out: tuple[str, ...]


def planned_budgets(
    prepared: Prepared, budgets: tuple[int, ...] | None, fraction: float
) -> Planned:
    """Return the budgets that these votes allow; the last is always the whole calibration half."""
    half = max(2, n_share(prepared.ballots.n_items, fraction))
    if budgets is None:
        asked = np.geomspace(min(SMALLEST, half), half, N_BUDGETS).round().astype(int).tolist()
    else:
        asked = list(budgets)
    sizes, left_out = {half}, []
    least, why = fewest_labels(prepared)
    for n in sorted(set(asked) - {half}):
        if n > half:
            items = math.ceil(n / fraction)
            left_out.append(
                f"A budget of {n:,} labels is left out: {half:,} labels calibrate here; it needs "
                f"{items:,} labelled items."
            )
        elif n < least:
            left_out.append(
                f"A budget of {n:,} labels is left out: {why}, which takes about {least:,} labels."
            )
        else:
            sizes.add(n)
    return Planned(np.array(sorted(sizes), dtype=np.int64), tuple(left_out))


def planned_shares(prepared: Prepared, shares: tuple[float, ...]) -> PlannedShares:
    """Return the shares that leave enough labels for the fit, and enough items to score.

    Raises
    ------
    InputError
        No share does.
    """
    n_items = prepared.ballots.n_items
    least, why = fewest_labels(prepared)
    planned, left_out = [], []
    for share in sorted(shares):
        labels = n_share(n_items, share)
        if labels >= least and n_items - labels >= least:
            planned.append(share)
            continue
        side, n, part = "labels calibrate", labels, share
        if labels >= least:
            side, n, part = "items evaluate", n_items - labels, 1.0 - share
        left_out.append(
            f"A share of {100 * share:g} % is left out: {n:,} {side} there; {why}, which takes "
            f"about {least:,}, or {math.ceil(least / part):,} labelled items in all."
        )
    if not planned:
        raise InputError(
            "too few labelled items for any of these calibration shares: " + why,
            value=f"{n_items:,} labelled items",
            allowed=f"about {2 * least:,} labelled items or more",
        )
    return PlannedShares(np.array(planned), tuple(left_out))


def fewest_labels(prepared: Prepared) -> tuple[int, str]:
    """Return the smallest number of labels for a fit, and the reason."""
    ballots = prepared.ballots
    n_units = len(np.unique(ballots.units))
    by_units = math.ceil(FEWEST_UNITS * ballots.n_items / n_units)
    labels = (by_units, f"it needs {FEWEST_UNITS} labelled items")
    if n_units < ballots.n_items:
        labels = (by_units, f"it needs {FEWEST_UNITS} groups of items")
    if not ballots.symmetric:
        share = float(np.mean(ballots.signs > 0))
        rarer = min(share, 1.0 - share)
        by_class = math.ceil(FEWEST_OF_A_CLASS / rarer) if rarer > 0 else ballots.n_items
        labels = max(labels, (by_class, f"it needs {FEWEST_OF_A_CLASS} labels of the rarer class"))
    return labels


@dataclass(frozen=True, slots=True)
class PanelsSpec:
    """Panels and their pipeline, shared by the studies of label budgets.

    ``panels`` are sizes compared with all judges. Under ``average``, ``calibrators`` is always
    none, and the panels have the pipeline ``COMPARED``.

    Raises
    ------
    InputError
        An unknown aggregator, calibrator or ranking; no calibrator, or one given twice; a panel
        below 1; the average under the paper's protocol.
    """

    settings: Settings = Settings()
    aggregator: PanelAggregator = field(
        default="one_coin",
        metadata={"help": "how votes are summed; average: the recommended panel"},
    )
    calibrators: tuple[Calibrator, ...] = field(
        default=("beta", "temperature"),
        metadata={"help": "calibrators of both arms (none for average)"},
    )
    panels: tuple[int, ...] = field(
        default=(5,), metadata={"help": "panel sizes to compare with all judges"}
    )
    ranking: Ranking = field(default="accuracy", metadata={"help": "how judges are ranked"})

    SUBJECT: ClassVar[str] = "a comparison"

    def __post_init__(self) -> None:
        check_panel_aggregators((self.aggregator,), self.settings)
        check_known("calibrator", CALIBRATORS, self.calibrators)
        check_known("ranking", RANKINGS, (self.ranking,))
        check_each_once(self.SUBJECT, "calibrator", CALIBRATORS, self.calibrators)
        check_panels(self.panels)
        if self.aggregator == AVERAGE:
            object.__setattr__(self, "calibrators", ("none",))

    @property
    def recipe(self) -> Recipe:
        """The recipe of all judges and of the panels compared with them; of those, by average."""
        aggregator, calibrators = self.aggregator, self.calibrators
        if aggregator == AVERAGE:
            aggregator, calibrators = COMPARED[0], COMPARED[1:]
        return Recipe(
            aggregator,
            calibrators,
            self.ranking,
            in_sample=self.settings.protocol == "paper",
            seed=self.settings.seed,
        )

    def sizes(self, n_judges: int) -> Ints:
        """Return panel sizes (n_sizes,), all judges last."""
        return np.array(sorted({k for k in self.panels if k < n_judges} | {n_judges}))


def budget_arms(scored: Sequence[Sequence[SplitScores]]) -> Arms:
    """Arms of one split, panels by budgets; budgets vary fastest.

    ``scored`` has the panels of every budget, in one or several consecutive pieces, the reference
    last. Pieces have equally many calibrators, paired by position.
    """
    first, n_calibrators = [pieces[-1] for pieces in scored], len(scored[0][0].evaluation)

    def stacked(c: int, field: str) -> Floats:
        budgets = [
            np.concatenate([getattr([*piece.evaluation.values()][c], field) for piece in pieces])
            for pieces in scored
        ]
        values = np.stack(budgets, axis=1)
        return values.reshape(-1, *values.shape[2:])

    def each(field: str) -> list[Floats]:
        return [stacked(c, field) for c in range(n_calibrators)]

    ece = np.stack(each("ece"))
    replaced = [
        np.sum([[*piece.replaced.values()] for piece in pieces], axis=0) for pieces in scored
    ]
    return Arms(
        nll=each("nll"),
        brier=each("brier"),
        hit=each("hit"),
        ece=ece,
        chosen_on=np.zeros_like(ece),
        null_nll=np.array([scores.null_nll for scores in first]),
        constant_nll=np.array([[*scores.constant_nll.values()] for scores in first]).T,
        replaced=np.array(replaced).T,
    )
