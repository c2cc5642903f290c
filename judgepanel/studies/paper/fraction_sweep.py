"""Calibration fraction: all judges and the top k with 5 to 70 % of the items for calibration.

The paper's sweep of the calibration fraction (its appendix "Additional Scope Diagnostics"). In
every split the items are put in one random order: the first share calibrates and all others
evaluate. A larger share fits panels on more labels and leaves fewer items to score.

Cost per split: one evaluation of the panels for every share, or one recommendation.

Result of :data:`FRACTION_SWEEP`: scores by the share of items that calibrates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.scoring.descriptive import first_reached
from judgepanel.scoring.inference import MARGIN, Estimate, estimate, joint_draws
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies.accumulate import RANGES, Arms, Estimator, Tally, mean_sizes
from judgepanel.studies.codec import to_plain
from judgepanel.studies.common import run_warnings, tally_of
from judgepanel.studies.contract import Chunk, Deciding, Study, prepare, steady
from judgepanel.studies.options import check_share, option
from judgepanel.studies.panel.recommended import panel_names
from judgepanel.studies.results import column, flat_row, frozen
from judgepanel.studies.trust import label_budget
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


@frozen
class FractionSweep(label_budget.BudgetResult):
    """Result of :data:`FRACTION_SWEEP`.

    ``shares`` (n_shares,) of the items calibrate, increasing: ``labels`` of them on average, while
    ``evaluated`` are scored. Intervals are for panels fitted on that many labels. ``against``
    (n_calibrators, n_panels, n_shares) is the NLL minus that at the largest share, on the items
    that all shares evaluated.
    """

    shares: Floats = column("Share of the items that calibrates.", name="share", key=True)
    within: float
    labels: Floats = column(
        "Number of labels that calibrate, mean over splits.", name="n_calibration", key=True
    )
    evaluated: Floats = column(
        "Number of items that are scored, mean over splits.", name="n_evaluation", key=True
    )
    against: Interval = column(
        "NLL minus that at the largest share, on the items that all shares score."
    )
    needed: tuple[ShareNeeded, ...]

    def narrowest(self, c: int, panel: int = -1) -> int:
        """Return the position of the share with the narrowest interval of the level."""
        return int(np.argmin(self._widths(c, panel)))

    def _widths(self, c: int, panel: int) -> Floats:
        _, lo, hi = self.nll[c, panel]
        return np.asarray(hi - lo)

    def needed_for(self, calibrator: str, panel: str) -> ShareNeeded | None:
        """Return the smallest sufficient share of one panel, None if it is unknown."""
        needed = {(share.calibrator, share.panel): share for share in self.needed}
        return needed.get((calibrator, panel))

    def decisions(self) -> dict[str, Any]:
        """Return the smallest sufficient share, and where intervals are narrowest."""
        return {
            "needed": [to_plain(flat_row(needed, share="")) for needed in self.needed],
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
class FractionSweepSpec(label_budget.PanelsSpec):
    """The shares of the items that calibrate; the share in the settings is ignored.

    ``panels`` are sizes compared with all judges. ``within`` is the tolerance, relative to the NLL
    at the largest share, for a share that is enough.

    Raises
    ------
    InputError
        As for :class:`PanelsSpec`; fewer than two shares, one given twice or outside (0, 1);
        ``within`` outside (0, 1).
    """

    shares: tuple[float, ...] = option(
        SHARES,
        "shares of the items that calibrate",
        check=check_share("a calibration share is out of range"),
    )
    within: float = option(
        0.05,
        "NLL excess over the largest share that is still enough, as a fraction",
        check=label_budget.check_within,
    )

    def __post_init__(self) -> None:
        label_budget.PanelsSpec.__post_init__(self)
        if len(set(self.shares)) < max(2, len(self.shares)):
            raise InputError(
                "a sweep needs two calibration shares or more, each once",
                value=", ".join(f"{share:g}" for share in self.shares),
            )


Tallies = tuple[Tally, ...]
"""Scores of the splits, by share."""


def run_chunk(votes: VoteMatrix, spec: FractionSweepSpec, chunk: Chunk) -> Tallies:
    """Evaluate every share on the splits of one chunk."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots

    def arms(split: Split) -> Arms:
        return label_budget.budget_arms(label_budget.panels_of(ballots, [split], spec))

    return tuple(
        tally_of(prepared, replace(spec.settings, fraction=share), chunk, arms)
        for share in label_budget.planned_shares(prepared, spec.shares).values.tolist()
    )


def merge(votes: VoteMatrix, spec: FractionSweepSpec, partial: Tallies) -> FractionSweep:
    """Return levels, differences and the smallest sufficient share from the splits so far."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    plan = label_budget.planned_shares(prepared, spec.shares)
    sizes = spec.sizes(ballots.n_judges)
    fits = len(partial[0].numbers) * len(sizes)
    where = [f"with {100 * share:g} %" for share in plan.values.tolist()]
    replaced = np.column_stack([part.replaced.sum(axis=1) for part in partial])
    notes = label_budget.not_fitted_there(spec.calibrators, replaced, fits, where)
    return FractionSweep.from_run(
        prepared,
        spec,
        len(partial[-1].numbers),
        shares=plan.values,
        panels=sizes,
        labels=np.array([part.n_calibration.mean() for part in partial]),
        evaluated=np.array([part.n_evaluation.mean() for part in partial]),
        **fraction_estimates(
            partial,
            ballots.units,
            plan.values,
            calibrators=spec.calibrators,
            arms=panel_names(sizes, spec.aggregator),
            within=spec.within,
            seed=spec.settings.seed,
        ),
        null_nll=np.array([part.null_nll.mean() for part in partial]),
        constant_nll=np.stack([part.constant_nll.mean(axis=0)[:, 0] for part in partial], axis=1),
        warnings=run_warnings(prepared, partial[-1], *notes, first=plan.left_out),
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
        estimated = Estimator.of(scores, units)
        for c in range(n_c):
            items, splits = scores.nll(c)
            level = Interval.of(estimated(items, splits)).clip(*RANGES["nll"])
            nll.put((c, slice(None), f), level)
            if n_p > 1:
                gaps = estimated(items[:-1] - items[[-1]], splits[:, :-1] - splits[:, [-1]])
                delta.put((c, slice(None), f), Interval.of(gaps))
    needed: list[ShareNeeded] = []
    common = tallies[-1].evaluated > 0
    if len(tallies[-1].numbers) >= 2 and len(np.unique(units[common])) >= 2:
        means = [scores.item_means() for scores in tallies]
        items = np.stack([values[0, :, :-1][..., common[seen]] for values, seen in means])
        for c, p in np.ndindex(n_c, n_p):
            fitted = _across(tallies, items[:, c, p], units[common], c, p)
            against.put((c, p), _against_last(fitted))
            needed.append(_enough(fitted, shares, (calibrators[c], arms[p]), within, seed))
    return {"nll": nll, "delta": delta, "against": against, "needed": tuple(needed)}


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


def _deciding(result: FractionSweep) -> Deciding:
    yield result.delta, MARGIN * result.nll.value[:, -1:]
    yield -result.nll, result.null_nll


FRACTION_SWEEP: Study[FractionSweepSpec, Tallies, FractionSweep] = Study(
    name="fraction_sweep",
    title="Calibration share",
    question="Which share of the items should calibrate?",
    run_chunk=run_chunk,
    merge=merge,
    settled=steady(merge, _deciding),
)
