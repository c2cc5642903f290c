"""Estimate: rates of all items and of groups, and what is better than what."""

from __future__ import annotations

import streamlit as st

from judgepanel.present.decide.estimate import ABOUT, estimate_sentence
from judgepanel.present.pages import ESTIMATE_PAGE
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.studies.decide import estimate
from judgepanel.studies.slices import offered_features, usual_feature
from judgepanel.ui import frame, pipeline, render, reporting, uploads, work
from judgepanel.votes.texts import ID
from judgepanel.words import sentences, tables

_NONE = ""
_DRAW, _DRAWN_FILE = "Draw items to label (CSV)", "items_to_label.csv"
_MOST_WITH_TEXTS = 1_000
_ABOUT = {"auto": "automatic", **ABOUT}


@frame.menu_page(
    ESTIMATE_PAGE,
    "This page estimates rates of all items and of groups, from all votes and the labels you have.",
)
def page(context: frame.PageContext) -> None:
    """Draw the controls, then the rates and differences."""
    entry = PRESENTATIONS[estimate.ESTIMATE.name]
    spec, caveats = _controls(context), render.Caveats()
    if render.show_study(entry, context, spec, caveats=caveats, banner=_banner):
        _label_next(context, spec)
        drawn = {estimate.ESTIMATE.name}
        render.show_closed(
            context, ESTIMATE_PAGE, drawn, caveats=caveats, ask=lambda _: (spec, None)
        )


def _banner(result: estimate.Estimates) -> tuple[str, str]:
    return estimate_sentence(result), "keep" if result.decided.any() else "open"


def _label_next(context: frame.PageContext, spec: estimate.EstimateSpec) -> None:
    """Offer items to label, drawn at random, as a file that Start reads back as labels."""
    free = int((~context.votes.labelled).sum())
    if not free:
        return
    st.header("Label next")
    frame.caption(
        "Items are drawn at random, from groups whose rates are least certain more of them. Votes "
        "are not in the file, so that they do not lead those who label. Fill in its column label. "
        "Then choose New analysis, give the votes again, and this file under *Labels in another "
        "file*: it is joined to the labels there are."
    )
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    n = int(left.number_input("Items", 1, free, min(50, free), key="draw"))
    source = uploads.kept_source(context.analysis.votes_sha256) if n <= _MOST_WITH_TEXTS else None

    def drawn() -> str:
        result = work.stored_result(estimate.ESTIMATE, context, spec)
        if result is None:
            return ""
        seed = context.analysis.settings.seed
        items = estimate.items_to_label(context.votes, spec, result, n, seed=seed)
        texts = None if source is None else uploads.reread_texts(source, items[ID].tolist())
        return tables.csv_text(estimate.with_texts(items, texts))

    reporting.download_button(right, _DRAW, drawn, _DRAWN_FILE)
    if source is None:
        analysis, task = context.analysis, context.votes.task
        command = sentences.draw_command(
            analysis.file, spec, n, _DRAWN_FILE, task=task, columns=analysis.columns
        )
        with st.expander("Draw them with their texts"):
            st.write("Texts are not kept here. This command draws the same items from the file:")
            st.code(command, language=None, wrap_lines=True)


def _controls(context: frame.PageContext) -> estimate.EstimateSpec:
    left, right = st.columns([2, 3])
    offered = offered_features(context.votes)
    usual = usual_feature(context.votes)
    names = [*([usual] if usual else []), *(n for n in offered if n != usual), _NONE]
    by = left.selectbox(
        "Groups by",
        names,
        key="by",
        bind="query-params",
        format_func=lambda name: name or "no groups",
        help="The feature whose values are compared, such as the system that wrote the answers.",
    )
    # In its own container the row wraps if it does not fit.
    about = pipeline.segmented(
        right.container(),
        "Intervals are for",
        estimate.ABOUTS,
        default="auto",
        key="about",
        format_func=_ABOUT.__getitem__,
        help="The items of this file are known once all are labelled: then intervals are for items "
        "like these. For those the file is a sample itself, and intervals are wider.",
    )
    return estimate.EstimateSpec(settings=context.analysis.settings, by=by or None, about=about)
