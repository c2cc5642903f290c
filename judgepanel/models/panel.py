"""PanelModel: a fitted, immutable panel under one pipeline, which scores new votes.

Mixture: the average of fitted panels, which is what a recommendation exports.

p(label 1) = sum_m w_m p_m, the linear opinion pool (Stone 1961, doi:10.1214/aoms/1177704873): each
member returns a probability from the votes of its own judges, or the base rate if none of them
voted. A single pipeline is a mixture of one.

The fallback of a panel, which scores items on which too much of the panel is absent.

One-coin weights with a temperature that depends on the judges who voted:

    logit p = sum_j w_j V_j / T(h),    T(h) = few (1 - h) + all h,

where h in [0, 1] is the share of |w| of the judges who voted on the item. If judges err together,
the sum is overconfident by a factor of about their number, so the temperature must fall as judges
drop out; if they err independently it stays constant. Both ends are fitted jointly to calibration
rows with judges absent.

Rules: how a fitted panel turns votes into a raw logit, one class per family of aggregators.

Votes are (n_items, n_judges) in {0, 1, -1 missing}, in panel order, and codes of votes with grades
where a rule reads grades; every sum runs in that order (:mod:`kernels.application`).

The weight of each judge's vote under every aggregator, fitted to all labelled items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints, Votes
from judgepanel.kernels import graded, maps, prefixes
from judgepanel.kernels.aggregation import AGGREGATORS, RIDGES, Aggregator, AnyAggregator, Graded
from judgepanel.kernels.ballots import (
    Ballots,
    coded,
    fraction_logits,
    knot_logits,
    level_logits,
    likeness_logits,
    map_logits,
    present_weights,
    probabilities,
    uncoded,
    weighted_logits,
)
from judgepanel.kernels.calibration import Calibrator, KnotShape, Shape, fit
from judgepanel.kernels.dawid_skene import DawidSkeneFit, Rules, fit_many, training, two_coin_logits
from judgepanel.kernels.evaluation import Recipe, calibration_folds
from judgepanel.kernels.joint import Agreement, joint
from judgepanel.scoring.metrics import CLIP
from judgepanel.scoring.splits import Split, fold_of, folds
from judgepanel.votes import MISSING

Numbers = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class VoteFraction:
    """log(A + 1) - log(B + 1), A and B the ``weights`` (k,) of the votes for 1 and for 0."""

    kind: Literal["majority", "accuracy_weighted"]
    weights: Numbers

    def logits(self, votes: Votes) -> Floats:
        """Return raw logits (n_items,)."""
        return fraction_logits(votes, np.array(self.weights))


@dataclass(frozen=True, slots=True)
class VoteSum:
    """``intercept`` + sum of V w: ``weights`` (k,) are the log-odds of a vote for 1."""

    kind: Literal["one_coin", "log_odds", "stacking", "stacking_monotone", "joint_monotone"]
    weights: Numbers
    intercept: float = 0.0

    def logits(self, votes: Votes) -> Floats:
        """Return raw logits (n_items,)."""
        return weighted_logits(votes, np.array(self.weights)) + self.intercept


@dataclass(frozen=True, slots=True)
class TwoCoin:
    """Contributions of a vote for 1 (``ones``) and for 0 (``zeros``), (k,), and the prior."""

    kind: Literal["dawid_skene", "dawid_skene_semi"]
    ones: Numbers
    zeros: Numbers
    prior_logit: float

    @property
    def weights(self) -> Numbers:
        """Half the difference between a vote for 1 and a vote for 0."""
        return tuple(
            (label_one - zero) / 2.0 for label_one, zero in zip(self.ones, self.zeros, strict=True)
        )

    def logits(self, votes: Votes) -> Floats:
        """Return raw logits (n_items,)."""
        return two_coin_logits(votes, np.array(self.ones), np.array(self.zeros), self.prior_logit)


@dataclass(frozen=True, slots=True)
class JointSum:
    """A weighted sum plus the contribution of similarity to past items.

    ``prototypes`` are past items, one string of ``1``, ``0`` and ``.`` (missing) each, in panel
    order; ``shares`` (k,) are the judges' weights in a comparison; ``pull`` (m,) is the
    contribution of each prototype (:mod:`kernels.joint`).
    """

    kind: Literal["joint"]
    weights: Numbers
    intercept: float
    shares: Numbers
    prototypes: tuple[str, ...]
    pull: Numbers

    def logits(self, votes: Votes) -> Floats:
        """Return raw logits (n_items,)."""
        linear = weighted_logits(votes, np.array(self.weights)) + self.intercept
        return linear + _likeness(self, votes)


@dataclass(frozen=True, slots=True)
class LevelSum:
    """``intercept`` + sum of V w, the weight of a vote being that of the band of its grade, and for
    joint the contribution of similarity to past items.

    ``levels`` (k,) are the weights of each judge by band, nearest to the threshold first, ``edges``
    (k,) the smallest margin of each band above the lowest. ``shares``, ``prototypes`` and ``pull``
    are those of :class:`JointSum`, empty for one-coin.
    """

    kind: Graded
    levels: tuple[Numbers, ...]
    edges: tuple[Numbers, ...]
    intercept: float = 0.0
    shares: Numbers = ()
    prototypes: tuple[str, ...] = ()
    pull: Numbers = ()

    @property
    def weights(self) -> Numbers:
        """Mean weight (k,) of each judge's vote over its bands."""
        return tuple(sum(weights) / len(weights) for weights in self.levels)

    def weights_of(self, codes: Votes) -> Floats:
        """Return the weight (n_items, k) of every vote in codes."""
        bands = np.maximum(codes, 0) >> 1
        columns = zip(self.levels, bands.T, strict=True)
        return np.stack([np.array(weights)[band] for weights, band in columns], axis=1)

    def logits(self, codes: Votes) -> Floats:
        """Return raw logits (n_items,) of codes."""
        linear = level_logits(codes, [np.array(weights) for weights in self.levels])
        linear += self.intercept
        return linear + _likeness(self, uncoded(codes)) if self.prototypes else linear


