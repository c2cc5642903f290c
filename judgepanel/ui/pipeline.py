"""Whether a page shows the pipeline that is recommended, and a way to it where it does not."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from judgepanel.decision.recommend import RECOMMEND
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.present.decide.decision import pipeline_sentence
from judgepanel.ui.frame import PageContext, show_errors
from judgepanel.ui.session import workspace
from judgepanel.votes import InputError
from judgepanel.words.sentences import pipeline_name


def pipeline_note(
    context: PageContext,
    aggregator: Aggregator,
    calibrator: Calibrator,
    *,
    offered: Collection[Calibrator] | None,
) -> None:
    """Say which pipeline the page is about.

    ``offered`` are the calibrators of its control, None where the aggregator cannot be chosen.
    """
    here = pipeline_name(aggregator, calibrator)
    try:
        spec = RECOMMEND.spec(settings=context.analysis.settings)
    except InputError:  # The paper's protocol recommends nothing.
        st.caption(f"This page shows {here}.")
        return
    with show_errors():
        stored = workspace().result(RECOMMEND, context.analysis.votes_sha256, spec)
    if stored is None:
        st.caption(
            f"This page shows {here}. Which pipeline suits these votes is what Recommended "
            "panel finds out."
        )
        return
    result: Recommendation = stored.result
    words = pipeline_sentence(result, aggregator, (calibrator,), where="This page")
    best = result.model.main.aggregator, result.model.main.calibrator
    if best == (aggregator, calibrator):
        st.caption(words)
        return
    wanted = best[1] if offered is None or best[1] in offered else calibrator
    if offered is None or (best[0], wanted) == (aggregator, calibrator):
        st.caption(words)
        return
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.caption(words)
    right.button(
        f"Show {pipeline_name(best[0], wanted)}",
        key="recommended_pipeline",
        on_click=_take,
        args=(best[0], wanted),
        width="stretch",
    )


def _take(aggregator: str, calibrator: str) -> None:
    st.session_state["aggregator"] = aggregator
    st.session_state["calibrator"] = calibrator
