"""Presentation of the panel curve: keep all judges or the best k?

A score against panel size: uncalibrated, calibrated with its band, base rate, best k and all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from judgepanel.arrays import Floats, Ints
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures import style
from judgepanel.kernels.aggregation import cross_fits
from judgepanel.present import blocks, study
from judgepanel.present.decide import recommend
from judgepanel.scoring.interval import Interval
from judgepanel.studies.accumulate import CHOSEN, Comparison
from judgepanel.studies.decide.panel_curve import PANEL_CURVE, PanelCurve, PanelCurveSpec
from judgepanel.words import sentences
from judgepanel.words.tables import Column, Form, ends, numbers, text
from judgepanel.words.text import fixed, interval, level, sig, signed

_MARKED_SIZES = 20


def panel_curve(
    curve: PanelCurve,
    calibrator: str,
    metric: str = "nll",
    recommendation: Recommendation | None = None,
    pipeline: str = "",
) -> go.Figure:
    """A score (``nll``, ``brier``, ``ece``, ``accuracy``) against the number of judges kept.

    With a ``recommendation``, the NLL of the recommended panel and of panels under its main
    pipeline, named ``pipeline``, are drawn as well.
    """
    row, k = curve.row(calibrator), curve.k
    every: Interval = getattr(curve, metric)
    score = every[row]
    has_raw = "none" in curve.calibrators and calibrator != "none"
    raw = every.value[curve.row("none")] if has_raw else None
    ceiling = _ceiling(score, raw, curve.null_nll) if metric == "nll" else None
    figure = go.Figure()
    band_name = "95 % interval" if metric != "ece" else "central 95 % of splits"
    style.add_band(figure, k, score, style.INCLUDE, name=band_name)
    if raw is not None:
        name = "uncalibrated" if ceiling is None else f"uncalibrated (up to {raw.max():.2f})"
        look = style.stroke(style.NEUTRAL, "dash", 1.5)
        style.add_series(figure, k, raw, look, name, "top-%{x} uncalibrated: %{y:.3f}")
    name = "uncalibrated" if calibrator == "none" else f"calibrated ({calibrator})"
    look, hover = replace(style.ALL_JUDGES, size=7), "top-%{x}: %{y:.3f}<br>%{customdata}"
    added = [f"{ordinal(n)} judge added: {style.escaped(curve.ranking[n - 1])}" for n in k]
    style.add_series(figure, k, score.value, look, name, hover, mode=_mode(k), customdata=added)
    if metric == "nll":
        style.add_base_rate(figure, [k[0], k[-1]], [curve.null_nll, curve.null_nll])
    _add_marks(figure, k, score.value, highest=metric == "accuracy")
    if metric == "nll" and recommendation is not None:
        _add_recommended(figure, recommendation, (curve.aggregator, calibrator), pipeline)
    figure = style.laid_out(figure, x="judges kept, best first", y=style.METRIC_NAMES[metric])
    _set_ticks(figure, int(k[-1]))
    if metric == "accuracy":
        figure.update_yaxes(tickformat=".0%")
    if ceiling is not None:
        figure.update_yaxes(range=[0.0, ceiling])
    return figure


def _add_recommended(
    figure: go.Figure, recommendation: Recommendation, drawn: tuple[str, str], name: str
) -> None:
    """Add the recommended panel, and panels under its main pipeline unless that is drawn."""
    main = recommendation.model.main
    pipeline = (main.aggregator, main.calibrator)
    rows = recommendation.panels(*pipeline)
    if drawn != pipeline and len(rows) > 1:
        nll = [float(row.nll.value) for row in rows]
        names = [row.panel for row in rows]
        colour, sizes = style.CURATE_LINE, [row.k for row in rows]
        look = style.Look(colour, colour, "triangle-up-open", "dashdot", 1.5, 8)
        style.add_series(figure, sizes, nll, look, name, "%{text}: %{y:.3f}", text=names)
    size, level = len(recommendation.model.judges), Interval.stacked([recommendation.nll])
    known = bool(np.isfinite([level.lo, level.hi]).all())
    look = replace(style.RECOMMENDED, dash="", size=15)
    hover = f"recommended, {size:,} judges: %{{y:.3f}}"
    error = style.error_bars(level, style.RECOMMENDED.fill) if known else None
    style.add_series(figure, [size], level.value, look, "recommended panel", hover, error_y=error)


def ordinal(k: int) -> str:
    """The ordinal of a number: 1st, 2nd, 3rd, 4th, 11th."""
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(k % 10, "th")
    return f"{k}{'th' if k % 100 in (11, 12, 13) else suffix}"


def _mode(k: Ints) -> str:
    """Marks and lines if only some sizes are known, since the line between them is a guess."""
    if len(k) == 1:
        return "markers"
    return "lines+markers" if len(k) <= _MARKED_SIZES and k[-1] - k[0] >= len(k) else "lines"


def _ceiling(score: Interval, raw: Floats | None, null: float) -> float | None:
    """Upper end of the axis if the raw score is so high that all else looks flat, else None."""
    if raw is None:
        return None
    rest = max(null, float(np.nanmax(np.append(score.hi, score.value))))
    return 1.5 * rest if raw.max() > 2.0 * rest else None


def _set_ticks(figure: go.Figure, n: int) -> None:
    """Label every size up to 12 judges; beyond that use a log axis."""
    if n <= 12:
        figure.update_xaxes(tickvals=list(range(1, n + 1)))
        return
    ticks = [k for k in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if k < n * 0.65]
    ticks.append(n)
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{k:,}" for k in ticks])


def _add_marks(figure: go.Figure, k: Ints, value: Floats, *, highest: bool) -> None:
    """Mark the best panel in hindsight with a diamond and all judges with a square."""
    best, last = int(value.argmax() if highest else value.argmin()), len(k) - 1
    if best != last:
        name = f"best in hindsight (k = {k[best]:,})"
        hover = f"best in hindsight, top-{k[best]}: %{{y:.3f}}"
        style.mark_chosen(figure, k[best], value[best], name, hover)
    name = f"all {k[-1]:,}" + ", best in hindsight" * (best == last)
    style.mark_all_judges(figure, k[last], value[last], name, f"{name}: %{{y:.3f}}")


_VISIBLE = 0.001
"""Difference of a constant score from the base rate above which a sentence mentions it."""


@dataclass(frozen=True, slots=True)
class PanelCurveView:
    """View options: calibrator (None for all), score, and the recommendation if known."""

    calibrator: str | None = None
    metric: str = "nll"
    recommendation: Recommendation | None = None


def curve_answer(curve: PanelCurve, calibrator: str) -> str:
    """Return the answer, after the name of its pipeline."""
    sentence = curve_sentence(curve, calibrator)
    if curve.n_judges == 1:
        return sentence
    under = sentences.pipeline_name(curve.aggregator, calibrator)
    return f"Under {under}, {sentence[0].lower()}{sentence[1:]}"


def curve_against(curve: PanelCurve, calibrator: str, recommendation: Recommendation | None) -> str:
    """Compare panels of the curve with the recommended one; empty if that is unknown."""
    if recommendation is None:
        return ""
    parts = list[str]()
    if not recommend.is_recommended(recommendation, curve.aggregator, calibrator):
        parts.append(recommend.panels_sentence(recommendation))
    rows = recommendation.panels(curve.aggregator, calibrator)
    rows = tuple(row for row in rows if row != recommendation.chosen)
    if rows:
        best = min(rows, key=lambda row: float(row.nll.value))
        parts.append(f"The best candidate on this curve: {recommend.against_sentence(best)}")
    return " ".join(part for part in parts if part)


def level_sentence(recommendation: Recommendation, curve: PanelCurve) -> str:
    """Return the NLL of the recommended panel, which the figure marks, beside the curve's."""
    nll, pipelines = level(*recommendation.nll), sentences.panel_pipelines(recommendation.model)
    below = recommendation.nll.value < np.nanmin(curve.nll.value)
    lower = ", lower than any on this curve" if below else ""
    text = f"The recommended panel, {pipelines}, has NLL {nll}{lower}."
    return f"{sentences.so_far(recommendation)}{text}"


