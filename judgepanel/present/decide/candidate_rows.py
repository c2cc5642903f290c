"""Candidates of a recommendation: names, how they work, tables, and the figure of the rivals.

Losses of a panel when judges are absent, in words and as a table.

The judges of a recommendation in one list consistent with the decision.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from judgepanel.decision import absence, recommend
from judgepanel.decision.recommend_result import CandidateFigures, Recommendation
from judgepanel.decision.statuses import JudgeStatus, reasons_of
from judgepanel.figures import candidates, style
from judgepanel.kernels.aggregation import Graded
from judgepanel.present.blocks import Table
from judgepanel.scoring.interval import Interval
from judgepanel.studies.panel.recommended import ALL_JUDGES, AVERAGE, LEAD
from judgepanel.studies.understand.judge_table import judge_table
from judgepanel.votes import VoteMatrix
from judgepanel.votes.errors import quote_value
from judgepanel.words import text as txt
from judgepanel.words.sentences import (
    AGGREGATOR_NAMES,
    CALIBRATOR_NAMES,
    calibrator_name,
    pipeline_name,
)
from judgepanel.words.tables import Column, differences, ends, levels, numbers, text

_AVERAGED = "average of pipelines"
MOST_ROWS = 12
"""Rows of the figure; the table has all candidates."""
_BY_CHANCE = (
    "so one near chance hardly counts. One below chance counts for the label that it votes against"
)
_TOGETHER = (
    "weighs all judges in one regression, so copies share their weight. One that is mostly "
    "wrong counts for the label that it votes against"
)
_BOUNDED = (
    "weighs all judges in one regression, so copies share their weight. It turns no judge's "
    "vote around unless the labels show it to be below chance"
)
_WAYS = {
    "majority": "counts every judge alike",
    "accuracy_weighted": "weighs a judge by its accuracy",
    "log_odds": f"weighs a judge by its log-odds of being right, {_BY_CHANCE}",
    "one_coin": f"weighs a judge by its log-odds of being right, {_BY_CHANCE}",
    "dawid_skene": "learns how often a judge errs on either label from how judges agree",
    "dawid_skene_semi": "learns how often a judge errs on either label from labels and agreement",
    "stacking": _TOGETHER,
    "joint": _TOGETHER,
    "stacking_monotone": _BOUNDED,
    "joint_monotone": _BOUNDED,
    "one_coin_graded": "weighs a vote by how often the judge is right when its grade is as far "
    f"from the threshold, {_BY_CHANCE}",
    "joint_graded": "weighs all judges, and how far their grades are from the threshold, in one "
    "regression, so copies share their weight and one that is mostly wrong counts for the label "
    "that it votes against",
}


def candidate_name(candidate: CandidateFigures) -> str:
    """Return a candidate's judges and pipeline, for use within a sentence."""
    if candidate.panel == AVERAGE:
        return f"the {_AVERAGED}"
    pipeline = pipeline_name(candidate.aggregator, candidate.calibrator)
    if candidate.panel == ALL_JUDGES:
        return f"{txt.all_judges(candidate.k)} with {pipeline}"
    if candidate.panel.startswith("top"):  # The name contains the number.
        return f"{candidate.panel} with {pipeline}"
    return f"{candidate.panel} ({txt.counted(candidate.k, 'judge')}) with {pipeline}"


def same_panel(result: Recommendation, row: CandidateFigures) -> bool:
    """Whether a candidate equals the recommended one, or is its average's only pipeline."""
    only = () if result.averages or result.instead_of else (result.members[0].name,)
    return row.name in (result.recommended.name, *only)


def rivals_figure(result: Recommendation) -> go.Figure:
    """Draw NLL out of sample with intervals: the recommended panel, then its rivals, best first."""
    best = result.recommended
    alone = not (result.averages or result.instead_of)
    first = result.members[0] if alone else best
    nll = best.nll if result.instead_of else result.nll
    top = candidates.ForestRow(f"Recommended: {_row_name(first)}", nll, "recommended", _size(first))
    rows = [_forest_row(result, row) for row in rivals(result)]
    return candidates.forest([top, *rows], result.null_nll)


