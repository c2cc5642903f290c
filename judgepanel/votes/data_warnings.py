"""Warnings about votes and columns that are unusual but usable, as full sentences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgepanel.votes.columns import Mapping
from judgepanel.votes.errors import listed, quote_value
from judgepanel.votes.group_hint import group_hint
from judgepanel.votes.matrix import MISSING, VoteMatrix
from judgepanel.votes.remedies import IGNORE, JUDGE_COLUMNS
from judgepanel.votes.roles import CHOSEN, ColumnRole
from judgepanel.votes.table import RawTable

FEW_LABELS = 20
_SHOWN = 5


def vote_warnings(votes: VoteMatrix) -> list[str]:
    """Warnings about judges and items: a single judge, no votes, a single verdict."""
    warnings = []
    if votes.n_judges == 1:
        warnings.append(
            f"There is only one judge, {quote_value(votes.judges[0])}, so no panel to choose."
        )
    ones = (votes.votes == 1).sum(axis=0)
    counts = (votes.votes != MISSING).sum(axis=0)
    silent = [votes.judges[j] for j in np.flatnonzero(counts == 0)]
    if silent:
        warnings.append(f"{_judges(silent, 'has', 'have')} no votes: {listed(silent)}.")
    same = (counts >= 2) & ((ones == 0) | (ones == counts))
    constant = [votes.judges[j] for j in np.flatnonzero(same)]
    if constant:
        who = _judges(
            constant, "gives the same verdict in all its", "give one verdict in all their"
        )
        warnings.append(f"{who} votes: {listed(constant)}.")
    unseen = np.flatnonzero(votes.n_votes == 0)
    if len(unseen):
        first = quote_value(votes.item_ids[int(unseen[0])])
        many = f"{len(unseen)} items have" if len(unseen) > 1 else "1 item has"
        warnings.append(f"{many} no vote; the first is {first}.")
    return warnings


def label_warnings(votes: VoteMatrix) -> list[str]:
    """A warning if few items have a label; labels of one class are P0's (:mod:`votes.checks`)."""
    n_labels = int(votes.labelled.sum())
    if n_labels >= FEW_LABELS:
        return []
    return [f"Only {n_labels} items have a label; fewer than {FEW_LABELS} say very little."]


def _judges(names: list[str], singular: str, many: str) -> str:
    return f"1 judge {singular}" if len(names) == 1 else f"{len(names)} judges {many}"


def role_warnings(
    table: RawTable, mapping: Mapping, votes: VoteMatrix, items: NDArray[np.intp] | None
) -> list[str]:
    """Return sentences on columns left out or read as features, and on a column to group by.

    ``items`` (n_rows,) are the items of the rows of a long file, None for a wide one.
    """
    unused = [role for role in mapping.roles if role.role in ("ignore", "text")]
    unused = [role for role in unused if role.reason != CHOSEN]
    non_judges = [role for role in unused if mapping.layout == "wide" and _has_reason(role)]
    plain = [role.column for role in unused if role not in non_judges]
    if not mapping.roles:
        used = set(mapping.used)
        plain = [column for column in table.columns if column not in used]
    warnings = []
    if plain:
        warnings.append(f"Columns that are not used: {listed(plain)}.")
    if non_judges:
        named = ", ".join(
            f"{quote_value(role.column)} ({role.reason})" for role in non_judges[:_SHOWN]
        )
        more = f" and {len(non_judges) - _SHOWN} more" if len(non_judges) > _SHOWN else ""
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
