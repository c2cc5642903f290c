"""Pipeline ablation: the effect of steps 1, 1-2, 1-3 and 1-4, out of sample.

Step 1 aggregates, 2 corrects the residual bias (with item features if the votes have any), 3
calibrates, 4 holds out a slice of the calibration rows for conformal sets. The calibrator without
step 2 is included for comparison. All are fitted to all judges and to the top few.

Cost per split: two fits of the aggregator, twelve of the correction and four of the calibrator,
each for all panels at once.

Result of the pipeline ablation: figures by panel and step, and sets by level and panel.

Sets of many splits are summed exactly, and their shares have intervals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import aggregation, calibration, prefixes, residual
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluation import SLICE, STEPS, PipelineScores, evaluate_pipeline
from judgepanel.scoring import conformal, metrics
from judgepanel.scoring.interval import Interval, Unit
from judgepanel.scoring.splits import Split
from judgepanel.studies import codec, common
from judgepanel.studies.accumulate import Arms, Estimator, Tally, grid_estimates, tally
from judgepanel.studies.contract import Chunk, Prepared, Study, prepare, steady
from judgepanel.studies.options import StudySpec, check_panels, option
from judgepanel.studies.panel.recommended import BestPanels
from judgepanel.studies.results import (
    NllResult,
    by_split,
    column,
    derived,
    frozen,
    long_frame,
    summed,
)
from judgepanel.votes import VoteMatrix
from judgepanel.votes.matrix import BALANCED_SHARE

STEP_WORDS = {
    "1": "aggregator",
    "1-2": "+ residual correction",
    "1-3": "+ calibrator",
    "1-4": "+ conformal sets",
    "1+3": "calibrator without step 2",
}
SHARE_NAMES = ("neither", "only_0", "only_1", "both")
BEFORE = {"1": "1", "1-2": "1", "1-3": "1-2", "1-4": "1-3", "1+3": "1"}
"""The step with which each one is compared."""
_WHOLE = 2
_COVERED = 4


@frozen
class PipelineAblation(NllResult):
    """Result of the study ``pipeline_ablation``.

    Arrays are (n_panels, n_steps) in the order of ``k`` and ``steps``. NLL is in nats per item,
    Brier, ECE and accuracy in [0, 1], with 95 % intervals for new items (of ECE: the central 95 %
    of splits). ``delta`` is NLL(step) - NLL(the step it builds on), below 0 if it helps;
    ``residual_delta`` (n_panels,) is NLL(1-3) - NLL(1+3), the effect of step 2 before the same
    calibrator. Sets are (n_levels, n_panels): ``coverage`` and ``size`` in [0, 2] with intervals,
    and ``shares`` (n_levels, n_panels, 4) of ``SET_NAMES``. ``constant_nll`` (n_steps,) is the NLL
    of a constant score instead of votes, with the same features.
    """

    k: Ints = column(axis=-2, key=True)
    steps: tuple[str, ...] = column("Step of the pipeline.", name="step", key=True)
    aggregator: str = column(key=True)
    calibrator: str
    features: tuple[str, ...]
    nll: Interval = column()
    brier: Interval = column()
    accuracy: Interval = column()
    ece: Interval = column()
    delta: Interval = column(
        "NLL of the step minus that of the step it builds on; below 0 it helps."
    )
    residual_delta: Interval
    levels: tuple[float, ...]
    coverage: Interval
    size: Interval
    shares: Floats
    n_slice: float
    null_nll: float = column()
    constant_nll: Floats = column()
    n_judges: int
    n_calibration: float

    @derived(name="calibrator", key=True)
    def calibrators(self) -> list[str]:
        """Calibrator of every step."""
        return ["none" if step in ("1", "1-2") else self.calibrator for step in self.steps]

    def frame(self) -> pd.DataFrame:
        """Return one row per panel and step; sets are in the rows of step 1-4."""
        # Figures of the sets (n_panels, n_steps), named by level.
        with_sets = np.array(self.steps) == "1-4"
        sets: dict[str, Any] = {}
        for row, level in enumerate(self.levels):
            percent = round(100 * level)
            sets[f"coverage_{percent}"] = self.coverage[row, :, None].where(with_sets)
            sets[f"size_{percent}"] = self.size[row, :, None].where(with_sets)
            for name, share in zip(SHARE_NAMES, self.shares[row].T, strict=True):
                sets[f"share_{percent}_{name}"] = np.where(with_sets, share[:, None], np.nan)
        return pd.concat([NllResult.frame(self), long_frame(sets)], axis=1)

    def decisions(self) -> dict[str, Any]:
        """Return the effect of each step for all judges, and the sets of step 4."""
        names = {"value": "coverage", "lo": "coverage_lo", "hi": "coverage_hi"}
        table = self.frame()[-len(self.steps) :]
        steps = table[["step", "nll", "skill", "delta", "delta_lo", "delta_hi"]]
        sets = [
            {"level": level}
            | {name: getattr(self.coverage, end)[i, -1] for end, name in names.items()}
            | {
                "size": self.size.value[i, -1],
                "shares": dict(zip(conformal.SET_NAMES, self.shares[i, -1], strict=True)),
            }
            for i, level in enumerate(self.levels)
        ]
        return {
            "features": list(self.features),
            "steps": codec.to_plain(steps.to_dict("records")),
            "sets": codec.to_plain(sets),
        }


@frozen
class SetTally:
    """Sets of S splits at L levels under C panels.

    ``item_sums`` int64 (L, C, 5, N) counts, for every item, its sets of each kind and those that
    hold its label, in halves; ``split_sums`` (S, L, C, 5) are the same over the items of a split.
    Under ``symmetric`` a set of one label counts as half {0} and half {1}: one for the item and one
    for its swap.
    """

    numbers: Ints = by_split()
    n_slice: Ints = by_split()
    split_sums: Ints = by_split()
    item_sums: Ints = summed()


def tally_sets(scored: Iterable[tuple[Split, PipelineScores]], ballots: Ballots) -> SetTally:
    """Count the sets of these splits, at least one."""
    numbers, n_slice, split_sums = [], [], []
    item_sums: Ints = np.zeros(0, dtype=np.int64)
    for split, scores in scored:
        labels = (ballots.signs[split.evaluation] > 0).astype(np.int64)
        # (L, C, 5, n): the kind of every set and whether it covers, in units of one half.
        counts = np.stack([_WHOLE * (scores.kinds == kind) for kind in range(_COVERED)], axis=2)
        if ballots.symmetric:
            single = (counts[:, :, conformal.ZERO] + counts[:, :, conformal.ONE]) // 2
            counts[:, :, conformal.ZERO] = counts[:, :, conformal.ONE] = single
        held = _WHOLE * conformal.covers(scores.kinds, labels)
        counts = np.concatenate([counts, held[:, :, None]], axis=2).astype(np.int64)
        if not item_sums.size:
            item_sums = np.zeros((*counts.shape[:-1], ballots.n_items), dtype=np.int64)
        item_sums[..., split.evaluation] += counts
        numbers.append(split.number)
        n_slice.append(scores.n_slice)
        split_sums.append(counts.sum(axis=-1))
    return SetTally(np.array(numbers), np.array(n_slice), np.array(split_sums), item_sums)


def set_estimates(sets: SetTally, estimated: Estimator, tally: Tally) -> dict[str, Any]:
    """Fields ``coverage`` and ``size``, intervals (L, C), and ``shares`` (L, C, 4).

    Intervals are for new items (docs/inference.md), NaN from a single split.
    """
    seen = tally.evaluated > 0
    items = sets.item_sums[..., seen] / (_WHOLE * tally.evaluated[seen])
    splits = sets.split_sums / (_WHOLE * tally.n_evaluation[:, None, None, None])
    shares = items.mean(axis=-1)[..., :_COVERED]

    def measured(weight: Floats, unit: Unit) -> Interval:
        per_item = np.einsum("lckn,k->lcn", items, weight)
        per_split = splits @ weight
        rows = per_item.reshape(-1, per_item.shape[-1])
        fitted = estimated(rows, per_split.reshape(len(splits), -1))
        return Interval.of(fitted, unit).reshape(*per_item.shape[:2]).clip(0.0, weight.max())

    return {
        "coverage": measured(np.array([0, 0, 0, 0, 1.0]), "share"),
        "size": measured(np.array([0, 1.0, 1.0, 2.0, 0]), "count"),
        "shares": shares,
    }


@dataclass(frozen=True, slots=True)
class PipelineAblationSpec(StudySpec, BestPanels):
    """Options of the ablation; ``panels`` are sizes besides all judges.

    ``features`` None uses every item feature of the votes, () none.

    Raises
    ------
    InputError
        An unknown aggregator, calibrator or ranking, or a panel below 1.
    """

    aggregator: aggregation.Aggregator = option("one_coin")
    calibrator: calibration.Calibrator = option("beta", "the calibrator of step 3")
    ranking: prefixes.Ranking = option("accuracy")
    panels: tuple[int, ...] = option((5, 10), "panel sizes besides all judges", check=check_panels)
    features: tuple[str, ...] | None = option(
        None, "item features for the correction (default: all)"
    )


@frozen
class AblationTally:
    """Scores of the steps, and the sets of step 4, for the same splits."""

    scores: Tally
    sets: SetTally


def features_of(
    prepared: Prepared, names: tuple[str, ...] | None
) -> residual.FeatureColumns | None:
    """Return the features of the labelled items, all or those named; None if there are none.

    Raises
    ------
    InputError
        A feature that the votes do not have.
    """
    columns = common.item_features(prepared, *(names or ()))
    if names is None:
        return None if features_leak(prepared) else columns or None
    return {name: columns[name] for name in names} or None


def features_leak(prepared: Prepared) -> bool:
    """Whether a feature could reveal which response of a pair is the right one.

    Under ``symmetric`` a feature must not change with the swap, but a file does not say whether it
    belongs to the item or to one of the responses (such as a length). If labels are lopsided, the
    order of the responses reveals the label, and such a feature would reveal it to the correction.
    """
    oriented = prepared.oriented
    return oriented.symmetric and oriented.votes.minority_share < BALANCED_SHARE


def run_chunk(votes: VoteMatrix, spec: PipelineAblationSpec, chunk: Chunk) -> AblationTally:
    """Evaluate the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots, settings = prepared.ballots, spec.settings
    features, ks = features_of(prepared, spec.features), spec.sizes(ballots.n_judges)
    results = [
        (split, evaluate_pipeline(ballots, features, split, ks, spec.recipe))
        for split in common.splits_of(prepared, settings, chunk)
    ]
    arms = ((entry, _arms(result, prepared, entry.evaluation)) for entry, result in results)
    scores = tally(arms, n_items=ballots.n_items, seed=settings.seed)
    return AblationTally(scores, tally_sets(results, ballots))


