"""Panel curve: keep all judges, or the top k?"""

from __future__ import annotations

import streamlit as st

from judgepanel.figures.panel_curve import METRIC_NAMES, panel_curve
from judgepanel.kernels.aggregate.aggregation import cross_fits
from judgepanel.kernels.aggregate.prefixes import RANKINGS
from judgepanel.kernels.calibrate.calibration import Calibrator
from judgepanel.present.default_specs import OFFERED
from judgepanel.report.numbers import fixed
from judgepanel.report.sentences import (
    AGGREGATOR_NAMES,
    curve_sentence,
    headline,
    optimism_sentence,
)
from judgepanel.report.tables import comparison_table
from judgepanel.studies.curve.panel_curve import (
    CHOICE_SIZES,
    DENSE_JUDGES,
    PANEL_CURVE,
    PanelCurve,
    PanelCurveSpec,
)
from judgepanel.ui.controls import aggregator_control, calibrator_control, score_control
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.parts import downloads, how_study, table
from judgepanel.ui.pipeline import pipeline_note
from judgepanel.ui.work import show_result

_RANKING_NAMES = {"accuracy": "accuracy", "informativeness": "distance from chance"}
_TONES = {
    "keep all": "keep",
    "no loss from keeping": "keep",
    "curate": "curate",
    "no loss from curating": "curate",
}


def page(shown: Shown) -> None:
    """Controls, then the result as it grows."""
    spec, calibrator, metric = _controls(shown)
    pipeline_note(shown, spec.aggregator, calibrator, offered=OFFERED)
    show_result(
        PANEL_CURVE, shown, spec, lambda curve: _draw(shown, spec, curve, calibrator, metric)
    )
    next_step("pages/recommended_panel.py", "which judges, which pipeline?", shown.analysis)


def _controls(shown: Shown) -> tuple[PanelCurveSpec, Calibrator, str]:
    first, second = st.columns([3, 2])
    third, fourth = st.columns([3, 2])
    metric = score_control(
        first,
        key="metric",
        help="NLL is the headline: the mean surprise of the true label. Lower is better.",
    )
    calibrator = calibrator_control(second)
    aggregator = aggregator_control(
        third,
        help="How votes are summed. One-coin weighs each judge by its log-odds of being right. "
        "Dawid–Skene, stacking and joint are fitted anew for every panel, so about twelve sizes "
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
    most = CHOICE_SIZES if cross_fits(aggregator) else DENSE_JUDGES
    if shown.votes.n_judges > most and st.toggle(
        "Every panel size (slower)", key="every", bind="query-params"
    ):
        ks = ()
    spec = PanelCurveSpec(
        settings=shown.analysis.settings, aggregator=aggregator, ranking=ranking, ks=ks
    )
    return spec, calibrator, metric


def _draw(
    shown: Shown, spec: PanelCurveSpec, curve: PanelCurve, calibrator: str, metric: str
) -> None:
    arm = headline(curve, calibrator)
    so_far = f"So far, {curve.n_splits} of {curve.planned_splits} splits: " * curve.partial
    under = f"Under {AGGREGATOR_NAMES[curve.aggregator]}: " * (curve.aggregator != "one_coin")
    sentence = so_far + under + curve_sentence(curve, calibrator)
    position = curve.position(calibrator)
    explained = position is not None and position.explains
    tone = _TONES.get(arm.verdict if arm else "", "open")
    answer(sentence, "open" if explained else tone)
    notes(curve.warnings)
    st.plotly_chart(
        panel_curve(curve, calibrator, metric),
        key="curve",
        alt=f"{METRIC_NAMES[metric]} against the number of judges kept. "
        + curve_sentence(curve, calibrator),
        config={"displayModeBar": False},
    )
    constant = float(curve.constant_nll[curve.row(calibrator)])
    yardstick = f"Base rate alone: NLL {fixed(curve.null_nll, 3)}."
    if abs(constant - curve.null_nll) > 0.001:
        yardstick += f" A constant score through the same calibrator: {fixed(constant, 3)}."
    if metric != "nll":
        st.caption(
            f"The figure shows {METRIC_NAMES[metric]}; the answer and the table speak of NLL."
        )
    st.caption(f"{yardstick} {optimism_sentence(curve, calibrator) or ''}")
    st.header("Panels against all judges")
    table(comparison_table(curve, calibrator), key="comparisons")
    if not curve.partial:
        downloads(shown, PANEL_CURVE, spec, curve, label="Curve as CSV", stem="curve")
    how_study(shown, PANEL_CURVE, spec, _words(curve))


def _words(curve: PanelCurve) -> str:
    return (
        f"{curve.n_splits} random splits (seed {curve.seed}): on {curve.n_calibration:,.0f} items "
        "judges are ranked, weighted and calibrated; all figures are scores of the other "
        f"{curve.n_evaluation:,.0f}. {_own_label(curve)} Intervals are 95 % for new items: "
        "Var = v/N + s_tr² (1/S + n_cal/n_eval), with v/N from the items' mean differences and "
        "s_tr² what the calibration sets add to the variance over splits. A verdict needs the "
        "interval to clear 2 % of the NLL of all judges. The paper's bootstrap over splits and "
        "sign-flip test stand beside it for comparison only: they cover the truth far too rarely. "
        "The best k is chosen on calibration rows in every split; the diamond marks the best in "
        "hindsight, which nobody could have chosen."
    )


def _own_label(curve: PanelCurve) -> str:
    """What calibrators see of an item."""
    if curve.protocol == "paper":
        return "As in the paper, calibrators see scores that know their own labels."
    if cross_fits(curve.aggregator):  # type: ignore[arg-type]
        return (
            "Calibrators see each item through a ranking and a fit made without its fold. Every "
            f"panel size needs fits of its own, so {len(curve.k)} sizes are shown."
        )
    return (
        "Calibrators see each item through weights and a ranking from which its own label was "
        "removed."
    )
