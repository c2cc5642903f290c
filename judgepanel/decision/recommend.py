"""Which judges and which pipeline? A choice nested inside the splits, so that its NLL is honest.

In every outer split all candidates are cross-validated on the calibration rows alone, the best is
taken, refitted there and scored on the evaluation rows. The mean of that score is what *the
recommendation itself* achieves on new items, selection included. The panel that is exported
repeats the choice on all labelled rows.

Cost per split: folds + 1 evaluations of at most 7 panel sizes for each closed form, and one
cross-fitting (6 fits) a panel size for joint, which is most of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel.decision.candidates import (
    LISTS,
    Candidate,
    Candidates,
    candidates_inner_nll,
    candidates_of,
    score_candidates,
)
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.models.panel import PanelModel, fit_panel
from judgepanel.scoring.inference import MARGIN, Verdict, estimate, verdict
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, combine, tally
from judgepanel.studies.common import check_known, splits_of
from judgepanel.studies.compare import grid_estimates, mean_sizes
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.notes import few_labels, not_fitted
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import InputError, VoteMatrix

Floats = NDArray[np.float64]

REFERENCE: tuple[str, Aggregator, Calibrator] = ("all", "one_coin", "beta")
"""What the recommendation is held against: the paper's default, all judges with one-coin + beta."""


@dataclass(frozen=True, slots=True)
class RecommendSpec:
    """Candidates and how they are chosen; ``folds`` inner folds on calibration rows."""

    settings: Settings = Settings()
    candidates: str = field(
        default="default", metadata={"help": "the list to choose from: default or wide"}
    )
    folds: int = field(default=5, metadata={"help": "inner folds on calibration rows"})

    def __post_init__(self) -> None:
        if self.settings.protocol != "honest":
            raise InputError(
                "a recommendation under the paper's protocol would rest on in-sample scores",
                value=self.settings.protocol,
                allowed="honest",
            )
        if self.folds < 2:
            raise InputError("too few inner folds", value=self.folds, allowed="2 or more")
        check_known("list of candidates", tuple(LISTS), (self.candidates,))


