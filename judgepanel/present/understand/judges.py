"""Presentation of judges: which err together, what their grades tell, and how far they agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.arrays import Floats
from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures import dots, judges
from judgepanel.figures.style import (
    DOTTED,
    INCLUDE,
    NEUTRAL,
    Look,
    add_series,
    escaped,
    laid_out,
    with_opacity,
)
from judgepanel.present import blocks, study
from judgepanel.present.decide import candidate_rows, recommend
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import prepare
from judgepanel.studies.understand.agreement import AGREEMENT, MOST_DOUBTS, Agreement, AgreementSpec
from judgepanel.studies.understand.judge_table import GradeCurve, grade_curves
from judgepanel.studies.understand.judges import JUDGES, MAP_JUDGES, Judges, JudgesSpec
from judgepanel.votes import VoteMatrix
from judgepanel.words.sentences import AGGREGATOR_NAMES, with_coding
from judgepanel.words.tables import Column, levels, numbers, result_table, text
from judgepanel.words.text import counted, fixed, interval, level, one_line, plain, share_level, sig

GRADE_NOTE = (
    "Bands of distances are cut without labels; intervals (95 %, Wilson) take items as independent "
    "and are for one judge alone. Aggregators on grades weigh a vote by its band."
)
_FAINT = 0.5
_HOVER = (
    "%{customdata[0]:.3~g} to %{customdata[1]:.3~g} from the threshold"
    "<br>right %{y:.1%} [%{customdata[3]:.1%}, %{customdata[4]:.1%}] of %{customdata[2]} items"
)


def grade_sentence(curve: GradeCurve) -> str:
    """Compare the votes nearest to the threshold with those farthest from it."""
    judge, at = plain(curve.judge, 60), f"the threshold {sig(curve.threshold)}"
    if len(curve.voted) == 1:
        return (
            f"Grades of {judge} are all equally far from {at}, so they tell no more than its votes."
        )
    near, far = (share_level(*curve.accuracy[band]) for band in (0, -1))
    ends = _ends(curve)
    finding = "Grades tell more than votes" if curve.tells else "Grades are not shown to tell more"
    return (
        f"{finding}: {judge} is right on {near} of {counted(int(curve.voted[0]), 'item')} with a "
        f"grade within {ends[0][-1]} of {at}, and on {far} of "
        f"{counted(int(curve.voted[-1]), 'item')} with a grade {ends[-1][0]} or more from it."
    )


def _ends(curve: GradeCurve) -> list[tuple[str, ...]]:
    """Nearest and farthest distance of each band, with the digits that tell them apart."""
    return [
        _told_apart(*ends)
        for ends in zip(curve.nearest.tolist(), curve.farthest.tolist(), strict=True)
    ]


def _told_apart(near: float, far: float) -> tuple[str, ...]:
    for digits in range(3, 7):
        ends = sig(near, digits), sig(far, digits)
        if ends[0] != ends[1]:
            return ends
    return (sig(near),)


def grade_figure(curve: GradeCurve) -> go.Figure:
    """Draw the share of right votes by the distance of the grade, with intervals."""
    figure = go.Figure()
    _draw(figure, curve, curve.median, Look(INCLUDE, INCLUDE, "circle", "solid", 1.0), _HOVER)
    figure.add_hline(y=0.5, line=DOTTED)
    laid_out(figure, x="distance of the grade from the threshold", y="right votes", height=320)
    lowest = min(0.5, float(curve.accuracy.lo.min()))
    figure.update_yaxes(tickformat=".0%", range=[lowest - 0.02, 1.02])
    figure.update_xaxes(rangemode="tozero")
    return figure


def _draw(figure: go.Figure, curve: GradeCurve, x: Floats, look: Look, hover: str) -> None:
    """Add the share of right votes in each band, with thin intervals of the main curve."""
    right = curve.accuracy
    of_bands = [curve.nearest, curve.farthest, curve.voted, right.lo, right.hi]
    name, data = escaped(curve.judge), np.column_stack(of_bands)
    add_series(figure, x, right, look, name, hover, customdata=data, showlegend=False)
    figure.data[-1].error_y.update(thickness=1, width=0)


def grade_table(curve: GradeCurve) -> dict[str, Column]:
    """Return one row per band, nearest to the threshold first."""
    return {
        "distance": text([" to ".join(ends) for ends in _ends(curve)]),
        "right": levels(curve.accuracy),
        "items": numbers(curve.voted, "whole"),
    }


def grade_blocks(curves: Sequence[GradeCurve]) -> list[blocks.Block]:
    """Return what the grades of all judges tell; nothing without grades."""
    if not curves:
        return []
    sentence = grades_sentence(curves)
    shows = "right votes by distance"
    figure = blocks.drawing(f"{shows} of the grade. {sentence}", grades_figure, curves)
    if len(curves) == 1:
        shows = f"{shows} from the threshold. {sentence}"
        figure = blocks.drawing(shows, grade_figure, curves[0])
    return [
        blocks.Heading("What grades tell", 3),
        blocks.Paragraph(sentence),
        figure,
        blocks.note(GRADE_NOTE),
        blocks.Table(grades_table(curves), "Every judge with grades.", most=200, height=420),
    ]


def grades_sentence(curves: Sequence[GradeCurve]) -> str:
    """Count the judges whose grades tell more than their votes."""
    if len(curves) == 1:
        return grade_sentence(curves[0])
    n = sum(curve.tells for curve in curves)
    have = "has" if n == 1 else "have"
    return (
        f"Of {len(curves):,} judges with grades {n:,} {have} grades that tell more than votes: "
        "right more often, beyond both intervals, where the grade is farthest from the threshold "
        "than where it is nearest."
    )


def grades_figure(curves: Sequence[GradeCurve]) -> go.Figure:
    """Draw the curves of all judges against ranks of distance, and mark the most accurate."""
    figure = go.Figure()
    for curve in reversed(curves):
        first = curve is curves[0]
        colour = INCLUDE if first else with_opacity(NEUTRAL, _FAINT)
        look = Look(colour, colour, "circle", "solid", 2.0 if first else 1.0, 9 if first else 5)
        _draw(figure, curve, curve.nearer, look, f"{escaped(curve.judge)}<br>{_HOVER}")
        figure.data[-1].update(showlegend=first, error_y={"visible": first})
    figure.add_hline(y=0.5, line=DOTTED)
    laid_out(figure, x="votes nearer to the threshold", y="right votes", height=320)
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    return figure


def grades_table(curves: Sequence[GradeCurve]) -> dict[str, Column]:
    """Return one row per judge, most accurate first: the bands nearest and farthest."""
    near, far = (Interval.stacked(curve.accuracy[band] for curve in curves) for band in (0, -1))
    return {
        "judge": text([plain(curve.judge, 120) for curve in curves]),
        "threshold": numbers([curve.threshold for curve in curves]),
        "nearest up to": numbers([curve.farthest[0] for curve in curves]),
        "right, nearest": levels(near),
        "farthest from": numbers([curve.nearest[-1] for curve in curves]),
        "right, farthest": levels(far),
        "tells more than votes": text(["yes" if curve.tells else "" for curve in curves]),
    }


MAP_TITLE, TABLE_TITLE = "Map of all pairs", "All judges"
_FAMILIES_NAMED = 3


@dataclass(frozen=True, slots=True)
class JudgesView:
    """View options: the judge marked on the map, all columns or not, and the recommendation.

    ``curves`` are those of judges with grades.
    """

    judge: str | None = None
    every_column: bool = False
    recommendation: Recommendation | None = None
    curves: tuple[GradeCurve, ...] = ()


def judges_sentence(result: Judges) -> str:
    """Return the effective number of judges, and how the panel divides into clusters."""
    n = result.n_effective
    if n < 2:
        return "There is only one judge, so no other errs like it."
    if not math.isfinite(result.effective.value):
        return (
            f"How much {n:,} judges repeat each other cannot be said: no two of them voted on "
            "enough labelled items together."
        )
    worth = worth_text(result.effective)
    answer = f"{n:,} judges are worth about {worth} independent ones"
    if result.n_clusters == 0:
        return f"{answer}; no clusters stand out."
    if result.stable_clusters == 0:
        return f"{answer}; no cluster is stable."
    whole = counted(result.stable_clusters, "cluster")
    return (
        f"{answer}; {'they form' if n > 2 else 'both are in'} {whole} of judges that err together."
    )


def worth_text(estimate: Interval) -> str:
    """Return an effective number with its interval."""
    value, lo, hi = map(float, estimate)
    known = math.isfinite(lo) and math.isfinite(hi)
    return f"{sig(value, 2)} {interval(lo, hi)}" if known else sig(value, 2)


def worth_sentences(result: Judges) -> str:
    """Say what the effective number is based on, and what it does not imply."""
    if not math.isfinite(result.correlation.value):
        return ""
    rho, lo, hi = map(float, result.correlation)
    span = f" {interval(lo, hi)}" if math.isfinite(lo) else ""
    return (
        f"The errors of two judges correlate {fixed(rho, 2)}{span} on average. Counting a "
        "judge that always contradicts another as its copy, the panel has about "
        f"{worth_text(result.dimensions)} independent directions. Neither number says how accurate "
        "a judge is."
    )


def families_sentence(result: Judges) -> str:
    """Say whether families explain correlated errors; empty without families or clusters."""
    families = result.families
    if families is None or result.n_clusters == 0 or not math.isfinite(families.rand):
        return ""
    if families.rand >= 0.65:
        verdict = "The clusters are nearly the given families"
    elif families.rand >= 0.25:
        verdict = "The clusters follow the given families in part"
    else:
        verdict = "The clusters are not the given families"
    text = f"{verdict} (adjusted Rand index {fixed(families.rand, 2)}; 1 is the same, 0 chance)."
    if math.isfinite(families.within) and math.isfinite(families.between):
        text += (
            f" Two judges of one family correlate {fixed(families.within, 2)} on average, of two "
            f"families {fixed(families.between, 2)}."
        )
    return text


def cluster_table(result: Judges) -> dict[str, Column]:
    """Return one row per cluster: size, error correlation, stability, families."""
    labels = range(1, result.n_clusters + 1)
    members = [np.flatnonzero(result.cluster == label) for label in labels]
    accuracy = np.nan_to_num(result.accuracy.value, nan=-1.0)
    columns = {
        "cluster": numbers(labels, "whole"),
        "judges": numbers(result.cluster_sizes, "whole"),
        "error correlation within": numbers([result.with_cluster[m].mean() for m in members]),
        "with the rest": numbers([_mean(result.with_rest[m]) for m in members]),
        "together in halves": numbers(result.cluster_stability, "share"),
        "most accurate": text([one_line(result.judges[m[accuracy[m].argmax()]]) for m in members]),
    }
    if result.families is not None:
        families = [_composition([result.family[j] for j in m]) for m in members]
        columns["families"] = text(families)
    return columns


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _composition(families: list[str]) -> str:
    """Return the most common families of a cluster with their counts."""
    names, sizes = np.unique(np.array(families, dtype=object), return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    parts = [f"{one_line(names[i], 30) or 'not given'} {sizes[i]}" for i in order[:_FAMILIES_NAMED]]
    rest = int(sizes[order[_FAMILIES_NAMED:]].sum())
    return ", ".join(parts) + (f", others {rest}" if rest else "")


def judges_table(
    result: Judges, *, every_column: bool = False, recommendation: Recommendation | None = None
) -> dict[str, Column]:
    """Return every judge, most accurate first; columns without information are omitted."""
    order = np.argsort(-np.nan_to_num(result.accuracy.value, nan=-1.0), kind="stable")

    def words(values: Sequence[object]) -> Column:
        return text([plain(str(values[j]), 120) for j in order])

    def marks(values: NDArray[np.bool_]) -> Column:
        return text(["yes" if value else "" for value in values[order]])

    cluster = np.where(result.cluster > 0, result.cluster, np.nan)
    columns = {
        "judge": words(result.judges),
        **({} if recommendation is None else _decided(result, order, recommendation)),
        "family": words(result.family),
        "accuracy": levels(result.accuracy[order]),
        "of": numbers(result.voted[order], "whole", of="voted"),
        "cluster": numbers(cluster[order], "whole"),
        "errs with cluster": numbers(result.with_cluster[order], of="with_cluster"),
        "errs with rest": numbers(result.with_rest[order], of="with_rest"),
        "nearest": words(result.nearest),
        "errs with nearest": numbers(result.nearest_correlation[order], of="nearest_correlation"),
    }
    if every_column:
        columns |= {
            "right": numbers(result.correct[order], "whole", of="correct"),
            "coverage": numbers(result.coverage[order], "share"),
            "leans to label 1": numbers(result.leaning[order], "share", of="leaning"),
            "constant": marks(result.constant),
            "set aside": marks(result.set_aside),
            "cluster stability": numbers(result.stability[order], "share", of="stability"),
            "ability": levels(result.ability[order]),
            "discrimination": levels(result.discrimination[order]),
        }
        for name, weights in zip(result.aggregators, result.weights, strict=True):
            columns[f"weight: {AGGREGATOR_NAMES[name]}"] = numbers(weights[order])
    return {name: column for name, column in columns.items() if any(column.texts())}


def _decided(
    result: Judges, order: NDArray[np.int64], recommendation: Recommendation
) -> dict[str, Column]:
    """Return the recommendation's decision on each judge, and its vote's weight.

    Of an average, that is the weight in its heaviest pipeline, beside the weight of the pipelines
    that use the judge.
    """
    frame = candidate_rows.weights_frame(recommendation).set_index("judge")
    frame = frame.reindex([result.judges[j] for j in order])
    decided = {"decision": text(frame["decision"].fillna("leave out").tolist())}
    if not recommendation.averages:
        return decided | {"weight in the panel": numbers(frame["weight"])}
    return decided | {
        "weight in the main pipeline": numbers(frame["weight"]),
        "in the average": numbers(frame["share"], "share"),
    }


def present(
    result: Judges, spec: JudgesSpec, view: JudgesView = JudgesView()
) -> list[blocks.Block]:
    """Present the map of correlated errors, every judge, the clusters, and what grades tell."""
    cut = f" (here {fixed(result.cut, 2)})" if math.isfinite(result.cut) else ""
    large = len(result.order) >= MAP_JUDGES
    most = f" The map shows at most {MAP_JUDGES} judges." if large else ""
    recommendation = view.recommendation
    decision = "" if recommendation is None else recommend.decision_sentence(recommendation)
    table = judges_table(result, every_column=view.every_column, recommendation=recommendation)
    # Columns that others say as well: counts, and the weights of a judge.
    repeated = ("right", *(f"weight: {AGGREGATOR_NAMES[name]}" for name in result.aggregators))
    return [
        blocks.Answer(judges_sentence(result)),
        blocks.Heading(MAP_TITLE, 3),
        *_map(result, view.judge),
        blocks.Heading(TABLE_TITLE, 3),
        *blocks.paragraphs(decision),
        blocks.Table(table, most=200, height=385, hidden=repeated if view.every_column else ()),
        *_clusters(result),
        *grade_blocks(view.curves),
        blocks.Method(
            "Each pair of judges is compared on the labelled items both voted on: the correlation "
            "of being wrong (phi). Pairs with few items in common are shrunk towards the mean of "
            "all pairs, as far as chance explains their distance from it. The effective number is "
            "K / (1 + (K - 1) x mean correlation): as many uncorrelated judges would have an "
            "average error that varies as much. Items that are hard for everyone count as "
            "agreement, since more judges do not help there. Clusters come from average linkage on "
            f"1 - correlation, cut where near pairs and far pairs separate best{cut}. Intervals "
            f"and stability rest on {result.n_rounds} random halves of the labelled items.{most} "
            "Weights are fitted to all labelled items and all judges."
        ),
    ]


def _map(result: Judges, judge: str | None) -> list[blocks.Block]:
    if len(result.order) < 2:
        none = "No two judges voted on enough labelled items together to draw a map."
        return blocks.paragraphs(none, worth_sentences(result))
    alt = "Figure: error correlations of all pairs of judges, cluster by cluster."
    return [
        blocks.Figure(partial(judges.correlation_map, result, judge), alt),
        blocks.note(
            "Blue: the two err on the same items. Orange: one errs where the other does not. "
            "Outlined: clusters. Blank: a judge with itself, or too few items in common."
        ),
        *blocks.paragraphs(worth_sentences(result)),
    ]


def _clusters(result: Judges) -> list[blocks.Block]:
    if not result.n_clusters:
        return []
    families = families_sentence(result)
    content: list[blocks.Block] = [
        blocks.Heading("Clusters against given families" if families else "Clusters", 3),
        *blocks.paragraphs(families),
    ]
    if result.families is None:
        advice = "Give a judge table with a column 'family' to compare families with clusters."
        content.append(blocks.note(advice))
    return [*content, blocks.Table(cluster_table(result))]


def view(votes: VoteMatrix, spec: JudgesSpec) -> JudgesView:
    """Return the curves of judges' grades."""
    return JudgesView(curves=grade_curves(prepare(votes, spec.settings)))


