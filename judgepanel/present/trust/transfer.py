"""Presentation of transfer: what panels fitted on easy, hard or other items are worth elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures import style
from judgepanel.kernels.calibration import Calibrator
from judgepanel.present import blocks
from judgepanel.present.decide.candidate_rows import absent_sentence, worst_absence
from judgepanel.present.study import Pipeline, Presentation, Specs, spec_under
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings, grouped_votes, prepare
from judgepanel.studies.panel.recommended import AVERAGE
from judgepanel.studies.slices import slices_of
from judgepanel.studies.trust.difficulty_transfer import (
    ABROAD,
    DIFFICULTY_TRANSFER,
    SOURCES,
    TARGETS,
    Cell,
    DifficultyTransfer,
    DifficultyTransferSpec,
)
from judgepanel.studies.trust.slice_transfer import (
    SLICE_TRANSFER,
    Outcome,
    SliceTransfer,
    SliceTransferSpec,
)
from judgepanel.votes import VoteMatrix
from judgepanel.words import text as txt
from judgepanel.words.sentences import with_coding
from judgepanel.words.tables import Column, differences, ends, levels, numbers, text

ALPHA = 0.05
CARRIED: tuple[Calibrator, ...] = ("beta", "platt")
"""Calibrators to transfer from easy to hard items, besides the recommended one."""
METHOD_NAMES = {"plain": "plain", "stratified": "stratified", "weighted": "importance-weighted"}
_METHODS = ("calibration", "constant score", "against plain", "effective labels")
"""Columns about one calibrator and how it is transferred."""
WAITING = "Not enough splits yet to say."
_GRID_ROW = 84
_NARROW = 0.1


@dataclass(frozen=True, slots=True)
class TransferView:
    """Calibrator and transfer method to show; None shows every calibrator."""

    calibrator: str | None = None
    method: str = "plain"


def abroad(result: DifficultyTransfer, calibrator: str, method: str = "plain") -> list[Cell]:
    """Return easy to hard and hard to easy, significant failures first, then larger losses."""
    cells = [result.cell(calibrator, method, SOURCES[s], TARGETS[t]) for s, t in ABROAD]
    return sorted(cells, key=lambda cell: (not fails(cell), -cell.delta.value))


def fails(cell: Cell) -> bool:
    """Whether a cell is shown to lose against as many labels of its target, after Holm."""
    return bool(cell.delta.value > 0.0) and cell.p_holm < ALPHA


def transfer_sentence(result: DifficultyTransfer, calibrator: str, method: str = "plain") -> str:
    """Say whether labels of easy or of hard items alone transfer to the others."""
    if not math.isfinite(result.n_labels):
        return result.warnings[-1]
    worst, other = abroad(result, calibrator, method)
    if not math.isfinite(worst.p_holm):
        return WAITING
    if fails(worst):
        answer = _failing(worst)
        if fails(other):
            answer += f" The reverse costs {_loss(other)}."
    else:
        answer = (
            "Labels of easy items alone, or of hard ones alone, are not shown to cost NLL on the "
            f"others. {txt.capital(worst.source)} to {worst.target}: {_loss(worst)}; "
            f"{other.source} to {other.target}: {_loss(other)}."
        )
        alone = [cell for cell in (worst, other) if cell.delta.above()]
        if alone:
            p = txt.p_value(min(cell.p_holm for cell in alone))
            answer += " Each interval is for one direction alone; corrected for testing both "
            answer += f"(Holm), {p}."
    return with_coding(answer, result.measures_coding)


def _failing(cell: Cell) -> str:
    base = f"base rate {txt.fixed(cell.null_nll, 3)}"
    if cell.nll.value > cell.null_nll:
        base = f"worse than the base rate's {txt.fixed(cell.null_nll, 3)}"
    return (
        f"Calibrated on {cell.source} items it fails on {cell.target} ones: NLL "
        f"{txt.level(*cell.nll)}, {base}. As many labels of {cell.target} items give "
        f"{txt.fixed(float(cell.nll.value - cell.delta.value), 3)}, a difference of {_loss(cell)}."
    )


def difficulty_sentence(result: DifficultyTransfer, calibrator: str) -> str:
    """Say whether easy items are predicted worse than hard ones; empty if they are not."""
    easy, hard = (result.cell(calibrator, "plain", "all", target) for target in TARGETS)
    if easy.nll.value <= hard.nll.value:
        return ""
    right = [txt.percent(float(cell.accuracy.value), 3) for cell in (easy, hard)]
    nll = [txt.fixed(float(cell.nll.value), 3) for cell in (easy, hard)]
    if result.by == "disagreement":
        means, what = "Easy means that the judges agree, not that they are right", "they agree on"
    else:
        means, what = "Items called easy are not easier for this panel", "called easy"
    return (
        f"{means}: on the items {what} the panel fitted on all items is "
        f"right {right[0]} of the time (NLL {nll[0]}), on the others {right[1]} (NLL {nll[1]})."
    )


def remedy_sentence(result: DifficultyTransfer, calibrator: str) -> str:
    """Return the effect of stratified and weighted calibrators where the plain one loses most."""
    worst = abroad(result, calibrator)[0]
    parts = []
    for method in result.methods[1:]:
        cell = result.cell(calibrator, method, worst.source, worst.target)
        if not math.isfinite(cell.gain.lo):
            return ""
        if not any(cell.gain):
            parts.append(f"{METHOD_NAMES[method]} calibration equals plain calibration")
            continue
        verdict = "changes nothing that can be shown"
        if cell.gain.below():
            verdict = "helps"
        elif cell.gain.above():
            verdict = "hurts"
        words = f"{METHOD_NAMES[method]} calibration {verdict}: "
        words += txt.with_interval(*cell.gain, sign=True)
        if method == "weighted":
            words += f", with {txt.percent(cell.effective)} of the labels effective"
        parts.append(words)
    return f"From {worst.source} to {worst.target}, {'; '.join(parts)}." if parts else ""


def transfer_table(result: DifficultyTransfer, calibrator: str) -> dict[str, Column]:
    """Return every cell under one calibrator."""
    frame = result.frame()
    rows = frame[frame["calibrator"] == calibrator]
    nll, accuracy, delta, gain = (
        values[result.calibrators.index(calibrator)].reshape(-1)
        for values in (result.nll, result.accuracy, result.delta, result.gain)
    )
    home = np.flatnonzero(rows["source"] == rows["target"]).tolist()
    average = result.aggregator == AVERAGE
    columns = {
        "labels of": text(rows["source"].tolist(), of="source"),
        "scored on": text(rows["target"].tolist(), of="target"),
        "calibration": text([METHOD_NAMES[method] for method in rows["method"]], of="method"),
        "NLL": levels(nll),
        "base rate": numbers(rows["null_nll"], of="null_nll"),
        "constant score": numbers(rows["constant_nll"], of="constant_nll"),
        "accuracy": levels(accuracy),
        "loss": differences(delta, dict.fromkeys(home, "at home"), of="delta"),
        "p, Holm": numbers(rows["p_holm"], "p", of="p_holm"),
        "against plain": Column(gain.where(rows["method"] != "plain"), "compared"),
        "effective labels": numbers(rows["effective"], "share", of="effective"),
    }
    return {name: column for name, column in columns.items() if not (average and name in _METHODS)}


def transfer_figure(result: DifficultyTransfer, calibrator: str, method: str) -> go.Figure:
    """Draw NLL from every source (row) to every target (column)."""
    figure = go.Figure()
    cells = {
        (s, t): result.cell(calibrator, method, source, target)
        for s, source in enumerate(SOURCES)
        for t, target in enumerate(TARGETS)
    }
    for (s, t), cell in cells.items():
        box = {"x0": t - 0.485, "x1": t + 0.485, "y0": s - 0.475, "y1": s + 0.475}
        fill = {"fillcolor": _colour(cell), "line": {"width": 0}, "layer": "below"}
        figure.add_shape(type="rect", **box, **fill)
    figure.add_scatter(
        x=[t for _, t in cells],
        y=[s for s, _ in cells],
        mode="markers",
        marker={"size": 40, "opacity": 0.0},
        text=[_cell_hover(cell) for cell in cells.values()],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )
    style.laid_out(figure, x="", y="", height=70 + _GRID_ROW * len(SOURCES))
    notes = [
        style.cell_text(t, s, _written(cell), _colour(cell), 11) for (s, t), cell in cells.items()
    ]
    figure.update_layout(annotations=notes, xaxis_title=None, yaxis_title=None)
    n, names = len(TARGETS), [f"on {name} items" for name in TARGETS]
    figure.update_xaxes(tickvals=list(range(n)), ticktext=names, range=[-0.5, n - 0.5], side="top")
    n, names = len(SOURCES), [f"{name} items<br>labelled" for name in SOURCES]
    figure.update_yaxes(
        tickvals=list(range(n)), ticktext=names, range=[n - 0.5, -0.5], showgrid=False
    )
    return figure


def _colour(cell: Cell) -> str:
    """Return a colour: deeper is better, orange is worse than the base rate of the labels."""
    skill = 1.0 - float(cell.nll.value) / cell.null_nll
    return (
        style.CURATE_FILL if skill < 0.0 else style.mixed(style.PALE, style.DEEP, min(skill, 1.0))
    )


def _written(cell: Cell) -> str:
    """Return the text of a cell."""
    lines = [f"<b>{cell.nll.value:.3f}</b>{_ends(cell.nll, _places(cell.nll))}"]
    if cell.source != cell.target and math.isfinite(cell.delta.lo):
        places = _places(cell.delta)
        value = txt.fixed(float(cell.delta.value), places, sign=True)
        lines.append(f"{value}{_ends(cell.delta, places, sign=True)}")
    return "<br>".join([*lines, f"base rate {cell.null_nll:.3f}"])


def _places(values: Interval) -> int:
    """Return the decimals: two, three for a narrow interval, which would look empty."""
    return 3 if values.hi - values.lo < _NARROW else 2


def _ends(values: Interval, places: int, *, sign: bool = False) -> str:
    if not (math.isfinite(values.lo) and math.isfinite(values.hi)):
        return ""
    lo, hi = (txt.fixed(float(end), places, sign=sign) for end in (values.lo, values.hi))
    return f" [{lo}, {hi}]"


def _cell_hover(cell: Cell) -> str:
    """Return the hover text of a cell."""
    words = (
        f"{cell.source} items labelled, scored on {cell.target} items<br>"
        f"NLL {cell.nll.value:.3f}{_ends(cell.nll, 3)}<br>"
        f"base rate of these labels: {cell.null_nll:.3f}<br>accuracy {cell.accuracy.value:.1%}"
    )
    if cell.source != cell.target:
        words += (
            f"<br>against as many labels of {cell.target} items: "
            f"{txt.fixed(float(cell.delta.value), 3, sign=True)}{_ends(cell.delta, 3, sign=True)}"
        )
    if cell.method == "weighted":
        words += f"<br>effective labels: {cell.effective:.0%}"
    return words


def _loss(cell: Cell) -> str:
    return txt.with_interval(*cell.delta, sign=True)


def present_transfer(
    result: DifficultyTransfer, spec: DifficultyTransferSpec, view: TransferView = TransferView()
) -> list[blocks.Block]:
    """Present the matrix of one calibrator, then the others if none was chosen."""
    if not math.isfinite(result.n_labels):
        return [blocks.Answer(result.warnings[-1]), _method(result)]

    def matrix(calibrator: str) -> list[blocks.Block]:
        shows = "NLL from the labels of easy, hard and all items to easy and to hard items"
        return [
            blocks.Answer(transfer_sentence(result, calibrator, view.method)),
            *blocks.paragraphs(
                difficulty_sentence(result, calibrator), remedy_sentence(result, calibrator)
            ),
            blocks.drawing(shows, transfer_figure, result, calibrator, view.method),
            blocks.note(_reading(result)),
            blocks.Table(transfer_table(result, calibrator), height=320),
        ]

    return [*blocks.by_calibrator(result.calibrators, view.calibrator, matrix), _method(result)]


def _reading(result: DifficultyTransfer) -> str:
    measure = (
        "disagreement of the votes" if result.by == "disagreement" else txt.plain(result.by, 60)
    )
    return (
        f"Easy: the {result.n_target[0]:,} items with {measure} up to "
        f"{txt.fixed(result.easy_to, 2)}. Hard: the {result.n_target[1]:,} with "
        f"{txt.fixed(result.hard_from, 2)} or more. Every panel is fitted on "
        f"{result.n_labels:,.0f} labels. In a cell: its NLL, its loss against as many labels of "
        "the items it is scored on, and the base rate of its labels. Deep blue is good, orange is "
        "worse than the base rate."
    )


def _method(result: DifficultyTransfer) -> blocks.Method:
    fitted = "judges are weighted and calibrators fitted"
    more = (
        " Importance weights come from a classifier that separates the two kinds of item by their "
        "votes; they are capped at 10 times their mean, and the effective number of labels says "
        "how many remain."
    )
    if result.aggregator == AVERAGE:
        fitted, more = "the recommended panel is chosen again", ""
    return blocks.Method(
        f"{result.n_splits} random splits (seed {result.seed}). No label decides which items are "
        f"easy. On one side of a split, {fitted} on equally many labels of easy, of hard, or of "
        "all items; the items of the other side are scored. The loss compares both panels on the "
        f"same items; its p-values are Holm's over both ways.{more}"
    )


def transfer_specs(votes: VoteMatrix, settings: Settings, pipeline: Pipeline) -> Specs:
    """Return the spec with the default pipeline's calibrator and those of the paper."""
    calibrators = tuple(dict.fromkeys((pipeline.calibrator, *CARRIED)))
    return (spec_under(DifficultyTransferSpec, settings, pipeline, calibrators=calibrators),)


