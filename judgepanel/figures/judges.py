"""Judges side by side: coverage when votes arrive, accuracy when a panel is chosen.

Who errs together: the map of error correlations, and one judge among all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from judgepanel.arrays import Floats
from judgepanel.figures import style
from judgepanel.studies.understand.judge_table import JudgeTable

if TYPE_CHECKING:
    from judgepanel.studies.understand.judges import Judges


def coverage_strip(table: JudgeTable) -> go.Figure:
    """Share of items with a correct, incorrect or missing verdict: a bar per judge, by accuracy."""
    order = np.argsort(-np.nan_to_num(table.accuracy.value, nan=-1.0), kind="stable")
    names = [style.escaped(table.judges[j]) for j in order]
    x = np.arange(1, len(order) + 1)
    coverage = table.coverage[order]
    with np.errstate(invalid="ignore"):
        right = np.where(table.voted[order] > 0, table.accuracy.value[order], 0.0)
    figure = go.Figure()
    for share, name, colour, pattern in (
        (coverage * right, "correct", style.INCLUDE, ""),
        (coverage * (1 - right), "incorrect", style.CURATE_FILL, "/"),
        (1 - coverage, "missing", style.with_opacity(style.NEUTRAL, style.MISSING_OPACITY), ""),
    ):
        figure.add_bar(
            x=x,
            y=share,
            name=name,
            marker=style.hatched(colour, pattern),
            text=names,
            textposition="none",
            hovertemplate="%{text}<br>" + name + ": %{y:.1%}<extra></extra>",
        )
    judges, x_title = [table.judges[j] for j in order], "judges, most accurate first"
    return style.stacked(figure, judges, x=x_title, y="share of items", height=300)


def level_bars(levels: Sequence[tuple[float, int]], cut: float) -> go.Figure:
    """Number of cells of each grade, those above the ``cut`` in another colour."""
    figure = go.Figure()
    for name, colour, above in (("0", style.CURATE_FILL, False), ("1", style.INCLUDE, True)):
        shown = [(grade, n) for grade, n in levels if (grade > cut) == above]
        figure.add_bar(
            x=[grade for grade, _ in shown],
            y=[n for _, n in shown],
            name=f"counts as {name}",
            marker_color=colour,
            hovertemplate="%{x}: %{y:,}<extra></extra>",
        )
    figure.add_vline(x=cut, line=style.DOTTED)
    return style.laid_out(figure, x="grade", y="cells", height=210)


def kept_judges(
    table: JudgeTable, remaining: tuple[str, ...], set_aside: tuple[str, ...]
) -> go.Figure:
    """Accuracy of every judge with its interval; kept, left out and set aside look different."""
    order = np.argsort(-np.nan_to_num(table.accuracy.value, nan=-1.0), kind="stable")
    order = order[table.voted[order] > 0]
    judges, accuracy = [table.judges[j] for j in order], table.accuracy[order]
    chosen, aside = set(remaining), set(set_aside)
    figure = go.Figure()
    style.add_kinds(
        figure,
        np.array([0 if name in chosen else 2 if name in aside else 1 for name in judges]),
        (
            ("kept", style.spot(style.INCLUDE, "circle", 8)),
            ("left out", style.spot(style.CURATE_LINE, "circle-open", 8)),
            ("set aside", style.spot(style.NEUTRAL, "x", 8)),
        ),
        np.arange(1, len(order) + 1),
        accuracy,
        "%{text}<br>accuracy %{y:.1%} [%{customdata[0]:.1%}, %{customdata[1]:.1%}] on "
        "%{customdata[2]} items",
        names=judges,
        customdata=np.column_stack([accuracy.lo, accuracy.hi, table.voted[order]]),
    )
    figure.add_hline(y=0.5, line=style.DOTTED)
    style.laid_out(figure, x="judges, most accurate first", y="accuracy on labelled items")
    figure.update_yaxes(tickformat=".0%")
    style.rank_axis(figure, len(order), judges)
    return figure


NAMED_JUDGES = 30
_NAME_LENGTH = 18
_LEAST_RANGE = 0.5
_LEAST_SHARE = 0.05


def correlation_map(result: Judges, judge: str | None = None) -> go.Figure:
    """Error correlations of all pairs, ordered by cluster; ``judge`` is marked if it is on the map.

    Blue pairs err together, orange pairs apart; clusters are outlined. The diagonal and unknown
    pairs are blank.
    """
    judges = [result.judges[j] for j in result.order]
    joint, places = result.square(result.map_joint), np.arange(1, len(judges) + 1)
    correlation = np.where(joint > 0, result.square(result.map_correlation), np.nan)
    together = result.square(result.map_together) / max(result.n_rounds, 1)
    known = np.abs(correlation[np.isfinite(correlation)])
    reach = max(_LEAST_RANGE, float(known.max(initial=0.0)))
    names = [style.escaped(name, 40) for name in judges]
    text = [
        [
            f"{name}<br>{other}<br>"
            + ("no two items in common" if np.isnan(value) else f"error correlation {value:.2f}")
            + f"<br>{shared:,} items in common, one cluster in {share:.0%} of halves"
            for other, value, shared, share in zip(names, *rows, strict=True)
        ]
        for name, *rows in zip(names, correlation, joint, together, strict=True)
    ]
    figure = go.Figure(
        go.Heatmap(
            x=places,
            y=places,
            z=correlation,
            zmin=-reach,
            zmax=reach,
            colorscale=[
                (0.0, style.CURATE_LINE),
                (0.25, style.CURATE_FILL),
                (0.5, style.with_opacity(style.NEUTRAL, 0.05)),
                (1.0, style.INCLUDE),
            ],
            text=text,
            hovertemplate="%{text}<extra></extra>",
            hoverongaps=False,
            colorbar={
                # Above the map: beside it there is no room on a phone.
                "orientation": "h",
                "y": 1.01,
                "yanchor": "bottom",
                "title": {"text": "error correlation", "side": "top"},
                "thickness": 10,
                "outlinewidth": 0,
            },
        )
    )
    clusters = _clusters(result)
    for first, last, _ in clusters:
        low, high, line = first + 0.5, last + 1.5, {"color": style.NEUTRAL, "width": 2}
        figure.add_shape(type="rect", x0=low, x1=high, y0=low, y1=high, line=line)
    if judge in judges:
        for axis in ("x", "y"):
            _mark(figure, axis, judges.index(judge) + 1, len(judges))
    style.laid_out(figure, x="", y="", height=530)
    _set_ticks(figure, judges, clusters)
    return figure


def _clusters(result: Judges) -> list[tuple[int, int, int]]:
    """First and last position on the map, and number, of every cluster with at least two judges."""
    labels = result.cluster[result.order]
    clusters = []
    for label in range(1, result.n_clusters + 1):
        places = np.flatnonzero(labels == label)
        if len(places) > 1:
            clusters.append((int(places[0]), int(places[-1]), label))
    return clusters


def _mark(figure: go.Figure, axis: str, place: int, m: int) -> None:
    """Add a triangle at both ends of a judge's row or column, to not rely on colour alone."""
    ends, symbols = [0.0, m + 1.0], ["triangle-right", "triangle-left"]
    here: list[float] = [place, place]
    x, y = ends, here
    if axis == "x":
        x, y, symbols = here, ends, ["triangle-up", "triangle-down"]
    marker = {"symbol": symbols, "size": 9, "color": style.CURATE_LINE}
    figure.add_scatter(x=x, y=y, mode="markers", marker=marker, hoverinfo="skip", showlegend=False)


