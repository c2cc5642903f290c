"""Joint on levels: the weight of a vote depends on how far its grade is from the threshold.

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
from judgepanel.kernels.ballots import Ballots, cells_of
from judgepanel.kernels.graded import (
    MOST_BANDS,
    Bands,
    Levels,
    band_counts,
    left_out_evidence,
    level_weights,
    levels_on,
)
from judgepanel.kernels.joint import CS, JointPanel, joint
from judgepanel.kernels.joint_features import Agreement, Features, centring, copy_shares, features
from judgepanel.kernels.prefixes import Fit, Ranking, rank

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
    agreement: Agreement | None
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


def joint_graded(ballots: Ballots, fits: Sequence[Fit], ks: Ints, ranking: Ranking) -> list[Floats]:
    """Kernel (:mod:`kernels.prefixes`); equal to joint, to the bit, without levels."""
    if not levels_on(ballots, _learnt(fits)).several:
        return joint(ballots, fits, ks, ranking)
    scores = [np.empty((len(ks), len(fit.score))) for fit in fits]
    for place, k in enumerate(ks):
        panels = graded_panels(ballots, fits, int(k), ranking)
        for out, fit, panel in zip(scores, fits, panels, strict=True):
            margins = None if ballots.margins is None else ballots.margins[fit.score]
            out[place] = panel.logits(ballots.votes[fit.score], margins)
    return scores


def graded_panels(
    ballots: Ballots,
    fits: Sequence[Fit],
    k: int,
    ranking: Ranking = "accuracy",
    *,
    Cs: Sequence[float] = CS,
) -> list[GradedPanel]:
    """The panel of the ``k`` best judges of every fit."""
    columns = _Columns.of(ballots, _learnt(fits), k)

    def learn(rows: Ints) -> Features:
        return columns.features(ballots, rows, rank(ballots, rows, ranking)[:k])

    panels = joint.panels(
        replace(ballots, votes=columns.votes, margins=None),
        fits,
        k + columns.width,
        ranking,
        Cs=Cs,
        learn=learn,
    )
    return [columns.panel(panel, k) for panel in panels]


def _learnt(fits: Sequence[Fit]) -> Ints:
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

    def features(self, ballots: Ballots, rows: Ints, judges: Ints) -> Features:
        """What a model of these judges learns from these rows."""
        plain = features(ballots, rows, judges, one_coin=True, agreement=True)
        shares = copy_shares(plain.groups)
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
            agreement = Agreement(
                np.pad(agreement.shares, beside), np.pad(agreement.prototypes, ((0, 0), beside))
            )
        return replace(
            plain,
            judges=columns,
            votes=cells_of(np.ascontiguousarray(self.votes[rows][:, columns])),
            base=np.concatenate([base, level_base, np.zeros(silent)]),
            score=score,
            agreement=agreement,
            shrink=0.0 if ballots.symmetric else centring(score, plain.signs),
        )

    def panel(self, panel: JointPanel, k: int) -> GradedPanel:
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
            agreement = Agreement(agreement.shares[:k], agreement.prototypes[:, :k])
        return GradedPanel(
            judges,
            self.levels,
            weights,
            panel.intercept,
            panel.tau,
            agreement,
            panel.agreement_weights,
        )
