"""Panel curve: all judges or the top k? Out-of-sample scores of every ranked prefix of the panel.

Cost per split: ranking and cumulative scores O(n K log K), one batched calibrator fit over the grid
of k; 100 splits of 2985 items and 148 judges take seconds. Memory is a few arrays of (grid x
items), whatever the number of splits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from judgepanel.arrays import Floats, Ints
from judgepanel.kernels import aggregation, calibration, evaluation, prefixes
from judgepanel.kernels.threads import threads
from judgepanel.scoring.inference import Verdict
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies import accumulate, common, runner
from judgepanel.studies.contract import Chunk, Extend, Study, prepare
from judgepanel.studies.options import StudySpec, check_panels, option
from judgepanel.studies.panel.recommended import BestPanels
from judgepanel.studies.results import NllResult, column, frozen
from judgepanel.votes import VoteMatrix

DENSE_JUDGES = 200
_GRID_SIZE = 120
_LARGE = 30_000_000
"""Panel sizes x items x calibrators of which a worker would hold half a gigabyte of sums."""
CHOICE_FOLDS = 3
CHOICE_SIZES = 12

_COMPARED = (3, 5, 10)


@dataclass(frozen=True, slots=True)
class PanelCurveSpec(StudySpec, BestPanels):
    """Options of the panel curve.

    ``ks`` None uses every k up to 200 judges and a grid beyond, () uses every k for any number of
    judges; ``compare`` are the panel sizes compared with all judges.

    Raises
    ------
    InputError
        An unknown aggregator, calibrator or ranking; no calibrator, or one given twice.
    """

    aggregator: aggregation.AnyAggregator = option("one_coin")
    calibrators: tuple[calibration.Calibrator, ...] = option(
        ("none", "temperature", "beta"), once=True
    )
    ranking: prefixes.Ranking = option("accuracy")
    ks: tuple[int, ...] | None = option(
        None,
        "panel sizes, or `every` (a grid beyond 200 judges; 12 where each needs a fit)",
        flag="k",
        words={"every": ()},
        check=check_panels,
    )
    compare: tuple[int, ...] = option(
        _COMPARED, "panel sizes to compare with all judges", flag="top", check=check_panels
    )

    def panel_sizes(self, n_judges: int) -> Ints:
        """Return sorted panel sizes to evaluate, with 1, all judges and the sizes compared.

        If ``ks`` is None, a cross-fitted aggregator, which needs a fit for every size and fold,
        gets ``CHOICE_SIZES`` sizes on a logarithmic scale.
        """
        ks = self.ks
        if ks is None and aggregation.cross_fits(self.aggregator):
            ks = tuple(np.geomspace(1, n_judges, CHOICE_SIZES).round().astype(int).tolist())
        if ks == () or (ks is None and n_judges <= DENSE_JUDGES):
            return np.arange(1, n_judges + 1)
        if ks is None:
            dense = np.arange(1, 41)
            sparse = np.geomspace(41, n_judges, _GRID_SIZE - len(dense)).round()
            ks = tuple(np.concatenate([dense, sparse]).astype(int).tolist())
        wanted = {1, n_judges, *(k for k in (*ks, *self.compare) if k <= n_judges)}
        return np.array(sorted(wanted), dtype=np.int64)


@frozen
class PanelCurve(NllResult):
    """Result of :data:`PANEL_CURVE`.

    Scores over calibrators and panel sizes are (n_calibrators, n_k). Intervals are 95 % intervals
    for new items (docs/inference.md); those of ECE, which is not a mean over items, are the central
    95 % over splits. ``positions`` (n_calibrators,) compare all judges with a constant position,
    empty if that is not applicable. ``ranking`` names the judges by rank on all labelled items,
    ``ranking_accuracy`` their posterior mean accuracy.
    """

    k: Ints = column()
    aggregator: str = column()
    calibrators: tuple[str, ...] = column(name="calibrator", axis=-2)
    nll: Interval = column()
    brier: Interval = column()
    accuracy: Interval = column()
    ece: Interval = column()
    null_nll: float = column()
    constant_nll: Floats = column(axis=-2)
    comparisons: tuple[accumulate.Comparison, ...]
    positions: tuple[accumulate.ConstantPosition, ...]
    ranking: tuple[str, ...]
    ranking_accuracy: Floats
    n_calibration: float

    @property
    def n_judges(self) -> int:
        """Number of participating judges."""
        return len(self.ranking)

    def row(self, calibrator: str) -> int:
        """Return the position of a calibrator in the arrays."""
        return self.calibrators.index(calibrator)

    def decisions(self) -> dict[str, Any]:
        """Return the comparisons with all judges, and with a constant position."""
        return {
            "comparisons": [comparison.plain() for comparison in self.comparisons],
            "positions": [position.plain() for position in self.positions],
            "n_judges": self.n_judges,
        }

    def position(self, calibrator: str) -> accumulate.ConstantPosition | None:
        """Return all judges under a calibrator against a constant position, or None."""
        return self.positions[self.row(calibrator)] if self.positions else None

    def comparison(self, calibrator: str, arm: str) -> accumulate.Comparison | None:
        """Return the comparison of an arm (``top-5``, ``best k``) with all judges, or None."""
        arms = (c for c in self.comparisons if (c.calibrator, c.arm) == (calibrator, arm))
        return next(arms, None)


def choice_sizes(ks: Ints) -> Ints:
    """Return the panel sizes among which k is chosen: about ``CHOICE_SIZES``, with 1 and all.

    Neighbouring sizes differ by less than their noise; a dozen on a logarithmic scale choose as
    well as all of them, for a tenth of the work.
    """
    if len(ks) <= CHOICE_SIZES:
        return ks
    wanted = np.unique(np.geomspace(1, ks[-1], CHOICE_SIZES).round())
    nearest = np.abs(ks[None, :] - wanted[:, None]).argmin(axis=1)
    return np.asarray(np.unique(ks[nearest]))


def run_chunk(
    votes: VoteMatrix, spec: PanelCurveSpec, chunk: Chunk, into: accumulate.Tally | None = None
) -> accumulate.Tally:
    """Evaluate the splits of one chunk, and add them to those of ``into``."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    ks = spec.panel_sizes(ballots.n_judges)
    offered = np.isin(ks, choice_sizes(ks))
    many = extend(votes, spec) is not None

    def arms(split: Split) -> accumulate.FittedArms:
        choice = evaluation.Choice(offered, CHOICE_FOLDS, (split.number, 3))
        with threads(2 if many else 1):
            fit = evaluation.fit_split(ballots, split, ks, spec.recipe, choice)
        return accumulate.FittedArms.of(ballots, split, fit)

    splits = ((split, arms(split)) for split in common.splits_of(prepared, spec.settings, chunk))
    return accumulate.tally(
        runner.ahead(splits) if many else splits,
        n_items=ballots.n_items,
        compared=np.flatnonzero(np.isin(ks, spec.compare) & (ks < ballots.n_judges)),
        reference=len(ks) - 1,
        seed=spec.settings.seed,
        into=into,
    )