_NAME = 60
_LABEL = 24
_SLICE_ROW = 34


def slice_sentence(result: SliceTransfer) -> str:
    """Name the slices that need their own labels."""
    if not result.slices:
        return " ".join(result.warnings[-1:]) or "There is no slice to leave out."
    worst = worst_slice(result)
    if not math.isfinite(float(result.p_holm[worst, 1])):
        return WAITING
    outcomes = [result.outcome(g) for g in range(len(result.slices))]
    name = txt.one_line(result.slices[worst])[:_NAME]
    loss = txt.with_interval(*result.band[worst, 1], sign=True)
    if outcomes[worst] == "fails":
        answer = (
            f"Without labels of the slice '{name}' it fails there: NLL "
            f"{txt.level(*result.nll[worst, 1])}, base rate "
            f"{txt.fixed(result.null_nll[worst, 1], 3)}. With as many labels of its own NLL is "
            f"{txt.fixed(result.nll.value[worst, 0], 3)} (loss {loss}). "
            f"{txt.capital(_counts(outcomes))}."
        )
    else:
        feature = txt.one_line(result.feature or "")[:_NAME]
        answer = (
            f"None of {txt.counted(len(outcomes), 'slice')} by {feature} is shown to need its own "
            f"labels; the largest loss is {loss}, on '{name}'. {txt.capital(_counts(outcomes))}."
        )
    return with_coding(answer, result.measures_coding)


