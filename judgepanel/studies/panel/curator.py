"""Curators, which choose judges: the evidence they are given, and the panel that they return.

Evidence is calibration rows alone, and known attributes of the judges.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.prefixes import ClosedForm, Ranking
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.select.search import SearchResult
from judgepanel.kernels.select.subsets import Comparison, by_folds, by_split
from judgepanel.studies.judges.judge_table import families_of
from judgepanel.studies.panel.costs import COST, numbers_of
from judgepanel.studies.settings import Prepared
from judgepanel.votes import VoteMatrix

Inner = Literal["folds", "split"]
Needs = Literal["nothing", "families", "costs", "budget"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How all curators compare panels, and their sizes.

    Panels are compared under ``aggregator`` and ``calibrator`` in ``folds`` inner folds. ``size``
    is the number of judges of curators with a fixed size; ``width`` and ``steps`` are for the beam,
    ``groups`` (at most 12) for the exhaustive search, ``budget`` (cost per item, None for no limit)
    for the best panel under a budget. ``tables``: the finite-calibration selector may count
    patterns in a table instead of summing votes.
    """

    aggregator: ClosedForm = "one_coin"
    calibrator: Calibrator = "beta"
    folds: int = 5
    size: int = 5
    width: int = 3
    steps: int = 20
    groups: int = 9
    seed: int = 0
    budget: float | None = None
    tables: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """Known attributes of the judges, in the order of the ballots' columns.

    ``families`` (n_judges), '' if none is given, and ``costs`` (n_judges,) per item, None unless
    all judges have one.
    """

    families: tuple[str, ...]
    costs: tuple[float, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Calibration rows as separate ballots, so that nothing else is accessible.

    ``key`` starts the random streams of choices based on this evidence.
    """

    ballots: Ballots
    known: Known
    rules: Rules
    key: tuple[int, ...]

    @property
    def rows(self) -> Ints:
        """All rows (n,) of the evidence."""
        return np.arange(self.ballots.n_items)

    def part(self, rows: Ints, number: int) -> Evidence:
        """Return some of the rows, with a separate random stream."""
        return replace(self, ballots=rows_of(self.ballots, rows), key=(*self.key, number))

    def comparison(self, inner: Inner = "folds") -> Comparison:
        """Return a comparison of panels on these rows alone, by inner folds or one inner split."""
        rules = self.rules
        if inner == "split":
            return by_split(
                self.ballots,
                self.rows,
                rules.aggregator,
                rules.calibrator,
                seed=rules.seed,
                key=(*self.key, 101),
            )
        return by_folds(
            self.ballots,
            self.rows,
            rules.aggregator,
            rules.calibrator,
            n_folds=rules.folds,
            seed=rules.seed,
            key=(*self.key, 102),
        )

    def seen_nll(self, judges: Bools) -> float:
        """Return the NLL of one panel (n_judges,) by inner folds of these rows."""
        return float(self.comparison()(judges[None]).nll[0])


def evidence_of(
    ballots: Ballots, rows: Ints, known: Known, rules: Rules, key: tuple[int, ...]
) -> Evidence:
    """Return evidence from these calibration rows of the ballots."""
    return Evidence(rows_of(ballots, rows), known, rules, key)


def rows_of(ballots: Ballots, rows: Ints) -> Ballots:
    """Return some of the labelled rows, without the unlabelled ones."""
    return replace(ballots.of_items(rows), unlabelled=None)


def known_judges(votes: VoteMatrix, prepared: Prepared) -> Known:
    """Return families and costs from the judge table, in the order of the ballots' columns.

    Raises
    ------
    InputError
        A cost below 0, or one that is not a number.
    """
    place = {name: j for j, name in enumerate(votes.judges)}
    columns = [place[name] for name in prepared.judges]
    families = families_of(votes)
    given = numbers_of(votes, COST, "price")
    costs = None if given is None else tuple(float(given[j]) for j in columns)
    if costs is not None and any(math.isnan(cost) for cost in costs):
        costs = None
    return Known(tuple(families[j] for j in columns), costs)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A panel, and the NLL on which it was chosen, NaN if there was none.

    ``judges`` bool (n_judges,). ``ranking``: the panel is a prefix of this ranking. ``table``: its
    votes are counted in a table of patterns instead of summed. ``path`` (m, n_judges) and
    ``path_nll`` (m,) are other panels it compared, the best of each step.
    """

    judges: Bools
    nll: float = float("nan")
    ranking: Ranking | None = None
    table: bool = False
    path: Bools | None = None
    path_nll: Floats | None = None

    @property
    def size(self) -> int:
        """Number of judges."""
        return int(self.judges.sum())


@dataclass(frozen=True, slots=True)
class Curator:
    """A named way of choosing judges.

    ``choose`` uses only its evidence; it is None for the oracle, which is not ``deployable``.
    ``uses_labels``: whether the panel depends on labels, so that scores for calibration must come
    from panels chosen without them. ``searches(n_judges, rules)`` is the maximum number of panels a
    long search compares.
    """

    name: str
    title: str
    choose: Callable[[Evidence], Chosen] | None
    uses_labels: bool = True
    needs: Needs = "nothing"
    searches: Callable[[int, Rules], float] | None = None

    @property
    def deployable(self) -> bool:
        """Whether this choice is possible without the labels of new items."""
        return self.choose is not None

    def chosen(self, evidence: Evidence) -> Chosen:
        """Return its choice; not available for the oracle."""
        if self.choose is None:
            raise ValueError("the oracle chooses on other rows than these")
        return self.choose(evidence)

    def panels(self, n_judges: int, rules: Rules) -> float:
        """Maximum number of panels that a long search compares; 0 for all other curators."""
        return 0.0 if self.searches is None else self.searches(n_judges, rules)


def chosen_of(outcome: SearchResult) -> Chosen:
    """Return the best subset of a search."""
    return Chosen(outcome.best, outcome.nll, path=outcome.path, path_nll=outcome.path_nll)