def _set_ticks(figure: go.Figure, judges: list[str], clusters: list[tuple[int, int, int]]) -> None:
    """Label judges if names fit, and clusters along the other side if numbers do not collide."""
    m = len(judges)
    wide = [cluster for cluster in clusters if cluster[1] - cluster[0] + 1 >= _LEAST_SHARE * m]
    middle = [(first + last) / 2 + 1 for first, last, _ in wide]
    numbers = [f"{label}" for _, _, label in wide]
    span = {"range": [0.0 - 0.3, m + 1.3], "showgrid": False, "constrain": "domain"}
    title = {"text": "cluster", "standoff": 14} if middle else None
    figure.update_xaxes(tickvals=middle, ticktext=numbers, tickangle=0, title=title, **span)
    if m <= NAMED_JUDGES:
        names = [style.escaped(name, _NAME_LENGTH) for name in judges]
        figure.update_yaxes(tickvals=list(range(1, m + 1)), ticktext=names, tickfont={"size": 10})
    else:
        figure.update_yaxes(tickvals=middle, ticktext=numbers, title="cluster" if middle else None)
    span["range"] = [m + 1.3, -0.3]
    figure.update_yaxes(**span)


def judge_scales(
    result: Judges, judge: str, names: Mapping[str, str] | None = None
) -> dict[str, Floats]:
    """Values (n_judges,) of all judges on every scale where this judge's is known, NaN if unknown.

    ``names`` are display names of aggregators.
    """
    called = names or {}
    scales = {"accuracy": result.accuracy.value, "ability": result.ability.value}
    scales |= {
        f"weight: {called.get(name, name.replace('_', ' '))}": weights
        for name, weights in zip(result.aggregators, result.weights, strict=True)
        if len(np.unique(weights[~result.set_aside])) > 1
    }
    scales |= {"errs with the rest": result.with_rest, "errs with its cluster": result.with_cluster}
    j = result.judges.index(judge)
    known = {
        name: np.where(result.set_aside & (values == 0), np.nan, values)
        for name, values in scales.items()
    }
    return {name: values for name, values in known.items() if np.isfinite(values[j])}


