"""Three real matrices whose verdicts are known (docs/inference.md)."""

from __future__ import annotations

from benchmarks.real import real_votes
from benchmarks.report import Table
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurveSpec
from judgepanel.studies.runner import run

CONTROLS = (
    ("rewardbench", 10, "curate", "-38 ± 8 %"),
    ("mozafari", 5, "keep all", "+18 ± 6 %"),
    ("llmbar", 5, "undecided", "-1 ± 15 %"),
)


def controls() -> tuple[Table, bool]:
    """One-coin and temperature, 100 splits: the table, and whether all verdicts are as expected."""
    rows, right = [], True
    for name, k, expected, known in CONTROLS:
        spec = PanelCurveSpec(
            Settings(splits=100), calibrators=("temperature",), ks=(k,), compare=(k,)
        )
        comparison = run(PANEL_CURVE, real_votes(name), spec).comparison("temperature", f"top-{k}")
        if comparison is None:
            raise RuntimeError(f"{name} has no comparison of top-{k} with all judges")
        right &= comparison.verdict == expected
        delta, low, high = (100 * end / comparison.nll_all for end in comparison.delta)
        rows.append(
            (
                f"{name}, top-{k}",
                f"{delta:+.1f} %",
                f"{low:+.1f} to {high:+.1f} %",
                known,
                comparison.verdict,
                expected,
            )
        )
    headings = ("votes", "delta / NLL(all)", "95 % interval", "known", "verdict", "expected")
    note = "Delta = NLL(top-k) - NLL(all): below 0 curating is better. 100 splits, half and half."
    return Table("Real controls", headings, rows, note), right
