"""Result of a recommendation: the panel, its out-of-sample figures, and its rivals.

Options of a recommendation, and its candidates.

Preferences: choose the average of candidates, or one of them by another criterion.

Under ``nll`` and ``everyone`` members are averaged (:mod:`studies.contest.average`), under
``everyone`` only those that keep all judges; under ``single`` the member with the largest weight is
used alone. Under ``robust`` the choice is between the average and the candidate, tied with the
best, that has the lowest NLL while a family of judges is absent, whichever has the lower NLL then.

Under ``lean`` the smallest candidate within a price of the average is taken
(:mod:`judgepanel.decision.lean`), once for every price.

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

The two panels to decide between, Best and Lean, and which of them is recommended.

Best has the lowest expected loss. Lean is the smallest panel within a stated price of it. The rule:
Lean is recommended if it saves at least ``SAVES`` of the judges or of the cost, and its loss is
within the price; else Best. The loss is the difference between the two where each is chosen again
in every split and scored on the other items, plus ``CAUTION`` of the way to the upper end of its
interval. ``benchmarks/lean.py`` holds the rule to account on items that nothing has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.decision.absence import MOST_GROUPS, Absence
from judgepanel.decision.lean import PRICE, PRICES, CardName, lean_choice, sizes_of
from judgepanel.decision.training_items import slices
from judgepanel.kernels import aggregation, calibration, graded, maps
from judgepanel.models.panel import Mixture
from judgepanel.scoring.inference import Verdict, sampling_variance
from judgepanel.scoring.interval import Interval
from judgepanel.studies.accumulate import CELLS, ConstantPosition
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contract import Prepared, grouped_votes, prepare
from judgepanel.studies.options import StudySpec, option, valid
from judgepanel.studies.panel.curator import Rules, check_folds, known_judges
from judgepanel.studies.panel.curator import affordable as is_affordable
from judgepanel.studies.panel.recommended import (
    ALL_JUDGES,
    AVERAGE,
    FEW_MEMBER,
    FOLDS,
    LISTS,
    Candidate,
    Candidates,
    ChoiceSettings,
    average_losses,
    average_weights,
    candidates_of,
)
from judgepanel.studies.results import Declared, column, flat_row, frozen, json_values, scalars
from judgepanel.votes import InputError, VoteMatrix, checks, matrix

Preference = Literal[
    "nll", "lean", "single", "everyone", "robust", "simplest", "cheapest", "fewest"
]
PREFERENCES: tuple[Preference, ...] = get_args(Preference)

POWER = 0.5
"""Power of the likelihood in the blend's weights."""
_ITEMS = 65_536


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
    """What every available preference chooses, and how candidates compare.

    ``by_preference`` has the choice of all but lean, which chooses at every price, in ``lean``.
    ``allowed`` (A,) are those within the budget, ``smoothed`` (A,) is their mean NLL if labels
    followed the blend, infinite if not allowed, and ``tied`` (A,) are those tied with the lowest.
    """

    by_preference: dict[Preference, Choice]
    lean: dict[float, Choice]
    allowed: Bools
    smoothed: Floats
    tied: Bools

    @property
    def all(self) -> tuple[tuple[Preference, float | None, Choice], ...]:
        """Every choice with its preference, and its price if it is lean; lean is last."""
        plain = ((prefer, None, choice) for prefer, choice in self.by_preference.items())
        lean: tuple[tuple[Preference, float | None, Choice], ...] = tuple(
            ("lean", price, choice) for price, choice in self.lean.items()
        )
        return (*plain, *lean)


def smoothed_nll(losses: Floats, units: Ints, allowed: Bools) -> tuple[Floats, Floats]:
    """Return the same, and the probability (n,) of the true label in the blend."""
    mean = np.where(allowed, losses.mean(axis=1), np.inf)
    weights = np.exp(-POWER * len(np.unique(units)) * (mean - mean.min()))
    weights /= weights.sum()
    values, blend = np.zeros(len(losses)), np.empty(losses.shape[1])
    for start in range(0, len(blend), _ITEMS):
        items = slice(start, start + _ITEMS)
        some = losses[:, items]
        p = np.negative(some)
        np.exp(p, out=p)
        blend[items] = weights @ p
        np.negative(p, out=p)
        values += some @ blend[items] - np.log1p(p, out=p) @ (1.0 - blend[items])
    return np.where(allowed, values / len(blend), np.inf), blend


