"""The cost of panels on real votes with drawn costs: the frontier, escalation, CPU seconds."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.real import real_votes
from benchmarks.report import Report, Table, say
from judgepanel.studies.contract import Settings
from judgepanel.studies.decide.cost import COST, Cost, CostSpec
from judgepanel.studies.decide.escalation import ESCALATION, Escalation, EscalationSpec
from judgepanel.studies.runner import run as run_study
from judgepanel.votes import VoteMatrix
from judgepanel.words.text import fixed, interval, percent, sig, with_interval

SPLITS = {"llmbar": 20, "rewardbench": 6}
SPREAD = 1.0
SLOPE = 4.0
"""Log costs are normal: their spread, and their increase per unit of accuracy."""


def run() -> Report:
    frontier: list[tuple[str, ...]] = []
    escalated: list[tuple[str, ...]] = []
    times: list[tuple[str, ...]] = []
    for name, splits in SPLITS.items():
        votes, settings = priced(real_votes(name)), Settings(splits=splits)
        for study, spec, rows in (
            (COST, CostSpec(settings), frontier),
            (ESCALATION, EscalationSpec(settings), escalated),
        ):
            say(f"{name}: {study.name}, {splits} splits")
            start = time.process_time()
            result: Any = run_study(study, votes, spec, jobs=1)
            taken = time.process_time() - start
            times.append((name, study.name, str(splits), sig(taken, 2), sig(taken / splits, 2)))
            rows.extend(_frontier(name, result) if study is COST else _escalated(name, result))
    note = (
        f"Costs are drawn: log-normal with sigma {SPREAD:g}, and {SLOPE:g} more on the log scale "
        "for each unit of accuracy. Joint, no calibrator, seed 0."
    )
    against = "against all judges"
    return Report(
        "What a panel costs",
        "What do budgets buy, what does a cheap panel first save, and how long does it take?",
        [
            Table(
                "The frontier",
                ("votes", "of the full cost", "judges", "NLL", "95 %", against, "verdict", "agree"),
                frontier,
                f"{note} Budgets are fixed, panels chosen on calibration rows; 'agree' is the "
                "stability of the choice over splits.",
            ),
            Table(
                "Escalation",
                ("votes", "ask all below", "asked", "of the full cost", "accuracy", "NLL", against),
                escalated,
                f"{note} The cheap panel is the best found for 20 % of the full cost; 'chosen' "
                "takes the threshold that calibration rows recommend in every split.",
            ),
            Table(
                "CPU seconds",
                ("votes", "study", "splits", "seconds", "a split"),
                times,
                "One thread; the panels on all labelled rows are in them.",
            ),
        ],
        [],
    )


def priced(votes: VoteMatrix) -> VoteMatrix:
    """The votes with a cost for every judge."""
    rng = np.random.default_rng(0)
    accuracy = (votes.votes == votes.labels[:, None]).mean(axis=0)
    logs = rng.normal(0.0, SPREAD, votes.n_judges) + SLOPE * (accuracy - accuracy.mean())
    return replace(votes, judge_table=pd.DataFrame({"cost_usd": 0.001 * np.exp(logs)}))


def _frontier(name: str, result: Cost) -> list[tuple[str, ...]]:
    return [
        (
            name,
            percent(point.share),
            sig(point.figures.size, 2),
            fixed(point.figures.nll.value, 3),
            interval(point.figures.nll.lo, point.figures.nll.hi, 3),
            with_interval(*point.figures.delta, sign=True),
            point.figures.verdict,
            fixed(point.figures.stability, 2),
        )
        for point in result.points
    ]


def _escalated(name: str, result: Escalation) -> list[tuple[str, ...]]:
    names = [*(f"{row.threshold:g}" for row in result.rows), "chosen"]
    return [
        (
            name,
            limit,
            percent(row.escalated.value),
            percent(row.cost.value / result.full_cost),
            percent(row.accuracy.value, 3),
            fixed(row.nll.value, 3),
            with_interval(*row.delta, sign=True),
        )
        for limit, row in zip(names, (*result.rows, result.recommended), strict=True)
    ]