MOST_DRAWN = 25
_NAME = 40


def agreement_sentence(result: Agreement) -> str:
    """Return the agreement of the judges with each other, and with the labels."""
    parts = []
    if np.isfinite(result.alpha.value):
        parts.append(f"Krippendorff's alpha of the judges is {level(*result.alpha)}")
    known = np.isfinite(result.kappa.value)
    if known.any():
        place = int(np.nanargmax(result.kappa.value))
        name, best = one_line(result.judge[place], _NAME), fixed(result.kappa.value[place], 2)
        parts.append(f"{name} has the highest kappa with the labels, {best}")
    if not parts:
        return "Agreement beyond chance is not defined: all votes or labels are equal."
    sentence = f"{'; '.join(parts)}."
    return with_coding(sentence, result.measures_coding)


def doubt_sentence(result: Agreement) -> str:
    """Say how many labels the panel contradicts; empty if none."""
    if not result.doubt:
        return ""
    many = "at least " if len(result.doubt) == MOST_DOUBTS else ""
    return (
        f"The panel, fitted to other labels, contradicts {many}"
        f"{counted(len(result.doubt), 'label')}. Look at the first ones: labels that good judges "
        "contradict together are often wrong."
    )


def doubts_table(result: Agreement) -> dict[str, Column]:
    """Return the labels that the panel contradicts, the clearest first."""
    return {
        "item": text([one_line(name, _NAME) for name in result.doubt]),
        "label": numbers(result.doubt_label, "whole"),
        "panel": numbers(result.doubt_probability, "share"),
        "votes for 1": numbers(result.doubt_share, "share"),
    }


