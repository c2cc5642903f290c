"""Presentation of curators: does choosing judges pay?"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from judgepanel.figures.style import (
    ALL_JUDGES,
    CHOSEN,
    INCLUDE,
    NEUTRAL,
    add_base_rate,
    add_series,
    laid_out,
    stroke,
)
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing, paragraphs
from judgepanel.present.study import Presentation, under_honest_protocol
from judgepanel.scoring.interval import Interval
from judgepanel.studies.decide import curators
from judgepanel.words import text as txt
from judgepanel.words.sentences import AGGREGATOR_NAMES, CODING, SAME_PANEL, tie_words
from judgepanel.words.tables import Column, differences, levels, numbers, text

_NAMED = 3


def curators_sentence(result: curators.Curators) -> str:
    """Say whether any curator is shown to beat all judges, jointly over all curators."""
    text = _answer(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: curators.Curators) -> str:
    rivals = _rivals(result)
    if not rivals:
        return "No curator was compared with all judges."
    if result.n_judges == 1:
        return "There is only one judge, so there is nothing to choose."
    if result.n_splits < 2:
        return "Not enough splits yet to say."
    best = _best(rivals)
    if result.everyone.nll.lo >= result.null_nll and best.nll.lo >= result.null_nll:
        return (
            f"Neither all judges nor any chosen ones beat the base rate (NLL "
            f"{txt.fixed(result.null_nll, 3)}), so there is nothing to choose from."
        )
    change = f"{_keeps(best, result)} and changes NLL by {txt.with_interval(*best.band, sign=True)}"
    if best.verdict == "tie":
        change = f"is the {SAME_PANEL} in every split"
    if best.band.hi < -best.margin:
        return f"Choosing pays: {best.title} {change}, all curators taken together."
    worse = sum(row.band.lo > row.margin for row in rivals)
    rest = (
        f" {worse} of {txt.counted(len(rivals), 'curator')} are shown to cost NLL." if worse else ""
    )
    return (
        f"No curator is shown to beat {txt.all_judges(result.n_judges)}. The best of them, "
        f"{best.title}, {change}.{rest}"
    )


def _rivals(result: curators.Curators) -> list[curators.CuratorFigures]:
    """Return the curators with which all judges are compared."""
    return [row for row in result.deployable if row.curator not in ("all", curators.LOOKED_BEST)]


def _best(rivals: list[curators.CuratorFigures]) -> curators.CuratorFigures:
    return min(rivals, key=lambda row: float(row.nll.value))


def looked_best_sentence(result: curators.Curators) -> str:
    """Return the cost of using the most promising curator; empty if nothing was chosen."""
    row = result.named(curators.LOOKED_BEST)
    if row is None or not math.isfinite(row.optimism.value) or len(result.curators) < 3:
        return ""
    rivals = [r for r in result.curators[:-1] if r.looked_best_share > 0]
    often = max(rivals, key=lambda r: r.looked_best_share)
    return (
        f"{txt.capital(often.title)} looked best in {txt.percent(often.looked_best_share)} of the "
        f"splits. What looked best promised NLL {txt.fixed(row.seen, 3)} where it was chosen and "
        f"has {txt.level(*row.nll)} on new items: a selection bias of "
        f"{txt.signed(float(row.optimism.value))}."
    )


def selector_sentence(result: curators.Curators) -> str:
    """Describe the choices of the finite-calibration selector; empty if it did not take part."""
    row = result.selector
    if row is None:
        return ""
    return (
        "The finite-calibration selector (our reading of arXiv:2606.01034) took "
        f"{txt.sig(row.judges, 2)} judges on average, and a table of vote patterns in "
        f"{txt.percent(row.table_share)} of the splits. Such a table has {row.occupied:.0f} "
        f"occupied cells ({txt.sig(row.labels_a_cell, 2)} labels per cell); "
        f"{txt.percent(row.expected_new)} of new items were expected in cells never seen "
        f"(Good-Turing), {txt.percent(row.new)} were."
    )


def chosen_sentence(result: curators.Curators, curator: str) -> str:
    """Name the judges a curator chooses most often, and the stability of its panels over splits."""
    row = result.named(curator)
    if row is None:
        return ""
    share = result.shares(curator)
    order = np.argsort(-share, kind="stable")
    if row.size == result.n_judges:
        return f"{txt.capital(row.title)} keeps every judge in every split."
    always = int(np.count_nonzero(share == 1.0))
    never = int(np.count_nonzero(share == 0.0))
    names = [
        f"{txt.one_line(result.judges[j])} ({txt.percent(float(share[j]), 3)})"
        for j in order[:_NAMED]
    ]
    agree = f" Stability {row.stability:.2f}." if math.isfinite(row.stability) else ""
    return (
        f"{txt.capital(row.title)} chooses {always} of {txt.counted(result.n_judges, 'judge')} in "
        f"every split and {never} in none. Most often: {txt.listed(names)}.{agree}"
    )


def curators_table(result: curators.Curators) -> dict[str, Column]:
    """Return every curator, in the requested order."""
    rows = result.curators
    ties = {
        place: tie_words(row.size_lo, result.n_judges)
        for place, row in enumerate(rows)
        if row.verdict == "tie"
    }
    seen = np.array([row.seen for row in rows])
    shares = [
        np.nan if row.curator == curators.LOOKED_BEST else row.looked_best_share for row in rows
    ]
    return {
        "curator": text([row.title for row in rows]),
        "judges": numbers([row.size for row in rows], words=map(_size, rows)),
        "NLL where it chose": Column(
            seen, "number", dict.fromkeys(np.flatnonzero(np.isnan(seen)).tolist(), "n/a")
        ),
        "NLL on new items": levels([row.nll for row in rows], of="nll"),
        "selection bias": numbers([row.optimism.value for row in rows], "signed"),
        "skill": numbers([row.skill for row in rows], "share"),
        "against all judges": differences(
            [row.delta for row in rows], {**ties, 0: "reference"}, of="delta"
        ),
        "verdict": text([_verdict(row) for row in rows]),
        "stability": numbers([row.stability for row in rows]),
        "looked best in": numbers(shares, "share", of="looked_best_share"),
    }


def chosen_table(result: curators.Curators) -> dict[str, Column]:
    """Return how often every curator chose each judge; one row per judge, a column per curator."""
    names = [row.title for row in result.curators]
    columns = (numbers(shares, "share") for shares in result.chosen_share)
    return {"judge": text(result.judges), **dict(zip(names, columns, strict=True))}


def _keeps(row: curators.CuratorFigures, result: curators.Curators) -> str:
    return f"keeps {txt.sig(row.size, 2)} of {txt.counted(result.n_judges, 'judge')} on average"


def _size(row: curators.CuratorFigures) -> str:
    if row.size_lo == row.size_hi:
        return f"{row.size_lo}"
    return f"{txt.sig(row.size, 2)} ({row.size_lo}-{row.size_hi})"


def _verdict(row: curators.CuratorFigures) -> str:
    if row.curator == "all":
        return "reference"
    return row.verdict if row.deployable else "not deployable"


def curators_figure(result: curators.Curators) -> go.Figure:
    """Draw each curator's NLL of choice (none for the oracle) and on new items, the best last."""
    ranked = sorted(result.curators, key=lambda row: -row.nll.value)
    names = [row.title if row.deployable else f"{row.title} (not deployable)" for row in ranked]
    nll = Interval.stacked(row.nll for row in ranked)
    seen = [row.seen for row in ranked]
    figure = go.Figure()
    add_series(
        figure,
        [x for saw, value in zip(seen, nll.value, strict=True) for x in (saw, value, math.nan)],
        [name for name in names for _ in range(3)],
        stroke(NEUTRAL, width=2.0),
        "",
        "",
        hoverinfo="skip",
        showlegend=False,
    )
    chose, new = replace(CHOSEN, dash="", size=10), replace(ALL_JUDGES, dash="", size=10)
    add_series(figure, seen, names, chose, "where it chose", "%{y}<br>where it chose: %{x:.3f}")
    add_series(figure, nll, names, new, "on new items, 95 %", "%{y}<br>on new items: %{x:.3f}")
    ends, whole = [names[0], names[-1]], float(result.everyone.nll.value)
    look = stroke(INCLUDE, "dash", 1.5)
    add_series(figure, [whole, whole], ends, look, "all judges", "all judges: %{x:.3f}")
    add_base_rate(figure, [result.null_nll, result.null_nll], ends, "base rate: %{x:.3f}")
    laid_out(figure, x="NLL (nats per item)", y="", height=130 + 30 * len(names))
    figure.update_yaxes(categoryorder="array", categoryarray=names)
    return figure


