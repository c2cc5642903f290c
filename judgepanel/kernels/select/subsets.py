"""Raw logits of arbitrary subsets of judges, thousands at a time.

Under a closed form every vote adds a term to an item's sum that depends on no other judge, so the
sums of B subsets are one product of B masks with a table of terms. On rows that calibrators are
fitted to, the table leaves the item's own unit out of the counts; the subsets are taken as given.
Memory is two tables (n_judges, n), for the learn and the held-out side, plus ``CELLS`` scores at a
time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.prefixes import (
    FRACTIONS,
    ClosedForm,
    PrefixScores,
    closed_form_weights,
    counts,
    counts_without_own,
    prior_logit,
)
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import Calibrator, MapFit
from judgepanel.kernels.evaluate.calibrated import calibrate, summed_nll
from judgepanel.scoring.single import single_product
from judgepanel.scoring.splits import Split, folds, subsplit

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
        empty = self._empty(masks)
        if empty.any():
            logits[empty] = 0.0
        return logits, empty

    def _empty(self, masks: Bools) -> Bools:
        """Only items missing at least as many votes as the smallest subset's size can be empty."""
        n_judges = self.voted.shape[1]
        empty = np.zeros((len(masks), len(self.voted)), dtype=bool)
        fewest = int(masks.sum(axis=1).min(initial=n_judges))
        rows = np.flatnonzero(self.voted.sum(axis=1) <= n_judges - fewest)
        if len(rows):
            empty[:, rows] = single_product(masks, self.voted[rows].T) == 0.0
        return empty


@dataclass(frozen=True, slots=True, eq=False)
class SubsetTrial:
    """Subsets refitted on the calibration side of a split and scored on the other side."""

    ballots: Ballots
    split: Split
    calibrator: Calibrator
    learn: Additions
    held: Additions

    def losses(self, masks: Bools, near: Floats | None = None) -> tuple[Floats, Floats]:
        """Summed NLL (B,) of the held-out items, and the fitted maps (B, 3); 0 if not a map.

        ``near`` (B, 3) are maps close to the fits.
        """
        total, maps = np.empty(len(masks)), np.zeros((len(masks), 3))
        step = max(1, CELLS // max(1, len(self.split.calibration)))
        for start in range(0, len(masks), step):
            block = slice(start, start + step)
            scores = self.scores(masks[block])
            fitted = calibrate(
                self.ballots,
                self.split,
                scores,
                (self.calibrator,),
                near=None if near is None else near[block],
            )
            total[block] = summed_nll(fitted)[0]
            fit = fitted.maps[self.calibrator]
            if isinstance(fit, MapFit):
                maps[block] = fit.params
        return total, maps

    def scores(self, masks: Bools) -> PrefixScores:
        """Scores of both sides for these subsets (B, n_judges); ``ks`` are their sizes."""
        return PrefixScores(
            masks.sum(axis=1),
            np.arange(self.ballots.n_judges),
            *self.learn.scores(masks),
            *self.held.scores(masks),
        )


def subset_trial(
    ballots: Ballots, split: Split, aggregator: ClosedForm, calibrator: Calibrator
) -> SubsetTrial:
    """Return a trial with weights from the calibration rows; their own units are left out there."""
    rows = split.calibration
    correct, voted = counts(ballots, rows)
    weights = closed_form_weights(aggregator, correct, voted)
    correct, voted, case = counts_without_own(ballots, rows, correct, voted)
    cases = _wide(case(rows, ballots.votes[rows]), ballots.n_judges)
    left_out = np.take_along_axis(closed_form_weights(aggregator, correct, voted), cases, axis=0)
    prior = prior_logit(ballots, rows) if aggregator == "log_odds" else 0.0
    return SubsetTrial(
        ballots,
        split,
        calibrator,
        _additions(ballots.votes[rows], left_out, aggregator, prior),
        _additions(ballots.votes[split.evaluation], weights[None], aggregator, prior),
    )


def _wide(position: Ints, n_judges: int) -> Ints:
    return np.broadcast_to(position, (len(position), n_judges))


def _additions(
    votes: NDArray[np.int8], weights: Floats, aggregator: ClosedForm, prior: float
) -> Additions:
    if aggregator in FRACTIONS:
        parts = np.stack([((votes > 0) * weights).T, ((votes < 0) * weights).T])
    else:
        parts = (votes * weights).T[None]
    return Additions(np.ascontiguousarray(parts), votes != 0, prior)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Mean NLL (B,) of subsets on held-out rows, in nats, and their maps (B, n_trials, 3)."""

    nll: Floats
    maps: Floats

    def maps_of(self, rows: Ints) -> Floats:
        """Return the maps of some of the subsets, as starting points for similar subsets."""
        return self.maps[rows]


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
    aggregator: ClosedForm,
    calibrator: Calibrator,
    *,
    n_folds: int,
    seed: int,
    key: tuple[int, ...],
) -> Comparison:
    """Compare on inner folds of these rows, units whole; folds from ``SeedSequence(seed, key)``."""
    pieces = folds(ballots.units, rows, n_folds, seed=seed, key=key)
    return Comparison(
        tuple(subset_trial(ballots, piece, aggregator, calibrator) for piece in pieces)
    )


def by_split(
    ballots: Ballots,
    rows: Ints,
    aggregator: ClosedForm,
    calibrator: Calibrator,
    *,
    seed: int,
    key: tuple[int, ...],
) -> Comparison:
    """Compare on one inner split of these rows: fit to ``LEARN_SHARE`` of them, score the rest."""
    learn, held = subsplit(ballots.units, rows, fraction=LEARN_SHARE, seed=seed, key=key)
    piece = Split(0, learn, held)
    return Comparison((subset_trial(ballots, piece, aggregator, calibrator),))
