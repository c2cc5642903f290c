"""Grades of a panel file: whether the grades of new votes can be read as those of the fit were.

A panel cuts the grades of each judge at its own threshold into votes, and into bands by their
distance from it. New grades must be in the same units, and a judge that gave grades cannot give
bare votes: which band they belong to would be a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.votes import MISSING, InputError, VoteMatrix
from judgepanel.votes.errors import listed

Scales = list[dict[str, Any] | None] | None
"""The key ``grades`` of a panel file: by judge in panel order, null for one that gave votes."""

_OUTSIDE = 0.5
"""Share of a judge's grades outside the range of the fit that makes other units likely."""


def check_grades(scales: Scales, judges: Sequence[str], votes: VoteMatrix) -> None:
    """Refuse votes in which a judge's grades cannot be read as those of the fit.

    Raises
    ------
    InputError
        A judge that gave grades to the panel gives votes here, grades cut at another threshold, or
        a -1 that was no grade before.
    """
    for judge, scale, column in _known(scales, judges, votes):
        threshold = float("nan") if votes.thresholds is None else float(votes.thresholds[column])
        if np.isnan(threshold):
            raise InputError(
                "a judge that gave the panel grades gives votes here",
                column=judge,
                allowed=f"grades, which the panel cuts at {scale['threshold']:g}",
                remedy="give its grades, or, on the command line, say with --threshold "
                f"JUDGE={scale['threshold']:g} that these numbers are grades",
            )
        if threshold != scale["threshold"]:
            raise InputError(
                "grades are cut at another threshold than the panel's",
                column=judge,
                value=threshold,
                allowed=f"{scale['threshold']:g}",
                remedy="give the grades in the units of the panel, and no threshold",
            )
        if scale["lowest"] >= 0.0 and (_grades(votes, column) == -1.0).any():
            raise InputError(
                "-1 may be a grade or a missing vote",
                column=judge,
                allowed=f"grades from {scale['lowest']:g} to {scale['highest']:g}, as the panel "
                "was fitted to",
                remedy="leave missing votes blank",
            )


def units_sentences(scales: Scales, judges: Sequence[str], votes: VoteMatrix) -> list[str]:
    """Return a warning about judges most of whose grades lie outside the range of the fit."""
    others = []
    for judge, scale, column in _known(scales, judges, votes):
        grades = _grades(votes, column)
        outside = (grades < scale["lowest"]) | (grades > scale["highest"])
        if outside.mean() > _OUTSIDE:
            others.append(judge)
    if not others:
        return []
    return [
        f"Most grades of {listed(others)} lie outside the range of those the panel was fitted to: "
        "if they are in other units, the scores are wrong."
    ]


def _known(
    scales: Scales, judges: Sequence[str], votes: VoteMatrix
) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield each judge that gave the panel grades and votes here, how they are read, its column."""
    place = {name: column for column, name in enumerate(votes.judges)}
    for judge, scale in zip(judges, scales or (), strict=False):
        if scale and judge in place and (votes.votes[:, place[judge]] != MISSING).any():
            yield judge, scale, place[judge]


def _grades(votes: VoteMatrix, column: int) -> Floats:
    """The grades (n,) of a judge that are not missing."""
    grades = np.zeros(0) if votes.grades is None else votes.grades[:, column]
    return np.asarray(grades[~np.isnan(grades)])
