"""One-coin on levels: the weight of a vote depends on the distance of its grade from the threshold.

Of the n votes of a judge c were right, and of its n_b votes in band b
(:mod:`kernels.graded`) c_b were right. A vote in band b has weight log(q_b / (1 - q_b)),

    q_b = (c_b + m p) / (n_b + m),        p = (c + 1) / (n + 2):

the accuracy in the band, shrunk to the judge's. m is larger the less the bands differ beyond
chance: m = 1 / rho - 1, at least ``LEAST``, with rho the intraclass correlation of right votes
within bands minus one standard deviation for chance. If accuracies do not rise with the margin
(fall, for a judge below chance), adjacent bands are pooled (Ayer et al. 1955,
doi:10.1214/aoms/1177728423). A judge with one band has weight log((c + 1) / (n - c + 1)), as in
one-coin, to the bit.

No calibration item is scored by its own label: its unit is removed from c, n, c_b and n_b, and from
the ranking, which uses votes only.

Levels of grades: the distance of a vote from its judge's threshold, in at most four bands.

A vote V in {-1, +1} and its band b make a level; swapping the two responses of an item changes the
sign of V and keeps b. Bands are cut by the margins of a judge's votes, without labels: one band per
distinct margin if there are few, quarters of the votes if there are many. A judge without grades
has one band.

Joint on levels: the weight of a vote depends on how far its grade is from the threshold.

    logit p = b + tau l + sum_j V_j (delta_j + delta_jb / 2) + g(V),

l the one-coin score on levels (:mod:`kernels.graded`), b the band of the vote, g as in
:mod:`kernels.joint`. One ridge shrinks all deltas, so a band may differ from its judge by
half as much as judges differ from each other. Without grades the fit is that of joint.

Levels are cut once for all fits of a cross-fitting, on the rows that they learn from and without
their labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import joint, prefixes
from judgepanel.kernels.ballots import Ballots, cells_of
from judgepanel.scoring.splits import Split, are_single, unit_codes

Bands = NDArray[np.int8]

MOST_BANDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """``edges`` (n_judges arrays, ascending): the smallest margin of each band above the lowest."""

    edges: tuple[Floats, ...]

    @property
    def n_bands(self) -> Ints:
        """int (n_judges,): number of bands of each judge, in 1..``MOST_BANDS``."""
        return np.array([len(edges) + 1 for edges in self.edges], dtype=np.int64)

    @property
    def several(self) -> bool:
        """Whether any judge has more than one band."""
        return any(len(edges) for edges in self.edges)

    def bands(self, margins: Floats | None, n_items: int) -> Bands:
        """Return bands from 0, int8, of margins, both (n_items, n_judges); all 0 for None."""
        bands = np.zeros((n_items, len(self.edges)), dtype=np.int8)
        if margins is not None:
            for judge in np.flatnonzero(self.n_bands > 1):
                bands[:, judge] = np.searchsorted(self.edges[judge], margins[:, judge], "right")
        return bands


def levels_on(ballots: Ballots, rows: Ints) -> Levels:
    """Return levels cut on these rows, without labels."""
    none = np.zeros(0)
    if ballots.margins is None:
        return Levels((none,) * ballots.n_judges)
    margins = np.where(ballots.votes[rows] != 0, ballots.margins[rows], 0.0)
    return Levels(tuple(_edges(margins[:, judge]) for judge in range(ballots.n_judges)))


def has_levels(ballots: Ballots) -> bool:
    """Whether any judge's votes are at different margins, so that grades tell more than votes."""
    return levels_on(ballots, np.arange(ballots.n_items)).several


