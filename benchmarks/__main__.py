"""The command line of the benchmarks: which to run, and at what size."""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks.report import Report, publish

USAGE = "./run bench [NAME ...] [--SIZE N ...]: run these benches, or all of them."
BENCHES = {
    "reading": "large files: preview of an upload, loading of one row per vote; time and memory",
    "engine": "the panel curve against the loop a user would write; workers, memory",
    "growth": "curve and recommendation as items, judges and splits grow: time, memory",
    "curators": "searches among panels against loops that refit one candidate at a time",
    "cost": "what a panel costs: the frontier and escalation on real votes, and their time",
    "fuzz": "readers of untrusted files: any bytes are read, or refused in one line",
    "load": "many readers of one shared analysis: errors, seconds per page, memory of the server",
    "faults": "many readers while server, workers and database are killed: errors, lost results; "
    "--sessions 40 --views 2000 --kills 9",
    "decision": "the recommendation on held-out halves against the best candidate in hindsight",
    "lean": "Best or Lean: the marked panel on hidden items against the price; "
    "--seeds 10 --splits 10",
    "expected": "the expected NLL and its interval against the NLL on new items; --seeds 10",
    "dawid_skene": "Dawid-Skene against crowd-kit; sparse panels",
    "grades": "grades against the votes cut from them on held-out halves; --splits 20",
    "joint": "joint against the best one-coin cell in hindsight; its time",
    "irt": "2PL against girth; recovery of abilities, discriminations and shares",
    "label_budget": "label budgets: size and power of the joint test, coverage",
    "budget_speed": "label budgets: time, against the loop a user would write",
    "claim": "one-class coding against honest labels on real votes, beside the paper",
    "methods": "the method grid: time, and memory on sparse votes",
    "confidence": "intervals, chance levels and conformal promises of confidence",
    "inference": "coverage and width of the interval of delta, and the three real controls; "
    "--data-sets 1000",
    "accurate": "intervals of NLL where hardly a decision is wrong: coverage before and after",
    "absence": "families absent at scoring: printed intervals, base rate, fallbacks",
    "panel_checks": "warnings of scoring: drift, and items the panel was fitted on",
    "robustness": "permuted labels, transfer and importance weights: sizes and repairs",
    "robustness_votes": "damaged votes, weighting, juries: tests, coverage, real votes",
    "value": "what judges are worth: quick refits against exact ones, time, coverage",
    "waits": "what people wait for, against the targets: commands, large files, Dask, pages",
    "collect": "asking judges: calls a second against a loopback endpoint, memory over many",
    "verdicts": "outputs of judges: speed of reading, and LLMBar's own reading beside ours",
    "position": "rare permuted labels used with their swaps: claims made without a condition",
    "estimate": "rates from few labels on real votes: coverage, what panels are worth in labels; "
    "--replays 1000 --worlds 500",
    "scope": "scope checks: clean panels that pass, false alarms and power",
}


def main(arguments: list[str]) -> int:
    listed = "\n".join(f"  {name:16} {what}" for name, what in BENCHES.items())
    if {"-h", "--help"} & set(arguments):
        print(f"{USAGE}\n\nBenches:\n{listed}")
        return 0
    first = next((n for n, word in enumerate(arguments) if word.startswith("--")), len(arguments))
    names, options = arguments[:first], arguments[first:]
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"There is no bench '{unknown[0]}'. Benches:\n{listed}", file=sys.stderr)
        return 2
    values = options[1::2]
    if len(values) < len(options[::2]) or not all(value.isdecimal() for value in values):
        print(f"A size is a name and a whole number. {USAGE}", file=sys.stderr)
        return 2
    sizes = {
        name.removeprefix("--").replace("-", "_"): int(value)
        for name, value in zip(options[::2], values, strict=True)
    }
    for name in names or BENCHES:
        report: Report = import_module(f"benchmarks.{name}").run(**sizes)
        publish(name, report)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
