"""The shapes calibrators take: what each makes of a raw score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import CURATE_FILL, CURATE_LINE, INCLUDE, NEUTRAL, laid_out
from judgepanel.studies.calibrator_design import CalibratorDesign

Floats = NDArray[np.float64]

_STYLES: dict[str, tuple[str, str, float]] = {
    "none": (NEUTRAL, "dash", 1.5),
    "temperature": (INCLUDE, "solid", 3),
    "platt": (INCLUDE, "dot", 2),
    "beta": (CURATE_LINE, "solid", 3),
    "beta_clipped": (NEUTRAL, "dot", 1.5),
    "beta_l2": (CURATE_LINE, "dot", 2),
    "beta_free": (CURATE_LINE, "dash", 2),
    "beta_cv": (CURATE_FILL, "dashdot", 2),
    "isotonic": ("#2F7D5B", "solid", 2),
    "auto": (NEUTRAL, "longdash", 2),
}


@dataclass(frozen=True, slots=True, eq=False)
class CalibratorLines:
    """``logit`` (n_points,) raw scores and ``p`` (n_calibrators, n_points) calibrated ones."""

    names: tuple[str, ...]
    logit: Floats
    p: Floats


def prepare_calibrator_shapes(design: CalibratorDesign, shown: tuple[str, ...]) -> CalibratorLines:
    """Lines of the calibrators in ``shown`` that the result has, in that order."""
    names = tuple(name for name in shown if name in design.calibrators)
    rows = [design.calibrators.index(name) for name in names]
    return CalibratorLines(names, design.shape_logit, design.shape[rows])


def plot_calibrator_shapes(
    lines: CalibratorLines, *, calibrator_names: Mapping[str, str]
) -> go.Figure:
    """Calibrated probability against the raw logit, one line a calibrator."""
    figure = go.Figure()
    for name, p in zip(lines.names, lines.p, strict=True):
        colour, dash, width = _STYLES[name]
        figure.add_scatter(
            x=lines.logit,
            y=p,
            mode="lines",
            name=calibrator_names[name],
            line={"color": colour, "dash": dash, "width": width},
            hovertemplate=f"{calibrator_names[name]}: raw logit %{{x:.1f}} becomes "
            "%{y:.1%}<extra></extra>",
        )
    laid_out(figure, x="raw score (logit)", y="probability of label 1")
    figure.update_yaxes(tickformat=".0%", range=[-0.02, 1.02])
    return figure


def calibrator_shapes(
    design: CalibratorDesign, shown: tuple[str, ...], *, calibrator_names: Mapping[str, str]
) -> go.Figure:
    """What each calibrator makes of a raw score, fitted on all labelled items and judges."""
    return plot_calibrator_shapes(
        prepare_calibrator_shapes(design, shown), calibrator_names=calibrator_names
    )
