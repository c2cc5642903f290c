"""Scores with judges absent, for many absences at once: full sums minus the absent parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.calibrate.maps import sigmoid
from judgepanel.models.fallback import Fallback
from judgepanel.models.mixture import Mixture, pooled
from judgepanel.models.panel import PanelModel
from judgepanel.models.rules import JointSum
from judgepanel.scoring.metrics import CLIP
from judgepanel.votes import MISSING

Floats = NDArray[np.float64]
Votes = NDArray[np.int8]


def scores_without(panel: Mixture, votes: Votes, absent: list[list[int]]) -> Floats:
    """P(label = 1), (n_arms, n_items), with the judges at the positions of each arm absent.

    ``votes`` (n_items, n_judges) are in panel order. The result equals ``panel.score`` with those
    votes missing, up to rounding and without the fallback. Without any votes it is the prior.
    """
    scores = []
    for member in panel.members:
        place = {column: j for j, column in enumerate(member.columns)}
        positions = [[place[j] for j in arm if j in place] for arm in absent]
        scores.append(_member_without(member.model, votes[:, list(member.columns)], positions))
    flat = [values.ravel() for values in scores]
    weights = [member.weight for member in panel.members]
    return pooled(flat, weights).reshape(len(absent), len(votes))


def _member_without(model: PanelModel, votes: Votes, absent: list[list[int]]) -> Floats:
    scores = np.empty((len(absent), len(votes)))
    likeness = _Likeness.of(model, votes) if isinstance(model.rule, JointSum) else None
    for arm, positions in enumerate(absent):
        cast = votes.copy()
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
    """A joint rule with precomputed sums, from which a judge's part can be subtracted."""

    rule: JointSum
    signs: Floats
    past: Floats
    alike: Floats
    total: Floats

    @classmethod
    def of(cls, model: PanelModel, votes: Votes) -> _Likeness:
        rule = model.rule
        if not isinstance(rule, JointSum):
            raise TypeError("only a joint rule compares items with past ones")
        signs = np.where(votes == MISSING, 0.0, 2.0 * votes - 1.0)
        signs_of = {"1": 1.0, "0": -1.0, ".": 0.0}
        rows = [[signs_of[mark] for mark in row] for row in rule.prototypes]
        past = np.array(rows).reshape(-1, votes.shape[1]) * np.array(rule.shares)
        total = signs @ np.array(rule.weights) + rule.intercept
        return cls(rule, signs, past, signs @ past.T, total)

    def linear(self, positions: list[int]) -> Floats:
        weights = np.array(self.rule.weights)[positions]
        return np.asarray(self.total - self.signs[:, positions] @ weights)

    def without(self, positions: list[int]) -> Floats:
        d = self.alike - self.signs[:, positions] @ self.past[:, positions].T
        square = d * d
        return np.asarray((0.5 * d * square * (1.0 + square)) @ np.array(self.rule.pull))
