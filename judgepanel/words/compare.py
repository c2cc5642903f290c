"""Words for two analyses: how their data differ, and what their results allow us to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.scoring.interval import Interval
from judgepanel.studies.panel.overlap import Relation, Side
from judgepanel.studies.panel.what_if import WhatIf
from judgepanel.words.numbers import (
    all_judges,
    counted,
    listed,
    minute,
    percent,
    with_interval,
)
from judgepanel.words.sentences import CODING, panel_pipelines, pipeline_name
from judgepanel.words.tables import Column, ends, numbers, text
from judgepanel.words.text import plain

MARKED = "measures the coding, not the judges"
_NAMES = 3
_SETTINGS = {
    "orientation": "order",
    "protocol": "protocol",
    "splits": "number of splits",
    "fraction": "calibration share",
    "seed": "seed",
    "group_duplicates": "grouping of duplicates",
}


def data_sentence(overlap: Relation) -> str:
    """Say whether both have the same items and labels, and so whether there is a test."""
    if not overlap.same_task:
        return (
            "One is pairwise and the other pointwise: their NLLs are of different tasks, and "
            "comparing their intervals is not a test of the difference."
        )
    if not overlap.same_items:
        return (
            f"They rest on different data ({_counts(overlap)}), so each NLL refers to its own "
            "items and labels, and comparing intervals from different data is not a test of the "
            "difference."
        )
    return (
        f"Both rest on the same {counted(overlap.shared, 'labelled item')} and labels{_on(overlap)}"
    )


def _on(overlap: Relation) -> str:
    """Say what else is the same, or what prevents a test of the difference."""
    if overlap.settings:
        names = listed([_SETTINGS[name] for name in overlap.settings])
        return f", but not on the same settings ({names}): no difference is tested."
    if overlap.revoted:
        return (
            f", but {counted(len(overlap.revoted), 'judge')} of the same name voted differently in "
            "the two files: no difference is tested."
        )
    if overlap.host:
        return ", and on the same splits: what differs is who judges."
    if not (overlap.judges_before or overlap.judges_after):
        return ", judges, votes and settings: there is no difference to test."
    return (
        ", but no difference is tested: that needs the votes of all judges in one file, and the "
        "honest protocol."
    )


def paired_sentence(result: WhatIf) -> str:
    """Return the difference on the same items; better or worse only if its interval excludes 0."""
    change = with_interval(*result.delta, sign=True)
    judges = all_judges(len(result.kept.judges))
    text = (
        f"NLL changes by {change} with what is recommended from {judges} "
        f"after in place of {len(result.against.judges):,} before."
    )
    if result.verdict == "tie":
        return "The same judges take part in both: there is no difference."
    if result.measures_coding:
        return f"{text} {CODING}"
    delta, lo, hi = map(float, result.delta)
    if lo <= 0.0 <= hi:
        small = -result.margin < lo and hi < result.margin
        return f"No difference is shown: {text}" + " It is below 2 % either way." * small
    bound = min(abs(lo), abs(hi))
    slight = " It may be less than 2 %." * (bound < result.margin)
    return f"{'Better' if delta < 0 else 'Worse'}: {text}{slight}"


def data_rows(before: Side, after: Side, overlap: Relation) -> list[tuple[str, str, str]]:
    """Return what is compared, before and after: bounded text, still to be escaped."""
    sides = (before, after)
    oriented = [side.oriented for side in sides]
    rows: list[tuple[str, Iterable[str]]] = [
        ("name", (plain(side.name) for side in sides)),
        ("file", (plain(side.file) for side in sides)),
        ("made, UTC", (minute(side.created) for side in sides)),
        ("items", (f"{side.votes.n_items:,}" for side in sides)),
        ("labelled", (f"{int(side.votes.labelled.sum()):,}" for side in sides)),
        ("labelled here only", (f"{n:,}" for n in (overlap.only_before, overlap.only_after))),
        ("rarer label", (percent(side.votes.minority_share) for side in sides)),
        ("judges", (f"{len(side.judges):,}" for side in sides)),
        ("judges in both", (f"{len(overlap.judges_both):,}" for _ in sides)),
        ("judges here only", (_some(n) for n in (overlap.judges_before, overlap.judges_after))),
        ("judges set aside", (_some(votes.set_aside) for votes in oriented)),
        ("order", (votes.policy.replace("_", " ") for votes in oriented)),
        ("protocol", (side.settings.protocol for side in sides)),
        ("splits", (side.settings.splits_text for side in sides)),
        ("calibration share", (percent(side.settings.fraction) for side in sides)),
        ("seed", (str(side.settings.seed) for side in sides)),
        ("data fingerprint", (side.votes.sha256[:10] for side in sides)),
    ]
    return [(name, *both) for name, (*both,) in rows]  # type: ignore[misc]


def result_table(results: Sequence[tuple[str, Recommendation]]) -> dict[str, Column]:
    """Return all judges under the reference, and the recommendation, of each available analysis."""
    if not results:
        return {}
    rows: list[tuple[str, str, str, str, CandidateFigures | Recommendation, float, str]] = []
    for which, result in results:
        coding, null = MARKED if result.measures_coding else "", result.null_nll
        model, reference = result.model, result.reference
        method = pipeline_name(reference.aggregator, reference.calibrator)
        rows.append((which, "all judges", f"{reference.k:,}", method, reference, null, coding))
        method = panel_pipelines(model)
        some = f"{len(model.judges):,} of {result.n_judges:,}"
        rows.append((which, "recommended", some, method, result, null, coding))
    names, panels, judges, methods, scored, nulls, notes = zip(*rows, strict=True)
    nll = Interval.stacked(figures.nll for figures in scored)
    columns = {
        "analysis": text(names),
        "panel": text(panels),
        "judges": text(judges),
        "method": text(methods),
        "NLL": numbers(nll.value),
        "NLL 95 %": ends(nll, 3),
        "null NLL": numbers(nulls),
        "skill": numbers(1.0 - nll.value / np.array(nulls), "share"),
    }
    return columns | ({"note": text(notes)} if any(notes) else {})


def _counts(overlap: Relation) -> str:
    parts = [f"by their ids {counted(overlap.shared, 'labelled item')} in both"]
    for n, where in ((overlap.only_before, "before"), (overlap.only_after, "after")):
        parts += [f"{n:,} only {where}"] * bool(n)
    parts += [f"{overlap.relabelled:,} with another label"] * bool(overlap.relabelled)
    parts += ["other groups"] * overlap.regrouped
    return ", ".join(parts)


def _some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more; a dash if there are none."""
    displayed = [plain(name, 40) for name in names[:_NAMES]]
    more = len(names) - len(displayed)
    return ", ".join(displayed) + f" and {more:,} more" * bool(more) if names else "–"