def tied_with_best(losses: Floats, units: Ints, smoothed: Floats) -> Bools:
    """Return which candidates (A,) are tied with the best of them by their smoothed NLL."""
    best = int(smoothed.argmin())
    variances = [
        sampling_variance(losses[block] - losses[best], units)
        for block in maps.column_blocks(len(losses), losses.shape[1], CELLS)
    ]
    return np.asarray(smoothed - smoothed[best] <= np.sqrt(np.concatenate(variances)))


def offered(
    costs: Floats | None, budget: float | None, *, robust: bool = False
) -> tuple[Preference, ...]:
    """Return the preferences available in a run.

    The cheapest is available if ``costs`` (n_judges,) are known, everyone if all judges together
    are within the ``budget``, robust if absences are measured.
    """
    affords_all = budget is None or costs is None or bool(is_affordable(costs.sum(), budget))
    left_out = {"cheapest": costs is None, "everyone": not affords_all, "robust": not robust}
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
    smoothed, blend = smoothed_nll(losses, units, allowed)
    tied = tied_with_best(losses, units, smoothed)
    prior = candidates.prior(allowed)
    if not prior.any():
        prior = (np.arange(len(prior)) == smoothed.argmin()).astype(np.float64)
    priors = candidates.with_all_judges(prior)
    average, all_judges = (
        _within(weights, panels, costs, budget)
        for weights in average_weights(losses, units, priors, rng)
    )
    best = np.flatnonzero(tied).tolist()

    def first(prefer: Preference) -> int:
        return min(
            best, key=lambda i: (*_rank(listed[i], panels[i], prefer, costs), smoothed[i], i)
        )

    choices: dict[Preference, Choice] = {
        "nll": Choice(average, None),
        "single": Choice(average, int(average.argmax())),
        "everyone": Choice(all_judges, None),
    }
    if absent is not None:
        # The candidate of lowest NLL while a family is absent; None if the average is lowest.
        means = absent.mean(axis=1)
        least = min(best, key=lambda i: float(means[i]))
        is_average = average_losses(absent, average).mean() <= means[least]
        choices["robust"] = Choice(average, None if is_average else least)
    chosen: dict[Preference, Choice] = {
        prefer: choices.get(prefer) or Choice(average, first(prefer))
        for prefer in offered(costs, budget, robust=absent is not None)
        if prefer != "lean"
    }
    sizes = sizes_of(panels, costs)
    (own,) = sizes_of(np.atleast_2d(panels[average > 0.0].any(axis=0)), costs)
    averaged = average_losses(losses, average)
    own_smoothed = averaged * blend - np.log1p(-np.exp(-averaged)) * (1.0 - blend)
    loss = np.maximum(smoothed / float(own_smoothed.mean()), losses.mean(axis=1) / averaged.mean())
    lean = {price: Choice(average, lean_choice(sizes, loss - 1.0, own, price)) for price in PRICES}
    return Choices(chosen, lean, allowed, smoothed, tied)


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


def affordable(panels: Bools, costs: Floats | None, budget: float | None) -> Bools:
    """Return which panels (A,) are within the budget; all without one."""
    if budget is None or costs is None:
        return np.ones(len(panels), dtype=bool)
    return is_affordable(cost_of(panels, costs), budget)


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
        float(aggregation.ANY_AGGREGATORS.index(candidate.aggregator)),
        float(calibration.CALIBRATORS.index(candidate.calibrator)),
        chosen if candidate.curator is None else 2.0,
    )


