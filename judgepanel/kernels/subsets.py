"""Raw logits of arbitrary subsets of judges, thousands at a time.

Under a closed form every vote adds a term to an item's sum that depends on no other judge, so the
sums of B subsets are one product of B masks with a table of terms. On rows that calibrators are
fitted to, the table leaves the item's own unit out of the counts; the subsets are taken as given.
Memory is two tables (n_judges, n), for the learn and the held-out side, plus ``CELLS`` scores at a
time.

Searches over subsets of judges: every union of groups, forward, beam and backward.

An objective returns the NLL of many subsets at once; a search uses nothing else. NLLs that agree to
1e-9 nats are ties, which go to the smaller subset, then to the first one evaluated, so rounding
decides nothing.

Table aggregation: the frequency of label 1 for each pattern of votes.

With k judges a pattern is one of 3^k cells (for, against, missing). A cell's logit is log((n1 +
pi)/(n0 + 1 - pi)) over its learn rows, with pi their base rate: a prior of one item, which makes a
new cell predict the base rate. A table captures every interaction of its judges at the cost of many
cells. Under ``symmetric`` a cell and its swap are one, so the logit is exactly odd.

The probability that a new item falls into an unseen cell is estimated by the share of learn rows
that are alone in theirs (Good 1953, doi:10.1093/biomet/40.3-4.237).

A small number of groups of judges with similar errors, so that all unions can be searched.

Judges selected along a lasso path of the labels on the votes.

Least squares of the label's sign on the signed votes, (1/2n) |s - V w|^2 + lambda |w|_1 (Tibshirani
1996, doi:10.1111/j.2517-6161.1996.tb02080.x), by cyclic coordinate descent on the Gram matrix of
the active judges (Friedman, Hastie and Tibshirani 2010, doi:10.18637/jss.v033.i01), with warm
starts along the path. Only the support is used: the panel is refitted afterwards. Missing votes are
0. Unless ``symmetric``, votes and labels are centred.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels import prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import Calibrator, MapFit
from judgepanel.kernels.evaluation import calibrate, summed_nll
from judgepanel.kernels.maps import column_blocks
from judgepanel.kernels.redundancy import error_correlation, error_counts
from judgepanel.scoring import metrics, splits

CELLS = 2_000_000
LEARN_SHARE = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class Additions:
    """Terms that votes add to sums.

    ``parts`` is (1, n_judges, n) for one sum, or (2, n_judges, n) for the votes for label 1 and for
    label 0; ``voted`` bool (n, n_judges); ``prior`` is added to a logit.
    """

    parts: Floats
    voted: Bools
    prior: float = 0.0

    def scores(self, masks: Bools) -> tuple[Floats, Bools]:
        """Logits (B, n) of subsets (B, n_judges), and where none of the judges voted (logit 0)."""
        chosen = masks.astype(np.float64)
        if len(self.parts) == 2:
            ones, zeros = (chosen @ part for part in self.parts)
            logits = np.log(ones + 1.0) - np.log(zeros + 1.0)
        else:
            logits = chosen @ self.parts[0] + self.prior
        # Only items missing at least as many votes as the smallest subset's size can be empty.
        n_judges = self.voted.shape[1]
        empty = np.zeros((len(masks), len(self.voted)), dtype=bool)
        fewest = int(masks.sum(axis=1).min(initial=n_judges))
        rows = np.flatnonzero(self.voted.sum(axis=1) <= n_judges - fewest)
        if len(rows):
            empty[:, rows] = metrics.single_product(masks, self.voted[rows].T) == 0.0
            logits[empty] = 0.0
        return logits, empty


@dataclass(frozen=True, slots=True, eq=False)
class SubsetTrial:
    """Subsets refitted on the calibration side of a split and scored on the other side."""

    ballots: Ballots
    split: splits.Split
    calibrator: Calibrator
    learn: Additions
    held: Additions

    def losses(self, masks: Bools, near: Floats | None = None) -> tuple[Floats, Floats]:
        """Summed NLL (B,) of the held-out items, and the fitted maps (B, 3); 0 if not a map.

        ``near`` (B, 3) are maps close to the fits.
        """
        total, maps = np.empty(len(masks)), np.zeros((len(masks), 3))
        for block in column_blocks(len(masks), len(self.split.calibration), CELLS):
            scores, start = self.scores(masks[block]), None if near is None else near[block]
            fitted = calibrate(self.ballots, self.split, scores, (self.calibrator,), near=start)
            total[block] = summed_nll(fitted)[0]
            fit = fitted.maps[self.calibrator]
            if isinstance(fit, MapFit):
                maps[block] = fit.params
        return total, maps

    def scores(self, masks: Bools) -> prefixes.PrefixScores:
        """Scores of both sides for these subsets (B, n_judges); ``ks`` are their sizes."""
        ks, judges = masks.sum(axis=1), np.arange(self.ballots.n_judges)
        return prefixes.PrefixScores(
            ks, judges, *self.learn.scores(masks), *self.held.scores(masks)
        )


def subset_trial(
    ballots: Ballots, split: splits.Split, aggregator: prefixes.ClosedForm, calibrator: Calibrator
) -> SubsetTrial:
    """Return a trial with weights from the calibration rows; their own units are left out there."""
    rows = split.calibration
    correct, voted = prefixes.counts(ballots, rows)
    weights = prefixes.closed_form_weights(aggregator, correct, voted)
    correct, voted, case = prefixes.counts_without_own(ballots, rows, correct, voted)
    cases = np.broadcast_to(case(rows, ballots.votes[rows]), (len(rows), ballots.n_judges))
    left_out = np.take_along_axis(
        prefixes.closed_form_weights(aggregator, correct, voted), cases, axis=0
    )
    prior = prefixes.prior_logit(ballots, rows) if aggregator == "log_odds" else 0.0
    learn = _additions(ballots.votes[rows], left_out, aggregator, prior)
    held = _additions(ballots.votes[split.evaluation], weights[None], aggregator, prior)
    return SubsetTrial(ballots, split, calibrator, learn, held)


def _additions(
    votes: NDArray[np.int8], weights: Floats, aggregator: prefixes.ClosedForm, prior: float
) -> Additions:
    if aggregator in prefixes.FRACTIONS:
        parts = np.stack([((votes > 0) * weights).T, ((votes < 0) * weights).T])
    else:
        parts = (votes * weights).T[None]
    return Additions(np.ascontiguousarray(parts), votes != 0, prior)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Mean NLL (B,) of subsets on held-out rows, in nats, and their maps (B, n_trials, 3)."""

    nll: Floats
    maps: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Comparison of subsets on given rows: refitted in every trial, scored on held-out rows."""

    trials: tuple[SubsetTrial, ...]

    def __call__(self, masks: Bools, near: Floats | None = None) -> Compared:
        """Compare non-empty subsets (B, n_judges).

        ``near`` (B, n_trials, 3) are maps of similar panels.
        """
        held = sum(len(trial.split.evaluation) for trial in self.trials)
        total, maps = np.zeros(len(masks)), np.empty((len(masks), len(self.trials), 3))
        for t, trial in enumerate(self.trials):
            losses, maps[:, t] = trial.losses(masks, None if near is None else near[:, t])
            total += losses
        return Compared(total / held, maps)


def by_folds(
    ballots: Ballots,
    rows: Ints,
    aggregator: prefixes.ClosedForm,
    calibrator: Calibrator,
    *,
    n_folds: int,
    seed: int,
    key: tuple[int, ...],
) -> Comparison:
    """Compare on inner folds of these rows, units whole; folds from ``SeedSequence(seed, key)``."""
    pieces = splits.folds(ballots.units, rows, n_folds, seed=seed, key=key)
    return Comparison(
        tuple(subset_trial(ballots, piece, aggregator, calibrator) for piece in pieces)
    )


def by_split(
    ballots: Ballots,
    rows: Ints,
    aggregator: prefixes.ClosedForm,
    calibrator: Calibrator,
    *,
    seed: int,
    key: tuple[int, ...],
) -> Comparison:
    """Compare on one inner split of these rows: fit to ``LEARN_SHARE`` of them, score the rest."""
    learn, held = splits.subsplit(ballots.units, rows, fraction=LEARN_SHARE, seed=seed, key=key)
    piece = splits.Split(0, learn, held)
    return Comparison((subset_trial(ballots, piece, aggregator, calibrator),))


Objective = Callable[[Bools, Floats | None], Compared]

MOST_GROUPS = 12
_DIGITS = 9


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The result of a search: ``best`` bool (n_judges,) with its ``nll``.

    ``path`` (m, n_judges) and ``path_nll`` (m,) are the best subsets of each step, smallest first.
    """

    best: Bools
    nll: float
    path: Bools
    path_nll: Floats