Rule = VoteFraction | VoteSum | TwoCoin | JointSum | LevelSum


def _likeness(rule: JointSum | LevelSum, votes: Votes) -> Floats:
    """Contribution of similarity to past items, (n_items,)."""
    past = np.array([[_SIGNS[c] for c in row] for row in rule.prototypes], dtype=np.int8)
    return likeness_logits(votes, np.array(rule.shares), past, np.array(rule.pull))


_SIGNS = {"1": 1, "0": -1, ".": 0}
_MARKS = {sign: mark for mark, sign in _SIGNS.items()}


def fit_rule(
    ballots: Ballots, k: int, aggregator: AnyAggregator, ranking: prefixes.Ranking, *, seed: int
) -> tuple[Ints, Rule]:
    """Return the ``k`` best judges (k,) in panel order, and their rule, fitted on all rows.

    ``seed`` determines the folds in which ridge regressions choose their ridge.
    """
    all_rows = np.arange(ballots.n_items)
    order = prefixes.rank(ballots, all_rows, ranking)[:k]
    if aggregator in ("dawid_skene", "dawid_skene_semi"):
        fit = _em(ballots, order, aggregator)
        kind = cast(Literal["dawid_skene"], aggregator)
        ones, zeros = _floats(fit.ones[:, 0]), _floats(fit.zeros[:, 0])
        return order, TwoCoin(kind, ones, zeros, float(fit.prior[0]))
    if aggregator in ("one_coin_graded", "joint_graded"):
        return _on_levels(ballots, order, aggregator, ranking, seed)
    if aggregator in RIDGES:
        return _ridge(ballots, k, aggregator, ranking, seed)
    correct, voted = prefixes.counts(ballots, all_rows)
    weights = _floats(
        prefixes.closed_form_weights(cast(prefixes.ClosedForm, aggregator), correct, voted)[order]
    )
    if aggregator in prefixes.FRACTIONS:
        return order, VoteFraction(cast(Literal["majority"], aggregator), weights)
    start = prefixes.prior_logit(ballots, all_rows) if aggregator == "log_odds" else 0.0
    return order, VoteSum(cast(Literal["one_coin"], aggregator), weights, start)


