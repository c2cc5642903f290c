"""Calibration fraction: all judges and the top k with 5 to 70 % of the items for calibration.

The paper's sweep of the calibration fraction (its appendix "Additional Scope Diagnostics"). In
every split the items are put in one random order: the first share calibrates and all others
evaluate. A larger share fits panels on more labels and leaves fewer items to score.

Cost per split: one evaluation of the panels for every share, or one recommendation.

Result of :data:`FRACTION_SWEEP`: scores by the share of items that calibrates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.kernels.ballots import Ballots
from judgepanel.kernels.calibrated import SplitScores
from judgepanel.kernels.evaluation import evaluate_split
from judgepanel.scoring.descriptive import first_reached
from judgepanel.scoring.inference import MARGIN, Estimate, Verdict, estimate, joint_draws, verdict
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import Arms, Tally, tally
from judgepanel.studies.common import few_labels, fields_of_run, not_fitted, splits_of
from judgepanel.studies.compare import RANGES, Estimator, mean_sizes
from judgepanel.studies.contract import Chunk, Deciding, Prepared, Study, prepare, steady
from judgepanel.studies.panel.recommended import (
    AGAINST_AVERAGE,
    AVERAGE,
    panel_names,
    pipeline_columns,
    scored_average,
)
from judgepanel.studies.results import RunResult, json_values, long_frame
from judgepanel.studies.trust.budget_plan import (
    PanelsSpec,
    PlannedShares,
    budget_arms,
    planned_shares,
)
from judgepanel.studies.trust.label_budget import check_goals
from judgepanel.votes import InputError, VoteMatrix


@dataclass(frozen=True, slots=True, eq=False)
class ShareNeeded:
    """The smallest calibration share that brings one panel's NLL to ``goal``.

    The goal is near the NLL at the largest share. ``share`` has a 95 % interval from joint draws of
    all shares' levels. ``at_start``: the smallest share suffices, so it is an upper bound.
    """

    calibrator: str
    panel: str
    goal: float
    share: Interval
    at_start: bool


@dataclass(frozen=True, slots=True, eq=False)
class FractionSweep(RunResult):
    """Result of :data:`FRACTION_SWEEP`.

    ``shares`` (n_shares,) of the items calibrate, increasing: ``labels`` of them on average, while
    ``evaluated`` are scored. ``panels`` (n_panels,) are sizes, the last is all judges. ``nll``
    (n_calibrators, n_panels, n_shares) is in nats per item, with 95 % intervals for new items and
    panels fitted on that many labels; ``null_nll`` (n_shares,) is the NLL of the base rate of the
    same labels, ``constant_nll`` (n_calibrators, n_shares) that of a constant score through the
    same calibrator.

    ``delta`` (n_calibrators, n_panels - 1, n_shares) is NLL(top-k) - NLL(all) at the same share. If
    ``aggregator`` is ``average``, all judges are the recommended panel, and the top k have the
    pipeline ``COMPARED``.
    ``against`` (n_calibrators, n_panels, n_shares) is the NLL minus that at the largest share, on
    the items that all shares evaluated.
    """

    shares: Floats
    panels: Ints
    calibrators: tuple[str, ...]
    aggregator: str
    within: float
    labels: Floats
    evaluated: Floats
    nll: Interval
    null_nll: Floats
    constant_nll: Floats
    delta: Interval
    against: Interval
    needed: tuple[ShareNeeded, ...]
    n_judges: int

    COLUMNS: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "share": "Share of the items that calibrates.",
            "n_calibration": "Number of labels that calibrate, mean over splits.",
            "n_evaluation": "Number of items that are scored, mean over splits.",
            "against": "NLL minus that at the largest share, on the items that all shares score.",
            "delta": "NLL of the panel minus that of all judges at the same share, in nats.",
        }
    )

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the panels: ``top-5``, ..., ``all 65``."""
        return panel_names(self.panels, self.aggregator)

    def row(self, calibrator: str) -> int:
        """Return the position of a calibrator in the arrays."""
        return self.calibrators.index(calibrator)

    def narrowest(self, c: int, panel: int = -1) -> int:
        """Return the position of the share with the narrowest interval of the level."""
        return int(np.argmin(self._widths(c, panel)))

    def _widths(self, c: int, panel: int) -> Floats:
        _, lo, hi = self.nll[c, panel]
        return np.asarray(hi - lo)

    def verdict(self, c: int, panel: int, share: int) -> Verdict:
        """Return what the interval of ``delta`` decides, against 2 % of NLL(all) at that share."""
        delta, lo, hi = self.delta[c, panel, share]
        margin = MARGIN * float(self.nll.value[c, -1, share])
        same = bool(lo == hi == delta == 0.0)
        return verdict(float(lo), float(hi), margin, identical=same)

    def decided(self, c: int, panel: int, share: int) -> str:
        """Return the verdict in words that fit the panel: of the recommended one, its own."""
        result = self.verdict(c, panel, share)
        return AGAINST_AVERAGE[result] if self.aggregator == AVERAGE else result

    def needed_for(self, calibrator: str, panel: str) -> ShareNeeded | None:
        """Return the smallest sufficient share of one panel, None if it is unknown."""
        for share in self.needed:
            if (share.calibrator, share.panel) == (calibrator, panel):
                return share
        return None

    def frame(self) -> pd.DataFrame:
        """One row per calibrator, panel and share."""
        n_c, n_p, n_f = self.nll.shape
        verdicts = [
            [[self.decided(c, p, f) for f in range(n_f)] for p in range(n_p - 1)]
            + [["reference"] * n_f]
            for c in range(n_c)
        ]
        aggregators, calibrators = pipeline_columns(self.aggregator, self.calibrators, n_p)
        return long_frame(
            self.nll.shape,
            {
                "aggregator": aggregators,
                "calibrator": calibrators,
                "panel": np.array(self.arms)[:, None],
                "k": self.panels[:, None],
                "share": self.shares,
                "n_calibration": self.labels,
                "n_evaluation": self.evaluated,
                "n_splits": self.n_splits,
                "nll": self.nll,
                "null_nll": self.null_nll,
                "constant_nll": self.constant_nll[:, None],
                "skill": 1.0 - self.nll.value / self.null_nll,
                "against": self.against,
                "delta": Interval.joined(
                    [self.delta, Interval.full((n_c, 1, n_f), np.nan)], axis=1
                ),
                "verdict": verdicts,
            },
        )

    def decisions(self) -> dict[str, Any]:
        """Return the smallest sufficient share, and where intervals are narrowest."""
        return {
            "needed": [
                json_values(
                    {
                        "calibrator": needed.calibrator,
                        "panel": needed.panel,
                        "goal": needed.goal,
                        **dict(zip(("share", "lo", "hi"), needed.share, strict=True)),
                        "at_start": needed.at_start,
                    }
                )
                for needed in self.needed
            ],
            "narrowest": [
                {
                    "calibrator": name,
                    "panel": arm,
                    "share": float(self.shares[self.narrowest(c, p)]),
                    "width": float(self._widths(c, p).min()),
                }
                for c, name in enumerate(self.calibrators)
                for p, arm in enumerate(self.arms)
                if np.isfinite(self.nll.hi[c, p]).all()
            ],
            "shares": self.shares.tolist(),
            "null_nll": self.null_nll.tolist(),
        }


SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_DRAWS = 2_000
_ENDS = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class FractionSweepSpec(PanelsSpec):
    """The shares of the items that calibrate; the share in the settings is ignored.

    ``panels`` are sizes compared with all judges. ``within`` is the tolerance, relative to the NLL
    at the largest share, for a share that is enough.

    Raises
    ------
    InputError
        As for :class:`PanelsSpec`; fewer than two shares, one given twice or outside (0, 1);
        ``within`` outside (0, 1).
    """

    shares: tuple[float, ...] = field(
        default=SHARES, metadata={"help": "shares of the items that calibrate"}
    )
    within: float = field(
        default=0.05,
        metadata={"help": "NLL excess over the largest share that is still enough, as a fraction"},
    )

    SUBJECT: ClassVar[str] = "a sweep"

    def __post_init__(self) -> None:
        PanelsSpec.__post_init__(self)
        if len(set(self.shares)) < max(2, len(self.shares)):
            raise InputError(
                "a sweep needs two calibration shares or more, each once",
                value=", ".join(f"{share:g}" for share in self.shares),
            )
        for share in self.shares:
            if not 0.0 < share < 1.0:
                raise InputError(
                    "a calibration share is out of range", value=share, allowed="between 0 and 1"
                )
        check_goals(self.within, None, None)


