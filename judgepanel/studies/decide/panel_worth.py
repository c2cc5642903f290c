"""Worth by panel size: how many labels the labels and the best k judges are worth.

The judges whose votes correlate most with the labels of the other folds are the best; they are
chosen and fitted out of fold as the whole panel is (:mod:`judgepanel.kernels.cross_proxies`). A
panel that answers narrowest needs good proxies on average, one of lowest NLL must not be too sure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.cross_proxies import cross_proxies_of_best
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.prediction_powered import Sample, Target, estimate_rates
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.decide import estimate
from judgepanel.studies.results import Declared, column, derived, frozen
from judgepanel.studies.slices import groups_of
from judgepanel.votes import VoteMatrix
from judgepanel.votes.matrix import BALANCED_SHARE

_STEPS = (1, 2, 3, 5)
"""Sizes of a panel, and ten times these, and so on."""


@frozen
class Sizes:
    """Rates, worth and NLL (n_sizes,) of panels of the best judges."""

    rate: Interval
    worth: Floats
    nll: Floats


@frozen
class PanelWorth(Declared):
    """Result of :data:`PANEL_WORTH`; arrays are (n_sizes,), panels of the ``k`` best judges."""

    k: Ints = column(heading="judges", form="whole", key=True)
    n_labels: int = column("Number of labelled items.")
    rate: Interval = column(
        "Estimated share of label 1 of all items, from labels and these judges.",
        *("rate", "share level"),
    )
    worth: Floats = column(
        "How many times as many labels alone would give an interval as narrow.",
        "worth",
        "significant",
    )
    nll: Floats = column(
        "NLL of these judges' proxies of labelled items, fitted to other labels, in nats; blank "
        "if all labels are equal.",
        *("NLL", "number"),
    )
    null_nll: float = column("NLL of the share of label 1 among labelled items.")
    all_labelled: bool
    about: Target
    orientation: str
    one_class: bool
    measures_coding: bool
    seed: int = column()
    warnings: tuple[str, ...]

    @derived("Labels alone that would give an interval as narrow.", "labels", "whole")
    def worth_labels(self) -> Floats:
        """The labels and their worth in one number."""
        return self.worth * self.n_labels

    @property
    def narrowest(self) -> int:
        """Position of the panel that is worth most labels."""
        return int(np.argmax(np.nan_to_num(self.worth)))

    @property
    def lowest(self) -> int:
        """Position of the panel of lowest NLL; -1 if none has one."""
        return int(np.nanargmin(self.nll)) if np.isfinite(self.nll).any() else -1

    def decisions(self) -> dict[str, Any]:
        """Return the size that answers narrowest, and that of lowest NLL."""
        lowest = int(self.k[self.lowest]) if self.lowest >= 0 else None
        narrowest = None if self.all_labelled else int(self.k[self.narrowest])
        return {"narrowest": narrowest, "lowest_nll": lowest}


def panel_sizes(n_judges: int) -> Ints:
    """Return 1, 2, 3, 5, 10, 20, 30, 50 and so on below all judges, and all."""
    sizes = {step * 10**power for power in range(len(str(n_judges))) for step in _STEPS}
    return np.array(sorted({k for k in sizes if k < n_judges} | {n_judges}))


def run_chunk(votes: VoteMatrix, spec: estimate.EstimateSpec, chunk: Chunk) -> Sizes:
    """Return what panels of all sizes are worth; ``chunk`` holds one round."""
    signs, labels, units = estimate.arrays_of(votes, spec)
    weights = estimate.weighting_of(votes, spec, estimate.traits_of(votes, signs)).weights
    sample, target = Sample.of(labels, None, units, weights), estimate.target_of(votes, spec)
    # Without tuning no proxy counts: labels alone are the same beside every panel.
    alone = estimate_rates(np.zeros(len(labels)), sample, target=target, tuned=False)
    rates, worth, nll = [], [], []
    for k in panel_sizes(signs.shape[1]).tolist():
        proxy = cross_proxies_of_best(signs, labels, units, k, seed=spec.settings.seed)
        ours = estimate_rates(proxy, sample, target=target)
        rates.append(ours.rate)
        worth.append(estimate.worth_of([ours], [alone], [sample], target)[0])
        nll.append(_nll(proxy[sample.rows], labels[sample.rows]))
    return Sizes(Interval.joined(rates), np.array(worth), np.array(nll))


def _nll(proxy: Floats, labels: Floats) -> float:
    """Mean NLL of proxies, kept from 0 and 1 as if half a label more of both kinds was seen."""
    n = len(labels)
    if len(np.unique(labels)) < 2:
        return np.nan
    p = (n * np.clip(proxy, 0.0, 1.0) + 0.5) / (n + 1.0)
    return float(-np.log(np.where(labels > 0.0, p, 1.0 - p)).mean())


def merge(votes: VoteMatrix, spec: estimate.EstimateSpec, partial: Sizes) -> PanelWorth:
    """Return worth and NLL by panel size."""
    signs, labels, _ = estimate.arrays_of(votes, spec)
    weighting = estimate.weighting_of(votes, spec, estimate.traits_of(votes, signs))
    known = labels[np.isfinite(labels)]
    one_class = len(np.unique(known)) < 2
    base = 0.5 if one_class else float(known.mean())
    n_labels = np.array([len(known)])
    return PanelWorth(
        k=panel_sizes(signs.shape[1]),
        n_labels=len(known),
        rate=partial.rate,
        worth=partial.worth,
        nll=partial.nll,
        null_nll=float(-(base * np.log(base) + (1.0 - base) * np.log(1.0 - base))),
        all_labelled=bool(votes.labelled.all()),
        about=estimate.target_of(votes, spec),
        orientation="as_given",
        one_class=one_class,
        measures_coding=votes.task == "pairwise" and votes.minority_share < BALANCED_SHARE,
        seed=spec.settings.seed,
        warnings=estimate.warnings_of(votes, spec, groups_of(votes, None), n_labels, weighting),
    )


PANEL_WORTH: Study[estimate.EstimateSpec, Sizes, PanelWorth] = Study(
    name="panel_worth",
    title="Worth by panel size",
    question="How many labels are the best judges worth?",
    run_chunk=run_chunk,
    merge=merge,
    rounds=lambda _: 1,
)
