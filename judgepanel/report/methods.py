"""Aggregators and calibrators side by side, in words and tables for people."""

from __future__ import annotations

import pandas as pd

from judgepanel.report.numbers import (
    capital,
    compared,
    counted,
    fixed,
    interval,
    listed,
    percent,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CALIBRATOR_NAMES, CODING
from judgepanel.report.tables import printed
from judgepanel.studies.methods.calibrator_design import CalibratorDesign
from judgepanel.studies.methods.method_grid import MethodGrid

FORM_NAMES = {"cross_fitted": "cross-fitted", "nested": "nested 70/30"}


def pair_name(aggregator: str, calibrator: str) -> str:
    """``joint with no calibrator`` or ``one-coin with temperature scaling``."""
    return f"{AGGREGATOR_NAMES[aggregator]} with {CALIBRATED[calibrator]}"


def grid_sentence(grid: MethodGrid) -> str:
    """Which pair has the lowest NLL, against what, and how many cannot be told apart from it."""
    a, c = grid.best
    best = pair_name(grid.aggregators[a], grid.calibrators[c])
    value, null = fixed(float(grid.nll[a, c]), 3), fixed(grid.null_nll, 3)
    if grid.n_splits < 2:
        text = f"{capital(best)} has the lowest NLL, {value} (base rate: {null}); one split says "
        text += "no more."
    else:
        hi = float(grid.nll_hi[a, c])
        value += f" {interval(float(grid.nll_lo[a, c]), hi, 3)}"
        if hi < grid.null_nll:
            text = f"{capital(best)} has the lowest NLL, {value} (base rate: {null})"
        else:
            text = f"Nothing here is shown to beat the base rate (NLL {null}). The lowest is {best}"
            text += f", {value}"
        text += f"; {_ties(grid)}." if grid.tied.size > 1 else "."
    return f"{text} {CODING}" if grid.measures_coding else text


def _ties(grid: MethodGrid) -> str:
    tied, others = int(grid.tied.sum()) - 1, grid.tied.size - 1
    if tied == 0:
        return f"every other of {counted(grid.tied.size, 'pair')} is told apart from it"
    if tied == others:
        who = f"none of the {others} other pairs" if tied > 1 else "the other one"
        return f"{who} is {'' if tied > 1 else 'not '}told apart from it"
    are = "is" if tied == 1 else "are"
    return f"{tied} of the other {others} pairs {are} not told apart from it"


def ties_sentence(grid: MethodGrid) -> str:
    """Which pairs cannot be told apart from the lowest; empty where few or all."""
    if grid.n_splits < 2 or grid.tied.all() or grid.tied.sum() < 2:
        return ""
    ways: dict[str, list[str]] = {}
    for row in grid.nll.min(axis=1).argsort(kind="stable"):
        if grid.tied[row].any():
            name = AGGREGATOR_NAMES[grid.aggregators[row]]
            ways.setdefault(_way(grid, int(row)), []).append(name)
    parts = [f"{listed(names)}{way}" for way, names in ways.items()]
    return f"Not told apart from the lowest: {'; '.join(parts)}."


def _way(grid: MethodGrid, row: int) -> str:
    """With which calibrators an aggregator is tied."""
    ways = [name for name in grid.calibrators if name != "none"]
    tied = [name for name, in_tie in zip(grid.calibrators, grid.tied[row], strict=True) if in_tie]
    used = [CALIBRATOR_NAMES[name] for name in ways if name in tied]
    left = [CALIBRATOR_NAMES[name] for name in ways if name not in tied]
    raw = "none" in tied
    if not used:
        return ", not calibrated" if ways else ""
    if not left:
        known = "none" in grid.calibrators
        return (", calibrated or not" if raw else ", however calibrated") if known else ""
    if len(left) <= _NAMED and len(left) < len(used):
        text = f", calibrated by any but {listed(left, 'or')}"
    elif len(used) <= _NAMED:
        text = f", calibrated by {listed(used, 'or')}"
    else:
        text = f", calibrated in {len(used)} of {len(ways)} ways"
    return text + ", or not at all" * raw


def grid_choice_sentence(grid: MethodGrid) -> str:
    """What choosing a cell without hindsight gets."""
    if grid.n_splits < 2 or grid.tied.size == 1:
        return ""
    a, c = divmod(int(grid.chosen_share.argmax()), len(grid.calibrators))
    often = pair_name(grid.aggregators[a], grid.calibrators[c])
    return (
        "The lowest of many looks better than it is. Choosing the pair by cross-validation on the "
        f"calibration rows alone gets NLL {fixed(grid.chosen_nll, 3)} "
        f"{interval(grid.chosen_lo, grid.chosen_hi, 3)} (base rate: {fixed(grid.null_nll, 3)}); it "
        f"takes {often} most often, in {percent(float(grid.chosen_share[a, c]))} of the splits."
    )


def grid_table(grid: MethodGrid) -> pd.DataFrame:
    """Every cell, lowest NLL first; columns in ``PERCENTS`` are shares."""
    frame = grid.frame()
    best = frame.iloc[0]
    return pd.DataFrame(
        {
            "aggregator": [AGGREGATOR_NAMES[name] for name in frame["aggregator"]],
            "calibrator": [CALIBRATOR_NAMES[name] for name in frame["calibrator"]],
            "NLL": frame["nll"],
            "95 %": _intervals(frame, "nll"),
            "skill": frame["skill"],
            "against the lowest": [
                "lowest" if same else compared(value, lo, hi)
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
            "chosen in": frame["chosen_share"],
            "Brier": frame["brier"],
            "ECE": frame["ece"],
            "accuracy": frame["accuracy"],
        }
    )


def in_words(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """Warnings of the studies here, calibrators named as elsewhere on the page."""
    found = []
    for sentence in warnings:
        name, _, rest = sentence.partition(" ")
        found.append(f"{capital(CALIBRATED[name])} {rest}" if name in CALIBRATED else sentence)
    return tuple(found)


def grid_text(grid: MethodGrid) -> str:
    """The answer, its ties and the twenty lowest cells, for a terminal."""
    table = grid_table(grid)
    lines = [
        f"{grid.n_splits} splits, {grid.n_calibration:.0f} labels calibrate and "
        f"{grid.n_evaluation:.0f} evaluate, {FORM_NAMES[grid.form]}, orientation "
        f"{grid.orientation}, protocol {grid.protocol}, seed {grid.seed}; null NLL "
        f"{grid.null_nll:.4f}.\n",
        grid_sentence(grid),
        *(text for text in (ties_sentence(grid), grid_choice_sentence(grid)) if text),
        "",
        printed(table.head(_SHOWN)),
    ]
    if len(table) > _SHOWN:
        lines.append(f"... and {len(table) - _SHOWN} more: `--out X.csv`.")
    return "\n".join(lines)


def design_sentence(design: CalibratorDesign) -> str:
    """Which calibrator is lowest on all judges, and how far the raw score is from it."""
    best = int(design.nll[:, -1].argmin())
    name = design.calibrators[best]
    where = f"On all {design.n_judges} judges with {AGGREGATOR_NAMES[design.aggregator]}"
    if name == "none":
        text = f"{where}, no calibrator improves on the raw score: NLL {_with_span(design, best)}"
    else:
        text = f"{where}, {CALIBRATED[name]} has the lowest NLL, {_with_span(design, best)}"
        if "none" in design.calibrators:
            text += f"; the raw score has {_with_span(design, design.calibrators.index('none'))}"
    text += f"; the base rate alone {fixed(design.null_nll, 3)}."
    return f"{text} {CODING}" if design.measures_coding else text


def _with_span(design: CalibratorDesign, row: int, panel: int = -1) -> str:
    """NLL of a calibrator on a panel, with its interval."""
    lo, hi = float(design.nll_lo[row, panel]), float(design.nll_hi[row, panel])
    return f"{fixed(float(design.nll[row, panel]), 3)} {interval(lo, hi, 3)}"


def design_table(design: CalibratorDesign) -> pd.DataFrame:
    """Every calibrator: figures on all judges, then the NLL of smaller panels.

    Columns in ``PERCENTS`` are shares.
    """
    last = len(design.k) - 1
    rows = range(len(design.calibrators))
    columns: dict[str, object] = {
        "calibrator": [CALIBRATOR_NAMES[name] for name in design.calibrators],
        f"NLL, all {design.k[last]}": [_with_span(design, c) for c in rows],
        "skill": 1.0 - design.nll[:, last] / design.null_nll,
        "constant score": design.constant_nll,
        "Spearman ρ": design.rho[:, last],
        "ECE": design.ece[:, last],
        "accuracy": design.accuracy[:, last],
    }
    for p in range(last - 1, -1, -1):
        columns[f"NLL, top-{design.k[p]}"] = [_with_span(design, c, p) for c in rows]
    return pd.DataFrame(columns)


def design_text(design: CalibratorDesign) -> str:
    """The answer and the table, for a terminal."""
    return "\n".join(
        [
            f"{design.n_splits} splits, {design.n_calibration:.0f} labels calibrate and "
            f"{design.n_evaluation:.0f} evaluate, orientation {design.orientation}, protocol "
            f"{design.protocol}, seed {design.seed}; null NLL {design.null_nll:.4f}.\n",
            design_sentence(design) + "\n",
            printed(design_table(design)),
        ]
    )


def _intervals(frame: pd.DataFrame, metric: str) -> list[str]:
    return [
        interval(lo, hi, 3)
        for lo, hi in zip(frame[f"{metric}_lo"], frame[f"{metric}_hi"], strict=True)
    ]


_SHOWN = 20
_NAMED = 3
