"""Work in progress on a page: the partial result, progress, the queue, and buttons.

Every poll tells the server that someone is looking at this work, and the server does such work
first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from judgepanel.service.basics import NotFound, ServerProblem, SignInFirst
from judgepanel.service.workspace import Job
from judgepanel.studies.contract import AnyStudy, Spec
from judgepanel.ui import frame, session
from judgepanel.words.text import counted

POLL_SECONDS = 1.0
REDRAWN_AT = 1.5
"""A partial result is drawn again when it has this many times the parts: to draw figures anew takes
browser and server longer than to look how far the work is, and they may share its cores."""
FIRST_SECONDS = 0.8
"""Time to wait for quick work, so that a page of many sections does not take one poll for each."""
_STOPPING = "stopping"


@frame.show_errors()
def show_result(
    study: AnyStudy, context: frame.PageContext, spec: Spec, draw: Callable[[Any], None]
) -> bool:
    """Draw the stored result, or start the work and draw partial results until it is done.

    Returns whether the work has ended, so that a page can run several studies in turn.
    """
    space = session.workspace()
    sha = context.votes.sha256
    stored = space.result(study, sha, spec)
    job = space.partial(study, sha, spec)
    running = job is not None and job.status == "running"
    if stored is not None and not running:
        if not stored.current:
            st.warning("An older version of judgepanel made this result.")
            if not session.is_reader() and st.button("Compute again", key=f"redo-{study.name}"):
                space.submit(study, context.votes, spec)
                st.rerun()
        draw(stored.result)
        return True
    ended = job is not None and job.status in ("cancelled", "failed")
    if stored is None and not ended and space.is_unreadable(study, sha, spec):
        st.info("The stored result could not be read, so it is computed again.")
    if job is None:
        space.submit(study, context.votes, spec)
        space.wait(study, sha, spec, FIRST_SECONDS)
        job = space.partial(study, sha, spec)
        if job is not None and job.status == "done":
            draw(job.result)
            return True
    if job is not None and job.status in ("cancelled", "failed"):
        _ended(study, context, spec, job, draw)
        return True
    # A container of its own: if a poll begins before a slow client has the whole page, Streamlit
    # drops the fragment's elements and keeps those after it, and the client breaks on the gap
    # unless the fragment is the last in its block.
    with st.container():
        _watch(study, context, spec, job.done if job is not None and job.result is not None else 0)
    if job is not None and job.result is not None:
        draw(job.result)
    return False


def start(study: AnyStudy, context: frame.PageContext, spec: Spec) -> None:
    """Start the work unless there is a result or a job already; `show_result` then waits for it."""
    space, sha = session.workspace(), context.votes.sha256
    if space.result(study, sha, spec) is None and space.partial(study, sha, spec) is None:
        space.submit(study, context.votes, spec)


def stored_result(study: AnyStudy, context: frame.PageContext, spec: Spec) -> Any:
    """The stored result of this version, None if there is none; starts no work."""
    stored = session.workspace().result(study, context.votes.sha256, spec)
    return stored.result if stored is not None and stored.current else None


@st.fragment(run_every=POLL_SECONDS)
@frame.show_errors()
def _watch(study: AnyStudy, context: frame.PageContext, spec: Spec, drawn: int) -> None:
    """Say how far the work is; redraw the page when it has ended or outgrown the ``drawn`` parts.

    The whole page, because figures drawn by this fragment would be drawn anew at every poll.
    """
    job = session.workspace().partial(study, context.votes.sha256, spec)
    # Work stops after the parts that are running; the page says so at once.
    if job is None or job.status != "running" or _has_grown(job, drawn):
        st.rerun()
    left, right = st.columns([5, 1], vertical_alignment="center")
    called_off = st.session_state.get(_STOPPING) == (context.votes.sha256, spec)
    text = "Stopping after the current parts" if called_off else _how_far(job)
    left.progress(_share(job), text=text)
    if not session.is_reader():
        right.button(
            "Cancel",
            key=f"cancel-{study.name}",
            width="stretch",
            disabled=called_off,
            on_click=_call_off,
            args=(study, context, spec),
        )


def _has_grown(job: Job, drawn: int) -> bool:
    """Whether so many more parts are there that they are worth drawing; not just before the end."""
    is_close = job.elapsed > 0.0 and job.remaining < POLL_SECONDS
    return job.result is not None and not is_close and job.done >= max(1, REDRAWN_AT * drawn)


def _call_off(study: AnyStudy, context: frame.PageContext, spec: Spec) -> None:
    try:
        session.workspace().cancel(study, context.votes.sha256, spec)
    except (NotFound, SignInFirst, ServerProblem):
        return  # The page, which is drawn next, says what is wrong.
    st.session_state[_STOPPING] = (context.votes.sha256, spec)


def _ended(
    study: AnyStudy, context: frame.PageContext, spec: Spec, job: Job, draw: Callable[[Any], None]
) -> None:
    st.session_state.pop(_STOPPING, None)
    if job.status == "failed":
        frame.problem(job.message)
    else:
        st.warning(
            f"Cancelled after {job.done} of {job.total} parts; only those are used."
            if job.done
            else "Cancelled before it began."
        )
    key = f"again-{study.name}-{hash((context.votes.sha256, spec))}"  # Compare may draw several.
    if not session.is_reader() and st.button("Run again", key=key, type="primary"):
        session.workspace().submit(study, context.votes, spec)
        st.rerun()
    if job.result is not None:
        draw(job.result)


def _share(job: Job) -> float:
    return job.done / job.total if job.total else 0.0


def _how_far(job: Job) -> str:
    """How much is done, then what comes next: the queue, or the time left."""
    so_far = f"{_share(job):.0%} done" if job.done else ""
    if job.ahead:
        next_up = f"Waiting: {counted(job.ahead, 'job')} ahead"
        return f"{so_far}. {next_up}" if so_far else next_up
    if not job.elapsed:  # The parts so far come from an earlier run.
        return f"{so_far}, continuing" if so_far else "Starting"
    left = job.remaining
    if left < 1:
        return f"{so_far}, less than a second left"
    time_left = f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} min"
    return f"{so_far}, about {time_left} left"
