"""Judges who are nearly alike: whether pruning pays, in a simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgepanel.figures.robustness.narrow_band import narrow_band
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.studies.robustness.narrow_band import NarrowBandSpec
from judgepanel.studies.robustness.narrow_band_result import NarrowBand
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import fixed, interval, listed, percent, sig, with_interval


@dataclass(frozen=True, slots=True)
class NarrowBandView:
    """Which panel size and which share of judges to keep are drawn, by their places."""

    size: int = -1
    share: int = 0


def band_sentence(result: NarrowBand) -> str:
    """Who wins in how many simulated cells."""
    won = result.winners()
    cells = sum(won.values())
    near = result.winner((0, 0, -1, 0))
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
    """Where the panel at hand lies among the simulated ones."""
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


def band_table(result: NarrowBand) -> pd.DataFrame:
    """One row per cell."""
    cells = list(np.ndindex(result.delta.shape))
    return pd.DataFrame(
        {
            "band": [float(result.widths[w]) for w, *_ in cells],
            "latent correlation": [float(result.rhos[r]) for _, r, *_ in cells],
            "of errors": [float(result.error_rho[w, r]) for w, r, *_ in cells],
            "judges": [int(result.sizes[s]) for *_, s, _ in cells],
            "kept": [percent(float(result.shares[share])) for *_, share in cells],
            "NLL, all": [float(result.nll[cell]) for cell in cells],
            "pruned - all": [
                with_interval(
                    float(result.delta[cell]),
                    float(result.lo[cell]),
                    float(result.hi[cell]),
                    sign=True,
                )
                for cell in cells
            ],
            "all cells together": [
                interval(float(result.band_lo[cell]), float(result.band_hi[cell]), sign=True)
                for cell in cells
            ],
            "wins": [result.winner(cell) for cell in cells],
            "accuracy, all": [float(result.accuracy[cell]) for cell in cells],
            "accuracy lost by pruning": [
                with_interval(
                    float(result.loss[cell]),
                    float(result.loss_lo[cell]),
                    float(result.loss_hi[cell]),
                    sign=True,
                )
                for cell in cells
            ],
            "base rate": result.null_nll,
        }
    )


def present(
    result: NarrowBand, spec: NarrowBandSpec, view: NarrowBandView = NarrowBandView()
) -> list[Block]:
    """What pruning costs in simulated panels, and where the panel at hand lies among them."""
    last = len(result.sizes) - 1
    size = last if view.size < 0 else min(view.size, last)
    return [
        Answer(band_sentence(result)),
        drawing(
            narrow_band(result, size, view.share),
            "what pruning costs in simulated panels, against the width of the band",
        ),
        Paragraph(f"{placed_sentence(result)} The dashed line is this panel's spread.", quiet=True),
        Table(as_columns(band_table(result)), height=320),
        Method(
            f"{result.n_replicates} panels a cell are simulated (seed {result.seed}) with this "
            f"panel's mean accuracy ({percent(result.mean_accuracy, 3)}), its share of votes that "
            f"are there ({percent(result.coverage, 3)}) and {result.n_calibration:,} labels; "
            f"{result.n_evaluation:,} new items evaluate. Accuracies are uniform in the band, "
            "votes share one Gaussian factor, items are equally hard. A cell has a winner where "
            "the interval that holds for all cells together leaves 0 out. Nothing here is measured "
            "on your votes but what is said of this panel."
        ),
    ]
