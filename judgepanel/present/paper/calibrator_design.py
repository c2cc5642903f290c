"""Presentation of calibrators on the same scores: their shapes and their NLL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import CURATE_LINE, INCLUDE, NEUTRAL, laid_out
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing
from judgepanel.present.study import Entry
from judgepanel.studies.paper.calibrator_design import (
    CALIBRATOR_DESIGN,
    CalibratorDesign,
    CalibratorDesignSpec,
)
from judgepanel.words.sentences import AGGREGATOR_NAMES, CALIBRATED, CALIBRATOR_NAMES, CODING
from judgepanel.words.tables import Column, levels, numbers, text
from judgepanel.words.text import all_judges, fixed, level

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
"""Colour, dash, marker and width; dash and marker alone distinguish all pairs."""

_MARKERS = 9


@dataclass(frozen=True, slots=True)
class CalibratorDesignView:
    """The calibrators to draw; None draws all."""

    calibrators: tuple[str, ...] | None = None


def design_sentence(result: CalibratorDesign) -> str:
    """Name the calibrator with the lowest NLL on all judges, and the raw score's difference."""
    nll = result.nll[:, -1]
    best = int(nll.value.argmin())
    name = result.calibrators[best]
    where = f"On {all_judges(result.n_judges)} with {AGGREGATOR_NAMES[result.aggregator]}"
    if name == "none":
        text = f"{where}, no calibrator improves on the raw score: NLL {level(*nll[best])}"
    else:
        text = f"{where}, {CALIBRATED[name]} has the lowest NLL, {level(*nll[best])}"
        if "none" in result.calibrators:
            text += f". The raw score has {level(*nll[result.calibrators.index('none')])}"
    text += f". The base rate alone has {fixed(result.null_nll, 3)}."
    return f"{text} {CODING}" if result.measures_coding else text


def design_table(result: CalibratorDesign) -> dict[str, Column]:
    """Return every calibrator: figures on all judges, then the NLL of smaller panels."""
    *smaller, everyone = result.k
    columns = {
        "calibrator": text([CALIBRATOR_NAMES[name] for name in result.calibrators]),
        f"NLL, all {everyone}": levels(result.nll[:, -1], of="nll"),
        "skill": numbers(1.0 - result.nll.value[:, -1] / result.null_nll, "share"),
        "constant score": numbers(result.constant_nll, of="constant_nll"),
        "Spearman ρ": numbers(result.rho.value[:, -1], of="rho"),
        "ECE": numbers(result.ece.value[:, -1]),
        "accuracy": numbers(result.accuracy.value[:, -1], "share"),
    }
    for p, k in reversed(list(enumerate(smaller))):
        columns[f"NLL, top-{k}"] = levels(result.nll[:, p], of="nll")
    return columns


def design_figure(design: CalibratorDesign, drawn: Sequence[str] | None = None) -> go.Figure:
    """Draw the map of each calibrator, fitted on all labelled items and judges.

    One line per calibrator of ``drawn`` that the result has, in that order; None draws all.
    """
    names = [n for n in (design.calibrators if drawn is None else drawn) if n in design.calibrators]
    figure = go.Figure()
    for number, name in enumerate(names):
        colour, dash, symbol, width = _STYLES[name]
        marked = _marked(design.shape_logit, (number + 0.5) / len(names))
        figure.add_scatter(
            x=design.shape_logit,
            y=design.shape[design.calibrators.index(name)],
            mode="lines+markers" if symbol else "lines",
            name=CALIBRATOR_NAMES[name],
            line={"color": colour, "dash": dash, "width": width},
            marker={"symbol": symbol, "size": np.where(marked, 8, 0), "opacity": 1.0}
            if symbol
            else None,
            hovertemplate=f"{CALIBRATOR_NAMES[name]}: raw logit %{{x:.1f}} becomes "
            "%{y:.1%}<extra></extra>",
        )
    laid_out(figure, x="raw score (logit)", y="probability of label 1")
    figure.update_layout(legend_itemsizing="constant", legend_itemwidth=44)
    figure.update_yaxes(tickformat=".0%", range=[-0.02, 1.02])
    return figure


def _marked(logit: NDArray[np.float64], phase: float) -> NDArray[np.bool_]:
    """Mask (n_points,) nearest to evenly spaced scores; overlapping lines mark different points."""
    wanted = logit[0] + (np.arange(_MARKERS) + phase) / _MARKERS * (logit[-1] - logit[0])
    marked = np.zeros(len(logit), dtype=bool)
    marked[np.abs(logit[:, None] - wanted).argmin(axis=0)] = True
    return marked


def present(
    result: CalibratorDesign,
    spec: CalibratorDesignSpec,
    view: CalibratorDesignView = CalibratorDesignView(),
) -> list[Block]:
    """Present every calibrator as a curve, and its figures on all judges and on smaller panels."""
    return [
        Answer(design_sentence(result)),
        drawing(
            "what each calibrator makes of a raw score", design_figure, result, view.calibrators
        ),
        Table(design_table(result)),
        Method(
            "The lines are fitted to all labelled items, with scores that do not know their own "
            "label. The table is out of sample, as everywhere. Spearman ρ compares the order of "
            "the evaluation items before and after; it is 1 where a calibrator keeps the order. "
            "The column 'constant score' is the NLL of a constant score, without any judge, "
            "through the same calibrator."
        ),
    ]


ENTRY = Entry(CALIBRATOR_DESIGN, present)
