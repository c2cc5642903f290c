"""Presentation of the simulation of judges of similar accuracy: does pruning pay?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import plotly.graph_objects as go

from judgepanel.figures.style import (
    CURATE_LINE,
    DOTTED,
    INCLUDE,
    NEUTRAL,
    Look,
    add_series,
    laid_out,
)
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.present.study import Entry
from judgepanel.studies.paper.narrow_band import NARROW_BAND, NarrowBand, NarrowBandSpec
from judgepanel.words.tables import result_table
from judgepanel.words.text import fixed, listed, percent, sig

_LOOKS = (
    (INCLUDE, "circle", "solid"),
    (NEUTRAL, "square", "dot"),
    (CURATE_LINE, "diamond", "dash"),
)


@dataclass(frozen=True, slots=True)
class NarrowBandView:
    """Positions of the panel size and of the kept share to draw."""

    size: int = -1
    share: int = 0


def band_sentence(result: NarrowBand) -> str:
    """Say how many simulated cells each side wins."""
    won = result.winners()
    cells = sum(won.values())
    near = result.winner[0, 0, -1, 0]
    words = {
        "all": "keeping all wins",
        "pruned": "pruning wins",
        "undecided": "neither is shown to win",
    }
    narrow = f"{result.widths[0]:g} wide"
    latent = "independent" if result.rhos[0] == 0 else f"correlated ({result.rhos[0]:g})"
    return (
        f"Simulated, not measured: keeping all has the lower NLL in {won['all']} of {cells} cells, "
        f"pruning in {won['pruned']}, and {won['undecided']} are undecided. Where "
        f"{int(result.sizes[-1]):,} {latent} judges lie in a band {narrow}, {words[near]}."
    )


def placed_sentence(result: NarrowBand) -> str:
    """Locate the given panel among the simulated ones."""
    parts = [f"mean accuracy {percent(result.mean_accuracy, 3)}"]
    if math.isfinite(result.own_width):
        parts.append(f"accuracies as spread as in a band {sig(result.own_width, 2)} wide")
    if math.isfinite(result.own_rho):
        parts.append(f"errors correlated {sig(result.own_rho, 2)} on average")
    simulated = listed([fixed(float(part), 2) for part in result.error_rho.mean(axis=0)])
    return (
        f"This panel: {', '.join(parts)}. The simulated errors are correlated {simulated} on "
        "average. Real judges also differ in which items they find hard; no simulation of this "
        "kind knows that."
    )


def band_figure(result: NarrowBand, size: int, share: int) -> go.Figure:
    """Draw the cost (above 0) or saving of pruning in simulated panels, for one size and share.

    The intervals hold for all cells together.
    """
    figure = go.Figure()
    figure.add_hline(y=0.0, line=DOTTED)
    n = len(result.rhos)
    for i, rho in enumerate(result.rhos):
        colour, symbol, dash = _LOOKS[i % len(_LOOKS)]
        name = f"latent correlation {rho:g}"
        delta = result.band[:, i, size, share]
        look = Look(colour, colour, symbol, dash, 2.5)
        x = result.widths + 0.004 * (i - (n - 1) / 2)
        add_series(figure, x, delta, look, name, f"{name}: %{{y:+.3f}}")
    if math.isfinite(result.own_width):
        figure.add_vline(x=result.own_width, line={"color": NEUTRAL, "width": 1, "dash": "dash"})
    return laid_out(
        figure, x="width of the band of accuracies", y="NLL pruned - NLL all (simulated)"
    )


def present(
    result: NarrowBand, spec: NarrowBandSpec, view: NarrowBandView = NarrowBandView()
) -> list[Block]:
    """Present the cost of pruning in simulated panels, and the position of the given panel."""
    last = len(result.sizes) - 1
    size = last if view.size < 0 else min(view.size, last)
    return [
        Answer(band_sentence(result)),
        drawing(
            "what pruning costs in simulated panels, against the width of the band",
            band_figure,
            result,
            size,
            view.share,
        ),
        Paragraph(f"{placed_sentence(result)} The dashed line is this panel's spread.", quiet=True),
        Table(result_table(result), height=320),
        Method(
            f"{result.n_replicates} panels per cell are simulated (seed {result.seed}) with this "
            f"panel's mean accuracy ({percent(result.mean_accuracy, 3)}), its share of votes that "
            f"are there ({percent(result.coverage, 3)}) and {result.n_calibration:,} labels; "
            f"{result.n_evaluation:,} new items evaluate. Accuracies are uniform in the band, "
            "votes share one Gaussian factor, items are equally hard. A cell has a winner where "
            "the interval that holds for all cells together leaves 0 out. Only the figures of "
            "this panel are measured on your votes."
        ),
    ]


ENTRY = Entry(NARROW_BAND, present, single="its judges are simulated")
