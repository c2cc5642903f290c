"""Judges or items: a section of the Judges page."""

from __future__ import annotations

import streamlit as st

from judgepanel.figures.judges.variance_decomposition import judge_abilities, share_bars
from judgepanel.report.variance import variance_sentence, variance_words
from judgepanel.studies.judges.variance_decomposition import (
    VARIANCE_DECOMPOSITION,
    VarianceDecomposition,
    VarianceDecompositionSpec,
)
from judgepanel.ui.frame import Shown, notes
from judgepanel.ui.parts import downloads, how_study, said
from judgepanel.ui.work import show_result


def judges_or_items(shown: Shown, known: set[str]) -> None:
    """Which varies more, with the fit behind it; ``known`` are notes the page has given."""
    st.header("Judges or items?")
    spec = VarianceDecompositionSpec(settings=shown.analysis.settings)
    show_result(VARIANCE_DECOMPOSITION, shown, spec, lambda found: _draw(shown, spec, found, known))


def _draw(
    shown: Shown, spec: VarianceDecompositionSpec, found: VarianceDecomposition, known: set[str]
) -> None:
    said(variance_sentence(found))
    st.plotly_chart(
        share_bars(found),
        key="shares",
        alt="Shares of variance of judges and items. " + variance_sentence(found),
        config={"displayModeBar": False},
    )
    st.caption(variance_words(found))
    notes(tuple(sentence for sentence in found.warnings if sentence not in known))
    st.plotly_chart(
        judge_abilities(found),
        key="abilities",
        alt="Ability of every judge against its discrimination, with intervals.",
        config={"displayModeBar": False},
    )
    downloads(shown, VARIANCE_DECOMPOSITION, spec, found)
    how_study(
        shown,
        VARIANCE_DECOMPOSITION,
        spec,
        f"A two-parameter logistic model on {found.n_items:,} labelled items: a judge is right on "
        "an item with probability σ(α (θ - β)), θ the ability and α the discrimination of the "
        "judge, β the difficulty of the item. Missing votes are missing. Abilities are in "
        "standard deviations of difficulty; means and spreads of ability and log discrimination "
        "come from the votes. The upper bar is Var(θ) : Var(β) for judges and items like these; "
        "the lower one takes apart the variance of the fitted logits, interaction included.",
    )