def worst_slice(result: SliceTransfer) -> int:
    """Return the failing slice with the largest loss, or else the slice with the largest loss."""
    places = range(len(result.slices))
    failing = [g for g in places if result.outcome(g) == "fails"]
    return max(failing or places, key=lambda g: float(result.delta.value[g, 1]))


def _counts(outcomes: list[Outcome]) -> str:
    counts = (
        (outcomes.count("fails"), "fails", "fail"),
        (outcomes.count("holds"), "holds within 2 %", "hold within 2 %"),
        (outcomes.count("helps"), "gains", "gain"),
        (outcomes.count("undecided"), "is undecided", "are undecided"),
    )
    if len(outcomes) > 1 and len(set(outcomes)) == 1:
        (shared,) = (plural for n, _, plural in counts if n)
        return f"all {len(outcomes)} slices {shared}"
    parts = [f"{n} {singular if n == 1 else plural}" for n, singular, plural in counts if n]
    return f"of {txt.counted(len(outcomes), 'slice')} {txt.listed(parts)}"


def slice_table(result: SliceTransfer) -> dict[str, Column]:
    """Return every slice under its own labels and those from elsewhere."""
    return {
        "slice": text([txt.one_line(name)[:_NAME] for name in result.slices]),
        "items": numbers(result.n_slice, "whole"),
        "labels": numbers(result.labels[:, 0], "whole"),
        "NLL, own labels": levels(result.nll[:, 0], of="nll"),
        "NLL, from elsewhere": levels(result.nll[:, 1], of="nll"),
        "base rate": numbers(result.null_nll[:, 1], of="null_nll"),
        "loss": differences(result.delta[:, 1], of="delta"),
        "all slices together": ends(result.band[:, 1], sign=True),
        "p, Holm": numbers(result.p_holm[:, 1], "p", of="p_holm"),
        "outcome": text([result.outcome(g) for g in range(len(result.slices))]),
        "more labels": numbers(result.labels[:, 2], "whole", of="labels"),
        "NLL, more from elsewhere": levels(result.nll[:, 2], of="nll"),
    }


