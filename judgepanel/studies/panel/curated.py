"""A curator in one split: its panel, and raw scores of both sides without own labels.

The panel is chosen on all calibration rows and scores the evaluation rows. Scores for calibration
must not come from a panel chosen with the item's own label:

- a panel chosen without labels is scored by counts without the item's own unit;
- the best k by a ranking are ranked again without it;
- every other panel is chosen again for each of five folds, from the rows outside it. The fold is
  scored by counts without the item's own unit, or, if there are no such counts, by a fit to the
  rows outside the fold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.aggregation import (
    KERNELS,
    Aggregator,
    cross_fits,
    panel_scores,
)
from judgepanel.kernels.aggregate.crossfit import N_FOLDS, Fit, cross_fitted
from judgepanel.kernels.aggregate.prefixes import PrefixScores, without_votes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluate.evaluation import Recipe, evaluate_split
from judgepanel.kernels.select.table import table, table_kernel
from judgepanel.scoring.splits import Split, fold_of, folds
from judgepanel.studies.panel.choices import first_of
from judgepanel.studies.panel.curator import Chosen, Curator, Evidence, Known, Rules, evidence_of


@dataclass(frozen=True, slots=True, eq=False)
class Curated:
    """A curator's panel in one split and the panel's scores, one column."""

    chosen: Chosen
    scores: PrefixScores


def curated(
    ballots: Ballots,
    split: Split,
    curator: Curator,
    evidence: Evidence,
    refit: Aggregator,
    *,
    calibrates: bool = True,
) -> Curated:
    """Choose on the calibration rows, and score both sides with the panel under ``refit``.

    ``evidence`` is that of the calibration rows. If the curator computed no NLL, that of its panel
    by inner folds is filled in. Unless the scores are used to calibrate (``calibrates``), those of
    the calibration rows are 0, which saves most of the fits.
    """
    if curator.choose is None:
        chosen = _oracle(ballots, split, evidence)
    else:
        chosen = curator.choose(evidence)
        if np.isnan(chosen.nll):
            chosen = replace(chosen, nll=evidence.seen_nll(chosen.judges))
    if not calibrates and not chosen.table:
        return Curated(chosen, _held_out(ballots, split, chosen.judges, evidence.rules.seed, refit))
    return Curated(chosen, _scores(ballots, split, curator, chosen, evidence, refit))


def _held_out(
    ballots: Ballots, split: Split, judges: Bools, seed: int, refit: Aggregator
) -> PrefixScores:
    """Score the evaluation rows alone; scores of the calibration rows are 0."""
    if not cross_fits(refit):
        return _fixed(ballots, split, judges, refit)
    rows = split.calibration
    pieces = folds(ballots.units, rows, N_FOLDS, seed=seed, key=(split.number, 4))
    fit = Fit(rows, split.evaluation, fold_of(pieces, ballots.n_items)[rows])
    logits, empty = fitted_logits(ballots, fit, judges, refit)
    return PrefixScores(
        np.array([int(judges.sum())]),
        np.arange(ballots.n_judges),
        np.zeros((1, len(rows))),
        np.zeros((1, len(rows)), dtype=bool),
        logits[None],
        empty[None],
    )


def _scores(
    ballots: Ballots,
    split: Split,
    curator: Curator,
    chosen: Chosen,
    evidence: Evidence,
    refit: Aggregator,
) -> PrefixScores:
    rules, k = evidence.rules, np.array([chosen.size])
    if chosen.table and refit == rules.aggregator:
        return cross_fitted(
            ballots,
            split,
            k,
            table_kernel,
            ranking=chosen.ranking or "accuracy",
            own_label="removed",
            seed=rules.seed,
            key=(split.number, 4),
        )
    if chosen.ranking is not None or not curator.uses_labels:
        seen = ballots if chosen.ranking else ballots.of_judges(chosen.judges)
        return panel_scores(
            seen,
            split,
            k,
            aggregator=refit,
            ranking=chosen.ranking or "accuracy",
            seed=rules.seed,
            key=(split.number, 4),
        )
    return _chosen_anew(ballots, split, curator, chosen, evidence, refit)


def _chosen_anew(
    ballots: Ballots,
    split: Split,
    curator: Curator,
    chosen: Chosen,
    evidence: Evidence,
    refit: Aggregator,
) -> PrefixScores:
    """Return calibration scores assembled from folds, with the choice made again outside each."""
    if curator.choose is None:
        raise ValueError("the oracle cannot be asked again")
    rows, seed = split.calibration, evidence.rules.seed
    fold = np.empty(len(rows), dtype=np.int64)
    logits, empty = np.empty(len(rows)), np.empty(len(rows), dtype=bool)
    place = np.full(ballots.n_items, -1)
    place[rows] = np.arange(len(rows))
    pieces = folds(ballots.units, rows, N_FOLDS, seed=seed, key=(split.number, 4))
    for piece in pieces:
        fold[place[piece.evaluation]] = piece.number
    for piece in pieces:
        inside = place[piece.evaluation]
        part = evidence.part(place[piece.calibration], piece.number)
        judges = curator.choose(part).judges
        if cross_fits(refit):
            learn = Fit(piece.calibration, piece.evaluation, fold[place[piece.calibration]])
            logits[inside], empty[inside] = fitted_logits(ballots, learn, judges, refit)
        else:
            scores = _fixed(ballots, split, judges, refit)
            logits[inside] = scores.calibration[0, inside]
            empty[inside] = scores.calibration_empty[0, inside]
    if cross_fits(refit):
        whole = Fit(rows, split.evaluation, fold)
        held, unseen = fitted_logits(ballots, whole, chosen.judges, refit)
    else:
        final = _fixed(ballots, split, chosen.judges, refit)
        held, unseen = final.evaluation[0], final.evaluation_empty[0]
    return PrefixScores(
        np.array([chosen.size]),
        np.arange(ballots.n_judges),
        logits[None],
        empty[None],
        held[None],
        unseen[None],
        fold,
    )


def _fixed(ballots: Ballots, split: Split, judges: Bools, aggregator: Aggregator) -> PrefixScores:
    """Score both sides under one panel, calibration rows by counts without the item's own unit."""
    size = np.array([int(judges.sum())])
    return panel_scores(ballots.of_judges(judges), split, size, aggregator=aggregator)


