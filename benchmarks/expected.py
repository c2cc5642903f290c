"""Does the interval of the expected NLL hold the NLL of the exported panel on new items?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.decision import NEW_ITEMS, WORLD_ITEMS, WORLDS
from benchmarks.report import Report, Table, say
from judgepanel.decision.recommend import RECOMMEND
from judgepanel.decision.recommend_result import RecommendSpec
from judgepanel.studies.contract import Settings
from judgepanel.studies.runner import run as compute
from judgepanel.votes import VoteMatrix
from judgepanel.votes.simulate import SimulationSpec, simulate

LEAST = 0.93


@dataclass(frozen=True, slots=True)
class Case:
    """The expected NLL with its interval, and the NLL of the exported panel on new items."""

    nll: float
    lo: float
    hi: float
    new: float

    @property
    def holds(self) -> bool:
        return self.lo <= self.new <= self.hi


def run(seeds: int = 10) -> Report:
    cases = {name: _cases(name, *world, seeds) for name, world in WORLDS.items()}
    listed = [case for world in cases.values() for case in world]
    share = float(np.mean([case.holds for case in listed]))
    met = "met" if share >= LEAST else "missed"
    return Report(
        "The expected NLL against the NLL on new items",
        "The panel recommended from as many splits of the labelled items as `auto` takes is fitted "
        f"to all of them, as it is exported, and scores {NEW_ITEMS:,} new items of the "
        "same simulated world. The expected NLL is that of panels that learn from half of "
        "the labels.",
        [
            Table(
                f"{seeds} data sets per world",
                (
                    "world",
                    "labels",
                    "expected NLL",
                    "mean width",
                    "NLL on new items",
                    "in the interval",
                    "below it",
                    "above it",
                ),
                [_row(name, world) for name, world in cases.items()],
            )
        ],
        [
            f"In the interval: {sum(case.holds for case in listed)} of {len(listed)}, {share:.0%} "
            f"(target at least {LEAST:.0%}: {met})."
        ],
    )


def _cases(name: str, spec: SimulationSpec, n_labels: int, seeds: int) -> list[Case]:
    say(name)
    return [_case(simulate(replace(spec, seed=seed)), n_labels, seed) for seed in range(seeds)]


def _case(votes: VoteMatrix, n_labels: int, seed: int) -> Case:
    items = np.arange(votes.n_items)
    known, new = votes.with_items(items[:n_labels]), votes.with_items(items[WORLD_ITEMS:])
    spec = RecommendSpec(Settings(seed=seed))
    result = compute(RECOMMEND, known, spec, jobs=1)
    column = {judge: place for place, judge in enumerate(new.judges)}
    codes = new.votes[:, [column[judge] for judge in result.model.judges]]
    p = result.model.score(result.model.codes(codes, None))
    losses = -np.log(np.where(new.labels == 1, p, 1.0 - p))
    nll, lo, hi = result.nll
    return Case(float(nll), float(lo), float(hi), float(losses.mean()))


def _row(name: str, cases: list[Case]) -> tuple[str, ...]:
    return (
        name,
        str(WORLDS[name][1]),
        f"{np.mean([case.nll for case in cases]):.4f}",
        f"{np.mean([case.hi - case.lo for case in cases]):.4f}",
        f"{np.mean([case.new for case in cases]):.4f}",
        f"{sum(case.holds for case in cases)} of {len(cases)}",
        str(sum(case.new < case.lo for case in cases)),
        str(sum(case.new > case.hi for case in cases)),
    )
