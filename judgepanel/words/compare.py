"""Two analyses side by side: what differs in their data, and what may be said of their results.

NLLs of different items are not comparable; on the same items, labels and splits the difference is
measured item by item (:data:`judgepanel.studies.panel.what_if.WHAT_IF`). The first is called
'before' and the second 'after'.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.decision.recommend import REFERENCE
from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.studies.panel.what_if import WhatIfSpec
from judgepanel.studies.panel.what_if_result import WhatIf
from judgepanel.studies.settings import Settings, grouped_votes, prepare
from judgepanel.votes import VoteMatrix
from judgepanel.words.numbers import (
    counted,
    fixed,
    interval,
    listed,
    minute,
    percent,
    with_interval,
)
from judgepanel.words.sentences import CODING, pipeline_name
from judgepanel.words.text import plain

MARKED = "measures the coding, not the judges"
_NAMES = 3
_DEFAULT = Settings()
Rows = tuple[NDArray[np.int64], NDArray[np.int64]]
_SETTINGS = {
    "orientation": "order",
    "protocol": "protocol",
    "splits": "number of splits",
    "fraction": "calibration share",
    "seed": "seed",
    "group_duplicates": "grouping of duplicates",
}
"""What two analyses must have in common for their splits to be the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two: ``name`` and ``file`` are untrusted; ``created`` ISO 8601, UTC."""

    name: str
    file: str
    created: str
    votes: VoteMatrix
    settings: Settings

    @property
    def judges(self) -> tuple[str, ...]:
        """Who is asked, also those that are set aside."""
        return self.settings.judges or self.votes.judges


@dataclass(frozen=True, slots=True)
class Relation:
    """What two analyses have in common; items are those with a label, told apart by their ids.

    ``relabelled`` of the ``shared`` items have another label; ``revoted`` are judges of both with
    other votes on them; ``settings`` the names of settings that differ. ``host`` is the one whose
    votes hold the judges of both, where their difference can be measured; else None.
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
        """Whether both rest on the same items and labels."""
        different = self.only_before + self.only_after + self.relabelled
        return self.same_task and not different and not self.regrouped


