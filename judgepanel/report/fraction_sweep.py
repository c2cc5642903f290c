"""Which share of the items should calibrate, in words and tables for people."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.report.numbers import (
    counted,
    fixed,
    level,
    with_interval,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.report.tables import printed
from judgepanel.studies.budget.fraction_sweep_result import FractionSweep


def share_sentence(found: FractionSweep, calibrator: str) -> str:
    """Which share brings all judges near what the largest one gives."""
    text = _answer(found, calibrator)
    return f"{text} {CODING}" if found.measures_coding else text


def _answer(found: FractionSweep, calibrator: str) -> str:
    one = found.needed_for(calibrator, found.arms[-1])
    if one is None:
        return "Not enough splits yet to say which share should calibrate."
    c, most = found.row(calibrator), _share(found.shares[-1])
    level = f"NLL {_level(found, c, -1, -1)}, base rate {fixed(float(found.null_nll[-1]), 3)}"
    if not found.nll_hi[c, -1, -1] < found.null_nll[-1]:
        are = "is" if found.n_judges == 1 else "are"
        return (
            f"With {most} of the items, {found.arms[-1]} {are} not shown to beat the base rate "
            f"({level}), so nothing says which share is enough."
        )
    if len(found.shares) == 1:
        return f"Only one share could be tried, {most} ({level})."
    labels = counted(math.floor(found.n_items * one.share), "label")
    near = f"within {_share(found.within)} of what {most} give ({level})"
    if one.at_start:
        more = "" if one.hi == one.share else f", perhaps up to {_share(one.hi)},"
        return f"{_share(one.share)} of the items ({labels}) or fewer{more} reach {near}."
    span = f"[{_share(one.lo)}, {_share(one.hi)}]"
    return f"{_share(one.share)} of the items {span} ({labels}) are enough to come {near}."


def why_sentence(found: FractionSweep, calibrator: str) -> str:
    """Why more labels to fit on mean a wider interval; empty from a single split."""
    c = found.row(calibrator)
    if not math.isfinite(found.nll_hi[c, -1, -1]):
        return ""
    best, last = found.narrowest(c), len(found.shares) - 1
    text = (
        "A larger share fits panels on more labels and leaves fewer items to score: "
        f"{found.evaluated[-1]:,.0f} of {found.n_items:,} at {_share(found.shares[-1])}. Then a "
        "split's score rests on fewer items, and calibration sets have more labels in common, so "
        "less is known of how panels vary with their labels."
    )
    reach = [float(found.nll_hi[c, -1, f] - found.nll_lo[c, -1, f]) / 2 for f in (best, last)]
    if best == last:
        return (
            f"{text} Here what the labels gain still outweighs that: the interval is narrowest "
            f"there (± {fixed(reach[0], 3)})."
        )
    return (
        f"{text} The interval is narrowest at {_share(found.shares[best])} "
        f"(± {fixed(reach[0], 3)}), and ± {fixed(reach[1], 3)} at {_share(found.shares[last])}."
    )


def share_table(found: FractionSweep, calibrator: str, panel: str | None) -> pd.DataFrame:
    """All judges and one panel at every share, against the largest share and each other."""
    c, last = found.row(calibrator), len(found.panels) - 1
    rows = range(len(found.shares))
    columns: dict[str, object] = {
        "share": [_share(share) for share in found.shares],
        "calibrate": [round(float(n)) for n in found.labels],
        "evaluate": [round(float(n)) for n in found.evaluated],
        f"NLL, {found.arms[-1]}": [_level(found, c, last, f) for f in rows],
        "base rate": found.null_nll,
        "skill": 1.0 - found.nll[c, last] / found.null_nll,
        "constant score": found.constant_nll[c],
        f"against {_share(found.shares[-1])}": [
            "reference"
            if f == len(found.shares) - 1
            else with_interval(
                float(found.against[c, last, f]),
                float(found.against_lo[c, last, f]),
                float(found.against_hi[c, last, f]),
                sign=True,
            )
            for f in rows
        ],
    }
    if panel is not None:
        p = found.arms.index(panel)
        columns[f"NLL, {panel}"] = [_level(found, c, p, f) for f in rows]
        columns["difference"] = [
            with_interval(
                float(found.delta[c, p, f]),
                float(found.delta_lo[c, p, f]),
                float(found.delta_hi[c, p, f]),
                sign=True,
            )
            for f in rows
        ]
        columns["verdict"] = [found.verdict(c, p, f) for f in rows]
    return pd.DataFrame(columns)


def sweep_text(found: FractionSweep) -> str:
    """Every calibrator's answer and tables, for a terminal."""
    lines = [
        f"{found.n_splits} splits, {AGGREGATOR_NAMES[found.aggregator]}, orientation "
        f"{found.orientation}, protocol {found.protocol}, seed {found.seed}."
    ]
    for calibrator in found.calibrators:
        lines.append(f"\n{CALIBRATED[calibrator]}: {share_sentence(found, calibrator)}")
        lines += [why_sentence(found, calibrator)] if why_sentence(found, calibrator) else []
        for panel in found.arms[:-1] or (None,):
            lines.append(printed(share_table(found, calibrator, panel)))
    return "\n".join(lines)


def _share(value: float) -> str:
    return f"{100.0 * float(value):.2g} %"


def _level(found: FractionSweep, c: int, p: int, f: int) -> str:
    lo, hi = float(found.nll_lo[c, p, f]), float(found.nll_hi[c, p, f])
    return level(float(found.nll[c, p, f]), lo, hi)
