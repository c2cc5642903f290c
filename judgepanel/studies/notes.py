"""Warnings that several studies give, each worded once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judgepanel.studies.settings import Prepared

FEW_LABELS = 30


def few_labels(prepared: Prepared, n_calibration: float) -> list[str]:
    """Warnings where calibration rests on few labels, or variances on few groups."""
    found = []
    if n_calibration < FEW_LABELS:
        found.append(
            f"Only {n_calibration:.0f} labels calibrate in each split: intervals are wide, and "
            "calibrators with several parameters are shrunk or unstable."
        )
    n_groups = len(np.unique(prepared.ballots.units))
    if n_groups < FEW_LABELS and n_groups < prepared.ballots.n_items:
        found.append(
            f"The items form only {n_groups} groups, and groups are what intervals count: take "
            "them as rough."
        )
    return found


def stand_ins(names: Sequence[str], replaced: Sequence[int], fits: int) -> list[str]:
    """One warning a name that could not be fitted in ``replaced`` of ``fits`` cases."""
    return [
        not_fitted(name, f"{count} of {fits} cases")
        for name, count in zip(names, replaced, strict=True)
        if count
    ]


def not_fitted(name: str, where: str) -> str:
    """What could not be fitted, where, and what stands in."""
    return (
        f"{name} could not be fitted in {where} (one class, or perfectly separated); temperature "
        "stands in there."
    )
