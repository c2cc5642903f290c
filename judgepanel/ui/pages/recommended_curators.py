"""Does choosing judges pay? Ways of choosing side by side, when asked for."""

from __future__ import annotations

import streamlit as st

from judgepanel.decision.recommend import RecommendSpec
from judgepanel.figures.curators import curators as curators_figure
from judgepanel.report.curators import curators_sentence, curators_table
from judgepanel.studies.panel.curators import CURATORS_STUDY, CuratorsSpec
from judgepanel.studies.panel.curators_result import Curators
from judgepanel.ui.frame import Shown, notes
from judgepanel.ui.parts import downloads, how_study, said, table
from judgepanel.ui.work import show_result


def curators(shown: Shown, spec: RecommendSpec) -> None:
    """The section: nothing is computed until it is asked for."""
    st.header("Does choosing judges pay?")
    wanted = st.toggle(
        "Compare ways of choosing judges",
        key="curators",
        bind="query-params",
        help="Every way chooses on the calibration items of a split, is refitted and held to the "
        "other items against all judges.",
    )
    if wanted:
        asked = CuratorsSpec(settings=spec.settings)
        show_result(CURATORS_STUDY, shown, asked, lambda found: _draw(shown, asked, found))


def _draw(shown: Shown, spec: CuratorsSpec, found: Curators) -> None:
    so_far = f"So far, {found.n_splits} of {found.planned_splits} splits: " * found.partial
    said(so_far + curators_sentence(found))
    notes(found.warnings)
    st.plotly_chart(
        curators_figure(found),
        key="curators-figure",
        alt="NLL of every way of choosing, where it chose and on new items, against all judges.",
        config={"displayModeBar": False},
    )
    table(curators_table(found), key="curators")
    if not found.partial:
        downloads(shown, CURATORS_STUDY, spec, found)
    how_study(
        shown,
        CURATORS_STUDY,
        spec,
        f"{found.n_splits} random splits (seed {found.seed}). Optimism is the NLL on new items "
        "less the NLL where the panel was chosen: what choosing promises too much.",
    )
