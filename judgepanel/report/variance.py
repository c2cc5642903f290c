"""Judges or items: the variance decomposition in words and a table for people."""

from __future__ import annotations

import pandas as pd

from judgepanel.report.numbers import fixed, interval, percent
from judgepanel.report.terminal import one_line
from judgepanel.studies.judges.variance_decomposition import VarianceDecomposition


def variance_sentence(found: VarianceDecomposition) -> str:
    """Which varies more, with the share of judges and its interval."""
    share = (
        f"{_whole(found.judge_share)} of the variance is between judges "
        f"[{_whole(found.judge_share_lo)}, {_whole(found.judge_share_hi)}], "
        f"{_whole(found.item_share)} between items"
    )
    start = {
        "judges": "Judges vary more than items",
        "items": "Items vary more than judges",
        "undecided": "Whether judges or items vary more is undecided",
    }[found.verdict]
    if found.disagree:
        start = "Whether judges or items vary more depends on how it is counted"
        larger = "judges" if found.logit_judges > found.logit_items else "items"
        share += f", but in the fitted logits the {larger} vary more"
    return f"{start}: {share}."


def variance_words(found: VarianceDecomposition) -> str:
    """The parts of the fitted logits, and whether they say the same."""
    text = (
        f"Of the fitted logits of these very judges and items, {_whole(found.logit_judges)} is the "
        f"judges', {_whole(found.logit_items)} the items' and {_whole(found.logit_interaction)} "
        "their interaction: judges who tell hard items from easy ones sharply, and judges who "
        "hardly do."
    )
    if found.disagree:
        text += " The two measures disagree; the shares above do not hold the interaction."
    return text


def ability_table(found: VarianceDecomposition) -> pd.DataFrame:
    """Every judge, ablest first; names as a terminal can show them."""
    frame = found.frame()
    columns: dict[str, list[str]] = {"judge": [one_line(name, 40) for name in frame["judge"]]}
    for name in ("ability", "discrimination"):
        columns[name] = [fixed(value, 2) for value in frame[name]]
        columns[f"{name} 95 %"] = [
            interval(lo, hi)
            for lo, hi in zip(frame[f"{name}_lo"], frame[f"{name}_hi"], strict=True)
        ]
    columns["accuracy"] = [percent(share, 3) for share in frame["accuracy"]]
    columns["of"] = [f"{voted:,}" for voted in frame["voted"]]
    return pd.DataFrame(columns)


def variance_text(found: VarianceDecomposition) -> str:
    """The answer, the shares and the judges, for a terminal."""
    return "\n".join(
        (
            f"Two-parameter logistic model of {len(found.judges):,} judges on {found.n_items:,} "
            f"labelled items, orientation {found.orientation}.\n",
            variance_sentence(found),
            variance_words(found) + "\n",
            ability_table(found).to_string(index=False),
        )
    )


def _whole(share: float) -> str:
    """A share in whole per cent."""
    return f"{fixed(100.0 * share, 0)} %"