def rivals(result: Recommendation) -> list[CandidateFigures]:
    """Return the candidates to compare with the recommended panel, lowest NLL first.

    They are the one chosen instead, the runner-up, all judges, fewer judges, the average and the
    paper's default, followed by the best of each panel and aggregator.
    """
    listed = sorted(result.candidates, key=lambda row: float(row.nll.value))
    first = (
        result.chosen,
        result.runner_up,
        result.best(all_judges=True),
        result.best(all_judges=False),
        result.candidates[-1],
        result.reference,
    )
    best_of_each = [
        next(row for row in listed if getattr(row, part) == name)
        for part in ("panel", "aggregator")
        for name in dict.fromkeys(getattr(row, part) for row in listed)
    ]
    rows = {row.name: row for row in (*first, *best_of_each) if row is not None}
    names = [name for name, row in rows.items() if not same_panel(result, row)][: MOST_ROWS - 1]
    return [row for row in listed if row.name in set(names)]


def pareto_figure(result: Recommendation) -> go.Figure:
    """Draw every single candidate by cost per item, or by number of judges if costs are unknown."""
    rows = [row for row in result.candidates if row.panel != AVERAGE]
    costs = [row.cost for row in rows if row.cost is not None]
    priced = len(costs) == len(rows) and result.cost is not None
    size = costs if priced else [row.k for row in rows]
    own = result.cost if priced and result.cost is not None else len(result.model.judges)
    name = "taken panel" if result.instead_of else "recommended panel"
    return candidates.pareto(
        np.array(size, dtype=np.float64),
        Interval.stacked(row.nll for row in rows),
        [_row_name(row) for row in rows],
        chosen=(float(own), float(result.nll.value), name),
        look=style.CHOSEN if result.instead_of else style.RECOMMENDED,
        null=result.null_nll,
        x="cost of an item" if priced else "number of judges",
    )


def _forest_row(result: Recommendation, row: CandidateFigures) -> candidates.ForestRow:
    standing: candidates.RowStatus = "not told apart from it"
    if row.name == result.chosen.name:
        standing = "taken instead"
    elif row.behind.above():
        standing = "worse"
    elif row.behind.below():
        standing = "better"
    return candidates.ForestRow(_row_name(row), row.nll, standing, _size(row))


def _row_name(row: CandidateFigures) -> str:
    """Return a candidate's judges and pipeline as a row label."""
    if row.panel == AVERAGE:
        return _AVERAGED
    panel = f"{ALL_JUDGES} {row.k}" if row.panel == ALL_JUDGES else row.panel
    return f"{panel}, {pipeline_name(row.aggregator, row.calibrator)}"


def _size(row: CandidateFigures) -> str:
    """Return the number of judges, unless the panel's name contains it, and their cost."""
    known = row.panel == ALL_JUDGES or row.panel.startswith("top")
    parts = [] if known else [txt.counted(row.k, "judge")]
    return ", ".join(parts if row.cost is None else [*parts, f"cost {txt.sig(row.cost)}"])