def slice_figure(result: SliceTransfer) -> go.Figure:
    """Draw the cost of labels from elsewhere, the largest loss first, with bands for all slices."""
    order = np.argsort(-result.delta.value[:, 1], kind="stable")
    band, n = result.band[order, 1], len(order)
    fails = np.array([result.outcome(int(g)) == "fails" for g in order], dtype=bool)
    figure = go.Figure()
    figure.add_vline(x=0.0, line=style.DOTTED)
    for name, chosen, look in (
        ("loss is shown", fails, style.Look(style.CURATE_FILL, style.CURATE_LINE, "diamond")),
        ("not shown", ~fails, style.Look(style.INCLUDE, style.INCLUDE, "circle")),
    ):
        rows = np.flatnonzero(chosen)
        if not len(rows):
            continue
        spots = replace(look, dash="", size=11)
        hover = [_slice_hover(result, int(g)) for g in order[rows]]
        style.add_series(figure, band[rows], rows, spots, name, "%{text}", text=hover)
    style.laid_out(figure, x="loss of NLL without own labels", y="", height=110 + _SLICE_ROW * n)
    labels, span = [style.escaped(result.slices[g], _LABEL) for g in order], [n - 0.4, -0.6]
    figure.update_yaxes(tickvals=list(range(n)), ticktext=labels, range=span, title=None)
    return figure


