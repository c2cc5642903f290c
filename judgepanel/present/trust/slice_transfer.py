"""Presentation of slice transfer: which slices of the items need their own labels?

The summary sentence of the Robustness page: the worst finding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures.style import (
    CURATE_FILL,
    CURATE_LINE,
    DOTTED,
    INCLUDE,
    Look,
    add_series,
    escaped,
    laid_out,
)
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.present.decide.candidate_rows import absent_sentence, worst_absence
from judgepanel.present.study import Entry, Pipeline, spec_under
from judgepanel.present.trust.difficulty_transfer import (
    WAITING,
    abroad,
    fails,
    transfer_sentence,
)
from judgepanel.studies.contract import Settings, grouped_votes, prepare
from judgepanel.studies.slices import slices_of
from judgepanel.studies.trust.difficulty_transfer import DifficultyTransfer
from judgepanel.studies.trust.slice_transfer import (
    SLICE_TRANSFER,
    Outcome,
    SliceTransfer,
    SliceTransferSpec,
)
from judgepanel.votes import VoteMatrix
from judgepanel.words.sentences import CODING
from judgepanel.words.tables import Column, differences, ends, levels, numbers, text
from judgepanel.words.text import capital, counted, fixed, level, listed, one_line, with_interval

_NAME = 60
_LABEL = 24
_ROW_HEIGHT = 34


def slice_sentence(result: SliceTransfer) -> str:
    """Name the slices that need their own labels."""
    if not result.slices:
        return " ".join(result.warnings[-1:]) or "There is no slice to leave out."
    worst = worst_slice(result)
    if not math.isfinite(float(result.p_holm[worst, 1])):
        return WAITING
    outcomes = [result.outcome(g) for g in range(len(result.slices))]
    name = one_line(result.slices[worst])[:_NAME]
    loss = with_interval(*result.band[worst, 1], sign=True)
    if outcomes[worst] == "fails":
        answer = (
            f"Without labels of the slice '{name}' it fails there: NLL "
            f"{level(*result.nll[worst, 1])}, base rate {fixed(result.null_nll[worst, 1], 3)}. "
            f"With as many labels of its own NLL is {fixed(result.nll.value[worst, 0], 3)} "
            f"(loss {loss}). "
            f"{capital(_counts(outcomes))}."
        )
    else:
        feature = one_line(result.feature or "")[:_NAME]
        answer = (
            f"None of {counted(len(outcomes), 'slice')} by {feature} is shown to need its "
            f"own labels; the largest loss is {loss}, on '{name}'. "
            f"{capital(_counts(outcomes))}."
        )
    return f"{answer} {CODING}" if result.measures_coding else answer


def worst_slice(result: SliceTransfer) -> int:
    """Return the failing slice with the largest loss, or else the slice with the largest loss."""
    places = range(len(result.slices))
    failing = [g for g in places if result.outcome(g) == "fails"]
    return max(failing or places, key=lambda g: float(result.delta.value[g, 1]))


def _counts(outcomes: list[Outcome]) -> str:
    counts = (
        (outcomes.count("fails"), "fails", "fail"),
        (outcomes.count("holds"), "holds within 2 %", "hold within 2 %"),
        (outcomes.count("helps"), "gains", "gain"),
        (outcomes.count("undecided"), "is undecided", "are undecided"),
    )
    if len(outcomes) > 1 and len(set(outcomes)) == 1:
        (shared,) = (plural for n, _, plural in counts if n)
        return f"all {len(outcomes)} slices {shared}"
    parts = [f"{n} {singular if n == 1 else plural}" for n, singular, plural in counts if n]
    return f"of {counted(len(outcomes), 'slice')} {listed(parts)}"


def slice_table(result: SliceTransfer) -> dict[str, Column]:
    """Return every slice under its own labels and those from elsewhere."""
    return {
        "slice": text([one_line(name)[:_NAME] for name in result.slices]),
        "items": numbers(result.n_slice, "whole"),
        "labels": numbers(result.labels[:, 0], "whole"),
        "NLL, own labels": levels(result.nll[:, 0], of="nll"),
        "NLL, from elsewhere": levels(result.nll[:, 1], of="nll"),
        "base rate": numbers(result.null_nll[:, 1], of="null_nll"),
        "loss": differences(result.delta[:, 1], of="delta"),
        "all slices together": ends(result.band[:, 1], sign=True),
        "p, Holm": numbers(result.p_holm[:, 1], "p", of="p_holm"),
        "outcome": text([result.outcome(g) for g in range(len(result.slices))]),
        "more labels": numbers(result.labels[:, 2], "whole", of="labels"),
        "NLL, more from elsewhere": levels(result.nll[:, 2], of="nll"),
    }


def slice_figure(result: SliceTransfer) -> go.Figure:
    """Draw the cost of labels from elsewhere, the largest loss first, with bands for all slices."""
    order = np.argsort(-result.delta.value[:, 1], kind="stable")
    band, n = result.band[order, 1], len(order)
    fails = np.array([result.outcome(int(g)) == "fails" for g in order], dtype=bool)
    figure = go.Figure()
    figure.add_vline(x=0.0, line=DOTTED)
    for name, chosen, look in (
        ("loss is shown", fails, Look(CURATE_FILL, CURATE_LINE, "diamond")),
        ("not shown", ~fails, Look(INCLUDE, INCLUDE, "circle")),
    ):
        rows = np.flatnonzero(chosen)
        if not len(rows):
            continue
        add_series(
            figure,
            band[rows],
            rows,
            replace(look, dash="", size=11),
            name,
            "%{text}",
            text=[_hover_text(result, int(g)) for g in order[rows]],
        )
    laid_out(figure, x="loss of NLL without own labels", y="", height=110 + _ROW_HEIGHT * n)
    figure.update_yaxes(
        tickvals=list(range(n)),
        ticktext=[escaped(result.slices[g], _LABEL) for g in order],
        range=[n - 0.4, -0.6],
        title=None,
    )
    return figure


def _hover_text(result: SliceTransfer, g: int) -> str:
    own, away, _ = result.nll.value[g]
    return (
        f"{escaped(result.slices[g])}, {result.n_slice[g]:,} items<br>"
        f"own labels: NLL {own:.3f}<br>as many from elsewhere: {away:.3f}<br>"
        f"base rate of those: {result.null_nll[g, 1]:.3f}"
    )


def present(result: SliceTransfer, spec: SliceTransferSpec) -> list[Block]:
    """Present the cost of labels from elsewhere per slice; one sentence if there is no slice."""
    answer = Answer(slice_sentence(result))
    if not result.slices:
        return [answer]
    return [
        answer,
        drawing("what labels from elsewhere cost on every slice", slice_figure, result),
        Paragraph(
            "Intervals hold in all slices together. Right of 0 a slice needs labels of its own.",
            quiet=True,
        ),
        Table(slice_table(result)),
        Method(
            f"{result.n_splits} random splits (seed {result.seed}). Part of a slice is scored by "
            "panels fitted on its other items, on as many labels of the other slices, and on the "
            "calibration share of all other slices. Groups with a scored item give no labels. A "
            "slice fails where the loss is shown after Holm's correction over the slices, and "
            "holds where it stays below 2 % of the NLL of its own labels."
        ),
    ]


def default_specs(
    votes: VoteMatrix, settings: Settings, pipeline: Pipeline
) -> tuple[SliceTransferSpec, ...]:
    """Return slices by the first feature that has several."""
    return (slice_spec(settings, pipeline, first_feature(votes, settings)),)


def slice_spec(settings: Settings, pipeline: Pipeline, feature: str | None) -> SliceTransferSpec:
    """Return slices by a feature, under the default pipeline."""
    spec: SliceTransferSpec = spec_under(SliceTransferSpec, settings, pipeline, feature=feature)
    return spec


def first_feature(votes: VoteMatrix, settings: Settings) -> str | None:
    """Return the feature that defines slices initially."""
    return slices_of(prepare(grouped_votes(votes, settings), settings), None, 4).feature


ENTRY = Entry(SLICE_TRANSFER, present, default_specs)


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence and its tone: ``curate`` for a failure, ``keep`` for none, else ``open``."""

    sentence: str
    tone: str