def candidate_table(result: Recommendation) -> dict[str, Column]:
    """Return all candidates, best expected NLL first."""
    rows = sorted(result.candidates, key=lambda row: float(row.nll.value))
    nll = Interval.stacked(row.nll for row in rows)
    delta = Interval.stacked(row.delta for row in rows)
    reference = {
        place: "reference"
        for place, row in enumerate(rows)
        if (row.panel, row.aggregator, row.calibrator) == recommend.REFERENCE
    }
    behind = Interval.stacked(row.behind for row in rows)
    best = [place for place, row in enumerate(rows) if row.name == result.recommended.name]
    recommended = dict.fromkeys(best, "recommended")
    return {
        "panel": text([_AVERAGED if row.panel == AVERAGE else row.panel for row in rows]),
        "judges": numbers([row.k for row in rows], "whole"),
        "aggregator": text(
            ["" if row.panel == AVERAGE else AGGREGATOR_NAMES[row.aggregator] for row in rows]
        ),
        "calibrator": text(["" if row.panel == AVERAGE else _calibrator(row) for row in rows]),
        "NLL": numbers(nll.value),
        "NLL 95 %": ends(nll, 3, of="nll"),
        "against the recommended": differences(behind, recommended, of="behind"),
        "skill": numbers([row.skill for row in rows], "share"),
        "difference": Column(delta.value, "signed", reference, "delta"),
        "difference 95 %": ends(delta, words=reference, sign=True, of="delta"),
        "Brier": numbers([row.brier for row in rows]),
        "accuracy": numbers([float(row.accuracy.value) for row in rows], "share"),
        "ECE": numbers([row.ece for row in rows]),
        "weight": numbers([row.weight for row in rows], "share", of="weight"),
        "chosen in": numbers([row.chosen_share for row in rows], "share", of="chosen_share"),
    }


def _calibrator(row: CandidateFigures) -> str:
    return calibrator_name(row.aggregator, row.calibrator)


def members_table(result: Recommendation) -> dict[str, Column]:
    """Return the pipelines of the average, heaviest first."""
    rows = result.members
    nll = Interval.stacked(row.nll for row in rows)
    return {
        "weight": numbers([member.weight for member in result.model.members], "share"),
        "judges": numbers([row.k for row in rows], "whole"),
        "panel": text([row.panel for row in rows]),
        "aggregator": text([AGGREGATOR_NAMES[row.aggregator] for row in rows]),
        "calibrator": text([_calibrator(row) for row in rows]),
        "NLL alone": numbers(nll.value),
        "NLL 95 %": ends(nll, 3),
    }


def way_sentence(result: Recommendation) -> str:
    """Explain the recommended pipelines to readers who do not know their names."""
    main = result.model.main
    if main.calibrator == "none":
        raw = calibrator_name(main.aggregator, "none") != "none"
        then = (
            "Its probabilities are used without calibration"
            if raw
            else "It is fitted to labels, so no calibrator follows"
        )
    else:
        then = f"{txt.capital(CALIBRATOR_NAMES[main.calibrator])} turns that into probabilities"
    how = f"{AGGREGATOR_NAMES[main.aggregator]} {_WAYS[main.aggregator]}. {then}."
    if not result.averages:
        return f"How: {how}"
    favourites = "Joint over all judges starts"
    if _reads_grades(result):
        favourites = "Joint on votes and joint on grades over all judges start together"
    return (
        "How: the probabilities of the pipelines are averaged, each with the weight that its "
        f"cross-validated NLL gives it. {favourites} with a prior weight of {LEAD}. The heaviest: "
        f"{how}"
    )


def shared_lead(result: Recommendation) -> str:
    """Return who shares the prior weight of joint over all judges; empty if nobody does."""
    return ", on votes and on grades together" if _reads_grades(result) else ""


def _reads_grades(result: Recommendation) -> bool:
    """Whether pipelines that read grades were among the candidates."""
    return any(row.aggregator in get_args(Graded) for row in result.candidates)


_WIDTH = 120


def absence_words(result: Recommendation) -> tuple[str, ...]:
    """Describe the worst measured absence and the fallback's purpose; empty if not measured."""
    if result.absence is None:
        return ()
    name, worst = worst_absence(result)
    nll, base = _level(result, worst), result.null_nll
    better = ", which is better" if nll > base else ""
    group = " of a group" if result.absence.groups else ""
    sentences = [
        f"The worst absence{group} that was measured is {_named(result, name)}: the NLL changes by "
        f"{txt.with_interval(*worst.delta, sign=True)}, to about {txt.fixed(nll, 3)}. The base "
        f"rate alone gives {txt.fixed(base, 3)}{better}."
    ]
    if any(row.kind == "cluster" for row in result.absence.groups):
        sentences.append(
            "A cluster is a group of judges that err together on these items; on other items it "
            "may have other members. Judges shows how stable each cluster is."
        )
    rule = result.absence.fallback
    if rule is not None:
        without = txt.fixed(_without(result, worst), 3)
        sentences.append(
            f"An item on which judges with more than {txt.percent(rule.beyond)} of the weight did "
            "not vote is scored by the panel's fallback: one-coin with a temperature for the "
            f"judges that are there. Without it that absence would leave {without}."
        )
    return tuple(sentences)


