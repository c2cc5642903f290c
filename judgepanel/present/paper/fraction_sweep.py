"""Presentation of the calibration fraction: which share of the items should calibrate?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import ALL_JUDGES, CHOSEN, NEUTRAL, add_base_rate, laid_out
from judgepanel.present import blocks
from judgepanel.present.study import Pipeline, Presentation, Specs
from judgepanel.present.trust import label_budget
from judgepanel.studies.contract import Settings
from judgepanel.studies.panel.recommended import AVERAGE, compared_name
from judgepanel.studies.paper.fraction_sweep import FRACTION_SWEEP, FractionSweep, FractionSweepSpec
from judgepanel.studies.trust.label_budget import LabelBudgetSpec
from judgepanel.votes import VoteMatrix
from judgepanel.words.sentences import CODING
from judgepanel.words.tables import Column, differences, numbers
from judgepanel.words.text import counted, fixed, level

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
    text = _answer(result, calibrator)
    return f"{text} {CODING}" if result.measures_coding else text


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


def _apart(shares: NDArray[np.float64]) -> list[int]:
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


def default_specs(votes: VoteMatrix, settings: Settings, pipeline: Pipeline) -> Specs:
    """Return calibration shares for the panels of the label budget."""
    return tuple(
        sweep_spec(budget) for budget in label_budget.default_specs(votes, settings, pipeline)
    )


def sweep_spec(budget: LabelBudgetSpec) -> FractionSweepSpec:
    """Return calibration shares for the panels of a label budget; ignores that of the settings."""
    return FractionSweepSpec(
        settings=replace(budget.settings, fraction=Settings().fraction),
        aggregator=budget.aggregator,
        calibrators=budget.calibrators,
        panels=budget.panels,
    )


PRESENTATION = Presentation(FRACTION_SWEEP, present, default_specs)
