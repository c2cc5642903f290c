"""Curators that follow a rule or a ranking without a search, some without labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.prefixes import (
    Index,
    Ranking,
    counts,
    posterior_mean,
    rank,
)
from judgepanel.kernels.evaluate.evaluation import Recipe, inner_nll
from judgepanel.kernels.judges.clusters import clusters
from judgepanel.kernels.judges.redundancy import error_correlation, error_counts
from judgepanel.kernels.select.groups import named_groups
from judgepanel.kernels.select.search import best_of
from judgepanel.studies.panel.curator import Chosen, chosen_of
from judgepanel.studies.panel.evidence import Evidence
from judgepanel.studies.scope.parse import legible, to_drop

Bools = NDArray[np.bool_]


def everyone(evidence: Evidence) -> Chosen:
    """All judges."""
    return Chosen(np.ones(evidence.ballots.n_judges, dtype=bool))


def top_k(evidence: Evidence, ranking: Ranking) -> Chosen:
    """The k best by a ranking; k by inner folds, with the judges ranked again in each."""
    sizes = np.arange(1, evidence.ballots.n_judges + 1)
    nll = prefix_nll(evidence, sizes, ranking)
    k = int(sizes[np.argmin(np.round(nll, 9))])
    return first_of(evidence, k, ranking, float(nll[k - 1]))


def prefix_nll(evidence: Evidence, sizes: Index, ranking: Ranking) -> NDArray[np.float64]:
    """NLL (n_sizes,) of the best k by inner folds, ranked again in each."""
    rules = evidence.rules
    recipe = Recipe(rules.aggregator, (rules.calibrator,), ranking, seed=rules.seed)
    return np.asarray(
        inner_nll(
            evidence.ballots,
            evidence.rows,
            sizes,
            recipe,
            n_folds=rules.folds,
            key=(*evidence.key, 102),
        )[0]
    )


def first_of(
    evidence: Evidence, k: int, ranking: Ranking, nll: float = float("nan"), *, table: bool = False
) -> Chosen:
    """The first k of the ranking on all rows."""
    order = rank(evidence.ballots, evidence.rows, ranking)
    judges = np.zeros(evidence.ballots.n_judges, dtype=bool)
    judges[order[:k]] = True
    return Chosen(judges, nll, ranking, table)


def fixed_size(evidence: Evidence) -> Chosen:
    """The ``size`` most accurate judges."""
    k = min(evidence.rules.size, evidence.ballots.n_judges)
    return first_of(evidence, k, "accuracy")


def random_k(evidence: Evidence) -> Chosen:
    """``size`` judges drawn at random."""
    n_judges = evidence.ballots.n_judges
    stream = np.random.SeedSequence(evidence.rules.seed, spawn_key=(*evidence.key, 103))
    drawn = np.random.default_rng(stream).permutation(n_judges)[: evidence.rules.size]
    judges = np.zeros(n_judges, dtype=bool)
    judges[drawn] = True
    return Chosen(judges)


def one_per_family(evidence: Evidence) -> Chosen:
    """The most accurate judge of every given family; judges without a family stay."""
    return Chosen(_best_of_groups(evidence, named_groups(evidence.known.families)))


def one_per_cluster(evidence: Evidence) -> Chosen:
    """The most accurate judge of every cluster of judges with correlated errors."""
    ballots = evidence.ballots
    label = clusters(error_correlation(error_counts(ballots.votes, ballots.signs))).label
    names = ["" if code == 0 else str(code) for code in label]
    return Chosen(_best_of_groups(evidence, named_groups(names)))


def _best_of_groups(evidence: Evidence, groups: Bools) -> Bools:
    accuracy = posterior_mean(*counts(evidence.ballots, evidence.rows))
    best = np.where(groups, accuracy, -1.0).argmax(axis=1)
    return np.isin(np.arange(len(accuracy)), best)


def without_failures(evidence: Evidence) -> Chosen:
    """All judges except those that the P1 filter drops: unreadable, constant, or below chance.

    Judges below chance are dropped only if the aggregator cannot reverse their votes.
    """
    legibility = legible(evidence.ballots, limits=False)
    return _all_but(to_drop(legibility, evidence.rules.aggregator))


def above_chance(evidence: Evidence) -> Chosen:
    """All judges except those that P1 drops or shows to be below chance, for any aggregator."""
    legibility = legible(evidence.ballots, limits=False)
    return _all_but(to_drop(legibility, evidence.rules.aggregator) | legibility.below)


def _all_but(dropped: Bools) -> Chosen:
    """All judges stay if none would."""
    return Chosen(np.ones_like(dropped) if dropped.all() else ~dropped)


def cheapest_k(evidence: Evidence) -> Chosen:
    """The k cheapest, k by inner folds. The order uses no labels, so panels are taken as given."""
    costs = evidence.known.costs
    if costs is None:
        raise ValueError("there is no cost of every judge")
    order = np.argsort(np.array(costs), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    path = place[None, :] <= np.arange(len(order))[:, None]
    return chosen_of(best_of(path, evidence.comparison()(path).nll))
