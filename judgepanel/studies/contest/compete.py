"""How candidates compete on some rows: cross-validated losses of every one, and their panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.aggregation import cross_fits, of_votes
from judgepanel.kernels.aggregate.prefixes import rank
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluate.calibrated import (
    Calibrated,
    SplitScores,
    calibrate,
    evaluate,
    item_losses,
    losses_by_fold,
)
from judgepanel.kernels.evaluate.evaluation import Choice, evaluate_split, inner_losses
from judgepanel.models.panel import PanelModel, fit_panels, panels_of, whole_of
from judgepanel.scoring.metrics import ItemScores
from judgepanel.scoring.splits import Split, folds
from judgepanel.studies.contest.candidates import Candidate, Candidates, Curation, Family
from judgepanel.studies.panel.curated import Curated, curated
from judgepanel.studies.panel.curator import Known, Rules, evidence_of
from judgepanel.studies.panel.curator_list import CURATORS


@dataclass(frozen=True, slots=True)
class Terms:
    """What all candidates compete under: ``n_folds`` inner folds, the seed, what is ``known`` of
    the judges, and the ``rules`` by which curators choose.
    """

    n_folds: int
    seed: int
    known: Known
    rules: Rules


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """What a choice may look at: ``losses`` (n_candidates, n_rows), cross-validated on these rows
    alone, and the ``panels`` bool (n_candidates, n_judges) that these rows choose.
    """

    losses: Floats
    panels: Bools

    def put(self, start: int, part: Standing) -> int:
        """Overwrite the candidates from ``start`` on with others; return where these end."""
        end = start + len(part.losses)
        self.losses[start:end], self.panels[start:end] = part.losses, part.panels
        return end


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """Every candidate on the evaluation rows of a split, and what a choice may look at.

    ``arms`` are item scores (n_arms, n_eval) and ECE (n_arms,) of the candidates, and of choices
    among them, which whoever chooses fills in. ``null`` is the logit of the base rate.
    """

    arms: ItemScores
    standing: Standing
    null: float
    null_nll: float
    constant_nll: float
    replaced: int

    @property
    def items(self) -> ItemScores:
        """Scores of the candidates."""
        return self.arms.part(slice(len(self.standing.losses)))


def compete(
    ballots: Ballots, split: Split, choices: Candidates, terms: Terms, *, n_choices: int = 0
) -> Results:
    """Fit every candidate on the calibration rows of a split, score the others, and cross-validate
    on the calibration rows alone; ``n_choices`` arms more are left to be filled in.
    """
    arms = _blank_arms(len(choices.all()) + n_choices, len(split.evaluation))
    standing = _blank(choices, split.calibration, ballots)
    start, replaced = 0, 0
    for family in choices.families:
        part = _on_split(ballots, split, family, terms)
        standing.put(start, part.standing)
        for name in family.calibrators:
            start = arms.put(start, part.scores.evaluation[name])
        replaced += sum(part.scores.replaced.values())
        if family is choices.families[0]:
            null, null_nll = part.scores.fitted.null, part.scores.null_nll
            constant_nll = part.scores.constant_nll[family.calibrators[-1]]
        del part  # Scores of a million items take memory while the next family is fitted.
    return Results(arms, standing, null, null_nll, constant_nll, replaced)


def stand(
    ballots: Ballots, rows: Ints, choices: Candidates, terms: Terms, key: tuple[int, ...]
) -> Standing:
    """Cross-validate every candidate on these rows alone; folds are drawn by ``key``."""
    standing = _blank(choices, rows, ballots)
    start = 0
    for family in choices.families:
        start = standing.put(start, _family_standing(ballots, rows, family, terms, key))
    return standing


def absent_losses(
    ballots: Ballots,
    rows: Ints,
    choices: Candidates,
    terms: Terms,
    groups: Sequence[Sequence[int]],
    key: tuple[int, ...],
) -> Floats:
    """NLL (n_candidates, n) of these rows while a group of judges is absent, each group in turn.

    ``groups`` are columns of judges. Each half of the rows, or as many as ``_ABSENT_CELLS`` allow,
    is scored by candidates fitted on the other half, to which everybody was there.
    """
    parts = []
    for half in folds(ballots.units, rows, 2, seed=terms.seed, key=(*key, _HALVES)):
        rng = np.random.default_rng(
            np.random.SeedSequence(terms.seed, spawn_key=(*key, _HALVES, half.number))
        )
        most = min(max(_ABSENT_CELLS // len(groups), 50), len(half.evaluation))
        some = np.sort(rng.choice(half.evaluation, most, replace=False))
        copied, scored = _with_absent(ballots, some, groups)
        split = Split(half.number, half.calibration, scored)
        parts.append(
            np.concatenate(
                [
                    scores.evaluation[name].nll
                    for family in choices.families
                    for scores in [_scored(copied, split, family, terms, key)]
                    for name in family.calibrators
                ]
            )
        )
    return np.concatenate(parts, axis=1)


def _with_absent(
    ballots: Ballots, rows: Ints, groups: Sequence[Sequence[int]]
) -> tuple[Ballots, Ints]:
    """Ballots with a copy of the rows for each group, without its votes; where the copies are."""
    copies = np.stack([ballots.votes[rows]] * len(groups))
    for copy, columns in zip(copies, groups, strict=True):
        copy[:, list(columns)] = 0
    margins = ballots.margins
    if margins is not None:
        margins = np.concatenate([margins, np.tile(margins[rows], (len(groups), 1))])
    copied = replace(
        ballots,
        votes=np.concatenate([ballots.votes, copies.reshape(-1, ballots.n_judges)]),
        signs=np.concatenate([ballots.signs, np.tile(ballots.signs[rows], len(groups))]),
        units=np.concatenate([ballots.units, np.tile(ballots.units[rows], len(groups))]),
        ties=None,
        margins=margins,
    )
    return copied, np.arange(ballots.n_items, copied.n_items)


def final_members(
    ballots: Ballots, names: tuple[str, ...], candidates: Sequence[Candidate], terms: Terms
) -> list[PanelModel]:
    """Candidates that differ by their calibrator alone, fitted on all rows with one rule.

    ``names`` are the columns of ``ballots``.
    """
    candidate = candidates[0]
    pipeline: dict[str, Any] = {
        "aggregator": candidate.aggregator,
        "calibrators": tuple(one.calibrator for one in candidates),
        "seed": terms.seed,
    }
    if candidate.curator is None:
        return fit_panels(ballots, names, candidate.k, ranking=candidate.ranking, **pipeline)
    whole = whole_of(ballots)
    evidence = evidence_of(ballots, whole.calibration, terms.known, terms.rules, FINAL)
    result = curated(
        ballots, whole, CURATORS[candidate.curator], evidence, of_votes(candidate.aggregator)
    )
    judges = result.chosen.judges
    if result.chosen.table:
        raise ValueError("a table of patterns is not a panel that can be taken away")
    panel = tuple(name for name, chosen in zip(names, judges, strict=True) if chosen)
    return panels_of(ballots.of_judges(judges), panel, len(panel), result.scores, **pipeline)


FINAL = (0, 2)
"""Where the random streams of the choice on all labelled rows begin."""
_HALVES = 71
_ABSENT_CELLS = 6_000


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    scores: SplitScores
    standing: Standing


def _on_split(ballots: Ballots, split: Split, family: Family | Curation, terms: Terms) -> _Part:
    key = (split.number, 1)
    if isinstance(family, Family):
        every = np.ones(len(family.sizes), dtype=bool)
        scores = evaluate_split(
            ballots,
            split,
            family.sizes,
            family.recipe(terms.seed),
            Choice(every, terms.n_folds, key),
        )
        if scores.inner is None:
            raise ValueError("candidates are compared on calibration rows")
        return _Part(scores, _standing(scores.inner, ballots, split.calibration, family))
    panel = _made(ballots, split, family, terms, key)
    scores = _curated_scores(ballots, split, family, panel)
    return _Part(scores, _curated_standing(ballots, split, family, terms, panel, key))


def _scored(
    ballots: Ballots,
    split: Split,
    family: Family | Curation,
    terms: Terms,
    key: tuple[int, ...],
) -> SplitScores:
    """A family on the evaluation rows of a split, without a look at who stands how."""
    if isinstance(family, Family):
        return evaluate_split(ballots, split, family.sizes, family.recipe(terms.seed))
    return _curated_scores(ballots, split, family, _made(ballots, split, family, terms, key))


def _made(
    ballots: Ballots, split: Split, family: Curation, terms: Terms, key: tuple[int, ...]
) -> Curated:
    """What the curator of a family makes of the calibration rows."""
    evidence = evidence_of(ballots, split.calibration, terms.known, terms.rules, key)
    return curated(ballots, split, CURATORS[family.curator], evidence, family.aggregator)


def _curated_scores(ballots: Ballots, split: Split, family: Curation, made: Curated) -> SplitScores:
    fitted = calibrate(ballots, split, made.scores, family.calibrators)
    return evaluate(ballots, split, fitted, made.scores.order, np.zeros((0, 1)))


def _blank_arms(n_arms: int, n_eval: int) -> ItemScores:
    """Room for scores of all arms; hits, which are 0, 1/2 or 1, in single precision."""
    nll, brier = np.empty((2, n_arms, n_eval))
    hit: NDArray[Any] = np.empty((n_arms, n_eval), dtype=np.float32)
    return ItemScores(nll, brier, hit, np.empty(n_arms))


def _blank(choices: Candidates, rows: Ints, ballots: Ballots) -> Standing:
    """Room for what every candidate achieves on some rows."""
    n = len(choices.all())
    return Standing(np.empty((n, len(rows))), np.empty((n, ballots.n_judges), dtype=np.bool_))


def _family_standing(
    ballots: Ballots,
    rows: Ints,
    family: Family | Curation,
    terms: Terms,
    key: tuple[int, ...],
) -> Standing:
    """Of one family on some rows, none of which is left to be scored."""
    if isinstance(family, Curation):
        whole = Split(0, rows, rows[:0])
        panel = _made(ballots, whole, family, terms, key)
        return _curated_standing(ballots, whole, family, terms, panel, key)
    losses = inner_losses(
        ballots, rows, family.sizes, family.recipe(terms.seed), n_folds=terms.n_folds, key=key
    )
    return _standing(losses, ballots, rows, family)


def _standing(losses: Floats, ballots: Ballots, rows: Ints, family: Family) -> Standing:
    """Of one family; ``losses`` is (n_calibrators, n_k, n_rows)."""
    order = rank(ballots, rows, family.ranking)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    panels = place[None, :] < family.sizes[:, None]
    return Standing(
        losses.reshape(-1, losses.shape[-1]), np.tile(panels, (len(family.calibrators), 1))
    )


def _curated_standing(
    ballots: Ballots,
    split: Split,
    family: Curation,
    terms: Terms,
    made: Curated,
    key: tuple[int, ...],
) -> Standing:
    """Of one curator, whose choice is made again in every inner fold."""
    names = family.calibrators
    if cross_fits(family.aggregator) and made.scores.fold is not None:
        losses = losses_by_fold(ballots, split, made.scores, names, made.scores.fold)
    else:
        losses = _by_inner_folds(ballots, split, family, terms, key)
    panels = np.tile(made.chosen.judges, (len(names), 1))
    return Standing(losses.reshape(len(names), -1), panels)


def _by_inner_folds(
    ballots: Ballots, split: Split, family: Curation, terms: Terms, key: tuple[int, ...]
) -> Floats:
    rows = split.calibration
    inner_folds = np.empty((len(family.calibrators), 1, len(rows)))
    place = np.full(ballots.n_items, -1)
    place[rows] = np.arange(len(rows))
    for inner in folds(ballots.units, rows, terms.n_folds, seed=terms.seed, key=key):
        panel = _made(ballots, inner, family, terms, (*key, inner.number))
        fitted: Calibrated = calibrate(ballots, inner, panel.scores, family.calibrators)
        inner_folds[..., place[inner.evaluation]] = item_losses(fitted)
    return inner_folds