@dataclass(frozen=True, slots=True)
class CandidateFigures:
    """One candidate out of sample.

    ``nll`` with its 95 % interval; ``delta`` = NLL(candidate) - NLL(reference) with interval, p
    and verdict as for panel sizes; ``chosen_share`` of the splits in which the inner choice took
    it; ``inner_nll`` is its cross-validated NLL on all labelled rows, which the final choice saw.
    """

    panel: str
    k: int
    aggregator: str
    calibrator: str
    nll: float
    lo: float
    hi: float
    brier: float
    accuracy: float
    ece: float
    skill: float
    delta: float
    delta_lo: float
    delta_hi: float
    p: float
    chosen_share: float
    inner_nll: float


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to do, and how sure.

    ``model`` is fitted on all ``n_items`` labelled rows; ``nll`` [``lo``, ``hi``] is what choosing
    this way achieves on new items with ``n_calibration`` labels; ``optimism`` = ``nll`` minus the
    NLL the choices saw. ``delta`` compares it with the reference, all judges under one-coin and
    beta: below 0 the recommendation is better.
    """

    model: PanelModel
    chosen: CandidateFigures
    runner_up: CandidateFigures
    reference: CandidateFigures
    candidates: tuple[CandidateFigures, ...]
    nll: float
    lo: float
    hi: float
    brier: float
    accuracy: float
    ece: float
    chosen_on: float
    optimism: float
    delta: float
    delta_lo: float
    delta_hi: float
    p: float
    margin: float
    verdict: Verdict
    null_nll: float
    left_out: tuple[str, ...]
    set_aside: tuple[str, ...]
    orientation: str
    n_items: int
    n_judges: int
    n_calibration: float
    n_evaluation: float
    n_splits: int
    planned_splits: int
    seed: int
    warnings: tuple[str, ...]

    @property
    def partial(self) -> bool:
        """Whether splits are still missing."""
        return self.n_splits < self.planned_splits

    def frame(self) -> pd.DataFrame:
        """One row a candidate, best expected NLL first."""
        names = CandidateFigures.__dataclass_fields__
        rows = [{name: getattr(row, name) for name in names} for row in self.candidates]
        return pd.DataFrame(rows).sort_values("nll", kind="stable").reset_index(drop=True)

    def summary(self) -> dict[str, Any]:
        """The decision as JSON values."""
        return {
            "panel": self.chosen.panel,
            "k": self.chosen.k,
            "n_judges": self.n_judges,
            "aggregator": self.chosen.aggregator,
            "calibrator": self.chosen.calibrator,
            "judges": list(self.model.judges),
            "nll": self.nll,
            "nll_lo": self.lo,
            "nll_hi": self.hi,
            "null_nll": self.null_nll,
            "skill": 1.0 - self.nll / self.null_nll,
            "optimism": self.optimism,
            "delta_to_reference": self.delta,
            "delta_lo": self.delta_lo,
            "delta_hi": self.delta_hi,
            "p": self.p,
            "verdict": self.verdict,
            "reference": "all, one_coin, beta",
            "runner_up": f"{self.runner_up.panel}, {self.runner_up.aggregator}, "
            f"{self.runner_up.calibrator}",
            "n_splits": self.n_splits,
            "n_calibration": self.n_calibration,
            "orientation": self.orientation,
        }


def _choices(prepared: Prepared, spec: RecommendSpec) -> Candidates:
    ballots = prepared.ballots
    return candidates_of(spec.candidates, ballots.n_judges, symmetric=ballots.symmetric)


def _reference(candidates: tuple[Candidate, ...]) -> int:
    for position, found in enumerate(candidates):
        if (found.name, found.aggregator, found.calibrator) == REFERENCE:
            return position
    raise ValueError("the reference is not among the candidates")


def run_chunk(votes: VoteMatrix, spec: RecommendSpec, chunk: Chunk) -> Tally:
    """Choose and evaluate in the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots, settings = prepared.ballots, spec.settings
    choices = _choices(prepared, spec)

    def arms(drawn: Split) -> tuple[Split, Arms]:
        held = score_candidates(ballots, drawn, choices, n_folds=spec.folds, seed=settings.seed)
        return drawn, Arms(
            nll=held.items.nll[None],
            brier=held.items.brier[None],
            hit=held.items.hit[None],
            ece=held.items.ece[None],
            chosen_on=held.inner[None],
            null_nll=held.null_nll,
            constant_nll=np.array([held.constant_nll]),
            replaced=np.array([held.replaced]),
        )

    return tally(
        (arms(drawn) for drawn in splits_of(prepared, settings, chunk)),
        n_items=ballots.n_items,
        reference=_reference(choices.all()),
        seed=settings.seed,
    )


def merge(votes: VoteMatrix, spec: RecommendSpec, partial: Tally) -> Recommendation:
    """Intervals for every candidate and for the choice itself; the panel on all labelled rows."""
    prepared = prepare(votes, spec.settings)
    ballots, done = prepared.ballots, partial.in_order()
    choices = _choices(prepared, spec)
    candidates = choices.all()
    inner = candidates_inner_nll(
        ballots,
        np.arange(ballots.n_items),
        choices,
        n_folds=spec.folds,
        seed=spec.settings.seed,
        key=(0, 2),
    )
    figures = _figures(done, ballots.units, candidates, inner)
    ranked = np.argsort(inner, kind="stable")
    best = int(ranked[0])
    picked = candidates[best]
    model = fit_panel(
        ballots,
        prepared.judges,
        picked.k,
        aggregator=picked.aggregator,
        calibrator=picked.calibrator,
        ranking=picked.ranking,
        seed=spec.settings.seed,
    )
    overall = figures[-1]
    n_calibration, n_evaluation = mean_sizes(done)
    chosen_on = float(done.chosen_on[:, 0].min(axis=-1).mean())
    reference = figures[done.reference]
    margin = MARGIN * reference.nll
    return Recommendation(
        model=model,
        chosen=figures[best],
        runner_up=figures[int(ranked[1])] if len(ranked) > 1 else figures[best],
        reference=reference,
        candidates=figures[:-1],
        nll=overall.nll,
        lo=overall.lo,
        hi=overall.hi,
        brier=overall.brier,
        accuracy=overall.accuracy,
        ece=overall.ece,
        chosen_on=chosen_on,
        optimism=overall.nll - chosen_on,
        delta=overall.delta,
        delta_lo=overall.delta_lo,
        delta_hi=overall.delta_hi,
        p=overall.p,
        margin=margin,
        verdict=verdict(overall.delta_lo, overall.delta_hi, margin, identical=_same(overall)),
        null_nll=float(done.null_nll.mean()),
        left_out=tuple(name for name in prepared.judges if name not in set(model.judges)),
        set_aside=prepared.oriented.set_aside,
        orientation=prepared.oriented.policy,
        n_items=ballots.n_items,
        n_judges=ballots.n_judges,
        n_calibration=n_calibration,
        n_evaluation=n_evaluation,
        n_splits=len(done.numbers),
        planned_splits=spec.settings.splits,
        seed=spec.settings.seed,
        warnings=_warnings(prepared, model, done, spec),
    )