def curve_sentence(curve: PanelCurve, calibrator: str) -> str:
    """Say which panel is better, as the table does; what to keep is said by the decision."""
    if curve.n_judges == 1:
        text = "There is only one judge, so there is nothing to curate."
    elif (arm := headline(curve, calibrator)) is None:
        text = "Not enough splits yet to say."
    else:
        text = _verdict_sentence(curve, arm)
    text = sentences.if_positions_mean_nothing(curve.position(calibrator), text)
    return sentences.with_coding(text, curve.measures_coding)


def headline(curve: PanelCurve, calibrator: str) -> Comparison | None:
    """Return the comparison on which the answer is based.

    If a smaller panel is shown to be better, that one (first the k chosen on calibration rows,
    since a fixed k could not be chosen without hindsight); else the conventional top-5, the largest
    fixed panel compared, or the chosen k.
    """
    arms = {c.arm: c for c in curve.comparisons if c.calibrator == calibrator}
    fixed_arms = [arm for name, arm in arms.items() if name != CHOSEN]
    better = [arm for arm in arms.values() if arm.verdict == "curate"]
    for arm in better:
        if arm.arm == CHOSEN:
            return arm
    if better:
        return min(better, key=lambda arm: float(arm.delta.value))
    if "top-5" in arms:
        return arms["top-5"]
    return fixed_arms[-1] if fixed_arms else arms.get(CHOSEN)