def fitted_logits(
    ballots: Ballots, fit: Fit, judges: Bools, aggregator: Aggregator
) -> tuple[Floats, Bools]:
    """Raw logits (n_score,) of one panel (n_judges,), and the mask of items without votes."""
    seen, size = ballots.of_judges(judges), np.array([int(judges.sum())])
    empty = without_votes(seen, fit.score, np.arange(seen.n_judges), size)[0]
    return KERNELS[aggregator](seen, [fit], size, "accuracy")[0][0], empty


def _oracle(ballots: Ballots, split: Split, evidence: Evidence) -> Chosen:
    """The k most accurate judges with the lowest NLL on the evaluation rows themselves."""
    rules = evidence.rules
    sizes = np.arange(1, ballots.n_judges + 1)
    recipe = Recipe(rules.aggregator, (rules.calibrator,), seed=rules.seed)
    nll = evaluate_split(ballots, split, sizes, recipe).evaluation[rules.calibrator].nll
    return first_of(evidence, int(np.argmin(nll.mean(axis=1))) + 1, "accuracy", float("inf"))


@dataclass(frozen=True, slots=True)
class TableLook:
    """Statistics of a table of the chosen prefix, whether or not it was used.

    ``judges`` is their number, ``occupied`` the number of cells, ``expected_new`` the Good-Turing
    share of new items in unseen cells, ``new`` the actual share of evaluation rows.
    """

    judges: int
    occupied: int
    expected_new: float
    new: float


def table_look(ballots: Ballots, split: Split, chosen: Chosen) -> TableLook:
    """Count the patterns of a panel on the calibration rows, and look up those of the others."""
    fit = table(ballots, split.calibration, split.evaluation, np.flatnonzero(chosen.judges))
    return TableLook(chosen.size, fit.occupied, fit.unseen, float(np.mean(fit.new)))


def evidence_in(ballots: Ballots, rows: Ints, known: Known, rules: Rules, number: int) -> Evidence:
    """Return evidence from the calibration rows of split ``number``."""
    return evidence_of(ballots, rows, known, rules, (number, 13))