def _em(ballots: Ballots, judges: Ints, aggregator: Aggregator) -> DawidSkeneFit:
    """The EM of one panel on all rows."""
    clamp = aggregator == "dawid_skene_semi"
    votes, labels = training(ballots, np.arange(ballots.n_items), judges, clamp=clamp)
    panel = np.ones((len(judges), 1), dtype=bool)
    return fit_many(votes, panel, labels=labels, rules=Rules(symmetric=ballots.symmetric))


def _ridge(
    ballots: Ballots, k: int, aggregator: AnyAggregator, ranking: prefixes.Ranking, seed: int
) -> tuple[Ints, Rule]:
    (panel,) = RIDGES[aggregator].panels(ballots, [_whole(ballots, seed)], k, ranking)
    weights = _floats(panel.weights)
    if panel.agreement is None:
        kind = cast(Literal["stacking"], aggregator)
        return panel.judges, VoteSum(kind, weights, panel.intercept)
    past = _past(panel.agreement, panel.agreement_weights)
    return panel.judges, JointSum("joint", weights, panel.intercept, *past)


def _on_levels(
    ballots: Ballots, order: Ints, kind: Graded, ranking: prefixes.Ranking, seed: int
) -> tuple[Ints, LevelSum]:
    cut = graded.levels_on(ballots, np.arange(ballots.n_items))
    rest: tuple[Any, ...] = ()
    if kind == "one_coin_graded":
        judges, bands = order, cut.bands(ballots.margins, ballots.n_items)
        tally = graded.band_counts(ballots.votes, ballots.signs, bands)
        weights = graded.level_weights(*tally, cut.n_bands)[:, judges]
    else:
        kernel = graded.graded_panels if cut.several else joint.panels
        (panel,) = kernel(ballots, [_whole(ballots, seed)], len(order), ranking)
        judges, weights = panel.judges, np.atleast_2d(panel.weights)
        past = () if panel.agreement is None else _past(panel.agreement, panel.agreement_weights)
        rest = (panel.intercept, *past)
    n_bands = cut.n_bands[judges].tolist()
    levels = tuple(_floats(weights[:n, place]) for place, n in enumerate(n_bands))
    edges = tuple(_floats(cut.edges[judge]) for judge in judges)
    return judges, LevelSum(kind, levels, edges, *rest)


def _whole(ballots: Ballots, seed: int) -> prefixes.Fit:
    """A fit to all rows, with folds in which it chooses its ridge."""
    all_rows = np.arange(ballots.n_items)
    pieces = folds(ballots.units, all_rows, prefixes.N_FOLDS, seed=seed, key=(0,))
    return prefixes.Fit(all_rows, all_rows[:0], fold_of(pieces, ballots.n_items))


def _past(agreement: Agreement, pull: Floats) -> tuple[Numbers, tuple[str, ...], Numbers]:
    """Shares of the judges, prototypes and what each adds, as a rule has them."""
    prototypes = agreement.prototypes.tolist()
    marked = tuple("".join(_MARKS[sign] for sign in row) for row in prototypes)
    return _floats(agreement.shares), marked, _floats(pull)


def _floats(values: Floats) -> Numbers:
    return tuple(float(value) for value in values)


def judge_weights(
    ballots: Ballots, names: Sequence[Aggregator] = AGGREGATORS
) -> dict[Aggregator, Floats]:
    """Return weights (n_judges,) under each named aggregator.

    They are the log-odds of a vote for label 1, or half the difference between a vote for 1 and a
    vote for 0 if these differ (Dawid-Skene). ``majority`` and ``accuracy_weighted`` use a fraction
    of votes, so they are the weights in that fraction. For ``joint`` they are those of its linear
    form: the contribution of agreement with past items belongs to no single judge.
    """
    weights: dict[Aggregator, Floats] = {}
    for name in names:
        if name in RIDGES:
            linear = replace(RIDGES[name], agreement=False)
            (panel,) = linear.panels(ballots, [_whole(ballots, 0)], ballots.n_judges)
            weights[name] = np.empty(ballots.n_judges)
            weights[name][panel.judges] = panel.weights
        elif name in ("dawid_skene", "dawid_skene_semi"):
            fit = _em(ballots, np.arange(ballots.n_judges), name)
            weights[name] = np.asarray((fit.ones - fit.zeros)[:, 0] / 2.0)
        else:
            closed = cast(prefixes.ClosedForm, name)
            tally = prefixes.counts(ballots, np.arange(ballots.n_items))
            weights[name] = prefixes.closed_form_weights(closed, *tally)
    return weights


