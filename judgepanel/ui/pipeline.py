"""Pages show the recommended pipeline, which is computed first; one button switches to others.

Controls that several pages offer; their state is in the URL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgepanel.decision.recommend import RECOMMEND, RecommendSpec, as_asked
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures.style import METRIC_NAMES
from judgepanel.kernels import aggregation, calibration
from judgepanel.present.decide import recommend
from judgepanel.present.study import OFFERED, Pipeline, Presentation, pipeline_of
from judgepanel.service.workspace import Analysis, Job
from judgepanel.studies.contract import Settings, Spec
from judgepanel.studies.panel.recommended import AVERAGE, PANEL_AGGREGATORS, PanelAggregator
from judgepanel.ui import session, work
from judgepanel.ui.frame import PageContext, begins_with, caption, show_errors
from judgepanel.words.sentences import AGGREGATOR_NAMES, CALIBRATOR_NAMES, pipeline_name
from judgepanel.words.text import counted

_KEYS = ("aggregator", "calibrator")


def with_recommendation(
    draw: Callable[[PageContext, Recommendation | None], None],
) -> Callable[[PageContext], None]:
    """Make a page of a function that starts from the recommended pipeline.

    ``draw`` gets the recommendation as soon as its first splits are done. It gets None under the
    paper's protocol, for votes that are refused, and where the user chose a pipeline before there
    was a recommendation.
    """

    def page(context: PageContext) -> None:
        result, job = _known(context)
        if result is None and job is None and not _is_chosen():
            result, job = _started(context, work.FIRST_SECONDS)
        if result is None and _runs(job) and not _is_chosen():
            with st.container():
                _wait(context)
        else:
            draw(context, result)

    return page


def features_of(context: PageContext) -> list[str]:
    """The names of the item features."""
    return [] if context.votes.features is None else list(map(str, context.votes.features.columns))


def known_recommendation(context: PageContext) -> Recommendation | None:
    """The recommendation as far as it is known; starts no work."""
    return _known(context)[0]


def panel_in_use(analysis: Analysis) -> RecommendSpec:
    """The spec of the panel that an analysis uses: Best, or Lean at a price."""
    return RecommendSpec(settings=analysis.settings, prefer=analysis.prefer, price=analysis.price)


def in_use(context: PageContext, general: Recommendation) -> Recommendation:
    """The recommendation of the panel that the analysis uses, from the run of all of them."""
    return as_asked(context.votes, panel_in_use(context.analysis), general)


def recommend_below(context: PageContext) -> None:
    """Compute the recommendation below the page's content; the page is redrawn with it."""
    result, job = _known(context)
    if result is None and job is None:
        result, job = _started(context)
    if _runs(job):
        with st.container():
            _refine(context, 0 if result is None else result.n_splits)


def is_refining(context: PageContext) -> bool:
    """Whether the recommendation is being computed."""
    return _runs(_known(context)[1])


@st.fragment(run_every=work.POLL_SECONDS)
@show_errors()
def _refine(context: PageContext, drawn: int) -> None:
    """Redraw the page whenever the splits have doubled since the ``drawn`` ones, and at the end.

    The whole page quotes the recommendation, so redrawing a fragment is not enough.
    """
    result, job = _known(context)
    if not _runs(job) or (result is not None and result.n_splits >= max(1, 2 * drawn)):
        st.rerun()
    st.caption(
        "The recommended panel is being computed."
        if result is None
        else f"The recommended panel is being refined: {result.n_splits} of "
        f"{result.planned_splits:,} splits."
    )


def _known(context: PageContext) -> tuple[Recommendation | None, Job | None]:
    """The recommendation as far as it is known, and its unfinished job; None where missing."""
    spec = _spec(context)
    if spec is None:
        return None, None
    stored = session.workspace().result(RECOMMEND, context.votes.sha256, spec)
    if stored is not None and stored.current:
        return in_use(context, stored.result), None
    job = session.workspace().partial(RECOMMEND, context.votes.sha256, spec)
    return (None if job is None or job.result is None else in_use(context, job.result)), job


def _started(
    context: PageContext, seconds: float = 0.0
) -> tuple[Recommendation | None, Job | None]:
    """The same, after starting the work and waiting for up to ``seconds``."""
    spec = _spec(context)
    if spec is not None:
        session.workspace().submit(RECOMMEND, context.votes, spec)
        session.workspace().wait(RECOMMEND, context.votes.sha256, spec, seconds)
    return _known(context)


def _spec(context: PageContext) -> RecommendSpec | None:
    settings = context.analysis.settings
    return next(iter(recommend.default_specs(context.votes, settings, Pipeline())), None)


def _runs(job: Job | None) -> bool:
    return job is not None and job.status == "running"


def _is_chosen() -> bool:
    return any(key in st.session_state or key in st.query_params for key in _KEYS)


@st.fragment(run_every=work.POLL_SECONDS)
@show_errors()
def _wait(context: PageContext) -> None:
    result, job = _known(context)
    if result is not None or not _runs(job):
        st.rerun()
    text = "Computing a preliminary recommendation; this page shows the panel that it recommends"
    if job is not None and job.ahead:
        text += f". Waiting: {counted(job.ahead, 'job')} ahead"
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.progress(0.0, text=text)
    default = Pipeline()
    name = pipeline_name(default.aggregator, default.calibrator)
    if right.button(f"Show {name}", key="default_pipeline", width="stretch"):
        _take(default.aggregator, default.calibrator)
        st.rerun()


