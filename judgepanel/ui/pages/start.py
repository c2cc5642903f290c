"""Start: upload votes or open a sample.

What is drawn without votes needs neither the database nor tables; it is drawn before these are
imported. :mod:`judgepanel.ui.pages.start_votes` draws votes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import streamlit as st

from judgepanel.ui import access, frame, server, session
from judgepanel.ui.uploads import file_upload, kept_upload
from judgepanel.votes import limits

if TYPE_CHECKING:
    from judgepanel.service.workspace import Analysis

VOTES, LABELS, JUDGES = "votes_file", "labels_file", "judges_file"
_EXAMPLE = """item_id,label,feat_topic,judge-a,judge-b,judge-c
q1,1,math,1,1,0
q2,0,code,0,1,
q3,,code,1,,1"""
_TEMPLATES = {
    "One row per item": ("votes_by_item.csv", f"{_EXAMPLE}\n"),
    "One row per vote": (
        "votes_by_vote.csv",
        "item,judge,verdict,label\nq1,judge-a,1,1\nq1,judge-b,1,1\nq2,judge-a,0,0\n"
        "q2,judge-b,0,0\nq3,judge-a,,\nq3,judge-b,1,\n",
    ),
    "Labels only": ("labels.csv", "item_id,label\nq1,1\nq2,0\n"),
    "Judge table": (
        "judges.csv",
        "judge,family,cost_usd\njudge-a,x,0.001\njudge-b,x,0.02\njudge-c,y,0.004\n",
    ),
}
"""Templates to download: file name and text by title."""


@frame.show_errors()
def fresh() -> None:
    """Draw the page without an analysis: upload votes, or open a sample."""
    recent = st.container()
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.header("Your votes")
        access.warn_without_cookies("no file can be uploaded")
        upload = file_upload(
            "Votes with labels, or judges' outputs: CSV, .csv.gz, Excel, Parquet, Arrow, "
            f"JSON, JSON Lines or results of another tool, up to {limits.MAX_UPLOAD_MB} MB",
            key=VOTES,
            help="One row per item with an id, a label (0 or 1) and one column per judge; or one "
            "row per vote with item, judge, verdict; or one row per output with item, judge, text, "
            "order. Missing votes are blank. Logs of Inspect AI (.eval, .json), results of "
            "promptfoo, OpenAI Evals, TruLens, Langfuse and LangSmith, and what LLMBar, "
            "JudgeBench, RewardBench, MT-bench and AlpacaEval publish are read as they "
            "are; put several files into one .zip.",
        )
        with st.expander("Labels in another file", expanded=kept_upload(LABELS) is not None):
            labels = file_upload(
                "One row per item: its id as in the votes, and its label", key=LABELS
            )
        with st.expander("Add a judge table", expanded=kept_upload(JUDGES) is not None):
            judges = file_upload(
                "One row per judge: a column `judge`, then what you know (family, cost, ...)",
                key=JUDGES,
            )
    if upload is not None:
        from judgepanel.ui.pages.start_votes import uploaded  # noqa: PLC0415

        uploaded(upload, labels, judges, right)
    else:
        from judgepanel.ui.pages.home import home  # noqa: PLC0415

        with right:
            _example()
        samples = st.container()
        known = False
        with recent, frame.show_errors():
            known = home()
        with samples:
            _samples(named=known)
        server.QUIET.add(server.stand_by)


def _example() -> None:
    """Draw what a file looks like, and say what happens to it."""
    st.header("What a file looks like")
    # In HTML: the scripts of st.code take a browser longer than the rest of the page.
    st.html(f'<pre class="jp-example">{_EXAMPLE}</pre>')
    st.html(
        '<p class="jp-note">One row per item, with its label and one verdict per judge. Nothing '
        "leaves this machine.</p>"
    )
    with st.expander("Columns, and other layouts"):
        st.html(
            '<p class="jp-note">The true label is 1 where the first response is the better one, 0 '
            "where the second is, and blank where unknown; a verdict is blank where a judge gave "
            "none. Columns that begin with <code>feat_</code> are item features. A long file with "
            "the columns item, judge and verdict works as well, and so do the judges' raw outputs "
            "(item, judge, text, order): their verdicts are read here.</p>"
        )
    st.caption("Templates:")
    with st.container(horizontal=True, key="templates"):
        for title, (name, content) in _TEMPLATES.items():
            st.download_button(
                title, content, name, "text/csv", key=f"template-{name}", on_click="ignore"
            )


def _samples(*, named: bool) -> None:
    """Draw a button for each sample: only ``named`` for those who have analyses."""
    from judgepanel.votes.simulate import SAMPLES  # noqa: PLC0415

    st.header("Or a sample")
    for column, sample in zip(st.columns(len(SAMPLES)), SAMPLES, strict=True):
        with column:
            key, about = f"sample-{sample.name}", sample.what_it_shows
            kind: Literal["tertiary", "secondary"] = "tertiary" if named else "secondary"
            if st.button(sample.title, key=key, help=about, width="stretch", type=kind):
                session.open_analysis(_sample(sample.name, sample.title))
            if not named:
                st.caption(f"{about.split(': ')[0].rstrip('.')}.")


def _sample(name: str, title: str) -> Analysis:
    from judgepanel.studies.contract import Settings  # noqa: PLC0415
    from judgepanel.votes.load import load_votes, open_table  # noqa: PLC0415
    from judgepanel.votes.simulate import sample_bytes, sample_judge_bytes  # noqa: PLC0415

    table = open_table(sample_judge_bytes(name), f"{name}_judges.csv")
    loaded = load_votes(sample_bytes(name), name=f"{name}_votes.csv", judge_table=table)
    return session.workspace().create(loaded, Settings(), title)
