"""Practical equivalence of two arms: two one-sided tests against a margin.

A difference that is not significant may still be large; equivalence needs its own test. Schuirmann
1987 (doi:10.1007/BF01068419): two arms are equivalent at level 5 % if both "the difference is at or
below -margin" and "at or above +margin" are rejected, each at 5 %; that is the same as a 90 %
interval inside the margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from judgepanel import distributions
from judgepanel.arrays import Floats
from judgepanel.scoring.inference import Estimate

Equivalent = Literal["equivalent", "different", "inconclusive"]

ALPHA = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Equivalence:
    """``n`` tests of equivalence.

    ``p`` (n,) is the larger of the two one-sided p-values, [``lo``, ``hi``] (n,) the 90 % interval,
    ``margin`` (n,) is in the units of the values.
    """

    p: Floats
    lo: Floats
    hi: Floats
    margin: Floats

    @property
    def outcomes(self) -> tuple[Equivalent, ...]:
        """``equivalent`` if inside the margin, ``different`` if outside, else ``inconclusive``."""
        inside = self.p < ALPHA
        outside = (self.lo > self.margin) | (self.hi < -self.margin)
        return tuple(
            "equivalent" if same else "different" if apart else "inconclusive"
            for same, apart in zip(inside, outside, strict=True)
        )


def equivalence(fitted: Estimate, margin: float | Floats) -> Equivalence:
    """Two one-sided t-tests of every estimate against its margin (> 0).

    An estimate without spread is equivalent if it lies inside the margin: p is then 0, else 1.
    """
    bound = np.broadcast_to(np.asarray(margin, dtype=np.float64), fitted.value.shape)
    if not (bound > 0).all():
        raise ValueError("a margin of equivalence must be above 0")
    room = bound - np.abs(fitted.value)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(fitted.se > 0, room / fitted.se, np.where(room > 0, np.inf, -np.inf))
    reach = np.asarray(distributions.t_ppf(1.0 - ALPHA, fitted.df)) * fitted.se
    p = np.asarray(distributions.t_sf(t, fitted.df))
    return Equivalence(p, fitted.value - reach, fitted.value + reach, bound)
