"""Score new votes with an exported panel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.decision.panel_file import PanelFile
from judgepanel.votes import MISSING, InputError, VoteMatrix
from judgepanel.votes.errors import listed, shown

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Probabilities of new items.

    ``p`` (n_items,) is P(label = 1) in the file's own order, in [.001, .999]; ``n_votes``
    (n_items,) counts votes of panel judges; ``warnings`` are full sentences.
    """

    item_ids: tuple[str, ...]
    p: Floats
    n_votes: NDArray[np.int64]
    warnings: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Columns of scored.csv; the decision is blank at p = .5 and where nobody voted.

        ``set_80`` and ``set_90`` stay blank until a panel carries a conformal slice.
        """
        decided = (self.p != 0.5) & (self.n_votes > 0)
        decision = np.where(decided, np.where(self.p > 0.5, "1", "0"), "")
        return pd.DataFrame(
            {
                "item_id": list(self.item_ids),
                "p": self.p,
                "decision": decision,
                "set_80": "",
                "set_90": "",
                "n_votes": self.n_votes,
            }
        )


def score(panel: PanelFile, votes: VoteMatrix) -> Scored:
    """Score every item of ``votes``; judges of the panel that are absent are missing votes.

    Raises
    ------
    InputError
        None of the panel's judges is in the file.
    """
    model = panel.model
    position = {name: column for column, name in enumerate(votes.judges)}
    present = [name for name in model.judges if name in position]
    if not present:
        raise InputError(
            "none of the panel's judges is in this file",
            value=", ".join(votes.judges[:3]),
            allowed=f"at least one of {listed(model.judges)}",
        )
    matrix = np.full((votes.n_items, len(model.judges)), MISSING, dtype=np.int8)
    for column, name in enumerate(model.judges):
        if name in position:
            matrix[:, column] = votes.votes[:, position[name]]
    n_votes = (matrix != MISSING).sum(axis=1).astype(np.int64)
    return Scored(votes.item_ids, model.score(matrix), n_votes, _warnings(panel, votes, n_votes))


def _warnings(panel: PanelFile, votes: VoteMatrix, n_votes: NDArray[np.int64]) -> tuple[str, ...]:
    found = []
    absent = [name for name in panel.model.judges if name not in set(votes.judges)]
    if absent:
        found.append(
            f"{len(absent)} of {len(panel.model.judges)} panel judges are absent and count as "
            f"missing votes: {listed(absent)}; the panel's figures do not hold for this loss."
        )
    known = {*panel.model.judges, *panel.content["left_out"], *panel.content["set_aside"]}
    unknown = [name for name in votes.judges if name not in known]
    if unknown:
        found.append(
            f"{len(unknown)} of the columns are judges the panel does not know; not used: "
            f"{listed(unknown)}."
        )
    empty = int((n_votes == 0).sum())
    if empty:
        first = votes.item_ids[int(np.flatnonzero(n_votes == 0)[0])]
        found.append(
            f"{empty} items have no vote of the panel (first {shown(first)}); they get the prior "
            f"{panel.model.prior:.3f} and no decision."
        )
    if votes.with_task(panel.content["task"]).sha256 == panel.content["votes"]["sha256"]:
        found.append("These are the votes the panel was fitted on; scores of seen items flatter.")
    return tuple(found)
