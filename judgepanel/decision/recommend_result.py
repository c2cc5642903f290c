"""Result of a recommendation: the panel, its out-of-sample figures, and its rivals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats
from judgepanel.decision.absence import Absence
from judgepanel.decision.preference import Preference
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.models.mixture import Mixture
from judgepanel.scoring.inference import Verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.contest.candidates import EVERYONE
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.studies.position import ConstantPosition
from judgepanel.studies.results import flat_row, scalars
from judgepanel.votes.repeats import Repeats


@dataclass(frozen=True, slots=True)
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

    panel: str
    k: int
    aggregator: str
    calibrator: Calibrator
    nll: Interval
    brier: float
    accuracy: float
    ece: float
    skill: float
    delta: Interval
    p: float
    chosen_share: float
    weight: float
    inner_nll: float
    smoothed_nll: float
    tied: bool
    behind: Interval
    stands: Verdict
    cost: float | None
    allowed: bool

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
    """

    prefer: Preference
    taken: int
    average: CandidateFigures
    weights: Floats
    chosen_shares: Floats
    behind: Interval
    nll: Interval
    brier: float
    accuracy: float
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


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The recommended panel, and its uncertainty.

    ``model`` is fitted on all ``n_items`` labelled rows that were not held out; ``nll`` is what
    choosing this way achieves on new items with ``n_calibration`` labels; ``optimism`` = ``nll``
    minus the NLL of the choices. ``delta`` compares it with the reference, all judges under
    one-coin and beta: below 0 the recommendation is better.

    ``prefer`` is the preference (:mod:`decision.preference`), which chooses the average of
    ``candidates``, the last of them, or one of them. ``lowest`` is the candidate of lowest smoothed
    NLL within the ``budget``, ``runner_up`` the one of lowest NLL out of sample besides the chosen
    one. About ``labels_to_settle`` labels would decide between these two. ``cost`` is the cost per
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
    repeats: Repeats
    reversed_votes: str
    readings: tuple[Reading, ...]
    positions: tuple[ConstantPosition, ...]
    instead_of: CandidateFigures | None
    warnings: tuple[str, ...]

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "panel": "Judges of the candidate.",
            "k": "Number of judges of the candidate on all labelled rows.",
            "lo": "Lower end of the 95 % interval of nll.",
            "hi": "Upper end of the 95 % interval of nll.",
            "delta": (
                "NLL of the candidate minus that of all judges under one-coin and beta, in "
                "nats; below 0 the candidate is better."
            ),
            "weight": "Weight of the candidate in the average, fitted on all labelled rows.",
            "inner_nll": "Cross-validated NLL on all labelled rows, on which the choice is based.",
            "smoothed_nll": "Inner NLL by which candidates are compared; blank if over budget.",
            "behind": (
                "NLL of the candidate minus that of the recommended one, out of sample, in nats."
            ),
            "stands": (
                "What the interval of behind decides against the margin; curate: this "
                "candidate is better."
            ),
            "allowed": "Whether the candidate is within the budget.",
        }
    )

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
            and (row.panel == EVERYONE or row.panel.startswith("top"))
        ]
        return tuple(sorted(rows, key=lambda row: row.k))

    def best(self, *, everyone: bool) -> CandidateFigures | None:
        """The single candidate of lowest NLL out of sample that keeps all judges, or that does not.

        None if there is none.
        """
        rows = [
            row
            for row in self.candidates
            if row.panel != AVERAGE and row.allowed and (row.k == self.n_judges) == everyone
        ]
        return min(rows, key=lambda row: float(row.nll.value), default=None)

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
        nll, nll_lo, nll_hi = self.nll
        delta, delta_lo, delta_hi = self.delta
        behind, behind_lo, behind_hi = self.runner_up.behind
        decided = {
            "panel": self.chosen.panel,
            "k": self.chosen.k,
            "aggregator": self.chosen.aggregator,
            "calibrator": self.chosen.calibrator,
            "members": [
                {
                    "weight": member.weight,
                    "panel": row.panel,
                    "k": row.k,
                    "aggregator": row.aggregator,
                    "calibrator": row.calibrator,
                }
                for member, row in zip(self.model.members, self.members, strict=True)
            ],
            "instead_of": None if self.instead_of is None else self.instead_of.name,
            "budget": self.budget,
            "cost": self.cost,
            "judges": list(self.model.judges),
            "nll": nll,
            "nll_lo": nll_lo,
            "nll_hi": nll_hi,
            "skill": 1.0 - nll / self.null_nll,
            "delta_to_reference": delta,
            "delta_lo": delta_lo,
            "delta_hi": delta_hi,
            "reference": self.reference.name,
            "runner_up": self.runner_up.name,
            "runner_up_behind": behind,
            "runner_up_behind_lo": behind_lo,
            "runner_up_behind_hi": behind_hi,
            "runner_up_stands": self.runner_up.stands,
            "tied": [candidate.name for candidate in self.tied],
            "undecided": [candidate.name for candidate in self.undecided],
            "position": None if self.position is None else self.position.plain(),
            "explained_by_position": self.position is not None and self.position.explains,
            "repeated_items": self.repeats.n_repeated if self.repeats.apart else 0,
        }
        return {**to_plain(decided), **scalars(self)}
