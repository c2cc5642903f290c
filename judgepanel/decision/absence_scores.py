"""Scores with judges absent, for many absences at once: full sums minus the absent parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Votes
from judgepanel.kernels.application import uncoded
from judgepanel.kernels.calibrate.fits import KnotShape, apply_map
from judgepanel.kernels.calibrate.maps import sigmoid
from judgepanel.models.fallback import Fallback
from judgepanel.models.mixture import Mixture, pooled
from judgepanel.models.panel import PanelModel
from judgepanel.models.rules import JointSum, LevelSum, TwoCoin, VoteFraction, VoteSum
from judgepanel.scoring.metrics import CLIP
from judgepanel.votes import MISSING

_SIGN = {"1": 1.0, "0": -1.0, ".": 0.0}


def scores_without(panel: Mixture, codes: Votes, absent: list[list[int]]) -> Floats:
    """P(label = 1), (n_arms, n_items), with the judges at the positions of each arm absent.

    ``codes`` (n_items, n_judges) are in panel order. The result equals ``panel.score`` with those
    votes missing, up to rounding and without the fallback. Without any votes it is the prior.
    """
    scores = []
    for member in panel.members:
        place = {column: j for j, column in enumerate(member.columns)}
        positions = [[place[j] for j in arm if j in place] for arm in absent]
        scores.append(_member_without(member.model, codes[:, list(member.columns)], positions))
    flat = [values.ravel() for values in scores]
    weights = [member.weight for member in panel.members]
    return pooled(flat, weights).reshape(len(absent), len(codes))


def _member_without(model: PanelModel, codes: Votes, absent: list[list[int]]) -> Floats:
    signs = _signs(codes)
    there = _there(codes.shape[1], absent)
    scores = _probabilities(model, _logits(model, codes, signs, absent, there))
    return np.where(_empty(signs, there), model.prior, scores)


def _logits(
    model: PanelModel, codes: Votes, signs: Floats, absent: list[list[int]], there: Floats
) -> Floats:
    """Raw logits (n_arms, n_items); ``there`` (n_judges, n_arms) is 0 for absent judges, else 1."""
    rule = model.rule
    if isinstance(rule, TwoCoin):
        arms = (np.where(column > 0.0, codes, MISSING) for column in there.T)
        return np.stack([model.logits(cast) for cast in arms])
    if isinstance(rule, VoteFraction):
        weights = np.array(rule.weights)[:, None] * there
        ones, zeros = (side.astype(np.float64) @ weights for side in (signs > 0.0, signs < 0.0))
        return np.asarray((np.log(ones + 1.0) - np.log(zeros + 1.0)).T)
    weights = rule.weights_of(codes) if isinstance(rule, LevelSum) else np.array(rule.weights)
    linear = ((signs * weights) @ there).T + rule.intercept
    return linear if isinstance(rule, VoteSum) else linear + _likeness(rule, signs, absent)


def _likeness(rule: JointSum | LevelSum, signs: Floats, absent: list[list[int]]) -> Floats:
    """Contribution of similarity to past items, (n_arms, n_items)."""
    past = np.array([[_SIGN[mark] for mark in row] for row in rule.prototypes])
    past = past.reshape(-1, signs.shape[1]) * np.array(rule.shares or [1.0])
    alike, pull = signs @ past.T, np.array(rule.pull)
    parts = np.empty((len(absent), len(signs)))
    for part, positions in zip(parts, absent, strict=True):
        d = alike - signs[:, positions] @ past[:, positions].T
        square = d * d
        d *= square
        square += 1.0
        d *= square
        part[:] = d @ (0.5 * pull)
    return parts


def _probabilities(model: PanelModel, logits: Floats) -> Floats:
    """As ``model.probabilities`` of every arm, up to rounding.

    The scalar functions that agree with panel files to the bit would take most of the time.
    """
    shape = model.shape
    if isinstance(shape, KnotShape):
        return np.stack([model.probabilities(arm) for arm in logits])
    params = np.array([shape.a, shape.b, shape.c])
    return np.clip(sigmoid(apply_map(params, logits, shape.clip)), CLIP, 1.0 - CLIP)


def _there(n_judges: int, absent: list[list[int]]) -> Floats:
    """Return (n_judges, n_arms), 0 for the judges that are absent in an arm, else 1."""
    there = np.ones((n_judges, len(absent)))
    for arm, positions in enumerate(absent):
        there[positions, arm] = 0.0
    return there


def _empty(signs: Floats, there: Floats) -> NDArray[np.bool_]:
    """Whether no judge that is there voted on an item, (n_arms, n_items)."""
    return np.asarray((np.abs(signs) @ there == 0.0).T)


def _signs(codes: Votes) -> Floats:
    """Votes (n_items, n_judges) as -1, 1 and 0 where missing."""
    votes = uncoded(codes)
    return np.where(votes == MISSING, 0.0, 2.0 * votes - 1.0)


def fallback_without(
    fallback: Fallback, panel: Mixture, votes: Votes, absent: list[list[int]]
) -> tuple[Floats, Floats]:
    """P(label = 1) by the fallback alone, and the missing share of its weight.

    Each is (n_arms, n_items); arms as in :func:`scores_without`, up to rounding.
    """
    weights = np.array(fallback.weights)
    signs = _signs(votes)
    there = _there(len(weights), absent)
    present = ((np.abs(weights) * np.abs(signs)) @ there / np.abs(weights).sum()).T
    logits = ((weights * signs) @ there).T / fallback.temperature(present)
    p = np.clip(sigmoid(logits), CLIP, 1.0 - CLIP)
    return np.where(_empty(signs, there), panel.prior, p), 1.0 - present