def absent_sentence(result: Recommendation) -> str:
    """Return the worst absence's effect on the panel as an answer; empty if none was measured."""
    if result.absence is None:
        return ""
    name, worst = worst_absence(result)
    breaks = "break" if _level(result, worst) > result.null_nll else "weaken"
    return (
        f"Absent judges {breaks} it: without {_named(result, name)} NLL changes by "
        f"{txt.with_interval(*worst.delta, sign=True)}, to {txt.fixed(_level(result, worst), 3)} "
        f"(base rate {txt.fixed(result.null_nll, 3)})."
    )


def worst_absence(result: Recommendation) -> tuple[str, absence.AbsenceFigures]:
    """Return the absence of a group that raises the NLL most, and its name.

    Where no groups are known, it is that of single judges or of judges at random.
    """
    rows = _absences(result)
    n_groups = 0 if result.absence is None else len(result.absence.groups)
    return max(rows[:n_groups] or rows, key=lambda row: float(row[1].delta.value))


def _named(result: Recommendation, name: str) -> str:
    """Name an absence within a sentence; a cluster, which has only a number, by a judge."""
    for row in () if result.absence is None else result.absence.groups:
        if row.kind == "cluster" and name == _group_name(row):
            judge = quote_value(result.model.judges[row.judges[0]])
            return f"{name} ({judge} and {len(row.judges) - 1} more)"
    return name


def absence_table(result: Recommendation) -> dict[str, Column]:
    """Return one row per absence: groups, random numbers, then single judges, the worst first."""
    rows = [figures for _, figures in _absences(result)]
    rise = Interval.stacked(row.delta for row in rows)
    return {
        "absent": text([name for name, _ in _absences(result)]),
        "judges absent": numbers([row.n_absent for row in rows], "whole"),
        "NLL": numbers([_level(result, row) for row in rows]),
        "rise": numbers(rise.value),
        "rise from": numbers(rise.lo),
        "rise to": numbers(rise.hi),
        "NLL without the fallback": numbers([_without(result, row) for row in rows]),
        "worse than the base rate": text([_against_base(result, row) for row in rows]),
    }


def _absences(result: Recommendation) -> list[tuple[str, absence.AbsenceFigures]]:
    measured = result.absence
    if measured is None:
        return []
    groups = [(_group_name(row), row.figures) for row in measured.groups]
    several = [(f"{txt.counted(row.n_absent, 'judge')} at random", row) for row in measured.several]
    single = [
        (txt.plain(name, _WIDTH), figures)
        for name, figures in zip(measured.judges, measured.single, strict=True)
    ]
    parts = (
        sorted(part, key=lambda row: -float(row[1].delta.value))
        for part in (groups, several, single)
    )
    return [row for part in parts for row in part]


def _group_name(row: absence.GroupAbsence) -> str:
    return f"{row.kind} {quote_value(row.name)}"


def _level(result: Recommendation, figures: absence.AbsenceFigures) -> float:
    return float(result.nll.value + figures.delta.value)


def _without(result: Recommendation, figures: absence.AbsenceFigures) -> float:
    """Return the NLL under an absence without the fallback."""
    return _level(result, figures) + figures.main_nll - figures.nll


def _against_base(result: Recommendation, figures: absence.AbsenceFigures) -> str:
    if _level(result, figures) > result.null_nll:
        return "yes"
    return "may be" if result.nll.value + figures.delta.hi > result.null_nll else "no"


