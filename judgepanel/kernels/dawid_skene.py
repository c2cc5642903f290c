"""Dawid-Skene fits of all ranked panels: from ballots and fits to raw logits.

Each judge has two error rates, fitted by EM (:mod:`kernels.dawid_skene`). Under
``symmetric`` they are tied and the class prior is 1/2; every step is then odd, so that swapping the
responses of an item changes the sign of its logit and no other bit.

EM for the Dawid-Skene model, for many problems that share one vote matrix.

Problems are the columns of (n, B) and (K, B) arrays, so a step is one matrix product from weights
to logits and one back. Posteriors are stored as t = 2 P(z = 1) - 1, which is 0 for items that do
not count and odd under a swap. Dawid and Skene 1979, doi:10.2307/2346806.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.kernels.ballots import Ballots, Cells, dense_of, vote_sums
from judgepanel.kernels.maps import column_blocks
from judgepanel.kernels.prefixes import Fit, Ranking, rank, without_votes
from judgepanel.votes.errors import InputError

Mask = NDArray[np.bool_]
Design = Any  # float (n, F), dense or CSR; SciPy has no types

SMOOTHING = 1.0
MAX_ITER = 500
TOL = 1e-6
FLOOR = 1e-10
NEVER_CAST = 1e-300
SPARSE_BELOW = 0.1
IDENTIFIED_FROM = 3


@dataclass(frozen=True, slots=True)
class Rules:
    """Settings of an EM run.

    Attributes
    ----------
    smoothing : pseudo-votes added to each of a judge's four cells (vote x label) and pseudo-items
        added to each class, at least 0. 1 is a uniform prior on every rate, as in one-coin; 0 is
        maximum likelihood, with cells floored at 1e-10 so that logits stay finite.
    symmetric : tie the confusions (pi0 = 1 - pi1) and hold the class prior at 1/2.
    max_iter : maximum number of steps (an M-step and an E-step each), at least 1.
    tol : a problem has converged when no posterior probability changes by more than this, at least
        0.

    Raises
    ------
    InputError
        A value outside its range.
    """

    smoothing: float = SMOOTHING
    symmetric: bool = False
    max_iter: int = MAX_ITER
    tol: float = TOL

    def __post_init__(self) -> None:
        for name, least in (("smoothing", 0), ("tol", 0), ("max_iter", 1)):
            value = getattr(self, name)
            if not least <= value < np.inf:
                message = f"Dawid-Skene cannot use this {name}"
                raise InputError(message, value=value, allowed=f"a number from {least}")


@dataclass(frozen=True, slots=True, eq=False)
class DawidSkeneFit:
    """B fitted problems over K judges.

    Attributes
    ----------
    pi1, pi0 : float (K, B) in [0, 1], P(vote 1 | z = 1) and P(vote 1 | z = 0); 1/2 outside the
        panel.
    ones, zeros : float (K, B), contributions of a vote for 1 and a vote for 0 to the logit of label
        1: log(pi1 / pi0) and log((1 - pi1) / (1 - pi0)); 0 outside the panel.
    prior : float (B,), logit of the class prior; 0 under ``symmetric``.
    n_iter : int (B,), number of steps; ``converged`` : bool (B,).
    """

    pi1: Floats
    pi0: Floats
    ones: Floats
    zeros: Floats
    prior: Floats
    n_iter: Ints
    converged: Mask

    def logits(self, votes: Cells) -> Floats:
        """Logits (B, n) of signed votes (n, K); an item without votes gets the prior."""
        tied = np.array_equal(self.zeros, -self.ones)  # then the sums must be odd to the bit
        weights = self.ones if tied else np.concatenate([self.ones, self.zeros])
        return np.asarray((design_of(votes, tied=tied) @ weights + self.prior).T)


def design_of(votes: Cells, *, tied: bool) -> Design:
    """Return signed votes V as features: [V] (n, K) if confusions are tied, else [V > 0, V < 0]."""
    if not isinstance(votes, np.ndarray):
        if tied:
            return votes
        return scipy.sparse.hstack([votes > 0, votes < 0], format="csr").astype(np.float64)
    sparse = np.count_nonzero(votes) < SPARSE_BELOW * votes.size
    features = votes if tied else np.concatenate([votes > 0, votes < 0], axis=1)
    if sparse:
        return scipy.sparse.csr_array(features).astype(np.float64)
    return np.ascontiguousarray(features, dtype=np.float64)  # fixes the order of additions


def run(design: Design, panels: Mask, labels: NDArray[np.int8], rules: Rules) -> DawidSkeneFit:
    """Fit B problems.

    Parameters
    ----------
    design : the result of :func:`design_of`, float (n, F).
    panels : bool (K, B), the judges of each problem.
    labels : int8 (n,), +1 or -1 clamps an item, 0 leaves it to the EM.
    """
    live = _Live.start(design, panels, labels, rules)
    n_judges, n_problems = panels.shape
    pi1, pi0, ones, zeros = np.empty((4, n_judges, n_problems))
    n_iter, converged = np.empty(n_problems, dtype=np.int64), np.empty(n_problems, dtype=bool)
    fit = DawidSkeneFit(pi1, pi0, ones, zeros, np.empty(n_problems), n_iter, converged)
    for step in range(1, rules.max_iter + 1):
        estimate = live.estimate(rules)
        settled = (live.expect(estimate) <= rules.tol) | ~live.identified
        stop = settled | (step == rules.max_iter)
        if stop.any():
            at = live.problem[stop]
            estimate.record(fit, at, stop, live.panels)
            fit.n_iter[at], fit.converged[at] = step, settled[stop]
            live.keep(~stop)
        if not len(live.problem):
            break
    return fit


@dataclass(slots=True, eq=False)
class _Estimate:
    """One M-step: smoothed cells ``given1``, ``given0`` (F, B), vote contributions, the prior."""

    given1: Floats
    given0: Floats
    weights: Floats
    prior: Floats

    def record(self, fit: DawidSkeneFit, at: Ints, chosen: Mask, panels: Mask) -> None:
        """Write the columns of these problems."""
        n_judges, panel = len(fit.pi1), panels[:, chosen]
        weights, given1, given0 = (
            values[:, chosen] for values in (self.weights, self.given1, self.given0)
        )
        if len(weights) == n_judges:
            share1 = given1 / (given1 + given0)
            share0 = given0 / (given1 + given0)
            zeros = -weights
        else:
            share1 = given1[:n_judges] / (given1[:n_judges] + given1[n_judges:])
            share0 = given0[:n_judges] / (given0[:n_judges] + given0[n_judges:])
            zeros = weights[n_judges:]
        fit.pi1[:, at] = np.where(panel, share1, 0.5)
        fit.pi0[:, at] = np.where(panel, share0, 0.5)
        fit.ones[:, at], fit.zeros[:, at] = weights[:n_judges], zeros
        fit.prior[at] = self.prior[chosen]


@dataclass(slots=True, eq=False)
class _Live:
    """The problems that have not converged: their data and posteriors ``t`` (n_free, B).

    ``known`` (F, B) and ``known_class`` (B,) are signed sums over clamped items; ``cast`` (F, B)
    and ``items`` (B,) count votes and items, including clamped ones.
    """

    design: Design
    problem: Ints
    panels: Mask
    counts: Mask
    known: Floats
    known_class: Floats
    cast: Floats
    items: Floats
    identified: Mask
    t: Floats

    @classmethod
    def start(cls, design: Design, panels: Mask, labels: NDArray[np.int8], rules: Rules) -> Self:
        tied, n_problems = design.shape[1] == len(panels), panels.shape[1]
        free = labels == 0
        open_, clamped = _parted(design, free)
        panel = panels.astype(np.float64)
        size, clamped_size = (abs(part) if tied else part for part in (open_, clamped))
        voted = size @ (panel if tied else np.concatenate([panel, panel]))
        net = open_ @ (panel if tied else np.concatenate([panel, -panel]))
        counts = voted > 0
        signed = labels[~free, None].astype(np.float64)
        inside = np.ones_like(signed)
        known, known_cast = (
            np.broadcast_to(sums, (design.shape[1], n_problems))
            for sums in (clamped.T @ signed, clamped_size.T @ inside)
        )
        known_class, known_items = (
            np.broadcast_to(entry.sum(axis=0), n_problems) for entry in (signed, inside)
        )
        labelled = known_items > 0
        live = cls(
            open_,
            np.arange(n_problems),
            panels,
            counts,
            known,
            known_class,
            known_cast,
            known_items,
            labelled | (panels.sum(axis=0) >= IDENTIFIED_FROM),
            np.zeros(counts.shape),
        )
        if labelled.any():
            live.expect(live.estimate(rules))
        total = voted + 2.0 * rules.smoothing
        majority = np.divide(net, total, out=np.zeros_like(net), where=counts)
        live.t = np.where(labelled, live.t, majority)
        live.cast = known_cast + size.T @ counts.astype(np.float64)
        live.items = known_items + counts.sum(axis=0)
        return live

    def estimate(self, rules: Rules) -> _Estimate:
        """M-step: return cells and prior from the posteriors and the clamped items."""
        signed = self.known + self.design.T @ self.t
        # A verdict that a judge never gave must not reduce the rate of the one it gave.
        floor = np.where(self.cast > 0, FLOOR, NEVER_CAST)
        given1 = np.maximum((self.cast + signed) / 2.0 + rules.smoothing, floor)
        given0 = np.maximum((self.cast - signed) / 2.0 + rules.smoothing, floor)
        weights = np.log(given1) - np.log(given0)
        prior = np.zeros(len(self.problem))
        if len(weights) > len(self.panels):
            k = len(self.panels)
            weights -= np.tile(
                np.log(given1[:k] + given1[k:]) - np.log(given0[:k] + given0[k:]), (2, 1)
            )
            total = self.known_class + self.t.sum(axis=0)
            class1 = np.maximum((self.items + total) / 2.0 + rules.smoothing, FLOOR)
            class0 = np.maximum((self.items - total) / 2.0 + rules.smoothing, FLOOR)
            prior = np.log(class1) - np.log(class0)
        weights *= np.tile(self.panels, (len(weights) // len(self.panels), 1))
        return _Estimate(given1, given0, weights, prior)

    def expect(self, estimate: _Estimate) -> Floats:
        """E-step: update posteriors; return each problem's largest probability change, (B,)."""
        t = np.asarray(self.design @ estimate.weights)
        t += estimate.prior
        t *= 0.5
        np.tanh(t, out=t)
        t *= self.counts
        before, self.t = self.t, t
        before -= t
        return np.asarray(np.abs(before, out=before).max(axis=0, initial=0.0)) / 2.0

    def keep(self, chosen: Mask) -> None:
        """Continue with these problems only."""
        self.problem, self.identified = self.problem[chosen], self.identified[chosen]
        self.known_class, self.items = self.known_class[chosen], self.items[chosen]
        self.panels, self.counts = self.panels[:, chosen], self.counts[:, chosen]
        self.known, self.cast = self.known[:, chosen], self.cast[:, chosen]
        self.t = np.ascontiguousarray(self.t[:, chosen])


