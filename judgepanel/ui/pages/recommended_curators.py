"""Does choosing judges pay? Ways of choosing side by side, when asked for."""

from __future__ import annotations

import streamlit as st

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.present.registry import ENTRIES
from judgepanel.studies.panel.curators import CURATORS_STUDY, CuratorsSpec
from judgepanel.ui.frame import PageContext
from judgepanel.ui.render import Caveats, show_study


def curators(context: PageContext, spec: RecommendSpec, caveats: Caveats) -> None:
    """The section: nothing is computed until it is asked for."""
    entry = ENTRIES[CURATORS_STUDY.name]
    st.header(entry.study.title)
    wanted = st.toggle(
        "Compare ways of choosing judges",
        key="curators",
        bind="query-params",
        help="Every way chooses on the calibration items of a split, is refitted and held to the "
        "other items against all judges.",
    )
    if wanted:
        show_study(entry, context, CuratorsSpec(settings=spec.settings), caveats=caveats)
