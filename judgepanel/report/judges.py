"""The study of judges in words and tables for people."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from judgepanel.report.numbers import counted, fixed, interval, percent, sig
from judgepanel.report.terminal import one_line
from judgepanel.studies.judges.judges_result import Estimate, Judges

_FAMILIES_SHOWN = 3


def judges_sentence(found: Judges) -> str:
    """How many independent judges the panel is worth, and how it divides."""
    n = found.n_effective
    if n < 2:
        return "There is one judge only, so there is nobody to be like."
    if not math.isfinite(found.effective.value):
        return (
            f"How much {n:,} judges repeat each other cannot be said: no two of them voted on "
            "enough labelled items together."
        )
    worth = worth_text(found.effective)
    answer = f"{n:,} judges are worth about {worth} independent ones"
    if found.n_clusters == 0:
        return f"{answer}; no clusters stand out."
    if found.stable_clusters == 0:
        return f"{answer}; no cluster is stable."
    whole = counted(found.stable_clusters, "cluster")
    return f"{answer}; {'they form' if n > 2 else 'both are in'} {whole} that err together."


def worth_text(found: Estimate) -> str:
    """An effective number with its interval."""
    text = sig(found.value, 2)
    known = math.isfinite(found.lo) and math.isfinite(found.hi)
    return f"{text} {interval(found.lo, found.hi)}" if known else text


def worth_sentences(found: Judges) -> str:
    """What the effective number rests on, and what it does not say."""
    if not math.isfinite(found.correlation.value):
        return ""
    rho = found.correlation
    span = f" {interval(rho.lo, rho.hi)}" if math.isfinite(rho.lo) else ""
    return (
        f"The errors of two judges correlate {fixed(rho.value, 2)}{span} on average. Counting a "
        "judge that is always against another as its copy, the panel has about "
        f"{worth_text(found.dimensions)} independent directions. Neither number says how accurate "
        "a judge is."
    )


def families_sentence(found: Judges) -> str | None:
    """Do the given families explain who errs together?"""
    families = found.families
    if families is None or found.n_clusters == 0 or not math.isfinite(families.rand):
        return None
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


def cluster_table(found: Judges) -> pd.DataFrame:
    """One row a cluster: size, how much its judges err together, how stable, whose they are."""
    rows = []
    for label, (size, stable) in enumerate(
        zip(found.cluster_sizes, found.cluster_stability, strict=True), start=1
    ):
        members = np.flatnonzero(found.cluster == label)
        best = members[np.argmax(np.nan_to_num(found.accuracy[members], nan=-1.0))]
        row = {
            "cluster": label,
            "judges": int(size),
            "error correlation within": float(found.with_cluster[members].mean()),
            "with the rest": _mean(found.with_rest[members]),
            "together in halves": percent(float(stable)),
            "most accurate": one_line(found.judges[best]),
        }
        if found.families is not None:
            row["families"] = _composition([found.family[j] for j in members])
        rows.append(row)
    return pd.DataFrame(rows)


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _composition(families: list[str]) -> str:
    """The commonest families of a cluster with their numbers."""
    names, sizes = np.unique(np.array(families, dtype=object), return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    parts = [f"{one_line(names[i], 30) or 'not given'} {sizes[i]}" for i in order[:_FAMILIES_SHOWN]]
    rest = int(sizes[order[_FAMILIES_SHOWN:]].sum())
    return ", ".join(parts) + (f", others {rest}" if rest else "")


def redundancy_table(found: Judges) -> pd.DataFrame:
    """Every judge, most accurate first; names as a terminal can show them."""
    frame = found.frame()
    return pd.DataFrame(
        {
            "judge": [one_line(name, 40) for name in frame["judge"]],
            "accuracy": [percent(share, 3) for share in frame["accuracy"]],
            "95 %": [
                f"[{percent(lo, 3)}, {percent(hi, 3)}]"
                for lo, hi in zip(frame["accuracy_lo"], frame["accuracy_hi"], strict=True)
            ],
            "of": frame["voted"],
            "cluster": [str(label) if label else "" for label in frame["cluster"]],
            "with cluster": [_blank(value) for value in frame["with_cluster"]],
            "with rest": [_blank(value) for value in frame["with_rest"]],
            "nearest": [one_line(name, 40) for name in frame["nearest"]],
            "at": [_blank(value) for value in frame["nearest_correlation"]],
        }
    )


def _blank(value: float) -> str:
    return fixed(value, 2) if math.isfinite(value) else ""


def judges_text(found: Judges) -> str:
    """The study as text: sentences, clusters, judges."""
    parts = [judges_sentence(found), worth_sentences(found), families_sentence(found) or ""]
    blocks = ["\n".join(part for part in parts if part)]
    if found.n_clusters:
        clusters = cluster_table(found)
        for name in ("error correlation within", "with the rest"):
            clusters[name] = [_blank(value) for value in clusters[name]]
        blocks.append(clusters.to_string(index=False))
    blocks.append(redundancy_table(found).to_string(index=False))
    return "\n\n".join(blocks)