def pipeline_note(
    context: PageContext,
    result: Recommendation | None,
    aggregator: PanelAggregator | aggregation.Graded,
    calibrator: calibration.Calibrator,
    fold: DeltaGenerator,
    splits: int | None = None,
    *,
    afterwards: bool = False,
) -> None:
    """Say which pipeline the page shows, with a button to the recommended one, or back.

    ``splits`` is the number of splits of the page's study if it uses fewer than the analysis. The
    page states the recommendation and can show the recommended average itself, unless it computes
    the recommendation ``afterwards``, below its own answer. The number of splits, and the button
    where the page shows the recommended average, stand in ``fold``.
    """
    words, more = f"This page shows {pipeline_name(aggregator, calibrator)}.", list[str]()
    if result is not None:
        same = aggregator == AVERAGE or recommend.is_recommended(result, aggregator, calibrator)
        advice = not (same or afterwards)
        words = recommend.pipeline_sentence(result, aggregator, calibrator, advice=advice)
        if same and not afterwards:
            more.append(recommend.decision_sentence(result))
    if splits is not None and splits < context.analysis.settings.most_splits:
        more.append(
            f"This page uses {splits} of the {context.analysis.settings.most_splits:,} splits, "
            "since every figure needs a fit of its own."
        )
    with fold:
        for sentence in more:
            caption(sentence)
    if result is None:
        if afterwards and _spec(context) is not None:
            words += " What is recommended is worked out next, from other pipelines too."
        caption(words)
        return
    # One click away is the recommended pipeline, or the paper's default where that is shown.
    default, recommended = Pipeline(), pipeline_of(result)
    other: tuple[str, str] = (recommended.aggregator, recommended.calibrator)
    if aggregator == AVERAGE or (afterwards and same):
        other = (default.aggregator, default.calibrator)
    elif not afterwards:
        other = (AVERAGE, "none")
    if other == (aggregator, calibrator):
        caption(words)
        return
    place = fold
    if aggregator == AVERAGE:
        caption(words)
    else:
        left, place = st.columns([3, 1], vertical_alignment="center")
        with left:
            caption(words)
    label = f"Show {pipeline_name(*other)}"
    place.button(label, key="other_pipeline", on_click=_take, args=other, width="stretch")


def _take(aggregator: str, calibrator: str) -> None:
    st.session_state["aggregator"] = aggregator
    st.session_state["calibrator"] = calibrator


METRIC_LABELS = {"nll": "NLL", "brier": "Brier", "ece": "ECE", "accuracy": "Accuracy"}


Name = TypeVar("Name", bound=str)
T = TypeVar("T")


def folded(label: str = "Another pipeline") -> DeltaGenerator:
    """Where controls are that few change, so that the answer is on the first screen."""
    return st.expander(label)


def note_other(entry: Presentation, spec: Spec, pipeline: Pipeline) -> None:
    """Say which pipeline a section shows, and why, if it is not that of the page."""
    if another := recommend.other_pipeline(spec, pipeline, entry.single):
        caption(f"This section shows {another}.")


def segmented(
    where: Any,
    label: str,
    options: Sequence[T],
    *,
    key: str,
    default: T | None = None,
    format_func: Callable[[T], str] = str,
    help: str | None = None,
    disabled: bool = False,
) -> T:
    """A row of buttons of which one is chosen, at first the ``default`` or else the first one.

    The choice is in the URL.
    """
    choice: T = where.segmented_control(
        label,
        options,
        default=options[0] if default is None else default,
        required=True,
        key=key,
        bind="query-params",
        format_func=format_func,
        help=help,
        disabled=disabled,
    )
    return choice


def score_control(where: DeltaGenerator, *, key: str, help: str) -> str:
    """The score to draw."""
    names = tuple(METRIC_NAMES)
    return segmented(
        where, "Score", names, key=key, format_func=METRIC_LABELS.__getitem__, help=help
    )


def calibrator_control(
    where: DeltaGenerator,
    default: calibration.Calibrator,
    offered: Sequence[calibration.Calibrator] = OFFERED,
    *,
    average: bool = False,
) -> calibration.Calibrator:
    """The calibrator of both arms; ``default`` is always offered.

    Under the recommended average it is drawn all the same: Streamlit would lose a choice that a
    button makes for a widget that was not there.
    """
    begins_with("calibrator", default)
    offered = offered if default in offered else (default, *offered)
    if st.session_state.get("calibrator", default) not in offered:
        del st.session_state["calibrator"]
    return segmented(
        where,
        "Calibrator",
        offered,
        default=default,
        key="calibrator",
        format_func=CALIBRATOR_NAMES.__getitem__,
        help="How the summed votes become a probability. All panels on the page use the same one; "
        "members of the recommended average have their own.",
        disabled=average,
    )


def offered_aggregators(settings: Settings) -> tuple[PanelAggregator, ...]:
    """All aggregators, and the recommended average where there can be one."""
    return PANEL_AGGREGATORS if settings.protocol == "honest" else aggregation.AGGREGATORS


def aggregator_control(
    where: DeltaGenerator, default: Name, offered: Sequence[Name], *, help: str
) -> Name:
    """The aggregator that sums the votes; a choice that is not in ``offered`` is forgotten."""
    begins_with("aggregator", default)
    if st.session_state.get("aggregator", default) not in offered:
        del st.session_state["aggregator"]
    chosen: Name = where.selectbox(
        "Aggregator",
        offered,
        index=offered.index(default),
        key="aggregator",
        bind="query-params",
        format_func=AGGREGATOR_NAMES.__getitem__,
        help=help,
    )
    return chosen