@dataclass(frozen=True, slots=True)
class PanelModel:
    """A fitted panel under one pipeline.

    Attributes
    ----------
    judges : names in panel order, best first; sums run in this order.
    rule : how their votes become a raw logit, tagged with the ``aggregator``.
    correct, voted : c and n of each judge on the labelled items.
    calibrator : the requested calibrator.
    shape : its fit, whose kind is temperature after a fallback.
    replaced : whether it fell back.
    prior : P(label = 1) of an item without votes.
    n_fit : number of labelled items to which the panel was fitted.
    """

    judges: tuple[str, ...]
    rule: Rule
    correct: tuple[int, ...]
    voted: tuple[int, ...]
    calibrator: Calibrator
    shape: Shape
    replaced: bool
    prior: float
    n_fit: int

    @property
    def aggregator(self) -> AnyAggregator:
        """The aggregator of the votes."""
        return self.rule.kind

    @property
    def weights(self) -> tuple[float, ...]:
        """Weight of each judge's vote; for ``joint``, that of the linear part; for aggregators of
        grades, its mean over bands.
        """
        return self.rule.weights

    def score(self, codes: NDArray[np.int8]) -> Floats:
        """Return P(label = 1), in [.001, .999], of codes (n_items, n_judges) in panel order.

        Codes are votes with the bands of their grades (:meth:`Mixture.codes`); without grades, they
        are the votes.
        """
        p = self.probabilities(self.logits(codes))
        return np.where((codes == MISSING).all(axis=1), self.prior, p)

    def logits(self, codes: NDArray[np.int8]) -> Floats:
        """Return raw logits (n_items,) of codes."""
        return self.rule.logits(codes if isinstance(self.rule, LevelSum) else uncoded(codes))

    def probabilities(self, logits: Floats) -> Floats:
        """Return P(label = 1) of raw logits (n_items,), calibrated and clipped."""
        shape = self.shape
        if isinstance(shape, KnotShape):
            knots, p = np.array(shape.logits), np.array(shape.p)
            return probabilities(knot_logits(logits, knots, p, odd=shape.odd, clip=CLIP), CLIP)
        if shape.clip is not None:
            logits = np.clip(logits, -shape.clip, shape.clip)
        return probabilities(map_logits(logits, shape.a, shape.b, shape.c), CLIP)


def fit_panel(
    ballots: Ballots,
    names: tuple[str, ...],
    k: int,
    *,
    aggregator: AnyAggregator,
    calibrator: Calibrator,
    ranking: prefixes.Ranking = "accuracy",
    seed: int = 0,
) -> PanelModel:
    """Fit the k best judges on all labelled items.

    The calibrator is fitted to scores whose weights and ranking leave out each item's own unit: by
    leave-out counts for closed forms, by cross-fitting for other aggregators.

    Parameters
    ----------
    ballots : votes and labels of the items, signed.
    names : names of the columns of ``ballots``.
    k : number of judges in the panel.
    aggregator, calibrator : the pipeline.
    ranking : what the best judges are best in.
    seed : seed of the folds of cross-fitting.

    Returns
    -------
    The fitted panel.
    """
    return fit_panels(ballots, names, k, Recipe(aggregator, (calibrator,), ranking, seed=seed))[0]


def fit_panels(
    ballots: Ballots, names: tuple[str, ...], k: int, recipe: Recipe
) -> list[PanelModel]:
    """Fit the k best judges under several calibrators, which share one rule and its scores.

    Parameters and panels are those of :func:`fit_panel`.
    """
    scores: prefixes.PrefixScores | None = None
    if set(recipe.calibrators) != {"none"}:
        scores = recipe.scores(ballots, whole_of(ballots), np.array([k]))
    return panels_of(ballots, names, k, scores, recipe)


