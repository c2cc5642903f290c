"""Curators: does choosing judges pay? Each chooses on calibration rows and is scored on new ones.

Each curator sees only the calibration half of a split, refits the same aggregator and calibrator on
the judges it chose, and is scored on the other half against all judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.aggregate.prefixes import CLOSED_FORMS, ClosedForm
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrate.calibration import CALIBRATORS, Calibrator
from judgepanel.kernels.evaluate.calibrated import SplitScores, calibrate, evaluate
from judgepanel.kernels.select.search import MOST_GROUPS
from judgepanel.scoring.inference import MARGIN, simultaneous_reach, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, tally
from judgepanel.studies.common import check_known, run_fields, splits_of
from judgepanel.studies.compare import Estimator, grid_estimates
from judgepanel.studies.contract import Chunk, Study
from judgepanel.studies.looks import steady
from judgepanel.studies.notes import few_labels, stand_ins
from judgepanel.studies.panel.costs import check_price
from judgepanel.studies.panel.curated import Curated, TableLook, curated, evidence_in, table_look
from judgepanel.studies.panel.curator import Curator, Rules, known_judges
from judgepanel.studies.panel.curator_list import NAMES, ORACLE, SELECTOR, taken
from judgepanel.studies.panel.curators_result import (
    LOOKED_BEST,
    ORACLE_NOTE,
    SELECTOR_NOTE,
    CuratorFigures,
    Curators,
    SelectorFigures,
)
from judgepanel.studies.partials import by_split, frozen, summed
from judgepanel.studies.settings import Prepared, Settings, prepare
from judgepanel.votes import InputError, VoteMatrix

_NOTES = {ORACLE: ORACLE_NOTE, SELECTOR: SELECTOR_NOTE}


@dataclass(frozen=True, slots=True)
class CuratorsSpec:
    """The curators, and the pipeline under which they are compared.

    ``curators`` None uses all that have their inputs and whose search is not too long; all judges
    always take part. Panels are compared under a closed form; ``refit`` is the aggregator that
    scores the chosen panels, None for the same.

    Raises
    ------
    InputError
        An unknown name, fewer than 2 folds, a size, width or number of steps below 1, groups
        outside 2..12, an invalid budget; the paper's protocol, under which choices would be based
        on in-sample scores.
    """

    settings: Settings = Settings()
    curators: tuple[str, ...] | None = field(
        default=None,
        metadata={"help": f"ways of choosing (all that are not too long): {', '.join(NAMES)}"},
    )
    aggregator: ClosedForm = field(
        default="one_coin", metadata={"help": "how votes are summed to compare panels"}
    )
    calibrator: Calibrator = field(default="beta", metadata={"help": "calibrator of every panel"})
    refit: Aggregator | None = field(
        default=None,
        metadata={"help": "how votes of the chosen judges are summed (default: the same)"},
    )
    folds: int = field(
        default=5, metadata={"help": "number of inner folds on calibration rows, for closed forms"}
    )
    size: int = field(default=5, metadata={"help": "panel size of curators with a fixed size"})
    width: int = field(
        default=3, metadata={"help": "number of panels of each size that the beam keeps"}
    )
    steps: int = field(default=20, metadata={"help": "number of judges that forward searches add"})
    groups: int = field(
        default=9, metadata={"help": "maximum number of groups in the exhaustive search"}
    )
    budget: float | None = field(
        default=None, metadata={"help": "budget per item for the best panel under a budget"}
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
        """The rules for every curator."""
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


@frozen
class CuratorTally:
    """Scores of the splits, and the choices in each.

    ``sizes`` (S, n_curators) follow the order of ``scores.numbers``; ``picked`` (n_curators + 1,
    n_judges) counts how often each judge was chosen, with the curator that looked best in the last
    row. ``looks`` (S, 5) are the selector's judges, table, occupied cells, expected and actual
    share of new patterns; empty without it.
    """

    scores: Tally
    sizes: Ints = by_split()
    picked: Ints = summed()
    looks: Floats = by_split()


def curators_of(
    votes: VoteMatrix, prepared: Prepared, spec: CuratorsSpec
) -> tuple[tuple[Curator, ...], tuple[str, ...]]:
    """Return the curators that take part, and why others do not."""
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
            panels = [curated(ballots, split, c, evidence, spec.refitted) for c in curators]
            arms = curator_arms(ballots, split, panels, spec.calibrator)
            masks = np.array([panel.chosen.judges for panel in panels])
            picked[:-1] += masks
            picked[-1] += masks[int(arms.chosen_on[0].argmin())]
            sizes.append(masks.sum(axis=1).tolist())
            looks.append(_look(ballots, split, curators, panels))
            yield split, arms

    totals = tally(scored(), n_items=ballots.n_items, seed=spec.settings.seed)
    return CuratorTally(totals, np.array(sizes), picked, np.array(looks))


def curator_arms(
    ballots: Ballots, split: Split, made: list[Curated], calibrator: Calibrator
) -> Arms:
    """Arms of one split, one per curator."""
    held: list[SplitScores] = []
    for result in made:
        fitted = calibrate(ballots, split, result.scores, (calibrator,))
        held.append(evaluate(ballots, split, fitted, result.scores.order, np.zeros((0, 1))))
    return Arms.of(held, chosen_on=np.array([[output.chosen.nll for output in made]]))


def _look(
    ballots: Ballots, split: Split, curators: tuple[Curator, ...], made: list[Curated]
) -> list[float]:
    for curator, result in zip(curators, made, strict=True):
        if curator.name == SELECTOR:
            look: TableLook = table_look(ballots, split, result.chosen)
            table = float(result.chosen.table)
            return [look.judges, table, look.occupied, look.expected_new, look.new]
    return []


def merge(votes: VoteMatrix, spec: CuratorsSpec, partial: CuratorTally) -> Curators:
    """Return levels, optimism, differences and stability from the splits so far."""
    prepared = prepare(votes, spec.settings)
    curators, left_out = curators_of(votes, prepared, spec)
    totals, sizes, looks = partial.scores, partial.sizes, partial.looks
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


def curator_figures(
    tally: Tally,
    units: Ints,
    curators: tuple[Curator, ...],
    sizes: Ints,
    picked: Ints,
    *,
    comparable: bool,
    seed: int,
) -> tuple[CuratorFigures, ...]:
    """Figures of every curator, then of the one that looked best; all judges are the reference.

    ``sizes`` (S, n_curators) and ``picked`` (n_curators + 1, n_judges), see :class:`CuratorTally`.
    Ends are NaN from a single split. ``comparable``: the NLLs of choice and score use the same
    aggregator; otherwise their difference is meaningless and NaN.
    """
    estimated = Estimator.of(tally, units)
    table = {metric: level[0] for metric, level in grid_estimates(tally, estimated).items()}
    nll, best = table["nll"], tally.chosen[:, 0]
    rows = np.arange(len(best))
    all_sizes = np.concatenate([sizes, sizes[rows, best][:, None]], axis=1)
    saw = np.concatenate([tally.chosen_on[:, 0], tally.chosen_on[rows, 0, best][:, None]], axis=1)
    optimism = tally.split_means[:, 0, 0] - saw
    delta, band, p, same = _gaps(tally, estimated, seed)
    shares = np.append(np.bincount(best, minlength=len(curators)) / len(best), 1.0)
    null, margin = float(tally.null_nll.mean()), MARGIN * float(nll.value[0])
    named = [(curator.name, curator.title, curator.deployable) for curator in curators]
    named.append((LOOKED_BEST, "whichever looked best", True))
    figures = []
    for a, (name, title, deployable) in enumerate(named):
        low, high = np.quantile(all_sizes[:, a], (0.025, 0.975), method="nearest")
        seen = float(saw[:, a].mean()) if np.isfinite(saw[:, a]).all() else float("nan")
        known = comparable and np.isfinite(seen)
        least, most = np.quantile(optimism[:, a], (0.025, 0.975)) if known else (np.nan, np.nan)
        value = float(nll.value[a])
        figures.append(
            CuratorFigures(
                curator=name,
                title=title,
                deployable=deployable,
                size=float(all_sizes[:, a].mean()),
                size_lo=int(low),
                size_hi=int(high),
                nll=nll[a],
                brier=float(table["brier"].value[a]),
                accuracy=float(table["accuracy"].value[a]),
                ece=float(table["ece"].value[a]),
                skill=1.0 - value / null,
                seen=seen,
                optimism=Interval.single(value - seen if known else np.nan, least, most),
                delta=delta[a],
                p=float(p[a]),
                band=band[a],
                margin=margin,
                verdict=verdict(
                    float(delta.lo[a]), float(delta.hi[a]), margin, identical=bool(same[a])
                ),
                stability=stability(picked[a], len(best)),
                looked_best_share=float(shares[a]),
                note=_NOTES.get(name, ""),
            )
        )
    return tuple(figures)


def _gaps(
    tally: Tally, estimated: Estimator, seed: int
) -> tuple[Interval, Interval, Floats, Bools]:
    """Differences from all judges (A + 1,), their joint band, p, and the mask of ties.

    The spread of a tie is unknown, as is that of a single split.
    """
    means, _ = tally.item_means()
    items = means[0, 0] - means[0, 0, tally.reference]
    same = np.asarray(~items.any(axis=1))
    splits = tally.split_means[:, 0, 0]
    splits = splits - splits[:, [tally.reference]]
    gaps = estimated(items, splits, joint=True)
    reach = simultaneous_reach(gaps, seed=seed) * gaps.se
    ends = np.array([gaps.lo, gaps.hi, gaps.value - reach, gaps.value + reach, gaps.p])
    lo, hi, low, high, p = np.where(same, np.nan, ends)
    delta = Interval(gaps.value, lo, hi, monte_carlo=gaps.monte_carlo)
    return delta, replace(delta, lo=low, hi=high), p, same


def stability(picked: Ints, n_splits: int) -> float:
    """Agreement of the panels of ``n_splits`` splits, from how often each judge was picked.

    1 - mean_j s_j^2 / (q (1 - q)), with s_j^2 the unbiased variance of judge j's choice over splits
    and q the mean share of judges chosen (Nogueira, Sechidis and Brown 2018, JMLR 18:174): 1 for
    equal panels, 0 for panels drawn at random. NaN for a single split, or if all judges are always
    chosen.
    """
    share = picked / n_splits
    q = float(share.mean())
    if n_splits < 2 or q in (0.0, 1.0):
        return float("nan")
    spread = n_splits / (n_splits - 1.0) * share * (1.0 - share)
    return 1.0 - float(spread.mean()) / (q * (1.0 - q))


def selector_figures(looks: Floats, n_calibration: float) -> SelectorFigures | None:
    """Means over splits (S, 5), None if the selector did not take part."""
    if looks.size == 0:
        return None
    judges, table, occupied, expected, new = (float(v) for v in looks.mean(axis=0))
    return SelectorFigures(judges, table, occupied, expected, new, n_calibration / occupied)


def _warnings(
    prepared: Prepared, spec: CuratorsSpec, totals: Tally, left_out: tuple[str, ...]
) -> tuple[str, ...]:
    warnings = [*prepared.notices, *left_out]
    warnings += few_labels(prepared, float(totals.n_calibration.mean()))
    fits = len(totals.numbers) * totals.n_arms
    warnings += stand_ins((spec.calibrator,), totals.replaced.tolist(), fits)
    if spec.refitted != spec.aggregator:
        warnings.append(
            f"Panels were compared under {spec.aggregator} and scored under {spec.refitted}: the "
            "NLL where they were chosen is not one that they could keep, and no optimism is given."
        )
    if prepared.ballots.n_judges == 1:
        warnings.append("There is only one judge, so there is nothing to choose.")
    return tuple(warnings)


CURATORS_STUDY: Study[CuratorsSpec, CuratorTally, Curators] = Study(
    name="curators",
    title="Curators",
    question="Does choosing judges pay?",
    spec=CuratorsSpec,
    result=Curators,
    partial=CuratorTally,
    run_chunk=run_chunk,
    merge=merge,
    chunk=1,
    settled=steady(merge, lambda result: [(row.delta, row.margin) for row in result.curators]),
)
