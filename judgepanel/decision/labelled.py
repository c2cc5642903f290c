"""The NLL of scores on the labels of a new file, for items that the panel was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgepanel import distributions
from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.decision.training_items import Seen
from judgepanel.scoring.inference import LEVEL, sampling_variance
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import unit_codes
from judgepanel.votes import VoteMatrix
from judgepanel.votes.orientation import BALANCED_SHARE

_LEAST = -float(np.log(0.999))


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """Means over labelled new items.

    ``nll`` in nats is for this panel on items like these; ``null_nll`` is that of always predicting
    the panel's base rate (.5 under ``symmetric``). ``n_wrong`` items have P(true label) < .5: if
    they are few, the NLL depends on few items.
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
    """Scores compared with the labels of a file.

    ``figures`` are based on ``n`` labelled items new to the panel; None if there are fewer than two
    such items (or groups), or if (nearly) all of the file was seen. ``n_seen`` labelled items are
    left out because the panel, or its sets, were fitted to them. ``checked`` is false if it is
    unknown which items are new. ``measures_coding`` means that nearly all of those n labels of
    pairs are equal: the order of the file then gives answers away.
    """

    n: int
    n_seen: int
    checked: bool
    measures_coding: bool
    figures: LabelFigures | None


def labelled_figures(
    votes: VoteMatrix, p: Floats, seen: Seen, held_out: Bools, *, null: float, symmetric: bool
) -> Labelled | None:
    """Figures of P(label 1) (n_items,) on the labels of ``votes``; None without labels.

    ``held_out`` (n_items,) marks items of the conformal slice; ``null`` is the panel's base rate.
    The interval is Student's over items, groups whole, conditional on the panel. A short file may
    contain no wrong answer of an accurate panel and then shows no spread, so the variance is at
    least that implied by the panel's own probabilities, the mean of p (1 - p) logit(p)^2 over n.
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
    variance = max(float(sampling_variance(losses[None], units)[0]), _own_variance(p[new], units))
    reach = float(distributions.t_ppf(0.5 + LEVEL / 2.0, n_units - 1)) * float(np.sqrt(variance))
    hit = np.where(p_true == 0.5, 0.5 if symmetric else right, p_true > 0.5)
    return LabelFigures(
        nll=Interval.single(nll, min(nll, max(nll - reach, _LEAST)), nll + reach),
        null_nll=float(-np.log(np.where(right, null, 1.0 - null)).mean()),
        brier=float(((1.0 - p_true) ** 2).mean()),
        accuracy=float(hit.mean()),
        n_wrong=int((p_true < 0.5).sum()),
    )


def _own_variance(p: Floats, units: Ints) -> float:
    """Variance of the mean of -log P(true label) if every P(label 1) is correct.

    Items of a group are taken to be right or wrong together.
    """
    spread = np.sqrt(p * (1.0 - p)) * np.abs(np.log(p) - np.log1p(-p))
    return float((np.bincount(unit_codes(units)[0], spread) ** 2).sum()) / len(p) ** 2
