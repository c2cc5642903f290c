"""Panels of one split with judges removed or duplicated: calibrated logits of its evaluation rows.

Closed forms are exact and fitted in one batch (:mod:`kernels.subsets`). Joint panels keep
the ridges of the full panel if few judges are removed (:mod:`kernels.panels`),
and ``followed`` chooses the ridges again if more are.

Sampled Shapley values of judges, or of groups of judges, in NLL.

The value of a coalition is its NLL reduction relative to the null prediction. A player's Shapley
value is its mean contribution over all orders in which players may join (Shapley 1953). Along any
order the gains sum to the reduction of all judges, so the values of all players always sum to
NLL(null) - NLL(all).

Early players contribute most, so orders are balanced by position: a random order is rotated by
equal steps, and every order comes with its reverse (antithetic sampling; Mitchell et al. 2022, JMLR
23:43). Each order is marginally uniform, so the mean is unbiased. There are two such designs, drawn
independently: their difference measures the sampling error of the orders.

Under a closed form the coalitions of an order are prefixes of a cumulative sum: an order costs as
much as a panel curve. Memory is two tables (n_players, n) for each side of the split.

The joint panel without each of its judges in turn, refitted all at once.

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

A :data:`Panels` has panels fitted on the calibration rows of a split: calibrated logits of its
other rows.

Items on which no judge of a panel voted get the null prediction; K is the number of judges.
``all_judges`` (n_eval,) are all judges, ``without_each`` (K, n_eval) all but one, and ``of`` panels
(B, K) chosen without labels. ``followed`` are panels (B, K) that were chosen on the calibration
rows; ``inside`` (n_folds, B, K) are those chosen on the rows outside each fold of
:func:`choice_folds`: calibrators see a row's score under the panels of its own fold. None if the
calibrator fits nothing. ``copied`` are all judges plus so many copies of one of them.

``inner_values`` (K,) are the NLL without each judge minus that of all, in inner folds of these rows
alone. Joint panels use no calibrator there, and the ridge with the largest share in the full panel;
if the rows are those outside a ``fold`` of the calibration rows, that of the panel fitted to those.
Inner folds come from ``SeedSequence(seed, spawn_key=key)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints, Votes
from judgepanel.kernels import evaluation, joint, prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator, MapFit
from judgepanel.kernels.maps import column_blocks, sigmoid
from judgepanel.kernels.ridge import DenseDesign, Prior, minimise, solve_path
from judgepanel.kernels.subsets import CELLS, Additions, SubsetTrial, by_folds, subset_trial
from judgepanel.scoring import metrics, splits

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
    whole: joint.Features
    Cs: Floats
    shares: Floats
    path: Floats
    inverse: Floats
    adds: Floats

    def all_judges(self, rows: Ints) -> Floats:
        """Raw logits (n_rows,) of all judges; 0 where nobody voted."""
        return _logits(self.whole, self.shares @ self.path, self.ballots.votes[rows])

    def without_each(self, rows: Ints) -> Floats:
        """Raw logits (K, n_rows) without each judge; 0 where none of the others voted."""
        seen = self.ballots.votes[rows]
        agreements = _Agreements.of(self.whole, seen)
        learnt = _Agreements.of(self.whole, self.whole.dense)
        values = np.zeros((self.ballots.n_judges, len(rows)))
        right = self.whole.dense * self.ballots.signs[self.learn][:, None]
        verdicts = joint.Verdicts(
            right, self.whole.times, *prefixes.counts(self.ballots, self.learn)
        )
        everybody = np.arange(self.ballots.n_judges)
        heavy = learnt.squares > OWN_SHARE
        for j in np.flatnonzero(heavy & (self.ballots.n_judges > 1)):
            values[j] = self.of(np.delete(everybody, j), rows)
        light = np.flatnonzero(~heavy)
        for block in column_blocks(len(light), self.whole.span.size, _BLOCK_CELLS):
            judges = light[block]
            lefts = [_without(self, int(j), learnt, verdicts) for j in judges]
            thetas = _refitted(self, judges, lefts)
            for j, example, theta in zip(judges, lefts, thetas, strict=True):
                others = seen.copy()
                others[:, j] = 0
                span = _similarity(example, int(j), seen, agreements) @ example.directions
                values[j] = _logits(example, theta, others, span)
        return values

    def of(self, judges: Ints, rows: Ints) -> Floats:
        """Raw logits (n_rows,) of some judges at the ridges of all; 0 where none of them voted.

        Unlike in :meth:`without_each` agreement gets directions of its own, so that any number of
        judges may be left out. Cost: one model at c ridges.
        """
        example = joint.features(self.ballots, self.learn, judges, one_coin=True, agreement=True)
        signed_features = joint.design([example])
        prior = joint.prior_of([example])
        total = self.shares @ solve_path(signed_features, prior, self.Cs.tolist())[:, 0]
        return _logits(example, total, self.ballots.votes[rows][:, judges])


def held_joints(ballots: Ballots, fits: Sequence[prefixes.Fit]) -> list[HeldJoint]:
    """Fit the full panels of one cross-fitting as a kernel does; keep what refits need.

    Time: that of the fits with their inner models; memory O(c p^2) each, p = K + 52 at most.
    """
    panels = joint.joint.panels(ballots, fits, ballots.n_judges)
    joints = []
    for fit, panel in zip(fits, panels, strict=True):
        weighted = panel.C_weights >= LEAST_SHARE
        shares = panel.C_weights[weighted] / panel.C_weights[weighted].sum()
        joints.append(held_at(ballots, fit.learn, panel.Cs[weighted], shares))
    return joints


def held_at(ballots: Ballots, learn: Ints, Cs: Floats, shares: Floats) -> HeldJoint:
    """Fit the full panel to these rows at given ridges (c,), ascending, with their shares (c,)."""
    whole = joint.features(
        ballots, learn, np.arange(ballots.n_judges), one_coin=True, agreement=True
    )
    whole = replace(whole, votes=whole.dense)  # Whose Hessians are dense anyway.
    made, prior = _dense(whole), joint.prior_of([whole])
    optima, inverse = solve_path(made, prior, Cs.tolist()), []
    for C, theta in zip(Cs, optima, strict=True):
        wrong = sigmoid(-made.forward(theta))
        hessian = made.product(wrong * (1.0 - wrong))[0]
        inverse.append(np.linalg.inv(hessian + np.diag(prior.slopes(theta, float(C))[1][0])))
    correct, voted, case = prefixes.counts_without_own(
        ballots, learn, *prefixes.counts(ballots, learn)
    )
    votes = ballots.votes[learn]
    cases = np.broadcast_to(case(learn, votes), votes.shape)
    weights = prefixes.one_coin_weight(correct, voted)
    adds = np.asarray(votes * np.take_along_axis(weights, cases, axis=0))
    return HeldJoint(ballots, learn, whole, Cs, shares, optima[:, 0], np.array(inverse), adds)


@dataclass(frozen=True, slots=True, eq=False)
class _Agreements:
    """Weighted agreement of rows with the prototypes (n, m), from which a judge can be taken."""

    squares: Floats
    prototypes: NDArray[np.int8]
    products: Floats

    @classmethod
    def of(cls, whole: joint.Features, votes: NDArray[np.int8]) -> _Agreements:
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


def _without(
    held: HeldJoint, judge: int, learnt: _Agreements, verdicts: joint.Verdicts
) -> joint.Features:
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
    alike = joint.Agreement(shares / total if total > 0.0 else shares, learnt.prototypes)
    remaining = replace(
        whole,
        signs=signs,
        base=base,
        score=score,
        agreement=alike,
        directions=directions,
        rate=joint.CAUTION * verdicts.design_effect(base),
        level=joint.prior_level(signs) if whole.intercept else 0.0,
        shrink=joint.centring(score, signs) if whole.intercept else 0.0,
    )
    return replace(remaining, span=_similarity(remaining, judge, whole.dense, learnt) @ directions)


def _similarity(
    left: joint.Features, judge: int, votes: NDArray[np.int8], known: _Agreements
) -> Floats:
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
    def of(cls, lefts: list[joint.Features]) -> _Block:
        """Problems without one judge each."""
        return cls(
            lefts[0].dense.astype(np.float64),
            np.stack([example.middle(example.dense) for example in lefts]),
            np.stack([example.span - example.middle(example.span) for example in lefts]),
            np.stack([example.score - example.middle(example.score[:, None]) for example in lefts]),
            np.stack([example.signs for example in lefts]),
            lefts[0].intercept,
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


def _refitted(held: HeldJoint, judges: Ints, lefts: list[joint.Features]) -> Floats:
    """Parameters (B, p) without each of these judges, averaged over the ridges."""
    block, prior = _Block.of(lefts), joint.prior_of(lefts)
    total = np.zeros((len(judges), held.path.shape[1]))
    for C, share, path, inverse in zip(held.Cs, held.shares, held.path, held.inverse, strict=True):
        theta, converged = _chord(block, prior, float(C), path, inverse, judges)
        for b in np.flatnonzero(~converged):
            theta[b] = _newton(lefts[b], int(judges[b]), float(C), theta[b])
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
        slope = prior.slopes(theta, C)[0] - block.backward(sigmoid(-block.forward(theta)))
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


def _newton(example: joint.Features, judge: int, C: float, near: Floats) -> Floats:
    """Parameters (p,) of one panel without a judge by Newton's method, from ``near`` if it can."""
    votes = example.dense.copy()
    votes[:, judge] = 0
    left, prior = replace(example, votes=votes), joint.prior_of([example])
    usable = np.isfinite(near).all() and near[prior.n_weights] > 0.0
    start = near[None] if usable else prior.start(1)
    return np.asarray(minimise(_dense(left), prior, C, start)[0])


