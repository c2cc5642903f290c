"""Presentation of the label budget: its curve, differences, figures, tables and default specs.

The label budget in sentences: labels to reach the plateau or a target, and more labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from judgepanel.arrays import Floats
from judgepanel.figures import style
from judgepanel.kernels.aggregation import Aggregator, cross_fits
from judgepanel.present import blocks, study
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.panel import recommended
from judgepanel.studies.trust.label_budget import (
    LABEL_BUDGET,
    NEXT,
    PAPER_NOTE,
    BudgetResult,
    LabelBudget,
    LabelBudgetSpec,
    LabelsNeeded,
)
from judgepanel.votes import VoteMatrix
from judgepanel.words import sentences
from judgepanel.words.tables import Column, differences, ends, levels, numbers, text
from judgepanel.words.text import capital, counted, fixed, level, listed, p_value, with_interval

ALPHA = 0.05


def budget_sentence(result: LabelBudget, calibrator: str) -> str:
    """Return how many labels bring all judges near their NLL with the most labels."""
    return sentences.with_coding(_needed_answer(result, calibrator), result.measures_coding)


def beats_null(result: LabelBudget, calibrator: str) -> bool:
    """Whether all judges on all calibration labels are shown to beat the base rate."""
    nll = result.nll[result.row(calibrator), -1, -1]
    return bool(nll.below(result.null_nll[-1]))


def _needed_answer(result: LabelBudget, calibrator: str) -> str:
    needed = result.needed_for(calibrator, result.arms[-1])
    if needed is None:
        return "Not enough splits yet to say."
    c, most = result.row(calibrator), counted(round(float(result.labels[-1])), "label")
    null = fixed(float(result.null_nll[-1]), 3)
    reached = f"NLL {level(*result.nll[c, -1, -1])}, base rate {null}"
    if not beats_null(result, calibrator):
        are = "is" if result.n_judges == 1 or result.aggregator == recommended.AVERAGE else "are"
        return (
            f"At {most}, {result.arms[-1]} {are} not shown to beat the base rate. "
            f"The number needed is unknown: {reached}."
        )
    if len(result.labels) == 1:
        return f"There is one budget only, {most} ({reached}): too few labels for a curve."
    enough = f"{_still_falls(result, c)}{_enough(result, needed)}"
    near = f"bring {result.arms[-1]} within {tolerance(result)} of what {most} give"
    return f"{enough} {near}. You have {result.have:,}{_suffice(result, c, needed)}."


def _enough(result: LabelBudget, needed: LabelsNeeded) -> str:
    """Return how many labels are enough: the estimate, or the upper end with few splits."""
    n, _, hi = needed.n
    if needed.at_start and hi == n:
        return f"{_count(n)} or fewer"
    if not result.settled:
        return f"At most {_count(hi)}"
    if needed.at_start:
        return f"{_count(n)}, perhaps up to {round(hi):,},"
    return f"{_count(n)} {span(needed)}"


def _suffice(result: LabelBudget, c: int, needed: LabelsNeeded) -> str:
    """Say whether the labels of the user are enough; empty if that is unknown."""
    quoted = result.quoted(needed)
    if _still_falls(result, c):
        return ": more would help"
    if not math.isfinite(quoted):
        return ""
    if result.have >= quoted:
        return ": enough"
    return ": too few" if result.have < needed.n.lo else ": perhaps too few"


def _splits(result: LabelBudget) -> str:
    return counted(result.n_splits, "split")


def _still_falls(result: LabelBudget, c: int) -> str:
    """Say that there is no plateau yet if the next labels are clearly shown to reduce NLL."""
    gain = result.gain[c, -1, -1]
    if not (gain.above() and gain.value > result.within * result.nll.value[c, -1, -1]):
        return ""
    buy = f"the next {NEXT} labels lower NLL by about {with_interval(*gain)}"
    return f"No plateau yet: {buy}. So far, "


def target_sentence(result: LabelBudget, calibrator: str) -> str:
    """Return how many labels bring all judges to the target; empty without a target."""
    needed = result.needed_for(calibrator, result.arms[-1], "target")
    if needed is None:
        return ""
    goal, arm = f"NLL {needed.goal:g}", result.arms[-1]
    n, lo, _ = needed.n
    if not math.isfinite(n):
        if result.aggregator != recommended.AVERAGE:
            arm += f" with {sentences.pipeline_name(result.aggregator, calibrator)}"
        never = f"The fitted curve of {arm} never falls to {goal}"
        if not math.isfinite(lo):
            return f"{never}."
        return f"{never}, but that is not sure: the 95 % interval starts at {_count(lo)}."
    how = ", by extrapolating the fitted curve," if needed.extrapolated else ""
    if not math.isfinite(result.quoted(needed)):
        return (
            f"How many labels bring {arm} to {goal} on average over panels is not shown after "
            f"{_splits(result)}: {_count(n)} {span(needed)}{how.rstrip(',')}."
        )
    enough = _enough(result, needed).rstrip("," * bool(how))
    return f"{enough}{how} bring {arm} to {goal}, on average over panels."


def next_sentence(result: LabelBudget, calibrator: str) -> str:
    """Return the effect of 100 labels beyond those of the user; empty without a curve."""
    c = result.row(calibrator)
    if not math.isfinite(result.curve_a[c, -1]):
        return ""
    have = f"You have {counted(result.have, 'label')}"
    gain = result.gain[c, -1, -1]
    if not math.isfinite(gain.value):
        return (
            f"{have}, fewer than the smallest budget here ({round(float(result.labels[0])):,}): "
            "what more would buy is not known."
        )
    text = f"{have}: the next {NEXT} would lower NLL by about {with_interval(*gain)}."
    if not result.curve_b[c, -1] > 0:
        text = (
            f"{have}: the curve does not fall, so the next {NEXT} are not shown to help (at most "
            f"{fixed(float(gain.hi), 3)} NLL)."
        )
    if result.extrapolates:
        text += (
            f" That is extrapolated: panels were fitted on at most "
            f"{round(float(result.labels[-1])):,} labels, and tested on the others."
        )
    return text


def versus(result: LabelBudget, panel: str) -> str:
    """Name a panel and its reference: ``top-5 against all 65``."""
    reference = result.arms[-1]
    apart = result.aggregator_of(result.arms.index(panel)) != result.aggregator
    if apart and result.aggregator != recommended.AVERAGE:
        reference = recommended.by_aggregator(reference, result.aggregator)
    return f"{panel} against {reference}"


def joint_sentence(result: LabelBudget, calibrator: str, panel: str) -> str:
    """Say whether a panel differs from all judges at any budget, and at which."""
    c, p = result.row(calibrator), result.arms.index(panel)
    joint = float(result.joint_p[c, p])
    if not math.isfinite(joint):
        return "Not enough splits yet to compare panels."
    start = versus(result, panel)
    if joint >= ALPHA:
        return f"{start}: no difference is shown at any budget (joint {p_value(joint)})."
    worse, better = (
        [round(float(n)) for n, differs in zip(result.labels, where, strict=True) if differs]
        for where in (result.band[c, p].above(), result.band[c, p].below())
    )
    parts = [
        f"{word} at {listed([f'{n:,}' for n in where])} labels"
        for word, where in (("costs NLL", worse), ("saves NLL", better))
        if where
    ]
    if not parts:
        parts = ["they differ at some budget"]
    return f"{start}: it {' and '.join(parts)} (joint {p_value(joint)})."


def tolerance(result: LabelBudget) -> str:
    """Return how near the plateau is near enough, as a share of its NLL."""
    return f"{100.0 * result.within:g} %"


def span(needed: LabelsNeeded) -> str:
    """Return the interval of the labels needed."""
    _, lo, hi = needed.n
    if not math.isfinite(lo):
        return "[no limit]"
    return f"[{round(lo):,}, {f'{round(hi):,}' if math.isfinite(hi) else 'no limit'}]"


def _count(n: float) -> str:
    return counted(round(n), "label")


def reading_sentence(result: LabelBudget, calibrator: str) -> str:
    """Say how the curve is read, with its last NLL and the base rate."""
    null = float(result.null_nll[-1])
    constant = float(result.constant_nll[result.row(calibrator), -1])
    nll = result.nll[result.row(calibrator), -1, -1]
    text = (
        f"NLL of {result.arms[-1]} with {result.labels[-1]:,.0f} labels, on average over panels: "
        f"{level(*nll)}. Base rate alone: {fixed(null, 3)}; with {result.labels[0]:,.0f} labels "
        f"{fixed(float(result.null_nll[0]), 3)}."
    )
    if abs(constant - null) > 0.001:
        text += f" A constant score through the same calibrator: {fixed(constant, 3)}."
    if not result.settled:
        low = f"the estimate is too low after {_splits(result)}"
        text += f" The labels needed are the upper end of their interval: {low}."
    return text


def paper_note() -> str:
    """Return the note that must accompany the paper's test."""
    return (
        f"The paper's joint test is {PAPER_NOTE}. Splits share their items, so its t grows with "
        "the number of splits whatever the votes say. In simulations it finds equal panels "
        "different more often than not. It is shown for comparison, and nothing rests on it."
    )


