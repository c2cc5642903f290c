"""Judges: who errs together, what the panel is worth, and one judge's card."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import streamlit as st

from judgepanel.figures.judges import judge_card
from judgepanel.present import blocks, outputs, pages
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.present.understand import judges
from judgepanel.studies.contract import Prepared, prepare
from judgepanel.studies.understand.judge_table import grade_curve, positions
from judgepanel.studies.understand.judges import JUDGES, Judges, JudgesSpec
from judgepanel.ui.frame import PageContext, caption, menu_page
from judgepanel.ui.glossary import with_terms
from judgepanel.ui.pipeline import known_recommendation
from judgepanel.ui.render import Caveats, chart, section_answer, show_closed, show_study, table
from judgepanel.ui.session import judges_of
from judgepanel.words.outputs import position_sentence, position_table
from judgepanel.words.sentences import AGGREGATOR_NAMES
from judgepanel.words.tables import Column, numbers
from judgepanel.words.tables import text as words
from judgepanel.words.text import distinct, in_html, percent, plain, share_level

_NEAREST = 5


@menu_page(pages.JUDGES_PAGE, "This page shows which judges repeat each other.")
def page(context: PageContext) -> None:
    """Draw the choice of a judge, the result as it grows, then the section that waits for it."""
    entry = PRESENTATIONS[JUDGES.name]
    spec = JudgesSpec(settings=context.analysis.settings)
    prepared = prepare(context.votes, context.analysis.settings)
    judge = _choice(context)
    view, caveats = judges.JudgesView(judge, True, known_recommendation(context)), Caveats()
    opened = (judges.MAP_TITLE, judges.TABLE_TITLE)
    drawn: dict[str, Any] = {"beside": partial(_card, judge=judge), "opened": opened}
    if show_study(entry, context, spec, view, caveats=caveats, banner=_banner, **drawn):
        show_closed(context, pages.JUDGES_PAGE, {JUDGES.name}, caveats=caveats)
    _grades(prepared, judge)
    _both_orders(context)


def _banner(result: Judges) -> tuple[str, str]:
    return judges.judges_sentence(result), "keep" if result.stable_clusters else "open"


def _grades(prepared: Prepared, judge: str) -> None:
    """Draw what the chosen judge's grades tell, if it gave any."""
    curve = grade_curve(prepared, judge)
    if curve is None:
        return
    with st.expander("What its grades tell"):
        section_answer(judges.grade_sentence(curve))
        alt = "Right votes by distance from the threshold. "
        chart(judges.grade_figure(curve), key="grades", alt=alt)
        caption(judges.GRADE_NOTE)
        table(blocks.Table(judges.grade_table(curve)), key="grades")


def _both_orders(context: PageContext) -> None:
    """Draw what judges say when the order is swapped, if their outputs were uploaded."""
    coverage = context.analysis.coverage
    orders = None if coverage is None else positions(coverage)
    if orders is None:
        return
    st.header("In both orders")
    section_answer(position_sentence(orders))
    chart(
        outputs.both_orders(orders),
        key="orders",
        alt="Share of items with the same verdict in both orders, with intervals, one mark a "
        "judge. " + position_sentence(orders),
    )
    caption(
        "On items with a verdict in both orders. Lean: the share with both verdicts for what was "
        "shown first, less the share with both for what was shown second. Intervals (95 %, Wilson; "
        "Agresti and Min for the lean) are for one judge alone. A judge that contradicts itself "
        "has no vote on the item."
    )
    with st.expander("Every judge in both orders"):
        table(blocks.Table(position_table(orders)), key="orders")


def _choice(context: PageContext) -> str:
    """The judge in the URL, by default the most accurate one; only judges of this panel."""
    used = context.analysis.settings.judges
    ranked = judges_of(context.votes).frame()["judge"].tolist()
    names: list[str] = [name for name in ranked if used is None or name in used]
    chosen = st.selectbox(
        "Judge",
        names,
        key="judge",
        bind="query-params",
        format_func=labels_of(names).__getitem__,
        help="Most accurate first. Its row and column are marked on the map.",
    )
    return str(chosen) if chosen in names else names[0]


def labels_of(names: list[str]) -> dict[str, str]:
    """Names that fit a list, one line each; names that would look alike get a number."""
    labels = (plain(name, 100) or f"judge {number}" for number, name in enumerate(names, start=1))
    return dict(zip(names, distinct(labels), strict=True))


def _card(result: Judges, judge: str) -> None:
    st.subheader("One judge")
    j = result.judges.index(judge)
    st.html(f'<p class="jp-note"><b>{in_html(judge)}</b> {with_terms(_about(result, j))}</p>')
    if result.set_aside[j] or not result.voted[j]:
        return
    alt = "Where this judge stands among all judges on each scale."
    chart(judge_card(result, judge, AGGREGATOR_NAMES), key="card", alt=alt)
    st.caption("Every tick is a judge, from the lowest to the highest; the dot is this one.")
    near = blocks.Table(_nearest(result, j))
    if near.n_rows:
        with st.expander("Most similar errors"):
            caption("Error correlation, and items in common.")
            table(near, key="nearest")


def _about(result: Judges, j: int) -> str:
    """What is known about one judge, in words."""
    family = f"(family {plain(result.family[j], 60)}) " if result.family[j] else ""
    if not result.voted[j]:
        return f"{family}has no vote on a labelled item."
    text = (
        f"{family}is right on {share_level(*result.accuracy[j])} of {result.voted[j]:,} "
        f"labelled items, and votes on {percent(result.coverage[j], 3)} of all items."
    )
    if result.set_aside[j]:
        return f"{text} Set aside, see the notes."
    lean = result.leaning[j]
    if math.isfinite(lean) and abs(lean) >= 0.005:
        text += (
            f" It votes for label 1 {'more' if lean > 0 else 'less'} often than is right, by "
            f"{percent(abs(lean))} of items."
        )
    if not result.cluster[j]:
        return f"{text} It is not known which judges it errs with."
    mates = int((result.cluster == result.cluster[j]).sum())
    if mates == 1:
        return f"{text} It is in a cluster of its own."
    return (
        f"{text} It is one of {mates} judges in cluster {result.cluster[j]}, and shares a cluster "
        f"with each of them in {percent(result.stability[j])} of random halves of the items."
    )


def _nearest(result: Judges, j: int) -> dict[str, Column]:
    """The judges on the map whose errors are most like this one's."""
    place = {int(k): i for i, k in enumerate(result.order)}
    if j not in place:
        near = [j] if result.nearest[j] else []
        return {
            "correlation": numbers(result.nearest_correlation[near]),
            "judge": words([plain(result.nearest[k], 120) for k in near]),
        }
    row = result.square(result.map_correlation)[place[j]]
    joint = result.square(result.map_joint)[place[j]]
    known = [i for i in (-row).argsort(kind="stable") if joint[i] > 0 and i != place[j]][:_NEAREST]
    return {
        "correlation": numbers(row[known]),
        "items": numbers(joint[known], "whole"),
        "judge": words([plain(result.judges[j], 120) for j in result.order[known]]),
    }
