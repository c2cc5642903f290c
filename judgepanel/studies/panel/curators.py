"""Does choosing judges pay? Every curator chooses on calibration rows and is held to new ones.

Each curator sees the calibration half of a split and nothing else, refits the same aggregator and
calibrator on the judges it chose, and is scored on the other half against all judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.aggregate.prefixes import CLOSED_FORMS, ClosedForm
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluate.calibrated import SplitScores, calibrate, evaluate
from judgepanel.kernels.select.search import MOST_GROUPS
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, combine, tally
from judgepanel.studies.common import check_known, run_fields, splits_of
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.notes import few_labels, stand_ins
from judgepanel.studies.panel.costs import check_price
from judgepanel.studies.panel.curated import Curated, TableLook, curated, evidence_in, table_look
from judgepanel.studies.panel.curator import Curator
from judgepanel.studies.panel.curator_list import NAMES, SELECTOR, taken
from judgepanel.studies.panel.curators_estimates import curator_figures, selector_figures
from judgepanel.studies.panel.curators_result import Curators
from judgepanel.studies.panel.evidence import Rules, known_judges
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import InputError, VoteMatrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CuratorsSpec:
    """Which curators, and under what they are compared.

    ``curators`` None takes every one that has what it needs and whose search is not too long; all
    judges always take part. Panels are compared under a closed form; ``refit`` scores the chosen
    ones under another aggregator, None under the same.

    Raises
    ------
    InputError
        A name that is not known, fewer than 2 folds, a size, width or number of steps below 1,
        groups outside 2..12, a budget that is no price; the paper's protocol, under which choices
        would rest on in-sample scores.
    """

    settings: Settings = Settings()
    curators: tuple[str, ...] | None = field(
        default=None,
        metadata={"help": f"ways of choosing (all that are not too long): {', '.join(NAMES)}"},
    )
    aggregator: ClosedForm = field(
        default="one_coin", metadata={"help": "how votes are summed where panels are compared"}
    )
    calibrator: Calibrator = field(default="beta", metadata={"help": "calibrator of every panel"})
    refit: Aggregator | None = field(
        default=None, metadata={"help": "how votes of the chosen judges are summed (the same)"}
    )
    folds: int = field(default=5, metadata={"help": "inner folds on calibration rows"})
    size: int = field(default=5, metadata={"help": "judges of curators that are told how many"})
    width: int = field(default=3, metadata={"help": "panels of each size that the beam keeps"})
    steps: int = field(default=20, metadata={"help": "judges that forward searches add"})
    groups: int = field(default=9, metadata={"help": "groups of the exhaustive search, at most"})
    budget: float | None = field(
        default=None, metadata={"help": "cost of an item that the best panel found may have"}
    )

    def __post_init__(self) -> None:
        check_known("curator", NAMES, self.curators or ())
        check_known("aggregator that curators compare under", CLOSED_FORMS, (self.aggregator,))
        check_known("calibrator", CALIBRATORS, (self.calibrator,))
        if self.refit is not None:
            check_known("aggregator", AGGREGATORS, (self.refit,))
        if self.settings.protocol != "honest":
            raise InputError(
                "curators choose by NLL, which the paper's protocol takes from in-sample scores",
                value=self.settings.protocol,
                allowed="honest",
            )
        if self.folds < 2:
            raise InputError("too few inner folds", value=self.folds, allowed="2 or more")
        for name in ("size", "width", "steps"):
            if getattr(self, name) < 1:
                value = getattr(self, name)
                raise InputError(f"{name} is too small", value=value, allowed="1 or more")
        if not 2 <= self.groups <= MOST_GROUPS:
            raise InputError(
                "number of groups out of range", value=self.groups, allowed=f"2..{MOST_GROUPS}"
            )
        check_price(self.budget)

    @property
    def rules(self) -> Rules:
        """What every curator goes by."""
        return Rules(
            self.aggregator,
            self.calibrator,
            self.folds,
            self.size,
            self.width,
            self.steps,
            self.groups,
            self.settings.seed,
            self.budget,
        )

    @property
    def refitted(self) -> Aggregator:
        """The aggregator of the chosen panels."""
        return self.aggregator if self.refit is None else self.refit


@dataclass(frozen=True, slots=True, eq=False)
class CuratorTally:
    """Scores of the splits, and what was chosen in each.

    ``sizes`` (S, n_curators) follow the order of ``scores.numbers``; ``picked`` (n_curators + 1,
    n_judges) counts how often each judge was chosen, by the one that looked best in the last row.
    ``looks`` (S, 5) are the selector's judges, table, occupied cells, expected and actual new mass;
    empty without it.
    """

    scores: Tally
    sizes: Ints
    picked: Ints
    looks: Floats


def curators_of(
    votes: VoteMatrix, prepared: Prepared, spec: CuratorsSpec
) -> tuple[tuple[Curator, ...], tuple[str, ...]]:
    """The curators that take part, and why others do not."""
    n_rows = prepared.ballots.n_items * spec.settings.fraction
    known = known_judges(votes, prepared)
    return taken(spec.curators, known, spec.rules, prepared.ballots.n_judges, n_rows)


def run_chunk(votes: VoteMatrix, spec: CuratorsSpec, chunk: Chunk) -> CuratorTally:
    """Choose and evaluate in the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots, known = prepared.ballots, known_judges(votes, prepared)
    curators, _ = curators_of(votes, prepared, spec)
    sizes: list[list[int]] = []
    looks: list[list[float]] = []
    picked = np.zeros((len(curators) + 1, ballots.n_judges), dtype=np.int64)

    def scored() -> Iterator[tuple[Split, Arms]]:
        for split in splits_of(prepared, spec.settings, chunk):
            evidence = evidence_in(ballots, split.calibration, known, spec.rules, split.number)
            made = [curated(ballots, split, c, evidence, spec.refitted) for c in curators]
            arms = curator_arms(ballots, split, made, spec.calibrator)
            masks = np.array([result.chosen.judges for result in made])
            picked[:-1] += masks
            picked[-1] += masks[int(arms.chosen_on[0].argmin())]
            sizes.append(masks.sum(axis=1).tolist())
            looks.append(_look(ballots, split, curators, made))
            yield split, arms

    totals = tally(scored(), n_items=ballots.n_items, seed=spec.settings.seed)
    return CuratorTally(totals, np.array(sizes), picked, np.array(looks))