def extend(votes: VoteMatrix, spec: PanelCurveSpec) -> Extend[accumulate.Tally] | None:
    """Return what adds chunks in place, if a split has more cells of scores than workers hold."""
    ballots = prepare(votes, spec.settings).ballots
    n_arms = len(spec.panel_sizes(ballots.n_judges)) * len(spec.calibrators)
    large = ballots.n_items * n_arms >= _LARGE
    return partial(run_chunk, votes, spec) if large else None


def merge(votes: VoteMatrix, spec: PanelCurveSpec, partial: accumulate.Tally) -> PanelCurve:
    """Return intervals and verdicts from the splits so far."""
    prepared, totals = prepare(votes, spec.settings), partial
    ks = spec.panel_sizes(prepared.ballots.n_judges)
    rare = common.errs_rarely(prepared)
    estimated = accumulate.Estimator.of(totals, prepared.ballots.units)
    grid = accumulate.grid_estimates(totals, estimated, rare=rare)
    levels: dict[str, Any] = {metric: level[:, :-1] for metric, level in grid.items()}
    correct, voted = prefixes.counts(prepared.ballots, np.arange(prepared.ballots.n_items))
    mean = prefixes.posterior_mean(correct, voted)
    order = np.argsort(-prefixes.ranking_key(correct, voted, spec.ranking), kind="stable")
    n_judges = prepared.ballots.n_judges
    beyond = sorted({k for k in (*(spec.ks or ()), *spec.compare) if k > n_judges})
    beyond = beyond if spec.ks or spec.compare != _COMPARED else []
    sizes = ", ".join(map(str, beyond))
    missing = f"There are {n_judges} judges: no panel of {sizes} is shown." if beyond else ""
    replaced = common.replaced_fits(spec.calibrators, totals)
    whole = [(c, totals.reference) for c in range(len(spec.calibrators))]
    return PanelCurve.from_splits(
        prepared,
        spec,
        totals,
        k=ks,
        **levels,
        comparisons=accumulate.comparisons(
            totals, estimated, spec.calibrators, ks, spec.settings.seed, rare=rare
        ),
        positions=accumulate.against_position(prepared, spec.settings, totals, whole),
        ranking=tuple(prepared.judges[i] for i in order),
        ranking_accuracy=mean[order],
        warnings=common.run_warnings(prepared, totals, *replaced, first=[missing], allowed=True),
    )


def is_settled(votes: VoteMatrix, spec: PanelCurveSpec, partial: accumulate.Tally) -> bool:
    """Whether more splits are unlikely to change the verdict on a compared panel or the best k."""
    estimated = accumulate.Estimator.of(partial, prepare(votes, spec.settings).ballots.units)
    return accumulate.settled(partial, estimated, np.append(partial.compared, partial.n_arms))


PANEL_CURVE: Study[PanelCurveSpec, accumulate.Tally, PanelCurve] = Study(
    name="panel_curve",
    title="Panel curve",
    question="Keep all judges, or the top k?",
    run_chunk=run_chunk,
    extend=extend,
    merge=merge,
    settled=is_settled,
)

__all__ = ["PANEL_CURVE", "PanelCurve", "PanelCurveSpec", "Verdict", "merge"]
