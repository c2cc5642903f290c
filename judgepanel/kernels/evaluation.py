"""One split from ballots to scores: rank, aggregate, calibrate, evaluate, for every prefix k.

The single path that studies, the recommendation and the benchmarks go through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import CalibrationFit, Calibrator, fit
from judgepanel.kernels.prefixes import Aggregator, Floats, Index, Ranking, prefix_scores
from judgepanel.scoring.metrics import ItemScores, item_scores, null_logit
from judgepanel.scoring.splits import Split


@dataclass(frozen=True, slots=True)
class Recipe:
    """How every panel of a split is built.

    ``in_sample`` is the paper's protocol: calibrators see scores that know their own label, and an
    item without votes passes through the calibrator as a logit of 0. Otherwise own labels are
    removed, and an item without votes gets the null prediction.
    """

    aggregator: Aggregator = "one_coin"
    calibrators: tuple[Calibrator, ...] = ("none", "temperature", "beta")
    ranking: Ranking = "accuracy"
    in_sample: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SplitScores:
    """Scores of one split.

    ``evaluation[name]`` scores the evaluation rows (n_k, n_eval) under each calibrator;
    ``calibration_nll[name]`` (n_k,) is the mean NLL on the rows the calibrator was fitted to, from
    scores without their own label: what a choice of k may look at. ``null_nll`` and
    ``constant_nll[name]`` score the base rate, and a constant score through the same calibrator.
    """

    evaluation: Mapping[Calibrator, ItemScores]
    calibration_nll: Mapping[Calibrator, Floats]
    maps: Mapping[Calibrator, CalibrationFit]
    order: Index
    null_nll: float
    constant_nll: Mapping[Calibrator, float]


def evaluate_split(ballots: Ballots, split: Split, ks: Index, recipe: Recipe) -> SplitScores:
    """Fit on the calibration rows of a split and score its evaluation rows, for all ``ks``."""
    scores = prefix_scores(
        ballots,
        split.calibration,
        split.evaluation,
        ks,
        aggregator=recipe.aggregator,
        ranking=recipe.ranking,
        own_label="seen" if recipe.in_sample else "removed",
    )
    fit_signs = ballots.signs[split.calibration].astype(np.float64)
    eval_signs = ballots.signs[split.evaluation].astype(np.float64)
    null = null_logit(float(np.mean(fit_signs > 0)), symmetric=ballots.symmetric)
    weights = None
    if not recipe.in_sample and scores.calibration_empty.any():
        weights = (~scores.calibration_empty).astype(np.float64)
    maps = fit(
        recipe.calibrators, scores.calibration, fit_signs, weights, symmetric=ballots.symmetric
    )

    def score(
        map_: CalibrationFit, logits: Floats, empty: NDArray[np.bool_], signs: Floats
    ) -> ItemScores:
        calibrated = map_(logits)
        if not recipe.in_sample and empty.any():
            calibrated[empty] = null
        return item_scores(calibrated, signs, symmetric=ballots.symmetric)

    evaluation, chosen_on = {}, {}
    for name, fitted in maps.items():
        evaluation[name] = score(fitted, scores.evaluation, scores.evaluation_empty, eval_signs)
        seen = score(fitted, scores.calibration, scores.calibration_empty, fit_signs)
        chosen_on[name] = seen.nll.mean(axis=-1)
    nothing = np.zeros((1, len(fit_signs)))
    constant = fit(recipe.calibrators, nothing, fit_signs, symmetric=ballots.symmetric)
    blank = np.zeros((1, len(eval_signs)))
    return SplitScores(
        evaluation=evaluation,
        calibration_nll=chosen_on,
        maps=maps,
        order=scores.order,
        null_nll=float(item_scores(np.full(len(eval_signs), null), eval_signs).nll.mean()),
        constant_nll={
            name: float(item_scores(map_(blank), eval_signs).nll.mean())
            for name, map_ in constant.items()
        },
    )
