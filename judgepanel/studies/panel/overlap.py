"""Two analyses: what their data have in common, and the spec that measures their difference.

NLLs of different items are not comparable; on the same items, labels and splits the difference is
measured item by item (:data:`judgepanel.studies.panel.what_if.WHAT_IF`). The first is called
'before' and the second 'after'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.studies.panel.what_if import WhatIfSpec
from judgepanel.studies.settings import Settings, grouped_votes, prepare
from judgepanel.votes import VoteMatrix
from judgepanel.votes.orientation import Oriented

_SETTINGS = ("orientation", "protocol", "splits", "fraction", "seed", "group_duplicates")
"""Settings that two analyses must share for their splits to be the same."""
Rows = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two analyses: ``name`` and ``file`` are untrusted; ``created`` ISO 8601, UTC."""

    name: str
    file: str
    created: str
    votes: VoteMatrix
    settings: Settings

    @property
    def judges(self) -> tuple[str, ...]:
        """All judges of the analysis, including those set aside."""
        return self.settings.judges or self.votes.judges

    @property
    def oriented(self) -> Oriented:
        """The votes as its studies take them."""
        return prepare(self.votes, self.settings).oriented


@dataclass(frozen=True, slots=True)
class Relation:
    """What two analyses have in common; items are those with a label, identified by their ids.

    ``relabelled`` of the ``shared`` items have different labels; ``revoted`` are common judges with
    different votes on them; ``settings`` the names of settings that differ. ``host`` is the
    analysis whose votes contain the judges of both, so that their difference can be measured; else
    None.
    """

    same_task: bool
    shared: int
    only_before: int
    only_after: int
    relabelled: int
    regrouped: bool
    judges_both: tuple[str, ...]
    judges_before: tuple[str, ...]
    judges_after: tuple[str, ...]
    revoted: tuple[str, ...]
    settings: tuple[str, ...]
    host: Literal["before", "after"] | None

    @property
    def same_items(self) -> bool:
        """Whether both have the same items and labels."""
        different = self.only_before + self.only_after + self.relabelled
        return self.same_task and not different and not self.regrouped


def relation(before: Side, after: Side) -> Relation:
    """Compare the data of two analyses; O(items x judges)."""
    rows = _shared_rows(before.votes, after.votes)
    left, right = before.votes, after.votes
    sides = [set(side.judges) for side in (before, after)]
    both = tuple(sorted(sides[0] & sides[1]))
    overlap = Relation(
        same_task=left.task == right.task,
        shared=len(rows[0]),
        only_before=int(left.labelled.sum()) - len(rows[0]),
        only_after=int(right.labelled.sum()) - len(rows[1]),
        relabelled=int((left.labels[rows[0]] != right.labels[rows[1]]).sum()),
        regrouped=_groups(before, rows[0]) != _groups(after, rows[1]),
        judges_both=both,
        judges_before=tuple(sorted(sides[0] - sides[1])),
        judges_after=tuple(sorted(sides[1] - sides[0])),
        revoted=_revoted(left, right, rows, both),
        settings=tuple(
            name
            for name in _SETTINGS
            if getattr(before.settings, name) != getattr(after.settings, name)
        ),
        host=None,
    )
    same = overlap.same_items and not overlap.settings and before.settings.protocol == "honest"
    if not same or not (overlap.judges_before or overlap.judges_after):
        return overlap
    if _holds(right, left, rows[::-1], before.judges):
        return replace(overlap, host="after")
    if _holds(left, right, rows, after.judges):
        return replace(overlap, host="before")
    return overlap


def paired_spec(before: Side, after: Side, overlap: Relation) -> WhatIfSpec:
    """Return the spec of what is recommended from the judges of after against those of before.

    It runs on the votes of the host.

    Raises
    ------
    ValueError
        Neither analysis has the votes of both.
    """
    if overlap.host is None:
        raise ValueError("no votes hold the judges of both")
    host = after if overlap.host == "after" else before
    everyone = tuple(sorted({*before.judges, *after.judges}))
    whole = len(everyone) == host.votes.n_judges
    return WhatIfSpec(
        settings=replace(host.settings, judges=None if whole else everyone),
        keep=tuple(sorted(after.judges)),
        against=tuple(sorted(before.judges)),
        aggregator=AVERAGE,
    )


def _shared_rows(before: VoteMatrix, after: VoteMatrix) -> Rows:
    """Positions in both of the items with a label in both, in the order of before."""
    place = {after.item_ids[i]: i for i in np.flatnonzero(after.labelled).tolist()}
    left = [i for i in np.flatnonzero(before.labelled).tolist() if before.item_ids[i] in place]
    right = [place[before.item_ids[i]] for i in left]
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def _groups(side: Side, rows: NDArray[np.int64]) -> tuple[str, ...] | None:
    votes = grouped_votes(side.votes, side.settings)
    return None if votes.groups is None else tuple(votes.groups[i] for i in rows)


def _revoted(
    left: VoteMatrix, right: VoteMatrix, rows: Rows, judges: Sequence[str]
) -> tuple[str, ...]:
    """Return judges whose votes differ on the same items."""
    first, other = (
        votes.votes[which][:, np.array([votes.judges.index(n) for n in judges], dtype=np.int64)]
        for votes, which in zip((left, right), rows, strict=True)
    )
    different = (first != other).any(axis=0)
    return tuple(name for name, differs in zip(judges, different, strict=True) if differs)


def _holds(host: VoteMatrix, other: VoteMatrix, rows: Rows, judges: Sequence[str]) -> bool:
    """Whether the host has the same votes of all these judges of the other; rows of host first."""
    return set(judges) <= set(host.judges) and not _revoted(host, other, rows, judges)
