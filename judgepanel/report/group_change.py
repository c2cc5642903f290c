"""What a group of judges adds, in words and tables for people."""

from __future__ import annotations

import pandas as pd

from judgepanel.report.numbers import (
    counted,
    fixed,
    interval,
    level,
    p_value,
    sig,
    with_interval,
)
from judgepanel.report.sentences import AGGREGATOR_NAMES, CALIBRATED, CODING
from judgepanel.report.terminal import printable
from judgepanel.studies.scope.group_change_result import GroupArm, GroupChange
from judgepanel.votes.errors import listed

VERDICTS = {
    "keep all": "better with it",
    "curate": "better without it",
    "no loss from keeping": "no loss with it",
    "no loss from curating": "no loss without it",
    "undecided": "undecided",
    "tie": "no difference",
}


def group_sentence(found: GroupChange, aggregator: str) -> str:
    """What the group does under one aggregator."""
    text = _answer(found, found.arm(aggregator))
    return f"{text} {CODING}" if found.measures_coding else text


def _answer(found: GroupChange, arm: GroupArm) -> str:
    if not found.members:
        return f"There is nobody in the group ({found.name}), so nothing changes."
    group = f"{found.name} ({counted(len(found.members), 'judge')})"
    under = f"under {AGGREGATOR_NAMES[arm.aggregator]}"
    rest = counted(found.n_judges - len(found.members), "judge")
    lo, hi = arm.delta_lo, arm.delta_hi
    costs = f"leaving it out costs {with_interval(arm.delta, lo, hi, sign=True)} NLL"
    saves = f"leaving it out saves {sig(-arm.delta, 2)} NLL {interval(-hi, -lo)}"
    change = f"leaving it out changes NLL by {with_interval(arm.delta, lo, hi, sign=True)}"
    verb = "Add" if found.added else "Keep"
    without = f"Do not add {group}" if found.added else f"Leave out {group}"
    return {
        "keep all": f"{verb} {group}: {costs} {under}.",
        "curate": f"{without}: {saves} {under}.",
        "no loss from keeping": f"At most 2 % is lost with {group}: {change} {under}.",
        "no loss from curating": f"At most 2 % is lost with the other {rest} alone: without "
        f"{group}, NLL changes by {with_interval(arm.delta, lo, hi, sign=True)} {under}.",
        "undecided": f"Undecided for {group}: {change} {under}.",
        "tie": f"{found.name}: the same probabilities with and without it {under}.",
    }[arm.verdict]


def members_sentence(found: GroupChange) -> str:
    """Who is in the group."""
    if not found.members:
        return ""
    text = f"In the group: {listed(found.members, 6)}."
    if found.by == "filter":
        text += " In every split the filter is applied anew, to its calibration items alone."
    return text


def group_table(found: GroupChange) -> pd.DataFrame:
    """One row an aggregator."""
    return pd.DataFrame(
        {
            "aggregator": [AGGREGATOR_NAMES[arm.aggregator] for arm in found.arms],
            "NLL with": [
                level(arm.nll_with, arm.nll_with_lo, arm.nll_with_hi) for arm in found.arms
            ],
            "NLL without": [
                level(arm.nll_without, arm.nll_without_lo, arm.nll_without_hi) for arm in found.arms
            ],
            "leaving it out": [
                with_interval(arm.delta, arm.delta_lo, arm.delta_hi, sign=True)
                for arm in found.arms
            ],
            "p": [p_value(arm.p).removeprefix("p ").removeprefix("= ") for arm in found.arms],
            "verdict": [VERDICTS[arm.verdict] for arm in found.arms],
            "base rate": found.null_nll,
        }
    )


def group_text(found: GroupChange) -> str:
    """Every aggregator's answer and the table, for a terminal."""
    lines = [group_sentence(found, arm.aggregator) for arm in found.arms]
    lines.append(members_sentence(found))
    lines.append(
        f"{found.n_splits} splits, {CALIBRATED[found.calibrator]}, orientation "
        f"{found.orientation}, protocol {found.protocol}, seed {found.seed}; null NLL "
        f"{fixed(found.null_nll, 4)}."
    )
    lines.append(group_table(found).round(3).to_string(index=False))
    return printable("\n".join(line for line in lines if line))
