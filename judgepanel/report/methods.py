"""Aggregators and calibrators side by side, in words and tables for people."""

from __future__ import annotations

import pandas as pd

from judgepanel.report.numbers import counted, fixed, interval, percent, signed
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATOR_NAMES, CODING
from judgepanel.studies.calibrator_design import CalibratorDesign
from judgepanel.studies.method_grid import MethodGrid
from judgepanel.studies.pipeline_ablation import STEP_WORDS, PipelineAblation

FORM_NAMES = {"cross_fitted": "cross-fitted", "nested": "nested 70/30"}


def cell_name(aggregator: str, calibrator: str) -> str:
    """``joint, raw`` or ``one-coin + temperature``."""
    link = ", " if calibrator == "none" else " + "
    return f"{AGGREGATOR_NAMES[aggregator]}{link}{CALIBRATOR_NAMES[calibrator]}"


def grid_sentence(grid: MethodGrid) -> str:
    """Which cell wins, and how many are tied with it."""
    a, c = grid.best
    best = cell_name(grid.aggregators[a], grid.calibrators[c])
    value = f"NLL {fixed(float(grid.nll[a, c]), 3)}"
    if grid.n_splits < 2:
        text = f"So far {best} is lowest: {value}; not enough splits yet to say more."
    else:
        span = interval(float(grid.nll_lo[a, c]), float(grid.nll_hi[a, c]), 3)
        tied = int(grid.tied.sum()) - 1
        others = grid.tied.size - 1
        if tied == 0:
            rest = f"none of the other {counted(others, 'cell')} is tied with it"
        elif tied == others:
            rest = "all other cells are tied with it"
        else:
            rest = f"{tied} of the other {others} cells {'is' if tied == 1 else 'are'} tied with it"
        text = f"{best[0].upper()}{best[1:]} wins with {value} {span}; {rest}."
    return f"{text} {CODING}" if grid.measures_coding else text


def grid_choice_sentence(grid: MethodGrid) -> str:
    """What choosing a cell without hindsight gets."""
    if grid.n_splits < 2:
        return ""
    a, c = divmod(int(grid.chosen_share.argmax()), len(grid.calibrators))
    often = cell_name(grid.aggregators[a], grid.calibrators[c])
    return (
        "The lowest of many cells looks better than it is. Choosing the cell by cross-validation "
        f"on the calibration rows alone gets NLL {fixed(grid.chosen_nll, 3)} "
        f"{interval(grid.chosen_lo, grid.chosen_hi, 3)}; it takes {often} most often, in "
        f"{percent(float(grid.chosen_share[a, c]))} of the splits. The base rate alone gets "
        f"{fixed(grid.null_nll, 3)}."
    )


def grid_table(grid: MethodGrid) -> pd.DataFrame:
    """Every cell, lowest NLL first."""
    frame = grid.frame()
    best = frame.iloc[0]
    return pd.DataFrame(
        {
            "aggregator": [AGGREGATOR_NAMES[name] for name in frame["aggregator"]],
            "calibrator": [CALIBRATOR_NAMES[name] for name in frame["calibrator"]],
            "NLL": [fixed(value, 3) for value in frame["nll"]],
            "NLL 95 %": _intervals(frame, "nll"),
            "skill": [percent(value) for value in frame["skill"]],
            "against the lowest": [
                "lowest" if same else f"{signed(value)} {interval(lo, hi, sign=True)}"
                for same, value, lo, hi in zip(
                    (frame["aggregator"] == best["aggregator"])
                    & (frame["calibrator"] == best["calibrator"]),
                    frame["delta"],
                    frame["delta_lo"],
                    frame["delta_hi"],
                    strict=True,
                )
            ],
            "tied": ["yes" if tied else "no" for tied in frame["tied"]],
            "Brier": [fixed(value, 3) for value in frame["brier"]],
            "ECE": [fixed(value, 3) for value in frame["ece"]],
            "accuracy": [percent(value, 3) for value in frame["accuracy"]],
            "chosen in": [percent(value) for value in frame["chosen_share"]],
        }
    )


def grid_text(grid: MethodGrid) -> str:
    """The answer and the twenty lowest cells, for a terminal."""
    table = grid_table(grid)
    lines = [
        f"{grid.n_splits} splits, {grid.n_calibration:.0f} labels calibrate and "
        f"{grid.n_evaluation:.0f} evaluate, {FORM_NAMES[grid.form]}, orientation "
        f"{grid.orientation}, protocol {grid.protocol}, seed {grid.seed}; null NLL "
        f"{grid.null_nll:.4f}.\n",
        grid_sentence(grid),
        grid_choice_sentence(grid) + "\n",
        table.head(_SHOWN).to_string(index=False),
    ]
    if len(table) > _SHOWN:
        lines.append(f"... and {len(table) - _SHOWN} more: `--out X.csv`.")
    return "\n".join(lines)


def design_sentence(design: CalibratorDesign) -> str:
    """Which calibrator is lowest on all judges, and how far the raw score is from it."""
    best = int(design.nll[:, -1].argmin())
    name = CALIBRATOR_NAMES[design.calibrators[best]]
    text = (
        f"On all {design.n_judges} judges with {AGGREGATOR_NAMES[design.aggregator]}, {name} has "
        f"the lowest NLL, {fixed(float(design.nll[best, -1]), 3)}"
    )
    if "none" in design.calibrators and design.calibrators[best] != "none":
        raw = float(design.nll[design.calibrators.index("none"), -1])
        text += f"; the raw score has {fixed(raw, 3)}"
    text += "."
    return f"{text} {CODING}" if design.measures_coding else text


