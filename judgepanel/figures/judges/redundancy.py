"""Who errs together: the error-correlation map, and one judge among all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import (
    CURATE_FILL,
    CURATE_LINE,
    INCLUDE,
    NEUTRAL,
    escaped,
    laid_out,
    with_opacity,
)
from judgepanel.studies.judges.judges_result import Judges

Floats = NDArray[np.float64]

NAMED_JUDGES = 30
_NAME_LENGTH = 18
_LEAST_RANGE = 0.5
_LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationMap:
    """What the map draws, m judges in map order.

    ``value`` (m, m), NaN on the diagonal and where a pair is unknown; ``joint`` (m, m) items both
    voted on; ``together`` (m, m) share of halves in one cluster; ``bounds`` first and last
    position and number of every cluster of two judges or more; ``chosen`` the position of the
    judge looked at, or None; ``reach`` the largest correlation either way.
    """

    names: tuple[str, ...]
    value: Floats
    joint: NDArray[np.int64]
    together: Floats
    bounds: tuple[tuple[int, int, int], ...]
    chosen: int | None
    reach: float


def prepare_correlation_map(result: Judges, judge: str | None = None) -> CorrelationMap:
    """The map of a result; ``judge`` is marked where it is on the map."""
    names = tuple(result.judges[j] for j in result.order)
    joint = result.square(result.map_joint)
    value = np.where(joint > 0, result.square(result.map_correlation), np.nan)
    labels = result.cluster[result.order]
    bounds = []
    for label in range(1, result.n_clusters + 1):
        places = np.flatnonzero(labels == label)
        if len(places) > 1:
            bounds.append((int(places[0]), int(places[-1]), label))
    known = np.abs(value[np.isfinite(value)])
    return CorrelationMap(
        names=names,
        value=value,
        joint=joint,
        together=result.square(result.map_together) / max(result.n_rounds, 1),
        bounds=tuple(bounds),
        chosen=names.index(judge) if judge in names else None,
        reach=max(_LEAST_RANGE, float(known.max()) if known.size else 0.0),
    )


def plot_correlation_map(drawn: CorrelationMap) -> go.Figure:
    """Blue pairs err together, orange ones apart; clusters are outlined."""
    m = len(drawn.names)
    places = np.arange(1, m + 1)
    names = [escaped(name, 40) for name in drawn.names]
    text = [
        [
            f"{name}<br>{other}<br>"
            + ("no two items in common" if np.isnan(value) else f"error correlation {value:.2f}")
            + f"<br>{joint:,} items in common, one cluster in {share:.0%} of halves"
            for other, value, joint, share in zip(names, row, shared, shares, strict=True)
        ]
        for name, row, shared, shares in zip(
            names, drawn.value, drawn.joint, drawn.together, strict=True
        )
    ]
    figure = go.Figure(
        go.Heatmap(
            x=places,
            y=places,
            z=drawn.value,
            zmin=-drawn.reach,
            zmax=drawn.reach,
            colorscale=[
                (0.0, CURATE_LINE),
                (0.25, CURATE_FILL),
                (0.5, with_opacity(NEUTRAL, 0.05)),
                (1.0, INCLUDE),
            ],
            text=text,
            hovertemplate="%{text}<extra></extra>",
            hoverongaps=False,
            colorbar={
                "title": {"text": "error correlation", "side": "right"},
                "thickness": 10,
                "outlinewidth": 0,
            },
        )
    )
    for first, last, _ in drawn.bounds:
        figure.add_shape(
            type="rect",
            x0=first + 0.5,
            x1=last + 1.5,
            y0=first + 0.5,
            y1=last + 1.5,
            line={"color": NEUTRAL, "width": 2},
        )
    if drawn.chosen is not None:
        for axis in ("x", "y"):
            _mark(figure, axis, drawn.chosen + 1, m)
    laid_out(figure, x="", y="", height=520)
    _set_ticks(figure, drawn)
    return figure


def correlation_map(result: Judges, judge: str | None = None) -> go.Figure:
    """Error correlations of all pairs, cluster by cluster."""
    return plot_correlation_map(prepare_correlation_map(result, judge))


def _mark(figure: go.Figure, axis: str, place: int, m: int) -> None:
    """A triangle at both ends of a judge's row or column, so that it is no colour alone."""
    ends = [0.0, m + 1.0]
    figure.add_scatter(
        x=[place, place] if axis == "x" else ends,
        y=ends if axis == "x" else [place, place],
        mode="markers",
        marker={
            "symbol": ["triangle-up", "triangle-down"]
            if axis == "x"
            else ["triangle-right", "triangle-left"],
            "size": 9,
            "color": CURATE_LINE,
        },
        hoverinfo="skip",
        showlegend=False,
    )