def relation(before: Side, after: Side) -> Relation:
    """Compare what two analyses rest on; O(items x judges)."""
    rows = _shared_rows(before.votes, after.votes)
    left, right = before.votes, after.votes
    sides = [set(side.judges) for side in (before, after)]
    both = tuple(sorted(sides[0] & sides[1]))
    found = Relation(
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
    same = found.same_items and not found.settings and before.settings.protocol == "honest"
    if not same or not (found.judges_before or found.judges_after):
        return found
    if _holds(right, left, rows[::-1], before.judges):
        return replace(found, host="after")
    if _holds(left, right, rows, after.judges):
        return replace(found, host="before")
    return found


def paired_spec(before: Side, after: Side, found: Relation) -> WhatIfSpec:
    """All judges of after against all of before, on the votes of the host: nobody is chosen.

    Raises
    ------
    ValueError
        No votes hold both.
    """
    if found.host is None:
        raise ValueError("no votes hold the judges of both")
    host = after if found.host == "after" else before
    everyone = tuple(sorted({*before.judges, *after.judges}))
    whole = len(everyone) == host.votes.n_judges
    _, aggregator, calibrator = REFERENCE
    return WhatIfSpec(
        settings=replace(host.settings, judges=None if whole else everyone),
        keep=tuple(sorted(after.judges)),
        against=tuple(sorted(before.judges)),
        aggregator=aggregator,
        calibrator=calibrator,
    )


def data_sentence(found: Relation) -> str:
    """Whether both rest on the same items and labels, and so whether there is a test."""
    if not found.same_task:
        return (
            "One is pairwise and the other pointwise: their NLLs are of different tasks, and "
            "their intervals do not make a test."
        )
    if not found.same_items:
        return (
            f"They rest on different data ({_counts(found)}), so each NLL is of its own items and "
            "labels, and intervals of different data do not make a test of the difference."
        )
    return f"Both rest on the same {counted(found.shared, 'labelled item')} and labels{_on(found)}"


def _on(found: Relation) -> str:
    """What else is the same, or keeps a difference from being tested."""
    if found.settings:
        names = listed([_SETTINGS[name] for name in found.settings])
        return f", but not on the same settings ({names}): no difference is tested."
    if found.revoted:
        return (
            f", but {counted(len(found.revoted), 'judge')} of the same name voted differently in "
            "the two files: no difference is tested."
        )
    if found.host:
        return ", and on the same splits: what differs is who judges."
    if not (found.judges_before or found.judges_after):
        return ", judges, votes and settings: there is no difference to test."
    return (
        ", but no difference is tested: that needs the votes of all judges in one file, and the "
        "protocol honest."
    )


def paired_sentence(found: WhatIf) -> str:
    """The difference on the same items; better or worse only where its interval leaves 0 out."""
    change = with_interval(found.delta, found.delta_lo, found.delta_hi, sign=True)
    pipeline = pipeline_name(found.aggregator, found.calibrator)
    told = (
        f"NLL changes by {change} with {_everyone(found.kept.judges)} after in place of "
        f"{len(found.against.judges):,} before ({pipeline})."
    )
    if found.verdict == "tie":
        return "The same judges take part in both: there is no difference."
    if found.measures_coding:
        return f"{told} {CODING}"
    if found.delta_lo <= 0.0 <= found.delta_hi:
        small = -found.margin < found.delta_lo and found.delta_hi < found.margin
        return f"No difference is shown: {told}" + " It is below 2 % either way." * small
    bound = min(abs(found.delta_lo), abs(found.delta_hi))
    slight = " It may be less than 2 %." * (bound < found.margin)
    return f"{'Better' if found.delta < 0 else 'Worse'}: {told}{slight}"


def data_rows(before: Side, after: Side, found: Relation) -> list[tuple[str, str, str]]:
    """What is compared, before and after: text that is bounded, and still to be escaped."""
    sides = (before, after)
    ready = [prepare(side.votes, side.settings) for side in sides]
    rows: list[tuple[str, Iterable[str]]] = [
        ("name", (plain(side.name) for side in sides)),
        ("file", (plain(side.file) for side in sides)),
        ("made, UTC", (minute(side.created) for side in sides)),
        ("items", (f"{side.votes.n_items:,}" for side in sides)),
        ("labelled", (f"{int(side.votes.labelled.sum()):,}" for side in sides)),
        ("labelled here only", (f"{n:,}" for n in (found.only_before, found.only_after))),
        ("rarer label", (percent(side.votes.minority_share) for side in sides)),
        ("judges", (f"{len(side.judges):,}" for side in sides)),
        ("judges in both", (f"{len(found.judges_both):,}" for _ in sides)),
        ("judges here only", (_some(n) for n in (found.judges_before, found.judges_after))),
        ("judges set aside", (_some(one.oriented.set_aside) for one in ready)),
        ("order", (one.oriented.policy.replace("_", " ") for one in ready)),
        ("protocol", (side.settings.protocol for side in sides)),
        ("splits", (f"{side.settings.splits:,}" for side in sides)),
        ("calibration share", (percent(side.settings.fraction) for side in sides)),
        ("seed", (str(side.settings.seed) for side in sides)),
        ("data fingerprint", (side.votes.sha256[:10] for side in sides)),
    ]
    return [(name, *both) for name, (*both,) in rows]  # type: ignore[misc]


def result_table(results: Sequence[tuple[str, Recommendation]]) -> pd.DataFrame:
    """All judges under the reference, and the recommendation, of each that is there."""
    rows = []
    for which, found in results:
        coding = MARKED if found.measures_coding else ""
        model, reference = found.model, found.reference
        method = pipeline_name(reference.aggregator, reference.calibrator)
        judges = f"{reference.k:,}"
        rows.append(_row(which, "all judges", judges, method, reference, found.null_nll, coding))
        method = pipeline_name(model.aggregator, model.calibrator)
        kept = f"{len(model.judges):,} of {found.n_judges:,}"
        rows.append(_row(which, "recommended", kept, method, found, found.null_nll, coding))
    frame = pd.DataFrame(rows)
    return frame if frame.empty or frame["note"].any() else frame.drop(columns="note")


def settings_words(settings: Settings) -> str:
    """The settings that are not the default, such as ``10 splits, seed 7``; empty for none."""
    said = {
        "orientation": f"order {settings.orientation.replace('_', ' ')}",
        "protocol": f"protocol {settings.protocol}",
        "judges": counted(len(settings.judges or ()), "chosen judge"),
        "splits": f"{settings.splits:,} splits",
        "fraction": f"{percent(settings.fraction)} calibrate",
        "seed": f"seed {settings.seed}",
        "group_duplicates": "duplicates grouped",
    }
    names = [one.name for one in fields(Settings)]
    return ", ".join(
        said[name] for name in names if getattr(settings, name) != getattr(_DEFAULT, name)
    )


def _row(
    which: str,
    panel: str,
    judges: str,
    method: str,
    scored: CandidateFigures | Recommendation,
    null_nll: float,
    note: str,
) -> dict[str, str]:
    return {
        "analysis": which,
        "panel": panel,
        "judges": judges,
        "method": method,
        "NLL": fixed(scored.nll, 3),
        "NLL 95 %": interval(scored.lo, scored.hi, 3),
        "null NLL": fixed(null_nll, 3),
        "skill": percent(1.0 - scored.nll / null_nll),
        "note": note,
    }


def _shared_rows(before: VoteMatrix, after: VoteMatrix) -> Rows:
    """Positions in both of the items that have a label in both, in the order of before."""
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
    """Judges whose votes differ on the same items."""
    one, other = (
        votes.votes[which][:, np.array([votes.judges.index(n) for n in judges], dtype=np.int64)]
        for votes, which in zip((left, right), rows, strict=True)
    )
    different = (one != other).any(axis=0)
    return tuple(name for name, differs in zip(judges, different, strict=True) if differs)


def _holds(host: VoteMatrix, other: VoteMatrix, rows: Rows, judges: Sequence[str]) -> bool:
    """Whether the host has the same votes of all these judges of the other; rows of host first."""
    return set(judges) <= set(host.judges) and not _revoted(host, other, rows, judges)


def _counts(found: Relation) -> str:
    parts = [f"by their ids {counted(found.shared, 'labelled item')} in both"]
    for n, where in ((found.only_before, "before"), (found.only_after, "after")):
        parts += [f"{n:,} only {where}"] * bool(n)
    parts += [f"{found.relabelled:,} with another label"] * bool(found.relabelled)
    parts += ["other groups"] * found.regrouped
    return ", ".join(parts)


def _everyone(judges: Sequence[str]) -> str:
    return f"all {counted(len(judges), 'judge')}" if len(judges) > 1 else "the one judge"


def _some(names: Sequence[str]) -> str:
    """The first few names, and how many more; a dash for nobody."""
    shown = [plain(name, 40) for name in names[:_NAMES]]
    more = len(names) - len(shown)
    return ", ".join(shown) + f" and {more:,} more" * bool(more) if names else "–"
