"""Preferences: choose the average of candidates, or one of them by another criterion.

Under ``nll`` and ``everyone`` members are averaged (:mod:`studies.contest.average`), under
``everyone`` only those that keep all judges; under ``single`` the member with the largest weight is
used alone. Under ``robust`` the choice is between the average and the candidate, tied with the
best, that has the lowest NLL while a family of judges is absent, whichever has the lower NLL then.

The other preferences choose one of the candidates tied with the best. Cross-validated NLL is noisy,
and the lowest of many is often lucky, so candidates are compared by their expected loss if labels
followed the *blend* of all plausible candidates: much of the label noise drops out, and the
distance of a candidate from the consensus remains. Such a reference model overfits the choice less
than cross-validation alone (Piironen and Vehtari 2017, doi:10.1007/s11222-016-9649-y, section 3.5).
In the blend a candidate has weight exp(-``POWER`` n (NLL - lowest NLL)), with n clusters of items
(Yao et al. 2018, doi:10.1214/17-BA1091, section 3.4, have power 1). Differences are paired. A
candidate is *tied* with the best one if it is behind by at most one standard error of the
difference in NLL (the one-standard-error rule of Breiman et al. 1984, *Classification and
Regression Trees*, section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.aggregation import ANY_AGGREGATORS
from judgepanel.kernels.calibrate.calibration import CALIBRATORS
from judgepanel.scoring.inference import sampling_variance
from judgepanel.studies.contest.average import average_losses, average_weights
from judgepanel.studies.contest.candidates import Candidate, Candidates
from judgepanel.studies.panel.costs import affordable as within

Preference = Literal["nll", "single", "everyone", "robust", "simplest", "cheapest", "fewest"]
PREFERENCES: tuple[Preference, ...] = get_args(Preference)

POWER = 0.5
"""Power of the likelihood in the blend's weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """``weights`` (A,) of the average; ``taken`` is the single candidate chosen instead.

    ``taken`` is None if the average is chosen.
    """

    weights: Floats
    taken: int | None

    @property
    def used(self) -> Floats:
        """Weights (A,) of the choice: 1 for a single candidate, or those of the average."""
        if self.taken is None:
            return self.weights
        return np.asarray(np.arange(len(self.weights)) == self.taken, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """What every available preference chooses, in ``by_preference``, and how candidates compare.

    ``allowed`` (A,) are those within the budget, ``smoothed`` (A,) is their mean NLL if labels
    followed the blend, infinite if not allowed, and ``tied`` (A,) are those tied with the lowest.
    """

    by_preference: dict[Preference, Choice]
    allowed: Bools
    smoothed: Floats
    tied: Bools


def smoothed_nll(losses: Floats, units: Ints, allowed: Bools) -> Floats:
    """Mean NLL (A,) if labels followed the blend; infinite if not allowed.

    ``losses`` (A, n) are cross-validated on the rows of the choice, ``units`` (n,) the clusters of
    these rows.
    """
    mean = np.where(allowed, losses.mean(axis=1), np.inf)
    weights = np.exp(-POWER * len(np.unique(units)) * (mean - mean.min()))
    weights /= weights.sum()
    p = np.negative(losses)  # One array for all steps: there may be a million items.
    np.exp(p, out=p)
    blend = weights @ p
    np.negative(p, out=p)
    values = losses @ blend - np.log1p(p, out=p) @ (1.0 - blend)
    return np.where(allowed, values / losses.shape[1], np.inf)


def tied_with_best(losses: Floats, units: Ints, smoothed: Floats) -> Bools:
    """Return which candidates (A,) are tied with the best of them by their smoothed NLL."""
    best = int(smoothed.argmin())
    return np.asarray(smoothed - smoothed[best] <= _standard_errors(losses, units, best))


def offered(
    costs: Floats | None, budget: float | None, *, robust: bool = False
) -> tuple[Preference, ...]:
    """Return the preferences available in a run.

    The cheapest is available if ``costs`` (n_judges,) are known, everyone if all judges together
    are within the ``budget``, robust if absences are measured.
    """
    affords_all = budget is None or costs is None or bool(within(costs.sum(), budget))
    left_out = {
        "cheapest": costs is None,
        "everyone": not affords_all,
        "robust": not robust,
    }
    return tuple(prefer for prefer in PREFERENCES if not left_out.get(prefer, False))


def choose(
    losses: Floats,
    panels: Bools,
    units: Ints,
    candidates: Candidates,
    rng: np.random.Generator,
    *,
    costs: Floats | None = None,
    budget: float | None = None,
    absent: Floats | None = None,
) -> Choices:
    """Choose from the candidates by every available preference.

    ``panels`` bool (A, n_judges) are the judges of each, ``costs`` (n_judges,) their cost per item;
    a ``budget`` excludes panels that cost more, and members that would make the average cost more:
    the heaviest is taken first, and one that does not fit is skipped. ``rng`` draws one bootstrap
    for all preferences. Ties of a preference for simple, cheap or few go to the lower smoothed NLL.
    ``absent`` (A, m) are losses while a family is absent
    (:func:`studies.contest.compete.absent_losses`), None if they are not measured.
    """
    allowed = affordable(panels, costs, budget)
    listed = candidates.all()
    smoothed = smoothed_nll(losses, units, allowed)
    tied = tied_with_best(losses, units, smoothed)
    prior = candidates.prior(allowed)
    if not prior.any():
        prior = (np.arange(len(prior)) == smoothed.argmin()).astype(np.float64)
    priors = candidates.with_everyone(prior)
    average, everyone = (
        _within(weights, panels, costs, budget)
        for weights in average_weights(losses, units, priors, rng)
    )
    best = np.flatnonzero(tied).tolist()

    def first(prefer: Preference) -> int:
        return min(
            best, key=lambda i: (*_rank(listed[i], panels[i], prefer, costs), smoothed[i], i)
        )

    choices = {
        "nll": Choice(average, None),
        "single": Choice(average, int(average.argmax())),
        "everyone": Choice(everyone, None),
    }
    if absent is not None:
        choices["robust"] = Choice(average, _least_absent(absent, average, best))
    chosen = {
        prefer: choices.get(prefer) or Choice(average, first(prefer))
        for prefer in offered(costs, budget, robust=absent is not None)
    }
    return Choices(chosen, allowed, smoothed, tied)


def _least_absent(absent: Floats, average: Floats, tied: list[int]) -> int | None:
    """The candidate of lowest NLL while a family is absent; None if the average is lowest."""
    means = absent.mean(axis=1)
    best = min(tied, key=lambda i: float(means[i]))
    return None if average_losses(absent, average).mean() <= means[best] else best


def _within(weights: Floats, panels: Bools, costs: Floats | None, budget: float | None) -> Floats:
    """Return weights of the members that are jointly within the budget, heaviest first."""
    if budget is None or costs is None:
        return weights
    result, judges = np.zeros_like(weights), np.zeros(panels.shape[1], dtype=bool)
    for member in np.argsort(-weights, kind="stable"):
        joined = judges | panels[member]
        if weights[member] > 0.0 and affordable(joined[None], costs, budget)[0]:
            result[member], judges = weights[member], joined
    return np.asarray(result / result.sum())


def _standard_errors(losses: Floats, units: Ints, best: int) -> Floats:
    """Standard errors of the difference in NLL to the best, (A,)."""
    return np.asarray(np.sqrt(sampling_variance(losses - losses[best], units)))


def affordable(panels: Bools, costs: Floats | None, budget: float | None) -> Bools:
    """Return which panels (A,) are within the budget; all without one."""
    if budget is None or costs is None:
        return np.ones(len(panels), dtype=bool)
    return within(cost_of(panels, costs), budget)


def cost_of(panels: Bools, costs: Floats) -> Floats:
    """Return the cost of each panel per item, (A,)."""
    return np.asarray(np.where(panels, costs, 0.0).sum(axis=1))


def _rank(
    candidate: Candidate, panel: Bools, prefer: Preference, costs: Floats | None
) -> tuple[float, ...]:
    """Return the sort key of a preference, lowest first.

    Simplest means fewest fitted parameters: by aggregator, then by calibrator, then no choice among
    the judges before a ranking before a search.
    """
    if prefer == "fewest":
        return (float(panel.sum()),)
    if prefer == "cheapest" and costs is not None:
        return (float(cost_of(panel[None], costs)[0]),)
    chosen = 0.0 if panel.all() else 1.0
    return (
        float(ANY_AGGREGATORS.index(candidate.aggregator)),
        float(CALIBRATORS.index(candidate.calibrator)),
        chosen if candidate.curator is None else 2.0,
    )
