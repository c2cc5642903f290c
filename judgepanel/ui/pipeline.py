"""Whether a page shows the pipeline that is recommended, and a way to it where it does not."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from judgepanel.decision.recommend import RECOMMEND
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.kernels.aggregate.aggregation import Aggregator
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.report.sentences import pipeline_name
from judgepanel.ui.frame import Shown, told
from judgepanel.ui.session import workspace


def pipeline_note(
    shown: Shown,
    aggregator: Aggregator,
    calibrator: Calibrator,
    *,
    offered: Collection[Calibrator],
) -> None:
    """Say which pipeline the page is about; ``offered`` are the calibrators of its control."""
    here = pipeline_name(aggregator, calibrator)
    spec = RECOMMEND.spec(settings=shown.analysis.settings)
    with told():
        stored = workspace().result(RECOMMEND, shown.analysis.votes_sha256, spec)
    if stored is None:
        st.caption(
            f"All figures here are of {here}. Which pipeline suits these votes is what Recommended "
            "panel finds out."
        )
        return
    found: Recommendation = stored.result
    best = found.model.aggregator, found.model.calibrator
    if best == (aggregator, calibrator):
        st.caption(f"All figures here are of {here}, the recommended pipeline.")
        return
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.caption(
        f"All figures here are of {here}. The recommended panel is not that one: it keeps "
        f"{len(found.model.judges)} of {found.n_judges} judges with {pipeline_name(*best)}."
    )
    wanted = best[1] if best[1] in offered else calibrator
    if (best[0], wanted) != (aggregator, calibrator):
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
