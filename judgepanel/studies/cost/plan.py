"""Panels under fixed budgets as curators, which are chosen and scored like all others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from judgepanel.arrays import Floats
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.aggregate.prefixes import CLOSED_FORMS, ClosedForm
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.studies.panel.budget_search import (
    UnderBudgets,
    under_budgets,
)
from judgepanel.studies.panel.costs import JudgeCosts, costs_of
from judgepanel.studies.panel.curator import (
    Chosen,
    Curator,
    Evidence,
    Known,
    Rules,
    evidence_of,
    known_judges,
)
from judgepanel.studies.settings import Prepared
from judgepanel.votes import VoteMatrix

STAND_IN: tuple[ClosedForm, Calibrator] = ("one_coin", "temperature")
"""Pipeline in which greedy steps compare panels if the scoring pipeline is not a closed form."""


def cost_rules(
    aggregator: Aggregator, calibrator: Calibrator, *, folds: int, steps: int, seed: int
) -> Rules:
    """Return how panels scored by ``aggregator`` and ``calibrator`` are compared."""
    closed, map_ = STAND_IN
    for name in CLOSED_FORMS:
        if name == aggregator:
            closed, map_ = name, calibrator
    return Rules(closed, map_, folds=folds, steps=steps, seed=seed)


def priced_judges(votes: VoteMatrix, prepared: Prepared) -> tuple[Known, JudgeCosts]:
    """Return what is known of the judges, with costs: their own, or 1 if there are none."""
    costs = costs_of(votes, prepared.judges)
    return replace(known_judges(votes, prepared), costs=tuple(costs.cost.tolist())), costs


class Plan:
    """Best panels under ascending budgets, from one search of the same evidence.

    ``reference``: whether the NLL of all judges is needed, too.
    """

    def __init__(self, budgets: Floats, aggregator: Aggregator, *, reference: bool = True) -> None:
        self.budgets = budgets
        self.aggregator = aggregator
        self.reference = reference
        self._searched: dict[tuple[int, ...], UnderBudgets] = {}

    def search(self, evidence: Evidence) -> UnderBudgets:
        """Return the panels for this evidence, cached until :meth:`forget`."""
        if evidence.key not in self._searched:
            self._searched[evidence.key] = under_budgets(
                evidence, self.budgets, self.aggregator, reference=self.reference
            )
        return self._searched[evidence.key]

    def forget(self) -> None:
        """Clear the cached search before the next split."""
        self._searched.clear()

    def everyone(self) -> Curator:
        """Return the curator of all judges, the reference."""
        return Curator("all", "all judges", lambda e: self.search(e).everyone, uses_labels=False)

    def curator(self, place: int) -> Curator:
        """Return the curator of the best panel under the budget at this position."""
        title = f"under {self.budgets[place]:g}"
        return Curator(f"budget_{place}", title, partial(self._at, place))

    def curators(self) -> tuple[Curator, ...]:
        """Return the curators of all judges and of each budget."""
        return (self.everyone(), *(self.curator(place) for place in range(len(self.budgets))))

    def _at(self, place: int, evidence: Evidence) -> Chosen:
        return self.search(evidence).panels[place]


def all_rows(prepared: Prepared, known: Known, rules: Rules) -> Evidence:
    """Return all labelled rows as evidence, for the final panels."""
    ballots = prepared.ballots
    return evidence_of(ballots, np.arange(ballots.n_items), known, rules, (0, 14))