def planned(prepared: Prepared, spec: FractionSweepSpec) -> PlannedShares:
    """Return the shares that these votes allow."""
    return planned_shares(prepared, spec.shares)


Tallies = tuple[Tally, ...]
"""Scores of the splits, by share."""


def run_chunk(votes: VoteMatrix, spec: FractionSweepSpec, chunk: Chunk) -> Tallies:
    """Evaluate every share on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots

    def scored(share: float) -> Iterator[tuple[Split, Arms]]:
        for split in splits_of(prepared, replace(spec.settings, fraction=share), chunk):
            yield split, budget_arms([_panels(ballots, split, spec)])

    return tuple(
        tally(scored(share), n_items=ballots.n_items, seed=spec.settings.seed)
        for share in planned(prepared, spec).shares.tolist()
    )


def _panels(ballots: Ballots, split: Split, spec: FractionSweepSpec) -> list[SplitScores]:
    ks = spec.sizes(ballots.n_judges)
    if spec.aggregator != AVERAGE:
        return [evaluate_split(ballots, split, ks, spec.recipe)]
    parts = [evaluate_split(ballots, split, ks[:-1], spec.recipe)] if len(ks) > 1 else []
    return [*parts, scored_average(ballots, split, spec.settings.seed)]


def merge(votes: VoteMatrix, spec: FractionSweepSpec, partial: Tallies) -> FractionSweep:
    """Return levels, differences and the smallest sufficient share from the splits so far."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    plan = planned(prepared, spec)
    sizes = spec.sizes(ballots.n_judges)
    return FractionSweep(
        shares=plan.shares,
        panels=sizes,
        calibrators=spec.calibrators,
        aggregator=spec.aggregator,
        within=spec.within,
        labels=np.array([scores.n_calibration.mean() for scores in partial]),
        evaluated=np.array([scores.n_evaluation.mean() for scores in partial]),
        **fraction_estimates(
            partial,
            ballots.units,
            plan.shares,
            calibrators=spec.calibrators,
            arms=panel_names(sizes, spec.aggregator),
            within=spec.within,
            seed=spec.settings.seed,
        ),
        null_nll=np.array([scores.null_nll.mean() for scores in partial]),
        constant_nll=np.stack(
            [scores.constant_nll.mean(axis=0)[:, 0] for scores in partial], axis=1
        ),
        n_judges=ballots.n_judges,
        **fields_of_run(prepared, spec.settings, len(partial[-1].numbers)),
        warnings=_warnings(prepared, spec, plan, partial),
    )


def fraction_estimates(
    tallies: Sequence[Tally],
    units: Ints,
    shares: Floats,
    *,
    calibrators: tuple[str, ...],
    arms: tuple[str, ...],
    within: float,
    seed: int,
) -> dict[str, Any]:
    """Return the score-based fields of :class:`FractionSweep`; NaN ends from a single split.

    Levels and differences of a share use every item that it evaluated. Comparisons between shares
    use the items that the largest share evaluated, which all others evaluated too.
    """
    n_c, n_p, n_f = len(calibrators), len(arms), len(shares)
    nll, against = (Interval.full((n_c, n_p, n_f), np.nan) for _ in range(2))
    delta = Interval.full((n_c, n_p - 1, n_f), np.nan)
    for f, scores in enumerate(tallies):
        means, _ = scores.item_means()
        estimated = Estimator.of(scores, units)
        for c in range(n_c):
            level, gap = _of_share(scores, means[0, c, :-1], estimated, c)
            nll.put((c, slice(None), f), level)
            delta.put((c, slice(None), f), gap)
    needed: list[ShareNeeded] = []
    common = tallies[-1].evaluated > 0
    if len(tallies[-1].numbers) >= 2 and len(np.unique(units[common])) >= 2:
        items = _common_items(tallies, common)
        for c, p in np.ndindex(n_c, n_p):
            fitted = _across(tallies, items[:, c, p], units[common], c, p)
            against.put((c, p), _against_last(fitted))
            needed.append(_enough(fitted, shares, (calibrators[c], arms[p]), within, seed))
    return {"nll": nll, "delta": delta, "against": against, "needed": tuple(needed)}


