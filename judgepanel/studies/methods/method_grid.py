"""Which aggregator and which calibrator? Every pair of them on all judges, out of sample.

In every split all cells of the grid are fitted on the calibration rows and scored on the others.
The cell with the lowest NLL was found in hindsight; beside it stand the cells that are tied with
it, and what choosing a cell by cross-validation on the calibration rows alone gets.

Cost per split: every aggregator is fitted once (closed forms) or 6 to 16 times (cross-fitted); all
aggregators are calibrated together, one batched fit a calibrator and fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.calibrate.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluate.calibrated import SplitScores
from judgepanel.kernels.evaluate.grid import FORMS, LEARNS, Form, Pipelines, evaluate_grid
from judgepanel.scoring.inference import estimate, simultaneous_reach
from judgepanel.studies.accumulate import METRICS, Arms, Tally, combine, tally
from judgepanel.studies.common import (
    check_each_once,
    check_known,
    metric_fields,
    run_fields,
    splits_of,
)
from judgepanel.studies.compare import grid_estimates, mean_sizes
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.notes import few_labels, stand_ins
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.studies.split_result import SplitResult
from judgepanel.votes import VoteMatrix

Floats = NDArray[np.float64]

GRID_CALIBRATORS: tuple[Calibrator, ...] = (
    "none",
    "temperature",
    "platt",
    "beta",
    "beta_l2",
    "beta_free",
    "beta_cv",
    "isotonic",
    "auto",
)
SAME_AS_TEMPERATURE: tuple[Calibrator, ...] = ("platt", "beta_free")
"""Calibrators that are temperature scaling where each item is used with its swap."""


@dataclass(frozen=True, slots=True)
class MethodGridSpec:
    """The grid; ``form`` is ``cross_fitted`` or the paper's ``nested`` 70/30.

    Raises
    ------
    InputError
        An aggregator, calibrator or form that is not known, none, or one given twice.
    """

    settings: Settings = Settings()
    aggregators: tuple[Aggregator, ...] = field(
        default=AGGREGATORS, metadata={"help": "rows of the grid"}
    )
    calibrators: tuple[Calibrator, ...] = field(
        default=GRID_CALIBRATORS, metadata={"help": "columns of the grid"}
    )
    form: Form = field(default="cross_fitted", metadata={"help": "who gets which labels"})

    def __post_init__(self) -> None:
        for kind, known, given in (
            ("aggregator", AGGREGATORS, self.aggregators),
            ("calibrator", CALIBRATORS, self.calibrators),
            ("form", FORMS, (self.form,)),
        ):
            check_known(kind, known, given)
            check_each_once("the grid", kind, known, given)

    def pipelines(self, *, symmetric: bool) -> Pipelines:
        """The grid as the kernels take it; what coincides under ``symmetric`` is in it once."""
        names = self.calibrators
        if symmetric and "temperature" in names:
            names = tuple(name for name in names if name not in SAME_AS_TEMPERATURE)
        return Pipelines(
            self.aggregators,
            names,
            self.form,
            in_sample=self.settings.protocol == "paper",
            seed=self.settings.seed,
        )


@dataclass(frozen=True, slots=True, eq=False)
class MethodGrid(SplitResult):
    """Result of :data:`METHOD_GRID`.

    Arrays are (n_aggregators, n_calibrators) in the order of the names. NLL is in nats per item,
    Brier, ECE and accuracy in [0, 1]; ``lo`` and ``hi`` bound 95 % intervals for new items (of ECE:
    the central 95 % of splits). ``delta`` is NLL(cell) - NLL(best cell) with a simultaneous 95 %
    band; ``tied`` cells are those whose band holds 0. ``best`` is the position of the lowest NLL,
    in hindsight. ``chosen_nll`` [``chosen_lo``, ``chosen_hi``] is what choosing the cell by
    cross-validation on the calibration rows achieves, and ``chosen_share`` how often each was.
    ``constant_nll`` (n_calibrators,) scores a constant through the same calibrators.
    """

    aggregators: tuple[str, ...]
    calibrators: tuple[str, ...]
    form: str
    nll: Floats
    nll_lo: Floats
    nll_hi: Floats
    brier: Floats
    brier_lo: Floats
    brier_hi: Floats
    accuracy: Floats
    accuracy_lo: Floats
    accuracy_hi: Floats
    ece: Floats
    ece_lo: Floats
    ece_hi: Floats
    delta: Floats
    delta_lo: Floats
    delta_hi: Floats
    tied: NDArray[np.bool_]
    best: tuple[int, int]
    chosen_nll: float
    chosen_lo: float
    chosen_hi: float
    chosen_share: Floats
    null_nll: float
    constant_nll: Floats
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "delta": "NLL of the pair less that of the best pair, in nats.",
            "delta_lo": "Lower end of the 95 % band of delta over all pairs at once.",
            "delta_hi": "Upper end of the 95 % band of delta over all pairs at once.",
        }
    )

    @property
    def skill(self) -> Floats:
        """1 - NLL / NLL_null of every cell."""
        return np.asarray(1.0 - self.nll / self.null_nll)

    def frame(self) -> pd.DataFrame:
        """One row per cell, lowest NLL first."""
        n_c = len(self.calibrators)
        columns: dict[str, Any] = {
            "aggregator": np.repeat(np.array(self.aggregators, dtype=object), n_c),
            "calibrator": np.tile(np.array(self.calibrators, dtype=object), len(self.aggregators)),
            "n_splits": self.n_splits,
        }
        for metric in METRICS:
            for suffix in ("", "_lo", "_hi"):
                columns[metric + suffix] = getattr(self, metric + suffix).ravel()
        columns["null_nll"] = self.null_nll
        columns["skill"] = self.skill.ravel()
        for name in ("delta", "delta_lo", "delta_hi", "tied", "chosen_share"):
            columns[name] = getattr(self, name).ravel()
        frame = pd.DataFrame(columns)
        return frame.sort_values("nll", kind="stable", ignore_index=True)

    def summary(self) -> dict[str, Any]:
        """The best cell, those tied with it, and what choosing gets."""
        a, c = self.best
        tied = [
            {"aggregator": self.aggregators[i], "calibrator": self.calibrators[j]}
            for i, j in np.argwhere(self.tied)
            if (i, j) != self.best
        ]
        return {
            "form": self.form,
            "best": {
                "aggregator": self.aggregators[a],
                "calibrator": self.calibrators[c],
                "nll": float(self.nll[a, c]),
                "nll_lo": float(self.nll_lo[a, c]),
                "nll_hi": float(self.nll_hi[a, c]),
            },
            "tied": tied,
            "chosen_nll": self.chosen_nll,
            "chosen_lo": self.chosen_lo,
            "chosen_hi": self.chosen_hi,
            "null_nll": self.null_nll,
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "n_calibration": self.n_calibration,
            "partial": self.partial,
        }


def run_chunk(votes: VoteMatrix, spec: MethodGridSpec, chunk: Chunk) -> Tally:
    """Evaluate the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots, settings = prepared.ballots, spec.settings
    pipelines = spec.pipelines(symmetric=ballots.symmetric)
    return tally(
        (
            (split, _arms(evaluate_grid(ballots, split, pipelines)))
            for split in splits_of(prepared, settings, chunk)
        ),
        n_items=ballots.n_items,
        seed=settings.seed,
    )


