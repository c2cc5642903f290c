"""The comparisons of a value study: groups, numbers of removed judges, copies, slices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.prefixes import counts, posterior_mean
from judgepanel.kernels.judges.clusters import clusters
from judgepanel.kernels.judges.redundancy import error_correlation, error_counts
from judgepanel.studies.judges.judge_table import families_of
from judgepanel.studies.robustness.slices import Slices, slices_of
from judgepanel.studies.settings import Prepared
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.matrix import cached

REMOVED = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
COPIES = 4
QUANTILES = 3
MOST_ACCURATE, MEDIAN, MOST_CORRELATED, ASKED = (
    "most accurate",
    "median accuracy",
    "most correlated",
    "asked for",
)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The comparisons, from all labelled rows; nothing here is fitted, ranked or chosen by NLL.

    ``families`` bool (F, K) are the given ones, ``family_names`` (F,) and ``family`` (K,) their
    names; ``players`` bool (P, K) adds judges without a family as players of one after the F
    families. ``cluster`` int (K,) numbers clusters, 0 for none. ``nearest`` int (K,) is the judge
    with the most similar errors, -1 if unknown, ``correlation`` (K,) their correlation. ``removed``
    are the numbers of removed judges. ``copied`` pairs judges with the reason for copying them.
    """

    families: Bools
    family_names: tuple[str, ...]
    family: tuple[str, ...]
    players: Bools
    cluster: Ints
    nearest: Ints
    correlation: Floats
    removed: tuple[int, ...]
    copied: tuple[tuple[int, str], ...]
    slices: Slices


@cached(4)
def plan_of(
    votes: VoteMatrix, prepared: Prepared, feature: str | None, copied: tuple[str, ...] | None
) -> Plan:
    """Return the plan for these votes; the last few are cached.

    Raises
    ------
    InputError
        An unknown feature or judge.
    """
    ballots, n = prepared.ballots, len(prepared.judges)
    family = families_of(votes.with_judges(prepared.judges))
    names = tuple(dict.fromkeys(name for name in family if name))
    families = np.array([[entry == name for entry in family] for name in names], dtype=bool)
    families = families.reshape(len(names), n)
    if names and families.sum(axis=1).max() == 1:
        names, families = (), families[:0]
    alone = np.eye(n, dtype=bool)[~families.any(axis=0)]
    correlation = error_correlation(error_counts(ballots.votes, ballots.signs))
    alike = np.where(correlation.known, correlation.value, -np.inf)
    nearest = alike.argmax(axis=1) if n else np.zeros(0, dtype=np.int64)
    near = alike[np.arange(n), nearest]
    label = clusters(correlation).label
    sizes = np.bincount(label, minlength=1)
    return Plan(
        families=families,
        family_names=names,
        family=family,
        players=np.concatenate([families, alone]),
        cluster=np.where(sizes[label] > 1, label, 0),
        nearest=np.where(np.isfinite(near), nearest, -1),
        correlation=np.where(np.isfinite(near), near, np.nan),
        removed=(*(m for m in REMOVED if m < n - 1), *([n - 1] if n > 1 else [])),
        copied=_copied(prepared, near, copied),
        slices=slices_of(prepared, feature, QUANTILES),
    )


def _copied(
    prepared: Prepared, near: Floats, asked: tuple[str, ...] | None
) -> tuple[tuple[int, str], ...]:
    names = prepared.judges
    if asked is not None:
        unknown = [name for name in asked if name not in names]
        if unknown:
            raise InputError(
                "there is no such judge to copy", value=unknown[0], allowed=", ".join(names[:10])
            )
        return tuple((names.index(name), ASKED) for name in asked)
    correct, voted = counts(prepared.ballots, np.arange(prepared.ballots.n_items))
    order = np.argsort(-posterior_mean(correct, voted), kind="stable")
    alike = np.argsort(-near, kind="stable")[: int(np.isfinite(near).sum())]
    picked: dict[int, str] = {}
    for why, ranked in (
        (MOST_ACCURATE, order),
        (MEDIAN, order[len(order) // 2 :]),
        (MOST_CORRELATED, alike),
    ):
        remaining = [int(j) for j in ranked if int(j) not in picked]
        if remaining:
            picked[remaining[0]] = why
    return tuple(picked.items())


def errors_on(prepared: Prepared, rows: Ints, nearest: Ints) -> tuple[Bools, Floats]:
    """Clusters and error correlations on these rows alone.

    Returns every judge's cluster, (K, K), alone if it has none, and its error correlation (K,) with
    its nearest judge, NaN if unknown.
    """
    ballots = prepared.ballots
    result = error_correlation(error_counts(ballots.votes[rows], ballots.signs[rows]))
    label = clusters(result).label
    same = (label[:, None] == label) & (label > 0)
    own = np.arange(len(nearest))
    known = (nearest >= 0) & result.known[own, nearest]
    correlation = np.where(known, result.value[own, nearest], np.nan)
    return np.asarray(same | np.eye(len(label), dtype=bool)), correlation
