"""Warnings about columns that were not read as judges although no option says so."""

from __future__ import annotations

import numpy as np

from judgepanel.votes.columns import Mapping
from judgepanel.votes.errors import listed, quote_value
from judgepanel.votes.matrix import MISSING, VoteMatrix
from judgepanel.votes.roles import CHOSEN, ColumnRole, repeats_across_items
from judgepanel.votes.table import RawTable
from judgepanel.votes.words import distinct

_GROUPING_NAMES = frozenset(
    ("query", "query_id", "prompt", "prompt_id", "question", "question_id", "instruction")
)
_SHOWN = 5
_HARDLY = 1.05


def role_warnings(table: RawTable, mapping: Mapping, votes: VoteMatrix) -> list[str]:
    """Return sentences on columns left out or read as features, and on a column to group by."""
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
            f"Not read as judges: {named}{more}. If one of them is a judge, name all judges with "
            "--judge-columns, or on Start under Columns."
        )
    features = [
        role.column
        for role in mapping.roles
        if role.role == "feature" and role.reason.startswith("named as something")
    ]
    if features:
        warnings.append(
            f"Read as item features by their names: {listed(features)}. To leave one out use "
            "--ignore, or on Start under Columns."
        )
    return [*warnings, *_grouping(table, mapping, votes)]


def _has_reason(role: ColumnRole) -> bool:
    return not role.reason.startswith(("no other role", "named as in a file", "not a judge that"))


def _grouping(table: RawTable, mapping: Mapping, votes: VoteMatrix) -> list[str]:
    """Suggest a column of questions that several items share, if the file has no groups."""
    if mapping.layout != "wide" or mapping.group_column is not None:
        return []
    for column in table.columns:
        if column.strip().lower().removeprefix("feat_") not in _GROUPING_NAMES:
            continue
        if column in (mapping.id_column, mapping.label_column, *mapping.judge_columns):
            continue
        repeats = repeats_across_items(table.frame[column])
        if repeats is not None:
            return [
                f"{repeats[1]} items share {repeats[0]} values of {quote_value(column)}: intervals "
                f"are too narrow unless such items stay together{_wider(table, column, votes)}. "
                "Name that column with --group-column, or on Start under Columns."
            ]
    return []


def _wider(table: RawTable, column: str, votes: VoteMatrix) -> str:
    """Return how much wider intervals of accuracies are with the values of a column as groups."""
    codes, _ = distinct(table.frame[column])
    given = (votes.votes != MISSING) & votes.labelled[:, None]
    wrong = (votes.votes != votes.labels[:, None]) & given
    apart = np.where(given, wrong - wrong.sum(axis=0) / np.maximum(given.sum(axis=0), 1), 0.0)
    of_groups = np.zeros((int(codes.max()) + 1, votes.n_judges))
    np.add.at(of_groups, codes, apart)
    alone = float((apart**2).sum())
    ratio = np.sqrt((of_groups**2).sum() / alone) if alone > 0.0 else 1.0
    if ratio < _HARDLY:
        return ""
    return f" (by the errors of the judges they should be about {ratio:.1f} times as wide)"
