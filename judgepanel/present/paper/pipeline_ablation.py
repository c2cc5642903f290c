"""Presentation of the effect of each pipeline step."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.dots import MOST_PANELS, dots
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing
from judgepanel.present.study import Entry
from judgepanel.studies.accumulate import arm_name
from judgepanel.studies.paper.pipeline_ablation import (
    PIPELINE_ABLATION,
    STEP_WORDS,
    PipelineAblation,
    PipelineAblationSpec,
)
from judgepanel.words.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.words.tables import Column, differences, levels, numbers, text
from judgepanel.words.text import all_judges, capital, counted, fixed, percent, with_interval


def ablation_sentence(result: PipelineAblation) -> str:
    """Name the step that changes the NLL of all judges most, and say whether any step hurts."""
    if result.n_splits < 2:
        return "Not enough splits yet to say."
    first = float(result.nll.value[-1, 0])
    who = all_judges(result.n_judges)
    text = (
        f"With {AGGREGATOR_NAMES[result.aggregator]} on {who} the raw score has NLL "
        f"{fixed(first, 3)} (base rate: {fixed(result.null_nll, 3)}). "
        f"{capital(_change(result, '1-2', _correction(result)))}; then "
        f"{_change(result, '1-3', CALIBRATED[result.calibrator])}. "
    )
    behind = result.residual_delta[-1]
    if result.features and (behind.above() or behind.below()):
        alone = fixed(float(result.nll.value[-1, result.steps.index("1+3")]), 3)
        text += f"Without the correction {CALIBRATED[result.calibrator]} alone gets {alone}. "
    held = " and ".join(
        f"sets at the {percent(level)} level hold {percent(float(result.coverage.value[i, -1]), 3)}"
        for i, level in enumerate(result.levels)
    )
    text += f"Of the labels of held-out items, {held}."
    return f"{text} {CODING}" if result.measures_coding else text


def _correction(result: PipelineAblation) -> str:
    if not result.features:
        return "the residual correction"
    return f"correcting with {counted(len(result.features), 'item feature')}"


def _change(result: PipelineAblation, step: str, words: str) -> str:
    """Return a step's effect on the NLL of all judges."""
    delta = result.delta[-1, result.steps.index(step)]
    if delta.below():
        return f"{words} lowers it by {with_interval(*-delta)}"
    if delta.above():
        return f"{words} raises it by {with_interval(*delta)}"
    return f"{words} changes little: {with_interval(*delta, sign=True)}"


def ablation_table(result: PipelineAblation) -> dict[str, Column]:
    """Return every step and panel, all judges first; sets are in the rows of step 1-4."""
    n_panels, n_steps = result.nll.shape
    with_sets = np.array(result.steps) == "1-4"
    panels = [_panel_name(result, p) for p in reversed(range(n_panels))]
    nll = result.nll[::-1].reshape(-1)
    columns = {
        "panel": text([panel for panel in panels for _ in result.steps]),
        "steps": text(result.steps * n_panels),
        "what": text([STEP_WORDS[step] for step in result.steps] * n_panels),
        "NLL": levels(nll),
        "skill": numbers(1.0 - nll.value / result.null_nll, "share"),
        "against what it builds on": differences(
            result.delta.where(np.arange(n_steps) > 0)[::-1].reshape(-1)
        ),
        "Brier": numbers(result.brier.value[::-1].ravel()),
        "ECE": numbers(result.ece.value[::-1].ravel()),
        "accuracy": numbers(result.accuracy.value[::-1].ravel(), "share"),
    }
    for i, level in enumerate(result.levels):
        coverage, size = (
            np.where(with_sets, figure.value[i, ::-1, None], np.nan).ravel()
            for figure in (result.coverage, result.size)
        )
        columns |= {
            f"covered at {percent(level)}": numbers(coverage, "share"),
            f"set size at {percent(level)}": numbers(size),
        }
    return columns


def ablation_figure(result: PipelineAblation) -> go.Figure:
    """Draw NLL after each step, for all judges and the largest smaller panels."""
    steps = [f"{step.replace('-', '–')}: {STEP_WORDS[step]}" for step in result.steps]
    panels = list(reversed(range(len(result.k))))[:MOST_PANELS]
    return dots(steps, {_panel_name(result, p): result.nll[p] for p in panels}, result.null_nll)


def _panel_name(result: PipelineAblation, p: int) -> str:
    k = int(result.k[p])
    return f"all {k}" if k == result.n_judges else arm_name(k)


def present(result: PipelineAblation, spec: PipelineAblationSpec) -> list[Block]:
    """Present the NLL after every step, and every step's figures on every panel."""
    return [
        Answer(ablation_sentence(result)),
        drawing("NLL after each step of the pipeline", ablation_figure, result),
        Table(ablation_table(result)),
        Method(
            "The steps of the paper: 1 sums the votes, 2 corrects the score with item features "
            "where there are any, 3 calibrates, 4 adds conformal sets from a slice of the "
            f"calibration items ({result.n_slice:,.0f} here) that nothing else was fitted to. "
            "Every step sees calibration items only; each step's figures are scores of the "
            "held-out items."
        ),
    ]


ENTRY = Entry(PIPELINE_ABLATION, present)