def whole_of(ballots: Ballots) -> Split:
    """Return a split in which all rows calibrate and none is held out."""
    all_rows = np.arange(ballots.n_items)
    return Split(0, all_rows, all_rows[:0])


def panels_of(
    ballots: Ballots,
    names: tuple[str, ...],
    k: int,
    scores: prefixes.PrefixScores | None,
    recipe: Recipe,
) -> list[PanelModel]:
    """Return the fitted panels of the k best judges of ``ballots``, one per calibrator.

    ``scores`` has one column, to which calibrators are fitted; no item's own label may be in it.
    None will do for ``none``, which fits nothing.
    """
    symmetric = ballots.symmetric
    if scores is None:
        fits = fit(recipe.calibrators, np.zeros((1, 1)), np.ones(1), symmetric=symmetric)
    else:
        fits = fit(
            recipe.calibrators,
            scores.calibration,
            ballots.signs.astype(np.float64),
            (~scores.calibration_empty).astype(np.float64),
            symmetric=symmetric,
            fold=calibration_folds(ballots, whole_of(ballots), scores, recipe.calibrators),
        )
    chosen, rule = fit_rule(ballots, k, recipe.aggregator, recipe.ranking, seed=recipe.seed)
    correct, voted = prefixes.counts(ballots, np.arange(ballots.n_items))
    rate = 0.5 if symmetric else float(np.mean(ballots.signs > 0))
    return [
        PanelModel(
            judges=tuple(names[j] for j in chosen),
            rule=rule,
            correct=tuple(int(correct[j]) for j in chosen),
            voted=tuple(int(voted[j]) for j in chosen),
            calibrator=calibrator,
            shape=fits[calibrator].shape(0),
            replaced=bool(fits[calibrator].replaced[0]),
            prior=min(max(rate, CLIP), 1.0 - CLIP),
            n_fit=ballots.n_items,
        )
        for calibrator in recipe.calibrators
    ]


