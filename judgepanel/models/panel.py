"""PanelModel: a chosen panel, fitted and frozen, that scores votes it has never seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.prefixes import (
    FRACTIONS,
    ClosedForm,
    Ranking,
    closed_form_weights,
    counts,
    prefix_scores,
)
from judgepanel.kernels.application import (
    fraction_logits,
    map_logits,
    probabilities,
    weighted_logits,
)
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import INPUT_CLIP, MAPS, Calibrator, MapFit, fit
from judgepanel.scoring.metrics import CLIP
from judgepanel.votes import MISSING, InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PanelModel:
    """A fitted panel.

    Attributes
    ----------
    judges : names in panel order, best first; sums run in this order.
    aggregator : ``majority`` or ``one_coin``.
    weights : log-odds that a judge's vote for label 1 adds; all 1 for the majority.
    correct, voted : c and n of each judge on the labelled items.
    calibrator : its kind; ``a``, ``b``, ``c`` its map, ``replaced`` whether temperature stands in.
    prior : P(label = 1) of an item that none of the judges voted on.
    n_fit : labelled items the panel was fitted to.
    """

    judges: tuple[str, ...]
    aggregator: ClosedForm
    weights: tuple[float, ...]
    correct: tuple[int, ...]
    voted: tuple[int, ...]
    calibrator: Calibrator
    a: float
    b: float
    c: float
    replaced: bool
    prior: float
    n_fit: int

    def score(self, votes: NDArray[np.int8]) -> Floats:
        """P(label = 1), in [.001, .999], of votes (n_items, n_judges) in panel order."""
        weights = np.array(self.weights)
        scored = fraction_logits if self.aggregator in FRACTIONS else weighted_logits
        logits = scored(votes, weights)
        if self.calibrator == "beta_clipped":
            logits = np.clip(logits, -INPUT_CLIP, INPUT_CLIP)
        p = probabilities(map_logits(logits, self.a, self.b, self.c), CLIP)
        return np.where((votes == MISSING).all(axis=1), self.prior, p)


def fit_panel(
    ballots: Ballots,
    names: tuple[str, ...],
    k: int,
    *,
    aggregator: ClosedForm,
    calibrator: Calibrator,
    ranking: Ranking = "accuracy",
) -> PanelModel:
    """Fit the k best judges on all labelled items.

    The calibrator is fitted to scores from which each item's own unit was left out, of the
    weights and of the ranking alike. ``names`` are the columns of ``ballots``.

    Raises
    ------
    InputError
        A calibrator that is no map of three parameters.
    """
    everyone = np.arange(ballots.n_items)
    scores = prefix_scores(
        ballots, everyone, everyone[:0], np.array([k]), aggregator=aggregator, ranking=ranking
    )
    signs = ballots.signs.astype(np.float64)
    weights = (~scores.calibration_empty).astype(np.float64)
    fitted = fit((calibrator,), scores.calibration, signs, weights, symmetric=ballots.symmetric)[
        calibrator
    ]
    if not isinstance(fitted, MapFit):
        raise InputError(
            "this calibrator has no map to freeze into a panel",
            value=calibrator,
            allowed=", ".join(MAPS),
        )
    a, b, c = (float(value) for value in fitted.params[0])
    correct, voted = counts(ballots, everyone)
    chosen = scores.order[:k]
    weight_of = closed_form_weights(aggregator, correct, voted)
    rate = 0.5 if ballots.symmetric else float(np.mean(signs > 0))
    return PanelModel(
        judges=tuple(names[j] for j in chosen),
        aggregator=aggregator,
        weights=tuple(float(weight_of[j]) for j in chosen),
        correct=tuple(int(correct[j]) for j in chosen),
        voted=tuple(int(voted[j]) for j in chosen),
        calibrator=calibrator,
        a=a,
        b=b,
        c=c,
        replaced=bool(fitted.replaced[0]),
        prior=min(max(rate, CLIP), 1.0 - CLIP),
        n_fit=ballots.n_items,
    )
