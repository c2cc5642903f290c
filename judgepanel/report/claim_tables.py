"""The claim as tables: every step, and the paper's figures beside ours; and all of it as text."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.present.understand.published import DataSet, published_of
from judgepanel.report.claim import (
    MEASURES_CODING,
    STEP_NAMES,
    claim_sentence,
    constant_sentence,
    headline_size,
    honest_constant_sentence,
    joint_sentence,
    map_sentence,
    reversal_sentences,
    step_sentences,
)
from judgepanel.report.numbers import compared, fixed, interval, percent, sig
from judgepanel.studies.claim.claim_result import Claim

_HONEST = {
    "raw_one_class": "raw_honest",
    "paper": "honest_clipped",
    "paper_temperature": "honest_temperature",
}
_RECIPES = {
    "raw_one_class": "raw",
    "paper": "beta, clipped",
    "paper_temperature": "temperature",
}


def step_table(found: Claim, coding: str) -> pd.DataFrame:
    """Every step under one-class coding, or all others: panels, yardsticks, what it changed."""
    k = headline_size(found)
    rows = []
    for step in found.told(coding):
        s = found.row(step.name)
        cells = {"step": STEP_NAMES[step.name]}
        for column in found.columns():
            arm = found.arm(step.name, column)
            head = arm if column < len(found.sizes) else "all"
            cells[f"NLL, {head}"] = sig(float(found.nll[s, column]))
        lo, hi = float(found.nll_lo[s, -1]), float(found.nll_hi[s, -1])
        cells["all, 95 %"] = interval(lo, hi)
        cells["base rate"] = sig(float(found.null_nll[s]))
        cells["skill, all"] = _skill(1.0 - float(found.nll[s, -1] / found.null_nll[s]))
        cells["constant score"] = sig(float(found.constant_nll[s]))
        if k is not None:
            at = found.columns()[found.panels.tolist().index(k)]
            cells[f"top-{k} less all"] = _difference(found, "against_all", s, at)
            cells["verdict"] = found.verdict(step.name, at)
        cells["all, less the step before"] = (
            "" if step.before is None else _difference(found, "change", s, len(found.sizes))
        )
        cells["measures"] = "measures " + step.measures
        rows.append(cells)
    return pd.DataFrame(rows)


def _skill(value: float) -> str:
    return percent(value) if value > -1.0 else "far below 0"


def _difference(found: Claim, kind: str, row: int, column: int) -> str:
    value, lo, hi = (
        float(getattr(found, f"{kind}{end}")[row, column]) for end in ("", "_lo", "_hi")
    )
    return compared(value, lo, hi) if math.isfinite(value) else ""


def published_table(found: Claim, data: DataSet) -> pd.DataFrame:
    """The paper's figures of a benchmark, ours under one-class coding, ours on honest labels."""
    rows = []
    for one in published_of(data.name):
        rows.append(
            {
                "recipe": _RECIPES[one.step],
                "panel": one.panel,
                f"the paper, {data.n_judges} judges": fixed(one.nll, 3),
                "ours, one-class coding": _cell(found, one.step, one.panel),
                "ours, honest labels": _cell(found, _HONEST[one.step], one.panel),
                "one-class columns": MEASURES_CODING,
                "source": one.source,
            }
        )
    return pd.DataFrame(rows)


def _cell(found: Claim, step: str, panel: str) -> str:
    """NLL and interval of a panel, blank where it was not tried."""
    row = found.row(step)
    column = -1
    if panel != "all":
        k = int(panel.removeprefix("top-"))
        if k not in found.sizes:
            return ""
        column = found.sizes.tolist().index(k)
    lo, hi = float(found.nll_lo[row, column]), float(found.nll_hi[row, column])
    return f"{sig(float(found.nll[row, column]))} {interval(lo, hi)}"


def claim_text(found: Claim) -> str:
    """The answer, every step and every yardstick, for a terminal."""
    lines = [
        f"{found.n_splits} splits, {found.n_calibration:.0f} labels calibrate and "
        f"{found.n_evaluation:.0f} evaluate, honest orientation {found.orientation}, seed "
        f"{found.seed}.",
        claim_sentence(found),
    ]
    for coding, head, yardstick in (
        ("one_class", f"One-class coding ({MEASURES_CODING})", constant_sentence(found)),
        ("honest", "Honest labels", honest_constant_sentence(found)),
    ):
        lines += [f"\n{head}", *reversal_sentences(found, coding), yardstick]
        if coding == "one_class":
            lines.append(map_sentence(found))
        lines.append(step_table(found, coding).to_string(index=False))
        lines += [f"- {name}: {said}" for name, said in step_sentences(found, coding)]
    together = joint_sentence(found)
    return "\n".join([*lines, *(["", together] if together else [])])