def worst_finding(
    transfer: DifficultyTransfer | None,
    calibrator: str,
    slices: SliceTransfer | None = None,
    recommendation: Recommendation | None = None,
) -> Finding:
    """Return the worst of the findings so far.

    That is the transfer, or the absence of judges of the recommended panel, shown to cost most, in
    nats.
    """
    losses = [*_losses(transfer, calibrator, slices), *_absent(recommendation)]
    if losses:
        coded = any(study.measures_coding for study in (transfer, slices) if study is not None)
        return Finding(max(losses)[1], "open" if coded else "curate")
    return Finding(_unbroken(transfer, calibrator, slices), "open")


def _unbroken(
    transfer: DifficultyTransfer | None, calibrator: str, slices: SliceTransfer | None
) -> str:
    """Return the sentence if no loss is shown."""
    if transfer is not None:
        return transfer_sentence(transfer, calibrator)
    if slices is not None and slices.slices:
        return slice_sentence(slices)
    return "Nothing that could be tried here says yet what would break it."


def _absent(recommendation: Recommendation | None) -> list[tuple[float, str]]:
    if recommendation is None or recommendation.absence is None:
        return []
    _, worst = worst_absence(recommendation)
    if not worst.delta.above():
        return []
    return [(float(worst.delta.value), absent_sentence(recommendation))]


def _losses(
    transfer: DifficultyTransfer | None, calibrator: str, slices: SliceTransfer | None
) -> list[tuple[float, str]]:
    """Return the losses that are shown, in nats, each with its sentence."""
    losses = []
    if transfer is not None:
        worst = abroad(transfer, calibrator)[0]
        if fails(worst):
            losses.append((float(worst.delta.value), transfer_sentence(transfer, calibrator)))
    if slices is not None and slices.slices:
        g = worst_slice(slices)
        if slices.outcome(g) == "fails":
            losses.append((float(slices.delta.value[g, 1]), slice_sentence(slices)))
    return losses