def curator_arms(
    ballots: Ballots, split: Split, made: list[Curated], calibrator: Calibrator
) -> Arms:
    """Arms of one split, one a curator."""
    held: list[SplitScores] = []
    for result in made:
        fitted = calibrate(ballots, split, result.scores, (calibrator,))
        held.append(evaluate(ballots, split, fitted, result.scores.order, np.zeros((0, 1))))
    scores = [part.evaluation[calibrator] for part in held]
    return Arms(
        nll=np.stack([part.nll[0] for part in scores])[None],
        brier=np.stack([part.brier[0] for part in scores])[None],
        hit=np.stack([part.hit[0] for part in scores])[None],
        ece=np.stack([part.ece[0] for part in scores])[None],
        chosen_on=np.array([[output.chosen.nll for output in made]]),
        null_nll=held[0].null_nll,
        constant_nll=np.array([held[0].constant_nll[calibrator]]),
        replaced=np.array([sum(part.replaced[calibrator] for part in held)]),
    )


def _look(
    ballots: Ballots, split: Split, curators: tuple[Curator, ...], made: list[Curated]
) -> list[float]:
    for curator, result in zip(curators, made, strict=True):
        if curator.name == SELECTOR:
            look: TableLook = table_look(ballots, split, result.chosen)
            table = float(result.chosen.table)
            return [look.judges, table, look.occupied, look.expected_new, look.new]
    return []


def combine_tallies(left: CuratorTally, right: CuratorTally) -> CuratorTally:
    """Both sets of splits together; exact and in any order."""
    return CuratorTally(
        combine(left.scores, right.scores),
        np.concatenate([left.sizes, right.sizes]),
        left.picked + right.picked,
        np.concatenate([left.looks, right.looks]),
    )


def merge(votes: VoteMatrix, spec: CuratorsSpec, partial: CuratorTally) -> Curators:
    """Levels, optimism, differences and stability from whatever splits are in."""
    prepared = prepare(votes, spec.settings)
    curators, left_out = curators_of(votes, prepared, spec)
    order = np.argsort(partial.scores.numbers, kind="stable")
    totals, sizes, looks = partial.scores.in_order(), partial.sizes[order], partial.looks[order]
    figures = curator_figures(
        totals,
        prepared.ballots.units,
        curators,
        sizes,
        partial.picked,
        comparable=spec.refitted == spec.aggregator,
        seed=spec.settings.seed,
    )
    n_calibration = float(totals.n_calibration.mean())
    return Curators(
        curators=figures,
        judges=prepared.judges,
        chosen_share=partial.picked / len(totals.numbers),
        selector=selector_figures(looks, n_calibration),
        aggregator=spec.aggregator,
        refit=spec.refitted,
        calibrator=spec.calibrator,
        null_nll=float(totals.null_nll.mean()),
        constant_nll=float(totals.constant_nll.mean()),
        n_judges=prepared.ballots.n_judges,
        n_calibration=n_calibration,
        **run_fields(prepared, spec.settings, totals),
        warnings=_warnings(prepared, spec, totals, left_out),
    )


def _warnings(
    prepared: Prepared, spec: CuratorsSpec, totals: Tally, left_out: tuple[str, ...]
) -> tuple[str, ...]:
    warnings = [*prepared.oriented.notices, *left_out]
    warnings += few_labels(prepared, float(totals.n_calibration.mean()))
    fits = len(totals.numbers) * totals.n_arms
    warnings += stand_ins((spec.calibrator,), totals.replaced.tolist(), fits)
    if spec.refitted != spec.aggregator:
        warnings.append(
            f"Panels were compared under {spec.aggregator} and scored under {spec.refitted}: the "
            "NLL where they were chosen is not one that they could keep, and no optimism is given."
        )
    if prepared.ballots.n_judges == 1:
        warnings.append("There is one judge only, so there is nothing to choose.")
    return tuple(warnings)


CURATORS_STUDY: Study[CuratorsSpec, CuratorTally, Curators] = Study(
    name="curators",
    title="Curators",
    question="Does choosing judges pay?",
    spec=CuratorsSpec,
    result=Curators,
    run_chunk=run_chunk,
    combine=combine_tallies,
    merge=merge,
    chunk=1,
)
