"""Curators: does choosing judges pay? Each chooses on calibration rows and is scored on new ones.

Each curator sees only the calibration half of a split, refits the same aggregator and calibrator on
the judges it chose, and is scored on the other half against all judges.

Result of :data:`CURATORS_STUDY`: promised and achieved NLL of each choice of judges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from judgepanel.arrays import Bools, Floats, Ints
from judgepanel.kernels import aggregation, calibration, evaluation, prefixes
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.subsets import MOST_GROUPS
from judgepanel.scoring import inference, interval
from judgepanel.scoring.splits import Split
from judgepanel.studies import accumulate, codec, common, results
from judgepanel.studies.contract import Chunk, Prepared, Study, prepare, steady
from judgepanel.studies.options import StudySpec, check_count, check_known, option, valid
from judgepanel.studies.panel import curated
from judgepanel.studies.panel.curator import Curator, Rules, check_folds, check_price, known_judges
from judgepanel.votes import VoteMatrix

LOOKED_BEST = "looked_best"
ORACLE_NOTE = "not deployable: chosen on the evaluation rows"
SELECTOR_NOTE = "our reading of arXiv:2606.01034"


@results.frozen
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

    curator: str = results.column("Name of the way of choosing judges.")
    title: str = results.column("The way of choosing judges in words.")
    deployable: bool = results.column("Whether it can be used in practice, unlike an oracle.")
    size: float
    size_lo: int = results.column("Smallest number of judges in the central 95 % of the splits.")
    size_hi: int = results.column("Largest number of judges in the central 95 % of the splits.")
    nll: interval.Interval
    brier: float
    accuracy: float
    ece: float
    skill: float
    seen: float
    optimism: interval.Interval = results.column(central=True)
    delta: interval.Interval = results.column(bounds=("lo", "hi"))
    p: float
    band: interval.Interval
    margin: float
    verdict: inference.Verdict
    stability: float
    looked_best_share: float = results.column(
        "Share of the splits in which its NLL of choice was the lowest."
    )
    note: str = results.column("Limitation of the comparison.")


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


@results.frozen
class Curators(results.PipelineResult):
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
    refit: str = results.column("How the votes of the chosen judges are summed.")
    constant_nll: float
    RECORDS: ClassVar = (CuratorFigures,)

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
        repeated = ("null_nll", "constant_nll", "aggregator", "refit", "calibrator", "n_splits")
        return self.repeated(map(results.flat_row, self.curators), *repeated)

    def decisions(self) -> dict[str, Any]:
        """Return verdicts and how often judges were chosen."""
        return {
            "nll_all": float(self.everyone.nll.value),
            "curators": [codec.to_plain(results.flat_row(curator)) for curator in self.curators],
            "selector": codec.to_plain(self.selector),
            "chosen": {
                curator.curator: dict(zip(self.judges, codec.to_plain(shares), strict=True))
                for curator, shares in zip(self.curators, self.chosen_share, strict=True)
            },
        }


_NOTES = {curated.ORACLE: ORACLE_NOTE, curated.SELECTOR: SELECTOR_NOTE}


def _positive(name: str) -> Callable[[Any], None]:
    return valid(f"{name} is too small", lambda n: n >= 1, "1 or more")


@dataclass(frozen=True, slots=True)
class CuratorsSpec(StudySpec):
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

    curators: tuple[str, ...] | None = option(
        None,
        f"ways of choosing (all that are not too long): {', '.join(curated.NAMES)}",
        check=partial(check_known, "curator", curated.NAMES),
    )
    aggregator: prefixes.ClosedForm = option("one_coin", "how votes are summed to compare panels")
    calibrator: calibration.Calibrator = option("beta", "calibrator of every panel")
    refit: aggregation.Aggregator | None = option(
        None, "how votes of the chosen judges are summed (default: the same)"
    )
    folds: int = option(
        5, "number of inner folds on calibration rows, for closed forms", check=check_folds
    )
    size: int = option(5, "panel size of curators with a fixed size", check=_positive("size"))
    width: int = option(
        3, "number of panels of each size that the beam keeps", check=_positive("width")
    )
    steps: int = option(20, "number of judges that forward searches add", check=_positive("steps"))
    groups: int = option(
        9,
        "maximum number of groups in the exhaustive search",
        check=check_count("number of groups out of range", 2, MOST_GROUPS),
    )
    budget: float | None = option(
        None, "budget per item for the best panel under a budget", check=check_price
    )

    chooses: ClassVar[str] = "curators choose"

    @property
    def rules(self) -> Rules:
        """The rules for every curator."""
        sizes = self.folds, self.size, self.width, self.steps, self.groups
        return Rules(self.aggregator, self.calibrator, *sizes, self.settings.seed, self.budget)

    @property
    def refitted(self) -> aggregation.Aggregator:
        """The aggregator of the chosen panels."""
        return self.aggregator if self.refit is None else self.refit


@results.frozen
class CuratorTally:
    """Scores of the splits, and the choices in each.

    ``sizes`` (S, n_curators) follow the order of ``scores.numbers``; ``picked`` (n_curators + 1,
    n_judges) counts how often each judge was chosen, with the curator that looked best in the last
    row. ``looks`` (S, 5) are the selector's judges, table, occupied cells, expected and actual
    share of new patterns; empty without it.
    """

    scores: accumulate.Tally
    sizes: Ints = results.by_split()
    picked: Ints = results.summed()
    looks: Floats = results.by_split()


def curators_of(
    votes: VoteMatrix, prepared: Prepared, spec: CuratorsSpec
) -> tuple[tuple[Curator, ...], tuple[str, ...]]:
    """Return the curators that take part, and why others do not."""
    n_rows = prepared.ballots.n_items * spec.settings.fraction
    known = known_judges(votes, prepared)
    return curated.taken(spec.curators, known, spec.rules, prepared.ballots.n_judges, n_rows)


def run_chunk(votes: VoteMatrix, spec: CuratorsSpec, chunk: Chunk) -> CuratorTally:
    """Choose and evaluate in the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots, known = prepared.ballots, known_judges(votes, prepared)
    curators, _ = curators_of(votes, prepared, spec)
    sizes: list[list[int]] = []
    looks: list[list[float]] = []
    picked = np.zeros((len(curators) + 1, ballots.n_judges), dtype=np.int64)

    def arms(split: Split) -> accumulate.Arms:
        evidence = curated.evidence_in(ballots, split.calibration, known, spec.rules, split.number)
        panels = [curated.curated(ballots, split, c, evidence, spec.refitted) for c in curators]
        scores = curator_arms(ballots, split, panels, spec.calibrator)
        masks = np.array([panel.chosen.judges for panel in panels])
        picked[:-1] += masks
        picked[-1] += masks[int(scores.chosen_on[0].argmin())]
        sizes.append(masks.sum(axis=1).tolist())
        looks.append(_look(ballots, split, curators, panels))
        return scores

    totals = common.tally_of(prepared, spec.settings, chunk, arms)
    return CuratorTally(totals, np.array(sizes), picked, np.array(looks))


