"""What labels of other items are worth, in words and tables: easy and hard items, slices."""

from __future__ import annotations

import math

import pandas as pd

from judgepanel.report.numbers import (
    capital,
    compared,
    counted,
    fixed,
    interval,
    level,
    listed,
    p_value,
    percent,
    with_interval,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.report.tables import printed
from judgepanel.report.terminal import one_line
from judgepanel.studies.robustness.difficulty_transfer_result import (
    ABROAD,
    SOURCES,
    TARGETS,
    Cell,
    DifficultyTransfer,
)
from judgepanel.studies.robustness.slice_transfer_result import Outcome, SliceTransfer

ALPHA = 0.05
METHOD_NAMES = {
    "plain": "plain",
    "stratified": "stratified",
    "weighted": "importance-weighted",
}
_NAME = 60
_WAITING = "Not enough splits yet to say."


def abroad(found: DifficultyTransfer, calibrator: str, method: str = "plain") -> list[Cell]:
    """Easy to hard and hard to easy: first what is shown to fail, then the larger loss."""
    cells = [found.cell(calibrator, method, SOURCES[s], TARGETS[t]) for s, t in ABROAD]
    return sorted(cells, key=lambda cell: (not fails(cell), -cell.delta))


def fails(cell: Cell) -> bool:
    """Whether a cell is shown to lose against as many labels of its target, after Holm."""
    return cell.delta > 0.0 and cell.p_holm < ALPHA


def transfer_sentence(found: DifficultyTransfer, calibrator: str, method: str = "plain") -> str:
    """Whether labels of easy or of hard items alone carry over to the others."""
    worst, other = abroad(found, calibrator, method)
    if not math.isfinite(worst.p_holm):
        return _WAITING
    if fails(worst):
        text = _failing(worst)
        if fails(other):
            text += f" The reverse costs {_loss(other)}."
    else:
        text = (
            "Labels of easy items alone, or of hard ones alone, are not shown to cost NLL on the "
            f"others: {worst.source} to {worst.target} {_loss(worst)}, {other.source} to "
            f"{other.target} {_loss(other)}."
        )
        alone = [cell for cell in (worst, other) if cell.delta_lo > 0.0]
        if alone:
            p = p_value(min(cell.p_holm for cell in alone))
            text += f" Each interval is for one way alone; as both are asked, Holm's {p}."
    return f"{text} {CODING}" if found.measures_coding else text


def _failing(cell: Cell) -> str:
    base = f"base rate {fixed(cell.null_nll, 3)}"
    if cell.nll > cell.null_nll:
        base = f"worse than the base rate's {fixed(cell.null_nll, 3)}"
    return (
        f"Calibrated on {cell.source} items it fails on {cell.target} ones: NLL "
        f"{level(cell.nll, cell.nll_lo, cell.nll_hi)}, {base}; as many labels of {cell.target} "
        f"items give {fixed(cell.nll - cell.delta, 3)}, {_loss(cell)} apart."
    )


def remedy_sentence(found: DifficultyTransfer, calibrator: str) -> str:
    """What stratified and weighted calibrators change where the plain one loses most."""
    worst = abroad(found, calibrator)[0]
    parts = []
    for method in ("stratified", "weighted"):
        cell = found.cell(calibrator, method, worst.source, worst.target)
        if not math.isfinite(cell.gain_lo):
            return ""
        if cell.gain == cell.gain_lo == cell.gain_hi == 0.0:
            parts.append(f"{METHOD_NAMES[method]} calibration comes to the plain one")
            continue
        change = with_interval(cell.gain, cell.gain_lo, cell.gain_hi, sign=True)
        verdict = "changes nothing that can be shown"
        if cell.gain_hi < 0.0:
            verdict = "helps"
        elif cell.gain_lo > 0.0:
            verdict = "hurts"
        words = f"{METHOD_NAMES[method]} calibration {verdict}: {change}"
        if method == "weighted":
            words += f", with {percent(cell.effective)} of the labels effective"
        parts.append(words)
    return f"From {worst.source} to {worst.target}, {'; '.join(parts)}."


def difficulty_sentence(found: DifficultyTransfer, calibrator: str) -> str:
    """Whether easy items are the ones that are predicted better; empty where they are."""
    easy, hard = (found.cell(calibrator, "plain", "all", target) for target in TARGETS)
    if easy.nll <= hard.nll:
        return ""
    what = "that the judges agree on" if found.by == "disagreement" else "called easy"
    return (
        f"Here easy is not what it says: on the items {what} the panel of all items is right "
        f"{percent(easy.accuracy, 3)} of the time (NLL {fixed(easy.nll, 3)}), on the others "
        f"{percent(hard.accuracy, 3)} (NLL {fixed(hard.nll, 3)}). Read easy as agreed and hard as "
        "contested."
    )


def transfer_table(found: DifficultyTransfer, calibrator: str) -> pd.DataFrame:
    """Every cell under one calibrator; columns in ``SHARES`` are shares."""
    cells = [cell for cell in found.cells() if cell.calibrator == calibrator]
    home = [cell.source == cell.target for cell in cells]
    return pd.DataFrame(
        {
            "labels of": [cell.source for cell in cells],
            "scored on": [cell.target for cell in cells],
            "calibration": [METHOD_NAMES[cell.method] for cell in cells],
            "NLL": [level(cell.nll, cell.nll_lo, cell.nll_hi) for cell in cells],
            "base rate": [cell.null_nll for cell in cells],
            "constant score": [cell.constant_nll for cell in cells],
            "accuracy": [cell.accuracy for cell in cells],
            "accuracy 95 %": [
                f"[{percent(cell.accuracy_lo, 3)}, {percent(cell.accuracy_hi, 3)}]"
                if math.isfinite(cell.accuracy_lo)
                else "[n/a]"
                for cell in cells
            ],
            "loss": [
                "at home" if stays else _loss(cell) for cell, stays in zip(cells, home, strict=True)
            ],
            "p, Holm": [_p(cell.p_holm) for cell in cells],
            "against plain": [
                "" if cell.method == "plain" else compared(cell.gain, cell.gain_lo, cell.gain_hi)
                for cell in cells
            ],
            "effective labels": [cell.effective for cell in cells],
        }
    )


SHARES = ("accuracy", "effective labels")


def slice_sentence(found: SliceTransfer) -> str:
    """Which slices need labels of their own."""
    if not found.slices:
        return " ".join(found.warnings[-1:]) or "There is no slice to leave out."
    worst = worst_slice(found)
    if not math.isfinite(float(found.p_holm[worst, 1])):
        return _WAITING
    outcomes = [found.outcome(g) for g in range(len(found.slices))]
    failing = outcomes.count("fails")
    name = one_line(found.slices[worst])[:_NAME]
    loss = with_interval(
        float(found.delta[worst, 1]),
        float(found.band_lo[worst, 1]),
        float(found.band_hi[worst, 1]),
        sign=True,
    )
    nll = level(*(float(part[worst, 1]) for part in (found.nll, found.nll_lo, found.nll_hi)))
    if outcomes[worst] == "fails":
        text = (
            f"Without labels of the slice '{name}' it fails there: NLL {nll}, "
            f"{fixed(float(found.nll[worst, 0]), 3)} with as many labels of its own (loss {loss}; "
            f"base rate {fixed(float(found.null_nll[worst, 1]), 3)}). "
            f"{capital(_counts(failing, outcomes))}."
        )
    else:
        text = (
            f"None of {counted(len(outcomes), 'slice')} by {one_line(found.feature or '')[:_NAME]} "
            f"is shown to need labels of its own; the largest loss is {loss}, on '{name}'. "
            f"{capital(_counts(failing, outcomes))}."
        )
    return f"{text} {CODING}" if found.measures_coding else text


def worst_slice(found: SliceTransfer) -> int:
    """The failing slice that loses most, or else the slice that loses most."""
    places = range(len(found.slices))
    failing = [g for g in places if found.outcome(g) == "fails"]
    return max(failing or places, key=lambda g: float(found.delta[g, 1]))


def _counts(failing: int, outcomes: list[Outcome]) -> str:
    counts = (
        (failing, "fails", "fail"),
        (outcomes.count("holds"), "holds within 2 %", "hold within 2 %"),
        (outcomes.count("helps"), "gains", "gain"),
        (outcomes.count("undecided"), "is undecided", "are undecided"),
    )
    parts = [f"{n} {one if n == 1 else several}" for n, one, several in counts if n]
    return f"of {counted(len(outcomes), 'slice')} {listed(parts)}"


def slice_table(found: SliceTransfer) -> pd.DataFrame:
    """Every slice under its own labels and those from elsewhere."""

    def levels(arm: int) -> list[str]:
        return [
            level(*(float(part[g, arm]) for part in (found.nll, found.nll_lo, found.nll_hi)))
            for g in range(len(found.slices))
        ]

    return pd.DataFrame(
        {
            "slice": [one_line(name)[:_NAME] for name in found.slices],
            "items": found.n_slice,
            "labels": [round(float(n)) for n in found.labels[:, 0]],
            "NLL, own labels": levels(0),
            "NLL, from elsewhere": levels(1),
            "base rate": found.null_nll[:, 1],
            "loss": [
                with_interval(float(value), float(lo), float(hi), sign=True)
                for value, lo, hi in zip(
                    found.delta[:, 1], found.delta_lo[:, 1], found.delta_hi[:, 1], strict=True
                )
            ],
            "all slices together": [
                interval(float(lo), float(hi), sign=True)
                for lo, hi in zip(found.band_lo[:, 1], found.band_hi[:, 1], strict=True)
            ],
            "p, Holm": [_p(float(p)) for p in found.p_holm[:, 1]],
            "outcome": [found.outcome(g) for g in range(len(found.slices))],
            "more labels": [round(float(n)) for n in found.labels[:, 2]],
            "NLL, more from elsewhere": levels(2),
        }
    )


def transfer_text(found: DifficultyTransfer) -> str:
    """Every calibrator's answer and matrix, for a terminal."""
    lines = [
        f"{found.n_splits} splits, {found.n_labels:.0f} labels of each kind, easy and hard by "
        f"{one_line(found.by)}, {AGGREGATOR_NAMES[found.aggregator]}, orientation "
        f"{found.orientation}, protocol {found.protocol}, seed {found.seed}."
    ]
    for calibrator in found.calibrators:
        lines.append(f"\n{CALIBRATED[calibrator]}: {transfer_sentence(found, calibrator)}")
        said = (remedy_sentence(found, calibrator), difficulty_sentence(found, calibrator))
        lines += [text for text in said if text]
        lines.append(printed(transfer_table(found, calibrator)))
    return "\n".join(lines)


def slice_text(found: SliceTransfer) -> str:
    """The answer and every slice, for a terminal."""
    lines = [slice_sentence(found)]
    if found.slices:
        lines.append(printed(slice_table(found)))
    return "\n".join(lines)


def _loss(cell: Cell) -> str:
    return with_interval(cell.delta, cell.delta_lo, cell.delta_hi, sign=True)


def _p(p: float) -> str:
    return p_value(p).removeprefix("p ").removeprefix("= ") if math.isfinite(p) else ""
