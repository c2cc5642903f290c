"""NLL under every distortion, one mark a calibrator."""

from __future__ import annotations

from collections.abc import Mapping
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
from judgepanel.scoring.interval import Interval
from judgepanel.studies.robustness.distortion_result import Distortion

Floats = NDArray[np.float64]

_ROW = 46
_LOOKS = (
    (INCLUDE, "circle"),
    (CURATE_FILL, "diamond"),
    (NEUTRAL, "square"),
    (INCLUDE, "triangle-up-open"),
    (CURATE_LINE, "x-open"),
    (NEUTRAL, "cross-open"),
)


@dataclass(frozen=True, slots=True, eq=False)
class DistortionMarks:
    """``value``, ``lo``, ``hi`` (n_distortions, n_calibrators) of NLL; ``null`` the base rate's."""

    distortions: tuple[str, ...]
    calibrators: tuple[str, ...]
    value: Floats
    lo: Floats
    hi: Floats
    null: float


def prepare_distortion(result: Distortion, drawn: tuple[str, ...]) -> DistortionMarks:
    """Marks of the calibrators ``drawn``."""
    columns = [result.calibrators.index(name) for name in drawn]
    return DistortionMarks(
        distortions=result.distortions,
        calibrators=drawn,
        value=result.nll[:, columns],
        lo=result.nll_lo[:, columns],
        hi=result.nll_hi[:, columns],
        null=result.null_nll,
    )


def plot_distortion(
    marks: DistortionMarks, *, names: Mapping[str, str], calibrator_names: Mapping[str, str]
) -> go.Figure:
    """The figure of prepared marks: a row per distortion, the undistorted score on top."""
    figure = go.Figure()
    n = len(marks.distortions)
    rows = np.arange(n)[::-1].astype(np.float64)
    figure.add_vline(x=marks.null, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    spread = np.linspace(0.28, -0.28, max(len(marks.calibrators), 2))
    for i, calibrator in enumerate(marks.calibrators):
        colour, symbol = _LOOKS[i % len(_LOOKS)]
        bars = error_bars(Interval(marks.value[:, i], marks.lo[:, i], marks.hi[:, i]), colour)
        figure.add_scatter(
            x=marks.value[:, i],
            y=rows + spread[i],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_x={**bars, "width": 2},
            name=calibrator_names[calibrator],
            text=[names[name] for name in marks.distortions],
            hovertemplate=f"{calibrator_names[calibrator]}, %{{text}}: %{{x:.3f}}<extra></extra>",
        )
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dot"},
        name="null: the base rate",
    )
    laid_out(figure, x="NLL (nats per item)", y="", height=_ROW * n + 120)
    figure.update_yaxes(
        tickvals=rows, ticktext=[names[name] for name in marks.distortions], range=[-0.6, n - 0.4]
    )
    figure.update_xaxes(rangemode="tozero")
    return figure


def distortion(
    result: Distortion,
    drawn: tuple[str, ...],
    *,
    names: Mapping[str, str],
    calibrator_names: Mapping[str, str],
) -> go.Figure:
    """What each distortion does to the NLL under each calibrator."""
    return plot_distortion(
        prepare_distortion(result, drawn), names=names, calibrator_names=calibrator_names
    )
