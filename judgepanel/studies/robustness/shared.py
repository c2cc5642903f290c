"""What results of this room say about the run they come from."""

from __future__ import annotations

from typing import Any

from judgepanel.studies.settings import Prepared, Settings


def about(prepared: Prepared, settings: Settings, n_splits: int) -> dict[str, Any]:
    """Fields of a result that say on what it rests; ``n_splits`` splits are in it."""
    return {
        "orientation": prepared.oriented.policy,
        "protocol": settings.protocol,
        "one_class": prepared.oriented.one_class,
        "measures_coding": prepared.oriented.measures_coding,
        "n_items": prepared.ballots.n_items,
        "n_judges": prepared.ballots.n_judges,
        "n_splits": n_splits,
        "planned_splits": settings.splits,
        "seed": settings.seed,
    }