def present(result: curators.Curators, spec: curators.CuratorsSpec) -> list[Block]:
    """Present all curators, and the judges that the best one chooses."""
    notes = [f"{txt.capital(row.title)}: {row.note}." for row in result.curators if row.note]
    rivals = _rivals(result)
    chosen = chosen_sentence(result, _best(rivals).curator) if rivals else ""
    shows = "NLL of every way of choosing, where it chose and on new items, against all judges"
    caption = "Share of the splits in which every curator chose each judge."
    return [
        Answer(curators_sentence(result)),
        *paragraphs(looked_best_sentence(result), selector_sentence(result)),
        drawing(shows, curators_figure, result),
        Table(curators_table(result)),
        *paragraphs(*notes, chosen),
        Table(chosen_table(result), caption, height=320),
        Method(_method(result)),
    ]


def _method(result: curators.Curators) -> str:
    text = (
        "Every curator chooses on the calibration items of a split, its panel is refitted there "
        "and compared with all judges on the other items. Selection bias is the NLL on new items "
        "minus the NLL where the panel was chosen. A constant score "
        f"through the same calibrator gives NLL {txt.fixed(result.constant_nll, 3)}."
    )
    if result.refit == result.aggregator:
        return text
    compared, refit = (AGGREGATOR_NAMES[name] for name in (result.aggregator, result.refit))
    return f"{text} Panels are compared under {compared} and refitted under {refit}."


_WAYS = "every way of choosing would need recommendations of its own"
_SPECS = under_honest_protocol(curators.CuratorsSpec)
PRESENTATION = Presentation(curators.CURATORS_STUDY, present, _SPECS, single=_WAYS)
