"""Presentation of the method grid: every aggregator with every calibrator, and the ties."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.figures.candidates import GridCells, method_grid
from judgepanel.figures.style import METRIC_NAMES
from judgepanel.present import blocks, study
from judgepanel.present.decide.recommend import decision_sentence
from judgepanel.studies.understand.method_grid import METHOD_GRID, MethodGrid, MethodGridSpec
from judgepanel.votes.errors import documentation
from judgepanel.words import sentences
from judgepanel.words.tables import Column, levels, numbers, text
from judgepanel.words.text import all_judges, capital, counted, fixed, level, listed, percent

_NAMED = 3
"""Number of calibrators that a list names; more are counted."""
_LABELS = {
    "cross_fitted": "Cross-fitted: aggregator and calibrator both use all calibration labels.",
    "nested": "Nested 70/30: 70 % of the calibration labels fit the aggregator, the rest the "
    "calibrator.",
}


@dataclass(frozen=True, slots=True)
class MethodGridView:
    """The metric shown in the heat map, and the recommendation, if known.

    Ties and table always use NLL.
    """

    metric: str = "nll"
    recommendation: Recommendation | None = None


def pair_name(aggregator: str, calibrator: str) -> str:
    """``uncalibrated one-coin`` or ``one-coin with temperature scaling``."""
    if calibrator == "none":
        return sentences.pipeline_name(aggregator, calibrator)
    return f"{sentences.AGGREGATOR_NAMES[aggregator]} with {sentences.CALIBRATED[calibrator]}"


def grid_sentence(result: MethodGrid) -> str:
    """Name the pair with the lowest NLL, the reference, and the number of tied pairs."""
    a, c = result.best
    best = pair_name(result.aggregators[a], result.calibrators[c])
    nll = result.nll[result.best]
    value, null = fixed(float(nll.value), 3), fixed(result.null_nll, 3)
    if result.n_splits < 2:
        text = f"{capital(best)} has the lowest NLL, {value} (base rate: {null}); one split says "
        text += "no more."
    else:
        if nll.below(result.null_nll):
            text = f"{capital(best)} has the lowest NLL, {level(*nll)} (base rate: {null})"
        else:
            text = f"Nothing here is shown to beat the base rate (NLL {null}). The lowest is {best}"
            text += f", {level(*nll)}"
        text += f". {capital(_ties(result))}." if result.tied.size > 1 else "."
    return sentences.with_coding(text, result.measures_coding)


def _ties(result: MethodGrid) -> str:
    tied, others = int(result.tied.sum()) - 1, result.tied.size - 1
    if tied == 0:
        return f"it is told apart from {'all ' * (others > 1)}{counted(others, 'other pair')}"
    if tied == others:
        who = f"none of the {others} other pairs" if tied > 1 else "the other one"
        return f"{who} is {'' if tied > 1 else 'not '}told apart from it"
    are = "is" if tied == 1 else "are"
    return f"{tied} of the other {others} pairs {are} not told apart from it"


def grid_decision(result: MethodGrid, recommendation: Recommendation | None) -> str:
    """Return the decision, and the rank of its main pipeline among the pairs; empty without one.

    A best pair that the recommendation does not consider is named, too.
    """
    if recommendation is None:
        return ""
    decision, main = decision_sentence(recommendation), recommendation.model.main
    best = result.aggregators[result.best[0]], result.calibrators[result.best[1]]
    if best not in {(row.aggregator, row.calibrator) for row in recommendation.candidates}:
        name = capital(pair_name(*best))
        decision += f" {name} is not among the candidates of the recommendation."
    if main.aggregator not in result.aggregators or main.calibrator not in result.calibrators:
        return decision
    cell = result.aggregators.index(main.aggregator), result.calibrators.index(main.calibrator)
    place = f"has NLL {level(*result.nll[cell])}"
    if cell == result.best:
        place = "has the lowest NLL"
    elif result.tied[cell]:
        place = "is not told apart from the lowest"
    name = capital(sentences.pipeline_name(main.aggregator, main.calibrator))
    return f"{decision} {name} on all judges {place} here."


def ties_sentence(result: MethodGrid) -> str:
    """Name the pairs tied with the lowest; empty if few or all are."""
    if result.n_splits < 2 or result.tied.all() or result.tied.sum() < 2:
        return ""
    ways: dict[str, list[str]] = {}
    for row in result.nll.value.min(axis=1).argsort(kind="stable"):
        if result.tied[row].any():
            name = sentences.AGGREGATOR_NAMES[result.aggregators[row]]
            ways.setdefault(_way(result, int(row)), []).append(name)
    parts = [f"{listed(names)}{way}" for way, names in ways.items()]
    return (
        f"Not told apart from the lowest: {'; '.join(parts)}. Here {result.tied.size} pairs are "
        "compared at once, so a gap has to be wider to count than between two panels alone, as on "
        "Recommended panel."
    )


def _way(result: MethodGrid, row: int) -> str:
    """Name the calibrators with which an aggregator is tied."""
    ways = [name for name in result.calibrators if name != "none"]
    tied = [
        name for name, in_tie in zip(result.calibrators, result.tied[row], strict=True) if in_tie
    ]
    used = [sentences.CALIBRATOR_NAMES[name] for name in ways if name in tied]
    others = [sentences.CALIBRATOR_NAMES[name] for name in ways if name not in tied]
    raw = "none" in tied
    if not used:
        return ", not calibrated" if ways else ""
    if not others:
        known = "none" in result.calibrators
        return (", calibrated or not" if raw else ", however calibrated") if known else ""
    if len(others) <= _NAMED and len(others) < len(used):
        text = f", calibrated by any but {listed(others, 'or')}"
    elif len(used) <= _NAMED:
        text = f", calibrated by {listed(used, 'or')}"
    else:
        text = f", calibrated in {len(used)} of {len(ways)} ways"
    return text + ", or not at all" * raw


def grid_choice_sentence(result: MethodGrid) -> str:
    """Return the NLL of choosing a cell without hindsight."""
    if result.n_splits < 2 or result.tied.size == 1:
        return ""
    a, c = divmod(int(result.chosen_share.argmax()), len(result.calibrators))
    often = pair_name(result.aggregators[a], result.calibrators[c])
    return (
        "The lowest of many looks better than it is. Choosing the pair by cross-validation on the "
        f"calibration rows alone gets NLL {level(*result.chosen_nll)} (base rate: "
        f"{fixed(result.null_nll, 3)}). It takes {often} most often, in "
        f"{percent(float(result.chosen_share[a, c]))} of the splits."
    )


def grid_table(result: MethodGrid) -> dict[str, Column]:
    """Return every cell, lowest NLL first."""
    order = np.argsort(result.nll.value, axis=None, kind="stable")
    rows, columns = np.divmod(order, len(result.calibrators))
    cells = rows, columns
    nll = result.nll[cells]
    calibrators = [
        sentences.calibrator_name(result.aggregators[a], result.calibrators[c])
        for a, c in zip(rows, columns, strict=True)
    ]
    return {
        "aggregator": text([sentences.AGGREGATOR_NAMES[result.aggregators[i]] for i in rows]),
        "calibrator": text(calibrators),
        "NLL": levels(nll),
        "skill": numbers(1.0 - nll.value / result.null_nll, "share"),
        "against the lowest": Column(result.delta[cells], "compared", {0: "lowest"}),
        "tied": text(["yes" if tied else "no" for tied in result.tied[cells]]),
        "chosen in": numbers(result.chosen_share[cells], "share", of="chosen_share"),
        "Brier": numbers(result.brier.value[cells]),
        "ECE": numbers(result.ece.value[cells]),
        "accuracy": numbers(result.accuracy.value[cells], "share"),
    }


def grid_cells(result: MethodGrid, metric: str = "nll") -> GridCells:
    """Return the cells of one metric (``nll``, ``brier``, ``ece``, ``accuracy``), lowest NLL first.

    The colour scale saturates at the base rate's NLL, so that one bad cell does not wash out the
    others.
    """
    order = np.argsort(result.nll.value.min(axis=1), kind="stable")
    score = getattr(result, metric)[order]
    worst, best = score.value.max(), score.value.min()
    if metric == "nll":
        worst = min(worst, max(result.null_nll, best))
    if metric == "accuracy":
        worst, best = best, worst
    width = best - worst
    shade = np.clip((score.value - worst) / width, 0.0, 1.0) if width else np.ones(score.shape)
    return GridCells(
        rows=tuple(sentences.AGGREGATOR_NAMES[result.aggregators[i]] for i in order),
        columns=tuple(sentences.CALIBRATOR_NAMES[name] for name in result.calibrators),
        metric=metric,
        score=score,
        tied=result.tied[order],
        best=(order.tolist().index(result.best[0]), result.best[1]),
        shade=shade,
        null=result.null_nll if metric == "nll" else None,
    )


def present(
    result: MethodGrid, spec: MethodGridSpec, view: MethodGridView = MethodGridView()
) -> list[blocks.Block]:
    """Present the heat map of one metric, the ties, and every cell in a table."""
    cells = grid_cells(result, view.metric)
    decision = grid_decision(result, view.recommendation)
    metric = METRIC_NAMES[view.metric]
    shows = f"{metric} of every aggregator with every calibrator, on all judges."
    return [
        blocks.Answer(grid_sentence(result)),
        blocks.Figure(partial(method_grid, cells), f"Figure: {shows}", narrow=cells),
        blocks.note(_reading(result, view.metric)),
        *blocks.paragraphs(decision, ties_sentence(result), grid_choice_sentence(result)),
        blocks.Table(grid_table(result), "Every cell, lowest NLL first.", height=320),
        _method(result),
    ]


def _reading(result: MethodGrid, metric: str) -> str:
    """Return the explanation of the colours."""
    if metric == "nll":
        return (
            f"NLL on {all_judges(result.n_judges)}, lower is better. The darkest cell is the "
            f"lowest; the palest are at the base rate's {fixed(result.null_nll, 3)} or above."
        )
    better = "higher" if metric == "accuracy" else "lower"
    return (
        f"{capital(METRIC_NAMES[metric])} on {all_judges(result.n_judges)}, {better} is better: "
        "the darkest cell is the best. The frames, the answer and the ties are those of the NLL."
    )


def _method(result: MethodGrid) -> blocks.Method:
    return blocks.Method(
        "In every random split all aggregators and calibrators are fitted on the calibration "
        f"items, and all figures are scores of the others. {_LABELS[result.form]} Calibrators see "
        "scores that do not know their own label: from left-out counts where the aggregator has a "
        "closed form, else from fits without the item's fold. A cell is not told apart from the "
        "lowest ('tied' in the table) when the simultaneous 95 % band of their difference "
        "contains 0. That does not make them equal: the band allows for every pair at once, and a "
        "comparison of two pipelines that was planned beforehand, as on Scope or Panel curve, can "
        f"show what it cannot. How each aggregator works: {documentation('aggregators')}."
    )


PRESENTATION = study.Presentation(METHOD_GRID, present)