def _dense(example: joint.Features) -> DenseDesign:
    """Signed, centred features of one model, dense however sparse its votes are."""
    columns = (example.dense, example.span, example.score[:, None])
    parts = [part - example.middle(part) for part in columns]
    if example.intercept:
        parts.append(np.ones((len(example.score), 1)))
    return DenseDesign.of([np.concatenate(parts, axis=1) * example.signs[:, None]])


def _logits(
    example: joint.Features, theta: Floats, seen: NDArray[np.int8], span: Floats | None = None
) -> Floats:
    """Raw logits (n,) of signed votes (n, k) from parameters (p,) of centred features.

    ``span`` (n, r) are the agreement features of these votes, where they are known already.
    """
    k, r = example.votes.shape[1], example.span.shape[1]
    delta, gamma, tau = theta[:k], theta[k : k + r], theta[k + r]
    level = 0.0
    if example.intercept:
        centre = delta @ example.middle(example.dense) + gamma @ example.middle(example.span)
        level = theta[-1] - centre - tau * example.middle(example.score[:, None])[0]
    if span is None:
        if example.agreement is None:
            raise ValueError("joint panels have agreement")
        span = example.agreement.similarity(seen) @ example.directions
    sums = seen.astype(np.float64) @ (delta + tau * example.base) + level + span @ gamma
    return np.asarray(np.where(seen.any(axis=1), sums, 0.0))


