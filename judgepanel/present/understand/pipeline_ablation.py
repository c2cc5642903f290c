"""What each step of the pipeline adds."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.figures.methods.pipeline_ablation import pipeline_ablation
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing
from judgepanel.studies.methods.ablation_result import STEP_WORDS, PipelineAblation
from judgepanel.studies.methods.pipeline_ablation import PipelineAblationSpec
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import (
    capital,
    counted,
    fixed,
    interval,
    percent,
    with_interval,
)
from judgepanel.words.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING


def ablation_sentence(result: PipelineAblation) -> str:
    """Which step changes the NLL of all judges most, and whether any step hurts."""
    if result.n_splits < 2:
        return "Not enough splits yet to say."
    first = float(result.nll[-1, 0])
    text = (
        f"With {AGGREGATOR_NAMES[result.aggregator]} on all {result.n_judges} judges the raw score "
        f"has NLL {fixed(first, 3)} (base rate: {fixed(result.null_nll, 3)}). "
        f"{capital(_change(result, '1-2', _correction(result)))}; then "
        f"{_change(result, '1-3', CALIBRATED[result.calibrator])}. "
    )
    lo, hi = float(result.residual_lo[-1]), float(result.residual_hi[-1])
    if result.features and (lo > 0.0 or hi < 0.0):
        alone = fixed(float(result.nll[-1, result.steps.index("1+3")]), 3)
        text += f"Without the correction {CALIBRATED[result.calibrator]} alone gets {alone}. "
    held = " and ".join(
        f"sets meant for {percent(level)} hold the label of "
        f"{percent(float(result.coverage[i, -1]), 3)}"
        for i, level in enumerate(result.levels)
    )
    text += f"Of the items left over, {held}."
    return f"{text} {CODING}" if result.measures_coding else text


def _correction(result: PipelineAblation) -> str:
    if not result.features:
        return "the residual correction"
    return f"correcting with {counted(len(result.features), 'item feature')}"


def _change(result: PipelineAblation, step: str, words: str) -> str:
    """How a step moves the NLL of all judges."""
    i = result.steps.index(step)
    value, lo, hi = (float(a[-1, i]) for a in (result.delta, result.delta_lo, result.delta_hi))
    if lo <= 0.0 <= hi:
        return f"{words} changes little: {with_interval(value, lo, hi, sign=True)}"
    if value < 0:
        return f"{words} lowers it by {with_interval(-value, -hi, -lo)}"
    return f"{words} raises it by {with_interval(value, lo, hi)}"


def ablation_table(result: PipelineAblation) -> pd.DataFrame:
    """Every step and panel, all judges first; columns in ``PERCENTS`` are shares.

    Sets are in the rows of step 1-4, NaN elsewhere.
    """
    rows = []
    for p in range(len(result.k) - 1, -1, -1):
        panel = f"all {result.k[p]}" if result.k[p] == result.n_judges else f"top-{result.k[p]}"
        for i, step in enumerate(result.steps):
            lo, hi = float(result.delta_lo[p, i]), float(result.delta_hi[p, i])
            row = {
                "panel": panel,
                "steps": step,
                "what": STEP_WORDS[step],
                "NLL": float(result.nll[p, i]),
                "95 %": interval(float(result.nll_lo[p, i]), float(result.nll_hi[p, i]), 3),
                "skill": float(result.skill[p, i]),
                "against what it builds on": ""
                if step == result.steps[0]
                else with_interval(float(result.delta[p, i]), lo, hi, sign=True),
                "Brier": float(result.brier[p, i]),
                "ECE": float(result.ece[p, i]),
                "accuracy": float(result.accuracy[p, i]),
            }
            sets = step == "1-4"
            for number, level in enumerate(result.levels):
                name = percent(level)
                coverage, size = float(result.coverage[number, p]), float(result.size[number, p])
                row[f"covered at {name}"] = coverage if sets else math.nan
                row[f"set size at {name}"] = size if sets else math.nan
            rows.append(row)
    return pd.DataFrame(rows)


def present(result: PipelineAblation, spec: PipelineAblationSpec) -> list[Block]:
    """The NLL after every step, and every step's figures on every panel."""
    return [
        Answer(ablation_sentence(result)),
        drawing(pipeline_ablation(result), "NLL after each step of the pipeline"),
        Table(as_columns(ablation_table(result))),
        Method(
            "The steps of the paper: 1 sums the votes, 2 corrects the score with item features "
            "where there are any, 3 calibrates, 4 adds conformal sets from a slice of the "
            f"calibration items ({result.n_slice:,.0f} here) that nothing else was fitted to. "
            "Every step sees calibration items only; each step's figures are scores of the items "
            "left over."
        ),
    ]
