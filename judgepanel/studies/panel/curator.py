"""The interface of curators, which choose judges: from evidence to a panel and its NLL."""

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