Valued = Literal[prefixes.ClosedForm, "joint"]
VALUED: tuple[Valued, ...] = get_args(Valued)
FEW = 0.1
"""Joint panels without one judge, or without at most a tenth, keep the full panel's ridges."""
INNER_FOLDS = 3
"""Number of inner folds in which joint panels rank judges."""


Panels: TypeAlias = "_ClosedPanels | _JointPanels"


def choice_folds(ballots: Ballots, split: splits.Split, seed: int) -> list[splits.Split]:
    """Return the folds of the calibration rows in which panels of a split are cross-fitted."""
    key = (split.number, 4)
    return splits.folds(ballots.units, split.calibration, prefixes.N_FOLDS, seed=seed, key=key)


def panels_of(
    ballots: Ballots, split: splits.Split, aggregator: Valued, calibrator: Calibrator, *, seed: int
) -> Panels:
    """Return panels for an aggregator of ``VALUED`` and any calibrator."""
    if aggregator == "joint":
        return _JointPanels(ballots, split, calibrator, seed)
    return _ClosedPanels(ballots, split, aggregator, calibrator, seed)


@dataclass(slots=True)
class Fits:
    """Number of calibrators ``made``, and number of those that fell back to temperature."""

    made: int = 0
    replaced: int = 0


@dataclass(frozen=True, eq=False)
class _ClosedPanels:
    ballots: Ballots
    split: splits.Split
    aggregator: prefixes.ClosedForm
    calibrator: Calibrator
    seed: int
    fits: Fits = field(default_factory=Fits)

    @cached_property
    def _trial(self) -> SubsetTrial:
        return subset_trial(self.ballots, self.split, self.aggregator, self.calibrator)

    def all_judges(self) -> Floats:
        return np.asarray(self.of(np.ones((1, self.ballots.n_judges), dtype=bool))[0])

    def without_each(self) -> Floats:
        return self.of(~np.eye(self.ballots.n_judges, dtype=bool))

    def of(self, masks: Bools) -> Floats:
        values = np.empty((len(masks), len(self.split.evaluation)))
        for block in column_blocks(len(masks), self.ballots.n_items, CELLS):
            values[block] = _calibrated(self, self._trial.scores(masks[block]))
        return values

    def followed(self, masks: Bools, inside: Bools | None) -> Floats:
        scores = self._trial.scores(masks)
        if inside is not None:
            pieces = choice_folds(self.ballots, self.split, self.seed)
            fold = splits.fold_of(pieces, self.ballots.n_items)[self.split.calibration]
            logits, empty = scores.calibration.copy(), scores.calibration_empty.copy()
            for number, chosen in enumerate(inside):
                result, none = self._trial.learn.scores(chosen)
                own = fold == number
                logits[:, own], empty[:, own] = result[:, own], none[:, own]
            scores = replace(scores, calibration=logits, calibration_empty=empty, fold=fold)
        return _calibrated(self, scores)

    def copied(self, judge: int, times: int) -> Floats:
        return replace(self, ballots=_with_copies(self.ballots, judge, times)).all_judges()

    def inner_values(self, rows: Ints, key: tuple[int, ...], fold: int | None = None) -> Floats:
        of_rows = partial(by_folds, self.ballots, rows, self.aggregator, self.calibrator)
        compared = of_rows(n_folds=prefixes.N_FOLDS, seed=self.seed, key=key)
        everybody = np.ones((1, self.ballots.n_judges), dtype=bool)
        nll = compared(np.concatenate([everybody, ~np.eye(self.ballots.n_judges, dtype=bool)])).nll
        return np.asarray(nll[1:] - nll[0])


