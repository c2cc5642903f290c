"""Reliability of probabilities before and after calibration, out of sample.

Bins of confidence with counts of items, the slope and intercept of the stated log-odds, and the
expected calibration error compared with that of a perfectly calibrated panel by chance.

Cost per split: one evaluation of the panel. Memory: two numbers per evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats
from judgepanel.scoring import metrics
from judgepanel.scoring.interval import Interval
from judgepanel.studies.accumulate import RANGES
from judgepanel.studies.contract import Study, always, prepare
from judgepanel.studies.results import frozen, json_values, long_frame
from judgepanel.studies.trust import probabilities
from judgepanel.studies.trust.probabilities import CALIBRATED, RAW, STAGES, Evaluations, stacked
from judgepanel.votes import VoteMatrix

STATED_BINS = "stated"
"""Name of the bins centred on commonly stated confidences: 60 %, 70 %, 80 %, 90 %."""
ECE_BINS = (10, 15)
_DRAW_CELLS = 10_000_000
_DRAWS = (40, 400)


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of confidence, arrays (2, n_bins) over ``STAGES``; NaN where ``items`` is 0.

    ``edges`` (n_bins + 1,) lie in [.5, 1], or just below .5; ``items`` counts items, not
    evaluations, each once at most. ``confidence`` is the mean stated confidence, ``accuracy`` the
    share right, with 95 % intervals for new items and new panels.
    """

    name: str
    edges: Floats
    items: Floats
    confidence: Floats
    accuracy: Interval

    @property
    def n_bins(self) -> int:
        """Number of bins, including empty ones."""
        return len(self.edges) - 1


@frozen
class Reliability(probabilities.PanelResult):
    """Result of :data:`RELIABILITY`; arrays over (2,) stages are before and after calibration.

    ``slope`` and ``intercept`` (2,) are from the regression of labels on the stated logit, 1 and 0
    under calibration; NaN without a finite fit, the intercept also under ``symmetric``. Expected
    calibration errors are (2, n_ece_bins): ``ece`` over all items, with an interval,
    ``ece_corrected`` without the excess due to sampling of items, ``ece_null`` the mean and central
    95 % (not a confidence interval) for a perfectly calibrated panel, ``ece_p`` how often such a
    panel has at least this error. ``ece_split`` is the mean over single splits, with far fewer
    items each, and ``ece_split_null`` its chance level. ``nll`` and ``accuracy`` (2,) have 95 %
    intervals; ``null_nll`` is that of the base rate, ``constant_nll`` that of a constant score.
    """

    bins: tuple[Bins, ...]
    ece_bins: tuple[int, ...]
    ece: Interval
    ece_corrected: Floats
    ece_null: Interval
    ece_p: Floats
    ece_split: Floats
    ece_split_null: Floats
    slope: Interval
    intercept: Interval
    confidence: Floats
    accuracy: Interval
    nll: Interval
    null_nll: float
    constant_nll: float

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "bins": "Definition of the bins.",
        "from": "Lower edge of the bin of stated confidence.",
        "to": "Upper edge of the bin of stated confidence.",
        "items": "Number of items in the bin, mean over splits.",
        "confidence": "Mean stated confidence in the bin.",
        "accuracy": "Share of right decisions in the bin.",
    }

    def binned(self, name: str) -> Bins:
        """Return the bins with this name: ``10``, ``15``, ``stated``."""
        return next(bins for bins in self.bins if bins.name == name)

    def frame(self) -> pd.DataFrame:
        """Return one row per stage and non-empty bin, for every binning."""
        frames = [
            long_frame(
                {
                    "stage": np.array(STAGES)[:, None],
                    "aggregator": self.aggregator,
                    "calibrator": [["none"], [self.calibrator]],
                    "k": self.k,
                    "bins": bins.name,
                    "from": np.maximum(0.5, bins.edges[:-1]),
                    "to": bins.edges[1:],
                    "n_splits": self.n_splits,
                    "items": bins.items,
                    "confidence": bins.confidence,
                    "accuracy": bins.accuracy,
                    "gap": bins.accuracy.value - bins.confidence,
                }
            )
            for bins in self.bins
        ]
        frame = pd.concat(frames)
        return frame[frame["items"] > 0].reset_index(drop=True)

    def decisions(self) -> dict[str, Any]:
        """Return slope, intercept and calibration errors of both stages, with their null."""
        levels = ("slope", "intercept", "confidence", "accuracy", "nll")
        errors = ("ece", "ece_corrected", "ece_null", "ece_p", "ece_split", "ece_split_null")
        return {
            "stages": [
                {
                    **row,
                    "ece_by_bins": [
                        {
                            "bins": bins,
                            **json_values({name: getattr(self, name)[i, b] for name in errors}),
                        }
                        for b, bins in enumerate(self.ece_bins)
                    ],
                }
                for i, row in enumerate(self.records({"stage": STAGES}, *levels))
            ]
        }


