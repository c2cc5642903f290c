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
    Look,
    add_base_rate,
    add_series,
    laid_out,
)
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing, paragraphs
from judgepanel.present.study import Entry, Pipeline
from judgepanel.scoring.interval import Interval
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.curators import (
    CURATORS_STUDY,
    LOOKED_BEST,
    CuratorFigures,
    Curators,
    CuratorsSpec,
)
from judgepanel.votes import VoteMatrix
from judgepanel.words.sentences import AGGREGATOR_NAMES, CODING, SAME_PANEL, tie_words
from judgepanel.words.tables import Column, differences, levels, numbers, text
from judgepanel.words.text import (
    all_judges,
    capital,
    counted,
    fixed,
    level,
    listed,
    one_line,
    percent,
    sig,
    signed,
    with_interval,
)

_NAMED = 3


def curators_sentence(result: Curators) -> str:
    """Say whether any curator is shown to beat all judges, jointly over all curators."""
    text = _answer(result)
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: Curators) -> str:
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
            f"{fixed(result.null_nll, 3)}), so there is nothing to choose from."
        )
    return _best_of(result, rivals, best)


def _rivals(result: Curators) -> list[CuratorFigures]:
    """Return the curators with which all judges are compared."""
    return [row for row in result.deployable if row.curator not in ("all", LOOKED_BEST)]


def _best(rivals: list[CuratorFigures]) -> CuratorFigures:
    return min(rivals, key=lambda row: float(row.nll.value))


def _best_of(result: Curators, rivals: list[CuratorFigures], best: CuratorFigures) -> str:
    """Return the best curator's effect on NLL, and how many others increase it."""
    change = f"{_keeps(best, result)} and changes NLL by {with_interval(*best.band, sign=True)}"
    if best.verdict == "tie":
        change = f"is the {SAME_PANEL} in every split"
    if best.band.hi < -best.margin:
        return f"Choosing pays: {best.title} {change}, all curators taken together."
    worse = sum(row.band.lo > row.margin for row in rivals)
    rest = f" {worse} of {counted(len(rivals), 'curator')} are shown to cost NLL." if worse else ""
    return (
        f"No curator is shown to beat {all_judges(result.n_judges)}. The best of them, "
        f"{best.title}, {change}.{rest}"
    )


def looked_best_sentence(result: Curators) -> str:
    """Return the cost of using the most promising curator; empty if nothing was chosen."""
    row = result.named(LOOKED_BEST)
    if row is None or not math.isfinite(row.optimism.value) or len(result.curators) < 3:
        return ""
    rivals = [r for r in result.curators[:-1] if r.looked_best_share > 0]
    often = max(rivals, key=lambda r: r.looked_best_share)
    return (
        f"{capital(often.title)} looked best in {percent(often.looked_best_share)} of the splits. "
        f"What looked best promised NLL {fixed(row.seen, 3)} where it was chosen and has "
        f"{level(*row.nll)} on new items: a selection bias of {signed(float(row.optimism.value))}."
    )


def selector_sentence(result: Curators) -> str:
    """Describe the choices of the finite-calibration selector; empty if it did not take part."""
    row = result.selector
    if row is None:
        return ""
    return (
        f"The finite-calibration selector (our reading of arXiv:2606.01034) took "
        f"{sig(row.judges, 2)} judges on average, and a table of vote patterns in "
        f"{percent(row.table_share)} of the splits. Such a table has {row.occupied:.0f} occupied "
        f"cells ({sig(row.labels_a_cell, 2)} labels per cell); {percent(row.expected_new)} of new "
        f"items were expected in cells never seen (Good-Turing), {percent(row.new)} were."
    )


def chosen_sentence(result: Curators, curator: str) -> str:
    """Name the judges a curator chooses most often, and the stability of its panels over splits."""
    row = result.named(curator)
    if row is None:
        return ""
    share = result.shares(curator)
    order = np.argsort(-share, kind="stable")
    if row.size == result.n_judges:
        return f"{capital(row.title)} keeps every judge in every split."
    always = int(np.count_nonzero(share == 1.0))
    never = int(np.count_nonzero(share == 0.0))
    names = [
        f"{one_line(result.judges[j])} ({percent(float(share[j]), 3)})" for j in order[:_NAMED]
    ]
    agree = f" Stability {row.stability:.2f}." if math.isfinite(row.stability) else ""
    return (
        f"{capital(row.title)} chooses {always} of {counted(result.n_judges, 'judge')} in every "
        f"split and {never} in none. Most often: {listed(names)}.{agree}"
    )