def _set_ticks(figure: go.Figure, drawn: CorrelationMap) -> None:
    """Names where they fit, cluster numbers along the other side where they do not collide."""
    m = len(drawn.names)
    wide = [bound for bound in drawn.bounds if bound[1] - bound[0] + 1 >= _LEAST_SHARE * m]
    middle = [(first + last) / 2 + 1 for first, last, _ in wide]
    numbers = [f"{label}" for _, _, label in wide]
    span = {"range": [0.0 - 0.3, m + 1.3], "showgrid": False, "constrain": "domain"}
    title = "cluster" if middle else None
    figure.update_xaxes(tickvals=middle, ticktext=numbers, tickangle=0, title=title, **span)
    if m <= NAMED_JUDGES:
        names = [escaped(name, _NAME_LENGTH) for name in drawn.names]
        figure.update_yaxes(tickvals=list(range(1, m + 1)), ticktext=names, tickfont={"size": 10})
    else:
        figure.update_yaxes(tickvals=middle, ticktext=numbers, title="cluster" if middle else None)
    span["range"] = [m + 1.3, -0.3]
    figure.update_yaxes(**span)


@dataclass(frozen=True, slots=True, eq=False)
class JudgeCard:
    """One judge among n others on each of several scales.

    ``scales`` names; ``values`` one array (n_judges,) a scale, without those unknown; ``own`` the
    judge's value on each; ``rank`` its place, 1 the highest.
    """

    judge: str
    scales: tuple[str, ...]
    values: tuple[Floats, ...]
    own: tuple[float, ...]
    rank: tuple[int, ...]


def prepare_judge_card(
    result: Judges, judge: str, names: dict[str, str] | None = None
) -> JudgeCard:
    """Where a judge stands: accuracy, ability, weights, correlation with the others.

    ``names`` of aggregators as people call them.
    """
    j = result.judges.index(judge)
    called = names or {}
    scales = [("accuracy", result.accuracy), ("ability", result.ability[0])]
    scales += [
        (f"weight: {called.get(name, name.replace('_', ' '))}", weights)
        for name, weights in zip(result.aggregators, result.weights, strict=True)
        if len(np.unique(weights[~result.set_aside])) > 1
    ]
    scales += [
        ("errs with the rest", result.with_rest),
        ("errs with its cluster", result.with_cluster),
    ]
    displayed = [
        (name, np.where(result.set_aside & (values == 0), np.nan, values))
        for name, values in scales
    ]
    displayed = [(name, values) for name, values in displayed if np.isfinite(values[j])]
    return JudgeCard(
        judge=judge,
        scales=tuple(name for name, _ in displayed),
        values=tuple(values[np.isfinite(values)] for _, values in displayed),
        own=tuple(float(values[j]) for _, values in displayed),
        rank=tuple(int(np.sum(values > values[j])) + 1 for _, values in displayed),
    )


def plot_judge_card(card: JudgeCard) -> go.Figure:
    """Each scale from its lowest to its highest judge; all judges as ticks, this one as a dot."""
    figure = go.Figure()
    rows = list(range(len(card.scales), 0, -1))
    for row, name, values in zip(rows, card.scales, card.values, strict=True):
        figure.add_scatter(
            x=_placed(values, values),
            y=np.full(len(values), row),
            mode="markers",
            marker={
                "symbol": "line-ns",
                "size": 12,
                "line": {"color": with_opacity(NEUTRAL, 0.6), "width": 1},
            },
            hovertemplate=f"{escaped(name)}: %{{text}}<extra></extra>",
            text=[f"{value:.3g}" for value in values],
            showlegend=False,
        )
    own = [
        float(_placed(values, np.array([value]))[0])
        for values, value in zip(card.values, card.own, strict=True)
    ]
    figure.add_scatter(
        x=own,
        y=rows,
        mode="markers+text",
        marker={"color": INCLUDE, "size": 12, "line": {"color": "#FFFFFF", "width": 1}},
        text=[f"{value:.2f}" for value in card.own],
        textposition="top center",
        customdata=[
            f"{escaped(name)}: {value:.3g}, rank {rank:,} of {len(values):,}"
            for name, value, rank, values in zip(
                card.scales, card.own, card.rank, card.values, strict=True
            )
        ],
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
    )
    laid_out(figure, x="", y="", height=30 + 38 * max(len(rows), 1))
    figure.update_xaxes(range=[-0.08, 1.2], showticklabels=False)
    figure.update_yaxes(
        tickvals=rows,
        ticktext=[escaped(name).replace(": ", ":<br>") for name in card.scales],
        range=[0.4, len(rows) + 0.7],
        showgrid=False,
    )
    return figure


def judge_card(result: Judges, judge: str, names: dict[str, str] | None = None) -> go.Figure:
    """One judge among all others."""
    return plot_judge_card(prepare_judge_card(result, judge, names))


def _placed(values: Floats, some: Floats) -> Floats:
    """Values on a scale from 0, the lowest of all, to 1, the highest; .5 where all are alike."""
    low, high = float(values.min()), float(values.max())
    if high <= low:
        return np.full(len(some), 0.5)
    return np.asarray((some - low) / (high - low))
