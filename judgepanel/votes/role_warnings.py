"""Warnings about columns that were not read as judges although no option says so."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.votes.columns import Mapping
from judgepanel.votes.errors import listed, quote_value
from judgepanel.votes.group_hint import group_hint
from judgepanel.votes.matrix import VoteMatrix
from judgepanel.votes.remedies import IGNORE, JUDGE_COLUMNS
from judgepanel.votes.roles import CHOSEN, ColumnRole
from judgepanel.votes.table import RawTable

_SHOWN = 5


def role_warnings(
    table: RawTable, mapping: Mapping, votes: VoteMatrix, items: NDArray[np.intp] | None
) -> list[str]:
    """Return sentences on columns left out or read as features, and on a column to group by.

    ``items`` (n_rows,) are the items of the rows of a long file, None for a wide one.
    """
    unused = [role for role in mapping.roles if role.role in ("ignore", "text")]
    unused = [role for role in unused if role.reason != CHOSEN]
    told = [role for role in unused if mapping.layout == "wide" and _has_reason(role)]
    plain = [role.column for role in unused if role not in told]
    if not mapping.roles:
        used = set(mapping.used)
        plain = [column for column in table.columns if column not in used]
    warnings = []
    if plain:
        warnings.append(f"Columns that are not used: {listed(plain)}.")
    if told:
        named = ", ".join(f"{quote_value(role.column)} ({role.reason})" for role in told[:_SHOWN])
        more = f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
        warnings.append(
            f"Not read as judges: {named}{more}. If one of them is a judge, name all judges "
            f"{JUDGE_COLUMNS}."
        )
    features = [
        role.column
        for role in mapping.roles
        if role.role == "feature" and role.reason.startswith("named as something")
    ]
    if features:
        warnings.append(
            f"Read as item features by their names: {listed(features)}. Leave one out {IGNORE}."
        )
    return [*warnings, *group_hint(table, mapping, votes, items)]


def _has_reason(role: ColumnRole) -> bool:
    return not role.reason.startswith(("no other role", "named as in a file", "not a judge that"))
