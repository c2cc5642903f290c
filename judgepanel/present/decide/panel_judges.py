"""The judges of a recommendation in one list consistent with the decision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from judgepanel.decision.recommend_result import Recommendation
from judgepanel.decision.statuses import JudgeStatus
from judgepanel.present.blocks import Table
from judgepanel.studies.judges.judge_table import judge_table
from judgepanel.votes import VoteMatrix
from judgepanel.words.tables import Column, levels, numbers, text


@dataclass(frozen=True, slots=True)
class RecommendationView:
    """Additional data: the votes, and statuses and values (nats) of the judges, possibly empty.

    Without votes there is no figure of the judges.
    """

    votes: VoteMatrix | None = None
    statuses: tuple[JudgeStatus, ...] = ()
    worth: Mapping[str, float] = field(default_factory=dict)


NOTHING_KNOWN = RecommendationView()
_TURNED = (
    " A weight below 0 counts a vote for the other verdict: the judge is below chance, or corrects "
    "errors that it shares with others."
)


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
    """Return :func:`weights_frame` for people, with accuracy and status.

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
        known = {"accuracy": levels(replace(accuracy, unit="share"))}
    if view.statuses:
        status = {judge.judge: judge.status for judge in view.statuses}
        known["status"] = text([status.get(name, "") for name in frame["judge"]])
    share = {"in the average": numbers(frame["share"], "share")} if result.averages else {}
    return {
        "decision": text(frame["decision"].tolist()),
        "judge": text(frame["judge"].tolist()),
        "weight": numbers(frame["weight"]),
        **known,
        **share,
        "correct": numbers(pd.to_numeric(frame["correct"]), "whole"),
        "voted": numbers(pd.to_numeric(frame["voted"]), "whole"),
    }


def judges_block(result: Recommendation, view: RecommendationView) -> Table:
    """Return the table with its caption."""
    order = "those of the panel in its order, then the others"
    if view.votes is not None:
        order = "by what each is worth" if view.worth else "most accurate first"
    weight = "; weight is that in the heaviest pipeline" if result.averages else ""
    turned = _TURNED if any(w < 0.0 for w in result.model.main_weights) else ""
    return Table(weights_table(result, view), f"Judges, {order}{weight}.{turned}", height=480)
