"""What each step of the pipeline adds, in words and a table for people."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.report.numbers import (
    capital,
    counted,
    fixed,
    interval,
    percent,
    with_interval,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.report.tables import printed
from judgepanel.studies.methods.ablation_result import STEP_WORDS, PipelineAblation


def ablation_sentence(found: PipelineAblation) -> str:
    """Which step changes the NLL of all judges most, and whether any step hurts."""
    if found.n_splits < 2:
        return "Not enough splits yet to say."
    first = float(found.nll[-1, 0])
    text = (
        f"With {AGGREGATOR_NAMES[found.aggregator]} on all {found.n_judges} judges the raw score "
        f"has NLL {fixed(first, 3)} (base rate: {fixed(found.null_nll, 3)}). "
        f"{capital(_change(found, '1-2', _correction(found)))}; then "
        f"{_change(found, '1-3', CALIBRATED[found.calibrator])}. "
    )
    lo, hi = float(found.residual_lo[-1]), float(found.residual_hi[-1])
    if found.features and (lo > 0.0 or hi < 0.0):
        alone = fixed(float(found.nll[-1, found.steps.index("1+3")]), 3)
        text += f"Without the correction {CALIBRATED[found.calibrator]} alone gets {alone}. "
    held = " and ".join(
        f"sets meant for {percent(level)} hold the label of "
        f"{percent(float(found.coverage[i, -1]), 3)}"
        for i, level in enumerate(found.levels)
    )
    text += f"Of the items left over, {held}."
    return f"{text} {CODING}" if found.measures_coding else text


def _correction(found: PipelineAblation) -> str:
    if not found.features:
        return "the residual correction"
    return f"correcting with {counted(len(found.features), 'item feature')}"


def _change(found: PipelineAblation, step: str, words: str) -> str:
    """How a step moves the NLL of all judges."""
    i = found.steps.index(step)
    value, lo, hi = (float(a[-1, i]) for a in (found.delta, found.delta_lo, found.delta_hi))
    if lo <= 0.0 <= hi:
        return f"{words} changes little: {with_interval(value, lo, hi, sign=True)}"
    if value < 0:
        return f"{words} lowers it by {with_interval(-value, -hi, -lo)}"
    return f"{words} raises it by {with_interval(value, lo, hi)}"


def ablation_table(found: PipelineAblation) -> pd.DataFrame:
    """Every step and panel, all judges first; columns in ``PERCENTS`` are shares.

    Sets are in the rows of step 1-4, NaN elsewhere.
    """
    rows = []
    for p in range(len(found.k) - 1, -1, -1):
        panel = f"all {found.k[p]}" if found.k[p] == found.n_judges else f"top-{found.k[p]}"
        for i, step in enumerate(found.steps):
            lo, hi = float(found.delta_lo[p, i]), float(found.delta_hi[p, i])
            row = {
                "panel": panel,
                "steps": step,
                "what": STEP_WORDS[step],
                "NLL": float(found.nll[p, i]),
                "95 %": interval(float(found.nll_lo[p, i]), float(found.nll_hi[p, i]), 3),
                "skill": float(found.skill[p, i]),
                "against what it builds on": ""
                if step == found.steps[0]
                else with_interval(float(found.delta[p, i]), lo, hi, sign=True),
                "Brier": float(found.brier[p, i]),
                "ECE": float(found.ece[p, i]),
                "accuracy": float(found.accuracy[p, i]),
            }
            sets = step == "1-4"
            for number, level in enumerate(found.levels):
                name = percent(level)
                coverage, size = float(found.coverage[number, p]), float(found.size[number, p])
                row[f"covered at {name}"] = coverage if sets else math.nan
                row[f"set size at {name}"] = size if sets else math.nan
            rows.append(row)
    return pd.DataFrame(rows)


def ablation_text(found: PipelineAblation) -> str:
    """The answer and the table, for a terminal."""
    return "\n".join(
        [
            f"{found.n_splits} splits, {found.n_calibration:.0f} labels calibrate (step 4 holds "
            f"{found.n_slice:.0f} of them out) and {found.n_evaluation:.0f} evaluate, orientation "
            f"{found.orientation}, protocol {found.protocol}, seed {found.seed}; null NLL "
            f"{found.null_nll:.4f}.\n",
            ablation_sentence(found) + "\n",
            printed(ablation_table(found)),
        ]
    )