def _slice_hover(result: SliceTransfer, g: int) -> str:
    own, away, _ = result.nll.value[g]
    return (
        f"{style.escaped(result.slices[g])}, {result.n_slice[g]:,} items<br>"
        f"own labels: NLL {own:.3f}<br>as many from elsewhere: {away:.3f}<br>"
        f"base rate of those: {result.null_nll[g, 1]:.3f}"
    )


def present_slices(result: SliceTransfer, spec: SliceTransferSpec) -> list[blocks.Block]:
    """Present the cost of labels from elsewhere per slice; one sentence if there is no slice."""
    answer = blocks.Answer(slice_sentence(result))
    if not result.slices:
        return [answer]
    return [
        answer,
        blocks.drawing("what labels from elsewhere cost on every slice", slice_figure, result),
        blocks.note(
            "Intervals hold in all slices together. Right of 0 a slice needs labels of its own."
        ),
        blocks.Table(slice_table(result)),
        blocks.Method(
            f"{result.n_splits} random splits (seed {result.seed}). Part of a slice is scored by "
            "panels fitted on its other items, on as many labels of the other slices, and on the "
            "calibration share of all other slices. Groups with a scored item give no labels. A "
            "slice fails where the loss is shown after Holm's correction over the slices, and "
            "holds where it stays below 2 % of the NLL of its own labels."
        ),
    ]


def slice_specs(votes: VoteMatrix, settings: Settings, pipeline: Pipeline) -> Specs:
    """Return slices by the first feature that has several."""
    return (slice_spec(settings, pipeline, first_feature(votes, settings)),)


def slice_spec(settings: Settings, pipeline: Pipeline, feature: str | None) -> SliceTransferSpec:
    """Return slices by a feature, under the default pipeline."""
    spec: SliceTransferSpec = spec_under(SliceTransferSpec, settings, pipeline, feature=feature)
    return spec


def first_feature(votes: VoteMatrix, settings: Settings) -> str | None:
    """Return the feature that defines slices initially."""
    return slices_of(prepare(grouped_votes(votes, settings), settings), None, 4).feature


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence and its tone: ``curate`` for a failure, ``keep`` for none, else ``open``."""

    sentence: str
    tone: str


def worst_finding(
    transfer: DifficultyTransfer | None,
    calibrator: str,
    slices: SliceTransfer | None = None,
    recommendation: Recommendation | None = None,
) -> Finding:
    """Return the worst of the findings so far.

    That is the transfer, or the absence of judges of the recommended panel, shown to cost most, in
    nats.
    """
    losses = list[tuple[float, str]]()
    if transfer is not None:
        worst = abroad(transfer, calibrator)[0]
        if fails(worst):
            losses.append((float(worst.delta.value), transfer_sentence(transfer, calibrator)))
    if slices is not None and slices.slices:
        g = worst_slice(slices)
        if slices.outcome(g) == "fails":
            losses.append((float(slices.delta.value[g, 1]), slice_sentence(slices)))
    if recommendation is not None and recommendation.absence is not None:
        _, absent = worst_absence(recommendation)
        if absent.delta.above():
            losses.append((float(absent.delta.value), absent_sentence(recommendation)))
    if losses:
        coded = any(study.measures_coding for study in (transfer, slices) if study is not None)
        return Finding(max(losses)[1], "open" if coded else "curate")
    if transfer is not None:
        return Finding(transfer_sentence(transfer, calibrator), "open")
    if slices is not None and slices.slices:
        return Finding(slice_sentence(slices), "open")
    return Finding("Nothing that could be tried here says yet what would break it.", "open")


PRESENTATIONS = (
    Presentation(DIFFICULTY_TRANSFER, present_transfer, transfer_specs),
    Presentation(SLICE_TRANSFER, present_slices, slice_specs),
)
