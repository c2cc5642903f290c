"""Presentation of distortions: which calibrators repair them?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import (
    CURATE_FILL,
    CURATE_LINE,
    INCLUDE,
    NEUTRAL,
    Look,
    add_base_rate,
    add_series,
    laid_out,
)
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing
from judgepanel.present.study import Entry, under_pipeline
from judgepanel.studies.paper.distortion import DISTORTION, Distortion, DistortionSpec
from judgepanel.words.sentences import CALIBRATOR_NAMES, CODING
from judgepanel.words.tables import Column, levels, numbers, text
from judgepanel.words.text import all_judges, listed, percent

DISTORTION_NAMES = {
    "undistorted": "as it is",
    "square": "squared",
    "square_root": "square root",
    "noise_weak": "weak noise",
    "noise_strong": "strong noise",
    "binary_noise": "inverted at random",
    "inversion": "inverted",
    "shuffle": "shuffled",
}
_ROW = 46
_LOOKS = (
    (INCLUDE, "circle"),
    (CURATE_FILL, "diamond"),
    (NEUTRAL, "square"),
    (INCLUDE, "triangle-up-open"),
    (CURATE_LINE, "x-open"),
    (NEUTRAL, "cross-open"),
)


@dataclass(frozen=True, slots=True)
class DistortionView:
    """The calibrators to draw; None draws all."""

    calibrators: tuple[str, ...] | None = None


def distortion_sentence(result: Distortion) -> str:
    """Name the distortions that each calibrator repairs."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for name in result.calibrators:
        if name != "none":
            kinds.setdefault(result.repaired_by(name), []).append(CALIBRATOR_NAMES[name])
    parts = []
    for repaired, names in sorted(kinds.items(), key=lambda item: -len(item[0])):
        words = "none"
        if repaired:
            words = listed([f"'{DISTORTION_NAMES[kind]}'" for kind in repaired])
        verb = "repairs" if len(names) == 1 else "repair"
        parts.append(f"{listed(names)} {verb} {words}")
    if not parts:
        return "No calibrator was asked for."
    answer = (
        f"Of {len(result.distortions) - 1} distortions {'; '.join(parts)}. Repaired means: shown "
        "to lie within 2 % of the NLL without distortion."
    )
    return f"{answer} {CODING}" if result.measures_coding else answer


def distortion_table(result: Distortion) -> dict[str, Column]:
    """Return one row per distortion, with NLL and outcome of every calibrator."""
    columns = {"raw score": text([DISTORTION_NAMES[name] for name in result.distortions])}
    for c, name in enumerate(result.calibrators):
        columns |= {
            f"NLL, {CALIBRATOR_NAMES[name]}": levels(result.nll[:, c], of="nll"),
            CALIBRATOR_NAMES[name]: text([row[c] for row in result.outcomes], of="outcome"),
        }
    return columns | {
        "base rate": numbers(np.full(len(result.distortions), result.null_nll), of="null_nll")
    }


def distortion_figure(result: Distortion, drawn: tuple[str, ...]) -> go.Figure:
    """Draw NLL under the calibrators ``drawn``, one row per distortion, undistorted on top."""
    figure = go.Figure()
    n = len(result.distortions)
    names = [DISTORTION_NAMES[name] for name in result.distortions]
    rows = np.arange(n)[::-1].astype(np.float64)
    spread = np.linspace(0.28, -0.28, max(len(drawn), 2))
    for i, calibrator in enumerate(drawn):
        colour, symbol = _LOOKS[i % len(_LOOKS)]
        nll = result.nll[:, result.calibrators.index(calibrator)]
        name, look = CALIBRATOR_NAMES[calibrator], Look(colour, colour, symbol, "")
        hover = f"{name}, %{{text}}: %{{x:.3f}}"
        add_series(figure, nll, rows + spread[i], look, name, hover, text=names)
    null = [result.null_nll, result.null_nll]
    add_base_rate(figure, null, [-0.6, n - 0.4], "base rate: %{x:.3f}")
    laid_out(figure, x="NLL (nats per item)", y="", height=_ROW * n + 120)
    figure.update_yaxes(tickvals=rows, ticktext=names, range=[-0.6, n - 0.4])
    figure.update_xaxes(rangemode="tozero")
    return figure


def present(
    result: Distortion, spec: DistortionSpec, view: DistortionView = DistortionView()
) -> list[Block]:
    """Present NLL under each distortion, one mark per calibrator."""
    calibrators = result.calibrators if view.calibrators is None else view.calibrators
    return [
        Answer(distortion_sentence(result)),
        drawing(
            "NLL under each distortion of the raw score, one mark per calibrator",
            distortion_figure,
            result,
            calibrators,
        ),
        Table(distortion_table(result)),
        Method(
            f"The one-coin score of {all_judges(result.n_judges)}, as a probability r, is "
            "distorted on calibration and evaluation items alike: r², √r, r plus normal noise "
            f"(standard deviations {spec.weak:g} and {spec.strong:g}), inverted in "
            f"{percent(spec.turned)} of the items, inverted everywhere, and shuffled. "
            "Calibrators are then fitted as everywhere else. The kinds are the paper's; it gives "
            "no levels of noise. Temperature, Platt, beta and isotonic may not invert a score, so "
            "they end at the base rate where it is inverted; the paper's clipped beta may invert "
            "it."
        ),
    ]


ENTRY = Entry(
    DISTORTION,
    present,
    under_pipeline(DistortionSpec, average=False),
    single="an average has no single score to distort",
)
