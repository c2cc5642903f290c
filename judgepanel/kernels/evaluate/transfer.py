"""Transfer of a panel from source items to target items, with three calibration methods.

``plain`` calibrates on all source rows equally. ``stratified`` fits one calibrator for each stratum
of the source rows by disagreement, and a target row uses that of its own stratum. ``weighted``
weights source rows by how much they resemble the target (:mod:`kernels.evaluate.density_ratio`).
All three determine judge weights on the source rows alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.aggregate.aggregation import Aggregator, panel_scores
from judgepanel.kernels.aggregate.prefixes import PrefixScores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import Calibrator, fit
from judgepanel.kernels.evaluate.calibrated import Calibrated, calibrate
from judgepanel.kernels.evaluate.density_ratio import disagreement, importance, vote_summaries
from judgepanel.scoring.metrics import ItemScores, item_scores, mean_nll
from judgepanel.scoring.splits import Split

Method = Literal["plain", "stratified", "weighted"]
METHODS: tuple[Method, ...] = get_args(Method)
FEWEST_IN_STRATUM = 10
_ALL = slice(None)


@dataclass(frozen=True, slots=True)
class TransferRecipe:
    """How panels are built and transferred; ``in_sample`` is the paper's protocol.

    ``strata`` is the number of strata of the source rows; ``most`` bounds an importance weight, as
    a multiple of the mean.
    """

    aggregator: Aggregator = "one_coin"
    calibrators: tuple[Calibrator, ...] = ("beta",)
    strata: int = 2
    most: float = 10.0
    in_sample: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TargetScores:
    """The rows of one target under one source.

    ``scores`` has arrays (n_calibrators, n_methods, n_target); ``null_nll`` is the NLL of the
    source base rate, ``constant_nll`` (n_calibrators,) that of a constant score through the plain
    calibrator; ``effective`` is the effective number of weighted source rows, ``clipped`` the share
    of clipped weights; ``replaced`` (n_calibrators,) counts fits that fell back to temperature, of
    ``fits``: two plus one per stratum. ``kept`` of ``strata`` strata had too few source rows and
    use the plain fit.
    """

    scores: ItemScores
    null_nll: float
    constant_nll: Floats
    effective: float
    clipped: float
    replaced: Ints
    fits: int
    kept: int
    strata: int


@dataclass(frozen=True, slots=True, eq=False)
class _Stratified:
    """Logits (n_eval,) by calibrator from stratified fits.

    Fits ``replaced`` (n_calibrators,) and ``kept`` of ``strata`` strata are as in
    :class:`TargetScores`.
    """

    logits: Mapping[Calibrator, Floats]
    replaced: Ints
    kept: int
    strata: int


def transferred(
    ballots: Ballots,
    source: Split,
    targets: Sequence[Ints],
    recipe: TransferRecipe,
    key: tuple[int, ...],
) -> list[TargetScores]:
    """Fit on ``source.calibration`` and score each of the disjoint targets outside it.

    ``source.evaluation`` holds the rows of all targets together, in any order. Cross-fitting folds
    come from ``SeedSequence(recipe.seed, spawn_key=key)``.
    """
    scores = panel_scores(
        ballots,
        source,
        np.array([ballots.n_judges]),
        aggregator=recipe.aggregator,
        own_label="seen" if recipe.in_sample else "removed",
        seed=recipe.seed,
        key=key,
    )
    plain = _calibrated(ballots, source, scores, recipe)
    own = _by_stratum(ballots, source, scores, recipe, plain)
    place = np.full(ballots.n_items, -1)
    place[source.evaluation] = np.arange(len(source.evaluation))
    labels = ballots.signs[source.calibration].astype(np.float64)
    blank = np.zeros((1, len(labels)))
    constant = fit(recipe.calibrators, blank, labels, symmetric=ballots.symmetric)
    summaries = vote_summaries(ballots)
    target_scores = []
    for rows in targets:
        at = place[rows]
        near = importance(summaries[source.calibration], summaries[rows], most=recipe.most)
        weighted = _calibrated(ballots, source, scores, recipe, near.weights)
        logits = np.stack(
            [
                np.stack(
                    [_logits(plain, name)[at], own.logits[name][at], _logits(weighted, name)[at]]
                )
                for name in recipe.calibrators
            ]
        )
        signs = ballots.signs[rows].astype(np.float64)
        blank = np.zeros((1, len(rows)))
        target_scores.append(
            TargetScores(
                scores=item_scores(logits, signs, symmetric=ballots.symmetric),
                null_nll=float(mean_nll(np.full(len(rows), plain.null), signs)),
                constant_nll=np.array(
                    [
                        float(mean_nll(constant[name](blank), signs)[0])
                        for name in recipe.calibrators
                    ]
                ),
                effective=near.effective,
                clipped=near.clipped,
                replaced=own.replaced
                + sum(_replaced(calibrated, recipe) for calibrated in (plain, weighted)),
                fits=2 + own.strata - own.kept,
                kept=own.kept,
                strata=own.strata,
            )
        )
    return target_scores


def strata_of(split_votes: Floats, source: Ints, strata: int) -> Ints:
    """Return the stratum (n_items,) of every item, by quantiles of the source rows' disagreement.

    ``split_votes`` (n_items,) is the disagreement. Items outside the source's range belong to its
    first or last stratum.
    """
    inner = np.arange(1, strata) / strata
    cuts = np.unique(np.quantile(split_votes[source], inner)) if strata > 1 else np.zeros(0)
    return np.searchsorted(cuts, split_votes, side="left").astype(np.int64)


def _calibrated(
    ballots: Ballots,
    split: Split,
    scores: PrefixScores,
    recipe: TransferRecipe,
    weights: Floats | None = None,
) -> Calibrated:
    return calibrate(
        ballots,
        split,
        scores,
        recipe.calibrators,
        in_sample=recipe.in_sample,
        importance=weights,
    )


def _by_stratum(
    ballots: Ballots, source: Split, scores: PrefixScores, recipe: TransferRecipe, plain: Calibrated
) -> _Stratified:
    """Return calibrated logits under every calibrator, each row's from its own stratum.

    A stratum with fewer than ``FEWEST_IN_STRATUM`` source rows uses the plain fit.
    """
    stratum = strata_of(disagreement(ballots), source.calibration, recipe.strata)
    own, new = stratum[source.calibration], stratum[source.evaluation]
    by_name = {name: _logits(plain, name).copy() for name in recipe.calibrators}
    replaced = np.zeros(len(recipe.calibrators), dtype=np.int64)
    count, numbers = 0, np.unique(new)
    for number in numbers:
        inside, meant = own == number, new == number
        if np.count_nonzero(inside) < FEWEST_IN_STRATUM:
            count += 1
            continue
        part = replace(
            scores,
            calibration=scores.calibration[:, inside],
            calibration_empty=scores.calibration_empty[:, inside],
            evaluation=scores.evaluation[:, meant],
            evaluation_empty=scores.evaluation_empty[:, meant],
            fold=None if scores.fold is None else scores.fold[inside],
        )
        rows = Split(source.number, source.calibration[inside], source.evaluation[meant])
        inner = replace(_calibrated(ballots, rows, part, recipe), null=plain.null)
        for name in recipe.calibrators:
            by_name[name][meant] = _logits(inner, name)
        replaced += _replaced(inner, recipe)
    return _Stratified(by_name, replaced, count, len(numbers))


def _replaced(fitted: Calibrated, recipe: TransferRecipe) -> Ints:
    """1 for every calibrator (n_calibrators,) that fell back to temperature."""
    return np.array([int(fitted.maps[name].replaced.any()) for name in recipe.calibrators])


def _logits(fitted: Calibrated, name: Calibrator) -> Floats:
    return np.asarray(fitted.logits_of(name, _ALL)[0])
