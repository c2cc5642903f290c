"""A forest plot of candidates: NLL with intervals, the recommended one on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import (
    CURATE_LINE,
    INCLUDE,
    NEUTRAL,
    add_base_rate,
    error_bars,
    escaped,
    laid_out,
)
from judgepanel.scoring.interval import Interval

Standing = Literal["recommended", "taken instead", "not told apart from it", "worse", "better"]

_LOOKS: dict[Standing, tuple[str, str, int]] = {
    "recommended": (INCLUDE, "diamond", 15),
    "taken instead": (CURATE_LINE, "square", 13),
    "not told apart from it": (NEUTRAL, "circle-open", 11),
    "worse": (CURATE_LINE, "circle", 9),
    "better": (INCLUDE, "star", 11),
}
_ROW_HEIGHT = 47
_LABEL = 29
"""Characters per line of a label, so that narrow screens keep room for the dots."""


@dataclass(frozen=True, slots=True, eq=False)
class ForestRow:
    """A candidate: its name, NLL, standing against the recommended one, and a note, often ''."""

    name: str
    nll: Interval
    standing: Standing
    note: str


def forest(rows: Sequence[ForestRow], null: float) -> go.Figure:
    """Candidates from top to bottom against NLL, with the base rate's NLL ``null`` as a line.

    Shape, fill and colour all show the standing of a row.
    """
    figure = go.Figure()
    places = np.arange(len(rows))
    for standing, (colour, symbol, size) in _LOOKS.items():
        of = [place for place, row in enumerate(rows) if row.standing == standing]
        if not of:
            continue
        nll = Interval.stacked(rows[place].nll for place in of)
        figure.add_scatter(
            x=nll.value,
            y=places[of],
            mode="markers",
            name=standing,
            marker={"color": colour, "symbol": symbol, "size": size, "line": {"width": 2}},
            error_x=error_bars(nll, colour),
            text=[_hover(rows[place]) for place in of],
            hovertemplate="%{text}<extra></extra>",
        )
    add_base_rate(figure, [null, null], [-0.5, len(rows) - 0.5], "base rate: %{x:.3f}")
    laid_out(figure, x="NLL (nats per item)", y="", height=110 + _ROW_HEIGHT * len(rows))
    figure.update_yaxes(
        tickvals=places,
        ticktext=[_label(row) for row in rows],
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
    )
    return figure


def _label(row: ForestRow) -> str:
    label = "<br>".join(wrap(_title(row), _LABEL))
    return f"<b>{label}</b>" if row.standing == "recommended" else label


def _title(row: ForestRow) -> str:
    return ", ".join(escaped(part) for part in (row.name, row.note) if part)


def _hover(row: ForestRow) -> str:
    value, lo, hi = row.nll
    return f"{_title(row)}<br>NLL {value:.3f} [{lo:.3f}, {hi:.3f}], {row.standing}"