def _of_share(
    scores: Tally, items: Floats, estimated: Estimator, c: int
) -> tuple[Interval, Interval]:
    """Levels (n_panels,) of all panels at one share, and their differences from all judges."""
    splits = scores.split_means[:, 0, c, :-1]
    gaps = items[:-1] - items[[-1]]
    nll, delta = Interval.alone(items.mean(axis=-1)), Interval.alone(gaps.mean(axis=-1))
    if len(splits) < 2:
        return nll, delta
    nll = Interval.of(estimated(items, splits)).clip(*RANGES["nll"])
    if len(gaps):
        apart = splits[:, :-1] - splits[:, [-1]]
        delta = Interval.of(estimated(gaps, apart))
    return nll, delta


def _common_items(tallies: Sequence[Tally], common: NDArray[np.bool_]) -> Floats:
    """Mean NLL (n_shares, C, n_panels, n) of the items that every share evaluated."""
    means = [scores.item_means() for scores in tallies]
    return np.stack([items[0, :, :-1][..., common[seen]] for items, seen in means])


def _across(tallies: Sequence[Tally], items: Floats, units: Ints, c: int, p: int) -> Estimate:
    """Return the levels (n_shares,) of one panel with their covariance."""
    splits = np.stack([scores.split_means[:, 0, c, p] for scores in tallies], axis=1)
    n_calibration, n_evaluation = np.array([mean_sizes(scores) for scores in tallies]).T
    # Sampling n_evaluation of all N items, where the variance over items comes from fewer.
    draw = 1.0 / n_evaluation - 1.0 / (n_calibration + n_evaluation) + 1.0 / items.shape[-1]
    return estimate(items, splits, units, n_calibration, 1.0 / draw, n_others=n_evaluation)


def _against_last(fitted: Estimate) -> Interval:
    """NLL at every share minus that at the largest, with its interval."""
    change = fitted.value - fitted.value[-1]
    spread = np.diagonal(fitted.covariance)
    variance = spread + spread[-1] - 2.0 * fitted.covariance[:, -1]
    reach = float(distributions.t_ppf(0.975, fitted.df.min())) * np.sqrt(np.maximum(variance, 0.0))
    reach[-1] = 0.0
    return Interval(change, change - reach, change + reach)


def _enough(
    fitted: Estimate, shares: Floats, which: tuple[str, str], within: float, seed: int
) -> ShareNeeded:
    """The smallest share whose NLL is near that at the largest share."""
    draws = np.maximum(joint_draws(fitted, seed=seed, n_draws=_DRAWS), 0.0)
    values = np.concatenate([fitted.value[None], draws])
    goal = (1.0 + within) * values[:, -1]
    share = first_reached(shares, values, goal)
    lo, hi = np.quantile(share[1:], _ENDS, method="nearest")
    return ShareNeeded(
        calibrator=which[0],
        panel=which[1],
        goal=float(goal[0]),
        share=Interval(share[0], lo, hi, unit="share"),
        at_start=bool(share[0] == shares[0]),
    )


def _warnings(
    prepared: Prepared, spec: FractionSweepSpec, plan: PlannedShares, tallies: Tallies
) -> tuple[str, ...]:
    warnings = [*prepared.notices, *plan.left_out]
    warnings += few_labels(prepared, float(tallies[-1].n_calibration.mean()))
    fits = len(tallies[0].numbers) * len(spec.sizes(prepared.ballots.n_judges))
    for c, name in enumerate(spec.calibrators):
        cases = [
            f"{count} of {fits} with {100 * share:g} %"
            for share, scores in zip(plan.shares.tolist(), tallies, strict=True)
            if (count := int(scores.replaced[c].sum()))
        ]
        if cases:
            warnings.append(not_fitted(name, ", ".join(cases)))
    return tuple(warnings)


def _deciding(result: FractionSweep) -> Deciding:
    yield result.delta, MARGIN * result.nll.value[:, -1:]
    yield -result.nll, result.null_nll


FRACTION_SWEEP: Study[FractionSweepSpec, Tallies, FractionSweep] = Study(
    name="fraction_sweep",
    title="Calibration share",
    question="Which share of the items should calibrate?",
    spec=FractionSweepSpec,
    result=FractionSweep,
    partial=Tallies,
    run_chunk=run_chunk,
    merge=merge,
    settled=steady(merge, _deciding),
)