def _verdict_sentence(curve: PanelCurve, arm: Comparison) -> str:
    n = curve.n_judges
    chosen = arm.arm == CHOSEN
    name = "the k chosen on calibration rows" if chosen else arm.arm
    size = f"{arm.k} or so" if chosen else f"{arm.k}"
    delta, lo, hi = arm.delta
    bounds = interval(lo, hi, sign=True)
    against = f"{name} changes NLL by {signed(delta)} {bounds}"
    if delta > 0:
        against = f"{name} costs {signed(delta)} NLL {bounds}"
    if arm.verdict == "tie" and chosen and arm.k_lo == n:
        return (
            f"A tie: the k chosen on calibration rows is the {sentences.SAME_PANEL} {n} in every "
            "split."
        )
    if lo > -arm.margin and hi < arm.margin and arm.verdict != "tie":
        return f"Either will do: {against} against all {n}, less than 2 % of their NLL."
    return {
        "keep all": f"All {n} beat the best {size}: {against}.",
        "curate": f"The best {size} beat all {n}: {name} saves {sig(-delta, 2)} NLL "
        f"{interval(-hi, -lo)}.",
        "no loss from keeping": f"At most 2 % is lost by keeping all {n}: {against} against all.",
        "no loss from curating": f"At most 2 % is lost by curating to {size}: {against} against "
        f"all {n}.",
        "undecided": f"Undecided: {against} against all {n}.",
        "tie": f"A tie: {name} and all {n} give the same probabilities.",
    }[arm.verdict]


def optimism_sentence(curve: PanelCurve, calibrator: str) -> str:
    """Return the optimism of the best k where it was chosen; empty if none was compared."""
    arm = curve.comparison(calibrator, CHOSEN)
    if arm is None:
        return ""
    nll = sig(float(arm.nll.value))
    return (
        f"Chosen on the calibration items, k has median {arm.k} (mostly {arm.k_lo} to "
        f"{arm.k_hi}). NLL is then {sig(arm.chosen_on)} on them and {nll} on untouched items: a "
        f"selection bias of {signed(arm.optimism)}."
    )


def comparison_table(curve: PanelCurve, calibrator: str) -> dict[str, Column]:
    """Return all judges and every compared panel under one calibrator."""
    arms = [arm for arm in curve.comparisons if arm.calibrator == calibrator]
    tied = np.array([True, *(arm.verdict == "tie" for arm in arms)])
    ties = {
        row: sentences.tie_words(arm.k_lo, curve.n_judges)
        for row, arm in enumerate(arms, start=1)
        if tied[row]
    }
    nll = Interval.stacked([curve.nll[curve.row(calibrator), -1], *(arm.nll for arm in arms)])

    def against(name: str) -> Interval:
        none = Interval.single(np.nan, np.nan, np.nan)
        return Interval.stacked([none, *(getattr(arm, name) for arm in arms)]).where(~tied)

    def column(name: str, form: Form) -> Column:
        return numbers([np.nan, *(getattr(arm, name) for arm in arms)], form)

    delta, paper = against("delta"), against("paper_median")
    return {
        "panel": text([f"all {curve.n_judges}", *map(_panel, arms)]),
        "NLL": numbers(nll.value, "significant"),
        "NLL 95 %": ends(nll, 3, of="nll"),
        "skill": numbers(1.0 - nll.value / curve.null_nll, "share"),
        "difference": Column(delta.value, "signed", ties, "delta"),
        "difference 95 %": ends(delta, sign=True, of="delta"),
        "all rows together": ends(against("band"), sign=True),
        "p": column("p", "p"),
        "verdict": text(["reference", *(arm.verdict for arm in arms)]),
        "selection bias": column("optimism", "signed"),
        "paper's median": numbers(paper.value, "signed"),
        "paper's interval": ends(paper, sign=True),
        "paper's p": column("paper_p", "p"),
    }


