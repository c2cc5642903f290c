"""The evidence for a curator: calibration rows alone, and known attributes of the judges."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.prefixes import ClosedForm
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.select.subsets import Comparison, by_folds, by_split
from judgepanel.studies.judges.judge_table import families_of
from judgepanel.studies.panel.costs import COST, numbers_of
from judgepanel.studies.settings import Prepared
from judgepanel.votes import VoteMatrix

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
Bools = NDArray[np.bool_]
Inner = Literal["folds", "split"]


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
    def rows(self) -> Index:
        """All rows (n,) of the evidence."""
        return np.arange(self.ballots.n_items)

    def part(self, rows: Index, number: int) -> Evidence:
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
    ballots: Ballots, rows: Index, known: Known, rules: Rules, key: tuple[int, ...]
) -> Evidence:
    """Return evidence from these calibration rows of the ballots."""
    return Evidence(rows_of(ballots, rows), known, rules, key)


def rows_of(ballots: Ballots, rows: Index) -> Ballots:
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
