"""Sampled Shapley values of judges, or of groups of judges, in NLL.

The value of a coalition is its NLL reduction relative to the null prediction. A player's Shapley
value is its mean contribution over all orders in which players may join (Shapley 1953). Along any
order the gains sum to the reduction of all judges, so the values of all players always sum to
NLL(null) - NLL(all).

Early players contribute most, so orders are balanced by position: a random order is rotated by
equal steps, and every order comes with its reverse (antithetic sampling; Mitchell et al. 2022, JMLR
23:43). Each order is marginally uniform, so the mean is unbiased. There are two such designs, drawn
independently: their difference measures the sampling error of the orders.

Under a closed form the coalitions of an order are prefixes of a cumulative sum: an order costs as
much as a panel curve. Memory is two tables (n_players, n) for each side of the split.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.prefixes import PrefixScores
from judgepanel.kernels.calibrate.calibration import MapFit
from judgepanel.kernels.evaluate.calibrated import calibrate
from judgepanel.kernels.select.subsets import Additions, SubsetTrial
from judgepanel.scoring.metrics import item_nll
from judgepanel.scoring.single import single_product


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Gains of G players on the n evaluation rows of a split, in nats.

    ``items`` (G, n) are means over all orders; ``designs`` (2, G) are means over the rows and over
    the orders of each design; ``null`` and ``everyone`` are mean NLLs without and with all players.
    Summed over players and averaged over rows, ``items`` is ``null`` - ``everyone``. ``replaced``
    of ``made`` calibrators could not be fitted.
    """

    items: Floats
    designs: Floats
    null: float
    everyone: float
    made: int
    replaced: int

    @property
    def noise(self) -> Floats:
        """Variance (G,) of a player's mean gain due to the sampling of orders.

        It has one degree of freedom, so average it over splits.
        """
        return np.asarray((self.designs[0] - self.designs[1]) ** 2 / 4.0)


def balanced_orders(n_players: int, n_orders: int, rng: np.random.Generator) -> Ints:
    """Return two concatenated designs (n_orders, n_players); n_orders is a multiple of 4."""
    steps = n_orders // 4
    result = []
    for _ in range(2):
        permutation = rng.permutation(n_players)
        for step in range(steps):
            order = np.roll(permutation, step * n_players // steps)
            result += [order, order[::-1]]
    return np.array(result, dtype=np.int64)


def sampled_shapley(trial: SubsetTrial, groups: Bools, orders: Ints) -> Sampled:
    """Return gains along ``orders`` (n_orders, G), see :func:`balanced_orders`.

    ``groups`` (G, n_judges) are the players: a partition of the judges.
    """
    split, ballots = trial.split, trial.ballots
    signs = ballots.signs[split.evaluation].astype(np.float64)
    learn, held = _Players.of(trial.learn, groups), _Players.of(trial.held, groups)
    items = np.zeros((len(groups), len(signs)))
    means = np.empty(orders.shape)
    near: Floats | None = None
    null = everyone = 0.0
    n_fits = replaced = 0
    for number, order in enumerate(orders):
        scores = PrefixScores(
            np.arange(1, len(order) + 1),
            np.arange(ballots.n_judges),
            *learn.along(order),
            *held.along(order),
        )
        fitted = calibrate(ballots, split, scores, (trial.calibrator,), near=near)
        map_ = fitted.maps[trial.calibrator]
        near = map_.params if isinstance(map_, MapFit) else None
        n_fits, replaced = n_fits + len(order), replaced + int(map_.replaced.sum())
        logits = fitted.logits_of(trial.calibrator, slice(0, len(order)))
        start = np.full((1, len(signs)), fitted.null)
        nll = item_nll(np.concatenate([start, logits]), signs)
        gains = nll[:-1] - nll[1:]
        items[order] += gains
        means[number, order] = gains.mean(axis=1)
        null, everyone = float(nll[0].mean()), float(nll[-1].mean())
    designs = means.reshape(2, -1, len(groups)).mean(axis=1)
    return Sampled(items / len(orders), designs, null, everyone, n_fits, replaced)


@dataclass(frozen=True, slots=True, eq=False)
class _Players:
    """Contributions of players to sums: 1 or 2 tables ``parts`` (G, n); ``voted`` bool (G, n)."""

    parts: tuple[Floats, ...]
    voted: Bools
    prior: float

    @classmethod
    def of(cls, additions: Additions, groups: Bools) -> _Players:
        member = groups.astype(np.float64)
        alone = len(groups) == groups.shape[1] and (groups.argmax(axis=1) == range(len(groups)))
        if np.all(alone):
            return cls(tuple(additions.parts), additions.voted.T, additions.prior)
        parts = tuple(member @ part for part in additions.parts)
        voted = single_product(member, additions.voted.T) > 0.0
        return cls(parts, voted, additions.prior)

    def along(self, order: Ints) -> tuple[Floats, Bools]:
        """Logits (G, n) of the coalitions along an order, and where none of their judges voted."""
        sums = [np.cumsum(part[order], axis=0) for part in self.parts]
        if len(sums) == 2:
            logits = np.log(sums[0] + 1.0) - np.log(sums[1] + 1.0)
        else:
            logits = sums[0] + self.prior
        empty = ~np.logical_or.accumulate(self.voted[order], axis=0)
        if empty.any():
            logits[empty] = 0.0
        return logits, empty
