"""What labels of easy items are worth on hard ones, and the other way round."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from judgepanel.figures.robustness.transfer_matrix import transfer_matrix
from judgepanel.present.blocks import (
    Answer,
    Block,
    Heading,
    Method,
    Paragraph,
    Table,
    drawing,
    paragraphs,
)
from judgepanel.studies.robustness.difficulty_transfer import DifficultyTransferSpec
from judgepanel.studies.robustness.difficulty_transfer_result import (
    ABROAD,
    SOURCES,
    TARGETS,
    Cell,
    DifficultyTransfer,
)
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import (
    compared,
    fixed,
    level,
    p_cell,
    p_value,
    percent,
    with_interval,
)
from judgepanel.words.sentences import CALIBRATED, CODING, first_calibrator
from judgepanel.words.text import plain

ALPHA = 0.05
METHOD_NAMES = {
    "plain": "plain",
    "stratified": "stratified",
    "weighted": "importance-weighted",
}
WAITING = "Not enough splits yet to say."
_SHARES = ("accuracy", "effective labels")


@dataclass(frozen=True, slots=True)
class TransferView:
    """Which calibrator and which way of carrying labels over; None shows every calibrator."""

    calibrator: str | None = None
    method: str = "plain"


def abroad(result: DifficultyTransfer, calibrator: str, method: str = "plain") -> list[Cell]:
    """Easy to hard and hard to easy: first what is shown to fail, then the larger loss."""
    cells = [result.cell(calibrator, method, SOURCES[s], TARGETS[t]) for s, t in ABROAD]
    return sorted(cells, key=lambda cell: (not fails(cell), -cell.delta))


def fails(cell: Cell) -> bool:
    """Whether a cell is shown to lose against as many labels of its target, after Holm."""
    return cell.delta > 0.0 and cell.p_holm < ALPHA


def transfer_sentence(result: DifficultyTransfer, calibrator: str, method: str = "plain") -> str:
    """Whether labels of easy or of hard items alone carry over to the others."""
    worst, other = abroad(result, calibrator, method)
    if not math.isfinite(worst.p_holm):
        return WAITING
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
    return f"{text} {CODING}" if result.measures_coding else text


def _failing(cell: Cell) -> str:
    base = f"base rate {fixed(cell.null_nll, 3)}"
    if cell.nll > cell.null_nll:
        base = f"worse than the base rate's {fixed(cell.null_nll, 3)}"
    return (
        f"Calibrated on {cell.source} items it fails on {cell.target} ones: NLL "
        f"{level(cell.nll, cell.nll_lo, cell.nll_hi)}, {base}; as many labels of {cell.target} "
        f"items give {fixed(cell.nll - cell.delta, 3)}, {_loss(cell)} apart."
    )


def difficulty_sentence(result: DifficultyTransfer, calibrator: str) -> str:
    """Whether easy items are the ones that are predicted better; empty where they are."""
    easy, hard = (result.cell(calibrator, "plain", "all", target) for target in TARGETS)
    if easy.nll <= hard.nll:
        return ""
    what = "that the judges agree on" if result.by == "disagreement" else "called easy"
    return (
        f"Here easy is not what it says: on the items {what} the panel of all items is right "
        f"{percent(easy.accuracy, 3)} of the time (NLL {fixed(easy.nll, 3)}), on the others "
        f"{percent(hard.accuracy, 3)} (NLL {fixed(hard.nll, 3)}). Read easy as agreed and hard as "
        "contested."
    )


def remedy_sentence(result: DifficultyTransfer, calibrator: str) -> str:
    """What stratified and weighted calibrators change where the plain one loses most."""
    worst = abroad(result, calibrator)[0]
    parts = []
    for method in ("stratified", "weighted"):
        cell = result.cell(calibrator, method, worst.source, worst.target)
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


def transfer_table(result: DifficultyTransfer, calibrator: str) -> pd.DataFrame:
    """Every cell under one calibrator; columns in ``SHARES`` are shares."""
    cells = [cell for cell in result.cells() if cell.calibrator == calibrator]
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
            "p, Holm": [p_cell(cell.p_holm) for cell in cells],
            "against plain": [
                "" if cell.method == "plain" else compared(cell.gain, cell.gain_lo, cell.gain_hi)
                for cell in cells
            ],
            "effective labels": [cell.effective for cell in cells],
        }
    )


def _loss(cell: Cell) -> str:
    return with_interval(cell.delta, cell.delta_lo, cell.delta_hi, sign=True)


def present(
    result: DifficultyTransfer, spec: DifficultyTransferSpec, view: TransferView = TransferView()
) -> list[Block]:
    """The matrix of one calibrator, then those of the others where none was chosen."""
    if view.calibrator is not None:
        return [*_matrix(result, view.calibrator, view.method), _method(result)]
    first = first_calibrator(result.calibrators)
    blocks = _matrix(result, first, view.method)
    for calibrator in result.calibrators:
        if calibrator != first:
            blocks.append(Heading(CALIBRATED[calibrator], 3))
            blocks += _matrix(result, calibrator, view.method)
    return [*blocks, _method(result)]


def _matrix(result: DifficultyTransfer, calibrator: str, method: str) -> list[Block]:
    figure = transfer_matrix(result, calibrator, method)
    shows = "NLL from the labels of easy, hard and all items to easy and to hard items"
    return [
        Answer(transfer_sentence(result, calibrator, method)),
        *paragraphs(difficulty_sentence(result, calibrator), remedy_sentence(result, calibrator)),
        drawing(figure, shows),
        Paragraph(_reading(result), quiet=True),
        Table(as_columns(transfer_table(result, calibrator), _SHARES), height=320),
    ]


def _reading(result: DifficultyTransfer) -> str:
    measure = "disagreement of the votes" if result.by == "disagreement" else plain(result.by, 60)
    return (
        f"Easy: the {result.n_target[0]:,} items with {measure} up to {fixed(result.easy_to, 2)}; "
        f"hard: the {result.n_target[1]:,} with {fixed(result.hard_from, 2)} or more. Every panel "
        f"is fitted on {result.n_labels:,.0f} labels. In a cell: its NLL, its loss against as many "
        "labels of the items it is scored on, and the base rate of its labels. Deep blue is good, "
        "orange is worse than the base rate."
    )


def _method(result: DifficultyTransfer) -> Method:
    return Method(
        f"{result.n_splits} random splits (seed {result.seed}). No label decides which items are "
        "easy. On one side of a split, judges are weighted and calibrators fitted on equally many "
        "labels of easy, of hard, or of all items; the items of the other side are scored. The "
        "loss compares both panels on the same items; its p-values are Holm's over both ways. "
        "Importance weights come from a classifier that separates the two kinds of item by their "
        "votes; they are capped at 10 times their mean, and the effective number of labels says "
        "how many remain."
    )