def _figures(
    done: Tally, units: NDArray[np.int64], candidates: tuple[Candidate, ...], inner: Floats
) -> tuple[CandidateFigures, ...]:
    """Figures of all candidates, then of the nested choice."""
    table = grid_estimates(done, units)
    item_means, seen = done.item_means()
    nll = item_means[0, 0]
    split_nll = done.split_means[:, 0, 0]
    gaps = estimate(
        nll - nll[done.reference],
        split_nll - split_nll[:, [done.reference]],
        units[seen],
        *mean_sizes(done),
        joint=False,
    )
    shares = np.bincount(done.chosen[:, 0], minlength=len(candidates)) / len(done.chosen)
    null = float(done.null_nll.mean())
    described: list[tuple[str, int, str, str]] = [
        (c.name, c.k, c.aggregator, c.calibrator) for c in candidates
    ]
    described.append(("recommended", 0, "chosen", "chosen"))
    return tuple(
        CandidateFigures(
            panel=name,
            k=k,
            aggregator=aggregator,
            calibrator=calibrator,
            nll=float(table["nll"][0][0, i]),
            lo=float(table["nll"][1][0, i]),
            hi=float(table["nll"][2][0, i]),
            brier=float(table["brier"][0][0, i]),
            accuracy=float(table["accuracy"][0][0, i]),
            ece=float(table["ece"][0][0, i]),
            skill=1.0 - float(table["nll"][0][0, i]) / null,
            delta=float(gaps.value[i]),
            delta_lo=float(gaps.lo[i]),
            delta_hi=float(gaps.hi[i]),
            p=float(gaps.p[i]),
            chosen_share=float(shares[i]) if i < len(candidates) else 1.0,
            inner_nll=float(inner[i]) if i < len(candidates) else float("nan"),
        )
        for i, (name, k, aggregator, calibrator) in enumerate(described)
    )


def _same(figures: CandidateFigures) -> bool:
    """Whether a candidate never differed from the reference."""
    return figures.delta == 0.0 and figures.delta_lo == figures.delta_hi


def _warnings(
    prepared: Prepared, model: PanelModel, done: Tally, spec: RecommendSpec
) -> tuple[str, ...]:
    found = list(prepared.oriented.notices)
    found += few_labels(prepared, float(done.n_calibration.mean()))
    if done.replaced.any():
        cases = len(done.numbers) * len(_choices(prepared, spec).all())
        found.append(not_fitted("Calibrators", f"{int(done.replaced.sum())} of {cases} cases"))
    if model.replaced:
        found.append(
            f"{model.calibrator} could not be fitted on all labelled items (one class, or "
            "perfectly separated); temperature stands in."
        )
    if prepared.ballots.n_judges == 1:
        found.append("There is one judge only, so there is nothing to choose among judges.")
    return tuple(found)


RECOMMEND: Study[RecommendSpec, Tally, Recommendation] = Study(
    name="recommend",
    title="Recommended panel",
    question="Which judges, which pipeline?",
    spec=RecommendSpec,
    result=Recommendation,
    run_chunk=run_chunk,
    combine=combine,
    merge=merge,
    figure="recommendation",
    page="recommended_panel",
)