def _panel(arm: Comparison) -> str:
    return arm.arm if arm.k_lo == arm.k_hi else f"{arm.arm} ({arm.k_lo}-{arm.k_hi})"


def present(
    result: PanelCurve, spec: PanelCurveSpec, view: PanelCurveView = PanelCurveView()
) -> list[blocks.Block]:
    """Present the curve of one calibrator, then the others if none was chosen."""

    def curve(calibrator: str) -> list[blocks.Block]:
        raw = "uncalibrated" if calibrator == "none" else "uncalibrated and calibrated"
        recommended, decision, pipeline = view.recommendation, "", ""
        if recommended is not None:
            decision = recommend.decision_sentence(recommended)
            pipeline = recommend.main_pipeline(recommended)
        compared = curve_against(result, calibrator, recommended)
        shows = f"{raw} panels of every size"
        caption = f"Panels against all judges, with {sentences.CALIBRATED[calibrator]}."
        return [
            blocks.Answer(curve_answer(result, calibrator)),
            *blocks.paragraphs(decision),
            blocks.drawing(
                shows, panel_curve, result, calibrator, view.metric, recommended, pipeline
            ),
            blocks.note(_reading(result, calibrator, view.metric)),
            *([blocks.note(compared)] if compared else []),
            *blocks.paragraphs(optimism_sentence(result, calibrator)),
            blocks.Table(comparison_table(result, calibrator), caption),
        ]

    return [*blocks.by_calibrator(result.calibrators, view.calibrator, curve), _method(result)]


def _reading(result: PanelCurve, calibrator: str, metric: str) -> str:
    constant = float(result.constant_nll[result.row(calibrator)])
    text = f"Base rate alone: NLL {fixed(result.null_nll, 3)}."
    if abs(constant - result.null_nll) > _VISIBLE:
        text += f" A constant score through the same calibrator: {fixed(constant, 3)}."
    if metric != "nll":
        drawn = style.METRIC_NAMES[metric]
        text = f"The figure shows {drawn}; answer and table are about NLL. {text}"
    return text


def _method(result: PanelCurve) -> blocks.Method:
    return blocks.Method(
        f"On the {result.n_calibration:,.0f} calibration items of a split judges are ranked, "
        "weighted and calibrated; all figures are scores of the other "
        f"{result.n_evaluation:,.0f}. {_own_label(result)} Intervals are for new items: "
        "the variance of the items' mean differences, plus what drawing other calibration items "
        "would add, estimated from the items that splits share. A verdict needs the "
        "interval to clear 2 % of the NLL of all judges. The paper's bootstrap over splits and "
        "sign-flip test stand beside it for comparison only: they cover the truth far too rarely. "
        "The best k is chosen on calibration items in every split; the diamond marks the best in "
        "hindsight, which could not have been chosen."
    )


def _own_label(result: PanelCurve) -> str:
    """Say whether calibrators see an item's own label."""
    if result.protocol == "paper":
        return "As in the paper, calibrators see scores that know their own labels."
    if cross_fits(result.aggregator):  # type: ignore[arg-type]
        return (
            "Calibrators see each item through a ranking and a fit made without its fold. Every "
            f"panel size needs fits of its own, so {len(result.k)} sizes are shown."
        )
    return (
        "Calibrators see each item through weights and a ranking from which its own label was "
        "removed."
    )


PRESENTATION = study.Presentation(PANEL_CURVE, present)