COOLEST, HOTTEST = 0.05, 1e4
"""Bounds of a temperature: votes that separate the labels perfectly would give 0."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """``weights`` (k,) in panel order, temperatures with ``few`` and with ``all`` judges present.

    It scores items on which judges with more than the share ``beyond`` of the total |weight| did
    not vote.
    """

    weights: tuple[float, ...]
    few: float
    all: float
    beyond: float

    def present(self, votes: Votes) -> Floats:
        """Return h (n_items,) of votes (n_items, k) in {0, 1, -1 missing}; sums in panel order."""
        sizes = np.abs(np.array(self.weights))
        total = 0.0
        for size in sizes.tolist():
            total += size
        return present_weights(votes, sizes) / total

    def scores(self, votes: Votes) -> Bools:
        """Return which items (n_items,) it scores; an item without any vote gets the prior."""
        return np.asarray(1.0 - self.present(votes) > self.beyond)

    def logits(self, votes: Votes) -> Floats:
        """Return calibrated logits (n_items,)."""
        h = self.present(votes)
        return np.asarray(weighted_logits(votes, np.array(self.weights)) / self.temperature(h))

    def temperature(self, present: Floats) -> Floats:
        """Return T(h), (n_items,)."""
        return np.asarray(self.few * (1.0 - present) + self.all * present)


def fit_fallback(ballots: Ballots, absent: Bools, rows: Ints) -> Fallback | None:
    """Fit to ``rows`` with the judges of each arm, bool (n_arms, n_judges), absent in turn.

    Weights come from all rows, without an item's own unit when they score it; all arms count
    equally. Judges are in the order of the ballots, ``beyond`` is 1. None if all weights are 0.
    Cost: rows x judges x arms.
    """
    all_rows = np.arange(ballots.n_items)
    correct, voted = prefixes.counts(ballots, all_rows)
    weights = prefixes.one_coin_weight(correct, voted)
    total = float(np.abs(weights).sum())
    if total == 0.0:
        return None
    correct, voted, case = prefixes.counts_without_own(ballots, all_rows, correct, voted)
    seen = prefixes.one_coin_weight(correct, voted)[
        case(rows, ballots.votes[rows]), np.arange(ballots.n_judges)
    ]
    there = ~absent.T.astype(bool)
    margins = (seen * ballots.votes[rows] * ballots.signs[rows, None]) @ there
    present = (np.abs(weights) * (ballots.votes[rows] != 0)) @ there / total
    few, everybody = _temperatures(margins.ravel(), present.ravel())
    return Fallback(tuple(weights.tolist()), few, everybody, 1.0)


def _temperatures(margins: Floats, present: Floats) -> tuple[float, float]:
    """Return the ends of T that minimise the mean NLL of ``margins`` s l / T, both (n,)."""
    live = margins != 0.0
    if not live.any():
        return 1.0, 1.0
    margin, h = margins[live], np.minimum(present[live], 1.0)

    def loss(ends: Floats) -> tuple[float, Floats]:
        few, everybody = np.exp(ends)
        heat = few * (1.0 - h) + everybody * h
        m = margin / heat
        slope = np.exp(-maps.softplus(m)) * m / heat
        gradient = np.array([few * (slope * (1.0 - h)).mean(), everybody * (slope * h).mean()])
        return float(maps.softplus(-m).mean()), gradient

    bounds = [(np.log(COOLEST), np.log(HOTTEST))] * 2
    start = np.zeros(2)
    solution = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    few, everybody = np.exp(solution.x).tolist()
    return few, everybody


def in_order(fallback: Fallback, places: Ints, beyond: float) -> Fallback:
    """Return the fallback with judges reordered to ``places`` and another threshold."""
    weights = np.array(fallback.weights)[places]
    return replace(fallback, weights=tuple(weights.tolist()), beyond=beyond)


@dataclass(frozen=True, slots=True)
class Member:
    """A panel of the average.

    Attributes
    ----------
    weight : share of the panel in the average, in (0, 1].
    columns : positions of its judges among those of the average.
    model : the panel.
    """

    weight: float
    columns: tuple[int, ...]
    model: PanelModel


@dataclass(frozen=True, slots=True)
class Mixture:
    """A weighted average of fitted panels.

    Attributes
    ----------
    judges : names of all judges used by a member: those of the heaviest member in its order, then
        those that the next one adds, and so on.
    members : the panels, heaviest first; sums run in this order, and their weights sum to 1.
    fallback : scores items on which too much of the panel is absent; None if nothing is better than
        the panel itself, or if that was not measured.
    """

    judges: tuple[str, ...]
    members: tuple[Member, ...]
    fallback: Fallback | None = None

    @property
    def main(self) -> PanelModel:
        """The member with the largest weight."""
        return self.members[0].model

    @property
    def prior(self) -> float:
        """P(label = 1) of an item without votes."""
        return self.main.prior

    @property
    def n_fit(self) -> int:
        """Number of labelled items to which the members were fitted."""
        return self.main.n_fit

    @property
    def correct(self) -> tuple[int, ...]:
        """Number of right votes of each judge on the labelled items, in the order of ``judges``."""
        return self._of_judges("correct")

    @property
    def voted(self) -> tuple[int, ...]:
        """Number of labelled items that each judge voted on, in the order of ``judges``."""
        return self._of_judges("voted")

    def _of_judges(self, name: str) -> tuple[int, ...]:
        values = [0] * len(self.judges)
        for member in self.members:
            for column, value in zip(member.columns, getattr(member.model, name), strict=True):
                values[column] = value
        return tuple(values)

    @property
    def edges(self) -> tuple[tuple[float, ...], ...]:
        """The smallest margin of each band above the lowest, by judge in the order of ``judges``.

        Empty for a judge whose votes all weigh alike.
        """
        values: list[tuple[float, ...]] = [()] * len(self.judges)
        for member in self.members:
            if isinstance(member.model.rule, LevelSum):
                for column, edges in zip(member.columns, member.model.rule.edges, strict=True):
                    values[column] = edges
        return tuple(values)

    @property
    def shares(self) -> tuple[float, ...]:
        """Total weight of the members that use each judge, in (0, 1], in ``judges`` order."""
        values = np.zeros(len(self.judges))
        for member in self.members:
            values[list(member.columns)] += member.weight
        return tuple(np.minimum(values, 1.0).tolist())

    @property
    def main_weights(self) -> tuple[float, ...]:
        """Weight of each judge's vote in the heaviest member, in the order of ``judges``.

        NaN for judges that it does not use; the mean over bands where it reads grades.
        """
        weights = dict(zip(self.main.judges, self.main.weights, strict=True))
        return tuple(weights.get(name, float("nan")) for name in self.judges)

    def codes(self, votes: NDArray[np.int8], margins: Floats | None) -> NDArray[np.int8]:
        """Return votes with the bands of their grades, as :meth:`score` takes them.

        ``votes`` (n_items, n_judges) in {0, 1, -1 missing} and ``margins``, distances of grades
        from thresholds of that shape or None without grades, are in the order of ``judges``.
        """
        cut = graded.Levels(tuple(np.array(edges) for edges in self.edges))
        return coded(votes, cut.bands(margins, len(votes)))

    def score(self, codes: NDArray[np.int8]) -> Floats:
        """Return P(label = 1), in [.001, .999], of codes (n_items, n_judges) in panel order."""
        scores = [member.model.score(codes[:, list(member.columns)]) for member in self.members]
        p = pooled(scores, [member.weight for member in self.members])
        if self.fallback is not None:
            votes = uncoded(codes)
            instead = probabilities(self.fallback.logits(votes), CLIP)
            p = np.where(self.fallback.scores(votes), instead, p)
        return np.where((codes == MISSING).all(axis=1), self.prior, p)

    def falls_back(self, codes: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Return which items, (n_items,), the fallback scores; items without votes are excluded."""
        if self.fallback is None:
            return np.zeros(len(codes), dtype=bool)
        votes = uncoded(codes)
        return np.asarray(self.fallback.scores(votes) & (votes != MISSING).any(axis=1))


