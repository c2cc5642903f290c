"""Controls that several pages offer; their state is in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgepanel.figures.style import METRIC_NAMES
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.present.pipeline import OFFERED
from judgepanel.studies.contest.recommended import PANEL_AGGREGATORS, PanelAggregator
from judgepanel.studies.settings import Settings
from judgepanel.ui.defaults import begins_with
from judgepanel.words.sentences import AGGREGATOR_NAMES, CALIBRATOR_NAMES

METRIC_LABELS = {"nll": "NLL", "brier": "Brier", "ece": "ECE", "accuracy": "Accuracy"}


Name = TypeVar("Name", bound=str)


def folded(label: str = "Another pipeline or view") -> DeltaGenerator:
    """Where controls are that few change, so that the answer is on the first screen."""
    return st.expander(label)


def score_control(where: DeltaGenerator, *, key: str, help: str) -> str:
    """The score to draw."""
    return str(
        where.segmented_control(
            "Score",
            tuple(METRIC_NAMES),
            default="nll",
            required=True,
            key=key,
            bind="query-params",
            format_func=METRIC_LABELS.__getitem__,
            help=help,
        )
    )


def calibrator_control(
    where: DeltaGenerator,
    default: Calibrator,
    offered: Sequence[Calibrator] = OFFERED,
    *,
    average: bool = False,
) -> Calibrator:
    """The calibrator of both arms; ``default`` is always offered.

    Under the recommended average it is drawn all the same: Streamlit would lose a choice that a
    button makes for a widget that was not there.
    """
    begins_with("calibrator", default)
    offered = offered if default in offered else (default, *offered)
    if st.session_state.get("calibrator", default) not in offered:
        del st.session_state["calibrator"]
    chosen: Calibrator = where.segmented_control(
        "Calibrator",
        offered,
        default=default,
        required=True,
        key="calibrator",
        bind="query-params",
        format_func=CALIBRATOR_NAMES.__getitem__,
        help="How the summed votes become a probability. All panels on the page use the same one; "
        "members of the recommended average have their own.",
        disabled=average,
    )
    return chosen


def offered_aggregators(settings: Settings) -> tuple[PanelAggregator, ...]:
    """All aggregators, and the recommended average where there can be one."""
    return PANEL_AGGREGATORS if settings.protocol == "honest" else AGGREGATORS


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
