"""The report of a benchmark: text and tables, printed and written as Markdown."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("numpy", "scipy", "scikit-learn", "betacal", "crowd-kit", "girth", "joblib")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under headings; ``note`` explains them."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""

    def markdown(self) -> str:
        """The table in Markdown, with aligned columns so that it reads as plain text."""
        grid = [self.headings, *self.rows]
        widths = [max(len(row[i]) for row in grid) for i in range(len(self.headings))]
        lines = [
            "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
            for row in grid
        ]
        lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
        return "\n".join([f"## {self.title}", "", *lines, *(["", self.note] if self.note else [])])


@dataclass(frozen=True, slots=True)
class Report:
    title: str
    question: str
    tables: Sequence[Table]
    verdicts: Sequence[str] = ()

    def markdown(self) -> str:
        verdicts = "\n".join(f"- {line}" for line in self.verdicts)
        parts = [f"# {self.title}", self.question, machine(), verdicts]
        parts += [table.markdown() for table in self.tables]
        return "\n\n".join(part for part in parts if part) + "\n"


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine() -> str:
    """Facts that a reader needs to judge the numbers, but nothing that identifies the machine."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    python = platform.python_version()
    return f"Measured on {cores()} cores ({platform.machine()}), Python {python}, {packages}."


def publish(name: str, report: Report) -> None:
    """Print a report and write it to `results/NAME.md`."""
    text = report.markdown()
    print(text, flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")


def say(message: str) -> None:
    """Print progress to standard error."""
    print(message, file=sys.stderr, flush=True)
