"""Result of :data:`CURATORS_STUDY`: promised and achieved NLL of each choice of judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Floats
from judgepanel.scoring.inference import Verdict
from judgepanel.scoring.interval import Interval
from judgepanel.studies.codec import to_plain
from judgepanel.studies.results import SplitResult, flat_row

LOOKED_BEST = "looked_best"
ORACLE_NOTE = "not deployable: chosen on the evaluation rows"
SELECTOR_NOTE = "our reading of arXiv:2606.01034"


@dataclass(frozen=True, slots=True)
class CuratorFigures:
    """One curator out of sample.

    ``nll`` is in nats on new items; ``seen`` is the NLL on which it chose and ``optimism`` =
    ``nll`` - ``seen`` with the central 95 % of the splits, which is not a confidence interval; all
    NaN if there was no such NLL, optimism also if panels were compared and scored under different
    aggregators. ``delta`` = NLL(curator) - NLL(all judges) on the same items: above 0 keeping all
    judges is better; its interval, ``p`` and the verdict against ``margin`` follow
    docs/inference.md, ``band`` covers all curators together; their ends and ``p`` are NaN for a
    ``tie``, a curator that never differs from all judges. ``size`` is the mean number of judges,
    between ``size_lo`` and ``size_hi`` in 95 % of the splits. ``stability`` is 1 if every split
    chooses the same judges and 0 if the choice is effectively random (Nogueira, Sechidis and Brown
    2018, JMLR 18:174), NaN if no judge is ever left out or there is a single split.
    ``looked_best_share`` is the share of splits in which its ``seen`` was the lowest.
    """

    curator: str
    title: str
    deployable: bool
    size: float
    size_lo: int
    size_hi: int
    nll: Interval
    brier: float
    accuracy: float
    ece: float
    skill: float
    seen: float
    optimism: Interval
    delta: Interval
    p: float
    band: Interval
    margin: float
    verdict: Verdict
    stability: float
    looked_best_share: float
    note: str

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "size_lo": "Smallest number of judges in the central 95 % of the splits.",
            "size_hi": "Largest number of judges in the central 95 % of the splits.",
            "optimism_lo": "Lower end of the central 95 % of the optimism over splits.",
            "optimism_hi": "Upper end of the central 95 % of the optimism over splits.",
            "lo": "Lower end of the 95 % interval of delta.",
            "hi": "Upper end of the 95 % interval of delta.",
        }
    )


@dataclass(frozen=True, slots=True)
class SelectorFigures:
    """The finite-calibration selector, averaged over the splits.

    ``judges`` is the size of the chosen prefix; ``table_share`` the share of splits that used a
    table; for the prefix's vote patterns, ``occupied`` is the number of cells that the calibration
    rows fill, ``expected_new`` the Good-Turing share of new items in unseen cells, ``new`` the
    actual share of evaluation rows; ``labels_a_cell`` is the number of labels per occupied cell.
    """

    judges: float
    table_share: float
    occupied: float
    expected_new: float
    new: float
    labels_a_cell: float


@dataclass(frozen=True, slots=True, eq=False)
class Curators(SplitResult):
    """Result of :data:`CURATORS_STUDY`.

    ``curators`` are all judges, then the others in the requested order, and last ``looked_best``,
    the one with the lowest NLL of choice in each split. ``chosen_share`` (n_curators, n_judges) is
    how often each of ``judges`` was chosen. ``constant_nll`` is that of a constant score through
    the same calibrator. Panels are compared under ``aggregator`` and scored under ``refit``.
    ``selector`` is None if the finite-calibration selector did not take part.
    """

    curators: tuple[CuratorFigures, ...]
    judges: tuple[str, ...]
    chosen_share: Floats
    selector: SelectorFigures | None
    aggregator: str
    refit: str
    calibrator: str
    null_nll: float
    constant_nll: float
    n_judges: int
    n_calibration: float

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            **CuratorFigures.COLUMNS,
            "curator": "Name of the way of choosing judges.",
            "title": "The way of choosing judges in words.",
            "deployable": "Whether it can be used in practice, unlike an oracle.",
            "looked_best_share": "Share of the splits in which its NLL of choice was the lowest.",
            "note": "Limitation of the comparison.",
            "refit": "How the votes of the chosen judges are summed.",
        }
    )

    @property
    def everyone(self) -> CuratorFigures:
        """All judges."""
        return self.curators[0]

    @property
    def deployable(self) -> tuple[CuratorFigures, ...]:
        """Curators usable in practice, including all judges, ``looked_best`` last."""
        return tuple(curator for curator in self.curators if curator.deployable)

    def named(self, curator: str) -> CuratorFigures | None:
        """Return the figures of a curator, None if it was left out."""
        return next((figures for figures in self.curators if figures.curator == curator), None)

    def shares(self, curator: str) -> Floats:
        """Return how often a curator chose each judge (n_judges,), in [0, 1]."""
        names = [figures.curator for figures in self.curators]
        return np.asarray(self.chosen_share[names.index(curator)])

    def frame(self) -> pd.DataFrame:
        """Return one row per curator."""
        return pd.DataFrame([flat_row(curator) for curator in self.curators]).assign(
            null_nll=self.null_nll,
            constant_nll=self.constant_nll,
            aggregator=self.aggregator,
            refit=self.refit,
            calibrator=self.calibrator,
            n_splits=self.n_splits,
        )

    def decisions(self) -> dict[str, Any]:
        """Return verdicts and how often judges were chosen."""
        return {
            "nll_all": float(self.everyone.nll.value),
            "curators": [to_plain(flat_row(curator)) for curator in self.curators],
            "selector": to_plain(self.selector),
            "chosen": {
                curator.curator: dict(zip(self.judges, to_plain(shares), strict=True))
                for curator, shares in zip(self.curators, self.chosen_share, strict=True)
            },
        }
