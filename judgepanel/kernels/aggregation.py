"""All aggregators by name, from ballots to raw logits that calibrators may see.

Closed forms use leave-out counts (:mod:`kernels.prefixes`); the other aggregators are
cross-fitted (:mod:`kernels.prefixes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Literal, cast, get_args

import numpy as np

from judgepanel.arrays import Ints
from judgepanel.kernels import graded, joint, prefixes, threads
from judgepanel.kernels.ballots import Ballots, digest_of
from judgepanel.kernels.dawid_skene import dawid_skene, dawid_skene_semi
from judgepanel.scoring.splits import Split

Ridge = Literal["stacking", "joint", "stacking_monotone", "joint_monotone"]
Aggregator = Literal[prefixes.ClosedForm, "dawid_skene", "dawid_skene_semi", Ridge]

Graded = Literal["one_coin_graded", "joint_graded"]
"""Aggregators of votes with grades; without grades they equal one_coin and joint to the bit."""

AnyAggregator = Literal[Aggregator, Graded]

AGGREGATORS: tuple[Aggregator, ...] = get_args(Aggregator)
ANY_AGGREGATORS: tuple[AnyAggregator, ...] = (*AGGREGATORS, *get_args(Graded))
RIDGES: Mapping[str, joint.Form] = {
    "stacking": joint.stacking,
    "joint": joint.joint,
    "stacking_monotone": joint.stacking_monotone,
    "joint_monotone": joint.joint_monotone,
}
"""Aggregators that weight judges jointly by ridge regression."""
KERNELS: Mapping[str, prefixes.Kernel] = {
    "dawid_skene": dawid_skene,
    "dawid_skene_semi": dawid_skene_semi,
    **RIDGES,
}

_TOGETHER = ("dawid_skene", "dawid_skene_semi")
_MOST_ITEMS = 100_000
"""Scores of more items are not kept: they would displace all others."""


def of_votes(aggregator: AnyAggregator) -> Aggregator:
    """Return the aggregator of votes that an aggregator of grades extends; any other as it is."""
    if aggregator == "one_coin_graded":
        return "one_coin"
    return "joint" if aggregator == "joint_graded" else aggregator


def cross_fits(aggregator: AnyAggregator) -> bool:
    """Whether the aggregator is cross-fitted: a panel costs a fit, so studies use fewer sizes."""
    return aggregator in KERNELS or aggregator == "joint_graded"


def panel_scores(
    ballots: Ballots,
    split: Split,
    ks: Ints,
    *,
    aggregator: AnyAggregator = "one_coin",
    ranking: prefixes.Ranking = "accuracy",
    own_label: prefixes.OwnLabel = "removed",
    seed: int = 0,
    key: tuple[int, ...] = (0, 4),
) -> prefixes.PrefixScores:
    """Score both sides of a split under the ``ks`` best judges (sorted, in 1..n_judges).

    ``seed`` and ``key`` determine the folds of cross-fitted aggregators.
    """
    if aggregator == "one_coin_graded":
        return graded.graded_scores(ballots, split, ks, ranking=ranking, own_label=own_label)
    if not cross_fits(aggregator):
        closed = cast(prefixes.ClosedForm, aggregator)
        return prefixes.prefix_scores(
            ballots, split, ks, aggregator=closed, ranking=ranking, own_label=own_label
        )
    fit = partial(
        prefixes.cross_fitted,
        ballots,
        split,
        kernel=graded.joint_graded if aggregator == "joint_graded" else KERNELS[aggregator],
        ranking=ranking,
        own_label=own_label,
        seed=seed,
        key=key,
    )
    if ballots.n_items > _MOST_ITEMS:
        return fit(ks=ks)
    # Another study may have fitted some of these panels. Panels of one EM have bits that depend on
    # which sizes run together; so may those of so many judges that only the best are compared.
    rows = digest_of(ballots.digest, split.calibration, split.evaluation)
    case = (aggregator, ranking, own_label, seed, key, rows)
    apart = aggregator not in _TOGETHER and ballots.n_judges <= joint.MOST_JUDGES
    sizes = ks.tolist()
    groups = [(k,) for k in sizes] if apart else [tuple(sizes)]
    known = {group: threads.SHARED.find(split.number, (*case, group)) for group in groups}
    missing = [group for group in groups if known[group] is None]
    if missing:
        scores = fit(ks=np.array(list(chain.from_iterable(missing)), dtype=np.int64))
        for column, group in enumerate(missing):
            part = scores.of_size(column) if apart else scores
            threads.SHARED.keep(split.number, (*case, group), part, part.nbytes)
            known[group] = part
    return prefixes.PrefixScores.joined([known[group] for group in groups])