def curators_table(result: Curators) -> dict[str, Column]:
    """Return every curator, in the requested order."""
    rows = result.curators
    ties = {
        place: tie_words(row.size_lo, result.n_judges)
        for place, row in enumerate(rows)
        if row.verdict == "tie"
    }
    seen = np.array([row.seen for row in rows])
    shares = [np.nan if row.curator == LOOKED_BEST else row.looked_best_share for row in rows]
    return {
        "curator": text([row.title for row in rows]),
        "judges": Column(
            np.array([row.size for row in rows]), "number", dict(enumerate(map(_size, rows)))
        ),
        "NLL where it chose": Column(
            seen, "number", dict.fromkeys(np.flatnonzero(np.isnan(seen)).tolist(), "n/a")
        ),
        "NLL on new items": levels(Interval.stacked(row.nll for row in rows), of="nll"),
        "selection bias": numbers([row.optimism.value for row in rows], "signed"),
        "skill": numbers([row.skill for row in rows], "share"),
        "against all judges": differences(
            Interval.stacked(row.delta for row in rows), {**ties, 0: "reference"}, of="delta"
        ),
        "verdict": text([_verdict(row) for row in rows]),
        "stability": numbers([row.stability for row in rows]),
        "looked best in": numbers(shares, "share", of="looked_best_share"),
    }


def chosen_table(result: Curators) -> dict[str, Column]:
    """Return how often every curator chose each judge; one row per judge, a column per curator."""
    names = [row.title for row in result.curators]
    columns = (numbers(shares, "share") for shares in result.chosen_share)
    return {"judge": text(result.judges), **dict(zip(names, columns, strict=True))}


def _keeps(row: CuratorFigures, result: Curators) -> str:
    return f"keeps {sig(row.size, 2)} of {counted(result.n_judges, 'judge')} on average"


def _size(row: CuratorFigures) -> str:
    if row.size_lo == row.size_hi:
        return f"{row.size_lo}"
    return f"{sig(row.size, 2)} ({row.size_lo}-{row.size_hi})"


def _verdict(row: CuratorFigures) -> str:
    if row.curator == "all":
        return "reference"
    return row.verdict if row.deployable else "not deployable"


def curators_figure(result: Curators) -> go.Figure:
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
        Look(NEUTRAL, NEUTRAL, width=2.0),
        "",
        "",
        hoverinfo="skip",
        showlegend=False,
    )
    chose, new = replace(CHOSEN, dash="", size=10), replace(ALL_JUDGES, dash="", size=10)
    add_series(figure, seen, names, chose, "where it chose", "%{y}<br>where it chose: %{x:.3f}")
    add_series(figure, nll, names, new, "on new items, 95 %", "%{y}<br>on new items: %{x:.3f}")
    ends, everyone = [names[0], names[-1]], float(result.everyone.nll.value)
    look = Look(INCLUDE, INCLUDE, "", "dash", 1.5)
    add_series(figure, [everyone, everyone], ends, look, "all judges", "all judges: %{x:.3f}")
    add_base_rate(figure, [result.null_nll, result.null_nll], ends, "base rate: %{x:.3f}")
    laid_out(figure, x="NLL (nats per item)", y="", height=130 + 30 * len(names))
    figure.update_yaxes(categoryorder="array", categoryarray=names)
    return figure


def present(result: Curators, spec: CuratorsSpec) -> list[Block]:
    """Present all curators, and the judges that the best one chooses."""
    notes = [f"{capital(row.title)}: {row.note}." for row in result.curators if row.note]
    rivals = _rivals(result)
    chosen = chosen_sentence(result, _best(rivals).curator) if rivals else ""
    return [
        Answer(curators_sentence(result)),
        *paragraphs(looked_best_sentence(result), selector_sentence(result)),
        drawing(
            "NLL of every way of choosing, where it chose and on new items, against all judges",
            curators_figure,
            result,
        ),
        Table(curators_table(result)),
        *paragraphs(*notes, chosen),
        Table(
            chosen_table(result),
            "Share of the splits in which every curator chose each judge.",
            height=320,
        ),
        Method(_method(result)),
    ]


def _method(result: Curators) -> str:
    text = (
        "Every curator chooses on the calibration items of a split, its panel is refitted there "
        "and compared with all judges on the other items. Selection bias is the NLL on new items "
        "minus the NLL where the panel was chosen. A constant score "
        f"through the same calibrator gives NLL {fixed(result.constant_nll, 3)}."
    )
    if result.refit == result.aggregator:
        return text
    compared, refit = (AGGREGATOR_NAMES[name] for name in (result.aggregator, result.refit))
    return f"{text} Panels are compared under {compared} and refitted under {refit}."


def default_specs(
    votes: VoteMatrix, settings: Settings, pipeline: Pipeline
) -> tuple[CuratorsSpec, ...]:
    """Return curators under the paper's default; none under its protocol."""
    return (CuratorsSpec(settings=settings),) if settings.protocol == "honest" else ()


ENTRY = Entry(
    CURATORS_STUDY,
    present,
    default_specs,
    single="every way of choosing would need recommendations of its own",
)
