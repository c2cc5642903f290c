"""What a group of judges adds: the panel with it and without it."""

from __future__ import annotations

import pandas as pd

from judgepanel.figures.scope.with_and_without import group_figure
from judgepanel.present.blocks import Answer, Block, Method, Table, drawing, paragraphs
from judgepanel.studies.scope.group_change import GroupChangeSpec
from judgepanel.studies.scope.group_change_result import GroupArm, GroupChange
from judgepanel.votes.errors import listed
from judgepanel.words.cells import as_columns
from judgepanel.words.numbers import (
    counted,
    interval,
    level,
    p_value,
    sig,
    with_interval,
)
from judgepanel.words.sentences import AGGREGATOR_NAMES, CODING

VERDICTS = {
    "keep all": "better with it",
    "curate": "better without it",
    "no loss from keeping": "no loss with it",
    "no loss from curating": "no loss without it",
    "undecided": "undecided",
    "tie": "no difference",
}


def group_sentence(result: GroupChange, aggregator: str) -> str:
    """What the group does under one aggregator."""
    text = _answer(result, result.arm(aggregator))
    return f"{text} {CODING}" if result.measures_coding else text


def _answer(result: GroupChange, arm: GroupArm) -> str:
    if not result.members:
        return f"There is nobody in the group ({result.name}), so nothing changes."
    group = f"{result.name} ({counted(len(result.members), 'judge')})"
    under = f"under {AGGREGATOR_NAMES[arm.aggregator]}"
    rest = counted(result.n_judges - len(result.members), "judge")
    lo, hi = arm.delta_lo, arm.delta_hi
    costs = f"leaving it out costs {with_interval(arm.delta, lo, hi, sign=True)} NLL"
    saves = f"leaving it out saves {sig(-arm.delta, 2)} NLL {interval(-hi, -lo)}"
    change = f"leaving it out changes NLL by {with_interval(arm.delta, lo, hi, sign=True)}"
    verb = "Add" if result.added else "Keep"
    without = f"Do not add {group}" if result.added else f"Leave out {group}"
    return {
        "keep all": f"{verb} {group}: {costs} {under}.",
        "curate": f"{without}: {saves} {under}.",
        "no loss from keeping": f"At most 2 % is lost with {group}: {change} {under}.",
        "no loss from curating": f"At most 2 % is lost with the other {rest} alone: without "
        f"{group}, NLL changes by {with_interval(arm.delta, lo, hi, sign=True)} {under}.",
        "undecided": f"Undecided for {group}: {change} {under}.",
        "tie": f"{result.name}: the same probabilities with and without it {under}.",
    }[arm.verdict]


def members_sentence(result: GroupChange) -> str:
    """Who is in the group."""
    if not result.members:
        return ""
    text = f"In the group: {listed(result.members, 6)}."
    if result.by == "filter":
        text += " In every split the filter is applied again, to its calibration items alone."
    return text


def group_table(result: GroupChange) -> pd.DataFrame:
    """One row per aggregator."""
    return pd.DataFrame(
        {
            "aggregator": [AGGREGATOR_NAMES[arm.aggregator] for arm in result.arms],
            "NLL with": [
                level(arm.nll_with, arm.nll_with_lo, arm.nll_with_hi) for arm in result.arms
            ],
            "NLL without": [
                level(arm.nll_without, arm.nll_without_lo, arm.nll_without_hi)
                for arm in result.arms
            ],
            "leaving it out": [
                with_interval(arm.delta, arm.delta_lo, arm.delta_hi, sign=True)
                for arm in result.arms
            ],
            "p": [p_value(arm.p).removeprefix("p ").removeprefix("= ") for arm in result.arms],
            "verdict": [VERDICTS[arm.verdict] for arm in result.arms],
            "base rate": result.null_nll,
        }
    )


def present(result: GroupChange, spec: GroupChangeSpec) -> list[Block]:
    """The aggregator in use, then those that decide otherwise; one sentence without a group."""
    in_use = result.arms[0]
    answer = Answer(group_sentence(result, in_use.aggregator))
    if not result.members:
        return [answer]
    return [
        answer,
        *paragraphs(
            *(
                group_sentence(result, arm.aggregator)
                for arm in result.arms[1:]
                if arm.verdict != in_use.verdict
            ),
            members_sentence(result),
        ),
        drawing(
            group_figure(result, AGGREGATOR_NAMES),
            "NLL of every aggregator with the group and without it",
        ),
        Table(as_columns(group_table(result))),
        Method(
            "In every split both panels are fitted on the same labels and scored on the same "
            "items, so the difference is paired. Verdicts are held against a margin of 2 % of the "
            "NLL with the group. The filter is applied again to the calibration items of every "
            "split, as it would be on new votes."
        ),
    ]
