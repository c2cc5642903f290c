"""Reading verdicts: outputs per second on one core, and agreement with LLMBar's own parser."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.report import Report, Table, say
from judgepanel.votes.outputs import read_verdict
from judgepanel.votes.table import LEVELS

N_OUTPUTS = 100_000
LENGTH = 2_000
TARGET_SECONDS = 10.0
TARGET_READ = 0.98
TARGET_AGAINST = 0.003
FILE = "llmbar_transcripts.jsonl"
_SIDES = {"first": "A", "second": "B"}


def run() -> Report:
    """Run the benchmark."""
    rows = _pairs()
    counts = _compared(rows)
    say(f"{N_OUTPUTS:,} outputs of {LENGTH:,} characters")
    table, verdict = _speed([row["raw_text"] for row in rows])
    return Report(
        title="Reading verdicts",
        question="How fast is a judge's output read, and is it read as the benchmark read it?",
        tables=(_agreement(counts), table),
        verdicts=(*_verdicts(counts), verdict),
    )


def _pairs() -> list[dict[str, str]]:
    folder = os.environ.get("JUDGEPANEL_REAL_VOTES")
    if not folder:
        raise SystemExit("JUDGEPANEL_REAL_VOTES does not name the folder of real vote matrices.")
    lines = (Path(folder) / FILE).read_text("utf-8").splitlines()
    return [row for line in lines if (row := json.loads(line))["style"] == "pairwise"]


def _compared(rows: list[dict[str, str]]) -> Counter[str]:
    """Counts of outputs by whether LLMBar's parser and ours read them, and whether they agree."""
    counts: Counter[str] = Counter()
    for row in rows:
        side, theirs = read_verdict(row["raw_text"]).side, _SIDES.get(row["parsed_verdict"])
        if theirs is None:
            counts["read by us alone" if side else "read by neither"] += 1
        else:
            counts["not read" if not side else "alike" if side == theirs else "against"] += 1
    return counts


def _verdicts(counts: Counter[str]) -> tuple[str, str]:
    known = counts["alike"] + counts["against"] + counts["not read"]
    alike, against = counts["alike"] / known, counts["against"] / known
    return (
        f"Of {known:,} verdicts that LLMBar read, {alike:.2%} are read alike (target "
        f"{TARGET_READ:.0%}: {'met' if alike >= TARGET_READ else 'MISSED'}).",
        f"{counts['against']} ({against:.2%}) are read the other way (target {TARGET_AGAINST:.1%}: "
        f"{'met' if against <= TARGET_AGAINST else 'MISSED'}); docs/transcripts.md explains them.",
    )


def _agreement(counts: Counter[str]) -> Table:
    return Table(
        "LLMBar's pairwise outputs",
        ("outputs", "number"),
        tuple((name, f"{count:,}") for name, count in counts.most_common()),
    )


def _speed(texts: list[str]) -> tuple[Table, str]:
    """Time outputs of equal length made of real text, with a real output at the end."""
    rng = np.random.default_rng(0)
    long = " ".join(text for text in texts if len(text) > 200)
    starts = rng.integers(0, len(long) - LENGTH, N_OUTPUTS)
    ends = rng.integers(0, len(texts), N_OUTPUTS)
    outputs = []
    for start, end in zip(starts, ends, strict=True):
        last = texts[end][-LENGTH // 2 :]
        outputs.append(long[start : start + LENGTH - len(last) - 1] + "\n" + last)
    began = time.perf_counter()
    counter = Counter(read_verdict(text).level or "none" for text in outputs)
    seconds = time.perf_counter() - began
    rows = tuple((level, f"{counter[level]:,}") for level in (*LEVELS, "none"))
    met = "met" if seconds < TARGET_SECONDS else "MISSED"
    return (
        Table(f"{N_OUTPUTS:,} outputs by level", ("level", "number"), rows),
        f"{N_OUTPUTS:,} outputs of {LENGTH:,} characters in {seconds:.1f} s on one core (target "
        f"{TARGET_SECONDS:.0f} s: {met}).",
    )
