"""Presentation of permuted labels: do labels leak, and are the real ones predicted?"""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import (
    BAND_OPACITY,
    INCLUDE,
    NEUTRAL,
    Look,
    add_series,
    laid_out,
    with_opacity,
)
from judgepanel.kernels.aggregation import cross_fits
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, drawing
from judgepanel.present.study import Entry, Pipeline, spec_under
from judgepanel.scoring.inference import MARGIN
from judgepanel.studies.contract import Settings
from judgepanel.studies.paper.permutation import PERMUTATION, Permutation, PermutationSpec
from judgepanel.votes import VoteMatrix
from judgepanel.words.sentences import CODING
from judgepanel.words.text import fixed, level, p_value

ALPHA = 0.05
_BINS = 60
_LEAST = 1e-3
_PALE = 0.5


def permutation_sentence(result: Permutation) -> str:
    """Say whether permuted labels fall back to their base rate, and real ones do not."""
    if result.identical:
        return (
            "Every label is the same and taken as given, so permuting labels changes nothing: this "
            f"check is empty here. {CODING}"
        )
    if not math.isfinite(result.p) or not math.isfinite(result.excess.lo):
        return "Not enough permutations yet to say."
    permuted, null = f"NLL {level(*result.spread)}", fixed(result.mean_null, 3)
    if result.leaks:
        text = (
            f"Permuted labels are predicted better than their base rate: {permuted} against "
            f"{null}. Labels leak into the fit."
        )
    elif result.excess.above(MARGIN * result.mean_null):
        text = (
            "Nothing leaks: permuted labels are predicted worse than their base rate. "
            f"{permuted} against {null}: the probabilities are too sure, for lack of a calibrator. "
        )
        text += _real(result)
    else:
        text = "With permuted labels the pipeline falls back to the base rate: "
        text += f"{permuted}, base rate {null}."
        text += f" {_real(result)}"
    return f"{text} {CODING}" if result.measures_coding else text


def _real(result: Permutation) -> str:
    real = f"NLL {level(*result.nll)}, {p_value(result.p)}"
    if result.p < ALPHA:
        return f"With the real labels it does better: {real}."
    return f"The real labels are not told apart from permuted ones: {real}."


def permutation_figure(result: Permutation) -> go.Figure:
    """Draw permuted NLLs in bins, their base rate, and the real NLL with its interval if known."""
    figure = go.Figure()
    ends = np.array([*result.nll, *result.permuted_nll])
    ends = ends[np.isfinite(ends)]
    # A sixtieth of the drawn range, so that a narrow peak is visible.
    width = max(float(ends.max() - ends.min()) / _BINS, _LEAST) if len(ends) else _LEAST
    place, count = np.unique(np.floor(result.permuted_nll / width), return_counts=True)
    figure.add_bar(
        x=(place + 0.5) * width,
        y=count,
        width=width,
        marker={"color": with_opacity(NEUTRAL, _PALE)},
        name="permuted labels",
        hovertemplate="%{y} permutations near NLL %{x:.3f}<extra></extra>",
    )
    nll, lo, hi = result.nll
    if math.isfinite(lo):
        fill = with_opacity(INCLUDE, BAND_OPACITY)
        figure.add_vrect(x0=lo, x1=hi, fillcolor=fill, line_width=0)
    top = int(count.max(initial=1))
    for x, colour, dash, name in (
        (result.mean_null, NEUTRAL, "dot", "base rate of permuted labels"),
        (nll, INCLUDE, "solid", "real labels, 95 %"),
    ):
        if math.isfinite(x):
            look = Look(colour, colour, "", dash)
            add_series(figure, [x, x], [0, top], look, name, f"{name}: {x:.3f}")
    return laid_out(figure, x="NLL (nats per item)", y="permutations", height=300)


def present(result: Permutation, spec: PermutationSpec) -> list[Block]:
    """Present the NLLs of permuted labels, their base rate and the real labels."""
    return [
        Answer(permutation_sentence(result)),
        drawing(
            "NLLs of permuted labels, their base rate and the NLL of the real labels",
            permutation_figure,
            result,
        ),
        Paragraph(
            f"All of it on the same {result.n_splits} splits, since every permutation is refitted; "
            f"other studies use more, and their NLL differs a little.",
            quiet=True,
        ),
        Method(
            f"{len(result.permuted_nll)} of {result.planned} permutations (seed {result.seed}): "
            f"{result.action}. Each permutation moves the labels of all items; then everything is "
            f"fitted and scored on the same {result.n_splits} splits. The p-value is the share of "
            "permutations, the real labels among them, whose NLL is at or below the real one. It "
            "needs no assumption about the judges."
        ),
    ]


def default_specs(
    votes: VoteMatrix, settings: Settings, pipeline: Pipeline
) -> tuple[PermutationSpec, ...]:
    """Return the default pipeline, or the paper's if thousands of fits would take too long."""
    chosen = Pipeline() if cross_fits(pipeline.aggregator) else pipeline
    return (spec_under(PermutationSpec, settings, chosen, average=False),)


ENTRY = Entry(
    PERMUTATION,
    present,
    default_specs,
    single="every permutation would need recommendations of its own",
)
