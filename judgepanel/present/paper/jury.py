"""Presentation of the cost of dependence between judges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from judgepanel.figures.style import (
    ALL_JUDGES,
    CHOSEN,
    DOTTED,
    NEUTRAL,
    Look,
    add_series,
    laid_out,
    rank_axis,
)
from judgepanel.present.blocks import Answer, Block, Method, Paragraph, Table, drawing
from judgepanel.present.study import Entry
from judgepanel.scoring.interval import Interval
from judgepanel.studies.paper.jury import JURY, PRIOR_VOTES, Jury, JurySpec
from judgepanel.words.sentences import CODING
from judgepanel.words.tables import Column, result_table
from judgepanel.words.text import interval, percent, sig, with_interval

FLOOR = 1e-4
"""Errors below this are written and drawn as this value."""
_HOVER = "{}, %{{x:.0f}} judges: %{{y:.2%}}"
_TICKS = (0.0001, 0.001, 0.01, 0.1, 0.5)


def jury_sentence(result: Jury) -> str:
    """Return the cost of dependence for the majority of all judges, and their effective number."""
    if result.n_judges == 1:
        return "There is only one judge: no jury to compare with."
    error = _share(result.majority[-1])
    alone = _share(result.independent[-1])
    text = (
        f"A majority of all {result.n_judges:,} errs on {error} of new items; independent judges "
        f"of the same accuracies would err on {alone}."
    )
    if result.gap[-1].above():
        text += f" Dependence costs {_share(result.gap[-1])} of the items."
    else:
        text += " No cost of dependence is shown."
    text += _worth(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _worth(result: Jury) -> str:
    n, lo, hi = result.effective[-1]
    if not np.isfinite(n):
        return ""
    ends = f" {interval(lo, hi, 2)}" if np.isfinite(lo) and np.isfinite(hi) else ""
    return f" By its majority the panel is worth {sig(n, 2)}{ends} independent judges."


def bound_sentence(result: Jury) -> str:
    """Compare the paper's bound with the observed error of weighted votes."""
    bound = float(result.jury_bound[-1])
    allowed = f"at most {percent(bound)}" if bound >= FLOOR else "under 0.01 %"
    text = (
        f"By the jury bound, the best weighting of {result.n_judges:,} independent judges errs on "
        f"{allowed}; the one-coin vote errs on {_share(result.one_coin[-1])}."
    )
    if result.one_coin[-1].above(bound):
        text += " The bound is right about independent judges, and these are not."
    return text


def _share(share: Interval) -> str:
    """Return a share of the items in per cent, with its interval."""
    if share.value >= 0.0 and share.below(FLOOR):
        return "under 0.01 %"
    number, _, rest = with_interval(*share.scaled(100.0, "points")).partition(" ")
    return f"{number} % {rest}"


def jury_table(result: Jury) -> dict[str, Column]:
    """Return errors, bounds and effective numbers by panel size; very small errors in words."""
    table = result_table(replace(result, gap=result.gap.where(result.k > 1)))
    for name in ("majority errs", "one-coin errs", "independent judges would", "dependence costs"):
        errors: Any = table[name].values
        tiny = np.flatnonzero((errors.value >= 0.0) & errors.below(FLOOR))
        table[name] = replace(table[name], words=dict.fromkeys(tiny.tolist(), "under 0.01 %"))
    return table


def jury_figure(result: Jury) -> go.Figure:
    """Draw observed errors and those under independence by panel size, on a log scale."""

    def above_floor(errors: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(errors >= FLOOR, errors, np.nan)

    figure = go.Figure()
    figure.add_hline(y=result.null_error, line=DOTTED)
    for name, errors, of_panel in (
        ("majority", result.majority, CHOSEN),
        ("one-coin", result.one_coin, ALL_JUDGES),
    ):
        visible = Interval(above_floor(errors.value), np.maximum(errors.lo, FLOOR), errors.hi)
        look = replace(of_panel, dash="solid", width=2.5, size=8)
        add_series(figure, result.k, visible, look, f"{name}, observed", _HOVER.format(name))
    for name, bound, dash, width in (
        ("majority, if independent", result.independent.value, "solid", 2.0),
        ("jury bound", result.jury_bound, "dash", 1.5),
        ("Hoeffding, majority", result.hoeffding_majority, "dashdot", 1.5),
    ):
        look = Look(NEUTRAL, NEUTRAL, "", dash, width)
        add_series(figure, result.k, above_floor(bound), look, name, _HOVER.format(name))
    laid_out(figure, x="judges, best first", y="share of wrong decisions")
    rank_axis(figure, int(result.k[-1]))
    figure.update_yaxes(
        type="log",
        tickvals=_TICKS,
        ticktext=[f"{100 * tick:g} %" for tick in _TICKS],
        range=[np.log10(FLOOR), np.log10(0.9)],
    )
    return figure


def present(result: Jury, spec: JurySpec) -> list[Block]:
    """Present observed errors by panel size, those of independent judges, and the bounds."""
    return [
        Answer(jury_sentence(result)),
        drawing("share of wrong decisions against the number of judges", jury_figure, result),
        Paragraph(bound_sentence(result)),
        Paragraph(
            "Errors below 0.01 % are not drawn; the dotted line is deciding without votes.",
            quiet=True,
        ),
        Table(jury_table(result)),
        Method(
            "Judges are ranked, and one-coin weights learned, on calibration items. Errors are "
            "those on the other items, and the accuracies that the theory is given are measured "
            f"there as well, pulled to the panel's mean by {PRIOR_VOTES:g} votes: what differs is "
            "how judges err together. The error of independent judges is exact, from the "
            "distribution of the number of right votes. The jury bound is half of exp(-sum C_k), "
            "C_k = -log(1 - (2p - 1)²)/2; Hoeffding's is exp(-E). 'Worth' is how many independent "
            "judges of the mean accuracy a majority would need to err as often."
        ),
    ]


ENTRY = Entry(JURY, present)