def again_sentence(unit: str) -> str:
    """Say how the recommended panel is made again, by budget or by share, and its comparison."""
    return (
        f"The recommended panel is chosen again on the labels of every {unit}: candidates are "
        "fitted and compared, and the weights of their average learned, on those alone. The best "
        f"few beside it are under {sentences.pipeline_name(*recommended.COMPARED)}."
    )


BUDGET_PANELS = (3, 5, 10)
FIRST_PANEL = 5
"""The panel drawn besides all judges by default."""


@dataclass(frozen=True, slots=True)
class BudgetView:
    """Calibrator, and panel besides all judges; None shows all."""

    calibrator: str | None = None
    panel: int | None = None


def joint_table(result: LabelBudget, calibrator: str) -> dict[str, Column]:
    """Return the joint tests of every panel: ours, and the paper's, which is invalid."""
    c = result.row(calibrator)
    return {
        "panel": text([versus(result, arm) for arm in result.arms[:-1]]),
        "joint p": numbers(result.joint_p[c], "p"),
        "paper's joint p (invalid)": numbers(result.paper_p[c], "p"),
        "paper's largest t (invalid)": _two_decimals(result.paper_t[c]),
        "paper's 95 % limit (invalid)": _two_decimals(result.paper_critical[c]),
    }


