"""One click from items that repeat to an analysis that keeps them together."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from judgepanel.ui.frame import PageContext
from judgepanel.ui.session import PARAMETER, is_reader, workspace
from judgepanel.votes.repeats import find_repeats


def offer_grouping(context: PageContext) -> None:
    """A button where copies are counted as independent: the same votes with copies grouped."""
    settings = context.analysis.settings
    if is_reader() or settings.group_duplicates or not find_repeats(context.votes).repeats.apart:
        return
    if st.button("Group them", key="group-duplicates", type="primary"):
        changed = replace(settings, group_duplicates=True)
        st.query_params[PARAMETER] = workspace().with_settings(context.analysis, changed).id
        st.rerun()
