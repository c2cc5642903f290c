"""Method grid: all pairs of aggregator and calibrator on all judges, out of sample.

In every split all cells of the grid are fitted on the calibration rows and scored on the others.
The cell with the lowest NLL is known only in hindsight; the result also gives the cells tied with
it, and the NLL of choosing a cell by cross-validation on the calibration rows alone.

Cost per split: every aggregator is fitted once (closed forms) or 6 to 16 times (cross-fitted); all
aggregators are calibrated together, with one batched fit per calibrator and fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Floats
from judgepanel.kernels import aggregation, calibration
from judgepanel.kernels.evaluation import LEARNS, Form, Pipelines, SplitScores, evaluate_grid
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies import accumulate, codec, common, contract, options
from judgepanel.studies.results import NllResult, column, frozen, json_values
from judgepanel.votes import VoteMatrix

GRID_CALIBRATORS = tuple(name for name in calibration.CALIBRATORS if name != "beta_clipped")
SAME_AS_TEMPERATURE: tuple[calibration.Calibrator, ...] = ("platt", "beta_free")
"""Calibrators that equal temperature scaling if each item is used with its swap."""


@dataclass(frozen=True, slots=True)
class MethodGridSpec(options.StudySpec):
    """The grid; ``form`` is ``cross_fitted`` or the paper's ``nested`` 70/30.

    Raises
    ------
    InputError
        An unknown, missing or duplicate aggregator or calibrator, or an unknown form.
    """

    aggregators: tuple[aggregation.Aggregator, ...] = options.option(
        aggregation.AGGREGATORS, "aggregators: rows of the grid", once=True
    )
    calibrators: tuple[calibration.Calibrator, ...] = options.option(
        GRID_CALIBRATORS, "calibrators: columns of the grid", once=True
    )
    form: Form = options.option(
        "cross_fitted", "how labels are divided between aggregator and calibrator"
    )

    def pipelines(self, *, symmetric: bool) -> Pipelines:
        """Return the grid for the kernels; methods that coincide under ``symmetric`` occur once."""
        names = self.calibrators
        if symmetric and "temperature" in names:
            names = tuple(name for name in names if name not in SAME_AS_TEMPERATURE)
        in_sample, seed = self.settings.protocol == "paper", self.settings.seed
        return Pipelines(self.aggregators, names, self.form, in_sample=in_sample, seed=seed)


@frozen
class MethodGrid(NllResult):
    """Result of :data:`METHOD_GRID`.

    Arrays are (n_aggregators, n_calibrators) in the order of the names. NLL is in nats per item,
    Brier, ECE and accuracy in [0, 1], with 95 % intervals for new items (of ECE: the central 95 %
    of splits). ``delta`` is NLL(cell) - NLL(best cell) with a simultaneous 95 % band; ``tied``
    cells are those whose band contains 0. ``best`` is the position of the lowest NLL, in hindsight.
    ``chosen_nll`` is the NLL of choosing the cell by cross-validation on the calibration rows, with
    its interval, and ``chosen_share`` how often each cell was chosen. ``constant_nll``
    (n_calibrators,) is that of a constant score through the same calibrators.
    """

    aggregators: tuple[str, ...] = column(name="aggregator", axis=-2)
    calibrators: tuple[str, ...] = column(name="calibrator")
    form: str
    nll: Interval = column()
    brier: Interval = column()
    accuracy: Interval = column()
    ece: Interval = column()
    delta: Interval = column(
        "NLL of the pair minus that of the best pair, in nats.", ends=" over all pairs at once"
    )
    tied: Bools = column()
    best: tuple[int, int]
    chosen_nll: Interval
    chosen_share: Floats = column()
    null_nll: float = column()
    constant_nll: Floats
    n_judges: int
    n_calibration: float

    def frame(self) -> pd.DataFrame:
        """Return one row per cell, lowest NLL first."""
        frame = NllResult.frame(self).drop(columns="seed")
        return frame.sort_values("nll", kind="stable", ignore_index=True)

    def decisions(self) -> dict[str, Any]:
        """Return the best cell, those tied with it, and the NLL of choosing."""
        names = ("chosen_nll", "chosen_lo", "chosen_hi")
        tied = [self._cell(i, j) for i, j in np.argwhere(self.tied) if (i, j) != self.best]
        return {
            "best": self._cell(*self.best) | json_values({"nll": self.nll[self.best]}),
            "tied": tied,
            **dict(zip(names, codec.to_plain(list(self.chosen_nll)), strict=True)),
        }

    def _cell(self, row: int, column: int) -> dict[str, Any]:
        return {"aggregator": self.aggregators[row], "calibrator": self.calibrators[column]}


def run_chunk(votes: VoteMatrix, spec: MethodGridSpec, chunk: contract.Chunk) -> accumulate.Tally:
    """Evaluate the splits of one chunk."""
    prepared = contract.prepare(votes, spec.settings)
    ballots = prepared.ballots
    pipelines = spec.pipelines(symmetric=ballots.symmetric)

    def arms(split: Split) -> accumulate.Arms:
        return _arms(*evaluate_grid(ballots, split, pipelines))

    return common.tally_of(prepared, spec.settings, chunk, arms)


def _arms(scores: SplitScores, chosen_on: Floats) -> accumulate.Arms:
    """Return every cell as an arm of one choice; calibrators vary slowest."""
    held = list(scores.evaluation.values())

    def stacked(field: str) -> Floats:
        return np.concatenate([getattr(item_scores, field) for item_scores in held])[None]

    return accumulate.Arms.gathered(
        stacked,
        chosen_on=chosen_on.reshape(1, -1),
        null_nll=scores.null_nll,
        constant_nll=np.array([list(scores.constant_nll.values())]),
        replaced=np.array([list(scores.replaced.values())]),
    )


def merge(votes: VoteMatrix, spec: MethodGridSpec, partial: accumulate.Tally) -> MethodGrid:
    """Return intervals, ties and the choice from the splits so far."""
    prepared = contract.prepare(votes, spec.settings)
    ballots, totals = prepared.ballots, partial
    pipelines = spec.pipelines(symmetric=ballots.symmetric)
    shape = (len(pipelines.calibrators), len(pipelines.aggregators))
    estimated = accumulate.Estimator.of(totals, ballots.units)
    levels = accumulate.grid_estimates(totals, estimated)
    cells: dict[str, Any] = {
        metric: level[0, :-1].reshape(*shape).transposed() for metric, level in levels.items()
    }
    best = int(levels["nll"].value[0, :-1].argmin())
    # NLL differences (n_cells,) from the best cell with a simultaneous band. The band is two-sided
    # and taken around the observed best cell, as in multiple comparisons with the best (Hsu 1984,
    # doi:10.1214/aos/1176346728) with both ends of every interval kept.
    nll, split_nll = totals.nll()
    delta = nll - nll[best]
    interval = estimated(delta, split_nll - split_nll[:, [best]], joint=True)
    delta = accumulate.band(interval, spec.settings.seed).reshape(*shape).transposed()
    share = np.bincount(totals.chosen[:, 0], minlength=totals.n_arms) / len(totals.numbers)
    notes = []
    if spec.form == "nested":
        notes.append(
            f"Nested form: of {totals.n_calibration.mean():,.0f} calibration items {LEARNS:.0%} "
            "fit the aggregator and the rest the calibrator."
        )
    fits = len(totals.numbers) * len(pipelines.aggregators)
    notes += common.stand_ins(pipelines.calibrators, np.ravel(totals.replaced).tolist(), fits)
    return MethodGrid.from_splits(
        prepared,
        spec,
        totals,
        aggregators=pipelines.aggregators,
        calibrators=pipelines.calibrators,
        **cells,
        delta=delta,
        tied=~delta.above(),
        best=(best % shape[1], best // shape[1]),
        chosen_nll=levels["nll"][0, -1],
        chosen_share=share.reshape(shape).T,
        constant_nll=totals.constant_nll.mean(axis=0)[0],
        warnings=common.run_warnings(prepared, totals, *notes),
    )


def _deciding(grid: MethodGrid) -> contract.Deciding:
    """Whether the lowest NLL beats the base rate; ties with it are hindsight and only narrow."""
    return [(-grid.nll[grid.best], grid.null_nll), (grid.delta, np.inf)]


METHOD_GRID: contract.Study[MethodGridSpec, accumulate.Tally, MethodGrid] = contract.Study(
    name="method_grid",
    title="Method grid",
    question="Which aggregator and calibrator?",
    run_chunk=run_chunk,
    merge=merge,
    chunk=2,
    settled=contract.steady(merge, _deciding),
)