def _two_decimals(values: Floats) -> Column:
    return Column(values, "number", {i: fixed(value, 2) for i, value in enumerate(values)})


def level_columns(result: BudgetResult, c: int) -> dict[str, Column]:
    """Return the levels of all judges under one calibrator, and what they are held against."""
    nll = result.nll[c, -1]
    columns = {
        f"NLL, {result.arms[-1]}": levels(nll, of="nll"),
        "base rate": numbers(result.null_nll, of="null_nll"),
        "skill": numbers(1.0 - nll.value / result.null_nll, "share"),
    }
    if result.aggregator != recommended.AVERAGE:
        columns["constant score"] = numbers(result.constant_nll[c], of="constant_nll")
    return columns


def panel_columns(result: BudgetResult, c: int, panel: str | None) -> dict[str, Column]:
    """Return the levels of another panel, its differences from all judges and the verdicts."""
    if panel is None:
        return {}
    p = result.arms.index(panel)
    return {
        f"NLL, {panel}": levels(result.nll[c, p], of="nll"),
        "difference": differences(result.delta[c, p], of="delta"),
        "verdict": text([result.decided(c, p, i) for i in range(result.nll.shape[-1])]),
    }


def budget_table(result: LabelBudget, calibrator: str, panel: str | None) -> dict[str, Column]:
    """Return all judges and one panel at every budget, differences, and the price of labels."""
    c = result.row(calibrator)
    columns = {"labels": numbers(result.labels, "whole")}
    columns |= level_columns(result, c) | panel_columns(result, c, panel)
    if panel is not None:
        band = result.band[c, result.arms.index(panel)]
        columns["all rows together"] = ends(band, sign=True)
    gain = result.gain[c, -1, :-1]
    beyond = np.isfinite(gain.value) & (result.labels + NEXT > result.labels[-1])
    words = {int(b): f"{with_interval(*gain[b])} (extrapolated)" for b in np.flatnonzero(beyond)}
    return columns | {f"next {NEXT} buy": Column(gain, "estimate", words, "next_100_gain")}


