"""Calibrator design: every calibrator on the same scores of one aggregator and three panels.

The paper's calibrator table: NLL of each calibrator on all judges, the 5 and the 10 best, and the
Spearman correlation between raw and calibrated scores of the evaluation items, which is 1 if the
order of the items is preserved. The map of each calibrator on all labelled items is included for
plotting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregation import Aggregator
from judgepanel.kernels.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluation import Calibrated, calibrate, fit_split
from judgepanel.kernels.maps import sigmoid
from judgepanel.kernels.prefixes import Ranking
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.metrics import CLIP
from judgepanel.scoring.splits import Split
from judgepanel.studies import accumulate
from judgepanel.studies.common import errs_rarely, replaced_fits, run_warnings, splits_of
from judgepanel.studies.contract import Chunk, Study, always, prepare
from judgepanel.studies.options import StudySpec, check_panels, option
from judgepanel.studies.panel.recommended import BestPanels
from judgepanel.studies.results import NllResult, by_split, column, derived, frozen
from judgepanel.votes import VoteMatrix

PANELS = (5, 10)
_SHAPE_POINTS = 121


@dataclass(frozen=True, slots=True)
class CalibratorDesignSpec(StudySpec, BestPanels):
    """One aggregator; ``panels`` are sizes besides all judges.

    Raises
    ------
    InputError
        An unknown name, or a panel below one judge.
    """

    aggregator: Aggregator = option("one_coin")
    calibrators: tuple[Calibrator, ...] = option(CALIBRATORS, "calibrators in the table", once=True)
    panels: tuple[int, ...] = option(PANELS, "panel sizes besides all judges", check=check_panels)
    ranking: Ranking = option("accuracy")


@frozen
class DesignTally:
    """Scores of splits, with rank correlations (S, n_calibrators, n_panels)."""

    scores: accumulate.Tally
    numbers: Ints = by_split()
    rho: Floats = by_split()


@frozen
class CalibratorDesign(NllResult):
    """Result of :data:`CALIBRATOR_DESIGN`.

    Arrays are (n_calibrators, n_panels): ``nll`` (nats), ``brier`` and ``accuracy`` with 95 %
    intervals for new items, ``ece`` with the central 95 % of splits. ``rho`` is Spearman's
    correlation of raw and calibrated scores, mean and central 95 % of splits; it is 0 in a split in
    which a calibrator maps all items to one score. ``shape_raw`` (n_points,) are raw probabilities
    and ``shape`` (n_calibrators, n_points) their calibrated values under fits to all labelled items
    and judges; ``shape_logit`` are the raw logits. ``taken`` names the resulting calibrator of
    each.
    """

    aggregator: str = column(key=True)
    calibrators: tuple[str, ...] = column(name="calibrator", axis=-2, key=True)
    k: Ints = column(key=True)
    nll: Interval = column()
    brier: Interval = column()
    accuracy: Interval = column()
    ece: Interval = column()
    rho: Interval = column("Spearman's correlation of raw and calibrated scores.")
    shape_logit: Floats
    shape_raw: Floats
    shape: Floats
    taken: tuple[str, ...]
    null_nll: float = column()
    constant_nll: Floats = column(axis=-2)
    n_judges: int
    n_calibration: float

    @derived(name="panel", key=True)
    def panels(self) -> list[str]:
        """Names of the panels."""
        return [*map(accumulate.arm_name, self.k[:-1]), "all"]

    def frame(self) -> pd.DataFrame:
        """Return one row per panel and calibrator, all judges first."""
        by_panel = np.arange(self.rho.value.size).reshape(self.rho.shape)[:, ::-1].T.ravel()
        return NllResult.frame(self).iloc[by_panel].reset_index(drop=True)

    def decisions(self) -> dict[str, Any]:
        """Return the calibrator with the lowest NLL on all judges."""
        best = int(self.nll.value[:, -1].argmin())
        return {"best": self.calibrators[best], "best_nll": float(self.nll.value[best, -1])}


def run_chunk(votes: VoteMatrix, spec: CalibratorDesignSpec, chunk: Chunk) -> DesignTally:
    """Evaluate the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots, settings = prepared.ballots, spec.settings
    ks = spec.sizes(ballots.n_judges)
    splits = list(splits_of(prepared, settings, chunk))
    fits = [fit_split(ballots, split, ks, spec.recipe) for split in splits]
    arms = (
        (split, accumulate.FittedArms.of(ballots, split, fit))
        for split, fit in zip(splits, fits, strict=True)
    )
    sums = accumulate.tally(arms, n_items=ballots.n_items, seed=settings.seed)
    numbers = np.array([split.number for split in splits])
    rho = np.stack([_rank_kept(fit.fitted, symmetric=ballots.symmetric) for fit in fits])
    return DesignTally(sums, numbers, rho)


