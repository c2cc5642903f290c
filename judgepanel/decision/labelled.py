"""The NLL of scores on the labels that a new file carries, for items the panel has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.decision.seen import Seen
from judgepanel.scoring.inference import LEVEL, sampling_variance
from judgepanel.scoring.interval import Interval
from judgepanel.votes import VoteMatrix, distributions
from judgepanel.votes.orientation import BALANCED_SHARE

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_LEAST = -float(np.log(0.999))


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """Means over labelled new items: ``nll`` in nats, for this panel on items like these;
    ``null_nll`` that of always saying the panel's base rate (.5 under ``symmetric``).
    ``n_wrong`` items have P(true label) < .5: few of them leave the NLL to few items.
    """

    nll: Interval
    null_nll: float
    brier: float
    accuracy: float
    n_wrong: int

    @property
    def skill(self) -> float:
        """1 - NLL / null NLL."""
        return 1.0 - float(self.nll.value) / self.null_nll


@dataclass(frozen=True, slots=True)
class Labelled:
    """Scores against the labels of a file.

    ``figures`` rest on ``n`` labelled items that the panel has not seen; None where none can be
    given: fewer than two such items (or groups), or (nearly) all of the file was seen. ``n_seen``
    labelled items are left out, since the panel was fitted to them (or its sets were made from
    them). ``checked`` is false where it cannot be known which items are new. ``measures_coding``
    says that nearly all of those n labels of pairs are alike: the order of the file then gives
    answers away.
    """

    n: int
    n_seen: int
    checked: bool
    measures_coding: bool
    figures: LabelFigures | None


def labelled_figures(
    votes: VoteMatrix, p: Floats, seen: Seen, held_out: Bools, *, null: float, symmetric: bool
) -> Labelled | None:
    """Figures of P(label 1) (n_items,) on the labels of ``votes``; None where there are none.

    ``held_out`` (n_items,) marks items of the conformal slice; ``null`` is the panel's base rate.
    The interval is Student's over items, groups whole; the panel is taken as it is. Of an accurate
    panel a short file may hold no wrong answer and then shows no spread, so the variance is at
    least what the panel's own probabilities make it, the mean of p (1 - p) logit(p)^2 over n.
    """
    if not votes.labelled.any():
        return None
    away = seen.rows | held_out
    new = votes.labelled & ~away
    lopsided = votes.with_items(new).minority_share < BALANCED_SHARE if new.any() else False
    return Labelled(
        n=int(new.sum()),
        n_seen=int((votes.labelled & away).sum()),
        checked=seen.checked,
        measures_coding=votes.task == "pairwise" and not symmetric and lopsided,
        figures=None if seen.wholly else _figures(votes, p, new, null, symmetric=symmetric),
    )


def _figures(
    votes: VoteMatrix, p: Floats, new: Bools, null: float, *, symmetric: bool
) -> LabelFigures | None:
    units = votes.units[new]
    n_units = len(np.unique(units))
    if n_units < 2:
        return None
    right = votes.labels[new] == 1
    p_true = np.where(right, p[new], 1.0 - p[new])
    losses = -np.log(p_true)
    nll = float(losses.mean())
    variance = max(float(sampling_variance(losses[None], units)[0]), _own_variance(p[new]))
    reach = float(distributions.t_ppf(0.5 + LEVEL / 2.0, n_units - 1)) * float(np.sqrt(variance))
    hit = np.where(p_true == 0.5, 0.5 if symmetric else right, p_true > 0.5)
    return LabelFigures(
        nll=Interval.single(nll, min(nll, max(nll - reach, _LEAST)), nll + reach),
        null_nll=float(-np.log(np.where(right, null, 1.0 - null)).mean()),
        brier=float(((1.0 - p_true) ** 2).mean()),
        accuracy=float(hit.mean()),
        n_wrong=int((p_true < 0.5).sum()),
    )


def _own_variance(p: Floats) -> float:
    """Variance of the mean of -log P(true label) if P(label 1) of every item is right."""
    return float(np.mean(p * (1.0 - p) * (np.log(p) - np.log1p(-p)) ** 2)) / len(p)