def needed_table(result: LabelBudget) -> dict[str, Column]:
    """Return labels needed for the plateau and the target, by calibrator and panel."""
    near = f", {tolerance(result)} from the plateau"
    goals = [
        f"NLL {needed.goal:.3f}{near if needed.kind == 'plateau' else ''}"
        for needed in result.needed
    ]
    quoted = np.array([result.quoted(needed) for needed in result.needed])
    words = {row: _words(result, needed) for row, needed in enumerate(result.needed)}
    spans = {row: span(needed) for row, needed in enumerate(result.needed)}
    names = text([sentences.CALIBRATOR_NAMES[needed.calibrator] for needed in result.needed])
    calibrator = {} if result.aggregator == recommended.AVERAGE else {"calibrator": names}
    return calibrator | {
        "panel": text([needed.panel for needed in result.needed]),
        "to reach": text(goals),
        "labels": Column(quoted, "whole", words),
        "95 %": Column(np.array([needed.n.lo for needed in result.needed]), "whole", spans),
    }


def _words(result: LabelBudget, needed: LabelsNeeded) -> str:
    if not math.isfinite(needed.n.value):
        return "never, by the curve"
    if not math.isfinite(result.quoted(needed)):
        return "no limit shown"
    words = f"{round(result.quoted(needed)):,}"
    if needed.at_start and result.quoted(needed) == needed.n.value:
        return f"{words} or fewer"
    words = words if result.settled else f"up to {words}"
    return f"{words} (extrapolated)" if needed.extrapolated else words


_TICKS = tuple(m * 10**e for e in range(1, 7) for m in (1, 2, 5))
_NARROW = 1.25
_BEYOND = 0.08
_MISS = 0.05
"""Relative miss of the last level above which a fitted curve is not extrapolated."""


SECOND = style.Look("#2F7D5B", "#2F7D5B", "square", "dashdot")


def label_budget(result: LabelBudget, calibrator: str, panels: Sequence[str] = ()) -> go.Figure:
    """NLL against the number of labels: all judges and these panels (``top-5``).

    Extrapolation is shaded and dotted, and the user's number of labels is marked.
    """
    c, whole_panel = result.row(calibrator), len(result.panels) - 1
    last = float(result.labels[-1])
    beyond = np.geomspace(last, max(float(result.have), last) + NEXT, 30)
    figure = go.Figure()
    hover = "base rate of %{x:.0f} labels: %{y:.3f}"
    style.add_base_rate(figure, result.labels, result.null_nll, hover)
    for p in (*map(result.arms.index, panels), whole_panel):
        name, look = result.arms[p], style.ALL_JUDGES if p == whole_panel else look_of(result, p)
        what, listed = "%{x:.0f} labels", p == whole_panel
        add_line(figure, result.labels, result.nll[c, p], name, look, what, listed=listed)
        tail = result.fitted(c, p, beyond)
        end = float(result.nll.value[c, p, -1])
        # Only where the fitted curve continues from where the levels end.
        if np.isfinite(tail).all() and abs(float(tail[0]) - end) <= _MISS * end:
            faint = style.Look(look.fill, look.colour, "", "dot", 1.5)
            hover = f"{name}, extrapolated to %{{x:.0f}} labels: %{{y:.3f}}"
            more = "extrapolated" if listed else f"{name}: extrapolated"
            style.add_series(figure, beyond, tail, faint, more, hover, showlegend=listed)
            if p == whole_panel:
                style.shade(figure, beyond[0], beyond[-1], _BEYOND)
    mark = {"line": {"color": style.NEUTRAL, "width": 1, "dash": "dash"}, "showlegend": True}
    needed = result.needed_for(calibrator, result.arms[whole_panel])
    if needed is not None and np.isfinite(result.quoted(needed)):
        x = result.quoted(needed)
        figure.add_vline(x=x, name=f"near the plateau: {round(x):,}", **mark)
    if result.target is not None:
        figure.add_hline(y=result.target, name="target", **mark)
    mark["line"] = {"color": style.NEUTRAL, "width": 2}
    enough = "" if needed is None else _suffice(result, c, needed)
    figure.add_vline(x=result.have, name=f"you have {result.have:,}{enough}", **mark)
    style.laid_out(figure, x="labels the panel is fitted on", y="NLL (nats per item)")
    _log_axis(figure, np.append(result.labels, beyond))
    return figure