def _rank_kept(fitted: Calibrated, *, symmetric: bool) -> Floats:
    """Spearman's correlation (n_calibrators, n_panels) of raw and calibrated evaluation logits.

    Under ``symmetric`` each item is ranked together with its swap; otherwise the figure would
    depend on the order of the pairs in the file.
    """
    whole = slice(0, len(fitted.logits))
    calibrated = {name: fitted.logits_of(name, whole) for name in fitted.maps}

    def ranks(logits: Floats) -> Floats:
        both = np.concatenate([logits, -logits], axis=1) if symmetric else logits
        return distributions.ranks(both)

    raw = ranks(fitted.logits)
    return np.stack([_correlation(raw, ranks(logits)) for logits in calibrated.values()])


def _correlation(a: Floats, b: Floats) -> Floats:
    """Pearson's correlation of rows, 0 if a row is constant."""
    a, b = (x - x.mean(axis=1, keepdims=True) for x in (a, b))
    scale = np.sqrt(np.vecdot(a, a) * np.vecdot(b, b))
    return np.asarray(np.where(scale > 0.0, np.vecdot(a, b) / np.maximum(scale, 1e-300), 0.0))


def merge(votes: VoteMatrix, spec: CalibratorDesignSpec, partial: DesignTally) -> CalibratorDesign:
    """Return intervals from the splits so far, and shapes on all labelled items."""
    prepared = prepare(votes, spec.settings)
    totals, rho = partial.scores, partial.rho
    estimated = accumulate.Estimator.of(totals, prepared.ballots.units)
    grid = accumulate.grid_estimates(totals, estimated, rare=errs_rarely(prepared))
    levels: dict[str, Any] = {metric: level[:, :-1] for metric, level in grid.items()}
    rho_lo, rho_hi = np.quantile(rho, (0.025, 0.975), axis=0)
    # The points of the shapes span the scores of the labelled items, evenly in rank and in value,
    # and densely where raw probabilities change.
    ballots = prepared.ballots
    all_rows = np.arange(ballots.n_items)
    whole = Split(0, all_rows, all_rows[:0])
    recipe = replace(spec.recipe, ranking="accuracy")
    scores = recipe.scores(ballots, whole, np.array([ballots.n_judges]), (0, 9))
    fitted = calibrate(ballots, whole, scores, spec.calibrators, in_sample=spec.recipe.in_sample)
    seen, maps = scores.calibration[0], fitted.maps.values()
    ends = np.linspace(seen.min(), seen.max(), _SHAPE_POINTS // 2)
    steep = np.linspace(-6.0, 6.0, 49)  # The range in which the raw probability goes from 0 to 1.
    steep = steep[(steep > seen.min()) & (steep < seen.max())]
    logit = np.unique(np.concatenate([ends, np.quantile(seen, np.linspace(0, 1, 61)), steep]))
    shape = np.stack([np.clip(sigmoid(map_(logit[None, :])[0]), CLIP, 1 - CLIP) for map_ in maps])
    replaced = replaced_fits(spec.calibrators, totals)
    return CalibratorDesign.from_splits(
        prepared,
        spec,
        totals,
        k=spec.sizes(prepared.ballots.n_judges),
        **levels,
        rho=Interval(rho.mean(axis=0), rho_lo, rho_hi, unit=""),
        shape_logit=logit,
        shape_raw=sigmoid(logit),
        shape=shape,
        taken=tuple(map_.shape(0).kind for map_ in maps),
        warnings=run_warnings(prepared, totals, *replaced, allowed=True),
    )


CALIBRATOR_DESIGN: Study[CalibratorDesignSpec, DesignTally, CalibratorDesign] = Study(
    name="calibrator_design",
    title="What calibrators do",
    question="How does each calibrator treat the same scores?",
    run_chunk=run_chunk,
    merge=merge,
    settled=always,
)
