"""Which slices of the items need labels of their own."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.figures.robustness.slice_losses import slice_losses
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.present.robustness.transfer import WAITING
from judgepanel.studies.robustness.slice_transfer import SliceTransferSpec
from judgepanel.studies.robustness.slice_transfer_result import Outcome, SliceTransfer
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import (
    capital,
    counted,
    fixed,
    interval,
    level,
    listed,
    p_cell,
    with_interval,
)
from judgepanel.words.sentences import CODING
from judgepanel.words.terminal import one_line

_NAME = 60


def slice_sentence(result: SliceTransfer) -> str:
    """Which slices need labels of their own."""
    if not result.slices:
        return " ".join(result.warnings[-1:]) or "There is no slice to leave out."
    worst = worst_slice(result)
    if not math.isfinite(float(result.p_holm[worst, 1])):
        return WAITING
    outcomes = [result.outcome(g) for g in range(len(result.slices))]
    failing = outcomes.count("fails")
    name = one_line(result.slices[worst])[:_NAME]
    loss = with_interval(
        float(result.delta[worst, 1]),
        float(result.band_lo[worst, 1]),
        float(result.band_hi[worst, 1]),
        sign=True,
    )
    nll = level(*(float(part[worst, 1]) for part in (result.nll, result.nll_lo, result.nll_hi)))
    if outcomes[worst] == "fails":
        text = (
            f"Without labels of the slice '{name}' it fails there: NLL {nll}, "
            f"{fixed(float(result.nll[worst, 0]), 3)} with as many labels of its own (loss {loss}; "
            f"base rate {fixed(float(result.null_nll[worst, 1]), 3)}). "
            f"{capital(_counts(failing, outcomes))}."
        )
    else:
        feature = one_line(result.feature or "")[:_NAME]
        text = (
            f"None of {counted(len(outcomes), 'slice')} by {feature} is shown to need labels of "
            f"its own; the largest loss is {loss}, on '{name}'. "
            f"{capital(_counts(failing, outcomes))}."
        )
    return f"{text} {CODING}" if result.measures_coding else text


def worst_slice(result: SliceTransfer) -> int:
    """The failing slice that loses most, or else the slice that loses most."""
    places = range(len(result.slices))
    failing = [g for g in places if result.outcome(g) == "fails"]
    return max(failing or places, key=lambda g: float(result.delta[g, 1]))


def _counts(failing: int, outcomes: list[Outcome]) -> str:
    counts = (
        (failing, "fails", "fail"),
        (outcomes.count("holds"), "holds within 2 %", "hold within 2 %"),
        (outcomes.count("helps"), "gains", "gain"),
        (outcomes.count("undecided"), "is undecided", "are undecided"),
    )
    parts = [f"{n} {singular if n == 1 else plural}" for n, singular, plural in counts if n]
    return f"of {counted(len(outcomes), 'slice')} {listed(parts)}"


def slice_table(result: SliceTransfer) -> pd.DataFrame:
    """Every slice under its own labels and those from elsewhere."""

    def levels(arm: int) -> list[str]:
        return [
            level(*(float(part[g, arm]) for part in (result.nll, result.nll_lo, result.nll_hi)))
            for g in range(len(result.slices))
        ]

    return pd.DataFrame(
        {
            "slice": [one_line(name)[:_NAME] for name in result.slices],
            "items": result.n_slice,
            "labels": [round(float(n)) for n in result.labels[:, 0]],
            "NLL, own labels": levels(0),
            "NLL, from elsewhere": levels(1),
            "base rate": result.null_nll[:, 1],
            "loss": [
                with_interval(float(value), float(lo), float(hi), sign=True)
                for value, lo, hi in zip(
                    result.delta[:, 1], result.delta_lo[:, 1], result.delta_hi[:, 1], strict=True
                )
            ],
            "all slices together": [
                interval(float(lo), float(hi), sign=True)
                for lo, hi in zip(result.band_lo[:, 1], result.band_hi[:, 1], strict=True)
            ],
            "p, Holm": [p_cell(float(p)) for p in result.p_holm[:, 1]],
            "outcome": [result.outcome(g) for g in range(len(result.slices))],
            "more labels": [round(float(n)) for n in result.labels[:, 2]],
            "NLL, more from elsewhere": levels(2),
        }
    )


def present(result: SliceTransfer, spec: SliceTransferSpec) -> list[Block]:
    """What labels from elsewhere cost on every slice; one sentence where there is no slice."""
    answer = Answer(slice_sentence(result))
    if not result.slices:
        return [answer]
    return [
        answer,
        drawing(slice_losses(result), "what labels from elsewhere cost on every slice"),
        Paragraph(
            "Intervals hold in all slices together. Right of 0 a slice needs labels of its own.",
            quiet=True,
        ),
        Table(as_columns(slice_table(result))),
        Method(
            f"{result.n_splits} random splits (seed {result.seed}). Part of a slice is scored by "
            "panels fitted on its other items, on as many labels of the other slices, and on the "
            "calibration share of all other slices. Groups with a scored item give no labels. A "
            "slice fails where the loss is shown after Holm's correction over the slices, and "
            "holds where it stays below 2 % of the NLL of its own labels."
        ),
    ]