def look_of(result: LabelBudget, p: int) -> style.Look:
    """The look of a panel that is compared with all judges."""
    return style.CHOSEN if result.beside is None or p else SECOND


def add_line(
    figure: go.Figure,
    x: Floats,
    nll: Interval,
    name: str,
    look: style.Look,
    what: str,
    *,
    listed: bool,
) -> None:
    """Add a panel's scores (n,) with their band; ``what`` describes the x value in hover text.

    Only one band of a figure goes into the legend, or a phone has no room for the plot.
    """
    band = "95 % interval" if listed else f"{name}: 95 % interval"
    style.add_band(figure, x, nll, look.fill, name=band, showlegend=listed)
    style.add_series(figure, x, nll.value, look, name, f"{name}, {what}: %{{y:.3f}}")


def budget_difference(result: LabelBudget, calibrator: str, panel: str) -> go.Figure:
    """NLL of another panel less that of all judges, against the number of labels."""
    c, p = result.row(calibrator), result.arms.index(panel)
    figure, look = go.Figure(), look_of(result, p)
    labels = result.labels
    name = "95 % at all budgets together"
    style.add_band(figure, labels, result.band[c, p], look.fill, name=name, showlegend=True)
    name, hover = f"{panel}, with 95 % at each budget", f"{panel}, %{{x:.0f}} labels: %{{y:+.3f}}"
    style.add_series(figure, labels, result.delta[c, p], look, name, hover)
    figure.add_hline(y=0.0, line=style.DOTTED)
    style.laid_out(figure, x="labels the panel is fitted on", y="difference in NLL", height=320)
    _log_axis(figure, result.labels)
    return figure


def _log_axis(figure: go.Figure, values: Floats) -> None:
    low, high = float(values.min()), float(values.max())
    ticks = [tick for tick in _TICKS if low / _NARROW <= tick <= high * _NARROW] or [round(low)]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks])


def present(
    result: LabelBudget, spec: LabelBudgetSpec, view: BudgetView = BudgetView()
) -> list[blocks.Block]:
    """Present the curve of one calibrator, then the others if none was chosen."""
    first = view.calibrator or sentences.first_calibrator(result.calibrators)
    arms = _arms(result, view.panel)
    content = _curve(result, first, arms)
    for arm in arms:
        content += [blocks.Heading(versus(result, arm), 3), *_difference(result, first, arm)]
    if arms:
        content.append(blocks.Heading("Labels needed, and the test of all budgets together", 3))
    if result.needed:
        content.append(blocks.Table(needed_table(result), "Labels needed."))
    content += _joint(result, first)
    for calibrator in result.calibrators if view.calibrator is None else ():
        if calibrator != first:
            content.append(blocks.Heading(capital(sentences.CALIBRATED[calibrator]), 3))
            content += _curve(result, calibrator, arms, first=False)
            for arm in arms:
                content.append(blocks.Paragraph(joint_sentence(result, calibrator, arm)))
                content.append(_budgets_table(result, calibrator, arm))
            content += _joint(result, calibrator)
    return [*content, _method(result)]