def _parted(design: Design, first: Mask) -> tuple[Design, Design]:
    """The rows of a mask and all others; nothing is copied where one of them has all rows."""
    if first.all():
        return design, design[:0]
    return design[first], design[~first] if first.any() else design


BLOCK = 1 << 18


def dawid_skene(ballots: Ballots, fits: Sequence[Fit], ks: Ints, ranking: Ranking) -> list[Floats]:
    """Unsupervised, as in the paper: labels only rank the judges."""
    rules = Rules(symmetric=ballots.symmetric)
    return [fit_and_score(ballots, fit, ks, ranking, clamp=False, rules=rules) for fit in fits]


def dawid_skene_semi(
    ballots: Ballots, fits: Sequence[Fit], ks: Ints, ranking: Ranking
) -> list[Floats]:
    """Semi-supervised: learn rows are clamped to their labels; unlabelled items enter the EM."""
    rules = Rules(symmetric=ballots.symmetric)
    return [fit_and_score(ballots, fit, ks, ranking, clamp=True, rules=rules) for fit in fits]


def fit_and_score(
    ballots: Ballots, fit: Fit, ks: Ints, ranking: Ranking, *, clamp: bool, rules: Rules
) -> Floats:
    """Logits (n_k, n_score) of one fit's score rows under its ``ks`` best judges.

    The panels of a fit are nested, so they run as one EM over its learn rows and the unlabelled
    items, without the score rows.
    """
    order = rank(ballots, fit.learn, ranking)
    judges = order[: int(ks.max())]
    votes, labels = training(ballots, fit.learn, judges, clamp=clamp)
    panels = np.arange(len(judges))[:, None] < ks[None, :]
    fitted = fit_many(votes, panels, labels=labels, rules=rules)
    logits = fitted.logits(ballots.part(fit.score, judges))
    logits[without_votes(ballots, fit.score, order, ks)] = 0.0
    return logits


