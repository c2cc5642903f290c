"""Comparison of two analyses: how their data differ, and what their results allow us to say.

NLLs of different items are not comparable; on the same items, labels and splits the difference is
measured item by item (:data:`judgepanel.studies.panel.what_if.WHAT_IF`). The first is called
'before' and the second 'after'.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.studies.panel.what_if import WhatIf, WhatIfSpec
from judgepanel.studies.settings import Settings, grouped_votes, prepare
from judgepanel.votes import VoteMatrix
from judgepanel.words.numbers import (
    all_judges,
    counted,
    listed,
    minute,
    percent,
    with_interval,
)
from judgepanel.words.sentences import CODING, panel_pipelines, pipeline_name
from judgepanel.words.tables import Column, ends, numbers, text
from judgepanel.words.text import plain

MARKED = "measures the coding, not the judges"
_NAMES = 3
Rows = tuple[NDArray[np.int64], NDArray[np.int64]]
_SETTINGS = {
    "orientation": "order",
    "protocol": "protocol",
    "splits": "number of splits",
    "fraction": "calibration share",
    "seed": "seed",
    "group_duplicates": "grouping of duplicates",
}
"""Settings that two analyses must share for their splits to be the same."""


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


def data_sentence(overlap: Relation) -> str:
    """Say whether both have the same items and labels, and so whether there is a test."""
    if not overlap.same_task:
        return (
            "One is pairwise and the other pointwise: their NLLs are of different tasks, and "
            "comparing their intervals is not a test of the difference."
        )
    if not overlap.same_items:
        return (
            f"They rest on different data ({_counts(overlap)}), so each NLL refers to its own "
            "items and labels, and comparing intervals from different data is not a test of the "
            "difference."
        )
    return (
        f"Both rest on the same {counted(overlap.shared, 'labelled item')} and labels{_on(overlap)}"
    )


def _on(overlap: Relation) -> str:
    """Say what else is the same, or what prevents a test of the difference."""
    if overlap.settings:
        names = listed([_SETTINGS[name] for name in overlap.settings])
        return f", but not on the same settings ({names}): no difference is tested."
    if overlap.revoted:
        return (
            f", but {counted(len(overlap.revoted), 'judge')} of the same name voted differently in "
            "the two files: no difference is tested."
        )
    if overlap.host:
        return ", and on the same splits: what differs is who judges."
    if not (overlap.judges_before or overlap.judges_after):
        return ", judges, votes and settings: there is no difference to test."
    return (
        ", but no difference is tested: that needs the votes of all judges in one file, and the "
        "honest protocol."
    )


def paired_sentence(result: WhatIf) -> str:
    """Return the difference on the same items; better or worse only if its interval excludes 0."""
    change = with_interval(*result.delta, sign=True)
    judges = all_judges(len(result.kept.judges))
    text = (
        f"NLL changes by {change} with what is recommended from {judges} "
        f"after in place of {len(result.against.judges):,} before."
    )
    if result.verdict == "tie":
        return "The same judges take part in both: there is no difference."
    if result.measures_coding:
        return f"{text} {CODING}"
    delta, lo, hi = map(float, result.delta)
    if lo <= 0.0 <= hi:
        small = -result.margin < lo and hi < result.margin
        return f"No difference is shown: {text}" + " It is below 2 % either way." * small
    bound = min(abs(lo), abs(hi))
    slight = " It may be less than 2 %." * (bound < result.margin)
    return f"{'Better' if delta < 0 else 'Worse'}: {text}{slight}"


def data_rows(before: Side, after: Side, overlap: Relation) -> list[tuple[str, str, str]]:
    """Return what is compared, before and after: bounded text, still to be escaped."""
    sides = (before, after)
    ready = [prepare(side.votes, side.settings) for side in sides]
    rows: list[tuple[str, Iterable[str]]] = [
        ("name", (plain(side.name) for side in sides)),
        ("file", (plain(side.file) for side in sides)),
        ("made, UTC", (minute(side.created) for side in sides)),
        ("items", (f"{side.votes.n_items:,}" for side in sides)),
        ("labelled", (f"{int(side.votes.labelled.sum()):,}" for side in sides)),
        ("labelled here only", (f"{n:,}" for n in (overlap.only_before, overlap.only_after))),
        ("rarer label", (percent(side.votes.minority_share) for side in sides)),
        ("judges", (f"{len(side.judges):,}" for side in sides)),
        ("judges in both", (f"{len(overlap.judges_both):,}" for _ in sides)),
        ("judges here only", (_some(n) for n in (overlap.judges_before, overlap.judges_after))),
        ("judges set aside", (_some(data.oriented.set_aside) for data in ready)),
        ("order", (data.oriented.policy.replace("_", " ") for data in ready)),
        ("protocol", (side.settings.protocol for side in sides)),
        ("splits", (side.settings.splits_text for side in sides)),
        ("calibration share", (percent(side.settings.fraction) for side in sides)),
        ("seed", (str(side.settings.seed) for side in sides)),
        ("data fingerprint", (side.votes.sha256[:10] for side in sides)),
    ]
    return [(name, *both) for name, (*both,) in rows]  # type: ignore[misc]


def result_table(results: Sequence[tuple[str, Recommendation]]) -> dict[str, Column]:
    """Return all judges under the reference, and the recommendation, of each available analysis."""
    if not results:
        return {}
    rows: list[tuple[str, str, str, str, CandidateFigures | Recommendation, float, str]] = []
    for which, result in results:
        coding, null = MARKED if result.measures_coding else "", result.null_nll
        model, reference = result.model, result.reference
        method = pipeline_name(reference.aggregator, reference.calibrator)
        rows.append((which, "all judges", f"{reference.k:,}", method, reference, null, coding))
        method = panel_pipelines(model)
        some = f"{len(model.judges):,} of {result.n_judges:,}"
        rows.append((which, "recommended", some, method, result, null, coding))
    names, panels, judges, methods, scored, nulls, notes = zip(*rows, strict=True)
    nll = Interval.stacked(figures.nll for figures in scored)
    columns = {
        "analysis": text(names),
        "panel": text(panels),
        "judges": text(judges),
        "method": text(methods),
        "NLL": numbers(nll.value),
        "NLL 95 %": ends(nll, 3),
        "null NLL": numbers(nulls),
        "skill": numbers(1.0 - nll.value / np.array(nulls), "share"),
    }
    return columns | ({"note": text(notes)} if any(notes) else {})


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


def _counts(overlap: Relation) -> str:
    parts = [f"by their ids {counted(overlap.shared, 'labelled item')} in both"]
    for n, where in ((overlap.only_before, "before"), (overlap.only_after, "after")):
        parts += [f"{n:,} only {where}"] * bool(n)
    parts += [f"{overlap.relabelled:,} with another label"] * bool(overlap.relabelled)
    parts += ["other groups"] * overlap.regrouped
    return ", ".join(parts)


def _some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more; a dash if there are none."""
    displayed = [plain(name, 40) for name in names[:_NAMES]]
    more = len(names) - len(displayed)
    return ", ".join(displayed) + f" and {more:,} more" * bool(more) if names else "–"