def design_table(design: CalibratorDesign) -> pd.DataFrame:
    """Every calibrator, one column of NLL a panel; correlations on all judges."""
    last = len(design.k) - 1
    columns: dict[str, list[str]] = {
        "calibrator": [CALIBRATOR_NAMES[name] for name in design.calibrators]
    }
    for p in range(last, -1, -1):
        panel = f"all {design.k[p]}" if p == last else f"top-{design.k[p]}"
        columns[f"NLL, {panel}"] = [
            f"{fixed(float(value), 3)} {interval(float(lo), float(hi), 3)}"
            for value, lo, hi in zip(
                design.nll[:, p], design.nll_lo[:, p], design.nll_hi[:, p], strict=True
            )
        ]
    columns["skill"] = [
        percent(1.0 - float(value) / design.null_nll) for value in design.nll[:, last]
    ]
    columns["ECE"] = [fixed(float(value), 3) for value in design.ece[:, last]]
    columns["accuracy"] = [percent(float(value), 3) for value in design.accuracy[:, last]]
    columns["Spearman ρ"] = [fixed(float(value), 3) for value in design.rho[:, last]]
    columns["constant score"] = [fixed(float(value), 3) for value in design.constant_nll]
    return pd.DataFrame(columns)


def design_text(design: CalibratorDesign) -> str:
    """The answer and the table, for a terminal."""
    return "\n".join(
        [
            f"{design.n_splits} splits, {design.n_calibration:.0f} labels calibrate and "
            f"{design.n_evaluation:.0f} evaluate, orientation {design.orientation}, protocol "
            f"{design.protocol}, seed {design.seed}; null NLL {design.null_nll:.4f}.\n",
            design_sentence(design) + "\n",
            design_table(design).to_string(index=False),
        ]
    )


def ablation_sentence(found: PipelineAblation) -> str:
    """Which step changes the NLL of all judges most, and whether any step hurts."""
    if found.n_splits < 2:
        return "Not enough splits yet to say."
    values = {step: float(found.nll[-1, i]) for i, step in enumerate(found.steps)}
    deltas = {step: float(found.delta[-1, i]) for i, step in enumerate(found.steps)}
    parts = [f"On all {found.n_judges} judges the sum of the votes has NLL {fixed(values['1'], 3)}"]
    for step, words in (("1-2", "the correction"), ("1-3", "calibration")):
        i = found.steps.index(step)
        lo, hi = float(found.delta_lo[-1, i]), float(found.delta_hi[-1, i])
        span = interval(lo, hi, sign=True)
        if lo <= 0.0 <= hi:
            parts.append(f"{words} changes it by {signed(deltas[step])} {span}, which may be noise")
        else:
            verb = "lowers" if deltas[step] < 0 else "raises"
            parts.append(f"{words} {verb} it by {fixed(abs(deltas[step]), 3)} {span}")
    held = ", ".join(
        f"{percent(level)} sets cover {percent(float(found.coverage[i, -1]), 3)}"
        for i, level in enumerate(found.levels)
    )
    text = "; ".join(parts) + f". Of the items left over, {held}."
    return f"{text} {CODING}" if found.measures_coding else text


def ablation_table(found: PipelineAblation) -> pd.DataFrame:
    """Every step and panel, all judges first."""
    rows = []
    for p in range(len(found.k) - 1, -1, -1):
        panel = f"all {found.k[p]}" if found.k[p] == found.n_judges else f"top-{found.k[p]}"
        for i, step in enumerate(found.steps):
            first = step == found.steps[0]
            row = {
                "panel": panel,
                "steps": step,
                "what": STEP_WORDS[step],
                "NLL": fixed(float(found.nll[p, i]), 3),
                "NLL 95 %": interval(float(found.nll_lo[p, i]), float(found.nll_hi[p, i]), 3),
                "skill": percent(float(found.skill[p, i])),
                "against the step before": ""
                if first
                else f"{signed(float(found.delta[p, i]))} "
                + interval(float(found.delta_lo[p, i]), float(found.delta_hi[p, i]), sign=True),
                "Brier": fixed(float(found.brier[p, i]), 3),
                "ECE": fixed(float(found.ece[p, i]), 3),
                "accuracy": percent(float(found.accuracy[p, i]), 3),
            }
            for number, level in enumerate(found.levels):
                sets = step == "1-4"
                name = percent(level)
                row[f"covered at {name}"] = (
                    percent(float(found.coverage[number, p]), 3) if sets else ""
                )
                row[f"set size at {name}"] = fixed(float(found.size[number, p]), 2) if sets else ""
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
            ablation_table(found).to_string(index=False),
        ]
    )


_SHOWN = 20


def _intervals(frame: pd.DataFrame, metric: str) -> list[str]:
    return [
        interval(lo, hi, 3)
        for lo, hi in zip(frame[f"{metric}_lo"], frame[f"{metric}_hi"], strict=True)
    ]
