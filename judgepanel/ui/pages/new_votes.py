"""New votes: scores, judges that have changed, and whether the panel is still right."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from judgepanel.decision import lean, panel_file, recommend
from judgepanel.decision.recommend_result import Recommendation, RecommendSpec, shared_run
from judgepanel.decision.score import Scored, score
from judgepanel.present import blocks, pages
from judgepanel.present.decide import new_votes
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.scoring.interval import Interval
from judgepanel.ui import pipeline, render, reporting, session, uploads, work
from judgepanel.ui.frame import START, PageContext, answer, caption, menu_page, notes, problem
from judgepanel.ui.pages import recommended_take, start
from judgepanel.votes import InputError, VoteMatrix
from judgepanel.votes.choices import Choices
from judgepanel.votes.companions import votes_csv
from judgepanel.votes.errors import in_terminal
from judgepanel.votes.matrix import joined
from judgepanel.words import outputs, sentences, tables, text

_PREVIEW = 200


@menu_page(
    pages.NEW_VOTES_PAGE,
    "This page scores new votes with the panel, and says whether its judges have changed.",
)
def page(context: PageContext) -> None:
    """Draw the upload and, with new votes, what they say; the panel is computed first."""
    specs = PRESENTATIONS[recommend.RECOMMEND.name].specs(context.votes, context.analysis.settings)
    if not specs:
        st.info("Under the paper's protocol there is no panel to score new votes with.")
        return
    prefer = pipeline.segmented(
        st,
        "Panel",
        tuple(lean.CARD_NAMES),
        default=context.analysis.prefer,
        key="prefer",
        format_func=lean.CARD_NAMES.__getitem__,
        help="The two panels of Overview; others score with their file and the command below.",
    )
    asked = replace(pipeline.panel_in_use(context.analysis), prefer=prefer)

    def draw(general: Recommendation) -> None:
        result = recommend.as_asked(context.votes, asked, general)
        if result.partial:
            caption("New votes can be scored when the panel is final.")
        else:
            _new_votes(context, asked, result)

    work.show_result(recommend.RECOMMEND, context, shared_run(asked), draw)


def _new_votes(context: PageContext, spec: RecommendSpec, result: Recommendation) -> None:
    upload = None
    if not session.is_reader():
        upload = uploads.file_upload(
            "Votes of the same judges on new items; labels are not needed, but they tell whether "
            "the panel is still right",
            key=f"new_votes-{context.analysis.id}",  # Another panel has other judges.
        )
    if upload is None:
        answer(
            "No new votes yet: with them this page says whether the panel is still right.", "open"
        )
        st.code(sentences.score_command("new_votes.csv"), language=None, wrap_lines=True)
        return
    try:
        panel = panel_file.load_panel(recommended_take.panel_text(context, spec, result))
        loaded = uploads.read_uploads(
            upload, choices=Choices(task=context.votes.task, known=panel.known), need_labels=False
        ).read()
        scored = score(panel, loaded.votes)
    except InputError as error:
        sentence = in_terminal(str(error))  # There are no controls for columns here.
        problem(sentence)
        if sentence != str(error):
            caption("On the command line columns can be named:")
            st.code(sentences.score_command(upload.name), language=None, wrap_lines=True)
        return
    expected = result.reading(spec.prefer, spec.price).right
    _results(scored, expected, len(panel.model.judges), loaded.warnings)
    _refit(context, upload, loaded.votes)


def _results(scored: Scored, expected: Interval, n_judges: int, warnings: tuple[str, ...]) -> None:
    """Draw the answer, what limits it, the judges then and now, and the scores."""
    tone = "keep" if new_votes.still_right(scored, expected) else "open"
    answer(new_votes.new_votes_sentence(scored, expected, n_judges), tone)
    if scored.labelled is not None:
        render.section_answer(outputs.labelled_sentence(scored.labelled))
        if scored.labelled.figures is not None:
            caption(new_votes.sure_sentence(scored.labelled.figures))
    notes((*warnings, *scored.warnings))
    if scored.drift.changes:
        with st.expander("Judges then and now"):
            render.table(blocks.Table(new_votes.drift_table(scored.drift), height=300), key="drift")

    st.header("Scores")
    frame = scored.frame()
    preview = frame.head(_PREVIEW).copy()
    blank = [name for name in ("set_80", "set_90") if not preview[name].any()]
    preview = preview.drop(columns=blank)
    preview["item_id"] = [text.plain(name, 120) for name in preview["item_id"]]
    render.table(blocks.Table(tables.as_columns(preview), height=260), key="scored")
    label = f"Download all {len(frame):,} scores (scored.csv)"
    reporting.download_button(st.container(), label, lambda: tables.csv_text(frame), "scored.csv")


def _refit(context: PageContext, upload: uploads.Upload, new: VoteMatrix) -> None:
    """Offer an analysis of the old and the new items together."""
    st.header("Fit again")
    caption(
        "With their labels, the new items can be added to those the panel was fitted on. Judges "
        "that are new take part, too; on the items before them they have no votes, so let a new "
        "judge vote on labelled items first. Start shows the joined file before it is analysed."
    )
    if not new.labelled.any():
        caption("These votes have no labels, so there is nothing to fit again with.")
        return
    try:
        both = joined(context.votes, new)
    except InputError as error:
        problem(in_terminal(str(error)))
        return
    name = text.csv_name(context.analysis.name, "joined.csv")
    if st.button("Add these to the votes and start again", key="refit"):
        uploads.keep_upload(start.VOTES, uploads.Upload(name, votes_csv(both)))
        st.switch_page(START)
    label = "Download the joined votes (CSV)"
    reporting.download_button(st.container(), label, lambda: votes_csv(both).decode(), name)