def present_agreement(result: Agreement, spec: AgreementSpec) -> list[blocks.Block]:
    """Present agreement of all judges, of every judge, and the labels in doubt."""
    # Highest kappa first, judges without one last.
    order = np.argsort(-result.kappa.value, kind="stable")
    names = [one_line(result.judge[j], _NAME) for j in order]
    table = result_table(result, order) | {"judge": text(names)}
    drawn = order[:MOST_DRAWN]
    marks = {"kappa": result.kappa[drawn], "AC1": result.ac1[drawn]}
    caption = "Votes by label, and agreement beyond chance; highest kappa first."
    shows = "kappa and AC1 of every judge with the labels, with intervals"
    axis = "agreement beyond chance"
    content: list[blocks.Block] = [
        blocks.Answer(agreement_sentence(result)),
        blocks.drawing(shows, dots.groups_figure, names[:MOST_DRAWN], marks, axis, percent=False),
        blocks.Table(table, caption, most=200, height=320),
    ]
    if result.doubt:
        doubts = "Panel: the probability of label 1, fitted to the labels of other items."
        content += [
            blocks.Heading("Labels in doubt", 3),
            *blocks.paragraphs(doubt_sentence(result)),
            blocks.Table(doubts_table(result), doubts, height=320),
        ]
    return [
        *content,
        blocks.note(
            "Kappa falls where nearly all labels are equal, however good a judge is. Read it "
            "beside the share of label 1, and beside AC1, which does not."
        ),
        blocks.Method(
            "Cohen's kappa subtracts the agreement of raters who vote 1 as often as these, "
            "independently; Gwet's AC1 that of guesses. Krippendorff's alpha compares all judges "
            "on all labelled items, missing votes left out. Intervals are from leaving out one "
            "block of items after the other, items of one group together. Labels in doubt are "
            "those on the other side of one half from an average of regressions on the votes, "
            "fitted to the labels of other items."
        ),
    ]


PRESENTATIONS = (
    study.Presentation(JUDGES, present, view=view),
    study.Presentation(AGREEMENT, present_agreement),
)
