"""Controls of the Confidence page that no other page has."""

from __future__ import annotations

from streamlit.delta_generator import DeltaGenerator

from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.studies.compare import arm_name
from judgepanel.ui.frame import PageContext
from judgepanel.words.sentences import CALIBRATOR_NAMES

_PANELS = (0, 3, 5, 10)
OFFERED: tuple[Calibrator, ...] = ("beta", "temperature", "platt", "isotonic", "auto", "none")


def panel_choice(where: DeltaGenerator, context: PageContext) -> int | None:
    """Size of the panel, None for all judges; a size in the URL that is not offered is all."""
    judges = context.analysis.settings.judges
    n_judges = context.votes.n_judges if judges is None else len(judges)
    offered = [k for k in _PANELS if k < n_judges]
    chosen = where.segmented_control(
        "Panel",
        offered,
        default=0,
        required=True,
        key="panel",
        bind="query-params",
        format_func=lambda k: arm_name(k) if k else "all",
        help="All judges, or the best ones, ranked on the calibration items of every split.",
    )
    return int(chosen) if chosen else None


def calibrator_choice(where: DeltaGenerator) -> Calibrator:
    """What is between before and after."""
    chosen: Calibrator = where.selectbox(
        "Calibrator",
        OFFERED,
        key="calibrator",
        bind="query-params",
        format_func=CALIBRATOR_NAMES.__getitem__,
        help="How the summed votes become a probability: what lies between before and after.",
    )
    return chosen
