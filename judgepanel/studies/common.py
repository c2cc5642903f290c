"""Functions shared by all studies of splits: name checks, drawing splits, fields about the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.aggregation import AnyAggregator
from judgepanel.kernels.aggregate.prefixes import Ranking
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.kernels.evaluate.evaluation import Recipe
from judgepanel.scoring.splits import Split, split
from judgepanel.studies.contract import Chunk
from judgepanel.studies.settings import Prepared, Settings
from judgepanel.votes import InputError


def check_known(kind: str, known: Sequence[str], given: Iterable[str]) -> None:
    """Refuse an unknown name and list the known ones."""
    for name in given:
        if name not in known:
            raise InputError(f"unknown {kind}", value=name, allowed=", ".join(known))


def check_each_once(what: str, kind: str, known: Sequence[str], given: Sequence[str]) -> None:
    """Refuse an empty list, and a name given twice."""
    if not given or len(set(given)) < len(given):
        raise InputError(
            f"{what} needs one {kind} or more, each once",
            value=", ".join(given),
            allowed=", ".join(known),
        )


def check_panels(sizes: Iterable[int]) -> None:
    """Refuse a panel size below 1."""
    for k in sizes:
        if k < 1:
            raise InputError("a panel needs at least one judge", value=k, allowed="1 or more")


def recipe_of(
    settings: Settings,
    aggregator: AnyAggregator,
    calibrators: tuple[Calibrator, ...],
    ranking: Ranking,
) -> Recipe:
    """Return how panels are fitted in every split under the protocol and seed of the settings."""
    in_sample = settings.protocol == "paper"
    return Recipe(aggregator, calibrators, ranking, in_sample=in_sample, seed=settings.seed)


def splits_of(prepared: Prepared, settings: Settings, chunk: Chunk) -> Iterator[Split]:
    """Yield the splits of a chunk, in order."""
    for number in range(chunk.first, chunk.first + chunk.count):
        yield split(prepared.ballots.units, number, fraction=settings.fraction, seed=settings.seed)


class SplitCounts(Protocol):
    """Progress of a study: its splits, and how many items each evaluated."""

    @property
    def numbers(self) -> NDArray[np.int64]: ...

    @property
    def n_calibration(self) -> NDArray[np.int64]: ...

    @property
    def n_evaluation(self) -> NDArray[np.int64]: ...


def run_fields(prepared: Prepared, settings: Settings, scores: SplitCounts) -> dict[str, Any]:
    """Return fields of :class:`~judgepanel.studies.results.SplitResult` except warnings."""
    evaluated = float(scores.n_evaluation.mean())
    return fields_of_run(prepared, settings, len(scores.numbers)) | {"n_evaluation": evaluated}


def fields_of_run(prepared: Prepared, settings: Settings, n_splits: int) -> dict[str, Any]:
    """Return fields of a :class:`~judgepanel.studies.results.RunResult` except warnings."""
    return {
        "orientation": prepared.oriented.policy,
        "protocol": settings.protocol,
        "one_class": prepared.oriented.one_class,
        "measures_coding": prepared.oriented.measures_coding,
        "n_items": prepared.ballots.n_items,
        "n_splits": n_splits,
        "planned_splits": settings.most_splits,
        "seed": settings.seed,
    }