@dataclass(frozen=True, eq=False)
class _JointPanels:
    ballots: Ballots
    split: splits.Split
    calibrator: Calibrator
    seed: int
    fits: Fits = field(default_factory=Fits)

    @cached_property
    def _plan(self) -> list[prefixes.Fit]:
        """Return the fit that scores evaluation rows, then those for calibration rows if needed."""
        pieces = choice_folds(self.ballots, self.split, self.seed)
        place = splits.fold_of(pieces, self.ballots.n_items)
        sides = [self.split, *(pieces if self.calibrator != "none" else [])]
        return [prefixes.Fit(p.calibration, p.evaluation, place[p.calibration]) for p in sides]

    @cached_property
    def _held(self) -> list[HeldJoint]:
        return held_joints(self.ballots, self._plan)

    def all_judges(self) -> Floats:
        pairs = zip(self._held, self._plan, strict=True)
        everybody = np.ones((1, self.ballots.n_judges), dtype=bool)
        rows = [held.all_judges(fit.score)[None] for held, fit in pairs]
        return np.asarray(self._joined(rows, everybody)[0])

    def without_each(self) -> Floats:
        pairs = zip(self._held, self._plan, strict=True)
        masks = ~np.eye(self.ballots.n_judges, dtype=bool)
        return self._joined([held.without_each(fit.score) for held, fit in pairs], masks)

    def of(self, masks: Bools) -> Floats:
        pieces = [np.zeros((len(masks), len(fit.score))) for fit in self._plan]
        for piece, held, fit in zip(pieces, self._held, self._plan, strict=True):
            for row, mask in zip(piece, masks, strict=True):
                row[:] = _held_logits(held, mask, fit.score)
        return self._joined(pieces, masks)

    def followed(self, masks: Bools, inside: Bools | None) -> Floats:
        rows = [self._chosen(self._plan[0], masks)]
        if inside is not None:
            pairs = zip(self._plan[1:], inside, strict=True)
            rows += [self._chosen(fit, chosen) for fit, chosen in pairs]
        elif self.calibrator != "none":
            raise ValueError("this calibrator needs the panels chosen in each fold")
        return self._joined(rows, masks, inside)

    def _chosen(self, fit: prefixes.Fit, masks: Bools) -> Floats:
        """Return raw logits (B, n_score) of panels, with new ridges if more than ``FEW`` go."""
        few = max(1.0, FEW * self.ballots.n_judges)
        held = self._held[self._plan.index(fit)]
        logits = np.zeros((len(masks), len(fit.score)))
        for row, mask in zip(logits, masks, strict=True):
            if np.count_nonzero(~mask) <= few:
                row[:] = _held_logits(held, mask, fit.score)
            elif mask.any():
                fewer = _with_votes(self.ballots, self.ballots.votes[:, mask])
                (panel,) = joint.joint.panels(fewer, [fit], fewer.n_judges)
                row[:] = panel.logits(fewer.votes[fit.score])
        return logits

    def copied(self, judge: int, times: int) -> Floats:
        more = _with_copies(self.ballots, judge, times)
        everybody = np.ones((1, more.n_judges), dtype=bool)
        twins = [replace(held, ballots=more) for held in self._held]
        pairs = zip(twins, self._plan, strict=True)
        pieces = [_held_logits(held, everybody[0], fit.score)[None] for held, fit in pairs]
        return np.asarray(replace(self, ballots=more)._joined(pieces, everybody)[0])

    def inner_values(self, rows: Ints, key: tuple[int, ...], fold: int | None = None) -> Floats:
        full = self._held[0 if fold is None else 1 + fold]
        ridge = full.Cs[[int(np.argmax(full.shares))]]
        total = np.zeros(self.ballots.n_judges)
        for piece in splits.folds(self.ballots.units, rows, INNER_FOLDS, seed=self.seed, key=key):
            held = held_at(self.ballots, piece.calibration, ridge, np.ones(1))
            signs = self.ballots.signs[piece.evaluation].astype(np.float64)
            less = metrics.item_nll(held.without_each(piece.evaluation), signs)
            total += (less - metrics.item_nll(held.all_judges(piece.evaluation), signs)).sum(axis=1)
        return np.asarray(total / len(rows))

    def _joined(
        self, pieces: Sequence[Floats], masks: Bools, inside: Bools | None = None
    ) -> Floats:
        """Return calibrated logits (B, n_eval) from the raw logits (B, n_score) of every fit."""
        n_rows = len(self.split.calibration)
        logits, empty = np.zeros((len(masks), n_rows)), np.zeros((len(masks), n_rows), dtype=bool)
        for number, (fit, piece) in enumerate(zip(self._plan[1:], pieces[1:], strict=True)):
            own = np.searchsorted(self.split.calibration, fit.score)
            logits[:, own] = piece
            seen = masks if inside is None else inside[number]
            empty[:, own] = _without_votes(self.ballots, seen, fit.score)
        scores = prefixes.PrefixScores(
            masks.sum(axis=1),
            np.arange(self.ballots.n_judges),
            logits,
            empty,
            pieces[0],
            _without_votes(self.ballots, masks, self.split.evaluation),
            self._plan[0].fold,
        )
        return _calibrated(self, scores)


