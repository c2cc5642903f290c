"""Stacking and joint: judges weighed together, with the ridge chosen by inner cross-validation.

Both are linear in the votes V in {-1, 0, +1}: logit p = intercept + sum_j V_j w_j. Stacking fits w
by ridge logistic regression. Joint writes w = tau * (one-coin weights) + delta and shrinks only
delta, so that without evidence of correlation it is the one-coin sum on a fitted temperature; what
tau is fitted to are one-coin scores whose counts leave the item's own unit out.

The strength C of the ridge is chosen for every fit by cross-validated NLL over the folds it learns
from. The inner model of fit f that leaves out fold g learns from the same rows as that of fit g
leaving out fold f, so 5 folds need 16 models at every C, not 31.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import softplus
from judgepanel.kernels.crossfit import Fit
from judgepanel.kernels.prefixes import Floats, Index, Ranking, counts, one_coin_weight, rank
from judgepanel.kernels.ridge import DenseDesign, Form, SparseDesign, minimise

CS = tuple(float(c) for c in np.geomspace(1e-4, 10.0, 11))
BATCH_CELLS = 2_000_000
SPARSE_CELLS = 2_000_000
SPARSE_DENSITY = 0.1
_COLUMNS = 128
_ROWS = 4_096


@dataclass(frozen=True, slots=True, eq=False)
class LinearPanel:
    """A fitted panel of k judges: logit = intercept + sum of V_j w_j.

    ``judges`` (k,) are columns of the ballots and ``weights`` (k,) belong to them; ``tau`` is the
    share of the one-coin weights in them (0 for stacking), ``C`` the chosen ridge. ``cv_nll``
    (n_C,) is the cross-validated NLL of every C, None where there was one fold only and the
    smallest C was taken.
    """

    judges: Index
    weights: Floats
    intercept: float
    tau: float
    C: float
    cv_nll: Floats | None

    def logits(self, votes: NDArray[np.int8]) -> Floats:
        """Raw logits (n,) of signed votes (n, n_judges); 0 where none of the judges voted."""
        sets, levels = self.weights[None], np.array([self.intercept])
        return np.asarray(_logits(votes, self.judges, sets, levels)[0])


def joint(ballots: Ballots, fits: Sequence[Fit], ks: Index, ranking: Ranking) -> list[Floats]:
    """``Kernel`` of the joint model, see :mod:`judgepanel.kernels.crossfit`."""
    return _scores(ballots, fits, ks, ranking, one_coin=True)


def stacking(ballots: Ballots, fits: Sequence[Fit], ks: Index, ranking: Ranking) -> list[Floats]:
    """``Kernel`` of ridge logistic stacking, see :mod:`judgepanel.kernels.crossfit`."""
    return _scores(ballots, fits, ks, ranking, one_coin=False)


def _scores(
    ballots: Ballots, fits: Sequence[Fit], ks: Index, ranking: Ranking, *, one_coin: bool
) -> list[Floats]:
    found = [np.empty((len(ks), len(fit.score))) for fit in fits]
    for place, k in enumerate(ks):
        panels = fit_panels(ballots, fits, int(k), ranking, one_coin=one_coin)
        for out, fit, panel in zip(found, fits, panels, strict=True):
            out[place] = panel.logits(ballots.votes[fit.score])
    return found


def fit_panels(
    ballots: Ballots,
    fits: Sequence[Fit],
    k: int,
    ranking: Ranking = "accuracy",
    *,
    one_coin: bool,
    Cs: Sequence[float] = CS,
) -> list[LinearPanel]:
    """Fit the panel of the ``k`` best judges of every fit.

    Parameters
    ----------
    fits : fits of one cross-fitting, which share the numbering of folds.
    one_coin : whether the one-coin score is a feature (joint) or not (stacking).
    Cs : ridges to choose from, ascending; each fit starts from that of the C before.
    """
    problems, outer, inner = _plan(fits)
    orders = {left: rank(ballots, rows, ranking)[:k] for left, rows in problems.items()}
    paths: dict[_Left, _Path] = {}
    form = Form(k, scale=one_coin, intercept=not ballots.symmetric)
    for batch in _batches(problems, k):
        features = [_Features.of(ballots, problems[left], orders[left], form) for left in batch]
        for left, path in zip(batch, _path(features, form, Cs), strict=True):
            paths[left] = path
    return [
        _choose(ballots, fit, orders, paths, own, left_out, Cs)
        for fit, own, left_out in zip(fits, outer, inner, strict=True)
    ]


_Left = frozenset[int]
"""The folds that a model has not seen."""


def _plan(
    fits: Sequence[Fit],
) -> tuple[dict[_Left, Index], list[_Left], list[dict[int, _Left]]]:
    """Rows of every model to be fitted; for each fit its own model and its inner ones by fold."""
    everywhere = set[int]().union(*(fit.fold.tolist() for fit in fits))
    problems: dict[_Left, Index] = {}
    outer: list[_Left] = []
    inner: list[dict[int, _Left]] = []
    for fit in fits:
        present = sorted(set(fit.fold.tolist()))
        own = frozenset(everywhere.difference(present))
        problems.setdefault(own, fit.learn)
        outer.append(own)
        left_out = {fold: own | {fold} for fold in present} if len(present) > 1 else {}
        inner.append(left_out)
        for fold, left in left_out.items():
            problems.setdefault(left, fit.learn[fit.fold != fold])
    return problems, outer, inner


def _batches(problems: dict[_Left, Index], k: int) -> Iterator[list[_Left]]:
    """Models of similar size, so many that their features stay within ``BATCH_CELLS``."""
    largest_first = sorted(problems, key=lambda left: -len(problems[left]))
    batch: list[_Left] = []
    for left in largest_first:
        if batch:
            rows = len(problems[batch[0]])
            full = (len(batch) + 1) * rows * k > BATCH_CELLS
            if full or len(problems[left]) < 0.9 * rows:
                yield batch
                batch = []
        batch.append(left)
    if batch:
        yield batch


@dataclass(frozen=True, slots=True, eq=False)
class _Features:
    """What one model learns from: whether votes were right (n, k), and the one-coin part."""

    right: NDArray[np.int8]
    signs: NDArray[np.int8]
    score: Floats | None
    base: Floats

    @classmethod
    def of(cls, ballots: Ballots, rows: Index, judges: Index, form: Form) -> _Features:
        right = ballots.votes[rows][:, judges] * ballots.signs[rows, None]
        signs = np.where(right.any(axis=1), ballots.signs[rows], 0).astype(np.int8)
        if not form.scale:
            return cls(right, signs, None, np.zeros(len(judges)))
        correct, voted = counts(ballots, rows)
        base = one_coin_weight(correct[judges], voted[judges])
        score = left_out_margins(right, ballots.units[rows], correct[judges], voted[judges])
        return cls(right, signs, score, base)

    def beside_votes(self, form: Form) -> list[Floats]:
        """Columns after those of the votes."""
        found = [] if self.score is None else [self.score]
        return [*found, self.signs.astype(np.float64)] if form.intercept else found


def left_out_margins(
    right: NDArray[np.int8], units: Index, correct: Floats, voted: Floats
) -> Floats:
    """One-coin scores (n,), times the label's sign, from counts without the item's own unit.

    ``right`` (n, k) is +1 where a vote was right, -1 where it was wrong; ``correct`` and ``voted``
    (k,) are its counts.
    """
    if len(np.unique(units)) == len(units):
        return _alone(right, correct, voted)
    codes = np.unique(units, return_inverse=True)[1]
    member = csr_array((np.ones(len(units)), (codes, np.arange(len(units)))))

    def of_unit(cell: Floats) -> Floats:
        return np.asarray(member @ cell)[codes]

    total = np.zeros(len(units))
    for start in range(0, right.shape[1], _COLUMNS):
        block = slice(start, start + _COLUMNS)
        cell = right[:, block].astype(np.float64)
        own, cast = of_unit(cell), of_unit(np.abs(cell))
        rest = voted[block] - cast
        total += np.vecdot(cell, one_coin_weight(correct[block] - (cast + own) / 2.0, rest))
    return total


def _alone(right: NDArray[np.int8], correct: Floats, voted: Floats) -> Floats:
    """The same without groups: a weight for the judge's right votes, and one for its wrong ones."""
    when_right = np.log(np.maximum(correct, 1.0)) - np.log(voted - correct + 1.0)
    when_wrong = np.log(correct + 1.0) - np.log(np.maximum(voted - correct, 1.0))
    mean, half = (when_right + when_wrong) / 2.0, (when_right - when_wrong) / 2.0
    total = np.empty(len(right))
    for start in range(0, len(right), _ROWS):
        cell = right[start : start + _ROWS].astype(np.float64)
        total[start : start + _ROWS] = cell @ mean + np.abs(cell) @ half
    return total


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """One model at every C: ``weights`` (n_C, k), ``intercept`` and ``tau`` (n_C,)."""

    weights: Floats
    intercept: Floats
    tau: Floats


