"""Easy and hard items, by the judges' disagreement or by an item feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.evaluate.density_ratio import disagreement
from judgepanel.models.residual import feature_columns
from judgepanel.studies.settings import Prepared
from judgepanel.votes import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BY_VOTES = "disagreement"


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """Sorted positions of the easy and of the hard items; the other items are neither.

    Items up to ``easy_to`` are easy and those from ``hard_from`` on hard, in units of the
    difficulty measure ``by``.
    """

    by: str
    easy: Ints
    hard: Ints
    easy_to: float
    hard_from: float


def difficulty_strata(prepared: Prepared, share: float, feature: str | None) -> Strata:
    """The easiest ``share`` of the items and the hardest share; ties stay together.

    Difficulty is the disagreement of the votes on an item, which uses no label, or a numeric item
    feature (larger is harder). Items without votes or without the feature are in neither.

    Raises
    ------
    InputError
        A feature that is absent or not numeric; items that are all equally difficult.
    """
    ballots = prepared.ballots
    if feature is None:
        measure = disagreement(ballots)
        known = (ballots.votes != 0).any(axis=1)
    else:
        measure = _numeric(prepared, feature)
        known = np.isfinite(measure)
    rows = np.flatnonzero(known)
    levels, counts = np.unique(measure[rows], return_counts=True)
    if len(levels) < 2:
        raise InputError(
            "items cannot be told apart by difficulty: all have the same "
            + ("disagreement of votes" if feature is None else "value"),
            column=feature,
            remedy="choose a feature that differs between items",
        )
    wanted = share * len(rows)
    low = _nearest(np.cumsum(counts)[:-1], wanted)
    high = len(levels) - 1 - _nearest(np.cumsum(counts[::-1])[:-1], wanted)
    high = max(high, low + 1)
    return Strata(
        by=BY_VOTES if feature is None else feature,
        easy=rows[measure[rows] <= levels[low]],
        hard=rows[measure[rows] >= levels[high]],
        easy_to=float(levels[low]),
        hard_from=float(levels[high]),
    )


def _nearest(reached: Ints, wanted: float) -> int:
    return int(np.abs(reached - wanted).argmin())


def _numeric(prepared: Prepared, name: str) -> Floats:
    columns = feature_columns(prepared.oriented.votes.features) or {}
    if name not in columns:
        raise InputError(
            "no such feature among the votes", value=name, allowed=", ".join(columns) or "none"
        )
    values = columns[name]
    if values.dtype.kind not in "fiub":
        raise InputError(
            "difficulty needs a feature of numbers",
            column=name,
            remedy="choose another feature, or none: then the disagreement of votes is used",
        )
    return values.astype(np.float64)
