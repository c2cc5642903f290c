"""What studies of budgets compare: numbers of labels and calibration shares, and panels.

Budgets and shares are those that the votes allow; what the others would need is said. All judges
are the reference, and the top k are compared with them under the same pipeline; beside the
recommended average, under ``COMPARED``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrated import SplitScores
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.evaluation import Recipe, evaluate_each
from judgepanel.kernels.prefixes import Ranking
from judgepanel.scoring.inference import MARGIN, Verdict, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split, n_share
from judgepanel.studies.accumulate import Arms
from judgepanel.studies.common import not_fitted, recipe_of
from judgepanel.studies.contract import Prepared
from judgepanel.studies.options import check_panels, option
from judgepanel.studies.panel.recommended import (
    AGAINST_AVERAGE,
    AVERAGE,
    COMPARED,
    AverageSpec,
    panel_names,
    pipeline_columns,
    scored_average,
)
from judgepanel.studies.results import NllResult, RunResult, column, derived, frozen
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
class PanelsSpec(AverageSpec):
    """Panels and their pipeline, shared by the studies of label budgets.

    ``panels`` are sizes compared with all judges. Under ``average``, ``calibrators`` is always
    none, and the panels have the pipeline ``COMPARED``.

    Raises
    ------
    InputError
        As for :class:`AverageSpec`; no calibrator, or one given twice; a panel below 1.
    """

    calibrators: tuple[Calibrator, ...] = option(
        ("beta", "temperature"), "calibrators of both arms (none for average)", once=True
    )
    panels: tuple[int, ...] = option((5,), check=check_panels)
    ranking: Ranking = option("accuracy")

    @property
    def recipe(self) -> Recipe:
        """The recipe of all judges and of the panels compared with them; of those, by average."""
        aggregator, calibrators = self.aggregator, self.calibrators
        if aggregator == AVERAGE:
            aggregator, calibrators = COMPARED[0], COMPARED[1:]
        return recipe_of(self.settings, aggregator, calibrators, self.ranking)

    def sizes(self, n_judges: int) -> Ints:
        """Return panel sizes (n_sizes,), all judges last."""
        return np.array(sorted({k for k in self.panels if k < n_judges} | {n_judges}))


@frozen
class BudgetResult(RunResult):
    """Panels on n budgets of labels, or with n calibration shares.

    ``panels`` (n_panels,) are sizes, the last is all judges. If ``aggregator`` is ``average``, all
    judges are the recommended panel, and the other panels have the pipeline ``COMPARED``. ``nll``
    (n_calibrators, n_panels, n) is in nats per item with 95 % intervals for new items;
    ``null_nll`` (n,) is the NLL of the base rate of the same labels, ``constant_nll``
    (n_calibrators, n) that of a constant score through the same calibrator. ``delta``
    (n_calibrators, n_panels - 1, n) is NLL(panel) - NLL(all) on the same labels.
    """

    panels: Ints = column(name="k", axis=-2, key=True)
    calibrators: tuple[str, ...]
    aggregator: str
    nll: Interval = column()
    null_nll: Floats = column()
    constant_nll: Floats = column(expand=-2)
    delta: Interval
    n_judges: int

    skill = NllResult.skill

    @derived(name="panel", axis=-2, key=True)
    def arms(self) -> tuple[str, ...]:
        """Names of the panels: ``top-5``, ..., ``all 65``."""
        return panel_names(self.panels, self.aggregator)

    @derived(name="aggregator", key=True)
    def aggregators(self) -> Any:
        """Aggregator of every panel, (n_panels, 1)."""
        return pipeline_columns(self.aggregator, (), len(self.panels))[0]

    @derived(name="calibrator", key=True)
    def calibrator_names(self) -> Any:
        """Calibrator of every panel, (n_calibrators, n_panels, 1)."""
        return pipeline_columns(self.aggregator, self.calibrators, len(self.panels))[1]

    @derived("NLL of the panel minus that of all judges on the same labels, in nats.", name="delta")
    def against_all(self) -> Interval:
        """The differences of all panels, NaN for all judges."""
        return self.with_reference(self.delta)

    @derived(name="verdict")
    def verdicts(self) -> Any:
        """The verdict on every panel in words."""
        words = np.full(self.nll.shape, "reference", dtype=object)
        for place in np.ndindex(self.delta.shape):
            words[place] = self.decided(*place)
        return words

    def with_reference(self, differences: Interval) -> Interval:
        """Return differences with NaN for all judges."""
        n_c, _, n = self.nll.shape
        return Interval.joined([differences, Interval.full((n_c, 1, n), np.nan)], axis=1)

    def row(self, calibrator: str) -> int:
        """Return the position of a calibrator in the arrays."""
        return self.calibrators.index(calibrator)

    def verdict(self, c: int, panel: int, place: int) -> Verdict:
        """Return what the interval of ``delta`` decides, against 2 % of NLL(all) there."""
        delta, lo, hi = self.delta[c, panel, place]
        margin = MARGIN * float(self.nll.value[c, -1, place])
        same = bool(lo == hi == delta == 0.0)
        return verdict(float(lo), float(hi), margin, identical=same)

    def decided(self, c: int, panel: int, place: int) -> str:
        """Return the verdict in words that fit the panel: of the recommended one, its own."""
        result = self.verdict(c, panel, place)
        return AGAINST_AVERAGE[result] if self.aggregator == AVERAGE else result


def panels_of(
    ballots: Ballots, pieces: Sequence[Split], spec: PanelsSpec
) -> list[list[SplitScores]]:
    """Return scores of the panels of every piece, by budget; all judges come last."""
    ks = spec.sizes(ballots.n_judges)
    if spec.aggregator != AVERAGE:
        return [[scores] for scores in evaluate_each(ballots, pieces, ks, spec.recipe)]
    seed = spec.settings.seed
    parts = [evaluate_each(ballots, pieces, ks[:-1], spec.recipe)] if len(ks) > 1 else []
    parts.append([scored_average(ballots, piece, seed) for piece in pieces])
    return [list(scores) for scores in zip(*parts, strict=True)]


def not_fitted_there(
    calibrators: Sequence[str], replaced: Ints, fits: int, where: Sequence[str]
) -> list[str]:
    """Return one warning per calibrator with the cases ``replaced`` (n_calibrators, n)."""
    cases = [
        ", ".join(
            f"{count} of {fits} {there}" for there, count in zip(where, row, strict=True) if count
        )
        for row in replaced.tolist()
    ]
    return [not_fitted(name, text) for name, text in zip(calibrators, cases, strict=True) if text]


def budget_arms(scored: Sequence[Sequence[SplitScores]]) -> Arms:
    """Arms of one split, panels by budgets; budgets vary fastest.

    ``scored`` has the panels of every budget, in one or several consecutive pieces, the reference
    last. Pieces have equally many calibrators, paired by position.
    """
    first, n_calibrators = [pieces[-1] for pieces in scored], len(scored[0][0].evaluation)

    def stacked(field: str, c: int) -> Floats:
        budgets = [
            np.concatenate([getattr([*piece.evaluation.values()][c], field) for piece in pieces])
            for pieces in scored
        ]
        values = np.stack(budgets, axis=1)
        return values.reshape(-1, *values.shape[2:])

    replaced = [
        np.sum([[*piece.replaced.values()] for piece in pieces], axis=0) for pieces in scored
    ]
    return Arms.gathered(
        lambda field: [stacked(field, c) for c in range(n_calibrators)],
        null_nll=np.array([scores.null_nll for scores in first]),
        constant_nll=np.array([[*scores.constant_nll.values()] for scores in first]).T,
        replaced=np.array(replaced).T,
    )