def _arms(result: LabelBudget, panel: int | None) -> list[str]:
    """Return panels to compare with all judges: smaller ones, then the second aggregator's."""
    arms = list(result.arms[:-1])
    second = [] if result.beside is None else arms[:1]
    smaller = arms[len(second) :]
    if panel is not None:
        name = recommended.compared_name(panel, result.aggregator)
        smaller = [arm for arm in smaller if arm == name]
    return [*smaller, *second]


def _curve(
    result: LabelBudget, calibrator: str, arms: list[str], *, first: bool = True
) -> list[blocks.Block]:
    sentence = budget_sentence(result, calibrator)
    if not first:
        under = sentences.pipeline_name(result.aggregator, calibrator)
        sentence = f"Under {under}, {sentence[0].lower()}{sentence[1:]}"
    shows, drawn = "panels on more and more labels", _drawn(result, arms)
    content: list[blocks.Block] = [
        blocks.Answer(sentence),
        blocks.drawing(shows, label_budget, result, calibrator, drawn),
        blocks.note(reading_sentence(result, calibrator)),
        *blocks.paragraphs(next_sentence(result, calibrator), target_sentence(result, calibrator)),
    ]
    return content if arms else [*content, _budgets_table(result, calibrator, None)]


def _drawn(result: LabelBudget, arms: list[str]) -> list[str]:
    """Return one smaller panel, since all look alike, and the second aggregator's."""
    second = [arm for arm in arms if result.beside is not None and arm == result.arms[0]]
    smaller = [arm for arm in arms if arm not in second]
    first = recommended.compared_name(FIRST_PANEL, result.aggregator)
    chosen = [arm for arm in smaller if arm == first] or smaller
    return [*chosen[:1], *second]


def _difference(result: LabelBudget, calibrator: str, arm: str) -> list[blocks.Block]:
    return [
        blocks.Paragraph(joint_sentence(result, calibrator, arm)),
        blocks.drawing("the difference in NLL", budget_difference, result, calibrator, arm),
        _budgets_table(result, calibrator, arm),
    ]


def _budgets_table(result: LabelBudget, calibrator: str, arm: str | None) -> blocks.Table:
    return blocks.Table(budget_table(result, calibrator, arm), "Every budget.")


def _joint(result: LabelBudget, calibrator: str) -> list[blocks.Block]:
    """Return our test of every panel next to the paper's, once there are enough splits."""
    if result.n_splits < 2 or len(result.panels) < 2:
        return []
    return [
        blocks.Table(joint_table(result, calibrator), "The joint test, and the paper's (invalid)."),
        blocks.note(paper_note()),
    ]


def _method(result: LabelBudget) -> blocks.Method:
    again = "" if result.aggregator != recommended.AVERAGE else f" {again_sentence('budget')}"
    return blocks.Method(
        "In each split the same items are scored, whatever the budget. The other items are put in "
        "a random order, and a budget of n takes the first n: judges are ranked and weighted, and "
        "calibrators fitted, on those labels alone. Intervals are for new items and panels fitted "
        "on n labels. The band holds at all budgets together, and the joint p tests that there is "
        f"no difference at any of them. 'Next {NEXT} buy' reads a fitted curve a + b n^-c; its "
        f"interval covers the uncertainty of the scores, not of the form of the curve.{again}"
    )


def default_specs(votes: VoteMatrix, settings: Settings, pipeline: study.Pipeline) -> study.Specs:
    """Return the calibrators and panels that the page offers."""
    return (budget_spec(settings, pipeline.of_panel),)


def budget_spec(
    settings: Settings,
    aggregator: recommended.PanelAggregator,
    panel: int = FIRST_PANEL,
    beside: Aggregator | None = None,
) -> LabelBudgetSpec:
    """Return the spec with all offered panels, or one if each needs a fit."""
    return LabelBudgetSpec(
        settings=study.affordable_splits(settings, aggregator),
        aggregator=aggregator,
        calibrators=study.OFFERED,
        panels=(panel,)
        if aggregator != recommended.AVERAGE and cross_fits(aggregator)
        else BUDGET_PANELS,
        beside=beside,
    )


PRESENTATION = study.Presentation(LABEL_BUDGET, present, default_specs)