def best_of(path: Bools, nll: Floats) -> SearchResult:
    """The subset (m, n_judges) with the lowest NLL (m,); ties go to the smallest, then first."""
    order = np.argsort(path.sum(axis=1), kind="stable")
    path, nll = path[order], nll[order]
    best = int(np.argmin(np.round(nll, _DIGITS)))
    return SearchResult(path[best], float(nll[best]), path, nll)


def exhaustive(objective: Objective, groups: Bools) -> SearchResult:
    """Search every union of one or more of the groups (n_groups, n_judges), 12 groups at most.

    Raises
    ------
    ValueError
        More groups than ``MOST_GROUPS``, or none.
    """
    if not 1 <= len(groups) <= MOST_GROUPS:
        raise ValueError(f"{len(groups)} groups; from 1 to {MOST_GROUPS} can be searched")
    codes = np.arange(1, 2 ** len(groups))
    bits = (codes[:, None] >> np.arange(len(groups))) & 1
    masks = bits @ groups.astype(np.int64) > 0
    return best_of(masks, objective(masks, None).nll)


def forward(
    objective: Objective, n_judges: int, *, width: int = 1, steps: int = 20
) -> SearchResult:
    """Add one judge at a time, keeping the ``width`` best subsets of each size (a beam).

    The path holds the best subset of every size up to ``steps``.
    """
    alone = np.eye(n_judges, dtype=bool)
    compared = objective(alone, None)
    path, nll = [], []
    beam, near = alone, compared.maps
    for _ in range(min(steps, n_judges)):
        best_rows = np.argsort(np.round(compared.nll, _DIGITS), kind="stable")[:width]
        beam, near = beam[best_rows], compared.maps[best_rows]
        path.append(beam[0])
        nll.append(compared.nll[best_rows[0]])
        if beam[0].all() or len(path) == steps:
            break
        # All distinct subsets with one more judge, and the first beam row of each.
        parents, added = np.nonzero(~beam)
        grown = beam[parents]
        grown[np.arange(len(grown)), added] = True
        _, first = np.unique(np.packbits(grown, axis=1), axis=0, return_index=True)
        first = np.sort(first)
        beam = grown[first]
        compared = objective(beam, near[parents[first]])
    return best_of(np.array(path), np.array(nll))


