"""PanelModel: a fitted, immutable panel under one pipeline, which scores new votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregation import AnyAggregator, panel_scores
from judgepanel.kernels.ballots import Ballots, knot_logits, map_logits, probabilities, uncoded
from judgepanel.kernels.calibrated import calibration_folds
from judgepanel.kernels.calibration import CalibrationFit, Calibrator, KnotShape, Shape, fit
from judgepanel.kernels.prefixes import PrefixScores, Ranking, counts
from judgepanel.models.rules import LevelSum, Rule, fit_rule
from judgepanel.scoring.metrics import CLIP
from judgepanel.scoring.splits import Split
from judgepanel.votes import MISSING


@dataclass(frozen=True, slots=True)
class PanelModel:
    """A fitted panel under one pipeline.

    Attributes
    ----------
    judges : names in panel order, best first; sums run in this order.
    rule : how their votes become a raw logit, tagged with the ``aggregator``.
    correct, voted : c and n of each judge on the labelled items.
    calibrator : the requested calibrator.
    shape : its fit, whose kind is temperature after a fallback.
    replaced : whether it fell back.
    prior : P(label = 1) of an item without votes.
    n_fit : number of labelled items to which the panel was fitted.
    """

    judges: tuple[str, ...]
    rule: Rule
    correct: tuple[int, ...]
    voted: tuple[int, ...]
    calibrator: Calibrator
    shape: Shape
    replaced: bool
    prior: float
    n_fit: int

    @property
    def aggregator(self) -> AnyAggregator:
        """The aggregator of the votes."""
        return self.rule.kind

    @property
    def weights(self) -> tuple[float, ...]:
        """Weight of each judge's vote; for ``joint``, that of the linear part; for aggregators of
        grades, its mean over bands.
        """
        return self.rule.weights

    def score(self, codes: NDArray[np.int8]) -> Floats:
        """Return P(label = 1), in [.001, .999], of codes (n_items, n_judges) in panel order.

        Codes are votes with the bands of their grades (:meth:`Mixture.codes`); without grades, they
        are the votes.
        """
        p = self.probabilities(self.logits(codes))
        return np.where((codes == MISSING).all(axis=1), self.prior, p)

    def logits(self, codes: NDArray[np.int8]) -> Floats:
        """Return raw logits (n_items,) of codes."""
        return self.rule.logits(codes if isinstance(self.rule, LevelSum) else uncoded(codes))

    def probabilities(self, logits: Floats) -> Floats:
        """Return P(label = 1) of raw logits (n_items,), calibrated and clipped."""
        return probabilities(_calibrated(logits, self.shape), CLIP)


def fit_panel(
    ballots: Ballots,
    names: tuple[str, ...],
    k: int,
    *,
    aggregator: AnyAggregator,
    calibrator: Calibrator,
    ranking: Ranking = "accuracy",
    seed: int = 0,
) -> PanelModel:
    """Fit the k best judges on all labelled items.

    The calibrator is fitted to scores whose weights and ranking leave out each item's own unit: by
    leave-out counts for closed forms, by cross-fitting for other aggregators.

    Parameters
    ----------
    ballots : votes and labels of the items, signed.
    names : names of the columns of ``ballots``.
    k : number of judges in the panel.
    aggregator, calibrator : the pipeline.
    ranking : what the best judges are best in.
    seed : seed of the folds of cross-fitting.

    Returns
    -------
    The fitted panel.
    """
    (model,) = fit_panels(
        ballots,
        names,
        k,
        aggregator=aggregator,
        calibrators=(calibrator,),
        ranking=ranking,
        seed=seed,
    )
    return model


def fit_panels(
    ballots: Ballots,
    names: tuple[str, ...],
    k: int,
    *,
    aggregator: AnyAggregator,
    calibrators: tuple[Calibrator, ...],
    ranking: Ranking = "accuracy",
    seed: int = 0,
) -> list[PanelModel]:
    """Fit the k best judges under several calibrators, which share one rule and its scores.

    Parameters and panels are those of :func:`fit_panel`.
    """
    scores: PrefixScores | None = None
    if set(calibrators) != {"none"}:
        scores = panel_scores(
            ballots,
            whole_of(ballots),
            np.array([k]),
            aggregator=aggregator,
            ranking=ranking,
            seed=seed,
        )
    return panels_of(
        ballots,
        names,
        k,
        scores,
        aggregator=aggregator,
        calibrators=calibrators,
        ranking=ranking,
        seed=seed,
    )


def whole_of(ballots: Ballots) -> Split:
    """Return a split in which all rows calibrate and none is held out."""
    everyone = np.arange(ballots.n_items)
    return Split(0, everyone, everyone[:0])


def panels_of(
    ballots: Ballots,
    names: tuple[str, ...],
    k: int,
    scores: PrefixScores | None,
    *,
    aggregator: AnyAggregator,
    calibrators: tuple[Calibrator, ...],
    ranking: Ranking = "accuracy",
    seed: int = 0,
) -> list[PanelModel]:
    """Return the fitted panels of the k best judges of ``ballots``, one per calibrator.

    ``scores`` has one column, to which calibrators are fitted; no item's own label may be in it.
    None will do for ``none``, which fits nothing.
    """
    fits = _calibrators(ballots, scores, calibrators)
    chosen, rule = fit_rule(ballots, k, aggregator, ranking, seed=seed)
    correct, voted = counts(ballots, np.arange(ballots.n_items))
    rate = 0.5 if ballots.symmetric else float(np.mean(ballots.signs > 0))
    return [
        PanelModel(
            judges=tuple(names[j] for j in chosen),
            rule=rule,
            correct=tuple(int(correct[j]) for j in chosen),
            voted=tuple(int(voted[j]) for j in chosen),
            calibrator=calibrator,
            shape=fits[calibrator].shape(0),
            replaced=bool(fits[calibrator].replaced[0]),
            prior=min(max(rate, CLIP), 1.0 - CLIP),
            n_fit=ballots.n_items,
        )
        for calibrator in calibrators
    ]


def _calibrators(
    ballots: Ballots, scores: PrefixScores | None, names: tuple[Calibrator, ...]
) -> dict[Calibrator, CalibrationFit]:
    """Calibrators fitted to one column of scores; ``none`` needs no scores."""
    if scores is None:
        return fit(names, np.zeros((1, 1)), np.ones(1), symmetric=ballots.symmetric)
    return fit(
        names,
        scores.calibration,
        ballots.signs.astype(np.float64),
        (~scores.calibration_empty).astype(np.float64),
        symmetric=ballots.symmetric,
        fold=calibration_folds(ballots, whole_of(ballots), scores, names),
    )


def _calibrated(logits: Floats, shape: Shape) -> Floats:
    if isinstance(shape, KnotShape):
        return knot_logits(
            logits, np.array(shape.logits), np.array(shape.p), odd=shape.odd, clip=CLIP
        )
    if shape.clip is not None:
        logits = np.clip(logits, -shape.clip, shape.clip)
    return map_logits(logits, shape.a, shape.b, shape.c)
