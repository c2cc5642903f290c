"""Curators: the NLL where each chose against the NLL on untouched data, and whom it chose."""

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
)
from judgepanel.studies.panel.curators_result import Curators

Floats = NDArray[np.float64]

MOST_BARS = 40
_ROW = 30


@dataclass(frozen=True, slots=True, eq=False)
class CuratorRows:
    """One row per curator, best on new items last: ``seen`` (n,) where it chose (NaN for the
    oracle),
    ``nll`` with ``lo`` and ``hi`` on new items; ``everyone`` is all judges' NLL, ``null`` the
    base rate's.
    """

    names: tuple[str, ...]
    seen: Floats
    nll: Floats
    lo: Floats
    hi: Floats
    everyone: float
    null: float


@dataclass(frozen=True, slots=True, eq=False)
class ChosenShares:
    """Judges a curator chose most often, last first: ``share`` (n,) of the splits; ``left`` more
    are not drawn.
    """

    names: tuple[str, ...]
    share: Floats
    left: int


def prepare_curators(result: Curators) -> CuratorRows:
    """Curators by their NLL on new items, the highest first."""
    ranked = sorted(result.curators, key=lambda curator: -curator.nll)
    return CuratorRows(
        names=tuple(
            candidate.title if candidate.deployable else f"{candidate.title} (not deployable)"
            for candidate in ranked
        ),
        seen=np.array([candidate.seen for candidate in ranked]),
        nll=np.array([candidate.nll for candidate in ranked]),
        lo=np.array([candidate.nll_lo for candidate in ranked]),
        hi=np.array([candidate.nll_hi for candidate in ranked]),
        everyone=result.everyone.nll,
        null=result.null_nll,
    )


def plot_curators(rows: CuratorRows) -> go.Figure:
    """A dumbbell a curator: what it saw, and what it got."""
    figure = go.Figure()
    gaps_x = np.stack([rows.seen, rows.nll, np.full_like(rows.nll, np.nan)], axis=1).ravel()
    gaps_y = [name for name in rows.names for _ in range(3)]
    figure.add_scatter(
        x=_drawn(gaps_x),
        y=gaps_y,
        mode="lines",
        line={"color": NEUTRAL, "width": 2},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_scatter(
        x=_drawn(rows.seen),
        y=list(rows.names),
        mode="markers",
        marker={
            "color": CURATE_FILL,
            "symbol": "diamond",
            "size": 10,
            "line": {"color": CURATE_LINE, "width": 1},
        },
        name="where it chose",
        hovertemplate="%{y}<br>where it chose: %{x:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=rows.nll,
        y=list(rows.names),
        mode="markers",
        marker={"color": INCLUDE, "size": 10},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": np.nan_to_num(rows.hi - rows.nll),
            "arrayminus": np.nan_to_num(rows.nll - rows.lo),
            "color": INCLUDE,
            "thickness": 1.5,
            "width": 4,
        },
        name="on new items, 95 %",
        hovertemplate="%{y}<br>on new items: %{x:.3f}<extra></extra>",
    )
    for value, name, colour, dash in (
        (rows.everyone, "all judges", INCLUDE, "dash"),
        (rows.null, "base rate", NEUTRAL, "dot"),
    ):
        figure.add_scatter(
            x=[value, value],
            y=[rows.names[0], rows.names[-1]],
            mode="lines",
            line={"color": colour, "width": 1.5, "dash": dash},
            name=name,
            hovertemplate=f"{name}: %{{x:.3f}}<extra></extra>",
        )
    laid_out(figure, x="NLL (nats per item)", y="", height=130 + _ROW * len(rows.names))
    figure.update_yaxes(categoryorder="array", categoryarray=list(rows.names))
    return figure


def curators(result: Curators) -> go.Figure:
    """NLL where each curator chose, and on untouched data."""
    return plot_curators(prepare_curators(result))


def prepare_chosen(result: Curators, curator: str, most: int = MOST_BARS) -> ChosenShares:
    """The judges that a curator chose most often, ``most`` at the most; ties by name."""
    share = result.shares(curator)
    order = np.argsort(-share, kind="stable")
    order = order[share[order] > 0.0]
    drawn = order[:most][::-1]
    return ChosenShares(
        names=tuple(escaped(result.judges[j], 40) for j in drawn),
        share=share[drawn],
        left=len(order) - len(drawn),
    )


def plot_chosen(shares: ChosenShares) -> go.Figure:
    """One bar per judge."""
    figure = go.Figure()
    # Names may repeat once they are cut, so bars stand at numbers.
    figure.add_bar(
        x=shares.share,
        y=list(range(len(shares.names))),
        orientation="h",
        marker={"color": INCLUDE},
        text=list(shares.names),
        textposition="none",
        hovertemplate="%{text}<br>chosen in %{x:.0%} of the splits<extra></extra>",
    )
    more = f" ({shares.left} more are chosen less often)" if shares.left else ""
    laid_out(
        figure,
        x=f"chosen in this share of the splits{more}",
        y="",
        height=110 + 20 * len(shares.names),
    )
    figure.update_layout(showlegend=False, bargap=0.25)
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    figure.update_yaxes(
        tickvals=list(range(len(shares.names))), ticktext=list(shares.names), showgrid=False
    )
    return figure


def chosen_judges(result: Curators, curator: str) -> go.Figure:
    """How often each judge was chosen over the splits."""
    return plot_chosen(prepare_chosen(result, curator))


def _drawn(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
