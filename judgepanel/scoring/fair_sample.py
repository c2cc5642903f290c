"""Are the labelled items a fair sample? Permutation tests of what is known of all items.

Had the labelled items been drawn at random, nothing that is known of an item would tell whether it
has a label. Numbers are compared by their ranks, categories one by one, with the permutation
distribution of units (:mod:`judgepanel.scoring.clustered`). Holm's correction covers all traits; a
trait of several categories has the smallest of their p-values times their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.arrays import Bools, Ints
from judgepanel.scoring.clustered import rank_p, share_p, unit_means
from judgepanel.scoring.inference import holm

ALPHA = 0.05
MOST_CATEGORIES = 200
"""A trait of more categories is a name or an id, and not tested."""


@dataclass(frozen=True, slots=True)
class FairSample:
    """Traits that were compared, and their p-values after Holm's correction; NaN if untestable."""

    traits: tuple[str, ...]
    p: tuple[float, ...]

    @property
    def differing(self) -> tuple[str, ...]:
        """Traits in which labelled items differ from the others."""
        return tuple(name for name, p in zip(self.traits, self.p, strict=True) if p < ALPHA)


def fair_sample(labelled: Bools, traits: Mapping[str, NDArray[Any]], units: Ints) -> FairSample:
    """Compare labelled items with the others.

    Parameters
    ----------
    labelled : bool (n,), which items have a label.
    traits : numbers (n,), NaN if unknown, or categories (n,), None if unknown, by name.
    units : int (n,), codes of items that are drawn together.
    """
    single = len(np.unique(units)) == len(units)
    missing = labelled.astype(np.float64)
    shown = missing if single else unit_means(missing, units)

    def p_value(values: NDArray[Any]) -> float:
        if values.dtype.kind in "fiub":
            numbers = values.astype(np.float64)
            return rank_p(shown, numbers if single else unit_means(numbers, units))
        texts = np.array(["" if value is None else str(value) for value in values.tolist()])
        names = np.unique(texts)
        if len(names) > MOST_CATEGORIES:
            return float("nan")
        inside = (texts[:, None] == names).astype(np.float64)
        p = share_p(shown[:, None], inside if single else unit_means(inside, units))
        known = p[np.isfinite(p)]
        return min(1.0, float(known.min()) * len(known)) if len(known) else float("nan")

    p = holm([p_value(values) for values in traits.values()])
    return FairSample(tuple(traits), tuple(p.tolist()))
