"""Judges: who errs together, what the panel is worth, and one judge's card."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from judgepanel.figures.judges.redundancy import correlation_map, judge_card
from judgepanel.figures.outputs import both_orders
from judgepanel.report.judges import (
    cluster_table,
    families_sentence,
    judges_sentence,
    worth_sentences,
)
from judgepanel.report.numbers import fixed, percent
from judgepanel.report.outputs import position_sentence, position_table
from judgepanel.report.sentences import AGGREGATOR_NAMES
from judgepanel.report.text import in_html, plain
from judgepanel.studies.judges.judges import JUDGES, JudgesSpec
from judgepanel.studies.judges.judges_result import MAP_JUDGES, Judges
from judgepanel.studies.outputs.position import positions
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.pages.variance import judges_or_items
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.session import judges_of
from judgepanel.ui.work import show_result

_NEAREST = 5


def page(shown: Shown) -> None:
    """The judge looked at, then the result as it grows, then the section that waits for it."""
    spec = JudgesSpec(settings=shown.analysis.settings)
    judge = _choice(shown)
    known: set[str] = set()

    def draw(found: Judges) -> None:
        _draw(shown, spec, found, judge)
        known.update(found.warnings)

    if show_result(JUDGES, shown, spec, draw):
        judges_or_items(shown, known)
    _both_orders(shown)
    next_step("pages/recommended_panel.py", "which judges, which pipeline?", shown.analysis)


def _both_orders(shown: Shown) -> None:
    """What judges say when the order is turned round, where their outputs were uploaded."""
    coverage = shown.analysis.coverage
    found = None if coverage is None else positions(coverage)
    if found is None:
        return
    st.header("In both orders")
    said(position_sentence(found))
    st.plotly_chart(
        both_orders(found),
        key="orders",
        alt="Share of items with the same verdict in both orders, with intervals, one mark a "
        "judge. " + position_sentence(found),
        config={"displayModeBar": False},
    )
    st.caption(
        "On items with a verdict in both orders. Lean: the share with both verdicts for what was "
        "shown first, less the share with both for what was shown second. Intervals (95 %, Wilson; "
        "Agresti and Min for the lean) are for one judge alone. A judge that contradicts itself "
        "has no vote on the item."
    )
    table(position_table(found), key="orders", percents=_SHARES)


_SHARES = frozenset(
    ("same in both orders", "95 % from", "95 % to", "lean to the first", "lean from", "lean to")
)


def _choice(shown: Shown) -> str:
    """The judge in the URL, the most accurate one by default; only judges of this panel."""
    used = shown.analysis.settings.judges
    ranked = judges_of(shown.votes).frame()["judge"].tolist()
    names: list[str] = [name for name in ranked if used is None or name in used]
    chosen = st.selectbox(
        "Judge to look at",
        names,
        key="judge",
        bind="query-params",
        format_func=labels_of(names).__getitem__,
        help="Most accurate first. Its row and column are marked on the map.",
    )
    return str(chosen) if chosen in names else names[0]


def labels_of(names: list[str]) -> dict[str, str]:
    """Names that fit a list, one line each; those that would read alike get a number."""
    labels: dict[str, str] = {}
    taken: set[str] = set()
    for number, name in enumerate(names, start=1):
        label = plain(name, 100) or f"judge {number}"
        labels[name] = label if label not in taken else f"{label} ({number})"
        taken.add(labels[name])
    return labels


def _draw(shown: Shown, spec: JudgesSpec, found: Judges, judge: str) -> None:
    so_far = f"So far, {found.n_rounds} of {found.planned_rounds} halves: " * found.partial
    answer(so_far + judges_sentence(found), "keep" if found.stable_clusters else "open")
    notes(found.warnings)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _map(found, judge)
    with right:
        _card(found, judge)
    st.header("All judges")
    table(_rows(found), key="judges", height=420)
    if not found.partial:
        downloads(shown, JUDGES, spec, found, label="Judges as CSV", stem="judges")
    _clusters(found)
    how_study(shown, JUDGES, spec, _words(found))


def _map(found: Judges, judge: str) -> None:
    st.header("Who errs together")
    if len(found.order) < 2:
        st.caption("No two judges voted on enough labelled items together to draw a map.")
        return
    st.plotly_chart(
        correlation_map(found, judge),
        key="map",
        alt="Error correlations of all pairs of judges, cluster by cluster. "
        + judges_sentence(found),
        config={"displayModeBar": False},
    )
    st.caption(
        "Blue: the two err on the same items. Orange: one errs where the other does not. "
        "Outlined: clusters. Blank: a judge with itself, or too few items in common. "
        + worth_sentences(found)
    )


def _card(found: Judges, judge: str) -> None:
    st.header("One judge")
    j = found.judges.index(judge)
    st.html(f'<p class="jp-note"><b>{in_html(judge)}</b> {in_html(_about(found, j))}</p>')
    if found.set_aside[j] or not found.voted[j]:
        return
    st.plotly_chart(
        judge_card(found, judge, AGGREGATOR_NAMES),
        key="card",
        alt="Where this judge stands among all judges on each scale.",
        config={"displayModeBar": False},
    )
    st.caption("Every tick is a judge, from the lowest to the highest; the dot is this one.")
    near = _nearest(found, j)
    if len(near):
        st.caption("Errs most like (correlation of errors, items in common)")
        table(near, key="nearest")


def _about(found: Judges, j: int) -> str:
    """What is known of one judge, in words."""
    family = f"(family {plain(found.family[j], 60)}) " if found.family[j] else ""
    if not found.voted[j]:
        return f"{family}has no vote on a labelled item."
    span = f"[{percent(found.accuracy_lo[j], 3)}, {percent(found.accuracy_hi[j], 3)}]"
    text = (
        f"{family}is right on {percent(found.accuracy[j], 3)} {span} of {found.voted[j]:,} "
        f"labelled items, votes on {percent(found.coverage[j], 3)} of all."
    )
    if found.set_aside[j]:
        return f"{text} Set aside, see the notes."
    lean = found.leaning[j]
    if math.isfinite(lean) and abs(lean) >= 0.005:
        text += (
            f" It votes for label 1 {'more' if lean > 0 else 'less'} often than is right, by "
            f"{percent(abs(lean))} of items."
        )
    if not found.cluster[j]:
        return f"{text} Nothing is known of whom it errs with."
    mates = int((found.cluster == found.cluster[j]).sum())
    if mates == 1:
        return f"{text} It is in a cluster of its own."
    return (
        f"{text} It is one of {mates} in cluster {found.cluster[j]}, with each of whom it shares "
        f"a cluster in {percent(found.stability[j])} of halves."
    )


def _nearest(found: Judges, j: int) -> pd.DataFrame:
    """The judges on the map that err most like this one."""
    place = {int(k): i for i, k in enumerate(found.order)}
    if j not in place:
        near = [j] if found.nearest[j] else []
        return pd.DataFrame(
            {
                "correlation": found.nearest_correlation[near],
                "judge": [plain(found.nearest[k], 120) for k in near],
            }
        )
    row = found.square(found.map_correlation)[place[j]]
    joint = found.square(found.map_joint)[place[j]]
    known = [i for i in (-row).argsort(kind="stable") if joint[i] > 0 and i != place[j]]
    return pd.DataFrame(
        {
            "correlation": [float(row[i]) for i in known[:_NEAREST]],
            "items": [int(joint[i]) for i in known[:_NEAREST]],
            "judge": [plain(found.judges[found.order[i]], 120) for i in known[:_NEAREST]],
        }
    )


def _rows(found: Judges) -> pd.DataFrame:
    """The table of the page: names that fit a cell, columns in words."""
    frame = found.frame().dropna(axis="columns", how="all")
    for name in ("judge", "family", "nearest"):
        frame[name] = [plain(text, 120) for text in frame[name]]
    frame["cluster"] = frame["cluster"].astype("Int64").mask(frame["cluster"] == 0)
    if not frame["family"].any():
        frame = frame.drop(columns="family")
    if not frame["set_aside"].any():
        frame = frame.drop(columns="set_aside")
    first = [name for name in _FIRST if name in frame]
    frame = frame[[*first, *(name for name in frame if name not in first)]]
    return frame.rename(columns={name: _head(str(name)) for name in frame})


def _head(name: str) -> str:
    if name.startswith("weight_"):
        kind = name.removeprefix("weight_")
        return f"weight: {AGGREGATOR_NAMES.get(kind, kind.replace('_', ' '))}"
    return _HEADS.get(name, name)


_FIRST = (
    "judge",
    "family",
    "accuracy",
    "accuracy_lo",
    "accuracy_hi",
    "cluster",
    "with_cluster",
    "with_rest",
    "nearest",
    "nearest_correlation",
)


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


def _clusters(found: Judges) -> None:
    if not found.n_clusters:
        return
    families = families_sentence(found)
    st.header("Clusters against given families" if families else "Clusters")
    if families:
        st.write(families)
    elif found.families is None:
        st.caption("A judge table with a column `family` would be held against these clusters.")
    table(cluster_table(found), key="clusters")


def _words(found: Judges) -> str:
    cut = f" (here {fixed(found.cut, 2)})" if math.isfinite(found.cut) else ""
    return (
        "Each pair of judges is compared on the labelled items both voted on: the correlation of "
        "being wrong (phi). Pairs with few items in common are drawn to the mean of all pairs, as "
        "far as chance explains their distance from it. The effective number is "
        "K / (1 + (K - 1) x mean correlation): as many uncorrelated judges would have an average "
        "error that varies as much. Items that are hard for everyone count as agreement, since "
        "more judges do not help there. Clusters come from average linkage on 1 - correlation, "
        f"stopped where near pairs and far pairs part best{cut}. Intervals and stability rest on "
        f"{found.n_rounds} random halves of {found.n_items:,} labelled items (seed {found.seed})"
        f"{_map_words(found)}. Weights are fitted to all labelled items and all judges."
    )


def _map_words(found: Judges) -> str:
    return f"; the map shows at most {MAP_JUDGES} judges" if len(found.order) >= MAP_JUDGES else ""
