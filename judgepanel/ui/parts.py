"""Pieces that pages share: check cards, tables with downloads, how it was computed."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd
import streamlit as st

from judgepanel.studies.judge_table import JudgeTable
from judgepanel.ui.text import in_html, plain
from judgepanel.votes.checks import Check

_MARKS = {"pass": "passes", "review": "look", "fail": "fails", "not applicable": "does not apply"}


def check_card(check: Check) -> None:
    """One check: outcome in words, numbers, why, advice."""
    with st.container(border=True):
        st.html(
            f'<p class="jp-note"><b>{in_html(check.title)}: {_MARKS[check.outcome]}.</b> '
            f"{in_html(check.why, 1000)} {in_html(check.advice, 1000)}</p>"
        )
        shown = "; ".join(f"{name}: {value}" for name, value in check.numbers.items())
        st.html(f'<p class="jp-note">{in_html(shown, 1000)}</p>')


def table(
    frame: pd.DataFrame, *, key: str, height: int | None = None, percents: Collection[str] = ()
) -> None:
    """A sortable table with numbers to three decimals; Streamlit draws cells as plain text.

    Those of its columns that are in ``percents`` hold shares and are shown in per cent.
    """
    percents = [name for name in frame.columns if name in percents]
    shares = {
        name: st.column_config.NumberColumn(format="%.1f %%" if name in percents else "%.3f")
        for name in frame.select_dtypes(["float"]).columns
    }
    st.dataframe(
        frame.assign(**{name: 100.0 * frame[name] for name in percents}),
        hide_index=True,
        key=f"table-{key}",
        height=height if height else "auto",
        column_config=shares,
    )


def judge_rows(judges: JudgeTable) -> pd.DataFrame:
    """The judge table with names that fit a cell."""
    frame = judges.frame()
    frame["judge"] = [plain(name, 120) for name in frame["judge"]]
    return frame.rename(columns={"lo": "95 % from", "hi": "95 % to"})


def how(words: str, command: str) -> None:
    """How this was computed, and the command that computes it again."""
    with st.expander("How this was computed"):
        st.write(words)
        st.code(command, language=None, wrap_lines=True)