def _path(features: list[_Features], form: Form, Cs: Sequence[float]) -> list[_Path]:
    design = _design(features, form)
    theta = form.start(len(features))
    found = []
    for C in Cs:
        theta = minimise(design, form, C, theta)
        found.append(theta)
    along = np.stack(found, axis=1)
    none = np.zeros(len(Cs))
    return [
        _Path(
            weights=own[:, : form.n_weights]
            + (tau := own[:, form.tau] if form.scale else none)[:, None] * one.base,
            intercept=own[:, -1] if form.intercept else none,
            tau=tau,
        )
        for one, own in zip(features, along, strict=True)
    ]


def _design(features: list[_Features], form: Form) -> DenseDesign | SparseDesign:
    """Dense features of a batch, padded with rows of zeros; sparse for one large, sparse model."""
    if len(features) == 1 and _is_sparse(features[0].right):
        votes = csr_array(features[0].right, dtype=np.float64)
        beside = csr_array(
            np.column_stack(
                [np.empty((len(features[0].right), 0)), *features[0].beside_votes(form)]
            )
        )
        return SparseDesign(csr_array(hstack((votes, beside), format="csr")))
    n = max(len(one.right) for one in features)
    dense = np.zeros((len(features), n, form.size))
    for out, one in zip(dense, features, strict=True):
        out[: len(one.right), : form.n_weights] = one.right
        for place, column in enumerate(one.beside_votes(form), start=form.n_weights):
            out[: len(one.right), place] = column
    return DenseDesign(dense)


