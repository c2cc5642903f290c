"""One interface for every way of choosing judges: evidence in, a panel and what it saw out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.prefixes import Ranking
from judgepanel.kernels.select.search import SearchResult
from judgepanel.studies.panel.evidence import Evidence, Rules

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

Needs = Literal["nothing", "families", "costs", "budget"]


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A panel, and the NLL its curator saw when choosing, NaN where it looked at none.

    ``judges`` bool (n_judges,). ``ranking``: the panel is the first so many by this ranking.
    ``table``: its votes are to be counted in a table of patterns instead of summed. ``path``
    (m, n_judges) and ``path_nll`` (m,) are panels it also considered, the best of each step.
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

    ``choose`` looks at nothing but its evidence; it is None for the oracle, which is not one and
    is ``deployable`` by nobody. ``uses_labels``: whether the panel depends on labels, so that
    scores which calibrate must come from panels chosen without them. ``searches(n_judges, rules)``
    is the number of panels a long search compares, at the most.
    """

    name: str
    title: str
    choose: Callable[[Evidence], Chosen] | None
    uses_labels: bool = True
    needs: Needs = "nothing"
    searches: Callable[[int, Rules], float] | None = None

    @property
    def deployable(self) -> bool:
        """Whether anybody could choose this way without the labels of new items."""
        return self.choose is not None

    def chosen(self, evidence: Evidence) -> Chosen:
        """What it chooses; the oracle cannot be asked."""
        if self.choose is None:
            raise ValueError("the oracle chooses on other rows than these")
        return self.choose(evidence)

    def panels(self, n_judges: int, rules: Rules) -> float:
        """Panels that a long search compares, at the most; 0 for all others."""
        return 0.0 if self.searches is None else self.searches(n_judges, rules)


def chosen_of(outcome: SearchResult) -> Chosen:
    """The best subset of a search."""
    return Chosen(outcome.best, outcome.nll, path=outcome.path, path_nll=outcome.path_nll)
