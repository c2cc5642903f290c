"""Controls that several pages offer; their state is in the URL."""

from __future__ import annotations

from collections.abc import Sequence

from streamlit.delta_generator import DeltaGenerator

from judgepanel.figures.panel_curve import METRIC_NAMES
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, Aggregator
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.present.default_specs import OFFERED
from judgepanel.words.sentences import AGGREGATOR_NAMES, CALIBRATOR_NAMES

METRIC_LABELS = {"nll": "NLL", "brier": "Brier", "ece": "ECE", "accuracy": "Accuracy"}


def score_control(where: DeltaGenerator, *, key: str, help: str) -> str:
    """Which score to draw."""
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
    where: DeltaGenerator, default: Calibrator, offered: Sequence[Calibrator] = OFFERED
) -> Calibrator:
    """Which calibrator both arms use; ``default`` is offered too."""
    offered = offered if default in offered else (default, *offered)
    chosen: Calibrator = where.segmented_control(
        "Calibrator",
        offered,
        default=default,
        required=True,
        key="calibrator",
        bind="query-params",
        format_func=CALIBRATOR_NAMES.__getitem__,
        help="How the summed votes become a probability. Both arms use the same one.",
    )
    return chosen


def aggregator_control(where: DeltaGenerator, default: Aggregator, *, help: str) -> Aggregator:
    """Which aggregator sums the votes."""
    chosen: Aggregator = where.selectbox(
        "Aggregator",
        AGGREGATORS,
        index=AGGREGATORS.index(default),
        key="aggregator",
        bind="query-params",
        format_func=AGGREGATOR_NAMES.__getitem__,
        help=help,
    )
    return chosen
