"""NLL of all judges and the top k as their votes get worse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import (
    CURATE_FILL,
    CURATE_LINE,
    INCLUDE,
    NEUTRAL,
    error_bars,
    laid_out,
)
from judgepanel.studies.robustness.corruption_result import Corruption

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class DamageLines:
    """Lines over ``share`` (n,) of what was hit: ``value``, ``lo``, ``hi`` (n_lines, n) by
    ``names``, the last of which is all judges; ``null`` is the base rate's.
    """

    share: Floats
    names: tuple[str, ...]
    value: Floats
    lo: Floats
    hi: Floats
    null: float


def prepare_corruption(result: Corruption, scenario: str) -> DamageLines:
    """Lines of one scenario, from the clean panel to the worst level."""
    places = result.of(scenario)
    return DamageLines(
        share=result.levels[places],
        names=result.arms,
        value=result.nll[:, places],
        lo=result.nll_lo[:, places],
        hi=result.nll_hi[:, places],
        null=result.null_nll,
    )


def plot_corruption(lines: DamageLines, *, x: str) -> go.Figure:
    """The figure of prepared lines; ``x`` says what is hit."""
    figure = go.Figure()
    figure.add_hline(y=lines.null, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    last = len(lines.names) - 1
    width = float(np.diff(lines.share).min()) if len(lines.share) > 1 else 0.0
    for i, name in enumerate(lines.names):
        everyone = i == last
        colour = INCLUDE if everyone else CURATE_LINE
        figure.add_scatter(
            # Moved apart a little, so that error bars do not hide each other.
            x=100.0 * (lines.share + 0.06 * width * (1 if everyone else -1)),
            y=lines.value[i],
            mode="lines+markers",
            line={"color": colour, "width": 3, "dash": "solid" if everyone else "dash"},
            marker={
                "color": INCLUDE if everyone else CURATE_FILL,
                "symbol": "circle" if everyone else "diamond",
                "size": 9,
                "line": {"color": colour, "width": 1},
            },
            error_y=error_bars(lines.value[i], lines.lo[i], lines.hi[i], colour),
            name=name,
            customdata=100.0 * lines.share,
            hovertemplate=f"{name}, %{{customdata:.0f}} %: %{{y:.3f}}<extra></extra>",
        )
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="null: the base rate",
    )
    laid_out(figure, x=x, y="NLL (nats per item)")
    figure.update_xaxes(ticksuffix=" %")
    return figure


def corruption(result: Corruption, scenario: str, *, x: str) -> go.Figure:
    """NLL against the share of votes that are wrong, or of judges that are absent."""
    return plot_corruption(prepare_corruption(result, scenario), x=x)
