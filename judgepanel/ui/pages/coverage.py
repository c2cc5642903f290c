"""Coverage: which verdicts were read from the judges' outputs, and which were not."""

from __future__ import annotations

import streamlit as st

from judgepanel.present import blocks, outputs, pages
from judgepanel.studies.understand.judge_table import check_outputs
from judgepanel.ui import frame, render
from judgepanel.ui.reporting import download_button
from judgepanel.votes import errors, table
from judgepanel.words.outputs import coverage_sentence, coverage_table
from judgepanel.words.tables import csv_text
from judgepanel.words.text import counted, csv_name, in_html

_WORDS = (
    "Each output is read from strict to loose forms: [[A]], a JSON field such as winner, **A**, a "
    "statement ('Output (b) is better', 'I prefer B', 'Verdict: A'), one side named alone at the "
    "end or on the first line, a bare last letter. The first form that matches decides. Reasoning "
    "blocks, code (but not JSON), block quotes and text in quotation marks are left out, so a "
    "verdict that a response tries to plant is not the judge's. A verdict for both sides is a "
    "contradiction and counts as missing, as does a tie: nothing is guessed. Forms and their "
    f"order: {errors.documentation('transcripts')}."
)


@frame.menu_page(pages.COVERAGE_PAGE, "This page shows what was read from the judges' outputs.")
def page(context: frame.PageContext) -> None:
    """Draw what is known about the outputs; an analysis of plain votes has none."""
    coverage = context.analysis.coverage
    if coverage is None:
        frame.answer("The file holds votes, so there are no outputs to read.", "open")
        st.caption(
            "For a file of judges' outputs (one per row: item, judge, text, order), this page "
            "shows which verdicts were read, and which were not."
        )
        return
    check = check_outputs(coverage)
    frame.answer(coverage_sentence(coverage), "keep" if check.outcome == "pass" else "open")
    frame.notes(coverage.notes)
    render.chart(
        outputs.parse_levels(coverage),
        key="levels",
        alt="Share of outputs by the form of the verdict, one bar per judge, the least read first. "
        + coverage_sentence(coverage),
    )
    render.check_card(check)
    st.header("All judges")
    render.table(blocks.Table(coverage_table(coverage), height=380), key="coverage")
    name = csv_name(context.analysis.name, "coverage.csv")
    download_button(
        st.container(), "Download CSV", lambda: csv_text(coverage.frame()), name, key="csv-coverage"
    )
    _examples(coverage)
    render.how(_WORDS, render.inspection_of(context))


def _examples(coverage: table.Coverage) -> None:
    """Draw the stored examples of outputs without a verdict."""
    st.header("Outputs without a verdict")
    if not coverage.unread:
        st.caption("There are none with text.")
        return
    judges = {unread.judge for unread in coverage.unread}
    st.caption(
        f"{counted(len(coverage.unread), 'example')} from {counted(len(judges), 'judge')}: the "
        "beginning and the end of what was written. Empty outputs are counted above."
    )
    _show_examples(coverage.unread[:_AT_ONCE])
    if len(coverage.unread) > _AT_ONCE:
        with st.expander(f"{len(coverage.unread) - _AT_ONCE} more"):
            _show_examples(coverage.unread[_AT_ONCE:])


_AT_ONCE = 6


def _show_examples(examples: tuple[table.Unread, ...]) -> None:
    for example in examples:
        st.html(
            f'<p class="jp-note"><b>{in_html(example.judge, 120)}</b> on '
            f"{in_html(example.item, 120)} "
            f"(row {example.row:,}, {in_html(example.reason)}): {in_html(example.excerpt, 700)}</p>"
        )
