"""Which of the candidates is taken: the lowest NLL, or another that is as good as can be told.

Cross-validated NLL is noisy, and the lowest of many is often lucky. So candidates are compared by
what they would lose if labels followed the *blend* of all plausible candidates: much of the noise
of labels drops out, and how far a candidate is from what all say together is left. Such a reference
model overfits the choice less than cross-validation alone (Piironen and Vehtari 2017,
doi:10.1007/s11222-016-9649-y, section 3.5). In the blend a candidate weighs
exp(-``POWER`` n (NLL - lowest NLL)), n clusters of items (Yao et al. 2018, doi:10.1214/17-BA1091,
section 3.4, have power 1).

Differences are paired. A candidate is *tied* with the best one while it is behind by no more than
one standard error of the difference in NLL (the one-standard-error rule of Breiman et al. 1984,
*Classification and Regression Trees*, section 3.4).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from judgepanel.decision.candidates import Candidate
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS
from judgepanel.kernels.calibrate.calibration import CALIBRATORS
from judgepanel.scoring.inference import sampling_variance
from judgepanel.studies.panel.costs import affordable as within

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

Preference = Literal["nll", "simplest", "cheapest", "fewest"]
PREFERENCES: tuple[Preference, ...] = get_args(Preference)

EVERYONE = "all"
FAVOURITE = (EVERYONE, "joint", "none")
POWER = 0.5
"""Power of the likelihood in the blend's weights."""
SHOWN_BETTER = 1.645
"""Standard errors by which a choice of judges must beat the best panel that keeps everyone: with
fewer it is not shown to be better, at one-sided 5 %."""
HEAD_START = 0.5
"""Standard errors by which any panel must beat the favourite: joint on everyone."""


def smoothed_nll(losses: Floats, units: Ints, allowed: Bools) -> Floats:
    """Mean NLL (A,) if labels followed the blend; infinite where not allowed.

    ``losses`` (A, n) are cross-validated and those of the rows that the choice looks at, ``units``
    (n,) the clusters that rows belong to.
    """
    mean = np.where(allowed, losses.mean(axis=1), np.inf)
    weights = np.exp(-POWER * len(np.unique(units)) * (mean - mean.min()))
    weights /= weights.sum()
    p = np.exp(-losses)
    blend = weights @ p
    values = losses @ blend - np.log1p(-p) @ (1.0 - blend)
    return np.where(allowed, values / losses.shape[1], np.inf)


def tied_with_best(losses: Floats, units: Ints, allowed: Bools) -> Bools:
    """Which allowed candidates (A,) are tied with the best of them."""
    smoothed = smoothed_nll(losses, units, allowed)
    best = int(smoothed.argmin())
    return np.asarray(smoothed - smoothed[best] <= _standard_errors(losses, units, best))


def pick(
    losses: Floats,
    panels: Bools,
    units: Ints,
    candidates: tuple[Candidate, ...],
    prefer: Preference,
    *,
    costs: Floats | None = None,
    budget: float | None = None,
) -> int:
    """Position of the candidate that is taken.

    ``panels`` bool (A, n_judges) are the judges of each, ``costs`` (n_judges,) what they cost an
    item; a ``budget`` excludes panels that cost more. Ties of the preference go to the lower
    smoothed NLL.
    """
    allowed = affordable(panels, costs, budget)
    smoothed = smoothed_nll(losses, units, allowed)
    if prefer == "nll":
        return _lowest(smoothed, losses, units, candidates)
    order = sorted(
        np.flatnonzero(tied_with_best(losses, units, allowed)).tolist(),
        key=lambda i: (*_rank(candidates[i], panels[i], prefer, costs), smoothed[i], i),
    )
    return int(order[0])


def _lowest(
    smoothed: Floats, losses: Floats, units: Ints, candidates: tuple[Candidate, ...]
) -> int:
    """The lowest, unless it is not shown to beat everyone, or the favourite is just behind."""
    best = int(smoothed.argmin())
    everyone = [i for i, candidate in enumerate(candidates) if candidate.name == EVERYONE]
    favourite = [i for i in everyone if _names(candidates[i]) == FAVOURITE]
    for kind, lead in ((everyone, SHOWN_BETTER), (favourite, HEAD_START)):
        if not kind:
            continue
        rival = min(kind, key=lambda i: smoothed[i])
        reach = lead * _standard_errors(losses, units, best)[rival]
        if smoothed[rival] - smoothed[best] <= reach:
            best = rival
    return best


def _standard_errors(losses: Floats, units: Ints, best: int) -> Floats:
    """Of the difference in NLL to the best, (A,)."""
    return np.asarray(np.sqrt(sampling_variance(losses - losses[best], units)))


def affordable(panels: Bools, costs: Floats | None, budget: float | None) -> Bools:
    """Which panels (A,) keep within the budget; all where there is none."""
    if budget is None or costs is None:
        return np.ones(len(panels), dtype=bool)
    return within(cost_of(panels, costs), budget)


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
