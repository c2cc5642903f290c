"""The measured absences: groups of judges that may be absent together, and random judges.

Groups are the families of the judge table and the clusters of judges that err together, determined
as on the page Judges, from all labelled rows of the fit. Only members in the panel count. A group
of one judge is measured as that judge, and one that is the whole panel would leave no judge; of two
groups with the same judges the family is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from judgepanel.kernels.judges.clusters import clusters
from judgepanel.kernels.judges.redundancy import error_correlation, error_counts
from judgepanel.studies.settings import Prepared

Kind = Literal["family", "cluster"]

SHARES = (0.1, 0.25, 0.5, 0.75)
MOST_GROUPS = 40


@dataclass(frozen=True, slots=True)
class JudgeGroup:
    """``judges`` of the panel (names, sorted) that form one family, or one cluster of errors."""

    kind: Kind
    name: str
    judges: tuple[str, ...]


def groups_of(
    prepared: Prepared, judges: Sequence[str], families: Sequence[str]
) -> tuple[JudgeGroup, ...]:
    """Return the groups of a panel, families first, in name order; the largest ``MOST_GROUPS``.

    ``families`` name those of ``prepared.judges``, '' if unknown. O(K^2) for K judges.
    """
    ballots = prepared.ballots
    panel, seen = set(judges), set[tuple[str, ...]]()
    label = clusters(error_correlation(error_counts(ballots.votes, ballots.signs))).label
    named: dict[tuple[Kind, str], list[str]] = {}
    for kind, names in (("family", families), ("cluster", [str(n) if n else "" for n in label])):
        for name, judge in sorted(zip(names, prepared.judges, strict=True)):
            if name and judge in panel:
                named.setdefault((kind, name), []).append(judge)  # type: ignore[arg-type]
    result = []
    for (kind, name), members in named.items():
        group = tuple(sorted(members))
        if 1 < len(group) < len(panel) and group not in seen:
            seen.add(group)
            result.append(JudgeGroup(kind, name, group))
    largest = sorted(result, key=lambda group: -len(group.judges))[:MOST_GROUPS]
    return tuple(group for group in result if group in largest)


def numbers_absent(n_judges: int) -> list[int]:
    """Return the distinct numbers of judges for the shares, at least one absent and one present."""
    return sorted({min(max(1, round(share * n_judges)), n_judges - 1) for share in SHARES})
