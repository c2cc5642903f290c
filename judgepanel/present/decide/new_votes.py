"""New votes in words: whether the panel is still right, and which judges have changed."""

from __future__ import annotations

import math

from judgepanel.decision import score, training_items
from judgepanel.scoring.interval import Interval
from judgepanel.words.tables import Column, numbers, text
from judgepanel.words.text import counted, p_cell, percent, plain, share_level

TELLING = 20
"""Labelled new items from which their figures are part of the answer."""


def new_votes_sentence(scored: score.Scored, expected: Interval, n_judges: int) -> str:
    """Say whether the panel is still right on new items.

    ``expected`` is the share of right decisions that was expected of the panel of ``n_judges``.
    """
    moved = _moved(scored.drift)
    judges = f"{counted(len(moved), 'judge')} of {n_judges} moved"
    if not moved:
        judges = "no judge is shown to have moved"
    if scored.drift.few_groups:
        judges = "whether judges moved is not tested"
    figures = _telling(scored)
    if figures is None or scored.labelled is None:
        start = "Perhaps not" if moved else "Nothing speaks against it"
        few = "no label came" if scored.labelled is None else "too few labels came to tell"
        return f"{start}: {judges}, and {few}."
    right = f"right on {share_level(*figures.right)} of {scored.labelled.n:,} labelled new items"
    if _fell(figures, expected):
        return f"No: {right}; {percent(float(expected.value))} was expected, and {judges}."
    return f"Yes{', for now' if moved else ''}: {right}; {judges}."


def still_right(scored: score.Scored, expected: Interval) -> bool:
    """Whether nothing speaks against the panel."""
    figures = _telling(scored)
    return not _moved(scored.drift) and not (figures is not None and _fell(figures, expected))


def _telling(scored: score.Scored) -> score.LabelFigures | None:
    labelled = scored.labelled
    return None if labelled is None or labelled.n < TELLING else labelled.figures


def _fell(figures: score.LabelFigures, expected: Interval) -> bool:
    """Whether fewer decisions are right than expected, beyond the errors of both."""
    gap = float(expected.value) - float(figures.right.value)
    below = float(expected.value) - float(expected.lo)
    above = float(figures.right.hi) - float(figures.right.value)
    return gap > math.hypot(below if math.isfinite(below) else 0.0, above)


def sure_sentence(figures: score.LabelFigures) -> str:
    """Say how often the panel is right where it is sure."""
    if not figures.n_sure:
        return "On none of them is it 90 % sure."
    return (
        f"On {figures.n_sure:,} of them it is 90 % sure or more, and right on "
        f"{share_level(*figures.sure_right)}."
    )


def drift_table(drift: training_items.Drift) -> dict[str, Column]:
    """Return how every judge voted then and now, the clearest changes first."""
    rows = sorted((row for row in drift.changes if row.judge), key=lambda change: change.p)
    return {
        "judge": text([plain(row.judge, 120) for row in rows]),
        "share of": text([training_items.MEASURE_WORDS[row.measure] for row in rows]),
        "then": numbers([row.before for row in rows], "share"),
        "now": numbers([row.after for row in rows], "share"),
        "items then": numbers([row.n_before for row in rows], "whole"),
        "items now": numbers([row.n_after for row in rows], "whole"),
        "p (Holm)": text([p_cell(row.p_holm) for row in rows]),
    }


def _moved(drift: training_items.Drift) -> set[str]:
    return {change.judge for change in drift.significant if change.judge}
