"""What each step of the pipeline adds: a dot with its interval for every step and panel."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import CURATE_LINE, INCLUDE, NEUTRAL, laid_out
from judgepanel.studies.methods.ablation_result import STEP_WORDS, PipelineAblation

Floats = NDArray[np.float64]

_STYLES = ((INCLUDE, "circle", 11), (CURATE_LINE, "diamond-open", 9), (NEUTRAL, "square-open", 8))
_APART = 0.2
_ROW_HEIGHT = 58


@dataclass(frozen=True, slots=True, eq=False)
class StepDots:
    """``value``, ``lo`` and ``hi`` (n_panels, n_steps) of NLL, all judges first.

    ``panels`` and ``steps`` are their names in words; bounds are NaN where one split is all there
    is; ``null`` is the NLL of the base rate alone.
    """

    panels: tuple[str, ...]
    steps: tuple[str, ...]
    value: Floats
    lo: Floats
    hi: Floats
    null: float


def prepare_pipeline_ablation(result: PipelineAblation) -> StepDots:
    """Every step of all judges and of at most two smaller panels."""
    last = len(result.k) - 1
    rows = list(range(last, max(last - len(_STYLES), -1), -1))
    return StepDots(
        panels=tuple(f"all {result.k[p]}" if p == last else f"top-{result.k[p]}" for p in rows),
        steps=tuple(f"{step.replace('-', '–')}: {STEP_WORDS[step]}" for step in result.steps),
        value=result.nll[rows],
        lo=result.nll_lo[rows],
        hi=result.nll_hi[rows],
        null=result.null_nll,
    )


def plot_pipeline_ablation(dots: StepDots) -> go.Figure:
    """Steps from top to bottom, NLL from left to right, the base rate as a line."""
    figure = go.Figure()
    places = np.arange(len(dots.steps))
    middle = (len(dots.panels) - 1) / 2
    for row, (panel, (colour, symbol, size)) in enumerate(zip(dots.panels, _STYLES, strict=False)):
        value, lo, hi = dots.value[row], dots.lo[row], dots.hi[row]
        known = bool(np.isfinite(lo).all() and np.isfinite(hi).all())
        spans = [f" [{a:.3f}, {b:.3f}]" if known else "" for a, b in zip(lo, hi, strict=True)]
        figure.add_scatter(
            x=value,
            y=places + _APART * (row - middle),
            mode="markers",
            name=panel,
            marker={"color": colour, "symbol": symbol, "size": size, "line": {"width": 2}},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": hi - value,
                "arrayminus": value - lo,
                "color": colour,
                "thickness": 1.5,
                "width": 3,
            }
            if known
            else None,
            text=[
                f"{step}<br>{panel}: {v:.3f}{span}"
                for step, v, span in zip(dots.steps, value, spans, strict=True)
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    figure.add_scatter(
        x=[dots.null, dots.null],
        y=[-0.5, len(places) - 0.5],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="null: the base rate",
        hovertemplate="base rate alone: %{x:.3f}<extra></extra>",
    )
    laid_out(figure, x="NLL (nats per item)", y="", height=110 + _ROW_HEIGHT * len(places))
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(
        tickvals=places,
        ticktext=[_wrapped(step) for step in dots.steps],
        range=[len(places) - 0.5, -0.5],
        showgrid=False,
    )
    return figure


def pipeline_ablation(result: PipelineAblation) -> go.Figure:
    """NLL after each step, out of sample, with 95 % intervals."""
    return plot_pipeline_ablation(prepare_pipeline_ablation(result))


def _wrapped(step: str) -> str:
    """Short lines, so that narrow screens keep room for the dots."""
    return "<br>".join(wrap(step, 18))
