"""The joint panel without each of its judges in turn, refitted all at once.

An exact refit of :mod:`kernels.joint` chooses its ridges again: 6 models at 9 ridges, or
16 with the scores that calibrators see. Here the shares of the ridges are held at those of the full
panel (those below ``LEAST_SHARE`` are left out). All else is refitted to convergence: weights, tau,
intercept, agreement without the judge's votes, centring, one-coin scores. Agreement keeps the
directions of the full panel, unless the judge has more than ``OWN_SHARE`` of its weight, as at most
20 can have. Where the full panel has the Hessian H, the one without judge j has nearly H without
row and column j, whose inverse follows from that of H by one rank:

    (H without j)^-1 = M - m_j m_j^T / m_jj,        M = H^-1, m_j its column.

So every step is a product of matrices for a block of judges (a chord method); it stops by the
decrement, and a judge whose steps do not come to rest is refitted by Newton's method on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.joint import joint
from judgepanel.kernels.joint_features import (
    CAUTION,
    Agreement,
    Features,
    Verdicts,
    centring,
    design,
    features,
    prior_level,
)
from judgepanel.kernels.maps import sigmoid
from judgepanel.kernels.prefixes import Fit, counts, counts_without_own, one_coin_weight
from judgepanel.kernels.ridge import DenseDesign, Prior, minimise, solve_path

LEAST_SHARE = 0.01
OWN_SHARE = 0.05
_BLOCK_CELLS = 2_000_000
_TOLERANCE = 1e-4  # of the decrement, in nats of the summed objective
_STEPS = 12


@dataclass(frozen=True, slots=True, eq=False)
class HeldJoint:
    """The full joint panel of one fit at its c ridges, with what refits without a judge start from.

    Attributes
    ----------
    ballots, learn : the K judges, and the rows (n,) that panels learn from.
    whole : features of the full panel, judges in the order of the ballots' columns.
    Cs, shares : float (c,), ridges and their shares, which sum to 1.
    path : float (c, p), parameters of centred features: votes, agreement, tau, intercept.
    inverse : float (c, p, p), inverse Hessian at each.
    adds : float (n, K), what each judge's vote adds to the one-coin score of a row, by counts
        without the row's own unit.
    """

    ballots: Ballots
    learn: Ints
    whole: Features
    Cs: Floats
    shares: Floats
    path: Floats
    inverse: Floats
    adds: Floats

    def everyone(self, rows: Ints) -> Floats:
        """Raw logits (n_rows,) of all judges; 0 where nobody voted."""
        theta = self.shares @ self.path
        return _logits(self.whole, theta, self.ballots.votes[rows], self.ballots.symmetric)

    def without_each(self, rows: Ints) -> Floats:
        """Raw logits (K, n_rows) without each judge; 0 where none of the others voted."""
        seen = self.ballots.votes[rows]
        agreements = _Agreements.of(self.whole, seen)
        learnt = _Agreements.of(self.whole, self.whole.dense)
        values = np.zeros((self.ballots.n_judges, len(rows)))
        verdicts = _verdicts(self)
        everybody = np.arange(self.ballots.n_judges)
        heavy = learnt.squares > OWN_SHARE
        for j in np.flatnonzero(heavy & (self.ballots.n_judges > 1)):
            values[j] = self.of(np.delete(everybody, j), rows)
        light = np.flatnonzero(~heavy)
        step = max(1, _BLOCK_CELLS // max(1, self.whole.span.size))
        for start in range(0, len(light), step):
            judges = light[start : start + step]
            lefts = [_without(self, int(j), learnt, verdicts) for j in judges]
            thetas = _refitted(self, judges, lefts)
            for j, example, theta in zip(judges, lefts, thetas, strict=True):
                others = seen.copy()
                others[:, j] = 0
                span = _similarity(example, int(j), seen, agreements) @ example.directions
                values[j] = _logits(example, theta, others, self.ballots.symmetric, span)
        return values

    def of(self, judges: Ints, rows: Ints) -> Floats:
        """Raw logits (n_rows,) of some judges at the ridges of all; 0 where none of them voted.

        Unlike in :meth:`without_each` agreement gets directions of its own, so that any number of
        judges may be left out. Cost: one model at c ridges.
        """
        example = features(self.ballots, self.learn, judges, one_coin=True, agreement=True)
        signed_features = design([example], scale=True, intercept=not self.ballots.symmetric)
        prior = _prior([example], self.ballots.symmetric)
        total = self.shares @ solve_path(signed_features, prior, self.Cs.tolist())[:, 0]
        return _logits(example, total, self.ballots.votes[rows][:, judges], self.ballots.symmetric)


def held_joints(ballots: Ballots, fits: Sequence[Fit]) -> list[HeldJoint]:
    """Fit the full panels of one cross-fitting as a kernel does; keep what refits need.

    Time: that of the fits with their inner models; memory O(c p^2) each, p = K + 52 at most.
    """
    panels = joint.panels(ballots, fits, ballots.n_judges)
    joints = []
    for fit, panel in zip(fits, panels, strict=True):
        weighted = panel.C_weights >= LEAST_SHARE
        shares = panel.C_weights[weighted] / panel.C_weights[weighted].sum()
        joints.append(held_at(ballots, fit.learn, panel.Cs[weighted], shares))
    return joints


def held_at(ballots: Ballots, learn: Ints, Cs: Floats, shares: Floats) -> HeldJoint:
    """Fit the full panel to these rows at given ridges (c,), ascending, with their shares (c,)."""
    symmetric = ballots.symmetric
    whole = features(ballots, learn, np.arange(ballots.n_judges), one_coin=True, agreement=True)
    whole = replace(whole, votes=whole.dense)  # Whose Hessians are dense anyway.
    made, prior = _dense(whole, symmetric), _prior([whole], symmetric)
    optima, inverse = solve_path(made, prior, Cs.tolist()), []
    for C, theta in zip(Cs, optima, strict=True):
        wrong = sigmoid(-made.forward(theta))
        hessian = made.product(wrong * (1.0 - wrong))[0]
        inverse.append(np.linalg.inv(hessian + np.diag(prior.slopes(theta, float(C))[1][0])))
    adds = _added(ballots, learn)
    return HeldJoint(ballots, learn, whole, Cs, shares, optima[:, 0], np.array(inverse), adds)


def _added(ballots: Ballots, rows: Ints) -> Floats:
    """What each judge adds to one-coin scores (n, K), by counts without the row's own unit."""
    correct, voted, case = counts_without_own(ballots, rows, *counts(ballots, rows))
    weights = one_coin_weight(correct, voted)
    votes = ballots.votes[rows]
    cases = np.broadcast_to(case(rows, ballots.votes[rows]), votes.shape)
    return np.asarray(votes * np.take_along_axis(weights, cases, axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class _Agreements:
    """Weighted agreement of rows with the prototypes (n, m), from which a judge can be taken."""

    squares: Floats
    prototypes: NDArray[np.int8]
    products: Floats

    @classmethod
    def of(cls, whole: Features, votes: NDArray[np.int8]) -> _Agreements:
        """For signed votes (n, K)."""
        if whole.agreement is None:
            raise ValueError("joint panels have agreement")
        shares, prototypes = whole.agreement.shares, whole.agreement.prototypes
        return cls(shares, prototypes, votes.astype(np.float64) @ (prototypes * shares).T)

    def without(self, judge: int, votes: NDArray[np.int8]) -> Floats:
        """Similarity (n, m) of the rows' votes without those of a judge."""
        share = float(self.squares[judge])
        rest = float(np.delete(self.squares, judge).sum())
        if rest <= 0.0:
            return np.zeros_like(self.products)
        own = votes[:, judge, None] * self.prototypes[:, judge]
        d = self.products - share * own
        d /= rest
        square = d * d
        d *= square
        square += 1.0
        d *= square
        d *= 0.5
        return np.asarray(d)


def _verdicts(held: HeldJoint) -> Verdicts:
    """Right and wrong votes of all judges on the rows learnt from."""
    correct, voted = counts(held.ballots, held.learn)
    right = held.whole.dense * held.ballots.signs[held.learn][:, None]
    return Verdicts(right, held.whole.times, correct, voted)


def _without(held: HeldJoint, judge: int, learnt: _Agreements, verdicts: Verdicts) -> Features:
    """Features without a judge; its column of ``votes`` is still there, to be given no weight."""
    whole, k = held.whole, held.ballots.n_judges
    own = whole.dense[:, judge] != 0
    alone = own & (np.count_nonzero(whole.dense, axis=1) == 1)
    signs = np.where(alone, 0.0, whole.signs)
    mates = np.flatnonzero(whole.groups == whole.groups[judge])
    rest = mates[mates != judge]
    m = len(mates)
    gone = held.adds[:, mates].sum(axis=1) / m
    if m > 1:
        gone -= held.adds[:, rest].sum(axis=1) / (m - 1.0)
    score = np.where(alone, 0.0, whole.score - gone)
    grown = np.ones(k)
    grown[rest] = m / max(m - 1.0, 1.0)
    grown[judge] = 0.0
    base = whole.base * grown
    directions = whole.directions * np.sqrt((k - 1.0) / k)
    shares = learnt.squares * grown
    total = float(shares.sum())
    alike = Agreement(shares / total if total > 0.0 else shares, learnt.prototypes)
    symmetric = held.ballots.symmetric
    remaining = replace(
        whole,
        signs=signs,
        base=base,
        score=score,
        agreement=alike,
        directions=directions,
        rate=CAUTION * verdicts.design_effect(base),
        level=0.0 if symmetric else prior_level(signs),
        shrink=0.0 if symmetric else centring(score, signs),
    )
    return replace(remaining, span=_similarity(remaining, judge, whole.dense, learnt) @ directions)


def _similarity(left: Features, judge: int, votes: NDArray[np.int8], known: _Agreements) -> Floats:
    """Similarity (n, m) of votes without those of a judge; others of its group count for it."""
    if left.agreement is None or np.count_nonzero(left.groups == left.groups[judge]) == 1:
        return known.without(judge, votes)
    return left.agreement.similarity(votes)


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Signed, centred features of B problems that share their votes (n, K), each without one judge.

    ``middle`` (B, K) centres the votes; ``span`` (B, n, r) and ``score`` (B, n) are centred;
    ``signs`` (B, n) are 0 for rows that none of the others voted on.
    """

    votes: Floats
    middle: Floats
    span: Floats
    score: Floats
    signs: Floats
    intercept: bool

    @classmethod
    def of(cls, lefts: list[Features], symmetric: bool) -> _Block:
        """Problems without one judge each."""
        return cls(
            lefts[0].dense.astype(np.float64),
            np.stack([example.middle(example.dense) for example in lefts]),
            np.stack([example.span - example.middle(example.span) for example in lefts]),
            np.stack([example.score - example.middle(example.score[:, None]) for example in lefts]),
            np.stack([example.signs for example in lefts]),
            not symmetric,
        )

    def forward(self, theta: Floats) -> Floats:
        """Margins (B, n) of parameters (B, p)."""
        k, r = self.votes.shape[1], self.span.shape[2]
        weights = theta[:, :k]
        values = weights @ self.votes.T - np.vecdot(self.middle, weights)[:, None]
        values += np.matmul(self.span, theta[:, k : k + r, None])[:, :, 0]
        values += theta[:, k + r, None] * self.score
        if self.intercept:
            values += theta[:, -1:]
        return np.asarray(values * self.signs)

    def backward(self, rows: Floats) -> Floats:
        """Sums over rows (B, p) of the features times a number per row (B, n)."""
        signed = rows * self.signs
        total = signed.sum(axis=1, keepdims=True)
        parts = [
            signed @ self.votes - self.middle * total,
            np.matmul(signed[:, None, :], self.span)[:, 0],
            np.vecdot(signed, self.score)[:, None],
        ]
        return np.concatenate([*parts, total] if self.intercept else parts, axis=1)


def _refitted(held: HeldJoint, judges: Ints, lefts: list[Features]) -> Floats:
    """Parameters (B, p) without each of these judges, averaged over the ridges."""
    symmetric = held.ballots.symmetric
    block, prior = _Block.of(lefts, symmetric), _prior(lefts, symmetric)
    total = np.zeros((len(judges), held.path.shape[1]))
    for C, share, path, inverse in zip(held.Cs, held.shares, held.path, held.inverse, strict=True):
        theta, converged = _chord(block, prior, float(C), path, inverse, judges)
        for b in np.flatnonzero(~converged):
            theta[b] = _newton(lefts[b], int(judges[b]), float(C), symmetric, theta[b])
        total += share * theta
    return total


def _chord(
    block: _Block, prior: Prior, C: float, path: Floats, inverse: Floats, judges: Ints
) -> tuple[Floats, NDArray[np.bool_]]:
    """Steps of the full panel's Hessian without row and column j; where they came to rest."""
    ratio = inverse[judges] / inverse[judges, judges][:, None]
    theta = path - path[judges, None] * ratio
    at, least = prior.n_weights, 0.1 * path[prior.n_weights]
    theta[:, at] = np.maximum(theta[:, at], least)
    rows = np.arange(len(judges))
    theta[rows, judges] = 0.0
    values = np.zeros(len(judges), dtype=bool)
    for _ in range(_STEPS):
        wrong = sigmoid(-block.forward(theta))
        slope = prior.slopes(theta, C)[0] - block.backward(wrong)
        slope[rows, judges] = 0.0
        move = slope @ inverse
        move = -(move - move[rows, judges][:, None] * ratio)
        promise = -np.vecdot(slope, move)
        move[values] = 0.0
        values |= promise <= 2.0 * _TOLERANCE
        theta += prior.reach(theta, move)[:, None] * move
        theta[rows, judges] = 0.0
        if values.all() or not np.isfinite(promise).all():
            break
    return theta, values


def _newton(example: Features, judge: int, C: float, symmetric: bool, near: Floats) -> Floats:
    """Parameters (p,) of one panel without a judge by Newton's method, from ``near`` if it can."""
    votes = example.dense.copy()
    votes[:, judge] = 0
    left, prior = replace(example, votes=votes), _prior([example], symmetric)
    usable = np.isfinite(near).all() and near[prior.n_weights] > 0.0
    start = near[None] if usable else prior.start(1)
    return np.asarray(minimise(_dense(left, symmetric), prior, C, start)[0])


def _dense(example: Features, symmetric: bool) -> DenseDesign:
    """Signed, centred features of one model, dense however sparse its votes are."""
    score = example.score[:, None]
    parts = [
        example.dense - example.middle(example.dense),
        example.span - example.middle(example.span),
    ]
    parts.append(score - example.middle(score))
    if not symmetric:
        parts.append(np.ones((len(score), 1)))
    return DenseDesign.of([np.concatenate(parts, axis=1) * example.signs[:, None]])


def _prior(several: list[Features], symmetric: bool) -> Prior:
    return Prior(
        n_weights=several[0].votes.shape[1] + several[0].span.shape[1],
        rate=np.array([example.rate for example in several]),
        level=None if symmetric else np.array([example.level for example in several]),
    )


def _logits(
    example: Features,
    theta: Floats,
    seen: NDArray[np.int8],
    symmetric: bool,
    span: Floats | None = None,
) -> Floats:
    """Raw logits (n,) of signed votes (n, k) from parameters (p,) of centred features.

    ``span`` (n, r) are the agreement features of these votes, where they are known already.
    """
    k, r = example.votes.shape[1], example.span.shape[1]
    delta, gamma, tau = theta[:k], theta[k : k + r], theta[k + r]
    level = 0.0
    if not symmetric:
        centre = delta @ example.middle(example.dense) + gamma @ example.middle(example.span)
        level = theta[-1] - centre - tau * example.middle(example.score[:, None])[0]
    if span is None:
        if example.agreement is None:
            raise ValueError("joint panels have agreement")
        span = example.agreement.similarity(seen) @ example.directions
    sums = seen.astype(np.float64) @ (delta + tau * example.base) + level + span @ gamma
    return np.asarray(np.where(seen.any(axis=1), sums, 0.0))