def training(
    ballots: Ballots, learn: Ints, judges: Ints, *, clamp: bool
) -> tuple[Cells, NDArray[np.int8]]:
    """Return the EM's training votes (n, n_judges) and clamped labels (n,), unlabelled last."""
    votes = ballots.part(learn, judges)
    labels = ballots.signs[learn] if clamp else np.zeros(len(learn), dtype=np.int8)
    if ballots.unlabelled is None:
        return votes, labels
    more = ballots.unlabelled[:, judges]
    free = np.zeros(len(more), dtype=np.int8)
    return np.concatenate([dense_of(votes), more]), np.concatenate([labels, free])


def fit_many(
    votes: Cells,
    panels: Mask,
    *,
    labels: NDArray[np.int8] | None = None,
    rules: Rules | None = None,
) -> DawidSkeneFit:
    """Run B problems as one EM in O(n K B) per step, with posteriors in memory bounded by
    ``BLOCK``.

    Parameters
    ----------
    votes : (n, K), int8 or sparse, in {-1, +1}, 0 where the vote is missing.
    panels : bool (K, B), the judges of each problem.
    labels : int8 (n,), +1 or -1 clamps an item to label 1 or 0 in every problem, 0 leaves it to the
        EM; None for no labels.

    A problem with labels starts from the judges' error rates on them, one without from the smoothed
    majority. Without labels, the error rates of fewer than three judges are not identified by their
    votes: such a problem stops after one step, since further steps would only follow the prior.
    """
    rules = rules or Rules()
    n_items, n_judges = votes.shape
    labels = np.zeros(n_items, dtype=np.int8) if labels is None else labels
    design = design_of(votes, tied=rules.symmetric)
    parts = []
    for block in column_blocks(panels.shape[1], max(design.shape), BLOCK):
        panel = panels[:, block]
        present = np.flatnonzero(panel.any(axis=1))
        used = design
        if len(present) < n_judges:
            starts = range(0, design.shape[1], n_judges)
            used = design[:, np.concatenate([start + present for start in starts])]
        fit = run(used, panel[present], labels, rules)
        parts.append(_with_absent_judges(fit, present, n_judges))
    names = [field.name for field in fields(DawidSkeneFit)]
    columns = (np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in names)
    return DawidSkeneFit(*columns)


def two_coin_logits(votes: Votes, ones: Floats, zeros: Floats, prior: float) -> Floats:
    """Logits (n_items,) of verdicts in {0, 1, -1 missing}, summed in panel order, prior last."""
    return vote_sums(votes, ones, zeros) + prior


def _with_absent_judges(fit: DawidSkeneFit, present: Ints, n_judges: int) -> DawidSkeneFit:
    """Return the same fit with columns added for judges that are in none of its panels."""
    if len(present) == n_judges:
        return fit

    def widened(values: Floats, blank: float) -> Floats:
        wide = np.full((n_judges, values.shape[1]), blank)
        wide[present] = values
        return wide

    rates = (widened(fit.pi1, 0.5), widened(fit.pi0, 0.5))
    weights = (widened(fit.ones, 0.0), widened(fit.zeros, 0.0))
    return DawidSkeneFit(*rates, *weights, fit.prior, fit.n_iter, fit.converged)
