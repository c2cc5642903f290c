"""The recommended pipeline is what pages show: it is made first, and one switch leads to others."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.present.decide.decision import pipeline_sentence
from judgepanel.present.default_specs import Pipeline, pipeline_of
from judgepanel.service import Job
from judgepanel.studies.settings import Settings
from judgepanel.ui.frame import PageContext, show_errors
from judgepanel.ui.session import workspace
from judgepanel.ui.work import FIRST_SECONDS, POLL_SECONDS
from judgepanel.words.numbers import counted
from judgepanel.words.sentences import pipeline_name

_KEYS = ("aggregator", "calibrator")


def with_recommendation(
    context: PageContext, draw: Callable[[Recommendation | None], None]
) -> None:
    """Draw a page that starts from the recommended pipeline.

    ``draw`` gets the recommendation, from its first splits on, or None: under the paper's protocol,
    where the votes are refused, and where a pipeline was chosen before there is a recommendation.
    """
    settings = context.analysis.settings
    if settings.protocol != "honest":
        draw(None)
        return
    result, job = _known(context, settings)
    if result is None and job is None and not _is_chosen():
        workspace().submit(RECOMMEND, context.votes, RecommendSpec(settings=settings))
        workspace().wait(
            RECOMMEND, context.votes.sha256, RecommendSpec(settings=settings), FIRST_SECONDS
        )
        result, job = _known(context, settings)
    waits = result is None and job is not None and job.status == "running"
    if waits and not _is_chosen():
        with st.container():
            _wait(context, settings)
    else:
        draw(result)


def known_recommendation(context: PageContext) -> Recommendation | None:
    """The recommendation as far as it is, without any work."""
    settings = context.analysis.settings
    return _known(context, settings)[0] if settings.protocol == "honest" else None


def recommend_beside(context: PageContext) -> None:
    """Work on the recommendation below what a page shows; the page is drawn again with it."""
    settings = context.analysis.settings
    if settings.protocol != "honest":
        return
    result, job = _known(context, settings)
    if result is None and job is None:
        workspace().submit(RECOMMEND, context.votes, RecommendSpec(settings=settings))
        result, job = _known(context, settings)
    if job is not None and job.status == "running":
        with st.container():
            _refine(context, settings, -1 if result is None else result.n_splits)


@st.fragment(run_every=POLL_SECONDS)
@show_errors()
def _refine(context: PageContext, settings: Settings, drawn: int) -> None:
    """Draw the page again with the first splits of the recommendation, and with all of them."""
    result, job = _known(context, settings)
    running = job is not None and job.status == "running"
    if not running or (result is not None and drawn < 0):
        st.rerun()
    st.caption(
        "The recommended panel is being worked out."
        if result is None
        else f"The recommended panel is being refined: {result.n_splits} of "
        f"{result.planned_splits:,} splits."
    )


def _known(context: PageContext, settings: Settings) -> tuple[Recommendation | None, Job | None]:
    spec, sha = RecommendSpec(settings=settings), context.votes.sha256
    stored = workspace().result(RECOMMEND, sha, spec)
    if stored is not None and stored.current:
        return stored.result, None
    job = workspace().partial(RECOMMEND, sha, spec)
    return (None if job is None else job.result), job


def _is_chosen() -> bool:
    return any(key in st.session_state or key in st.query_params for key in _KEYS)


@st.fragment(run_every=POLL_SECONDS)
@show_errors()
def _wait(context: PageContext, settings: Settings) -> None:
    result, job = _known(context, settings)
    if result is not None or job is None or job.status != "running":
        st.rerun()
    text = "A preliminary recommendation first: this page shows the panel that it recommends"
    if job.ahead:
        text += f". Waiting: {counted(job.ahead, 'job')} ahead"
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.progress(0.0, text=text)
    default = Pipeline()
    if right.button(
        f"Show {pipeline_name(default.aggregator, default.calibrator)}",
        key="default_pipeline",
        width="stretch",
    ):
        _take(default.aggregator, default.calibrator)
        st.rerun()


def pipeline_note(
    context: PageContext,
    result: Recommendation | None,
    aggregator: Aggregator,
    calibrator: Calibrator,
    *,
    splits: int | None = None,
    short: bool = False,
) -> None:
    """Say which pipeline the page shows, with one click to the recommended one, or away from it.

    ``splits`` are those of the page's study, where it takes fewer than the analysis; ``short``
    where the page says itself what is recommended.
    """
    here = pipeline_name(aggregator, calibrator)
    words = f"This page shows {here}."
    if result is not None and not short:
        words = pipeline_sentence(result, aggregator, (calibrator,), where="This page")
    if splits is not None and splits < context.analysis.settings.splits:
        words += (
            f" It rests on {splits} of the {context.analysis.settings.splits:,} splits, since "
            "every figure is a fit of its own."
        )
    if result is None:
        st.caption(words)
        return
    recommended, default = pipeline_of(result), Pipeline()
    other = default
    if (aggregator, calibrator) != (recommended.aggregator, recommended.calibrator):
        other = recommended
    if (other.aggregator, other.calibrator) == (aggregator, calibrator):
        st.caption(words)
        return
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.caption(words)
    right.button(
        f"Show {pipeline_name(other.aggregator, other.calibrator)}",
        key="other_pipeline",
        on_click=_take,
        args=(other.aggregator, other.calibrator),
        width="stretch",
    )


def _take(aggregator: str, calibrator: str) -> None:
    st.session_state["aggregator"] = aggregator
    st.session_state["calibrator"] = calibrator