@dataclass(frozen=True, slots=True)
class ReliabilitySpec(probabilities.PanelSpec):
    """Options of reliability: only the panel and its pipeline."""


def merge(
    votes: VoteMatrix, spec: ReliabilitySpec, partial: probabilities.OutOfSample
) -> Reliability:
    """Return bins, slope and errors from the splits so far."""
    prepared = prepare(votes, spec.settings)
    scored = probabilities.evaluations(partial, prepared)
    ways = {str(n): metrics.equal_width_edges(n) for n in ECE_BINS} | {
        STATED_BINS: np.array(metrics.STATED)
    }
    by_name = {
        name: Bins(name, edges, **stacked([_bins_of(scored, stage, edges) for stage in range(2)]))
        for name, edges in ways.items()
    }
    fitted = slopes(scored)
    notes = [
        f"No slope of the {name} probabilities can be fitted: they separate the labels perfectly, "
        "do not vary, or all labels are the same. It takes items of both labels on which the "
        "panel errs."
        for name, slope in zip(STAGES, fitted["slope"].value, strict=True)
        if not np.isfinite(slope)
    ]
    if scored.symmetric:
        notes.append(
            "Each item is used together with its swap, so the intercept is 0 by construction and "
            "only the slope says something."
        )
    nll = metrics.item_scores(scored.logits, scored.signs, symmetric=scored.symmetric).nll
    notes += _thin(by_name[str(ECE_BINS[0])])
    return Reliability.from_splits(
        prepared,
        spec,
        partial,
        k=spec.size(prepared.ballots.n_judges),
        bins=tuple(by_name.values()),
        ece_bins=ECE_BINS,
        **errors(scored, spec.settings.seed),
        **fitted,
        confidence=scored.mean(scored.confidence).value,
        accuracy=Interval.of(scored.score(scored.hit), "share").clip(*RANGES["accuracy"]),
        nll=Interval.of(scored.score(nll)).clip(*RANGES["nll"]),
        null_nll=float(scored.null_nll @ scored.per_split),
        warnings=(*probabilities.panel_notes(prepared, spec, partial), *notes),
    )


def _bins_of(scored: Evaluations, stage: int, edges: Floats) -> dict[str, Any]:
    codes, n = metrics.bin_of(scored.confidence[stage], edges), len(edges) - 1
    right, items = probabilities.shares(
        scored, probabilities.binned_sums(scored, scored.hit[stage], codes, n)
    )
    stated = scored.by_item(scored.confidence[stage], codes, n).sum(axis=1)
    with np.errstate(invalid="ignore"):
        mean = np.where(items > 0, stated / items, np.nan)
    return {"items": items, "confidence": mean, "accuracy": right}


def slopes(scored: Evaluations) -> dict[str, Any]:
    """Slope and intercept (2,) of both stages; NaN without a finite fit."""
    both = Interval.stacked([_slope_of(scored, stage) for stage in (RAW, CALIBRATED)], axis=1)
    return {"slope": both[0], "intercept": both[1]}


