"""Dawid-Skene fits of all ranked panels: from ballots and fits to raw logits.

Each judge has two error rates, fitted by EM (:mod:`kernels.aggregate.dawid_skene_em`). Under
``symmetric`` they are tied and the class prior is 1/2; every step is then odd, so that swapping the
responses of an item changes the sign of its logit and no other bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints, Votes
from judgepanel.kernels.aggregate.crossfit import Fit
from judgepanel.kernels.aggregate.dawid_skene_em import DawidSkeneFit, Mask, Rules, design_of, run
from judgepanel.kernels.aggregate.prefixes import Ranking, rank, without_votes
from judgepanel.kernels.aggregate.vote_cells import dense_of
from judgepanel.kernels.ballots import Ballots

if TYPE_CHECKING:
    from judgepanel.kernels.aggregate.vote_cells import Cells

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
    rows: Mask | None = None,
    labels: NDArray[np.int8] | None = None,
    rules: Rules | None = None,
) -> DawidSkeneFit:
    """Run B problems as one EM in O(n K B) per step, with posteriors in memory bounded by
    ``BLOCK``.

    Parameters
    ----------
    votes : (n, K), int8 or sparse, in {-1, +1}, 0 where the vote is missing.
    panels : bool (K, B), the judges of each problem.
    rows : bool (n, B), the items of each problem; None for all.
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
    for block in _blocks(max(design.shape), panels.shape[1]):
        panel = panels[:, block]
        present = np.flatnonzero(panel.any(axis=1))
        used = design
        if len(present) < n_judges:
            starts = range(0, design.shape[1], n_judges)
            used = design[:, np.concatenate([start + present for start in starts])]
        items = np.ones((n_items, 1), dtype=bool) if rows is None else rows[:, block]
        fit = run(used, panel[present], items, labels, rules)
        parts.append(_spread(fit, present, n_judges))
    return DawidSkeneFit(
        *(
            np.concatenate([getattr(part, field.name) for part in parts], axis=-1)
            for field in fields(DawidSkeneFit)
        )
    )


def two_coin_logits(votes: Votes, ones: Floats, zeros: Floats, prior: float) -> Floats:
    """Logits (n_items,) of verdicts in {0, 1, -1 missing}, summed in panel order, prior last."""
    total = np.zeros(len(votes))
    for column, label_one, zero in zip(votes.T, ones, zeros, strict=True):
        total += np.where(column == 1, label_one, np.where(column == 0, zero, 0.0))
    return total + prior


def _blocks(height: int, n_problems: int) -> Iterator[slice]:
    step = max(1, BLOCK // max(1, height))
    for start in range(0, n_problems, step):
        yield slice(start, start + step)


def _spread(fit: DawidSkeneFit, present: Ints, n_judges: int) -> DawidSkeneFit:
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