def _edges(margins: Floats) -> Floats:
    """Return the edges (n_bands - 1,) of one judge's margins (n,), which are 0 without a grade."""
    values = np.sort(margins[margins > 0.0])
    edges: Floats = np.unique(values)
    if len(edges) > MOST_BANDS:
        edges = np.unique(values[np.arange(MOST_BANDS) * len(values) // MOST_BANDS])
    return edges[1:]


LEAST, MOST = 3.0, 1e6
"""Range of the shrinkage m of a band towards its judge, in votes."""
_CELLS = 1_000_000


def graded_scores(
    ballots: Ballots,
    split: Split,
    ks: Ints,
    *,
    ranking: prefixes.Ranking = "accuracy",
    own_label: prefixes.OwnLabel = "removed",
) -> prefixes.PrefixScores:
    """Score both sides of a split under every prefix in ``ks`` (sorted, in 1..n_judges)."""
    calibration, evaluation = split.calibration, split.evaluation
    levels = levels_on(ballots, calibration)
    if (levels.n_bands == 1).all():
        return prefixes.prefix_scores(ballots, split, ks, ranking=ranking, own_label=own_label)
    bands = levels.bands(ballots.margins, ballots.n_items)
    order = prefixes.rank(ballots, calibration, ranking)
    learn = ballots.votes[calibration], ballots.signs[calibration], bands[calibration]
    weights = level_weights(*band_counts(*learn), levels.n_bands)
    columns = np.arange(ballots.n_judges)

    def fixed(rows: Ints) -> Floats:
        evidence = ballots.votes[rows] * weights[bands[rows], columns]
        return np.asarray(np.cumsum(evidence[:, order], axis=1)[:, ks - 1].T)

    if own_label == "seen":
        scores = fixed(calibration)
        empty = prefixes.without_votes(ballots, calibration, order, ks)
    else:
        # Judges, best first, for every row, ranked without its own unit.
        correct, voted, case = prefixes.counts_without_own(
            ballots, calibration, *prefixes.counts(ballots, calibration)
        )
        keys = -prefixes.ranking_key(correct, voted, ranking).ravel()
        place = case(calibration, ballots.votes[calibration]) * ballots.n_judges + columns
        own_order = np.argsort(keys[place], axis=1, kind="stable")
        evidence = left_out_evidence(*learn, ballots.units[calibration], levels.n_bands)
        ranked = np.take_along_axis(evidence, own_order, axis=1)
        scores = np.cumsum(ranked, axis=1)[:, ks - 1].T
        votes = np.take_along_axis(ballots.votes[calibration], own_order, axis=1)
        empty = ks[:, None] <= prefixes.first_votes(votes, ballots.n_judges)[None, :]
    held_out = fixed(evaluation), prefixes.without_votes(ballots, evaluation, order, ks)
    return prefixes.PrefixScores(ks, order, scores, empty, *held_out)


def band_counts(
    votes: NDArray[np.int8], signs: NDArray[np.int8], bands: Bands
) -> tuple[Floats, Floats]:
    """Return right votes and votes of every judge by band, each float (MOST_BANDS, n_judges)."""
    correct, voted = np.empty((2, MOST_BANDS, votes.shape[1]))
    for band in range(MOST_BANDS):
        here = votes * (bands == band)
        voted[band] = np.count_nonzero(here, axis=0)
        correct[band] = (voted[band] + signs.astype(np.float64) @ here) / 2.0
    return correct, voted


def level_weights(correct: Floats, voted: Floats, n_bands: Ints) -> Floats:
    """Return vote weights (..., MOST_BANDS, n_judges) from counts by band of that shape."""
    c, n = correct.sum(axis=-2), voted.sum(axis=-2)
    p = prefixes.posterior_mean(c, n)[..., None, :]
    exists = np.arange(MOST_BANDS)[:, None] < n_bands
    m = _shrinkage(correct, voted, p) * exists
    right, wrong = correct + m * p, voted - correct + m * (1.0 - p)
    below = p < 0.5
    right, wrong = np.where(below, wrong, right), np.where(below, right, wrong)
    right, wrong = _pooled(right, wrong)
    weights = (np.log(right) - np.log(wrong)) * np.where(below, -1.0, 1.0)
    return np.where(n_bands == 1, prefixes.one_coin_weight(c, n)[..., None, :], weights)


def _shrinkage(correct: Floats, voted: Floats, p: Floats) -> Floats:
    """Return the shrinkage m, (..., 1, n_judges).

    The excess of chi-square over its expectation without differences between bands estimates their
    intraclass correlation (Donner 1986, doi:10.2307/1403259). Its standard deviation is subtracted
    too, so that few votes do not turn noise into bands.
    """
    excess = (correct - voted * p) ** 2 / (np.maximum(voted, 1.0) * p * (1.0 - p))
    free = np.maximum(np.count_nonzero(voted, axis=-2) - 1.0, 0.0)
    chance = free + np.sqrt(2.0 * free)
    n = np.maximum(voted.sum(axis=-2), 1.0)
    spread = np.maximum(n - (voted**2).sum(axis=-2) / n, 1.0)
    rho = np.maximum(excess.sum(axis=-2) - chance, 0.0) / spread
    return np.asarray(np.clip(1.0 / np.maximum(rho, 1.0 / MOST) - 1.0, LEAST, MOST)[..., None, :])


def _pooled(right: Floats, wrong: Floats) -> tuple[Floats, Floats]:
    """Return counts (..., n_bands, n_judges) pooled so that accuracies do not fall between bands.

    Band b gets the largest over i <= b of the smallest over j >= b of the accuracy in bands i .. j.
    Missing bands have no counts, and get those of the last existing one.
    """
    n_bands = right.shape[-2]
    block_right, block_wrong = np.empty_like(right), np.empty_like(wrong)
    for band in range(n_bands):
        top = np.full(right[..., 0, :].shape, -np.inf)
        for first in range(band + 1):
            ends = [slice(first, last + 1) for last in range(band, n_bands)]
            rights = np.stack([right[..., end, :].sum(axis=-2) for end in ends])
            wrongs = np.stack([wrong[..., end, :].sum(axis=-2) for end in ends])
            total = rights + wrongs
            share = np.where(total > 0.0, rights / np.where(total > 0.0, total, 1.0), -np.inf)
            least = share.argmin(axis=0)[None]
            low, own_right, own_wrong = (
                np.take_along_axis(values, least, axis=0)[0] for values in (share, rights, wrongs)
            )
            higher = low > top
            top = np.where(higher, low, top)
            for block, own in ((block_right, own_right), (block_wrong, own_wrong)):
                block[..., band, :] = np.where(higher, own, block[..., band, :])
    return block_right, block_wrong


def left_out_evidence(
    votes: NDArray[np.int8], signs: NDArray[np.int8], bands: Bands, units: Ints, n_bands: Ints
) -> Floats:
    """Return votes times weights (n, k), each by counts without its own unit."""
    correct, voted = band_counts(votes, signs, bands)
    columns = np.arange(votes.shape[1])
    if are_single(units):
        table = _alone(correct, voted, n_bands)
        agreed = (votes * signs[:, None] > 0).astype(np.int64)
        return np.asarray(votes * table[agreed, bands, columns])
    codes, n_units = unit_codes(units)
    evidence = np.empty(votes.shape)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(n_units + 1))
    step = max(1, _CELLS // (MOST_BANDS * votes.shape[1]))
    for first in range(0, len(starts) - 1, step):
        rows = order[starts[first] : starts[min(first + step, len(starts) - 1)]]
        unit = codes[rows] - first
        cell, judge = np.nonzero(votes[rows])
        place = (unit[cell], bands[rows[cell], judge], judge)
        own_correct, own_voted = np.zeros((2, int(unit.max()) + 1, MOST_BANDS, votes.shape[1]))
        np.add.at(own_voted, place, 1.0)
        np.add.at(own_correct, place, votes[rows[cell], judge] * signs[rows[cell]] > 0)
        weights = level_weights(correct - own_correct, voted - own_voted, n_bands)
        evidence[rows] = votes[rows] * weights[unit[:, None], bands[rows], columns]
    return evidence


def _alone(correct: Floats, voted: Floats, n_bands: Ints) -> Floats:
    """Weights (2, MOST_BANDS, k) in each band without one vote in it: a wrong and a right one."""
    every = np.arange(len(correct))
    own = (every[:, None] == every)[..., None].astype(np.float64)
    rest = np.maximum(voted - own, 0.0)
    right = np.array([0.0, 1.0])[:, None, None, None]
    weights = level_weights(np.clip(correct - right * own, 0.0, rest), rest, n_bands)
    return np.asarray(weights[:, every, every])


BAND = 0.5
"""How much a band may differ from its judge, as a share of how much judges differ."""


@dataclass(frozen=True, slots=True, eq=False)
class GradedPanel:
    """A fitted panel: logits are sums of the votes' weights, by band, and of agreement.

    Attributes
    ----------
    judges : int (k,), columns of the ballots; all other fields follow this order.
    levels : cuts of the margins of all judges of the ballots.
    weights : float (MOST_BANDS, k), weight of a vote in each band.
    intercept, tau, agreement, agreement_weights : as in
        :class:`judgepanel.kernels.joint.JointPanel`.
    """

    judges: Ints
    levels: Levels
    weights: Floats
    intercept: float
    tau: float
    agreement: joint.Agreement | None
    agreement_weights: Floats

    def logits(self, votes: NDArray[np.int8], margins: Floats | None) -> Floats:
        """Raw logits (n,) of signed votes and margins (n, n_judges); 0 where none voted."""
        bands = self.levels.bands(margins, len(votes))[:, self.judges]
        seen = votes[:, self.judges]
        sums = (seen * self.weights[bands, np.arange(len(self.judges))]).sum(axis=1)
        sums += self.intercept
        if self.agreement is not None:
            sums += self.agreement.similarity(seen) @ self.agreement_weights
        return np.where(seen.any(axis=1), sums, 0.0)

    def scores(self, ballots: Ballots, rows: Ints) -> Floats:
        """The same of the votes on some items (n,) of ballots."""
        margins = None if ballots.margins is None else ballots.margins[rows]
        return self.logits(ballots.votes[rows], margins)


def joint_graded(
    ballots: Ballots, fits: Sequence[prefixes.Fit], ks: Ints, ranking: prefixes.Ranking
) -> list[Floats]:
    """Kernel (:mod:`kernels.prefixes`); equal to joint, to the bit, without levels."""
    if not levels_on(ballots, _learnt(fits)).several:
        return joint.joint(ballots, fits, ks, ranking)
    scores = [np.empty((len(ks), len(fit.score))) for fit in fits]
    for place, k in enumerate(ks):
        panels = graded_panels(ballots, fits, int(k), ranking)
        for out, fit, panel in zip(scores, fits, panels, strict=True):
            out[place] = panel.scores(ballots, fit.score)
    return scores


def graded_panels(
    ballots: Ballots,
    fits: Sequence[prefixes.Fit],
    k: int,
    ranking: prefixes.Ranking = "accuracy",
    *,
    Cs: Sequence[float] = joint.CS,
) -> list[GradedPanel]:
    """The panel of the ``k`` best judges of every fit."""
    columns = _Columns.of(ballots, _learnt(fits), k)

    def learn(rows: Ints) -> joint.Features:
        return columns.features(ballots, rows, prefixes.rank(ballots, rows, ranking)[:k])

    table = replace(ballots, votes=columns.votes, margins=None)
    panels = joint.joint.panels(table, fits, k + columns.width, ranking, Cs=Cs, learn=learn)
    return [columns.panel(panel, k) for panel in panels]


def _learnt(fits: Sequence[prefixes.Fit]) -> Ints:
    """The rows that any of the fits learns from."""
    return np.unique(np.concatenate([fit.learn for fit in fits]))


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Votes, and beside them those of each band, as columns of one table.

    ``votes`` (n_items, n_judges + n_levels + 1) holds ``BAND`` V in the column of a vote's level;
    the last one is silent. Level i is band ``band[i]`` of judge ``judge[i]``. A model of k judges
    has k + ``width`` columns, silent ones where its judges have fewer levels.
    """

    levels: Levels
    bands: Bands
    judge: Ints
    band: Ints
    votes: NDArray[np.int8]
    width: int

    @classmethod
    def of(cls, ballots: Ballots, rows: Ints, k: int) -> _Columns:
        """The columns of k judges, with levels cut on these rows."""
        levels = levels_on(ballots, rows)
        bands = levels.bands(ballots.margins, ballots.n_items)
        several = np.where(levels.n_bands > 1, levels.n_bands, 0)
        judge = np.repeat(np.arange(ballots.n_judges), several)
        band = np.concatenate([np.arange(n) for n in several] or [judge]).astype(np.int64)
        level = BAND * ballots.votes[:, judge] * (bands[:, judge] == band)
        silent = np.zeros((ballots.n_items, 1))
        votes = np.concatenate([ballots.votes, level, silent], axis=1)
        # Votes of levels are halves; designs take any number.
        halves = cast(NDArray[np.int8], votes if len(judge) else votes.astype(np.int8))
        return cls(levels, bands, judge, band, halves, int(np.sort(several)[-k:].sum()))

    def features(self, ballots: Ballots, rows: Ints, judges: Ints) -> joint.Features:
        """What a model of these judges learns from these rows."""
        plain = joint.features(ballots, rows, judges, one_coin=True, agreement=True)
        shares = joint.copy_shares(plain.groups)
        votes, signs, bands = plain.dense, ballots.signs[rows], self.bands[rows][:, judges]
        n_bands = self.levels.n_bands[judges]
        own = np.flatnonzero(np.isin(self.judge, judges))
        place = np.argsort(judges)[np.searchsorted(np.sort(judges), self.judge[own])]
        weights = level_weights(*band_counts(votes, signs, bands), n_bands) * shares
        base = np.where(n_bands == 1, plain.base, 0.0)
        level_base = weights[self.band[own], place] / BAND
        silent = self.width - len(own)
        columns = np.concatenate(
            [judges, ballots.n_judges + own, np.full(silent, self.votes.shape[1] - 1)]
        )
        score = plain.score
        if len(own):
            score = left_out_evidence(votes, signs, bands, ballots.units[rows], n_bands) @ shares
        agreement = plain.agreement
        if agreement is not None:
            beside = (0, self.width)
            agreement = joint.Agreement(
                np.pad(agreement.shares, beside), np.pad(agreement.prototypes, ((0, 0), beside))
            )
        return replace(
            plain,
            judges=columns,
            votes=cells_of(np.ascontiguousarray(self.votes[rows][:, columns])),
            base=np.concatenate([base, level_base, np.zeros(silent)]),
            score=score,
            agreement=agreement,
            shrink=0.0 if ballots.symmetric else joint.centring(score, plain.signs),
        )

    def panel(self, panel: joint.JointPanel, k: int) -> GradedPanel:
        """The panel in terms of judges and bands."""
        judges = panel.judges[:k]
        weights = np.tile(panel.weights[:k], (MOST_BANDS, 1))
        place = {int(judge): position for position, judge in enumerate(judges)}
        n_judges = len(self.levels.edges)
        for column, weight in zip(panel.judges[k:], panel.weights[k:], strict=True):
            level = int(column) - n_judges
            if level < len(self.judge):
                weights[self.band[level], place[int(self.judge[level])]] += BAND * weight
        agreement = panel.agreement
        if agreement is not None:
            agreement = joint.Agreement(agreement.shares[:k], agreement.prototypes[:, :k])
        rest = (panel.intercept, panel.tau, agreement, panel.agreement_weights)
        return GradedPanel(judges, self.levels, weights, *rest)
