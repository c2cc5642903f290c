"""Selective prediction: accuracy when only confident items are answered.

The null is answering everything: an uninformative confidence has that accuracy at every share.
Items are ranked by the size of the logit, which has the order of the confidence without ties at the
clip. A calibrator that preserves the order of the scores therefore changes no curve within a split,
only which items reach a stated confidence.

How often a choice is sure of its decision on new items, and right when it is.

A decision is sure if its stated confidence max(p, 1 - p) is at least ``SURE``, as in the study
:mod:`judgepanel.studies.trust.selective`, whose intervals these are too. Only sums over splits are
kept, so a file of any size can be measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.scoring.conformal import answered, auac_values, ranked
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies import accumulate, contract, options, results
from judgepanel.studies.trust.probabilities import (
    STAGES,
    Evaluations,
    Means,
    OutOfSample,
    PanelResult,
    PanelSpec,
    Sums,
    evaluations,
    panel_notes,
    run_chunk,
    share_intervals,
    shares,
    stacked,
    weighted_sums,
)
from judgepanel.votes import VoteMatrix

SHARES = np.arange(1, 21) / 20.0


@results.frozen
class Selective(PanelResult):
    """Result of :data:`SELECTIVE`; the first axis is ``STAGES``, before and after calibration.

    ``curve`` (2, n_shares) is the accuracy among the most confident ``shares`` of the items,
    ``auac`` (2,) the area under it and ``gain`` (2,) = AUAC - accuracy of answering everything, 0
    for an uninformative confidence. ``gain_most`` (2,) is the gain of a confidence that ranks every
    right decision above every wrong one. ``share`` (2, n_confidences) of the items have at least
    the confidence ``confidences``, ``right`` of those answers are right, ``stated`` is their mean
    confidence and ``items`` their number; NaN if there are none. ``accuracy`` (2,) is that of
    answering everything; ``null_accuracy`` that of the majority label of the calibration items, .5
    under ``symmetric``. Intervals are 95 % intervals for new items and panels.
    """

    shares: Floats
    curve: Interval
    auac: Interval
    gain: Interval
    gain_most: Floats
    accuracy: Interval
    null_accuracy: float
    confidences: tuple[float, ...]
    share: Interval
    right: Interval
    stated: Floats
    items: Floats

    COLUMNS: ClassVar[Mapping[str, str]] = {
        "by": "Whether the threshold is a confidence or a share of the items.",
        "limit": "Lowest confidence at which an item is answered, or share answered.",
        "share": "Share of the items that are answered.",
        "right": "Share of the answers that are right.",
        "stated": "Mean stated confidence of the answers.",
        "items": "Number of items answered, mean over splits.",
    }

    def frame(self) -> pd.DataFrame:
        """Return one row per stage and threshold: ``by`` confidence (at least) or share (top)."""
        limits = (*self.confidences, *self.shares.tolist())
        by = ["confidence"] * len(self.confidences) + ["share"] * len(self.shares)
        asked = Interval.alone(np.broadcast_to(self.shares, self.curve.shape))
        return results.long_frame(
            {
                "stage": np.array(STAGES)[:, None],
                "aggregator": self.aggregator,
                "calibrator": [["none"], [self.calibrator]],
                "k": self.k,
                "n_splits": self.n_splits,
                "by": by,
                "limit": limits,
                "share": Interval.joined([self.share, asked], axis=1),
                "right": Interval.joined([self.right, self.curve], axis=1),
                "stated": np.concatenate([self.stated, asked.lo], axis=1),
                "items": np.concatenate([self.items, asked.value * self.n_items], axis=1),
            }
        )

    def decisions(self) -> dict[str, Any]:
        """AUAC, its gain and accuracy of both stages, with intervals."""
        return {"stages": self.records({"stage": STAGES}, "auac", "gain", "accuracy", "gain_most")}


@dataclass(frozen=True, slots=True)
class SelectiveSpec(PanelSpec):
    """Options of selective prediction; ``confidences`` are the thresholds of the table.

    Raises
    ------
    InputError
        As for the panel; a confidence outside [.5, 1).
    """

    confidences: tuple[float, ...] = options.option(
        (0.6, 0.7, 0.8, 0.9, 0.95, 0.99),
        "answer items with at least this stated confidence",
        check=options.valid(
            "a confidence is out of range", lambda limit: 0.5 <= limit < 1.0, "[0.5, 1)"
        ),
    )


def merge(votes: VoteMatrix, spec: SelectiveSpec, partial: OutOfSample) -> Selective:
    """Return the curve, its area and the table from the splits so far."""
    prepared = contract.prepare(votes, spec.settings)
    scored = evaluations(partial, prepared)
    limits = tuple(sorted(set(spec.confidences)))
    # Accuracy of always predicting the majority label of the calibration items.
    guess = np.repeat(partial.null >= 0, partial.n_evaluation)
    guessed = float(scored.by_item((guess == (scored.signs > 0)).astype(np.float64)).mean())
    return Selective.from_splits(
        prepared,
        spec,
        partial,
        k=spec.size(prepared.ballots.n_judges),
        shares=SHARES,
        confidences=limits,
        **stacked(
            [
                {
                    "curve": curve(scored, stage),
                    **areas(scored, stage),
                    **answered_at(scored, stage, limits),
                }
                for stage in range(len(STAGES))
            ]
        ),
        null_accuracy=0.5 if scored.symmetric else guessed,
        warnings=tuple(panel_notes(prepared, spec, partial)),
    )


def curve(scored: Evaluations, stage: int) -> Interval:
    """Accuracy among the most confident ``SHARES``, by influence values."""
    shape = (len(SHARES), scored.n_items)
    right, inside = np.zeros(shape), np.zeros(shape)
    right_s, inside_s = (np.zeros((len(SHARES), scored.n_splits)) for _ in range(2))
    for number, rows in _splits(scored):
        remaining = answered(ranked(np.abs(scored.logits[stage, rows])), SHARES)
        items, hit = scored.item[rows], scored.hit[stage, rows]
        inside[:, items] += remaining
        right[:, items] += remaining * hit
        inside_s[:, number] = remaining.mean(axis=1)
        right_s[:, number] = (remaining * hit).mean(axis=1)
    inside, right = inside / scored.times, right / scored.times
    share = inside.mean(axis=1)
    local = _local(right.mean(axis=1), share)[:, None]
    fitted = scored.estimated(
        (right - local * inside) / share[:, None] + local,
        (right_s - local * inside_s) / share[:, None] + local,
    )
    return _accuracies(scored, fitted.value, fitted.se, share * scored.n_items)


def _accuracies(scored: Evaluations, value: Floats, se: Floats, items: Floats) -> Interval:
    """Accuracies (n,) among ``items`` items; if all or none are right, groups are counted."""
    return share_intervals(
        scored, value, se, items * len(np.unique(scored.units)) / scored.n_items, items
    )


def _local(right: Floats, share: Floats) -> Floats:
    """Accuracy of the items around each threshold, which a shift of it would add."""
    right, share = np.append(0.0, right), np.append(0.0, share)
    ahead = np.append(np.arange(2, len(share)), len(share) - 1)
    behind = np.arange(len(share) - 1)
    slope = (right[ahead] - right[behind]) / (share[ahead] - share[behind])
    return np.asarray(np.clip(slope, 0.0, 1.0))


def areas(scored: Evaluations, stage: int) -> dict[str, Any]:
    """AUAC, accuracy and their difference, with intervals, and the largest possible difference."""
    hit = scored.hit[stage]
    values = np.empty((3, len(hit)))
    most = np.empty(scored.n_splits)
    for number, rows in _splits(scored):
        values[0, rows] = auac_values(ranked(np.abs(scored.logits[stage, rows])), hit[rows])
        most[number] = auac_values(ranked(hit[rows]), hit[rows]).mean() - hit[rows].mean()
    values[1], values[2] = hit, values[0] - hit
    fitted = scored.mean(values)
    levels = _accuracies(scored, fitted.value[:2], fitted.se[:2], np.full(2, float(scored.n_items)))
    return {
        "auac": levels[0],
        "accuracy": levels[1],
        "gain": Interval.of(fitted, "share")[2].clip(-1.0, 1.0),
        "gain_most": most.mean(),
    }


def answered_at(scored: Evaluations, stage: int, limits: tuple[float, ...]) -> dict[str, Any]:
    """Share answered at every stated confidence, and share of it that is right."""
    inside = (scored.confidence[stage] >= np.array(limits)[:, None]).astype(np.float64)
    ones = np.ones((1, inside.shape[1]))
    right, items = shares(scored, weighted_sums(scored, scored.hit[stage], inside))
    stated, _ = shares(scored, weighted_sums(scored, scored.confidence[stage], inside))
    return {
        "share": Interval.joined(
            shares(scored, weighted_sums(scored, row, ones))[0] for row in inside
        ),
        "right": right,
        "stated": stated.value,
        "items": items,
    }


def _splits(scored: Evaluations) -> list[tuple[int, slice]]:
    """Return the number and evaluations of every split."""
    ends = np.cumsum(scored.sizes)
    bounds = enumerate(zip(ends, scored.sizes, strict=True))
    return [(number, slice(int(end - size), int(end))) for number, (end, size) in bounds]


SELECTIVE: contract.Study[SelectiveSpec, OutOfSample, Selective] = contract.Study(
    name="selective",
    title="Selective prediction",
    question="What is gained by answering only where the panel is sure?",
    run_chunk=run_chunk,
    settled=contract.always,
    merge=merge,
)


SURE = 0.9
_ROUNDING = 1e-9


@results.frozen
class SureSums:
    """Sure decisions of R choices in the splits ``numbers`` (S,), and those of them that are right.

    ``items`` uint16 (2, R, N) counts them by item, ``splits`` (S, 2, R) are shares by split.
    """

    numbers: Ints = results.by_split()
    splits: Floats = results.by_split()
    items: NDArray[np.uint16] = results.summed()


def sure_decisions(nll: Floats) -> Bools:
    """Which decisions with these NLL (R, n) are sure, and which are sure and right: (2, R, n)."""
    decided = np.empty((2, *nll.shape), dtype=bool)
    for losses, sure, right in zip(nll, *decided, strict=True):
        p_true = np.exp(-losses)
        np.greater_equal(np.maximum(p_true, 1.0 - p_true), SURE - _ROUNDING, out=sure)
        np.logical_and(sure, p_true > 0.5, out=right)
    return decided


def sure_sums(n_items: int, decided: list[tuple[Split, Bools]]) -> SureSums:
    """Return the sums of some splits from the :func:`sure_decisions` of the choices in each."""
    items = np.zeros((2, decided[0][1].shape[1], n_items), dtype=np.uint16)
    for drawn, sure in decided:
        items[:, :, drawn.evaluation] += sure
    numbers = np.array([drawn.number for drawn, _ in decided])
    return SureSums(numbers, np.array([sure.mean(axis=-1) for _, sure in decided]), items)


def sure_levels(sums: SureSums, tally: accumulate.Tally, units: Ints) -> tuple[Interval, Interval]:
    """Return the share (R,) of items with a sure decision, and the share of them that is right.

    The second is NaN where no decision is sure.
    """
    seen = tally.evaluated > 0
    scored = Means(units[seen], tally.n_evaluation, float(tally.n_calibration.mean()))
    inside, right = np.asarray(sums.items[:, :, seen] / tally.evaluated[seen])
    inside_splits, right_splits = np.moveaxis(sums.splits, 0, -1)
    ones = np.ones((1, inside.shape[1])), np.ones((1, scored.n_splits))
    levels = zip(inside, inside_splits, strict=True)
    sure = [shares(scored, Sums(items[None], splits[None], *ones))[0] for items, splits in levels]
    return Interval.joined(sure), shares(scored, Sums(right, right_splits, inside, inside_splits))[
        0
    ]