def _slope_of(scored: Evaluations, stage: int) -> Interval:
    """Slope and intercept of one stage."""
    weights = 1.0 / scored.times[scored.item]
    fit = metrics.recalibrate(
        scored.logits[stage], scored.signs, weights, symmetric=scored.symmetric
    )
    if fit is None:
        return Interval.full(2, np.nan, "")
    value = np.array([fit.slope, fit.intercept])
    estimated = scored.mean(fit.influence + value[:, None])
    return Interval(value, estimated.lo, estimated.hi, unit="").where([True, not scored.symmetric])


def errors(scored: Evaluations, seed: int) -> dict[str, Any]:
    """Expected calibration errors (2, n_ece_bins) and their size by chance."""
    return stacked(
        [stacked([_error(scored, stage, n, seed) for n in ECE_BINS]) for stage in (RAW, CALIBRATED)]
    )


def _error(scored: Evaluations, stage: int, n_bins: int, seed: int) -> dict[str, Any]:
    edges = metrics.equal_width_edges(n_bins)
    codes, n = metrics.bin_of(scored.confidence[stage], edges), len(edges) - 1
    difference = scored.hit[stage] - scored.confidence[stage]
    sums = probabilities.binned_sums(scored, difference, codes, n)
    gaps, items = probabilities.ratios(scored, sums)
    share = items / items.sum()
    signed = scored.mean((np.sign(gaps.value)[codes] * difference)[None])
    ece = share @ np.abs(gaps.value)
    by_chance = metrics.excess_gap(gaps.value, probabilities.item_errors(scored, sums))
    excess = np.where(items > 0, by_chance, 0.0)
    by_split = np.bincount(
        scored.split * n + codes, scored.per_split * difference, n * scored.n_splits
    )
    draws = int(np.clip(_DRAW_CELLS // len(codes), *_DRAWS))
    grouped = len(np.unique(scored.units)) < scored.n_items
    shared = metrics.shared_luck(scored.by_item(difference)[0], scored.units) if grouped else None
    p = scored.p[stage]
    null, single = (
        metrics.chance_errors(
            p, cells, scored.item, weights, n_cells=n_cells, draws=number, seed=seed, shared=shared
        )
        for cells, n_cells, weights, number in (
            (codes, n, 1.0 / (scored.n_items * scored.times[scored.item]), draws),
            (scored.split * n + codes, n * scored.n_splits, scored.per_split, _DRAWS[0]),
        )
    )
    lo, hi = np.quantile(null, (0.025, 0.975))
    return {
        "ece": Interval(ece, signed.lo[0], signed.hi[0], unit="").clip(0.0, 1.0),
        "ece_corrected": max(0.0, ece - share @ excess) if np.isfinite(excess).all() else np.nan,
        "ece_null": Interval.single(null.mean(), lo, hi, unit=""),
        "ece_p": (1.0 + np.count_nonzero(null >= ece)) / (1.0 + draws),
        "ece_split": np.abs(by_split).sum(),
        "ece_split_null": single.mean(),
    }


def _thin(bins: Bins) -> list[str]:
    """Return notes on bins with too few items."""
    items = bins.items[-1]
    thin = (items > 0) & (items < probabilities.FEW_ITEMS)
    if not thin.any():
        return []
    names = [
        f"{100 * max(0.5, bins.edges[b]):.0f}-{100 * bins.edges[b + 1]:.0f} %"
        for b in np.flatnonzero(thin)
    ]
    listed = ", ".join(names[:2]) + " and others" * (len(names) > 2)
    return [
        f"After calibration some bins have fewer than {probabilities.FEW_ITEMS} items, and their "
        f"shares say little: {listed}. Only more labelled items would help."
    ]


RELIABILITY: Study[ReliabilitySpec, probabilities.OutOfSample, Reliability] = Study(
    name="reliability",
    title="Reliability",
    question="Can the probabilities be believed?",
    run_chunk=probabilities.run_chunk,
    settled=always,
    merge=merge,
)
