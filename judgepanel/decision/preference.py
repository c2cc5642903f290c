"""Which of the candidates is taken: the lowest NLL, or another that is as good as can be told.

Two candidates are compared on the same rows, so their difference is paired. A candidate is *tied*
with the best one while it is behind by no more than one standard error of that difference (the
one-standard-error rule of Breiman et al. 1984, *Classification and Regression Trees*, section 3.4).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from judgepanel.decision.candidates import Candidate
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS
from judgepanel.kernels.calibrate.calibration import CALIBRATORS
from judgepanel.scoring.inference import sampling_variance

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Preference = Literal["nll", "simplest", "cheapest", "fewest"]
PREFERENCES: tuple[Preference, ...] = get_args(Preference)

FAVOURITE = ("all", "joint", "none")
"""The candidate that is taken under ``nll`` where it is tied with the best."""


def tied_with_best(losses: Floats, units: NDArray[np.int64], allowed: Bools) -> Bools:
    """Which allowed candidates (A,) are tied with the best of them.

    ``losses`` (A, n) are those of the rows that the choice looks at, ``units`` (n,) the clusters
    that rows belong to.
    """
    mean = np.where(allowed, losses.mean(axis=1), np.inf)
    best = int(mean.argmin())
    gaps = losses - losses[best]
    reach = np.sqrt(sampling_variance(gaps, units))
    return np.asarray(allowed & (gaps.mean(axis=1) <= reach))


def pick(
    losses: Floats,
    panels: Bools,
    units: NDArray[np.int64],
    candidates: tuple[Candidate, ...],
    prefer: Preference,
    *,
    costs: Floats | None = None,
    budget: float | None = None,
) -> int:
    """Position of the candidate that is taken.

    ``panels`` bool (A, n_judges) are the judges of each, ``costs`` (n_judges,) what they cost an
    item; a ``budget`` excludes panels that cost more. Ties of the preference go to the lower NLL.
    """
    allowed = affordable(panels, costs, budget)
    mean = np.where(allowed, losses.mean(axis=1), np.inf)
    tied = tied_with_best(losses, units, allowed)
    if prefer == "nll":
        wanted = [i for i in np.flatnonzero(tied) if _names(candidates[i]) == FAVOURITE]
        return int(wanted[0]) if wanted else int(mean.argmin())
    order = sorted(
        np.flatnonzero(tied).tolist(),
        key=lambda i: (*_rank(candidates[i], panels[i], prefer, costs), mean[i], i),
    )
    return int(order[0])


def affordable(panels: Bools, costs: Floats | None, budget: float | None) -> Bools:
    """Which panels (A,) keep within the budget; all where there is none."""
    if budget is None or costs is None:
        return np.ones(len(panels), dtype=bool)
    return np.asarray(cost_of(panels, costs) <= budget * (1.0 + 1e-12))


def cost_of(panels: Bools, costs: Floats) -> Floats:
    """What each panel costs an item, (A,)."""
    return np.asarray(np.where(panels, costs, 0.0).sum(axis=1))


def _names(candidate: Candidate) -> tuple[str, str, str]:
    return candidate.name, candidate.aggregator, candidate.calibrator


def _rank(
    candidate: Candidate, panel: Bools, prefer: Preference, costs: Floats | None
) -> tuple[float, ...]:
    """What a preference sorts by, lowest first.

    Simplest is what fits least to labels: the aggregator first, then the calibrator, then no
    choice among the judges before one by a ranking before one by a search.
    """
    if prefer == "fewest":
        return (float(panel.sum()),)
    if prefer == "cheapest" and costs is not None:
        return (float(cost_of(panel[None], costs)[0]),)
    chosen = 0.0 if panel.all() else 1.0
    return (
        float(AGGREGATORS.index(candidate.aggregator)),
        float(CALIBRATORS.index(candidate.calibrator)),
        chosen if candidate.curator is None else 2.0,
    )
