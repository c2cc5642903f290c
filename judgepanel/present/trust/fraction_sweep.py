"""Which share of the items should calibrate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from judgepanel.figures.fraction_sweep import fraction_sweep
from judgepanel.present.blocks import Answer, Block, Heading, Method, Paragraph, Table, drawing
from judgepanel.present.trust.label_budget import FIRST_PANEL
from judgepanel.studies.budget.fraction_sweep import FractionSweepSpec
from judgepanel.studies.budget.fraction_sweep_result import FractionSweep
from judgepanel.studies.compare import arm_name
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import (
    capital,
    counted,
    fixed,
    level,
    with_interval,
)
from judgepanel.words.sentences import CALIBRATED, CODING, first_calibrator


@dataclass(frozen=True, slots=True)
class SweepView:
    """Which calibrator and which panel beside all judges; None shows every one of them.

    ``fraction`` is the share that calibrates in the other studies of an analysis, if any is known.
    """

    calibrator: str | None = None
    panel: int | None = None
    fraction: float | None = None


def share_sentence(result: FractionSweep, calibrator: str) -> str:
    """Which share brings all judges near what the largest one gives."""
    text = _answer(result, calibrator)
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: FractionSweep, calibrator: str) -> str:
    needed = result.needed_for(calibrator, result.arms[-1])
    if needed is None:
        return "Not enough splits yet to say which share should calibrate."
    c, most = result.row(calibrator), _share(result.shares[-1])
    reached = f"NLL {_level(result, c, -1, -1)}, base rate {fixed(float(result.null_nll[-1]), 3)}"
    if not result.nll_hi[c, -1, -1] < result.null_nll[-1]:
        are = "is" if result.n_judges == 1 else "are"
        return (
            f"With {most} of the items, {result.arms[-1]} {are} not shown to beat the base rate "
            f"({reached}), so nothing says which share is enough."
        )
    if len(result.shares) == 1:
        return f"Only one share could be tried, {most} ({reached})."
    labels = counted(math.floor(result.n_items * needed.share), "label")
    near = f"within {_share(result.within)} of what {most} give ({reached})"
    if needed.at_start:
        more = "" if needed.hi == needed.share else f", perhaps up to {_share(needed.hi)},"
        return f"{_share(needed.share)} of the items ({labels}) or fewer{more} reach {near}."
    span = f"[{_share(needed.lo)}, {_share(needed.hi)}]"
    return f"{_share(needed.share)} of the items {span} ({labels}) are enough to come {near}."


def why_sentence(result: FractionSweep, calibrator: str) -> str:
    """Why more labels to fit on mean a wider interval; empty from a single split."""
    c = result.row(calibrator)
    if not math.isfinite(result.nll_hi[c, -1, -1]):
        return ""
    best, last = result.narrowest(c), len(result.shares) - 1
    text = (
        "A larger share fits panels on more labels and leaves fewer items to score: "
        f"{result.evaluated[-1]:,.0f} of {result.n_items:,} at {_share(result.shares[-1])}. Then a "
        "split's score rests on fewer items, and calibration sets have more labels in common, so "
        "less is known of how panels vary with their labels."
    )
    reach = [float(result.nll_hi[c, -1, f] - result.nll_lo[c, -1, f]) / 2 for f in (best, last)]
    if best == last:
        return (
            f"{text} Here what the labels gain still outweighs that: the interval is narrowest "
            f"there (± {fixed(reach[0], 3)})."
        )
    return (
        f"{text} The interval is narrowest at {_share(result.shares[best])} "
        f"(± {fixed(reach[0], 3)}), and ± {fixed(reach[1], 3)} at {_share(result.shares[last])}."
    )


def share_table(result: FractionSweep, calibrator: str, panel: str | None) -> pd.DataFrame:
    """All judges and one panel at every share, against the largest share and each other."""
    c, last = result.row(calibrator), len(result.panels) - 1
    rows = range(len(result.shares))
    columns: dict[str, object] = {
        "share": [_share(share) for share in result.shares],
        "calibrate": [round(float(n)) for n in result.labels],
        "evaluate": [round(float(n)) for n in result.evaluated],
        f"NLL, {result.arms[-1]}": [_level(result, c, last, f) for f in rows],
        "base rate": result.null_nll,
        "skill": 1.0 - result.nll[c, last] / result.null_nll,
        "constant score": result.constant_nll[c],
        f"against {_share(result.shares[-1])}": [
            "reference"
            if f == len(result.shares) - 1
            else with_interval(
                float(result.against[c, last, f]),
                float(result.against_lo[c, last, f]),
                float(result.against_hi[c, last, f]),
                sign=True,
            )
            for f in rows
        ],
    }
    if panel is not None:
        p = result.arms.index(panel)
        columns[f"NLL, {panel}"] = [_level(result, c, p, f) for f in rows]
        columns["difference"] = [
            with_interval(
                float(result.delta[c, p, f]),
                float(result.delta_lo[c, p, f]),
                float(result.delta_hi[c, p, f]),
                sign=True,
            )
            for f in rows
        ]
        columns["verdict"] = [result.verdict(c, p, f) for f in rows]
    return pd.DataFrame(columns)


def _share(value: float) -> str:
    return f"{100.0 * float(value):.2g} %"


def _level(result: FractionSweep, c: int, p: int, f: int) -> str:
    lo, hi = float(result.nll_lo[c, p, f]), float(result.nll_hi[c, p, f])
    return level(float(result.nll[c, p, f]), lo, hi)


def present(
    result: FractionSweep, spec: FractionSweepSpec, view: SweepView = SweepView()
) -> list[Block]:
    """The shares under one calibrator, then under the others where none was chosen."""
    first = view.calibrator or first_calibrator(result.calibrators)
    blocks = _shares(result, first, view)
    for calibrator in result.calibrators if view.calibrator is None else ():
        if calibrator != first:
            blocks.append(Heading(capital(CALIBRATED[calibrator]), 3))
            blocks += _shares(result, calibrator, view)
    return [*blocks, _method()]


def _shares(result: FractionSweep, calibrator: str, view: SweepView) -> list[Block]:
    arms: list[str | None] = [*result.arms[:-1]] or [None]
    drawn = arm_name(FIRST_PANEL if view.panel is None else view.panel)
    chosen = drawn if drawn in arms else arms[0] if view.panel is None else None
    if view.panel is not None:
        arms = [chosen]
    reading = why_sentence(result, calibrator)
    if view.fraction is not None:
        reading += f" This analysis calibrates on {100.0 * view.fraction:g} %."
    reading += " Dashed upright line: the share that is enough."
    return [
        Answer(share_sentence(result, calibrator)),
        drawing(fraction_sweep(result, calibrator, chosen), "every share of the items"),
        Paragraph(reading.strip(), quiet=True),
        *(Table(as_columns(share_table(result, calibrator, arm))) for arm in arms),
    ]


def _method() -> Method:
    return Method(
        "In each split the items are put in a random order, a share of them calibrates and all the "
        "others evaluate, so a larger share adds labels to those of a smaller one. Judges are "
        "ranked and weighted, and calibrators fitted, on the share alone. Intervals are for new "
        "items and panels fitted on that many labels: Var = v/N + s_tr² (1/S + n_cal/n_eval), and "
        "n_cal/n_eval is what widens them. An exported panel is fitted on all labels whatever the "
        "share; the share decides what its measured NLL is of."
    )