def judge_card(result: Judges, judge: str, names: Mapping[str, str] | None = None) -> go.Figure:
    """One judge among all others: each scale runs from its lowest to its highest judge.

    All judges are ticks; this one is a dot.
    """
    scales = judge_scales(result, judge, names)
    j = result.judges.index(judge)
    figure = go.Figure()
    rows = list(range(len(scales), 0, -1))
    places, hover = [], []
    line = {"color": style.with_opacity(style.NEUTRAL, 0.6), "width": 1}
    for row, (name, scale) in zip(rows, scales.items(), strict=True):
        own, values = scale[j], scale[np.isfinite(scale)]
        places.append(float(_placed(values, own)))
        rank = int(np.sum(values > own)) + 1
        hover.append(f"{style.escaped(name)}: {own:.3g}, rank {rank:,} of {len(values):,}")
        figure.add_scatter(
            x=_placed(values, values),
            y=np.full(len(values), row),
            mode="markers",
            marker={"symbol": "line-ns", "size": 12, "line": line},
            hovertemplate=f"{style.escaped(name)}: %{{text}}<extra></extra>",
            text=[f"{value:.3g}" for value in values],
            showlegend=False,
        )
    figure.add_scatter(
        x=places,
        y=rows,
        mode="markers+text",
        marker={"color": style.INCLUDE, "size": 12, "line": {"color": "#FFFFFF", "width": 1}},
        text=[f"{scale[j]:.2f}" for scale in scales.values()],
        textposition="top center",
        customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
    )
    style.laid_out(figure, x="", y="", height=30 + 38 * max(len(rows), 1))
    figure.update_xaxes(range=[-0.18, 1.2], showticklabels=False)
    labels = [style.escaped(name).replace(": ", ":<br>") for name in scales]
    span = [0.4, len(rows) + 0.7]
    figure.update_yaxes(tickvals=rows, ticktext=labels, range=span, showgrid=False)
    return figure


def _placed(values: Floats, some: Floats) -> Floats:
    """Values rescaled to [0, 1] between the lowest and the highest; .5 if all are equal."""
    low, high = float(values.min()), float(values.max())
    if high <= low:
        return np.full(np.shape(some), 0.5)
    return np.asarray((some - low) / (high - low))