def backward(objective: Objective, start: Bools) -> SearchResult:
    """Remove one judge at a time, the one whose removal costs least, until one is left.

    ``start`` (n_judges,) is the initial subset, not empty. A search from K judges compares K(K +
    1)/2 subsets.
    """
    compared = objective(start[None], None)
    current, near = start, compared.maps
    path, nll = [start], [float(compared.nll[0])]
    while current.sum() > 1:
        inside = np.flatnonzero(current)
        fewer = np.tile(current, (len(inside), 1))
        fewer[np.arange(len(inside)), inside] = False
        compared = objective(fewer, np.repeat(near, len(fewer), axis=0))
        out = int(np.argmin(np.round(compared.nll, _DIGITS)))
        current, near = fewer[out], compared.maps[[out]]
        path.append(current)
        nll.append(float(compared.nll[out]))
    return best_of(np.array(path), np.array(nll))


MOST_JUDGES = 8


@dataclass(frozen=True, slots=True, eq=False)
class TableFit:
    """One table: ``logits`` and ``new`` (n,) of the scored rows.

    ``new`` marks unseen cells; ``occupied`` is the number of cells of the learning rows,
    ``unseen`` the Good-Turing share of new ones.
    """

    logits: Floats
    new: Bools
    occupied: int
    unseen: float


def table(ballots: Ballots, learn: Ints, score: Ints, judges: Ints) -> TableFit:
    """Count patterns of these judges on the learn rows and score others."""
    patterns = ballots.votes[np.concatenate([learn, score])][:, judges]
    sides = np.ones(len(patterns), np.int8)
    if ballots.symmetric:
        # The first vote of a pattern is for label 1. The side is -1 if the swap replaces an item
        # and 0 if no judge voted.
        sides = patterns[np.arange(len(patterns)), (patterns != 0).argmax(axis=1)]
        patterns = patterns * sides[:, None]
    cell = np.unique(patterns, axis=0, return_inverse=True)[1].reshape(-1)
    own, turned = cell[: len(learn)], sides[: len(learn)]
    # An item that equals its own swap counts half for either label.
    ones = np.where(turned == 0, 0.5, (ballots.signs[learn] * turned > 0).astype(np.float64))
    n_cells = int(cell.max(initial=-1)) + 1
    n1 = np.bincount(own, weights=ones, minlength=n_cells)
    n = np.bincount(own, minlength=n_cells)
    base = 0.5 if ballots.symmetric else float(np.mean(ballots.signs[learn] > 0))
    base = float(np.clip(base, 0.5 / (len(learn) + 1.0), 1.0 - 0.5 / (len(learn) + 1.0)))
    logit = np.log(n1 + base) - np.log(n - n1 + 1.0 - base)
    sought = cell[len(learn) :]
    return TableFit(
        logits=logit[sought] * sides[len(learn) :],
        new=n[sought] == 0,
        occupied=int(np.count_nonzero(n)),
        unseen=float(np.count_nonzero(n == 1)) / len(learn),
    )