@frozen
class CandidateFigures:
    """One candidate, or the average of several, out of sample.

    ``nll`` has a 95 % interval; ``delta`` = NLL(candidate) - NLL(reference) has an interval and p;
    ``chosen_share`` is the share of splits in which the inner choice selected it. ``inner_nll`` is
    its cross-validated NLL on all labelled rows for the final choice, ``smoothed_nll`` the one that
    was compared, by which it was ``tied`` with the best or not. ``behind`` = NLL(candidate) -
    NLL(the chosen one), out of sample, with interval; ``stands`` is its verdict (``curate``: this
    candidate is better). ``weight`` is its weight in the average on all labelled rows. ``k`` judges
    on all labelled rows cost ``cost`` per item, None if costs are unknown; ``allowed``: that is
    within the budget.
    """

    panel: str = column("Judges of the candidate.")
    k: int = column("Number of judges of the candidate on all labelled rows.")
    aggregator: str
    calibrator: calibration.Calibrator
    nll: Interval = column(bounds=("lo", "hi"))
    brier: float
    accuracy: Interval
    ece: float
    skill: float
    delta: Interval = column(
        "NLL of the candidate minus that of all judges under one-coin and beta, in nats; below 0 "
        "the candidate is better."
    )
    p: float
    chosen_share: float
    weight: float = column("Weight of the candidate in the average, fitted on all labelled rows.")
    inner_nll: float = column(
        "Cross-validated NLL on all labelled rows, on which the choice is based."
    )
    smoothed_nll: float = column(
        "Inner NLL by which candidates are compared; blank if over budget."
    )
    tied: bool
    behind: Interval = column(
        "NLL of the candidate minus that of the recommended one, out of sample, in nats."
    )
    stands: Verdict = column(
        "What the interval of behind decides against the margin; curate: this candidate is better."
    )
    cost: float | None
    allowed: bool = column("Whether the candidate is within the budget.")

    @property
    def name(self) -> str:
        """Panel and pipeline in a few words, by which a candidate is requested."""
        return f"{self.panel}, {self.aggregator}, {self.calibrator}"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The choice of one preference among the candidates, and what choosing by it achieves.

    ``taken`` is a position among the candidates, the last of which is ``average``, the average
    under this preference. ``weights`` in the average, ``chosen_shares`` and ``behind`` (relative to
    the choice) are (n_candidates,). The other fields are the figures of the nested choice, as in
    :class:`Recommendation`.

    ``price`` is that of a lean choice, None under other preferences; ``judges`` are those of the
    panel on all labelled rows, the most accurate first. ``against_best`` = its NLL - that of Best,
    both chosen in every split. ``right`` is the share of new items on which its decision is right,
    ``sure`` the share on which it is at least 90 % sure and ``sure_right`` how often it is right on
    these (NaN if there are none).
    """

    prefer: Preference
    price: float | None
    judges: tuple[str, ...]
    against_best: Interval
    right: Interval
    sure: Interval
    sure_right: Interval
    taken: int
    average: CandidateFigures
    weights: Floats
    chosen_shares: Floats
    behind: Interval
    nll: Interval
    brier: float
    ece: float
    chosen_on: float
    delta: Interval
    p: float
    position: ConstantPosition | None

    @property
    def used(self) -> Floats:
        """Weights (n_candidates - 1,) of the single candidates in the chosen panel."""
        alone = np.asarray(np.arange(len(self.weights)) == self.taken, dtype=np.float64)
        return (alone if self.taken < len(self.weights) - 1 else self.weights)[:-1]


def reading_of(readings: Sequence[Reading], prefer: Preference, price: float) -> Reading:
    """Return the reading of a preference; ``price`` matters for lean only."""
    at = price if prefer == "lean" else None
    return next(entry for entry in readings if (entry.prefer, entry.price) == (prefer, at))


@dataclass(frozen=True, slots=True)
class Recommendation(Declared):
    """The recommended panel, and its uncertainty.

    ``model`` is fitted on all ``n_items`` labelled rows that were not held out; ``nll`` is what
    choosing this way achieves on new items with ``n_calibration`` labels; ``optimism`` = ``nll``
    minus the NLL of the choices. ``delta`` compares it with the reference, all judges under
    one-coin and beta: below 0 the recommendation is better.

    ``prefer`` is the preference, with its ``price`` if that is lean, else None. It chooses the
    average of ``candidates``, the last of them, or one of them. ``lowest`` is the candidate of
    lowest smoothed NLL within the ``budget``, ``runner_up`` the one of lowest NLL out of sample
    besides the chosen one. About ``labels_to_settle`` labels would decide between these two.
    ``cost`` is the cost per
    item, None if costs are unknown. ``absence`` has the panel's losses when judges are absent.
    ``measures_coding``: labels are so lopsided, and used as given, that figures show how they were
    coded and not how good the judges are. ``position`` compares the choice with a constant
    position, None if not applicable. ``repeats`` says which items are copies of others; if they are
    counted ``apart``, ``nll`` is too good. ``reversed_votes`` says why the votes may be reversed;
    it is empty if nothing speaks for it, or if the user has named the judges. ``readings`` has the
    choice of every available preference: this recommendation is one of them, and
    :func:`decision.reading.as_asked` derives the others; ``positions`` compare every candidate but
    the average with a constant position, empty if not applicable.

    ``instead_of`` is the recommended choice, with its NLL, if another candidate was chosen instead:
    ``chosen``, ``model``, the scores and their comparisons are then that candidate's own, and do
    not allow for its selection among many.
    """

    model: Mixture
    prefer: Preference
    price: float | None
    budget: float | None
    chosen: CandidateFigures
    lowest: CandidateFigures
    runner_up: CandidateFigures
    reference: CandidateFigures
    candidates: tuple[CandidateFigures, ...]
    labels_to_settle: int
    nll: Interval
    brier: float
    accuracy: float
    ece: float
    chosen_on: float
    optimism: float
    delta: Interval
    p: float
    margin: float
    verdict: Verdict
    null_nll: float
    cost: float | None
    absence: Absence | None
    left_out: tuple[str, ...]
    set_aside: tuple[str, ...]
    orientation: str
    n_items: int
    n_judges: int
    n_calibration: float
    n_evaluation: float
    n_splits: int
    planned_splits: int
    seed: int
    measures_coding: bool
    position: ConstantPosition | None
    repeats: checks.Repeats
    reversed_votes: str
    readings: tuple[Reading, ...]
    positions: tuple[ConstantPosition, ...]
    instead_of: CandidateFigures | None
    warnings: tuple[str, ...]
    RECORDS: ClassVar = (CandidateFigures,)

    @property
    def partial(self) -> bool:
        """Whether splits are still missing."""
        return self.n_splits < self.planned_splits

    @property
    def tied(self) -> tuple[CandidateFigures, ...]:
        """Candidates tied with the best in the final choice, the best first."""
        candidates = [candidate for candidate in self.candidates if candidate.tied]
        return tuple(sorted(candidates, key=lambda candidate: candidate.smoothed_nll))

    @property
    def recommended(self) -> CandidateFigures:
        """The recommended choice, whatever was chosen instead."""
        return self.instead_of or self.chosen

    @property
    def heaviest(self) -> CandidateFigures:
        """The single pipeline with the largest weight, under any preference."""
        alone = next(reading for reading in self.readings if reading.prefer == "single")
        return self.candidates[alone.taken]

    def reading(self, prefer: Preference, price: float) -> Reading:
        """Return the reading of a preference; ``price`` matters for lean only."""
        return reading_of(self.readings, prefer, price)

    @property
    def keeps_all(self) -> bool:
        """Whether every judge is in the panel."""
        return len(self.model.judges) == self.n_judges

    @property
    def averages(self) -> bool:
        """Whether the panel averages several pipelines."""
        return len(self.model.members) > 1

    @property
    def members(self) -> tuple[CandidateFigures, ...]:
        """Members of the panel: candidates of the average by weight, or the chosen one."""
        if self.chosen.panel != AVERAGE:
            return (self.chosen,)
        members = [row for row in self.candidates if row.weight > 0.0 and row.panel != AVERAGE]
        return tuple(sorted(members, key=lambda row: -row.weight))

    def panels(self, aggregator: str, calibrator: str) -> tuple[CandidateFigures, ...]:
        """Return panels of the most accurate judges under one pipeline, smallest first."""
        rows = [
            row
            for row in self.candidates
            if (row.aggregator, row.calibrator) == (aggregator, calibrator)
            and (row.panel == ALL_JUDGES or row.panel.startswith("top"))
        ]
        return tuple(sorted(rows, key=lambda row: row.k))

    def best(self, *, all_judges: bool) -> CandidateFigures | None:
        """The single candidate of lowest NLL out of sample that keeps all judges, or that does not.

        None if there is none.
        """
        rows = [
            row
            for row in self.candidates
            if row.panel != AVERAGE and row.allowed and (row.k == self.n_judges) == all_judges
        ]
        return min(rows, key=lambda row: float(row.nll.value), default=None)

    @property
    def best_judge(self) -> CandidateFigures | None:
        """The judge ranked first in every split, alone; None if there is only one judge."""
        rows = self.panels(*FEW_MEMBER)
        return rows[0] if rows and rows[0].k < self.n_judges and rows[0].k == 1 else None

    @property
    def undecided(self) -> tuple[CandidateFigures, ...]:
        """Candidates not shown to be worse than, better than or as good as the chosen one."""
        return tuple(candidate for candidate in self.candidates if candidate.stands == "undecided")

    def frame(self) -> pd.DataFrame:
        """Return one row per candidate, best expected NLL first."""
        rows = [flat_row(row, nll="", delta="delta_") for row in self.candidates]
        return pd.DataFrame(rows).sort_values("nll", kind="stable").reset_index(drop=True)

    def summary(self) -> dict[str, Any]:
        """Return the decision as JSON values."""

        def described(row: CandidateFigures) -> dict[str, Any]:
            return {name: getattr(row, name) for name in ("panel", "k", "aggregator", "calibrator")}

        decided = {
            **described(self.chosen),
            "members": [
                {"weight": member.weight, **described(row)}
                for member, row in zip(self.model.members, self.members, strict=True)
            ],
            "instead_of": None if self.instead_of is None else self.instead_of.name,
            "budget": self.budget,
            "cost": self.cost,
            "judges": list(self.model.judges),
            **json_values({"nll": self.nll}),
            "skill": 1.0 - self.nll.value / self.null_nll,
            **dict(zip(("delta_to_reference", "delta_lo", "delta_hi"), self.delta, strict=True)),
            "reference": self.reference.name,
            "runner_up": self.runner_up.name,
            **json_values({"runner_up_behind": self.runner_up.behind}),
            "runner_up_stands": self.runner_up.stands,
            "tied": [candidate.name for candidate in self.tied],
            "undecided": [candidate.name for candidate in self.undecided],
            "position": None if self.position is None else self.position.plain(),
            "explained_by_position": self.position is not None and self.position.explains,
            "repeated_items": self.repeats.n_repeated if self.repeats.apart else 0,
        }
        return {**to_plain(decided), **scalars(self)}


_PRICES = ", ".join(f"{price:g}" for price in PRICES)
_NEAR = 5
"""Number of similar names suggested for an unknown one."""


@dataclass(frozen=True, slots=True)
class RecommendSpec(StudySpec):
    """Candidates and how they are chosen; ``folds`` inner folds on calibration rows.

    ``prefer``, ``price`` and ``candidate`` only select from a result. A separate run
    is needed for a ``budget``, since panels within it are searched for, for a held-out share
    (``conformal``), which leaves fewer labels for the fit, and for the preference ``robust``, for
    which all candidates are scored without each family.

    Raises
    ------
    InputError
        The paper's protocol, fewer than 2 folds, an unknown list, preference or price, a budget
        that is not above 0, a held-out share outside [0, 1).
    """

    candidates: str = option(
        "default",
        "list of candidates: default or wide",
        check=valid("unknown list of candidates", LISTS.__contains__, ", ".join(LISTS)),
    )
    folds: int = option(
        FOLDS, "number of inner folds on calibration rows, for closed forms", check=check_folds
    )
    prefer: Preference = option(
        "nll",
        "what to take: the average of lowest NLL (nll), the smallest panel within a "
        "price (lean), the average's heaviest pipeline alone (single), the average over "
        "everyone, what is best while a family is absent (robust), "
        "or the simplest, cheapest, or fewest judges among candidates tied with the best",
        noun="preference",
    )
    price: float = option(
        PRICE,
        f"largest loss that lean accepts, as a share of the NLL of the average: {_PRICES}",
        check=valid(
            "the largest loss accepted is not one of those that a run chooses for",
            PRICES.__contains__,
            _PRICES,
        ),
    )
    budget: float | None = option(
        None,
        "maximum cost of the panel per item (default: no limit)",
        check=valid("the budget is not a price", lambda b: 0.0 < b < np.inf, "a number above 0"),
    )
    candidate: str = option(
        "",
        "a candidate to take in place of the recommended panel, such as 'top-5, "
        "one_coin, temperature'; its own figures do not allow for having been picked",
    )
    conformal: float = option(
        0.0,
        "share of the labels held out to make sets at 80 and 90 %; 0: no sets",
        check=valid(
            "the share held out for sets is out of range",
            lambda share: 0.0 <= share < 1.0,
            "0 (none) or more, below 1",
        ),
    )

    def __post_init__(self) -> None:
        if self.settings.protocol != "honest":
            raise InputError(
                "a recommendation under the paper's protocol would rest on in-sample scores",
                value=self.settings.protocol,
                allowed="honest",
            )
        StudySpec.__post_init__(self)


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """The candidates and their data, built once from votes and spec.

    ``families`` are columns of judges that may be absent together, empty unless a robust panel is
    requested.
    """

    prepared: Prepared
    choices: Candidates
    terms: ChoiceSettings
    costs: Floats | None
    families: tuple[tuple[int, ...], ...]

    @property
    def offered(self) -> tuple[Preference, ...]:
        """Preferences that can be requested."""
        return offered(self.costs, self.terms.rules.budget, robust=bool(self.families))

    @property
    def n_readings(self) -> int:
        """Number of choices in every split: one per preference, and lean at every price."""
        return len(self.offered) - 1 + len(PRICES)


def contest_of(votes: VoteMatrix, spec: RecommendSpec) -> Contest:
    """Return the data for the choice, without the items held out for sets.

    Raises
    ------
    InputError
        Costs or families are needed but unknown; a budget below every judge's cost, or below that
        of all judges if ``everyone`` is preferred; a candidate that does not exist.
    """
    contest = _any_preference(votes, shared_run(spec))
    costs = contest.costs
    if spec.prefer not in contest.offered:
        if costs is None or spec.budget is None:
            raise _unknown_costs()
        raise InputError(
            "keeping everyone exceeds the budget",
            value=spec.budget,
            allowed=f"{float(costs.sum()):g} or more, what all judges cost",
            remedy="raise the budget or take another preference",
        )
    names = [candidate.title for candidate in contest.choices.all()]
    if spec.candidate and spec.candidate not in names:
        near = "; ".join(get_close_matches(spec.candidate, names, _NEAR, cutoff=0.0))
        why, allowed = "no candidate has this name", f"for instance {near}"
        raise InputError(why, value=spec.candidate, allowed=allowed)
    return contest


def shared_run(spec: RecommendSpec) -> RecommendSpec:
    """Return the spec of the run, without the options that only select from its result."""
    prefer: Preference = "robust" if spec.prefer == "robust" else RecommendSpec().prefer
    return replace(spec, prefer=prefer, price=PRICE, candidate="")


@matrix.cached(4)
def _any_preference(votes: VoteMatrix, spec: RecommendSpec) -> Contest:
    grouped, seed = grouped_votes(votes, spec.settings), spec.settings.seed
    fitting = slices(grouped, spec.conformal, seed).fitted
    prepared = prepare(fitting, spec.settings)
    ballots, known = prepared.ballots, known_judges(fitting, prepared)
    costs = None if known.costs is None else np.array(known.costs)
    if spec.budget is not None:
        if costs is None:
            raise _unknown_costs()
        if spec.budget < costs.min():
            raise InputError(
                "no judge keeps within the budget",
                value=spec.budget,
                allowed=f"{costs.min():g} or more, what the cheapest judge costs",
            )
    rules = Rules(seed=seed, budget=spec.budget, tables=False)
    choices = candidates_of(
        spec.candidates,
        ballots.n_judges,
        symmetric=ballots.symmetric,
        budget=spec.budget is not None,
        robust=spec.prefer == "robust",
        graded=graded.has_levels(ballots),
    )
    absent = families_absent(known.families) if spec.prefer == "robust" else ()
    if spec.prefer == "robust" and not absent:
        raise InputError(
            "families of the judges are not known",
            allowed="a judge table with a family for some judges, and not the same one for all",
            remedy="give a judge table with a column `family` or take another preference",
        )
    return Contest(prepared, choices, ChoiceSettings(spec.folds, seed, known, rules), costs, absent)


def families_absent(families: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Return columns of judges (one family name each, '' if unknown) that may be absent together.

    They are the largest ``MOST_GROUPS`` families; a family of all judges is left out.
    """
    names = np.array(families)
    groups = [np.flatnonzero(names == name).tolist() for name in sorted(set(families) - {""})]
    largest = sorted(groups, key=lambda columns: -len(columns))[:MOST_GROUPS]
    return tuple(tuple(columns) for columns in largest if len(columns) < len(families))