@dataclass(frozen=True, slots=True)
class RecommendationView:
    """Additional data: the votes, and statuses and values (nats) of the judges, possibly empty.

    Without votes there is no figure of the judges.
    """

    votes: VoteMatrix | None = None
    statuses: tuple[JudgeStatus, ...] = ()
    worth: Mapping[str, float] = field(default_factory=dict)


NOTHING_KNOWN = RecommendationView()
_TURNED = " A weight below 0 counts a vote for the other verdict."


def weights_frame(result: Recommendation) -> pd.DataFrame:
    """Return judges of the panel in panel order, then the others.

    ``decision`` is keep, leave out or set aside, ``share`` the weight of the pipelines that use the
    judge, ``weight`` its vote's weight in the heaviest of them.
    """
    model = result.model
    remaining = pd.DataFrame(
        {
            "decision": "keep",
            "judge": list(model.judges),
            "share": list(model.shares),
            "weight": list(model.main_weights),
            "correct": [str(count) for count in model.correct],
            "voted": [str(count) for count in model.voted],
        }
    )
    others = [("leave out", name) for name in result.left_out]
    others += [("set aside", name) for name in result.set_aside]
    rest = pd.DataFrame(others, columns=["decision", "judge"]).assign(correct="", voted="")
    return pd.concat([remaining, rest], ignore_index=True)


def weights_table(
    result: Recommendation, view: RecommendationView = NOTHING_KNOWN
) -> dict[str, Column]:
    """Return :func:`weights_frame` for people, with accuracy, and what each judge does in words.

    A judge of the panel that could go is not simply kept: its decision is 'could go'.

    Sorted by value if known, else by accuracy, best first; in panel order without votes.
    """
    frame = weights_frame(result)
    known: dict[str, Column] = {}
    if view.votes is not None:
        judges = judge_table(view.votes)
        place = {name: j for j, name in enumerate(judges.judges)}
        accuracy = judges.accuracy[[place[name] for name in frame["judge"]]]
        worth = [view.worth.get(name, -math.inf) for name in frame["judge"]]
        order = np.lexsort((-np.nan_to_num(accuracy.value, nan=-1.0), -np.array(worth)))
        frame, accuracy = frame.iloc[order].reset_index(drop=True), accuracy[order]
        weights = dict(zip(result.model.judges, result.model.main_weights, strict=True))
        why = reasons_of(view.votes, weights, view.statuses, view.worth)
        known = {
            "why": text([why[name] for name in frame["judge"]]),
            "accuracy": levels(replace(accuracy, unit="share")),
        }
    spare = {row.judge for row in view.statuses if row.status == "could go"}
    could_go = frame["judge"].isin(spare) & (frame["decision"] == "keep")
    share = {"in the average": numbers(frame["share"], "share")} if result.averages else {}
    return {
        "decision": text(frame["decision"].mask(could_go, "could go").tolist()),
        "judge": text(frame["judge"].tolist()),
        **known,
        **share,
        "correct": numbers(pd.to_numeric(frame["correct"]), "whole"),
        "voted": numbers(pd.to_numeric(frame["voted"]), "whole"),
        "weight": numbers(frame["weight"]),
    }


def judges_block(result: Recommendation, view: RecommendationView) -> Table:
    """Return the table with its caption."""
    order = "those of the panel in its order, then the others"
    if view.votes is not None:
        order = "by what each is worth" if view.worth else "most accurate first"
    alike = ("in the average",) * (len(set(result.model.shares)) == 1)
    return Table(
        weights_table(result, view),
        f"{txt.capital(order)}.{_turned(result)}",
        height=420,
        help={"weight": weight_note(result)},
        hidden=("correct", "voted", *alike),
    )


def weight_note(result: Recommendation) -> str:
    """Say what the weights of the judges are, and what one below 0 means."""
    pipeline = " in the heaviest pipeline" if result.averages else ""
    return f"The weight is that of a judge's vote{pipeline}.{_turned(result)}"


def _turned(result: Recommendation) -> str:
    """Say what a weight below 0 means, if there is one."""
    return _TURNED if any(weight < 0.0 for weight in result.model.main_weights) else ""
