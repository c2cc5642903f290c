"""One split through the paper's four steps: aggregate, correct, calibrate, make conformal sets.

A column is a panel size; an additional column holds a constant score, which shows what features and
coding reveal without any judge. Every fit sees calibration rows only, and no calibrator sees a
score fitted to its own label: aggregated scores are leave-out or cross-fitted, and the residual
correction is cross-fitted again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregation import Aggregator, panel_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator, fit, sigmoid
from judgepanel.kernels.prefixes import N_FOLDS, PrefixScores, Ranking
from judgepanel.kernels.residual import (
    FeatureColumns,
    cross_fitted_residual,
    fit_encoder,
    fit_residual,
    rows_of,
)
from judgepanel.scoring.conformal import LEVELS, Kinds, nonconformity, set_kinds, threshold
from judgepanel.scoring.metrics import CLIP, mean_nll, null_logit
from judgepanel.scoring.splits import Split, fold_of, folds, subsplit

SLICE = 0.3
STEPS = ("1", "1-2", "1-3", "1-4", "1+3")
"""Aggregator; + residual correction; + calibrator; + conformal slice; calibrator alone."""
_RAW, _CORRECTED, _CALIBRATED, _SLICED, _ALONE = range(len(STEPS))


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The components of the steps; ``in_sample`` is the paper's protocol, see ``Recipe``."""

    aggregator: Aggregator = "one_coin"
    calibrator: Calibrator = "beta"
    ranking: Ranking = "accuracy"
    in_sample: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PipelineScores:
    """Evaluation rows of one split under every step.

    ``logits`` (n_k, n_steps, n_eval) are final logits in the order of ``STEPS``; step 1-4 is the
    pipeline of step 1-3 fitted without the conformal slice. ``kinds`` int8 (n_levels, n_k, n_eval)
    are its sets at ``LEVELS``, ``n_slice`` the number of items that set their thresholds.
    ``null_nll`` and ``constant_nll`` (n_steps,) are the NLL of the base rate and of a constant
    score. ``replaced`` (3,) counts panels that fall back to temperature for the correction, for the
    calibrator after it and for the calibrator alone.
    """

    logits: Floats
    kinds: Kinds
    n_slice: int
    null_nll: float
    constant_nll: Floats
    replaced: Ints


def evaluate_pipeline(
    ballots: Ballots,
    features: FeatureColumns | None,
    split: Split,
    ks: Ints,
    pipeline: Pipeline,
) -> PipelineScores:
    """Fit every step on the calibration rows of a split and score its evaluation rows.

    ``features`` are columns of ``ballots.n_items`` rows; ``ks`` are sorted panel sizes.

    Raises
    ------
    InputError
        Fewer than 3 calibration units, which a slice and two folds need.
    """
    key = (split.number, 9)
    whole = _steps(ballots, features, split, ks, pipeline, key)
    learn, hold = subsplit(
        ballots.units, split.calibration, fraction=1.0 - SLICE, seed=pipeline.seed, key=key
    )
    apart = Split(split.number, learn, np.concatenate([hold, split.evaluation]))
    sliced = _steps(ballots, features, apart, ks, pipeline, (*key, 1))
    final, cut = sliced.logits[:, _CALIBRATED], len(hold)
    logits = np.stack(
        [
            whole.logits[:, _RAW],
            whole.logits[:, _CORRECTED],
            whole.logits[:, _CALIBRATED],
            final[:, cut:],
            whole.logits[:, _ALONE - 1],
        ],
        axis=1,
    )
    signs = ballots.signs[split.evaluation].astype(np.float64)
    null = null_logit(
        float(np.mean(ballots.signs[split.calibration] > 0)), symmetric=ballots.symmetric
    )
    return PipelineScores(
        logits=logits[:-1],
        kinds=_sets(final[:-1], cut, ballots.signs[hold]),
        n_slice=len(hold),
        null_nll=float(mean_nll(np.full(len(signs), null), signs)),
        constant_nll=mean_nll(logits[-1], signs),
        replaced=whole.replaced + sliced.replaced,
    )


def _sets(logits: Floats, cut: int, signs: NDArray[np.int8]) -> Kinds:
    """Sets (n_levels, n_k, n) of the columns after ``cut``; columns before it set the thresholds.

    Sets use the clipped probability, which is the one that is displayed.
    """
    p = np.clip(sigmoid(logits), CLIP, 1.0 - CLIP)
    scores = nonconformity(p[:, :cut], (signs > 0).astype(np.int64))
    limits = [threshold(scores, level)[:, None] for level in LEVELS]
    return np.stack([set_kinds(p[:, cut:], limit, limit) for limit in limits])


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """Final logits (n_k + 1, 4, n_eval): raw, corrected, calibrated, calibrated without step 2."""

    logits: Floats
    replaced: Ints


def _steps(
    ballots: Ballots,
    features: FeatureColumns | None,
    split: Split,
    ks: Ints,
    pipeline: Pipeline,
    key: tuple[int, ...],
) -> _Steps:
    scores = panel_scores(
        ballots,
        split,
        ks,
        aggregator=pipeline.aggregator,
        ranking=pipeline.ranking,
        own_label="seen" if pipeline.in_sample else "removed",
        seed=pipeline.seed,
        key=(*key, 4),
    )
    calibration, evaluation = _with_constant(scores.calibration), _with_constant(scores.evaluation)
    signs = ballots.signs[split.calibration].astype(np.float64)
    weights = None if pipeline.in_sample else 1.0 - _with_constant(scores.calibration_empty)
    fold = _fold(ballots, split, scores, pipeline.seed, key)
    symmetric = ballots.symmetric
    own, new = rows_of(features, split.calibration), rows_of(features, split.evaluation)
    encoder = fit_encoder(own, len(signs))
    encoded = encoder.encode(own, len(signs))
    residual = fit_residual(calibration, signs, encoded, weights, symmetric=symmetric)
    corrected = residual(evaluation, encoder.encode(new, len(split.evaluation)))
    if pipeline.in_sample:
        seen = residual(calibration, encoded)
    else:
        seen = cross_fitted_residual(calibration, signs, own, fold, weights, symmetric=symmetric)
    behind, alone = (
        fit((pipeline.calibrator,), logits, signs, weights, symmetric=symmetric, fold=fold)[
            pipeline.calibrator
        ]
        for logits in (seen, calibration)
    )
    logits = np.stack([evaluation, corrected, behind(corrected), alone(evaluation)], axis=1)
    if not pipeline.in_sample:
        null = null_logit(float(np.mean(signs > 0)), symmetric=symmetric)
        empty = np.concatenate([scores.evaluation_empty, np.zeros((1, logits.shape[2]), bool)])
        logits = np.where(empty[:, None], null, logits)
    replaced = [int(part.replaced[:-1].sum()) for part in (residual, behind, alone)]
    return _Steps(logits, np.array(replaced))


def _with_constant(rows: Floats | NDArray[np.bool_]) -> Floats:
    """Return panels (n_k, n) with a row of zero scores appended."""
    return np.concatenate([rows.astype(np.float64), np.zeros((1, rows.shape[1]))])


def _fold(
    ballots: Ballots, split: Split, scores: PrefixScores, seed: int, key: tuple[int, ...]
) -> Ints:
    """Fold (n_cal,) of every calibration row: the aggregator's, if it was cross-fitted."""
    if scores.fold is not None:
        return scores.fold
    pieces = folds(ballots.units, split.calibration, N_FOLDS, seed=seed, key=(*key, 5))
    return fold_of(pieces, ballots.n_items)[split.calibration]