def pooled(p: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """Weighted average of probabilities, each (n,), clipped to [.001, .999]; one alone is
    unchanged.

    Distances from 1/2 are averaged, so that the averages of an item and of its swap sum to exactly
    1 if those of every member do.
    """
    if len(p) == 1:
        return p[0]
    total = np.zeros(len(p[0]))
    for values, weight in zip(p, weights, strict=True):
        distance = np.maximum(values, 1.0 - values) - 0.5
        total += weight * np.where(values < 0.5, -distance, distance)
    average = np.where(total < 0.0, 1.0 - (0.5 - total), 0.5 + total)
    return np.clip(average, CLIP, 1.0 - CLIP)


def mixture_of(models: Sequence[PanelModel], weights: Sequence[float]) -> Mixture:
    """Return the average of panels; members are sorted by weight, which orders the judges.

    Parameters
    ----------
    models : fitted panels, which may share judges.
    weights : of each panel, above 0; they sum to 1.

    Returns
    -------
    The average, without a fallback.

    Raises
    ------
    ValueError
        No model, a weight that is not above 0, weights that do not sum to 1, or models that cut a
        judge's grades into other bands.
    """
    if not models or min(weights) <= 0.0 or abs(sum(weights) - 1.0) > 1e-9:
        raise ValueError("weights of a mixture are above 0 and add up to 1")
    order = sorted(range(len(models)), key=lambda m: -weights[m])
    judges = tuple(dict.fromkeys(name for m in order for name in models[m].judges))
    place = {name: column for column, name in enumerate(judges)}
    members = tuple(
        Member(weights[m], tuple(place[name] for name in models[m].judges), models[m])
        for m in order
    )
    mixture = Mixture(judges, members)
    edges = mixture.edges
    for member in members:
        rule = member.model.rule
        if isinstance(rule, LevelSum):
            shared = tuple(edges[column] for column in member.columns)
            if rule.edges != shared:
                raise ValueError("members of a mixture cut a judge's grades into the same bands")
    return mixture
