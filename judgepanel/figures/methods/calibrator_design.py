"""The shapes calibrators take: what each makes of a raw score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import CURATE_LINE, INCLUDE, NEUTRAL, laid_out
from judgepanel.studies.methods.calibrator_design import CalibratorDesign

Floats = NDArray[np.float64]

_GREEN = "#2F7D5B"
_STYLES: dict[str, tuple[str, str, str | None, float]] = {
    "none": (NEUTRAL, "dash", None, 1.5),
    "temperature": (INCLUDE, "solid", "circle", 2),
    "platt": (INCLUDE, "dot", "square-open", 2),
    "beta": (CURATE_LINE, "solid", "diamond", 2),
    "beta_clipped": (NEUTRAL, "dot", "x", 1.5),
    "beta_l2": (CURATE_LINE, "dot", "diamond-open", 2),
    "beta_free": (CURATE_LINE, "dash", "triangle-up-open", 2),
    "beta_cv": (CURATE_LINE, "dashdot", "triangle-down-open", 2),
    "isotonic": (_GREEN, "solid", None, 2),
    "auto": (NEUTRAL, "longdash", "cross", 2),
}
"""Colour, dash, marker and width; dash and marker alone tell any two apart."""

_MARKERS = 9


@dataclass(frozen=True, slots=True, eq=False)
class CalibratorLines:
    """``logit`` (n_points,) raw scores and ``p`` (n_calibrators, n_points) calibrated ones."""

    names: tuple[str, ...]
    logit: Floats
    p: Floats


def prepare_calibrator_shapes(
    design: CalibratorDesign, displayed: tuple[str, ...]
) -> CalibratorLines:
    """Lines of the calibrators in ``displayed`` that the result has, in that order."""
    names = tuple(name for name in displayed if name in design.calibrators)
    rows = [design.calibrators.index(name) for name in names]
    return CalibratorLines(names, design.shape_logit, design.shape[rows])


def plot_calibrator_shapes(
    lines: CalibratorLines, *, calibrator_names: Mapping[str, str]
) -> go.Figure:
    """Calibrated probability against the raw logit, one line per calibrator."""
    figure = go.Figure()
    for number, (name, p) in enumerate(zip(lines.names, lines.p, strict=True)):
        colour, dash, symbol, width = _STYLES[name]
        marked = _marked(lines.logit, (number + 0.5) / len(lines.names))
        figure.add_scatter(
            x=lines.logit,
            y=p,
            mode="lines+markers" if symbol else "lines",
            name=calibrator_names[name],
            line={"color": colour, "dash": dash, "width": width},
            marker={"symbol": symbol, "size": np.where(marked, 8, 0), "opacity": 1.0}
            if symbol
            else None,
            hovertemplate=f"{calibrator_names[name]}: raw logit %{{x:.1f}} becomes "
            "%{y:.1%}<extra></extra>",
        )
    laid_out(figure, x="raw score (logit)", y="probability of label 1")
    figure.update_layout(legend_itemsizing="constant", legend_itemwidth=44)
    figure.update_yaxes(tickformat=".0%", range=[-0.02, 1.02])
    return figure


def _marked(logit: Floats, phase: float) -> NDArray[np.bool_]:
    """Points (n_points,) nearest to evenly spaced scores; lines on each other mark others."""
    wanted = logit[0] + (np.arange(_MARKERS) + phase) / _MARKERS * (logit[-1] - logit[0])
    marked = np.zeros(len(logit), dtype=bool)
    marked[np.abs(logit[:, None] - wanted).argmin(axis=0)] = True
    return marked


def calibrator_shapes(
    design: CalibratorDesign, calibrators: tuple[str, ...], *, calibrator_names: Mapping[str, str]
) -> go.Figure:
    """What each calibrator makes of a raw score, fitted on all labelled items and judges."""
    return plot_calibrator_shapes(
        prepare_calibrator_shapes(design, calibrators), calibrator_names=calibrator_names
    )
