"""Mixture: the average of fitted panels, which is what a recommendation exports.

p(label 1) = sum_m w_m p_m, the linear opinion pool (Stone 1961, doi:10.1214/aoms/1177704873): each
member returns a probability from the votes of its own judges, or the base rate if none of them
voted. A single pipeline is a mixture of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.levels import Levels
from judgepanel.kernels.application import coded, probabilities, uncoded
from judgepanel.models.fallback import Fallback
from judgepanel.models.panel import PanelModel
from judgepanel.models.rules import LevelSum
from judgepanel.scoring.metrics import CLIP
from judgepanel.votes import MISSING


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
        cut = Levels(tuple(np.array(edges) for edges in self.edges))
        return coded(votes, cut.bands(margins, len(votes)))

    def score(self, codes: NDArray[np.int8]) -> Floats:
        """Return P(label = 1), in [.001, .999], of codes (n_items, n_judges) in panel order."""
        weights = [member.weight for member in self.members]
        p = pooled(
            [member.model.score(codes[:, list(member.columns)]) for member in self.members], weights
        )
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