def _unknown_costs() -> InputError:
    return InputError(
        "costs of the judges are not known", allowed="a judge table with a cost for every judge"
    )


SAVES = 1.0 / 3.0
"""Share of the judges or of the cost that a recommended Lean saves at least."""
CAUTION = 0.2
"""Which part of the upper half of the interval of its loss must be within the price too."""


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """A panel to decide on: its ``reading``, and its candidate's figures on all labelled rows."""

    name: CardName
    reading: Reading
    panel: CandidateFigures


@dataclass(frozen=True, slots=True, eq=False)
class Cards:
    """Best, and Lean at a ``price`` if that is another panel; ``marked`` is recommended.

    ``loss`` = NLL(Lean) - NLL(Best) with interval, both chosen in every split.
    """

    best: Card
    lean: Card | None
    price: float
    loss: Interval
    marked: CardName

    @property
    def marked_card(self) -> Card:
        """The card that is recommended."""
        return self.lean if self.marked == "Lean" and self.lean is not None else self.best

    @property
    def all(self) -> tuple[Card, ...]:
        """The cards, one or two."""
        return (self.best,) if self.lean is None else (self.best, self.lean)


def cards_of(result: Recommendation, price: float) -> Cards:
    """Return the cards of a recommendation under any preference, and which one is recommended."""
    best, lean = result.reading("nll", price), result.reading("lean", price)
    first = Card("Best", best, _panel(result, best))
    second = None
    if lean.used.tolist() != best.used.tolist():
        second = Card("Lean", lean, _panel(result, lean))
    lean_is_marked = second is not None and (
        saved(first, second) >= SAVES
        and within(lean.against_best, price * float(best.nll.value), CAUTION)
    )
    marked: CardName = "Lean" if lean_is_marked else "Best"
    return Cards(first, second, price, lean.against_best, marked)


def within(loss: Interval, most: float, caution: float) -> bool:
    """Whether a loss is at most ``most``, with part of its upper half; False from one split."""
    return bool(loss.value + caution * (loss.hi - loss.value) <= most)


def saved(best: Card, lean: Card) -> float:
    """Return the share of the judges, or of the cost where that is more, that Lean saves."""
    return max(1.0 - len(lean.reading.judges) / len(best.reading.judges), saved_cost(best, lean))


def saved_cost(best: Card, lean: Card) -> float:
    """Return the share of the cost that Lean saves, 0 if costs are unknown."""
    if not best.panel.cost or lean.panel.cost is None:
        return 0.0
    return 1.0 - lean.panel.cost / best.panel.cost


def _panel(result: Recommendation, reading: Reading) -> CandidateFigures:
    """Return the panel of a reading; an average of one pipeline is that pipeline."""
    singles = result.candidates[:-1]
    members = np.flatnonzero(reading.used)
    return singles[members[0]] if len(members) == 1 else reading.average
