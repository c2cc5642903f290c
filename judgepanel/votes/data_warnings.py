"""Warnings about votes that are unusual but usable, as full sentences."""

from __future__ import annotations

import numpy as np

from judgepanel.votes.errors import listed, quote_value
from judgepanel.votes.matrix import MISSING, VoteMatrix

FEW_LABELS = 20


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
    """Warnings about labels: few of them, or one class only."""
    warnings = []
    known = votes.labels[votes.labelled]
    if len(known) < FEW_LABELS:
        warnings.append(
            f"Only {len(known)} items have a label; fewer than {FEW_LABELS} say very little."
        )
    if len(np.unique(known)) == 1:
        warnings.append(
            f"Every label is {int(known[0])}: the labels say how the file was coded, and which "
            "response came first may carry the answer."
        )
    return warnings


def _judges(names: list[str], singular: str, many: str) -> str:
    return f"1 judge {singular}" if len(names) == 1 else f"{len(names)} judges {many}"
