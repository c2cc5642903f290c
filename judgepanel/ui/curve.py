"""Panel curve: keep all judges, or the top k?"""

from __future__ import annotations

import json

import streamlit as st

from judgepanel.figures.panel_curve import METRIC_NAMES, panel_curve
from judgepanel.kernels.aggregate.aggregation import AGGREGATORS, cross_fits
from judgepanel.kernels.aggregate.prefixes import RANKINGS
from judgepanel.report.commands import curve_command
from judgepanel.report.numbers import fixed
from judgepanel.report.sentences import (
    AGGREGATOR_NAMES,
    CALIBRATOR_NAMES,
    curve_sentence,
    headline,
    optimism_sentence,
)
from judgepanel.report.tables import comparison_table, csv_text
from judgepanel.studies.panel_curve import (
    CHOICE_SIZES,
    DENSE_JUDGES,
    PANEL_CURVE,
    PanelCurve,
    PanelCurveSpec,
)
from judgepanel.studies.result_file import result_content
from judgepanel.ui.frame import Shown, answer, next_step, notes
from judgepanel.ui.parts import how, table
from judgepanel.ui.text import csv_name
from judgepanel.ui.work import show_result

_METRICS = tuple(METRIC_NAMES)
_METRIC_LABELS = {"nll": "NLL", "brier": "Brier", "ece": "ECE", "accuracy": "Accuracy"}
_CALIBRATED = ("beta", "temperature")
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
    show_result(
        PANEL_CURVE, shown, spec, lambda curve: _draw(shown, spec, curve, calibrator, metric)
    )
    next_step("pages/recommended_panel.py", "which judges, which pipeline?", shown.analysis)


def _controls(shown: Shown) -> tuple[PanelCurveSpec, str, str]:
    first, second = st.columns([3, 2])
    third, fourth = st.columns([3, 2])
    metric = first.segmented_control(
        "Score",
        _METRICS,
        default="nll",
        required=True,
        key="metric",
        bind="query-params",
        format_func=lambda name: _METRIC_LABELS[name],
        help="NLL is the headline: the mean surprise of the true label. Lower is better.",
    )
    calibrator = second.segmented_control(
        "Calibrator",
        _CALIBRATED,
        default="beta",
        required=True,
        key="calibrator",
        bind="query-params",
        format_func=lambda name: CALIBRATOR_NAMES[name],
        help="How the summed votes become a probability. Both arms use the same one.",
    )
    aggregator = third.selectbox(
        "Aggregator",
        AGGREGATORS,
        index=AGGREGATORS.index("one_coin"),
        key="aggregator",
        bind="query-params",
        format_func=lambda name: AGGREGATOR_NAMES[name],
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
    answer(sentence, _TONES.get(arm.verdict if arm else "", "open"))
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
        _downloads(shown, spec, curve)
    how(
        _words(curve),
        curve_command(
            shown.analysis.file, spec, task=shown.votes.task, columns=shown.analysis.columns
        ),
    )


def _downloads(shown: Shown, spec: PanelCurveSpec, curve: PanelCurve) -> None:
    left, right, _ = st.columns([1, 1, 3])
    left.download_button(
        "Curve as CSV",
        data=lambda: csv_text(curve.frame()),
        file_name=csv_name(shown.analysis.name, "curve.csv"),
        mime="text/csv",
        on_click="ignore",
        width="stretch",
    )
    right.download_button(
        "Result as JSON",
        data=lambda: json.dumps(
            result_content(PANEL_CURVE, shown.votes, spec, curve), allow_nan=False
        ),
        file_name=csv_name(shown.analysis.name, "curve.json"),
        mime="application/json",
        on_click="ignore",
        width="stretch",
    )


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