def _arms(pipeline_scores: PipelineScores, prepared: Prepared, evaluation: Ints) -> Arms:
    """Return panels as pipelines and steps as arms, without a choice among them."""
    ballots = prepared.ballots
    signs = ballots.signs[evaluation].astype(np.float64)
    scores = metrics.item_scores(pipeline_scores.logits, signs, symmetric=ballots.symmetric)
    return Arms.gathered(
        partial(getattr, scores),
        null_nll=pipeline_scores.null_nll,
        constant_nll=pipeline_scores.constant_nll,
        replaced=pipeline_scores.replaced,
    )


def merge(
    votes: VoteMatrix, spec: PipelineAblationSpec, partial: AblationTally
) -> PipelineAblation:
    """Return intervals from the splits so far."""
    prepared = prepare(votes, spec.settings)
    ballots, totals, sets = prepared.ballots, partial.scores, partial.sets
    estimated = Estimator.of(totals, ballots.units)
    grid = grid_estimates(totals, estimated)
    levels: dict[str, Any] = {metric: level[:, :-1] for metric, level in grid.items()}
    pairs = [(STEPS.index(step), STEPS.index(BEFORE[step])) for step in STEPS]
    behind = [(STEPS.index("1-3"), STEPS.index("1+3"))]
    leaks = bool(spec.features) and features_leak(prepared)
    warnings = _feature_notes(prepared, spec, totals)
    fits = 2 * totals.item_sums.shape[1] * len(totals.numbers)
    parts = ("The residual correction", f"{spec.calibrator} behind it", f"{spec.calibrator} alone")
    warnings += common.stand_ins(parts, totals.replaced.tolist(), fits)
    for level in conformal.LEVELS:
        needed = conformal.labels_needed(level)
        short = int((sets.n_slice < needed).sum())
        if short:
            warnings.append(
                f"In {short} of {len(sets.n_slice)} splits the conformal slice ({SLICE:.0%} of the "
                f"calibration labels) is smaller than the {needed} labels that sets at "
                f"{level:.0%} need: every set is {{0, 1}} there."
            )
    return PipelineAblation.from_splits(
        prepared,
        spec,
        totals,
        measures_coding=prepared.oriented.measures_coding or leaks,
        k=spec.sizes(ballots.n_judges),
        steps=STEPS,
        features=tuple(features_of(prepared, spec.features) or ()),
        **levels,
        delta=_differences(totals, estimated, pairs),
        residual_delta=_differences(totals, estimated, behind)[:, 0],
        levels=conformal.LEVELS,
        **set_estimates(sets, estimated, totals),
        n_slice=float(sets.n_slice.mean()),
        warnings=common.run_warnings(prepared, totals, *warnings),
    )