def _arms(scores: SplitScores) -> Arms:
    """Every cell is an arm of one choice; calibrators vary slowest."""
    held = list(scores.evaluation.values())

    def stacked(field: str) -> Floats:
        return np.concatenate([getattr(item_scores, field) for item_scores in held])[None]

    return Arms(
        nll=stacked("nll"),
        brier=stacked("brier"),
        hit=stacked("hit"),
        ece=stacked("ece"),
        chosen_on=scores.chosen_on.reshape(1, -1),
        null_nll=scores.null_nll,
        constant_nll=np.array([list(scores.constant_nll.values())]),
        replaced=np.array([list(scores.replaced.values())]),
    )


def merge(votes: VoteMatrix, spec: MethodGridSpec, partial: Tally) -> MethodGrid:
    """Intervals, ties and the choice from whatever splits are in."""
    prepared = prepare(votes, spec.settings)
    ballots, totals = prepared.ballots, partial.in_order()
    pipelines = spec.pipelines(symmetric=ballots.symmetric)
    shape = (len(pipelines.calibrators), len(pipelines.aggregators))
    estimates = grid_estimates(totals, ballots.units)
    best = int(estimates["nll"][0][0, :-1].argmin())
    delta, lo, hi = (part.reshape(shape).T for part in _against(totals, ballots.units, best, spec))
    chosen = [float(part[0, -1]) for part in estimates["nll"]]
    share = np.bincount(totals.chosen[:, 0], minlength=totals.n_arms) / len(totals.numbers)
    return MethodGrid(
        aggregators=pipelines.aggregators,
        calibrators=pipelines.calibrators,
        form=spec.form,
        **metric_fields(estimates, lambda result: result[0, :-1].reshape(shape).T),
        delta=delta,
        delta_lo=lo,
        delta_hi=hi,
        tied=~(lo > 0.0),
        best=(best % shape[1], best // shape[1]),
        chosen_nll=chosen[0],
        chosen_lo=chosen[1],
        chosen_hi=chosen[2],
        chosen_share=share.reshape(shape).T,
        null_nll=float(totals.null_nll.mean()),
        constant_nll=totals.constant_nll.mean(axis=0)[0],
        n_judges=ballots.n_judges,
        n_calibration=float(totals.n_calibration.mean()),
        **run_fields(prepared, spec.settings, totals),
        warnings=_warnings(prepared, spec, pipelines, totals),
    )


def _against(
    totals: Tally, units: NDArray[np.int64], best: int, spec: MethodGridSpec
) -> tuple[Floats, Floats, Floats]:
    """NLL differences (n_cells,) from the best cell with a simultaneous band, lower and upper.

    The band is two-sided and taken around the observed best cell, as in multiple comparisons with
    the best (Hsu 1984, doi:10.1214/aos/1176346728) with every pair of bounds kept.
    """
    item_means, _ = totals.item_means()
    nll, split_nll = item_means[0, 0, :-1], totals.split_means[:, 0, 0, :-1]
    delta = nll - nll[best]
    if len(split_nll) < 2:
        blank = np.full(len(delta), np.nan)
        return delta.mean(axis=1), blank, blank
    seen = totals.evaluated > 0
    interval = estimate(delta, split_nll - split_nll[:, [best]], units[seen], *mean_sizes(totals))
    reach = simultaneous_reach(interval, seed=spec.settings.seed) * interval.se
    return interval.value, interval.value - reach, interval.value + reach


def _warnings(
    prepared: Prepared, spec: MethodGridSpec, pipelines: Pipelines, totals: Tally
) -> tuple[str, ...]:
    warnings = list(prepared.oriented.notices)
    n_calibration = float(totals.n_calibration.mean())
    warnings += few_labels(prepared, n_calibration)
    if spec.form == "nested":
        warnings.append(
            f"Nested form: of {n_calibration:,.0f} calibration items {LEARNS:.0%} fit the "
            "aggregator and the rest the calibrator."
        )
    fits = len(totals.numbers) * len(pipelines.aggregators)
    warnings += stand_ins(pipelines.calibrators, np.ravel(totals.replaced).tolist(), fits)
    return tuple(warnings)


METHOD_GRID: Study[MethodGridSpec, Tally, MethodGrid] = Study(
    name="method_grid",
    title="Method grid",
    question="Which aggregator and calibrator?",
    spec=MethodGridSpec,
    result=MethodGrid,
    run_chunk=run_chunk,
    combine=combine,
    merge=merge,
    chunk=2,
)