def curator_arms(
    ballots: Ballots, split: Split, made: list[curated.Curated], calibrator: calibration.Calibrator
) -> accumulate.Arms:
    """Arms of one split, one per curator."""
    held: list[evaluation.SplitScores] = []
    for result in made:
        fitted = evaluation.calibrate(ballots, split, result.scores, (calibrator,))
        held.append(evaluation.evaluate(ballots, split, fitted))
    return accumulate.Arms.of(held, chosen_on=np.array([[output.chosen.nll for output in made]]))


def _look(
    ballots: Ballots, split: Split, curators: tuple[Curator, ...], made: list[curated.Curated]
) -> list[float]:
    for curator, result in zip(curators, made, strict=True):
        if curator.name == curated.SELECTOR:
            judges, *cells = curated.table_look(ballots, split, result.chosen)
            return [judges, float(result.chosen.table), *cells]
    return []


def merge(votes: VoteMatrix, spec: CuratorsSpec, partial: CuratorTally) -> Curators:
    """Return levels, optimism, differences and stability from the splits so far."""
    prepared = prepare(votes, spec.settings)
    curators, left_out = curators_of(votes, prepared, spec)
    totals, units, seed = partial.scores, prepared.ballots.units, spec.settings.seed
    comparable = spec.refitted == spec.aggregator
    n_calibration = float(totals.n_calibration.mean())
    notes = common.replaced_fits((spec.calibrator,), totals)
    if not comparable:
        notes.append(
            f"Panels were compared under {spec.aggregator} and scored under {spec.refitted}: the "
            "NLL where they were chosen is not one that they could keep, and no optimism is given."
        )
    if prepared.ballots.n_judges == 1:
        notes.append("There is only one judge, so there is nothing to choose.")
    return Curators.from_splits(
        prepared,
        spec,
        totals,
        curators=curator_figures(partial, units, curators, comparable=comparable, seed=seed),
        chosen_share=partial.picked / len(totals.numbers),
        selector=selector_figures(partial.looks, n_calibration),
        refit=spec.refitted,
        n_calibration=n_calibration,
        warnings=common.run_warnings(prepared, totals, *notes, first=left_out),
    )


