"""Scoring of new votes with an exported panel, with warnings about the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Floats
from judgepanel.decision.absence_nearest import absence_sentence
from judgepanel.decision.drift import Drift, drift_of, drift_sentences
from judgepanel.decision.grades import check_grades, units_sentences
from judgepanel.decision.held_out import set_texts
from judgepanel.decision.labelled import Labelled, labelled_figures
from judgepanel.decision.panel_file import PanelFile
from judgepanel.decision.training_items import Seen, seen_items, seen_sentences
from judgepanel.votes import MISSING, InputError, VoteMatrix
from judgepanel.votes.errors import listed, quote_value

_BY_CHANCE = 0.01
"""A judge without votes in a file counts as absent if that is less likely than this by chance."""


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Probabilities of new items.

    ``p`` (n_items,) is P(label = 1) in the file's own order, in [.001, .999]; ``n_votes``
    (n_items,) counts votes of panel judges; ``sets`` has the sets at 80 % and at 90 %, one text per
    item, blank if the panel has no held-out slice. ``fallback`` (n_items,) marks items that the
    panel's fallback scored because too much of the panel did not vote on them. ``seen`` says on
    which items the panel was fitted, ``drift`` compares the votes with those (None for a panel file
    of version 1 or 2), ``labelled`` evaluates the scores on the file's labels (None without any).
    ``warnings`` are full sentences.
    """

    item_ids: tuple[str, ...]
    p: Floats
    n_votes: NDArray[np.int64]
    sets: tuple[tuple[str, ...], tuple[str, ...]]
    fallback: Bools
    seen: Seen
    drift: Drift | None
    labelled: Labelled | None
    warnings: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return the columns of scored.csv.

        The decision is blank at p = .5 and without votes; the fallback is 1 if it scored the item.
        """
        decided = (self.p != 0.5) & (self.n_votes > 0)
        decision = np.where(decided, np.where(self.p > 0.5, "1", "0"), "")
        return pd.DataFrame(
            {
                "item_id": list(self.item_ids),
                "p": self.p,
                "decision": decision,
                "set_80": list(self.sets[0]),
                "set_90": list(self.sets[1]),
                "n_votes": self.n_votes,
                "fallback": self.fallback.astype(np.int64),
            }
        )


def score(panel: PanelFile, votes: VoteMatrix) -> Scored:
    """Score every item of ``votes``; absent judges of the panel count as missing votes.

    Raises
    ------
    InputError
        None of the panel's judges is in the file, or a judge whose grades the panel reads gives
        votes, or grades that are cut elsewhere.
    """
    model, content = panel.model, panel.content
    position = {name: column for column, name in enumerate(votes.judges)}
    if not any(name in position for name in model.judges):
        raise InputError(
            "none of the panel's judges is in this file",
            value=", ".join(votes.judges[:3]) + (" and others" if votes.n_judges > 3 else ""),
            allowed=f"at least one of {listed(model.judges)}",
            remedy="choose the file that holds their votes, or give its columns the panel's names",
        )
    check_grades(content["grades"], model.judges, votes)
    matrix = np.full((votes.n_items, len(model.judges)), MISSING, dtype=np.int8)
    margins = np.zeros(matrix.shape)
    for column, name in enumerate(model.judges):
        if name in position:
            matrix[:, column] = votes.votes[:, position[name]]
            if votes.margins is not None:
                margins[:, column] = votes.margins[:, position[name]]
    n_votes = (matrix != MISSING).sum(axis=1).astype(np.int64)
    codes = model.codes(matrix, margins)
    p, fallback = model.score(codes), model.falls_back(codes)
    as_read = votes.with_task(content["task"])
    same = as_read.sha256 == content["votes"]["sha256"]
    seen = _seen(content, as_read, content["training"])
    held_out = _seen(content, as_read, (content["conformal"] or {}).get("rows"))
    if same:
        everything = np.ones(votes.n_items, dtype=bool)
        seen = Seen(everything, ~everything, wholly=True, checked=True)
    drift = _drift(content, votes)
    labelled = labelled_figures(
        as_read,
        p,
        seen,
        held_out.rows,
        null=model.prior,
        symmetric=content["orientation"] == "symmetric",
    )
    at_80, at_90 = set_texts(content["conformal"], p)
    warnings = [
        *_absent(panel, votes),
        *_fallen_back(panel, fallback),
        *_strangers(panel, votes),
        *units_sentences(content["grades"], model.judges, votes),
        *_without_votes(panel, votes, n_votes),
        *_familiar(votes, seen, held_out, same=same),
        *(drift_sentences(drift) if drift else ()),
    ]
    return Scored(
        item_ids=votes.item_ids,
        p=p,
        n_votes=n_votes,
        sets=(tuple(at_80), tuple(at_90)),
        fallback=fallback,
        seen=seen,
        drift=drift,
        labelled=labelled,
        warnings=tuple(warnings),
    )


def _seen(content: dict[str, Any], votes: VoteMatrix, rows: dict[str, Any] | None) -> Seen:
    salt = content["votes"]["sha256"]
    return seen_items(rows, votes, content["judges"], _known(content), salt)


def _known(content: dict[str, Any]) -> list[str]:
    return [*content["judges"], *content["left_out"], *content["set_aside"]]


def _drift(content: dict[str, Any], votes: VoteMatrix) -> Drift | None:
    if content["profile"] is None:
        return None
    return drift_of(
        content["profile"],
        content["judges"],
        votes,
        as_given=content["orientation"] == "as_given",
        chosen=bool(content["left_out"]),
        grades=content["grades"],
    )


def _absent(panel: PanelFile, votes: VoteMatrix) -> list[str]:
    """Name the absent judges, and the measured loss without them."""
    absent = _absent_judges(panel, votes)
    if not absent:
        return []
    sentences = [absence_sentence(panel.content, absent, votes.n_items)]
    if panel.content["conformal"] is not None:
        sentences.append(
            "Sets were made with all judges there: with judges absent nothing promises how often "
            "they hold the label."
        )
    return sentences


def _absent_judges(panel: PanelFile, votes: VoteMatrix) -> list[str]:
    """Return judges without a column, and those without votes that should have cast some by now."""
    judges, profile = panel.model.judges, panel.content["profile"]
    place = {name: column for column, name in enumerate(votes.judges)}
    silent = (votes.votes == MISSING).all(axis=0)
    absent = []
    for position, name in enumerate(judges):
        if name not in place:
            absent.append(name)
        elif profile is not None and silent[place[name]]:
            never = 1.0 - profile["voted"][position] / profile["n_items"]
            if never**votes.n_items < _BY_CHANCE:
                absent.append(name)
    return absent


def _fallen_back(panel: PanelFile, fallback: Bools) -> list[str]:
    """Say how many items the fallback scored, and why."""
    rule = panel.model.fallback
    if rule is None or not fallback.any():
        return []
    return [
        f"{int(fallback.sum())} of {len(fallback)} items were scored by the panel's fallback "
        "(one-coin with a temperature for the judges that are there), since judges with more than "
        f"{100 * rule.beyond:.0f} % of its weight did not vote on them."
    ]


def _strangers(panel: PanelFile, votes: VoteMatrix) -> list[str]:
    known = set(_known(panel.content))
    unknown = [name for name in votes.judges if name not in known]
    if not unknown:
        return []
    return [
        f"{len(unknown)} of the columns are judges the panel does not know; not used: "
        f"{listed(unknown)}."
    ]


def _without_votes(panel: PanelFile, votes: VoteMatrix, n_votes: NDArray[np.int64]) -> list[str]:
    empty = int((n_votes == 0).sum())
    if not empty:
        return []
    first = votes.item_ids[int(np.flatnonzero(n_votes == 0)[0])]
    return [
        f"{empty} items have no vote of the panel (first {quote_value(first)}); they get the prior "
        f"{panel.model.prior:.3f} and no decision."
    ]


def _familiar(votes: VoteMatrix, seen: Seen, held_out: Seen, *, same: bool) -> list[str]:
    if same:
        return ["These are the votes the panel was fitted on; scores of seen items flatter."]
    sentences = seen_sentences(seen, votes.item_ids)
    if held_out.rows.any():
        sentences.append(
            f"{int(held_out.rows.sum())} of {votes.n_items} items were held out to make the sets; "
            "their sets are not evidence of coverage."
        )
    return sentences
