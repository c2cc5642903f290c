"""Blocks that the sections of a report are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from judgepanel.report.document import Block, Drawing, Paragraph, Rows
from judgepanel.report.numbers import counted, fixed
from judgepanel.report.tables import PERCENTS
from judgepanel.studies.claim.claim_result import Claim

SHARES = (*PERCENTS, "parse rate", "coded ties", "share", "coverage")
SHOWN_ROWS = 25


def answer(found: Any, sentence: str) -> Paragraph:
    """A section's answer; it says of how many splits where some are still missing."""
    so_far = ""
    if getattr(found, "partial", False) and hasattr(found, "planned_splits"):
        so_far = f"So far, {found.n_splits:,} of {found.planned_splits:,} splits: "
    return Paragraph(so_far + sentence, strong=True)


def shown_calibrator(found: Any) -> str:
    """The calibrator that pages show first: beta where it was fitted."""
    return "beta" if "beta" in found.calibrators else str(found.calibrators[0])


def said(*sentences: str | None) -> list[Block]:
    """Sentences that there are."""
    return [Paragraph(sentence) for sentence in sentences if sentence]


def drawing(figure: go.Figure, shows: str) -> Drawing:
    """A figure of which its axes say the rest."""
    x, y = (axis.title.text for axis in (figure.layout.xaxis, figure.layout.yaxis))
    return Drawing(figure, f"Figure: {shows}" + (f"; {y} against {x}" if x and y else "") + ".")


def rows(frame: pd.DataFrame, caption: str = "", most: int = SHOWN_ROWS) -> Rows:
    """A table with its shares in per cent."""
    return Rows(frame, caption, SHARES, most)


def run_line(found: Any) -> str:
    """The yardstick and the run: null NLL, items, splits, seed, whatever of these there is.

    The claim has a base rate for each coding, which its own sentences give.
    """
    parts = []
    null = np.ravel(np.asarray(getattr(found, "null_nll", np.nan), dtype=float))
    null = null[np.isfinite(null)]
    if len(null) and not isinstance(found, Claim):
        low, high = fixed(float(null.min()), 3), fixed(float(null.max()), 3)
        parts.append(f"base rate alone: NLL {low}" + (f" to {high}" if low != high else ""))
    if hasattr(found, "n_items"):
        parts.append(counted(int(found.n_items), "labelled item"))
    if hasattr(found, "planned_splits"):
        parts.append(f"{found.n_splits:,} of {counted(found.planned_splits, 'split')}")
    if hasattr(found, "seed"):
        parts.append(f"seed {found.seed}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}. Intervals are 95 %." if text else ""