def _is_sparse(right: NDArray[np.int8]) -> bool:
    large = right.size > SPARSE_CELLS
    return bool(large and np.count_nonzero(right) < SPARSE_DENSITY * right.size)


def _choose(
    ballots: Ballots,
    fit: Fit,
    orders: dict[_Left, Index],
    paths: dict[_Left, _Path],
    own: _Left,
    left_out: dict[int, _Left],
    Cs: Sequence[float],
) -> LinearPanel:
    """The fit's own model at the C whose inner models predict the folds they left out best."""
    total, cast = np.zeros(len(Cs)), 0
    for fold, left in left_out.items():
        rows = fit.learn[fit.fold == fold]
        path, judges = paths[left], orders[left]
        rows = rows[ballots.votes[rows][:, judges].any(axis=1)]
        logits = _logits(ballots.votes[rows], judges, path.weights, path.intercept)
        total += softplus(-logits * ballots.signs[rows]).sum(axis=1)
        cast += len(rows)
    best = int(np.argmin(total))
    path = paths[own]
    return LinearPanel(
        judges=orders[own],
        weights=path.weights[best],
        intercept=float(path.intercept[best]),
        tau=float(path.tau[best]),
        C=float(Cs[best]),
        cv_nll=total / cast if cast else None,
    )


def _logits(votes: NDArray[np.int8], judges: Index, weights: Floats, intercept: Floats) -> Floats:
    """Logits (m, n) under m sets of weights (m, k); 0 where none of the judges voted."""
    found = np.empty((len(weights), len(votes)))
    for start in range(0, len(votes), _ROWS):
        block = slice(start, start + _ROWS)
        seen = votes[block][:, judges]
        sums = weights @ seen.T.astype(np.float64) + intercept[:, None]
        found[:, block] = np.where(seen.any(axis=1), sums, 0.0)
    return found
