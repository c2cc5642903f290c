"""Scores with judges absent, for many absences at once: full sums minus the absent parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.application import uncoded
from judgepanel.kernels.calibrate.maps import sigmoid
from judgepanel.models.fallback import Fallback
from judgepanel.models.mixture import Mixture, pooled
from judgepanel.models.panel import PanelModel
from judgepanel.models.rules import JointSum, LevelSum
from judgepanel.scoring.metrics import CLIP
from judgepanel.votes import MISSING

Floats = NDArray[np.float64]
Votes = NDArray[np.int8]


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
    scores = np.empty((len(absent), len(codes)))
    comparing = isinstance(model.rule, JointSum | LevelSum)
    likeness = _Likeness.of(model, codes) if comparing else None
    for arm, positions in enumerate(absent):
        cast = codes.copy()
        cast[:, positions] = MISSING
        if likeness is None:
            scores[arm] = model.score(cast)
            continue
        logits = likeness.linear(positions) + likeness.without(positions)
        empty = (cast == MISSING).all(axis=1)
        scores[arm] = np.where(empty, model.prior, model.probabilities(logits))
    return scores


def fallback_without(
    fallback: Fallback, panel: Mixture, votes: Votes, absent: list[list[int]]
) -> tuple[Floats, Floats]:
    """P(label = 1) by the fallback alone, and the missing share of its weight.

    Each is (n_arms, n_items); arms as in :func:`scores_without`, up to rounding.
    """
    weights = np.array(fallback.weights)
    signs = np.where(votes == MISSING, 0.0, 2.0 * votes - 1.0)
    there = np.ones((len(weights), len(absent)))
    for arm, positions in enumerate(absent):
        there[positions, arm] = 0.0
    present = ((np.abs(weights) * np.abs(signs)) @ there / np.abs(weights).sum()).T
    logits = ((weights * signs) @ there).T / fallback.temperature(present)
    p = np.clip(sigmoid(logits), CLIP, 1.0 - CLIP)
    empty = (np.abs(signs) @ there == 0.0).T
    return np.where(empty, panel.prior, p), 1.0 - present


@dataclass(frozen=True, slots=True, eq=False)
class _Likeness:
    """A rule with precomputed sums, from which a judge's part can be subtracted.

    ``added @ weights`` is the linear part, ``alike`` the similarity to each prototype, of signs and
    ``past`` (m, n_judges).
    """

    added: Floats
    weights: Floats
    total: Floats
    signs: Floats
    past: Floats
    alike: Floats
    pull: Floats

    @classmethod
    def of(cls, model: PanelModel, codes: Votes) -> _Likeness:
        rule, votes = model.rule, uncoded(codes)
        if not isinstance(rule, JointSum | LevelSum):
            raise TypeError("only joint and rules of grades add up to subtract from")
        signs = np.where(votes == MISSING, 0.0, 2.0 * votes - 1.0)
        added, weights = signs, np.array(rule.weights)
        if isinstance(rule, LevelSum):
            added, weights = signs * rule.weights_of(codes), np.ones(len(weights))
        signs_of = {"1": 1.0, "0": -1.0, ".": 0.0}
        rows = [[signs_of[mark] for mark in row] for row in rule.prototypes]
        past = np.array(rows).reshape(-1, votes.shape[1]) * np.array(rule.shares or [1.0])
        total = added @ weights + rule.intercept
        return cls(added, weights, total, signs, past, signs @ past.T, np.array(rule.pull))

    def linear(self, positions: list[int]) -> Floats:
        return np.asarray(self.total - self.added[:, positions] @ self.weights[positions])

    def without(self, positions: list[int]) -> Floats:
        d = self.alike - self.signs[:, positions] @ self.past[:, positions].T
        square = d * d
        return np.asarray((0.5 * d * square * (1.0 + square)) @ self.pull)
