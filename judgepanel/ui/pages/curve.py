"""Panel curve: keep all judges, or the top k?"""

from __future__ import annotations

import streamlit as st

from judgepanel.kernels.aggregation import AGGREGATORS, ANY_AGGREGATORS, cross_fits
from judgepanel.kernels.calibration import Calibrator
from judgepanel.kernels.prefixes import RANKINGS
from judgepanel.present import pages, study
from judgepanel.present.decide.panel_curve import PanelCurveView, curve_answer, headline
from judgepanel.present.registry import PRESENTATIONS
from judgepanel.studies.decide import panel_curve
from judgepanel.ui import pipeline
from judgepanel.ui.frame import PageContext, menu_page
from judgepanel.ui.render import Caveats, show_closed, show_study

_RANKING_NAMES = {"accuracy": "accuracy", "informativeness": "distance from chance"}
_TONES = {
    **dict.fromkeys(("keep all", "no loss from keeping"), "keep"),
    **dict.fromkeys(("curate", "no loss from curating"), "curate"),
}


@menu_page(pages.CURVE_PAGE, "This page compares all judges with the most accurate few.")
def page(context: PageContext) -> None:
    """Draw the controls and the result as it grows; then the recommendation is computed."""
    entry = PRESENTATIONS[panel_curve.PANEL_CURVE.name]
    fold = pipeline.folded()
    with fold:
        spec, calibrator, metric = _controls(context)
    recommendation = pipeline.known_recommendation(context)
    pipeline.pipeline_note(
        context, recommendation, spec.aggregator, calibrator, fold, afterwards=True
    )
    view, caveats = PanelCurveView(calibrator, metric, recommendation), Caveats()

    def tone(curve: panel_curve.PanelCurve) -> str:
        """The tone of the answer; open if the decision is another one or still to come."""
        position, arm = curve.position(calibrator), headline(curve, calibrator)
        if arm is None or (position is not None and position.explains):
            return "open"
        own = _TONES.get(arm.verdict, "open")
        if recommendation is None:
            return "open" if context.analysis.settings.protocol == "honest" else own
        return own if own == ("keep" if recommendation.keeps_all else "curate") else "open"

    def banner(curve: panel_curve.PanelCurve) -> tuple[str, str]:
        return curve_answer(curve, calibrator), tone(curve)

    if show_study(entry, context, spec, view, caveats=caveats, banner=banner, quiet=True):
        pipeline.recommend_below(context)
        show_closed(context, pages.CURVE_PAGE, {panel_curve.PANEL_CURVE.name}, caveats=caveats)


def _controls(context: PageContext) -> tuple[panel_curve.PanelCurveSpec, Calibrator, str]:
    default = study.Pipeline()
    first, second = st.columns([3, 2])
    third, fourth = st.columns([3, 2])
    about = "Decisions rest on NLL, the mean surprise at the true label. Lower is better."
    metric = pipeline.score_control(first, key="metric", help=about)
    calibrator = pipeline.calibrator_control(second, default.calibrator)
    aggregator = pipeline.aggregator_control(
        third,
        default.aggregator,
        AGGREGATORS if context.votes.grades is None else ANY_AGGREGATORS,
        help="How votes are summed. One-coin weighs each judge by its log-odds of being right. "
        "Dawid–Skene, stacking and joint are refitted for every panel, so about twelve sizes "
        "are shown.",
    )
    ranking = fourth.selectbox(
        "Ranked by",
        RANKINGS,
        key="ranking",
        bind="query-params",
        format_func=lambda name: _RANKING_NAMES[name],
        help="Distance from chance also keeps judges that are reliably wrong.",
    )
    ks: tuple[int, ...] | None = None
    most = panel_curve.CHOICE_SIZES if cross_fits(aggregator) else panel_curve.DENSE_JUDGES
    if context.votes.n_judges > most and st.toggle(
        "Every panel size (slower)", key="every", bind="query-params"
    ):
        ks = ()
    spec = panel_curve.PanelCurveSpec(
        settings=context.analysis.settings, aggregator=aggregator, ranking=ranking, ks=ks
    )
    return spec, calibrator, metric
