"""Curators that search panels by their NLL on inner folds or an inner split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.crossfit import cross_fitted
from judgepanel.kernels.aggregate.prefixes import RANKINGS, Index, Ranking
from judgepanel.kernels.evaluate.calibrated import nll_by_fold
from judgepanel.kernels.select.groups import found_groups, named_groups
from judgepanel.kernels.select.lasso import lasso_path
from judgepanel.kernels.select.search import MOST_GROUPS, backward, exhaustive, forward
from judgepanel.kernels.select.table import MOST_JUDGES, table_kernel
from judgepanel.scoring.splits import Split
from judgepanel.studies.panel.curator import Chosen, chosen_of
from judgepanel.studies.panel.evidence import Evidence
from judgepanel.studies.panel.simple_curators import first_of, prefix_nll

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


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


def _table_nll(evidence: Evidence, sizes: Index, ranking: Ranking) -> Floats:
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