def _differences(totals: Tally, estimated: Estimator, pairs: list[tuple[int, int]]) -> Interval:
    """NLL(first) - NLL(second) of every panel and pair of steps, (n_panels, n_pairs)."""
    item_means, _ = totals.item_means()
    first, second = (np.array(positions) for positions in zip(*pairs, strict=True))
    delta = item_means[0][:, first] - item_means[0][:, second]
    split_nll = totals.split_means[:, 0]
    moves = split_nll[:, :, first] - split_nll[:, :, second]
    shape = delta.shape[:2]
    fitted = estimated(delta.reshape(-1, delta.shape[-1]), moves.reshape(len(moves), -1))
    return Interval.of(fitted).reshape(*shape)


def _feature_notes(prepared: Prepared, spec: PipelineAblationSpec, totals: Tally) -> list[str]:
    """Return notes on actual, possible and impossible effects of the features."""
    used = features_of(prepared, spec.features)
    notes = []
    if used is None:
        plain = "temperature scaling" if prepared.ballots.symmetric else "Platt scaling"
        notes.append(f"No item features are used, so step 2 is {plain}.")
        if spec.features is None and features_leak(prepared):
            notes.append(
                "Labels are lopsided, so a feature of one of the two responses would tell which "
                "is right. Features are used only where they are named, and then rightly only "
                "where they stay the same when the responses are swapped."
            )
        return notes
    if features_leak(prepared):
        notes.append(
            "Labels are lopsided: if one of the features belongs to one of the two responses, "
            "these figures measure the coding, not the judges."
        )
    alone = float(totals.constant_nll[:, STEPS.index("1-2")].mean())
    null = float(totals.null_nll.mean())
    if alone < 0.98 * null:
        notes.append(
            f"The item features alone, without any judge, get NLL {alone:.3f} (base rate "
            f"{null:.3f}): part of what step 2 gains is theirs."
        )
    return notes


PIPELINE_ABLATION: Study[PipelineAblationSpec, AblationTally, PipelineAblation] = Study(
    name="pipeline_ablation",
    title="The pipeline step by step",
    question="What does each step of the pipeline add?",
    run_chunk=run_chunk,
    merge=merge,
    settled=steady(
        merge, lambda result: [(result.delta[-1], 0.0), (result.residual_delta[-1], 0.0)]
    ),
)