def curator_figures(
    partial: CuratorTally, units: Ints, curators: Sequence[Curator], *, comparable: bool, seed: int
) -> tuple[CuratorFigures, ...]:
    """Figures of every curator, then of the one that looked best; all judges are the reference.

    Ends are NaN from a single split. ``comparable``: the NLLs of choice and score use the same
    aggregator; otherwise their difference is meaningless and NaN.
    """
    tally, sizes, picked = partial.scores, partial.sizes, partial.picked
    estimated = accumulate.Estimator.of(tally, units)
    levels = accumulate.grid_estimates(tally, estimated)
    table = {metric: level[0] for metric, level in levels.items()}
    nll, best = table["nll"], tally.chosen[:, 0]
    rows = np.arange(len(best))
    all_sizes = np.concatenate([sizes, sizes[rows, best][:, None]], axis=1)
    saw = np.concatenate([tally.chosen_on[:, 0], tally.chosen_on[rows, 0, best][:, None]], axis=1)
    optimism = tally.split_means[:, 0, 0] - saw
    delta, band, p, same = _gaps(tally, estimated, seed)
    null, margin = float(tally.null_nll.mean()), inference.MARGIN * float(nll.value[0])
    names = (*(curator.name for curator in curators), LOOKED_BEST)
    low, high = np.quantile(all_sizes, (0.025, 0.975), axis=0, method="nearest")
    seen = np.where(np.isfinite(saw).all(axis=0), saw.mean(axis=0), np.nan)
    known = np.isfinite(seen) & comparable
    least, most = np.quantile(np.where(known, optimism, np.nan), (0.025, 0.975), axis=0)
    return results.records_of(
        CuratorFigures,
        curator=names,
        title=(*(curator.title for curator in curators), "whichever looked best"),
        deployable=(*(curator.deployable for curator in curators), True),
        size=all_sizes.mean(axis=0),
        size_lo=low.astype(int),
        size_hi=high.astype(int),
        nll=nll,
        brier=table["brier"].value,
        accuracy=table["accuracy"].value,
        ece=table["ece"].value,
        skill=1.0 - nll.value / null,
        seen=seen,
        optimism=interval.Interval(np.where(known, nll.value - seen, np.nan), least, most),
        delta=delta,
        p=p,
        band=band,
        margin=margin,
        verdict=accumulate.verdicts(delta, margin, same),
        stability=[stability(judges, len(best)) for judges in picked],
        looked_best_share=np.append(np.bincount(best, minlength=len(curators)) / len(best), 1.0),
        note=[_NOTES.get(name, "") for name in names],
    )


def _gaps(
    tally: accumulate.Tally, estimated: accumulate.Estimator, seed: int
) -> tuple[interval.Interval, interval.Interval, Floats, Bools]:
    """Differences from all judges (A + 1,), their joint band, p, and the mask of ties.

    The spread of a tie is unknown, as is that of a single split.
    """
    items, splits = tally.nll(arms=slice(None))
    items, splits = items - items[tally.reference], splits - splits[:, [tally.reference]]
    same = np.asarray(~items.any(axis=1))
    gaps = estimated(items, splits, joint=True)
    both = interval.Interval.of(gaps), accumulate.band(gaps, seed)
    delta, together = (accumulate.unknown_where(same, part) for part in both)
    return delta, together, np.where(same, np.nan, gaps.p), same


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


CURATORS_STUDY: Study[CuratorsSpec, CuratorTally, Curators] = Study(
    name="curators",
    title="Curators",
    question="Does choosing judges pay?",
    run_chunk=run_chunk,
    merge=merge,
    chunk=1,
    settled=steady(merge, lambda result: [(row.delta, row.margin) for row in result.curators]),
)
