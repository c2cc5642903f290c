"""Which items to label next: drawn at random, where they narrow the asked differences most.

Within groups items are drawn at random; how many of each group is chosen so that the sum of the
variances of the groups' rates becomes smallest, and with it the mean variance of their differences.
Drawing uncertain items more often helps on some files only (docs/estimate.md).
"""

from __future__ import annotations

import heapq

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.studies.decide.estimate import Estimates, EstimateSpec
from judgepanel.studies.decide.groups import groups_of
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.texts import ID

LABEL = "label"
_EVEN = 0.25
"""Variance of a label where nothing is known."""


def items_to_label(
    votes: VoteMatrix, spec: EstimateSpec, result: Estimates, n: int, *, seed: int = 0
) -> pd.DataFrame:
    """Draw unlabelled items.

    Parameters
    ----------
    votes : VoteMatrix
        The votes that were estimated.
    spec, result : EstimateSpec, Estimates
        The estimates so far; items are shared out among their groups, if there are any.
    n : int
        How many items; at least 1 and at most as many as have no label.
    seed : int
        Of the draw.

    Returns
    -------
    DataFrame
        One row per item in random order: its id, its features and an empty label. Votes are left
        out, so that they do not lead those who label.

    Raises
    ------
    InputError
        More items than have no label, or fewer than 1.
    """
    free = ~votes.labelled
    if not 1 <= n <= int(free.sum()):
        raise InputError(
            "cannot draw that many items to label",
            value=n,
            allowed=f"1 to {int(free.sum()):,}, the items without a label"
            if free.any()
            else "nothing: every item has a label",
        )
    rng = np.random.default_rng(seed)
    groups = groups_of(votes, spec.by)
    order = rng.permutation(np.flatnonzero(free))
    if groups.names and groups.others is None:
        codes = groups.codes[order]
        available = np.bincount(codes[codes >= 0], minlength=len(groups.names))
        shares = allocated(variances_of(result), result.labelled[1:], available, n)
        # Items of no group, whose code is the last, fill up.
        wanted = np.append(shares, n - int(shares.sum()))
        order = order[pd.Series(codes).groupby(codes).cumcount().to_numpy() < wanted[codes]]
    chosen = order[:n]
    frame = pd.DataFrame({ID: [votes.item_ids[i] for i in chosen]})
    if votes.features is not None:
        features = votes.features.iloc[chosen].reset_index(drop=True)
        frame = pd.concat([frame, features.drop(columns=[ID, LABEL], errors="ignore")], axis=1)
    return frame.assign(**{LABEL: ""})


def with_texts(drawn: pd.DataFrame, texts: pd.DataFrame | None) -> pd.DataFrame:
    """Return drawn items with their texts after the ids; ``texts`` may lack some items."""
    if texts is None:
        return drawn
    own = texts.set_index(ID).reindex(drawn[ID]).fillna("").reset_index(drop=True)
    own = own.drop(columns=[name for name in own.columns if name in drawn.columns])
    return pd.concat([drawn[[ID]], own, drawn.drop(columns=ID)], axis=1)


def variances_of(result: Estimates) -> Floats:
    """Variance per label (n_groups,) of the rate of each group, as its interval implies it."""
    rate, n = result.rate[1:], result.labelled[1:]
    unseen = 1.0 - n / np.maximum(result.items[1:], 1) if result.about == "file" else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = ((rate.hi - rate.lo) / 4.0) ** 2 * n / unseen
    return np.where(np.isfinite(variance) & (variance > 0.0), np.minimum(variance, _EVEN), _EVEN)


def allocated(variances: Floats, n_labels: Ints, available: Ints, n: int) -> Ints:
    """Share out n labels (n_groups,) so that the sum of variances / labels is smallest.

    One label after the other goes where it takes most off, which is exact as gains only fall.
    """
    shares = np.zeros(len(variances), dtype=np.int64)

    def gain(group: int) -> float:
        have = int(n_labels[group] + shares[group])
        return float(variances[group] / (have * (have + 1))) if have else np.inf

    heap = [(-gain(g), g) for g in range(len(variances)) if available[g]]
    heapq.heapify(heap)
    for _ in range(n):
        if not heap:
            break
        _, group = heapq.heappop(heap)
        shares[group] += 1
        if shares[group] < available[group]:
            heapq.heappush(heap, (-gain(group), group))
    return shares
