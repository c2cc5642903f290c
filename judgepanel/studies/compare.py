"""Panels against all judges: differences, intervals, verdicts, and the paper's own beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgepanel.scoring.descriptive import paper_inference
from judgepanel.scoring.inference import MARGIN, Verdict, estimate, simultaneous_reach, verdict
from judgepanel.studies.accumulate import ITEM_METRICS, METRICS, CurvePartial
from judgepanel.studies.codec import to_plain

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One arm against all judges under one calibrator.

    ``delta`` = NLL(arm) - NLL(all) in nats, above 0 where keeping everyone is better; ``lo``,
    ``hi``, ``p`` are ours (METHODS section 7) and carry the ``verdict`` against ``margin``;
    ``band_lo`` and ``band_hi`` cover all arms of the calibrator together. The ``paper_`` fields
    are descriptive. ``k`` is the panel size, the median one for the arm ``best k``, chosen in
    each split on calibration rows between ``k_lo`` and ``k_hi`` (central 95 %). ``chosen_on`` is
    the NLL where it was chosen and ``optimism`` = ``nll`` - ``chosen_on``; both NaN for fixed k.
    """

    arm: str
    calibrator: str
    k: int
    k_lo: int
    k_hi: int
    nll: float
    nll_all: float
    delta: float
    lo: float
    hi: float
    p: float
    band_lo: float
    band_hi: float
    margin: float
    verdict: Verdict
    chosen_on: float
    optimism: float
    paper_median: float
    paper_lo: float
    paper_hi: float
    paper_t: float
    paper_p: float

    def plain(self) -> dict[str, Any]:
        """All fields as JSON values, and the difference as a share of NLL(all)."""
        return {**to_plain(self), "relative": self.delta / self.nll_all}


def grid_estimates(done: CurvePartial, units: NDArray[np.int64]) -> dict[str, tuple[Floats, ...]]:
    """Value, lower and upper bound, each (C, A), of every metric.

    With a single split there is no spread to learn from; bounds are then NaN.
    """
    item_means, seen = done.item_means()
    n_c = item_means.shape[1]
    found: dict[str, tuple[Floats, ...]] = {}
    for m, metric in enumerate(METRICS):
        split_means = done.split_means[:, m]
        if metric not in ITEM_METRICS:
            lo, hi = np.quantile(split_means, (0.025, 0.975), axis=0)
            found[metric] = (split_means.mean(axis=0), lo, hi)
        elif len(split_means) < 2:
            value = item_means[m].mean(axis=-1)
            found[metric] = (value, np.full_like(value, np.nan), np.full_like(value, np.nan))
        else:
            fits = [
                estimate(
                    item_means[m, c], split_means[:, c], units[seen], *_sizes(done), joint=False
                )
                for c in range(n_c)
            ]
            found[metric] = tuple(
                np.stack([getattr(fit, name) for fit in fits]) for name in ("value", "lo", "hi")
            )
    return found


def comparisons(
    done: CurvePartial, units: NDArray[np.int64], calibrators: tuple[str, ...], seed: int
) -> tuple[Comparison, ...]:
    """All compared arms under every calibrator, in that order; none from a single split."""
    if len(done.numbers) < 2:
        return ()
    item_means, seen = done.item_means()
    found: list[Comparison] = []
    for c, calibrator in enumerate(calibrators):
        found += _of_calibrator(done, item_means[0, c], units[seen], c, calibrator, seed)
    return tuple(found)


def _of_calibrator(
    done: CurvePartial,
    nll: Floats,
    units: NDArray[np.int64],
    c: int,
    calibrator: str,
    seed: int,
) -> list[Comparison]:
    n_k = len(done.ks)
    arms = np.append(done.compared, n_k)
    split_nll = done.split_means[:, 0, c]
    item_differences = nll[arms] - nll[n_k - 1]
    split_differences = split_nll[:, arms] - split_nll[:, [n_k - 1]]
    ours = estimate(item_differences, split_differences, units, *_sizes(done))
    reach = simultaneous_reach(ours, seed=seed)
    paper = paper_inference(
        split_differences, done.flip_t[:, c], done.flip_p[:, c], seed=seed
    )
    nll_all = float(nll[n_k - 1].mean())
    margin = MARGIN * nll_all
    chosen_on = float(done.calibration_nll[:, c].min(axis=-1).mean())
    rows = []
    for i, arm in enumerate(arms):
        is_choice = arm == n_k
        sizes = done.chosen[:, c] if is_choice else done.ks[[arm]]
        level = float(nll[arm].mean())
        low, median, high = np.quantile(sizes, (0.025, 0.5, 0.975), method="nearest")
        rows.append(
            Comparison(
                arm="best k" if is_choice else f"top-{done.ks[arm]}",
                calibrator=calibrator,
                k=int(median),
                k_lo=int(low),
                k_hi=int(high),
                nll=level,
                nll_all=nll_all,
                delta=float(ours.value[i]),
                lo=float(ours.lo[i]),
                hi=float(ours.hi[i]),
                p=float(ours.p[i]),
                band_lo=float(ours.value[i] - reach * ours.se[i]),
                band_hi=float(ours.value[i] + reach * ours.se[i]),
                margin=margin,
                verdict=verdict(
                    float(ours.lo[i]),
                    float(ours.hi[i]),
                    margin,
                    identical=not item_differences[i].any(),
                ),
                chosen_on=chosen_on if is_choice else float("nan"),
                optimism=level - chosen_on if is_choice else float("nan"),
                paper_median=float(paper.median[i]),
                paper_lo=float(paper.lo[i]),
                paper_hi=float(paper.hi[i]),
                paper_t=float(paper.t[i]),
                paper_p=float(paper.p[i]),
            )
        )
    return rows


def _sizes(done: CurvePartial) -> tuple[float, float]:
    return float(done.n_calibration.mean()), float(done.n_evaluation.mean())
