"""How curators choose: by a rule or a ranking, some without labels, or by a search for low NLL."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.crossfit import cross_fitted
from judgepanel.kernels.aggregate.prefixes import RANKINGS, Ranking, counts, posterior_mean, rank
from judgepanel.kernels.evaluate.calibrated import nll_by_fold
from judgepanel.kernels.evaluate.evaluation import Recipe, inner_nll
from judgepanel.kernels.judges.clusters import clusters
from judgepanel.kernels.judges.redundancy import error_correlation, error_counts
from judgepanel.kernels.select.groups import found_groups, named_groups
from judgepanel.kernels.select.lasso import lasso_path
from judgepanel.kernels.select.search import MOST_GROUPS, backward, best_of, exhaustive, forward
from judgepanel.kernels.select.table import MOST_JUDGES, table_kernel
from judgepanel.scoring.splits import Split
from judgepanel.studies.panel.curator import Chosen, Evidence, chosen_of
from judgepanel.studies.scope.parse import legible, to_drop


def everyone(evidence: Evidence) -> Chosen:
    """All judges."""
    return Chosen(np.ones(evidence.ballots.n_judges, dtype=bool))


def top_k(evidence: Evidence, ranking: Ranking) -> Chosen:
    """The k best by a ranking; k by inner folds, with the judges ranked again in each."""
    sizes = np.arange(1, evidence.ballots.n_judges + 1)
    nll = prefix_nll(evidence, sizes, ranking)
    k = int(sizes[np.argmin(np.round(nll, 9))])
    return first_of(evidence, k, ranking, float(nll[k - 1]))


def prefix_nll(evidence: Evidence, sizes: Ints, ranking: Ranking) -> NDArray[np.float64]:
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
    sample = np.random.default_rng(stream).permutation(n_judges)[: evidence.rules.size]
    judges = np.zeros(n_judges, dtype=bool)
    judges[sample] = True
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


def greedy_forward(evidence: Evidence) -> Chosen:
    """Add the judge that helps most, up to ``steps``, by one inner split."""
    n_judges = evidence.ballots.n_judges
    return chosen_of(forward(evidence.comparison("split"), n_judges, steps=evidence.rules.steps))


def beam_forward(evidence: Evidence) -> Chosen:
    """Forward search keeping ``width`` best panels per size, up to ``steps``, by inner folds."""
    rules, n_judges = evidence.rules, evidence.ballots.n_judges
    return chosen_of(forward(evidence.comparison(), n_judges, width=rules.width, steps=rules.steps))


def backward_elimination(evidence: Evidence) -> Chosen:
    """Remove the judge whose removal costs least, repeatedly, by inner folds."""
    everyone = np.ones(evidence.ballots.n_judges, dtype=bool)
    return chosen_of(backward(evidence.comparison(), everyone))


def every_union(evidence: Evidence) -> Chosen:
    """Search every union of a few groups, by inner folds.

    Groups are the given families, if there are 2 to 12; otherwise at most ``groups`` clusters of
    judges with similar errors.
    """
    groups = named_groups(evidence.known.families)
    if not any(evidence.known.families) or not 2 <= len(groups) <= MOST_GROUPS:
        groups = found_groups(evidence.ballots, evidence.rules.groups)
    return chosen_of(exhaustive(evidence.comparison(), groups))


def lasso(evidence: Evidence) -> Chosen:
    """Judges at the l1 penalty with the lowest NLL by inner folds, the path refitted in each."""
    total = sum(
        trial.losses(lasso_path(evidence.ballots, trial.split.calibration))[0]
        for trial in evidence.comparison().trials
    )
    nll = np.asarray(total) / evidence.ballots.n_items
    best = int(np.argmin(np.round(nll, 9)))
    path = lasso_path(evidence.ballots, evidence.rows)
    return Chosen(path[best], float(nll[best]), path=path, path_nll=nll)


def finite_calibration(evidence: Evidence) -> Chosen:
    """The path, prefix and aggregation with the lowest NLL by inner folds.

    Paths are both rankings; the votes of a prefix are summed, or, up to ``MOST_JUDGES``, counted in
    a table of patterns. Ties go to sums, then to fewer judges. (Our reading of arXiv:2606.01034.)
    """
    sizes = np.arange(1, evidence.ballots.n_judges + 1)
    few = sizes[:MOST_JUDGES]
    choices: list[tuple[float, bool, int, Ranking]] = []
    for table in (False, True) if evidence.rules.tables else (False,):
        for ranking in RANKINGS:
            nll = (
                _table_nll(evidence, few, ranking)
                if table
                else prefix_nll(evidence, sizes, ranking)
            )
            k = int(np.argmin(np.round(nll, 9)))
            choices.append((float(nll[k]), table, k + 1, ranking))
    nll_seen, table, k, ranking = min(choices, key=lambda choice: round(choice[0], 9))
    return first_of(evidence, k, ranking, nll_seen, table=table)


def _table_nll(evidence: Evidence, sizes: Ints, ranking: Ranking) -> Floats:
    rows, rules = evidence.rows, evidence.rules
    whole = Split(0, rows, rows[:0])
    scores = cross_fitted(
        evidence.ballots,
        whole,
        sizes,
        table_kernel,
        ranking=ranking,
        own_label="removed",
        seed=rules.seed,
        key=(*evidence.key, 104),
    )
    if scores.fold is None:
        raise ValueError("table scores are cross-fitted")
    return np.asarray(
        nll_by_fold(evidence.ballots, whole, scores, (rules.calibrator,), scores.fold)[0]
    )
