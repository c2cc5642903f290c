"""Presentation of the calibration fraction: which share of the items should calibrate?

Calibration fraction: all judges and the top k with 5 to 70 % of the items for calibration.

The paper's sweep of the calibration fraction (its appendix "Additional Scope Diagnostics"). In
every split the items are put in one random order: the first share calibrates and all others
evaluate. A larger share fits panels on more labels and leaves fewer items to score.

Cost per split: one evaluation of the panels for every share, or one recommendation.

Result of :data:`FRACTION_SWEEP`: scores by the share of items that calibrates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from judgepanel import distributions
from judgepanel.arrays import Floats, Ints
from judgepanel.figures.style import ALL_JUDGES, CHOSEN, NEUTRAL, add_base_rate, laid_out
from judgepanel.present import blocks, study
from judgepanel.present.trust import label_budget
from judgepanel.scoring.descriptive import first_reached
from judgepanel.scoring.inference import MARGIN, Estimate, estimate, joint_draws
from judgepanel.scoring.interval import Interval
from judgepanel.scoring.splits import Split
from judgepanel.studies import codec, options
from judgepanel.studies.accumulate import RANGES, Arms, Estimator, Tally, mean_sizes
from judgepanel.studies.common import run_warnings, tally_of
from judgepanel.studies.contract import Chunk, Deciding, Settings, Study, prepare, steady
from judgepanel.studies.panel.recommended import AVERAGE, compared_name, panel_names
from judgepanel.studies.results import column, flat_row, frozen
from judgepanel.studies.trust import label_budget as budgets
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.words.sentences import with_coding
from judgepanel.words.tables import Column, differences, numbers
from judgepanel.words.text import counted, fixed, level


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
class FractionSweep(budgets.BudgetResult):
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
            "needed": [codec.to_plain(flat_row(needed, share="")) for needed in self.needed],
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
class FractionSweepSpec(budgets.PanelsSpec):
    """The shares of the items that calibrate; the share in the settings is ignored.

    ``panels`` are sizes compared with all judges. ``within`` is the tolerance, relative to the NLL
    at the largest share, for a share that is enough.

    Raises
    ------
    InputError
        As for :class:`PanelsSpec`; fewer than two shares, one given twice or outside (0, 1);
        ``within`` outside (0, 1).
    """

    shares: tuple[float, ...] = options.option(
        SHARES,
        "shares of the items that calibrate",
        check=options.check_share("a calibration share is out of range"),
    )
    within: float = options.option(
        0.05,
        "NLL excess over the largest share that is still enough, as a fraction",
        check=budgets.check_within,
    )

    def __post_init__(self) -> None:
        budgets.PanelsSpec.__post_init__(self)
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
        return budgets.budget_arms(budgets.panels_of(ballots, [split], spec))

    return tuple(
        tally_of(prepared, replace(spec.settings, fraction=share), chunk, arms)
        for share in budgets.planned_shares(prepared, spec.shares).values.tolist()
    )


def merge(votes: VoteMatrix, spec: FractionSweepSpec, partial: Tallies) -> FractionSweep:
    """Return levels, differences and the smallest sufficient share from the splits so far."""
    prepared = prepare(votes, spec.settings)
    ballots = prepared.ballots
    plan = budgets.planned_shares(prepared, spec.shares)
    sizes = spec.sizes(ballots.n_judges)
    fits = len(partial[0].numbers) * len(sizes)
    where = [f"with {100 * share:g} %" for share in plan.values.tolist()]
    replaced = np.column_stack([part.replaced.sum(axis=1) for part in partial])
    notes = budgets.not_fitted_there(spec.calibrators, replaced, fits, where)
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


_APART = 18.0


@dataclass(frozen=True, slots=True)
class SweepView:
    """Calibrator, and panel besides all judges; None shows all.

    ``fraction`` is the calibration share of the other studies of an analysis, if known.
    """

    calibrator: str | None = None
    panel: int | None = None
    fraction: float | None = None


def share_sentence(result: FractionSweep, calibrator: str) -> str:
    """Name the share that brings all judges near their NLL at the largest share."""
    return with_coding(_answer(result, calibrator), result.measures_coding)


def _answer(result: FractionSweep, calibrator: str) -> str:
    needed = result.needed_for(calibrator, result.arms[-1])
    if needed is None:
        return "Not enough splits yet to say which share should calibrate."
    c, most = result.row(calibrator), _share(result.shares[-1])
    null = fixed(float(result.null_nll[-1]), 3)
    reached = f"NLL {level(*result.nll[c, -1, -1])}, base rate {null}"
    if not result.nll[c, -1, -1].below(result.null_nll[-1]):
        are = "is" if result.n_judges == 1 or result.aggregator == AVERAGE else "are"
        return (
            f"With {most} of the items, {result.arms[-1]} {are} not shown to beat the base rate "
            f"({reached}), so nothing says which share is enough."
        )
    if len(result.shares) == 1:
        return f"Only one share could be tried, {most} ({reached})."
    share, lo, hi = needed.share
    labels = counted(math.floor(result.n_items * share), "label")
    near = f"within {_share(result.within)} of what {most} give"
    there = f"That is {reached}."
    if needed.at_start:
        more = "" if hi == share else f", perhaps up to {_share(hi)},"
        return f"{_share(share)} of the items ({labels}) or fewer{more} come {near}. {there}"
    span = f"[{_share(lo)}, {_share(hi)}]"
    return f"{_share(share)} of the items {span} ({labels}) are enough to come {near}. {there}"


def why_sentence(result: FractionSweep, calibrator: str) -> str:
    """Explain why more labels for the fit mean a wider interval; empty from a single split."""
    c = result.row(calibrator)
    if not math.isfinite(result.nll.hi[c, -1, -1]):
        return ""
    best, last = result.narrowest(c), len(result.shares) - 1
    text = (
        "A larger share fits panels on more labels and leaves fewer items to score: "
        f"{result.evaluated[-1]:,.0f} of {result.n_items:,} at {_share(result.shares[-1])}. Then a "
        "split's score rests on fewer items, and calibration sets have more labels in common, so "
        "less is known of how panels vary with their labels."
    )
    _, lo, hi = result.nll[c, -1, [best, last]]
    reach = (hi - lo) / 2
    if best == last:
        return (
            f"{text} Here what the labels gain still outweighs that: the interval is narrowest "
            f"there (± {fixed(reach[0], 3)})."
        )
    return (
        f"{text} The interval is narrowest at {_share(result.shares[best])} "
        f"(± {fixed(reach[0], 3)}), and ± {fixed(reach[1], 3)} at {_share(result.shares[last])}."
    )


def share_table(result: FractionSweep, calibrator: str, panel: str | None) -> dict[str, Column]:
    """Return all judges and one panel at every share, against the largest share and each other."""
    c, n = result.row(calibrator), len(result.shares)
    return {
        "share": numbers(result.shares, "share"),
        "calibrate": numbers(result.labels, "whole", of="n_calibration"),
        "evaluate": numbers(result.evaluated, "whole", of="n_evaluation"),
        **label_budget.level_columns(result, c),
        f"against {_share(result.shares[-1])}": differences(
            result.against[c, -1], {n - 1: "reference"}, of="against"
        ),
        **label_budget.panel_columns(result, c, panel),
    }


def fraction_sweep(result: FractionSweep, calibrator: str, panel: str | None = None) -> go.Figure:
    """Draw NLL of all judges and of one panel (``top-5``) against the calibration share.

    Ticks show the share and the number of labels.
    """
    c, shares = result.row(calibrator), 100.0 * result.shares
    figure = go.Figure()
    add_base_rate(figure, shares, result.null_nll, "base rate with %{x:.0f} %: %{y:.3f}")
    counts = np.stack([result.labels, result.evaluated], axis=1)
    what = "%{x:.0f} % (%{customdata[0]:,.0f} calibrate, %{customdata[1]:,.0f} evaluate)"
    whole_panel = result.arms[-1]
    for arm in (whole_panel,) if panel is None else (panel, whole_panel):
        nll, listed = result.nll[c, result.arms.index(arm)], arm == whole_panel
        look = ALL_JUDGES if listed else CHOSEN
        label_budget.add_line(figure, shares, nll, arm, look, what, listed=listed)
        figure.data[-1].customdata = counts
    needed = result.needed_for(calibrator, whole_panel)
    if needed is not None and np.isfinite(needed.share.value):
        mark = {"color": NEUTRAL, "width": 1, "dash": "dash"}
        figure.add_vline(x=100.0 * float(needed.share.value), line=mark)
    x = "share that calibrates, and its labels"
    laid_out(figure, x=x, y="NLL (nats per item)", height=340)
    ticks = _apart(shares)
    labels = [f"{shares[i]:g} %<br>{result.labels[i]:,.0f}" for i in ticks]
    figure.update_xaxes(tickvals=shares[ticks], ticktext=labels, tickangle=0)
    return figure


def _apart(shares: Floats) -> list[int]:
    """Return positions of shares, the largest first, far enough apart for labels on a phone."""
    positions = [len(shares) - 1]
    for position in range(len(shares) - 2, -1, -1):
        if shares[positions[-1]] - shares[position] >= _APART:
            positions.append(position)
    return positions[::-1]


def _share(value: float) -> str:
    return f"{100.0 * float(value):.2g} %"


def present(
    result: FractionSweep, spec: FractionSweepSpec, view: SweepView = SweepView()
) -> list[blocks.Block]:
    """Present the shares under one calibrator, then the others if none was chosen."""

    def shares(calibrator: str) -> list[blocks.Block]:
        arms: list[str | None] = [*result.arms[:-1]] or [None]
        size = label_budget.FIRST_PANEL if view.panel is None else view.panel
        panel_name = compared_name(size, result.aggregator)
        chosen = panel_name if panel_name in arms else arms[0] if view.panel is None else None
        if view.panel is not None:
            arms = [chosen]
        reading = why_sentence(result, calibrator)
        if view.fraction is not None:
            reading += f" This analysis calibrates on {100.0 * view.fraction:g} %."
        reading += " Dashed vertical line: the share that is enough."
        return [
            blocks.Answer(share_sentence(result, calibrator)),
            blocks.drawing("every share of the items", fraction_sweep, result, calibrator, chosen),
            blocks.note(reading.strip()),
            *(blocks.Table(share_table(result, calibrator, arm)) for arm in arms),
        ]

    return [*blocks.by_calibrator(result.calibrators, view.calibrator, shares), _method(result)]


def _method(result: FractionSweep) -> blocks.Method:
    again = f" {label_budget.again_sentence('share')}" if result.aggregator == AVERAGE else ""
    return blocks.Method(
        "In each split the items are put in a random order, a share of them calibrates and all the "
        "others evaluate, so a larger share adds labels to those of a smaller one. Judges are "
        "ranked and weighted, and calibrators fitted, on the share alone. Intervals are for new "
        "items and panels fitted on that many labels. They widen at large shares: few items are "
        "scored, and splits that share most of their labels say little of other labels. An "
        "exported panel is fitted on all labels whatever the "
        f"share; the share decides how many labels the measured NLL refers to.{again}"
    )


def default_specs(votes: VoteMatrix, settings: Settings, pipeline: study.Pipeline) -> study.Specs:
    """Return the shares for the panels of the label budget; that of the settings is ignored."""
    return tuple(
        FractionSweepSpec(
            settings=replace(budget.settings, fraction=Settings().fraction),
            aggregator=budget.aggregator,
            calibrators=budget.calibrators,
            panels=budget.panels,
        )
        for budget in label_budget.default_specs(votes, settings, pipeline)
    )


PRESENTATION = study.Presentation(FRACTION_SWEEP, present, default_specs)
