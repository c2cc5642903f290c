"""Arms of one split whose scores are computed as they are added up, and never held together.

Scores of all panels of a million items take more memory than everything else of a split, and longer
to write and read again than to compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.evaluate.calibrated import Calibrated, baselines
from judgepanel.kernels.evaluate.evaluation import SplitFit
from judgepanel.scoring.metrics import ECE_BINS, ItemScores, blank_scores, gap_of, score_items
from judgepanel.scoring.splits import Split

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class FittedArms:
    """Panels of one split by size, one row per calibrator: see ``Scored``.

    ``above`` (C, ECE_BINS, A) are the sums for the ECE over the items read so far.
    """

    fitted: Calibrated
    symmetric: bool
    chosen_on: Floats
    null_nll: float
    constant_nll: Floats
    replaced: Ints
    above: Floats = field(repr=False)
    taken: Ints | None = None

    @classmethod
    def of(cls, ballots: Ballots, split: Split, fit: SplitFit) -> FittedArms:
        """Return the panels of a split, none of them scored."""
        maps = fit.fitted.maps
        null_nll, constant_nll = baselines(ballots, split, fit.fitted)
        return cls(
            fitted=fit.fitted,
            symmetric=ballots.symmetric,
            chosen_on=fit.chosen_on,
            null_nll=null_nll,
            constant_nll=np.array([constant_nll[name] for name in maps]),
            replaced=np.array([map_.replaced.sum() for map_ in maps.values()], dtype=np.int64),
            above=np.zeros((len(maps), ECE_BINS, len(fit.fitted.logits))),
        )

    @property
    def ece(self) -> Floats:
        """ECE (C, A) once all items are read."""
        return np.stack([gap_of(sums, len(self.fitted.signs)) for sums in self.above])

    def parts(self, items: slice) -> Iterator[tuple[int, slice, Sequence[Floats]]]:
        """Score some evaluation rows; ``items`` must not have been read before."""
        signs = self.fitted.signs[items]
        scores: ItemScores | None = None
        for c, block, logits in self.fitted.of_items(items):
            if scores is None or scores.nll.shape != logits.shape:
                scores = blank_scores(logits.shape)
            self.above[c, :, block] += score_items(logits, signs, scores, symmetric=self.symmetric)
            yield c, block, (scores.nll, scores.brier, scores.hit)
