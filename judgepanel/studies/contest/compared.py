"""Panels beside the recommended average: their pipeline, their names, and verdicts in words.

Of the average there is no top k, since it weighs panels itself. It is compared with the top k under
``COMPARED``: the pipeline of its members that keep a few judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Ints
from judgepanel.scoring.inference import Verdict
from judgepanel.studies.compare import arm_name
from judgepanel.studies.contest.candidates import FEW_MEMBER
from judgepanel.studies.contest.recommended import AVERAGE

Objects = NDArray[np.object_]

COMPARED = FEW_MEMBER
"""Pipeline of the panels that the average is compared with."""
RECOMMENDED: Literal["the recommended panel"] = "the recommended panel"
"""Name of the average among the panels."""


def panel_names(panels: Ints, aggregator: str) -> tuple[str, ...]:
    """Return ``top-5``, ..., ``all 65``: the last size is all judges.

    By average they are ``top-5 by one-coin``, ..., ``the recommended panel``.
    """
    everyone = RECOMMENDED if aggregator == AVERAGE else f"all {panels[-1]:,}"
    return (*(compared_name(int(k), aggregator) for k in panels[:-1]), everyone)


def compared_name(k: int, aggregator: str) -> str:
    """Return the name of the k best judges: ``top-5``, or by average ``top-5 by one-coin``."""
    return by_aggregator(arm_name(k), COMPARED[0]) if aggregator == AVERAGE else arm_name(k)


def pipeline_columns(
    aggregator: str, calibrators: Sequence[str], n_panels: int
) -> tuple[Objects, Objects]:
    """Return aggregators (n_panels, 1) and calibrators (n_calibrators, n_panels, 1) by name."""
    aggregators = np.full((n_panels, 1), aggregator, dtype=object)
    names = np.array(calibrators, dtype=object)[:, None, None].repeat(n_panels, axis=1)
    if aggregator == AVERAGE:
        aggregators[:-1], names[:, :-1] = COMPARED
    return aggregators, names


def verdicts_between(first: str, second: str) -> dict[Verdict, str]:
    """Return verdicts in words for two panels that may both keep all judges."""
    return {
        "keep all": f"{first} is better",
        "curate": f"{second} is better",
        "no loss from keeping": f"no loss with {first}",
        "no loss from curating": f"no loss with {second}",
        "undecided": "undecided",
        "tie": "tie",
    }


AGAINST_AVERAGE = verdicts_between(RECOMMENDED, "the other")
"""Verdicts for any other panel against the recommended one."""


def by_aggregator(panel: str, aggregator: str) -> str:
    """Return ``all 65 by joint``, ``top-5 by one-coin``."""
    return f"{panel} by {aggregator.replace('_', '-')}"
