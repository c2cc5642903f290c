"""Which judges err together, and how many independent ones they are worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgepanel.figures.judges.redundancy import correlation_map
from judgepanel.present.blocks import (
    Answer,
    Block,
    Figure,
    Heading,
    Method,
    Paragraph,
    Table,
    paragraphs,
)
from judgepanel.studies.judges.judges import JudgesSpec
from judgepanel.studies.judges.judges_result import MAP_JUDGES, Estimate, Judges
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import counted, fixed, interval, sig
from judgepanel.words.sentences import AGGREGATOR_NAMES
from judgepanel.words.terminal import one_line
from judgepanel.words.text import plain

_FAMILIES_NAMED = 3
_FIRST = (
    "judge",
    "family",
    "accuracy",
    "accuracy_lo",
    "accuracy_hi",
    "voted",
    "cluster",
    "with_cluster",
    "with_rest",
    "nearest",
    "nearest_correlation",
)
"""Columns of the table that come first; a document has no others."""
_HEADS = {
    "accuracy_lo": "95 % from",
    "accuracy_hi": "95 % to",
    "correct": "right",
    "voted": "of",
    "leaning": "leans to label 1",
    "set_aside": "set aside",
    "with_cluster": "errs with cluster",
    "with_rest": "errs with rest",
    "stability": "cluster stability",
    "ability_lo": "ability from",
    "ability_hi": "ability to",
    "discrimination_lo": "discrimination from",
    "discrimination_hi": "discrimination to",
    "nearest_correlation": "errs with nearest",
}
_SHARES = (
    "accuracy",
    "95 % from",
    "95 % to",
    "coverage",
    "leans to label 1",
    "cluster stability",
    "together in halves",
)


@dataclass(frozen=True, slots=True)
class JudgesView:
    """The judge marked on the map, and whether the table has every column that there is."""

    judge: str | None = None
    every_column: bool = False


def judges_sentence(result: Judges) -> str:
    """How many independent judges the panel is worth, and how it divides."""
    n = result.n_effective
    if n < 2:
        return "There is one judge only, so there is nobody to be like."
    if not math.isfinite(result.effective.value):
        return (
            f"How much {n:,} judges repeat each other cannot be said: no two of them voted on "
            "enough labelled items together."
        )
    worth = worth_text(result.effective)
    answer = f"{n:,} judges are worth about {worth} independent ones"
    if result.n_clusters == 0:
        return f"{answer}; no clusters stand out."
    if result.stable_clusters == 0:
        return f"{answer}; no cluster is stable."
    whole = counted(result.stable_clusters, "cluster")
    return f"{answer}; {'they form' if n > 2 else 'both are in'} {whole} that err together."


def worth_text(estimate: Estimate) -> str:
    """An effective number with its interval."""
    text = sig(estimate.value, 2)
    known = math.isfinite(estimate.lo) and math.isfinite(estimate.hi)
    return f"{text} {interval(estimate.lo, estimate.hi)}" if known else text


def worth_sentences(result: Judges) -> str:
    """What the effective number rests on, and what it does not say."""
    if not math.isfinite(result.correlation.value):
        return ""
    rho = result.correlation
    span = f" {interval(rho.lo, rho.hi)}" if math.isfinite(rho.lo) else ""
    return (
        f"The errors of two judges correlate {fixed(rho.value, 2)}{span} on average. Counting a "
        "judge that is always against another as its copy, the panel has about "
        f"{worth_text(result.dimensions)} independent directions. Neither number says how accurate "
        "a judge is."
    )


def families_sentence(result: Judges) -> str:
    """Do the given families explain who errs together? Empty without families or clusters."""
    families = result.families
    if families is None or result.n_clusters == 0 or not math.isfinite(families.rand):
        return ""
    if families.rand >= 0.65:
        verdict = "The clusters are nearly the given families"
    elif families.rand >= 0.25:
        verdict = "The clusters follow the given families in part"
    else:
        verdict = "The clusters are not the given families"
    text = f"{verdict} (adjusted Rand index {fixed(families.rand, 2)}; 1 is the same, 0 chance)."
    if math.isfinite(families.within) and math.isfinite(families.between):
        text += (
            f" Two judges of one family correlate {fixed(families.within, 2)} on average, of two "
            f"families {fixed(families.between, 2)}."
        )
    return text


def cluster_table(result: Judges) -> pd.DataFrame:
    """One row per cluster: size, how much its judges err together, how stable, whose they are."""
    rows = []
    for label, (size, stable) in enumerate(
        zip(result.cluster_sizes, result.cluster_stability, strict=True), start=1
    ):
        members = np.flatnonzero(result.cluster == label)
        best = members[np.argmax(np.nan_to_num(result.accuracy[members], nan=-1.0))]
        row = {
            "cluster": label,
            "judges": int(size),
            "error correlation within": float(result.with_cluster[members].mean()),
            "with the rest": _mean(result.with_rest[members]),
            "together in halves": float(stable),
            "most accurate": one_line(result.judges[best]),
        }
        if result.families is not None:
            row["families"] = _composition([result.family[j] for j in members])
        rows.append(row)
    return pd.DataFrame(rows)


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _composition(families: list[str]) -> str:
    """The commonest families of a cluster with their numbers."""
    names, sizes = np.unique(np.array(families, dtype=object), return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    parts = [f"{one_line(names[i], 30) or 'not given'} {sizes[i]}" for i in order[:_FAMILIES_NAMED]]
    rest = int(sizes[order[_FAMILIES_NAMED:]].sum())
    return ", ".join(parts) + (f", others {rest}" if rest else "")


def judges_table(result: Judges, *, every_column: bool = False) -> pd.DataFrame:
    """Every judge, most accurate first; what is known of none or true of none has no column."""
    frame = result.frame().dropna(axis="columns", how="all")
    for name in ("judge", "family", "nearest"):
        frame[name] = [plain(text, 120) for text in frame[name]]
    frame["cluster"] = frame["cluster"].astype("Int64").mask(frame["cluster"] == 0)
    if not frame["family"].any():
        frame = frame.drop(columns="family")
    if not frame["set_aside"].any():
        frame = frame.drop(columns="set_aside")
    first = [name for name in _FIRST if name in frame]
    rest = [name for name in frame if name not in first] if every_column else []
    frame = frame[[*first, *rest]]
    return frame.rename(columns={name: _head(str(name)) for name in frame})


def _head(name: str) -> str:
    if name.startswith("weight_"):
        kind = name.removeprefix("weight_")
        return f"weight: {AGGREGATOR_NAMES.get(kind, kind.replace('_', ' '))}"
    return _HEADS.get(name, name)


def present(result: Judges, spec: JudgesSpec, view: JudgesView = JudgesView()) -> list[Block]:
    """The map of who errs together, every judge, and the clusters."""
    return [
        Answer(judges_sentence(result)),
        Heading("Map of all pairs", 3),
        *_map(result, view.judge),
        Heading("All judges", 3),
        Table(
            as_columns(judges_table(result, every_column=view.every_column), _SHARES),
            most=200,
            height=420,
        ),
        *_clusters(result),
        _method(result),
    ]


def _map(result: Judges, judge: str | None) -> list[Block]:
    if len(result.order) < 2:
        return paragraphs(
            "No two judges voted on enough labelled items together to draw a map.",
            worth_sentences(result),
        )
    alt = "Figure: error correlations of all pairs of judges, cluster by cluster."
    return [
        Figure(correlation_map(result, judge), alt),
        Paragraph(
            "Blue: the two err on the same items. Orange: one errs where the other does not. "
            "Outlined: clusters. Blank: a judge with itself, or too few items in common.",
            quiet=True,
        ),
        *paragraphs(worth_sentences(result)),
    ]


def _clusters(result: Judges) -> list[Block]:
    if not result.n_clusters:
        return []
    families = families_sentence(result)
    blocks: list[Block] = [
        Heading("Clusters against given families" if families else "Clusters", 3),
        *paragraphs(families),
    ]
    if result.families is None:
        advice = "Give a judge table with a column 'family' to compare families with clusters."
        blocks.append(Paragraph(advice, quiet=True))
    return [*blocks, Table(as_columns(cluster_table(result), _SHARES))]


def _method(result: Judges) -> Method:
    cut = f" (here {fixed(result.cut, 2)})" if math.isfinite(result.cut) else ""
    large = len(result.order) >= MAP_JUDGES
    most = f" The map shows at most {MAP_JUDGES} judges." if large else ""
    return Method(
        "Each pair of judges is compared on the labelled items both voted on: the correlation of "
        "being wrong (phi). Pairs with few items in common are shrunk towards the mean of all "
        "pairs, as far as chance explains their distance from it. The effective number is "
        "K / (1 + (K - 1) x mean correlation): as many uncorrelated judges would have an average "
        "error that varies as much. Items that are hard for everyone count as agreement, since "
        "more judges do not help there. Clusters come from average linkage on 1 - correlation, "
        f"cut where near pairs and far pairs separate best{cut}. Intervals and stability rest on "
        f"{result.n_rounds} random halves of the labelled items.{most} Weights are fitted to all "
        "labelled items and all judges."
    )
