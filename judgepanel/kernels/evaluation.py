"""One split from ballots to scores: rank, aggregate, calibrate, evaluate, for every prefix k.

Studies, the recommendation and the benchmarks all use this path.

All judges under several aggregators at once: one column of raw scores per aggregator.

Transfer of a panel from source items to target items, with three calibration methods.

``plain`` calibrates on all source rows equally. ``stratified`` fits one calibrator for each stratum
of the source rows by disagreement, and a target row uses that of its own stratum. ``weighted``
weights source rows by how much they resemble the target (:mod:`kernels.residual`).
All three determine judge weights on the source rows alone.

One split through the paper's four steps: aggregate, correct, calibrate, make conformal sets.

A column is a panel size; an additional column holds a constant score, which shows what features and
coding reveal without any judge. Every fit sees calibration rows only, and no calibrator sees a
score fitted to its own label: aggregated scores are leave-out or cross-fitted, and the residual
correction is cross-fitted again.

Columns of raw scores, calibrated on one side of a split and evaluated on the other.

A column is a panel size or an aggregator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import residual
from judgepanel.kernels.aggregation import Aggregator, AnyAggregator, cross_fits, panel_scores
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibration import CROSS_VALIDATED, CalibrationFit, Calibrator, fit
from judgepanel.kernels.maps import column_blocks, item_blocks, sigmoid
from judgepanel.kernels.prefixes import N_FOLDS, PrefixScores, Ranking, places_in
from judgepanel.kernels.threads import both
from judgepanel.scoring import conformal, metrics
from judgepanel.scoring.splits import Split, fold_of, folds, subsplit, unit_codes

_CONSTANTS = 4_096
_TOGETHER = 32_768


@dataclass(frozen=True, slots=True, eq=False)
class SplitScores:
    """Scores of one split.

    ``evaluation[name]`` scores the evaluation rows (n_k, n_eval) under each calibrator; ``fitted``
    holds their maps and raw logits; ``null_nll`` and ``constant_nll[name]`` are the NLL of the base
    rate and of a constant score through the same calibrator. ``inner`` (n_calibrators, n_offered,
    n_cal) are the losses on which a choice may be based, if requested.
    """

    evaluation: Mapping[Calibrator, metrics.ItemScores]
    fitted: Calibrated
    null_nll: float
    constant_nll: Mapping[Calibrator, float]
    inner: Floats | None = None

    @property
    def replaced(self) -> dict[Calibrator, int]:
        """Number of columns that fall back to temperature, by calibrator."""
        return {name: int(map_.replaced.sum()) for name, map_ in self.fitted.maps.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """Calibrators fitted on one side of a split, and the raw logits (n_k, n) of the other side."""

    maps: Mapping[Calibrator, CalibrationFit]
    logits: Floats
    empty: NDArray[np.bool_] | None
    signs: Floats
    null: float

    def logits_of(
        self, name: Calibrator, block: slice = slice(None), items: slice = slice(None)
    ) -> Floats:
        """Return calibrated logits of a block; items without votes get the null prediction."""
        logits = self.maps[name].part(block)(self.logits[block, items])
        if self.empty is not None and self.empty[block, items].any():
            logits = np.where(self.empty[block, items], self.null, logits)
        return logits

    def of_items(self, items: slice) -> Iterator[tuple[int, slice, Floats]]:
        """Yield calibrator number, block of columns and their calibrated logits of some items.

        All calibrators of a block come in turn, so its raw logits stay in a core's cache.
        """
        for block in column_blocks(len(self.logits), items.stop - items.start):
            for c, name in enumerate(self.maps):
                yield c, block, self.logits_of(name, block, items)

    def by_block(self) -> Iterator[tuple[int, slice, slice, Floats]]:
        """Yield calibrator number, blocks of columns and of items, and calibrated logits."""
        for items in item_blocks(self.logits.shape[1]):
            for c, block, logits in self.of_items(items):
                yield c, block, items, logits


def calibrate(
    ballots: Ballots,
    split: Split,
    scores: PrefixScores,
    calibrators: tuple[Calibrator, ...],
    *,
    in_sample: bool = False,
    importance: Floats | None = None,
    near: Floats | None = None,
) -> Calibrated:
    """Fit calibrators to the calibration scores.

    Items without votes are left out of the fit and get the null prediction, except under
    ``in_sample``, the paper's protocol, where they have a logit of 0. ``importance`` (n_cal,), at
    least 0, weights the calibration rows in the fit; ``near`` (n_k, 3) are maps close to the fits,
    if known.
    """
    fold = calibration_folds(ballots, split, scores, calibrators)
    weights = None
    if not in_sample and scores.calibration_empty.any():
        weights = (~scores.calibration_empty).astype(np.float64)
    if importance is not None:
        weights = np.broadcast_to(importance, scores.calibration.shape) * (
            1.0 if weights is None else weights
        )
    maps = fit(
        calibrators,
        scores.calibration,
        ballots.signs[split.calibration].astype(np.float64),
        weights,
        symmetric=ballots.symmetric,
        fold=fold,
        near=near,
    )
    return _calibrated(ballots, split, scores, maps, in_sample)


def calibrate_each(
    ballots: Ballots,
    scored: Iterable[tuple[Split, PrefixScores]],
    calibrators: tuple[Calibrator, ...],
    *,
    in_sample: bool = False,
) -> Iterator[Calibrated]:
    """:func:`calibrate` for several splits of few columns each: fits of up to ``_TOGETHER`` scores
    are made together, which moves nothing but rounding. Scores are asked for as they are needed.
    """
    if set(calibrators) & set(CROSS_VALIDATED):
        for pair in scored:
            yield calibrate(ballots, *pair, calibrators, in_sample=in_sample)
        return
    for batch in _batches(scored):
        if len(batch) == 1:
            yield calibrate(ballots, *batch[0], calibrators, in_sample=in_sample)
            continue
        # One batch, in which padding rows have weight 0.
        shapes = np.array([scores.calibration.shape for _, scores in batch])
        ends = np.cumsum(shapes[:, 0])
        shape = (int(ends[-1]), int(shapes[:, 1].max()))
        logits, signs, weights = np.zeros(shape), np.ones(shape), np.zeros(shape)
        blocks = [slice(end - b, end) for end, b in zip(ends.tolist(), shapes[:, 0], strict=True)]
        for block, (split, scores), n in zip(blocks, batch, shapes[:, 1], strict=True):
            logits[block, :n] = scores.calibration
            signs[block, :n] = ballots.signs[split.calibration]
            weights[block, :n] = 1.0 if in_sample else ~scores.calibration_empty
        maps = fit(calibrators, logits, signs, weights, symmetric=ballots.symmetric)
        for block, (split, scores) in zip(blocks, batch, strict=True):
            parts = {name: map_.part(block) for name, map_ in maps.items()}
            yield _calibrated(ballots, split, scores, parts, in_sample)


def _batches(
    scored: Iterable[tuple[Split, PrefixScores]],
) -> Iterator[list[tuple[Split, PrefixScores]]]:
    """Yield runs of neighbours with at most ``_TOGETHER`` scores when padded, or a single split."""
    batch: list[tuple[Split, PrefixScores]] = []
    columns, longest = 0, 0
    for pair in scored:
        b, n = pair[1].calibration.shape
        if batch and (columns + b) * max(longest, n) > _TOGETHER:
            yield batch
            batch, columns, longest = [], 0, 0
        batch.append(pair)
        columns, longest = columns + b, max(longest, n)
    if batch:
        yield batch


def _calibrated(
    ballots: Ballots,
    split: Split,
    scores: PrefixScores,
    maps: Mapping[Calibrator, CalibrationFit],
    in_sample: bool,
) -> Calibrated:
    return Calibrated(
        maps=maps,
        logits=scores.evaluation,
        empty=None if in_sample else scores.evaluation_empty,
        signs=ballots.signs[split.evaluation].astype(np.float64),
        null=ballots.null_logit(split.calibration),
    )


def calibration_folds(
    ballots: Ballots, split: Split, scores: PrefixScores, calibrators: tuple[Calibrator, ...]
) -> Ints | None:
    """Fold (n_cal,) for calibrators that cross-validate, which keeps units whole.

    None if every item is its own unit; the calibrator then assigns the folds.
    """
    if scores.fold is not None or not set(calibrators) & set(CROSS_VALIDATED):
        return scores.fold
    units = ballots.units[split.calibration]
    if unit_codes(units)[1] in (1, len(units)):
        return None
    return _fold_of_rows(ballots, split, seed=0, key=(split.number, 8))


def _fold_of_rows(ballots: Ballots, split: Split, *, seed: int, key: tuple[int, ...]) -> Ints:
    """Fold (n_cal,) of every calibration row, drawn from ``SeedSequence(seed, spawn_key=key)``."""
    pieces = folds(ballots.units, split.calibration, N_FOLDS, seed=seed, key=key)
    return fold_of(pieces, ballots.n_items)[split.calibration]


def evaluate(
    ballots: Ballots, split: Split, fitted: Calibrated, out: metrics.ItemScores | None = None
) -> SplitScores:
    """Score the evaluation rows of every column under every calibrator, and the null scores.

    ``out`` is room for the scores, the columns of one calibrator after those of another from its
    first row on.
    """
    n = len(fitted.logits)
    if out is None:
        scores = [metrics.blank_scores(fitted.logits.shape) for _ in fitted.maps]
    else:
        scores = [out.part(slice(c * n, (c + 1) * n)) for c in range(len(fitted.maps))]
    above = np.zeros((len(scores), metrics.ECE_BINS, n))
    for c, block, items, logits in fitted.by_block():
        part = scores[c].part(block).items(items)
        above[c, :, block] += metrics.score_items(
            logits, fitted.signs[items], part, symmetric=ballots.symmetric
        )
    for score, sums in zip(scores, above, strict=True):
        score.ece[:] = metrics.gap_of(sums, len(fitted.signs))
    null_nll, constant_nll = baselines(ballots, split, fitted)
    return SplitScores(dict(zip(fitted.maps, scores, strict=True)), fitted, null_nll, constant_nll)


def baselines(
    ballots: Ballots, split: Split, fitted: Calibrated
) -> tuple[float, dict[Calibrator, float]]:
    """NLL of the base rate, and of a constant score through every calibrator."""
    signs = fitted.signs
    ones = np.count_nonzero(ballots.signs[split.calibration] > 0)
    maps = _constant(tuple(fitted.maps), ones, len(split.calibration), ballots.symmetric)
    constant = np.zeros((1, len(signs)))
    return float(metrics.mean_nll(np.full(len(signs), fitted.null), signs)), {
        name: float(metrics.mean_nll(map_(constant), signs)[0]) for name, map_ in maps.items()
    }


@lru_cache(_CONSTANTS)
def _constant(
    names: tuple[Calibrator, ...], ones: int, n: int, symmetric: bool
) -> Mapping[Calibrator, CalibrationFit]:
    """Calibrators fitted to a score of 0 on n labels, ``ones`` of which are 1."""
    signs = np.where(np.arange(n) < ones, 1.0, -1.0)
    return fit(names, np.zeros((1, n)), signs, symmetric=symmetric)


def nll_by_fold(
    ballots: Ballots,
    split: Split,
    scores: PrefixScores,
    calibrators: tuple[Calibrator, ...],
    fold: Ints,
) -> Floats:
    """Return the mean over the rows of :func:`losses_by_fold`, (n_calibrators, n_k)."""
    return np.asarray(losses_by_fold(ballots, split, scores, calibrators, fold).mean(axis=-1))


def losses_by_fold(
    ballots: Ballots,
    split: Split,
    scores: PrefixScores,
    calibrators: tuple[Calibrator, ...],
    fold: Ints | None = None,
) -> Floats:
    """NLL (n_calibrators, n_k, n_cal) of calibration rows, each fold calibrated on the others.

    ``fold`` (n_cal,) divides the calibration rows; None uses the folds of the cross-fitted scores.
    The scores must not be fitted to their own labels; they may be fitted to those of other folds,
    as every cross-fitted score is.
    """
    fold = scores.fold if fold is None else fold
    if fold is None:
        raise ValueError("these scores were not cross-fitted")
    scores = replace(scores, fold=fold)
    parts = [left_out(split, scores, fold, number) for number in np.unique(fold).tolist()]
    losses = np.empty((len(calibrators), *scores.calibration.shape))
    fits = calibrate_each(ballots, parts, calibrators)
    for number, fitted in zip(np.unique(fold), fits, strict=True):
        losses[..., fold == number] = item_losses(fitted)
    return losses


def left_out(
    split: Split, scores: PrefixScores, fold: Ints, number: int
) -> tuple[Split, PrefixScores]:
    """The calibration rows alone: those of one ``fold`` (n_cal,) are held out of the others."""
    own = fold == number
    part = replace(scores, evaluation=scores.calibration, evaluation_empty=scores.calibration_empty)
    return Split(number, split.calibration[~own], split.calibration[own]), part.of_rows(~own, own)


def item_losses(fitted: Calibrated) -> Floats:
    """Return the NLL of every evaluation row, (n_calibrators, n_k, n_eval)."""
    losses = np.empty((len(fitted.maps), *fitted.logits.shape))
    for c, block, items, logits in fitted.by_block():
        losses[c, block, items] = metrics.item_nll(logits, fitted.signs[items])
    return losses


def summed_nll(fitted: Calibrated) -> Floats:
    """Return the NLL summed over the evaluation rows, (n_calibrators, n_k)."""
    total = np.zeros((len(fitted.maps), len(fitted.logits)))
    for c, block, items, logits in fitted.by_block():
        signs = fitted.signs[items]
        total[c, block] += metrics.mean_nll(logits, signs) * len(signs)
    return total


@dataclass(frozen=True, slots=True)
class Recipe:
    """How every panel of a split is built.

    ``in_sample`` is the paper's protocol: calibrators see scores fitted to their own label, and an
    item without votes has a logit of 0 before calibration. Otherwise own labels are removed, and an
    item without votes gets the null prediction. ``seed`` determines the cross-fitting folds.
    """

    aggregator: AnyAggregator = "one_coin"
    calibrators: tuple[Calibrator, ...] = ("none", "temperature", "beta")
    ranking: Ranking = "accuracy"
    in_sample: bool = False
    seed: int = 0

    def scores(
        self,
        ballots: Ballots,
        split: Split,
        ks: Ints,
        key: tuple[int, ...] = (0, 4),
        *,
        compared: bool = True,
    ) -> PrefixScores:
        """Return the raw scores of a split; ``key`` determines the folds of cross-fitting.

        Own labels are removed only if a calibrator sees the calibration rows or panels are
        ``compared``.
        """
        unseen = not compared and self.calibrators == ("none",)
        return panel_scores(
            ballots,
            split,
            ks,
            aggregator=self.aggregator,
            ranking=self.ranking,
            own_label="seen" if self.in_sample or unseen else "removed",
            seed=self.seed,
            key=key,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """How panel sizes are compared on calibration rows alone.

    ``offered`` (n_k,) marks the sizes to choose from; closed forms are refitted in ``n_folds``
    folds, drawn by ``key``.
    """

    offered: NDArray[np.bool_]
    n_folds: int
    key: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SplitFit:
    """What a split learns from its calibration rows; fields as in :class:`SplitScores`.

    ``chosen_on`` (n_calibrators, n_k) is the mean of ``inner``, infinite for columns not offered,
    and 0 if there is no choice.
    """

    fitted: Calibrated
    chosen_on: Floats
    inner: Floats | None


def evaluate_split(
    ballots: Ballots,
    split: Split,
    ks: Ints,
    recipe: Recipe,
    choice: Choice | None = None,
    out: metrics.ItemScores | None = None,
) -> SplitScores:
    """Fit on the calibration rows of a split and score its evaluation rows, for all ``ks``.

    ``out`` as in :func:`evaluate`.
    """
    fit = fit_split(ballots, split, ks, recipe, choice)
    return replace(evaluate(ballots, split, fit.fitted, out), inner=fit.inner)


def fit_split(
    ballots: Ballots, split: Split, ks: Ints, recipe: Recipe, choice: Choice | None = None
) -> SplitFit:
    """Fit on the calibration rows of a split, for all ``ks``."""
    if choice is None:
        _, fitted = _own(ballots, split, ks, recipe, compared=False)
        return SplitFit(fitted, np.zeros((len(recipe.calibrators), len(ks))), None)
    own = partial(_own, ballots, split, ks, recipe, compared=True)
    if cross_fits(recipe.aggregator) and not recipe.in_sample:
        scores, fitted = own()
        losses = losses_by_fold(ballots, split, scores, recipe.calibrators)[:, choice.offered]
    else:
        inner = partial(inner_losses, ballots, split.calibration, ks[choice.offered], recipe)
        (_, fitted), losses = both(own, partial(inner, n_folds=choice.n_folds, key=choice.key))
    chosen_on = np.full((len(losses), len(ks)), np.inf)
    chosen_on[:, choice.offered] = losses.mean(axis=-1)
    return SplitFit(fitted, chosen_on, losses)


def _own(
    ballots: Ballots, split: Split, ks: Ints, recipe: Recipe, *, compared: bool
) -> tuple[PrefixScores, Calibrated]:
    """The raw scores of a split, and calibrators fitted to them."""
    scores = recipe.scores(ballots, split, ks, (split.number, 4), compared=compared)
    return scores, calibrate(ballots, split, scores, recipe.calibrators, in_sample=recipe.in_sample)


def evaluate_each(
    ballots: Ballots, splits: Sequence[Split], ks: Ints, recipe: Recipe
) -> list[SplitScores]:
    """Run :func:`evaluate_split` for several splits, whose calibrators are fitted together."""
    # Splits of like size share a batch, which is padded to the largest.
    order = sorted(range(len(splits)), key=lambda i: len(splits[i].calibration))
    scores_by_split = [
        (split, recipe.scores(ballots, split, ks, (split.number, 4), compared=False))
        for split in (splits[i] for i in order)
    ]
    fits = calibrate_each(ballots, scores_by_split, recipe.calibrators, in_sample=recipe.in_sample)
    calibrated = zip(order, scores_by_split, fits, strict=True)
    results = {i: evaluate(ballots, split, fitted) for i, (split, _), fitted in calibrated}
    return [results[i] for i in range(len(splits))]


def inner_losses(
    ballots: Ballots, rows: Ints, ks: Ints, recipe: Recipe, *, n_folds: int, key: tuple[int, ...]
) -> Floats:
    """Cross-validated NLL (n_calibrators, n_k, n_rows) on these rows alone, for making choices.

    Ranking, weights and calibrator are refitted in every fold, so selection is nested and no score
    is fitted to the label it is compared with. The folds come from ``SeedSequence(recipe.seed,
    spawn_key=key)``; cross-fitted aggregators use the same folds.
    """
    if cross_fits(recipe.aggregator) and not recipe.in_sample:
        split = Split(0, rows, rows[:0])
        scores = recipe.scores(ballots, split, ks, key)
        return losses_by_fold(ballots, split, scores, recipe.calibrators)
    losses = np.empty((len(recipe.calibrators), len(ks), len(rows)))
    place = places_in(rows, ballots.n_items)
    splits = folds(ballots.units, rows, n_folds, seed=recipe.seed, key=key)
    scores_by_split = (
        (split, recipe.scores(ballots, split, ks, (*key, split.number))) for split in splits
    )
    fits = calibrate_each(ballots, scores_by_split, recipe.calibrators, in_sample=recipe.in_sample)
    for split, fitted in zip(splits, fits, strict=True):
        losses[..., place[split.evaluation]] = item_losses(fitted)
    return losses


Form = Literal["cross_fitted", "nested"]
FORMS: tuple[Form, ...] = get_args(Form)
LEARNS = 0.7


@dataclass(frozen=True, slots=True)
class Pipelines:
    """Aggregators x calibrators of all judges.

    ``form`` cross_fitted fits both on all calibration rows, calibrators to scores not fitted to
    their own labels; nested (the paper's) gives ``LEARNS`` of the rows to the aggregator and the
    rest to the calibrator. ``in_sample`` is the paper's protocol.
    """

    aggregators: tuple[Aggregator, ...]
    calibrators: tuple[Calibrator, ...]
    form: Form = "cross_fitted"
    in_sample: bool = False
    seed: int = 0


def evaluate_grid(
    ballots: Ballots, split: Split, pipelines: Pipelines
) -> tuple[SplitScores, Floats]:
    """Score every cell of the grid; columns follow ``aggregators``.

    The second is the cross-validated NLL (n_calibrators, n_aggregators) of every cell on the
    calibration rows alone, infinite if the calibrator itself makes a choice, which would need
    another level of nesting.
    """
    names = pipelines.calibrators
    null = ballots.null_logit(split.calibration)
    if pipelines.form == "nested":
        # The aggregator does not see the rows that are held out for the calibrator.
        key = (split.number, 6)
        learn, hold = subsplit(
            ballots.units, split.calibration, fraction=LEARNS, seed=pipelines.seed, key=key
        )
        both_sides = Split(split.number, learn, np.concatenate([hold, split.evaluation]))
        whole = _columns(ballots, both_sides, replace(pipelines, in_sample=True))
        apart = replace(
            whole, calibration=whole.evaluation, calibration_empty=whole.evaluation_empty
        )
        scores = apart.of_rows(slice(len(hold)), slice(len(hold), None))
        split = Split(split.number, hold, split.evaluation)
    else:
        scores = _columns(ballots, split, pipelines)
    chosen_on = _chosen_on(ballots, split, scores, pipelines)
    fitted = calibrate(ballots, split, scores, names, in_sample=pipelines.in_sample)
    return evaluate(ballots, split, replace(fitted, null=null)), chosen_on


def _chosen_on(
    ballots: Ballots, split: Split, scores: PrefixScores, pipelines: Pipelines
) -> Floats:
    """Cross-validated NLL (n_calibrators, n_aggregators) of the cells a choice may take.

    Cross-fitted scores of the calibration rows are calibrated on the other folds. Leave-out counts
    cannot be used that way: they contain the labels of all other rows, so closed forms are refitted
    in every fold.
    """
    names = pipelines.calibrators
    offered = tuple(name for name in names if name not in CROSS_VALIDATED)
    values = np.full((len(names), len(pipelines.aggregators)), np.inf)
    if not offered:
        return values
    place = [names.index(name) for name in offered]
    key = (split.number, 4)
    pieces = folds(ballots.units, split.calibration, N_FOLDS, seed=pipelines.seed, key=key)
    again = [
        column
        for column, name in enumerate(pipelines.aggregators)
        if pipelines.form == "cross_fitted" and (pipelines.in_sample or not cross_fits(name))
    ]
    if len(again) < len(pipelines.aggregators):
        fold = fold_of(pieces, ballots.n_items)[split.calibration]
        values[place] = nll_by_fold(ballots, split, scores, offered, fold)
    if again:
        names_again = tuple(pipelines.aggregators[column] for column in again)
        part = replace(pipelines, aggregators=names_again)
        scores_by_piece = [(piece, _columns(ballots, piece, part)) for piece in pieces]
        fitted = calibrate_each(ballots, scores_by_piece, offered, in_sample=pipelines.in_sample)
        total = np.sum([summed_nll(maps) for maps in fitted], axis=0)
        values[np.ix_(place, again)] = total / len(split.calibration)
    return values


def _columns(ballots: Ballots, split: Split, pipelines: Pipelines) -> PrefixScores:
    """One column of scores per aggregator, for all judges."""
    ks, in_sample = np.array([ballots.n_judges]), pipelines.in_sample
    recipes = [
        Recipe(name, pipelines.calibrators, in_sample=in_sample, seed=pipelines.seed)
        for name in pipelines.aggregators
    ]
    parts = [recipe.scores(ballots, split, ks, (split.number, 4)) for recipe in recipes]
    return PrefixScores.stacked(parts)


Method = Literal["plain", "stratified", "weighted"]
METHODS: tuple[Method, ...] = get_args(Method)
FEWEST_IN_STRATUM = 10


@dataclass(frozen=True, slots=True)
class TransferRecipe(Recipe):
    """How panels are built and transferred.

    ``strata`` is the number of strata of the source rows; ``most`` bounds an importance weight, as
    a multiple of the mean.
    """

    calibrators: tuple[Calibrator, ...] = ("beta",)
    strata: int = 2
    most: float = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class TargetScores:
    """The rows of one target under one source.

    ``scores`` has arrays (n_calibrators, n_methods, n_target); ``null_nll`` is the NLL of the
    source base rate, ``constant_nll`` (n_calibrators,) that of a constant score through the plain
    calibrator; ``effective`` is the effective number of weighted source rows, ``clipped`` the share
    of clipped weights; ``replaced`` (n_calibrators,) counts fits that fell back to temperature, of
    ``fits``: two plus one per stratum. ``kept`` of ``strata`` strata had too few source rows and
    use the plain fit.
    """

    scores: metrics.ItemScores
    null_nll: float
    constant_nll: Floats
    effective: float
    clipped: float
    replaced: Ints
    fits: int
    kept: int
    strata: int


def transferred(
    ballots: Ballots,
    source: Split,
    targets: Sequence[Ints],
    recipe: TransferRecipe,
    key: tuple[int, ...],
) -> list[TargetScores]:
    """Fit on ``source.calibration`` and score each of the disjoint targets outside it.

    ``source.evaluation`` holds the rows of all targets together, in any order. Cross-fitting folds
    come from ``SeedSequence(recipe.seed, spawn_key=key)``.
    """
    scores = recipe.scores(ballots, source, np.array([ballots.n_judges]), key)
    fitted = partial(calibrate, calibrators=recipe.calibrators, in_sample=recipe.in_sample)
    plain = fitted(ballots, source, scores)
    stratified, replaced, kept, strata = _by_stratum(ballots, source, scores, recipe, plain)
    place = places_in(source.evaluation, ballots.n_items)
    labels = ballots.signs[source.calibration].astype(np.float64)
    blank = np.zeros((1, len(labels)))
    constant = fit(recipe.calibrators, blank, labels, symmetric=ballots.symmetric)
    summaries = residual.vote_summaries(ballots)
    target_scores = []
    for rows in targets:
        at, signs = place[rows], ballots.signs[rows].astype(np.float64)
        near = residual.importance(summaries[source.calibration], summaries[rows], most=recipe.most)
        weighted = fitted(ballots, source, scores, importance=near.weights)
        methods = [
            (plain.logits_of(name)[0, at], stratified[name][at], weighted.logits_of(name)[0, at])
            for name in recipe.calibrators
        ]
        logits = np.stack([np.stack(by_method) for by_method in methods])
        blank = np.zeros((1, len(rows)))
        constant_nll = [
            metrics.mean_nll(constant[name](blank), signs) for name in recipe.calibrators
        ]
        target_scores.append(
            TargetScores(
                scores=metrics.item_scores(logits, signs, symmetric=ballots.symmetric),
                null_nll=float(metrics.mean_nll(np.full(len(rows), plain.null), signs)),
                constant_nll=np.array([float(nll[0]) for nll in constant_nll]),
                effective=near.effective,
                clipped=near.clipped,
                replaced=replaced + _replaced(plain, recipe) + _replaced(weighted, recipe),
                fits=2 + strata - kept,
                kept=kept,
                strata=strata,
            )
        )
    return target_scores


def strata_of(split_votes: Floats, source: Ints, strata: int) -> Ints:
    """Return the stratum (n_items,) of every item, by quantiles of the source rows' disagreement.

    ``split_votes`` (n_items,) is the disagreement. Items outside the source's range belong to its
    first or last stratum.
    """
    inner = np.arange(1, strata) / strata
    cuts = np.unique(np.quantile(split_votes[source], inner)) if strata > 1 else np.zeros(0)
    return np.searchsorted(cuts, split_votes, side="left").astype(np.int64)


def _by_stratum(
    ballots: Ballots, source: Split, scores: PrefixScores, recipe: TransferRecipe, plain: Calibrated
) -> tuple[dict[Calibrator, Floats], Ints, int, int]:
    """Return calibrated logits (n_eval,) by calibrator, each row's from its own stratum.

    A stratum with fewer than ``FEWEST_IN_STRATUM`` source rows uses the plain fit. The others are
    ``replaced`` (n_calibrators,), ``kept`` and ``strata`` as in :class:`TargetScores`.
    """
    stratum = strata_of(residual.disagreement(ballots), source.calibration, recipe.strata)
    own, new = stratum[source.calibration], stratum[source.evaluation]
    by_name = {name: plain.logits_of(name)[0].copy() for name in recipe.calibrators}
    replaced = np.zeros(len(recipe.calibrators), dtype=np.int64)
    count, numbers = 0, np.unique(new)
    for number in numbers:
        inside, meant = own == number, new == number
        if np.count_nonzero(inside) < FEWEST_IN_STRATUM:
            count += 1
            continue
        part = scores.of_rows(inside, meant)
        rows = Split(source.number, source.calibration[inside], source.evaluation[meant])
        inner = calibrate(ballots, rows, part, recipe.calibrators, in_sample=recipe.in_sample)
        inner = replace(inner, null=plain.null)
        for name in recipe.calibrators:
            by_name[name][meant] = inner.logits_of(name)[0]
        replaced += _replaced(inner, recipe)
    return by_name, replaced, count, len(numbers)


def _replaced(fitted: Calibrated, recipe: TransferRecipe) -> Ints:
    """1 for every calibrator (n_calibrators,) that fell back to temperature."""
    return np.array([int(fitted.maps[name].replaced.any()) for name in recipe.calibrators])


SLICE = 0.3
STEPS = ("1", "1-2", "1-3", "1-4", "1+3")
"""Aggregator; + residual correction; + calibrator; + conformal slice; calibrator alone."""
_CALIBRATED = STEPS.index("1-3")


@dataclass(frozen=True, slots=True, eq=False)
class PipelineScores:
    """Evaluation rows of one split under every step.

    ``logits`` (n_k, n_steps, n_eval) are final logits in the order of ``STEPS``; step 1-4 is the
    pipeline of step 1-3 fitted without the conformal slice. ``kinds`` int8 (n_levels, n_k, n_eval)
    are its sets at ``LEVELS``, ``n_slice`` the number of items that set their thresholds.
    ``null_nll`` and ``constant_nll`` (n_steps,) are the NLL of the base rate and of a constant
    score. ``replaced`` (3,) counts panels that fall back to temperature for the correction, for the
    calibrator after it and for the calibrator alone.
    """

    logits: Floats
    kinds: conformal.Kinds
    n_slice: int
    null_nll: float
    constant_nll: Floats
    replaced: Ints


def evaluate_pipeline(
    ballots: Ballots,
    features: residual.FeatureColumns | None,
    split: Split,
    ks: Ints,
    recipe: Recipe,
) -> PipelineScores:
    """Fit every step on the calibration rows of a split and score its evaluation rows.

    ``features`` are columns of ``ballots.n_items`` rows; ``ks`` are sorted panel sizes; ``recipe``
    has one calibrator.

    Raises
    ------
    InputError
        Fewer than 3 calibration units, which a slice and two folds need.
    """
    key = (split.number, 9)
    whole, replaced = _steps(ballots, features, split, ks, recipe, key)
    learn, hold = subsplit(
        ballots.units, split.calibration, fraction=1.0 - SLICE, seed=recipe.seed, key=key
    )
    apart = Split(split.number, learn, np.concatenate([hold, split.evaluation]))
    sliced, replaced_apart = _steps(ballots, features, apart, ks, recipe, (*key, 1))
    final, cut = sliced[:, _CALIBRATED], len(hold)
    raw, corrected, calibrated, alone = np.moveaxis(whole, 1, 0)
    logits = np.stack([raw, corrected, calibrated, final[:, cut:], alone], axis=1)
    # Sets use the clipped probability, which is the one that is displayed.
    p = np.clip(sigmoid(final[:-1]), metrics.CLIP, 1.0 - metrics.CLIP)
    slice_scores = conformal.nonconformity(p[:, :cut], (ballots.signs[hold] > 0).astype(np.int64))
    limits = [conformal.threshold(slice_scores, level)[:, None] for level in conformal.LEVELS]
    signs = ballots.signs[split.evaluation].astype(np.float64)
    null = ballots.null_logit(split.calibration)
    return PipelineScores(
        logits=logits[:-1],
        kinds=np.stack([conformal.set_kinds(p[:, cut:], limit, limit) for limit in limits]),
        n_slice=len(hold),
        null_nll=float(metrics.mean_nll(np.full(len(signs), null), signs)),
        constant_nll=metrics.mean_nll(logits[-1], signs),
        replaced=replaced + replaced_apart,
    )


def _steps(
    ballots: Ballots,
    features: residual.FeatureColumns | None,
    split: Split,
    ks: Ints,
    recipe: Recipe,
    key: tuple[int, ...],
) -> tuple[Floats, Ints]:
    """Final logits (n_k + 1, 4, n_eval): raw, corrected, calibrated, calibrated without step 2.

    The second is ``replaced`` of :class:`PipelineScores`.
    """
    scores = recipe.scores(ballots, split, ks, (*key, 4))
    calibration, evaluation = _with_constant(scores.calibration), _with_constant(scores.evaluation)
    signs = ballots.signs[split.calibration].astype(np.float64)
    weights = None if recipe.in_sample else 1.0 - _with_constant(scores.calibration_empty)
    fold = scores.fold
    if fold is None:
        fold = _fold_of_rows(ballots, split, seed=recipe.seed, key=(*key, 5))
    symmetric = ballots.symmetric
    own = residual.rows_of(features, split.calibration)
    new = residual.rows_of(features, split.evaluation)
    encoder = residual.fit_encoder(own, len(signs))
    encoded = encoder.encode(own, len(signs))
    correction = residual.fit_residual(calibration, signs, encoded, weights, symmetric=symmetric)
    corrected = correction(evaluation, encoder.encode(new, len(split.evaluation)))
    if recipe.in_sample:
        seen = correction(calibration, encoded)
    else:
        seen = residual.cross_fitted_residual(
            calibration, signs, own, fold, weights, symmetric=symmetric
        )
    (name,) = recipe.calibrators
    behind, alone = (
        fit((name,), logits, signs, weights, symmetric=symmetric, fold=fold)[name]
        for logits in (seen, calibration)
    )
    logits = np.stack([evaluation, corrected, behind(corrected), alone(evaluation)], axis=1)
    if not recipe.in_sample:
        null = ballots.null_logit(split.calibration)
        empty = np.concatenate([scores.evaluation_empty, np.zeros((1, logits.shape[2]), bool)])
        logits = np.where(empty[:, None], null, logits)
    replaced = [int(part.replaced[:-1].sum()) for part in (correction, behind, alone)]
    return logits, np.array(replaced)


def _with_constant(rows: Floats | NDArray[np.bool_]) -> Floats:
    """Return panels (n_k, n) with a row of zero scores appended."""
    return np.concatenate([rows.astype(np.float64), np.zeros((1, rows.shape[1]))])
