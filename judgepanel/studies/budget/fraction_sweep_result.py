"""Result of :data:`FRACTION_SWEEP`: scores by the share of items that calibrates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.inference import MARGIN, Verdict, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contest.compared import AGAINST_AVERAGE, panel_names, pipeline_columns
from judgepanel.studies.contest.recommended import AVERAGE
from judgepanel.studies.results import RunResult, json_values, long_frame


@dataclass(frozen=True, slots=True, eq=False)
class ShareNeeded:
    """The smallest calibration share that brings one panel's NLL to ``goal``.

    The goal is near the NLL at the largest share. ``share`` has a 95 % interval from joint draws of
    all shares' levels. ``at_start``: the smallest share suffices, so it is an upper bound.
    """

    calibrator: str
    panel: str
    goal: float
    share: Interval
    at_start: bool


@dataclass(frozen=True, slots=True, eq=False)
class FractionSweep(RunResult):
    """Result of :data:`FRACTION_SWEEP`.

    ``shares`` (n_shares,) of the items calibrate, increasing: ``labels`` of them on average, while
    ``evaluated`` are scored. ``panels`` (n_panels,) are sizes, the last is all judges. ``nll``
    (n_calibrators, n_panels, n_shares) is in nats per item, with 95 % intervals for new items and
    panels fitted on that many labels; ``null_nll`` (n_shares,) is the NLL of the base rate of the
    same labels, ``constant_nll`` (n_calibrators, n_shares) that of a constant score through the
    same calibrator.

    ``delta`` (n_calibrators, n_panels - 1, n_shares) is NLL(top-k) - NLL(all) at the same share. If
    ``aggregator`` is ``average``, all judges are the recommended panel, and the top k have the
    pipeline ``COMPARED``.
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
    nll: Interval
    null_nll: Floats
    constant_nll: Floats
    delta: Interval
    against: Interval
    needed: tuple[ShareNeeded, ...]
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "share": "Share of the items that calibrates.",
            "n_calibration": "Number of labels that calibrate, mean over splits.",
            "n_evaluation": "Number of items that are scored, mean over splits.",
            "against": "NLL minus that at the largest share, on the items that all shares score.",
            "delta": "NLL of the panel minus that of all judges at the same share, in nats.",
        }
    )

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the panels: ``top-5``, ..., ``all 65``."""
        return panel_names(self.panels, self.aggregator)

    def row(self, calibrator: str) -> int:
        """Return the position of a calibrator in the arrays."""
        return self.calibrators.index(calibrator)

    def narrowest(self, c: int, panel: int = -1) -> int:
        """Return the position of the share with the narrowest interval of the level."""
        return int(np.argmin(self._widths(c, panel)))

    def _widths(self, c: int, panel: int) -> Floats:
        _, lo, hi = self.nll[c, panel]
        return np.asarray(hi - lo)

    def verdict(self, c: int, panel: int, share: int) -> Verdict:
        """Return what the interval of ``delta`` decides, against 2 % of NLL(all) at that share."""
        delta, lo, hi = self.delta[c, panel, share]
        margin = MARGIN * float(self.nll.value[c, -1, share])
        same = bool(lo == hi == delta == 0.0)
        return verdict(float(lo), float(hi), margin, identical=same)

    def decided(self, c: int, panel: int, share: int) -> str:
        """Return the verdict in words that fit the panel: of the recommended one, its own."""
        result = self.verdict(c, panel, share)
        return AGAINST_AVERAGE[result] if self.aggregator == AVERAGE else result

    def needed_for(self, calibrator: str, panel: str) -> ShareNeeded | None:
        """Return the smallest sufficient share of one panel, None if it is unknown."""
        for share in self.needed:
            if (share.calibrator, share.panel) == (calibrator, panel):
                return share
        return None

    def frame(self) -> pd.DataFrame:
        """One row per calibrator, panel and share."""
        n_c, n_p, n_f = self.nll.shape
        verdicts = [
            [[self.decided(c, p, f) for f in range(n_f)] for p in range(n_p - 1)]
            + [["reference"] * n_f]
            for c in range(n_c)
        ]
        aggregators, calibrators = pipeline_columns(self.aggregator, self.calibrators, n_p)
        return long_frame(
            self.nll.shape,
            {
                "aggregator": aggregators,
                "calibrator": calibrators,
                "panel": np.array(self.arms)[:, None],
                "k": self.panels[:, None],
                "share": self.shares,
                "n_calibration": self.labels,
                "n_evaluation": self.evaluated,
                "n_splits": self.n_splits,
                "nll": self.nll,
                "null_nll": self.null_nll,
                "constant_nll": self.constant_nll[:, None],
                "skill": 1.0 - self.nll.value / self.null_nll,
                "against": self.against,
                "delta": Interval.joined(
                    [self.delta, Interval.full((n_c, 1, n_f), np.nan)], axis=1
                ),
                "verdict": verdicts,
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return the smallest sufficient share, and where intervals are narrowest."""
        return {
            "needed": [
                json_values(
                    {
                        "calibrator": needed.calibrator,
                        "panel": needed.panel,
                        "goal": needed.goal,
                        **dict(zip(("share", "lo", "hi"), needed.share, strict=True)),
                        "at_start": needed.at_start,
                    }
                )
                for needed in self.needed
            ],
            "narrowest": [
                {
                    "calibrator": name,
                    "panel": arm,
                    "share": float(self.shares[self.narrowest(c, p)]),
                    "width": float(self._widths(c, p).min()),
                }
                for c, name in enumerate(self.calibrators)
                for p, arm in enumerate(self.arms)
                if np.isfinite(self.nll.hi[c, p]).all()
            ],
            "shares": self.shares.tolist(),
            "null_nll": self.null_nll.tolist(),
        }