def _calibrated(panels: Panels, scores: prefixes.PrefixScores) -> Floats:
    name = panels.calibrator
    if not len(scores.evaluation):
        return np.zeros((0, len(panels.split.evaluation)))
    fitted = evaluation.calibrate(panels.ballots, panels.split, scores, (name,))
    panels.fits.made += len(scores.evaluation)
    panels.fits.replaced += int(fitted.maps[name].replaced.sum())
    return fitted.logits_of(name)


def _held_logits(held: HeldJoint, mask: Bools, rows: Ints) -> Floats:
    return held.of(np.flatnonzero(mask), rows) if mask.any() else np.zeros(len(rows))


def _with_votes(ballots: Ballots, votes: Votes) -> Ballots:
    """Return the labelled items with the votes of other judges, and nothing else of them."""
    return replace(ballots, votes=votes, unlabelled=None, ties=None, margins=None)


def _with_copies(ballots: Ballots, judge: int, times: int) -> Ballots:
    more = np.repeat(ballots.votes[:, [judge]], times, axis=1)
    return _with_votes(ballots, np.concatenate([ballots.votes, more], axis=1))


def _without_votes(ballots: Ballots, masks: Bools, rows: Ints) -> Bools:
    """Mask (B, n_rows) of rows on which no judge of a panel voted."""
    return np.asarray(metrics.single_product(masks, (ballots.votes[rows] != 0).T) == 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Gains of G players on the n evaluation rows of a split, in nats.

    ``items`` (G, n) are means over all orders; ``designs`` (2, G) are means over the rows and over
    the orders of each design; ``null`` and ``all_judges`` are mean NLLs without and with all
    players. Summed over players and averaged over rows, ``items`` is ``null`` - ``all_judges``.
    ``replaced`` of ``made`` calibrators could not be fitted.
    """

    items: Floats
    designs: Floats
    null: float
    all_judges: float
    made: int
    replaced: int

    @property
    def noise(self) -> Floats:
        """Variance (G,) of a player's mean gain due to the sampling of orders.

        It has one degree of freedom, so average it over splits.
        """
        return np.asarray((self.designs[0] - self.designs[1]) ** 2 / 4.0)


def balanced_orders(n_players: int, n_orders: int, rng: np.random.Generator) -> Ints:
    """Return two concatenated designs (n_orders, n_players); n_orders is a multiple of 4."""
    steps = n_orders // 4
    result = []
    for _ in range(2):
        permutation = rng.permutation(n_players)
        for step in range(steps):
            order = np.roll(permutation, step * n_players // steps)
            result += [order, order[::-1]]
    return np.array(result, dtype=np.int64)


def sampled_shapley(trial: SubsetTrial, groups: Bools, orders: Ints) -> Sampled:
    """Return gains along ``orders`` (n_orders, G), see :func:`balanced_orders`.

    ``groups`` (G, n_judges) are the players: a partition of the judges.
    """
    split, ballots = trial.split, trial.ballots
    signs = ballots.signs[split.evaluation].astype(np.float64)
    learn, held = _Players.of(trial.learn, groups), _Players.of(trial.held, groups)
    items = np.zeros((len(groups), len(signs)))
    means = np.empty(orders.shape)
    near: Floats | None = None
    null = all_judges = 0.0
    n_fits = replaced = 0
    for number, order in enumerate(orders):
        ks, judges = np.arange(1, len(order) + 1), np.arange(ballots.n_judges)
        scores = prefixes.PrefixScores(ks, judges, *learn.along(order), *held.along(order))
        fitted = evaluation.calibrate(ballots, split, scores, (trial.calibrator,), near=near)
        map_ = fitted.maps[trial.calibrator]
        near = map_.params if isinstance(map_, MapFit) else None
        n_fits, replaced = n_fits + len(order), replaced + int(map_.replaced.sum())
        logits = fitted.logits_of(trial.calibrator)
        start = np.full((1, len(signs)), fitted.null)
        nll = metrics.item_nll(np.concatenate([start, logits]), signs)
        gains = nll[:-1] - nll[1:]
        items[order] += gains
        means[number, order] = gains.mean(axis=1)
        null, all_judges = float(nll[0].mean()), float(nll[-1].mean())
    designs = means.reshape(2, -1, len(groups)).mean(axis=1)
    return Sampled(items / len(orders), designs, null, all_judges, n_fits, replaced)


@dataclass(frozen=True, slots=True, eq=False)
class _Players:
    """Contributions of players to sums: 1 or 2 tables ``parts`` (G, n); ``voted`` bool (G, n)."""

    parts: tuple[Floats, ...]
    voted: Bools
    prior: float

    @classmethod
    def of(cls, additions: Additions, groups: Bools) -> _Players:
        member = groups.astype(np.float64)
        alone = len(groups) == groups.shape[1] and (groups.argmax(axis=1) == range(len(groups)))
        if np.all(alone):
            return cls(tuple(additions.parts), additions.voted.T, additions.prior)
        parts = tuple(member @ part for part in additions.parts)
        voted = metrics.single_product(member, additions.voted.T) > 0.0
        return cls(parts, voted, additions.prior)

    def along(self, order: Ints) -> tuple[Floats, Bools]:
        """Logits (G, n) of the coalitions along an order, and where none of their judges voted."""
        sums = [np.cumsum(part[order], axis=0) for part in self.parts]
        if len(sums) == 2:
            logits = np.log(sums[0] + 1.0) - np.log(sums[1] + 1.0)
        else:
            logits = sums[0] + self.prior
        empty = ~np.logical_or.accumulate(self.voted[order], axis=0)
        if empty.any():
            logits[empty] = 0.0
        return logits, empty
