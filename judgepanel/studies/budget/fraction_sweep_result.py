"""What :data:`FRACTION_SWEEP` finds: scores by the share of items that calibrates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.scoring.inference import MARGIN, Verdict, verdict
from judgepanel.studies.codec import to_plain
from judgepanel.studies.compare import arm_name

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def panel_names(panels: Ints) -> tuple[str, ...]:
    """``top-5``, ..., ``all 65``: the last size is all judges."""
    return (*(arm_name(int(k)) for k in panels[:-1]), f"all {panels[-1]:,}")


@dataclass(frozen=True, slots=True)
class ShareNeeded:
    """The smallest calibration share that brings one panel's NLL to ``goal``.

    The goal is near the NLL at the largest share. [``lo``, ``hi``] is a 95 % interval from draws
    of all shares' levels together. ``at_start``: the smallest share does it, so it is an upper
    bound.
    """

    calibrator: str
    panel: str
    goal: float
    share: float
    lo: float
    hi: float
    at_start: bool


@dataclass(frozen=True, slots=True, eq=False)
class FractionSweep:
    """Result of :data:`FRACTION_SWEEP`.

    ``shares`` (n_shares,) of the items calibrate, rising: ``labels`` of them on average, while
    ``evaluated`` are scored. ``panels`` (n_panels,) are sizes, the last is all judges. ``nll``
    (n_calibrators, n_panels, n_shares) is in nats per item, with 95 % intervals for new items and
    panels fitted on that many labels; ``null_nll`` (n_shares,) is the base rate of the same labels,
    ``constant_nll`` (n_calibrators, n_shares) a constant score through the same calibrator.

    ``delta`` (n_calibrators, n_panels - 1, n_shares) is NLL(top-k) - NLL(all) at the same share.
    ``against`` (n_calibrators, n_panels, n_shares) is the NLL minus that at the largest share, on
    the items that all shares evaluated.
    """

    shares: Floats
    panels: Ints
    calibrators: tuple[str, ...]
    aggregator: str
    within: float
    labels: Floats
    evaluated: Floats
    nll: Floats
    nll_lo: Floats
    nll_hi: Floats
    null_nll: Floats
    constant_nll: Floats
    delta: Floats
    delta_lo: Floats
    delta_hi: Floats
    against: Floats
    against_lo: Floats
    against_hi: Floats
    needed: tuple[ShareNeeded, ...]
    orientation: str
    protocol: str
    one_class: bool
    measures_coding: bool
    n_items: int
    n_judges: int
    n_splits: int
    planned_splits: int
    seed: int
    warnings: tuple[str, ...]

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "share": "Share of the items that calibrates.",
            "n_calibration": "Labels that calibrate, mean over splits.",
            "n_evaluation": "Items that are scored, mean over splits.",
            "against": "NLL less that at the largest share, on the items that all shares score.",
            "delta": "NLL of the panel less that of all judges at the same share, in nats.",
        }
    )

    @property
    def partial(self) -> bool:
        """Whether splits are still missing."""
        return self.n_splits < self.planned_splits

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the panels: ``top-5``, ..., ``all 65``."""
        return panel_names(self.panels)

    def row(self, calibrator: str) -> int:
        """Position of a calibrator in the arrays."""
        return self.calibrators.index(calibrator)

    def narrowest(self, c: int, panel: int = -1) -> int:
        """Position of the share with the narrowest interval of the level."""
        return int(np.argmin(self.nll_hi[c, panel] - self.nll_lo[c, panel]))

    def verdict(self, c: int, panel: int, share: int) -> Verdict:
        """What the interval of ``delta`` decides, against 2 % of NLL(all) there."""
        lo, hi = self.delta_lo[c, panel, share], self.delta_hi[c, panel, share]
        margin = MARGIN * float(self.nll[c, -1, share])
        same = bool(lo == hi == self.delta[c, panel, share] == 0.0)
        return verdict(float(lo), float(hi), margin, identical=same)

    def needed_for(self, calibrator: str, panel: str) -> ShareNeeded | None:
        """The share that is enough for one panel, if it can be said."""
        for share in self.needed:
            if (share.calibrator, share.panel) == (calibrator, panel):
                return share
        return None

    def frame(self) -> pd.DataFrame:
        """One row per calibrator, panel and share."""
        n_c, n_p, n_f = self.nll.shape
        none = np.full((n_c, 1, n_f), np.nan)
        columns: dict[str, Any] = {
            "aggregator": self.aggregator,
            "calibrator": np.repeat(np.array(self.calibrators, dtype=object), n_p * n_f),
            "panel": np.tile(np.repeat(np.array(self.arms, dtype=object), n_f), n_c),
            "k": np.tile(np.repeat(self.panels, n_f), n_c),
            "share": np.tile(self.shares, n_c * n_p),
            "n_calibration": np.tile(self.labels, n_c * n_p),
            "n_evaluation": np.tile(self.evaluated, n_c * n_p),
            "n_splits": self.n_splits,
            "nll": self.nll.ravel(),
            "nll_lo": self.nll_lo.ravel(),
            "nll_hi": self.nll_hi.ravel(),
            "null_nll": np.tile(self.null_nll, n_c * n_p),
            "constant_nll": np.repeat(self.constant_nll, n_p, axis=0).ravel(),
        }
        columns["skill"] = 1.0 - columns["nll"] / columns["null_nll"]
        for name in ("against", "against_lo", "against_hi"):
            columns[name] = getattr(self, name).ravel()
        for name in ("delta", "delta_lo", "delta_hi"):
            columns[name] = np.concatenate([getattr(self, name), none], axis=1).ravel()
        columns["verdict"] = [
            self.verdict(c, p, f) if p < n_p - 1 else "reference"
            for c in range(n_c)
            for p in range(n_p)
            for f in range(n_f)
        ]
        return pd.DataFrame(columns)

    def summary(self) -> dict[str, Any]:
        """The share that is enough, where intervals are narrowest, and what was run."""
        return {
            "needed": [to_plain(share) for share in self.needed],
            "narrowest": [
                {
                    "calibrator": name,
                    "panel": arm,
                    "share": float(self.shares[self.narrowest(c, p)]),
                    "width": float(np.min(self.nll_hi[c, p] - self.nll_lo[c, p])),
                }
                for c, name in enumerate(self.calibrators)
                for p, arm in enumerate(self.arms)
                if np.isfinite(self.nll_hi[c, p]).all()
            ],
            "within": self.within,
            "shares": self.shares.tolist(),
            "null_nll": self.null_nll.tolist(),
            "orientation": self.orientation,
            "protocol": self.protocol,
            "one_class": self.one_class,
            "n_items": self.n_items,
            "n_judges": self.n_judges,
            "n_splits": self.n_splits,
            "partial": self.partial,
        }
