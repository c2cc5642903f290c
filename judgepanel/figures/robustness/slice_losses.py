"""What labels from elsewhere cost in every slice of the items."""

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
    escaped,
    laid_out,
)
from judgepanel.studies.robustness.slice_transfer_result import SliceTransfer

Floats = NDArray[np.float64]

_ROW_HEIGHT = 34
_NAME = 24


@dataclass(frozen=True, slots=True, eq=False)
class SliceLosses:
    """Slices by loss, the largest first: ``delta`` (n,) with its band for all slices together;
    ``fails`` (n,) marks those whose loss is shown; ``text`` is what a pointer says.
    """

    names: tuple[str, ...]
    delta: Floats
    lo: Floats
    hi: Floats
    fails: NDArray[np.bool_]
    text: tuple[str, ...]


def prepare_slices(result: SliceTransfer) -> SliceLosses:
    """Losses of labels from elsewhere against as many of the slice's own."""
    order = np.argsort(-result.delta[:, 1], kind="stable")
    return SliceLosses(
        names=tuple(escaped(result.slices[g], _NAME) for g in order),
        delta=result.delta[order, 1],
        lo=result.band_lo[order, 1],
        hi=result.band_hi[order, 1],
        fails=np.array([result.outcome(int(g)) == "fails" for g in order], dtype=bool),
        text=tuple(_hover_text(result, int(g)) for g in order),
    )


def plot_slices(losses: SliceLosses) -> go.Figure:
    """The figure of prepared losses."""
    figure = go.Figure()
    figure.add_vline(x=0.0, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    kinds = (
        ("loss is shown", losses.fails, CURATE_FILL, CURATE_LINE, "diamond"),
        ("not shown", ~losses.fails, INCLUDE, INCLUDE, "circle"),
    )
    for name, chosen, fill, line, symbol in kinds:
        rows = np.flatnonzero(chosen)
        if not len(rows):
            continue
        figure.add_scatter(
            x=losses.delta[rows],
            y=rows,
            mode="markers",
            marker={
                "color": fill,
                "symbol": symbol,
                "size": 11,
                "line": {"color": line, "width": 1},
            },
            error_x={
                "type": "data",
                "symmetric": False,
                "array": np.nan_to_num(losses.hi - losses.delta)[rows],
                "arrayminus": np.nan_to_num(losses.delta - losses.lo)[rows],
                "color": line,
                "thickness": 1.6,
                "width": 4,
            },
            name=name,
            text=[losses.text[row] for row in rows],
            hovertemplate="%{text}<extra></extra>",
        )
    n = len(losses.names)
    laid_out(
        figure,
        x="loss of NLL without own labels",
        y="",
        height=110 + _ROW_HEIGHT * n,
    )
    figure.update_yaxes(
        tickvals=list(range(n)), ticktext=list(losses.names), range=[n - 0.4, -0.6], title=None
    )
    return figure


def slice_losses(result: SliceTransfer) -> go.Figure:
    """What labels from elsewhere cost, slice by slice."""
    return plot_slices(prepare_slices(result))


def _hover_text(result: SliceTransfer, g: int) -> str:
    own, away = float(result.nll[g, 0]), float(result.nll[g, 1])
    return (
        f"{escaped(result.slices[g])}, {result.n_slice[g]:,} items<br>"
        f"own labels: NLL {own:.3f}<br>as many from elsewhere: {away:.3f}<br>"
        f"base rate of those: {result.null_nll[g, 1]:.3f}"
    )
