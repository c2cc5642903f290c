"""The conformal slice: labelled items held out before anything is chosen or fitted.

The slice is drawn from ``SeedSequence(seed, spawn_key=(7, 13))``, groups whole. It is not used for
the orientation, the splits, the choice or the fit, so its scores under the final panel are
exchangeable with those of new items, as split conformal sets require. With groups, only whole
groups are exchangeable, so thresholds use one random item of each group (Dunn, Wasserman and Ramdas
2023, doi:10.1080/01621459.2022.2060112).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.models.mixture import Mixture
from judgepanel.scoring.conformal import (
    LEVELS,
    label_scores,
    labels_needed,
    nonconformity,
    threshold,
    too_few,
)
from judgepanel.scoring.splits import subsplit
from judgepanel.votes import InputError, VoteMatrix

_KEY = (7, 13)
_ONE_EACH_KEY = (7, 14)


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """The votes for the fit (all votes if nothing is held out), and the slice or None."""

    fitted: VoteMatrix
    held_out: VoteMatrix | None


def check_share(share: float) -> None:
    """Refuse a share outside [0, 1) with an InputError."""
    if not 0.0 <= share < 1.0:
        raise InputError(
            "the share held out for sets is out of range",
            value=share,
            allowed="0 (none) or more, below 1",
        )


def slices(votes: VoteMatrix, share: float, seed: int) -> Slices:
    """Hold out about ``share`` of the labelled items, whole groups; 0 holds out none.

    Unlabelled items of a held-out group are left out of the fit as well.

    Raises
    ------
    InputError
        Fewer than two labelled items, or groups of them.
    """
    if share == 0.0:
        return Slices(votes, None)
    units = votes.units
    labelled = np.flatnonzero(votes.labelled)
    _, held = subsplit(units, labelled, fraction=1.0 - share, seed=seed, key=_KEY)
    away = np.isin(units, units[held])
    return Slices(votes.with_items(~away), votes.with_items(held))


def fitting_votes(votes: VoteMatrix, share: float, seed: int) -> VoteMatrix:
    """Return the votes that a recommendation may use; see :func:`slices`."""
    return slices(votes, share, seed).fitted


def held_out_warnings(votes: VoteMatrix, share: float, seed: int) -> list[str]:
    """Return sentences about levels for which the slice has too few labels, or groups of them."""
    held = slices(votes, share, seed).held_out
    if held is None:
        return []
    n = len(one_each(held))
    says = too_few if n == held.n_items else _too_few_groups
    return [
        says(n, level, "The held-out slice", "every set is {0,1}")
        for level in LEVELS
        if n < labels_needed(level)
    ]


def one_each(held: VoteMatrix) -> NDArray[np.int64]:
    """Return sorted rows of a slice for its thresholds: one random item of each group.

    All rows without groups. The stream is ``SeedSequence(0, spawn_key=(7, 14))``: the seed of the
    run was already used to draw the slice, and neither votes nor labels are used.
    """
    units = held.units
    rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=_ONE_EACH_KEY))
    order = rng.permutation(held.n_items)
    _, first = np.unique(units[order], return_index=True)
    return np.asarray(np.sort(order[first]))


def _too_few_groups(n: int, level: float, whose: str, until_then: str) -> str:
    return (
        f"{whose} has {n} group{'' if n == 1 else 's'} of items, and sets at {level:.0%} need "
        f"{labels_needed(level)} groups: until then {until_then}."
    )


def conformal_content(
    model: Mixture, held: VoteMatrix, share: float, rows: dict[str, Any]
) -> dict[str, Any]:
    """Return the block ``conformal``: thresholds of 1 - p(label) on the slice, in the file's order.

    An item and its swap have one score, so each item counts once under ``symmetric`` too. ``n``
    labels set the thresholds: one per group (:func:`one_each`).
    """
    columns = held.with_items(one_each(held)).with_judges(model.judges)
    codes = model.codes(columns.votes, columns.margins)
    scores = nonconformity(model.score(codes), columns.labels)
    limits = [float(threshold(scores, level)) for level in LEVELS]
    return {
        "share": share,
        "n": columns.n_items,
        "levels": [
            {
                "level": level,
                "threshold": limit if np.isfinite(limit) else None,
                "labels_needed": labels_needed(level),
            }
            for level, limit in zip(LEVELS, limits, strict=True)
        ],
        "rows": rows,
    }


def set_texts(conformal: dict[str, Any] | None, p: Floats) -> list[list[str]]:
    """Return ``{}``, ``{0}``, ``{1}`` or ``{0,1}`` per item and level; blank without a slice."""
    if conformal is None:
        return [[""] * len(p) for _ in LEVELS]
    scores = [score.tolist() for score in label_scores(p)]
    texts = []
    for level in conformal["levels"]:
        limit = level["threshold"]
        inside = [[limit is None or score <= limit for score in one_score] for one_score in scores]
        texts.append([SETS[zero + 2 * label_one] for zero, label_one in zip(*inside, strict=True)])
    return texts


SETS = ("{}", "{0}", "{1}", "{0,1}")
"""Sets as written in scored.csv."""
