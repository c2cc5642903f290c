"""How time and memory of the panel curve and the recommendation grow with the votes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.once import Job, measure
from benchmarks.report import Report, Table, say
from judgepanel.decision.recommend import RECOMMEND
from judgepanel.studies.decide.panel_curve import PANEL_CURVE

ROUNDS = 2
LARGEST = 3
TARGET_POWER = 1.05
FIELDS = {"items N": "n_items", "judges K": "n_judges", "splits S": "splits"}
BASES = {
    PANEL_CURVE.name: Job(n_items=1000, n_judges=50, splits=20),
    RECOMMEND.name: Job(n_items=1000, n_judges=20, splits=8, study=RECOMMEND.name),
}
SIZES: dict[str, dict[str, tuple[int, ...]]] = {
    PANEL_CURVE.name: {
        "items N": (1000, 2000, 4000, 8000, 16000),
        "judges K": (25, 50, 100, 200, 400),
        "splits S": (20, 40, 80, 160),
    },
    RECOMMEND.name: {
        "items N": (1000, 2000, 4000, 8000),
        "judges K": (20, 40, 80, 160),
        "splits S": (8, 16, 32, 64),
    },
}


def run() -> Report:
    tables, lines = [], []
    for study, sizes in SIZES.items():
        for name, values in sizes.items():
            table, line = _grown(study, name, values)
            tables.append(table)
            lines.append(line)
    return Report(
        "Growth: time and memory as votes grow",
        f"One process, simulated votes without gaps, the better of {ROUNDS} runs; the curve takes "
        "every k. Seconds are those of the study without the imports of its process, MiB the peak "
        "of the process.",
        tables,
        lines,
    )


def _grown(study: str, name: str, sizes: tuple[int, ...]) -> tuple[Table, str]:
    base, field = BASES[study], FIELDS[name]
    jobs = [replace(base, **{field: size}) for size in sizes]  # type: ignore[arg-type]
    costs = [min((measure(job) for _ in range(ROUNDS)), key=lambda c: c.seconds) for job in jobs]
    seconds = np.array([cost.seconds for cost in costs])
    say(f"{study}, {name}: {seconds.round(2).tolist()} s")
    power = np.polyfit(np.log(sizes[-LARGEST:]), np.log(seconds[-LARGEST:]), 1)[0]
    met = "met" if power <= TARGET_POWER else "MISSED"
    rest = ", ".join(
        f"{key} = {getattr(base, other)}" for key, other in FIELDS.items() if other != field
    )
    rows = [
        (f"{size:,}", f"{cost.seconds:.2f}", f"{cost.peak:.0f}")
        for size, cost in zip(sizes, costs, strict=True)
    ]
    line = (
        f"`{study}`: time grows as the power {power:.2f} of {name} at the {LARGEST} largest sizes "
        f"(least squares on logs; target {TARGET_POWER}: {met})."
    )
    return Table(f"{study}, {name}; {rest}", (name, "seconds", "MiB"), rows), line