def table_kernel(
    ballots: Ballots, fits: Sequence[prefixes.Fit], ks: Ints, ranking: prefixes.Ranking
) -> list[Floats]:
    """``Kernel`` for tables of the k best judges, see :mod:`kernels.prefixes`."""
    kernel = []
    for fit in fits:
        order = prefixes.rank(ballots, fit.learn, ranking)
        tables = [table(ballots, fit.learn, fit.score, order[:k]) for k in ks]
        kernel.append(np.array([entry.logits for entry in tables]))
    return kernel


def named_groups(names: Sequence[str]) -> Bools:
    """Return membership (n_groups, n_judges) by group name, in order of appearance.

    A judge without a name ('') is a group of one.
    """
    keys = [name or ("", j) for j, name in enumerate(names)]
    order = {key: g for g, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([order[key] for key in keys], dtype=np.int64)
    return np.asarray(codes == np.arange(len(order))[:, None])


def found_groups(ballots: Ballots, most: int) -> Bools:
    """At most ``most`` groups (n_groups, n_judges): average linkage on 1 - error correlation.

    Unknown pairs count as average. A panel of ``most`` judges or fewer is split into single judges;
    one without known pairs is split by column order.
    """
    n_judges = ballots.n_judges
    if n_judges <= most:
        return np.eye(n_judges, dtype=bool)
    correlation = error_correlation(error_counts(ballots.votes, ballots.signs))
    if not correlation.known.any():
        codes = (np.arange(n_judges) * most // n_judges).tolist()
    else:
        apart = scipy.spatial.distance.squareform(1.0 - correlation.value, checks=False)
        codes = scipy.cluster.hierarchy.fcluster(
            scipy.cluster.hierarchy.linkage(apart, "average"), most, "maxclust"
        ).tolist()
    return np.array([[code == name for code in codes] for name in dict.fromkeys(codes)])


N_PENALTIES = 30
SMALLEST = 0.01
_LARGEST = 0.95
_SWEEPS = 100
_ROUNDS = 50
_TOLERANCE = 1e-5


def lasso_path(ballots: Ballots, rows: Ints) -> Bools:
    """Supports (``N_PENALTIES``, n_judges) from the largest penalty to the smallest, on these rows.

    Penalties fall from .95 to ``SMALLEST`` times the one that excludes all judges. If no vote is
    correlated with the labels, no judge can be preferred and all judges are in.
    """
    votes = ballots.votes[rows].astype(np.float64)
    signs = ballots.signs[rows].astype(np.float64)
    if not ballots.symmetric:
        votes, signs = votes - votes.mean(axis=0), signs - signs.mean()
    support = lasso_weights(votes, signs) != 0.0
    support[~support.any(axis=1)] = True
    return np.asarray(support)


def lasso_weights(votes: Floats, signs: Floats) -> Floats:
    """Weights (``N_PENALTIES``, n_judges) along the path, votes (n, n_judges) and signs (n,)."""
    n = max(len(votes), 1)
    gram, target = votes.T @ votes / n, votes.T @ signs / n
    scale = np.diag(gram)
    live = scale > 1e-12
    penalties = np.abs(target).max(initial=0.0) * np.geomspace(_LARGEST, SMALLEST, N_PENALTIES)
    path = np.zeros((N_PENALTIES, votes.shape[1]))
    w, residual = np.zeros(votes.shape[1]), target.copy()
    for place, penalty in enumerate(penalties):
        active = np.zeros(0, dtype=np.int64)
        for _ in range(_ROUNDS):
            wanted = live & ((w != 0.0) | (np.abs(residual) > penalty * (1.0 + _TOLERANCE)))
            if not np.setdiff1d(np.flatnonzero(wanted), active).size:
                break
            active = np.union1d(active, np.flatnonzero(wanted))
            _settle(w, residual, gram, active, float(penalty))
        path[place] = w
    return path


def _settle(w: Floats, residual: Floats, gram: Floats, active: Ints, penalty: float) -> None:
    """Cyclic descent over the active judges, in place, to convergence.

    ``residual`` is target - gram w.
    """
    part = gram[np.ix_(active, active)]
    scale = np.diag(part).tolist()
    own, pull = w[active], residual[active]
    for _ in range(_SWEEPS):
        largest = 0.0
        for j, bend in enumerate(scale):
            here = float(pull[j]) + bend * float(own[j])
            weight = math.copysign(max(abs(here) - penalty, 0.0) / bend, here)
            move = weight - float(own[j])
            if move != 0.0:
                own[j] = weight
                pull -= move * part[j]
                largest = max(largest, abs(move))
        if largest <= _TOLERANCE:
            break
    residual -= gram[:, active] @ (own - w[active])
    w[active] = own
